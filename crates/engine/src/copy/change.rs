//! What happens to bytes on their way. Pure: bytes in, bytes out.

use fathom_spec::{Change, Make};

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
    pub(super) fn take(&mut self, block: &mut [u8], out: &mut Vec<u8>) {
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
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(odd) = self.odd.take() {
            self.recorded(&[odd], out);
        }
        let Some(records) = self.change.records else { return };
        match records.make {
            Make::Records if self.column > 0 => {
                let missing = records.length.saturating_sub(self.column);
                out.extend(std::iter::repeat_n(records.space, missing as usize));
            }
            Make::Lines if self.column > 0 => out.push(records.newline),
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

    fn recorded(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let Some(records) = self.change.records else {
            out.extend_from_slice(block);
            return;
        };
        for byte in block {
            match records.make {
                Make::Records if *byte == records.newline => {
                    let missing = records.length.saturating_sub(self.column);
                    out.extend(std::iter::repeat_n(records.space, missing as usize));
                    self.column = 0;
                }
                Make::Records => {
                    if self.column < records.length {
                        out.push(*byte);
                    } else if self.column == records.length {
                        self.truncated += 1;
                    }
                    self.column += 1;
                }
                Make::Lines => {
                    if self.column == records.length {
                        out.push(records.newline);
                        (self.column, self.spaces) = (0, 0);
                    }
                    self.column += 1;
                    if *byte == records.space {
                        self.spaces += 1;
                    } else {
                        out.extend(std::iter::repeat_n(records.space, self.spaces as usize));
                        self.spaces = 0;
                        out.push(*byte);
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
        let (mut changer, mut out) = (Changer::new(&change), Vec::new());
        for block in TEXT.chunks(read_size) {
            changer.take(&mut block.to_vec(), &mut out);
        }
        changer.end(&mut out);
        (out, changer.truncated)
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
