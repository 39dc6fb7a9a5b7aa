//! Blocks that are discarded between being written and being checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Some of the blocks that a verifying worker wrote are discarded before it checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discards {
    /// How many of the writes, 0 to 100; which ones is drawn.
    pub percent: u8,
    /// Each time so many blocks have been written.
    pub after: u64,
    /// So many at a time, the oldest first.
    pub batch: u64,
    /// What was discarded must read as zeros; else it is not read.
    pub zeros: bool,
}
