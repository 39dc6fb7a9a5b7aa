//! fio's logs of I/O.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fathom_fio::replay::iolog::read("fuzz.log", &mut &data[..]);
});
