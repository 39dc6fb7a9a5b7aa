//! bonnie++'s table and its CSV line, format 1.98. Columns stand where 2.00a puts them; what is too long for its
//! column moves the rest to the right, as there.

use super::{Options, Test};
use fathom_spec::Entry;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The line above the CSV lines of `-x`.
pub const CSV_HEADER: &str = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,file_chunk_size,seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency";

/// A test that ends earlier has no figure: bonnie++'s own rule.
const SHORT_S: f64 = 0.5;

const BULK: [Test; 6] =
    [Test::WriteCharacters, Test::Write, Test::Rewrite, Test::ReadCharacters, Test::Read, Test::Seek];
const FILES: [Test; 6] = [
    Test::CreateInOrder,
    Test::LookInOrder,
    Test::DeleteInOrder,
    Test::CreateAtRandom,
    Test::LookAtRandom,
    Test::DeleteAtRandom,
];

/// What one test did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// KiB of the bulk tests; seeks; files.
    pub amount: f64,
    /// From the first call to the last, syncs at the end among them, seconds.
    pub elapsed_s: f64,
    /// CPU time of its threads, seconds.
    pub cpu_s: f64,
    /// The longest single call, microseconds.
    pub longest_us: u64,
}

/// What all tests did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The machine's name.
    pub name: String,
    /// The seed.
    pub seed: u64,
    /// Bytes of the bulk tests.
    pub size: u64,
    /// What each test did.
    pub figures: Vec<(Test, Figure)>,
}

impl Results {
    fn of(&self, test: Test) -> Option<Figure> {
        self.figures.iter().find(|(of, _)| *of == test).map(|(_, figure)| *figure)
    }
}

impl Figure {
    /// Amount a second and percent of a CPU, where it took long enough.
    fn rate(&self) -> Option<(f64, u64)> {
        let cpu = (self.cpu_s / self.elapsed_s * 100.0) as u64;
        (self.elapsed_s >= SHORT_S).then(|| (self.amount / self.elapsed_s, cpu))
    }

    fn latency(&self) -> String {
        match self.longest_us {
            us @ 0..100_000 => format!("{us}us"),
            us @ 100_000..100_000_000 => format!("{}ms", us / 1000),
            us => format!("{}s", us / 1_000_000),
        }
    }
}

/// KiB a second in five characters.
fn speed(kib: f64) -> String {
    let scaled = |value: f64, unit: char| match value {
        0.0..99.95 => format!("{value:.1}{unit}"),
        _ => format!("{value:.0}{unit}"),
    };
    match kib {
        0.0..10_000.0 => format!("{kib:.0}k"),
        10_000.0..1_023_500.0 => scaled(kib / 1024.0, 'm'),
        _ => scaled(kib / 1_048_576.0, 'g'),
    }
}

fn seeks(rate: f64) -> String {
    if rate < 1000.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// One pair of columns of the table.
fn cell(figure: Option<Figure>, says: impl Fn(f64) -> String) -> String {
    match figure.map(|figure| figure.rate()) {
        None => " ".repeat(10),
        Some(None) => " +++++ +++".to_owned(),
        Some(Some((rate, cpu))) => format!(" {:>5} {cpu:>3}", says(rate)),
    }
}

/// File size as bonnie++ names it, and the numbers that are not its usual ones.
fn size_name(size: u64) -> String {
    let mib = size >> 20;
    if mib >= 1024 && mib.is_multiple_of(1024) { format!("{}G", mib / 1024) } else { format!("{mib}M") }
}

fn size_and_more(options: &Options, size: u64) -> String {
    let usual = Options::default();
    let mut text = size_name(size);
    let chunk = match options.chunk {
        chunk if chunk == usual.chunk => String::new(),
        chunk if chunk < 1024 => chunk.to_string(),
        chunk if chunk < 1 << 20 => format!("{}k", chunk >> 10),
        chunk => format!("{}m", chunk >> 20),
    };
    let copies = if options.copies == usual.copies { String::new() } else { options.copies.to_string() };
    if options.seeks != usual.seeks || options.seekers != usual.seekers {
        let _ = write!(text, ":{chunk}:{copies}:{}", options.seeks);
    } else if !copies.is_empty() {
        let _ = write!(text, ":{chunk}:{copies}");
    } else if !chunk.is_empty() {
        let _ = write!(text, ":{chunk}");
    }
    text
}

/// Links, as the table and the CSV line name them.
fn links(options: &Options) -> Option<&'static str> {
    match options.entry {
        Entry::HardLink => Some("link"),
        Entry::SymbolicLink => Some("symlink"),
        _ => None,
    }
}

/// Nineteen columns: the name, cut where it must be, and what stands at their right end.
fn named(name: &str, right: &str) -> String {
    let room = 19usize.saturating_sub(right.len() + 1);
    let name: String = name.chars().take(room).collect();
    let pad = 19usize.saturating_sub(name.chars().count());
    format!("{name}{right:>pad$}")
}

fn latencies(results: &Results, tests: [Test; 6]) -> String {
    let mut line = format!("{:17}", "Latency");
    for test in tests {
        let text = results.of(test).map(|figure| figure.latency()).unwrap_or_default();
        let _ = write!(line, "{text:>10}");
    }
    line
}

/// The table: bulk I/O, then files, what there is of them.
pub fn table(options: &Options, results: &Results, out: &mut impl Write) -> io::Result<()> {
    if results.size > 0 {
        writeln!(out, "Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-")?;
        writeln!(out, "                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--")?;
        writeln!(out, "Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP")?;
        let mut line = named(&results.name, &size_and_more(options, results.size));
        for test in BULK {
            line += &cell(results.of(test), if test == Test::Seek { seeks } else { speed });
        }
        writeln!(out, "{line}")?;
        writeln!(out, "{}", latencies(results, BULK))?;
    }
    if options.files == 0 {
        return writeln!(out);
    }
    writeln!(out, "Version 2.00a       ------Sequential Create------ --------Random Create--------")?;
    let name: String = results.name.chars().take(19).collect();
    writeln!(out, "{name:<19} -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--")?;
    let (head, mut line) = if options.sizes_files() {
        let numbers = match links(options) {
            Some(links) => format!("{}:{links}", options.files),
            None => format!("{}:{}:{}", options.files, options.file_most, options.file_least),
        };
        (if options.file_least > 0 { "files:max:min      " } else { "files:max          " }, numbers)
    } else {
        ("              files", options.files.to_string())
    };
    if options.directories > 0 {
        let _ = write!(line, "/{}", options.directories);
    }
    writeln!(out, "{head}  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP")?;
    line = format!("{line:>19}");
    for test in FILES {
        line += &cell(results.of(test), |rate| format!("{rate:.0}"));
    }
    writeln!(out, "{line}")?;
    writeln!(out, "{}", latencies(results, FILES))
}

fn pair(figure: Option<Figure>, says: impl Fn(f64) -> String) -> String {
    match figure.map(|figure| figure.rate()) {
        None => ",".to_owned(),
        Some(None) => "+++++,+++".to_owned(),
        Some(Some((rate, cpu))) => format!("{},{cpu}", says(rate)),
    }
}

/// The CSV line, with its end.
pub fn csv(options: &Options, results: &Results, out: &mut impl Write) -> io::Result<()> {
    let shown = |number: u64| if number > 0 { number.to_string() } else { String::new() };
    let mut fields = vec![
        "1.98,2.00a".to_owned(),
        results.name.replace(',', " "),
        options.copies.to_string(),
        results.seed.to_string(),
    ];
    match results.size {
        0 => fields.push(",,,".to_owned()),
        // As there, the size of a block is left out.
        size => fields.push(format!("{},,{},{}", size_name(size), options.seeks, options.seekers)),
    }
    let whole = |rate: f64| format!("{rate:.0}");
    for test in BULK {
        fields.push(pair(results.of(test), if test == Test::Seek { seeks } else { whole }));
    }
    let most = links(options).map_or_else(|| shown(options.file_most), str::to_owned);
    let (least, directories) = (shown(options.file_least), shown(options.directories.into()));
    match options.files {
        0 => fields.push(",,,,".to_owned()),
        files => fields.push(format!("{files},{most},{least},{directories},")),
    }
    fields.extend(FILES.map(|test| pair(results.of(test), whole)));
    let longest = |test| results.of(test).map(|figure| figure.latency()).unwrap_or_default();
    fields.extend(BULK.into_iter().chain(FILES).map(longest));
    writeln!(out, "{}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(tests: &[Test], figure: Figure) -> Results {
        let figures = tests.iter().map(|test| (*test, figure)).collect();
        Results { name: "vm".to_owned(), seed: 7, size: 64 << 20, figures }
    }

    const SLOW: Figure = Figure { amount: 1000.0, elapsed_s: 2.0, cpu_s: 0.72, longest_us: 70_668 };

    #[test]
    fn columns_stand_where_bonnie_puts_them() {
        let all: Vec<Test> = BULK.into_iter().chain(FILES).collect();
        let mut text = Vec::new();
        table(&Options::default(), &results(&all, SLOW), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[3],
            "vm              64M  500k  36  500k  36  500k  36  500k  36  500k  36 500.0  36"
        );
        assert_eq!(lines[4], "Latency             70668us   70668us   70668us   70668us   70668us   70668us");
        assert_eq!(
            lines[8],
            "                 16   500  36   500  36   500  36   500  36   500  36   500  36"
        );
        assert_eq!(lines.len(), 10);
    }

    #[test]
    fn what_was_left_out_is_blank_and_what_was_too_fast_is_crossed() {
        let fast = Figure { elapsed_s: 0.49, ..SLOW };
        let options = Options { files: 0, chunk: 16_384, seeks: 1000, ..Options::default() };
        let mut results = results(&[Test::Write, Test::Rewrite, Test::Read, Test::Seek], fast);
        (results.name, results.size) = ("averyveryverylongname".to_owned(), 1 << 30);
        let mut text = Vec::new();
        table(&options, &results, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = "averyv 1G:16k::1000           +++++ +++ +++++ +++           +++++ +++ +++++ +++";
        assert_eq!(text.lines().nth(3), Some(line));
        assert!(text.ends_with("us\n\n"));
    }

    #[test]
    fn copies_and_links_stand_where_bonnie_puts_them() {
        let rows = |options: &Options| {
            let mut text = Vec::new();
            table(options, &results(&[Test::Write, Test::CreateInOrder], SLOW), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            [3, 7, 8].map(|at| lines[at][..19].to_owned())
        };
        let options = Options { copies: 2, entry: Entry::HardLink, files: 1, ..Options::default() };
        assert_eq!(rows(&options), ["vm           64M::2", "files:max          ", "             1:link"]);
        let options = Options { copies: 3, chunk: 4096, seeks: 64, files: 1, file_most: 300, ..options };
        let options = Options { entry: Entry::File, ..options };
        assert_eq!(rows(&options), ["vm      64M:4k:3:64", "files:max          ", "            1:300:0"]);
        let mut line = Vec::new();
        let options = Options { entry: Entry::SymbolicLink, ..options };
        csv(&options, &results(&[], SLOW), &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(
            line.starts_with("1.98,2.00a,vm,3,7,64M,,64,5,") && line.contains(",1,symlink,,,,"),
            "{line}"
        );
        assert_eq!(line.split(',').count(), 50);
    }

    #[test]
    fn the_csv_line_has_its_fifty_fields_whatever_was_left_out() {
        for (files, size) in [(16, 64 << 20), (0, 64 << 20), (16, 0)] {
            let options = Options { files, ..Options::default() };
            let tests = super::super::tests(&options, size);
            let mut line = Vec::new();
            csv(&options, &Results { size, ..results(&tests, SLOW) }, &mut line).unwrap();
            let line = String::from_utf8(line).unwrap();
            assert_eq!(line.split(',').count(), 50, "{line}");
        }
    }

    #[test]
    fn speeds_and_latencies_change_their_units_where_bonnie_does() {
        let told = [
            (385.0, "385k"),
            (9999.0, "9999k"),
            (10_000.0, "9.8m"),
            (65_759.0, "64.2m"),
            (102_400.0, "100m"),
            (264_283.0, "258m"),
            (1_000_000.0, "977m"),
            (1_024_000.0, "1.0g"),
            (99_999_999.0, "95.4g"),
        ];
        told.iter().for_each(|(kib, text)| assert_eq!(speed(*kib), *text));
        let latency = |longest_us| Figure { longest_us, ..SLOW }.latency();
        assert_eq!(latency(99_999), "99999us");
        assert_eq!(latency(773_400), "773ms");
        assert_eq!(latency(120_000_000), "120s");
    }
}
