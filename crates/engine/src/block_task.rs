//! What the workers of one stream of block work have in common, and how each of them is made on its thread.

use crate::content::Checks;
use crate::files::OpenTarget;
use crate::geometry::Geometry;
use crate::history::History;
use crate::mismatches::Mismatches;
use crate::plan_check::{self, refuse};
use crate::progress::{Known, Progresses};
use crate::queues::{self, Wanted};
use crate::source::{self, Between, Writer};
use crate::sys::own_descriptors;
use crate::worker_maker::WorkerMaker;
use crate::{open, thread_attributes, verification};
use fathom_drive::{Perform, Seat, Source, WorkerFeatures, stream_seed, worker_seed};
use fathom_record::{EventKind, ExecuteError, Progress};
use fathom_spec::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Everything that the workers of one stream have in common.
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
    pub(crate) mismatches: Mismatches,
    pub(crate) history: History,
    pub(crate) progresses: Progresses,
    /// How far each worker of an earlier run got.
    pub(crate) known: Vec<Progress>,
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

impl Task {
    pub(crate) fn new(
        plan: &Plan,
        id: usize,
        targets: &Arc<[OpenTarget]>,
        names: &Arc<Vec<String>>,
        recordings: &[(TargetId, Arc<str>)],
    ) -> Result<Self, ExecuteError> {
        let stream = plan.streams[id].clone();
        let mut blocks = plan_check::blocks(&stream)?.clone();
        blocks.content = verification::content(&blocks)?;
        let sizes: Vec<u64> = targets.iter().map(|t| t.size_bytes).collect();
        let members = plan.spaces.get(blocks.space.0 as usize).map(Space::members).unwrap_or_default();
        let mine = members.iter().filter_map(|id| targets.get(id.0 as usize));
        let align = mine.map(OpenTarget::alignment).max().unwrap_or(1);
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
            mismatches: Mismatches::default(),
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
    ) -> Result<Box<dyn Source>, ExecuteError> {
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
            None => match blocks.queue_options.drop_cached_every.0 {
                0 => make(),
                pass => {
                    let longest = blocks.sizes.most().0;
                    Ok(Box::new(source::CachePasses::new(
                        make()?,
                        pass,
                        longest,
                        Arc::new(self.drop_cached()),
                    )))
                }
            },
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
        source: Box<dyn Source>,
        features: WorkerFeatures,
    ) -> WorkerMaker {
        let seed = worker_seed(self.seed, worker);
        WorkerMaker { source, stream: self.stream.clone(), verbs: self.verbs.clone(), seed, features }
    }

    /// Asks the page cache to drop the stream's targets, without a sync.
    fn drop_cached(&self) -> impl Fn() + Send + Sync + 'static {
        let (targets, space) = (self.targets.clone(), self.geometry.space.clone());
        move || {
            for file in space.members().iter().filter_map(|id| targets.get(id.0 as usize)?.fd()) {
                let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
            }
        }
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

    /// Makes one of its workers on the calling thread.
    pub(crate) fn prepare(
        &self,
        seat: &Seat,
        worker: u32,
        features: WorkerFeatures,
    ) -> Result<Perform, ExecuteError> {
        if queues::blocks(self.blocks.queue, self.stream.depth.most()) {
            // Before anything is opened here: what is opened in a table of descriptors is closed in the same.
            own_descriptors();
        }
        let since_ns = Arc::<AtomicU64>::default();
        let source = self.source(worker, since_ns.clone())?;
        let checks = self.blocks.verify.map(|verify| Checks {
            by_anyone: verify.by_anyone,
            stream: self.id,
            names: self.names.clone(),
            writer: fathom_content::fio::Writer { run: self.seed, worker: worker as u16 + 1 },
            mismatches: self.mismatches.clone(),
        });
        let wanted = Wanted {
            kind: self.blocks.queue,
            options: self.blocks.queue_options,
            commit: self.blocks.commit,
            sync: self.blocks.sync.first().map_or(SyncKind::Fdatasync, |rule| rule.kind),
            depth: self.stream.depth.most(),
            checkers: verification::checkers(&self.blocks)?,
            size_most: self.blocks.sizes.most().0 as usize,
            writes: self.verbs.iter().any(|verb| verb.writes())
                && !self.blocks.verify.is_some_and(|verify| verify.only),
            content: self.blocks.content.clone(),
            checks,
            history: self.history.clone(),
            priorities: self.blocks.priorities.clone(),
            told: features.priorities.clone(),
            seed: self.seed ^ u64::from(worker) << 32,
        };
        let id = self.id;
        let held = thread_attributes::take(&self.stream.thread)?;
        open::expect(&self.geometry.space, &self.targets, self.blocks.queue_options.expect);
        open::lifetime(&self.geometry.space, &self.targets, self.blocks.queue_options.lifetime)?;
        let maker = self.maker(worker, source, features);
        let perform = queues::build(self.targets.clone(), wanted, seat, maker)?;
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

/// The stops that a source knows: all but time, and amounts of the window, which belong to the worker.
pub(crate) fn amounts(stop: &Stop) -> Stop {
    match stop.of_window {
        true => Stop { time: None, bytes: None, operations: None, ..stop.clone() },
        false => Stop { time: None, ..stop.clone() },
    }
}
