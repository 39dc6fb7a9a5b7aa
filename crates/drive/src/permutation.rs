//! Every block once, in random order, without a map of what was visited.

use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// A Feistel network over the next power of four, walked until it falls inside: every number below `count` comes
/// once (Luby and Rackoff 1988; cycle walking: Black and Rogaway 2002).
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
    next: u64,
    pass: u64,
    seed: u64,
}

impl Permutation {
    /// Numbers from 0 to `count` - 1, in an order that the seed decides.
    pub fn new(count: u64, seed: u64) -> Self {
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

    /// The next number; after a whole pass another order begins.
    #[allow(clippy::should_implement_trait)] // It never ends.
    pub fn next(&mut self) -> u64 {
        if self.next == self.count {
            self.pass += 1;
            self.turn();
        }
        let number = self.at(self.next);
        self.next += 1;
        number
    }

    /// The number at a place of the present pass.
    pub fn at(&self, place: u64) -> u64 {
        let mut number = self.scramble(place);
        while number >= self.count {
            number = self.scramble(number);
        }
        number
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
