//! The batch loop. `step` never blocks: it answers what to wait for, and a thread calls the queue while the
//! simulator turns its calendar.

use crate::submit_batch::SubmitBatch;
use crate::worker_features::{Allowed, Throttle};
use crate::{
    Checked, Completion, Content, Fill, LogPen, Operation, Pace, Queue, Recorder, Source, WorkerFeatures,
};
use fathom_record::{EventKind, LogEntry, StopReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed};

/// What a step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Submit, and wait until so many completions are there or this moment has come.
    Enter {
        /// Completions to wait for.
        at_least: usize,
        /// ns since the run's start.
        until_ns: u64,
    },
    /// Everything is done and has come back.
    Done,
}

/// Orders to the workers of one stream, read once a step.
#[derive(Debug)]
#[repr(align(128))]
pub struct Steering {
    /// Start nothing more.
    pub stop: AtomicBool,
    /// With `stop`: the end of the last slot that all workers filled, ns since the run's start.
    pub close_ns: AtomicU64,
    /// Outstanding I/Os of each worker; at most what it was built for.
    pub depth: AtomicU32,
    /// A new rate for each worker, as the bits of an f64; 0: as planned.
    pub rate: AtomicU64,
}

impl Steering {
    /// Orders to keep `depth` I/Os outstanding.
    pub fn new(depth: u32) -> Self {
        Steering {
            stop: AtomicBool::new(false),
            close_ns: AtomicU64::new(u64::MAX),
            depth: AtomicU32::new(depth),
            rate: AtomicU64::new(0),
        }
    }
}

/// What a worker is built from.
pub struct Parts<Q: Queue> {
    /// What bytes they carry. It goes before the queue, whose buffers it may still look at.
    pub content: Option<Box<dyn Content>>,
    /// How operations are done.
    pub queue: Q,
    /// Which come next.
    pub source: Box<dyn Source>,
    /// When they may start.
    pub pace: Pace,
    /// What is kept.
    pub recorder: Recorder,
    /// The most that may ever be outstanding, with what is being checked.
    pub depth: usize,
    /// The fewest and the most in one submission; between them the worker follows the device.
    pub batch: (usize, usize),
    /// Wait for at least so many completions.
    pub reap_least: usize,
    /// Start nothing from this moment on, ns since the run's start.
    pub until_ns: u64,
    /// Orders.
    pub steering: Arc<Steering>,
    /// Tells outstanding I/Os and the last completion.
    pub published: Arc<crate::Published>,
    /// What it does besides.
    pub features: Box<WorkerFeatures>,
}

/// One worker: one thread, its own queue, buffers and record. `FEATURES`: it may do more than the plain loop; the plain
/// one is compiled by itself, so that what it does not do costs it nothing.
pub struct Worker<Q: Queue, const FEATURES: bool = false> {
    parts: Parts<Q>,
    free: Vec<u32>,
    flight: Vec<(Operation, u64)>,
    batch: Vec<Operation>,
    tags: Vec<u32>,
    done: Vec<Completion>,
    finished: Vec<(Operation, i32)>,
    faults: Vec<Fault>,
    found: Vec<EventKind>,
    wants: bool,
    depth: usize,
    /// Operations that have come back and are being checked by others.
    away: usize,
    ended: Option<StopReason>,
    rate: u64,
    span_ns: (u64, u64),
    most: usize,
    now_ns: u64,
    /// Until when it starts what is overdue, once its time is over.
    catch_up_ns: Option<u64>,
    submit_batch: SubmitBatch,
    throttle: Option<Box<Throttle>>,
    log: Option<LogPen>,
    /// By tag: how long the last submission under it took, ns; empty where that is not measured.
    submits_ns: Vec<u64>,
}

/// Faults of one kind: the first of them, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The first operation.
    pub operation: Operation,
    /// What it answered.
    pub result: i32,
    /// When, ns since the run's start.
    pub at_ns: u64,
    /// How many like it.
    pub times: u64,
}

/// What is left when a worker has ended.
#[derive(Debug)]
pub struct WorkerOutcome {
    /// Its last interval.
    pub interval: fathom_record::Interval,
    /// All it did.
    pub totals: [fathom_record::Counts; fathom_record::CELLS],
    /// What went wrong, by kind.
    pub faults: Vec<Fault>,
    /// What the content's checks found.
    pub found: Vec<EventKind>,
    /// First submission and last completion, ns since the run's start.
    pub span_ns: (u64, u64),
    /// The most I/Os it had outstanding.
    pub outstanding_most: u32,
    /// Why it ended.
    pub why: StopReason,
}

/// How long a worker that only waits for others' checks sleeps before it looks again.
const CHECK_LOOK_NS: u64 = 20_000;
/// How long a worker whose time is over starts what was due in its window and could not be started, once the device answers.
const CATCH_UP_NS: u64 = 1_000_000_000;
/// ETIMEDOUT: an operation took longer than its terms allow.
const TIMED_OUT: i32 = 110;
/// Kinds of faults that are kept one by one.
const FAULT_KINDS: usize = 64;

const NOTHING: Operation =
    Operation { offset: 0, due_ns: 0, mark: 0, length: 0, target: 0, verb: fathom_spec::Verb::Read, cell: 0 };

impl<Q: Queue, const FEATURES: bool> Worker<Q, FEATURES> {
    /// A worker that has done nothing yet.
    pub fn new(mut parts: Parts<Q>) -> Self {
        let depth = parts.depth.max(1);
        let throttle = Throttle::of(&mut parts.features);
        Worker {
            throttle,
            log: parts.features.log.take(),
            submits_ns: vec![0; if parts.features.timed_submits { depth } else { 0 }],
            free: (0..depth as u32).rev().collect(),
            flight: vec![(NOTHING, 0); depth],
            batch: Vec::with_capacity(depth),
            tags: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth * 2),
            finished: Vec::with_capacity(depth),
            faults: Vec::with_capacity(FAULT_KINDS),
            found: Vec::new(),
            wants: parts.source.wants_completions(),
            depth: (parts.steering.depth.load(Relaxed) as usize).min(depth),
            away: 0,
            ended: None,
            rate: 0,
            span_ns: (u64::MAX, 0),
            most: 0,
            now_ns: 0,
            catch_up_ns: None,
            submit_batch: SubmitBatch::between(parts.batch.0.min(depth), parts.batch.1.min(depth)),
            parts,
        }
    }

    /// I/Os outstanding now, with those that are being checked by others.
    pub fn outstanding(&self) -> usize {
        self.flight.len() - self.free.len()
    }

    /// I/Os that the queue has.
    #[inline(always)]
    fn queued(&self) -> usize {
        self.outstanding() - if FEATURES { self.away } else { 0 }
    }

    /// The queue, for whoever drives.
    pub fn queue(&mut self) -> &mut Q {
        &mut self.parts.queue
    }

    /// Takes what has come back, starts what may start, and says what to wait for.
    #[inline(always)]
    pub fn step(&mut self) -> Step {
        self.done.clear();
        self.parts.queue.poll(&mut self.done);
        if FEATURES {
            // What the step before could start nothing after, nothing more can be started behind.
            let full = self.queued() >= self.depth || self.batch.is_empty();
            self.throttle.iter_mut().for_each(|throttle| throttle.take(&mut self.done, full));
        }
        let now = self.parts.queue.now();
        self.now_ns = now;
        self.obey(now);
        self.parts.recorder.advance(now);
        if !self.done.is_empty() {
            self.account(now);
        }
        if FEATURES && self.away > 0 {
            self.gather();
        }
        self.submit_batch.follow(self.done.len(), self.queued());
        let mut allowed = Allowed { room: 0, until_ns: u64::MAX, at_least: 1 };
        self.batch.clear();
        if self.ended.is_none() {
            allowed.room = self.submit_batch.most_now().min(self.depth.saturating_sub(self.queued()));
            if FEATURES {
                allowed = self.allowance(now, allowed.room.min(self.free.len()));
            }
            let fill = match allowed.room {
                0 => Fill::Some,
                room => self.parts.source.fill(now, room, &mut self.parts.pace, &mut self.batch),
            };
            match fill {
                Fill::Some | Fill::Blocked => {}
                Fill::Wait(due) => allowed.until_ns = due,
                Fill::Done => self.ended = Some(StopReason::Finished),
            }
        }
        let held = allowed.until_ns != u64::MAX;
        if FEATURES && self.ended.is_some() && !self.parts.features.last.is_empty() {
            self.draw_last(now);
        }
        self.start(now);
        if self.ended.is_some() && self.outstanding() == 0 {
            return Step::Done;
        }
        let queued = self.queued();
        let room = queued < self.depth && (!FEATURES || !self.free.is_empty());
        let may_start_more = !self.batch.is_empty() && room && !held && self.ended.is_none();
        let late = FEATURES && self.throttle.as_ref().is_some_and(|throttle| throttle.has_late());
        if may_start_more || late {
            self.submit_batch.waits(false);
            return Step::Enter { at_least: 0, until_ns: 0 };
        }
        self.submit_batch.waits(true);
        self.parts.recorder.publish();
        if FEATURES && queued == 0 && self.away > 0 {
            allowed.until_ns = allowed.until_ns.min(now + CHECK_LOOK_NS);
        }
        let at_least = match queued {
            0 => 0,
            _ => self.parts.reap_least.max(allowed.at_least).clamp(1, queued),
        };
        // While something is outstanding and nothing is held back, the end needs no timer: nothing can be started before
        // something comes back, and that wakes the worker.
        if self.ended.is_none() && (held || queued == 0) {
            allowed.until_ns = allowed.until_ns.min(self.parts.until_ns);
        }
        Step::Enter { at_least, until_ns: allowed.until_ns }
    }

    /// What a worker that is held back may start.
    fn allowance(&mut self, now: u64, room: usize) -> Allowed {
        let room = self.left_of_amount(now, room);
        let (outstanding, depth) = (self.queued(), self.depth);
        match &mut self.throttle {
            Some(throttle) => throttle.allowed(now, outstanding, depth, room),
            None => Allowed { room, until_ns: u64::MAX, at_least: 1 },
        }
    }

    /// What of `room` may still be started by a worker that does so much and no more in its window. The window counts by
    /// completions: what was under way when it began is of it.
    fn left_of_amount(&mut self, now: u64, room: usize) -> usize {
        let Some(amount) = &mut self.parts.features.amount else { return room };
        let (flight, free, done) = (&self.flight, &self.free, &self.done);
        let flying = (0..flight.len() as u32).filter(|tag| !free.contains(tag));
        let under_way = flying.chain(done.iter().map(|completion| completion.tag));
        let counted = self.parts.recorder.counts_at(now);
        if !amount.begun(counted, under_way.map(|tag| flight[tag as usize].0)) {
            return room;
        }
        if amount.room() == 0 {
            self.ended = Some(StopReason::Finished);
        }
        room.min(amount.room())
    }

    /// When everything has come back, what is left for the end goes out, one at a time.
    #[cold]
    fn draw_last(&mut self, now: u64) {
        if self.batch.is_empty()
            && self.outstanding() == 0
            && let Some(operation) = self.parts.features.last.pop()
        {
            self.batch.push(Operation { due_ns: now, ..operation });
        }
    }

    fn obey(&mut self, now: u64) {
        if self.ended.is_none() {
            let is_over = now >= self.parts.until_ns && !self.catches_up(now);
            let steering = &*self.parts.steering;
            if is_over {
                self.ended = Some(StopReason::Finished);
            } else if steering.stop.load(Acquire) {
                self.ended = Some(StopReason::Told);
                self.parts.recorder.close(steering.close_ns.load(Relaxed));
            }
        }
        let steering = &*self.parts.steering;
        self.depth = (steering.depth.load(Relaxed) as usize).min(self.flight.len());
        let rate = steering.rate.load(Relaxed);
        if rate != self.rate {
            self.rate = rate;
            self.parts.pace.set_rate(f64::from_bits(rate));
        }
    }

    /// Its time is over: is there something to be started yet that was due in the window? A timetable that is behind for
    /// a moment is caught up with; one that the device cannot keep is not.
    #[cold]
    fn catches_up(&mut self, now: u64) -> bool {
        let overdue = self.parts.pace.earliest().is_some_and(|due| self.parts.recorder.is_due_inside(due));
        if overdue && self.catch_up_ns.is_none() && (!self.done.is_empty() || self.outstanding() == 0) {
            self.catch_up_ns = Some(now + CATCH_UP_NS);
        }
        overdue && self.catch_up_ns.is_none_or(|until| now < until)
    }

    #[inline(always)]
    fn start(&mut self, now: u64) {
        if self.batch.is_empty() {
            return;
        }
        self.tags.clear();
        for operation in &self.batch {
            let tag = self.free.pop().unwrap_or_else(|| unreachable!("a source fills no more than its room"));
            self.flight[tag as usize].0 = *operation;
            self.tags.push(tag);
        }
        let mut stamp = now;
        if let Some(content) = &mut self.parts.content {
            self.batch.iter().zip(&self.tags).for_each(|(operation, tag)| content.fill(operation, *tag));
            stamp = self.parts.queue.now();
        }
        for tag in &self.tags {
            self.flight[*tag as usize].1 = stamp;
        }
        self.span_ns.0 = self.span_ns.0.min(stamp);
        let outstanding = self.queued();
        self.most = self.most.max(outstanding);
        self.parts.recorder.submitted(stamp, outstanding, self.batch.len());
        self.parts.published.outstanding.store(outstanding as u64, Relaxed);
        self.parts.queue.push(&self.tags, &self.batch);
        if FEATURES {
            self.pushed(stamp);
        }
    }

    /// Tells whoever holds the worker back; where it is asked for, hands over what was pushed, without waiting, and notes
    /// how long that took.
    fn pushed(&mut self, stamp: u64) {
        if let Some(throttle) = &mut self.throttle {
            throttle.started(self.batch.len());
        }
        if let Some(amount) = &mut self.parts.features.amount {
            self.batch.iter().for_each(|operation| amount.started(operation));
        }
        if !self.parts.features.timed_submits {
            return;
        }
        self.parts.queue.enter(0, 0);
        let now = self.parts.queue.now();
        let counted = self.parts.recorder.counts_at(now);
        for operation in self.batch.iter().filter(|_| counted) {
            self.parts.recorder.handed_over(operation, now.saturating_sub(stamp));
        }
        for tag in &self.tags {
            self.submits_ns[*tag as usize] = now.saturating_sub(stamp);
        }
    }

    #[inline(always)]
    fn account(&mut self, now: u64) {
        // Completions are as of the step's beginning: what a batch takes to be counted and filled again is in the latencies
        // of those that came back meanwhile.
        let counted = self.parts.recorder.counts_at(now);
        self.span_ns.1 = now;
        self.parts.recorder.took(self.done.len());
        for i in 0..self.done.len() {
            let Completion { tag, result } = self.done[i];
            let (operation, submitted) = self.flight[tag as usize];
            if result as u32 == operation.length {
                self.parts.recorder.completed(&operation, submitted, now, counted);
            } else {
                self.fault(operation, result, now);
            }
            self.check(&operation, tag, result);
        }
        if FEATURES {
            self.tell(now);
        }
        if self.wants {
            self.finished.clear();
            self.finished.extend(self.done.iter().map(|c| (self.flight[c.tag as usize].0, c.result)));
            self.parts.source.completed(&self.finished);
        }
        self.parts.published.last_ns.store(now, Relaxed);
        self.parts.published.outstanding.store(self.queued() as u64, Relaxed);
    }

    /// Takes back what others have checked.
    #[cold]
    fn gather(&mut self) {
        let Some(content) = &mut self.parts.content else { return };
        let (free, found) = (self.free.len(), self.found.len());
        content.returned(&mut self.free, &mut self.found);
        self.away -= self.free.len() - free;
        for happening in self.found.split_off(found) {
            self.bad(happening);
        }
    }

    /// Tells of what came back: the log, whoever holds the worker to a latency, and what is kept by priority.
    fn tell(&mut self, now: u64) {
        let counted = self.parts.recorder.counts_at(now);
        for Completion { tag, result } in &self.done {
            let (operation, submitted) = self.flight[*tag as usize];
            let words = self.parts.features.priorities.as_ref();
            let priority =
                words.and_then(|words| words.get(*tag as usize)).map_or(0, |word| word.load(Relaxed));
            let submit_ns = self.submits_ns.get(*tag as usize).copied().unwrap_or(0);
            if let Some(log) = &mut self.log {
                let (worker, result) = (log.worker(), *result);
                log.note(LogEntry {
                    at_ns: now,
                    submitted_ns: submitted,
                    submit_ns,
                    operation,
                    priority,
                    result,
                    worker,
                });
            }
            if let Some(throttle) = &mut self.throttle {
                throttle.completed(now, now.saturating_sub(submitted));
            }
            if counted && *result as u32 == operation.length {
                let service_ns = now.saturating_sub(submitted);
                self.parts.recorder.came_back(&operation, service_ns.saturating_sub(submit_ns));
                self.parts.recorder.at_priority(operation.verb, priority, service_ns, submit_ns);
            }
        }
        self.slow(now);
    }

    /// An operation that took longer than it may is a fault, and the end.
    fn slow(&mut self, now: u64) {
        let Some(most_ns) = self.parts.features.latency_most_ns else { return };
        let mut done = self.done.iter().map(|completion| self.flight[completion.tag as usize]);
        let slow = done.find(|(operation, at)| now.saturating_sub(*at) > most_ns[operation.cell as usize]);
        if let Some((operation, _)) = slow.filter(|_| self.ended.is_none()) {
            self.fault(operation, -TIMED_OUT, now);
            self.ended = Some(StopReason::Fault);
        }
    }

    #[inline(always)]
    fn check(&mut self, operation: &Operation, tag: u32, result: i32) {
        let checked = match &mut self.parts.content {
            Some(content) if result as u32 == operation.length => content.check(operation, tag),
            _ => Checked::Good,
        };
        match checked {
            Checked::Later => {
                self.away += 1;
                return;
            }
            Checked::Good => {}
            Checked::Bad(found) => self.bad(*found),
        }
        self.free.push(tag);
    }

    /// The first things found are kept; with `fatal` the first one ends the worker.
    #[cold]
    fn bad(&mut self, found: EventKind) {
        if self.found.len() < FAULT_KINDS {
            self.found.push(found);
        }
        let ends = self.parts.features.fatal || self.parts.features.failures.ends_check();
        if ends && self.ended.is_none() {
            self.ended = Some(StopReason::Fault);
        }
    }

    #[cold]
    fn fault(&mut self, operation: Operation, result: i32, at_ns: u64) {
        self.parts.recorder.failed(&operation, result);
        if self.ended.is_none() && self.parts.features.failures.ends(operation.verb, result) {
            self.ended = Some(StopReason::Fault);
        }
        let same = |f: &&mut Fault| {
            f.operation.verb == operation.verb
                && f.operation.target == operation.target
                && f.result.min(0) == result.min(0)
        };
        if let Some(fault) = self.faults.iter_mut().find(same) {
            fault.times += 1;
        } else if self.faults.len() < FAULT_KINDS {
            self.faults.push(Fault { operation, result, at_ns, times: 1 });
        }
    }

    /// Ends the worker's record.
    pub fn finish(mut self) -> WorkerOutcome {
        let now = self.parts.queue.now();
        let held = self.throttle.as_mut().and_then(|throttle| {
            throttle.leave();
            throttle.held_depth()
        });
        let timed_out = self.ended == Some(StopReason::Told) || now >= self.parts.until_ns;
        let closes_at = self.parts.recorder.closes_at().filter(|_| timed_out).unwrap_or(0);
        let unstarted = self.parts.pace.due_before(closes_at);
        let (interval, totals) = self.parts.recorder.finish(now);
        let stream = interval.stream;
        if unstarted > 0 {
            self.found.push(EventKind::Unstarted { stream, operations: unstarted });
        }
        self.found.extend(held.map(|outstanding| EventKind::Held { stream, outstanding }));
        WorkerOutcome {
            interval,
            totals,
            faults: self.faults,
            found: self.found,
            span_ns: self.span_ns,
            outstanding_most: self.most as u32,
            why: self.ended.unwrap_or(StopReason::Finished),
        }
    }
}

/// The longest that a worker with nothing outstanding sleeps without looking at its orders.
const LOOK_UP_NS: u64 = 20_000_000;

/// Drives a worker on the calling thread until it is done.
pub fn run<Q: Queue, const FEATURES: bool>(mut worker: Worker<Q, FEATURES>) -> WorkerOutcome {
    while let Step::Enter { at_least, until_ns } = worker.step() {
        let until_ns = match (at_least, worker.batch.is_empty()) {
            (0, false) if until_ns == u64::MAX => 0,
            (1.., _) if until_ns == u64::MAX => u64::MAX,
            _ if FEATURES && worker.throttle.as_ref().is_some_and(|r| r.is_spinning(worker.now_ns)) => 0,
            _ => until_ns.min(worker.now_ns + LOOK_UP_NS),
        };
        worker.parts.queue.enter(at_least, until_ns);
    }
    worker.finish()
}
