//! Several targets, each with an order of its own; which one is next is drawn first, then the place in it.

use super::mixed::Limit;
use super::order::Order;
use fathom_drive::{Fill, Operation, Pace, Source};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;

/// A source over the sources of single targets.
pub(crate) struct TargetChoice {
    /// One source for each target.
    members: Vec<Box<dyn Source>>,
    /// Those of targets that differ in size end; the others take their turns.
    ended: Vec<bool>,
    by: Order,
    random: Xoshiro256Plus,
    limit: Limit,
    /// Whose turn it is while its operation is not due.
    turn: Option<usize>,
}

impl TargetChoice {
    /// `by` says numbers below the count of members.
    pub(crate) fn new(members: Vec<Box<dyn Source>>, by: Order, limit: Limit, seed: u64) -> Self {
        let ended = vec![false; members.len()];
        TargetChoice { members, ended, by, random: Xoshiro256Plus::seed_from_u64(seed), limit, turn: None }
    }

    /// The next member: the one that is drawn, or the first behind it that has not ended.
    fn next(&mut self) -> Option<usize> {
        let count = self.members.len();
        let drawn = self.by.next(&mut self.random, count as u64, 1) as usize;
        (0..count).map(|behind| (drawn + behind) % count).find(|member| !self.ended[*member])
    }
}

impl Source for TargetChoice {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let mut left = room;
        while left > 0 {
            if self.limit.reached() {
                return Fill::Done;
            }
            let Some(member) = self.turn.take().or_else(|| self.next()) else {
                return Fill::Done;
            };
            let before = out.len();
            match self.members[member].fill(now_ns, 1, pace, out) {
                Fill::Wait(due) => {
                    self.turn = Some(member);
                    return Fill::Wait(due);
                }
                Fill::Blocked => {
                    self.turn = Some(member);
                    return Fill::Blocked;
                }
                Fill::Done if out.len() == before => {
                    self.ended[member] = true;
                    continue;
                }
                _ => {}
            }
            for operation in &out[before..] {
                left -= 1;
                if operation.length > 0 {
                    self.limit.spend(operation.length);
                }
            }
        }
        Fill::Some
    }

    fn completed(&mut self, done: &[(Operation, i32)]) {
        self.members.iter_mut().for_each(|member| member.completed(done));
    }

    fn wants_completions(&self) -> bool {
        self.members.iter().any(|member| member.wants_completions())
    }
}
