//! dd's operands, down to the plan.
#![no_main]
use libfuzzer_sys::fuzz_target;

use fathom_dd::{Asked, Quotes, parse, plan};

fuzz_target!(|data: &[u8]| {
    if let Ok(Asked::Copy(options, _)) = parse(&fathom_fuzz::words(data), Quotes::Curved) {
        plan(&options);
    }
});
