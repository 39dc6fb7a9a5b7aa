//! Queues that do one operation after the other, in `enter`: psync, vectored, mmap.

use crate::sys::arena::Arena;
use crate::sys::calls;
use fathom_drive::{Clock, Completion, Operation, Queue};
use std::collections::VecDeque;
use std::sync::Arc;

/// One operation done at once, in the calling thread.
pub trait Perform {
    /// Bytes moved, or a negated errno. The buffer holds `operation.length` bytes at least.
    fn perform(&mut self, operation: &Operation, buffer: *mut u8) -> i32;
}

/// Does one operation in each `enter`, so that orders and limits are looked at between any two. With more than
/// one outstanding the others wait, and their latency says so.
#[derive(Debug)]
pub struct SerialQueue<P> {
    clock: Clock,
    arena: Arc<Arena>,
    waiting: VecDeque<(u32, Operation)>,
    done: VecDeque<Completion>,
    perform: P,
}

impl<P> SerialQueue<P> {
    /// A queue for as many operations as the arena has buffers.
    pub(crate) fn over(clock: Clock, arena: Arc<Arena>, perform: P) -> Self {
        let depth = arena.count();
        let (waiting, done) = (VecDeque::with_capacity(depth), VecDeque::with_capacity(depth));
        SerialQueue { clock, arena, waiting, done, perform }
    }
}

impl<P: Perform> Queue for SerialQueue<P> {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        self.waiting.extend(tags.iter().copied().zip(operations.iter().copied()));
    }

    fn enter(&mut self, at_least: usize, until_ns: u64) {
        match self.waiting.pop_front() {
            Some((tag, operation)) => {
                assert!(operation.length as usize <= self.arena.stride());
                let result = self.perform.perform(&operation, self.arena.pointer(tag));
                self.done.push_back(Completion { tag, result });
            }
            None if self.done.len() < at_least.max(1) && until_ns != u64::MAX => {
                calls::sleep_until(&self.clock, until_ns);
            }
            None => {}
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.extend(self.done.drain(..));
    }
}
