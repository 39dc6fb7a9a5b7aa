//! What can go wrong with a database, what of it, and what to do. No text ever holds a password.

use fathom_record::ExecuteError;

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\nhint: {hint}")]
pub struct DatabaseError {
    pub kind: Trouble,
    /// What is wrong, and where.
    pub what: String,
    /// What to do.
    pub hint: String,
}

/// Kinds of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The URL cannot be understood: change it.
    Url,
    /// Settings contradict each other or the database.
    Settings,
    /// No server answers, or the connection was lost.
    Connection,
    /// The server does not know the user or the password.
    Password,
    /// The user lacks a right.
    Rights,
    /// The server takes no more sessions.
    TooManySessions,
    /// A schema of that name exists and is not ours: it is never touched.
    Foreign,
    /// What is needed was not set up, or not fully.
    NotLoaded,
    /// The loaded tables have not one row per block.
    NotOneRowPerBlock,
    /// The disk or tablespace is full.
    Full,
    /// The user interrupted it.
    Interrupted,
    /// The database refused or failed a statement.
    Statement,
    /// A server could not be started or stopped, or a program for it is missing.
    Server,
}

impl DatabaseError {
    /// An error of a kind.
    pub fn new(kind: Trouble, what: impl Into<String>, hint: impl Into<String>) -> Self {
        DatabaseError { kind, what: what.into(), hint: hint.into() }
    }
}

impl From<DatabaseError> for ExecuteError {
    fn from(DatabaseError { kind, what, hint }: DatabaseError) -> Self {
        match kind {
            Trouble::Settings => ExecuteError::Plan { what, hint },
            Trouble::Server => ExecuteError::System { what, hint },
            _ => ExecuteError::Target { what, hint },
        }
    }
}

/// The result of what a database was asked.
pub type Result<T> = std::result::Result<T, DatabaseError>;
