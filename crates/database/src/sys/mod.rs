//! SQLite's counters of one connection, and children that end with their parent, which no safe wrapper offers. The only
//! `unsafe` of this crate.

use rusqlite::{Connection, ffi};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::ffi::c_int;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// Has the process that this command will start sent a signal when the thread that started it ends, however it ends.
pub(crate) fn end_with_this_thread(command: &mut Command, signal: Signal) {
    let parent = getpid();
    let settle = move || {
        set_parent_process_death_signal(Some(signal))?;
        // The parent may have gone before that was said.
        match getppid() == Some(parent) {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    };
    // SAFETY: between fork and exec the closure makes two system calls; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(settle);
    }
}
