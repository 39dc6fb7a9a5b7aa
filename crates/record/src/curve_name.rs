//! The curves that a calibration draws, by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The curves that a calibration draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CurveName {
    /// Small random reads over outstanding I/Os.
    SmallReads,
    /// Large reads at random places over outstanding I/Os.
    LargeRandomReads,
    /// Large sequential reads over streams.
    LargeSequentialReads,
    /// Commits over writers.
    Commits,
    /// Small random writes over outstanding I/Os.
    RandomWrites,
    /// Large sequential writes over outstanding I/Os.
    SequentialWrites,
    /// A mixed load over outstanding I/Os.
    Mixed,
    /// Small random reads over an eighth of the working set.
    EighthReads,
    /// Operations of a database over its sessions.
    Sessions,
}
