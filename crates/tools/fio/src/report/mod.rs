//! What fio prints: pure functions from what was seen to fio's bytes. A [`Report`] is a run, what each job of it
//! was, and the few facts that neither knows (the time of day, process ids).
//!
//! | module | holds |
//! |---|---|
//! | [`job`] | one job as its report needs it |
//! | [`tally`] | a job's figures, taken from the run; merging them is group reporting |
//! | [`buckets`] | fio's histogram, percentiles and latency classes, from ours |
//! | `latency` | one latency in JSON, and one less the part that was another |
//! | [`at_priority`], [`priorities`] | latencies of each priority, kept and told |
//! | [`number`] | numbers as fio shortens them |
//! | [`normal`] | the text that people read |
//! | [`tree`] | a JSON document in fio's own layout |
//! | [`json`] | the keys of `json` and `json+` |
//! | [`terse`] | one line of fields, versions 2 to 5 |
//! | [`mod@disks`] | the disks' own counters |
//! | [`mod@idleness`] | what was left of the processors |
//! | [`logs`] | bandwidth, IOPS and latency logs |
//! | [`operations`] | the same without averages, an entry for each I/O |
//! | [`windows`] | histograms and largest values, a row for each stretch of time |
//! | [`partial`] | a run that is not over yet, for `--status-interval` and SIGUSR1 |
//! | [`live`] | the line that is shown while a job runs |
//! | [`extras`] | what fathom knows beside it: intervals of confidence, the verdict |

pub mod at_priority;
pub mod buckets;
pub mod disks;
pub mod extras;
pub mod idleness;
pub mod job;
pub mod json;
mod latency;
pub mod live;
pub mod logs;
pub mod normal;
pub mod number;
pub mod operations;
pub mod partial;
pub mod priorities;
pub mod tally;
pub mod terse;
pub mod tree;
pub mod windows;

pub use disks::{Disk, disks};
pub use extras::Extras;
pub use idleness::{Idleness, idleness};
pub use job::{LatencyTarget, ReportJob, SteadyState, Switches, Unified, UntoldSyncs};
pub use live::Live;
pub use logs::{LogEntry, LogOptions, LogSource, log_name};
pub use partial::SoFar;
pub use tally::{Direction, Series, SyncTally, Tally, directions};

use fathom_record::Run;
use fathom_spec::GroupId;
use std::io::{self, Write};

/// The version of fio whose output this is.
pub const PEER_VERSION: &str = "fio-3.42";

/// In which forms a report can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Normal,
    /// One JSON document.
    Json,
    /// The same with every bin of the histograms.
    JsonPlus,
    /// Semicolons; the version is 2 to 5.
    Terse(u8),
}

/// What neither the run nor the jobs know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970 at the end of the run.
    pub unix_ms: u64,
    /// The same moment as `ctime` writes it: `Sat Nov 21 07:08:01 2026`.
    pub time: String,
    /// Whole seconds since the program began, rounded up.
    pub elapsed_seconds: u64,
}

/// Everything that a report is made of.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was seen.
    pub run: &'a Run,
    /// What each job was, in the order of the job file, clones one by one.
    pub jobs: &'a [ReportJob],
    /// When it ended.
    pub moment: &'a Moment,
    /// Options of `[global]` sections, as typed.
    pub global: &'a [(String, String)],
    /// The disks under the files; empty: fio would know none.
    pub disks: &'a [Disk],
    /// How idle the processors were, where that was asked for.
    pub idleness: Option<&'a Idleness>,
    /// What fathom adds where the user asks for it.
    pub extras: Option<&'a Extras<'a>>,
}

/// One entry of a report: a job, or the jobs of a group that reports together.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// The job, or the first of the group.
    pub job: &'a ReportJob,
    /// Its figures, or the group's.
    pub tally: Tally,
}

impl<'a> Report<'a> {
    /// The entries in the order in which they are printed.
    pub fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let several = priorities::may_differ(self.run, self.jobs);
        for job in self.jobs {
            let mut tally = Tally::of(self.run, job);
            if several {
                priorities::complete(job, &mut tally);
            }
            let together = |entry: &&mut Entry<'a>| {
                job.group_reporting && entry.job.group_reporting && entry.job.group == job.group
            };
            match entries.iter_mut().find(together) {
                Some(entry) => entry.tally.merge(&tally),
                None => entries.push(Entry { job, tally }),
            }
        }
        entries
    }

    /// The groups that occur, ascending.
    pub(crate) fn groups(&self) -> Vec<GroupId> {
        let mut groups: Vec<GroupId> = self.jobs.iter().map(|job| job.group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The exit status: as in fio how many jobs ended with an error, as far as a status can tell it.
    pub fn exit_status(&self) -> u8 {
        let failed: u32 = self.entries().iter().map(|entry| entry.tally.failed_jobs).sum();
        failed.min(u8::MAX.into()) as u8
    }

    /// Prints the report. Several formats are several calls on the same stream, JSON before the normal text, as
    /// [`in_order`] says.
    pub fn write(&self, format: Format, out: &mut impl Write) -> io::Result<()> {
        match format {
            Format::Normal => normal::write(self, out),
            Format::Json => json::write(self, false, out),
            Format::JsonPlus => json::write(self, true, out),
            Format::Terse(version) => terse::write(self, version, out),
        }
    }
}

/// The order in which fio prints several formats: terse lines and the JSON document before the normal text.
pub fn in_order(formats: &[Format]) -> Vec<Format> {
    let mut sorted = formats.to_vec();
    sorted.sort_by_key(|format| match format {
        Format::Terse(_) => 0,
        Format::JsonPlus => 1,
        Format::Json => 2,
        Format::Normal => 3,
    });
    sorted.dedup();
    sorted
}

/// A percentage, 0 where there is nothing to take it of.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part * 100.0 / whole } else { 0.0 }
}
