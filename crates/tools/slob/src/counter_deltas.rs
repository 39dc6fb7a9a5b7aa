//! What the database, its disks and its processors counted between the end of the warm-up and the end of a run: differences of
//! counters. One that is missing or went backwards is `None`.

use fathom_record::{Run, Sample, SampleOf};
use fathom_spec::Window;
use serde::{Deserialize, Serialize};

/// Differences over the part of a run that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counted {
    /// Its length, seconds.
    pub seconds: f64,
    /// Blocks of the schemas' tables and indexes that sessions asked the database's cache for (InnoDB: blocks of the whole
    /// server).
    pub logical: Option<u64>,
    /// Of those, blocks that were not in it.
    pub physical: Option<u64>,
    /// Blocks of the schemas' tables that sessions touched; one that is found, locked and changed is one.
    pub table_logical: Option<u64>,
    /// Of those, blocks that were not in the database's cache.
    pub table_physical: Option<u64>,
    /// What everybody in the database asked its cache for, and what of it was not there.
    pub logical_of_all: Option<u64>,
    pub physical_of_all: Option<u64>,
    /// Blocks that the database wrote.
    pub written: Option<u64>,
    /// Reads that the database asked the kernel for.
    pub read_requests: Option<u64>,
    /// Writes that it asked for.
    pub write_requests: Option<u64>,
    /// Bytes of its log.
    pub redo_bytes: Option<u64>,
    /// Writes to its log.
    pub redo_writes: Option<u64>,
    /// Syncs of its log.
    pub redo_syncs: Option<u64>,
    /// Time in which sessions waited for reads, ns, where the server times them.
    pub read_wait_ns: Option<u64>,
    /// Time of writes of data, ns, and how many they were, where the server times them.
    pub write_wait_ns: Option<u64>,
    pub timed_writes: Option<u64>,
    /// Transactions that everybody committed.
    pub commits: Option<u64>,
    /// Deadlocks that it broke.
    pub deadlocks: Option<u64>,
    pub checkpoints: Option<u64>,
    /// Times that the server vacuumed or analyzed the schemas' tables by itself.
    pub autovacuums: Option<u64>,
    /// Whole pages in its log.
    pub log_page_images: Option<u64>,
    /// In what states the sessions were found, and how often, where the server tells (`IO:DataFileRead`).
    pub states: Vec<(String, u64)>,
    /// Processor time, ns, of the processes that serve the sessions; of the whole server where a session has none of its own.
    pub cpu_ns: Option<u64>,
    /// Of the server's other processes.
    pub background_cpu_ns: Option<u64>,
    /// Bytes that those which serve the sessions made disks read, by the kernel's count of each process.
    pub process_read_bytes: Option<u64>,
    /// The disks below its data.
    pub device: Option<Device>,
    /// The disks below its log, where they are others.
    pub log_device: Option<Device>,
    /// Whether the server and the sessions say the same.
    pub agreement: Option<Agreement>,
}

/// What the server's counters and the sessions say of one whole run, its warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agreement {
    /// Rows that the sessions touched: operations times WORK_UNIT.
    pub rows_touched: u64,
    /// Rows of the schemas that the server counted.
    pub rows_counted: Option<u64>,
    /// Statements of the sessions.
    pub statements: u64,
    /// Statements of others, where the server's reads are not told from theirs.
    pub statements_of_others: Option<u64>,
    /// How much of the run the counters cover, and how long it was.
    pub seconds_counted: f64,
    pub seconds: f64,
}

/// What disks counted, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Reads.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Time of all reads together, ms.
    pub read_ms: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of them.
    pub write_bytes: u64,
    /// Time of all writes together, ms.
    pub write_ms: u64,
    /// Flushes of its cache.
    pub flushes: u64,
    /// Time of all flushes together, ms.
    pub flush_ms: u64,
}

/// When the part of the run that counts began, ns since its start.
pub fn window_begins(run: &Run) -> u64 {
    let begins = |window: &Window| match window {
        Window::Everything | Window::Unmeasured => 0,
        Window::After(ramp) => ramp.0,
        Window::Inside { before, .. } => before.0,
    };
    run.plan.streams.iter().map(|stream| begins(&stream.window)).max().unwrap_or(0)
}

/// What a counter grew by between two moments, ns since the run's start, and over how many seconds.
pub fn growth(samples: &[Sample], of: &SampleOf, name: &str, window: (u64, u64)) -> Option<(u64, f64)> {
    let inside = |at: u64| (window.0..=window.1).contains(&at);
    let mut wanted = samples.iter().filter(|s| s.of == *of && s.name == name && inside(s.at_ns));
    let first = wanted.next()?;
    let last = wanted.next_back()?;
    let seconds = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
    Some((last.value.checked_sub(first.value)?, seconds))
}

/// States of sessions with their looks and their percent of all looks, those that were seen most first.
pub(crate) fn by_looks(states: &[(String, u64)]) -> Vec<(&str, u64, f64)> {
    let all: u64 = states.iter().map(|(_, looks)| looks).sum();
    let percent = |looks: u64| looks as f64 * 100.0 / all.max(1) as f64;
    let mut sorted: Vec<_> =
        states.iter().map(|(state, looks)| (state.as_str(), *looks, percent(*looks))).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    sorted
}

impl Counted {
    /// Its length in whole seconds, at least one.
    pub fn whole_seconds(&self) -> u64 {
        (self.seconds.round() as u64).max(1)
    }

    /// So many a second.
    pub fn rate(&self, count: Option<u64>) -> Option<f64> {
        count.filter(|_| self.seconds > 0.0).map(|count| count as f64 / self.seconds)
    }

    /// What the database's reads of data took in all, s: by its own clock, or, where it has none, the disk's mean time for those
    /// of them that the disk answered.
    pub fn read_seconds(&self, block: u64) -> Option<f64> {
        if let Some(ns) = self.read_wait_ns {
            return Some(ns as f64 / 1e9);
        }
        let device = self.device.filter(|device| device.reads > 0)?;
        let answered = self.physical? as f64 * self.device_share(block)?;
        Some(answered * device.read_ms as f64 / 1e3 / device.reads as f64)
    }

    /// What its writes of data took, s, in the same ways; others' writes on the disk are not counted.
    pub fn write_seconds(&self) -> Option<f64> {
        if let Some(ns) = self.write_wait_ns {
            return Some(ns as f64 / 1e9);
        }
        let device = self.device.filter(|device| device.writes > 0)?;
        Some(self.written?.min(device.writes) as f64 * device.write_ms as f64 / 1e3 / device.writes as f64)
    }

    /// Reads a second of the disks below the data, and their mean latency, ns. `None` where they read nothing.
    pub fn device_reads_and_latency(&self) -> Option<(f64, f64)> {
        let device = self.device.filter(|device| device.reads > 0)?;
        Some((self.rate(Some(device.reads))?, device.read_ms as f64 * 1e6 / device.reads as f64))
    }

    /// The share of the blocks asked for that the database's cache did not hold: of the tables where that is known.
    pub fn miss_share(&self) -> Option<f64> {
        let of = |logical: Option<u64>, physical: Option<u64>| {
            logical.filter(|n| *n > 0).zip(physical).map(|(l, p)| (p as f64 / l as f64).min(1.0))
        };
        of(self.table_logical, self.table_physical).or_else(|| of(self.logical, self.physical))
    }

    /// The share of the database's misses that the disks answered; the rest came from the page cache. Others on the same disk
    /// do not count as the database's reads where the kernel tells what its processes read.
    pub fn device_share(&self, block: u64) -> Option<f64> {
        let physical = self.physical.filter(|n| *n > 0)?;
        let bytes = match (self.device.map(|device| device.read_bytes), self.process_read_bytes) {
            (Some(device), Some(processes)) => device.min(processes),
            (device, processes) => device.or(processes)?,
        };
        Some((bytes as f64 / (physical as f64 * block as f64)).min(1.0))
    }
}

/// How far from an edge of a window a reading may lie.
const NEAR_NS: u64 = 400_000_000;

impl Device {
    /// Of several disks together; `None` where none of them was sampled.
    pub fn of(run: &Run, disks: &[String], window: (u64, u64)) -> Option<Self> {
        let mut found: Option<Device> = None;
        // Disks are looked at once a second, a moment before or after the database: the reading next to an edge counts, and
        // what it is off by is taken out by the rate.
        let near = (window.0.saturating_sub(NEAR_NS), window.1.saturating_add(NEAR_NS));
        let length = window.1.saturating_sub(window.0) as f64 / 1e9;
        for disk in disks {
            let of = SampleOf::Disk(disk.clone());
            let get = |name: &str| {
                let (value, seconds) = growth(&run.samples, &of, name, near)?;
                Some((value as f64 * length / seconds).round() as u64)
            };
            let Some(reads) = get("reads") else { continue };
            let sum = found.get_or_insert_with(Device::default);
            sum.reads += reads;
            sum.read_bytes += get("sectors_read").unwrap_or(0) * 512;
            sum.read_ms += get("read_ms").unwrap_or(0);
            sum.writes += get("writes").unwrap_or(0);
            sum.write_bytes += get("sectors_written").unwrap_or(0) * 512;
            sum.write_ms += get("write_ms").unwrap_or(0);
            sum.flushes += get("flushes").unwrap_or(0);
            sum.flush_ms += get("flush_ms").unwrap_or(0);
        }
        found
    }
}
