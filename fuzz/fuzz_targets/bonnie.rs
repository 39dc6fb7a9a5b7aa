//! bonnie++'s options, down to the plans of its tests.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_bonnie::{parse, plan, tests};

fuzz_target!(|data: &[u8]| {
    let Ok(options) = parse(&fathom_fuzz::words(data)) else { return };
    if options.check().is_err() {
        return;
    }
    for test in tests(&options, 1 << 20) {
        plan(&options, test, &["Bonnie.1".to_owned()], 1 << 20, 1);
    }
});
