//! The phases of a calibration: their names, and what their loads count.

use crate::{CurveName, Load};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of work that a calibration does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Small reads at random places over the whole working set.
    SmallReads,
    /// Small reads and writes mixed, as the user asked.
    Mixed,
    /// Small reads over an eighth of the working set.
    EighthReads,
    /// Large reads at random places by one process.
    LargeOne,
    /// The same by as many processes as help.
    LargeAll,
    /// Large reads in sequential streams.
    Streams,
    /// A sample of small reads.
    SampleFirst,
    /// The same sample again at once.
    SampleAgain,
    /// Appends made durable by fdatasync.
    CommitFdatasync,
    /// Appends to a file opened with O_DSYNC.
    CommitDsync,
    /// Appends made durable by fsync.
    CommitFsync,
    /// Appends by several writers to one log, each with fdatasync.
    GroupCommit,
    /// Small writes at random places.
    RandomWrites,
    /// Large writes in sequence.
    SequentialWrites,
    /// The best load held for long.
    Sustained,
}

impl Phase {
    /// All of them, in the order in which they run.
    pub const ALL: [Phase; 15] = [
        Phase::SmallReads,
        Phase::Mixed,
        Phase::EighthReads,
        Phase::LargeOne,
        Phase::LargeAll,
        Phase::Streams,
        Phase::SampleFirst,
        Phase::SampleAgain,
        Phase::CommitFdatasync,
        Phase::CommitDsync,
        Phase::CommitFsync,
        Phase::GroupCommit,
        Phase::RandomWrites,
        Phase::SequentialWrites,
        Phase::Sustained,
    ];

    /// Its name for people, which begins the names of its runs.
    pub fn title(self) -> &'static str {
        match self {
            Phase::SmallReads => "small reads",
            Phase::Mixed => "mixed reads and writes",
            Phase::EighthReads => "small reads in an eighth",
            Phase::LargeOne => "large reads by one process",
            Phase::LargeAll => "large reads by all processes",
            Phase::Streams => "sequential streams",
            Phase::SampleFirst => "sample read first",
            Phase::SampleAgain => "sample read again",
            Phase::CommitFdatasync => "commits by fdatasync",
            Phase::CommitDsync => "commits by O_DSYNC",
            Phase::CommitFsync => "commits by fsync",
            Phase::GroupCommit => "group commits",
            Phase::RandomWrites => "random writes",
            Phase::SequentialWrites => "sequential writes",
            Phase::Sustained => "sustained small reads",
        }
    }

    /// What one unit of its load is.
    pub fn unit(self) -> &'static str {
        match self {
            Phase::Streams => "streams",
            Phase::CommitFdatasync | Phase::CommitDsync | Phase::CommitFsync | Phase::GroupCommit => {
                "writers"
            }
            _ => "outstanding",
        }
    }

    /// The name of one of its runs: `small reads, 16 outstanding`.
    pub fn run_name(self, load: u32) -> String {
        format!("{}, {load} {}", self.title(), self.unit())
    }

    /// The phase whose run has this name: for records of before runs told their phase.
    pub fn of_run_name(name: &str) -> Option<Phase> {
        let title = name.rsplit_once(", ").map_or(name, |(title, _)| title);
        Phase::ALL.into_iter().find(|phase| phase.title() == title)
    }

    /// Are its I/Os of the large size?
    pub fn is_large(self) -> bool {
        matches!(self, Phase::LargeOne | Phase::LargeAll | Phase::Streams | Phase::SequentialWrites)
    }

    /// Does it write?
    pub fn writes(self) -> bool {
        matches!(
            self,
            Phase::Mixed
                | Phase::CommitFdatasync
                | Phase::CommitDsync
                | Phase::CommitFsync
                | Phase::GroupCommit
                | Phase::RandomWrites
                | Phase::SequentialWrites
        )
    }

    /// Is it measured to stand beside another figure, and no maximum of its own?
    pub fn is_aside(self) -> bool {
        matches!(
            self,
            Phase::EighthReads
                | Phase::Streams
                | Phase::CommitDsync
                | Phase::CommitFsync
                | Phase::GroupCommit
        )
    }

    /// Is an operation of it a commit, a write with what makes it durable?
    pub fn commits(self) -> bool {
        matches!(self, Phase::CommitFdatasync | Phase::CommitDsync | Phase::CommitFsync | Phase::GroupCommit)
    }

    /// A load of this phase in the record's terms.
    pub fn load(self, load: u32) -> Load {
        match self.is_large() {
            true => Load { small: 0, large: load },
            false => Load { small: load, large: 0 },
        }
    }

    /// The number that a load of this phase is.
    pub fn count(self, load: Load) -> u32 {
        if self.is_large() { load.large } else { load.small }
    }

    /// The curve that its points draw, if any.
    pub fn curve(self) -> Option<CurveName> {
        Some(match self {
            Phase::SmallReads => CurveName::SmallReads,
            Phase::Mixed => CurveName::Mixed,
            Phase::EighthReads => CurveName::EighthReads,
            Phase::LargeAll => CurveName::LargeRandomReads,
            Phase::Streams => CurveName::LargeSequentialReads,
            Phase::GroupCommit => CurveName::Commits,
            Phase::RandomWrites => CurveName::RandomWrites,
            Phase::SequentialWrites => CurveName::SequentialWrites,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_run_is_known_by_its_name() {
        for phase in Phase::ALL {
            assert_eq!(Phase::of_run_name(&phase.run_name(16)), Some(phase));
        }
        assert_eq!(Phase::of_run_name("layout"), None);
    }
}
