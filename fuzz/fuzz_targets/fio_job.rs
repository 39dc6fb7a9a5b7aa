//! fio's job files, down to the plan.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fathom_fuzz::fio::around(|around| {
        let Ok(sections) = fathom_fio::jobfile::parse("fuzz.fio", &fathom_fuzz::text(data), around) else {
            return;
        };
        let parts = fathom_fio::Parts { files: vec![sections], ..Default::default() };
        fathom_fuzz::fio::plan_of(parts, &[]);
    });
});
