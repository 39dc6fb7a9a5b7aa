//! The seam between whoever says what is to be run and whoever can run it: a request goes in, an outcome comes out.

use crate::{Control, ExecuteError, LogEntry, Run};
use fathom_content::Wrong;
use fathom_spec::{Permits, Plan, Policy, StreamId, TargetId, Verb};
use std::any::Any;
use std::sync::Arc;

/// Everything that can run a plan: the engine, a database, a simulated world, a team of hosts.
pub trait Execute {
    /// Runs a plan to its end and answers what was seen. Faults of the device are events of the run, no errors.
    fn execute(&mut self, request: Request<'_>, control: &mut dyn Control) -> Result<Outcome, ExecuteError>;
    /// Another one like it, for a thread of its own.
    fn another(&self) -> Box<dyn Execute + Send>;
}

/// All that an execution needs.
#[derive(Debug)]
pub struct Request<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// What the user has said may be written.
    pub permits: &'a Permits,
    /// Disks whose counters are sampled meanwhile.
    pub disks: &'a [Disk],
    /// What belongs to this execution alone.
    pub attachments: Attachments,
}

/// No permits: nothing but what is not there yet may be written.
static NO_PERMITS: Permits = Permits::new(Policy::Always);

impl<'a> Request<'a> {
    /// A plan that writes to nothing that is there.
    pub fn new(plan: &'a Plan) -> Self {
        Request { plan, permits: &NO_PERMITS, disks: &[], attachments: Attachments::default() }
    }

    /// The same with these permits.
    pub fn with_permits(self, permits: &'a Permits) -> Self {
        Request { permits, ..self }
    }

    /// The same with the counters of these disks.
    pub fn with_disks(self, disks: &'a [Disk]) -> Self {
        Request { disks, ..self }
    }
}

/// A disk whose counters are sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The name under which its samples are kept.
    pub name: String,
    /// Major number of the device.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// What an execution needs besides its plan, and what it shall keep. None of it is stored with the run.
#[derive(Default)]
pub struct Attachments {
    /// Targets that are open already.
    pub preopened: Vec<(TargetId, Preopened)>,
    /// Where single operations go as they come back; one sink a stream.
    pub sinks: Vec<(StreamId, Box<dyn Sink>)>,
    /// Recordings of targets that hold them in a form of another tool's: what they say, in the executor's own form.
    pub recordings: Vec<(TargetId, Arc<str>)>,
    /// How far an earlier run got, for streams that check what it wrote.
    pub known: Vec<(StreamId, Progress)>,
    /// How many of the last operations are kept, and how much of each.
    pub history: HistoryDepth,
    /// Are workers asked how far they got that write what can be verified?
    pub progress: bool,
    /// May the plan run commands? Each is a program that does what it will.
    pub commands: bool,
}

impl std::fmt::Debug for Attachments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Attachments { preopened, sinks, recordings, known, history, progress, commands } = self;
        f.debug_struct("Attachments")
            .field("preopened", &preopened.iter().map(|(id, _)| id).collect::<Vec<_>>())
            .field("sinks", &sinks.iter().map(|(id, _)| id).collect::<Vec<_>>())
            .field("recordings", &recordings.len())
            .field("known", known)
            .field("history", history)
            .field("progress", progress)
            .field("commands", commands)
            .finish()
    }
}

/// A target that is open already, in a form that only the executor which made it can open: the engine's carries the guard's
/// word for what may be written.
pub struct Preopened(pub Box<dyn Any + Send>);

/// Takes single operations as they come back. A sink that is slower than its stream holds it up: none is lost.
pub trait Sink: Send {
    /// Takes some, in the order in which one worker noted them.
    fn take(&mut self, entries: &[LogEntry]) -> std::io::Result<()>;
    /// Nothing will come any more.
    fn end(&mut self) -> std::io::Result<()>;
}

/// What came of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was seen, as it is stored.
    pub run: Run,
    /// The first records that were not as they should be, by place, with the bytes that were read.
    pub mismatches: Vec<Mismatch>,
    /// The last operations, the oldest first, where any are kept.
    pub history: Vec<PastOperation>,
    /// How far workers got, by stream and worker, where they are asked.
    pub progress: Vec<(StreamId, Progress)>,
}

impl Outcome {
    /// A run and nothing besides.
    pub fn of(run: Run) -> Self {
        Outcome { run, mismatches: Vec::new(), history: Vec::new(), progress: Vec::new() }
    }
}

/// One record that did not pass its check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Index into the plan's targets.
    pub target: u16,
    /// First byte of the record in it.
    pub offset: u64,
    /// Its number, where its source counts them; else 0.
    pub number: u64,
    /// What should have been read, where that was read from another target; else nothing.
    pub expected: Vec<u8>,
    /// What was read.
    pub bytes: Vec<u8>,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// How much of the last operations is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryDepth {
    /// Operations; 0: none.
    pub operations: usize,
    /// Bytes of each piece that is kept of each.
    pub bytes: usize,
    /// How many pieces.
    pub pieces: usize,
    /// From the start of one piece to the next, bytes.
    pub distance: usize,
}

/// One operation that came back in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastOperation {
    /// When it came back, ns since the run's start.
    pub at_ns: u64,
    /// What was done.
    pub verb: Verb,
    /// Index into the plan's targets.
    pub target: u16,
    /// First byte in it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Its number, where its source counts them; else 0.
    pub number: u64,
    /// Where in it a piece begins, and the piece.
    pub pieces: Vec<(u32, Vec<u8>)>,
}

/// How far one worker got that writes what can be verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Its number in its stream.
    pub worker: u32,
    /// Writes that it began, in the order in which its source says them.
    pub writes: u64,
    /// The most that it had outstanding.
    pub depth: u32,
    /// Target and first byte of those that came back last, the oldest first, at most as many as `depth`. Writes but the
    /// last `depth` have all come back.
    pub last: Vec<(u16, u64)>,
}
