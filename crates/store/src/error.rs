//! What can go wrong with the store. Every text says what, where and what to do.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why the store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file, or the directory it should lie in, cannot be written.
    #[error(
        "cannot write the store {path}: {why}\nhint: {}",
        "make it writable, or keep the results in another file with --store FILE"
    )]
    Unwritable {
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// It was opened to be read only, and there is no such file.
    #[error(
        "there is no store {path} yet\nhint: the first `fathom calibrate` makes it; --store FILE names another"
    )]
    Missing { path: PathBuf },
    /// It cannot be read.
    #[error(
        "cannot read the store {path}: {why}\nhint: check its permissions, or name another with --store FILE"
    )]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The file is no SQLite database, or a damaged one.
    #[error(
        "the store {path} is not a database or is damaged: {why}\nhint: move it away and a new one is made; `sqlite3 FILE .recover` may save what is in it"
    )]
    Corrupt { path: PathBuf, why: String },
    /// The file is another program's database.
    #[error(
        "{path} is a database of another program, and is left alone\nhint: name another file with --store FILE"
    )]
    Foreign { path: PathBuf },
    /// A newer fathom wrote it.
    #[error(
        "the store {path} has layout {found}, and this fathom knows layouts up to {known}\nhint: use the newer fathom that wrote it, or another file with --store FILE"
    )]
    Newer {
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The newest layout that this program knows.
        known: i64,
    },
    /// An older fathom wrote it, and it was opened to be read only.
    #[error(
        "the store {path} has the older layout {found}\nhint: open it once where it can be written, for example with `fathom calibrate`; that brings it up to date"
    )]
    Older {
        path: PathBuf,
        /// Its layout.
        found: i64,
    },
    /// Another process held it for longer than the store waits (10 s).
    #[error(
        "the store {path} is in use by another process\nhint: end the other program, perhaps an open sqlite3 shell, and try again"
    )]
    Locked { path: PathBuf },
    /// The disk that it lies on is full.
    #[error(
        "no space left for the store {path}\nhint: free some space there, or keep the results elsewhere with --store FILE"
    )]
    Full { path: PathBuf },
    /// No run answers to that name.
    #[error("no run `{wanted}` in the store {path}\nhint: `fathom history` lists the runs")]
    NotFound {
        path: PathBuf,
        /// What was asked for.
        wanted: String,
    },
    /// More than one run begins with it.
    #[error("`{wanted}` stands for several runs: {}\nhint: give more letters, or the number from `fathom history`", .found.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Some of the names that begin with it.
        found: Vec<String>,
    },
    /// A stored record cannot be understood.
    #[error(
        "the record of run {id} in the store {path} cannot be understood: {why}\nhint: a newer fathom may read it; its raw text is in the table results, column record"
    )]
    Record {
        path: PathBuf,
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// A query of the user's is wrong, or would write.
    #[error("the query cannot be answered: {why}\nhint: docs/store.md lists tables, views and columns")]
    Query { why: String },
    /// SQLite refused for a reason that is not the user's.
    #[error(
        "the store {path} failed: {why}\nhint: try again; should it stay, move the file away and a new one is made"
    )]
    Failed { path: PathBuf, why: String },
}

impl StoreError {
    /// Sorts an error of SQLite's by what can be done about it.
    pub(crate) fn of(path: &Path, error: rusqlite::Error) -> Self {
        let (path, why) = (path.to_path_buf(), error.to_string());
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed,
            ) => StoreError::Locked { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt { path, why },
            Some(ErrorCode::ReadOnly) => StoreError::Unwritable { path, why },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::Unreadable { path, why },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            _ => StoreError::Failed { path, why },
        }
    }
}
