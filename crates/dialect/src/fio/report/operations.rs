//! fio's logs without `log_avg_msec`: an entry for each I/O, from the lines of fathom's own log of operations (the columns
//! at_ns, response_ns, service_ns, worker, verb, target, offset, bytes, result).

use super::logs::{LogEntry, LogOptions, LogSource, write_entry};
use std::io::{self, BufRead, Write};

/// One line of the log of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it came back, ns since the run's start.
    pub at_ns: u64,
    /// From its submission to that moment, ns.
    pub service_ns: u64,
    /// Which worker of the stream did it.
    pub worker: u32,
    /// 0 read, 1 write, 2 trim.
    pub direction: u32,
    /// Where in its target.
    pub offset: u64,
    /// How many bytes were moved.
    pub bytes: u64,
}

/// Reads a line. `None` for the line that names the columns, for syncs, and for what failed.
pub fn read(line: &str) -> Option<Done> {
    let mut words = line.split_ascii_whitespace();
    let at_ns = words.next()?.parse().ok()?;
    let _response_ns = words.next()?;
    let service_ns = words.next()?.parse().ok()?;
    let worker = words.next()?.parse().ok()?;
    let direction = match words.next()? {
        "read" | "create" | "open" | "stat" | "delete" => 0,
        "write" | "commit" => 1,
        "trim" => 2,
        _ => return None,
    };
    let _target = words.next()?;
    let offset = words.next()?.parse().ok()?;
    let _asked = words.next()?;
    let moved: i64 = words.next()?.parse().ok()?;
    Some(Done { at_ns, service_ns, worker, direction, offset, bytes: u64::try_from(moved).ok()? })
}

/// The entry of one I/O in one log; `None` where that log has none of it. The bandwidth is that of this I/O alone.
pub fn entry(done: &Done, source: LogSource, began_ns: u64) -> Option<LogEntry> {
    let Done { at_ns, service_ns, worker: _, direction, offset, bytes } = *done;
    let value = match source {
        LogSource::Latency | LogSource::Completion => service_ns,
        LogSource::Submission | LogSource::Histogram => return None,
        LogSource::Iops => 1,
        LogSource::Bandwidth => {
            (u128::from(bytes) * 1_000_000_000 / u128::from(service_ns.max(1)) / 1024) as u64
        }
    };
    let time_ms = at_ns.saturating_sub(began_ns) / 1_000_000;
    Some(LogEntry { time_ms, value, direction, block_size: bytes, offset, priority: 0 })
}

/// Copies a log of operations into fio's logs, line by line; `worker`: only that one's. `began_ns` is when the job
/// began, ns since the run's start.
pub fn convert(
    lines: impl BufRead,
    began_ns: u64,
    worker: Option<u32>,
    options: LogOptions,
    logs: &mut [(LogSource, &mut dyn Write)],
) -> io::Result<()> {
    for line in lines.lines() {
        let Some(done) = read(&line?).filter(|done| worker.is_none_or(|wanted| wanted == done.worker)) else {
            continue;
        };
        for (source, out) in logs.iter_mut() {
            if let Some(entry) = entry(&done, *source, began_ns) {
                write_entry(&entry, options, out)?;
            }
        }
    }
    Ok(())
}
