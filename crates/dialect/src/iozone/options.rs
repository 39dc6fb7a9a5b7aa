//! iozone's words.

use std::collections::VecDeque;

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;
/// From this size of a file on, automatic mode leaves small records out, unless `-z` is there.
const CROSSOVER: u64 = 16 * MIB;
/// Records smaller than this are small ones.
const SMALL: u64 = 64 * KIB;

/// What the table tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// KiB a second.
    #[default]
    Speed,
    /// `-O`: operations a second.
    Operations,
    /// `-N`: microseconds an operation.
    Microseconds,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `-a`.
    pub automatic: bool,
    /// `-z`: small records with large files too.
    pub all_records: bool,
    /// `-I`.
    pub direct: bool,
    /// `-o`.
    pub synchronous: bool,
    /// `-e`.
    pub flush: bool,
    /// `-w`.
    pub keep: bool,
    /// `-R`.
    pub excel: bool,
    /// `-b`.
    pub excel_file: Option<String>,
    /// `-O`, `-N`.
    pub unit: Unit,
    /// `-f`.
    pub file: String,
    /// `-i`; empty: 0 to 5.
    pub tests: Vec<u32>,
    /// `-s`, bytes.
    pub sizes: Vec<u64>,
    /// `-r`, bytes.
    pub records: Vec<u64>,
    /// `-n`, `-g`, bytes.
    pub file_range: (u64, u64),
    /// `-y`, `-q`, bytes.
    pub record_range: (u64, u64),
}

impl Default for Options {
    fn default() -> Self {
        Options {
            automatic: false,
            all_records: false,
            direct: false,
            synchronous: false,
            flush: false,
            keep: false,
            excel: false,
            excel_file: None,
            unit: Unit::Speed,
            file: "iozone.tmp".to_owned(),
            tests: Vec::new(),
            sizes: Vec::new(),
            records: Vec::new(),
            file_range: (64 * KIB, 512 * MIB),
            record_range: (4 * KIB, 16 * MIB),
        }
    }
}

fn doubling((least, most): (u64, u64)) -> Vec<u64> {
    std::iter::successors(Some(least), |size| size.checked_mul(2)).take_while(|size| *size <= most).collect()
}

impl Options {
    /// Sizes of files, bytes.
    pub fn file_sizes(&self) -> Vec<u64> {
        match (self.sizes.is_empty(), self.automatic) {
            (false, _) => self.sizes.clone(),
            (true, true) => doubling(self.file_range),
            (true, false) => vec![512 * KIB],
        }
    }

    /// Sizes of records, bytes.
    pub fn record_sizes(&self) -> Vec<u64> {
        match (self.records.is_empty(), self.automatic) {
            (false, _) => self.records.clone(),
            (true, true) => doubling(self.record_range),
            (true, false) => vec![4 * KIB],
        }
    }

    /// File and record of each row of the table.
    pub fn rows(&self) -> Vec<(u64, u64)> {
        let by_size = self.automatic && self.records.is_empty() && !self.all_records;
        let fits = |(file, record): &(u64, u64)| {
            record <= file && !(by_size && *file > CROSSOVER && *record < SMALL)
        };
        let records = self.record_sizes();
        let all = self.file_sizes().into_iter().flat_map(|file| records.iter().map(move |r| (file, *r)));
        all.filter(fits).collect()
    }
}

/// What the words ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To measure.
    Measure(Box<Options>),
    /// Nothing: this is told on stderr, and the status is 1.
    Refused(String),
}

/// Reads the words.
pub fn parse(words: &[String]) -> Asked {
    understood(words).map_or_else(Asked::Refused, |options| Asked::Measure(Box::new(options)))
}

fn lacks(what: &str, hint: &str) -> String {
    format!("fathom's iozone has no {what}\nhint: {hint}")
}

fn understood(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words: VecDeque<&str> = words.iter().map(String::as_str).collect();
    while let Some(word) = words.pop_front() {
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
        let mut rest =
            letters.ok_or_else(|| lacks(&format!("word {word:?}"), "options begin with -"))?.chars();
        while let Some(letter) = rest.next() {
            if "bfgiqnrsy".contains(letter) {
                let own = std::mem::replace(&mut rest, "".chars()).as_str().to_owned();
                let value = if own.is_empty() { words.pop_front().map(str::to_owned) } else { Some(own) };
                let value = value.ok_or_else(|| {
                    format!("iozone: option requires an argument -- '{letter}'\nhint: -{letter} VALUE")
                })?;
                set(&mut options, letter, value)?;
            } else {
                flag(&mut options, letter)?;
            }
        }
    }
    if options.rows().is_empty() {
        return Err("no record fits into a file\nhint: look at -s, -r, -n, -g, -y and -q".to_owned());
    }
    match options.rows().into_iter().find(|(file, record)| file % record != 0) {
        Some((file, record)) => Err(format!(
            "a file of {} KiB is no multiple of a record of {} KiB\nhint: choose others with -s and -r",
            file / KIB,
            record / KIB
        )),
        None => Ok(options),
    }
}

fn flag(options: &mut Options, letter: char) -> Result<(), String> {
    match letter {
        'a' => options.automatic = true,
        'z' => options.all_records = true,
        'I' => options.direct = true,
        'o' => options.synchronous = true,
        'e' => options.flush = true,
        'w' => options.keep = true,
        'R' => options.excel = true,
        'O' => options.unit = Unit::Operations,
        'N' => options.unit = Unit::Microseconds,
        'c' => {
            return Err(lacks(
                "-c (closing the file in the time)",
                "-e has the flush in it, which is what closing waits for on a network's file system",
            ));
        }
        't' | 'F' => {
            return Err(lacks("-t and -F (throughput of several processes)", "fathom run has --workers"));
        }
        other => return Err(lacks(&format!("option -{other}"), "see docs/dialect/iozone.md")),
    }
    Ok(())
}

fn set(options: &mut Options, letter: char, value: String) -> Result<(), String> {
    match letter {
        'b' => (options.excel_file, options.excel) = (Some(value), true),
        'f' => options.file = value,
        'n' => options.file_range.0 = size(&value)?,
        'g' => options.file_range.1 = size(&value)?,
        'y' => options.record_range.0 = size(&value)?,
        'q' => options.record_range.1 = size(&value)?,
        's' => options.sizes.push(size(&value)?),
        'r' => options.records.push(size(&value)?),
        _ => match value.parse() {
            Ok(test @ (0..=5 | 9..=12)) => options.tests.push(test),
            Ok(6 | 7) => {
                return Err(lacks("tests 6 and 7 (fwrite and fread, C's buffered files)", "leave them out"));
            }
            Ok(8) => return Err(lacks("test 8 (random mix of several processes)", "fathom run has --mix")),
            _ => return Err(format!("Invalid test {value:?}\nhint: tests are 0 to 5 and 9 to 12")),
        },
    }
    Ok(())
}

/// KiB, or with k, m or g.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size\nhint: a number of KiB, or a number with k, m or g");
    let last = text.chars().last().map(|last| last.to_ascii_lowercase());
    let (digits, scale) = match last {
        Some('k') => (&text[..text.len() - 1], KIB),
        Some('m') => (&text[..text.len() - 1], MIB),
        Some('g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, KIB),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(scale).filter(|size| (1..=1 << 46).contains(size)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Options, String> {
        understood(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn automatic_mode_doubles_and_leaves_small_records_of_large_files_out() {
        let rows = said("-a -n 16m -g 32m").unwrap().rows();
        assert_eq!(rows.iter().filter(|row| row.0 == 16 * MIB).count(), 13);
        let large: Vec<u64> = rows.iter().filter(|row| row.0 == 32 * MIB).map(|row| row.1 / KIB).collect();
        assert_eq!(large, [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384]);
        assert_eq!(said("-az -n 32m -g 32m").unwrap().rows().len(), 13);
        assert_eq!(said("-a -n 64 -g 64 -y 8 -q 16").unwrap().rows().len(), 2);
    }

    #[test]
    fn one_row_is_512_kib_in_records_of_4() {
        assert_eq!(said("").unwrap().rows(), [(512 * KIB, 4 * KIB)]);
        assert_eq!(said("-s 4m -r 64 -r 1m -i0 -i 1").unwrap().rows().len(), 2);
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let lines = [
            ("-i 6", "fwrite"),
            ("-i 8", "test 8"),
            ("-i 13", "Invalid test"),
            ("-c", "-c"),
            ("-t 2", "-t"),
            ("-Q", "-Q"),
            ("-s", "requires"),
            ("-s 5k -r 4k", "no multiple"),
            ("-s 4k -r 8k", "no record"),
            ("-s x", "no size"),
            ("x", "word"),
        ];
        for (line, words) in lines {
            assert!(said(line).is_err_and(|why| why.contains(words) && why.contains("hint: ")), "{line}");
        }
    }
}
