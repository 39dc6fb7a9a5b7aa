//! The general case: any order the engine has, reads and writes mixed, several sizes, syncs in between, an end.

use super::order::Order;
use super::sizes::Lengths;
use crate::geometry::Grid;
use fathom_drive::{Fill, Operation, Pace, Source, unit};
use fathom_spec::{Blocks, Mix, Stop, SyncKind, SyncRule, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// How much a worker may do; each part is without a limit at its maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    operations: u64,
    bytes: u64,
}

impl Limit {
    /// What a stream's stop says, for a region of so many blocks of `step` bytes.
    pub(crate) fn of(stop: &Stop, grid: &Grid) -> Self {
        Self::over(stop, (grid.size, grid.step), grid.blocks())
    }

    /// The same for so many blocks of a size, a step apart.
    pub(crate) fn over(stop: &Stop, (size, step): (u64, u64), blocks: u64) -> Self {
        let passes = stop.passes.map(|passes| passes.saturating_mul(blocks));
        match size == step {
            true => {
                let by_passes = passes.map(|blocks| blocks.saturating_mul(step));
                let bytes = [stop.bytes.map(|bytes| bytes.0), by_passes].into_iter().flatten().min();
                Limit { operations: stop.operations.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
            }
            false => {
                let operations = [stop.operations, passes].into_iter().flatten().min();
                let bytes = stop.bytes.map_or(u64::MAX, |bytes| bytes.0);
                Limit { operations: operations.unwrap_or(u64::MAX), bytes }
            }
        }
    }

    pub(crate) fn reached(&self) -> bool {
        self.operations == 0 || self.bytes == 0
    }

    pub(crate) fn spend(&mut self, length: u32) {
        let Limit { operations, bytes } = self;
        *operations -= u64::from(*operations != u64::MAX);
        if *bytes != u64::MAX {
            *bytes = bytes.saturating_sub(length.into());
        }
    }
}

/// The general source.
pub(crate) struct Mixed {
    grid: Grid,
    order: Order,
    lengths: Lengths,
    random: Xoshiro256Plus,
    mix: Mix,
    /// A verb whose timetable is ahead lets the other one go first. Not where writes are read again: what is drawn there
    /// must not depend on the time.
    gives_way: bool,
    cells: [u8; 4],
    /// Rules of syncs, and how many operations each has seen since its last.
    rules: Vec<(SyncRule, u64)>,
    last_target: u16,
    /// Targets that are still to be synced in turn.
    to_sync: Vec<(SyncKind, u16)>,
    /// What was trimmed or read and is to be written next.
    second: Option<(u16, u64, u32)>,
    limit: Limit,
    drawn: Option<Operation>,
    completed: (u64, u64),
}

impl Mixed {
    pub(crate) fn new(
        grid: Grid,
        order: Order,
        lengths: Lengths,
        blocks: &Blocks,
        verbs: &[Verb],
        limit: Limit,
        seed: u64,
    ) -> Self {
        let cell = |verb| verbs.iter().position(|v| *v == verb).unwrap_or(0) as u8;
        Mixed {
            to_sync: Vec::with_capacity(grid.targets().count()),
            second: None,
            grid,
            order,
            lengths,
            random: Xoshiro256Plus::seed_from_u64(seed),
            mix: blocks.mix,
            gives_way: matches!(blocks.mix, Mix::Random { .. }) && blocks.verify.is_none(),
            cells: [Verb::Read, Verb::Write, Verb::Sync, Verb::Trim].map(cell),
            rules: blocks.sync.iter().map(|rule| (*rule, 0)).collect(),
            last_target: 0,
            limit,
            drawn: None,
            completed: (0, 0),
        }
    }

    fn draw(&mut self, now_ns: u64, pace: &Pace) -> Option<Operation> {
        if self.limit.reached() && self.second.is_none() {
            self.rules.retain(|(rule, _)| !rule.between);
        }
        if let Some((kind, target)) = self.next_sync() {
            return Some(Operation::sync(kind, target, self.cells[2]));
        }
        if let Some(place) = self.second.take() {
            let write = self.operation(Verb::Write, self.cells[1], place);
            if self.mix == Mix::TrimWrite {
                self.limit.spend(write.length);
            }
            return Some(write);
        }
        if self.limit.reached() {
            return None;
        }
        let (verb, cell) = self.due_verb(now_ns, pace);
        let place = self.place(verb);
        let pairs = match self.mix {
            Mix::TrimWrite => true,
            Mix::ReadWrite { write_percent } => {
                write_percent >= 100 || unit(self.random.next_u64()) * 100.0 < f64::from(write_percent)
            }
            _ => false,
        };
        self.second = pairs.then_some(place);
        let first = self.operation(verb, cell, place);
        self.limit.spend(first.length);
        Some(first)
    }

    /// An operation, told to the rules of syncs.
    fn operation(&mut self, verb: Verb, cell: u8, (target, offset, length): (u16, u64, u32)) -> Operation {
        for (rule, since) in &mut self.rules {
            if rule.of == verb {
                *since += 1;
                self.last_target = target;
            }
        }
        Operation { offset, due_ns: 0, mark: 0, length, target, verb, cell }
    }

    /// The kind and the target of a sync that is due.
    fn next_sync(&mut self) -> Option<(SyncKind, u16)> {
        if let Some(next) = self.to_sync.pop() {
            return Some(next);
        }
        let due = self.rules.iter_mut().find(|(rule, since)| *since >= rule.every.max(1));
        let (rule, since) = due?;
        *since = 0;
        if !rule.all_targets_in_turn {
            return Some((rule.kind, self.last_target));
        }
        let kind = rule.kind;
        self.to_sync.extend(self.grid.targets().rev().map(|target| (kind, target)));
        self.to_sync.pop()
    }

    /// What is drawn, or the other verb of a mix where that is due earlier: each keeps to its own timetable, and neither
    /// is held up by the other's.
    fn due_verb(&mut self, now_ns: u64, pace: &Pace) -> (Verb, u8) {
        let (verb, cell) = self.verb();
        if !self.gives_way || !pace.is_open() {
            return (verb, cell);
        }
        let other = match verb {
            Verb::Read => (Verb::Write, self.cells[1]),
            _ => (Verb::Read, self.cells[0]),
        };
        let due_ns = pace.due(cell, now_ns);
        if due_ns > now_ns && pace.due(other.1, now_ns) < due_ns { other } else { (verb, cell) }
    }

    fn verb(&mut self) -> (Verb, u8) {
        let read = match self.mix {
            Mix::Only(verb) => return (verb, 0),
            Mix::TrimWrite => return (Verb::Trim, self.cells[3]),
            Mix::ReadWrite { .. } => return (Verb::Read, self.cells[0]),
            Mix::Random { read_percent } => unit(self.random.next_u64()) * 100.0 < f64::from(read_percent),
            Mix::ByCompleted { reads_per_write, .. } => {
                let (reads, writes) = self.completed;
                reads as f64 <= writes as f64 * reads_per_write
            }
        };
        if read { (Verb::Read, self.cells[0]) } else { (Verb::Write, self.cells[1]) }
    }

    /// Target, first byte and length of the next operation.
    fn place(&mut self, verb: Verb) -> (u16, u64, u32) {
        let length = self.lengths.draw(verb, &mut self.random);
        if let Order::Append { next } = &mut self.order {
            let offset = *next;
            *next += u64::from(length);
            return (self.grid.one_target().map_or(0, |t| t.0), offset, length);
        }
        let covers = if self.lengths.is_one() { 1 } else { u64::from(length).div_ceil(self.grid.step) };
        let order = self.order.of_verb(verb);
        if let Order::Map(map) = order {
            // Where directions differ in size, an operation of the larger is whole whatever the other touched.
            let group = self.lengths.least(verb) / self.grid.step;
            let (block, covers) = map.next(self.random.next_u64(), covers, group.max(1));
            let (target, offset) = self.grid.place(block);
            let room = self.grid.room(block).min(covers * self.grid.step);
            return (target, offset, room.min(length.into()) as u32);
        }
        let block = order.next(&mut self.random, self.grid.blocks(), covers);
        let (target, offset) = self.grid.place(block);
        if self.lengths.is_one() {
            return (target, offset, length);
        }
        (target, offset, length.min(self.grid.room(block).min(u64::from(u32::MAX)) as u32))
    }
}

impl Source for Mixed {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        for _ in 0..room {
            let Some(drawn) = self.drawn.take().or_else(|| self.draw(now_ns, pace)) else {
                return Fill::Done;
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

    fn completed(&mut self, done: &[(Operation, i32)]) {
        let count = |verb| done.iter().filter(|(op, result)| op.verb == verb && *result >= 0).count() as u64;
        self.completed.0 += count(Verb::Read);
        self.completed.1 += count(Verb::Write);
    }

    fn wants_completions(&self) -> bool {
        matches!(self.mix, Mix::ByCompleted { .. })
    }
}
