//! What a worker keeps: counts for the slot, latencies for the interval. An interval that has ended is handed
//! over through a bounded channel and an empty one taken in its place; nothing here blocks or allocates while
//! the collector keeps up.

use crate::Operation;
use fathom_record::{BATCH_CLASSES, CELLS, Cell, Counts, Interval, Latency};
use fathom_spec::{Keep, Nanos, Plan, Stream, StreamId, Verb, Window};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::mpsc::{Receiver, SyncSender};

/// What a worker tells while it runs; read by whoever conducts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Published {
    /// All it had done when it last looked.
    now: Told,
    /// I/Os outstanding when the worker last looked.
    pub outstanding: AtomicU64,
    /// When it last saw a completion, ns since the run's start.
    pub last_ns: AtomicU64,
    /// All it had done at the last edge of a slot that it has seen.
    edge: Told,
    /// When it saw that edge, ns since the run's start.
    edge_ns: AtomicU64,
    batches: [[AtomicU64; BATCH_CLASSES.len()]; 2],
}

/// Cumulative counters of each cell.
#[derive(Debug, Default)]
struct Told {
    operations: [AtomicU64; CELLS],
    bytes: [AtomicU64; CELLS],
    latency_sum_ns: [AtomicU64; CELLS],
    errors: [AtomicU32; CELLS],
    short: [AtomicU32; CELLS],
}

impl Told {
    #[inline(always)]
    fn tell(&self, totals: &[Counts]) {
        for (i, counts) in totals.iter().enumerate() {
            let Counts { operations, bytes, latency_sum_ns, errors, short } = counts;
            self.operations[i].store(*operations, Relaxed);
            self.bytes[i].store(*bytes, Relaxed);
            self.latency_sum_ns[i].store(*latency_sum_ns, Relaxed);
            self.errors[i].store(*errors, Relaxed);
            self.short[i].store(*short, Relaxed);
        }
    }

    fn counts(&self) -> [Counts; CELLS] {
        std::array::from_fn(|i| Counts {
            operations: self.operations[i].load(Relaxed),
            bytes: self.bytes[i].load(Relaxed),
            latency_sum_ns: self.latency_sum_ns[i].load(Relaxed),
            errors: self.errors[i].load(Relaxed),
            short: self.short[i].load(Relaxed),
        })
    }
}

/// The class of a number of operations.
#[inline(always)]
fn batch_class(operations: usize) -> usize {
    match operations {
        0 => 0,
        _ => (usize::BITS - ((operations - 1) >> 2).leading_zeros() + 1).min(6) as usize,
    }
}

impl Published {
    /// Cumulative counters of each cell as of the edge of a slot that is over. A worker that has not looked since has seen
    /// nothing come back since: what it told last is of the edge, too, however long it waits.
    pub fn counts_at(&self, edge_ns: u64) -> [Counts; CELLS] {
        match self.edge_ns.load(Acquire) >= edge_ns {
            true => self.edge.counts(),
            false => self.now.counts(),
        }
    }

    /// Submissions, and looks that found completions, by the number of operations; told when the worker has ended.
    pub fn batches(&self) -> [[u64; BATCH_CLASSES.len()]; 2] {
        std::array::from_fn(|kind| std::array::from_fn(|class| self.batches[kind][class].load(Relaxed)))
    }
}

/// Where finished intervals go and empty ones come from.
#[derive(Debug)]
pub struct Outbox {
    /// Takes finished intervals; refused ones are kept and grow.
    pub full: SyncSender<Box<Interval>>,
    /// Gives empty ones back.
    pub empty: Receiver<Box<Interval>>,
}

/// Lengths and limits of a recorder, ns since the run's start.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Length of a slot.
    pub slot_ns: u64,
    /// Length of an interval, a multiple of the slot's.
    pub interval_ns: u64,
    /// When the stream began.
    pub began_ns: u64,
    /// Completions before this moment are not counted.
    pub from_ns: u64,
    /// Completions from this moment on are not counted.
    pub to_ns: u64,
    /// When the stream is told to stop, what comes back later is not counted: the window lies inside the load.
    pub closes: bool,
}

/// The part of a stream that counts, ns since the run's start.
pub fn frame(plan: &Plan, stream: &Stream, began_ns: u64) -> Frame {
    framed((plan.slot, plan.interval), &stream.window, began_ns)
}

/// The same, from the lengths of slot and interval.
pub(crate) fn framed((slot, interval): (Nanos, Nanos), window: &Window, began_ns: u64) -> Frame {
    let slot_ns = slot.0.max(1);
    let never = u64::MAX / 2;
    let (from_ns, to_ns, closes) = match *window {
        Window::Everything => (began_ns, u64::MAX, false),
        Window::After(ramp) => (began_ns + ramp.0, u64::MAX, false),
        Window::Inside { before, length } => {
            let from = (began_ns + before.0).next_multiple_of(slot_ns);
            (from, from.saturating_add(length.0), true)
        }
        Window::Unmeasured => (never, never, false),
    };
    let interval_ns = interval.0.next_multiple_of(slot_ns).max(slot_ns);
    Frame { slot_ns, interval_ns, began_ns, from_ns, to_ns, closes }
}

/// An empty interval with the latencies that are to be kept.
pub fn empty_interval(stream: StreamId, worker: u32, verbs: &[Verb], keep: Keep, frame: &Frame) -> Interval {
    let latency = |wanted: bool| wanted.then(|| Box::new(Latency::ready()));
    let cells = verbs
        .iter()
        .map(|verb| {
            let cell = Cell {
                submit: latency(keep.submit),
                completion: latency(keep.completion),
                service: latency(keep.service),
                response: latency(keep.response),
            };
            (*verb, cell)
        })
        .collect();
    Interval::new(stream, worker, cells, (frame.interval_ns / frame.slot_ns.max(1)) as usize)
}

/// Owned by one worker.
#[derive(Debug)]
pub struct Recorder {
    interval: Box<Interval>,
    frame: Frame,
    slot: usize,
    slot_end_ns: u64,
    interval_end_ns: u64,
    /// Cumulative, counted or not: `Totals` and stops by amount go by these.
    pub totals: [Counts; CELLS],
    outbox: Option<Outbox>,
    published: std::sync::Arc<Published>,
    batches: [[u64; BATCH_CLASSES.len()]; 2],
}

impl Recorder {
    /// A recorder that begins with the given interval. Without an outbox everything stays in that one interval.
    pub fn new(
        interval: Interval,
        frame: Frame,
        outbox: Option<Outbox>,
        published: std::sync::Arc<Published>,
    ) -> Self {
        let mut recorder = Recorder {
            interval: Box::new(interval),
            frame,
            slot: 0,
            slot_end_ns: 0,
            interval_end_ns: 0,
            totals: Default::default(),
            outbox,
            published,
            batches: Default::default(),
        };
        recorder.begin_interval(frame.began_ns);
        recorder
    }

    fn begin_interval(&mut self, now_ns: u64) {
        let first = self.frame.from_ns - self.frame.from_ns % self.frame.slot_ns;
        let interval = self.frame.interval_ns;
        // What comes back behind the window belongs to its last interval.
        let at_ns = now_ns.min(self.frame.to_ns.saturating_sub(1));
        let start = match self.outbox {
            None => first,
            Some(_) => first.max(at_ns - at_ns % interval),
        };
        self.interval.start_ns = start;
        self.interval_end_ns = match self.outbox.is_none() || at_ns < now_ns {
            true => u64::MAX,
            false => start - start % interval + interval,
        };
        self.enter_slot(now_ns);
    }

    fn enter_slot(&mut self, now_ns: u64) {
        self.slot_end_ns = now_ns - now_ns % self.frame.slot_ns + self.frame.slot_ns;
        let at_ns = now_ns.min(self.frame.to_ns.saturating_sub(1));
        self.slot = (at_ns.saturating_sub(self.interval.start_ns) / self.frame.slot_ns) as usize;
        if self.slot >= self.interval.slots.len() {
            self.interval.slots.resize(self.slot + 1, Default::default());
        }
    }

    /// To be called once a batch, before its completions are counted.
    #[inline(always)]
    pub fn advance(&mut self, now_ns: u64) {
        if now_ns >= self.slot_end_ns {
            self.turn(now_ns);
        }
    }

    #[cold]
    fn turn(&mut self, now_ns: u64) {
        self.published.edge.tell(&self.totals);
        self.published.edge_ns.store(now_ns, Release);
        if now_ns >= self.interval_end_ns {
            self.hand_over(now_ns);
        }
        self.enter_slot(now_ns);
    }

    fn hand_over(&mut self, now_ns: u64) {
        let Some(outbox) = &self.outbox else { return };
        let Ok(mut spare) = outbox.empty.try_recv() else { return };
        std::mem::swap(&mut spare, &mut self.interval);
        let end = self.interval_end_ns.min(self.frame.to_ns).max(spare.start_ns);
        spare.length_ns = end - spare.start_ns;
        if let Err(refused) = outbox.full.try_send(spare) {
            let (std::sync::mpsc::TrySendError::Full(spare)
            | std::sync::mpsc::TrySendError::Disconnected(spare)) = refused;
            self.interval = spare;
            return;
        }
        self.begin_interval(now_ns);
    }

    /// Does a completion at this moment count?
    #[inline(always)]
    pub fn counts_at(&self, now_ns: u64) -> bool {
        now_ns >= self.frame.from_ns && now_ns < self.frame.to_ns
    }

    /// The load ends here: with a window inside it, what comes back later is not counted.
    pub fn close(&mut self, at_ns: u64) {
        if self.frame.closes {
            self.frame.to_ns = self.frame.to_ns.min(at_ns);
        }
    }

    /// Was an operation of this moment to be done in a window that has an end?
    pub fn is_due_inside(&self, due_ns: u64) -> bool {
        self.frame.closes && due_ns >= self.frame.from_ns && due_ns < self.frame.to_ns
    }

    /// The end of a window that has one, ns since the run's start.
    pub fn closes_at(&self) -> Option<u64> {
        self.frame.closes.then_some(self.frame.to_ns)
    }

    /// Counts one operation that completed in full. One that began in the window and came back behind it is in the latencies
    /// and not in the counts: how long it took is part of what the window saw, that it was done is not.
    #[inline(always)]
    pub fn completed(&mut self, operation: &Operation, submitted_ns: u64, at_ns: u64, counted: bool) {
        let cell = operation.cell as usize & (CELLS - 1);
        let service = at_ns.saturating_sub(submitted_ns);
        self.totals[cell].operations += 1;
        self.totals[cell].bytes += u64::from(operation.length);
        self.totals[cell].latency_sum_ns += service;
        if counted {
            let counts = &mut self.interval.slots[self.slot][cell];
            counts.operations += 1;
            counts.bytes += u64::from(operation.length);
            counts.latency_sum_ns += service;
        } else if at_ns < self.frame.to_ns || !self.is_due_inside(operation.due_ns) {
            return;
        }
        let kept = &mut self.interval.cells[cell].1;
        if let Some(latency) = &mut kept.service {
            latency.add(service);
        }
        if let Some(latency) = &mut kept.response {
            latency.add(at_ns.saturating_sub(operation.due_ns));
        }
    }

    /// Counts one operation of a priority, where those are kept apart. `submit_ns`: how long the call took that handed it
    /// over.
    pub fn at_priority(&mut self, verb: Verb, priority: u16, service_ns: u64, submit_ns: u64) {
        if let Some(at) = self.interval.at_priority(verb, priority) {
            at.service.add(service_ns);
            at.completion.iter_mut().for_each(|latency| latency.add(service_ns.saturating_sub(submit_ns)));
        }
    }

    /// Notes the time from the return of the call that handed an operation over to its completion.
    #[inline]
    pub fn came_back(&mut self, operation: &Operation, took_ns: u64) {
        let cell = operation.cell as usize & (CELLS - 1);
        if let Some(latency) = &mut self.interval.cells[cell].1.completion {
            latency.add(took_ns);
        }
    }

    /// Notes how long the call took that handed an operation over.
    pub fn handed_over(&mut self, operation: &Operation, took_ns: u64) {
        let cell = operation.cell as usize & (CELLS - 1);
        if let Some(latency) = &mut self.interval.cells[cell].1.submit {
            latency.add(took_ns);
        }
    }

    /// Counts one operation that failed or moved too little.
    pub fn failed(&mut self, operation: &Operation, result: i32) {
        let cell = operation.cell as usize & (CELLS - 1);
        let short = u32::from(result >= 0);
        for counts in [&mut self.totals[cell], &mut self.interval.slots[self.slot][cell]] {
            counts.errors += 1;
            counts.short += short;
        }
    }

    /// Counts an operation that moved less than it might have and is none the worse for it.
    pub fn shortened(&mut self, operation: &Operation) {
        let cell = operation.cell as usize & (CELLS - 1);
        self.totals[cell].short += 1;
        self.interval.slots[self.slot][cell].short += 1;
    }

    /// Tells the totals: whoever waits now may wait for long.
    #[inline(always)]
    pub fn publish(&self) {
        self.published.now.tell(&self.totals[..self.interval.cells.len().min(CELLS)]);
    }

    /// Notes how many I/Os are outstanding at a submission of `submitted` operations, from where the window begins.
    #[inline(always)]
    pub fn submitted(&mut self, at_ns: u64, outstanding: usize, submitted: usize) {
        if at_ns >= self.frame.from_ns {
            let class = (usize::BITS - outstanding.leading_zeros()).saturating_sub(1).min(16) as usize;
            self.interval.outstanding[class] += submitted as u64;
        }
        self.batches[0][batch_class(submitted)] += 1;
    }

    /// Notes how many operations came back together.
    #[inline(always)]
    pub fn took(&mut self, operations: usize) {
        self.batches[1][batch_class(operations)] += 1;
    }

    /// Ends the record: publishes the last counts and answers the last interval.
    pub fn finish(mut self, now_ns: u64) -> (Interval, [Counts; CELLS]) {
        self.publish();
        for (shared, mine) in self.published.batches.iter().flatten().zip(self.batches.iter().flatten()) {
            shared.store(*mine, Relaxed);
        }
        let end = now_ns.clamp(self.interval.start_ns, self.frame.to_ns.max(self.interval.start_ns));
        self.interval.length_ns = end - self.interval.start_ns;
        (*self.interval, self.totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_an_edge_are_told_whether_the_worker_has_looked_since_or_not() {
        let stream = Stream::closed(
            "s",
            fathom_spec::Blocks::random_reads(fathom_spec::SpaceId(0), fathom_spec::Bytes(1)),
            1,
        );
        let frame = frame(&Plan { slot: Nanos(100), ..Plan::new(1) }, &stream, 0);
        let published = std::sync::Arc::new(Published::default());
        let interval = empty_interval(StreamId(0), 0, &[Verb::Read], Keep::default(), &frame);
        let mut recorder = Recorder::new(interval, frame, None, published.clone());
        let read =
            Operation { offset: 0, due_ns: 0, mark: 0, length: 1, target: 0, verb: Verb::Read, cell: 0 };
        let mut at = |now_ns: u64| {
            recorder.advance(now_ns);
            recorder.completed(&read, now_ns, now_ns, true);
            recorder.publish();
        };
        let told = |edge_ns| published.counts_at(edge_ns)[0].operations;
        at(40);
        at(90);
        assert_eq!(told(100), 2, "nothing came back since, and nothing looked");
        at(130);
        assert_eq!((told(100), told(200)), (2, 3));
        at(410);
        assert_eq!(told(400), 3);
    }

    #[test]
    fn operations_at_a_time_are_classed_by_powers_of_two_from_four() {
        let classes = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 4096].map(batch_class);
        assert_eq!(classes, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }
}
