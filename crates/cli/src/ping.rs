//! `fathom ping`: one small read a second, and what the device itself says of its latency meanwhile.

use crate::args::Ping;
use anyhow::{Result, bail};
use fathom_calibrate::observe::CONFIDENCE;
use fathom_calibrate::quantiles::{latencies_by_interval, latency_figures};
use fathom_host::{DeviceNumber, Roots, counters, read_machine, resolve};
use fathom_record::*;
use fathom_session::output::Shown;
use fathom_session::record_writer::empty_record;
use fathom_session::targets::absolute;
use fathom_session::{Console, Ended, Interrupt, Session, WrongUsage};
use fathom_spec::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Runs the command. Nothing is written and nothing is kept.
pub fn run(args: &Ping, session: &mut Session<'_>) -> Result<Ended> {
    if args.interval.0 < 1_000_000 {
        bail!(WrongUsage(format!(
            "--interval {} is a load, no ping\nhint: at least 1ms; for a load use fathom run",
            args.interval
        )));
    }
    let roots = Roots::default();
    let interrupt = session.environment.interrupt();
    let name = file_to_read(Path::new(&args.target))?;
    let name_text = names::text(&name).map_err(|e| {
        anyhow::anyhow!("cannot read {}: {e}\nhint: {}", names::shown(&name), names::NotText::HINT)
    })?;
    let storage = resolve(&roots, &name).map_err(|error| {
        anyhow::anyhow!("cannot look at {}: {error}\nhint: check the name", names::shown(&name))
    })?;
    let disks: Vec<(String, DeviceNumber)> =
        storage.disks.iter().map(|d| (d.name.clone(), d.number)).collect();
    let mut plan = Plan::new(args.seed);
    let space = plan.add_target(Target::Path(PathTarget::direct_read(name_text)));
    let mut blocks = Blocks::random_reads(space, args.block);
    blocks.queue = QueueKind::Psync;
    let mut stream = Stream::closed("ping", blocks, 1);
    let rate = Rate::Operations(1e9 / args.interval.0 as f64);
    stream.arrival = Arrival::Open(vec![Timetable { verb: Verb::Read, rate, spacing: Spacing::Even }]);
    stream.keep.response = true;
    stream.stop.operations = args.count;
    plan.add_stream(stream);
    let (sender, entries) = channel();
    let mut attachments = Attachments::default();
    attachments.sinks.push((StreamId(0), Box::new(Completions(sender))));
    let file_system = storage.file_system.as_ref().map(|below| below.kind.as_str());
    let names: Vec<&str> = disks.iter().map(|(name, _)| name.as_str()).collect();
    let below: Vec<String> =
        [file_system.map(str::to_owned), Some(names.join(", ")).filter(|n| !n.is_empty())]
            .into_iter()
            .flatten()
            .collect();
    let mut reads = Reads {
        head: format!("{} from {} ({})", args.block, names::shown(&name), below.join(" on ")),
        roots,
        disks,
        before: Vec::new(),
        entries,
        latencies_ns: Vec::new(),
        interrupt: &interrupt,
        lines: args.output.is_text() && args.output.file.is_none(),
        console: &session.console,
    };
    reads.before = reads.counters();
    let request = Request { attachments, ..Request::new(&plan) };
    let run = session.execute.execute(request, &mut reads)?.run;
    reads.take();
    let facts = serde_json::json!({
        "machine": serde_json::to_value(read_machine(&reads.roots))?,
        "storage": [serde_json::to_value(&storage)?],
    });
    let target = vec![absolute(&names::shown(&name))];
    let mut record = empty_record("ping", &session.command, None, target, facts, &session.environment);
    record.ending = if interrupt.raised() { Ending::Interrupted } else { Ending::Complete };
    record.summary = figures(&run);
    let mut text = Vec::new();
    writeln!(text, "{}", summary(&reads.latencies_ns))?;
    let text = match (reads.lines, reads.latencies_ns.is_empty()) {
        (true, _) => text,
        (false, _) => [format!("{}: ", reads.head).into_bytes(), text].concat(),
    };
    record.runs.push(run);
    let shown = Shown { record: &record, saved: None, tool: None, text: Some(text) };
    args.output.show(&shown, &session.environment, &session.console)?;
    let failed = record.runs[0].faults().next().is_some();
    Ok(match (failed, interrupt.raised()) {
        (true, _) => Ended::Failed,
        (false, true) => Ended::Interrupted,
        (false, false) => Ended::Done,
    })
}

/// The latency of all reads that came back, the last one as well as the first: a ping has no window.
fn figures(run: &Run) -> BTreeMap<FigureName, Figure> {
    let by_interval = latencies_by_interval(run, |_, cell| cell.service.as_deref());
    let mut all = Latency::default();
    by_interval.iter().for_each(|latency| all.merge(latency));
    if all.count == 0 {
        return BTreeMap::new();
    }
    let latency = latency_figures(&all, &by_interval);
    let figure = Figure {
        value: latency.mean_ns,
        half_width: None,
        confidence: CONFIDENCE,
        unit: Unit::Nanoseconds,
        converged: true,
        load: Some(Load { small: 1, large: 0 }),
        latency: Some(latency),
        bound: None,
        run: Some(0),
        note: None,
    };
    [(FigureName::ReadLatency, figure)].into()
}

/// `5 reads   min 211 us   mean 1.24 ms   median 1.33 ms   max 2.12 ms   stddev 684 us`.
fn summary(latencies_ns: &[u64]) -> String {
    let count = latencies_ns.len();
    if count == 0 {
        return "no read was answered".to_owned();
    }
    let mut sorted = latencies_ns.to_vec();
    sorted.sort_unstable();
    let mean = sorted.iter().sum::<u64>() as f64 / count as f64;
    let median = (sorted[(count - 1) / 2] + sorted[count / 2]) as f64 / 2.0;
    let squares: f64 = sorted.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
    let deviation = (squares / (count.max(2) - 1) as f64).sqrt();
    let time = |ns: f64| Nanos(ns.round() as u64).to_string();
    format!(
        "{count} read{}   min {}   mean {}   median {}   max {}   stddev {}",
        if count == 1 { "" } else { "s" },
        time(sorted[0] as f64),
        time(mean),
        time(median),
        time(sorted[count - 1] as f64),
        time(deviation)
    )
}

/// The file itself, or the largest one below a directory.
fn file_to_read(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries = std::fs::read_dir(path).map_err(|error| {
        anyhow::anyhow!("cannot look into {}: {error}\nhint: name a file", names::shown(path))
    })?;
    let largest = entries
        .flatten()
        .filter_map(|entry| {
            Some((entry.metadata().ok().filter(std::fs::Metadata::is_file)?.len(), entry.path()))
        })
        .filter(|(size, path)| *size >= MIB && std::fs::File::open(path).is_ok())
        .max();
    match largest {
        Some((_, path)) => Ok(path),
        None => bail!(
            "no readable file of 1 MiB or more is directly in {}\nhint: name a file or the block device",
            names::shown(path)
        ),
    }
}

/// Sends each read that came back to the thread that prints.
struct Completions(Sender<LogEntry>);

impl Sink for Completions {
    fn take(&mut self, entries: &[LogEntry]) -> std::io::Result<()> {
        // Whoever prints them may have gone: the run ends by itself.
        for entry in entries {
            let _ = self.0.send(*entry);
        }
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints a line for each read.
struct Reads<'a> {
    head: String,
    roots: Roots,
    disks: Vec<(String, DeviceNumber)>,
    before: Vec<Option<counters::DiskCounters>>,
    entries: Receiver<LogEntry>,
    latencies_ns: Vec<u64>,
    interrupt: &'a Interrupt,
    /// Are the lines shown?
    lines: bool,
    console: &'a Console,
}

impl Reads<'_> {
    fn counters(&self) -> Vec<Option<counters::DiskCounters>> {
        self.disks.iter().map(|(_, number)| counters::read_disk_stat(&self.roots, *number).ok()).collect()
    }

    /// What the devices said of their reads since the last time: `vda 0.04 ms`.
    fn waits(&mut self) -> String {
        let after = self.counters();
        let waits: Vec<String> = self
            .disks
            .iter()
            .zip(self.before.iter().zip(&after))
            .filter_map(|((name, _), (before, after))| {
                let difference = after.as_ref()?.since(before.as_ref()?);
                Some(format!("{name} {:.2} ms", difference.read_await_ms()?))
            })
            .collect();
        self.before = after;
        waits.join(", ")
    }

    /// A line for each read that came back since the last time; answers whether anybody still reads them.
    fn take(&mut self) -> bool {
        let entries: Vec<LogEntry> = self.entries.try_iter().filter(|entry| entry.result > 0).collect();
        if entries.is_empty() {
            return true;
        }
        let waits = self.waits();
        let mut out = self.console.out();
        for entry in entries {
            let latency_ns = entry.at_ns.saturating_sub(entry.submitted_ns);
            self.latencies_ns.push(latency_ns);
            let number = self.latencies_ns.len();
            let line = format!("{}: {number}  {}   {waits}", self.head, Nanos(latency_ns));
            if self.lines && writeln!(out, "{}", line.trim_end()).is_err() {
                return false;
            }
        }
        out.flush().is_ok()
    }
}

impl Control for Reads<'_> {
    fn event(&mut self, event: &Event) {
        if let EventKind::Fault { errno, offset, .. } = &event.what {
            let error = std::io::Error::from_raw_os_error(*errno);
            self.console.complain(format_args!("warning: a read at byte {} failed: {error}", offset.0));
        }
    }

    fn goes_on(&mut self) -> bool {
        !self.interrupt.raised()
    }

    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        if self.interrupt.raised() {
            return Steer::Stop(Vec::new(), StopReason::Signal);
        }
        if !self.take() {
            // Its reader has gone.
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        Steer::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the mean left out the last read, which was counted.
    #[test]
    fn all_reads_are_in_the_summary() {
        let reads = [1_330_000, 2_120_000, 1_160_000, 1_400_000, 211_000];
        let line = "5 reads   min 211 us   mean 1.24 ms   median 1.33 ms   max 2.12 ms   stddev 684 us";
        assert_eq!(summary(&reads), line);
        assert_eq!(
            summary(&[222_000, 119_000]),
            "2 reads   min 119 us   mean 170 us   median 170 us   max 222 us   stddev 72.8 us"
        );
        assert_eq!(summary(&[]), "no read was answered");
    }
}
