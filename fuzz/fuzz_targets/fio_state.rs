//! fio's verify states. Size and checksum are mended, so that what is behind them is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;

const HEAD: usize = 24;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if bytes.len() > HEAD {
        let size = (bytes.len() - HEAD) as u64;
        let sum = u64::from(!crc32c::crc32c(&bytes[HEAD..]));
        bytes[8..16].copy_from_slice(&size.to_le_bytes());
        bytes[16..24].copy_from_slice(&sum.to_le_bytes());
    }
    let _ = fathom_fio::state::read(&bytes);
});
