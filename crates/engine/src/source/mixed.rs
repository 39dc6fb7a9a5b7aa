//! The general case: any order the engine has, reads and writes mixed, syncs in between, an end.

use super::place::Grid;
use super::uniform::below;
use fathom_drive::{Fill, Operation, Pace, Source, unit};
use fathom_spec::{Begin, Blocks, Mix, Pattern, Stop, SyncRule, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// In which order blocks come.
pub(crate) enum Order {
    /// Any.
    Uniform,
    /// Each once a pass: a permutation of the block numbers that needs no memory.
    Once(Permutation),
    /// One after the other, from here, round and round.
    Sequential {
        /// The next block.
        next: u64,
    },
    /// One behind the other, without an end.
    Append {
        /// The next byte.
        next: u64,
    },
}

impl Order {
    pub(crate) fn of(pattern: &Pattern, grid: &Grid, worker: u32, workers: u32, seed: u64) -> Self {
        let (worker, workers) = (u64::from(worker), u64::from(workers.max(1)));
        let share =
            |part: u64, of: u64| (u128::from(grid.blocks()) * u128::from(part) / u128::from(of)) as u64;
        match pattern {
            Pattern::Uniform { once: true } => Order::Once(Permutation::new(grid.blocks(), seed)),
            Pattern::Sequential(Begin::Append) => {
                Order::Append { next: grid.one_target().map_or(0, |t| t.1) }
            }
            Pattern::Sequential(begin) => {
                let next = match begin {
                    Begin::First | Begin::Append => 0,
                    Begin::Spread => share(worker, workers),
                    Begin::Inner if workers == 1 => 0,
                    Begin::Inner => share(worker + 1, workers + 1),
                    Begin::Random => {
                        below(Xoshiro256Plus::seed_from_u64(seed ^ 0x5EED).next_u64(), grid.blocks())
                    }
                };
                Order::Sequential { next }
            }
            _ => Order::Uniform,
        }
    }
}

/// A Feistel network over the next power of four, walked until it falls inside: every number below `count` comes
/// once (Luby and Rackoff 1988; cycle walking: Black and Rogaway 2002).
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
    next: u64,
    pass: u64,
    seed: u64,
}

impl Permutation {
    pub(crate) fn new(count: u64, seed: u64) -> Self {
        let bits = 64 - count.max(2).saturating_sub(1).leading_zeros();
        let mut permutation =
            Permutation { count, half_bits: bits.div_ceil(2).max(1), keys: [0; 4], next: 0, pass: 0, seed };
        permutation.turn();
        permutation
    }

    fn turn(&mut self) {
        let mut random =
            Xoshiro256Plus::seed_from_u64(self.seed ^ self.pass.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        self.keys = std::array::from_fn(|_| random.next_u64());
        self.next = 0;
    }

    fn scramble(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits & mask, number & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            (left, right) = (right, (left ^ (mixed ^ mixed >> 32)) & mask);
        }
        left << self.half_bits | right
    }

    fn next(&mut self) -> u64 {
        if self.next == self.count {
            self.pass += 1;
            self.turn();
        }
        let mut number = self.scramble(self.next);
        while number >= self.count {
            number = self.scramble(number);
        }
        self.next += 1;
        number
    }
}

/// How many operations a worker may do: the least of what its stops say.
pub(crate) fn operations_at_most(stop: &Stop, size: u64, blocks: u64) -> u64 {
    let by_bytes = stop.bytes.map(|bytes| bytes.0.div_ceil(size));
    let by_passes = stop.passes.map(|passes| passes.saturating_mul(blocks));
    [stop.operations, by_bytes, by_passes].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// The general source.
pub(crate) struct Mixed {
    grid: Grid,
    order: Order,
    random: Xoshiro256Plus,
    mix: Mix,
    cells: [u8; 3],
    rule: Option<SyncRule>,
    since_sync: u64,
    last_target: u16,
    left: u64,
    drawn: Option<Operation>,
}

impl Mixed {
    pub(crate) fn new(
        grid: Grid,
        order: Order,
        blocks: &Blocks,
        verbs: &[Verb],
        left: u64,
        seed: u64,
    ) -> Self {
        let cell = |verb| verbs.iter().position(|v| *v == verb).unwrap_or(0) as u8;
        Mixed {
            grid,
            order,
            random: Xoshiro256Plus::seed_from_u64(seed),
            mix: blocks.mix,
            cells: [cell(Verb::Read), cell(Verb::Write), cell(Verb::Sync)],
            rule: blocks.sync.first().copied(),
            since_sync: 0,
            last_target: 0,
            left,
            drawn: None,
        }
    }

    fn draw(&mut self) -> Operation {
        if let Some(rule) = self.rule.filter(|rule| self.since_sync >= rule.every) {
            self.since_sync = 0;
            let _ = rule;
            return self.operation(Verb::Sync, self.cells[2], 0, self.last_target, 0);
        }
        let (verb, cell) = match self.mix {
            Mix::Only(verb) => (verb, 0),
            Mix::Random { read_percent } => {
                match unit(self.random.next_u64()) * 100.0 < f64::from(read_percent) {
                    true => (Verb::Read, self.cells[0]),
                    false => (Verb::Write, self.cells[1]),
                }
            }
            Mix::ByCompleted { .. } => unreachable!("build refuses it"),
        };
        let (target, offset) = self.place();
        if self.rule.is_some_and(|rule| rule.of == verb) {
            self.since_sync += 1;
            self.last_target = target;
        }
        self.operation(verb, cell, offset, target, self.grid.size as u32)
    }

    fn operation(&self, verb: Verb, cell: u8, offset: u64, target: u16, length: u32) -> Operation {
        Operation { offset, due_ns: 0, mark: 0, length, target, verb, cell }
    }

    fn place(&mut self) -> (u16, u64) {
        let blocks = self.grid.blocks();
        let block = match &mut self.order {
            Order::Uniform => below(self.random.next_u64(), blocks),
            Order::Once(permutation) => permutation.next(),
            Order::Sequential { next } => {
                let block = *next;
                *next = if block + 1 >= blocks { 0 } else { block + 1 };
                block
            }
            Order::Append { next } => {
                let offset = *next;
                *next += self.grid.size;
                return (self.grid.one_target().map_or(0, |t| t.0), offset);
            }
        };
        self.grid.place(block)
    }
}

impl Source for Mixed {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        for _ in 0..room {
            let drawn = match self.drawn.take() {
                Some(drawn) => drawn,
                None if self.left == 0 => return Fill::Done,
                None => {
                    let drawn = self.draw();
                    self.left -= u64::from(drawn.verb != Verb::Sync);
                    drawn
                }
            };
            let due_ns = pace.due(drawn.cell, now_ns);
            if due_ns > now_ns {
                self.drawn = Some(drawn);
                return Fill::Wait(due_ns);
            }
            pace.take(drawn.cell, drawn.length);
            out.push(Operation { due_ns, ..drawn });
        }
        Fill::Some
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_block_comes_once_a_pass(count in 1u64..2000, seed: u64) {
            let mut permutation = Permutation::new(count, seed);
            for _pass in 0..2 {
                let mut seen: Vec<u64> = (0..count).map(|_| permutation.next()).collect();
                seen.sort_unstable();
                prop_assert!(seen.into_iter().eq(0..count));
            }
        }
    }
}
