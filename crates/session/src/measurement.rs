//! The life of a measurement, once: the machine and its disks looked at, the row of the store IN PROGRESS, the runs, the
//! figures, the checks and the verdict, the end. What a tool does not show stays in the record.

use crate::preflight::{self, Found};
use crate::record_writer::{RecordWriter, empty_record};
use crate::targets::{self, Ready};
use crate::{Console, Environment, Session};
use fathom_calibrate::load_figures::{load_figures, load_notes};
use fathom_calibrate::precision::Precision;
use fathom_calibrate::verdict::Evidence;
use fathom_drive::Clock;
use fathom_host::{DeviceClaim, Roots, device_claim, directory_of, resolve};
use fathom_record::*;
use fathom_spec::{Access, Pattern, Permits, Plan, Stream, Target, TargetId, Work};
use std::collections::BTreeMap;
use std::path::Path;

/// Files that are looked at; of thousands the first ones tell the same.
pub const LOOKED_AT_MOST: usize = 64;

/// What a measurement begins with.
pub struct Setup<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The user's own name for the run.
    pub label: Option<String>,
    /// The targets as the user named them.
    pub targets: Vec<String>,
    /// The same, looked at.
    pub ready: &'a [Ready],
    /// What may be written.
    pub permits: Permits,
    /// What was asked for, for the record's facts.
    pub request: serde_json::Value,
}

/// The targets of a tool that names files and devices: those that are there, for the preflight. One that is not there yet
/// stands on its directory.
pub fn existing<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Ready> {
    let roots = Roots::default();
    let ready = |name: &str| {
        let path = Path::new(name);
        let there = if path.exists() { path } else { directory_of(path) };
        let storage = resolve(&roots, there).ok()?;
        Some(Ready::Existing { path: there.to_owned(), storage: Box::new(storage) })
    };
    names.into_iter().take(LOOKED_AT_MOST).filter_map(ready).collect()
}

/// A measurement under way. Its record stands in the store from the first moment.
pub struct Measurement<'a> {
    /// What was measured so far.
    pub record: ResultRecord,
    /// The machine and the storage below the targets.
    pub found: Found,
    /// What may be written.
    pub permits: Permits,
    environment: Environment,
    console: Console,
    execute: &'a mut dyn Execute,
    disks: Vec<Disk>,
    writer: RecordWriter,
    clock: Clock,
    /// Devices that are written to: between two runs nobody else takes them either.
    claims: Vec<DeviceClaim>,
}

/// The figures of a tool.
#[derive(Default)]
pub enum Figures {
    /// Those of a load: throughput and the latency of each verb, of the last run that is one.
    #[default]
    Load,
    /// The tool's own.
    Own(BTreeMap<FigureName, Figure>, Vec<Curve>),
}

/// What the verdict rests on besides the preflight's checks.
#[derive(Default)]
pub enum Grounds {
    /// What the runs of block I/O themselves say.
    #[default]
    Runs,
    /// What the tool gathered.
    Gathered(Box<Evidence>),
    /// The tool's own checks alone: its I/O is a database's.
    Checks,
}

/// How a measurement ends.
pub struct End {
    /// How.
    pub ending: Ending,
    /// The figures.
    pub figures: Figures,
    /// What the verdict rests on.
    pub grounds: Grounds,
    /// The tool's own checks.
    pub checks: Vec<Check>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl End {
    /// An end with the figures and the verdict of a load.
    pub fn new(ending: Ending) -> Self {
        End { ending, figures: Figures::Load, grounds: Grounds::Runs, checks: Vec::new(), notes: Vec::new() }
    }

    /// The end that stands for this: interrupted, failed, or complete.
    pub fn of(interrupted: bool, failed: bool) -> Self {
        End::new(match (interrupted, failed) {
            (true, _) => Ending::Interrupted,
            (false, true) => Ending::Failed,
            (false, false) => Ending::Complete,
        })
    }

    /// The same with notes.
    pub fn with_notes(mut self, notes: Vec<Note>) -> Self {
        self.notes.extend(notes);
        self
    }
}

/// A measurement that has ended.
pub struct Finished {
    /// Its record.
    pub record: ResultRecord,
    /// Where it can be found again, in words.
    pub saved: String,
}

impl Session<'_> {
    /// Looks at the machine and at what is below the targets, and marks the measurement as in progress.
    pub fn begin(&mut self, setup: Setup<'_>) -> Measurement<'_> {
        let found = preflight::look(&self.roots, setup.ready);
        self.begin_with(setup, found, None)
    }

    /// The same after the machine was looked at; the user may know better how many physical disks there are.
    pub fn begin_with(
        &mut self,
        setup: Setup<'_>,
        mut found: Found,
        physical_disks: Option<u32>,
    ) -> Measurement<'_> {
        let facts = found.facts(setup.request).unwrap_or_default();
        // A database's address is no path: its tool names no files.
        let targets = match setup.ready {
            [] => setup.targets,
            _ => setup.targets.iter().map(|name| targets::absolute(name)).collect(),
        };
        let mut record =
            empty_record(setup.tool, &self.command, setup.label, targets, facts, &self.environment);
        record.simulated = !setup.ready.is_empty() && setup.ready.iter().all(Ready::is_simulated);
        let (writer, lost) =
            RecordWriter::begin(self.store.clone(), &record, physical_disks.or(found.physical_disks()));
        record.notes.append(&mut found.notes);
        record.notes.extend(lost);
        let disks = found.disks.iter().map(|(name, number)| Disk {
            name: name.clone(),
            major: number.major,
            minor: number.minor,
        });
        Measurement {
            record,
            disks: disks.collect(),
            found,
            permits: setup.permits,
            environment: self.environment.clone(),
            console: self.console.clone(),
            execute: &mut *self.execute,
            writer,
            clock: Clock::start(),
            claims: Vec::new(),
        }
    }
}

impl Measurement<'_> {
    /// Runs a plan with nothing attached, and answers its run.
    pub fn run(&mut self, plan: &Plan, control: &mut dyn Control) -> Result<Run, ExecuteError> {
        self.execute(plan, Attachments::default(), control).map(|outcome| outcome.run)
    }

    /// Runs a plan and answers what came of it. The run is not yet part of the record: see [`Measurement::keep`].
    pub fn execute(
        &mut self,
        plan: &Plan,
        attachments: Attachments,
        control: &mut dyn Control,
    ) -> Result<Outcome, ExecuteError> {
        self.claim(plan);
        let Measurement { permits, disks, clock, .. } = self;
        execute(self.execute, Request { plan, permits, disks, attachments }, *clock, control)
    }

    /// Holds the devices that a plan writes to until the measurement ends. One that cannot be held is refused by the guard.
    fn claim(&mut self, plan: &Plan) {
        if !self.claims.is_empty() {
            return;
        }
        let written = plan.targets.iter().filter_map(|target| match target {
            Target::Path(path) if path.access == Access::Write => Some(Path::new(&path.path)),
            _ => None,
        });
        self.claims = written.filter_map(|path| device_claim::claim(path).ok()).collect();
    }

    /// What a thread of its own runs plans of this measurement with.
    pub fn for_thread(&self) -> ThreadMeasurement {
        ThreadMeasurement {
            execute: self.execute.another(),
            permits: self.permits.clone(),
            disks: self.disks.clone(),
            clock: self.clock,
        }
    }

    /// Disks whose counters are sampled in each run.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// Takes a run into the record. What there is so far is saved ever more rarely, since a record is kept whole each time.
    pub fn keep(&mut self, run: Run) {
        self.record.runs.push(run);
        if self.record.runs.len().is_power_of_two() {
            self.save();
        }
    }

    /// Saves what there is so far.
    pub fn save(&mut self) {
        self.writer.save(&self.record, &self.console);
    }

    /// Tells the notes of the record where they may be told.
    pub fn tell_notes(&self) {
        tell_notes(&self.record.notes, &self.environment, &self.console);
    }

    /// Nothing was measured: the measurement is forgotten.
    pub fn abandon(mut self) {
        self.writer.abandon(&self.record.id);
    }

    /// Where the record can be found again, in words.
    pub fn saved(&self) -> String {
        self.writer.saved()
    }

    /// Takes the last run in and finishes: the record is saved once, where [`Measurement::keep`] would save it just
    /// before.
    pub fn finish_with(mut self, run: Run, end: End) -> Finished {
        self.record.runs.push(run);
        self.finish(end)
    }

    /// Makes the figures and the verdict, and keeps the whole.
    pub fn finish(mut self, end: End) -> Finished {
        self.judge(end);
        self.close()
    }

    /// Keeps the whole as it was judged.
    pub fn close(mut self) -> Finished {
        self.writer.finish(&self.record, &self.console);
        Finished { saved: self.writer.saved(), record: self.record }
    }

    /// Figures, checks and verdict of what was measured; the record has its end.
    pub fn judge(&mut self, end: End) {
        let End { ending, figures, grounds, checks: own, notes } = end;
        let record = &mut self.record;
        record.ending = ending;
        record.ended = self.environment.now();
        record.notes.extend(notes);
        (record.summary, record.curves) = match figures {
            Figures::Own(summary, curves) => (summary, curves),
            Figures::Load => {
                record
                    .notes
                    .extend(record.runs.iter().rfind(|run| is_measured(run)).map_or(Vec::new(), load_notes));
                (figures_of_last(&record.runs), Vec::new())
            }
        };
        let mut checks = own;
        checks.extend(self.found.checks());
        match grounds {
            Grounds::Checks => {}
            Grounds::Gathered(evidence) => checks.extend(evidence.checks()),
            Grounds::Runs => {
                let through = |run: &Run| is_measured(run) && goes_through_the_cache(&run.plan);
                if record.runs.iter().any(through) {
                    let seen = "asked to go through the page cache: memory may have answered";
                    checks.push(Check::new("page cache bypassed", CheckOutcome::Failed, seen));
                }
                checks.extend(evidence(&record.runs, &self.found.evidence).checks());
            }
        }
        record.verdict = judge(checks);
    }
}

/// A measurement as one of several threads sees it: an executor of its own; what the runs are kept in is not its.
pub struct ThreadMeasurement {
    execute: Box<dyn Execute + Send>,
    permits: Permits,
    disks: Vec<Disk>,
    clock: Clock,
}

impl ThreadMeasurement {
    /// Runs a plan and answers what came of it, as [`Measurement::execute`] does.
    pub fn execute(
        &mut self,
        plan: &Plan,
        attachments: Attachments,
        control: &mut dyn Control,
    ) -> Result<Outcome, ExecuteError> {
        let ThreadMeasurement { permits, disks, clock, .. } = self;
        execute(&mut *self.execute, Request { plan, permits, disks, attachments }, *clock, control)
    }
}

/// Executes; the run has the moment at which it began, of the measurement's clock.
fn execute(
    execute: &mut dyn Execute,
    request: Request<'_>,
    clock: Clock,
    control: &mut dyn Control,
) -> Result<Outcome, ExecuteError> {
    let began_ns = clock.now();
    let mut outcome = execute.execute(request, control)?;
    outcome.run.began_ns = began_ns;
    Ok(outcome)
}

/// Tells notes on stderr, if they may be told there.
pub fn tell_notes(notes: &[Note], environment: &Environment, console: &Console) {
    if !environment.speaks_notes() {
        return;
    }
    for note in notes {
        let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
        console.complain(format_args!("note: {}{hint}", note.text));
    }
}

/// The load that most of a plan is: outstanding I/Os of all streams.
pub fn load_of(plan: &Plan) -> Load {
    let most = |stream: &Stream| stream.depth.most().saturating_mul(stream.workers);
    Load { small: plan.streams.iter().map(most).fold(0, u32::saturating_add), large: 0 }
}

fn is_measured(run: &Run) -> bool {
    matches!(run.purpose, Purpose::Load | Purpose::Headline)
}

/// Throughput and latencies of the last load that was measured, with the index of its run.
fn figures_of_last(runs: &[Run]) -> BTreeMap<FigureName, Figure> {
    let Some((index, run)) = runs.iter().enumerate().rfind(|(_, run)| is_measured(run)) else {
        return BTreeMap::new();
    };
    figures_of(run, index)
}

/// Throughput and latencies of one run, which is the record's `index`-th.
pub fn figures_of(run: &Run, index: usize) -> BTreeMap<FigureName, Figure> {
    let mut figures = load_figures(run);
    figures.values_mut().for_each(|figure| figure.run = Some(index));
    figures
}

/// What the runs say, beside what the preflight found.
fn evidence(runs: &[Run], found: &Evidence) -> Evidence {
    let mut measured = runs.iter().filter(|run| is_measured(run)).peekable();
    // Where nothing was measured, nothing was simulated either.
    let simulated = measured.peek().is_some() && measured.all(|run| is_simulated(&run.plan));
    let mut evidence = Evidence {
        simulated,
        memory: found.memory,
        memory_backed: found.memory_backed,
        unwritten_share: found.unwritten_share,
        unchecked: if simulated { Vec::new() } else { found.unchecked.clone() },
        ..Evidence::of_runs(runs, Precision::Normal)
    };
    if !simulated && are_side_by_side(runs) {
        evidence.foreign_share = None;
        (evidence.device_bytes_read, evidence.device_bytes_written) = (None, None);
    }
    evidence
}

/// Did any of these runs begin before another one had ended? A disk's counters do not tell their I/O apart: that of one would
/// be taken for somebody else's by the other.
fn are_side_by_side(runs: &[Run]) -> bool {
    let mut spans: Vec<_> = runs.iter().map(|run| (run.began_ns, run.began_ns + run.length_ns)).collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// Does a plan's stream replay what this target holds?
fn is_recording(plan: &Plan, id: usize) -> bool {
    plan.streams.iter().any(|stream| match &stream.work {
        Work::Blocks(blocks) => blocks.pattern == Pattern::Trace(TargetId(id as u32)),
        _ => false,
    })
}

/// Is there no storage below any of its targets? Files are made and removed without a target.
fn is_simulated(plan: &Plan) -> bool {
    if plan.streams.iter().any(|stream| matches!(stream.work, Work::Files(_))) {
        return false;
    }
    let mut targets = plan.targets.iter().enumerate();
    targets.all(|(id, target)| matches!(target, Target::Null(_) | Target::Sim(_)) || is_recording(plan, id))
}

/// A plan that drops what it touches from the page cache is answered by the storage all the same.
fn goes_through_the_cache(plan: &Plan) -> bool {
    let drops = |stream: &Stream| match &stream.work {
        Work::Blocks(blocks) => blocks.queue_options.drop_cached,
        _ => false,
    };
    let mut targets = plan.targets.iter().enumerate();
    !plan.streams.iter().all(drops)
        && targets.any(|(id, t)| matches!(t, Target::Path(path) if !path.direct) && !is_recording(plan, id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Blocks, Bytes, Entry, Files, Names, SpaceId, StatCall, Verb};

    #[test]
    fn runs_that_overlap_in_time_are_side_by_side() {
        let of = |spans: &[(u64, u64)]| {
            let run = |&(began_ns, length_ns)| Run { began_ns, length_ns, ..Run::empty(&Plan::new(1)) };
            are_side_by_side(&spans.iter().map(run).collect::<Vec<_>>())
        };
        assert!(!of(&[]) && !of(&[(5, 10), (15, 3)]) && !of(&[(15, 3), (5, 10)]));
        assert!(of(&[(5, 10), (14, 3)]) && of(&[(20, 9), (0, 21)]));
    }

    #[test]
    fn files_are_real_though_a_plan_names_no_target() {
        let mut plan = Plan::new(1);
        assert!(is_simulated(&plan));
        let mut stream = Stream::closed("files", Blocks::random_reads(SpaceId(0), Bytes(1)), 1);
        stream.work = Work::Files(Files {
            verbs: vec![Verb::Create],
            count: 1,
            size: Bytes(0),
            size_least: None,
            under: "d".to_owned(),
            prefix: String::new(),
            directories: 0,
            names: Names::NumberFirst { seed: 1 },
            listed: false,
            shuffled: false,
            entry: Entry::File,
            durable: false,
            piece: Bytes(0),
            look: StatCall::Link,
            first: 0,
        });
        plan.add_stream(stream);
        assert!(!is_simulated(&plan));
    }
}
