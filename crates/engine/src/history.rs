//! The last operations of a run, for whoever tells of damage. Kept only where somebody asks for it.

use fathom_drive::{Checked, Clock, Content, Operation};
use fathom_record::{EventKind, HistoryDepth, PastOperation};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::sys::arena::ArenaView;

/// What is kept of the last operations. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct History {
    depth: HistoryDepth,
    kept: Arc<Mutex<VecDeque<PastOperation>>>,
}

impl History {
    /// Keeps so much.
    pub fn new(depth: HistoryDepth) -> Self {
        History { depth, kept: Arc::default() }
    }

    /// The pieces of these bytes.
    fn pieces_of(&self, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let HistoryDepth { pieces, distance, bytes: most, .. } = self.depth;
        let starts = (0..pieces).map(|piece| piece * distance).take_while(|start| *start < bytes.len());
        let piece = |start: usize| bytes[start..].iter().take(most).copied().collect();
        starts.map(|start| (start as u32, piece(start))).collect()
    }

    fn keep(&self, past: PastOperation) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.depth.operations {
            kept.pop_front();
        }
        kept.push_back(past);
    }

    /// What was kept, the oldest first.
    pub fn take(&self) -> Vec<PastOperation> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

/// Keeps what comes back, and hands everything to the content that it stands before.
pub(crate) struct Remembering {
    history: History,
    clock: Clock,
    view: ArenaView,
    inner: Option<Box<dyn Content>>,
}

impl Remembering {
    /// Stands before a content where a history is asked for.
    pub(crate) fn before(
        inner: Option<Box<dyn Content>>,
        history: &History,
        clock: Clock,
        view: ArenaView,
    ) -> Option<Box<dyn Content>> {
        if history.depth.operations == 0 {
            return inner;
        }
        Some(Box::new(Remembering { history: history.clone(), clock, view, inner }))
    }
}

impl Content for Remembering {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        if let Some(inner) = &mut self.inner {
            inner.fill(operation, tag);
        }
    }

    fn check(&mut self, operation: &Operation, tag: u32) -> Checked {
        if operation.length > 0 {
            let bytes = self.view.bytes(tag, operation.length as usize);
            let pieces = self.history.pieces_of(bytes);
            let Operation { offset, length, target, verb, mark, .. } = *operation;
            let number = crate::marks::number(mark);
            let at_ns = self.clock.now();
            self.history.keep(PastOperation { at_ns, verb, target, offset, length, number, pieces });
        }
        self.inner.as_mut().map_or(Checked::Good, |inner| inner.check(operation, tag))
    }

    fn returned(&mut self, free: &mut Vec<u32>, found: &mut Vec<EventKind>) {
        if let Some(inner) = &mut self.inner {
            inner.returned(free, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_taken_where_there_are_bytes() {
        let bytes: Vec<u8> = (0..20).collect();
        let kept = |bytes_most, pieces, distance| {
            History::new(HistoryDepth { operations: 1, bytes: bytes_most, pieces, distance })
                .pieces_of(&bytes)
        };
        assert_eq!(kept(3, 1, 0), [(0, vec![0, 1, 2])]);
        assert_eq!(kept(2, 2, 8), [(0, vec![0, 1]), (8, vec![8, 9])]);
        assert_eq!(kept(4, 9, 18), [(0, vec![0, 1, 2, 3]), (18, vec![18, 19])]);
    }
}
