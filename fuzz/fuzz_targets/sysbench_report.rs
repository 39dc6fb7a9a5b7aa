//! Published reports of sysbench.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fathom_sysbench::explain(&fathom_fuzz::text(data));
});
