//! One sequence of operations that all workers of a stream take turns in: a common cursor or draws of each worker's
//! own, a mix kept by what was completed, syncs of every target in turn that count as operations, one number of
//! operations and one timetable for all. Works on bytes of the space, not on a grid of blocks: an operation at a
//! target's end is shorter, and what direct I/O cannot take is the kernel's to refuse.

use super::refuse;
use crate::geometry::Geometry;
use fathom_drive::{Fill, Metronome, Operation, Pace, Source};
use fathom_record::{CELLS, ExecuteError};
use fathom_spec::{
    Arrival, Begin, Blocks, Generator, Mix, Pattern, Rate, Sizes, Space, Spacing, Stop, Stream, SyncRule,
    Verb,
};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::sync::{Arc, Mutex};

/// Draws after which a worker waits rather than look for a block that nobody works on.
const TRIES: usize = 64;

/// What never changes while the sequence runs.
#[derive(Debug)]
struct Rules {
    layout: Layout,
    start: u64,
    length: u64,
    size: u32,
    in_order: bool,
    mix: Mix,
    cells: [u8; 3],
    sync: Option<SyncRule>,
    discard: u32,
    /// No block is given to two workers at a time: what is checked must not change meanwhile.
    exclusive: bool,
    /// Arrivals a second of all workers together, and whether their gaps are random.
    arrivals: Option<(f64, Option<u64>)>,
}

/// What the workers share.
#[derive(Debug)]
struct State {
    cursor: u64,
    handed_out: u64,
    completed: (u64, u64),
    /// Has anything been written since the last series of syncs?
    dirty: bool,
    /// The next target of a series of syncs under way.
    next_sync: Option<usize>,
    left: u64,
    pace: Option<Pace>,
    busy: Vec<(u16, u64)>,
}

/// The sequence itself, of which each worker has a [`Turn`].
#[derive(Debug)]
pub struct SharedSequence {
    rules: Rules,
    generator: Generator,
    seed: u64,
    state: Mutex<State>,
}

impl SharedSequence {
    /// Can the sequence of these blocks be run here? Others are shared as one source behind a lock.
    pub fn fits(blocks: &Blocks) -> bool {
        let order =
            matches!(blocks.pattern, Pattern::Sequential(Begin::First) | Pattern::Uniform { once: false });
        order
            && matches!(blocks.sizes, Sizes::One(_))
            && !matches!(blocks.mix, Mix::Random { .. } | Mix::TrimWrite | Mix::ReadWrite { .. })
    }

    /// The sequence that a stream's blocks describe. `stop.operations` is the number of all workers together, syncs
    /// in turn among them.
    pub fn new(
        stream: &Stream,
        blocks: &Blocks,
        geometry: &Geometry,
        stop: &Stop,
        seed: u64,
        verbs: &[Verb],
    ) -> Result<Arc<Self>, ExecuteError> {
        let Sizes::One(size) = blocks.sizes else { return Err(refuse("shared sequence of several sizes")) };
        let size = u32::try_from(size.0).ok().filter(|size| *size > 0 && *size <= i32::MAX as u32);
        let size = size.ok_or_else(|| refuse("operations of no bytes, or of 2 GiB and more"))?;
        if geometry.length == 0 {
            return Err(refuse("shared sequence over no bytes"));
        }
        if blocks.sync.first().is_some_and(|rule| !rule.all_targets_in_turn) || blocks.sync.len() > 1 {
            return Err(refuse("shared sequence with syncs other than of all targets in turn"));
        }
        let discard = match &blocks.generator {
            Generator::Xoshiro => 0,
            Generator::Given { states, discard_per_event } if states.len() >= stream.workers as usize => {
                *discard_per_event
            }
            Generator::Given { .. } => return Err(refuse("state of a generator for each worker")),
            Generator::Tausworthe { .. } | Generator::Lfsr { .. } => {
                return Err(refuse("such a generator here"));
            }
        };
        let cell = |verb| verbs.iter().position(|v| *v == verb).unwrap_or(0) as u8;
        let write = if verbs.contains(&Verb::Commit) { Verb::Commit } else { Verb::Write };
        let rules = Rules {
            layout: Layout::of(&geometry.space, &geometry.sizes)?,
            start: geometry.start,
            length: geometry.length,
            size,
            in_order: matches!(blocks.pattern, Pattern::Sequential(_)),
            mix: blocks.mix,
            cells: [cell(Verb::Read), cell(write), cell(Verb::Sync)],
            sync: blocks.sync.first().copied(),
            discard,
            exclusive: blocks.verify.is_some(),
            arrivals: arrivals(stream, seed)?,
        };
        let bytes = stop.bytes.map(|bytes| bytes.0.div_ceil(u64::from(size)));
        let passes =
            stop.passes.map(|passes| passes.saturating_mul(geometry.length.div_ceil(u64::from(size))));
        let left = [stop.operations, bytes, passes].into_iter().flatten().min().unwrap_or(u64::MAX);
        let busy = Vec::with_capacity(stream.workers as usize * stream.depth.most() as usize);
        let state = State {
            cursor: 0,
            handed_out: 0,
            completed: (0, 0),
            dirty: false,
            next_sync: None,
            left,
            pace: None,
            busy,
        };
        Ok(Arc::new(SharedSequence {
            rules,
            generator: blocks.generator.clone(),
            seed,
            state: Mutex::new(state),
        }))
    }

    /// The source of one worker.
    pub fn turn(self: &Arc<Self>, worker: u32) -> Box<dyn Source> {
        let own = || {
            let seed = self.seed ^ (u64::from(worker) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            Random::Own(Xoshiro256Plus::seed_from_u64(seed))
        };
        let random = match &self.generator {
            Generator::Given { states, .. } => {
                states.get(worker as usize).map_or_else(own, |state| Random::Given(*state))
            }
            _ => own(),
        };
        Box::new(Turn { series: self.clone(), random, ticket: None })
    }
}

/// Arrivals of all workers together: a shared sequence has one timetable, from which whoever is free takes the next.
fn arrivals(stream: &Stream, seed: u64) -> Result<Option<(f64, Option<u64>)>, ExecuteError> {
    let Arrival::Open(tables) = &stream.arrival else { return Ok(None) };
    match &tables[..] {
        [table] => match table.rate {
            Rate::Operations(rate) => {
                let random = (table.spacing == Spacing::Poisson).then_some(seed);
                Ok(Some((rate * f64::from(stream.workers), random)))
            }
            Rate::Bytes(_) => Err(refuse("shared sequence at a rate of bytes")),
        },
        _ => Err(refuse("shared sequence with a timetable for each verb")),
    }
}

/// Where the bytes of a space are.
#[derive(Debug)]
enum Layout {
    /// Target, its first byte in the space, its length.
    Joined(Vec<(u16, u64, u64)>),
    /// Targets, bytes of one stripe.
    Striped(Vec<u16>, u64),
}

impl Layout {
    fn of(space: &Space, sizes: &[u64]) -> Result<Self, ExecuteError> {
        let joined = |over: &[fathom_spec::TargetId]| {
            let mut first = 0;
            let mut pieces = Vec::with_capacity(over.len());
            for id in over {
                let length = sizes.get(id.0 as usize).copied().unwrap_or(0);
                pieces.push((id.0 as u16, first, length));
                first += length;
            }
            Layout::Joined(pieces)
        };
        match space {
            Space::Whole(target) => Ok(joined(&[*target])),
            Space::Concat(over) => Ok(joined(over)),
            Space::Striped { over, depth } if depth.0 > 0 && !over.is_empty() => {
                Ok(Layout::Striped(over.iter().map(|id| id.0 as u16).collect(), depth.0))
            }
            Space::Striped { .. } | Space::Picked { .. } => Err(refuse("shared sequence over such a space")),
        }
    }

    /// Target, byte in it, and bytes from there to the end of its piece.
    fn at(&self, byte: u64) -> (u16, u64, u64) {
        match self {
            Layout::Joined(pieces) => {
                let piece = pieces.partition_point(|piece| piece.1 <= byte).saturating_sub(1);
                let (target, first, length) = pieces[piece];
                (target, byte - first, (first + length).saturating_sub(byte))
            }
            Layout::Striped(targets, depth) => {
                let (stripe, inside, count) = (byte / depth, byte % depth, targets.len() as u64);
                (targets[(stripe % count) as usize], stripe / count * depth + inside, depth - inside)
            }
        }
    }

    fn target(&self, index: usize) -> Option<u16> {
        match self {
            Layout::Joined(pieces) => pieces.get(index).map(|piece| piece.0),
            Layout::Striped(targets, _) => targets.get(index).copied(),
        }
    }
}

/// A worker's own random numbers.
#[derive(Debug)]
enum Random {
    Own(Xoshiro256Plus),
    /// xoroshiro128+ with its first constants 55, 14, 36 (Blackman and Vigna 2016).
    Given((u64, u64)),
}

impl Random {
    fn next(&mut self) -> u64 {
        match self {
            Random::Own(random) => random.next_u64(),
            Random::Given((first, second)) => {
                let result = first.wrapping_add(*second);
                let mixed = *second ^ *first;
                (*first, *second) = (first.rotate_left(55) ^ mixed ^ (mixed << 14), mixed.rotate_left(36));
                result
            }
        }
    }

    /// A number in [0, 1) from the upper 52 bits.
    fn unit(&mut self) -> f64 {
        (self.next() >> 12) as f64 * (1.0 / (1u64 << 52) as f64)
    }
}

/// What the next turn is.
enum Next {
    Operation(Operation),
    Blocked,
    Done,
}

impl State {
    fn next(&mut self, rules: &Rules, random: &mut Random) -> Next {
        if self.left == 0 {
            return Next::Done;
        }
        if let Some(target) = self.sync_due(rules) {
            self.left -= 1;
            return Next::Operation(operation(Verb::Sync, rules.cells[2], 0, target, 0));
        }
        let (verb, cell) = self.verb(rules);
        let Some((target, offset, length)) = self.place(rules, random) else { return Next::Blocked };
        self.left -= 1;
        self.handed_out += 1;
        self.dirty |= verb.writes();
        if rules.exclusive {
            self.busy.push((target, offset));
        }
        Next::Operation(operation(verb, cell, offset, target, length))
    }

    /// The target whose sync is due: a series begins when so many operations were handed out, reads among them,
    /// and something was written since the last.
    fn sync_due(&mut self, rules: &Rules) -> Option<u16> {
        let rule = rules.sync?;
        let begins = self.dirty && self.handed_out.is_multiple_of(rule.every.max(1));
        let index = self.next_sync.or_else(|| begins.then_some(0))?;
        let target = rules.layout.target(index)?;
        self.next_sync = rules.layout.target(index + 1).map(|_| index + 1);
        self.dirty &= self.next_sync.is_some();
        Some(target)
    }

    fn verb(&self, rules: &Rules) -> (Verb, u8) {
        let write = |commits: bool| if commits { Verb::Commit } else { Verb::Write };
        match rules.mix {
            Mix::Only(verb) => (verb, 0),
            Mix::ByCompleted { reads_per_write, commits } => {
                let (reads, writes) = self.completed;
                match (reads + 1) as f64 / ((writes + 1) as f64) < reads_per_write {
                    true => (Verb::Read, rules.cells[0]),
                    false => (write(commits), rules.cells[1]),
                }
            }
            Mix::Random { .. } | Mix::TrimWrite | Mix::ReadWrite { .. } => (Verb::Read, rules.cells[0]),
        }
    }

    fn place(&mut self, rules: &Rules, random: &mut Random) -> Option<(u16, u64, u32)> {
        for _ in 0..TRIES {
            let byte = match rules.in_order {
                true => self.cursor,
                false => {
                    let byte = (random.unit() * rules.length as f64) as u64;
                    byte - byte % u64::from(rules.size)
                }
            };
            let (target, offset, room) = rules.layout.at(rules.start + byte);
            let room = room.min(rules.length - byte).min(u64::from(rules.size));
            let free = !rules.exclusive || !self.busy.contains(&(target, offset));
            if rules.in_order && free {
                self.cursor = (byte + room) % rules.length;
            }
            if free {
                return Some((target, offset, room as u32));
            }
            if rules.in_order {
                return None;
            }
        }
        None
    }

    /// When the next operation is due; `None` without a timetable.
    fn ticket(&mut self, rules: &Rules, now_ns: u64) -> Option<u64> {
        let (per_second, random) = rules.arrivals?;
        let pace = self.pace.get_or_insert_with(|| {
            let mut cells: [Option<Metronome>; CELLS] = Default::default();
            cells[0] = Some(Metronome::new(now_ns, per_second, false, random));
            Pace::Open(Box::new(cells))
        });
        let due_ns = pace.due(0, now_ns);
        pace.take(0, 0);
        Some(due_ns)
    }
}

fn operation(verb: Verb, cell: u8, offset: u64, target: u16, length: u32) -> Operation {
    Operation { offset, due_ns: 0, mark: 0, length, target, verb, cell }
}

/// One worker's part in a [`SharedSequence`].
struct Turn {
    series: Arc<SharedSequence>,
    random: Random,
    /// The arrival that this worker has taken, when it is still to come.
    ticket: Option<u64>,
}

impl Source for Turn {
    fn fill(&mut self, now_ns: u64, room: usize, _pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let rules = &self.series.rules;
        let mut state = self.series.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for _ in 0..room {
            let due_ns = self.ticket.take().or_else(|| state.ticket(rules, now_ns)).unwrap_or(now_ns);
            if due_ns > now_ns && state.left > 0 {
                self.ticket = Some(due_ns);
                return Fill::Wait(due_ns);
            }
            match state.next(rules, &mut self.random) {
                Next::Operation(operation) => out.push(Operation { due_ns, ..operation }),
                Next::Blocked => {
                    self.ticket = Some(due_ns);
                    return Fill::Blocked;
                }
                Next::Done => return Fill::Done,
            }
            for _ in 0..rules.discard {
                self.random.next();
            }
        }
        Fill::Some
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        let mut state = self.series.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for (operation, result) in done {
            let good = u64::from(*result >= 0);
            match operation.verb {
                Verb::Read => state.completed.0 += good,
                Verb::Write | Verb::Commit => state.completed.1 += good,
                _ => continue,
            }
            if self.series.rules.exclusive {
                let mine = (operation.target, operation.offset);
                if let Some(at) = state.busy.iter().position(|busy| *busy == mine) {
                    state.busy.swap_remove(at);
                }
            }
        }
    }

    fn wants_completions(&self) -> bool {
        self.series.rules.exclusive || matches!(self.series.rules.mix, Mix::ByCompleted { .. })
    }
}

#[cfg(test)]
mod tests;
