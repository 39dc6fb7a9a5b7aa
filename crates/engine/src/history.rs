//! The last operations of a run, for whoever tells of damage. Kept only where somebody asks for it.

use fathom_drive::{Checked, Clock, Content, Operation};
use fathom_record::EventKind;
use fathom_spec::Verb;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::sys::arena::ArenaView;

/// One operation that came back in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// When it came back, ns since the run's start.
    pub at_ns: u64,
    /// What was done.
    pub verb: Verb,
    /// Index into the plan's targets.
    pub target: u16,
    /// First byte in it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Its number, where its source counts them; else 0.
    pub number: u64,
    /// Where in it a piece begins, and the piece.
    pub pieces: Vec<(u32, Vec<u8>)>,
}

/// How much is kept, and what was. Copies share what was kept.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Operations that are kept; 0: none.
    pub most: usize,
    /// Bytes of each piece that is kept of each.
    pub bytes: usize,
    /// How many pieces.
    pub pieces: usize,
    /// From the start of one piece to the next, bytes.
    pub apart: usize,
    kept: Arc<Mutex<VecDeque<Past>>>,
}

impl History {
    /// Keeps the last `most` operations, with the first `bytes` of each.
    pub fn of(most: usize, bytes: usize) -> Self {
        History { most, bytes, pieces: 1, apart: 0, kept: Arc::default() }
    }

    /// Keeps so many pieces of each operation, so far apart, as far as it has bytes there.
    pub fn with_pieces(self, pieces: usize, apart: usize) -> Self {
        History { pieces, apart, ..self }
    }

    /// The pieces of these bytes.
    fn pieces_of(&self, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let starts =
            (0..self.pieces).map(|piece| piece * self.apart).take_while(|start| *start < bytes.len());
        let piece = |start: usize| bytes[start..].iter().take(self.bytes).copied().collect();
        starts.map(|start| (start as u32, piece(start))).collect()
    }

    fn keep(&self, past: Past) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.most {
            kept.pop_front();
        }
        kept.push_back(past);
    }

    /// What was kept, the oldest first.
    pub fn take(&self) -> Vec<Past> {
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
        if history.most == 0 {
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
            self.history.keep(Past { at_ns, verb, target, offset, length, number, pieces });
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
        let kept = |history: History| history.pieces_of(&bytes);
        assert_eq!(kept(History::of(1, 3)), [(0, vec![0, 1, 2])]);
        assert_eq!(kept(History::of(1, 2).with_pieces(2, 8)), [(0, vec![0, 1]), (8, vec![8, 9])]);
        assert_eq!(kept(History::of(1, 4).with_pieces(9, 18)), [(0, vec![0, 1, 2, 3]), (18, vec![18, 19])]);
    }
}
