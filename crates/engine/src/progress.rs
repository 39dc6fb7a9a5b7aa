//! How far workers that write what can be verified got, for whoever verifies it another time; and the other way round:
//! what is known of an earlier run, so that no more is checked than it wrote.

use fathom_drive::Operation;
use fathom_record::Progress;
use fathom_spec::StreamId;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// What workers leave behind; copies share it.
#[derive(Clone, Debug, Default)]
pub struct Progresses {
    asked: bool,
    kept: Arc<Mutex<Vec<(StreamId, Progress)>>>,
}

impl Progresses {
    /// Workers are asked how far they got, if it is wanted.
    pub fn new(asked: bool) -> Self {
        Progresses { asked, kept: Arc::default() }
    }

    /// What was left behind, by stream and worker.
    pub fn take(&self) -> Vec<(StreamId, Progress)> {
        let mut kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.sort_by_key(|(stream, progress)| (stream.0, progress.worker));
        kept
    }

    /// What a worker notes, if it is asked.
    pub(crate) fn of(&self, stream: StreamId, worker: u32, depth: u32) -> Option<Noting> {
        let progress = Progress { worker, depth, ..Progress::default() };
        let last = VecDeque::with_capacity(depth as usize);
        self.asked.then(|| Noting { stream, progress, last, kept: self.kept.clone() })
    }
}

/// Notes how far a worker is; what it has noted is left behind when it goes.
#[derive(Debug)]
pub(crate) struct Noting {
    stream: StreamId,
    progress: Progress,
    last: VecDeque<(u16, u64)>,
    kept: Arc<Mutex<Vec<(StreamId, Progress)>>>,
}

impl Noting {
    /// These go out.
    pub(crate) fn began(&mut self, operations: &[Operation]) {
        self.progress.writes +=
            operations.iter().filter(|operation| operation.verb.puts_bytes()).count() as u64;
    }

    /// These have come back.
    pub(crate) fn completed(&mut self, done: &[(Operation, i32)]) {
        let whole = done.iter().filter(|(operation, result)| *result == operation.length as i32);
        for (operation, _) in whole.filter(|(operation, _)| operation.verb.puts_bytes()) {
            if self.last.len() >= self.progress.depth as usize {
                self.last.pop_front();
            }
            self.last.push_back((operation.target, operation.offset));
        }
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        let mut progress = std::mem::take(&mut self.progress);
        progress.last = self.last.drain(..).collect();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push((self.stream, progress));
    }
}

/// Goes through the writes of an earlier run in their order, and says which of them can be checked.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    writes: u64,
    /// So many have come back whatever the rest did.
    sure: u64,
    last: HashSet<(u16, u64)>,
    next: u64,
}

/// Whether a write of an earlier run can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// It came back.
    Back,
    /// Nobody knows what stands there.
    Perhaps,
    /// It was never begun, nor any after it.
    Never,
}

impl Known {
    pub(crate) fn new(progress: &Progress) -> Self {
        let Progress { worker: _, writes, depth, last } = progress;
        let sure = writes.saturating_sub((*depth).into());
        Known { writes: *writes, sure, last: last.iter().copied().collect(), next: 0 }
    }

    /// Of the next write.
    pub(crate) fn next(&mut self, operation: &Operation) -> Came {
        let number = self.next;
        self.next += 1;
        match number {
            beyond if beyond >= self.writes => Came::Never,
            number if number < self.sure => Came::Back,
            _ if self.last.contains(&(operation.target, operation.offset)) => Came::Back,
            _ => Came::Perhaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Verb;

    fn write(offset: u64) -> Operation {
        Operation { offset, due_ns: 0, mark: 0, length: 512, target: 3, verb: Verb::Write, cell: 0 }
    }

    #[test]
    fn what_was_begun_and_the_last_that_came_back_are_left_behind() {
        let progresses = Progresses::new(true);
        let mut noting = progresses.of(StreamId(2), 1, 2).unwrap();
        noting.began(&[write(0), write(512), Operation { verb: Verb::Read, ..write(0) }, write(1024)]);
        noting.completed(&[(write(0), 512), (write(512), -5)]);
        noting.completed(&[(Operation { verb: Verb::Read, ..write(9) }, 512), (write(1024), 512)]);
        noting.began(&[write(4096)]);
        noting.completed(&[(write(4096), 512)]);
        drop(noting);
        let last = vec![(3, 1024), (3, 4096)];
        assert_eq!(progresses.take(), [(StreamId(2), Progress { worker: 1, writes: 4, depth: 2, last })]);
        assert!(Progresses::default().of(StreamId(0), 0, 1).is_none());
    }

    #[test]
    fn only_what_came_back_can_be_checked() {
        let progress = Progress { worker: 0, writes: 4, depth: 2, last: vec![(3, 1536), (3, 0)] };
        let mut known = Known::new(&progress);
        let came: Vec<Came> = (0..6).map(|block| known.next(&write(block * 512))).collect();
        assert_eq!(came, [Came::Back, Came::Back, Came::Perhaps, Came::Back, Came::Never, Came::Never]);
    }
}
