//! blktrace's binary events.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(queued) = fathom_fio::replay::blktrace::read(&mut &data[..]) {
        assert!(queued.actions.iter().all(|action| (action.file as usize) < queued.devices.len()));
    }
});
