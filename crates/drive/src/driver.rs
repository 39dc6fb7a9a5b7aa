//! What the conductor asks of whoever gives workers their time, and what goes between the two: jobs one way, messages
//! the other. Knows nothing of threads and of virtual time.

use crate::{Clock, Frame, Outbox, Published, Steering, WorkerOutcome, recorder, sys};
use fathom_record::{ExecuteError, Interval};
use fathom_spec::{GroupId, Nanos, StreamId, Verb, Window};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

/// One worker to be, and how it is made.
pub struct WorkerJob<P> {
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
    pub prepare: P,
}

/// One worker to be, on a thread of its own.
pub type Job<'a> = WorkerJob<Prepare<'a>>;
/// A worker's part of a run, made on its own thread: first its queue and buffers, then the work.
pub type Prepare<'a> = Box<dyn FnOnce(&Seat) -> Result<Perform, ExecuteError> + Send + 'a>;
/// The work itself, once every worker of the stream is ready.
pub type Perform = Box<dyn FnOnce(&Seat, Begin) -> WorkerOutcome>;

/// What a worker finds on its thread.
pub struct Seat {
    /// The run's clock.
    pub clock: Clock,
    /// Orders.
    pub steering: Arc<Steering>,
    /// What it tells while it runs.
    pub published: Arc<Published>,
    pub(crate) notes: Sender<Message>,
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

/// What the conductor hears.
pub(crate) enum Message {
    /// Something was taken in place of what was asked for.
    Note(String),
    /// How I/O is done.
    Queue(String),
    /// A worker could not be made.
    Failed(ExecuteError),
    /// A worker has done its work.
    Ended { stream: StreamId, worker: u32, outcome: Box<WorkerOutcome>, used: sys::Usage },
    /// A worker of this stream is no more, whatever became of it.
    Gone(StreamId),
}

/// The workers of one stream that starts now.
pub(crate) struct StreamLaunch<P> {
    /// The group that the stream is of and takes down: such streams begin together.
    pub(crate) group: Option<GroupId>,
    pub(crate) workers: Vec<Launch<P>>,
}

/// One worker that starts now: its job, and what ties it to the conductor.
pub(crate) struct Launch<P> {
    pub(crate) job: WorkerJob<P>,
    /// The name of its stream.
    pub(crate) name: String,
    pub(crate) steering: Arc<Steering>,
    pub(crate) published: Arc<Published>,
    pub(crate) record: BlankRecord,
}

/// The record of a worker whose stream has not begun yet.
pub(crate) struct BlankRecord {
    /// The moment at which the stream began: all of its workers take that of the first.
    pub(crate) began: Arc<OnceLock<u64>>,
    /// Lengths of slot and interval.
    pub(crate) lengths: (Nanos, Nanos),
    pub(crate) window: Window,
    pub(crate) interval: Interval,
    pub(crate) outbox: Outbox,
}

impl BlankRecord {
    /// The stream begins: `now` is asked by its first worker only.
    pub(crate) fn begin(self, now: impl FnOnce() -> u64) -> Begin {
        let at_ns = *self.began.get_or_init(now);
        let frame = recorder::framed(self.lengths, &self.window, at_ns);
        Begin { at_ns, frame, interval: self.interval, outbox: self.outbox }
    }
}

/// Gives workers their time: threads of their own on the machine's clock, or turns on a virtual one.
pub(crate) trait Driver {
    /// What makes a worker.
    type Prepare;
    /// Now, ns since the run's start.
    fn now(&self) -> u64;
    /// How long after the edge of a slot all workers have told their counts of it.
    fn lag_ns(&self, slot_ns: u64) -> u64;
    /// Starts the workers of all streams that are ready. One that cannot be started says so by messages: `Failed`, and
    /// `Gone` for each worker that is missing.
    fn start(&mut self, streams: Vec<StreamLaunch<Self::Prepare>>);
    /// Waits until there are messages, or until this moment, and appends them.
    fn wait(&mut self, until_ns: u64, messages: &mut Vec<Message>);
}
