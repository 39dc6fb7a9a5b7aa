//! The conductor of a run: starts each stream when those before it have ended, collects what workers hand over, tells
//! the watcher once a slot and passes its orders on. Knows neither threads nor the calendar: a [`Driver`] gives workers
//! their time.

use crate::driver::{BlankRecord, Driver, Job, Launch, Message, StreamLaunch, WorkerJob};
use crate::recorder::framed;
use crate::rusage::worker_samples;
use crate::sim::World;
use crate::threads::Threads;
use crate::virtual_time::{SimulatedJob, VirtualTime};
use crate::{Clock, Fault, Outbox, Published, Steering, WorkerOutcome, empty_interval, sys};
use fathom_record::*;
use fathom_spec::{Bytes, GroupId, Nanos, Plan, Stream, StreamId, Verb};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

/// A wake-up that comes later than this was no matter of scheduling.
const PAUSE_LEAST_NS: u64 = 500_000_000;

/// Reads other people's counters; called by the conductor once an interval.
pub trait Sampler {
    /// Appends what is read now.
    fn sample(&mut self, now_ns: u64, out: &mut Vec<Sample>);
}

impl Sampler for () {
    fn sample(&mut self, _now_ns: u64, _out: &mut Vec<Sample>) {}
}

/// Runs jobs as a plan says, each on a thread of its own, and answers what was seen.
pub fn conduct(
    plan: &Plan,
    jobs: Vec<Job<'_>>,
    clock: Clock,
    sampler: &mut dyn Sampler,
    control: &mut dyn Control,
) -> Result<Run, ExecuteError> {
    std::thread::scope(|scope| {
        Conductor::new(plan, jobs, Threads::new(scope, clock), control).conduct(sampler)
    })
}

/// Runs jobs as a plan says, in the virtual time of a world whose devices they use, and answers what was seen.
pub fn simulate(
    plan: &Plan,
    jobs: Vec<SimulatedJob<'_>>,
    world: Rc<RefCell<World>>,
    sampler: &mut dyn Sampler,
    control: &mut dyn Control,
) -> Result<Run, ExecuteError> {
    Conductor::new(plan, jobs, VirtualTime::new(world), control).conduct(sampler)
}

/// Other people's counters are read no oftener than this, however short the intervals of latencies are.
const SAMPLES_APART_NS: u64 = 1_000_000_000;

/// A worker's faults as events.
fn fault_events(stream: StreamId, faults: Vec<Fault>, targets: &[String]) -> Vec<Event> {
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

/// One stream while the run goes on.
struct StreamState {
    phase: Phase,
    /// When it may start, once those before it have ended, ns since the run's start.
    ready_at_ns: Option<u64>,
    began: Arc<OnceLock<u64>>,
    running: u32,
    steering: Arc<Steering>,
    /// Until when it counted, ns since the run's start.
    to_ns: u64,
    published: Vec<Arc<Published>>,
    /// Where each worker gets empty intervals from.
    empties: Vec<SyncSender<Box<Interval>>>,
    stalled: bool,
    targets: Arc<Vec<String>>,
    verbs: Vec<Verb>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Running,
    Ended,
}

impl StreamState {
    fn waiting(depth: u32) -> Self {
        StreamState {
            phase: Phase::Waiting,
            ready_at_ns: None,
            began: Arc::new(OnceLock::new()),
            running: 0,
            steering: Arc::new(Steering::new(depth)),
            to_ns: 0,
            published: Vec::new(),
            empties: Vec::new(),
            stalled: false,
            targets: Arc::default(),
            verbs: Vec::new(),
        }
    }

    fn outstanding(&self) -> u64 {
        self.published.iter().map(|published| published.outstanding.load(Relaxed)).sum()
    }
}

struct Conductor<'c, D: Driver> {
    plan: &'c Plan,
    driver: D,
    control: &'c mut dyn Control,
    run: Run,
    jobs: Vec<WorkerJob<D::Prepare>>,
    streams: Vec<StreamState>,
    /// Where workers hand over intervals.
    full: SyncSender<Box<Interval>>,
    intervals: Receiver<Box<Interval>>,
    failure: Option<ExecuteError>,
}

impl<'c, D: Driver> Conductor<'c, D> {
    fn new(
        plan: &'c Plan,
        jobs: Vec<WorkerJob<D::Prepare>>,
        driver: D,
        control: &'c mut dyn Control,
    ) -> Self {
        let (full, intervals) = sync_channel(jobs.len() * 2 + 8);
        let mut streams: Vec<StreamState> =
            plan.streams.iter().map(|stream| StreamState::waiting(stream.depth.most())).collect();
        for job in &jobs {
            let stream = &mut streams[job.stream.0 as usize];
            stream.targets = job.targets.clone();
            stream.verbs = job.verbs.clone();
        }
        let run = Run::empty(plan);
        Conductor { plan, driver, control, run, jobs, streams, full, intervals, failure: None }
    }

    fn conduct(mut self, sampler: &mut dyn Sampler) -> Result<Run, ExecuteError> {
        sampler.sample(self.driver.now(), &mut self.run.samples);
        self.run_streams(sampler);
        self.gather();
        sampler.sample(self.driver.now(), &mut self.run.samples);
        let mut run = self.run;
        run.length_ns = self.driver.now();
        run.intervals.sort_by_key(|i| (i.stream, i.start_ns));
        run.windows = windows(self.plan, &self.streams);
        run.workers.sort_by_key(|w| (w.stream, w.worker));
        match self.failure {
            Some(error) => Err(error),
            None => Ok(run),
        }
    }

    /// Goes on until every stream has ended. The watcher is told of a slot when its counts are there, as of its edge.
    fn run_streams(&mut self, sampler: &mut dyn Sampler) {
        let slot = self.plan.slot.0.max(1);
        let lag = self.driver.lag_ns(slot);
        let mut next_slot = slot + lag;
        let every = self.plan.interval.0.max(SAMPLES_APART_NS);
        let mut next_sample = every;
        let mut messages = Vec::new();
        loop {
            self.start_ready();
            if self.streams.iter().all(|stream| stream.phase == Phase::Ended) {
                return;
            }
            let until = next_slot.min(self.next_start()).max(self.driver.now());
            self.driver.wait(until, &mut messages);
            self.note_pause(until);
            messages.drain(..).for_each(|message| self.take(message));
            self.gather();
            let now = self.driver.now();
            if now >= next_sample {
                sampler.sample(now, &mut self.run.samples);
                next_sample = now - now % every + every;
            }
            let goes_on = self.streams.iter().any(|stream| stream.phase != Phase::Ended);
            if now >= next_slot && goes_on {
                let edge = (now - lag) - (now - lag) % slot;
                next_slot = edge + slot + lag;
                self.watch_for_stalls(now);
                let steer = self.control.slot(edge, &self.totals(edge));
                self.obey(steer);
            }
        }
    }

    /// Whoever wakes long after the moment that it asked for did not run.
    fn note_pause(&mut self, asked_ns: u64) {
        let now = self.driver.now();
        let for_ns = now.saturating_sub(asked_ns);
        if for_ns >= PAUSE_LEAST_NS {
            self.announce(now, EventKind::Paused { for_ns });
        }
    }

    fn next_start(&self) -> u64 {
        let waiting = self.streams.iter().filter(|stream| stream.phase == Phase::Waiting);
        waiting.filter_map(|stream| stream.ready_at_ns).min().unwrap_or(u64::MAX)
    }

    fn start_ready(&mut self) {
        let now = self.driver.now();
        let mut launches = Vec::new();
        for id in 0..self.streams.len() {
            if self.streams[id].phase != Phase::Waiting {
                continue;
            }
            if self.failure.is_some() || self.streams[id].steering.stop.load(Relaxed) {
                self.streams[id].phase = Phase::Ended;
                self.announce(now, EventKind::Stopped(StreamId(id as u32), StopReason::Told));
                continue;
            }
            let start = &self.plan.streams[id].start;
            if !start.after.iter().all(|before| self.streams[before.0 as usize].phase == Phase::Ended) {
                continue;
            }
            let ready_at_ns = *self.streams[id].ready_at_ns.get_or_insert(now.saturating_add(start.delay.0));
            if now >= ready_at_ns {
                launches.push(self.launch(id));
                self.announce(now, EventKind::Started(StreamId(id as u32)));
            }
        }
        if !launches.is_empty() {
            self.driver.start(launches);
        }
    }

    /// Makes a stream's workers ready to start.
    fn launch(&mut self, id: usize) -> StreamLaunch<D::Prepare> {
        let jobs: Vec<_> = self.jobs.extract_if(.., |job| job.stream.0 as usize == id).collect();
        let (plan, full) = (self.plan, &self.full);
        let (stream, state) = (&plan.streams[id], &mut self.streams[id]);
        state.phase = if jobs.is_empty() { Phase::Ended } else { Phase::Running };
        state.running = jobs.len() as u32;
        let (lengths, window) = ((plan.slot, plan.interval), stream.window);
        let frame = framed(lengths, &window, 0);
        let priorities = stream.kept_priorities();
        let workers = jobs.into_iter().map(|job| {
            let published = Arc::new(Published::default());
            let (empty, empties) = sync_channel(2);
            let blank = || empty_interval(job.stream, job.worker, &job.verbs, stream.keep, &frame);
            let _ = empty.try_send(Box::new(blank().apart(&priorities)));
            state.published.push(published.clone());
            state.empties.push(empty);
            let record = BlankRecord {
                began: state.began.clone(),
                lengths,
                window,
                interval: blank().apart(&priorities),
                outbox: Outbox { full: full.clone(), empty: empties },
            };
            Launch { job, name: stream.name.clone(), steering: state.steering.clone(), published, record }
        });
        StreamLaunch { group: self::group(plan, id), workers: workers.collect() }
    }

    /// The run ends with its first error, and nobody goes on.
    fn fail(&mut self, error: ExecuteError) {
        self.failure.get_or_insert(error);
        self.streams.iter().for_each(|stream| stream.steering.stop.store(true, Relaxed));
    }

    fn take(&mut self, message: Message) {
        let now = self.driver.now();
        match message {
            Message::Note(text) => self.announce(now, EventKind::Fallback(text)),
            Message::Queue(text) if self.run.queues.contains(&text) => {}
            Message::Queue(text) => self.run.queues.push(text),
            Message::Failed(error) => self.fail(error),
            Message::Ended { stream, worker, outcome, used } => {
                self.gather();
                self.ended(stream, worker, *outcome, used);
            }
            Message::Gone(id) => {
                let stream = &mut self.streams[id.0 as usize];
                stream.running = stream.running.saturating_sub(1);
                if stream.running == 0 {
                    stream.phase = Phase::Ended;
                    let last = self.run.workers.iter().rev().find(|worker| worker.stream == id);
                    let stopped = stream.steering.stop.load(Relaxed) && self.failure.is_none();
                    let without_workers = if stopped { StopReason::Told } else { StopReason::Fault };
                    let why = last.map_or(without_workers, |worker| worker.ended);
                    self.announce(now, EventKind::Stopped(id, why));
                    self.take_down(id);
                }
            }
        }
    }

    fn take_down(&self, id: StreamId) {
        let Some(group) = self.plan.streams[id.0 as usize].stop.takes_down else { return };
        for (other, stream) in self.plan.streams.iter().zip(&self.streams) {
            if other.group == group {
                stream.steering.stop.store(true, Relaxed);
            }
        }
    }

    fn ended(&mut self, id: StreamId, worker: u32, outcome: WorkerOutcome, used: sys::Usage) {
        let WorkerOutcome { interval, totals, faults, found, span_ns, outstanding_most, why } = outcome;
        self.control.interval(&interval);
        self.run.take(&interval);
        let stream = &mut self.streams[id.0 as usize];
        stream.to_ns = stream.to_ns.max(interval.start_ns + interval.length_ns);
        let stream = &self.streams[id.0 as usize];
        let batches = stream.published.get(worker as usize).map(|published| published.batches());
        let now = self.driver.now();
        self.run.samples.extend(worker_samples((id, worker), now, &used, batches));
        self.run.workers.push(WorkerTotals {
            stream: id,
            worker,
            user_ns: used.user_ns,
            system_ns: used.system_ns,
            span_ns: if span_ns.0 == u64::MAX { (0, 0) } else { span_ns },
            counts: stream.verbs.iter().copied().zip(totals).collect(),
            ended: why,
            outstanding_most,
        });
        for Event { at_ns, what } in fault_events(id, faults, &stream.targets) {
            self.announce(at_ns, what);
        }
        found.into_iter().for_each(|what| self.announce(now, what));
    }

    fn gather(&mut self) {
        while let Ok(mut interval) = self.intervals.try_recv() {
            self.control.interval(&interval);
            self.run.take(&interval);
            interval.clear();
            let (stream, worker) = (interval.stream.0 as usize, interval.worker as usize);
            if let Some(empty) = self.streams[stream].empties.get(worker) {
                let _ = empty.try_send(interval);
            }
        }
    }

    /// What the streams that run had done at the edge of a slot.
    fn totals(&self, edge_ns: u64) -> Vec<Totals> {
        let running = self.streams.iter().enumerate().filter(|(_, stream)| stream.phase == Phase::Running);
        running
            .map(|(id, stream)| {
                let mut counts = [Counts::default(); CELLS];
                for published in &stream.published {
                    counts.iter_mut().zip(published.counts_at(edge_ns)).for_each(|(sum, c)| sum.merge(&c));
                }
                Totals {
                    stream: StreamId(id as u32),
                    group: self.plan.streams[id].group,
                    running: stream.running,
                    outstanding: stream.outstanding(),
                    verbs: Totals::verbs_of(&stream.verbs),
                    counts,
                }
            })
            .collect()
    }

    fn watch_for_stalls(&mut self, now: u64) {
        let Nanos(limit) = self.plan.stall;
        let mut stalls = Vec::new();
        let running = self.streams.iter_mut().enumerate().filter(|(_, s)| s.phase == Phase::Running);
        for (id, stream) in running {
            let outstanding = stream.outstanding();
            let began = stream.began.get().copied().unwrap_or(now);
            let last = stream.published.iter().map(|p| p.last_ns.load(Relaxed)).max().unwrap_or(0).max(began);
            let silent = now.saturating_sub(last);
            if silent < limit || outstanding == 0 {
                stream.stalled = false;
            } else if !stream.stalled {
                stream.stalled = true;
                stalls.push(EventKind::Stalled { stream: StreamId(id as u32), outstanding, for_ns: silent });
            }
        }
        stalls.into_iter().for_each(|what| self.announce(now, what));
    }

    fn obey(&self, steer: Steer) {
        let now = self.driver.now();
        let close = now - now % self.plan.slot.0.max(1);
        let stop = |steering: &Arc<Steering>| {
            steering.close_ns.fetch_min(close, Relaxed);
            steering.stop.store(true, Release);
        };
        let orders = |id: StreamId| self.streams.get(id.0 as usize).map(|stream| &stream.steering);
        match steer {
            Steer::Continue => {}
            Steer::Stop(streams, _) if streams.is_empty() => {
                self.streams.iter().for_each(|stream| stop(&stream.steering));
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

    fn announce(&mut self, at_ns: u64, what: EventKind) {
        let event = Event { at_ns, what };
        self.control.event(&event);
        self.run.events.push(event);
    }
}

/// What of each stream counted; nothing of those that never began.
fn windows(plan: &Plan, streams: &[StreamState]) -> Vec<WindowSpan> {
    let all = plan.streams.iter().zip(streams).enumerate();
    let span = |(id, (stream, state)): (usize, (&Stream, &StreamState))| {
        let from_ns = framed((plan.slot, plan.interval), &stream.window, *state.began.get()?).from_ns;
        let span = WindowSpan { stream: StreamId(id as u32), from_ns, to_ns: state.to_ns };
        (span.from_ns < span.to_ns).then_some(span)
    };
    all.filter_map(span).collect()
}

/// The group that a stream is of and takes down.
fn group(plan: &Plan, id: usize) -> Option<GroupId> {
    let stream = &plan.streams[id];
    stream.stop.takes_down.filter(|group| *group == stream.group)
}
