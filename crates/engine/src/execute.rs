//! Runs a plan on real files and devices: opens the targets, makes a job of every worker, and lets the conductor
//! conduct.

use crate::caught::Caught;
use crate::content::Checks;
use crate::files::OpenTarget;
use crate::geometry::Geometry;
use crate::history::History;
use crate::logs::Logs;
use crate::progress::{Known, Progresses};
use crate::queues::{self, Wanted};
use crate::source::{self, Between, Writer};
use crate::sys::own_descriptors;
use crate::{copy, manners, open, priorities, standing, tasks, verifying, virtual_time};
use fathom_drive::{
    Begin, Clock, HostSampler, Job, Manners, Metronome, Pace, Parts, Perform, Published, Queue, Recorder,
    Seat, Steering, Stepper, Worker, conduct, run, sim::SimQueue, stream_seed, worker_seed,
};
use fathom_host::Roots;
use fathom_record::{
    Attachments, Control, Event, EventKind, Execute, ExecuteError, Outcome, Progress, Request,
};
use fathom_spec::*;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Runs plans on this host.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    roots: Roots,
}

impl Engine {
    /// An engine that finds /sys, /proc and /dev there.
    pub fn on(roots: Roots) -> Self {
        Engine { roots }
    }
}

impl Execute for Engine {
    fn execute(&mut self, request: Request<'_>, control: &mut dyn Control) -> Result<Outcome, ExecuteError> {
        let Request { plan, permits, disks, attachments } = request;
        if virtual_time::is_asked_for(plan) {
            return virtual_time::execute(plan, control).map(Outcome::of);
        }
        let Attachments { preopened, sinks, recordings, known, history, progress, commands } = attachments;
        let opened = open::open(plan, &self.roots, permits, preopened)?;
        let targets: Arc<[OpenTarget]> = opened.targets.into();
        let names: Arc<Vec<String>> = Arc::new(
            (0..plan.targets.len() as u32).filter_map(|i| open::name_of(plan, TargetId(i))).collect(),
        );
        let mut logs = Logs::with(sinks);
        if !commands && plan.streams.iter().any(|stream| matches!(stream.work, Work::Command(_))) {
            return Err(ExecuteError::Plan {
                what: "the plan runs commands, and that is not allowed".to_owned(),
                hint: "allow it if you know what they do".to_owned(),
            });
        }
        let (caught, history) = (Caught::default(), History::new(history));
        let progresses = Progresses::new(progress);
        let seen = Seen { caught: &caught, history: &history, progresses: &progresses, known: &known };
        let who = (&self.roots, permits);
        let jobs = jobs(plan, (&targets, &names), &recordings, who, &mut logs, seen)?;
        let mut sampler = HostSampler::new(self.roots.clone(), disks);
        let mut run = conduct(plan, jobs, Clock::start(), &mut sampler, control)?;
        for what in logs.close() {
            let event = Event { at_ns: run.length_ns, what };
            control.event(&event);
            run.events.push(event);
        }
        let made = opened.happenings.into_iter().map(|what| Event { at_ns: 0, what });
        run.events.splice(0..0, made);
        let (mismatches, history, progress) = (caught.take(), history.take(), progresses.take());
        Ok(Outcome { run, mismatches, history, progress })
    }

    fn another(&self) -> Box<dyn Execute + Send> {
        Box::new(self.clone())
    }
}

/// What is kept of a run beside its record, and what is known of an earlier one.
#[derive(Clone, Copy)]
struct Seen<'a> {
    caught: &'a Caught,
    history: &'a History,
    progresses: &'a Progresses,
    known: &'a [(StreamId, Progress)],
}

fn jobs<'a>(
    plan: &'a Plan,
    (targets, names): (&Arc<[OpenTarget]>, &Arc<Vec<String>>),
    recordings: &[(TargetId, Arc<str>)],
    who: (&Roots, &Permits),
    logs: &mut Logs,
    seen: Seen,
) -> Result<Vec<Job<'a>>, ExecuteError> {
    let cpus = allowed_cpus();
    let workers: u32 = plan.streams.iter().map(|stream| stream.workers).sum();
    let flows = manners::flows(plan)?;
    let mut jobs = Vec::with_capacity(workers as usize);
    for (id, stream) in plan.streams.iter().enumerate() {
        if let Work::Copy(copying) = &stream.work {
            jobs.push(copy::job(plan, StreamId(id as u32), copying, targets, names)?);
            continue;
        }
        if matches!(stream.work, Work::Files(_) | Work::Compute { .. } | Work::Command(_)) {
            for worker in 0..stream.workers {
                let cpus = place(&stream.placement, worker, jobs.len(), workers as usize, &cpus);
                jobs.extend(tasks::job(plan, StreamId(id as u32), worker, cpus, who)?);
            }
            continue;
        }
        let task = Task::new(plan, id, targets, names, recordings)?;
        let task = Task {
            caught: seen.caught.clone(),
            history: seen.history.clone(),
            progresses: seen.progresses.clone(),
            known: seen.known.iter().filter(|(of, _)| of.0 as usize == id).map(|(_, p)| p.clone()).collect(),
            ..task
        };
        for (worker, log) in (0..).zip(logs.open(plan, StreamId(id as u32), stream)?) {
            let task = task.clone();
            let manners = manners::of(plan, id, worker, &task.blocks, &task.verbs, &flows, log);
            jobs.push(Job {
                stream: StreamId(id as u32),
                worker,
                cpus: place(&stream.placement, worker, jobs.len(), workers as usize, &cpus),
                verbs: task.verbs.clone(),
                targets: names.clone(),
                prepare: Box::new(move |seat| task.prepare(seat, worker, manners)),
            });
        }
    }
    Ok(jobs)
}

/// Everything that the workers of one stream have in common.
#[derive(Clone)]
pub(crate) struct Task {
    id: StreamId,
    targets: Arc<[OpenTarget]>,
    names: Arc<Vec<String>>,
    pub(crate) blocks: Blocks,
    pub(crate) stream: Stream,
    geometry: Geometry,
    pub(crate) verbs: Vec<Verb>,
    seed: u64,
    /// The stream's shared source, when the plan names one.
    shared: Option<source::Common>,
    recording: Option<source::Recording>,
    caught: Caught,
    history: History,
    progresses: Progresses,
    /// How far each worker of an earlier run got.
    known: Vec<Progress>,
    /// Its workers that still write; none verifies for good before all have written.
    writing: Arc<AtomicU32>,
}

/// What a stream replays, if it replays.
fn recording(
    plan: &Plan,
    blocks: &Blocks,
    geometry: &Geometry,
    given: &[(TargetId, Arc<str>)],
) -> Result<Option<source::Recording>, ExecuteError> {
    let Pattern::Trace(id) = blocks.pattern else { return Ok(None) };
    let Some(Target::Path(path)) = plan.targets.get(id.0 as usize) else {
        return Err(refuse("recording but in a file"));
    };
    if let Some((_, text)) = given.iter().find(|(own, _)| *own == id) {
        return source::Recording::read(text.as_bytes(), &path.path, geometry).map(Some);
    }
    let file = std::fs::File::open(&path.path).map_err(|error| ExecuteError::Target {
        what: format!("cannot read the recording {}: {error}", path.path),
        hint: "name a file of recorded operations".to_owned(),
    })?;
    source::Recording::read(file, &path.path, geometry).map(Some)
}

/// What this engine cannot do yet is an error that names it, never silence.
fn refuse(what: &str) -> ExecuteError {
    ExecuteError::Plan {
        what: format!("the engine has no {what}"),
        hint: "describe the load without it".to_owned(),
    }
}

/// Checks that a stream asks for nothing that would be dropped.
pub(crate) fn check(stream: &Stream) -> Result<&Blocks, ExecuteError> {
    let Work::Blocks(blocks) = &stream.work else {
        return Err(refuse("such work on blocks"));
    };
    match &stream.arrival {
        Arrival::Recorded { .. } if !matches!(blocks.pattern, Pattern::Trace(_)) => {
            return Err(refuse("recorded arrivals without a recording"));
        }
        Arrival::Open(_) if matches!(blocks.pattern, Pattern::Trace(_)) => {
            return Err(refuse("timetable for a recording, which has its own"));
        }
        _ => {}
    }
    if stream.stop.of_window && (blocks.verify.is_some() || blocks.shared.is_some()) {
        return Err(refuse("amount of a window for what is verified or shared"));
    }
    verifying::check(blocks)?;
    priorities::check(blocks)?;
    if stream.depth.most() == 0 || stream.workers == 0 || blocks.sizes.least().0 == 0 {
        return Err(refuse("stream without workers, depth or bytes"));
    }
    Ok(blocks)
}

impl Task {
    pub(crate) fn new(
        plan: &Plan,
        id: usize,
        targets: &Arc<[OpenTarget]>,
        names: &Arc<Vec<String>>,
        recordings: &[(TargetId, Arc<str>)],
    ) -> Result<Self, ExecuteError> {
        let stream = plan.streams[id].clone();
        let mut blocks = check(&stream)?.clone();
        blocks.content = verifying::content(&blocks)?;
        let sizes: Vec<u64> = targets.iter().map(|t| t.size_bytes).collect();
        let align = targets.iter().map(OpenTarget::alignment).max().unwrap_or(1);
        let geometry = open::geometry(plan, &blocks, &sizes, align)?;
        let recording = recording(plan, &blocks, &geometry, recordings)?;
        if let Some(recording) = &recording {
            blocks.sizes = Sizes::One(Bytes(recording.longest().max(1).into()));
        }
        let workers = stream.workers;
        let verbs = source::cells(&stream, &blocks, recording.as_ref())?;
        let seed = stream_seed(plan, StreamId(id as u32));
        let shared = match blocks.shared {
            None => None,
            Some(_) => {
                let stop = amounts(&stream.stop);
                Some(source::Common::of(&stream, &blocks, &geometry, &stop, seed, &verbs)?)
            }
        };
        Ok(Task {
            id: StreamId(id as u32),
            targets: targets.clone(),
            names: names.clone(),
            blocks,
            stream,
            geometry,
            verbs,
            seed,
            shared,
            recording,
            caught: Caught::default(),
            history: History::default(),
            progresses: Progresses::default(),
            known: Vec::new(),
            writing: Arc::new(AtomicU32::new(workers)),
        })
    }

    pub(crate) fn source(
        &self,
        worker: u32,
        since_ns: Arc<AtomicU64>,
    ) -> Result<Box<dyn fathom_drive::Source>, ExecuteError> {
        if let Some(shared) = &self.shared {
            return Ok(shared.of_worker(worker));
        }
        let Task { stream, blocks, geometry, seed, verbs, .. } = self;
        let stop = amounts(&stream.stop);
        let make = || match &self.recording {
            None => source::build(blocks, geometry, &stop, worker, stream.workers, *seed, verbs),
            Some(recording) => {
                let speed = match stream.arrival {
                    Arrival::Recorded { speed } => Some(speed),
                    _ => None,
                };
                let most = (stop.passes.unwrap_or(1), stop.operations.unwrap_or(u64::MAX));
                Ok(recording.source(verbs, (worker, stream.workers), speed, most))
            }
        };
        match blocks.verify {
            None => make(),
            Some(verify) => {
                let between = if verify.from_disk { Some(self.dropping()) } else { None };
                let notes = !verify.only && source::writes(&blocks.mix);
                let noting = || self.progresses.of(self.id, worker, stream.depth.most());
                let besides = source::Besides {
                    among: Writer::of(self.writing.clone()).with(between, since_ns),
                    noting: notes.then(noting).flatten(),
                    known: self.known.iter().find(|progress| progress.worker == worker).map(Known::new),
                    seed: seed ^ u64::from(worker) << 32,
                };
                source::verified(&make, blocks, verify, verbs, &stream.stop, besides)
            }
        }
    }

    /// The generic half of one of its workers.
    pub(crate) fn maker(
        &self,
        worker: u32,
        source: Box<dyn fathom_drive::Source>,
        manners: Manners,
    ) -> WorkerMaker {
        let seed = worker_seed(self.seed, worker);
        WorkerMaker { source, stream: self.stream.clone(), verbs: self.verbs.clone(), seed, manners }
    }

    /// Syncs what the stream wrote, and drops it from the page cache.
    fn dropping(&self) -> Between {
        let (targets, space) = (self.targets.clone(), self.geometry.space.clone());
        Box::new(move || {
            for file in space.members().iter().filter_map(|id| targets.get(id.0 as usize)?.fd()) {
                // Only what is on the disk can be dropped; a write that failed is told where it failed.
                let _ = rustix::fs::fsync(file);
                let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
            }
        })
    }

    fn prepare(self, seat: &Seat, worker: u32, manners: Manners) -> Result<Perform, ExecuteError> {
        if queues::blocks(self.blocks.queue, self.stream.depth.most()) {
            // Before anything is opened here: what is opened in a table of descriptors is closed in the same.
            own_descriptors();
        }
        let since_ns = Arc::<AtomicU64>::default();
        let source = self.source(worker, since_ns.clone())?;
        let checks = self.blocks.verify.map(|_| Checks {
            stream: self.id,
            names: self.names.clone(),
            writer: fathom_content::fio::Writer { run: self.seed, worker: worker as u16 + 1 },
            caught: self.caught.clone(),
        });
        let wanted = Wanted {
            kind: self.blocks.queue,
            options: self.blocks.queue_options,
            commit: self.blocks.commit,
            sync: self.blocks.sync.first().map_or(SyncKind::Fdatasync, |rule| rule.kind),
            depth: self.stream.depth.most(),
            checkers: verifying::checkers(&self.blocks)?,
            size_most: self.blocks.sizes.most().0 as usize,
            writes: self.verbs.iter().any(|verb| verb.writes())
                && !self.blocks.verify.is_some_and(|verify| verify.only),
            content: self.blocks.content.clone(),
            checks,
            history: self.history.clone(),
            priorities: self.blocks.priorities.clone(),
            told: manners.priorities.clone(),
            seed: self.seed ^ u64::from(worker) << 32,
        };
        let id = self.id;
        let held = standing::take(&self.stream.terms.standing)?;
        open::expect(&self.geometry.space, &self.targets, self.blocks.queue_options.expect);
        open::lifetime(&self.geometry.space, &self.targets, self.blocks.queue_options.lifetime)?;
        let maker = self.maker(worker, source, manners);
        let perform = queues::build(self.targets, wanted, seat, maker)?;
        Ok(Box::new(move |seat, begin| {
            let mut outcome = perform(seat, begin);
            drop(held);
            let since_ns = since_ns.load(Relaxed);
            if since_ns > 0 {
                outcome.found.push(EventKind::ReadsBack { stream: id, worker, since_ns });
            }
            outcome
        }))
    }
}

/// Operations in one submission to libaio, where the plan leaves it to the engine.
const LIBAIO_BATCH: usize = 32;

/// What a queue is put into once it exists: the generic half of a worker.
pub(crate) struct WorkerMaker {
    source: Box<dyn fathom_drive::Source>,
    stream: Stream,
    verbs: Vec<Verb>,
    seed: u64,
    manners: Manners,
}

impl WorkerMaker {
    /// The work of one worker on a queue.
    pub(crate) fn on<Q: Queue + 'static>(
        self,
        queue: Q,
        content: Option<Box<dyn fathom_drive::Content>>,
    ) -> Perform {
        Box::new(move |seat, begin| {
            let plain = self.manners.is_plain();
            let parts = self.parts(queue, content, seat.steering.clone(), seat.published.clone(), begin);
            if plain { run(Worker::<_, false>::new(parts)) } else { run(Worker::<_, true>::new(parts)) }
        })
    }

    /// One worker in virtual time.
    pub(crate) fn in_virtual_time(
        self,
        queue: SimQueue,
        steering: Arc<Steering>,
        published: Arc<Published>,
        begin: Begin,
    ) -> Box<dyn Stepper> {
        Box::new(Worker::<_, true>::new(self.parts(queue, None, steering, published, begin)))
    }

    fn parts<Q: Queue>(
        self,
        queue: Q,
        content: Option<Box<dyn fathom_drive::Content>>,
        steering: Arc<Steering>,
        published: Arc<Published>,
        begin: Begin,
    ) -> Parts<Q> {
        let depth = self.stream.depth.most() as usize;
        let spare = self.manners.spare;
        // A worker that verifies ends its writing by itself, and then reads to the end.
        let time = self.stream.stop.time.filter(|_| !verifying::reads_again(&self.stream));
        let until_ns = time.map_or(u64::MAX, |time| begin.at_ns.saturating_add(time.0));
        let recorder = Recorder::new(begin.interval, begin.frame, Some(begin.outbox), published.clone());
        let kind = match &self.stream.work {
            Work::Blocks(blocks) => blocks.queue,
            _ => QueueKind::Auto,
        };
        let batch = match (self.stream.batch.submit, kind) {
            // libaio's calls are cheap, and what a RAM-backed device completes within one of them is still in the CPU's
            // caches when it is counted: a batch of all buffers is not.
            (0, QueueKind::Libaio) => (1, depth.min(LIBAIO_BATCH)),
            (0, QueueKind::IoUring | QueueKind::Auto) => (1, depth),
            (0, _) => (depth, depth),
            (submit, _) => (submit as usize, submit as usize),
        };
        Parts {
            queue,
            source: self.source,
            pace: pace(&self.stream.arrival, &self.verbs, begin.at_ns, self.seed),
            content,
            recorder,
            depth: depth + spare,
            batch,
            reap_least: (self.stream.batch.reap_least as usize).max(1),
            until_ns,
            steering,
            published,
            manners: Box::new(self.manners),
        }
    }
}

/// The stops that a source knows: all but time, and amounts of the window, which belong to the worker.
pub(crate) fn amounts(stop: &Stop) -> Stop {
    match stop.of_window {
        true => Stop { time: None, bytes: None, operations: None, ..stop.clone() },
        false => Stop { time: None, ..stop.clone() },
    }
}

/// The timetable of one worker.
pub(crate) fn pace(arrival: &Arrival, verbs: &[Verb], at_ns: u64, seed: u64) -> Pace {
    let Arrival::Open(tables) = arrival else { return Pace::Closed };
    let mut cells: [Option<Metronome>; fathom_record::CELLS] = Default::default();
    for table in tables {
        let Some(cell) = verbs.iter().position(|verb| *verb == table.verb) else { continue };
        let (per_second, by_bytes) = match table.rate {
            Rate::Operations(rate) => (rate, false),
            Rate::Bytes(rate) => (rate, true),
        };
        let random = (table.spacing == Spacing::Poisson).then_some(seed.wrapping_add(cell as u64));
        cells[cell] = Some(Metronome::new(at_ns, per_second, by_bytes, random));
    }
    Pace::Open(Box::new(cells))
}

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Workers as many as CPUs get one each. Fewer are left to the scheduler, which wakes them near the device's interrupts: a
/// lone worker that is kept away from them loses a quarter at one outstanding I/O on a disk with one queue.
fn place(placement: &Placement, worker: u32, number: usize, workers: usize, cpus: &[usize]) -> Vec<usize> {
    match placement {
        Placement::Anywhere if workers == cpus.len() => vec![cpus[number % cpus.len()]],
        Placement::Anywhere => Vec::new(),
        Placement::OneEach(list) if list.is_empty() => Vec::new(),
        Placement::OneEach(list) => vec![list[worker as usize % list.len()] as usize],
        Placement::Any(list) => list.iter().map(|cpu| *cpu as usize).collect(),
    }
}
