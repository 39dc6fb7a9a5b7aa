//! What sysbench counts: events by worker, their latencies in its own logarithmic classes, and requests by kind.

use super::resolve::{IoMode, Options};
use fathom_record::{Cell, Counts, Histogram, Interval, Latency};
use fathom_spec::Verb;

/// Classes of latencies.
const CLASSES: usize = 1024;
/// The first class, ms.
const FIRST_MS: f64 = 0.001;
/// The last class, ms.
const LAST_MS: f64 = 100_000.0;

/// Latencies in 1024 classes from 1 us to 100 s, each 1.018 times the one before: a latency belongs to the nearest.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    counts: Vec<u64>,
}

impl Default for Classes {
    fn default() -> Self {
        Classes { counts: vec![0; CLASSES] }
    }
}

fn step() -> f64 {
    (LAST_MS / FIRST_MS).ln() / (CLASSES - 1) as f64
}

/// What a class stands for, ms.
pub fn class_ms(class: usize) -> f64 {
    FIRST_MS * (class as f64 * step()).exp()
}

impl Classes {
    /// Counts a latency so many times.
    pub fn add(&mut self, ns: f64, count: u64) {
        let class = ((ns / 1e6 / FIRST_MS).max(1.0).ln() / step() + 0.5).floor() as usize;
        self.counts[class.min(CLASSES - 1)] += count;
    }

    /// Takes over a distribution of ours, whose bins are narrower.
    pub fn add_all(&mut self, bins: &Histogram) {
        for (bin, count) in bins.filled() {
            let middle = (Histogram::lower_edge(bin) + Histogram::upper_edge(bin)) as f64 / 2.0;
            self.add(middle, u64::from(count));
        }
    }

    /// The class that reaches `percent` of all, ms; the first one when there is none.
    pub fn percentile_ms(&self, percent: u32) -> f64 {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all as f64 * f64::from(percent) / 100.0 + 0.5).floor() as u64;
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        class_ms(reached.unwrap_or(CLASSES - 1))
    }

    /// Classes that hold anything: what they stand for in ms, and their counts.
    pub fn filled(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(class, count)| (class_ms(class), *count))
    }
}

/// Events of one worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worker {
    /// How many.
    pub events: u64,
    /// Sum of their latencies, ns.
    pub sum_ns: u64,
    /// The shortest, ns.
    pub min_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

const IDLE: Worker = Worker { events: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 };

/// Requests by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Syncs, those of the end among them.
    pub syncs: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
}

impl Requests {
    /// Counts what one cell of a stream did.
    pub fn add(&mut self, verb: Verb, counts: &Counts) {
        let Counts { operations, bytes, latency_sum_ns: _, errors, short: _ } = *counts;
        match verb {
            Verb::Read => {
                self.reads += operations;
                self.read_bytes += bytes;
            }
            Verb::Write | Verb::Commit => {
                self.writes += operations;
                self.written_bytes += bytes;
                if verb == Verb::Commit {
                    self.syncs += operations;
                }
            }
            Verb::Sync => self.syncs += operations,
            _ => {}
        }
        self.errors += u64::from(errors);
    }

    /// What came since an earlier count.
    pub fn since(&self, earlier: &Requests) -> Requests {
        let Requests { reads, writes, syncs, read_bytes, written_bytes, errors } = *earlier;
        Requests {
            reads: self.reads.saturating_sub(reads),
            writes: self.writes.saturating_sub(writes),
            syncs: self.syncs.saturating_sub(syncs),
            read_bytes: self.read_bytes.saturating_sub(read_bytes),
            written_bytes: self.written_bytes.saturating_sub(written_bytes),
            errors: self.errors.saturating_sub(errors),
        }
    }
}

/// Everything since the start, or since the last checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// By worker.
    pub workers: Vec<Worker>,
    /// All latencies.
    pub classes: Classes,
    /// By kind.
    pub requests: Requests,
    /// From submission to completion of the asynchronous requests: their true latency.
    pub service: Latency,
}

impl Tally {
    /// Nothing yet.
    pub fn new(workers: u32) -> Self {
        Tally {
            workers: vec![IDLE; workers as usize],
            classes: Classes::default(),
            requests: Requests::default(),
            service: Latency::default(),
        }
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        *self = Tally::new(self.workers.len() as u32);
    }

    /// Adds what a worker did in an interval.
    pub fn add(&mut self, interval: &Interval, options: &Options) {
        for (number, (verb, cell)) in interval.cells.iter().enumerate() {
            self.requests.add(*verb, &interval.counts(number));
            if is_final(interval, number, options) {
                continue;
            }
            if let Some(latency) = told(cell, *verb, options) {
                self.add_latency(interval.worker as usize, latency);
            }
            if let (Verb::Read | Verb::Write | Verb::Commit, Some(service)) = (verb, &cell.service) {
                self.service.merge(service);
            }
        }
    }

    fn add_latency(&mut self, worker: usize, latency: &Latency) {
        if let Some(bins) = &latency.bins {
            self.classes.add_all(bins);
        }
        if let Some(mine) = self.workers.get_mut(worker) {
            mine.events += latency.count;
            mine.sum_ns += latency.sum_ns;
            mine.min_ns = mine.min_ns.min(latency.min_ns);
            mine.max_ns = mine.max_ns.max(latency.max_ns);
        }
    }

    /// Events of all workers.
    pub fn events(&self) -> u64 {
        self.workers.iter().map(|worker| worker.events).sum()
    }

    /// Sum of all latencies, ns.
    pub fn sum_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.sum_ns).sum()
    }

    /// The shortest, ns; 0 when there is none.
    pub fn min_ns(&self) -> u64 {
        self.workers.iter().filter(|worker| worker.events > 0).map(|worker| worker.min_ns).min().unwrap_or(0)
    }

    /// The longest, ns.
    pub fn max_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.max_ns).max().unwrap_or(0)
    }
}

/// Syncs after the last operation are counted, but are no events: they stand in a cell behind that of the series, or
/// alone where there is no series.
fn is_final(interval: &Interval, number: usize, options: &Options) -> bool {
    let earlier = interval.cells[..number].iter().any(|(verb, _)| *verb == Verb::Sync);
    interval.cells[number].0 == Verb::Sync && (earlier || options.fsync_freq == 0)
}

/// The latency that sysbench tells: under a rate with the wait in the queue, asynchronously only of the submission.
fn told<'a>(cell: &'a Cell, verb: Verb, options: &Options) -> Option<&'a Latency> {
    let latency = if options.rate > 0 {
        &cell.response
    } else if options.io_mode == IoMode::Async && verb != Verb::Sync {
        &cell.submit
    } else {
        &cell.service
    };
    latency.as_deref().or(cell.service.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_that_sysbench_prints() {
        let printed = [0.826, 0.904, 0.989, 17.633, 22.284];
        for ms in printed {
            let mut classes = Classes::default();
            classes.add(ms * 1e6, 1);
            assert_eq!(format!("{:.3}", classes.percentile_ms(95)), format!("{ms:.3}"));
        }
    }

    #[test]
    fn without_events_the_percentile_is_the_first_class() {
        assert_eq!(format!("{:.3}", Classes::default().percentile_ms(95)), "0.001");
    }

    #[test]
    fn a_percentile_is_the_class_that_reaches_the_rounded_count() {
        let mut classes = Classes::default();
        classes.add(1e6, 95);
        classes.add(1e8, 5);
        assert!((classes.percentile_ms(95) - 1.0).abs() < 0.01);
        assert!((classes.percentile_ms(96) - 100.0).abs() < 1.0);
    }
}
