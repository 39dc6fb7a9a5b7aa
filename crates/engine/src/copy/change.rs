//! What happens to bytes on their way. Pure: bytes in, bytes out.

use fathom_spec::{Change, Make};
use std::collections::VecDeque;

/// Bytes that are to be written. A record may be longer than memory: what fills it up is counted, not kept.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    runs: VecDeque<Run>,
    /// Bytes of the first run that are gone.
    at: usize,
}

#[derive(Debug)]
enum Run {
    Bytes(Vec<u8>),
    /// One byte, so many times.
    Same(u8, u64),
}

/// Fewer equal bytes than these are kept as they are.
const SAME_LEAST: u64 = 64 << 10;

impl Gathered {
    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        let of = |run: &Run| match run {
            Run::Bytes(bytes) => bytes.len() as u64,
            Run::Same(_, times) => *times,
        };
        self.runs.iter().map(of).sum::<u64>() - self.at as u64
    }

    /// Where bytes are appended.
    fn bytes(&mut self) -> &mut Vec<u8> {
        if !matches!(self.runs.back(), Some(Run::Bytes(_))) {
            self.runs.push_back(Run::Bytes(Vec::new()));
        }
        match self.runs.back_mut() {
            Some(Run::Bytes(bytes)) => bytes,
            _ => unreachable!("it was pushed just now"),
        }
    }

    fn repeat(&mut self, byte: u8, times: u64) {
        match times {
            few if few < SAME_LEAST => self.bytes().extend(std::iter::repeat_n(byte, few as usize)),
            many => self.runs.push_back(Run::Same(byte, many)),
        }
    }

    /// Frees the room of what was moved out.
    pub(super) fn forget_moved(&mut self) {
        if let Some(Run::Bytes(bytes)) = self.runs.front_mut() {
            bytes.drain(..self.at);
            self.at = 0;
        }
    }

    /// Moves the first bytes out, as many as there is room for.
    pub(super) fn move_into(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            let Some(run) = self.runs.front_mut() else { return };
            let (moved, is_over) = match run {
                Run::Bytes(bytes) => {
                    let left = &bytes[self.at..];
                    let moved = left.len().min(out.len());
                    out[..moved].copy_from_slice(&left[..moved]);
                    self.at += moved;
                    (moved, self.at == bytes.len())
                }
                Run::Same(byte, times) => {
                    let moved = out.len().min(usize::try_from(*times).unwrap_or(usize::MAX));
                    out[..moved].fill(*byte);
                    *times -= moved as u64;
                    (moved, *times == 0)
                }
            };
            out = &mut out[moved..];
            if is_over {
                self.at = 0;
                // The last of bytes is kept, emptied: its room is used again.
                match (self.runs.len(), self.runs.front_mut()) {
                    (1, Some(Run::Bytes(bytes))) => return bytes.clear(),
                    _ => drop(self.runs.pop_front()),
                }
            }
        }
    }
}

/// Changes a stream of bytes block by block.
#[derive(Debug)]
pub(super) struct Changer {
    change: Change,
    /// The first byte of a pair whose second has not come yet.
    odd: Option<u8>,
    column: u64,
    spaces: u64,
    /// Lines that were longer than a record.
    pub truncated: u64,
}

impl Changer {
    pub(super) fn new(change: &Change) -> Self {
        Changer { change: change.clone(), odd: None, column: 0, spaces: 0, truncated: 0 }
    }

    /// Appends what a block becomes.
    pub(super) fn take(&mut self, block: &mut [u8], out: &mut Gathered) {
        if !self.change.table.is_empty() {
            let table = &self.change.table;
            block.iter_mut().for_each(|byte| *byte = table[*byte as usize]);
        }
        if self.change.swap {
            let swapped = self.swapped(block);
            self.recorded(&swapped, out);
        } else {
            self.recorded(block, out);
        }
    }

    /// Appends what is still owed when the input has ended.
    pub(super) fn end(&mut self, out: &mut Gathered) {
        if let Some(odd) = self.odd.take() {
            self.recorded(&[odd], out);
        }
        let Some(records) = self.change.records else { return };
        match records.make {
            Make::Records if self.column > 0 => {
                out.repeat(records.space, records.length.saturating_sub(self.column));
            }
            Make::Lines if self.column > 0 => out.bytes().push(records.newline),
            Make::Records | Make::Lines => {}
        }
        self.column = 0;
    }

    fn swapped(&mut self, block: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.len() + 1);
        for byte in block {
            match self.odd.take() {
                Some(first) => out.extend([*byte, first]),
                None => self.odd = Some(*byte),
            }
        }
        out
    }

    fn recorded(&mut self, block: &[u8], out: &mut Gathered) {
        let Some(records) = self.change.records else {
            out.bytes().extend_from_slice(block);
            return;
        };
        for byte in block {
            match records.make {
                Make::Records if *byte == records.newline => {
                    out.repeat(records.space, records.length.saturating_sub(self.column));
                    self.column = 0;
                }
                Make::Records => {
                    if self.column < records.length {
                        out.bytes().push(*byte);
                    } else if self.column == records.length {
                        self.truncated += 1;
                    }
                    self.column += 1;
                }
                Make::Lines => {
                    if self.column == records.length {
                        out.bytes().push(records.newline);
                        (self.column, self.spaces) = (0, 0);
                    }
                    self.column += 1;
                    if *byte == records.space {
                        self.spaces += 1;
                    } else {
                        out.repeat(records.space, self.spaces);
                        self.spaces = 0;
                        out.bytes().push(*byte);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Records;

    const TEXT: &[u8] = b"one\ntwo two two\nx";

    fn changed(change: Change, read_size: usize) -> (Vec<u8>, u64) {
        let (mut changer, mut out) = (Changer::new(&change), Gathered::default());
        for block in TEXT.chunks(read_size) {
            changer.take(&mut block.to_vec(), &mut out);
        }
        changer.end(&mut out);
        let mut bytes = vec![0; out.len() as usize];
        out.move_into(&mut bytes);
        assert_eq!(out.len(), 0);
        (bytes, changer.truncated)
    }

    fn records(make: Make, length: u64) -> Change {
        Change { records: Some(Records { make, length, newline: b'\n', space: b' ' }), ..Change::default() }
    }

    #[test]
    fn lines_become_records_and_the_longer_ones_are_cut_and_counted() {
        for size in [1, 3, 17] {
            let (out, truncated) = changed(records(Make::Records, 5), size);
            assert_eq!((out.as_slice(), truncated), (b"one  two tx    ".as_slice(), 1));
        }
    }

    #[test]
    fn a_record_that_is_longer_than_memory_is_filled_up_without_being_kept() {
        let mut changer = Changer::new(&records(Make::Records, 1 << 50));
        let mut out = Gathered::default();
        changer.take(&mut b"ab\nc\n".to_vec(), &mut out);
        assert_eq!(out.len(), 2 << 50);
        let mut first = [0; 100_000];
        out.move_into(&mut first[..1]);
        out.move_into(&mut first[1..]);
        assert!(first.starts_with(b"ab ") && first[2..].iter().all(|byte| *byte == b' '));
        assert_eq!(out.len(), (2 << 50) - 100_000);
    }

    #[test]
    fn records_become_lines_without_trailing_spaces() {
        for size in [1, 4, 17] {
            let (out, _) = changed(records(Make::Lines, 4), size);
            assert_eq!(out, b"one\n\ntwo\ntwo\ntwo\n\nx\n");
        }
    }

    #[test]
    fn pairs_change_places_across_blocks_and_a_last_odd_byte_stays() {
        for size in [1, 3, 5, 17] {
            let (out, _) = changed(Change { swap: true, ..Change::default() }, size);
            assert_eq!(out, b"no\newt owt owt\nox");
        }
    }

    #[test]
    fn a_table_replaces_each_byte() {
        let table: Vec<u8> = (0..=255u8).map(|byte| byte.to_ascii_uppercase()).collect();
        let (out, _) = changed(Change { table, ..Change::default() }, 4);
        assert_eq!(out, b"ONE\nTWO TWO TWO\nX");
    }
}
