//! A line for each operation, on its way to a writer: a worker fills blocks of entries that it was given and hands
//! them over without waiting, when they are full or a second old; what finds no empty block is lost and counted. A pen
//! that waits loses nothing: with every block on its way it holds its worker up until one has come back.

pub use fathom_record::LogEntry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

/// Entries on their way.
pub type LogBlock = Vec<LogEntry>;

/// A worker's end of a log.
pub struct LogPen {
    worker: u32,
    block: LogBlock,
    full: SyncSender<LogBlock>,
    empty: Receiver<LogBlock>,
    lost: Arc<AtomicU64>,
    waits: bool,
    /// When it handed a block over last, ns since the run's start.
    handed_ns: u64,
}

/// A block this old is handed over before it is full.
const OLD_NS: u64 = 1_000_000_000;
/// A pen that waits hands over at once what comes so long after it handed over last: somebody reads as it is written.
const PROMPT_NS: u64 = 50_000_000;

impl LogPen {
    /// A pen that writes into blocks of the capacity that `block` has. `lost` counts what found no empty one.
    pub fn new(
        worker: u32,
        block: LogBlock,
        full: SyncSender<LogBlock>,
        empty: Receiver<LogBlock>,
        lost: Arc<AtomicU64>,
    ) -> Self {
        LogPen { worker, block, full, empty, lost, waits: false, handed_ns: 0 }
    }

    /// The same pen, waiting for an empty block rather than losing what finds none.
    pub fn waiting(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Whose it is.
    pub(crate) fn worker(&self) -> u32 {
        self.worker
    }

    /// Notes one operation; never allocates, and never blocks unless it was told to wait.
    pub(crate) fn note(&mut self, entry: LogEntry) {
        let at_ns = entry.at_ns;
        let full = self.block.len() == self.block.capacity();
        let old = self.block.first().is_some_and(|first| at_ns.saturating_sub(first.at_ns) >= OLD_NS);
        let turned = (full || old) && self.turn(full && self.waits);
        if full && !turned {
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        self.block.push(entry);
        if self.waits && at_ns.saturating_sub(self.handed_ns) >= PROMPT_NS && self.turn(false) {
            self.handed_ns = at_ns;
        }
    }

    fn turn(&mut self, waits: bool) -> bool {
        let empty = if waits { self.empty.recv().ok() } else { self.empty.try_recv().ok() };
        let Some(mut empty) = empty else { return false };
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
    use crate::Operation;
    use fathom_spec::Verb;
    use std::sync::mpsc::sync_channel;

    fn entry(at_ns: u64) -> LogEntry {
        let operation =
            Operation { offset: 0, due_ns: 0, mark: 0, length: 8, target: 0, verb: Verb::Read, cell: 0 };
        LogEntry { at_ns, submitted_ns: 0, submit_ns: 7, operation, priority: 0, result: 8, worker: 3 }
    }

    #[test]
    fn what_finds_no_empty_block_is_lost_and_counted_and_nothing_else() {
        let (full, blocks) = sync_channel(8);
        let (give, empty) = sync_channel(8);
        let lost = Arc::new(AtomicU64::new(0));
        let mut pen = LogPen::new(3, Vec::with_capacity(4), full, empty, lost.clone());
        give.send(Vec::with_capacity(4)).unwrap();
        for at in 0..10 {
            pen.note(entry(at));
        }
        drop(pen);
        let times: Vec<u64> = blocks.iter().flatten().map(|entry| entry.at_ns).collect();
        assert_eq!((times, lost.load(Relaxed)), ((0..8).collect(), 2));
    }

    #[test]
    fn a_block_goes_out_when_it_is_a_second_old_and_a_pen_that_waits_loses_nothing() {
        let (full, blocks) = sync_channel(8);
        let (give, empty) = sync_channel(8);
        let lost = Arc::new(AtomicU64::new(0));
        let mut pen = LogPen::new(0, Vec::with_capacity(2), full, empty, lost.clone()).waiting();
        give.send(Vec::with_capacity(2)).unwrap();
        pen.note(entry(1));
        assert!(blocks.try_recv().is_err());
        pen.note(entry(1 + OLD_NS));
        let block = blocks.try_recv().unwrap();
        assert_eq!(block[0].submit_ns, 7);
        give.send(block).unwrap();
        let writer = std::thread::spawn(move || {
            let mut seen = 0;
            for block in blocks {
                seen += block.len();
                let _ = give.send(block);
            }
            seen
        });
        (0..100).for_each(|at| pen.note(entry(at)));
        drop(pen);
        assert_eq!((writer.join().unwrap(), lost.load(Relaxed)), (101, 0));
    }
}
