//! SQLite's counters of one connection, which no safe wrapper offers. The only `unsafe` of this crate.

use rusqlite::{Connection, ffi};
use std::ffi::c_int;

/// What the pager of one connection did since it was last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PagerStatus {
    /// Pages found in its cache.
    pub(crate) hits: u64,
    /// Pages read from the file.
    pub(crate) misses: u64,
    /// Pages written to the file or its write-ahead log.
    pub(crate) writes: u64,
}

/// Reads the counters and sets them to zero, so that their 32 bits never overflow.
pub(crate) fn take_pager_status(connection: &Connection) -> PagerStatus {
    let take = |which: c_int| -> u64 {
        let (mut current, mut highest): (c_int, c_int) = (0, 0);
        // SAFETY: the handle is that of an open connection, which `connection` keeps open and on this thread during the
        // call; both out-parameters are valid integers.
        let answer = unsafe {
            ffi::sqlite3_db_status(connection.handle(), which, &raw mut current, &raw mut highest, 1)
        };
        if answer == ffi::SQLITE_OK { current.max(0) as u64 } else { 0 }
    };
    PagerStatus {
        hits: take(ffi::SQLITE_DBSTATUS_CACHE_HIT),
        misses: take(ffi::SQLITE_DBSTATUS_CACHE_MISS),
        writes: take(ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    }
}
