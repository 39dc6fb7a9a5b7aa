//! Logs made of single I/Os, written while the jobs run: fio's own with a line for each I/O, histograms, the largest latencies,
//! and `write_iolog`.

use super::members::Members;
use crate::replay::Deed;
use crate::replay::write_iolog::IologWriter;
use crate::report::operations::{Done, direction, entry};
use crate::report::windows::{HistogramLog, LatencyLog, WindowValue};
use crate::report::{LogOptions, LogSource, log_name, logs};
use crate::{Job, Member, file_layout};
use anyhow::Result;
use fathom_drive::LogEntry;
use fathom_host::{Roots, output_file};
use fathom_record::Sink;
use fathom_spec::{Plan, Space, Stream, StreamId, SyncKind, TargetId, Verb, Work, priority_word};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Where single I/Os go, by stream.
pub type Sinks = Vec<(StreamId, Box<dyn Sink>)>;

/// Opens the logs of jobs that are made of single I/Os.
pub fn open(members: &Members<'_>) -> Result<Sinks> {
    let (mut sinks, mut opened) = (Sinks::new(), HashSet::new());
    for index in members.indices() {
        let (member, job, stream) = (members.get(index), members.job(index), members.stream(index));
        let wanted = wanted(job, told_apart(stream));
        if wanted.is_empty() && job.report.iolog.is_none() {
            continue;
        }
        if !matches!(stream.work, Work::Blocks(_)) {
            anyhow::bail!(
                "{}: {} keeps no log of single I/Os\nhint: leave write_hist_log and log_max_value out, and say log_avg_msec=100, for instance",
                job.name,
                job.engine.name
            );
        }
        let mut files = Vec::new();
        for (prefix, source, log) in wanted {
            let prefix = if prefix.is_empty() { &job.name } else { prefix };
            let path = log_name(prefix, source, job.report.per_job_logs.then_some(index.number() as u32 + 1));
            files.push((log, file(&path, opened.insert(path.clone()))?));
        }
        let iolog = match &job.report.iolog {
            None => None,
            Some(path) => {
                let log = IologWriter::new(file(path, false)?, names(job, member));
                Some(Iolog::new(log, members.plan(), stream))
            }
        };
        let report = &job.report;
        sinks.push((
            member.stream,
            Box::new(PerIo {
                files,
                iolog,
                options: LogOptions {
                    offset: report.log_offset,
                    priority: report.log_priority,
                    issue_time: report.log_issue_time,
                    epoch_ms: 0,
                },
                priority: job
                    .terms
                    .standing
                    .io_priority
                    .map_or(0, |(class, level)| priority_word(class, level)),
                run_began_ms: report.log_epoch.and_then(fathom_drive::system_clock_ms),
                ramp_ns: job.stop.ramp.0,
                began_ns: None,
                told_apart: told_apart(stream),
                line: Vec::new(),
            }),
        ));
    }
    Ok(sinks)
}

/// What becomes of each I/O in a log.
enum Log {
    /// A line.
    Each(LogSource),
    /// It counts in a row.
    Histogram(HistogramLog),
    /// It counts in a line of latencies.
    Latencies(LatencyLog),
    /// Nothing: the file stays empty.
    Nothing,
}

/// Is the submission told apart from the rest?
pub fn told_apart(stream: &Stream) -> bool {
    stream.keep.submit || stream.keep.completion
}

/// Does a log of stretches need single I/Os? Else its averages come from the run's counters.
pub fn needs_single(job: &Job, source: LogSource, told_apart: bool) -> bool {
    let mean = job.report.log_window == WindowValue::Mean;
    source.is_of_latencies() && (!mean || (told_apart && source != LogSource::Latency))
}

/// The logs of a job that are made of single I/Os, with their prefixes.
fn wanted(job: &Job, told_apart: bool) -> Vec<(&String, LogSource, Log)> {
    let report = &job.report;
    let average_ms = report.log_average.0.div_ceil(1_000_000);
    let (bandwidth, latency, iops) = &report.logs;
    let (lat, clat, slat) = report.disabled;
    let all = [
        (bandwidth, LogSource::Bandwidth, false),
        (iops, LogSource::Iops, false),
        (latency, LogSource::Latency, lat),
        (latency, LogSource::Completion, clat),
        (latency, LogSource::Submission, slat),
    ];
    let mut wanted = Vec::new();
    for (prefix, source, off) in all {
        let Some(prefix) = prefix.as_ref().filter(|_| !off) else { continue };
        if average_ms == 0 {
            wanted.push((prefix, source, Log::Each(source)));
        } else if needs_single(job, source, told_apart) {
            let log = LatencyLog::new(average_ms, source, report.log_window);
            wanted.push((prefix, source, Log::Latencies(log)));
        }
    }
    if let Some(histograms) = &report.histograms {
        let log = match histograms.length.0 / 1_000_000 {
            length_ms if length_ms > 0 && !clat => {
                Log::Histogram(HistogramLog::new(length_ms, histograms.coarseness))
            }
            _ => Log::Nothing,
        };
        wanted.push((&histograms.name, LogSource::Histogram, log));
    }
    wanted
}

fn file(path: &str, anew: bool) -> Result<BufWriter<File>> {
    let (roots, place) = (Roots::default(), Path::new(path));
    let opened = if anew { output_file::grow(&roots, place) } else { output_file::append(&roots, place) };
    let opened = opened.map_err(|error| anyhow::anyhow!(error.with_hint("name a file that may be made")))?;
    Ok(BufWriter::with_capacity(1 << 16, opened))
}

/// The names of a clone's files, also where nothing is done to them.
fn names(job: &Job, member: &Member) -> Vec<String> {
    match member.files.is_empty() {
        true => file_layout::paths(job, member.clone),
        false => member.files.iter().map(|file| file.path.clone()).collect(),
    }
}

struct Iolog {
    log: IologWriter<BufWriter<File>>,
    /// Numbers of files by targets.
    files: HashMap<u16, u32>,
}

impl Iolog {
    fn new(log: IologWriter<BufWriter<File>>, plan: &Plan, stream: &Stream) -> Self {
        let Work::Blocks(blocks) = &stream.work else {
            return Iolog { log, files: HashMap::new() };
        };
        let over: &[TargetId] = match plan.spaces.get(blocks.space.0 as usize) {
            Some(Space::Whole(one)) => std::slice::from_ref(one),
            Some(Space::Concat(over) | Space::Striped { over, .. } | Space::Picked { over, .. }) => over,
            None => &[],
        };
        let files = (0..).zip(over).map(|(number, target)| (target.0 as u16, number)).collect();
        Iolog { log, files }
    }

    fn take(&mut self, entry: &LogEntry) -> io::Result<()> {
        let operation = &entry.operation;
        let deed = match operation.verb {
            Verb::Write | Verb::Commit => Deed::Write,
            Verb::Trim => Deed::Trim,
            Verb::Sync if operation.sync_kind(SyncKind::Fdatasync) == SyncKind::Fsync => Deed::Fsync,
            Verb::Sync => Deed::Fdatasync,
            _ => Deed::Read,
        };
        let file = self.files.get(&operation.target).copied().unwrap_or(0);
        let times = (entry.submitted_ns, entry.at_ns);
        self.log.done(times, deed, file, (operation.offset, operation.length))
    }
}

/// The logs of one clone.
struct PerIo {
    files: Vec<(Log, BufWriter<File>)>,
    iolog: Option<Iolog>,
    options: LogOptions,
    /// That of each I/O that has none of its own.
    priority: u32,
    run_began_ms: Option<u64>,
    ramp_ns: u64,
    /// When what counts began: the first submission, and the ramp behind it.
    began_ns: Option<u64>,
    /// Is the submission told apart from the rest?
    told_apart: bool,
    line: Vec<u8>,
}

/// Writes entries, each in one piece: clones may share a file.
fn write(
    entries: &[logs::LogEntry],
    options: LogOptions,
    line: &mut Vec<u8>,
    out: &mut impl Write,
) -> io::Result<()> {
    entries.iter().try_for_each(|entry| {
        line.clear();
        logs::write_entry(entry, options, line)?;
        out.write_all(line)
    })
}

impl PerIo {
    /// What is added to the times, ms.
    fn epoch_ms(&self, began_ns: u64) -> u64 {
        self.run_began_ms.map_or(0, |began_ms| began_ms + began_ns / 1_000_000)
    }

    /// Notes one I/O in each log.
    fn note(&mut self, done: &Done, began_ns: u64, priority: u32) -> io::Result<()> {
        let options = LogOptions { epoch_ms: self.epoch_ms(began_ns), ..self.options };
        let line = &mut self.line;
        for (log, out) in &mut self.files {
            match log {
                Log::Each(source) => {
                    let entry = entry(done, *source, began_ns);
                    let entry = entry.map(|entry| logs::LogEntry { priority, ..entry });
                    write(entry.as_slice(), options, line, out)?;
                }
                Log::Histogram(histograms) => histograms.add(done, began_ns, options.epoch_ms, out)?,
                Log::Latencies(log) => {
                    write(&log.add(done, began_ns), options, line, out)?;
                }
                Log::Nothing => {}
            }
        }
        Ok(())
    }
}

impl Sink for PerIo {
    fn take(&mut self, entries: &[LogEntry]) -> io::Result<()> {
        for LogEntry { at_ns, submitted_ns, submit_ns, operation, result, priority, .. } in entries {
            let ramp_ns = self.ramp_ns;
            let began_ns = *self.began_ns.get_or_insert_with(|| submitted_ns.saturating_add(ramp_ns));
            if *at_ns < began_ns {
                continue;
            }
            let (Some(direction), Ok(bytes)) = (direction(operation.verb), u64::try_from(*result)) else {
                continue;
            };
            let done = Done {
                at_ns: *at_ns,
                service_ns: at_ns.saturating_sub(*submitted_ns),
                submit_ns: self.told_apart.then_some(*submit_ns),
                direction,
                offset: operation.offset,
                bytes,
            };
            let priority = if *priority == 0 { self.priority } else { u32::from(*priority) };
            self.note(&done, began_ns, priority)?;
        }
        if let Some(iolog) = &mut self.iolog {
            entries.iter().try_for_each(|entry| iolog.take(entry))?;
        }
        // Whoever follows the files sees them grow.
        self.files.iter_mut().try_for_each(|(_, out)| out.flush())
    }

    fn end(&mut self) -> io::Result<()> {
        let options = LogOptions { epoch_ms: self.epoch_ms(self.began_ns.unwrap_or(0)), ..self.options };
        for (log, out) in &mut self.files {
            match log {
                Log::Histogram(histograms) => histograms.end(options.epoch_ms, out)?,
                Log::Latencies(log) => write(&log.end(), options, &mut self.line, out)?,
                Log::Each(_) | Log::Nothing => {}
            }
        }
        if let Some(iolog) = &mut self.iolog {
            iolog.log.end()?;
        }
        self.files.iter_mut().try_for_each(|(_, out)| out.flush())
    }
}
