//! dt's block tag, version 1: 152 bytes at the head of a block, the last four of them the CRC-32 of the whole block.

use crate::CRC32_ZLIB;
use crate::Damage;
use fathom_spec::BlockTag;

/// Bytes of a tag.
pub const BYTES: usize = 152;
/// What stands at byte 76.
pub const SIGNATURE: u32 = 0xBADC_AFEE;
const CRC: usize = 148;
/// What only the writer knows: serial number and host, times, process, job and thread, and what follows the record's number.
const WRITERS: [std::ops::Range<usize>; 4] = [16..76, 84..96, 104..116, 132..CRC];

/// What a tag says of its block's place: an offset in a file, a number on a disk.
pub fn place(about: &BlockTag, offset: u64, block_bytes: u64) -> u64 {
    if about.file { offset } else { offset / block_bytes.max(1) }
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

fn text(block: &mut [u8], at: usize, length: usize, text: &str) {
    let bytes = text.as_bytes();
    let used = bytes.len().min(length - 1);
    put(block, at, &bytes[..used]);
}

/// Writes the tag of the block number `index` of its record, which holds its pattern already.
pub fn write(about: &BlockTag, block: &mut [u8], offset: u64, index: usize, size: u32) {
    if block.len() < BYTES {
        return;
    }
    block[..BYTES].fill(0);
    let BlockTag { inode, serial, host, write_start, pattern, pattern_kind, generation, .. } = about;
    put(block, 0, &place(about, offset, u64::from(size)).to_le_bytes());
    put(block, 8, &inode.to_le_bytes());
    text(block, 16, 36, serial);
    text(block, 52, 24, host);
    put(block, 76, &SIGNATURE.to_le_bytes());
    block[80] = 1;
    block[81] = *pattern_kind;
    let flags = u16::from(about.file) | u16::from(about.random) << 3 | u16::from(about.reverse) << 4;
    put(block, 82, &flags.to_le_bytes());
    let record = if about.record_bytes > 0 { about.record_bytes } else { size };
    let number = (offset - (index as u64 * u64::from(size)).min(offset)) / u64::from(record) + 1;
    let words = [
        (84, *write_start),
        (88, *write_start),
        (96, *pattern),
        (100, *generation),
        (104, about.process),
        (108, about.job),
        (112, about.thread),
        (116, size),
        (120, index as u32),
        (124, record),
        (128, number as u32),
    ];
    words.iter().for_each(|(at, word)| put(block, *at, &word.to_le_bytes()));
    let sum = CRC32_ZLIB.checksum(block);
    put(block, CRC, &sum.to_le_bytes());
}

fn word(block: &[u8], at: usize) -> u32 {
    block.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(block: &[u8], at: usize) -> u64 {
    block.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Does the checksum fit the block?
pub fn sound(block: &[u8]) -> bool {
    if block.len() < BYTES || word(block, 76) != SIGNATURE {
        return false;
    }
    let mut copy = block.to_vec();
    copy[CRC..CRC + 4].fill(0);
    CRC32_ZLIB.checksum(&copy) == word(block, CRC)
}

/// Does a sound tag belong at this place, to this file and to this pass?
fn belongs(about: &BlockTag, found: &[u8], place: u64) -> bool {
    let mine = about.any_writer || (long(found, 8) == about.inode && word(found, 100) == about.generation);
    long(found, 0) == place && mine
}

/// A tag that belongs here excuses what a reader cannot know: who wrote it when. Its checksum tells that it is whole, over
/// what was found or, where the rest of the block is damaged, over what should follow it.
pub fn excuse(about: &BlockTag, found: &[u8], told: &mut [u8], place: u64) {
    if found.len() < BYTES || !belongs(about, found, place) {
        return;
    }
    if sound(found) {
        told[..BYTES].copy_from_slice(&found[..BYTES]);
        return;
    }
    let mut whole = told.to_vec();
    whole[..BYTES].copy_from_slice(&found[..BYTES]);
    if !sound(&whole) {
        // The tag itself is damaged. What only its writer knows says nothing of where.
        whole[..CRC].copy_from_slice(&told[..CRC]);
        let others = [8..16, 100..104].into_iter().filter(|_| about.any_writer);
        for field in WRITERS.into_iter().chain(others) {
            whole[field.clone()].copy_from_slice(&found[field]);
        }
        whole[CRC..BYTES].fill(0);
        let sum = CRC32_ZLIB.checksum(&whole);
        put(&mut whole, CRC, &sum.to_le_bytes());
    }
    told.copy_from_slice(&whole);
}

/// What a tag tells of a block that is not as it should be; `None` when it does not help.
pub fn judge(about: &BlockTag, expected: &[u8], found: &[u8], place: u64) -> Option<(Damage, String)> {
    if found.len() < BYTES || word(found, 76) != SIGNATURE {
        return None;
    }
    // The tag, or all behind it, is as it should be: the damage lies in the other, and the pattern tells more.
    if !sound(found) && (found[..BYTES] == expected[..BYTES] || found[BYTES..] == expected[BYTES..]) {
        return None;
    }
    let unit = if about.file { "offset" } else { "block" };
    let theirs = long(found, 0);
    if !sound(found) {
        let here = if theirs == place { "its tag is this block's" } else { "its tag is another block's" };
        return Some((Damage::Torn, format!("{here}, and its checksum does not fit what follows")));
    }
    if theirs != place {
        return Some((
            Damage::Misdirected,
            format!("its tag says {unit} {theirs} of pass {}, and should say {place}", word(found, 100)),
        ));
    }
    if word(found, 100) != about.generation {
        return Some((
            Damage::Stale,
            format!("its tag says pass {}, and should say {}", word(found, 100), about.generation),
        ));
    }
    let (inode, mine) = (long(found, 8), about.inode);
    (inode != mine)
        .then(|| (Damage::Misdirected, format!("its tag says file number {inode}, and should say {mine}")))
}
