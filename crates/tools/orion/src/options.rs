//! One table of all options, and what was typed. Knows nothing of files: `NAME.lun` is read by who calls.

use fathom_spec::{Bytes, KIB, MIB, Nanos, QueueKind};
use std::io::{self, Write};

/// One option: its name, its value in the help (empty: it takes none), its default, and what it says.
pub struct Row {
    /// With its dash.
    pub name: &'static str,
    /// What follows it.
    pub value: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// For the help.
    pub says: &'static str,
}

const fn row(name: &'static str, value: &'static str, default: &'static str, says: &'static str) -> Row {
    Row { name, value, default, says }
}

/// Every option, ORION's first, fathom's own after them.
pub const OPTIONS: &[Row] = &[
    row("-run", "simple|normal|oltp|dss|advanced", "mandatory", "which data points are measured"),
    row("-testname", "NAME", "orion", "reads NAME.lun and writes NAME_<date>_<time>_*"),
    row("-num_disks", "N", "LUNs in NAME.lun", "physical disks; scales the loads"),
    row("-size_small", "KB", "8", "size of small I/Os"),
    row("-size_large", "KB", "1024", "size of large I/Os"),
    row("-type", "rand|seq", "rand", "large I/Os at random places or in sequential streams"),
    row("-num_streamIO", "N", "4", "I/Os outstanding in each stream of -type seq"),
    row("-simulate", "concat|raid0", "concat", "LUNs one after the other, or in stripes"),
    row("-stripe", "KB", "1024", "depth of a stripe of -simulate raid0"),
    row("-write", "PERCENT", "0", "I/Os that write; with -type seq large streams that write. Destroys data"),
    row("-cache_size", "MB", "two minutes", "junk I/O before each large sequential point; 0: none"),
    row("-duration", "SECONDS", "60 (dss: 240)", "length of each data point"),
    row("-matrix", "basic|detailed|point|col|row|max", "basic", "data points of -run advanced"),
    row("-num_small", "N", "none", "outstanding small I/Os, for -matrix point, col and max"),
    row("-num_large", "N", "none", "outstanding large I/Os or streams, for -matrix point, row and max"),
    row("-verbose", "", "off", "tells of each data point on stdout too"),
    row("-hugenotneeded", "", "off", "accepted: fathom insists on huge pages nowhere"),
    row("-storax", "skgfr", "skgfr", "the operating system's I/O; oss, asmlib and odmlib need Oracle"),
    row("-help", "", "", "prints this and ignores the rest"),
    row("-csv", "11.2|11.1", "11.2", "layout of the files"),
    row("-html", "FILE", "none", "a page with the matrix as heat maps"),
    row("-create", "SIZE", "none", "makes missing LUN files of this size, filled with random data"),
    row("-write-consent", "NAME", "none", "this LUN may be overwritten, whatever it holds; once for each"),
    row("-adaptive", "", "off", "each point only until +-5 %; a load axis only while throughput grows"),
    row("-engine", "auto|io_uring|libaio|psync", "auto", "how I/O is asked of the kernel"),
];

/// Which data points are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Small random I/Os, then large ones, never mixed.
    Simple,
    /// Every mix of them.
    Normal,
    /// Small random I/Os only.
    Oltp,
    /// Large random I/Os only.
    Dss,
    /// As `-matrix` says.
    Advanced,
}

/// The data points of `-run advanced`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matrix {
    /// First row and first column.
    #[default]
    Basic,
    /// All.
    Detailed,
    /// One.
    Point,
    /// Growing large load beside a fixed small one.
    Col,
    /// Growing small load beside a fixed large one.
    Row,
    /// All up to two loads.
    Max,
}

/// How large I/Os find their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LargeType {
    /// At random.
    #[default]
    Rand,
    /// One after the other in streams.
    Seq,
}

/// How several LUNs become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Simulate {
    /// One after the other.
    #[default]
    Concat,
    /// In stripes.
    Raid0,
}

/// Which version's layout the files have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Bare tables, milliseconds.
    V11_1,
    /// A paragraph before each table, microseconds, histograms.
    #[default]
    V11_2,
}

/// How I/O is asked of the kernel.
pub type Queue = QueueKind;

/// What was typed, defaults filled in where they do not depend on the LUNs.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// As typed, for the summary.
    pub typed: Vec<String>,
    /// Only the help is wanted.
    pub help: bool,
    /// Which data points.
    pub level: Level,
    /// Beginning of all files' names.
    pub test_name: String,
    /// Physical disks, when said.
    pub num_disks: Option<u32>,
    /// Bytes of a small I/O.
    pub size_small: Bytes,
    /// Bytes of a large I/O.
    pub size_large: Bytes,
    /// Places of large I/Os.
    pub large_type: LargeType,
    /// Outstanding I/Os of one stream.
    pub num_stream_io: u32,
    /// How LUNs become one.
    pub simulate: Simulate,
    /// Bytes of a stripe.
    pub stripe: Bytes,
    /// Percent of writes.
    pub write: u8,
    /// Bytes of junk I/O before a large sequential point; `None`: two minutes of it.
    pub cache_size: Option<Bytes>,
    /// Length of each data point.
    pub duration: Nanos,
    /// Data points of `-run advanced`.
    pub matrix: Matrix,
    /// Its small load.
    pub num_small: Option<u32>,
    /// Its large load.
    pub num_large: Option<u32>,
    /// Tell of each point on stdout too.
    pub verbose: bool,
    /// Layout of the files.
    pub layout: Layout,
    /// The page.
    pub html: Option<String>,
    /// Size of LUN files that are made.
    pub create: Option<Bytes>,
    /// LUNs that may be overwritten whatever they hold.
    pub write_consent: Vec<String>,
    /// Measure only as long as it takes.
    pub adaptive: bool,
    /// How I/O is asked of the kernel.
    pub queue: Queue,
}

/// What is wrong with the options. The text names the option and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\nhint: {hint}")]
pub struct OptionError {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

pub(crate) fn wrong(what: impl Into<String>, hint: impl Into<String>) -> OptionError {
    OptionError { what: what.into(), hint: hint.into() }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            typed: Vec::new(),
            help: false,
            level: Level::Simple,
            test_name: "orion".to_owned(),
            num_disks: None,
            size_small: Bytes(8 * KIB),
            size_large: Bytes(MIB),
            large_type: LargeType::Rand,
            num_stream_io: 4,
            simulate: Simulate::Concat,
            stripe: Bytes(MIB),
            write: 0,
            cache_size: None,
            duration: Nanos::from_seconds(60),
            matrix: Matrix::Basic,
            num_small: None,
            num_large: None,
            verbose: false,
            layout: Layout::V11_2,
            html: None,
            create: None,
            write_consent: Vec::new(),
            adaptive: false,
            queue: QueueKind::Auto,
        }
    }
}

/// Reads the words after the program's name; the files have the `usual` layout unless `-csv` says another.
pub fn parse(arguments: &[String], usual: Layout) -> Result<Options, OptionError> {
    let mut options = Options { typed: arguments.to_vec(), layout: usual, ..Options::default() };
    if arguments.iter().any(|word| word == "-help") {
        return Ok(Options { help: true, ..options });
    }
    let (mut level, mut duration) = (None, None);
    let mut words = arguments.iter();
    while let Some(name) = words.next() {
        let row = OPTIONS.iter().find(|row| row.name == name).ok_or_else(|| unknown(name))?;
        let value = match row.value {
            "" => "",
            says => words.next().map(String::as_str).ok_or_else(|| {
                wrong(format!("{name} wants a value: {says}"), format!("for example {}", example(row)))
            })?,
        };
        match row.name {
            "-run" => level = Some(choose(row, value, LEVELS)?),
            "-duration" => duration = Some(seconds(row, value)?),
            _ => set(&mut options, row, value)?,
        }
    }
    options.level = level.ok_or_else(|| {
        wrong(
            "-run is missing",
            "say which test: -run simple, normal, oltp, dss or advanced; -help tells more",
        )
    })?;
    let usual = if options.level == Level::Dss { 240 } else { 60 };
    options.duration = duration.unwrap_or(Nanos::from_seconds(usual));
    check(&options)?;
    Ok(options)
}

const LEVELS: &[(&str, Level)] = &[
    ("simple", Level::Simple),
    ("normal", Level::Normal),
    ("oltp", Level::Oltp),
    ("dss", Level::Dss),
    ("advanced", Level::Advanced),
];

fn set(options: &mut Options, row: &Row, value: &str) -> Result<(), OptionError> {
    match row.name {
        "-testname" => options.test_name = name(value)?,
        "-num_disks" => options.num_disks = Some(count(row, value, 1, 1024)?),
        "-size_small" => options.size_small = size(row, value, KIB)?,
        "-size_large" => options.size_large = size(row, value, KIB)?,
        "-type" => {
            options.large_type = choose(row, value, &[("rand", LargeType::Rand), ("seq", LargeType::Seq)])?;
        }
        "-num_streamIO" => options.num_stream_io = count(row, value, 1, 4096)?,
        "-simulate" => {
            let known = &[("concat", Simulate::Concat), ("raid0", Simulate::Raid0)];
            options.simulate = choose(row, value, known)?;
        }
        "-stripe" => options.stripe = size(row, value, KIB)?,
        "-write" => options.write = count(row, value, 0, 100)? as u8,
        "-cache_size" => options.cache_size = Some(amount(row, value, MIB)?),
        "-matrix" => options.matrix = choose(row, value, MATRICES)?,
        "-num_small" => options.num_small = Some(count(row, value, 0, 65_536)?),
        "-num_large" => options.num_large = Some(count(row, value, 0, 4096)?),
        "-verbose" => options.verbose = true,
        "-hugenotneeded" => {}
        "-storax" => storax(value)?,
        "-csv" => {
            options.layout = choose(row, value, LAYOUTS)?;
        }
        "-html" => options.html = Some(value.to_owned()),
        "-create" => options.create = Some(size(row, value, 1)?),
        "-write-consent" => options.write_consent.push(value.to_owned()),
        "-adaptive" => options.adaptive = true,
        "-engine" => options.queue = choose(row, value, QUEUES)?,
        other => return Err(unknown(other)),
    }
    Ok(())
}

const MATRICES: &[(&str, Matrix)] = &[
    ("basic", Matrix::Basic),
    ("detailed", Matrix::Detailed),
    ("point", Matrix::Point),
    ("col", Matrix::Col),
    ("row", Matrix::Row),
    ("max", Matrix::Max),
];

const LAYOUTS: &[(&str, Layout)] = &[("11.2", Layout::V11_2), ("11.1", Layout::V11_1)];

impl Layout {
    /// The layout of a version of ORION's.
    pub fn of_version(version: &str) -> Option<Layout> {
        LAYOUTS.iter().find(|(name, _)| *name == version).map(|(_, layout)| *layout)
    }

    /// The version of ORION's that writes it.
    pub fn version(self) -> &'static str {
        LAYOUTS.iter().find(|(_, layout)| *layout == self).map_or("", |(name, _)| name)
    }
}

const QUEUES: &[(&str, Queue)] = &[
    ("auto", QueueKind::Auto),
    ("io_uring", QueueKind::IoUring),
    ("libaio", QueueKind::Libaio),
    ("psync", QueueKind::Psync),
];

/// What cannot be together.
fn check(options: &Options) -> Result<(), OptionError> {
    let given = |name: &str| options.typed.iter().any(|word| word == name);
    let matrix = ["-matrix", "-num_small", "-num_large"].into_iter().find(|name| given(name));
    if let (Some(name), true) = (matrix, options.level != Level::Advanced) {
        return Err(wrong(
            format!("{name} is taken only with -run advanced"),
            "the other run levels have their own data points",
        ));
    }
    let (small, large) = match options.matrix {
        _ if options.level != Level::Advanced => (false, false),
        Matrix::Basic | Matrix::Detailed => (false, false),
        Matrix::Point | Matrix::Max => (true, true),
        Matrix::Col => (true, false),
        Matrix::Row => (false, true),
    };
    for (needed, load, name) in
        [(small, options.num_small, "-num_small"), (large, options.num_large, "-num_large")]
    {
        if needed && load.is_none() {
            return Err(wrong(
                format!("this -matrix needs {name}"),
                format!("say how many I/Os are outstanding, such as {name} 4"),
            ));
        }
    }
    if small && large && options.num_small == Some(0) && options.num_large == Some(0) {
        return Err(wrong("-num_small 0 and -num_large 0 leave nothing to measure", "raise one of them"));
    }
    Ok(())
}

fn name(value: &str) -> Result<String, OptionError> {
    match value {
        "" => Err(wrong("-testname is empty", "for example -testname mytest, which reads mytest.lun")),
        _ if value.ends_with(".lun") => Err(wrong(
            format!("-testname {value} would read {value}.lun: .lun is appended"),
            format!("say -testname {}", value.trim_end_matches(".lun")),
        )),
        _ => Ok(value.to_owned()),
    }
}

fn storax(value: &str) -> Result<(), OptionError> {
    match value.to_ascii_lowercase().as_str() {
        "skgfr" => Ok(()),
        "oss" | "asmlib" | "odmlib" => Err(wrong(
            format!("-storax {value} works only inside Oracle's own software"),
            "leave it out: fathom asks the operating system (skgfr)",
        )),
        _ => Err(wrong(format!("-storax {value} is not known"), "skgfr is what can be had here")),
    }
}

fn choose<T: Copy>(row: &Row, value: &str, known: &[(&str, T)]) -> Result<T, OptionError> {
    let found = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    found
        .map(|(_, meaning)| *meaning)
        .ok_or_else(|| wrong(format!("{} {value} is not known", row.name), format!("one of {}", row.value)))
}

fn count(row: &Row, value: &str, least: u32, most: u32) -> Result<u32, OptionError> {
    value.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(|| {
        wrong(
            format!("{} {value} is not a whole number from {least} to {most}", row.name),
            format!("for example {}", example(row)),
        )
    })
}

/// A bare number counts `unit` bytes; with a unit of its own it means what it says.
fn amount(row: &Row, value: &str, unit: u64) -> Result<Bytes, OptionError> {
    let bare = value.bytes().all(|c| c.is_ascii_digit());
    let parsed = match bare {
        true => value.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).map(Bytes),
        false => value.parse().ok(),
    };
    parsed.filter(|size| size.0 <= 1 << 60).ok_or_else(|| {
        wrong(format!("{} {value} is not a size", row.name), format!("for example {}, or 8k", example(row)))
    })
}

fn size(row: &Row, value: &str, unit: u64) -> Result<Bytes, OptionError> {
    let size = amount(row, value, unit)?;
    let most = if row.name == "-create" { 1 << 60 } else { 1 << 30 };
    match size.0 {
        0 => Err(wrong(format!("{} must not be 0", row.name), format!("for example {}", example(row)))),
        _ if size.0 > most => {
            Err(wrong(format!("{} {value} is more than {}", row.name, Bytes(most)), "take a smaller one"))
        }
        _ => Ok(size),
    }
}

fn seconds(row: &Row, value: &str) -> Result<Nanos, OptionError> {
    let parsed = match value.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1_000_000_000).map(Nanos),
        Err(_) => value.parse().ok(),
    };
    parsed.filter(|time| (1..=864_000_000_000_000).contains(&time.0)).ok_or_else(|| {
        wrong(format!("{} {value} is not a length in seconds", row.name), "for example -duration 60, or 10s")
    })
}

fn example(row: &Row) -> String {
    let value = match row.value {
        "N" => "4",
        "KB" => "8",
        "MB" => "512",
        "PERCENT" => "20",
        "SECONDS" => "60",
        "SIZE" => "10g",
        words => words.split('|').next().unwrap_or(words),
    };
    format!("{} {value}", row.name)
}

fn unknown(found: &str) -> OptionError {
    let bare = |name: &str| name.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
    let near = OPTIONS
        .iter()
        .map(|row| (strsim::levenshtein(&bare(found), &bare(row.name)), row.name))
        .min()
        .filter(|(distance, name)| *distance <= 2 + name.len() / 8);
    let hint = match near {
        Some((_, name)) => format!("did you mean {name}? -help lists all options"),
        None => "-help lists all options".to_owned(),
    };
    wrong(format!("ORION has no option {found}"), hint)
}

/// Writes the help, from the table.
pub fn help(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "usage: orion -run simple|normal|oltp|dss|advanced [-testname NAME] [option ...]\n")?;
    for Row { name, value, default, says } in OPTIONS {
        let default = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        writeln!(out, "  {:<46} {says}{default}", format!("{name} {value}"))?;
    }
    writeln!(
        out,
        "\nNAME.lun names one block device or file a line. Sizes may carry a unit: 8 and 8k are the same."
    )?;
    writeln!(
        out,
        "Writing (-write) destroys what is on the LUNs; one that holds something needs -write-consent."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Options, OptionError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), Layout::default())
    }

    #[test]
    fn every_default_is_orions() {
        let options = typed("-run simple").unwrap();
        assert_eq!(options, Options { typed: vec!["-run".into(), "simple".into()], ..Options::default() });
        assert_eq!(typed("-run dss").unwrap().duration, Nanos::from_seconds(240));
        assert_eq!(typed("-run dss -duration 5").unwrap().duration, Nanos::from_seconds(5));
    }

    #[test]
    fn lines_of_real_use_are_understood() {
        let options = typed(
            "-run advanced -testname advancedtest -matrix max -num_small 4 -num_large 4 -size_large 512",
        )
        .unwrap();
        assert_eq!((options.num_small, options.num_large), (Some(4), Some(4)));
        assert_eq!(options.size_large, Bytes(512 << 10));
        assert_eq!(options.matrix, Matrix::Max);
        assert_eq!(typed("-run oltp -testname oltp_write -write 20").unwrap().write, 20);
        let options = typed("-run advanced -matrix col -num_small 0 -hugenotneeded").unwrap();
        assert_eq!(options.test_name, "orion");
        let options = typed("-run advanced -type seq -simulate RAID0 -stripe 1024 -size_small 8k").unwrap();
        assert_eq!((options.simulate, options.stripe), (Simulate::Raid0, Bytes(MIB)));
        assert_eq!(options.size_small, Bytes(8192));
        assert_eq!(typed("-run simple -cache_size 0").unwrap().cache_size, Some(Bytes(0)));
    }

    #[test]
    fn every_option_of_the_table_is_taken() {
        for row in OPTIONS.iter().filter(|row| !["-help", "-run"].contains(&row.name)) {
            let value = if row.value.is_empty() { String::new() } else { example(row) };
            let value = value.split(' ').nth(1).unwrap_or("").to_owned();
            let more = if row.name == "-matrix" || row.name.starts_with("-num_") { "" } else { "-verbose" };
            let line = format!("-run advanced {more} {} {value}", row.name);
            assert!(typed(&line).is_ok(), "{line}: {:?}", typed(&line));
        }
        assert!(typed("-help -nonsense").unwrap().help);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_do() {
        for (line, says) in [
            ("", "-run is missing"),
            ("-run", "-run wants a value"),
            ("-run fast", "one of simple|normal"),
            ("-run simple -testnam x", "did you mean -testname?"),
            ("-run simple -num_streamio 4", "did you mean -num_streamIO?"),
            ("-run simple --write_consent x", "did you mean -write-consent?"),
            ("-run simple -q", "-help lists all options"),
            ("-run simple -testname x.lun", "say -testname x"),
            ("-run simple -write 101", "-write 101 is not a whole number from 0 to 100"),
            ("-run simple -num_disks 0", "from 1 to 1024"),
            ("-run simple -size_large 0", "-size_large must not be 0"),
            ("-run simple -size_small 8q", "-size_small 8q is not a size"),
            ("-run simple -duration 0", "-duration 0 is not a length"),
            ("-run simple -matrix max", "-matrix is taken only with -run advanced"),
            ("-run advanced -matrix point", "needs -num_small"),
            ("-run advanced -matrix point -num_small 1", "needs -num_large"),
            ("-run advanced -matrix row", "needs -num_large"),
            ("-run advanced -matrix point -num_small 0 -num_large 0", "leave nothing to measure"),
            ("-run simple -storax oss", "-storax oss works only inside Oracle"),
            ("-run simple -storax ntfs", "-storax ntfs is not known"),
        ] {
            let text = typed(line).unwrap_err().to_string();
            assert!(text.contains(says), "{line}: {text}");
            assert!(text.contains("\nhint: "), "{line}: {text}");
        }
    }

    #[test]
    fn the_help_names_every_option() {
        let mut out = Vec::new();
        help(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(OPTIONS.iter().all(|row| text.contains(&format!("  {} ", row.name))), "{text}");
    }
}
