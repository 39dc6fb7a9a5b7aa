//! A walk over a stretch of data by records of changing sizes, in both directions, where one operation may lead to another:
//! what was written is read again, what was read is written elsewhere or read elsewhere too.

use crate::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which records come in which order. The region of the stream is the stretch; the walk ends once as many bytes as the
/// region has were moved, or with `records`. Drawn from the stream's seed alone: two streams with the same rules and
/// seed touch the same places with the same sizes, whatever their verbs, unless verbs are drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariableRecords {
    /// The smallest record and the largest.
    pub sizes: (Bytes, Bytes),
    /// How sizes change from one record to the next.
    pub growth: Growth,
    /// From the end of the region to its beginning.
    pub backwards: bool,
    /// Share of the reads and share of the writes at random places, percent. The others follow each other.
    pub random_percent: (u8, u8),
    /// Random places are multiples of this from the region's first byte on.
    pub random_align: Bytes,
    /// Random places lie within so many bytes from the region's first byte on.
    pub random_within: Bytes,
    /// Records at most; 0: no limit.
    pub records: u64,
    /// What each operation leads to.
    pub then: Then,
    /// Reads of the walk itself are checked (those that follow writes always are).
    pub checks: bool,
}

/// How sizes change from one record to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// By so much, from the smallest to the largest and round again.
    By(Bytes),
    /// Drawn evenly among those that are the smallest plus a multiple of this.
    Drawn(Bytes),
}

/// What an operation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Nothing.
    Nothing,
    /// Each write, once it is done, to a read of the same bytes.
    ReadAgain,
    /// Each read to a write of the same bytes to the space's second target; at one outstanding I/O and with
    /// `Content::Kept`. The region's first byte lies at this byte of it.
    WriteSecond(Bytes),
    /// Each read to a read of the space's second target, with `Content::Alike`. The region's
    /// first byte lies at this byte of it.
    ReadSecond(Bytes),
}
