//! fio's verify headers: what stands at the beginning of each piece of a block, and which hash follows it. The layout
//! was found by looking at files that fio 3.33 wrote (little-endian throughout):
//!
//! | bytes | what |
//! |---|---|
//! | 0..2 | magic, 0xacca |
//! | 2..4 | number of the hash |
//! | 4..8 | length of the piece |
//! | 8..16 | seed of the piece's random bytes |
//! | 16..24 | offset of the piece in its file |
//! | 24..32 | when it was written: seconds, nanoseconds |
//! | 32..34, 34..36 | thread, number of the write |
//! | 36..40 | CRC-32C of the 36 bytes before it, without the final inversion |
//! | 40.. | the hash of what follows it, to the piece's end |
//!
//! What is called sha512 is no hash: fio stores the working buffer of its hash function, which holds the last bytes of
//! the data, and bytes of its beginning. sha256 is the lowest byte of each word of a SHA-256 whose padding has its length
//! the wrong way round, laid over the same buffer. It is done the same way
//! here, because data must verify in both directions; that a change in the middle of a block is not seen by sha512 is
//! fio's own weakness, and documented.

use crate::{Damage, Wrong};
use md5::Digest;
use std::hash::Hasher;

/// Bytes of the header before the hash.
pub const HEADER_BYTES: usize = 40;
const MAGIC: u16 = 0xacca;

/// Hashes by fio's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hash {
    /// Only the header.
    Meta = 1,
    /// MD5.
    Md5 = 2,
    /// CRC-64 with Jones' polynomial, reflected.
    Crc64 = 3,
    /// CRC-32 with the usual polynomial, not reflected, begun with zero.
    Crc32 = 4,
    /// CRC-32C without the final inversion.
    Crc32c = 5,
    /// CRC-16 (ARC).
    Crc16 = 7,
    /// CRC-7 (MMC).
    Crc7 = 8,
    /// 64 bits of a hash like SHA-256, then the working buffer: see the module.
    Sha256 = 9,
    /// The working buffer only: see the module.
    Sha512 = 10,
    /// SHA3-224.
    Sha3224 = 11,
    /// SHA3-256.
    Sha3256 = 12,
    /// SHA3-384.
    Sha3384 = 13,
    /// SHA3-512.
    Sha3512 = 14,
    /// xxHash, 32 bits, seed 1.
    Xxhash = 15,
    /// SHA-1, its words little-endian.
    Sha1 = 16,
}

const HASHES: [(Hash, &str, usize); 15] = [
    (Hash::Meta, "meta", 0),
    (Hash::Md5, "md5", 16),
    (Hash::Crc64, "crc64", 8),
    (Hash::Crc32, "crc32", 4),
    (Hash::Crc32c, "crc32c", 4),
    (Hash::Crc16, "crc16", 2),
    (Hash::Crc7, "crc7", 1),
    (Hash::Sha256, "sha256", 64),
    (Hash::Sha512, "sha512", 128),
    (Hash::Sha3224, "sha3-224", 28),
    (Hash::Sha3256, "sha3-256", 32),
    (Hash::Sha3384, "sha3-384", 48),
    (Hash::Sha3512, "sha3-512", 64),
    (Hash::Xxhash, "xxhash", 4),
    (Hash::Sha1, "sha1", 20),
];

const DIGEST_MOST: usize = 128;

/// CRC-32 as fio has it. `check` is that of the nine digits, as the catalogue of CRCs asks for.
const CRC_32: crc::Algorithm<u32> = crc::Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
};
/// CRC-64 with Jones' polynomial.
const CRC_64: crc::Algorithm<u64> = crc::Algorithm {
    width: 64,
    poly: 0xad93_d235_94c9_35a9,
    init: 0,
    refin: true,
    refout: true,
    xorout: 0,
    check: 0xe9c6_d914_c4b8_d9ca,
    residue: 0,
};
static CRC32: crc::Crc<u32, crc::Table<16>> = crc::Crc::<u32, crc::Table<16>>::new(&CRC_32);
static CRC64: crc::Crc<u64, crc::Table<16>> = crc::Crc::<u64, crc::Table<16>>::new(&CRC_64);
static CRC16: crc::Crc<u16, crc::Table<16>> = crc::Crc::<u16, crc::Table<16>>::new(&crc::CRC_16_ARC);
static CRC7: crc::Crc<u8, crc::Table<16>> = crc::Crc::<u8, crc::Table<16>>::new(&crc::CRC_7_MMC);

impl Hash {
    /// The hash with this number of fio's.
    pub fn of_number(number: u8) -> Option<Hash> {
        HASHES.iter().map(|(hash, ..)| *hash).find(|hash| *hash as u8 == number)
    }

    /// The hash of this name in fio's language.
    pub fn named(name: &str) -> Option<Hash> {
        let name = if name == "crc32c-intel" { "crc32c" } else { name };
        HASHES.iter().find(|(_, own, _)| *own == name).map(|(hash, ..)| *hash)
    }

    /// Its name in fio's language.
    pub fn name(self) -> &'static str {
        HASHES.iter().find(|(hash, ..)| *hash == self).map_or("", |(_, name, _)| name)
    }

    /// Bytes of it in the header.
    pub fn length(self) -> usize {
        HASHES.iter().find(|(hash, ..)| *hash == self).map_or(0, |(.., length)| *length)
    }

    /// The hash of some bytes, as it stands in the header, at the beginning of `out`.
    fn of(self, data: &[u8], out: &mut [u8; DIGEST_MOST]) {
        match self {
            Hash::Meta => {}
            Hash::Md5 => put(out, &md5::Md5::digest(data)),
            Hash::Crc64 => put(out, &CRC64.checksum(data).to_le_bytes()),
            Hash::Crc32 => put(out, &CRC32.checksum(data).to_le_bytes()),
            Hash::Crc32c => put(out, &(!crc32c::crc32c(data)).to_le_bytes()),
            Hash::Crc16 => put(out, &CRC16.checksum(data).to_le_bytes()),
            Hash::Crc7 => put(out, &[CRC7.checksum(data)]),
            Hash::Sha256 => buffer_of_sha256(data, out),
            Hash::Sha512 => buffer_of_sha512(data, out),
            Hash::Sha3224 => put(out, &sha3::Sha3_224::digest(data)),
            Hash::Sha3256 => put(out, &sha3::Sha3_256::digest(data)),
            Hash::Sha3384 => put(out, &sha3::Sha3_384::digest(data)),
            Hash::Sha3512 => put(out, &sha3::Sha3_512::digest(data)),
            Hash::Xxhash => {
                let mut hasher = twox_hash::XxHash32::with_seed(1);
                hasher.write(data);
                put(out, &(hasher.finish() as u32).to_le_bytes());
            }
            Hash::Sha1 => {
                let mut digest: [u8; 20] = sha1::Sha1::digest(data).into();
                digest.chunks_exact_mut(4).for_each(<[u8]>::reverse);
                put(out, &digest);
            }
        }
    }
}

fn put(out: &mut [u8; DIGEST_MOST], digest: &[u8]) {
    out[..digest.len()].copy_from_slice(digest);
}

/// The first block of the data, over which its last, incomplete block was laid.
fn lay_buffer(data: &[u8], block: usize, out: &mut [u8]) -> usize {
    let first = data.len().min(block);
    out[..first].copy_from_slice(&data[..first]);
    let tail = data.len() % block;
    out[..tail].copy_from_slice(&data[data.len() - tail..]);
    tail
}

fn buffer_of_sha512(data: &[u8], out: &mut [u8; DIGEST_MOST]) {
    out.fill(0);
    lay_buffer(data, 128, out);
}

fn buffer_of_sha256(data: &[u8], out: &mut [u8; DIGEST_MOST]) {
    let tail = lay_buffer(data, 64, &mut out[..64]);
    if tail < 56 {
        out[tail] = 0x80;
        out[tail + 1..56].fill(0);
    } else {
        out[..56].fill(0);
    }
    out[56..64].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    // The length of the padding is little-endian too, so that the hash is not SHA-256's.
    let mut state = SHA256_BEGINNING;
    let (blocks, rest) = data.as_chunks::<64>();
    sha2::block_api::compress256(&mut state, blocks);
    let mut last = [[0; 64]; 2];
    let padded = last.as_flattened_mut();
    padded[..rest.len()].copy_from_slice(rest);
    padded[rest.len()] = 0x80;
    let count = if tail < 56 { 1 } else { 2 };
    padded[count * 64 - 8..count * 64].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    sha2::block_api::compress256(&mut state, &last[..count]);
    state.iter().zip(out).for_each(|(word, place)| *place = *word as u8);
}

/// FIPS 180-4, 5.3.3.
const SHA256_BEGINNING: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub hash: u16,
    /// Bytes of the piece.
    pub length: u32,
    /// Seed of its random bytes.
    pub seed: u64,
    /// Where it belongs.
    pub offset: u64,
    /// Who wrote it.
    pub thread: u16,
    /// The number of the write, modulo 65536.
    pub number: u16,
}

impl Header {
    /// Puts it at the beginning of a piece, with the hash of what follows.
    pub fn write(&self, piece: &mut [u8], hash: Hash) {
        let (head, data) = piece.split_at_mut(HEADER_BYTES + hash.length());
        head[..2].copy_from_slice(&MAGIC.to_le_bytes());
        head[2..4].copy_from_slice(&self.hash.to_le_bytes());
        head[4..8].copy_from_slice(&self.length.to_le_bytes());
        head[8..16].copy_from_slice(&self.seed.to_le_bytes());
        head[16..24].copy_from_slice(&self.offset.to_le_bytes());
        head[24..32].fill(0);
        head[32..34].copy_from_slice(&self.thread.to_le_bytes());
        head[34..36].copy_from_slice(&self.number.to_le_bytes());
        let sum = !crc32c::crc32c(&head[..36]);
        head[36..40].copy_from_slice(&sum.to_le_bytes());
        let mut digest = [0; DIGEST_MOST];
        hash.of(data, &mut digest);
        head[HEADER_BYTES..].copy_from_slice(&digest[..hash.length()]);
    }

    /// Reads it from the beginning of a piece; `None` where none stands, or a damaged one.
    pub fn read(piece: &[u8]) -> Option<Header> {
        let head = piece.first_chunk::<HEADER_BYTES>()?;
        let two = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | u32::from(two(at + 2)) << 16;
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        let sound = two(0) == MAGIC && four(36) == !crc32c::crc32c(&head[..36]);
        sound.then(|| Header {
            hash: two(2),
            length: four(4),
            seed: eight(8),
            offset: eight(16),
            thread: two(32),
            number: two(34),
        })
    }
}

/// Does the hash in a piece's header fit what follows it?
pub fn hash_fits(piece: &[u8], hash: Hash) -> bool {
    let (head, data) = piece.split_at(HEADER_BYTES + hash.length());
    let mut digest = [0; DIGEST_MOST];
    hash.of(data, &mut digest);
    head[HEADER_BYTES..] == digest[..hash.length()]
}

/// Exchanges the header, with its hash, with what stands `offset` bytes further on.
pub fn exchange(piece: &mut [u8], hash: Hash, offset: usize) {
    let length = HEADER_BYTES + hash.length();
    if offset >= length && offset + length <= piece.len() {
        let (front, back) = piece.split_at_mut(offset);
        front[..length].swap_with_slice(&mut back[..length]);
    }
}

/// Low bits of a seed: the number of the write; above it stands which run made it.
const NUMBER_BITS: u32 = 40;

/// Who writes: a run, and one of its workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Of the run; only its upper bits are used.
    pub run: u64,
    pub worker: u16,
}

impl Writer {
    /// The seed of a write: which run, which number.
    pub fn seed(&self, number: u64) -> u64 {
        self.run >> NUMBER_BITS << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1)
    }

    fn is_of_run(&self, seed: u64) -> bool {
        seed >> NUMBER_BITS == self.run >> NUMBER_BITS
    }
}

/// What is wrong with a piece that should stand at `offset`. `least`: this writer wrote it, and the number of the write
/// is at least this; `None`: somebody wrote it at some time.
pub fn judge(piece: &[u8], hash: Hash, offset: u64, writer: Writer, least: Option<u64>) -> Option<Wrong> {
    // The first words of each note are those that fio has for it: people look for them.
    let wrong = |damage, note: String| Some(Wrong { damage, offset, length: piece.len() as u32, note });
    if piece.iter().all(|byte| *byte == 0) {
        return wrong(Damage::Zeroed, "bad magic header 0, wanted acca (all of it is zero)".to_owned());
    }
    let Some(header) = Header::read(piece) else {
        return wrong_header(piece).and_then(|(damage, note)| wrong(damage, note));
    };
    if header.offset != offset {
        let from = header.offset;
        return wrong(
            Damage::Misdirected,
            format!("bad header offset {from}, wanted {offset} (write {})", told(&header)),
        );
    }
    if header.length as usize != piece.len() {
        return wrong(Damage::Stale, format!("bad header length {}, wanted {}", header.length, piece.len()));
    }
    if header.hash != hash as u16 {
        let name = u8::try_from(header.hash).ok().and_then(Hash::of_number).map_or("another", Hash::name);
        return wrong(Damage::Stale, format!("{}: verify failed (it was written with {name})", hash.name()));
    }
    if let Some(least) = least {
        let number = header.seed & ((1 << NUMBER_BITS) - 1);
        if !writer.is_of_run(header.seed) {
            return wrong(
                Damage::Stale,
                format!("bad header rand_seed (of another run: write {})", told(&header)),
            );
        }
        if header.thread == writer.worker && number < least {
            return wrong(
                Damage::Stale,
                format!("bad header numberio {number}, wanted {least} (a later write is missing)"),
            );
        }
    }
    (!hash_fits(piece, hash)).then(|| Wrong {
        damage: Damage::Corrupt,
        offset,
        length: piece.len() as u32,
        note: format!("{}: verify failed (the header is sound, the data are not)", hash.name()),
    })
}

/// What is wrong with a header that is not sound.
fn wrong_header(piece: &[u8]) -> Option<(Damage, String)> {
    let head = piece.first_chunk::<HEADER_BYTES>()?;
    let magic = u16::from_le_bytes([head[0], head[1]]);
    if magic != MAGIC {
        return Some((Damage::Corrupt, format!("bad magic header {magic:x}, wanted {MAGIC:x}")));
    }
    // Headers of fio 3.33 have the number of a hash here; those of later ones their version.
    if head[2] & NEWER != 0 {
        let version = head[2] & !NEWER;
        return Some((
            Damage::Version,
            format!("unsupported header version {version} (a newer fio wrote it)"),
        ));
    }
    let sum = u32::from_le_bytes([head[36], head[37], head[38], head[39]]);
    let wanted = !crc32c::crc32c(&head[..36]);
    Some((Damage::Corrupt, format!("bad header crc {sum:x}, calculated {wanted:x}")))
}

/// The bit that stands for a header of a version.
const NEWER: u8 = 0x80;

fn told(header: &Header) -> String {
    format!("{} of thread {}, seed {:#x}", header.number, header.thread, header.seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes in pieces that fio 3.33 wrote with `--rw=write --bs=512 --size=512 --verify=X
    /// --verify_pattern=0x11223344 --do_verify=0`.
    const SEEN: [(&str, &str); 13] = [
        ("md5", "e0ea84637f2c1ba33268f4744f516391"),
        ("crc64", "17356c45d144a69c"),
        ("crc32c", "ee36b80a"),
        ("crc32", "76fea30a"),
        ("crc16", "6bf2"),
        ("crc7", "22"),
        ("xxhash", "323d2231"),
        (
            "sha256",
            "e7a47b18a8f4efc6112233441122334411223344112233448000000000000000000000000000000000000000000000000000000000000000c00c000000000000",
        ),
        ("sha1", "61a921a1a3e36390b3ee2e53fd3acdd9b2683d8f"),
        ("sha3-224", "b5edb12a0c546027ad656b4876ab454eafcf043870c05219daf0d6e8"),
        ("sha3-256", "860777cb972beea5a2bf9e4c5f3ee117e85b03cc7786d86a0df53e5d58a30aab"),
        (
            "sha3-384",
            "ca4e5cdb4f485b0a55d3175243e8712a9fcd9fe08454f29c451de3f389c6fe4ca79fb00a489957a12965664af543aba8",
        ),
        (
            "sha3-512",
            "e67e21423334497abc074fdbe10be988e6e61b7a6f0af6f3a07424c07355ff546493dd620b98d45e2548df1da7f05ca37cbcdc5e7021c42095a8fca40a61437e",
        ),
    ];

    #[test]
    fn every_hash_is_what_fio_wrote() {
        for (name, seen) in SEEN {
            let hash = Hash::named(name).unwrap();
            let pattern: Vec<u8> = [0x11, 0x22, 0x33, 0x44].into_iter().cycle().take(512).collect();
            let mut digest = [0; DIGEST_MOST];
            hash.of(&pattern[HEADER_BYTES + hash.length()..], &mut digest);
            let text: String = digest[..hash.length()].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(text, seen, "{name}");
        }
    }

    fn piece(number: u64, offset: u64) -> Vec<u8> {
        let mut piece: Vec<u8> = (0..1024u32).map(|i| (i * 7 + number as u32) as u8).collect();
        let writer = Writer { run: 5 << 40, worker: 1 };
        let seed = writer.seed(number);
        let header =
            Header { hash: 2, length: 1024, seed, offset, thread: writer.worker, number: number as u16 };
        header.write(&mut piece, Hash::Md5);
        piece
    }

    fn damage(piece: &[u8], offset: u64, least: u64) -> Option<Damage> {
        let writer = Writer { run: 5 << 40, worker: 1 };
        judge(piece, Hash::Md5, offset, writer, Some(least)).map(|wrong| wrong.damage)
    }

    #[test]
    fn each_kind_of_damage_is_told_from_the_others() {
        let good = piece(9, 4096);
        assert_eq!(damage(&good, 4096, 9), None);
        assert_eq!(damage(&good, 4096, 3), None, "a later write lies over it");
        assert_eq!(damage(&[0; 1024], 4096, 9), Some(Damage::Zeroed));
        assert_eq!(damage(&good, 8192, 9), Some(Damage::Misdirected));
        assert_eq!(damage(&good, 4096, 10), Some(Damage::Stale));
        let mut flipped = good.clone();
        flipped[1000] ^= 1;
        assert_eq!(damage(&flipped, 4096, 9), Some(Damage::Corrupt));
        flipped[3] ^= 1;
        assert_eq!(damage(&flipped, 4096, 9), Some(Damage::Corrupt));
        let newer: Vec<u8> = [0xca, 0xac, 0x81, 1].into_iter().chain(4..255).cycle().take(1024).collect();
        assert_eq!(damage(&newer, 4096, 9), Some(Damage::Version));
        let of_another_run = Writer { run: 6 << 40, worker: 1 };
        let wrong = judge(&good, Hash::Md5, 4096, of_another_run, Some(1)).unwrap();
        assert_eq!(wrong.damage, Damage::Stale);
        let of_another_worker = Writer { run: 5 << 40, worker: 2 };
        assert_eq!(judge(&good, Hash::Md5, 4096, of_another_worker, Some(100)), None);
        assert_eq!(judge(&good, Hash::Md5, 4096, Writer::default(), None), None, "whoever wrote it");
    }

    #[test]
    fn an_exchanged_header_comes_back() {
        let good = piece(1, 0);
        let mut moved = good.clone();
        exchange(&mut moved, Hash::Md5, 512);
        assert_eq!((Header::read(&moved), Header::read(&moved[512..]).is_some()), (None, true));
        exchange(&mut moved, Hash::Md5, 512);
        assert_eq!(moved, good);
    }

    #[test]
    fn names_and_numbers_lead_to_the_same_hash() {
        for (hash, name, _) in HASHES {
            assert_eq!(Hash::named(name), Some(hash));
            assert_eq!(Hash::of_number(hash as u8), Some(hash));
            assert_eq!(hash.name(), name);
        }
        assert_eq!(Hash::named("crc32c-intel"), Some(Hash::Crc32c));
        assert_eq!((Hash::named("md6"), Hash::of_number(6)), (None, None));
    }
}
