//! fio's command line, down to the plan.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fathom_fuzz::fio::around(|around| {
        let Ok(line) = fathom_fio::commandline::parse(&fathom_fuzz::words(data), around) else { return };
        let parts = fathom_fio::Parts {
            defaults: line.globals,
            command_line: line.sections,
            files: vec![line.profile],
        };
        fathom_fuzz::fio::plan_of(parts, &line.general.sections);
    });
});
