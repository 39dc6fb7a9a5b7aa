//! iozone's banner, table and Excel blocks. Columns stand where 3.489 puts them.

use super::{Options, Test, Unit};
use std::fmt::Write as _;
use std::io::{self, Write};

const KIB: u64 = 1024;

/// The thirteen columns of tests 0 to 7 and their widths.
const COLUMNS: [(Test, usize); 13] = [
    (Test::Write, 9),
    (Test::Rewrite, 9),
    (Test::Read, 9),
    (Test::Reread, 9),
    (Test::RandomRead, 9),
    (Test::RandomWrite, 9),
    (Test::BackwardRead, 9),
    (Test::RecordRewrite, 10),
    (Test::StrideRead, 10),
    (Test::Fwrite, 9),
    (Test::Refwrite, 9),
    (Test::Fread, 9),
    (Test::Refread, 9),
];

/// Their heads.
const ABOVE: &str = "                                                              random    random     bkwd    record    stride                                    ";
const NAMES: &str = "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread";

/// What stands behind them with `-E`.
const ABOVE_EXTENSION: &str = "                                   ";
const NAMES_EXTENSION: &str = "  pwrite repwrite   pread   repread";
const EXTENSION: [(Test, usize); 4] =
    [(Test::Pwrite, 9), (Test::Repwrite, 9), (Test::Pread, 8), (Test::Repread, 9)];
/// Columns of ours behind those, where they are asked for: iozone of Debian has no tests 11 and 12.
const MORE: [(Test, &str); 4] = [
    (Test::Pwritev, "pwritev"),
    (Test::Repwritev, "repwritev"),
    (Test::Preadv, "preadv"),
    (Test::Repreadv, "repreadv"),
];

/// File and record in bytes, and the figure of each test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Bytes of the file.
    pub file: u64,
    /// Bytes of a record.
    pub record: u64,
    /// Seconds of each test.
    pub cells: Vec<(Test, f64)>,
}

impl Row {
    /// A cell in the unit that was asked for.
    fn figure(&self, test: Test, unit: Unit) -> Option<u64> {
        let seconds = self.cells.iter().find(|(of, _)| *of == test)?.1.max(1e-9);
        let operations = self.file as f64 / self.record as f64;
        Some(match unit {
            Unit::Speed => self.file as f64 / KIB as f64 / seconds,
            Unit::Operations => operations / seconds,
            Unit::Microseconds => seconds * 1e6 / operations,
        } as u64)
    }
}

/// What is told before the table.
pub fn banner(
    options: &Options,
    began: &str,
    command: &str,
    version: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\tIozone: Performance Test of File I/O")?;
    writeln!(out, "\t        Version $Revision: 3.489 $ (spoken by fathom {version})")?;
    writeln!(out, "\t\tCompiled for 64 bit mode.\n\t\tBuild: linux-AMD64 \n")?;
    writeln!(out, "\tRun began: {began}\n")?;
    for line in &options.banner {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\tCommand line used: {command}")?;
    if options.unit == Unit::Speed {
        writeln!(out, "\tOutput is in kBytes/sec")?;
    }
    writeln!(out, "\tTime Resolution = 0.000001 seconds.")?;
    writeln!(out, "\tProcessor cache size set to {} kBytes.", options.processor_cache.0)?;
    writeln!(out, "\tProcessor cache line size set to {} bytes.", options.processor_cache.1)?;
    writeln!(out, "\tFile stride size set to {} * record size.", options.stride)
}

fn more(options: &Options) -> impl Iterator<Item = (Test, &'static str)> {
    let asked = super::tests(options);
    MORE.into_iter().filter(move |(test, _)| asked.contains(test))
}

/// The two lines above the table.
pub fn heads(options: &Options, out: &mut impl Write) -> io::Result<()> {
    let names: String = more(options).map(|(_, name)| format!(" {name:>9}")).collect();
    let (above, extension) = if options.extension { (ABOVE_EXTENSION, NAMES_EXTENSION) } else { ("", "") };
    writeln!(out, "{ABOVE}{above}\n{NAMES}{extension}{names}")
}

/// One row.
pub fn row(options: &Options, row: &Row, out: &mut impl Write) -> io::Result<()> {
    let mut line = format!("{:>16}{:>8}", row.file / KIB, row.record / KIB);
    let extension = EXTENSION.into_iter().filter(|_| options.extension);
    let more = more(options).map(|(test, _)| (test, 10));
    for (test, width) in COLUMNS.into_iter().chain(extension).chain(more) {
        let figure = row.figure(test, options.unit);
        // The blanks of a column that is left out are not always as many as its figures.
        let width = match (figure, test) {
            (None, Test::Refread) => 8,
            (None, Test::Pread) => 9,
            _ => width,
        };
        let _ = write!(line, "{:>width$}", figure.map(|figure| figure.to_string()).unwrap_or_default());
    }
    writeln!(out, "{line}")
}

/// A row that was broken off: as far as it came.
pub fn row_begun(options: &Options, begun: &Row, out: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    row(options, begun, &mut line)?;
    out.write_all(line.trim_ascii_end())
}

/// The Excel blocks: one a test, files down, records across.
pub fn excel(options: &Options, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let records = options.excel_records();
    for test in super::tests(options) {
        writeln!(out, "\n\"{}\"", test.title())?;
        let head: String = records.iter().map(|record| format!("  \"{}\"", record / KIB)).collect();
        writeln!(out, "      {head}")?;
        for file in options.file_sizes() {
            let mut line = format!("\"{}\"  ", file / KIB);
            let figure = |record: &u64| {
                let cell = rows.iter().find(|row| (row.file, row.record) == (file, *record));
                cell.and_then(|row| row.figure(test, options.unit))
            };
            let figures: Vec<Option<u64>> = records.iter().map(figure).collect();
            let measured = figures.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            for figure in &figures[..measured] {
                // A record that was left out before others leaves a 0, so that columns stay.
                write!(line, " {} ", figure.unwrap_or(0)).map_err(io::Error::other)?;
            }
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Row {
        Row { file: 4096 * KIB, record: 4 * KIB, cells: vec![(Test::Write, 0.5), (Test::Read, 0.25)] }
    }

    fn told(options: &Options) -> String {
        let mut text = Vec::new();
        row(options, &one(), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn cells_are_told_in_the_unit_that_was_asked_for() {
        let options = Options::default();
        let speeds = "            4096       4     8192             16384";
        assert_eq!(told(&options).trim_end(), speeds);
        // A blank less than the heads where test 7 is left out.
        assert_eq!(told(&options).trim_end_matches('\n').len(), NAMES.len() - 1);
        let extended = Options { extension: true, tests: vec![0, 1, 9, 10], ..options.clone() };
        assert_eq!(told(&extended).trim_end_matches('\n').len(), 178);
        let operations = Options { unit: Unit::Operations, ..options.clone() };
        assert!(told(&operations).contains(" 2048 "));
        assert!(told(&Options { unit: Unit::Microseconds, ..options }).contains(" 488 "));
    }

    #[test]
    fn a_block_has_a_line_for_each_file_and_zeros_for_what_was_left_out() {
        let options = Options {
            automatic: true,
            tests: vec![0],
            file_range: (4096 * KIB, 4096 * KIB),
            record_range: (4 * KIB, 8 * KIB),
            ..Options::default()
        };
        let mut text = Vec::new();
        excel(&options, &[one()], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("\n\"Writer report\"\n        \"4\"  \"8\"\n\"4096\"   8192 \n"), "{text}");
    }

    #[test]
    fn columns_of_further_tests_stand_behind_the_thirteen() {
        let options = Options { tests: vec![0, 9, 11], extension: true, ..Options::default() };
        let mut text = Vec::new();
        heads(&options, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.ends_with("  freread  pwrite repwrite   pread   repread   pwritev repwritev\n"),
            "{text}"
        );
    }
}
