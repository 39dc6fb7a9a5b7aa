//! Blocks of dt (Data Test), to the byte, and what is wrong with one: stale, misdirected, torn, zeroed or corrupt.

use crate::{Damage, Wrong};
use fathom_spec::{DataTest, TestPattern};
use std::ops::Range;

pub mod tag;

/// Where the pattern begins in a block, after tag and prefix.
pub fn payload_at(format: &DataTest) -> usize {
    let tag = if format.tag.is_some() { tag::BYTES } else { 0 };
    tag + format.prefix.len()
}

/// The number of the block at an offset, as it stands in blocks: 32 bits of it.
pub fn number_at(format: &DataTest, offset: u64) -> u64 {
    offset / u64::from(format.block_bytes.max(1))
}

/// Which byte of its pattern a block at an offset begins with.
fn phase(format: &DataTest, length: usize, offset: u64) -> usize {
    let payload = (format.block_bytes as usize).saturating_sub(payload_at(format)) as u64;
    let before = format.start.map_or(0, |start| number_at(format, offset.saturating_sub(start)));
    (before % length as u64 * (payload % length as u64) % length as u64) as usize
}

/// Fills a record that stands at `offset`, a multiple of the block.
pub fn fill(format: &DataTest, bytes: &mut [u8], offset: u64) {
    let size = format.block_bytes.max(1) as usize;
    for (i, block) in bytes.chunks_mut(size).enumerate() {
        let at = offset + (i * size) as u64;
        let begin = payload_at(format).min(block.len());
        let (head, payload) = block.split_at_mut(begin);
        let prefix_at = begin.saturating_sub(format.prefix.len());
        head[prefix_at..].copy_from_slice(&format.prefix[..begin - prefix_at]);
        let number = number_at(format, at);
        match &format.pattern {
            TestPattern::Iot { seed, pass } => progression(payload, number as u32, seed.wrapping_mul(*pass)),
            TestPattern::Bytes(pattern) if !pattern.is_empty() => {
                let (end, begin) = pattern.split_at(phase(format, pattern.len(), at));
                let (first, rest) = payload.split_at_mut(begin.len().min(payload.len()));
                first.copy_from_slice(&begin[..first.len()]);
                for piece in rest.chunks_mut(pattern.len()) {
                    let (of_end, of_begin) = piece.split_at_mut(end.len().min(piece.len()));
                    of_end.copy_from_slice(&end[..of_end.len()]);
                    of_begin.copy_from_slice(&begin[..of_begin.len()]);
                }
            }
            TestPattern::Bytes(_) => payload.fill(0),
        }
        let stamp = match (format.numbered, format.time) {
            (true, _) => Some((number as u32).to_be_bytes()),
            (false, Some(time)) => Some(time.to_be_bytes()),
            (false, None) => None,
        };
        if let (Some(stamp), Some(place)) = (stamp, payload.first_chunk_mut()) {
            *place = stamp;
        }
        if let Some(about) = &format.tag {
            tag::write(about, block, at, i, size as u32);
        }
    }
}

/// Words that each are `step` more than the one before.
fn progression(bytes: &mut [u8], first: u32, step: u32) {
    let mut word = first;
    let mut words = bytes.chunks_exact_mut(4);
    for place in &mut words {
        place.copy_from_slice(&word.to_le_bytes());
        word = word.wrapping_add(step);
    }
    let rest = words.into_remainder();
    let last = word.to_le_bytes();
    rest.iter_mut().zip(last).for_each(|(place, byte)| *place = byte);
}

/// What is wrong with a record, and with which of its blocks first. `told` is the caller's own buffer.
pub fn check(format: &DataTest, bytes: &[u8], offset: u64, told: &mut Vec<u8>) -> Option<Wrong> {
    if plain(format) && sound(format, bytes, offset) {
        return None;
    }
    expect(format, bytes, offset, told);
    if told == bytes {
        return None;
    }
    let size = format.block_bytes.max(1) as usize;
    let pairs = told.chunks(size).zip(bytes.chunks(size)).enumerate();
    let mut bad = pairs.filter(|(_, (told, found))| told != found);
    let (first, (expected, found)) = bad.next()?;
    let last = bad.next_back().map_or(first, |(last, _)| last);
    let at = offset + (first * size) as u64;
    let (damage, note) = diagnose(format, expected, found, at);
    let length = ((last + 1 - first) * size).min(bytes.len() - first * size);
    Some(Wrong { damage, offset: at, length: length as u32, note })
}

/// What should stand in a record that was read, into the caller's buffer. What a reader cannot know, such as who wrote a
/// tag and when, is taken from what was found.
pub fn expect(format: &DataTest, bytes: &[u8], offset: u64, told: &mut Vec<u8>) {
    told.resize(bytes.len(), 0);
    fill(format, told, offset);
    if format.tag.is_some() || format.time.is_some() {
        excuse(format, bytes, told, offset, format.block_bytes.max(1) as usize);
    }
}

/// What is wrong with each block of a record that is not as it should be, in order. Blocks that follow each other and
/// met with the same are one.
pub fn check_blocks(format: &DataTest, bytes: &[u8], offset: u64) -> Vec<Wrong> {
    let mut told = Vec::new();
    expect(format, bytes, offset, &mut told);
    let size = format.block_bytes.max(1) as usize;
    let mut all: Vec<Wrong> = Vec::new();
    for (i, (expected, found)) in told.chunks(size).zip(bytes.chunks(size)).enumerate() {
        if expected == found {
            continue;
        }
        let at = offset + (i * size) as u64;
        let (damage, note) = diagnose(format, expected, found, at);
        match all.last_mut() {
            Some(last)
                if last.offset + u64::from(last.length) == at
                    && last.damage == damage
                    && last.note == note =>
            {
                last.length += found.len() as u32;
            }
            _ => all.push(Wrong { damage, offset: at, length: found.len() as u32, note }),
        }
    }
    all
}

/// Is there nothing in a block but its pattern?
fn plain(format: &DataTest) -> bool {
    format.tag.is_none() && format.time.is_none() && !format.numbered && format.prefix.is_empty()
}

/// Is every byte of a plain record as it should be? Without making the record first: what is read has to be compared
/// faster than storage delivers it.
fn sound(format: &DataTest, bytes: &[u8], offset: u64) -> bool {
    let size = format.block_bytes.max(4) as usize;
    match &format.pattern {
        TestPattern::Iot { seed, pass } if size.is_multiple_of(4) && bytes.len().is_multiple_of(4) => {
            let step = seed.wrapping_mul(*pass);
            bytes.chunks(size).enumerate().all(|(i, block)| {
                let number = number_at(format, offset + (i * size) as u64) as u32;
                let words = block.chunks_exact(4).enumerate();
                let unlike = words.fold(0u32, |unlike, (i, found)| {
                    let found = u32::from_le_bytes([found[0], found[1], found[2], found[3]]);
                    unlike | (found ^ number.wrapping_add(step.wrapping_mul(i as u32)))
                });
                unlike == 0
            })
        }
        TestPattern::Bytes(pattern) if pattern.len() == 4 && size.is_multiple_of(4) => {
            let word = u32::from_le_bytes([pattern[0], pattern[1], pattern[2], pattern[3]]);
            let (words, rest) = bytes.as_chunks::<4>();
            let unlike =
                words.iter().fold(0u32, |unlike, found| unlike | (u32::from_le_bytes(*found) ^ word));
            unlike == 0 && rest == &pattern[..rest.len()]
        }
        _ => false,
    }
}

/// What nobody can know is taken from what was found: times, and the checksum over them where it is sound.
fn excuse(format: &DataTest, bytes: &[u8], told: &mut [u8], offset: u64, size: usize) {
    let begin = payload_at(format);
    for (i, (told, found)) in told.chunks_mut(size).zip(bytes.chunks(size)).enumerate() {
        if format.time.is_some() && !format.numbered && found.len() >= begin + 4 {
            told[begin..begin + 4].copy_from_slice(&found[begin..begin + 4]);
        }
        if let Some(about) = &format.tag {
            let at = offset + (i * size) as u64;
            tag::excuse(about, found, told, tag::place(about, at, size as u64));
        }
    }
}

/// Whose block is it, if anybody's: its number and its pass, when every byte of it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    /// `None` where the bytes say nothing of their place.
    number: Option<u32>,
    pass: Option<u32>,
}

/// Says what became of one block that is not as it should be.
pub fn diagnose(format: &DataTest, expected: &[u8], found: &[u8], offset: u64) -> (Damage, String) {
    let at = expected.iter().zip(found).position(|(a, b)| a != b).unwrap_or(0);
    let end = expected.iter().zip(found).rposition(|(a, b)| a != b).map_or(0, |last| last + 1);
    if found.iter().all(|byte| *byte == 0) {
        return (Damage::Zeroed, "the whole block is zeros".to_owned());
    }
    let mine = number_at(format, offset) as u32;
    let begin = payload_at(format);
    if let Some(about) = &format.tag
        && let Some(said) = tag::judge(about, expected, found, tag::place(about, offset, found.len() as u64))
    {
        return said;
    }
    // A pattern that is as it should be says that the damage is before it.
    let is_own =
        |owner: &Owner| owner.number.is_none_or(|number| number == mine) && owner.pass == pass(format);
    if let Some(owner) = owner(format, found, begin, offset).filter(|owner| !is_own(owner)) {
        return named(format, owner, mine);
    }
    // One end is as it should be: is the other somebody's, or nothing?
    let (head, tail) = (at & !3, end.next_multiple_of(4).min(found.len()));
    let zeros = |part: &[u8]| !part.is_empty() && part.iter().all(|byte| *byte == 0);
    let part = |from: usize, to: usize| {
        part_of(format, found, offset, from..to)
            .filter(|owner| owner.number.is_some_and(|number| number != mine) || owner.pass != pass(format))
    };
    let torn = |what: String, from: usize, to: usize| {
        (Damage::Torn, format!("bytes {from} to {} of the block {what}, the rest is as it should be", to - 1))
    };
    if zeros(&found[head..tail]) && tail - head >= 16 {
        return torn("are zeros".to_owned(), head, tail);
    }
    if tail - head >= 16
        && (head > begin || tail < found.len())
        && let Some(owner) = part(head.max(begin), tail)
    {
        return torn(format!("are of another write ({})", named(format, owner, mine).1), head, tail);
    }
    let wrong = expected.iter().zip(found).filter(|(a, b)| a != b).count();
    let bits: u32 = expected.iter().zip(found).map(|(a, b)| (a ^ b).count_ones()).sum();
    (
        Damage::Corrupt,
        format!(
            "{wrong} bytes differ ({bits} bits), from byte {at} of the block to byte {}",
            end.saturating_sub(1)
        ),
    )
}

fn pass(format: &DataTest) -> Option<u32> {
    match &format.pattern {
        TestPattern::Iot { pass, .. } => Some(*pass),
        TestPattern::Bytes(bytes) => word(bytes).and_then(|word| pass_of_word(format, word)),
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn pass_of_word(format: &DataTest, word: u32) -> Option<u32> {
    format.words.iter().position(|known| *known == word).map(|at| at as u32 + 1)
}

fn named(format: &DataTest, owner: Owner, mine: u32) -> (Damage, String) {
    let here = pass(format);
    let pass = match (owner.pass, here) {
        (Some(theirs), Some(here)) if theirs != here => format!(" of pass {theirs}, not of pass {here}"),
        _ => String::new(),
    };
    match owner.number.filter(|number| *number != mine) {
        Some(number) => {
            (Damage::Misdirected, format!("it is block {number}{pass}, and should be block {mine}"))
        }
        None => (Damage::Stale, format!("it is this block as it was written before{pass}")),
    }
}

fn owner(format: &DataTest, found: &[u8], begin: usize, offset: u64) -> Option<Owner> {
    part_of(format, found, offset, begin..found.len())
}

/// Whose a part of the block at an offset is; it begins and ends at multiples of 4 bytes.
fn part_of(format: &DataTest, found: &[u8], offset: u64, bytes: Range<usize>) -> Option<Owner> {
    let (begin, Range { start: from, end: to }) = (payload_at(format), bytes);
    let part = found.get(from..to)?;
    match &format.pattern {
        TestPattern::Iot { seed, .. } => {
            // The number of a numbered block stands in the first word, which then says nothing of the progression.
            let from = if format.numbered && from == begin { from + 4 } else { from };
            let part = found.get(from..to).filter(|part| part.len() >= 16)?;
            let (first, second) = (word(part)?, word(&part[4..])?);
            let step = second.wrapping_sub(first);
            let mut made = part.to_vec();
            progression(&mut made, first, step);
            let pass = (1..=4096u32).find(|pass| seed.wrapping_mul(*pass) == step)?;
            let before = ((from - begin) / 4) as u32;
            let number = first.wrapping_sub(step.wrapping_mul(before));
            let marked = !format.numbered || from > begin + 4 || number_of(found, begin) == Some(number);
            (made == part && marked).then_some(Owner { number: Some(number), pass: Some(pass) })
        }
        TestPattern::Bytes(pattern) => {
            let numbered = format.numbered && from == begin;
            let number = if format.numbered { number_of(found, begin) } else { None };
            let rest = if numbered { part.get(4..)? } else { part };
            let same = |bytes: &[u8]| {
                let length = bytes.len().max(1);
                let shift = (from + part.len() - rest.len() - begin + phase(format, length, offset)) % length;
                rest.iter().zip(bytes.iter().cycle().skip(shift)).all(|(a, b)| a == b)
            };
            if !pattern.is_empty() && same(pattern) {
                return Some(Owner { number, pass: pass(format) });
            }
            let at = format.words.iter().position(|word| same(&word.to_le_bytes()))?;
            Some(Owner { number, pass: Some(at as u32 + 1) })
        }
    }
}

fn number_of(found: &[u8], begin: usize) -> Option<u32> {
    found.get(begin..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests;
