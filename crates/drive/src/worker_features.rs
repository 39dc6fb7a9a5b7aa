//! What some workers do besides keeping so many I/Os outstanding: pause, wait for room, hold a latency, keep in step
//! with others. The loop of a worker without any of it is compiled by itself.

use crate::{Completion, LogPen, Operation};
use fathom_record::CELLS;
use fathom_spec::{Failures, Nanos, Think, Verb};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};

/// What a worker does besides the plain loop. The default is nothing.
#[derive(Default)]
pub struct WorkerFeatures {
    /// A pause after every so many operations, once they have all come back.
    pub think: Option<Think>,
    /// Once full, start none until no more than so many are outstanding.
    pub low: Option<usize>,
    /// Keep a share of the latencies under a limit by the number of outstanding I/Os.
    pub hold: Option<Hold>,
    /// Keep in step with other streams.
    pub flow: Option<FlowShare>,
    /// Take the time of each submission: what waits in a queue is then handed over in a call of its own.
    pub timed_submits: bool,
    /// The first thing that a check finds ends the worker.
    pub fatal: bool,
    /// Which failures end it.
    pub failures: Failures,
    /// An operation of a cell that took longer ends it, ns; `u64::MAX`: none does.
    pub latency_most_ns: Option<[u64; CELLS]>,
    /// Take at most so many completions at a time.
    pub reap_most: Option<usize>,
    /// Take none before as many are outstanding as may be, or no more can be started.
    pub fill_first: bool,
    /// Done one after the other when everything else has come back, first the last of the list.
    pub last: Vec<Operation>,
    /// Where a line for each operation goes.
    pub log: Option<LogPen>,
    /// Buffers beyond the depth, for what has come back and is being checked by others ([`crate::Checked::Later`]).
    pub spare: usize,
    /// End after so much of what the window counts; `None`: the source knows when it ends.
    pub amount: Option<Amount>,
    /// By tag: the priority of the last operation under it, told by the queue; service times are kept apart by it.
    pub priorities: Option<Priorities>,
}

/// By tag: the kernel's word for the priority that an operation had; 0: the worker's own.
pub type Priorities = Arc<[AtomicU16]>;

impl WorkerFeatures {
    /// Is there nothing that only a worker with features does?
    pub fn is_plain(&self) -> bool {
        let WorkerFeatures { think, low, hold, flow, timed_submits, last, log, .. } = self;
        let WorkerFeatures {
            latency_most_ns,
            reap_most,
            fill_first,
            spare,
            priorities,
            amount,
            fatal: _,
            failures: _,
            ..
        } = self;
        let waits = think.is_some() || low.is_some() || hold.is_some() || flow.is_some() || amount.is_some();
        let takes = latency_most_ns.is_some() || reap_most.is_some() || *fill_first || priorities.is_some();
        !waits && !takes && !timed_submits && last.is_empty() && log.is_none() && *spare == 0
    }
}

/// What a worker may still start once its window has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Operations; syncs are none.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The longest operation so far.
    longest: u64,
    begun: bool,
}

impl Amount {
    /// So many operations, or so many bytes, whichever comes first.
    pub fn of(operations: Option<u64>, bytes: Option<u64>) -> Self {
        let most = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        Amount { operations: most(operations), bytes: most(bytes), longest: 0, begun: false }
    }

    /// Has the window begun? The first time that it has, `under_way` says what it counts of what was started before.
    pub(crate) fn begun(&mut self, counted: bool, under_way: impl Iterator<Item = Operation>) -> bool {
        if counted && !self.begun {
            self.begun = true;
            under_way.for_each(|operation| self.started(&operation));
        }
        self.begun
    }

    /// Notes an operation that was started.
    pub(crate) fn started(&mut self, operation: &Operation) {
        self.longest = self.longest.max(u64::from(operation.length));
        if self.begun && operation.verb != Verb::Sync {
            self.operations = self.operations.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(u64::from(operation.length));
        }
    }

    /// How many operations may still be started.
    pub(crate) fn room(&self) -> usize {
        let by_bytes = match self.bytes {
            0 => 0,
            bytes => (bytes / self.longest.max(1)).max(1),
        };
        usize::try_from(self.operations.min(by_bytes)).unwrap_or(usize::MAX)
    }
}

/// A latency to hold: the deepest queue that keeps `share` of the latencies under `target`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// The limit.
    pub target: Nanos,
    /// The share that must stay under it, 0 to 1.
    pub share: f64,
    /// Judged over this long.
    pub window: Nanos,
}

/// Workers that keep in step: each does its weight's worth of operations in a round.
#[derive(Debug)]
pub struct Flow {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    weight: u64,
    started: AtomicU64,
    left: AtomicBool,
}

impl Flow {
    /// A flow of members with these weights.
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let member = |weight: u32| Member {
            weight: u64::from(weight.max(1)),
            started: AtomicU64::new(0),
            left: AtomicBool::new(false),
        };
        Flow { members: weights.into_iter().map(member).collect() }
    }

    /// How many more operations a member may start without running ahead of the slowest other one by more than a
    /// round and `tolerance` operations.
    fn room(&self, me: usize, tolerance: u64) -> u64 {
        let others = self.members.iter().enumerate().filter(|(i, m)| *i != me && !m.left.load(Relaxed));
        let Some(rounds) = others.map(|(_, m)| m.started.load(Relaxed) / m.weight).min() else {
            return u64::MAX;
        };
        let mine = &self.members[me];
        ((rounds + 1) * mine.weight + tolerance).saturating_sub(mine.started.load(Relaxed))
    }
}

/// A worker's place in a flow.
#[derive(Clone, Debug)]
pub struct FlowShare {
    /// What is shared.
    pub flow: Arc<Flow>,
    /// Which member it is.
    pub member: usize,
    /// How many operations it may run ahead, besides its round.
    pub tolerance: u64,
}

/// How often a worker that a flow holds back looks again.
const FLOW_LOOK_NS: u64 = 50_000;

/// What a worker may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// How many operations may be started.
    pub(crate) room: usize,
    /// Look again at this moment at the latest.
    pub(crate) until_ns: u64,
    /// Completions to wait for.
    pub(crate) at_least: usize,
}

/// What holds a worker back, and where it stands with that.
pub(crate) struct Throttle {
    think: Option<Thinking>,
    low: Option<usize>,
    draining: bool,
    hold: Option<Holding>,
    flow: Option<FlowShare>,
    reap: Option<Reaping>,
}

/// Completions that have come back and are not taken yet.
struct Reaping {
    most: usize,
    fill_first: bool,
    late: VecDeque<Completion>,
}

struct Thinking {
    plan: Think,
    /// Operations until the next pause.
    left: u64,
    /// When the work since the last pause began.
    since_ns: Option<u64>,
    /// The end of the busy part and of the whole of the present pause.
    pause_ns: Option<(u64, u64)>,
}

impl Throttle {
    /// `None` where nothing holds the worker back.
    pub(crate) fn of(features: &mut WorkerFeatures) -> Option<Box<Throttle>> {
        let think = features.think.map(Thinking::new);
        let hold = features.hold.map(Holding::new);
        let (low, flow) = (features.low, features.flow.take());
        let fill_first = features.fill_first;
        let most = features.reap_most.or(fill_first.then_some(usize::MAX));
        let reap = most.map(|most| Reaping { most: most.max(1), fill_first, late: VecDeque::new() });
        let any = think.is_some() || low.is_some() || hold.is_some() || flow.is_some() || reap.is_some();
        any.then(|| Box::new(Throttle { think, low, draining: false, hold, flow, reap }))
    }

    /// What may be done with `room` by a worker that has so many outstanding.
    pub(crate) fn allowed(&mut self, now_ns: u64, outstanding: usize, depth: usize, room: usize) -> Allowed {
        let mut allowed = Allowed { room, until_ns: u64::MAX, at_least: 0 };
        if let Some(hold) = &self.hold {
            allowed.room = allowed.room.min(hold.depth.saturating_sub(outstanding));
        }
        if let Some(low) = self.low {
            self.draining |= outstanding >= depth;
            self.draining &= outstanding > low;
            if self.draining {
                allowed.room = 0;
                allowed.at_least = outstanding - low;
            }
        }
        if let Some(share) = &self.flow
            && allowed.room > 0
        {
            allowed.room = allowed.room.min(share.flow.room(share.member, share.tolerance) as usize);
            if allowed.room == 0 {
                allowed.until_ns = now_ns + FLOW_LOOK_NS;
            }
        }
        match &mut self.think {
            Some(think) => think.allowed(now_ns, outstanding, allowed),
            None => allowed,
        }
    }

    /// Leaves of what has come back no more than may be taken at a time; the rest comes next. `full`: no more can be
    /// started before something is taken.
    pub(crate) fn take(&mut self, done: &mut Vec<Completion>, full: bool) {
        if let Some(Reaping { most, fill_first, late }) = &mut self.reap {
            late.extend(done.drain(..));
            let most = if *fill_first && !full { 0 } else { *most };
            done.extend(late.drain(..late.len().min(most)));
        }
    }

    /// Has something come back that was not taken yet?
    pub(crate) fn has_late(&self) -> bool {
        self.reap.as_ref().is_some_and(|reap| !reap.late.is_empty())
    }

    /// So many operations were started.
    pub(crate) fn started(&mut self, count: usize) {
        if let Some(think) = &mut self.think {
            think.left = think.left.saturating_sub(count as u64);
        }
        if let Some(share) = &self.flow {
            share.flow.members[share.member].started.fetch_add(count as u64, Relaxed);
        }
    }

    /// One operation took so long.
    #[inline]
    pub(crate) fn completed(&mut self, now_ns: u64, latency_ns: u64) {
        if let Some(hold) = &mut self.hold {
            hold.completed(now_ns, latency_ns);
        }
    }

    /// Is the worker in the busy part of a pause?
    pub(crate) fn is_spinning(&self, now_ns: u64) -> bool {
        self.think.as_ref().and_then(|think| think.pause_ns).is_some_and(|(spin, _)| now_ns < spin)
    }

    /// The worker has ended: others of its flow need not wait for it any more.
    pub(crate) fn leave(&mut self) {
        if let Some(share) = self.flow.take() {
            share.flow.members[share.member].left.store(true, Relaxed);
        }
    }

    /// The depth that holds the latency.
    pub(crate) fn held_depth(&self) -> Option<u32> {
        self.hold.as_ref().map(|hold| hold.good.max(1) as u32)
    }
}

impl Thinking {
    fn new(plan: Think) -> Self {
        Thinking { plan, left: plan.every.max(1), since_ns: None, pause_ns: None }
    }

    fn allowed(&mut self, now_ns: u64, outstanding: usize, allowed: Allowed) -> Allowed {
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        let worked = self.plan.work.0 > 0 && now_ns.saturating_sub(since_ns) >= self.plan.work.0;
        if self.left > 0 && !worked {
            let room = allowed.room.min(self.left.min(usize::MAX as u64) as usize);
            return Allowed { room, ..allowed };
        }
        if outstanding > 0 {
            return Allowed { room: 0, until_ns: u64::MAX, at_least: outstanding };
        }
        let spin_ns = self.plan.spin.0.min(self.plan.wait.0);
        let (_, end_ns) = *self.pause_ns.get_or_insert((now_ns + spin_ns, now_ns + self.plan.wait.0));
        if now_ns < end_ns {
            return Allowed { room: 0, until_ns: end_ns, at_least: 0 };
        }
        (self.pause_ns, self.since_ns) = (None, None);
        self.left = self.plan.every.max(1);
        self.allowed(now_ns, outstanding, allowed)
    }
}

/// Looks for the deepest queue that holds a latency: doubles while it is held, then halves the interval between
/// the deepest that held and the shallowest that did not; stays where the two meet.
struct Holding {
    plan: Hold,
    depth: usize,
    good: usize,
    bad: usize,
    seen: u64,
    over: u64,
    since_ns: u64,
    changed_ns: u64,
}

impl Holding {
    fn new(plan: Hold) -> Self {
        Holding {
            plan,
            depth: 1,
            good: 0,
            bad: usize::MAX,
            seen: 0,
            over: 0,
            since_ns: u64::MAX,
            changed_ns: 0,
        }
    }

    fn completed(&mut self, now_ns: u64, latency_ns: u64) {
        // What was started at another depth says nothing of this one.
        if now_ns - latency_ns < self.changed_ns {
            return;
        }
        if self.since_ns == u64::MAX {
            self.since_ns = now_ns;
        }
        self.seen += 1;
        self.over += u64::from(latency_ns > self.plan.target.0);
        if now_ns - self.since_ns >= self.plan.window.0 {
            self.judge(now_ns);
            (self.seen, self.over, self.since_ns) = (0, 0, now_ns);
        }
    }

    fn judge(&mut self, now_ns: u64) {
        let before = self.depth;
        let held = self.over as f64 <= self.seen as f64 * (1.0 - self.plan.share);
        match held {
            true => self.good = self.good.max(self.depth),
            false => {
                self.bad = self.depth;
                // What held before may hold no more.
                self.good = self.good.min(self.depth.saturating_sub(1));
            }
        }
        self.depth = match self.bad {
            usize::MAX => self.depth.saturating_mul(2).min(1 << 20),
            bad => (self.good + bad).div_euclid(2).max(1),
        };
        if self.depth != before {
            self.changed_ns = now_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle(mut features: WorkerFeatures) -> Box<Throttle> {
        Throttle::of(&mut features).unwrap()
    }

    #[test]
    fn a_worker_without_features_has_no_throttle() {
        assert!(Throttle::of(&mut WorkerFeatures::default()).is_none());
    }

    #[test]
    fn a_pause_begins_when_all_have_come_back_and_ends_on_time() {
        let plan = Think { wait: Nanos(100), spin: Nanos(30), every: 2, work: Nanos(0) };
        let mut worker = throttle(WorkerFeatures { think: Some(plan), ..WorkerFeatures::default() });
        assert_eq!(worker.allowed(0, 0, 4, 4), Allowed { room: 2, until_ns: u64::MAX, at_least: 0 });
        worker.started(2);
        assert_eq!(worker.allowed(10, 2, 4, 2), Allowed { room: 0, until_ns: u64::MAX, at_least: 2 });
        assert_eq!(worker.allowed(50, 0, 4, 4), Allowed { room: 0, until_ns: 150, at_least: 0 });
        assert!(worker.is_spinning(79) && !worker.is_spinning(80));
        assert_eq!(worker.allowed(149, 0, 4, 4).room, 0);
        assert_eq!(worker.allowed(150, 0, 4, 4).room, 2);
    }

    #[test]
    fn a_pause_comes_after_so_long_a_work_or_so_many_operations_whichever_is_first() {
        let plan = Think { wait: Nanos(100), spin: Nanos(0), every: 3, work: Nanos(40) };
        let mut worker = throttle(WorkerFeatures { think: Some(plan), ..WorkerFeatures::default() });
        assert_eq!(worker.allowed(0, 0, 1, 1).room, 1);
        worker.started(1);
        assert_eq!(worker.allowed(39, 0, 1, 1).room, 1);
        assert_eq!(worker.allowed(40, 1, 1, 0), Allowed { room: 0, until_ns: u64::MAX, at_least: 1 });
        assert_eq!(worker.allowed(50, 0, 1, 1), Allowed { room: 0, until_ns: 150, at_least: 0 });
        assert_eq!(worker.allowed(150, 0, 1, 1).room, 1, "work begins anew");
        worker.started(3);
        assert_eq!(worker.allowed(160, 0, 1, 1).until_ns, 260);
    }

    #[test]
    fn no_more_completions_are_taken_at_a_time_than_asked_for_and_none_is_lost() {
        let mut worker = throttle(WorkerFeatures { reap_most: Some(2), ..WorkerFeatures::default() });
        let mut done: Vec<Completion> = (0..5).map(|tag| Completion { tag, result: 0 }).collect();
        let mut taken = Vec::new();
        for expected in [2, 2, 1, 0] {
            worker.take(&mut done, false);
            assert_eq!(done.len(), expected);
            assert_eq!(worker.has_late(), taken.len() + expected < 5);
            taken.extend(done.drain(..).map(|completion| completion.tag));
        }
        assert_eq!(taken, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn nothing_is_taken_before_the_queue_is_full_where_that_is_asked_for() {
        let features = WorkerFeatures { fill_first: true, reap_most: Some(1), ..WorkerFeatures::default() };
        let mut worker = throttle(features);
        let mut done: Vec<Completion> = (0..3).map(|tag| Completion { tag, result: 0 }).collect();
        worker.take(&mut done, false);
        assert!(done.is_empty() && worker.has_late());
        for tag in 0..3 {
            worker.take(&mut done, true);
            assert_eq!(done.drain(..).map(|one| one.tag).collect::<Vec<_>>(), [tag]);
        }
    }

    #[test]
    fn a_full_queue_is_refilled_only_when_it_has_sunk_to_its_low_mark() {
        let mut worker = throttle(WorkerFeatures { low: Some(2), ..WorkerFeatures::default() });
        assert_eq!(worker.allowed(0, 3, 8, 5).room, 5);
        assert_eq!(worker.allowed(0, 8, 8, 0), Allowed { room: 0, until_ns: u64::MAX, at_least: 6 });
        assert_eq!(worker.allowed(0, 3, 8, 5).room, 0);
        assert_eq!(worker.allowed(0, 2, 8, 6).room, 6);
    }

    #[test]
    fn a_latency_is_held_by_the_deepest_queue_that_can() {
        let plan = Hold { target: Nanos(1000), share: 0.9, window: Nanos(100) };
        let mut worker = throttle(WorkerFeatures { hold: Some(plan), ..WorkerFeatures::default() });
        let mut now = 10_000;
        for _ in 0..20_000 {
            now += 10;
            let depth = worker.allowed(now, 0, 64, 64).room as u64;
            // A device whose latency is 90 ns for each outstanding I/O: 11 of them hold 1000 ns.
            worker.completed(now, (depth * 90).min(now));
        }
        assert_eq!(worker.held_depth(), Some(11));
        assert_eq!(worker.allowed(now, 0, 64, 64).room, 11);
    }

    #[test]
    fn streams_of_a_flow_keep_in_step_by_their_weights() {
        let flow = Arc::new(Flow::new([3, 1]));
        let share = |member| {
            let share = FlowShare { flow: flow.clone(), member, tolerance: 0 };
            throttle(WorkerFeatures { flow: Some(share), ..WorkerFeatures::default() })
        };
        let (mut one, mut other) = (share(0), share(1));
        let (mut ones, mut others) = (0, 0);
        for _ in 0..1000 {
            for (worker, count) in [(&mut one, &mut ones), (&mut other, &mut others)] {
                let room = worker.allowed(0, 0, 4, 4).room;
                worker.started(room);
                *count += room;
            }
        }
        assert!((ones as i64 - others as i64 * 3).abs() <= 3, "{ones} {others}");
        one.leave();
        assert_eq!(other.allowed(0, 0, 4, 4).room, 4, "who is left waits for nobody");
    }
}
