//! Operations at a priority of their own: which ones is drawn, by verb and size.

use fathom_drive::{Operation, Priorities as Told};
use fathom_spec::{Priority, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::sync::atomic::Ordering::Relaxed;

/// Draws the priorities of one worker's operations.
#[derive(Debug)]
pub(crate) struct Priorities {
    rules: Vec<Priority>,
    /// Where each tag's priority is told.
    told: Option<Told>,
    random: Xoshiro256Plus,
}

impl Priorities {
    /// Nothing where no operation has one.
    pub(crate) fn of(rules: &[Priority], seed: u64, told: Option<Told>) -> Option<Priorities> {
        let random = Xoshiro256Plus::seed_from_u64(seed ^ 0x9810_8171);
        (!rules.is_empty()).then(|| Priorities { rules: rules.to_vec(), told, random })
    }

    /// The same, for an operation under a tag, of which it is told.
    pub(crate) fn draw_for(&mut self, tag: u32, operation: &Operation) -> u16 {
        let word = self.draw(operation);
        if let Some(place) = self.told.as_ref().and_then(|told| told.get(tag as usize)) {
            place.store(word, Relaxed);
        }
        word
    }

    /// The kernel's word for the priority of an operation; 0: that of the thread.
    fn draw(&mut self, operation: &Operation) -> u16 {
        let verb = if operation.verb == Verb::Commit { Verb::Write } else { operation.verb };
        let mut drawn = ((u128::from(self.random.next_u64()) * 100) >> 64) as u8;
        for rule in &self.rules {
            let fits = rule.of == verb && rule.size.is_none_or(|size| size.0 == u64::from(operation.length));
            match drawn.checked_sub(rule.percent) {
                _ if !fits => {}
                None => return rule.word(),
                Some(left) => drawn = left,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Bytes;

    fn operation(verb: Verb, length: u32) -> Operation {
        Operation { offset: 0, due_ns: 0, mark: 0, length, target: 0, verb, cell: 0 }
    }

    fn rule(of: Verb, size: Option<u64>, percent: u8, class: u8, level: u8) -> Priority {
        Priority { of, size: size.map(Bytes), percent, class, level }
    }

    #[test]
    fn each_rule_has_its_share_of_what_it_fits() {
        let rules = [
            rule(Verb::Read, Some(4096), 20, 1, 0),
            rule(Verb::Read, Some(4096), 30, 2, 7),
            rule(Verb::Write, None, 100, 1, 3),
        ];
        let mut priorities = Priorities::of(&rules, 3, None).unwrap();
        let mut count = |operation: &Operation, word: u16| {
            (0..10_000).filter(|_| priorities.draw(operation) == word).count()
        };
        let small = operation(Verb::Read, 4096);
        assert!((1850..2150).contains(&count(&small, 1 << 13)));
        assert!((2850..3150).contains(&count(&small, 2 << 13 | 7)));
        assert!((4850..5150).contains(&count(&small, 0)));
        assert_eq!(count(&operation(Verb::Read, 8192), 0), 10_000);
        assert_eq!(count(&operation(Verb::Commit, 512), 1 << 13 | 3), 10_000);
        assert!(Priorities::of(&[], 3, None).is_none());
    }
}
