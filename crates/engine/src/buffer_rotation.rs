//! Buffers that move from one operation to the next: each begins a byte further behind than the one before it.

use crate::sys::arena::Turns;
use fathom_drive::{Checked, Content, Operation};
use fathom_record::EventKind;

/// Moves the buffer of each operation before it is filled, and hands everything to the content that it stands before.
pub(crate) struct BufferRotation {
    turns: Turns,
    next: u8,
    inner: Option<Box<dyn Content>>,
}

impl BufferRotation {
    /// Stands before a content where buffers turn.
    pub(crate) fn before(inner: Option<Box<dyn Content>>, turns: Option<Turns>) -> Option<Box<dyn Content>> {
        match turns {
            None => inner,
            Some(turns) => Some(Box::new(BufferRotation { turns, next: 0, inner })),
        }
    }
}

impl Content for BufferRotation {
    fn fill(&mut self, operation: &Operation, tag: u32) {
        self.turns.set(tag, self.next);
        self.next = (self.next + 1) % self.turns.count();
        if let Some(inner) = &mut self.inner {
            inner.fill(operation, tag);
        }
    }

    fn check(&mut self, operation: &Operation, tag: u32) -> Checked {
        self.inner.as_mut().map_or(Checked::Good, |inner| inner.check(operation, tag))
    }

    fn returned(&mut self, free: &mut Vec<u32>, found: &mut Vec<EventKind>) {
        if let Some(inner) = &mut self.inner {
            inner.returned(free, found);
        }
    }
}
