//! What a job means: the values of its options with fio's defaults where nothing was said.

use super::diagnostic::{Place, Trouble};
use super::numbers::Amount;
use super::recording::Replay;
use super::report::windows::WindowValue;
use fathom_spec::{
    Discards, Failures, Lifetime, MemoryMode, Nanos, Priority, StatCall, Think, ThreadAttributes, Verb,
};
use std::sync::Arc;

/// A job of fio, as it is meant.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its section's, after which its files are named.
    pub section: String,
    /// For the report.
    pub description: Option<String>,
    /// Where it was said.
    pub at: Place,
    /// Options of its own section, as they are shown in JSON.
    pub own: Arc<[(&'static str, String)]>,
    /// When it begins.
    pub start: Starting,
    /// How I/O is asked of the kernel.
    pub engine: Engine,
    /// Which files.
    pub files: Files,
    /// Which part of them, and how much.
    pub area: Area,
    /// A recording that is done again, rather than what area and direction say.
    pub replay: Option<Replay>,
    /// Reads, writes, and in which order.
    pub direction: Direction,
    /// Bytes of I/Os.
    pub sizes: BlockSizes,
    /// Outstanding I/Os and when they start.
    pub pace: Pacing,
    /// When it ends.
    pub stop: Ending,
    /// What is written, and whether it is checked.
    pub data: Data,
    /// Durability.
    pub sync: Syncing,
    /// Where and under which conditions it runs.
    pub place: Conditions,
    /// Asked to be a thread, which all jobs are here.
    pub thread: bool,
    /// What is reported of it.
    pub report: Reporting,
    /// What it puts up with, and what it is to the system.
    pub terms: Terms,
}

/// What is wrong with a job as a whole, at its header.
pub(super) fn wrong(job: &Job, what: impl std::fmt::Display, hint: &str) -> Trouble {
    Trouble::at(&job.at, format!("{}: {what}", job.name), hint)
}

/// When a job begins.
#[derive(Clone, Debug, Default)]
pub struct Starting {
    /// After everything before it.
    pub stonewall: bool,
    /// After all clones of the job of that name.
    pub wait_for: Option<String>,
    /// So much later; each clone draws between the two.
    pub delay: (Nanos, Nanos),
    /// A group of the report begins.
    pub new_group: bool,
    /// Clones.
    pub clones: u32,
}

/// How I/O is asked of the kernel.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    /// `ioengine=`.
    pub name: &'static str,
    /// Poll for completions.
    pub poll: bool,
    /// A kernel thread submits.
    pub submit_poll: bool,
    /// On this CPU.
    pub submit_poll_cpu: Option<u32>,
    /// Fail rather than wait.
    pub no_wait: bool,
    /// Share of a CPU, percent (cpuio).
    pub cpu_percent: i64,
    /// Length of a busy chunk (cpuio).
    pub cpu_chunk: Nanos,
    /// Sort numbers rather than do nothing (cpuio).
    pub cpu_sorts: bool,
    /// Other threads submit (`io_submit_mode=offload`).
    pub offload: bool,
    /// What is run (exec).
    pub command: Option<Program>,
    /// With `poll`: for so many of the I/Os, percent (pvsync2); 0: for all.
    pub poll_percent: u8,
    /// Each so many-th goes to a thread of the kernel at once (io_uring); 0: none does.
    pub hand_over_every: u32,
    /// I/Os at a priority of their own.
    pub priorities: Vec<Priority>,
    /// How files are looked at (filestat).
    pub stat_call: StatCall,
}

/// What the exec engine runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// `program=`.
    pub program: String,
    /// `arguments=`, as it was said.
    pub arguments: String,
    /// `grace_time=`.
    pub grace: Nanos,
    /// Its output goes into files.
    pub redirected: bool,
}

impl Engine {
    /// Does it keep several I/Os outstanding?
    pub fn is_asynchronous(&self) -> bool {
        self.offload || matches!(self.name, "libaio" | "io_uring" | "posixaio")
    }
    /// Does it make, look at or remove files rather than do I/O in them?
    pub fn is_about_files(&self) -> bool {
        self.name.starts_with("file") || self.is_about_directories()
    }
    /// The same, of directories?
    pub fn is_about_directories(&self) -> bool {
        self.name.starts_with("dir")
    }
    /// Is it done one act at a time, and not in blocks?
    pub fn is_serial(&self) -> bool {
        self.is_about_files() || matches!(self.name, "cpuio" | "exec")
    }
    /// Does it touch no files at all?
    pub fn is_diskless(&self) -> bool {
        matches!(self.name, "null" | "cpuio" | "exec")
    }
}

/// Which files.
#[derive(Clone, Debug)]
pub struct Files {
    /// `filename=`; empty: made up from the job's name.
    pub names: Vec<String>,
    /// `directory=`.
    pub directories: Vec<String>,
    /// `filename_format=`.
    pub format: String,
    /// `nrfiles=`.
    pub count: u32,
    /// How the next one is chosen.
    pub service: (&'static str, Option<String>),
    /// May they be made?
    pub create: bool,
    /// Only make them.
    pub create_only: bool,
    /// How space is reserved.
    pub fallocate: &'static str,
    /// Write them out before they are written to.
    pub overwrite: bool,
    /// Read them first.
    pub pre_read: bool,
    /// Remove them at the end.
    pub unlink: bool,
    /// Made when they are opened, and not laid out before.
    pub create_on_open: bool,
    /// All files below this directory are the job's.
    pub below: Option<String>,
}

/// Which part of the files, and how much.
#[derive(Clone, Debug, Default)]
pub struct Area {
    /// `size=`.
    pub size: Option<Amount>,
    /// `filesize=`, the smallest and the largest.
    pub file_size: Option<(u64, u64)>,
    /// `io_size=`.
    pub io_size: Option<Amount>,
    /// `offset=`.
    pub offset: Option<Amount>,
    /// `offset_increment=`.
    pub increment: Option<Amount>,
    /// Percentages are rounded up to multiples of this; 0: of the block.
    pub align: u64,
    /// Begin at the end of the file.
    pub append: bool,
    /// Bytes done in a zone, bytes of a zone, bytes between zones; none unless strided.
    pub zones: Option<(u64, u64, u64)>,
}

/// Reads, writes, and in which order.
#[derive(Clone, Debug)]
pub struct Direction {
    /// `rw=`, its first word.
    pub word: &'static str,
    /// What is done: one verb or two.
    pub verbs: Vec<Verb>,
    /// Not one after the other.
    pub random: bool,
    /// `:n` behind it: operations between new offsets, or bytes skipped; back if it is negative.
    pub modifier: Option<i64>,
    /// The same offset again, rather than the next.
    pub identical: bool,
    /// Percent of reads in a mix.
    pub read_percent: u8,
    /// `random_distribution=`.
    pub distribution: (&'static str, Option<String>),
    /// Percent of a random load that is random.
    pub random_percent: u8,
    /// Each block once before any comes again.
    pub map: bool,
    /// `random_generator=`, if it was said.
    pub generator: Option<&'static str>,
    /// Seed of everything random.
    pub seed: u64,
    /// The same order in each run.
    pub repeat: bool,
}

/// Bytes of I/Os.
#[derive(Clone, Debug, Default)]
pub struct BlockSizes {
    /// Smallest and largest of reads, writes and trims.
    pub ranges: [(u64, u64); 3],
    /// `bssplit=`: size and percent, for reads, writes and trims; empty: none.
    pub split: [Vec<(u64, u8)>; 3],
    /// `blockalign=`.
    pub align: Option<u64>,
    /// With `bs_is_seq_rand` the ranges as they were said: of what goes in order, and of the rest.
    pub said: Option<[(u64, u64); 3]>,
    /// Any size within a range, and not only multiples of its least.
    pub unaligned: bool,
}

/// Outstanding I/Os, and when they start.
#[derive(Clone, Debug, Default)]
pub struct Pacing {
    /// `iodepth=`.
    pub depth: u32,
    /// `iodepth_low=`.
    pub low: Option<u32>,
    /// Submitted at a time, waited for at least, taken at most; none: fio's default.
    pub batch: (Option<u32>, Option<u32>, Option<u32>),
    /// Bytes a second of reads, writes and trims.
    pub rate: [Option<u64>; 3],
    /// I/Os a second of reads, writes and trims.
    pub rate_iops: [Option<u64>; 3],
    /// At random, not evenly.
    pub poisson: bool,
    /// Pauses.
    pub think: Option<Think>,
    /// Latency to hold, window, percent that must hold it.
    pub target: Option<(Nanos, Nanos, f64)>,
    /// I/Os that overlap one in flight wait for it.
    pub no_overlap: bool,
    /// Flow and weight.
    pub flow: Option<(i64, i64)>,
}

/// When a job ends.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// `runtime=`.
    pub time: Option<Nanos>,
    /// Go on for the whole of it.
    pub time_based: bool,
    /// `ramp_time=`.
    pub ramp: Nanos,
    /// `loops=`.
    pub loops: u64,
    /// `number_ios=`.
    pub operations: Option<u64>,
    /// The first that ends takes these along: `group`, `stonewall` or `all`.
    pub takes_down: Option<&'static str>,
}

/// The blocks from which those are drawn that repeat another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    /// How many of the job's blocks it is, percent.
    pub percent: u8,
    /// Shared with the other jobs that say so.
    pub global: bool,
}

/// What is written, and whether it is checked.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Zeros.
    pub zero: bool,
    /// These bytes over and over.
    pub pattern: Option<Vec<u8>>,
    /// How much can be compressed away, percent.
    pub compress_percent: u8,
    /// How many blocks repeat another, percent.
    pub dedupe_percent: u8,
    /// Which they repeat, where it is not always the same one.
    pub working_set: Option<WorkingSet>,
    /// `verify=`; none is `0`.
    pub verify: Option<&'static str>,
    /// `verify_pattern=`.
    pub verify_pattern: Option<Vec<u8>>,
    /// Where in it a block's own offset begins.
    pub verify_places: Vec<u32>,
    /// Bytes from one header to the next; 0: one a block.
    pub verify_interval: u32,
    /// The header changes places with what stands so many bytes further on.
    pub verify_offset: u32,
    /// Read and check after writing.
    pub do_verify: bool,
    /// Only check.
    pub verify_only: bool,
    /// Whoever wrote a block and when.
    pub by_anyone: bool,
    /// The first mismatch ends the job.
    pub fatal: bool,
    /// Blocks that are not as they should be go into files.
    pub dumps: bool,
    /// Check after so many writes, so many at a time.
    pub backlog: Option<(u64, u64)>,
    /// Threads that check.
    pub checkers: u32,
    /// Their CPUs; none: any.
    pub checker_cpus: Vec<u32>,
    /// What is discarded before it is checked.
    pub discards: Option<Discards>,
    /// Write down at the end how far the writing got.
    pub saves_state: bool,
    /// Check only what was written by a job that wrote that down.
    pub loads_state: bool,
}

/// Durability.
#[derive(Clone, Debug, Default)]
pub struct Syncing {
    /// Past the page cache.
    pub direct: bool,
    /// `none`, `sync` or `dsync`.
    pub open: &'static str,
    /// An fsync after so many writes.
    pub fsync: Option<u64>,
    /// An fdatasync after so many writes.
    pub fdatasync: Option<u64>,
    /// A range is written back after so many writes.
    pub range: Option<u64>,
    /// An fsync at the end.
    pub end_fsync: bool,
    /// `write_barrier=`, of which nothing comes.
    pub barrier: bool,
    /// `atomic=1`: past the page cache, and no more.
    pub atomic: bool,
}

/// Where and under which conditions a job runs.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// CPUs; none: any.
    pub cpus: Option<Vec<u32>>,
    /// Those of these NUMA nodes, which the machine tells.
    pub cpu_nodes: Option<Nodes>,
    /// Where memory comes from.
    pub memory: Option<(MemoryMode, Nodes)>,
    /// `cgroup=`.
    pub control_group: Option<ControlGroup>,
    /// Mappings in transparent huge pages.
    pub huge_mappings: bool,
    /// What the kernel is told of how long data will live.
    pub lifetime: Lifetime,
    /// One each, rather than all on any.
    pub split: bool,
    /// Scheduler of the disks.
    pub scheduler: Option<String>,
    /// Buffers in huge pages where there are free ones.
    pub huge_pages: bool,
    /// Drop the files from the page cache first.
    pub invalidate: bool,
}

/// NUMA nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// All of the machine's.
    All,
    /// These.
    These(Vec<u32>),
}

/// `cgroup=` and its kin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// Its path below the controller's mount.
    pub name: String,
    /// `cgroup_weight=`.
    pub weight: Option<u64>,
    /// It is not removed at the end.
    pub stays: bool,
}

/// The terms of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// Was `continue_on_error` said? Then errors are counted in the report.
    pub counts_errors: bool,
    /// The failures that are no failure of the job.
    pub excused: Failures,
    /// The longest that an I/O may take.
    pub latency_most: Option<Nanos>,
    /// The least bytes a second of reads, writes and trims.
    pub rate_least: [Option<u64>; 3],
    /// The least I/Os a second of reads, writes and trims.
    pub rate_iops_least: [Option<u64>; 3],
    /// Over how long a rate is judged.
    pub rate_cycle: Nanos,
    /// End when steady.
    pub steady: Option<Steady>,
    /// What it is to the system.
    pub standing: ThreadAttributes,
    /// A shell's command before the job.
    pub before: Option<String>,
    /// A shell's command after it.
    pub after: Option<String>,
    /// An error in it ends all jobs.
    pub takes_all_on_error: bool,
    /// What the kernel is told of the order of I/Os.
    pub hint: Hint,
}

/// `fadvise_hint=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// What the job does.
    #[default]
    Honest,
    /// Nothing.
    Silent,
    /// That it is sequential.
    Sequential,
    /// That it is random.
    Random,
}

/// When a job is steady, and ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Of what: `iops`, `iops_slope`, `bw` or `bw_slope`.
    pub of: &'static str,
    /// The limit, a percentage of the mean or a number of I/Os or bytes a second.
    pub limit: f64,
    /// Is it a percentage?
    pub in_percent: bool,
    /// Over how long, whole seconds.
    pub duration_seconds: u64,
    /// Looked at after so long.
    pub ramp: Nanos,
}

impl Steady {
    /// Is it a slope that is judged, and not the largest deviation from the mean?
    pub fn is_slope(&self) -> bool {
        self.of.ends_with("_slope")
    }
    /// Of bytes, and not of I/Os?
    pub fn is_of_bytes(&self) -> bool {
        self.of.starts_with("bw")
    }
}

/// `write_hist_log=` and its kin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histograms {
    /// What the file's name begins with; empty: the job's name.
    pub name: String,
    /// A row for so long; 0: none.
    pub length: Nanos,
    /// 2^so many bins are one column.
    pub coarseness: u32,
}

/// What is reported of a job.
#[derive(Clone, Debug)]
pub struct Reporting {
    /// Together with its group.
    pub group: bool,
    /// Is it reported at all?
    pub stats: bool,
    /// Percentiles of completion, of the whole, of submission.
    pub percentiles_of: (bool, bool, bool),
    /// Which percentiles.
    pub percentiles: Vec<f64>,
    /// Latencies not kept: lat, clat, slat.
    pub disabled: (bool, bool, bool),
    /// Bandwidth is not sampled.
    pub without_bandwidth: bool,
    /// `none`, `mixed` or `both`.
    pub unified: &'static str,
    /// Digits in the normal report.
    pub significant_figures: u32,
    /// Tell what the disks did.
    pub disk_util: bool,
    /// Names of bandwidth, latency and IOPS logs.
    pub logs: (Option<String>, Option<String>, Option<String>),
    /// A line for so long; 0: for each I/O.
    pub log_average: Nanos,
    /// A column of offsets in logs.
    pub log_offset: bool,
    /// Priorities in full in logs.
    pub log_priority: bool,
    /// `write_iolog=`.
    pub iolog: Option<String>,
    /// The clock of `job_start`, by `clock_gettime`'s number.
    pub start_clock: u32,
    /// The clone's number in names of logs.
    pub per_job_logs: bool,
    /// Times in logs count from where this clock of the system does (`clock_gettime`'s number).
    pub log_epoch: Option<u32>,
    /// What a latency log tells of each stretch.
    pub log_window: WindowValue,
    /// A column of the moment of submission in logs.
    pub log_issue_time: bool,
    /// Histograms.
    pub histograms: Option<Histograms>,
    /// Lengths of samples of bandwidth and of IOPS.
    pub samples: (Nanos, Nanos),
}
