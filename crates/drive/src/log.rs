//! A line for each operation, on its way to a writer: a worker fills blocks of entries that it was given and hands
//! them over without waiting; what finds no empty block is lost and counted.

use crate::Operation;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

/// One operation as a log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it came back, ns since the run's start.
    pub at_ns: u64,
    /// When it was submitted, ns since the run's start.
    pub submitted_ns: u64,
    /// What it was.
    pub operation: Operation,
    /// Bytes moved, or the negated error number.
    pub result: i32,
    /// Which worker of the stream did it.
    pub worker: u32,
}

/// Entries on their way.
pub type LogBlock = Vec<LogEntry>;

/// A worker's end of a log.
pub struct LogPen {
    worker: u32,
    block: LogBlock,
    full: SyncSender<LogBlock>,
    empty: Receiver<LogBlock>,
    lost: Arc<AtomicU64>,
}

impl LogPen {
    /// A pen that writes into blocks of the capacity that `block` has. `lost` counts what found no empty one.
    pub fn new(
        worker: u32,
        block: LogBlock,
        full: SyncSender<LogBlock>,
        empty: Receiver<LogBlock>,
        lost: Arc<AtomicU64>,
    ) -> Self {
        LogPen { worker, block, full, empty, lost }
    }

    /// Notes one operation; never blocks, never allocates.
    pub(crate) fn note(&mut self, operation: Operation, submitted_ns: u64, at_ns: u64, result: i32) {
        if self.block.len() == self.block.capacity() && !self.turn() {
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        let worker = self.worker;
        self.block.push(LogEntry { at_ns, submitted_ns, operation, result, worker });
    }

    fn turn(&mut self) -> bool {
        let Ok(mut empty) = self.empty.try_recv() else { return false };
        empty.clear();
        std::mem::swap(&mut empty, &mut self.block);
        match self.full.try_send(empty) {
            Ok(()) => true,
            Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) => {
                self.lost.fetch_add(block.len() as u64, Relaxed);
                true
            }
        }
    }
}

impl Drop for LogPen {
    /// What is left goes out; here waiting for the writer harms no measurement.
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.block);
        let count = block.len() as u64;
        if count > 0 && self.full.send(block).is_err() {
            self.lost.fetch_add(count, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Verb;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn what_finds_no_empty_block_is_lost_and_counted_and_nothing_else() {
        let (full, blocks) = sync_channel(8);
        let (give, empty) = sync_channel(8);
        let lost = Arc::new(AtomicU64::new(0));
        let mut pen = LogPen::new(3, Vec::with_capacity(4), full, empty, lost.clone());
        let operation =
            Operation { offset: 0, due_ns: 0, mark: 0, length: 8, target: 0, verb: Verb::Read, cell: 0 };
        give.send(Vec::with_capacity(4)).unwrap();
        for at in 0..10 {
            pen.note(operation, 0, at, 8);
        }
        drop(pen);
        let times: Vec<u64> = blocks.iter().flatten().map(|entry| entry.at_ns).collect();
        assert_eq!((times, lost.load(Relaxed)), ((0..8).collect(), 2));
    }
}
