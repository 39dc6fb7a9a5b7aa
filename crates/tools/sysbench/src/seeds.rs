//! The states from which sysbench's workers draw: each thread takes four values of the C library's `random()` in
//! the order in which threads start.

/// glibc's `random()` of type 3: an additive feedback generator over 31 words (Knuth, Seminumerical Algorithms, 3.2.2),
/// filled by a linear congruence, its first 310 values thrown away.
#[derive(Clone, Debug)]
pub struct Random {
    words: [u32; 31],
    at: usize,
}

impl Random {
    /// What `srandom(seed)` leaves.
    pub fn new(seed: u32) -> Self {
        let mut words = [0u32; 31];
        let mut word = i64::from(if seed == 0 { 1 } else { seed } as i32);
        for slot in &mut words {
            *slot = word as u32;
            word = 16_807 * word % 2_147_483_647;
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        let mut random = Random { words, at: 3 };
        for _ in 0..310 {
            random.draw();
        }
        random
    }

    /// The next value, 31 bits.
    pub fn draw(&mut self) -> u32 {
        // The word that is replaced is 31 back, the other one 3 back.
        let other = self.words[(self.at + 28) % 31];
        let value = self.words[self.at].wrapping_add(other);
        self.words[self.at] = value;
        self.at = (self.at + 1) % 31;
        value >> 1
    }

    /// The state of the next thread's xoroshiro128+.
    pub fn state(&mut self) -> (u64, u64) {
        let mut word = || u64::from(self.draw());
        let (a, b, c, d) = (word(), word(), word(), word());
        (a << 32 | b, c << 32 | d)
    }
}

/// States of the workers: under a rate the thread that makes the arrivals starts before them.
pub fn states(seed: u32, workers: u32, under_a_rate: bool) -> Vec<(u64, u64)> {
    let mut random = Random::new(seed);
    if under_a_rate {
        random.state();
    }
    (0..workers).map(|_| random.state()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_those_of_the_c_library() {
        let mut random = Random::new(1);
        let first: Vec<u32> = (0..4).map(|_| random.draw()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915]);
    }

    #[test]
    fn a_rate_takes_the_first_state() {
        assert_eq!(states(7, 2, false)[1], states(7, 1, true)[0]);
    }
}
