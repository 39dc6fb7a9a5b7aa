//! What a worker is made of: where operations come from, when they may start, what bytes they carry, how they
//! are done. The batch loop is generic over [`Queue`] only; [`Source`] and [`Content`] are dynamic: one call a batch, and one
//! an operation.

use crate::Pace;
use fathom_record::EventKind;
pub use fathom_record::Operation;

use std::sync::{Arc, Mutex};

/// One operation that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tag under which it was pushed.
    pub tag: u32,
    /// Bytes moved, or the negated error number. A sync answers its own length (0).
    pub result: i32,
}

/// What a source answers to a call of [`Source::fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Operations were appended, or room was 0.
    Some,
    /// Nothing (more) before this moment, ns since the run's start.
    Wait(u64),
    /// A completion must come first.
    Blocked,
    /// Nothing will come any more.
    Done,
}

/// Which operation comes next.
pub trait Source: Send {
    /// Appends at most `room` operations, each with its due time from `pace`. One call a batch.
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill;
    /// What has come back, with its result; one call a batch, only if asked for.
    fn completed(&mut self, _done: &[(Operation, i32)]) {}
    /// Does it ask to be told?
    fn wants_completions(&self) -> bool {
        false
    }
}

/// What the plan names as shared: one source behind a lock for all workers, locked once a batch.
impl<S: Source + ?Sized> Source for Arc<Mutex<Box<S>>> {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        self.lock().unwrap_or_else(|e| e.into_inner()).fill(now_ns, room, pace, out)
    }
    fn completed(&mut self, done: &[(Operation, i32)]) {
        self.lock().unwrap_or_else(|e| e.into_inner()).completed(done);
    }
    fn wants_completions(&self) -> bool {
        self.lock().unwrap_or_else(|e| e.into_inner()).wants_completions()
    }
}

/// How operations are done. Time belongs to the queue and waiting to the driver: a thread calls `enter`, the
/// simulator an event calendar.
pub trait Queue {
    /// Now, ns since the run's start.
    fn now(&mut self) -> u64;
    /// Takes operations under tags; none is refused (there is room for as many as the depth).
    fn push(&mut self, tags: &[u32], operations: &[Operation]);
    /// Submits what was pushed and waits until `at_least` completions are there or `until_ns` has come, in one
    /// system call where there is one. Must enter the kernel when `at_least > 0` even if nothing was pushed:
    /// under DEFER_TASKRUN completions are posted nowhere else.
    fn enter(&mut self, at_least: usize, until_ns: u64);
    /// Appends what has come back; never blocks.
    fn poll(&mut self, done: &mut Vec<Completion>);
}

/// What bytes stand in a block: filled before submission, checked after the completion.
pub trait Content: Send {
    /// Makes the bytes of one operation in the buffer of its tag.
    fn fill(&mut self, operation: &Operation, tag: u32);
    /// Judges the bytes of one operation that came back in full.
    fn check(&mut self, operation: &Operation, tag: u32) -> Checked;
    /// Tags whose check was put off and is done now, with what was found.
    fn returned(&mut self, _free: &mut Vec<u32>, _found: &mut Vec<EventKind>) {}
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub enum Checked {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad(Box<EventKind>),
    /// Somebody else checks; the tag comes back later through [`Content::returned`]. Only where
    /// [`crate::WorkerFeatures::spare`] says so: a plain worker does not ask for it.
    Later,
}
