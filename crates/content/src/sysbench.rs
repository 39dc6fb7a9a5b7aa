//! sysbench's block under `--validate`: random bytes, then their CRC-32 in 4 bytes, then the block's offset in its
//! file in 8, both little-endian.

use crate::CRC32_ZLIB;
use std::fmt;

/// Bytes of checksum and offset.
const TAIL: usize = 12;

/// Writes checksum and offset behind the bytes of a block; a block too short for them stays as it is.
pub fn seal(block: &mut [u8], offset: u64) {
    if let Some(length) = block.len().checked_sub(TAIL) {
        let (bytes, tail) = block.split_at_mut(length);
        tail[..4].copy_from_slice(&CRC32_ZLIB.checksum(bytes).to_le_bytes());
        tail[4..].copy_from_slice(&offset.to_le_bytes());
    }
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Its bytes are not those that were summed up.
    Checksum {
        /// The sum of what is there.
        calculated: u32,
        /// The sum that is stored.
        stored: u32,
    },
    /// It was written for another place.
    Offset {
        /// The place that is stored.
        stored: u64,
    },
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Checksum { calculated, stored } => {
                write!(f, "checksum: {calculated:#x} calculated, {stored:#x} stored")
            }
            Wrong::Offset { stored } => write!(f, "offset: {stored} stored"),
        }
    }
}

/// Judges a block that stands at `offset` of its file: first its sum, then its place, as sysbench does.
pub fn check(block: &[u8], offset: u64) -> Result<(), Wrong> {
    let Some(length) = block.len().checked_sub(TAIL) else { return Ok(()) };
    let (bytes, tail) = block.split_at(length);
    let stored = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let calculated = CRC32_ZLIB.checksum(bytes);
    if calculated != stored {
        return Err(Wrong::Checksum { calculated, stored });
    }
    let mut place = [0; 8];
    place.copy_from_slice(&tail[4..]);
    match u64::from_le_bytes(place) {
        stored if stored == offset => Ok(()),
        stored => Err(Wrong::Offset { stored }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_block_is_good_at_its_place_and_nowhere_else() {
        let mut block = vec![7; 512];
        seal(&mut block, 4096);
        assert_eq!(check(&block, 4096), Ok(()));
        assert_eq!(check(&block, 8192), Err(Wrong::Offset { stored: 4096 }));
        block[3] ^= 1;
        assert!(matches!(check(&block, 4096), Err(Wrong::Checksum { .. })));
        assert_eq!(
            check(&[0; 16_384], 0),
            Err(Wrong::Checksum { calculated: 0x6633_7A37, stored: 0 }),
            "files prepared without --validate"
        );
    }

    #[test]
    fn a_block_shorter_than_its_tail_is_left_alone() {
        let mut block = [1; 11];
        seal(&mut block, 0);
        assert_eq!((block, check(&block, 5)), ([1; 11], Ok(())));
    }
}
