//! Logs with a row for each stretch of time, made from single I/Os as they come back: histograms of completion latencies,
//! and the mean and the largest of latencies. Stretches are cut at whole multiples of their length from the job's start;
//! one in which nothing came back has no row, and the last ends with the job.

use super::buckets::{self, BUCKETS};
use super::logs::{LogEntry, LogSource};
use super::operations::{Done, entry};
use std::io::{self, Write};

/// Directions of a log: reads, writes, trims.
const DIRECTIONS: usize = 3;

/// A job's stretches, and what a row of each direction is made of.
#[derive(Clone, Debug)]
struct Stretches<T> {
    every_ms: u64,
    /// The end of the present stretch, ms since the job's start.
    end_ms: u64,
    held: [Option<T>; DIRECTIONS],
}

impl<T> Stretches<T> {
    fn new(every_ms: u64) -> Self {
        let every_ms = every_ms.max(1);
        Stretches { every_ms, end_ms: every_ms, held: [None, None, None] }
    }

    /// What was held of a stretch that is over at this moment, with its end; the next one begins.
    fn over(&mut self, time_ms: u64) -> Option<(u64, [Option<T>; DIRECTIONS])> {
        if time_ms < self.end_ms {
            return None;
        }
        let end_ms = self.end_ms;
        self.end_ms = (time_ms / self.every_ms + 1) * self.every_ms;
        Some((end_ms, std::mem::take(&mut self.held)))
    }
}

/// One direction of a stretch of a histogram log.
#[derive(Clone, Debug)]
struct Bins {
    /// Bytes of the last I/O.
    block_size: u64,
    columns: Vec<u64>,
}

/// `write_hist_log`: a row is time, direction, block size, and the counts of the 1856 bins, 2^coarseness of them in a
/// column. What lies above the last bin counts in it.
#[derive(Clone, Debug)]
pub struct HistogramLog {
    stretches: Stretches<Bins>,
    coarseness: u32,
    last_ms: u64,
}

impl HistogramLog {
    /// A row for each direction every so many ms. At most 2^6 bins are one column.
    pub fn new(every_ms: u64, coarseness: u32) -> Self {
        HistogramLog { stretches: Stretches::new(every_ms), coarseness: coarseness.min(6), last_ms: 0 }
    }

    /// Takes an I/O, and writes the rows of the stretch before, if it is over. `began_ns`: when the job began, ns since
    /// the run's start; `epoch_ms` is added to times.
    pub fn add(&mut self, done: &Done, began_ns: u64, epoch_ms: u64, out: &mut impl Write) -> io::Result<()> {
        let Some(entry) = entry(done, LogSource::Completion, began_ns) else { return Ok(()) };
        if let Some((end_ms, held)) = self.stretches.over(entry.time_ms) {
            rows(end_ms + epoch_ms, &held, out)?;
        }
        self.last_ms = self.last_ms.max(entry.time_ms);
        let Some(place) = self.stretches.held.get_mut(entry.direction as usize) else { return Ok(()) };
        let together = 1 << self.coarseness;
        let bins =
            place.get_or_insert_with(|| Bins { block_size: 0, columns: vec![0; BUCKETS.div_ceil(together)] });
        bins.block_size = entry.block_size;
        bins.columns[buckets::index(entry.value).min(BUCKETS - 1) / together] += 1;
        Ok(())
    }

    /// Writes the rows of the last stretch.
    pub fn end(&mut self, epoch_ms: u64, out: &mut impl Write) -> io::Result<()> {
        rows(self.last_ms + epoch_ms, &std::mem::take(&mut self.stretches.held), out)
    }
}

fn rows(time_ms: u64, held: &[Option<Bins>; DIRECTIONS], out: &mut impl Write) -> io::Result<()> {
    for (direction, bins) in held.iter().enumerate() {
        let Some(Bins { block_size, columns }) = bins else { continue };
        let mut row = format!("{time_ms}, {direction}, {block_size}");
        columns.iter().for_each(|count| row.push_str(&format!(", {count}")));
        row.push('\n');
        // In one piece: clones may share a file.
        out.write_all(row.as_bytes())?;
    }
    Ok(())
}

/// What a line of a latency log tells of its stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValue {
    #[default]
    Mean,
    Largest,
    Both,
}

/// The I/Os of one direction of a stretch of a latency log.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    sum_ns: u64,
    largest_ns: u64,
}

/// A latency log with a line for each stretch and direction.
#[derive(Clone, Debug)]
pub struct LatencyLog {
    stretches: Stretches<Sum>,
    source: LogSource,
    value: WindowValue,
    last_ms: u64,
}

impl LatencyLog {
    /// Of these latencies, every so many ms.
    pub fn new(every_ms: u64, source: LogSource, value: WindowValue) -> Self {
        LatencyLog { stretches: Stretches::new(every_ms), source, value, last_ms: 0 }
    }

    /// Takes an I/O, and answers the entries of the stretch before, if it is over.
    pub fn add(&mut self, done: &Done, began_ns: u64) -> Vec<LogEntry> {
        let Some(entry) = entry(done, self.source, began_ns) else { return Vec::new() };
        let over = self.stretches.over(entry.time_ms);
        self.last_ms = self.last_ms.max(entry.time_ms);
        if let Some(place) = self.stretches.held.get_mut(entry.direction as usize) {
            let sum = place.get_or_insert_with(Sum::default);
            sum.count += 1;
            sum.sum_ns += entry.value;
            sum.largest_ns = sum.largest_ns.max(entry.value);
        }
        over.map(|(end_ms, held)| self.entries(end_ms, held)).unwrap_or_default()
    }

    /// The entries of the last stretch.
    pub fn end(&mut self) -> Vec<LogEntry> {
        let held = std::mem::take(&mut self.stretches.held);
        self.entries(self.last_ms, held)
    }

    fn entries(&self, time_ms: u64, held: [Option<Sum>; DIRECTIONS]) -> Vec<LogEntry> {
        let entry = |(direction, sum): (u32, Option<Sum>)| {
            let Sum { count, sum_ns, largest_ns } = sum?;
            let mean_ns = sum_ns / count.max(1);
            let (value, largest) = match self.value {
                WindowValue::Mean => (mean_ns, None),
                WindowValue::Largest => (largest_ns, None),
                WindowValue::Both => (mean_ns, Some(largest_ns)),
            };
            Some(LogEntry { time_ms, value, largest, direction, ..LogEntry::default() })
        };
        (0..).zip(held).filter_map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(at_ms: u64, service_ns: u64, direction: u32) -> Done {
        let at_ns = at_ms * 1_000_000;
        Done { at_ns, service_ns, submit_ns: Some(1000), direction, offset: 0, bytes: 4096 }
    }

    #[test]
    fn a_histogram_log_has_the_peers_columns_and_counts_each_io_once() {
        for (coarseness, columns) in [(0, 1859), (4, 119), (6, 32)] {
            let (mut log, mut out) = (HistogramLog::new(100, coarseness), Vec::new());
            for (at_ms, service_ns, direction) in [
                (10, 101_000, 0),
                (99, 101_000, 0),
                (99, 3_001_000, 1),
                (100, 101_000, 0),
                (450, 90_000_000_000, 0),
            ] {
                log.add(&done(at_ms, service_ns, direction), 0, 7, &mut out).unwrap();
            }
            log.end(7, &mut out).unwrap();
            let told = String::from_utf8(out).unwrap();
            let rows: Vec<Vec<u64>> =
                told.lines().map(|row| row.split(", ").map(|one| one.parse().unwrap()).collect()).collect();
            let heads: Vec<(u64, u64, u64)> =
                rows.iter().map(|row| (row[0], row[1], row[3..].iter().sum())).collect();
            assert_eq!(heads, [(107, 0, 2), (107, 1, 1), (207, 0, 1), (457, 0, 1)]);
            assert!(rows.iter().all(|row| row.len() == columns && row[2] == 4096));
            assert_eq!(
                rows[0][3 + (buckets::index(100_000) >> coarseness)],
                2,
                "the completion's own latency"
            );
            assert_eq!(rows[3][columns - 1], 1, "above the last bin");
        }
    }

    #[test]
    fn a_stretch_of_latencies_is_told_at_its_end_by_its_mean_its_largest_or_both() {
        let told = |source, value| {
            let mut log = LatencyLog::new(100, source, value);
            let mut told = Vec::new();
            for (at_ms, service_ns, direction) in
                [(10, 5_000, 0), (20, 9_000, 0), (99, 7_000, 1), (250, 3_000, 0)]
            {
                told.extend(log.add(&done(at_ms, service_ns, direction), 0));
            }
            told.extend(log.end());
            let figures = |entry: &LogEntry| (entry.time_ms, entry.direction, entry.value, entry.largest);
            told.iter().map(figures).collect::<Vec<_>>()
        };
        let largest = told(LogSource::Latency, WindowValue::Largest);
        assert_eq!(largest, [(100, 0, 9_000, None), (100, 1, 7_000, None), (250, 0, 3_000, None)]);
        let mean = told(LogSource::Completion, WindowValue::Mean);
        assert_eq!(mean, [(100, 0, 6_000, None), (100, 1, 6_000, None), (250, 0, 2_000, None)]);
        let both = told(LogSource::Latency, WindowValue::Both);
        assert_eq!(both[0], (100, 0, 7_000, Some(9_000)));
        let submissions = told(LogSource::Submission, WindowValue::Mean);
        assert!(submissions.iter().all(|line| line.2 == 1_000) && submissions.len() == 3);
    }
}
