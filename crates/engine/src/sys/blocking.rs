//! A queue whose calls block: the work is done in `push`, right after the worker has read the clock, and everything has
//! come back at the next poll.

use fathom_drive::{Clock, Completion, Operation, Queue};

/// How one operation is done.
pub trait Calls {
    /// Does it; bytes moved, or the negated errno.
    fn perform(&mut self, tag: u32, operation: &Operation) -> i32;
}

/// Calls, one after the other.
#[derive(Debug)]
pub struct Blocking<C> {
    calls: C,
    clock: Clock,
    done: Vec<Completion>,
}

impl<C: Calls> Blocking<C> {
    /// A queue with room for so many completions.
    pub(super) fn of(calls: C, clock: Clock, room: usize) -> Self {
        Blocking { calls, clock, done: Vec::with_capacity(room) }
    }

    /// How it is done.
    pub(super) fn calls(&self) -> &C {
        &self.calls
    }
}

impl<C: Calls> Queue for Blocking<C> {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    #[inline(always)]
    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        for (tag, operation) in tags.iter().zip(operations) {
            let result = self.calls.perform(*tag, operation);
            self.done.push(Completion { tag: *tag, result });
        }
    }

    fn enter(&mut self, at_least: usize, until_ns: u64) {
        if at_least == 0 && self.done.is_empty() {
            self.clock.sleep_until(until_ns);
        }
    }

    #[inline(always)]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
    }
}
