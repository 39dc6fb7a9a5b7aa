//! The report of a corruption: where it is, what was expected and found, what became of it, and how to read it again.

use super::options::Options;
use super::report::Report;
use super::shape::Mode;
use fathom_content::Wrong;
use std::io::{self, Write};

/// One record that was not as it should be, with everything that is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corruption {
    /// Number of the error, from 1.
    pub number: u64,
    /// When, as ctime(3) says it.
    pub when: String,
    /// The pass.
    pub pass: u64,
    /// First byte of the record.
    pub record_offset: u64,
    /// Number of the record in its pass, from 1.
    pub record_number: u64,
    /// In which file.
    pub name: String,
    /// What should be there.
    pub expected: Vec<u8>,
    /// What was read.
    pub found: Vec<u8>,
    /// What became of its bad blocks, in order.
    pub wrong: Vec<Wrong>,
    /// Where that stands on the device, in bytes, if the file system tells.
    pub physical: Option<u64>,
    /// The file's inode and size.
    pub inode: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Extents of the file around it: byte in the file, byte on the device, length.
    pub extents: Vec<(u64, u64, u64)>,
}

/// What a second look showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondRead {
    /// As it was read at first: it stands so on the storage.
    Same,
    /// As it should be: the first read was wrong.
    Good,
    /// Something else again.
    Other,
    /// It could not be read.
    Failed,
}

impl Corruption {
    /// First byte in the record that differs.
    pub fn index(&self) -> usize {
        self.expected.iter().zip(&self.found).position(|(a, b)| a != b).unwrap_or(0)
    }

    fn blocks(&self, block: usize) -> Blocks {
        let mut blocks = Blocks::default();
        let pairs = self.expected.chunks(block).zip(self.found.chunks(block));
        for (i, (expected, found)) in pairs.enumerate() {
            match (expected == found, found.iter().all(|byte| *byte == 0)) {
                (true, _) => blocks.good += 1,
                (false, true) => {
                    blocks.zero += 1;
                    blocks.bad.push(i);
                }
                (false, false) => blocks.bad.push(i),
            }
        }
        blocks
    }
}

#[derive(Default)]
struct Blocks {
    good: usize,
    zero: usize,
    bad: Vec<usize>,
}

/// Ranges of numbers that follow each other: `3, 5 - 7`.
fn ranges(numbers: &[u64], most: usize) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let more = parts.len().saturating_sub(most);
    let text = parts.iter().take(most).map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} - {last}"),
    });
    let text = text.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more ranges") } else { text }
}

impl Report<'_> {
    fn told(&self, name: &str, value: impl std::fmt::Display, out: &mut impl Write) -> io::Result<()> {
        self.line(&format!("{name:>30}: {value}"), out)
    }

    /// Writes the report of one corruption.
    pub fn damage(&self, corruption: &Corruption, out: &mut impl Write) -> io::Result<()> {
        let block = self.options.block;
        let at = corruption.record_offset + corruption.index() as u64;
        self.line("", out)?;
        self.line(
            &format!("ERROR: Error number {} occurred on {}", corruption.number, corruption.when),
            out,
        )?;
        self.line("", out)?;
        let number = corruption.record_number;
        self.told("Error Number", corruption.number, out)?;
        self.told("Current Pass", corruption.pass, out)?;
        self.told("File Name", &corruption.name, out)?;
        self.told("File Inode", format!("{} (0x{:x})", corruption.inode, corruption.inode), out)?;
        self.told("File Size", format!("{} (0x{:x})", corruption.size, corruption.size), out)?;
        self.told("Operation", "miscompare", out)?;
        self.told("Record Number", number, out)?;
        self.told(
            "Request Size",
            format!("{} (0x{:x})", corruption.found.len(), corruption.found.len()),
            out,
        )?;
        self.told(
            "Block Length",
            format!("{} ({block} bytes/block)", corruption.found.len() as u64 / block),
            out,
        )?;
        let how = if self.options.random { "random" } else { "sequential" };
        let mode = match self.options.mode {
            Mode::Copy => "copy",
            Mode::Verify => "verify",
            Mode::Mirror => "mirror",
            Mode::Test if self.options.writes() => "test",
            Mode::Test => "read",
        };
        self.told("I/O Mode", mode, out)?;
        let direction = if self.options.shape.reverse { "reverse" } else { "forward" };
        self.told("I/O Type", format!("{how}, {direction}"), out)?;
        self.told("File Flags", if self.options.direct { "direct" } else { "cached" }, out)?;
        let end = corruption.record_offset + corruption.found.len() as u64;
        self.told("Starting File Offset", format!("{0} (0x{0:x})", corruption.record_offset), out)?;
        self.told("Ending File Offset", format!("{end} (0x{end:x})"), out)?;
        let modulo = |unit: u64| at % unit;
        let modulos = format!("(modulo 8/512/4096: {}/{}/{})", modulo(8), modulo(512), modulo(4096));
        self.told("Error File Offset", format!("{at} (0x{at:x}) {modulos}"), out)?;
        self.told("Relative Error LBA", format!("{} (offset {})", at / block, at % block), out)?;
        match corruption.physical {
            Some(byte) => self.told("Physical Error LBA", format!("{0} (0x{0:x})", byte / 512), out)?,
            None => self.told("Physical Error LBA", "<not mapped>", out)?,
        }
        let index = corruption.index() as u64;
        self.told("Corruption Buffer Index", format!("{index} (byte index into the record)"), out)?;
        self.told("Corruption Block Index", format!("{} (byte index into the block)", index % block), out)?;
        if !corruption.extents.is_empty() {
            self.line("", out)?;
            self.line("File extents around it (file offset, physical LBA, length):", out)?;
            for (logical, physical, length) in &corruption.extents {
                self.line(&format!("    {logical:>14} {:>14} {length:>14}", physical / 512), out)?;
            }
        }
        self.bytes(corruption, number, out)?;
        self.analysis(corruption, block, out)
    }

    fn bytes(&self, corruption: &Corruption, number: u64, out: &mut impl Write) -> io::Result<()> {
        let index = corruption.index();
        let (good, bad) = (corruption.expected[index], corruption.found[index]);
        self.line("", out)?;
        self.line(&format!("Data compare error at byte {index} in record number {number}"), out)?;
        let count = corruption.found.len();
        self.line(
            &format!("Data expected = 0x{good:02x}, data found = 0x{bad:02x}, byte count = {count}"),
            out,
        )?;
        let from = index & !15;
        // Some bytes before the first bad one show what was still good.
        let from = from.saturating_sub(32);
        let to = (from + self.options.dump as usize).min(count);
        for (title, bytes) in [("Correct Data", &corruption.expected), ("Incorrect Data", &corruption.found)]
        {
            self.line("", out)?;
            self.line(
                &format!("The {title} starts at byte {from} of the record (* marks the first bad byte)"),
                out,
            )?;
            for at in (from..to).step_by(16) {
                let row = &bytes[at..(at + 16).min(to)];
                let cells: String = row
                    .iter()
                    .enumerate()
                    .map(|(i, byte)| {
                        let mark = if at + i == index { '*' } else { ' ' };
                        format!("{mark}{byte:02x}")
                    })
                    .collect();
                let text: String = row
                    .iter()
                    .map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' })
                    .collect();
                let place = corruption.record_offset + at as u64;
                self.line(&format!("0x{place:010x}/{at:>6} |{cells:<48} \"{text}\""), out)?;
            }
        }
        Ok(())
    }

    fn analysis(&self, corruption: &Corruption, block: u64, out: &mut impl Write) -> io::Result<()> {
        let blocks = corruption.blocks(block as usize);
        let first = corruption.record_offset / block;
        let bad: Vec<u64> = blocks.bad.iter().map(|i| first + *i as u64).collect();
        self.line("", out)?;
        self.line("Analysis:", out)?;
        self.told("Corrupted blocks", bad.len(), out)?;
        self.told("of these all zeros", blocks.zero, out)?;
        self.told("Good blocks", blocks.good, out)?;
        self.told("Corrupted block numbers", ranges(&bad, self.options.bad_most as usize), out)?;
        for wrong in &corruption.wrong {
            let what = format!("{}: {}", wrong.damage, wrong.note);
            match corruption.wrong.len() {
                1 => self.told("What became of it", what, out)?,
                _ => {
                    let (first, length) = (wrong.offset / block, u64::from(wrong.length).div_ceil(block));
                    let numbers: Vec<u64> = (first..first + length).collect();
                    let title = format!("What became of {}", ranges(&numbers, 1));
                    self.told(&title, what, out)?;
                }
            }
        }
        Ok(())
    }

    /// What reading it again showed, and the words that read it once more.
    pub fn second_read(
        &self,
        corruption: &Corruption,
        again: SecondRead,
        saved: &[String],
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.line("", out)?;
        let text = match again {
            SecondRead::Same => "Read again: the same wrong data. It stands so on the storage.",
            SecondRead::Good => "Read again: the data is correct. The first read was wrong, not the storage.",
            SecondRead::Other => "Read again: neither the expected data nor what was read at first.",
            SecondRead::Failed => "It could not be read again.",
        };
        self.line(text, out)?;
        for name in saved {
            self.line(&format!("Saved: {name}"), out)?;
        }
        self.line("Command line to re-read the corrupted record:", out)?;
        self.line(&format!("    # dt {}", self.record_again(corruption)), out)
    }

    /// The words that read one record again and compare it.
    fn record_again(&self, corruption: &Corruption) -> String {
        let (whole, length) = (self.options, corruption.found.len() as u64);
        let one = self.options.of_record(corruption.record_offset, length, corruption.pass);
        if whole.pairs() {
            let direct = if whole.direct { " flags=direct" } else { "" };
            return format!(
                "iomode=verify if={} of={} bs={length} dsize={} limit={length} position={} oposition={}{direct}",
                whole.input.as_deref().unwrap_or_default(),
                whole.name(),
                whole.block,
                one.position,
                corruption.record_offset
            );
        }
        let part =
            super::Part { bytes_written: length, records_written: 1, passes: 1, ..super::Part::default() };
        Report { options: &one, system_info: self.system_info }.reread(&part)
    }
}

impl Options {
    /// The test of one record of this one: read and compared with what a pass wrote. `offset` is that of the copy, where
    /// there is one.
    pub fn of_record(&self, offset: u64, length: u64, pass: u64) -> Options {
        let mut one = self.clone();
        one.position = match self.pairs() {
            true => offset.saturating_sub(self.second_start()) + self.start(),
            false => offset,
        };
        one.output_position = self.pairs().then_some(offset);
        one.pattern_start = Some(self.pattern_start.unwrap_or_else(|| self.start()));
        (one.skip, one.seek, one.records) = (0, 0, 0);
        (one.record, one.limit, one.random) = (length, Some(length), false);
        let super::Shape { buffer_offset, buffers_turn, .. } = self.shape;
        one.shape = super::Shape { buffer_offset, buffers_turn, ..super::Shape::default() };
        // The pattern of that pass, not of the first.
        one.iot_pass = self.iot_pass.wrapping_add(pass as u32 - 1);
        if matches!(self.pattern, super::Pattern::Words) {
            one.pattern = super::Pattern::Word(super::word_of(self, pass));
        }
        if self.mode == Mode::Copy {
            one.mode = Mode::Verify;
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SystemInfo, parse};

    #[test]
    fn a_flipped_byte_is_told_with_its_place_dump_and_story() {
        let words: Vec<String> = ["of=f", "bs=1k", "limit=8k", "dlimit=48", "flags=direct", "pattern=iot"]
            .map(str::to_owned)
            .to_vec();
        let options = parse(&words, 4096).unwrap();
        let system_info = SystemInfo::default();
        let report = Report { options: &options, system_info: &system_info };
        let mut corruption = Corruption {
            number: 1,
            when: "Sat Nov 21 01:35:36 2026".to_owned(),
            pass: 2,
            record_offset: 4096,
            record_number: 5,
            name: "f".to_owned(),
            expected: vec![0x39; 1024],
            found: vec![0x39; 1024],
            wrong: vec![Wrong {
                damage: fathom_content::Damage::Corrupt,
                offset: 4608,
                length: 512,
                note: "1 bytes differ".to_owned(),
            }],
            physical: Some(1 << 20),
            ..Corruption::default()
        };
        corruption.found[600] = 0xce;
        let mut out = Vec::new();
        report.damage(&corruption, &mut out).unwrap();
        report.second_read(&corruption, SecondRead::Same, &["f-CORRUPT0-j1t1".to_owned()], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for line in [
            "ERROR: Error number 1 occurred on Sat Nov 21 01:35:36 2026",
            "                 Record Number: 5",
            "             Error File Offset: 4696 (0x1258) (modulo 8/512/4096: 0/88/600)",
            "            Relative Error LBA: 9 (offset 88)",
            "            Physical Error LBA: 2048 (0x800)",
            "Data compare error at byte 600 in record number 5",
            "Data expected = 0x39, data found = 0xce, byte count = 1024",
            " 39 39 39 39 39 39 39 39*ce 39 39 39 39 39 39 39",
            "       Corrupted block numbers: 9",
            "             What became of it: corrupt: 1 bytes differ",
            "It stands so on the storage.",
            "Saved: f-CORRUPT0-j1t1",
            "    # dt if=f bs=1024 dsize=512 iotype=sequential iodir=forward limit=1024 records=1 position=4096 pattern=iot iotseed=0x01010101 iotpass=2 flags=direct",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn ranges_are_shortened() {
        assert_eq!(ranges(&[3, 5, 6, 7, 9], 2), "3, 5 - 7 and 1 more ranges");
    }
}
