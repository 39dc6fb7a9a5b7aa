//! Operations that go to the device at a priority of their own.

use crate::{Bytes, Stream, Verb, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Some of the operations of a verb, and their priority. Where several rules fit an operation, each has its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Priority {
    /// Of which verb.
    pub of: Verb,
    /// Of operations with so many bytes; none: of any.
    pub size: Option<Bytes>,
    /// How many of them, 0 to 100; which ones is drawn.
    pub percent: u8,
    /// As the kernel counts: 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Within the class, 0 (served first) to 7.
    pub level: u8,
}

impl Priority {
    /// The word in which the kernel takes it (`ioprio` of linux/ioprio.h).
    pub fn word(&self) -> u16 {
        u16::from(self.class) << 13 | u16::from(self.level)
    }
}

impl Stream {
    /// The priorities whose service times are kept apart, as words, each for a verb: first 0, the worker's own, then those
    /// of the rules, by size. None where none is kept.
    pub fn kept_priorities(&self) -> Vec<(Verb, u16)> {
        let Work::Blocks(blocks) = &self.work else { return Vec::new() };
        if !self.keep.priorities || !self.keep.service || blocks.priorities.is_empty() {
            return Vec::new();
        }
        let mut rules = blocks.priorities.clone();
        rules.sort_by_key(|rule| rule.size.map_or(0, |size| size.0));
        let mut kept = vec![(Verb::Read, 0), (Verb::Write, 0)];
        for rule in &rules {
            let of = (rule.of, rule.word());
            if !kept.contains(&of) {
                kept.push(of);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocks, SpaceId};

    #[test]
    fn priorities_are_kept_where_that_is_asked_for_each_once_and_by_size() {
        let rule = |of, size: u64, class| {
            let size = (size > 0).then_some(Bytes(size));
            Priority { of, size, percent: 10, class, level: 7 }
        };
        let mut blocks = Blocks::random_reads(SpaceId(0), Bytes(4096));
        blocks.priorities = vec![
            rule(Verb::Read, 8192, 3),
            rule(Verb::Read, 4096, 2),
            rule(Verb::Read, 4096, 1),
            rule(Verb::Write, 0, 2),
            rule(Verb::Read, 512, 3),
        ];
        let mut stream = Stream::closed("a", blocks, 4);
        assert!(stream.kept_priorities().is_empty());
        stream.keep.priorities = true;
        let words = stream.kept_priorities();
        let of = |verb| -> Vec<u16> {
            words.iter().filter(|(of, _)| *of == verb).map(|(_, word)| word >> 13).collect()
        };
        assert_eq!((of(Verb::Read), of(Verb::Write)), (vec![0, 3, 2, 1], vec![0, 2]));
    }
}
