//! Generators of random numbers that others name: the combined Tausworthe generator of three components (L'Ecuyer 1996,
//! "Maximally equidistributed combined Tausworthe generators", taus88) and a linear feedback shift register of maximal
//! length, which visits each number once before any comes again. The generators are those; which offsets another tool
//! makes of the same seed is not promised.

use super::uniform::below;

/// taus88.
#[derive(Clone, Debug)]
pub(crate) struct Tausworthe {
    state: [u32; 3],
}

impl Tausworthe {
    /// Seeded by a linear congruential step for each component; each is at least 16, as the generator asks for.
    pub(crate) fn new(seed: u64) -> Self {
        let step = |x: u32| x.wrapping_mul(69_069).wrapping_add(1);
        let first = step((seed ^ (seed >> 32)) as u32);
        let second = step(first);
        let mut generator = Tausworthe { state: [first | 16, second | 16, step(second) | 16] };
        for _ in 0..8 {
            generator.next();
        }
        generator
    }

    pub(crate) fn next(&mut self) -> u32 {
        let [a, b, c] = &mut self.state;
        *a = ((*a & 0xffff_fffe) << 12) ^ (((*a << 13) ^ *a) >> 19);
        *b = ((*b & 0xffff_fff8) << 4) ^ (((*b << 2) ^ *b) >> 25);
        *c = ((*c & 0xffff_fff0) << 17) ^ (((*c << 3) ^ *c) >> 11);
        *a ^ *b ^ *c
    }

    /// 64 bits from two numbers.
    pub(crate) fn wide(&mut self) -> u64 {
        u64::from(self.next()) << 32 | u64::from(self.next())
    }
}

/// Feedback masks of registers of 2 to 40 bits whose period is maximal, lowest bit first out (from the tables of
/// maximal-length taps in Xilinx XAPP 052).
const TAPS: [(u32, &[u32]); 39] = [
    (2, &[2, 1]),
    (3, &[3, 2]),
    (4, &[4, 3]),
    (5, &[5, 3]),
    (6, &[6, 5]),
    (7, &[7, 6]),
    (8, &[8, 6, 5, 4]),
    (9, &[9, 5]),
    (10, &[10, 7]),
    (11, &[11, 9]),
    (12, &[12, 6, 4, 1]),
    (13, &[13, 4, 3, 1]),
    (14, &[14, 5, 3, 1]),
    (15, &[15, 14]),
    (16, &[16, 15, 13, 4]),
    (17, &[17, 14]),
    (18, &[18, 11]),
    (19, &[19, 6, 2, 1]),
    (20, &[20, 17]),
    (21, &[21, 19]),
    (22, &[22, 21]),
    (23, &[23, 18]),
    (24, &[24, 23, 22, 17]),
    (25, &[25, 22]),
    (26, &[26, 6, 2, 1]),
    (27, &[27, 5, 2, 1]),
    (28, &[28, 25]),
    (29, &[29, 27]),
    (30, &[30, 6, 4, 1]),
    (31, &[31, 28]),
    (32, &[32, 22, 2, 1]),
    (33, &[33, 20]),
    (34, &[34, 27, 2, 1]),
    (35, &[35, 33]),
    (36, &[36, 25]),
    (37, &[37, 5, 4, 3, 2, 1]),
    (38, &[38, 6, 5, 1]),
    (39, &[39, 35]),
    (40, &[40, 38, 21, 19]),
];

/// A shift register over the numbers below `count`.
#[derive(Clone, Debug)]
pub(crate) struct Lfsr {
    count: u64,
    mask: u64,
    state: u64,
    /// Added to each number, modulo the count, so that seeds differ in more than where they begin.
    turn: u64,
}

impl Lfsr {
    pub(crate) fn new(count: u64, seed: u64) -> Self {
        // States are 1 to 2^bits - 1; the number is one less.
        let bits = (64 - count.max(1).leading_zeros()).clamp(2, 40);
        let taps = TAPS.iter().find(|(own, _)| *own == bits).map_or(&[][..], |(_, taps)| taps);
        let mask = taps.iter().fold(0, |mask, tap| mask | 1 << (tap - 1));
        let largest = (1u64 << bits) - 1;
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Lfsr { count: count.max(1), mask, state: 1 + mixed % largest, turn: below(mixed, count.max(1)) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        loop {
            let low = self.state & 1;
            self.state >>= 1;
            if low == 1 {
                self.state ^= self.mask;
            }
            if self.state <= self.count {
                return (self.state - 1 + self.turn) % self.count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_of_each_length_visits_each_number_once_a_pass() {
        for count in [1, 2, 3, 4, 5, 63, 64, 100, 1000, 4096, 70_000, 1 << 20] {
            let mut lfsr = Lfsr::new(count, 7);
            let mut seen = vec![0u8; count as usize];
            (0..2 * count).for_each(|_| seen[lfsr.next() as usize] += 1);
            assert!(seen.iter().all(|times| *times == 2), "{count}");
        }
    }

    #[test]
    fn the_generator_is_spread_evenly_and_its_seeds_differ() {
        let mut one = Tausworthe::new(1);
        let mut counts = [0u32; 64];
        (0..64_000).for_each(|_| counts[(one.next() >> 26) as usize] += 1);
        let chi: f64 = counts.iter().map(|c| (f64::from(*c) - 1000.0).powi(2) / 1000.0).sum();
        // 63 degrees of freedom: between the quantiles 0.001 and 0.999.
        assert!((34.0..104.0).contains(&chi), "{chi}");
        assert_ne!(Tausworthe::new(1).wide(), Tausworthe::new(2).wide());
    }
}
