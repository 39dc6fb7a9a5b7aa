//! dt's options: a test as it was asked for.

use super::shape::{Crew, Mode, Shape};
use super::watch::Watch;

/// What becomes of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispose {
    /// Removed at the end, if dt made it.
    #[default]
    Delete,
    /// Kept.
    Keep,
    /// Kept when something was wrong.
    KeepOnError,
}

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stats {
    /// Everything.
    #[default]
    Full,
    /// One line.
    Brief,
    /// Nothing.
    None,
}

/// Whose layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// That of dt 26.
    #[default]
    New,
    /// That of 2008.
    Old,
}

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// The thirteen words, one after the other.
    #[default]
    Words,
    /// One word.
    Word(u32),
    /// The I/O tester pattern.
    Iot,
    /// Bytes 0, 1, 2 ... 255.
    Incrementing,
    /// These bytes.
    Text(Vec<u8>),
    /// The bytes of a file.
    File(String),
}

/// What a file holds before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// `fill_pattern=`: this word. Otherwise it is the pattern's own bytes, or with `always` the inverted word.
    pub word: Option<u32>,
    /// `enable=fill_always`: in each pass, whatever is there. Otherwise only a file that `readp=` needs and is too short.
    pub always: bool,
}

impl Fill {
    /// Is it the pattern itself, so that what is read of it can be compared?
    pub fn is_pattern(self) -> bool {
        self.word.is_none() && !self.always
    }
}

/// A test as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `of=`: written, then read and compared.
    pub output: Option<String>,
    /// `if=`: read and compared.
    pub input: Option<String>,
    /// Bytes of a record.
    pub record: u64,
    /// Bytes of data; `None`: the target's.
    pub limit: Option<u64>,
    /// Records at most; 0: no limit.
    pub records: u64,
    /// Passes.
    pub passes: u64,
    /// Seconds; passes go on until then.
    pub runtime: Option<u64>,
    /// Records of input left out at the start.
    pub skip: u64,
    /// Records of output left out at the start.
    pub seek: u64,
    /// Where the first record stands.
    pub position: u64,
    /// What becomes of the file.
    pub dispose: Dispose,
    /// Past the page cache.
    pub direct: bool,
    /// Each write is durable when it returns: data only, or all.
    pub dsync: bool,
    /// Data and metadata.
    pub sync: bool,
    /// The file is emptied first.
    pub truncate: bool,
    /// Random offsets.
    pub random: bool,
    /// What is written.
    pub pattern: Pattern,
    /// Each pass takes the next word.
    pub unique: bool,
    /// What stands before the pattern, with its `%d`.
    pub prefix: Option<String>,
    /// Blocks have their number.
    pub numbered: bool,
    /// Block of a disk at which the test begins, where no position is given.
    pub lba: u64,
    /// Byte at which the pattern begins, of a test that is a part of another; else where the test begins.
    pub pattern_start: Option<u64>,
    /// Blocks have the time.
    pub timestamp: bool,
    /// Blocks have tags.
    pub tags: bool,
    /// What is read is compared.
    pub compare: bool,
    /// What was written is read.
    pub verify: bool,
    /// The end is made durable (fsync).
    pub fsync: bool,
    /// Each pass tells of itself.
    pub pass_statistics: bool,
    /// How much is told.
    pub stats: Stats,
    /// Seed of the I/O tester pattern.
    pub iot_seed: u32,
    /// The first pass's number.
    pub iot_pass: u32,
    /// Bytes of a block.
    pub block: u64,
    /// Records outstanding at a time.
    pub aios: u32,
    /// Records a second.
    pub iops: Option<f64>,
    /// Seed of the random offsets.
    pub random_seed: u64,
    /// Errors that end the test.
    pub errors: u64,
    /// Bytes of a dump.
    pub dump: u64,
    /// Blocks told of in a corruption.
    pub bad_most: u64,
    /// Seconds before a record that was wrong is read again.
    pub retry_delay: u64,
    /// How often it is read again.
    pub retry_limit: u64,
    /// A command that is run at the first corruption, with consent.
    pub trigger: Option<String>,
    /// Whose layout.
    pub layout: Layout,
    /// What is done with two files.
    pub mode: Mode,
    /// `oposition=`: where the copy's first record stands; `None`: where the original's does.
    pub output_position: Option<u64>,
    /// `limit=random`, `min_limit=`, `max_limit=`: bounds of a limit that is drawn.
    pub limits: Option<(u64, u64)>,
    /// What a file holds before it is written.
    pub fill: Fill,
    /// Sizes of records, direction, shares.
    pub shape: Shape,
    /// Threads and slices.
    pub crew: Crew,
    /// What is said meanwhile.
    pub watch: Watch,
    /// Only what dt prints.
    pub strict: bool,
    /// Every `name=value` as typed.
    pub typed: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            output: None,
            input: None,
            record: 512,
            limit: None,
            records: 0,
            passes: 1,
            runtime: None,
            skip: 0,
            seek: 0,
            position: 0,
            dispose: Dispose::default(),
            direct: false,
            dsync: false,
            sync: false,
            truncate: false,
            random: false,
            pattern: Pattern::default(),
            unique: true,
            prefix: None,
            numbered: false,
            lba: 0,
            pattern_start: None,
            timestamp: false,
            tags: false,
            compare: true,
            verify: true,
            fsync: false,
            pass_statistics: true,
            stats: Stats::default(),
            iot_seed: 0x0101_0101,
            iot_pass: 1,
            block: 512,
            aios: 1,
            iops: None,
            random_seed: 0x2A,
            errors: 1,
            dump: 512,
            bad_most: 25,
            retry_delay: 5,
            retry_limit: 1,
            trigger: None,
            layout: Layout::default(),
            mode: Mode::default(),
            output_position: None,
            limits: None,
            fill: Fill::default(),
            shape: Shape::default(),
            crew: Crew::default(),
            watch: Watch::default(),
            strict: false,
            typed: Vec::new(),
        }
    }
}
