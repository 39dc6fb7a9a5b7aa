//! What ORION prints, and its files: pure functions from what was measured to bytes. Tables are written whole
//! after each point, histograms and trace point by point.

use super::histogram;
use super::options::{LargeType, Layout, Options, Simulate};
use super::plan::Lun;
use super::points::Points;
use fathom_record::{EventKind, GroupTotals, LARGE, Latency, Load, Run, SMALL};
use fathom_session::errno_text;
use fathom_spec::KIB;
use std::io::{self, Write};

/// One data point, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its load.
    pub load: Load,
    /// The small I/Os, where there were any.
    pub small: Option<GroupTotals>,
    /// The large I/Os, where there were any.
    pub large: Option<GroupTotals>,
    /// Why its figures do not count: an I/O failed.
    pub trouble: Option<String>,
    /// An I/O went beyond the end of a LUN, which was cut short while it was measured.
    pub cut: bool,
    /// How long it ran, seconds.
    pub seconds: f64,
}

impl Point {
    /// What a run of the plan of a point says.
    pub fn of(run: &Run) -> Self {
        let fault = run.faults().find_map(|event| match &event.what {
            EventKind::Fault { verb, offset, errno, target, times, .. } => Some(format!(
                "{verb:?} of {target} at byte {} failed {times} times: {}",
                offset.0,
                errno_text::of_read(*errno)
            )),
            _ => None,
        });
        Point {
            load: run.load,
            small: run.side(SMALL),
            large: run.side(LARGE),
            trouble: fault,
            cut: run.faults().any(|event| matches!(event.what, EventKind::Fault { errno: 0, .. })),
            seconds: run.length_ns as f64 / 1e9,
        }
    }

    fn good(&self) -> bool {
        self.trouble.is_none()
    }

    fn small(&self) -> Option<&GroupTotals> {
        self.small.as_ref().filter(|side| self.good() && side.counts.operations > 0)
    }

    fn large(&self) -> Option<&GroupTotals> {
        self.large.as_ref().filter(|side| self.good() && side.counts.operations > 0)
    }

    fn mbps(&self) -> Option<f64> {
        self.large().map(GroupTotals::mebibytes_per_second)
    }

    fn iops(&self) -> Option<f64> {
        self.small().map(GroupTotals::operations_per_second)
    }

    fn latency_ns(&self) -> Option<f64> {
        self.small().and_then(|side| side.both().mean_ns())
    }
}

/// Everything of a run that all of its files speak of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was typed.
    pub options: &'a Options,
    /// What is measured.
    pub points: &'a Points,
    /// On what.
    pub luns: &'a [Lun],
    /// `NAME_YYYYMMDD_HHMM` without its folder.
    pub name: &'a str,
    /// Version of fathom.
    pub version: &'a str,
}

const RATES: [&str; 2] = [
    "This comma-separated-value file contains the rates sustained by large I/Os in MBps.",
    "This comma-separated-value file contains the rates sustained by small I/Os in IOPS.",
];
const LATENCIES: &str =
    "This comma-separated-value file contains the average latency sustained by small I/Os in microseconds.";
const TABLE: [&str; 3] = [
    "Each value corresponds to a data point test that used a fixed number of outstanding small and large I/Os.",
    "The number of outstanding small I/Os for a value is specified by its column header in the first row.",
    "The number of outstanding large I/Os for a value is specified by its row header in the first column.",
];

impl Report<'_> {
    fn is_11_1(&self) -> bool {
        self.options.layout == Layout::V11_1
    }

    fn peer_version(&self) -> &'static str {
        if self.is_11_1() { "11.1.0.7.0" } else { "11.2.0.2.0" }
    }

    /// What stands on stdout before the first point.
    pub fn opening(&self, out: &mut impl Write) -> io::Result<()> {
        let minutes = self.points.minutes(self.options);
        writeln!(out, "ORION: ORacle IO Numbers -- Version {}", self.peer_version())?;
        writeln!(out, "{}", self.name)?;
        if self.is_11_1() {
            writeln!(out, "Test will take approximately {minutes} minutes")?;
            return writeln!(out, "Larger caches may take longer");
        }
        writeln!(out, "Calibration will take approximately {minutes} minutes.")?;
        writeln!(out, "Using a large value for -cache_size may take longer.\n")
    }

    /// The results, as at the end of the summary and (11.2) of stdout.
    pub fn results(&self, done: &[Point], out: &mut impl Write) -> io::Result<()> {
        let blank = if self.is_11_1() { "" } else { "\n" };
        if let Some((point, mbps)) = best(done, Point::mbps, |a, b| a > b) {
            writeln!(out, "Maximum Large MBPS={mbps:.2} @ {}{blank}", at(point.load))?;
        }
        if let Some((point, iops)) = best(done, Point::iops, |a, b| a > b) {
            writeln!(out, "Maximum Small IOPS={iops:.0} @ {}", at(point.load))?;
            self.latencies(point, out)?;
            write!(out, "{blank}")?;
        }
        if let Some((point, ns)) = best(done, Point::latency_ns, |a, b| a < b) {
            let load = at(point.load);
            match self.is_11_1() {
                true => writeln!(out, "Minimum Small Latency={:.2} @ {load}", ns / 1e6)?,
                false => writeln!(out, "Minimum Small Latency={:.0} usecs @ {load}", ns / 1e3)?,
            }
            self.latencies(point, out)?;
            let side = point.small.as_ref().filter(|_| !self.is_11_1());
            side.iter().try_for_each(|side| histogram::write("Small", side, point.load, out))?;
        }
        for point in done {
            if let Some(trouble) = &point.trouble {
                writeln!(out, "Errors @ {}: {trouble}; its figures are left out", at(point.load))?;
            }
        }
        Ok(())
    }

    /// Latency of small reads and of small writes of a point; 11.1 knows no such lines.
    fn latencies(&self, point: &Point, out: &mut impl Write) -> io::Result<()> {
        let Some(side) = point.small.as_ref().filter(|_| !self.is_11_1()) else { return Ok(()) };
        for (verb, latency) in [("Read", &side.read), ("Write", &side.write)] {
            if let Some(line) = moments(latency) {
                writeln!(out, "Small {verb} Latency: {line} @ {}", at(point.load))?;
            }
        }
        Ok(())
    }

    /// Rates of large I/Os.
    pub fn mbps(&self, done: &[Point], out: &mut impl Write) -> io::Result<()> {
        let rows = self.points.larges.iter().filter(|large| **large > 0);
        let cells = |small, large| find(done, small, large)?.mbps().map(|v| format!("{v:>7.2}"));
        self.table(RATES[0], (&self.points.smalls, &rows.copied().collect::<Vec<_>>()), cells, out)
    }

    /// Rates of small I/Os.
    pub fn iops(&self, done: &[Point], out: &mut impl Write) -> io::Result<()> {
        let cells = |small, large| find(done, small, large)?.iops().map(|v| format!("{v:>7.0}"));
        self.table(RATES[1], (&self.small_columns(), &self.points.larges), cells, out)
    }

    /// Latencies of small I/Os.
    pub fn lat(&self, done: &[Point], out: &mut impl Write) -> io::Result<()> {
        let (unit, width) = if self.is_11_1() { (1e6, 7) } else { (1e3, 8) };
        let cells = |small, large| {
            find(done, small, large)?.latency_ns().map(|ns| format!("{:>width$.2}", ns / unit))
        };
        self.table(LATENCIES, (&self.small_columns(), &self.points.larges), cells, out)
    }

    fn small_columns(&self) -> Vec<u32> {
        self.points.smalls.iter().copied().filter(|small| *small > 0).collect()
    }

    /// A table. A row ends after its last measured cell; cells before that without a value are blank.
    fn table(
        &self,
        first: &str,
        (columns, rows): (&[u32], &[u32]),
        cell: impl Fn(u32, u32) -> Option<String>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if !self.is_11_1() {
            writeln!(out, "\n{first}  {}\n", TABLE.join("  "))?;
        }
        write!(out, "Large/Small")?;
        columns.iter().try_for_each(|column| write!(out, ",{column:>7}"))?;
        writeln!(out)?;
        for row in rows {
            let cells: Vec<Option<String>> = columns.iter().map(|column| cell(*column, *row)).collect();
            let measured = cells.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            write!(out, "{row:>11}")?;
            for cell in &cells[..measured] {
                write!(out, ",{:>7}", cell.as_deref().unwrap_or(""))?;
            }
            writeln!(out)?;
        }
        if self.is_11_1() { Ok(()) } else { writeln!(out) }
    }

    /// The summary down to the list of LUNs; the results follow it.
    pub fn summary_head(&self, out: &mut impl Write) -> io::Result<()> {
        let line = self.options.typed.join(" ");
        let (options, old) = (self.options, self.is_11_1());
        let word = |older: &'static str, newer: &'static str| if old { older } else { newer };
        writeln!(out, "ORION VERSION {}\n", self.peer_version())?;
        writeln!(out, "{}\n{line} \n", word("Commandline:", "Command line:"))?;
        writeln!(out, "{}", word("This maps to this test:", "These options enable these settings:"))?;
        writeln!(out, "Test: {}", options.test_name)?;
        writeln!(out, "Small IO size: {} KB", kilobytes(options.size_small.0))?;
        writeln!(out, "Large IO size: {} KB", kilobytes(options.size_large.0))?;
        self.large_ios(out)?;
        match options.simulate {
            Simulate::Concat => {
                writeln!(out, "{}: CONCAT", word("Simulated Array Type", "Simulated array type"))?
            }
            Simulate::Raid0 => {
                writeln!(out, "{}: RAID 0", word("Simulated Array Type", "Simulated array type"))?;
                let depth = kilobytes(options.stripe.0);
                writeln!(out, "{}: {depth} KB", word("Stripe Depth", "Stripe depth"))?;
            }
        }
        writeln!(out, "{}: {}%", word("Write", "Writes"), options.write)?;
        let cache = options.cache_size.map(|size| format!("{} MB", size.0 / KIB / KIB));
        let cache = cache.unwrap_or_else(|| word("Not Entered", "not specified").to_owned());
        writeln!(out, "{}: {cache}", word("Cache Size", "Cache size"))?;
        let seconds = options.duration.seconds();
        writeln!(
            out,
            "{}: {seconds} seconds",
            word("Duration for each Data Point", "Duration for each data point")
        )?;
        write!(out, "Small Columns:")?;
        self.points.small_columns.iter().try_for_each(|small| write!(out, ",{small:>7}"))?;
        write!(out, "\nLarge Columns:")?;
        self.points.larges.iter().try_for_each(|large| write!(out, ",{large:>7}"))?;
        writeln!(out, "\nTotal Data Points: {}\n", self.points.total)?;
        for lun in self.luns {
            writeln!(out, "Name: {}\tSize: {}", lun.name, lun.size.0)?;
        }
        writeln!(out, "{} {} found.\n", self.luns.len(), word("FILEs", "files"))
    }

    fn large_ios(&self, out: &mut impl Write) -> io::Result<()> {
        match (self.is_11_1(), self.options.large_type) {
            (true, LargeType::Rand) => writeln!(out, "IO Types: Small Random IOs, Large Random IOs"),
            (false, LargeType::Rand) => writeln!(out, "IO types: small random IOs, large random IOs"),
            (true, LargeType::Seq) => {
                writeln!(out, "IO Types: Small Random IOs, Large Sequential Streams")?;
                writeln!(out, "Number of Concurrent IOs Per Stream: {}", self.options.num_stream_io)
            }
            (false, LargeType::Seq) => {
                writeln!(out, "IO types: small random IOs, large sequential streams")?;
                writeln!(out, "Number of concurrent IOs per stream: {}", self.options.num_stream_io)
            }
        }
    }

    /// What stands before the histograms.
    pub fn histogram_head(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "This file holds histograms of the latencies seen at each data point. A data point keeps a fixed number of\n\
             small and of large I/Os outstanding. Small reads and writes, then large reads and writes are counted by\n\
             latency; a value is the number of I/Os whose latency lies in the range before it.\n"
        )
    }

    /// The histograms of one point.
    pub fn histograms(&self, point: &Point, out: &mut impl Write) -> io::Result<()> {
        for (kind, side) in [("Small", &point.small), ("Large", &point.large)] {
            side.iter().try_for_each(|side| histogram::write(kind, side, point.load, out))?;
        }
        Ok(())
    }

    /// What stands before the trace.
    pub fn trace_head(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}: measured by fathom {}", self.name, self.version)
    }

    /// The trace of one point, the `number`th (from 1): rates, latencies, and the share of I/Os over 10 ms.
    pub fn trace(&self, number: usize, point: &Point, out: &mut impl Write) -> io::Result<()> {
        let Load { small, large } = point.load;
        let all = self.points.loads.len();
        writeln!(out, "Point {number} (small={small}, large={large}) of {all}: {:.2} s", point.seconds)?;
        for (kind, side) in [("small", &point.small), ("large", &point.large)] {
            let Some(side) = side else { continue };
            writeln!(
                out,
                "ran ({kind}): {} I/Os, {:.2} IOPS, {:.2} MBps",
                side.read.count + side.write.count,
                side.operations_per_second(),
                side.mebibytes_per_second()
            )?;
            for (verb, latency) in [("read", &side.read), ("write", &side.write)] {
                if let Some(line) = moments(latency) {
                    let over = latency.bins.as_ref().map_or(0, |bins| bins.above(10_000_000));
                    let share = 100.0 * over as f64 / latency.count as f64;
                    writeln!(out, "ran ({kind}): {verb} {line}, over 10 ms: {share:.2} %")?;
                }
            }
        }
        if let Some(trouble) = &point.trouble {
            writeln!(out, "errors: {trouble}; the figures of this point are left out")?;
        }
        Ok(())
    }
}

/// `avg=7867 us, min=1858 us, max=210500 us, std dev=4914 us`; `None` of nothing.
fn moments(latency: &Latency) -> Option<String> {
    let (mean, deviation) = (latency.mean_ns()?, latency.deviation_ns()?);
    let us = |ns: f64| ns / 1e3;
    let (min, max) = (us(latency.min_ns as f64), us(latency.max_ns as f64));
    Some(format!("avg={:.0} us, min={min:.0} us, max={max:.0} us, std dev={:.0} us", us(mean), us(deviation)))
}

fn at(load: Load) -> String {
    format!("Small={} and Large={}", load.small, load.large)
}

/// Exact where it is whole.
fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / KIB as f64
}

fn find(done: &[Point], small: u32, large: u32) -> Option<&Point> {
    done.iter().find(|point| point.load == Load { small, large })
}

/// The first point with the best value.
fn best(
    done: &[Point],
    of: fn(&Point) -> Option<f64>,
    better: fn(f64, f64) -> bool,
) -> Option<(&Point, f64)> {
    let mut found: Option<(&Point, f64)> = None;
    for (point, value) in done.iter().filter_map(|point| Some((point, of(point)?))) {
        if found.is_none_or(|(_, so_far)| better(value, so_far)) {
            found = Some((point, value));
        }
    }
    found
}
