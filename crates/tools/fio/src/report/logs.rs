//! fio's log files: bandwidth, IOPS, latencies and histograms, with fio's names and columns.
//!
//! A job without `log_avg_msec` logs each I/O: whoever runs it hands the entries over one by one. With it, the averages
//! come from the run's own counters, which are exact for every stretch of whole slots: no entry is missing, none is
//! counted in two stretches, and a stretch in which nothing was done says so in the bandwidth and IOPS logs. Latencies whose
//! submission is told apart have their means from single I/Os. A log belongs to one job; clones that are one stream have one log, their sum.

use super::job::ReportJob;
use super::tally::{direction_of, windows};
use fathom_record::{Counts, Run};
use fathom_spec::priority_class_and_level;
use std::io::{self, Write};

/// What a log is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// KiB a second.
    Bandwidth,
    /// I/Os a second.
    Iops,
    /// From the start to the completion, ns.
    Latency,
    /// From the submission's return to the completion, ns.
    Completion,
    /// Until the submission returned, ns.
    Submission,
    /// Histograms of completion latencies.
    Histogram,
}

impl LogSource {
    /// Are its values latencies?
    pub fn is_of_latencies(self) -> bool {
        matches!(self, LogSource::Latency | LogSource::Completion | LogSource::Submission)
    }

    fn suffix(self) -> &'static str {
        match self {
            LogSource::Bandwidth => "bw",
            LogSource::Iops => "iops",
            LogSource::Latency => "lat",
            LogSource::Completion => "clat",
            LogSource::Submission => "slat",
            LogSource::Histogram => "clat_hist",
        }
    }
}

/// The file of a log: `PREFIX_bw.1.log`, `PREFIX_bw.log` without `per_job_logs`. Jobs count from 1, clones one by one.
pub fn log_name(prefix: &str, source: LogSource, job_number: Option<u32>) -> String {
    match job_number {
        Some(number) => format!("{prefix}_{}.{number}.log", source.suffix()),
        None => format!("{prefix}_{}.log", source.suffix()),
    }
}

/// How entries are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// `log_offset=1`: a column for the offset.
    pub offset: bool,
    /// `log_prio=1`: the priority in full, not only whether it is a high one.
    pub priority: bool,
    /// `log_issue_time=1`: a column for the moment of submission.
    pub issue_time: bool,
    /// Added to the times, ms (`log_unix_epoch=1`: the job's start since 1970).
    pub epoch_ms: u64,
}

/// One entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEntry {
    /// When, ms since the job's start.
    pub time_ms: u64,
    /// What: KiB a second, I/Os a second, or ns.
    pub value: u64,
    /// The largest beside the mean, ns (`log_window_value=both`).
    pub largest: Option<u64>,
    /// 0 read, 1 write, 2 trim.
    pub direction: u32,
    /// Bytes of the I/O; 0 for an average.
    pub block_size: u64,
    /// Where it was; 0 for an average.
    pub offset: u64,
    /// Its priority, as the kernel has it; 0: none was asked for.
    pub priority: u32,
    /// When it was submitted, ns since the job's start; 0 for an average.
    pub issued_ns: u64,
}

/// The real-time class.
const REAL_TIME: u8 = 1;

/// Writes one entry.
pub fn write_entry(entry: &LogEntry, options: LogOptions, out: &mut impl Write) -> io::Result<()> {
    let LogEntry { time_ms, value, largest, direction, block_size, offset, priority, issued_ns } = entry;
    write!(out, "{}, {value}, ", time_ms + options.epoch_ms)?;
    if let Some(largest) = largest {
        write!(out, "{largest}, ")?;
    }
    write!(out, "{direction}, {block_size}, ")?;
    if options.offset {
        write!(out, "{offset}, ")?;
    }
    match options.priority {
        true => write!(out, "0x{priority:04x}")?,
        false => write!(out, "{}", u32::from(priority_class_and_level(*priority).0 == REAL_TIME))?,
    }
    if options.issue_time {
        write!(out, ", {issued_ns}")?;
    }
    writeln!(out)
}

/// The averages of a job over stretches of `average_ms`, in order of time. A completion is the whole latency here, and of
/// submissions there are none.
pub fn averages(run: &Run, job: &ReportJob, source: LogSource, average_ms: u64) -> Vec<LogEntry> {
    let slot_ns = run.plan.slot.0.max(1);
    let length_ns = (average_ms * 1_000_000).div_ceil(slot_ns).max(1) * slot_ns;
    let mut entries = Vec::new();
    let mut began_ms = 0;
    for all in job.streams.iter().filter_map(|stream| run.merged(*stream)) {
        let whole_ms = all.length_ns.div_ceil(1_000_000);
        // A rest that is shorter than a tenth of a stretch belongs to the one before: alone it would be an outlier.
        let (full, rest_ns) = ((all.length_ns / length_ns) as usize, all.length_ns % length_ns);
        let joined = full > 0 && rest_ns > 0 && rest_ns * 10 < length_ns;
        let mut stretches: Vec<(u64, Vec<LogEntry>)> = Vec::new();
        for (cell, (verb, _)) in all.cells.iter().enumerate() {
            let Some(direction) = direction_of(*verb) else { continue };
            let mut counts = windows(&all, cell, length_ns, slot_ns, u64::MAX / 1_000_000);
            if joined && counts.len() > full {
                counts.split_off(full).iter().for_each(|rest| counts[full - 1].merge(rest));
            }
            for (at, one) in counts.iter().enumerate() {
                let to_ms = (at as u64 + 1) * length_ns / 1_000_000;
                let from_ms = at as u64 * length_ns / 1_000_000;
                // The last interval has room for more slots than it used.
                if from_ms >= whole_ms {
                    break;
                }
                let last = joined && at + 1 == full;
                let to_ms = if last { whole_ms } else { to_ms.min(whole_ms).max(from_ms + 1) };
                let entry = value_of(one, source, to_ms - from_ms).map(|value| LogEntry {
                    time_ms: began_ms + to_ms,
                    value,
                    direction: direction as u32,
                    ..LogEntry::default()
                });
                if stretches.len() <= at {
                    stretches.push((to_ms, Vec::new()));
                }
                stretches[at].1.extend(entry);
            }
        }
        entries.extend(stretches.into_iter().flat_map(|(_, entries)| entries));
        began_ms += whole_ms;
    }
    entries
}

fn value_of(counts: &Counts, source: LogSource, length_ms: u64) -> Option<u64> {
    let mean = || counts.latency_sum_ns.checked_div(counts.operations);
    match source {
        LogSource::Bandwidth => Some((counts.bytes * 1000 / length_ms.max(1)) >> 10),
        LogSource::Iops => Some(counts.operations * 1000 / length_ms.max(1)),
        LogSource::Latency | LogSource::Completion => mean(),
        LogSource::Submission | LogSource::Histogram => None,
    }
}
