//! Keeps runs: one SQLite file with every record whole, and its figures in tables and Oracle's views beside it.
//!
//! The record is the truth, a compressed JSON text in `record_data`; the other tables are made from it and can be made
//! again. The store judges nothing, measures nothing, prints nothing and reads no environment: where the file
//! lies, and whether a process still lives, its caller says.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | what can go wrong, where, and what to do |
//! | `open` | opening, checking and migrating the file |
//! | `write` | a run's life: begun, saved in between, finished or abandoned |
//! | `compression` | a record's JSON text in zlib's format |
//! | `tables` | the record as rows |
//! | `read` | finding runs again |
//! | `state` | how far a run is, and its owner |
//! | `upgrade` | what older records say otherwise |
//! | `files` | what was done to each file, from the record's runs |
//! | `query` | SQL from the user, with Oracle's `FILE#` |

mod compression;
pub mod error;
mod files;
mod open;
mod query;
mod read;
mod state;
mod tables;
mod upgrade;
mod write;

pub use error::StoreError;
pub use open::{LAYOUT, Store};
pub use query::{Answer, quote_number_signs};
pub use read::{Calibrating, Estimate, Filter, Listing, Status, Stored};
pub use state::{Owner, State};

/// Answers whether the process that owns a run still lives: same start, same boot.
pub type Alive<'a> = &'a dyn Fn(&Owner) -> bool;
