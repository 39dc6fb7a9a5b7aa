//! Blocks that a verifying worker discards between writing and checking them: which ones, when, and what stands discarded
//! now. Memory goes with what is discarded, and with nothing else.

use super::no_overlap::Range;
use fathom_drive::Operation;
use fathom_spec::{Discards, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::{BTreeMap, VecDeque};

/// Nothing beyond what the load itself discards.
pub(crate) const OWN: Discards = Discards { percent: 0, after: u64::MAX, batch: 0, zeros: true };

/// How much of a range stands discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// Nothing of it.
    Nothing,
    /// A part: nobody can say what is read there.
    Some,
    /// All of it.
    All,
}

/// The discarding of one worker.
pub(crate) struct Discarding {
    plan: Discards,
    cell: u8,
    random: Xoshiro256Plus,
    /// Written, drawn to be discarded, and not yet.
    waiting: VecDeque<Operation>,
    /// Writes since discarding came last.
    since: u64,
    /// What stands discarded: the end by target and first byte.
    gone: BTreeMap<(u16, u64), u64>,
}

impl Discarding {
    /// `cell` is that of discards.
    pub(crate) fn new(plan: Discards, cell: u8, seed: u64) -> Self {
        let random = Xoshiro256Plus::seed_from_u64(seed ^ 0xD15C_A2D5);
        let (waiting, gone) = (VecDeque::new(), BTreeMap::new());
        Discarding { plan, cell, random, waiting, since: 0, gone }
    }

    /// Takes note of an operation that goes out, and puts the discards that are due behind it.
    pub(crate) fn after(&mut self, operation: &Operation, out: &mut Vec<Operation>) {
        if operation.verb == Verb::Trim {
            // The load's own: it stands until the write that follows it.
            return self.discarded(&Range::of(operation));
        }
        if !operation.verb.puts_bytes() {
            return;
        }
        self.cut(&Range::of(operation));
        // The upper bits of the generator are its better ones.
        if ((u128::from(self.random.next_u64()) * 100) >> 64) < u128::from(self.plan.percent) {
            self.waiting.push_back(*operation);
        }
        self.since += 1;
        if self.since < self.plan.after.max(1) {
            return;
        }
        self.since = 0;
        for _ in 0..self.plan.batch {
            let Some(written) = self.waiting.pop_front() else { break };
            self.discarded(&Range::of(&written));
            out.push(Operation { verb: Verb::Trim, cell: self.cell, mark: 0, ..written });
        }
    }

    fn discarded(&mut self, range: &Range) {
        self.cut(range);
        self.gone.insert((range.target, range.from), range.to);
    }

    /// Must what was discarded read as zeros?
    pub(crate) fn zeros(&self) -> bool {
        self.plan.zeros
    }

    /// How much of a range stands discarded.
    pub(crate) fn of(&self, range: &Range) -> Gone {
        let within: u64 =
            self.overlaps(range).map(|(from, to)| to.min(range.to) - from.max(range.from)).sum();
        match within {
            0 => Gone::Nothing,
            all if all == range.to - range.from => Gone::All,
            _ => Gone::Some,
        }
    }

    /// Discarded pieces that meet a range: none overlaps another, so only the last that begins before it can reach in.
    fn overlaps(&self, range: &Range) -> impl Iterator<Item = (u64, u64)> {
        let (target, from, to) = (range.target, range.from, range.to);
        let before = self.gone.range((target, 0)..(target, from)).next_back();
        let inside = self.gone.range((target, from)..(target, to));
        let pieces = before.into_iter().chain(inside).map(|((_, first), end)| (*first, *end));
        pieces.filter(move |(_, end)| *end > from)
    }

    /// A range does not stand discarded any more.
    fn cut(&mut self, range: &Range) {
        let met: Vec<(u64, u64)> = self.overlaps(range).collect();
        for (first, end) in met {
            self.gone.remove(&(range.target, first));
            if first < range.from {
                self.gone.insert((range.target, first), range.from);
            }
            if end > range.to {
                self.gone.insert((range.target, range.to), end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, length: u32) -> Operation {
        Operation { offset, due_ns: 0, mark: 0, length, target: 0, verb: Verb::Write, cell: 0 }
    }

    fn of(discarding: &Discarding, offset: u64, length: u32) -> Gone {
        discarding.of(&Range::of(&write(offset, length)))
    }

    fn all(after: u64, batch: u64) -> Discarding {
        Discarding::new(Discards { percent: 100, after, batch, zeros: true }, 1, 7)
    }

    #[test]
    fn the_oldest_are_discarded_a_batch_at_a_time() {
        let mut discarding = all(4, 3);
        let mut out = Vec::new();
        let mut seen = Vec::new();
        for block in 0..12 {
            out.clear();
            discarding.after(&write(block * 4096, 4096), &mut out);
            assert!(out.iter().all(|operation| operation.verb == Verb::Trim && operation.cell == 1));
            seen.push(out.iter().map(|operation| operation.offset / 4096).collect::<Vec<_>>());
        }
        let nothing = Vec::new;
        let of_four = |batch: Vec<u64>| vec![nothing(), nothing(), nothing(), batch];
        let wanted = [of_four(vec![0, 1, 2]), of_four(vec![3, 4, 5]), of_four(vec![6, 7, 8])].concat();
        assert_eq!(seen, wanted);
        assert_eq!(
            (of(&discarding, 8 * 4096, 4096), of(&discarding, 9 * 4096, 4096)),
            (Gone::All, Gone::Nothing)
        );
    }

    #[test]
    fn a_share_is_discarded() {
        let plan = Discards { percent: 25, after: 10, batch: 10, zeros: true };
        let mut discarding = Discarding::new(plan, 1, 7);
        let mut out = Vec::new();
        (0..10_000).for_each(|block| discarding.after(&write(block * 512, 512), &mut out));
        assert!((2300..2700).contains(&out.len()), "{}", out.len());
    }

    #[test]
    fn what_is_written_over_does_not_stand_discarded() {
        let mut discarding = all(1, 1);
        let mut out = Vec::new();
        discarding.after(&write(0, 16_384), &mut out);
        assert_eq!(of(&discarding, 4096, 8192), Gone::All);
        // A batch of nothing: only what is written counts.
        discarding.plan.batch = 0;
        discarding.after(&write(4096, 4096), &mut out);
        assert_eq!(of(&discarding, 0, 4096), Gone::All);
        assert_eq!(of(&discarding, 4096, 4096), Gone::Nothing);
        assert_eq!(of(&discarding, 8192, 8192), Gone::All);
        assert_eq!(of(&discarding, 0, 16_384), Gone::Some);
        discarding.after(&write(0, 65_536), &mut out);
        assert_eq!((of(&discarding, 0, 65_536), discarding.gone.len()), (Gone::Nothing, 0));
    }
}
