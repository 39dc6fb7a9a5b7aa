//! iozone's options, down to the plans of its tests.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_iozone::{Invocation, parse, plan, tests};

fuzz_target!(|data: &[u8]| {
    if let Invocation::Measure(options) = parse(&fathom_fuzz::words(data)) {
        for test in tests(&options) {
            plan(&options, test, 1 << 20, 1 << 12, 1);
        }
    }
});
