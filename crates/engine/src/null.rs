//! A queue that does nothing: every operation has come back at the next poll. It measures fathom itself.

use fathom_drive::{Clock, Completion, Operation, Queue};

/// Nothing, at once.
#[derive(Debug)]
pub struct NullQueue {
    clock: Clock,
    done: Vec<Completion>,
}

impl NullQueue {
    /// Room for so many operations.
    pub fn new(clock: Clock, depth: u32) -> Self {
        NullQueue { clock, done: Vec::with_capacity(depth as usize) }
    }
}

impl Queue for NullQueue {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }
    #[inline(always)]
    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        let back = tags
            .iter()
            .zip(operations)
            .map(|(tag, operation)| Completion { tag: *tag, result: operation.length as i32 });
        self.done.extend(back);
    }
    #[inline(always)]
    fn enter(&mut self, at_least: usize, until_ns: u64) {
        if at_least == 0 && self.done.is_empty() {
            self.clock.sleep_until(until_ns);
        }
    }
    #[inline(always)]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        std::mem::swap(done, &mut self.done);
        self.done.clear();
    }
}
