//! Block work: which offsets, which verbs, what sizes, which bytes, and how it is asked of the kernel.

use crate::{Bytes, CellId, DataTest, Discards, Priority, SpaceId, TargetId, VariableRecords, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done to blocks of a space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blocks {
    /// Where.
    pub space: SpaceId,
    /// First byte and length of the part that is used.
    pub region: (Extent, Extent),
    /// In which order.
    pub pattern: Pattern,
    /// Who draws the random numbers.
    pub generator: Generator,
    /// Reads, writes, or some of each.
    pub mix: Mix,
    /// Bytes of an operation.
    pub sizes: Sizes,
    /// Offsets are multiples of this; zero: of the operation's size.
    pub align: Bytes,
    /// Syncs in between.
    pub sync: Vec<SyncRule>,
    /// What `Verb::Commit` does after its write.
    pub commit: SyncKind,
    /// What is written.
    pub content: Content,
    /// What is checked.
    pub verify: Option<Verify>,
    /// How it is asked of the kernel.
    pub queue: QueueKind,
    /// Finer points of the queue.
    pub queue_options: QueueOptions,
    /// Operations at a priority of their own; the others have the worker's.
    #[serde(default)]
    pub priorities: Vec<Priority>,
    /// CPUs of the threads that check; none: any.
    #[serde(default)]
    pub checker_cpus: Vec<u32>,
    /// Some: all workers draw from this one source.
    pub shared: Option<CellId>,
}

impl Blocks {
    /// Uniform random reads over the whole of a space.
    pub fn random_reads(space: SpaceId, size: Bytes) -> Self {
        Blocks {
            space,
            region: (Extent::Bytes(Bytes(0)), Extent::Whole),
            pattern: Pattern::Uniform { once: false },
            generator: Generator::Xoshiro,
            mix: Mix::Only(Verb::Read),
            sizes: Sizes::One(size),
            align: Bytes(0),
            sync: Vec::new(),
            commit: SyncKind::Fdatasync,
            content: Content::Random { compress_percent: 0, dedupe_percent: 0 },
            verify: None,
            queue: QueueKind::Auto,
            queue_options: QueueOptions::default(),
            priorities: Vec::new(),
            checker_cpus: Vec::new(),
            shared: None,
        }
    }
}

/// A place or length that may be known only once the target is open; `engine::resolve` settles it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// So many bytes.
    Bytes(Bytes),
    /// So much of the space, 0 to 100.
    Percent(f64),
    /// All that is left.
    Whole,
    /// All that is left of each target of a space in which the next one is drawn, however long each is.
    Each,
}

/// In which order blocks are touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after the other, round and round.
    Sequential(Begin),
    /// `run` operations one after the other, then a step of `step` bytes, which goes round at either end, or skip over so
    /// many (fio's read:512k, zones), beginning anew behind the end.
    Strided {
        /// Bytes added after each run; may be negative.
        step: i64,
        /// Operations in a run.
        run: u64,
        /// Bytes skipped after each run.
        skip: u64,
    },
    /// Every block as likely as every other; `once`: each block once a pass.
    Uniform {
        /// Each block once before any comes again.
        once: bool,
    },
    /// Zipf's law with this exponent.
    Zipf(f64),
    /// Pareto's law with this power.
    Pareto(f64),
    /// fio's normal distribution, of blocks that are spread over the region; its parameter in percent.
    Normal(f64),
    /// Pairs of percent of accesses, percent of the region.
    Zoned(Vec<(f64, f64)>),
    /// Where another pattern points, `run` operations one behind the other, or all at the same place.
    Runs {
        /// Where runs begin.
        of: Box<Pattern>,
        /// Operations in a run.
        run: u64,
        /// All operations of a run touch the same block.
        same: bool,
    },
    /// Another pattern, in which each verb has a place of its own.
    EachVerb(Box<Pattern>),
    /// Another pattern for a share of the operations; the others go on behind the last one.
    Partly {
        /// The other pattern.
        of: Box<Pattern>,
        /// Its share, 0 to 100.
        percent: u8,
    },
    /// As a recording says.
    Trace(TargetId),
    /// By records of changing sizes, each of which may lead to another operation.
    VariableRecords(Box<VariableRecords>),
}

/// Where a sequential worker begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// All at the first block.
    #[default]
    First,
    /// Worker i of n at i/n of the region.
    Spread,
    /// Worker i of n at (i+1)/(n+1) of the region, one alone at its start (ORION's streams).
    Inner,
    /// Anywhere.
    Random,
    /// At the end of the file, which grows (a log).
    Append,
}

/// Who draws the random numbers. The seed is the plan's, except where a generator brings its own state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// Our own: xoshiro256+, seeded from the plan's seed, the stream and the worker.
    Xoshiro,
    /// fio's default.
    Tausworthe {
        /// Its seed.
        seed: u64,
    },
    /// fio's shift register, which visits each block once by itself.
    Lfsr {
        /// Its seed.
        seed: u64,
    },
    /// Given states of xoroshiro128+ for each worker (sysbench's).
    Given {
        /// One a worker.
        states: Vec<(u64, u64)>,
        /// Draws thrown away after each operation.
        discard_per_event: u32,
    },
}

/// Which verbs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// One.
    Only(Verb),
    /// Reads with this probability, else writes. Where they have timetables, one that is not due yet lets the other go first
    /// (unless what is written is verified), so that each is done at its own rate.
    Random {
        /// 0 to 100.
        read_percent: u8,
    },
    /// Each block is discarded, and then written.
    TrimWrite,
    /// Each block is read, and then some of them are written back. Stops count the reads; a write belongs to the read
    /// before it.
    ReadWrite {
        /// How many are written back, 0 to 100.
        write_percent: u8,
    },
    /// By what was completed so far, as sysbench does.
    ByCompleted {
        /// The ratio to keep.
        reads_per_write: f64,
        /// Each write is a [`Verb::Commit`]: made durable before it counts.
        #[serde(default)]
        commits: bool,
    },
}

/// Bytes of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// Always the same.
    One(Bytes),
    /// Anything between, in multiples of the first.
    Range(Bytes, Bytes),
    /// Anything between, to the byte.
    Any(Bytes, Bytes),
    /// Verb, size, weight.
    Split(Vec<(Verb, Bytes, u8)>),
}

impl Sizes {
    /// The largest operation.
    pub fn most(&self) -> Bytes {
        match self {
            Sizes::One(size) => *size,
            Sizes::Range(_, most) | Sizes::Any(_, most) => *most,
            Sizes::Split(parts) => parts.iter().map(|p| p.1).max().unwrap_or_default(),
        }
    }
    /// The smallest operation.
    pub fn least(&self) -> Bytes {
        match self {
            Sizes::One(size) => *size,
            Sizes::Range(least, _) | Sizes::Any(least, _) => *least,
            Sizes::Split(parts) => parts.iter().map(|p| p.1).min().unwrap_or_default(),
        }
    }
}

/// A sync after every so many operations of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncRule {
    /// After so many.
    pub every: u64,
    /// Of this verb.
    pub of: Verb,
    /// Which sync.
    pub kind: SyncKind,
    /// Every target of the space, one after the other (sysbench), not only the last one written. In a sequence that
    /// workers share, `every` counts all operations, each sync is an operation of the sequence, and there is none
    /// before something was written.
    pub all_targets_in_turn: bool,
    /// Between operations only: none is due behind the last one.
    #[serde(default)]
    pub between: bool,
}

/// Ways to make written data durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncKind {
    /// Nothing: the open flags promise it (O_DSYNC), or nobody does.
    None,
    /// Data and all metadata.
    Fsync,
    /// Data and the metadata needed to read it back.
    Fdatasync,
    /// Start the write-back of a range and wait for it; metadata is not covered.
    Range,
    /// Of a mapping.
    Msync,
    /// What a buffer of the program's own holds goes to the kernel (fflush); nothing where there is none.
    Flush,
    /// The same, and a duplicate of the descriptor is closed: the kernel flushes at every close, which is what a network's
    /// file system waits for. What it does only when the last descriptor goes is not in it.
    Close,
}

/// What bytes are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Zeros, which some storage never writes.
    Zero,
    /// Random, compressible or repeating by so much.
    Random {
        /// Share that compresses away, 0 to 100.
        compress_percent: u8,
        /// Share of blocks that repeat another, 0 to 100.
        dedupe_percent: u8,
    },
    /// Random, a share of the blocks being one of a set; the first of the others are that set.
    OfSet {
        /// Share that compresses away, 0 to 100.
        compress_percent: u8,
        /// Share of blocks that are drawn from the set, 0 to 100.
        dedupe_percent: u8,
        /// Blocks in the set.
        blocks: u64,
        /// What they follow from: streams that say the same number draw from the same set. A worker's own set if none.
        #[serde(default)]
        seed: Option<u64>,
        /// The first block of the set that this stream writes as its own, so that streams with one set write it together.
        #[serde(default)]
        first: u64,
        /// How many it writes as its own.
        own: u64,
    },
    /// These bytes over and over.
    Pattern(Vec<u8>),
    /// These bytes over and over, the operation's own offset (8 bytes, the lowest first) at each of these places of them.
    Placed {
        /// The bytes.
        pattern: Vec<u8>,
        /// Where in them an offset begins.
        places: Vec<u32>,
    },
    /// The block's own number.
    LogicalBlock,
    /// dt's blocks.
    DataTest(Box<DataTest>),
    /// fio's verify headers with this hash.
    FioHeader {
        /// fio's number for the hash.
        hash: u8,
        /// Bytes from one header to the next; 0: one for each operation.
        #[serde(default)]
        interval: u32,
        /// The header changes places with what stands so many bytes further on; 0: it stays.
        #[serde(default)]
        swap: u32,
        /// What stands between headers, over and over; empty: random bytes.
        #[serde(default)]
        pattern: Vec<u8>,
    },
    /// sysbench's checksum block.
    SysbenchSum,
    /// What stands in the worker's buffer: at one outstanding I/O, what it read last.
    Kept,
    /// Nothing of its own: what two targets hold at the same place is compared.
    Alike,
}

/// What is checked of what is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verify {
    /// Check after so many writes, so many at a time.
    pub backlog: Option<(u64, u64)>,
    /// Threads that check while the worker goes on; 0: it checks itself.
    pub checkers: u32,
    /// Read everything again once the writes are done.
    pub then_read_pass: bool,
    /// Before that pass what was written is synced and dropped from the page cache, so that the disk is what answers.
    #[serde(default)]
    pub from_disk: bool,
    /// Whoever wrote a block and when: a header is right in any case where its hash is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_anyone: bool,
    /// Write nothing, only check.
    pub only: bool,
    /// The first mismatch ends the run.
    pub fatal: bool,
    /// Some blocks are discarded before they are checked.
    #[serde(default)]
    pub discards: Option<Discards>,
}

impl Verify {
    /// Reads are checked by the worker that made them; nothing is read for the checking's sake.
    pub const READS: Verify = Verify {
        backlog: None,
        checkers: 0,
        then_read_pass: false,
        from_disk: false,
        by_anyone: false,
        only: false,
        fatal: false,
        discards: None,
    };
}

/// How I/O is asked of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// The best that works here: io_uring, libaio, then psync with threads.
    Auto,
    /// io_uring.
    IoUring,
    /// The kernel's older asynchronous I/O.
    Libaio,
    /// pread and pwrite, one at a time.
    Psync,
    /// preadv2 and pwritev2.
    Vectored,
    /// Loads and stores on a mapping.
    Mmap,
    /// C's buffered streams: fread and fwrite through the C library's buffer, one at a time.
    Stdio,
    /// pread and pwrite on threads that take what the worker hands them, as many as may be outstanding.
    Threads,
    /// Space is reserved and given back: a read reserves beyond the end, a write within it, a discard punches a hole.
    Allocate,
    /// A write sets the file's size to its offset.
    Truncate,
    /// Nothing is done; measures fathom itself.
    Null,
    /// A simulated device on a virtual clock.
    Sim,
}

/// Finer points of a queue, asked for where possible; what could not be had is an event of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueOptions {
    /// Poll the device for completions (IORING_SETUP_IOPOLL, RWF_HIPRI).
    pub io_poll: bool,
    /// A kernel thread submits (IORING_SETUP_SQPOLL).
    pub submit_poll: bool,
    /// The CPU on which that thread runs (IORING_SETUP_SQ_AFF); none: any.
    #[serde(default)]
    pub submit_poll_cpu: Option<u32>,
    /// Do without registered buffers and files.
    pub unregistered: bool,
    /// Fail rather than block (RWF_NOWAIT).
    pub no_wait: bool,
    /// Never two operations of a worker in flight that overlap.
    #[serde(default)]
    pub no_overlap: bool,
    /// Buffers in huge pages where the system holds free ones.
    #[serde(default)]
    pub huge_pages: bool,
    /// Mappings of targets in transparent huge pages where the kernel can (MADV_HUGEPAGE).
    #[serde(default)]
    pub huge_mappings: bool,
    /// Buffers begin so many bytes after a page does.
    #[serde(default)]
    pub buffer_offset: u32,
    /// Each operation's buffer begins a byte further behind than that of the one before it, so many times, and then where it
    /// began; 0: they stand still.
    #[serde(default)]
    pub buffer_turns: u8,
    /// What the kernel is told of the order that is to come (posix_fadvise).
    #[serde(default)]
    pub expect: Expect,
    /// The page cache keeps nothing of what was read or written (POSIX_FADV_DONTNEED): at the start, and behind each operation.
    #[serde(default)]
    pub drop_cached: bool,
    /// The page cache drops the region after so many bytes, when they have all come back; 0: it never does.
    #[serde(default)]
    pub drop_cached_every: Bytes,
    /// What the kernel is told of how long written data will live (F_SET_RW_HINT); it stays with the file.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Each so many-th read or write goes to a worker thread of the kernel at once (IOSQE_ASYNC); 0: none does.
    #[serde(default)]
    pub hand_over_every: u32,
    /// With `io_poll`: for so many of the operations, percent, where that can be said of each; 0: for all.
    #[serde(default)]
    pub io_poll_percent: u8,
}

/// How long written data will live, as a device that places it by that may want to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Nothing is said.
    #[default]
    Untold,
    /// Short.
    Short,
    /// Medium.
    Medium,
    /// Long.
    Long,
    /// Very long.
    Extreme,
}

/// What the kernel is told of the order in which a file will be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Nothing.
    #[default]
    Nothing,
    /// One block after the other: it reads further ahead.
    Sequential,
    /// Anywhere: it does not read ahead.
    Random,
}
