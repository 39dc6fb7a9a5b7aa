//! The rows that are loaded: keys in random order against the physical one, and filler. Pure.

use fathom_drive::Permutation;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Rows of one table, in physical order.
pub(crate) struct Rows {
    keys: Permutation,
    letters: Option<Xoshiro256Plus>,
    filler: Vec<u8>,
}

impl Rows {
    pub(crate) fn new(count: u64, filler_bytes: u32, random_filler: bool, seed: u64) -> Self {
        Rows {
            keys: Permutation::new(count, seed),
            letters: random_filler.then(|| Xoshiro256Plus::seed_from_u64(seed ^ 0x5107_F111)),
            filler: vec![b'X'; filler_bytes as usize],
        }
    }

    /// The key of the row at a physical place, both from 0; keys are from 1.
    pub(crate) fn key(&self, place: u64) -> u64 {
        self.keys.at(place) + 1
    }

    /// The filler of the next row.
    pub(crate) fn filler(&mut self) -> &[u8] {
        if let Some(letters) = &mut self.letters {
            write_letters(letters, &mut self.filler);
        }
        &self.filler
    }
}

/// Letters a to p, each with the same chance: 4 bits of entropy in a byte.
pub(crate) fn write_letters(random: &mut Xoshiro256Plus, out: &mut [u8]) {
    for chunk in out.chunks_mut(16) {
        let mut bits = random.next_u64();
        for byte in chunk {
            *byte = b'a' + (bits >> 60) as u8;
            bits <<= 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_comes_once_and_in_no_order() {
        let rows = Rows::new(500, 8, false, 3);
        let keys: Vec<u64> = (0..500).map(|place| rows.key(place)).collect();
        let neighbours = keys.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
        assert!(neighbours < 10, "{neighbours}");
        let mut sorted = keys;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(1..=500));
    }

    #[test]
    fn filler_is_one_letter_or_random_ones_that_differ_by_row() {
        let mut plain = Rows::new(1, 20, false, 3);
        assert_eq!(plain.filler(), [b'X'; 20]);
        let mut random = Rows::new(1, 100, true, 3);
        let first = random.filler().to_vec();
        assert!(first.iter().all(|byte| (b'a'..=b'p').contains(byte)));
        assert_ne!(first, random.filler());
    }
}
