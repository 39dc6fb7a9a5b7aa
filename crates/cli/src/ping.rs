//! `fathom ping`: one small read a second, and what the device itself says of its latency meanwhile.

use crate::args::Ping;
use anyhow::{Result, bail};
use fathom_calibrate::load_figures::load_figures;
use fathom_host::{DeviceNumber, Roots, counters, resolve};
use fathom_record::*;
use fathom_session::record_writer::empty_record;
use fathom_session::watch::Progress;
use fathom_session::{Console, Ended, Interrupt, Session, WrongUsage};
use fathom_spec::*;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    let progress = Progress::new(false, &session.console);
    let mut latencies = Latencies {
        name: name.display().to_string(),
        roots,
        disks,
        last: Counts::default(),
        before: Vec::new(),
        number: 0,
        interrupt: &interrupt,
        progress: &progress,
        console: &session.console,
    };
    latencies.before = latencies.read();
    let run = session.execute.execute(Request::new(&plan), &mut latencies)?.run;
    let all = run.workers.iter().flat_map(|w| &w.counts).fold(Counts::default(), |mut sum, (_, counts)| {
        sum.merge(counts);
        sum
    });
    latencies.tell(all);
    let mut record = empty_record(
        "ping",
        &session.command,
        None,
        vec![args.target.clone()],
        serde_json::Value::Null,
        &session.environment,
    );
    record.summary = load_figures(&run);
    record.runs.push(run);
    fathom_render::load::write_ping(&record, session.environment.style(), &mut session.console.out())?;
    let failed = record.runs[0].faults().next().is_some();
    Ok(match (failed, interrupt.raised()) {
        (true, _) => Ended::Failed,
        (false, true) => Ended::Interrupted,
        (false, false) => Ended::Done,
    })
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

/// Prints a line for each read.
struct Latencies<'a> {
    name: String,
    roots: Roots,
    disks: Vec<(String, DeviceNumber)>,
    last: Counts,
    before: Vec<Option<counters::DiskCounters>>,
    number: u64,
    interrupt: &'a Interrupt,
    progress: &'a Progress,
    console: &'a Console,
}

impl Latencies<'_> {
    fn read(&self) -> Vec<Option<counters::DiskCounters>> {
        self.disks.iter().map(|(_, number)| counters::read_disk_stat(&self.roots, *number).ok()).collect()
    }

    /// A line for what came since the last one; answers whether anybody still reads.
    fn tell(&mut self, counts: Counts) -> bool {
        let new = counts.since(&self.last);
        if new.operations + u64::from(new.errors) == 0 {
            return true;
        }
        self.last = counts;
        let after = self.read();
        let awaits: Vec<String> = self
            .disks
            .iter()
            .zip(self.before.iter().zip(&after))
            .filter_map(|((name, _), (before, after))| {
                let difference = after.as_ref()?.since(before.as_ref()?);
                Some(format!("{name} r_await {:.2} ms", difference.read_await_ms()?))
            })
            .collect();
        self.before = after;
        self.number += new.operations;
        let mean = Nanos(new.latency_sum_ns / new.operations.max(1));
        writeln!(self.console.out(), "{}: read {} in {mean}   {}", self.name, self.number, awaits.join(", "))
            .is_ok()
    }
}

impl Control for Latencies<'_> {
    fn event(&mut self, event: &Event) {
        if let EventKind::Fault { errno, offset, .. } = &event.what {
            let error = std::io::Error::from_raw_os_error(*errno);
            self.progress.say(&format!("warning: a read at byte {} failed: {error}", offset.0));
        }
    }

    fn goes_on(&mut self) -> bool {
        !self.interrupt.raised()
    }

    fn slot(&mut self, _now_ns: u64, totals: &[Totals]) -> Steer {
        if self.interrupt.raised() {
            return Steer::Stop(Vec::new(), StopReason::Signal);
        }
        if !totals.iter().all(|total| self.tell(total.counts[0])) {
            // Its reader has gone.
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        Steer::Continue
    }
}
