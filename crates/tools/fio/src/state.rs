//! `local-NAME-NUMBER-verify.state`: how far a job got that writes what can be verified. The layout was found by looking at
//! files that fio 3.33 wrote (little-endian throughout):
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | version, 3 |
//! | 8..16 | bytes from the 24th to the end |
//! | 16..24 | their CRC-32C without the final inversion |
//! | 24..32 | how many completions are listed: `iodepth` for each file |
//! | 32..36, 36..40 | `iodepth`, files |
//! | 40..48 | writes that were begun |
//! | 48..56 | number of the job, all clones counted |
//! | 56..64 | 1: the state of the generator that follows is of the kind with 64 bits |
//! | 64..112 | the state of the generator of random offsets, zeros for a sequential job |
//! | 112..176 | name of the job |
//! | 176.. | completions: number of the file and offset, 8 bytes each; of each file the last one first, then zeros |
//!
//! fathom's random order is its own, so that a state of its generator means nothing to fio. In its place stand a word that
//! says so, and the seed.

use super::job::Job;
use fathom_spec::Verb;

const VERSION: u64 = 3;
/// Bytes before those of which the sum is taken.
const HEAD: usize = 24;
/// Bytes before the completions.
const LIST: usize = 176;
const NAME: std::ops::Range<usize> = 112..176;
/// What stands in a state of ours, and where.
const OURS: (usize, &[u8; 8]) = (96, b"fathom\0\0");
const SEED: usize = 104;
/// Completions that a file may list.
const LISTED_MOST: u64 = 1 << 24;

/// How far a job got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Writes that were begun.
    pub writes: u64,
    /// `iodepth=`.
    pub depth: u32,
    /// Files of the job.
    pub files: u32,
    /// Number of the file and offset of the writes that came back last, the oldest first.
    pub last: Vec<(u64, u64)>,
    /// Name of the job.
    pub name: String,
    /// Its number, all clones counted.
    pub number: u64,
    /// What random orders were drawn from, where fathom wrote it.
    pub seed: Option<u64>,
}

/// Does a job check no more than a saved state says?
pub fn is_gone_by(job: &Job) -> bool {
    let only_checks = job.data.verify_only || !job.direction.verbs.contains(&Verb::Write);
    job.data.loads_state && only_checks && job.data.verify.is_some_and(|word| word != "null")
}

/// The name of the file of a job.
pub fn file_name(job: &str, number: usize) -> String {
    format!("local-{}-{number}-verify.state", job.replace('/', "."))
}

/// The bytes of a state.
pub fn bytes(state: &State) -> Vec<u8> {
    let State { writes, depth, files, last, name, number, seed } = state;
    let mut bytes = vec![0; LIST];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    let listed = u64::from(*depth) * u64::from(*files);
    put(0, &VERSION.to_le_bytes());
    put(24, &listed.to_le_bytes());
    put(32, &depth.to_le_bytes());
    put(36, &files.to_le_bytes());
    put(40, &writes.to_le_bytes());
    put(48, &number.to_le_bytes());
    if let Some(seed) = seed {
        put(OURS.0, OURS.1);
        put(SEED, &seed.to_le_bytes());
    }
    // A name ends with a zero.
    put(NAME.start, &name.as_bytes()[..name.len().min(NAME.len() - 1)]);
    for file in 0..u64::from(*files) {
        let own = last.iter().rev().filter(|(of, _)| *of == file).map(|(_, offset)| *offset);
        for offset in own.chain(std::iter::repeat(0)).take(*depth as usize) {
            bytes.extend(file.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
        }
    }
    let size = (bytes.len() - HEAD) as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    let sum = sum(&bytes[HEAD..]);
    bytes[16..24].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn sum(bytes: &[u8]) -> u64 {
    u64::from(!crc32c::crc32c(bytes))
}

/// Reads a state. An error says what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<State, String> {
    let eight =
        |at: usize| -> Option<u64> { Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?)) };
    let four =
        |at: usize| -> Option<u32> { Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
    let short = || format!("it has {} bytes, fewer than any saved state", bytes.len());
    if bytes.len() < LIST {
        return Err(short());
    }
    if eight(0) != Some(VERSION) {
        return Err(format!("it is no saved state of version {VERSION}"));
    }
    let (size, kept) = (eight(8).unwrap_or(0), eight(16).unwrap_or(0));
    if size != (bytes.len() - HEAD) as u64 {
        return Err(format!(
            "it has {} bytes, and says that it has {}",
            bytes.len(),
            size.saturating_add(24)
        ));
    }
    if kept != sum(&bytes[HEAD..]) {
        return Err("its checksum does not fit what it holds".to_owned());
    }
    let listed = eight(24).filter(|listed| *listed <= LISTED_MOST).ok_or("it lists too many completions")?;
    if bytes.len() != LIST + listed as usize * 16 {
        return Err(format!("it lists {listed} completions, and {} bytes are left", bytes.len() - LIST));
    }
    let mut last: Vec<(u64, u64)> = (0..listed as usize)
        .filter_map(|at| Some((eight(LIST + at * 16)?, eight(LIST + at * 16 + 8)?)))
        .collect();
    last.reverse();
    let name = &bytes[NAME];
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let ours = bytes[OURS.0..OURS.0 + 8] == *OURS.1;
    Ok(State {
        writes: eight(40).ok_or_else(short)?,
        depth: four(32).ok_or_else(short)?,
        files: four(36).ok_or_else(short)?,
        last,
        name: String::from_utf8_lossy(&name[..end]).into_owned(),
        number: eight(48).ok_or_else(short)?,
        seed: eight(SEED).filter(|_| ours),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio 3.33 wrote of `--name=s --rw=write --size=256k --bs=4k --number_ios=10 --iodepth=4 --ioengine=libaio`.
    fn theirs() -> Vec<u8> {
        let mut bytes = vec![0; 240];
        let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        let words = [(0, 3), (8, 216), (24, 4), (32, 4 | 1 << 32), (40, 10), (112, 0x73)];
        words.into_iter().for_each(|(at, word)| put(at, word));
        (0..4).for_each(|at| put(184 + at * 16, 0x9000 - at as u64 * 0x1000));
        bytes
    }

    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let sum = sum(&bytes[HEAD..]);
        bytes[16..24].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    #[test]
    fn states_of_fio_are_read_and_written_alike() {
        let state = read(&sealed(theirs())).unwrap();
        let last = vec![(0, 0x6000), (0, 0x7000), (0, 0x8000), (0, 0x9000)];
        let wanted =
            State { writes: 10, depth: 4, files: 1, last, name: "s".to_owned(), number: 0, seed: None };
        assert_eq!(state, wanted);
        assert_eq!(bytes(&state), sealed(theirs()));
        // The whole of one that fio wrote, its sum too.
        let mut whole = theirs();
        whole.truncate(192);
        let words = [
            (8, 168u64),
            (16, 0x2c26_616c),
            (24, 1),
            (32, 1 | 1 << 32),
            (40, 16),
            (112, 0x61),
            (184, 0xf000),
        ];
        words.into_iter().for_each(|(at, word)| whole[at..at + 8].copy_from_slice(&word.to_le_bytes()));
        assert_eq!(read(&whole).unwrap().last, [(0, 0xf000)]);
    }

    #[test]
    fn a_state_of_ours_has_its_seed_and_every_file_its_own_list() {
        let last = vec![(1, 512), (0, 4096), (1, 1024)];
        let state =
            State { writes: 3, depth: 2, files: 2, last, name: "x".repeat(80), number: 7, seed: Some(99) };
        let again = read(&bytes(&state)).unwrap();
        assert_eq!(again.last, [(1, 512), (1, 1024), (0, 0), (0, 4096)]);
        assert_eq!((again.seed, again.number, again.name.len()), (Some(99), 7, 63));
    }

    #[test]
    fn what_is_no_state_is_told() {
        let wrong = |bytes: &[u8]| read(bytes).unwrap_err();
        assert!(wrong(b"nothing").contains("it has 7 bytes"));
        assert!(wrong(&[1; 200]).contains("no saved state of version 3"));
        assert!(wrong(&theirs()).contains("its checksum does not fit"));
        assert!(wrong(&sealed(theirs())[..200]).contains("says that it has 240"));
        let mut many = theirs();
        many[24] = 5;
        assert!(wrong(&sealed(many)).contains("it lists 5 completions, and 64 bytes are left"));
        assert_eq!(file_name("a/b", 3), "local-a.b-3-verify.state");
    }
}
