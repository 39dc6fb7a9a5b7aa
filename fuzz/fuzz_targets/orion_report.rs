//! ORION's tables.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fathom_orion::read_grid(&fathom_fuzz::text(data));
});
