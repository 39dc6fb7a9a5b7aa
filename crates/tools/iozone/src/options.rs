//! iozone's words.

use fathom_spec::Nanos;
use std::collections::VecDeque;

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;
/// From this size of a file on, automatic mode leaves small records out, unless `-z` is there.
const CROSSOVER: u64 = 16 * MIB;
/// Records smaller than this are small ones.
const SMALL: u64 = 64 * KIB;

/// The file without `-f`.
const FILE: &str = "iozone.tmp";
/// What the files of throughput mode are called without `-F`; a number follows.
const DUMMY: &str = "iozone.DUMMY.";
/// The most workers of throughput mode.
const WORKERS_MOST: u32 = 1024;

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
    /// `-c`.
    pub close: bool,
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
    /// `-i`; empty: 0 to 7, and with `-t` all that it has.
    pub tests: Vec<u32>,
    /// `-t`: throughput of so many workers, without a table.
    pub workers: Option<u32>,
    /// `-F`: a file for each of them.
    pub files: Vec<String>,
    /// `-T`: they are called threads.
    pub threads: bool,
    /// `-x`: all do their whole file; otherwise all end when the first has done his.
    pub to_the_end: bool,
    /// `-+p`: of the mix, so many percent of the workers read.
    pub mix_read_percent: Option<u8>,
    /// `--budget`: how long a row of the table may be repeated. Not iozone's.
    pub budget: Nanos,
    /// `--html`, a page with charts. Not iozone's.
    pub html: Option<String>,
    /// `-s`, bytes.
    pub sizes: Vec<u64>,
    /// `-r`, bytes.
    pub records: Vec<u64>,
    /// `-n`, `-g`, bytes.
    pub file_range: (u64, u64),
    /// `-y`, `-q`, bytes.
    pub record_range: (u64, u64),
    /// `-E`: tests 9 to 12 are run.
    pub extension: bool,
    /// `-j`: records from one to the next of the stride read.
    pub stride: u64,
    /// `-S` and `-L`, for the banner: KiB of the processor's cache, bytes of its line.
    pub processor_cache: (u64, u64),
    /// What the banner says of the options, in their order.
    pub banner: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            automatic: false,
            all_records: false,
            direct: false,
            synchronous: false,
            flush: false,
            close: false,
            keep: false,
            excel: false,
            excel_file: None,
            unit: Unit::Speed,
            file: FILE.to_owned(),
            tests: Vec::new(),
            workers: None,
            files: Vec::new(),
            threads: false,
            to_the_end: false,
            mix_read_percent: None,
            budget: Nanos::from_seconds(1),
            html: None,
            sizes: Vec::new(),
            records: Vec::new(),
            file_range: (64 * KIB, 512 * MIB),
            record_range: (4 * KIB, 16 * MIB),
            extension: false,
            stride: 17,
            processor_cache: (1024, 32),
            banner: Vec::new(),
        }
    }
}

fn doubling(least: u64, most: u64) -> Vec<u64> {
    std::iter::successors(Some(least), |size| size.checked_mul(2)).take_while(|size| *size <= most).collect()
}

impl Options {
    /// Sizes of files, bytes.
    pub fn file_sizes(&self) -> Vec<u64> {
        match (self.sizes.is_empty(), self.automatic) {
            (false, _) => self.sizes.clone(),
            (true, true) => doubling(self.file_range.0, self.file_range.1),
            (true, false) => vec![512 * KIB],
        }
    }

    /// Sizes of records, bytes.
    pub fn record_sizes(&self) -> Vec<u64> {
        match (self.records.is_empty(), self.automatic) {
            (false, _) => self.records.clone(),
            (true, true) => doubling(self.record_range.0, self.record_range.1),
            (true, false) => vec![4 * KIB],
        }
    }

    /// Records across an Excel block: those of `-r`, or the whole range.
    pub fn excel_records(&self) -> Vec<u64> {
        match self.records.is_empty() {
            false => self.records.clone(),
            true => doubling(self.record_range.0, self.record_range.1),
        }
    }

    /// File and record of throughput mode, which has one of each.
    pub fn one_row(&self) -> (u64, u64) {
        let first = |sizes: Vec<u64>, other| sizes.first().copied().unwrap_or(other);
        (first(self.file_sizes(), 512 * KIB), first(self.record_sizes(), 4 * KIB))
    }

    /// The files of throughput mode, one for each worker.
    pub fn file_names(&self) -> Vec<String> {
        if !self.files.is_empty() {
            return self.files.clone();
        }
        let before = if self.file == FILE { DUMMY.to_owned() } else { format!("{}.DUMMY.", self.file) };
        (0..self.workers.unwrap_or(1)).map(|worker| format!("{before}{worker}")).collect()
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
pub enum Invocation {
    /// To measure.
    Measure(Box<Options>),
    /// To print this on stdout: `-h` or `-v`.
    Print(&'static str),
    /// Nothing that can be done: this goes to stderr, and the status is iozone's.
    Error(String, u8),
}

/// What `-h` tells: what works here.
const HELP: &str = "\
Usage: iozone [options]
Does what iozone 3.489 does with these options, and keeps what was seen (fathom show).

  -a                   automatic: files of -n to -g, records of -y to -q, both doubling
  -z                   with -a: small records of large files too
  -n, -g, -y, -q SIZE  smallest and largest file [64k, 512m] and record [4k, 16m]
  -s, -r SIZE          one size of a file [512k], of a record [4k]; several times: several
  -i N                 test 0 to 12; several times: several; with -E for 9 to 12
  -j N                 records from one to the next of the stride read [17]
  -S KIB  -L BYTES     the processor's cache and its line, for the banner
  -I  -o  -e  -c       O_DIRECT; O_SYNC; fsync in the time; close in the time
  -O  -N               operations a second; microseconds an operation
  -R  -b FILE          Excel blocks on stdout; in a file
  -f FILE  -w          the file; it is kept
  -t N  -F FILE...     throughput mode: so many workers, each with its file
  -x  -T  -+p PERCENT  with -t: all to their end; threads; readers of test 8
  -h  -v               this; the version

SIZE is KiB, or ends in k, m or g.

fathom's own:
  --budget SECONDS     how long a row may be repeated for its error [1]
  --html FILE          a page with maps, surfaces and errors
";

/// What `-v` tells.
const VERSION: &str = "\tIozone: Performance Test of File I/O\n\t        as Version 3.489, by fathom\n";

/// Reads the words.
pub fn parse(words: &[String]) -> Invocation {
    match words.first().map(String::as_str) {
        Some("-h" | "--help") => return Invocation::Print(HELP),
        Some("-v" | "--version") => return Invocation::Print(VERSION),
        _ => {}
    }
    match read(words) {
        Ok(options) => Invocation::Measure(Box::new(options)),
        Err(Refusal::Unknown(why)) => Invocation::Error(why, UNKNOWN),
        Err(Refusal::Lacking(why)) => Invocation::Error(why, 1),
    }
}

/// iozone's status where the words make no sense.
const UNKNOWN: u8 = 255;

/// Why nothing is measured.
#[derive(Debug)]
enum Refusal {
    /// No option of iozone's, or one without its value.
    Unknown(String),
    /// What iozone has, and fathom has not.
    Lacking(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Refusal::Lacking(why)
    }
}

fn lacks(what: &str, hint: &str) -> String {
    format!("fathom's iozone has no {what}\nhint: {hint}")
}

fn read(words: &[String]) -> Result<Options, Refusal> {
    let mut options = Options::default();
    let mut words: VecDeque<&str> = words.iter().map(String::as_str).collect();
    while let Some(word) = words.pop_front() {
        match word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            None => return Err(lacks(&format!("word {word:?}"), "options begin with -").into()),
            Some(long) if long.starts_with('-') => ours(&mut options, &long[1..], &mut words)?,
            Some(more) if more.starts_with('+') => further(&mut options, &more[1..], &mut words)?,
            Some(letters) => short(&mut options, letters, &mut words)?,
        }
    }
    fits(&options)?;
    throughput_mode(&options)?;
    Ok(options)
}

/// One word of letters, of which one may take the rest of the word or the next one.
fn short(options: &mut Options, letters: &str, words: &mut VecDeque<&str>) -> Result<(), Refusal> {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        if !"bfgijqnrstyFLS".contains(letter) {
            flag(options, letter)?;
            continue;
        }
        let value = value(rest.as_str(), &letter.to_string(), words)?;
        set(options, letter, value)?;
        // -F takes all names up to the next option.
        while letter == 'F' && words.front().is_some_and(|word| !word.starts_with('-')) {
            options.files.extend(words.pop_front().map(str::to_owned));
        }
        break;
    }
    Ok(())
}

/// An option's value: what stands behind it in its word, or else the next word.
fn value(own: &str, option: &str, words: &mut VecDeque<&str>) -> Result<String, Refusal> {
    let value = if own.is_empty() { words.pop_front() } else { Some(own) };
    let missing = || Refusal::Unknown(format!("iozone: option requires an argument -- '{option}'"));
    value.map(str::to_owned).ok_or_else(missing)
}

/// Options of ours.
fn ours(options: &mut Options, word: &str, words: &mut VecDeque<&str>) -> Result<(), Refusal> {
    let (name, own) = word.split_once('=').unwrap_or((word, ""));
    match name {
        "html" => options.html = Some(value(own, "-html", words)?),
        "budget" => {
            let text = value(own, "-budget", words)?;
            let seconds: Option<f64> = text.trim_end_matches('s').parse().ok();
            let seconds = seconds.filter(|seconds| (0.0..=86_400.0).contains(seconds));
            let seconds = seconds.ok_or_else(|| {
                format!("{text:?} is no time\nhint: seconds for which a row may be repeated; 0: never")
            })?;
            options.budget = Nanos((seconds * 1e9) as u64);
        }
        _ => return Err(lacks(&format!("option --{name}"), "see docs/tools/iozone.md").into()),
    }
    Ok(())
}

/// Options that begin with -+.
fn further(options: &mut Options, word: &str, words: &mut VecDeque<&str>) -> Result<(), Refusal> {
    let Some(own) = word.strip_prefix('p') else {
        let known = FURTHER_LACKING.iter().find(|(letter, _)| word.starts_with(*letter));
        let why = known.map_or("see docs/tools/iozone.md", |(_, why)| why);
        return Err(lacks(&format!("option -+{word}"), why).into());
    };
    let text = value(own, "+p", words)?;
    let percent = text.parse().ok().filter(|percent| *percent <= 100);
    let wrong = || format!("{text:?} is no share\nhint: percent of the workers that read, 0 to 100");
    options.mix_read_percent = Some(percent.ok_or_else(wrong)?);
    Ok(())
}

/// Options of iozone's that are not built, and what does the same.
const LACKING: &[(char, &str)] = &[
    ('A', "-az does the same: all records of all files"),
    ('B', "files are read and written, not mapped"),
    ('C', "the record has each worker's bytes: fathom show --json"),
    ('D', "files are read and written, not mapped"),
    ('G', "files are read and written, not mapped"),
    ('H', "fathom fio with ioengine=libaio keeps several I/Os outstanding"),
    ('J', "fathom fio with thinktime= has a delay between I/Os"),
    ('K', "it adds random noise to reads"),
    ('M', "fathom show --json has the machine's name and kernel"),
    ('P', "taskset -c binds the program to processors"),
    ('Q', "the record has all latencies: fathom show --json"),
    ('U', "-I goes past the page cache, without unmounting anything"),
    ('V', "fathom dt writes patterns and verifies them"),
    ('W', "files are not locked"),
    ('X', "fathom fio replays what a log says (read_iolog)"),
    ('Y', "fathom fio replays what a log says (read_iolog)"),
    ('Z', "files are read and written, not mapped"),
    ('d', "workers begin together"),
    ('k', "fathom fio with ioengine=libaio keeps several I/Os outstanding"),
    ('l', "-t N has one number of workers; run it once for each"),
    ('m', "each worker has one buffer"),
    ('p', "the buffer stays in the processor's cache; -I goes past the page cache"),
    ('u', "-t N has one number of workers; run it once for each"),
];
/// Those that begin with `-+`.
const FURTHER_LACKING: &[(char, &str)] = &[
    ('d', "fathom dt writes patterns and verifies them"),
    ('m', "one host is measured"),
    ('r', "-o makes each write durable"),
    ('u', "the record has the CPU time of each worker: fathom show --json"),
    ('w', "random bytes are written, which cannot be deduplicated"),
];

/// What the banner says of options without a value.
const BANNER: &[(char, &str)] = &[
    ('a', "\tAuto Mode"),
    ('z', "\tCross over of record size disabled."),
    ('I', "\tO_DIRECT feature enabled"),
    ('o', "\tSYNC Mode. "),
    ('e', "\tInclude fsync in write timing"),
    ('c', "\tInclude close in write timing"),
    ('w', "\tSetting no_unlink"),
    ('R', "\tExcel chart generation enabled"),
    ('x', "\tStonewall disabled"),
    ('O', "\tOPS Mode. Output is in operations per second."),
    ('N', "\tMicroseconds/op Mode. Output is in microseconds per operation."),
];

fn flag(options: &mut Options, letter: char) -> Result<(), Refusal> {
    match letter {
        'a' => options.automatic = true,
        'z' => options.all_records = true,
        'I' => options.direct = true,
        'o' => options.synchronous = true,
        'e' => options.flush = true,
        'c' => options.close = true,
        'w' => options.keep = true,
        'R' => options.excel = true,
        'x' => options.to_the_end = true,
        'O' => options.unit = Unit::Operations,
        'N' => options.unit = Unit::Microseconds,
        'T' => options.threads = true,
        'E' => options.extension = true,
        other => {
            return Err(match LACKING.iter().find(|(letter, _)| *letter == other) {
                Some((_, why)) => lacks(&format!("option -{other}"), why).into(),
                None => Refusal::Unknown(format!("iozone: invalid option -- '{other}'")),
            });
        }
    }
    let says = BANNER.iter().find(|(known, _)| *known == letter);
    options.banner.extend(says.map(|(_, says)| (*says).to_owned()));
    Ok(())
}

fn set(options: &mut Options, letter: char, value: String) -> Result<(), String> {
    let Options { banner, .. } = options;
    match letter {
        'b' => (options.excel_file, options.excel) = (Some(value), true),
        'f' => options.file = value,
        'F' => options.files.push(value),
        'n' => {
            options.file_range.0 = size(&value)?;
            banner.push(format!("\tUsing minimum file size of {} kilobytes.", options.file_range.0 / KIB));
        }
        'g' => {
            options.file_range.1 = size(&value)?;
            banner.push(format!("\tUsing maximum file size of {} kilobytes.", options.file_range.1 / KIB));
        }
        'y' => {
            options.record_range.0 = size(&value)?;
            banner.push(format!("\tUsing Minimum Record Size {} kB", options.record_range.0 / KIB));
        }
        'q' => {
            options.record_range.1 = size(&value)?;
            banner.push(format!("\tUsing Maximum Record Size {} kB", options.record_range.1 / KIB));
        }
        's' => {
            let bytes = size(&value)?;
            options.sizes.push(bytes);
            banner.push(format!("\tFile size set to {} kB", bytes / KIB));
        }
        'r' => {
            let bytes = size(&value)?;
            options.records.push(bytes);
            banner.push(format!("\tRecord Size {} kB", bytes / KIB));
        }
        'j' => options.stride = whole(&value, "records from one to the next, 1 or more")?,
        'S' => options.processor_cache.0 = whole(&value, "KiB of the processor's cache")?,
        'L' => options.processor_cache.1 = whole(&value, "bytes of a line of the processor's cache")?,
        't' => {
            let workers = value.parse().ok().filter(|workers| (1..=WORKERS_MOST).contains(workers));
            let wrong = || format!("{value:?} workers cannot be\nhint: -t 1 to {WORKERS_MOST}");
            options.workers = Some(workers.ok_or_else(wrong)?);
        }
        _ => match value.parse() {
            Ok(test @ 0..=12) => options.tests.push(test),
            _ => return Err(format!("Invalid test {value:?}\nhint: tests are 0 to 12")),
        },
    }
    Ok(())
}

fn whole(text: &str, what: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=1 << 40).contains(number));
    number.ok_or_else(|| format!("{text:?} is no number\nhint: {what}"))
}

/// Do records fit into files?
fn fits(options: &Options) -> Result<(), String> {
    if options.rows().is_empty() {
        return Err("no record fits into a file\nhint: look at -s, -r, -n, -g, -y and -q".to_owned());
    }
    match options.rows().into_iter().find(|(file, record)| file % record != 0) {
        Some((file, record)) => Err(format!(
            "a file of {} KiB is no multiple of a record of {} KiB\nhint: choose others with -s and -r",
            file / KIB,
            record / KIB
        )),
        None => Ok(()),
    }
}

/// What belongs to throughput mode, and what cannot be said with it.
fn throughput_mode(options: &Options) -> Result<(), String> {
    let mix = options.tests.contains(&8);
    if options.tests.iter().any(|test| *test >= 9) && !options.extension && options.workers.is_none() {
        return Err(lacks("tests 9 to 12 without -E (iozone leaves their columns blank)", "add -E"));
    }
    let Some(workers) = options.workers else {
        if mix {
            return Err(lacks("test 8 (a mix of readers and writers) without -t", "add -t 2 or more"));
        }
        let others = [(!options.files.is_empty(), "-F"), (options.mix_read_percent.is_some(), "-+p")];
        let other = others.iter().find(|(given, _)| *given);
        return other.map_or(Ok(()), |(_, name)| Err(lacks(&format!("{name} without -t"), "add -t N")));
    };
    if mix && workers < 2 {
        return Err(lacks("test 8 of one worker: each reads or writes", "add -t 2 or more"));
    }
    if !options.files.is_empty() && options.files.len() != workers as usize {
        let names = options.files.len();
        return Err(format!("{names} files for {workers} workers\nhint: -F names one for each of -t"));
    }
    let mut names = options.file_names();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two workers with the same file {}\nhint: -F names one for each", pair[0]));
    }
    let lacking = [
        (options.automatic, "-a with -t", "say one file with -s and one record with -r"),
        (options.sizes.len() > 1 || options.records.len() > 1, "several sizes with -t", "one -s and one -r"),
        (options.unit == Unit::Microseconds, "-N with -t", "-O gives operations a second"),
        (options.html.is_some(), "charts of -t", "they are of the table; fathom show --html draws the runs"),
    ];
    if let Some((_, what, hint)) = lacking.iter().find(|(given, ..)| *given) {
        return Err(lacks(what, hint));
    }
    match options.tests.iter().find(|test| !super::phase_names::has(**test)) {
        Some(test) => Err(lacks(&format!("test {test} with -t"), "it has 0 to 3 and 5 to 10")),
        None => Ok(()),
    }
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
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        read(&words).map_err(|refusal| match refusal {
            Refusal::Unknown(why) => format!("{why} (255)"),
            Refusal::Lacking(why) => why,
        })
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
    fn help_and_version_are_told() {
        for (word, begins) in [("-h", "Usage: iozone"), ("-v", "\tIozone: ")] {
            let Invocation::Print(text) = parse(&[word.to_owned()]) else { panic!("{word}") };
            assert!(text.starts_with(begins), "{text}");
        }
    }

    #[test]
    fn one_row_is_512_kib_in_records_of_4() {
        assert_eq!(said("").unwrap().rows(), [(512 * KIB, 4 * KIB)]);
        assert_eq!(said("-s 4m -r 64 -r 1m -i0 -i 1").unwrap().rows().len(), 2);
    }

    #[test]
    fn throughput_mode_has_a_file_for_each_worker() {
        let options = said("-t 2 -F a b -s 1m -r 64k -+p 20 -xT").unwrap();
        assert_eq!(options.file_names(), ["a", "b"]);
        assert_eq!((options.one_row(), options.mix_read_percent), ((MIB, 64 * KIB), Some(20)));
        assert!(options.to_the_end && options.threads);
        assert_eq!(said("-t2").unwrap().file_names(), ["iozone.DUMMY.0", "iozone.DUMMY.1"]);
        assert_eq!(said("-t2 -f d/x").unwrap().file_names(), ["d/x.DUMMY.0", "d/x.DUMMY.1"]);
        assert_eq!(said("-t2").unwrap().one_row(), (512 * KIB, 4 * KIB));
    }

    #[test]
    fn options_of_ours_are_words() {
        let options = said("-a --html=page.html --budget 2.5s").unwrap();
        assert_eq!((options.html.as_deref(), options.budget), (Some("page.html"), Nanos::from_millis(2500)));
        assert_eq!(said("--budget 0").unwrap().budget, Nanos(0));
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let lines = [
            ("-i 8", "test 8"),
            ("-i 8 -t 1", "of one worker"),
            ("-i 13", "Invalid test"),
            ("-t 0", "workers"),
            ("-t 2 -a", "-a with -t"),
            ("-t 2 -s 1m -s 2m", "several sizes"),
            ("-t 2 -N", "-N with -t"),
            ("-t 2 -i 4", "test 4"),
            ("-t 2 -F a", "1 files for 2"),
            ("-t 2 -F a a", "same file a"),
            ("-t 2 --html x", "charts"),
            ("-F a", "-F without"),
            ("-+p 20", "-+p without"),
            ("-t 2 -+p 101", "no share"),
            ("-+u", "-+u"),
            ("--budget long", "no time"),
            ("--colour", "--colour"),
            ("-Q", "-Q"),
            ("-l 1", "-l"),
            ("-i 9", "-E"),
            ("-j 0", "no number"),
            ("-s 5k -r 4k", "no multiple"),
            ("-s 4k -r 8k", "no record"),
            ("-s x", "no size"),
            ("x", "word"),
        ];
        for (line, words) in lines {
            assert!(said(line).is_err_and(|why| why.contains(words) && why.contains("hint: ")), "{line}");
        }
        for (line, words) in [
            ("-s", "iozone: option requires an argument -- 's' (255)"),
            ("-@", "iozone: invalid option -- '@' (255)"),
        ] {
            assert_eq!(said(line).unwrap_err(), words);
        }
    }
}
