//! Bytes from one place to another, one read and one write at a time, changed on the way if that is asked for.

use crate::{Bytes, SpaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A copy, as dd makes it. Both ends may be files, devices, pipes or terminals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Copying {
    /// Where the bytes come from.
    pub from: SpaceId,
    /// Where they go to.
    pub to: SpaceId,
    /// Bytes of a read.
    pub read_size: Bytes,
    /// Bytes of a write.
    pub write_size: Bytes,
    /// Each block is written as it was read, short or not; otherwise bytes are gathered into writes of `write_size`.
    pub as_read: bool,
    /// Input left out at the start.
    pub skip: Bytes,
    /// Output left as it is at the start.
    pub seek: Bytes,
    /// How much is read.
    pub most: CopyMost,
    /// Short reads are continued until the block is full (dd's fullblock).
    pub whole_reads: bool,
    /// Read errors do not end it.
    pub keep_going: bool,
    /// Runs of zeros become holes of the output.
    pub holes: bool,
    /// The page cache is asked to forget what was read, and what was written.
    pub forget: (bool, bool),
    /// What happens to the bytes.
    pub change: Change,
}

/// How much a copy reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyMost {
    /// All there is.
    Everything,
    /// So many reads.
    Blocks(u64),
    /// So many bytes.
    Bytes(Bytes),
}

/// What happens to bytes on their way, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Short blocks are filled up with this byte.
    pub pad: Option<u8>,
    /// Each byte is replaced by the one at its number; empty, or 256 bytes.
    pub table: Vec<u8>,
    /// Every two bytes change places.
    pub swap: bool,
    /// Lines become records, or records lines.
    pub records: Option<Records>,
}

impl Change {
    /// Do the bytes arrive as they were, apart from filled up blocks?
    pub fn is_none(&self) -> bool {
        self.table.is_empty() && !self.swap && self.records.is_none()
    }
}

/// Lines and records of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Records {
    /// Which becomes which.
    pub make: Make,
    /// Bytes of a record.
    pub length: u64,
    /// What ends a line.
    pub newline: u8,
    /// What fills a record.
    pub space: u8,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Make {
    /// Lines become records: filled up, or cut.
    Records,
    /// Records become lines: trailing spaces are dropped.
    Lines,
}
