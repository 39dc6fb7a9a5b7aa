//! What can go wrong with the store. Every text says what, where and what to do.

use fathom_spec::names::shown;
use rusqlite::ErrorCode;
use rustix::process::{Resource, getrlimit};
use std::path::{Path, PathBuf};

/// Why the store could not be used.
#[derive(Debug)]
pub enum StoreError {
    /// The file, or the directory it should lie in, cannot be written.
    Unwritable {
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// It was opened to be read only, and there is no such file.
    Missing { path: PathBuf },
    /// It cannot be read.
    Unreadable {
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The file is no SQLite database, or a damaged one.
    Corrupt { path: PathBuf, why: String },
    /// The file is another program's database.
    Foreign { path: PathBuf },
    /// A newer fathom wrote it.
    Newer {
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The newest layout that this program knows.
        known: i64,
    },
    /// An older fathom wrote it, and it was opened to be read only.
    Older {
        path: PathBuf,
        /// Its layout.
        found: i64,
    },
    /// Another process held it for longer than the store waits (10 s).
    Locked { path: PathBuf },
    /// The disk that it lies on is full.
    Full { path: PathBuf },
    /// The limit on file sizes that this program was started with is too low for it.
    FileSizeLimit {
        path: PathBuf,
        /// The limit, bytes.
        limit_bytes: u64,
    },
    /// No run answers to that name.
    NotFound {
        path: PathBuf,
        /// What was asked for.
        wanted: String,
    },
    /// More than one run begins with it.
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Some of the names that begin with it.
        found: Vec<String>,
    },
    /// A stored record cannot be understood.
    Record {
        path: PathBuf,
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// A query of the user's is wrong, or would write.
    Query { why: String },
    /// SQLite refused for a reason that is not the user's.
    Failed { path: PathBuf, why: String },
}

impl StoreError {
    /// What is wrong, and where.
    pub fn what(&self) -> String {
        match self {
            StoreError::Unwritable { path, why, .. } => {
                format!("cannot write the store {}: {why}", shown(path))
            }
            StoreError::Missing { path, .. } => format!("there is no store {} yet", shown(path)),
            StoreError::Unreadable { path, why, .. } => {
                format!("cannot read the store {}: {why}", shown(path))
            }
            StoreError::Corrupt { path, why, .. } => {
                format!("the store {} is not a database or is damaged: {why}", shown(path))
            }
            StoreError::Foreign { path, .. } => {
                format!("{} is a database of another program, and is left alone", shown(path))
            }
            StoreError::Newer { path, found, known, .. } => format!(
                "the store {} has layout {found}, and this fathom knows layouts up to {known}",
                shown(path)
            ),
            StoreError::Older { path, found, .. } => {
                format!("the store {} has the older layout {found}", shown(path))
            }
            StoreError::Locked { path, .. } => {
                format!("the store {} is in use by another process", shown(path))
            }
            StoreError::Full { path, .. } => format!("no space left for the store {}", shown(path)),
            StoreError::FileSizeLimit { path, limit_bytes } => {
                format!(
                    "the store {} may not grow beyond {limit_bytes} bytes: the limit on file sizes",
                    shown(path)
                )
            }
            StoreError::NotFound { wanted, path, .. } => {
                format!("no run `{wanted}` in the store {}", shown(path))
            }
            StoreError::Ambiguous { wanted, found } => {
                format!("`{wanted}` stands for several runs: {}", found.join(", "))
            }
            StoreError::Record { id, path, why, .. } => {
                format!("the record of run {id} in the store {} cannot be understood: {why}", shown(path))
            }
            StoreError::Query { why, .. } => format!("the query cannot be answered: {why}"),
            StoreError::Failed { path, why, .. } => format!("the store {} failed: {why}", shown(path)),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Unwritable { .. } => {
                "make it writable, or keep the results in another file with --store FILE"
            }
            StoreError::Missing { .. } => "the first `fathom calibrate` makes it; --store FILE names another",
            StoreError::Unreadable { .. } => "check its permissions, or name another with --store FILE",
            StoreError::Corrupt { .. } => {
                "move it away and a new one is made; `sqlite3 FILE .recover` may save what is in it"
            }
            StoreError::Foreign { .. } => "name another file with --store FILE",
            StoreError::Newer { .. } => {
                "use the newer fathom that wrote it, or another file with --store FILE"
            }
            StoreError::Older { .. } => {
                "open it once where it can be written, for example with `fathom calibrate`; that brings it up to date"
            }
            StoreError::Locked { .. } => {
                "end the other program, perhaps an open sqlite3 shell, and try again"
            }
            StoreError::Full { .. } => {
                "free some space there, or keep the results elsewhere with --store FILE"
            }
            StoreError::FileSizeLimit { .. } => "raise it with ulimit -f",
            StoreError::NotFound { .. } => "`fathom history` lists the runs",
            StoreError::Ambiguous { .. } => "give more letters, or the number from `fathom history`",
            StoreError::Record { .. } => {
                "a newer fathom may read it; its raw text is in the table results, column record"
            }
            StoreError::Query { .. } => "docs/store.md lists tables, views and columns",
            StoreError::Failed { .. } => {
                "try again; should it stay, move the file away and a new one is made"
            }
        }
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\nhint: {}", self.what(), self.hint())
    }
}

impl std::error::Error for StoreError {}

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
            Some(ErrorCode::SystemIoFailure) => match getrlimit(Resource::Fsize).current {
                Some(limit_bytes) => StoreError::FileSizeLimit { path, limit_bytes },
                None => StoreError::Failed { path, why },
            },
            _ => StoreError::Failed { path, why },
        }
    }
}
