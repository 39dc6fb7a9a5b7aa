//! No two operations that overlap in flight at the same time: what is drawn and overlaps waits, and everything behind
//! it, so that the order stays.

use fathom_drive::{Fill, Operation, Pace, Source};
use std::collections::VecDeque;

/// A range of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(super) target: u16,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Range {
    pub(crate) fn of(operation: &Operation) -> Range {
        let Operation { offset, length, target, .. } = *operation;
        Range { target, from: offset, to: offset + u64::from(length) }
    }

    pub(crate) fn meets(&self, other: &Range) -> bool {
        self.target == other.target && self.from < other.to && other.from < self.to
    }
}

/// What is in flight, and what waits for it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    flight: Vec<Range>,
    held: VecDeque<Operation>,
}

impl Gate {
    /// Puts an operation behind those that wait.
    pub(crate) fn hold(&mut self, operation: Operation) {
        self.held.push_back(operation);
    }

    /// Starts what may be started; true when none waits any more.
    pub(crate) fn release(&mut self, room: &mut usize, out: &mut Vec<Operation>) -> bool {
        while let Some(operation) = self.held.front().copied() {
            let range = Range::of(&operation);
            if *room == 0 || self.flight.iter().any(|other| other.meets(&range)) {
                return false;
            }
            self.held.pop_front();
            if operation.length > 0 {
                self.flight.push(range);
            }
            out.push(operation);
            *room -= 1;
        }
        true
    }

    /// These have come back.
    pub(crate) fn completed(&mut self, done: &[(Operation, i32)]) {
        for (operation, _) in done {
            let range = Range::of(operation);
            if let Some(at) = self.flight.iter().position(|other| *other == range) {
                self.flight.swap_remove(at);
            }
        }
    }

    /// Does anything wait?
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Has everything with bytes come back?
    pub(crate) fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }
}

/// A source of which no two overlapping operations are in flight together.
pub(crate) struct NoOverlap {
    source: Box<dyn Source>,
    gate: Gate,
    drawn: Vec<Operation>,
}

impl NoOverlap {
    pub(crate) fn new(source: Box<dyn Source>) -> Self {
        NoOverlap { source, gate: Gate::default(), drawn: Vec::new() }
    }
}

impl Source for NoOverlap {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let mut room = room;
        if !self.gate.release(&mut room, out) {
            return if room == 0 { Fill::Some } else { Fill::Blocked };
        }
        if room == 0 {
            return Fill::Some;
        }
        self.drawn.clear();
        let fill = self.source.fill(now_ns, room, pace, &mut self.drawn);
        self.drawn.drain(..).for_each(|operation| self.gate.hold(operation));
        match self.gate.release(&mut room, out) {
            true => fill,
            // What waits comes before an end or a later moment.
            false => Fill::Blocked,
        }
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        self.gate.completed(done);
        self.source.completed(done);
    }

    fn wants_completions(&self) -> bool {
        true
    }
}
