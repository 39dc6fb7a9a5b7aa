//! The coordinating thread of a run: starts each stream when those before it have ended, collects what workers
//! hand over, tells the watcher once a slot and passes its orders on.

use crate::together::{Gate, gates};
use crate::used::worker_samples;
use crate::{Clock, Fault, Frame, Outbox, Published, Steering, WorkerOutcome, empty_interval, sys};
use fathom_record::*;
use fathom_spec::{Bytes, Nanos, Plan, Stream, StreamId, Verb, Window};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Reads other people's counters; called by the coordinator once an interval.
pub trait Sampler {
    /// Appends what is read now.
    fn sample(&mut self, now_ns: u64, out: &mut Vec<Sample>);
}

impl Sampler for () {
    fn sample(&mut self, _now_ns: u64, _out: &mut Vec<Sample>) {}
}

/// A worker's part of a run, made on its own thread: first its queue and buffers, then the work.
pub type Prepare<'a> = Box<dyn FnOnce(&Seat) -> Result<Perform, ExecuteError> + Send + 'a>;
/// The work itself, once every worker of the stream is ready.
pub type Perform = Box<dyn FnOnce(&Seat, Begin) -> WorkerOutcome>;

/// One worker to be.
pub struct Job<'a> {
    /// In which stream.
    pub stream: StreamId,
    /// Its number in it.
    pub worker: u32,
    /// On which CPUs; empty: anywhere.
    pub cpus: Vec<usize>,
    /// Its verbs, in the order of cells.
    pub verbs: Vec<Verb>,
    /// Names of the targets, for faults.
    pub targets: Arc<Vec<String>>,
    /// How it is made.
    pub prepare: Prepare<'a>,
}

/// What a worker finds on its thread.
pub struct Seat {
    /// The run's clock.
    pub clock: Clock,
    /// Orders.
    pub steering: Arc<Steering>,
    /// What it tells while it runs.
    pub published: Arc<Published>,
    notes: Sender<Message>,
}

impl Seat {
    /// Notes something that was taken in place of what was asked for.
    pub fn note(&self, text: String) {
        let _ = self.notes.send(Message::Note(text));
    }
    /// Notes how the worker does its I/O.
    pub fn queue(&self, text: String) {
        let _ = self.notes.send(Message::Queue(text));
    }
}

/// How a worker begins: its stream's moment, and its record.
pub struct Begin {
    /// When the stream began, ns since the run's start.
    pub at_ns: u64,
    /// The window that counts, and the lengths of slot and interval.
    pub frame: Frame,
    /// The first interval.
    pub interval: Interval,
    /// Where intervals go.
    pub outbox: Outbox,
}

enum Message {
    Note(String),
    Queue(String),
    Failed(ExecuteError),
    Ended { stream: StreamId, worker: u32, outcome: Box<WorkerOutcome>, used: sys::Usage },
    Gone(StreamId),
}

/// Stands of one stream while the run goes on.
struct Stand {
    steering: Arc<Steering>,
    published: Vec<Arc<Published>>,
    began: Arc<OnceLock<u64>>,
    running: u32,
    state: State,
    ready_at_ns: u64,
    empties: Vec<SyncSender<Box<Interval>>>,
    stalled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Ended,
}

/// The part of a stream that counts, ns since the run's start.
pub fn frame(plan: &Plan, stream: &Stream, began_ns: u64) -> Frame {
    framed((plan.slot, plan.interval), &stream.window, began_ns)
}

fn framed((slot, interval): (Nanos, Nanos), window: &Window, began_ns: u64) -> Frame {
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

/// Runs jobs as a plan says, on threads, and answers what was seen.
pub fn conduct(
    plan: &Plan,
    jobs: Vec<Job<'_>>,
    clock: Clock,
    sampler: &mut dyn Sampler,
    control: &mut dyn Control,
) -> Result<Run, ExecuteError> {
    let mut run = Run::empty(plan);
    let (notes, inbox) = channel();
    let (full, intervals) = sync_channel(jobs.len() * 2 + 8);
    sampler.sample(clock.now(), &mut run.samples);
    let failure = std::thread::scope(|scope| {
        let mut conductor = Conductor::new(plan, jobs, clock, notes, full, inbox, intervals);
        conductor.conduct(scope, sampler, control, &mut run)
    });
    sampler.sample(clock.now(), &mut run.samples);
    run.length_ns = clock.now();
    run.intervals.sort_by_key(|i| (i.stream, i.start_ns));
    run.workers.sort_by_key(|w| (w.stream, w.worker));
    run.queues.dedup();
    match failure {
        Some(error) => Err(error),
        None => Ok(run),
    }
}

/// A worker's faults as events.
pub fn fault_events(stream: StreamId, faults: Vec<Fault>, targets: &[String]) -> Vec<Event> {
    faults
        .into_iter()
        .map(|Fault { operation, result, at_ns, times }| Event {
            at_ns,
            what: EventKind::Fault {
                stream,
                verb: operation.verb,
                offset: Bytes(operation.offset),
                errno: (-result).max(0),
                moved: Bytes(result.max(0) as u64),
                target: targets.get(operation.target as usize).cloned().unwrap_or_default(),
                times,
            },
        })
        .collect()
}

struct Conductor<'p, 'j> {
    plan: &'p Plan,
    jobs: Vec<Option<Job<'j>>>,
    stands: Vec<Stand>,
    targets: Vec<Arc<Vec<String>>>,
    verbs: Vec<Vec<Verb>>,
    clock: Clock,
    notes: Sender<Message>,
    full: SyncSender<Box<Interval>>,
    inbox: Receiver<Message>,
    intervals: Receiver<Box<Interval>>,
    failure: Option<ExecuteError>,
}

impl<'p, 'j> Conductor<'p, 'j> {
    fn new(
        plan: &'p Plan,
        jobs: Vec<Job<'j>>,
        clock: Clock,
        notes: Sender<Message>,
        full: SyncSender<Box<Interval>>,
        inbox: Receiver<Message>,
        intervals: Receiver<Box<Interval>>,
    ) -> Self {
        let stands = plan
            .streams
            .iter()
            .map(|stream| Stand {
                steering: Arc::new(Steering::new(stream.depth.most())),
                published: Vec::new(),
                began: Arc::new(OnceLock::new()),
                running: 0,
                state: State::Waiting,
                ready_at_ns: u64::MAX,
                empties: Vec::new(),
                stalled: false,
            })
            .collect();
        let (mut targets, mut verbs) =
            (vec![Arc::default(); plan.streams.len()], vec![Vec::new(); plan.streams.len()]);
        for job in &jobs {
            targets[job.stream.0 as usize] = job.targets.clone();
            verbs[job.stream.0 as usize] = job.verbs.clone();
        }
        let jobs = jobs.into_iter().map(Some).collect();
        Conductor { plan, jobs, stands, targets, verbs, clock, notes, full, inbox, intervals, failure: None }
    }

    fn conduct<'s>(
        &mut self,
        scope: &'s std::thread::Scope<'s, '_>,
        sampler: &mut dyn Sampler,
        control: &mut dyn Control,
        run: &mut Run,
    ) -> Option<ExecuteError>
    where
        'j: 's,
    {
        // Workers tell their counts at the first completion after a slot's edge. Whoever looks at the edge itself finds
        // now this slot in them and now the one before: so it is looked a little later, and told as of the edge.
        let slot = self.plan.slot.0.max(1);
        let later = slot / 4;
        let mut next_slot = slot + later;
        let mut next_sample = self.plan.interval.0;
        loop {
            self.start_ready(scope, control, run);
            if self.stands.iter().all(|stand| stand.state == State::Ended) {
                break;
            }
            let now = self.clock.now();
            let wait = Duration::from_nanos(next_slot.min(self.next_start()).saturating_sub(now).max(1));
            if let Ok(message) = self.inbox.recv_timeout(wait) {
                self.take(message, control, run);
            }
            while let Ok(message) = self.inbox.try_recv() {
                self.take(message, control, run);
            }
            self.gather(control, run);
            let now = self.clock.now();
            if now >= next_sample {
                sampler.sample(now, &mut run.samples);
                next_sample = now - now % self.plan.interval.0 + self.plan.interval.0;
            }
            if now >= next_slot {
                let edge = (now - later) - (now - later) % slot;
                next_slot = edge + slot + later;
                self.watch_for_stalls(now, control, run);
                let totals = self.totals();
                let steer = control.slot(edge, &totals);
                self.obey(steer);
            }
        }
        self.gather(control, run);
        self.failure.take()
    }

    fn next_start(&self) -> u64 {
        self.stands
            .iter()
            .filter(|s| s.state == State::Waiting)
            .map(|s| s.ready_at_ns)
            .min()
            .unwrap_or(u64::MAX)
    }

    fn start_ready<'s>(
        &mut self,
        scope: &'s std::thread::Scope<'s, '_>,
        control: &mut dyn Control,
        run: &mut Run,
    ) where
        'j: 's,
    {
        let mut ready = Vec::new();
        for id in 0..self.stands.len() {
            if self.stands[id].state != State::Waiting {
                continue;
            }
            let start = &self.plan.streams[id].start;
            let free = start.after.iter().all(|s| self.stands[s.0 as usize].state == State::Ended);
            let now = self.clock.now();
            if free && self.stands[id].ready_at_ns == u64::MAX {
                self.stands[id].ready_at_ns = now.saturating_add(start.delay.0);
            }
            if self.stands[id].steering.stop.load(Relaxed) || self.failure.is_some() {
                self.stands[id].state = State::Ended;
                announce(control, run, now, EventKind::Stopped(StreamId(id as u32), StopReason::Told));
            } else if free && now >= self.stands[id].ready_at_ns {
                ready.push(id);
            }
        }
        for (id, gate) in gates(self.plan, &self.jobs, &ready) {
            match self.failure {
                None => self.start_stream(scope, (id, gate), control, run),
                Some(_) => self.stands[id].state = State::Ended,
            }
        }
    }

    fn start_stream<'s>(
        &mut self,
        scope: &'s std::thread::Scope<'s, '_>,
        (id, gate): (usize, Arc<Gate>),
        control: &mut dyn Control,
        run: &mut Run,
    ) where
        'j: 's,
    {
        let stream = &self.plan.streams[id];
        let mine: Vec<Job<'j>> = self
            .jobs
            .iter_mut()
            .filter(|job| job.as_ref().is_some_and(|job| job.stream.0 as usize == id))
            .filter_map(Option::take)
            .collect();
        announce(control, run, self.clock.now(), EventKind::Started(StreamId(id as u32)));
        let stand = &mut self.stands[id];
        stand.state = if mine.is_empty() { State::Ended } else { State::Running };
        stand.running = mine.len() as u32;
        for (number, job) in (0..).zip(mine) {
            let published = Arc::new(Published::default());
            stand.published.push(published.clone());
            let (empty, empties) = sync_channel(2);
            let frame0 = frame(self.plan, stream, 0);
            let priorities = stream.kept_priorities();
            let empty_one = || empty_interval(job.stream, job.worker, &job.verbs, stream.keep, &frame0);
            let spare = || Box::new(empty_one().apart(&priorities));
            let _ = empty.try_send(spare());
            let first = *spare();
            stand.empties.push(empty);
            let seat = Seat {
                clock: self.clock,
                steering: stand.steering.clone(),
                published,
                notes: self.notes.clone(),
            };
            let (own_gate, began, full) = (gate.clone(), stand.began.clone(), self.full.clone());
            let (lengths, window) = ((self.plan.slot, self.plan.interval), stream.window);
            let spawned = std::thread::Builder::new()
                .name(format!("{}.{}", stream.name, job.worker))
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    let (id, worker) = (job.stream, job.worker);
                    pin(&job.cpus);
                    let prepared = (job.prepare)(&seat);
                    if !own_gate.wait() {
                        let _ = seat.notes.send(Message::Gone(id));
                        return;
                    }
                    let at_ns = *began.get_or_init(|| seat.clock.now());
                    let message = match prepared {
                        Err(error) => Message::Failed(error),
                        Ok(perform) => {
                            let before = sys::thread_usage();
                            let begin = Begin {
                                at_ns,
                                frame: framed(lengths, &window, at_ns),
                                interval: first,
                                outbox: Outbox { full, empty: empties },
                            };
                            let outcome = Box::new(perform(&seat, begin));
                            let used = sys::thread_usage().since(before);
                            Message::Ended { stream: id, worker, outcome, used }
                        }
                    };
                    let _ = seat.notes.send(message);
                    let _ = seat.notes.send(Message::Gone(id));
                });
            if let Err(error) = spawned {
                gate.call_off();
                stand.running = number;
                stand.state = if number == 0 { State::Ended } else { State::Running };
                self.fail(ExecuteError::Thread {
                    number,
                    stream: self.plan.streams[id].name.clone(),
                    errno: error.raw_os_error().unwrap_or(0),
                });
                return;
            }
        }
    }

    /// The run ends with its first error, and nobody goes on.
    fn fail(&mut self, error: ExecuteError) {
        self.failure.get_or_insert(error);
        self.stands.iter().for_each(|stand| stand.steering.stop.store(true, Relaxed));
    }

    fn take(&mut self, message: Message, control: &mut dyn Control, run: &mut Run) {
        let now = self.clock.now();
        match message {
            Message::Note(text) => announce(control, run, now, EventKind::Fallback(text)),
            Message::Queue(text) if run.queues.contains(&text) => {}
            Message::Queue(text) => run.queues.push(text),
            Message::Failed(error) => self.fail(error),
            Message::Ended { stream, worker, outcome, used } => {
                self.gather(control, run);
                self.ended(stream, worker, *outcome, used, control, run);
            }
            Message::Gone(stream) => {
                let stand = &mut self.stands[stream.0 as usize];
                stand.running = stand.running.saturating_sub(1);
                if stand.running == 0 {
                    stand.state = State::Ended;
                    let why = run
                        .workers
                        .iter()
                        .rev()
                        .find(|w| w.stream == stream)
                        .map_or(StopReason::Fault, |w| w.ended);
                    announce(control, run, now, EventKind::Stopped(stream, why));
                    self.take_down(stream);
                }
            }
        }
    }

    fn take_down(&self, stream: StreamId) {
        let Some(group) = self.plan.streams[stream.0 as usize].stop.takes_down else { return };
        for (other, stand) in self.plan.streams.iter().zip(&self.stands) {
            if other.group == group {
                stand.steering.stop.store(true, Relaxed);
            }
        }
    }

    fn ended(
        &mut self,
        stream: StreamId,
        worker: u32,
        outcome: WorkerOutcome,
        used: sys::Usage,
        control: &mut dyn Control,
        run: &mut Run,
    ) {
        let WorkerOutcome { interval, totals, faults, found, span_ns, outstanding_most, why } = outcome;
        control.interval(&interval);
        run.take(&interval);
        for event in fault_events(stream, faults, &self.targets[stream.0 as usize]) {
            control.event(&event);
            run.events.push(event);
        }
        let now = self.clock.now();
        found.into_iter().for_each(|what| announce(control, run, now, what));
        let published = self.stands[stream.0 as usize].published.get(worker as usize);
        run.samples.extend(worker_samples((stream, worker), now, &used, published.map(|p| p.batches())));
        run.workers.push(WorkerTotals {
            stream,
            worker,
            user_ns: used.user_ns,
            system_ns: used.system_ns,
            span_ns: if span_ns.0 == u64::MAX { (0, 0) } else { span_ns },
            counts: self.verbs[stream.0 as usize].iter().copied().zip(totals).collect(),
            ended: why,
            outstanding_most,
        });
    }

    fn gather(&mut self, control: &mut dyn Control, run: &mut Run) {
        while let Ok(mut interval) = self.intervals.try_recv() {
            control.interval(&interval);
            run.take(&interval);
            interval.clear();
            let (stream, worker) = (interval.stream.0 as usize, interval.worker as usize);
            if let Some(empty) = self.stands[stream].empties.get(worker) {
                let _ = empty.try_send(interval);
            }
        }
    }

    fn totals(&self) -> Vec<Totals> {
        let running = self.stands.iter().enumerate().filter(|(_, stand)| stand.state == State::Running);
        running
            .map(|(id, stand)| {
                let mut counts = [Counts::default(); CELLS];
                for published in &stand.published {
                    counts.iter_mut().zip(published.counts()).for_each(|(sum, c)| sum.merge(&c));
                }
                Totals {
                    stream: StreamId(id as u32),
                    group: self.plan.streams[id].group,
                    running: stand.running,
                    outstanding: stand.published.iter().map(|p| p.outstanding.load(Relaxed)).sum(),
                    verbs: Totals::verbs_of(&self.verbs[id]),
                    counts,
                }
            })
            .collect()
    }

    fn watch_for_stalls(&mut self, now: u64, control: &mut dyn Control, run: &mut Run) {
        let Nanos(limit) = self.plan.stall;
        for (id, stand) in self.stands.iter_mut().enumerate().filter(|(_, s)| s.state == State::Running) {
            let outstanding: u64 = stand.published.iter().map(|p| p.outstanding.load(Relaxed)).sum();
            let began = stand.began.get().copied().unwrap_or(now);
            let last = stand.published.iter().map(|p| p.last_ns.load(Relaxed)).max().unwrap_or(0).max(began);
            let silent = now.saturating_sub(last);
            if silent < limit || outstanding == 0 {
                stand.stalled = false;
            } else if !stand.stalled {
                stand.stalled = true;
                let what = EventKind::Stalled { stream: StreamId(id as u32), outstanding, for_ns: silent };
                announce(control, run, now, what);
            }
        }
    }

    fn obey(&self, steer: Steer) {
        let now = self.clock.now();
        let close = now - now % self.plan.slot.0.max(1);
        let stop = |steering: &Arc<Steering>| {
            steering.close_ns.fetch_min(close, Relaxed);
            steering.stop.store(true, std::sync::atomic::Ordering::Release);
        };
        let orders = |id: StreamId| self.stands.get(id.0 as usize).map(|stand| &stand.steering);
        match steer {
            Steer::Continue => {}
            Steer::Stop(streams, _) if streams.is_empty() => {
                self.stands.iter().for_each(|stand| stop(&stand.steering));
            }
            Steer::Stop(streams, _) => {
                streams.into_iter().filter_map(orders).for_each(stop);
            }
            Steer::Depth(stream, depth) => {
                orders(stream).into_iter().for_each(|s| s.depth.store(depth.max(1), Relaxed));
            }
            Steer::Rate(stream, rate) => {
                orders(stream).into_iter().for_each(|s| s.rate.store(rate.to_bits(), Relaxed));
            }
        }
    }
}

fn announce(control: &mut dyn Control, run: &mut Run, at_ns: u64, what: EventKind) {
    let event = Event { at_ns, what };
    control.event(&event);
    run.events.push(event);
}

/// Puts the calling thread on CPUs; where that is refused it stays where it is.
pub fn pin(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    let _ = rustix::thread::sched_setaffinity(None, &set);
}
