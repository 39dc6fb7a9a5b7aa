//! One job as its report needs it: what was typed, and what of it shows. Knows nothing of how it was parsed.

use fathom_spec::{Failures, GroupId, StreamId};

/// What a report must know of one job. A section with `numjobs=3` is three of these.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportJob {
    /// The section's name.
    pub name: String,
    /// Its reporting group, from 0.
    pub group: GroupId,
    /// Which clone of its section, from 0; only the first has an opening line of its own.
    pub clone: u32,
    /// How many of fio's jobs it stands for: more than 1 only where a stream's workers are the clones of a section
    /// that reports as a group.
    pub members: u32,
    /// Figures of the group instead of the job.
    pub group_reporting: bool,
    /// The run's streams that are this job, one after the other (a load, then its verify pass).
    pub streams: Vec<StreamId>,
    /// What was typed in its section, canonical names in the order typed. A flag without a value has an empty one and is
    /// not echoed.
    pub options: Vec<(String, String)>,
    /// `description=`.
    pub description: Option<String>,
    /// `rw=` as fio prints it: `randread`.
    pub rw: String,
    /// Smallest and largest block of reads, writes and trims, bytes.
    pub block_sizes: [(u64, u64); 3],
    /// `bs_is_seq_rand=1`: the first is that of sequential operations, the second that of random ones.
    pub sizes_by_order: bool,
    /// `ioengine=` as typed.
    pub ioengine: String,
    /// `iodepth=`.
    pub iodepth: u32,
    /// Whether the engine has a submission apart from the completion (libaio, io_uring): slat is shown.
    pub asynchronous: bool,
    /// Whether the job was asked to be a thread.
    pub thread: bool,
    /// The number that is shown as its process.
    pub pid: u32,
    /// Percentiles to show, 0 to 100, at most 20.
    pub percentiles: Vec<f64>,
    /// Which latencies have percentiles.
    pub with_percentiles: Switches,
    /// Which measurements are turned off.
    pub disabled: Switches,
    /// `disable_bw=`.
    pub without_bandwidth: bool,
    /// Reads, writes and trims apart, together, or both.
    pub unified: Unified,
    /// Whether `continue_on_error` was asked for: the errors are counted and shown.
    pub continue_on_error: bool,
    /// Failures that are none of the job, beside those that `continue_on_error` passes over.
    pub excused: Failures,
    /// Bytes that each operation counts as, whatever it moved: of engines about files, the size that files would have.
    pub bytes_each: Option<u64>,
    /// Syncs that are not counted, although their latencies are told: all but those of `fsync=`.
    pub untold_syncs: UntoldSyncs,
    /// It only checks what another run wrote: what that wrote counts as writes, as fio counts its dry run.
    pub verify_only: bool,
    /// Its last operation is a sync behind all others, which fio leaves out of every figure.
    pub ends_in_sync: bool,
    /// `latency_target=` and its kin.
    pub latency_target: LatencyTarget,
    /// `steadystate=` and what came of it.
    pub steady_state: Option<SteadyState>,
    /// `significant_figures=`, 1 to 10.
    pub significant_figures: usize,
    /// Length of a bandwidth and of an IOPS sample, ns (`bwavgtime`, `iopsavgtime`).
    pub sample_ns: u64,
    /// Its I/O priority, class and level, as its operations have it that have none of their own; (0, 0): none was said.
    pub priority: (u8, u8),
    /// What its `job_start` has more than the time since 1970, ms.
    pub clock_offset_ms: i64,
    /// The error that ended it, where the caller knows one that is not in the run.
    pub error: Option<i32>,
}

/// One switch for each kind of latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Submission.
    pub slat: bool,
    /// Completion.
    pub clat: bool,
    /// Both together.
    pub lat: bool,
}

/// Which syncs are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UntoldSyncs {
    /// All are.
    #[default]
    None,
    /// None is counted, only timed.
    All,
}

/// `unified_rw_reporting=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Each direction for itself.
    #[default]
    Apart,
    /// All of them as one.
    Mixed,
    /// First apart, then as one.
    Both,
}

/// `latency_target=` and its kin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// The latency to hold, ns; 0: none.
    pub target_ns: u64,
    /// Over how long it is judged, us.
    pub window_us: u64,
    /// The share that must hold it, percent.
    pub percentile: f64,
    /// The depth that was found; without a target the job's own.
    pub depth: u32,
}

/// What became of `steadystate=`.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// Of what: `iops`, `bw`, `iops_slope`, `bw_slope`, `lat`.
    pub of: String,
    /// The limit, in percent or in the unit of `of`.
    pub limit: f64,
    /// Whether the limit is in percent.
    pub in_percent: bool,
    /// Over how long, seconds.
    pub duration_seconds: u64,
    /// Was it reached?
    pub attained: bool,
    /// The last value that was held against the limit.
    pub criterion: f64,
    /// The largest deviation from the mean, in percent or in the unit of `of`.
    pub max_deviation: f64,
    /// The slope of the line through the samples.
    pub slope: f64,
    /// Bytes a second, one for each second of the window.
    pub bandwidth: Vec<u64>,
    /// I/Os a second, one for each second of the window.
    pub iops: Vec<u64>,
}

/// fio's own list of percentiles.
pub const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

impl ReportJob {
    /// A job with fio's defaults: one job of group 0, depth 1, `psync`, completion percentiles, 4 KiB.
    pub fn new(name: impl Into<String>, rw: impl Into<String>, streams: Vec<StreamId>) -> Self {
        ReportJob {
            name: name.into(),
            group: GroupId(0),
            clone: 0,
            members: 1,
            group_reporting: false,
            streams,
            options: Vec::new(),
            description: None,
            rw: rw.into(),
            block_sizes: [(4096, 4096); 3],
            sizes_by_order: false,
            ioengine: "psync".to_owned(),
            iodepth: 1,
            asynchronous: false,
            thread: false,
            pid: 0,
            percentiles: PERCENTILES.to_vec(),
            with_percentiles: Switches { slat: false, clat: true, lat: false },
            disabled: Switches::default(),
            without_bandwidth: false,
            unified: Unified::Apart,
            continue_on_error: false,
            excused: Failures::End { read: Vec::new(), write: Vec::new(), check: Vec::new() },
            bytes_each: None,
            untold_syncs: UntoldSyncs::None,
            verify_only: false,
            ends_in_sync: false,
            latency_target: LatencyTarget { target_ns: 0, window_us: 0, percentile: 100.0, depth: 1 },
            steady_state: None,
            significant_figures: 4,
            sample_ns: 500_000_000,
            priority: (0, 0),
            clock_offset_ms: 0,
            error: None,
        }
    }

    /// `gtod_reduce=1`: no latencies and no bandwidth samples.
    pub fn without_clock(mut self) -> Self {
        self.disabled = Switches { slat: true, clat: true, lat: true };
        self.without_bandwidth = true;
        self
    }
}
