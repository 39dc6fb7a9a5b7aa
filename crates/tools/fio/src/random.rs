//! A number drawn from another: the same one each time, from which nothing of the other is seen.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The first number that SplitMix64 (Steele, Lea, Flood 2014) draws from a seed.
pub(super) fn mixed(seed: u64) -> u64 {
    SplitMix64::seed_from_u64(seed).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // The first of the reference implementation, from the seed 1234567.
        assert_eq!(mixed(1_234_567), 6_457_827_717_110_365_317);
    }
}
