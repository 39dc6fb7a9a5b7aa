//! Counters as the kernel keeps them, kept raw: disks, processors, this process, pressure, other processes' I/O. A rate needs
//! two samples and the time between, which the caller knows; a counter that went backwards is `None`, not a huge number.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::roots::{DeviceNumber, Roots, read_text};

const NAMES: [&str; 17] = [
    "reads",
    "reads_merged",
    "sectors_read",
    "read_ms",
    "writes",
    "writes_merged",
    "sectors_written",
    "write_ms",
    "in_flight",
    "io_ms",
    "weighted_ms",
    "discards",
    "discards_merged",
    "sectors_discarded",
    "discard_ms",
    "flushes",
    "flush_ms",
];

/// One disk's counters since boot, in the kernel's order (`Documentation/admin-guide/iostats.rst`). Sectors are of 512 bytes.
/// Older kernels keep no discards (before 4.18) and no flushes (before 5.5): those are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskCounters {
    pub device: DeviceNumber,
    /// The values of `NAMES`' names
    pub values: [Option<u64>; 17],
}

/// What changed between two samples; `None` where a counter went backwards or does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskDifference {
    pub reads: Option<u64>,
    pub bytes_read: Option<u64>,
    pub read_ms: Option<u64>,
    pub writes: Option<u64>,
    pub bytes_written: Option<u64>,
    pub write_ms: Option<u64>,
    pub io_ms: Option<u64>,
    pub weighted_ms: Option<u64>,
    pub discards: Option<u64>,
    pub flushes: Option<u64>,
    pub flush_ms: Option<u64>,
}

impl DiskCounters {
    /// Reads the values behind a device's name, in diskstats' order.
    fn parse(device: DeviceNumber, words: &str) -> Option<Self> {
        let mut values = [None; 17];
        for (value, word) in values.iter_mut().zip(words.split_whitespace()) {
            *value = Some(word.parse().ok()?);
        }
        values[10].map(|_| DiskCounters { device, values })
    }

    /// The counters with their names, as samples are stored.
    pub fn pairs(&self) -> Vec<(&'static str, u64)> {
        NAMES.iter().zip(self.values).filter_map(|(name, value)| Some((*name, value?))).collect()
    }

    /// A counter by its name.
    pub fn value(&self, name: &str) -> Option<u64> {
        NAMES.iter().position(|known| *known == name).and_then(|at| self.values[at])
    }

    /// What happened since an earlier sample of the same disk.
    pub fn since(&self, earlier: &DiskCounters) -> DiskDifference {
        let change = |at: usize| self.values[at]?.checked_sub(earlier.values[at]?);
        let bytes = |at: usize| change(at)?.checked_mul(512);
        DiskDifference {
            reads: change(0),
            bytes_read: bytes(2),
            read_ms: change(3),
            writes: change(4),
            bytes_written: bytes(6),
            write_ms: change(7),
            io_ms: change(9),
            weighted_ms: change(10),
            discards: change(11),
            flushes: change(15),
            flush_ms: change(16),
        }
    }
}

impl DiskDifference {
    /// Mean time of a read, queue included (iostat's `r_await`), in milliseconds.
    pub fn read_await_ms(&self) -> Option<f64> {
        mean(self.read_ms, self.reads)
    }

    /// Share of the time in which at least one I/O was in flight, at most 1.
    pub fn utilisation(&self, elapsed_ns: u64) -> Option<f64> {
        (elapsed_ns > 0).then_some(())?;
        Some((self.io_ms? as f64 * 1e6 / elapsed_ns as f64).min(1.0))
    }

    /// Reads and writes a second.
    pub fn operations_per_second(&self, elapsed_ns: u64) -> Option<f64> {
        (elapsed_ns > 0).then_some(())?;
        Some((self.reads? + self.writes?) as f64 * 1e9 / elapsed_ns as f64)
    }

    /// Whether the disk was busy with others while fathom itself was still: 20 I/Os a second or 5 % of the time. A resting
    /// journal and logs stay below.
    pub fn is_busy(&self, elapsed_ns: u64) -> Option<bool> {
        Some(self.operations_per_second(elapsed_ns)? >= 20.0 || self.utilisation(elapsed_ns)? >= 0.05)
    }
}

fn mean(sum: Option<u64>, count: Option<u64>) -> Option<f64> {
    count.filter(|count| *count > 0).and_then(|count| Some(sum? as f64 / count as f64))
}

/// One disk's counters from `/sys/dev/block/M:m/stat`, cheaper than the whole list.
pub fn read_disk_stat(roots: &Roots, device: DeviceNumber) -> io::Result<DiskCounters> {
    let file = roots.sys.join("dev/block").join(device.to_string()).join("stat");
    let text = std::fs::read_to_string(&file)?;
    DiskCounters::parse(device, &text).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} is not as expected", file.display()))
    })
}

/// Processor time in ticks since boot, all processors together or one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTicks {
    /// Programs, also at low priority
    pub user: u64,
    /// Kernel, interrupts included
    pub system: u64,
    pub idle: u64,
    /// Idle while an I/O of this processor was in flight
    pub iowait: u64,
    /// Taken by the hypervisor
    pub steal: u64,
}

impl CpuTicks {
    /// All ticks.
    pub fn total(&self) -> u64 {
        let CpuTicks { user, system, idle, iowait, steal } = self;
        user + system + idle + iowait + steal
    }
}

/// Reads `/proc/stat`: all together, then each processor that is online.
pub fn read_cpus(roots: &Roots) -> io::Result<(CpuTicks, Vec<CpuTicks>)> {
    let text = std::fs::read_to_string(roots.proc.join("stat"))?;
    let mut lines = text.lines().filter_map(parse_cpu);
    let all =
        lines.next().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no line cpu in stat"))?;
    Ok((all, lines.collect()))
}

fn parse_cpu(line: &str) -> Option<CpuTicks> {
    let mut words = line.split_whitespace();
    words.next().filter(|name| name.starts_with("cpu"))?;
    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    // guest and guest_nice are contained in user and nice.
    (ticks.len() >= 4).then(|| CpuTicks {
        user: at(0) + at(1),
        system: at(2) + at(5) + at(6),
        idle: at(3),
        iowait: at(4),
        steal: at(7),
    })
}

/// What this process has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnUsage {
    /// CPU in programs
    pub user_us: u64,
    /// CPU in the kernel on its behalf
    pub system_us: u64,
    /// How often it was pushed off a processor
    pub involuntary_switches: u64,
}

/// Asks getrusage.
pub fn own_usage() -> io::Result<OwnUsage> {
    let (user_us, system_us, involuntary_switches) = crate::sys::own_usage()?;
    Ok(OwnUsage { user_us, system_us, involuntary_switches })
}

/// Bytes that a process made the disks read and write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIo {
    /// Read from disks
    pub read_bytes: u64,
    /// Sent to disks
    pub write_bytes: u64,
}

/// A process's I/O so far, when it may be looked at.
pub fn read_process_io(roots: &Roots, pid: u32) -> Option<ProcessIo> {
    let text = read_text(&roots.proc.join(pid.to_string()).join("io")).ok()?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    };
    Some(ProcessIo { read_bytes: field("read_bytes")?, write_bytes: field("write_bytes")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(words: &str) -> DiskCounters {
        DiskCounters::parse(DeviceNumber { major: 8, minor: 0 }, words).unwrap()
    }

    const LINE: &str = " 100 8 800 50 40 9 80 10 3 60 70 1 0 8 2 6 7";

    #[test]
    fn diskstats_are_read_in_the_kernels_order_and_differences_know_backwards() {
        let later = disk(LINE);
        let mut earlier = later;
        earlier.values[0] = Some(90);
        earlier.values[3] = Some(30);
        earlier.values[4] = Some(41);
        let change = later.since(&earlier);
        assert_eq!(later.value("flushes"), Some(6));
        assert_eq!(change.reads, Some(10));
        assert_eq!(change.read_await_ms(), Some(2.0));
        assert_eq!(change.writes, None, "went backwards");
        assert_eq!(change.operations_per_second(1_000_000_000), None);
        assert_eq!(later.pairs().len(), 17);
    }

    #[test]
    fn an_old_kernel_keeps_eleven_counters() {
        let old = disk("1 2 3 4 5 6 7 8 9 10 11");
        assert_eq!(old.value("weighted_ms"), Some(11));
        assert_eq!(old.value("discards"), None);
    }

    #[test]
    fn a_processors_ticks_are_read_by_kind() {
        let earlier = parse_cpu("cpu  10 0 10 70 10 0 0 0 0 0").unwrap();
        let later = parse_cpu("cpu0 60 0 10 110 20 0 0 0 0 0").unwrap();
        assert_eq!((later.total() - earlier.total(), later.idle - earlier.idle), (100, 40));
    }

    #[test]
    fn this_machine_tells_its_counters() {
        let roots = Roots::default();
        assert!(read_cpus(&roots).unwrap().0.total() > 0);
        assert!(own_usage().unwrap().user_us + own_usage().unwrap().system_us > 0);
    }
}
