//! In which order the blocks of a region come. Knows block numbers only.

use super::generators::{Lfsr, Tausworthe};
use super::map::Map;
use super::refuse;
use super::skewed::Skew;
use super::uniform::below;
use crate::geometry::Grid;
use fathom_drive::Permutation;
use fathom_record::ExecuteError;
use fathom_spec::{Begin, Pattern, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// In which order blocks come.
pub(crate) enum Order {
    /// Any.
    Uniform,
    /// Each once a pass: a permutation of the block numbers that needs no memory.
    Once(Permutation),
    /// Each once a pass, by operations of several sizes.
    Map(Map),
    /// Another order's blocks, each the first of a run of neighbours, or said several times.
    Runs {
        /// Where runs begin.
        of: Box<Order>,
        /// Operations in a run.
        run: u64,
        /// Operations that are left of it.
        left: u64,
        /// The next block.
        next: u64,
        /// Each operation of a run is the same block.
        same: bool,
    },
    /// Now and then a block of another order, else the one behind the last.
    Partly {
        /// The other order.
        of: Box<Order>,
        /// How often, 0 to 100.
        percent: u8,
        /// The block behind the last.
        next: u64,
    },
    /// Each once a pass, by a shift register.
    Lfsr(Lfsr),
    /// Drawn by the Tausworthe generator; with a map each once a pass.
    Tausworthe(Tausworthe, Option<Map>),
    /// Some more often than others.
    Skewed(Skew),
    /// One after the other, from here, round and round; after each `run` of them a jump.
    Sequential {
        /// The next block.
        next: u64,
        /// Operations until the jump.
        left: u64,
        /// Operations between jumps.
        run: u64,
        /// Blocks forward, or back.
        jump: i64,
        /// Behind the end comes the first block; else it goes round.
        anew: bool,
    },
    /// Writes have a place of their own.
    EachVerb { writes: Box<Order>, others: Box<Order> },
    /// One behind the other, without an end.
    Append {
        /// The next byte.
        next: u64,
    },
}

impl Order {
    /// The order of a worker's blocks.
    pub(crate) fn of(
        pattern: &Pattern,
        grid: &Grid,
        worker: u32,
        workers: u32,
        seed: u64,
    ) -> Result<Self, ExecuteError> {
        let straight = |next| Order::Sequential { next, left: u64::MAX, run: u64::MAX, jump: 0, anew: false };
        Ok(match pattern {
            Pattern::Uniform { once: false } => Order::Uniform,
            Pattern::Uniform { once: true } => Order::Once(Permutation::new(grid.blocks(), seed)),
            Pattern::Sequential(Begin::Append) => {
                Order::Append { next: grid.one_target().map_or(0, |t| t.1) }
            }
            Pattern::Sequential(begin) => straight(first(*begin, grid, worker, workers, seed)),
            Pattern::Strided { step, run, skip } => {
                let bytes = step.saturating_add_unsigned(*skip);
                let jump = bytes / grid.step as i64;
                if jump * grid.step as i64 != bytes || *run == 0 {
                    return Err(refuse("strides that are not a multiple of the block size"));
                }
                Order::Sequential { next: 0, left: *run, run: *run, jump, anew: *skip > 0 }
            }
            Pattern::Zipf(_) | Pattern::Pareto(_) | Pattern::Normal(_) | Pattern::Zoned(_) => {
                Order::Skewed(Skew::of(pattern, grid.blocks(), seed)?)
            }
            Pattern::Runs { of, run, same } => Order::Runs {
                of: Box::new(Order::of(of, grid, worker, workers, seed)?),
                run: (*run).max(1),
                left: 0,
                next: 0,
                same: *same,
            },
            Pattern::Partly { of, percent } => {
                let of = Box::new(Order::of(of, grid, worker, workers, seed)?);
                Order::Partly {
                    of,
                    percent: *percent,
                    next: first(Begin::First, grid, worker, workers, seed),
                }
            }
            Pattern::Trace(_) | Pattern::VariableRecords(_) | Pattern::EachVerb(_) => {
                return Err(refuse("order of blocks that belongs to no operation"));
            }
        })
    }

    /// The order of one verb's blocks.
    #[inline]
    pub(crate) fn of_verb(&mut self, verb: Verb) -> &mut Order {
        match self {
            Order::EachVerb { writes, others } => {
                if verb.puts_bytes() {
                    writes
                } else {
                    others
                }
            }
            all => all,
        }
    }

    /// The number of the next block; an operation covers `covers` of them.
    #[inline]
    pub(crate) fn next(&mut self, random: &mut Xoshiro256Plus, blocks: u64, covers: u64) -> u64 {
        match self {
            Order::Uniform | Order::Append { .. } => below(random.next_u64(), blocks),
            Order::Lfsr(lfsr) => lfsr.next(),
            Order::Tausworthe(generator, None) => below(generator.wide(), blocks),
            Order::Tausworthe(generator, Some(map)) => map.next(generator.wide(), covers, 1).0,
            Order::Map(map) => map.next(random.next_u64(), covers, 1).0,
            Order::EachVerb { others, .. } => others.next(random, blocks, covers),
            Order::Runs { of, run, left, next, same } => {
                if *left == 0 || *next >= blocks {
                    (*left, *next) = (*run, of.next(random, blocks, covers));
                }
                *left -= 1;
                let block = *next;
                *next += if *same { 0 } else { covers };
                block
            }
            Order::Partly { of, percent, next } => {
                let jump = below(random.next_u64(), 100) < u64::from(*percent);
                let block = if jump { of.next(random, blocks, covers) } else { *next };
                *next = if block + covers < blocks { block + covers } else { 0 };
                block
            }
            Order::Once(permutation) => permutation.next(),
            Order::Skewed(skew) => skew.draw(random),
            Order::Sequential { next, left, run, jump, anew } => {
                let block = *next;
                *next += covers;
                *left -= 1;
                if *left == 0 {
                    *left = *run;
                    let to = *next as i128 + i128::from(*jump);
                    let beyond = *anew && to >= i128::from(blocks);
                    *next = if beyond { 0 } else { to.rem_euclid(i128::from(blocks)) as u64 };
                } else if *next >= blocks {
                    *next = 0;
                }
                block
            }
        }
    }
}

/// Where a sequential worker begins.
fn first(begin: Begin, grid: &Grid, worker: u32, workers: u32, seed: u64) -> u64 {
    let (worker, workers) = (u64::from(worker), u64::from(workers.max(1)));
    let share = |part: u64, of: u64| (u128::from(grid.blocks()) * u128::from(part) / u128::from(of)) as u64;
    match begin {
        Begin::First | Begin::Append => 0,
        Begin::Spread => share(worker, workers),
        Begin::Inner if workers == 1 => 0,
        Begin::Inner => share(worker + 1, workers + 1),
        Begin::Random => below(Xoshiro256Plus::seed_from_u64(seed ^ 0x5EED).next_u64(), grid.blocks()),
    }
}
