//! What one operation does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Verb {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard.
    Trim,
    /// Make durable.
    Sync,
    /// Make a file.
    Create,
    /// Open a file.
    Open,
    /// Look at a file.
    Stat,
    /// Remove a file.
    Delete,
    /// Use the CPU.
    Compute,
    /// SQL select.
    Select,
    /// SQL update.
    Update,
    /// Write and make durable, as one operation: a log's commit, a SQL commit.
    Commit,
    /// SQL scan.
    Scan,
}

/// How many verbs there are.
pub const VERBS: usize = 13;

impl Verb {
    /// Does it put bytes on the storage?
    pub fn writes(self) -> bool {
        matches!(self, Verb::Write | Verb::Commit | Verb::Trim)
    }

    /// Does it put bytes of its own there? A discard puts none.
    pub fn puts_bytes(self) -> bool {
        matches!(self, Verb::Write | Verb::Commit)
    }
}
