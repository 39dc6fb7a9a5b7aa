//! A queue in which everything is done at once: it measures fathom itself.

use crate::sys::calls;
use fathom_drive::{Clock, Completion, Operation, Queue};

/// Completes each operation, in full, at the next poll.
#[derive(Debug)]
pub struct NullQueue {
    clock: Clock,
    done: Vec<Completion>,
}

impl NullQueue {
    /// A queue with room for `depth` operations.
    pub fn new(clock: Clock, depth: u32) -> Self {
        NullQueue { clock, done: Vec::with_capacity(depth as usize) }
    }
}

impl Queue for NullQueue {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        self.done.extend(
            tags.iter().zip(operations).map(|(&tag, op)| Completion { tag, result: op.length as i32 }),
        );
    }

    #[inline]
    fn enter(&mut self, _at_least: usize, until_ns: u64) {
        if self.done.is_empty() && until_ns != u64::MAX && until_ns != 0 {
            calls::sleep_until(&self.clock, until_ns);
        }
    }

    #[inline]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
    }
}
