//! What bytes stand in a block, and what is wrong with them. No I/O.

use fathom_spec::Content;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

pub mod dt;
pub mod fio;
mod lanes;
pub mod sysbench;
use lanes::Lanes;

/// The CRC-32 of Ethernet, gzip and zlib: sysbench's and dt's.
static CRC32_ZLIB: crc::Crc<u32, crc::Table<16>> =
    crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISO_HDLC);

/// Makes the bytes of blocks.
#[derive(Clone, Debug)]
pub struct Filler {
    content: Content,
    random: Xoshiro256Plus,
    lanes: Lanes,
    /// Where the lanes stand at the start of a block that repeats.
    alike: Lanes,
    /// A set of blocks that are drawn again and again, and how many the filler has written as its own.
    set: (u64, u64),
    /// In whose name headers are written.
    writer: fio::Writer,
    /// What a block should hold, made again to compare.
    told: Vec<u8>,
}

/// What is wrong with bytes that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What kind of damage it is.
    pub damage: Damage,
    /// First byte of the piece that is wrong, in its target.
    pub offset: u64,
    /// Bytes of the piece.
    pub length: u32,
    /// What was expected and what was found.
    pub note: String,
}

/// Kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing but zeros.
    Zeroed,
    /// Sound, but of an earlier write.
    Stale,
    /// Sound, but of another place.
    Misdirected,
    /// A part is of one write, a part is not.
    Torn,
    /// Bytes that nobody wrote there.
    Corrupt,
    /// A format of another version of the program that wrote it: nothing can be said of it.
    Version,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Damage::Zeroed => "zeroed",
            Damage::Stale => "stale",
            Damage::Misdirected => "misdirected",
            Damage::Torn => "torn",
            Damage::Corrupt => "corrupt",
            Damage::Version => "unsupported version",
        })
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Wrong { damage, offset, length, note } = self;
        write!(f, "{damage}: {length} bytes at {offset}: {note}")
    }
}

/// What a check may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Somebody wrote it at some time.
    Anyone,
    /// This run wrote it, and no earlier than under this number.
    Since(u64),
}

impl Filler {
    /// A filler; `None` for contents that are not built yet (formats of other tools).
    pub fn new(content: &Content, seed: u64) -> Option<Self> {
        let built = matches!(
            content,
            Content::Zero
                | Content::Random { .. }
                | Content::OfSet { .. }
                | Content::Pattern(_)
                | Content::Placed { .. }
                | Content::LogicalBlock
                | Content::SysbenchSum
                | Content::Kept
                | Content::Alike
                | Content::DataTest(_)
        ) || matches!(content, Content::FioHeader { hash, .. } if fio::Hash::of_number(*hash).is_some());
        let mut random = Xoshiro256Plus::seed_from_u64(seed ^ 0xF111_F111);
        let (lanes, alike) = (Lanes::new(&mut random), Lanes::new(&mut random));
        built.then(|| Filler {
            content: content.clone(),
            random,
            lanes,
            alike,
            set: (seed, 0),
            writer: fio::Writer::default(),
            told: Vec::new(),
        })
    }

    /// The same filler, which signs what it writes where its format has a place for that.
    pub fn signed(self, writer: fio::Writer) -> Self {
        Filler { writer, ..self }
    }

    /// Can what it writes be checked?
    pub fn checks(&self) -> bool {
        !matches!(self.content, Content::Random { .. } | Content::OfSet { .. } | Content::Kept)
    }

    /// Fills a block that stands at `offset`. `mark` is the source's own word for it: the number of the write.
    pub fn fill(&mut self, bytes: &mut [u8], offset: u64, mark: u64) {
        match &self.content {
            Content::Pattern(pattern) if !pattern.is_empty() => repeat(pattern, bytes),
            Content::Placed { pattern, places } if !pattern.is_empty() => {
                repeat(&placed(pattern, places, offset), bytes);
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
            Content::OfSet { compress_percent, dedupe_percent, blocks, seed, first, own } => {
                let (compress_percent, seed) = (usize::from(*compress_percent), seed.unwrap_or(self.set.0));
                let (dedupe, blocks, first, own) = (*dedupe_percent, *blocks, *first, *own);
                let of_set = self.of_set(dedupe, blocks, first, own);
                let random = compressible(bytes, compress_percent);
                match of_set {
                    Some(number) => {
                        let word = seed ^ number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                        Lanes::new(&mut Xoshiro256Plus::seed_from_u64(word)).fill(random);
                    }
                    None => self.lanes.fill(random),
                }
            }
            Content::DataTest(format) => dt::fill(format, bytes, offset),
            Content::Kept | Content::Alike => {}
            Content::SysbenchSum => {
                self.lanes.fill(bytes);
                sysbench::seal(bytes, offset);
            }
            Content::FioHeader { hash, interval, swap, pattern } => {
                let Some(hash) = fio::Hash::of_number(*hash) else { return };
                let (interval, swap) = (*interval as usize, *swap as usize);
                match pattern.is_empty() {
                    true => {
                        Lanes::new(&mut Xoshiro256Plus::seed_from_u64(self.writer.seed(mark))).fill(bytes)
                    }
                    false => repeat(pattern, bytes),
                }
                for (at, piece) in pieces(bytes, interval, hash) {
                    let header = fio::Header {
                        hash: hash as u16,
                        length: piece.len() as u32,
                        seed: self.writer.seed(mark),
                        offset: offset + at,
                        thread: self.writer.worker,
                        number: mark as u16,
                    };
                    header.write(piece, hash);
                    fio::exchange(piece, hash, swap);
                }
            }
            _ => bytes.fill(0),
        }
    }

    /// What is wrong with a block that was read at `offset`; the first piece of it that is.
    pub fn check(&mut self, bytes: &mut [u8], offset: u64, known: Known) -> Option<Wrong> {
        match &self.content {
            Content::FioHeader { hash, interval, swap, .. } => {
                let hash = fio::Hash::of_number(*hash)?;
                let (interval, swap) = (*interval as usize, *swap as usize);
                let least = match known {
                    Known::Anyone => None,
                    Known::Since(number) => Some(number),
                };
                let writer = self.writer;
                let wrong = pieces(bytes, interval, hash).find_map(|(at, piece)| {
                    fio::exchange(piece, hash, swap);
                    fio::judge(piece, hash, offset + at, writer, least)
                })?;
                Some(self.looked_into(wrong, bytes, offset))
            }
            Content::SysbenchSum => sysbench::check(bytes, offset).err().map(|wrong| Wrong {
                damage: match wrong {
                    sysbench::Wrong::Checksum { .. } => Damage::Corrupt,
                    sysbench::Wrong::Offset { .. } => Damage::Misdirected,
                },
                offset,
                length: bytes.len() as u32,
                note: wrong.to_string(),
            }),
            Content::Random { .. } | Content::OfSet { .. } | Content::Kept | Content::Alike => None,
            Content::DataTest(format) => dt::check(format, bytes, offset, &mut self.told),
            _ => {
                let mut told = std::mem::take(&mut self.told);
                told.resize(bytes.len(), 0);
                self.fill(&mut told, offset, 0);
                let wrong = compare(&told, bytes, offset);
                self.told = told;
                wrong
            }
        }
    }

    /// A hash that does not fit says nothing of where the damage is. Bytes that this run made can be made again.
    fn looked_into(&mut self, wrong: Wrong, bytes: &[u8], offset: u64) -> Wrong {
        let at = (wrong.offset - offset) as usize;
        let piece = &bytes[at..at + wrong.length as usize];
        let Some(header) = fio::Header::read(piece).filter(|_| wrong.damage == Damage::Corrupt) else {
            return wrong;
        };
        let Content::FioHeader { hash, pattern, .. } = &self.content else { return wrong };
        let begin = fio::HEADER_BYTES + fio::Hash::of_number(*hash).map_or(0, fio::Hash::length);
        let mut block = vec![0; bytes.len()];
        match pattern.is_empty() {
            true => Lanes::new(&mut Xoshiro256Plus::seed_from_u64(header.seed)).fill(&mut block),
            false => repeat(pattern, &mut block),
        }
        match compare(&block[at + begin..at + piece.len()], &piece[begin..], wrong.offset + begin as u64) {
            // Every sector is unlike: somebody else's bytes, which cannot be made again.
            Some(found) if found.length as usize + 512 > piece.len() - begin => wrong,
            Some(found) => {
                Wrong { damage: Damage::Torn, note: format!("{}; {}", wrong.note, found), ..wrong }
            }
            None => Wrong { note: format!("{}: the hash itself is wrong", wrong.note), ..wrong },
        }
    }

    fn random_block(&mut self, bytes: &mut [u8], compress_percent: usize, dedupe_percent: u8) {
        let alike = dedupe_percent > 0 && self.random.next_u64() % 100 < u64::from(dedupe_percent);
        let random = compressible(bytes, compress_percent);
        match alike {
            true => self.alike.clone().fill(random),
            false => self.lanes.fill(random),
        }
    }

    /// Which block of its set comes next; none: one that there was not.
    fn of_set(&mut self, dedupe_percent: u8, blocks: u64, first: u64, own: u64) -> Option<u64> {
        if self.random.next_u64() % 100 < u64::from(dedupe_percent) && blocks > 0 {
            return Some(((u128::from(self.random.next_u64()) * u128::from(blocks)) >> 64) as u64);
        }
        let written = &mut self.set.1;
        *written += 1;
        (*written <= own).then(|| first + *written - 1)
    }
}

/// Zeros at the end of a block, as many as compress away; answers what is before them.
fn compressible(bytes: &mut [u8], compress_percent: usize) -> &mut [u8] {
    let incompressible = bytes.len() - bytes.len() * compress_percent.min(100) / 100;
    let (random, zero) = bytes.split_at_mut(incompressible);
    zero.fill(0);
    random
}

/// A pattern with an offset at its places; what does not fit behind one is left out.
fn placed(pattern: &[u8], places: &[u32], offset: u64) -> Vec<u8> {
    let mut placed = pattern.to_vec();
    for place in places {
        let room = placed.get_mut(*place as usize..).unwrap_or_default();
        room.iter_mut().zip(offset.to_le_bytes()).for_each(|(byte, of)| *byte = of);
    }
    placed
}

/// The same bytes over and over.
fn repeat(pattern: &[u8], bytes: &mut [u8]) {
    for piece in bytes.chunks_mut(pattern.len()) {
        piece.copy_from_slice(&pattern[..piece.len()]);
    }
}

/// The pieces of a block that have a header each, with their places in it. What is too short for one has none.
fn pieces(bytes: &mut [u8], interval: usize, hash: fio::Hash) -> impl Iterator<Item = (u64, &mut [u8])> {
    let length = if interval == 0 { bytes.len().max(1) } else { interval };
    let least = fio::HEADER_BYTES + hash.length();
    let pieces = bytes.chunks_mut(length).enumerate().map(move |(i, piece)| ((i * length) as u64, piece));
    pieces.filter(move |(_, piece)| piece.len() > least)
}

/// Where bytes are not as they should be, by sectors of 512 bytes: from the first to the last that differs.
pub fn compare(told: &[u8], found: &[u8], offset: u64) -> Option<Wrong> {
    let sectors = told.chunks(512).zip(found.chunks(512));
    let unlike: Vec<usize> = sectors.enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect();
    let (first, last) = (*unlike.first()?, *unlike.last()?);
    let (from, to) = (first * 512, (last * 512 + 512).min(found.len()));
    let byte = (from..to).find(|i| told[*i] != found[*i]).unwrap_or(from);
    let zeroed = unlike.iter().all(|i| found[i * 512..].iter().take(512).all(|byte| *byte == 0));
    let damage = match zeroed {
        true => Damage::Zeroed,
        false if unlike.len() < found.len().div_ceil(512) => Damage::Torn,
        false => Damage::Corrupt,
    };
    let word = |bytes: &[u8]| bytes[byte..].iter().take(8).map(|b| format!("{b:02x}")).collect::<String>();
    let note = format!("from byte {} on {} should be {}", offset + byte as u64, word(found), word(told));
    Some(Wrong { damage, offset: offset + from as u64, length: (to - from) as u32, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(content: &Content, harm: impl Fn(&mut Vec<u8>)) -> Option<Damage> {
        let writer = fio::Writer { run: 7 << 40, worker: 1 };
        let mut filler = Filler::new(content, 7).unwrap().signed(writer);
        let mut bytes = vec![0; 8192];
        filler.fill(&mut bytes, 65_536, 12);
        harm(&mut bytes);
        filler.check(&mut bytes, 65_536, Known::Since(12)).map(|wrong| wrong.damage)
    }

    #[test]
    fn what_was_written_is_found_good_and_damage_is_told() {
        let header = |interval, swap, pattern| Content::FioHeader { hash: 2, interval, swap, pattern };
        let contents = [
            header(0, 0, Vec::new()),
            header(4096, 1024, vec![1, 2, 3]),
            Content::Zero,
            Content::Pattern(vec![9, 8, 7]),
            Content::Placed { pattern: vec![1; 10], places: vec![1] },
            Content::LogicalBlock,
            Content::SysbenchSum,
        ];
        for content in &contents {
            assert_eq!(checked(content, |_| {}), None, "{content:?}");
            assert!(checked(content, |bytes| bytes[5000] ^= 4).is_some(), "{content:?}");
        }
        for content in &contents[..2] {
            assert_eq!(
                checked(content, |bytes| bytes[6144..6656].fill(0)),
                Some(Damage::Torn),
                "{content:?}"
            );
        }
        assert_eq!(checked(&contents[3], |bytes| bytes[512..1024].fill(0)), Some(Damage::Zeroed));
        assert_eq!(checked(&contents[3], |bytes| bytes[512] ^= 1), Some(Damage::Torn));
        assert_eq!(checked(&contents[5], |bytes| bytes.rotate_left(512)), Some(Damage::Corrupt));
    }

    #[test]
    fn a_torn_block_is_told_with_the_place_of_the_damage() {
        let content = Content::FioHeader { hash: 5, interval: 0, swap: 0, pattern: Vec::new() };
        let mut filler = Filler::new(&content, 7).unwrap();
        let mut bytes = vec![0; 4096];
        filler.fill(&mut bytes, 8192, 1);
        bytes[2048..2560].fill(0);
        let told = filler.check(&mut bytes, 8192, Known::Anyone).unwrap().to_string();
        assert!(told.starts_with("torn: 4096 bytes at 8192: crc32c: verify failed"), "{told}");
        assert!(told.contains("from byte 10240 on 0000000000000000 should be"), "{told}");
    }

    #[test]
    fn an_offset_stands_at_its_place_of_the_pattern() {
        let content = Content::Placed { pattern: vec![0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xee], places: vec![1] };
        let (_, second) = filled(content, 20);
        let once = [0xff, 0, 0x20, 0, 0, 0, 0, 0, 0, 0xee];
        assert_eq!(second, [once, once].concat());
    }

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
    fn a_share_of_the_blocks_is_drawn_from_a_set_which_the_first_others_are() {
        let of = |seed, first| Content::OfSet {
            compress_percent: 50,
            dedupe_percent: 80,
            blocks: 50,
            seed,
            first,
            own: 25,
        };
        let drawn = |content: &Content, worker: u64| {
            let mut filler = Filler::new(content, worker).unwrap();
            let mut blocks = vec![vec![0; 512]; 2000];
            blocks.iter_mut().for_each(|block| filler.fill(block, 0, 0));
            assert!(blocks.iter().all(|block| block[256..].iter().all(|byte| *byte == 0)));
            let mut counts = std::collections::BTreeMap::new();
            blocks.into_iter().for_each(|block| *counts.entry(block).or_insert(0) += 1);
            counts
        };
        let (one, other) = (drawn(&of(Some(3), 0), 1), drawn(&of(Some(3), 25), 2));
        let often = |counts: &std::collections::BTreeMap<Vec<u8>, u32>| -> Vec<Vec<u8>> {
            counts.iter().filter(|(_, count)| **count > 1).map(|(block, _)| block.clone()).collect()
        };
        assert_eq!(often(&one).len(), 50);
        assert_eq!(often(&one), often(&other), "who says the same number draws from the same set");
        assert!((360..=460).contains(&one.len()), "{}: a fifth of the blocks is new", one.len());
        assert!(
            often(&drawn(&of(None, 0), 1)).iter().all(|block| !one.contains_key(block)),
            "a set of its own"
        );
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
        let unknown = Content::FioHeader { hash: 255, interval: 0, swap: 0, pattern: Vec::new() };
        assert!(Filler::new(&unknown, 7).is_none());
    }
}
