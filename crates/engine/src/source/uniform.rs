//! The common case, tight: one size, one verb, one target, every block as likely as every other.

use crate::geometry::Grid;
use fathom_drive::{Fill, Operation, Pace, Source};
use fathom_spec::Verb;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Uniform random blocks, for ever.
pub(crate) struct Uniform {
    random: Xoshiro256Plus,
    blocks: u64,
    step: u64,
    start: u64,
    length: u32,
    target: u16,
    verb: Verb,
}

impl Uniform {
    pub(crate) fn new(grid: &Grid, (target, start): (u16, u64), verb: Verb, seed: u64) -> Self {
        Uniform {
            random: Xoshiro256Plus::seed_from_u64(seed),
            blocks: grid.blocks(),
            step: grid.step,
            start,
            length: grid.size as u32,
            target,
            verb,
        }
    }
}

/// A number below `bound`: the upper half of a product, whose bias is below bound / 2^64 (Lemire 2019, without the
/// rejection step: on a space of 2^32 blocks no block is likelier than another by more than 2^-32).
#[inline(always)]
pub(crate) fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

impl Source for Uniform {
    #[inline]
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        if !pace.is_open() {
            let Uniform { random, blocks, step, start, length, target, verb } = self;
            out.extend((0..room).map(|_| Operation {
                offset: *start + below(random.next_u64(), *blocks) * *step,
                due_ns: now_ns,
                mark: 0,
                length: *length,
                target: *target,
                verb: *verb,
                cell: 0,
            }));
            return Fill::Some;
        }
        for _ in 0..room {
            let due_ns = pace.due(0, now_ns);
            if due_ns > now_ns {
                return Fill::Wait(due_ns);
            }
            pace.take(0, self.length);
            let offset = self.start + below(self.random.next_u64(), self.blocks) * self.step;
            let Uniform { length, target, verb, .. } = *self;
            out.push(Operation { offset, due_ns, mark: 0, length, target, verb, cell: 0 });
        }
        Fill::Some
    }
}
