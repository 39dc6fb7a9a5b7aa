//! Runs with what was made of them: figures with their errors, curves, and whether they can be believed.

use crate::{CurveName, Run};
use fathom_spec::LatencyLimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of the record's layout; raised when a reader of older records would be misled.
pub const SCHEMA: u32 = 1;

/// Everything that is kept of one calibration, load or peer's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRecord {
    /// Layout of the record.
    pub schema: u32,
    /// A name for it that no other has.
    pub id: String,
    /// What made it: `calibrate`, `run`, `ping`, `fio`, `orion`.
    pub tool: String,
    pub version: String,
    /// The command line, secrets left out.
    pub command: Vec<String>,
    /// The user's own name for it.
    pub label: Option<String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339.
    pub ended: String,
    pub ending: Ending,
    /// The targets: paths from the root on, other names as the user gave them.
    pub targets: Vec<String>,
    /// Was nothing but a simulated device or none at all measured? Such a result says nothing of this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// The most latency of small I/Os that the user tolerates, where a search was held to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latency: Option<LatencyLimit>,
    /// The machine and the storage: `fathom-host`'s facts, kept as they were found.
    pub facts: serde_json::Value,
    /// What ran, in order.
    pub runs: Vec<Run>,
    pub summary: BTreeMap<FigureName, Figure>,
    /// Throughput and latency over load.
    pub curves: Vec<Curve>,
    /// Whether the figures can be believed.
    pub verdict: Verdict,
    /// What the user expected, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// What the user should know: warnings of the preflight and of the run.
    pub notes: Vec<Note>,
}

/// How a result ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As planned.
    Complete,
    /// The user interrupted it; what was measured is kept.
    Interrupted,
    /// It failed; what was measured is kept.
    Failed,
}

/// The figures that fathom knows, by the name under which they stand in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureName {
    /// Most small random reads a second within the latency limit.
    MaxIops,
    /// Their latency there.
    Latency,
    /// Most large reads a second by all, in units of 2^20 bytes.
    MaxMbps,
    /// By one process.
    MaxPmbps,
    /// Latency with one I/O outstanding.
    UnloadedLatency,
    /// Where throughput stops paying for latency.
    KneeIops,
    /// Small random reads over an eighth of the working set.
    EighthIops,
    /// Large reads at random places.
    RandomReadMbps,
    /// Large reads in sequential streams.
    SequentialReadMbps,
    /// Durable commits a second by one writer with fdatasync.
    CommitsPerSecond,
    /// The same with O_DSYNC.
    CommitsDsync,
    /// The same with fsync.
    CommitsFsync,
    /// Durable commits a second by 4 writers.
    #[serde(rename = "group_commits_4")]
    GroupCommits4,
    /// Durable commits a second by 16 writers.
    #[serde(rename = "group_commits_16")]
    GroupCommits16,
    /// Writes that the device saw for each commit.
    DeviceWritesPerCommit,
    /// Small random writes a second.
    RandomWriteIops,
    /// Sequential writes, in units of 2^20 bytes a second.
    SequentialWriteMbps,
    /// Share of a sample that came from a cache below the device when read again at once.
    CachedBelow,
    /// Operations a second of a load that the user described.
    Iops,
    /// Bytes a second of it, in units of 2^20.
    Mbps,
    /// Latency of its reads.
    ReadLatency,
    /// Latency of its writes.
    WriteLatency,
    /// Latency of its syncs and commits.
    SyncLatency,
    /// Response time, from the intended start.
    ResponseTime,
    /// The share of the first throughput that a sustained load still had at its end.
    SustainedShare,
    /// Blocks a second that sessions asked the database's cache for.
    LogicalReads,
    /// Blocks a second that were not in it, as the database counts them.
    PhysicalReads,
    /// Blocks a second that the database wrote.
    PhysicalWrites,
    /// Reads a second of the disks below a database's data.
    DeviceReads,
    /// Writes a second of the disks below a database's data and log.
    DeviceWrites,
    /// A database's log, in units of 2^20 bytes a second.
    LogMbps,
    /// The share of the table blocks asked for that the disk answered.
    FromDisk,
    /// Latency of SQL selects.
    SelectLatency,
    /// Latency of SQL updates, without their commits.
    UpdateLatency,
    /// Latency of SQL commits.
    CommitLatency,
    /// Latency of SQL scans.
    ScanLatency,
    /// What a database gets out of its disk, over what the disk can do at that latency.
    OfTheDisk,
}

/// One figure with its error and unit, and how it came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The estimate, in `unit`.
    pub value: f64,
    /// Half the width of its confidence interval, in `unit`; `None` when it could not be told.
    pub half_width: Option<f64>,
    /// Level of that interval, 0 to 1.
    pub confidence: f64,
    pub unit: Unit,
    /// Did the interval reach the precision that was asked for?
    pub converged: bool,
    /// The load at which it stands.
    pub load: Option<crate::Load>,
    /// The distribution of latencies there.
    pub latency: Option<LatencyFigures>,
    /// What keeps it from being more.
    pub bound: Option<Bound>,
    /// The run it comes from: index into `runs`.
    pub run: Option<usize>,
    /// What else a reader should know, in a sentence.
    pub note: Option<String>,
}

impl Figure {
    /// A share of a run, with no error of its own; `confidence` is the level that other figures of the result have.
    pub fn share(value: f64, confidence: f64, load: crate::Load, run: usize) -> Self {
        Figure {
            value,
            half_width: None,
            confidence,
            unit: Unit::Ratio,
            converged: true,
            load: Some(load),
            latency: None,
            bound: None,
            run: Some(run),
            note: None,
        }
    }
}

/// Units of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations per second.
    PerSecond,
    /// 2^20 bytes per second.
    MebibytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// A ratio.
    Ratio,
}

/// Latencies of the I/Os behind a figure, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyFigures {
    /// Mean, ns.
    pub mean_ns: f64,
    /// Half the width of the mean's confidence interval, ns.
    pub mean_half_width_ns: Option<f64>,
    /// p50, p90, p99, p99.9.
    pub percentiles: Vec<Percentile>,
    /// The largest, ns.
    pub max_ns: u64,
    /// The smallest, ns.
    pub min_ns: u64,
    /// How many I/Os.
    pub count: u64,
    /// How many of them are worth for the median, correlation counted.
    pub effective: f64,
    /// Share of I/Os over the latency limit, 0 to 1, where there is one.
    pub over_limit: Option<f64>,
}

/// One percentile, or why it cannot be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// The share, 0 to 1.
    pub quantile: f64,
    /// ns; `None` when too few operations stand behind it.
    pub value_ns: Option<u64>,
    /// Lower end of its 95 % interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<u64>,
    /// Upper end of it, ns; `None` with a lower end: it is over that, and nobody knows how far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<u64>,
    /// Why there is none.
    pub why: Option<String>,
}

/// What keeps a figure from being more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// Which part of the chain.
    pub by: BoundBy,
    /// How that is known, in a sentence.
    pub because: String,
}

/// Parts of the chain that can bound a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoundBy {
    /// The device itself.
    Device,
    /// The CPUs of this host.
    HostCpu,
    /// The link to the device.
    Link,
    /// Our own control group.
    Cgroup,
    /// The number of requests that the queue takes.
    Queue,
    /// The latency that the user tolerates.
    LatencyLimit,
    /// Other users of the disk.
    Others,
    /// It could not be told.
    Unknown,
}

/// Throughput and latency over load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    pub name: CurveName,
    /// Its points in order of load.
    pub points: Vec<CurvePoint>,
    /// Index of the knee in `points`.
    pub knee: Option<usize>,
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    pub load: crate::Load,
    /// Operations per second.
    pub iops: f64,
    /// Half the width of its confidence interval.
    pub iops_half_width: Option<f64>,
    /// 2^20 bytes per second.
    pub mbps: f64,
    pub latency: LatencyFigures,
    /// A look around, or a point on which a figure rests.
    pub exploring: bool,
    /// Index into `runs`.
    pub run: Option<usize>,
}

/// Whether the figures can be believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub state: VerdictState,
    /// Every check that led to it.
    pub checks: Vec<Check>,
}

/// The verdict in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerdictState {
    /// Every check passed.
    #[serde(rename = "believable")]
    Believable,
    /// One failed.
    #[serde(rename = "not believable")]
    NotBelievable,
    /// None failed, but one could not be made.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

impl std::fmt::Display for VerdictState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            VerdictState::Believable => "believable",
            VerdictState::NotBelievable => "not believable",
            VerdictState::CannotTell => "cannot tell",
        })
    }
}

/// One check of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was checked, in a few words: `page cache bypassed`.
    pub name: String,
    pub outcome: CheckOutcome,
    /// What was seen, in a sentence.
    pub seen: String,
    /// What to do about it, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    /// A check without a hint.
    pub fn new(name: impl Into<String>, outcome: CheckOutcome, seen: impl Into<String>) -> Self {
        Check { name: name.into(), outcome, seen: seen.into(), hint: None }
    }

    /// The same with what to do about it.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Check { hint: Some(hint.into()), ..self }
    }
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Nothing wrong.
    Passed,
    /// The figure cannot be believed for this.
    Failed,
    /// It could not be made.
    Unknown,
    /// Worth knowing, but no reason to doubt the figure.
    Noted,
}

/// A value that the user expects of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// The word by which the user asked: `iops`, `commit_p99`.
    pub name: String,
    pub figure: FigureName,
    /// The figure itself, the mean latency at its load, or a percentile there.
    pub of: ExpectedValue,
    /// In `unit`.
    pub wanted: f64,
    pub unit: Unit,
    /// What was measured, in `unit`; `None` where it was not.
    pub found: Option<f64>,
    pub outcome: ExpectationOutcome,
}

/// Which value of a figure is expected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedValue {
    /// At least this much.
    Value,
    /// A mean latency of at most this.
    MeanLatency,
    /// A percentile, 0 to 1, of at most this.
    Percentile(f64),
}

/// What came of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationOutcome {
    /// The expected value is reached, or lies within the interval.
    Reached,
    /// The whole interval falls short of it.
    Short,
    /// The figure was not measured.
    Unknown,
}

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    pub text: String,
    /// What to do about it, if anything.
    pub hint: Option<String>,
}

/// The verdict that follows from a list of checks: any failure, else any that could not be made, else good.
pub fn judge(checks: Vec<Check>) -> Verdict {
    let any = |outcome| checks.iter().any(|check| check.outcome == outcome);
    let state = match (any(CheckOutcome::Failed), any(CheckOutcome::Unknown)) {
        (true, _) => VerdictState::NotBelievable,
        (false, true) => VerdictState::CannotTell,
        (false, false) => VerdictState::Believable,
    };
    Verdict { state, checks }
}
