//! `fathom calibrate`: makes the targets ready, lets the schedule say what is measured, and tells what came out.

mod commit_log;
mod finish;
pub(crate) mod setup;

use crate::args::Calibrate;
use anyhow::{Result, bail};
use commit_log::{CommitLog, LogLimit};
use fathom_calibrate::observe::Observed;
use fathom_calibrate::plan::{Length, Planner};
use fathom_calibrate::schedule::{Calibration, Step};
use fathom_calibrate::stopper::{Rule, Until};
use fathom_calibrate::sustain;
use fathom_engine::guard::{consented, same_place};
use fathom_host::{Roots, lock, page_cache};
use fathom_record::*;
use fathom_session::interference::Others;
use fathom_session::preflight;
use fathom_session::targets::{self, Ready};
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Console, Ended, Environment, Interrupt, Measurement, Session, Setup};
use fathom_spec::*;
use setup::{
    check, check_sizes, dry_run, layout, log_room, names, planner, question, quiet, request_facts, take_locks,
};
use std::path::Path;

/// The layout of a scratch file stops after this.
const LAYOUT_MOST: Nanos = Nanos::from_seconds(20);
/// The most small I/Os outstanding, and large ones: each needs a buffer of its size.
const SMALL_MOST: u32 = 1024;
const LARGE_MOST: u32 = 64;
/// Probes of the page cache in each file.
const PROBES: u64 = 512;
/// Slots as long as the bursts in which a throttle lets I/Os through, so that whole ones are fair.
const SLOT: Nanos = Nanos::from_millis(100);

/// Runs the command.
pub fn run(args: &Calibrate, session: &mut Session<'_>) -> Result<Ended> {
    check(args)?;
    let names = names(args)?;
    check_sizes(args, &names.0)?;
    setup::check_simulated(&names.0)?;
    if args.dry_run {
        return dry_run(args, &names.0, session);
    }
    let mut job = Job::prepare(args, session, names)?;
    let outcome = job.measure();
    job.conclude(outcome)
}

/// A calibration with everything it holds: scratch files, locks, the record.
struct Job<'a> {
    args: &'a Calibrate,
    environment: Environment,
    console: Console,
    interrupt: Interrupt,
    progress: Progress,
    measurement: Measurement<'a>,
    ready: Vec<Ready>,
    log: Option<CommitLog>,
    calibration: Option<Calibration>,
    /// Since the layout ended.
    measuring: fathom_drive::Clock,
    others: Option<Others>,
    /// What the page cache held of each target before the measurement, 0 to 1.
    cached_before: Option<Vec<f64>>,
    _locks: Option<lock::Locks>,
}

impl<'a> Job<'a> {
    fn prepare(
        args: &'a Calibrate,
        session: &'a mut Session<'_>,
        (names, left_out): (Vec<String>, Vec<String>),
    ) -> Result<Self> {
        let interrupt = session.environment.interrupt();
        let mut notes: Vec<Note> =
            left_out.into_iter().map(|text| Note { text: format!("left out: {text}"), hint: None }).collect();
        for name in names.iter().filter(|name| Path::new(name).is_dir()) {
            let cleared = targets::clear_leftovers(&session.roots, Path::new(name));
            notes.extend(cleared.into_iter().map(|text| Note { text, hint: None }));
        }
        let ready: Vec<Ready> = names
            .iter()
            .enumerate()
            .map(|(i, name)| targets::ready(&session.roots, name, args.size, i as u32, log_room(args)))
            .collect::<Result<_>>()?;
        let simulated = ready.iter().any(|r| matches!(r, Ready::Simulated(_)));
        if simulated && ready.len() > 1 {
            bail!("a simulated device is measured alone\nhint: name one sim: target and nothing else");
        }
        let mut found = preflight::look(&session.roots, &ready);
        let locks = if simulated { None } else { Some(take_locks(args, &found, session, &interrupt)?) };
        let others = match simulated {
            true => None,
            false => quiet(args, &session.roots, &found, &interrupt, &mut notes)?,
        };
        if simulated {
            found.evidence.unchecked.clear();
        }
        let (permits, log) = permits(args, &ready, &session.roots)?;
        let (environment, console) = (session.environment.clone(), session.console.clone());
        let progress = Progress::of(session, !simulated);
        let setup = Setup {
            tool: "calibrate",
            label: args.label.clone(),
            targets: names,
            ready: &ready,
            permits,
            request: request_facts(args),
        };
        let mut measurement = session.begin_with(setup, found, args.num_disks);
        measurement.record.notes.splice(0..0, notes);
        measurement.record.max_latency = Some(args.max_latency);
        Ok(Job {
            args,
            environment,
            console,
            interrupt,
            progress,
            measurement,
            ready,
            log,
            calibration: None,
            measuring: fathom_drive::Clock::start(),
            others,
            cached_before: None,
            _locks: locks,
        })
    }

    /// May every target be written?
    fn writes(&self) -> bool {
        may_write(self.args, &self.ready)
    }

    /// Executes one plan, watched, and answers its run.
    fn execute(
        &mut self,
        plan: &Plan,
        what: RunDescription,
        inner: &mut dyn Control,
    ) -> Result<Run, ExecuteError> {
        let shown = match what.step {
            Some((step, of)) => format!("{step}/{of} {}", what.name),
            None => what.name.clone(),
        };
        let mut watch = Watch::new(inner, &self.progress, &self.interrupt, shown, what.length);
        watch.share = what.share;
        watch.others = self.others.as_mut();
        let mut run = self.measurement.run(plan, &mut watch)?;
        (run.name, run.phase, run.purpose, run.load) = (what.name, what.phase, what.purpose, what.load);
        Ok(run)
    }

    /// The same for a plan that may append to the commit log: it ends before the log has taken more than its room.
    fn execute_within_room(
        &mut self,
        plan: &mut Plan,
        what: RunDescription,
        inner: &mut dyn Control,
    ) -> Result<Run, ExecuteError> {
        let limit = self.log.as_ref().and_then(|log| Some((log.limit(plan)?, log.look())));
        let Some((most, left)) = limit else { return self.execute(plan, what, inner) };
        let mut limit = LogLimit::new(inner, most, &left);
        let run = self.execute(plan, what, &mut limit)?;
        let told = limit.full;
        if let Some(log) = &mut self.log {
            log.look_at(&run, most, told);
        }
        Ok(run)
    }

    /// Is it over: interrupted, or stopped for others' sake?
    fn over(&self) -> bool {
        self.interrupt.raised() || self.others.as_ref().is_some_and(|others| others.disturbed)
    }

    /// Everything that is measured; an error ends it and leaves what there is.
    fn measure(&mut self) -> Result<(), ExecuteError> {
        self.lay_out()?;
        if self.over() {
            return Ok(());
        }
        self.cached_before = self.cached();
        let planner = self.planner()?;
        let question = question(self.args, self.measurement.found.physical_disks(), self.writes());
        let mut calibration = Calibration::new(question, planner.clone());
        self.measuring = fathom_drive::Clock::start();
        let outcome = self.search(&mut calibration);
        let longer = self.longer();
        self.measurement.record.notes.extend(calibration.notes(longer.as_deref()));
        self.measurement
            .record
            .notes
            .extend(self.log.as_mut().map(CommitLog::take_notes).unwrap_or_default());
        let best = calibration.found(Phase::SmallReads);
        self.calibration = Some(calibration);
        outcome?;
        if let (Some(length), Some(best), false) = (self.args.sustain, best, self.over()) {
            self.sustain(&planner, best.load, length)?;
        }
        Ok(())
    }

    /// How much of each file the page cache holds; `None` where one cannot tell.
    fn cached(&self) -> Option<Vec<f64>> {
        let share = |path: &Path| {
            let length = std::fs::metadata(path).ok().filter(|about| about.is_file())?.len();
            page_cache::cached_share(path, length, PROBES).ok()?
        };
        self.ready.iter().filter_map(Ready::path).map(share).collect()
    }

    /// Time spent on measuring: the clock's, or that of the simulated world.
    fn spent(&self) -> Nanos {
        match self.simulated() {
            true => Nanos(self.measurement.record.runs.iter().map(|run| run.length_ns).sum()),
            false => Nanos(self.measuring.now()),
        }
    }

    fn simulated(&self) -> bool {
        self.ready.iter().any(Ready::is_simulated)
    }

    /// The option that gives it more time; a simulated device has no use for it.
    fn longer(&self) -> Option<String> {
        let seconds = (self.args.time.0 * 3).div_ceil(1_000_000_000);
        let text =
            if seconds.is_multiple_of(60) { format!("{}m", seconds / 60) } else { format!("{seconds}s") };
        (!self.simulated()).then(|| format!("--time {text}"))
    }

    /// Tells what the runs so far say of the load of the last one.
    fn tell(&self, is_last: bool) {
        let runs = &self.measurement.record.runs;
        let Some(last) = runs.last() else { return };
        let alike =
            |run: &&Run| run.phase == last.phase && run.load == last.load && run.purpose == last.purpose;
        let pieces: Vec<&Run> = runs.iter().filter(alike).collect();
        if !is_last && pieces.len() > 1 {
            return;
        }
        let (Some(phase), Some(observed)) = (last.phase, Observed::of_pieces(&pieces)) else { return };
        let (rate, unit) = match phase.is_large() {
            true => (observed.bytes_per_second / MIB as f64, "MiB/s"),
            false => (observed.rate, if phase.commits() { "commits/s" } else { "IOPS" }),
        };
        let relative = observed.rate_estimate.map(|estimate| estimate.relative()).filter(|_| is_last);
        let style = self.environment.style();
        let line = fathom_render::report::figure_line(&last.name, rate, unit, relative, observed.mean_ns());
        self.progress.tell(&style.typeset(&line));
    }

    fn search(&mut self, calibration: &mut Calibration) -> Result<(), ExecuteError> {
        let mut last: Option<Run> = None;
        while let Step::Run(job) = calibration.next(self.spent(), last.as_ref()) {
            // The time is there: a figure is measured to its end unless it is far better than asked, for the slow
            // drifts of a disk do not show in a short run's own error.
            let mut until = Until::new(Rule { half_width: job.rule.half_width / 5.0, ..job.rule });
            let mut plan = job.plan;
            plan.stall = self.args.stall;
            let length = Nanos(job.rule.before.0 + job.rule.at_most.0);
            let step = calibration.step();
            self.progress.step(step.0, step.1, job.phase.title());
            let (rests, is_last) = (job.purpose == Purpose::Headline, job.last);
            let from = calibration.progress();
            let to = from + length.0 as f64 / question(self.args, None, true).budget().0.max(1) as f64;
            let what = RunDescription {
                name: job.name,
                step: Some(step),
                phase: Some(job.phase),
                purpose: job.purpose,
                load: job.load,
                length,
                share: (from, to),
            };
            let run = self.execute_within_room(&mut plan, what, &mut until)?;
            self.measurement.record.runs.push(run.clone());
            if rests {
                self.measurement.save();
                self.tell(is_last);
            }
            if self.over() {
                break;
            }
            last = Some(run);
        }
        Ok(())
    }

    /// Fills scratch files with what no storage can leave out: incompressible bytes, written past the page cache.
    fn lay_out(&mut self) -> Result<(), ExecuteError> {
        let count = self.ready.iter().filter(|r| matches!(r, Ready::Scratch { .. })).count().max(1) as u64;
        let asked = self.args.size.is_some();
        for i in 0..self.ready.len() {
            let Ready::Scratch { scratch, room, .. } = &self.ready[i] else { continue };
            let room = Bytes((room.0 / count).next_multiple_of(MIB));
            let path = names::text(&scratch.path)?.to_owned();
            let plan = layout(&path, room, asked, count, self.args);
            let length = if asked { Nanos(room.0 * 2) } else { Nanos(LAYOUT_MOST.0 / count) };
            let load = Load { small: 0, large: 8 };
            let what = RunDescription {
                name: "layout".to_owned(),
                step: None,
                phase: None,
                purpose: Purpose::Layout,
                load,
                length,
                share: (0.0, 1.0),
            };
            let run = self.execute(&plan, what, &mut ())?;
            let failure = fathom_session::layout::failure(&run);
            self.measurement.record.runs.push(run);
            if let Some((what, hint)) = failure {
                return Err(ExecuteError::Target { what, hint: hint.to_owned() });
            }
            self.laid_out(Path::new(&path));
        }
        Ok(())
    }

    fn laid_out(&mut self, path: &Path) {
        if let Ok(file) = std::fs::File::open(path) {
            let _ = file.sync_all();
        }
        let size = std::fs::metadata(path).map_or(0, |about| about.len());
        match targets::written_bytes(path) {
            Some(written) => {
                self.measurement.found.unwritten(1.0 - written.min(size) as f64 / size.max(1) as f64)
            }
            // Where the file system cannot tell: the layout has written every byte itself.
            None => self.measurement.found.unwritten(0.0),
        }
    }

    /// Where the calibration works.
    fn planner(&mut self) -> Result<Planner, ExecuteError> {
        let mut planner = planner(self.args);
        let mut total = 0u64;
        for ready in &self.ready {
            let (target, size) = match ready {
                Ready::Simulated(device) => {
                    let size = device.parse::<fathom_drive::sim::Device>().map_or(0, |d| d.size_bytes);
                    (Target::Sim(device.clone()), size)
                }
                Ready::Null => (Target::Null(Bytes(GIB)), GIB),
                Ready::Existing { path, storage } => (
                    Target::Path(PathTarget::direct_read(names::text(path)?)),
                    storage.size_bytes.unwrap_or(0),
                ),
                Ready::Scratch { scratch, .. } => {
                    let size = std::fs::metadata(&scratch.path).map_or(0, |about| about.len());
                    (Target::Path(PathTarget::direct_read(names::text(&scratch.path)?)), size)
                }
            };
            total += size;
            planner.reads.push(target);
        }
        if self.writes() {
            planner.writes = planner.reads.clone();
            planner.log = match &self.log {
                Some(log) => Some(Target::Path(PathTarget {
                    direct: false,
                    ..PathTarget::direct_read(names::text(log.path())?)
                })),
                None => self.simulated().then(|| planner.reads[0].clone()),
            };
        }
        if let Some(size) = self.args.size.filter(|size| size.0 < total) {
            planner.working_set = Extent::Bytes(size);
            total = size.0;
        }
        self.measurement.found.evidence.working_set = Bytes(total);
        Ok(planner)
    }

    /// Holds the best point and looks for the moment that changed it.
    fn sustain(&mut self, planner: &Planner, load: u32, length: Nanos) -> Result<(), ExecuteError> {
        let window = Length::Window { before: SLOT, length: planner.whole_slots(length) };
        let plan = planner.plan(Phase::Sustained, load, window, 0);
        let what = RunDescription {
            name: Phase::Sustained.run_name(load),
            step: None,
            phase: Some(Phase::Sustained),
            purpose: Purpose::Sustain,
            load: Phase::Sustained.load(load),
            length,
            share: (0.0, 1.0),
        };
        let run = self.execute(&plan, what, &mut ())?;
        if let Some(observed) = Observed::of(&run) {
            let held = sustain::judge(&observed);
            let hint = "burst credit, a write cache or heat has an end: size for what is left";
            let changes =
                held.changes.iter().map(|c| Note { text: c.to_string(), hint: Some(hint.to_owned()) });
            self.measurement.record.notes.extend(changes);
            if held.changes.is_empty() {
                self.measurement
                    .record
                    .notes
                    .push(Note { text: format!("{length} at the best load changed nothing"), hint: None });
            }
        }
        self.measurement.record.runs.push(run);
        Ok(())
    }
}

/// May every target be written?
fn may_write(args: &Calibrate, ready: &[Ready]) -> bool {
    let consent = |path: &Path| args.consent.write_consent.iter().any(|name| same_place(name, path));
    !args.consent.read_only
        && ready.iter().all(|ready| match ready {
            Ready::Scratch { .. } | Ready::Simulated(_) | Ready::Null => true,
            Ready::Existing { path, .. } => consent(path),
        })
}

/// Says what may be written, makes the log for commits, and checks consent before anything is measured.
fn permits(args: &Calibrate, ready: &[Ready], roots: &Roots) -> Result<(Permits, Option<CommitLog>)> {
    let mut permits = Permits::new(Policy::Always);
    permits.consents = args.consent.write_consent.clone();
    for name in &args.consent.write_consent {
        if !ready.iter().filter_map(Ready::path).any(|path| same_place(name, path)) {
            bail!("--write-consent {name} names none of the targets\nhint: name a target as it was given");
        }
    }
    for ready in ready {
        match ready {
            Ready::Scratch { scratch, .. } => permits.add_scratch(&scratch.path),
            Ready::Existing { path, .. } if consented(&permits, path) => {
                fathom_engine::guard::allow(roots, path, &permits)?;
            }
            _ => {}
        }
    }
    if !may_write(args, ready) {
        if args.mix.is_some() {
            bail!(setup::NO_CONSENT_FOR_MIX);
        }
        return Ok((permits, None));
    }
    let log = make_log(ready, roots)?;
    log.iter().for_each(|log| permits.add_scratch(log.path()));
    Ok((permits, log))
}

fn make_log(ready: &[Ready], roots: &Roots) -> Result<Option<CommitLog>> {
    let directory = ready.iter().find_map(|ready| match ready {
        Ready::Scratch { scratch, .. } => scratch.path.parent(),
        _ => None,
    });
    let Some(directory) = directory else { return Ok(None) };
    Ok(Some(CommitLog::create(directory, roots)?))
}

/// What a run is, for the record and the bar.
struct RunDescription {
    name: String,
    /// Which step of how many.
    step: Option<(usize, usize)>,
    phase: Option<Phase>,
    purpose: Purpose,
    load: Load,
    length: Nanos,
    share: (f64, f64),
}
