//! Does SQL work: sets up tables with one row per block in SQLite, PostgreSQL, MySQL and MariaDB, and lets sessions touch them
//! at random through drive's serial loop, so that the I/O is what the database really makes.
//!
//! | module | holds |
//! |---|---|
//! | [`url`] | where a database is; keeps passwords to itself |
//! | [`credentials`] | what the databases' own client programs read beside a URL |
//! | [`settings`] | what is loaded and what sessions do, and the plan that it means |
//! | [`facts`] | what a database is and what has been set up in it |
//! | [`mod@setup`] | loads schemas, proves one row per block, drops only what is ours |
//! | [`execute`] | [`Database`]: runs a plan of sessions |
//! | [`counters`] | the database's own counters and their differences |
//! | [`server`] | throw-away servers from the machine's own binaries |
//! | `operation_mix`, `work`, `rows` | what a session does next; one session as serial work; the rows that are loaded |
//! | `sampler` | the counters while a run goes on |
//! | `tls` | encrypted connections to PostgreSQL |
//! | `backend`, `sys` | the three families behind one seam; SQLite's own counters |
//!
//! It judges nothing, prints nothing and reads no environment variable. Threads wait in the drivers; all time is drive's.

mod backend;
pub mod counters;
pub mod credentials;
pub mod error;
pub mod execute;
pub mod facts;
mod operation_mix;
mod rows;
mod sampler;
pub mod server;
pub mod settings;
pub mod setup;
mod sys;
mod tls;
pub mod url;
mod work;

pub use counters::{Change, Counters};
pub use error::{DatabaseError, Result, Trouble};
pub use execute::{Below, Database};
pub use facts::{Facts, Proof, Schema, Shape, State};
pub use server::{Leftover, Server, ServerKind, ServerOptions};
pub use settings::{Length, Settings};
pub use setup::{
    Progress, Replace, Setup, Step, drop_all, inspect, place, plans, prove, schemas, setup, tablespace,
};
pub use url::{Brand, Credentials, Encryption, Route, Url};
