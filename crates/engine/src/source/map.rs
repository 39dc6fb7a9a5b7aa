//! Every block once a pass, by operations of several sizes: a bit for each block.

use super::refuse;
use super::uniform::below;
use fathom_record::ExecuteError;

/// The most blocks: a bitmap of 512 MiB.
const MOST: u64 = 1 << 32;

/// Which blocks were touched in this pass.
pub(crate) struct Map {
    bits: Vec<u64>,
    blocks: u64,
    left: u64,
}

impl Map {
    pub(crate) fn new(blocks: u64) -> Result<Self, ExecuteError> {
        if blocks > MOST {
            return Err(refuse("map of so many blocks (each is visited once, with several sizes)"));
        }
        Ok(Map { bits: vec![0; blocks.div_ceil(64) as usize], blocks, left: blocks })
    }

    fn is_taken(&self, block: u64) -> bool {
        self.bits[(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// The first block from here on, round and round, that was not touched. There is one.
    fn free_from(&self, from: u64) -> u64 {
        let mut at = from;
        loop {
            let word = self.bits[(at / 64) as usize] | ((1 << (at % 64)) - 1);
            let free = at / 64 * 64 + u64::from(word.trailing_ones());
            if word != u64::MAX && free < self.blocks {
                return free;
            }
            at = (at / 64 + 1) * 64;
            if at >= self.blocks {
                at = 0;
            }
        }
    }

    /// A block, and how many from it on are taken: at most `covers`, fewer where the next is taken. They begin with a group
    /// of `group` blocks, at a multiple of it, that holds an untouched one; it is whole, but for the region's end.
    pub(crate) fn next(&mut self, random: u64, covers: u64, group: u64) -> (u64, u64) {
        if self.left == 0 {
            self.bits.fill(0);
            self.left = self.blocks;
        }
        let free = self.free_from(below(random, self.blocks));
        let block = free - free % group;
        let mut count = 0;
        while count < covers && block + count < self.blocks {
            let at = block + count;
            let taken = self.is_taken(at);
            if taken && count >= group {
                break;
            }
            self.bits[(at / 64) as usize] |= 1 << (at % 64);
            self.left -= u64::from(!taken);
            count += 1;
        }
        (block, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_group_is_whole_where_some_of_it_was_touched() {
        let mut map = Map::new(8).unwrap();
        assert_eq!(map.next(4 << 61, 1, 1), (4, 1));
        assert_eq!(map.next(4 << 61, 4, 4), (4, 4));
        assert_eq!(map.left, 4);
        assert_eq!(map.next(7 << 61, 8, 4), (0, 4), "what follows its group is taken");
        assert_eq!(map.left, 0);
    }

    proptest! {
        #[test]
        fn each_block_is_covered_once_a_pass(
            blocks in 1u64..700,
            draws in prop::collection::vec((any::<u64>(), 1u64..9), 1..50),
        ) {
            let mut map = Map::new(blocks).unwrap();
            for _pass in 0..2 {
                let mut seen = vec![0; blocks as usize];
                let mut covered = 0;
                for (random, covers) in draws.iter().cycle() {
                    let (block, count) = map.next(*random, *covers, 1);
                    prop_assert!(count >= 1 && count <= *covers);
                    (block..block + count).for_each(|at| seen[at as usize] += 1);
                    covered += count;
                    if covered == blocks {
                        break;
                    }
                }
                prop_assert!(seen.iter().all(|times| *times == 1));
            }
        }
    }
}
