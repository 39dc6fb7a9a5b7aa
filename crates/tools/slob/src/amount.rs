//! An amount of data as the scripts take it.

use fathom_spec::{Bytes, GIB, MIB};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much: in blocks of the database, or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// So many blocks.
    Blocks(u64),
    /// So many bytes.
    Size(Bytes),
}

impl Amount {
    /// In blocks of that size; the last one may be partly wanted and is then left out.
    pub fn blocks(self, block: Bytes) -> u64 {
        match self {
            Amount::Blocks(blocks) => blocks,
            Amount::Size(size) => size.0 / block.0.max(1),
        }
    }
}

impl fmt::Display for Amount {
    /// As the scripts say it: `10240`, `80M`, `8G`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Blocks(blocks) => write!(f, "{blocks}"),
            Amount::Size(size) if size.0.is_multiple_of(1 << 40) => write!(f, "{}T", size.0 >> 40),
            Amount::Size(size) if size.0.is_multiple_of(GIB) => write!(f, "{}G", size.0 / GIB),
            Amount::Size(size) => write!(f, "{}M", size.0 / MIB),
        }
    }
}
