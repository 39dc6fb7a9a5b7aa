//! The driver of simulated runs: an event calendar moves a virtual clock and steps all workers on one thread, so that a
//! run of many workers is exact and the same every time.
//!
//! At each event every worker looks at its orders and turns its slot, which costs nothing here: counts at the edge of a
//! slot are those of the edge, and an order reaches all workers at once.

use crate::driver::{Begin, Driver, Message, StreamLaunch, WorkerJob};
use crate::sim::{SimQueue, World};
use crate::{Published, Steering, Step, Worker, WorkerOutcome, sys};
use fathom_spec::StreamId;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

/// One worker to be, in virtual time.
pub type SimulatedJob<'a> = WorkerJob<MakeStepper<'a>>;
/// Makes a worker when its stream begins.
pub type MakeStepper<'a> = Box<dyn FnOnce(Arc<Steering>, Arc<Published>, Begin) -> Box<dyn Stepper> + 'a>;

/// A worker whose steps somebody else times.
pub trait Stepper {
    /// See [`Worker::step`].
    fn step(&mut self) -> Step;
    /// See [`Worker::finish`].
    fn finish(self: Box<Self>) -> WorkerOutcome;
}

impl<const FEATURES: bool> Stepper for Worker<SimQueue, FEATURES> {
    fn step(&mut self) -> Step {
        Worker::step(self)
    }
    fn finish(self: Box<Self>) -> WorkerOutcome {
        Worker::finish(*self)
    }
}

struct Running {
    stream: StreamId,
    worker: u32,
    stepper: Box<dyn Stepper>,
    /// The moment at which it wants to be stepped at the latest; `None`: it was never stepped.
    until_ns: Option<u64>,
}

/// The workers of one simulated run.
pub(crate) struct VirtualTime<'a> {
    world: Rc<RefCell<World>>,
    running: Vec<Running>,
    messages: Vec<Message>,
    jobs: PhantomData<MakeStepper<'a>>,
}

impl VirtualTime<'_> {
    /// No worker yet.
    pub(crate) fn new(world: Rc<RefCell<World>>) -> Self {
        VirtualTime { world, running: Vec::new(), messages: Vec::new(), jobs: PhantomData }
    }

    /// Steps some of the workers, in the order of their start.
    fn step(&mut self, which: impl Fn(&Running) -> bool) {
        let mut done = Vec::new();
        for (place, running) in self.running.iter_mut().enumerate().filter(|(_, running)| which(running)) {
            match running.stepper.step() {
                Step::Done => done.push(place),
                Step::Enter { until_ns, .. } => running.until_ns = Some(until_ns),
            }
        }
        for (removed, place) in done.into_iter().enumerate() {
            let Running { stream, worker, stepper, until_ns: _ } = self.running.remove(place - removed);
            let outcome = Box::new(stepper.finish());
            let used = sys::Usage::default();
            self.messages.push(Message::Ended { stream, worker, outcome, used });
            self.messages.push(Message::Gone(stream));
        }
    }
}

impl<'a> Driver for VirtualTime<'a> {
    type Prepare = MakeStepper<'a>;

    fn now(&self) -> u64 {
        self.world.borrow().now_ns()
    }

    fn lag_ns(&self, _slot_ns: u64) -> u64 {
        0
    }

    fn start(&mut self, streams: Vec<StreamLaunch<MakeStepper<'a>>>) {
        let now = self.now();
        for launch in streams.into_iter().flat_map(|stream| stream.workers) {
            let begin = launch.record.begin(|| now);
            let stepper = (launch.job.prepare)(launch.steering, launch.published, begin);
            let (stream, worker) = (launch.job.stream, launch.job.worker);
            self.running.push(Running { stream, worker, stepper, until_ns: None });
        }
        self.messages.push(Message::Queue("simulated".to_owned()));
    }

    fn wait(&mut self, until_ns: u64, messages: &mut Vec<Message>) {
        self.step(|running| running.until_ns.is_none());
        loop {
            messages.append(&mut self.messages);
            if !messages.is_empty() || self.now() >= until_ns {
                return;
            }
            let asked = self.running.iter().filter_map(|running| running.until_ns).min();
            self.world.borrow_mut().advance(asked.unwrap_or(u64::MAX).min(until_ns));
            self.step(|_| true);
        }
    }
}
