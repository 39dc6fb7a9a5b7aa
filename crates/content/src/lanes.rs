//! Random bytes fast: two generators side by side, whose state fits the vector registers of every x86-64 (more lanes
//! spill, and are slower). Nothing repeats, so that no window of a compressor is wide enough.

use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::RngCore;

const LANES: usize = 2;
/// Bytes of one step.
const STEP: usize = LANES * 8;

/// Two states of xoshiro256+ (Blackman and Vigna 2018), word by word.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    state: [[u64; LANES]; 4],
}

impl Lanes {
    /// Lanes seeded from a generator; a state of four zeros does not come from it.
    pub(crate) fn new(seeds: &mut Xoshiro256Plus) -> Self {
        let mut state = [[0; LANES]; 4];
        state.iter_mut().flatten().for_each(|word| *word = seeds.next_u64() | 1);
        Lanes { state }
    }

    #[inline(always)]
    fn step(&mut self) -> [u64; LANES] {
        let [a, b, c, d] = &mut self.state;
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = a[i].wrapping_add(d[i]);
            let shifted = b[i] << 17;
            c[i] ^= a[i];
            d[i] ^= b[i];
            b[i] ^= c[i];
            a[i] ^= d[i];
            c[i] ^= shifted;
            d[i] = d[i].rotate_left(45);
        }
        out
    }

    /// Fills with random bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        let mut local = self.clone();
        let mut steps = bytes.chunks_exact_mut(STEP);
        for piece in &mut steps {
            for (place, word) in piece.chunks_exact_mut(8).zip(local.step()) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        let rest = steps.into_remainder();
        if !rest.is_empty() {
            let words = local.step();
            rest.chunks_mut(8).zip(words).for_each(|(place, word)| {
                let length = place.len();
                place.copy_from_slice(&word.to_le_bytes()[..length]);
            });
        }
        *self = local;
    }
}
