//! A queue that moves no bytes but changes how much space files have: it reserves and gives back, or sets sizes.

use crate::files::OpenTarget;
use fathom_drive::{Clock, Completion, Operation, Queue};
use fathom_spec::{SyncKind, Verb};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::sync::Arc;

/// What is done to the space of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// fallocate: a read reserves behind the file's end too, a write makes the file longer, a discard punches a hole.
    Allocate,
    /// ftruncate: a write sets the size to its offset.
    Truncate,
}

/// One call at a time.
pub(crate) struct SpaceQueue {
    targets: Arc<[OpenTarget]>,
    clock: Clock,
    change: Change,
    sync: SyncKind,
    done: Vec<Completion>,
}

impl SpaceQueue {
    /// A queue over open targets.
    pub(crate) fn new(targets: Arc<[OpenTarget]>, clock: Clock, change: Change, sync: SyncKind) -> Self {
        SpaceQueue { targets, clock, change, sync, done: Vec::with_capacity(1) }
    }

    fn perform(&self, operation: &Operation) -> i32 {
        let target = &self.targets[operation.target as usize];
        let Some(file) = target.fd() else { return -Errno::BADF.raw_os_error() };
        let (offset, length) = (operation.offset, u64::from(operation.length));
        let reserve = |flags| rustix::fs::fallocate(file, flags, offset, length);
        let answer = match (self.change, operation.verb) {
            (_, Verb::Sync) => {
                let kind = operation.sync_kind(self.sync);
                return crate::sys::psync::answer(crate::sys::psync::sync(target.raw(), kind));
            }
            (Change::Allocate, Verb::Read) => reserve(FallocateFlags::KEEP_SIZE),
            (Change::Allocate, Verb::Trim) => reserve(FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE),
            (Change::Allocate, _) => reserve(FallocateFlags::empty()),
            (Change::Truncate, Verb::Write) => rustix::fs::ftruncate(file, offset),
            (Change::Truncate, _) => Err(Errno::INVAL),
        };
        answer.map_or_else(|error| -error.raw_os_error(), |()| operation.length as i32)
    }
}

impl Queue for SpaceQueue {
    fn now(&mut self) -> u64 {
        self.clock.now()
    }
    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        for (tag, operation) in tags.iter().zip(operations) {
            let result = self.perform(operation);
            self.done.push(Completion { tag: *tag, result });
        }
    }
    fn enter(&mut self, at_least: usize, until_ns: u64) {
        if at_least == 0 && self.done.is_empty() {
            self.clock.sleep_until(until_ns);
        }
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
    }
}
