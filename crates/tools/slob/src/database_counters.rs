//! The database's own counters, which pgio shows before and after a run.

use serde::{Deserialize, Serialize};

/// The counters of `pg_stat_database` that pgio shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseCounters {
    /// Blocks found in the database's cache.
    pub blocks_hit: u64,
    /// Blocks that were not.
    pub blocks_read: u64,
    /// Rows that scans read.
    pub rows_returned: u64,
    /// Rows that were found by an index.
    pub rows_fetched: u64,
    /// Rows updated.
    pub rows_updated: u64,
}
