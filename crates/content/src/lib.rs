//! What bytes stand in a block, and what is wrong with them. No I/O.

use fathom_spec::Content;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

pub mod crc32;
mod lanes;
pub mod sysbench;
use lanes::Lanes;

/// Makes the bytes of blocks.
#[derive(Clone, Debug)]
pub struct Filler {
    content: Content,
    random: Xoshiro256Plus,
    lanes: Lanes,
    /// Where the lanes stand at the start of a block that repeats.
    alike: Lanes,
}

impl Filler {
    /// A filler; `None` for contents that are not built yet (formats of other tools).
    pub fn new(content: &Content, seed: u64) -> Option<Self> {
        let built = matches!(
            content,
            Content::Zero
                | Content::Random { .. }
                | Content::Pattern(_)
                | Content::LogicalBlock
                | Content::SysbenchSum
        );
        let mut random = Xoshiro256Plus::seed_from_u64(seed ^ 0xF111_F111);
        let (lanes, alike) = (Lanes::new(&mut random), Lanes::new(&mut random));
        built.then(|| Filler { content: content.clone(), random, lanes, alike })
    }

    /// Fills a block that stands at `offset`. `mark` is the source's own word for it.
    pub fn fill(&mut self, bytes: &mut [u8], offset: u64, _mark: u64) {
        match &self.content {
            Content::Pattern(pattern) if !pattern.is_empty() => {
                bytes.iter_mut().zip(pattern.iter().cycle()).for_each(|(byte, p)| *byte = *p);
            }
            Content::LogicalBlock => {
                for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
                    word.copy_from_slice(&((offset + i as u64 * 8) / 512).to_le_bytes());
                }
            }
            Content::Random { compress_percent, dedupe_percent } => {
                let (compress, dedupe) = (usize::from(*compress_percent), *dedupe_percent);
                self.random_block(bytes, compress, dedupe);
            }
            Content::SysbenchSum => {
                self.lanes.fill(bytes);
                sysbench::seal(bytes, offset);
            }
            _ => bytes.fill(0),
        }
    }

    fn random_block(&mut self, bytes: &mut [u8], compress_percent: usize, dedupe_percent: u8) {
        let alike = dedupe_percent > 0 && self.random.next_u64() % 100 < u64::from(dedupe_percent);
        let incompressible = bytes.len() - bytes.len() * compress_percent.min(100) / 100;
        let (random, zero) = bytes.split_at_mut(incompressible);
        zero.fill(0);
        match alike {
            true => self.alike.clone().fill(random),
            false => self.lanes.fill(random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(content: Content, length: usize) -> (Vec<u8>, Vec<u8>) {
        let mut filler = Filler::new(&content, 7).unwrap();
        let (mut first, mut second) = (vec![0; length], vec![0; length]);
        filler.fill(&mut first, 0, 0);
        filler.fill(&mut second, 8192, 0);
        (first, second)
    }

    #[test]
    fn random_blocks_are_unlike_in_every_piece_of_64_bytes() {
        let (first, second) = filled(Content::Random { compress_percent: 0, dedupe_percent: 0 }, 1 << 20);
        assert!(first.chunks(64).zip(second.chunks(64)).all(|(a, b)| a != b));
        let mut counts = [0u32; 256];
        first.iter().for_each(|byte| counts[*byte as usize] += 1);
        assert!(counts.iter().all(|c| (3300..4900).contains(c)), "bytes are spread evenly");
    }

    #[test]
    fn half_of_a_half_compressible_block_is_zero() {
        let (first, _) = filled(Content::Random { compress_percent: 50, dedupe_percent: 0 }, 8192);
        assert!(first[4096..].iter().all(|b| *b == 0) && first[..4096].iter().any(|b| *b != 0));
    }

    #[test]
    fn a_share_of_the_blocks_repeats_and_the_others_do_not() {
        let content = Content::Random { compress_percent: 0, dedupe_percent: 30 };
        let mut filler = Filler::new(&content, 7).unwrap();
        let mut blocks = vec![vec![0; 512]; 2000];
        blocks.iter_mut().for_each(|block| filler.fill(block, 0, 0));
        blocks.sort_unstable();
        blocks.dedup();
        assert!((1340..=1460).contains(&blocks.len()), "{}", blocks.len());
    }

    #[test]
    fn a_pattern_a_block_number_and_zeros_are_what_they_say() {
        let (first, second) = filled(Content::Pattern(vec![1, 2, 3]), 7);
        assert_eq!((first, second), (vec![1, 2, 3, 1, 2, 3, 1], vec![1, 2, 3, 1, 2, 3, 1]));
        let (_, second) = filled(Content::LogicalBlock, 1024);
        assert_eq!((second[0], second[511 - 7], second[512]), (16, 16, 17));
        assert_eq!(filled(Content::Zero, 9).0, [0; 9]);
    }

    #[test]
    fn formats_of_other_tools_are_not_built_and_say_so() {
        assert!(Filler::new(&Content::Tagged, 7).is_none());
    }
}
