//! A walk by records of changing sizes, forwards or backwards, some of them at random places; a record may lead to another
//! operation: a read of what was written, or the same at a second target.

use super::refuse;
use super::uniform::below;
use crate::geometry::Geometry;
use crate::marks::CHECK;
use fathom_drive::{Fill, Operation, Pace, Source, unit};
use fathom_record::ExecuteError;
use fathom_spec::{Blocks, Bytes, Growth, Mix, Then, VariableRecords, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::VecDeque;

/// One worker's walk.
pub(crate) struct Walk {
    rules: VariableRecords,
    mix: Mix,
    /// The first target, and the second where there is one.
    targets: (u16, u16),
    /// First byte of the region and the one after its last.
    region: (u64, u64),
    /// Where the next record begins; walking backwards, where it ends.
    at: u64,
    /// Random places are multiples of this.
    step: u64,
    /// Bytes of the next record, where sizes grow.
    size: u64,
    random: Xoshiro256Plus,
    /// Cells of reads and of writes.
    cells: (u8, u8),
    bytes_left: u64,
    records_left: u64,
    number: u64,
    /// Operations that others led to.
    second: VecDeque<Operation>,
    /// Operations on their way that will lead to others.
    awaited: u64,
    drawn: Option<Operation>,
}

impl Walk {
    pub(crate) fn new(
        rules: &VariableRecords,
        blocks: &Blocks,
        geometry: &Geometry,
        verbs: &[Verb],
        seed: u64,
    ) -> Result<Self, ExecuteError> {
        let members = geometry.space.members();
        let target = |at: usize| members.get(at).map(|target| target.0 as u16);
        let (least, most) = (rules.sizes.0.0, rules.sizes.1.0);
        let grows = match rules.growth {
            Growth::By(Bytes(step)) | Growth::Drawn(Bytes(step)) => step,
        };
        let pairs = matches!(rules.then, Then::WriteSecond(_) | Then::ReadSecond(_));
        if least == 0 || least > most || most > i32::MAX as u64 || grows == 0 || geometry.length == 0 {
            return Err(refuse("walk by records without bytes, or of 2 GiB and more"));
        }
        let second = match (pairs, target(1)) {
            (false, _) => 0,
            (true, Some(second)) => second,
            (true, None) => return Err(refuse("walk over two targets in a space of one")),
        };
        let cell = |verb: Verb| verbs.iter().position(|own| *own == verb).unwrap_or(0) as u8;
        let region = (geometry.start, geometry.start + geometry.length);
        Ok(Walk {
            rules: rules.clone(),
            mix: blocks.mix,
            targets: (target(0).unwrap_or(0), second),
            region,
            at: if rules.backwards { region.1 } else { region.0 },
            step: rules.random_align.0.max(1).next_multiple_of(geometry.align.max(1)),
            size: least,
            random: Xoshiro256Plus::seed_from_u64(seed),
            cells: (cell(Verb::Read), cell(Verb::Write)),
            bytes_left: geometry.length,
            records_left: if rules.records == 0 { u64::MAX } else { rules.records },
            number: 0,
            second: VecDeque::new(),
            awaited: 0,
            drawn: None,
        })
    }

    fn happens(&mut self, percent: u8) -> bool {
        match percent {
            0 => false,
            100.. => true,
            _ => unit(self.random.next_u64()) * 100.0 < f64::from(percent),
        }
    }

    fn verb(&mut self) -> Verb {
        let mix = self.mix;
        match mix {
            Mix::Only(verb) => verb,
            Mix::Random { read_percent } if self.happens(read_percent) => Verb::Read,
            _ => Verb::Write,
        }
    }

    fn length(&mut self) -> u64 {
        let (least, most) = (self.rules.sizes.0.0, self.rules.sizes.1.0);
        match self.rules.growth {
            Growth::By(Bytes(step)) => {
                let size = self.size;
                self.size = if size + step > most { least } else { size + step };
                size
            }
            Growth::Drawn(_) if least == most => least,
            Growth::Drawn(Bytes(step)) => {
                least + step * below(self.random.next_u64(), (most - least) / step + 1)
            }
        }
    }

    /// A random place for a record, and how much of it fits there.
    fn anywhere(&mut self, length: u64) -> (u64, u64) {
        let (start, end) = self.region;
        let within = (end - start).min(self.rules.random_within.0.max(1));
        let length = length.min(within);
        (start + self.step * below(self.random.next_u64(), (within - length) / self.step + 1), length)
    }

    /// The place behind the last record, or before it.
    fn next_place(&mut self, length: u64) -> (u64, u64) {
        let (start, end) = self.region;
        if self.rules.backwards {
            self.at = if self.at <= start { end } else { self.at };
            let length = length.min(self.at - start);
            self.at -= length;
            return (self.at, length);
        }
        self.at = if self.at >= end { start } else { self.at };
        let (offset, length) = (self.at, length.min(end - self.at));
        self.at += length;
        (offset, length)
    }

    fn draw(&mut self) -> Option<Operation> {
        if self.bytes_left == 0 || self.records_left == 0 {
            return None;
        }
        let verb = self.verb();
        let (reads, writes) = self.rules.random_percent;
        let is_random = self.happens(if verb == Verb::Read { reads } else { writes });
        let length = self.length().min(self.bytes_left);
        let (offset, length) = if is_random { self.anywhere(length) } else { self.next_place(length) };
        self.bytes_left -= length;
        self.records_left -= u64::from(self.records_left != u64::MAX);
        self.number += 1;
        let first = self.operation(verb, self.targets.0, offset, length as u32, self.number);
        match self.rules.then {
            Then::Nothing => {}
            Then::ReadAgain => self.awaited += u64::from(verb == Verb::Write),
            Then::WriteSecond(_) => self.awaited += 1,
            Then::ReadSecond(_) => self.second.extend(self.led_to(&first)),
        }
        Some(first)
    }

    fn operation(&self, verb: Verb, target: u16, offset: u64, length: u32, number: u64) -> Operation {
        let checks = verb == Verb::Read && self.rules.checks;
        let cell = if verb == Verb::Read { self.cells.0 } else { self.cells.1 };
        let mark = number | if checks { CHECK } else { 0 };
        Operation { offset, due_ns: 0, mark, length, target, verb, cell }
    }

    /// What an operation of the walk leads to, if it is one that does.
    fn led_to(&self, first: &Operation) -> Option<Operation> {
        let number = first.mark & !CHECK;
        let place = |second: Bytes| second.0 + (first.offset - self.region.0);
        match self.rules.then {
            Then::ReadAgain if first.verb == Verb::Write => {
                let read = self.operation(Verb::Read, first.target, first.offset, first.length, number);
                Some(Operation { mark: number | CHECK, ..read })
            }
            Then::WriteSecond(second) if first.verb == Verb::Read => {
                Some(self.operation(Verb::Write, self.targets.1, place(second), first.length, number))
            }
            Then::ReadSecond(second) if first.target == self.targets.0 => {
                Some(self.operation(Verb::Read, self.targets.1, place(second), first.length, number))
            }
            _ => None,
        }
    }
}

impl Source for Walk {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        for _ in 0..room {
            let next = self.drawn.take().or_else(|| self.second.pop_front()).or_else(|| self.draw());
            let Some(next) = next else {
                return if self.awaited > 0 { Fill::Blocked } else { Fill::Done };
            };
            let due_ns = pace.due(next.cell, now_ns);
            if due_ns > now_ns {
                self.drawn = Some(next);
                return Fill::Wait(due_ns);
            }
            pace.take(next.cell, next.length);
            out.push(Operation { due_ns, ..next });
            // One buffer: what was read must be written before anything else is read into it.
            if matches!(self.rules.then, Then::WriteSecond(_)) {
                return Fill::Some;
            }
        }
        Fill::Some
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        if matches!(self.rules.then, Then::Nothing | Then::ReadSecond(_)) {
            return;
        }
        for (operation, result) in done {
            if let Some(second) = self.led_to(operation) {
                self.awaited -= 1;
                // What failed leads to nothing.
                if *result as u32 == operation.length {
                    self.second.push_back(second);
                }
            }
        }
    }

    fn wants_completions(&self) -> bool {
        matches!(self.rules.then, Then::ReadAgain | Then::WriteSecond(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Space, SpaceId, TargetId};

    fn rules() -> VariableRecords {
        VariableRecords {
            sizes: (Bytes(512), Bytes(2048)),
            growth: Growth::By(Bytes(512)),
            backwards: false,
            random_percent: (0, 0),
            random_align: Bytes(512),
            random_within: Bytes(u64::MAX),
            records: 0,
            then: Then::Nothing,
            checks: true,
        }
    }

    fn walk(rules: &VariableRecords, mix: Mix, length: u64) -> Walk {
        let blocks = Blocks { mix, ..Blocks::random_reads(SpaceId(0), Bytes(512)) };
        let space = Space::Concat(vec![TargetId(0), TargetId(1)]);
        let geometry = Geometry { space, sizes: vec![1 << 20; 2], start: 4096, length, align: 512 };
        Walk::new(rules, &blocks, &geometry, &[Verb::Read, Verb::Write], 7).unwrap()
    }

    /// All operations of a walk at some depth, each of which comes back in the order in which it went out.
    fn walked(mut walk: Walk, depth: usize) -> Vec<Operation> {
        let (mut all, mut flight): (Vec<Operation>, VecDeque<Operation>) = Default::default();
        loop {
            let mut out = Vec::new();
            let fill = walk.fill(1, depth - flight.len(), &mut Pace::Closed, &mut out);
            all.extend(&out);
            flight.extend(&out);
            match flight.pop_front() {
                Some(back) => walk.completed(&[(back, back.length as i32)]),
                None if fill == Fill::Done => return all,
                None => assert_ne!(fill, Fill::Blocked, "blocked for ever"),
            }
        }
    }

    fn places(all: &[Operation]) -> Vec<(u64, u32)> {
        all.iter().map(|operation| (operation.offset, operation.length)).collect()
    }

    #[test]
    fn records_grow_to_the_largest_and_begin_anew_and_the_last_one_is_what_is_left() {
        let all = walked(walk(&rules(), Mix::Only(Verb::Write), 6656), 1);
        let expected = [(4096, 512), (4608, 1024), (5632, 1536), (7168, 2048), (9216, 512), (9728, 1024)];
        assert_eq!(places(&all), expected);
        let backwards = VariableRecords { backwards: true, ..rules() };
        let all = walked(walk(&backwards, Mix::Only(Verb::Read), 6144), 1);
        let expected = [(9728, 512), (8704, 1024), (7168, 1536), (5120, 2048), (4608, 512), (4096, 512)];
        assert_eq!(places(&all), expected);
        assert!(all.iter().all(|operation| operation.mark & CHECK != 0));
    }

    #[test]
    fn the_same_seed_reads_the_places_that_it_wrote() {
        let drawn =
            VariableRecords { growth: Growth::Drawn(Bytes(512)), random_percent: (60, 60), ..rules() };
        let written = walked(walk(&drawn, Mix::Only(Verb::Write), 100 * 512), 3);
        let read = walked(walk(&drawn, Mix::Only(Verb::Read), 100 * 512), 5);
        assert_eq!(places(&written), places(&read));
        let sum: u64 = written.iter().map(|operation| u64::from(operation.length)).sum();
        assert_eq!(sum, 100 * 512);
        let end = 4096 + 100 * 512;
        assert!(places(&read).iter().all(|(at, length)| *at >= 4096 && at + u64::from(*length) <= end));
        let sizes: std::collections::BTreeSet<u32> = read.iter().map(|operation| operation.length).collect();
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [512, 1024, 1536, 2048]);
    }

    #[test]
    fn what_is_written_is_read_again_once_it_is_done() {
        let again = VariableRecords { then: Then::ReadAgain, checks: false, ..rules() };
        for depth in [1, 4] {
            let all = walked(walk(&again, Mix::Random { read_percent: 40 }, 64 * 1024), depth);
            let writes: Vec<_> = all.iter().filter(|op| op.verb == Verb::Write).map(|op| op.offset).collect();
            let checks: Vec<_> = all.iter().filter(|op| op.mark & CHECK != 0).map(|op| op.offset).collect();
            assert_eq!(writes, checks);
            let reads = all.iter().filter(|op| op.verb == Verb::Read && op.mark & CHECK == 0).count();
            assert!(reads > 5 && writes.len() > 10, "{reads} {}", writes.len());
            assert!(all.iter().filter(|op| op.verb == Verb::Write).all(|op| op.mark & CHECK == 0));
        }
    }

    #[test]
    fn each_read_leads_to_the_second_target() {
        let copy = VariableRecords { then: Then::WriteSecond(Bytes(512)), checks: false, ..rules() };
        let all = walked(walk(&copy, Mix::Only(Verb::Read), 2048), 1);
        let steps: Vec<_> = all.iter().map(|op| (op.verb, op.target, op.offset, op.length)).collect();
        let expected = [
            (Verb::Read, 0, 4096, 512),
            (Verb::Write, 1, 512, 512),
            (Verb::Read, 0, 4608, 1024),
            (Verb::Write, 1, 1024, 1024),
            (Verb::Read, 0, 5632, 512),
            (Verb::Write, 1, 2048, 512),
        ];
        assert_eq!(steps, expected);
        let compare = VariableRecords { then: Then::ReadSecond(Bytes(0)), ..rules() };
        let all = walked(walk(&compare, Mix::Only(Verb::Read), 1536), 4);
        let steps: Vec<_> = all.iter().map(|op| (op.target, op.offset, op.mark & !CHECK)).collect();
        assert_eq!(steps, [(0, 4096, 1), (1, 0, 1), (0, 4608, 2), (1, 512, 2)]);
    }

    #[test]
    fn random_places_are_multiples_within_their_limit_and_records_end_the_walk() {
        let random = VariableRecords {
            random_percent: (100, 100),
            random_align: Bytes(1024),
            random_within: Bytes(8192),
            records: 20,
            ..rules()
        };
        let all = walked(walk(&random, Mix::Only(Verb::Read), 1 << 19), 2);
        assert_eq!(all.len(), 20);
        for (at, length) in places(&all) {
            assert!(
                (at - 4096).is_multiple_of(1024) && at - 4096 + u64::from(length) <= 8192,
                "{at} {length}"
            );
        }
    }
}
