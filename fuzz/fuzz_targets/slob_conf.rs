//! slob.conf and pgio.conf.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = fathom_fuzz::text(data);
    for name in ["slob.conf", "pgio.conf"] {
        let _ = fathom_slob::read_conf(name, &text);
    }
});
