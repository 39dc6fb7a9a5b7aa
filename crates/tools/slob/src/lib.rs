//! SLOB and pgio: their parameters to settings, and what a database session's run has shown to their words.
//!
//! | module | knows |
//! |---|---|
//! | [`table`] | every parameter of `slob.conf` and `pgio.conf` |
//! | [`settings`] | their values, and which go together |
//! | [`amount`] | blocks or bytes |
//! | [`parameter_error`] | what is wrong with a parameter |
//! | `values` | their values as the scripts write them |
//! | [`conf`] | the files as a shell would read them |
//! | [`run_context`] | what is kept of a run beside its raw facts |
//! | [`counter_deltas`] | what the database and its disks counted |
//! | [`verdict`] | was the disk measured, or a cache? |
//! | [`advice`] | what to do so that it is the disk |
//! | [`checks`] | do server and sessions agree, was what was asked for done, did commits reach the disk? |
//! | [`database_counters`] | the counters that pgio shows |
//! | [`service_times`] | how long the database took |
//! | [`log`] | the lines that the scripts print |
//! | [`awr`] | a report with AWR's names, and `db_stats.out` |
//! | [`pgio_files`] | the files that only pgio leaves |
//! | [`demand`] | what a running database asks of its storage, and who is slow |
//! | [`sysstat`] | `iostat.out`, `vmstat.out`, `mpstat.out` |
//! | [`moment`] | the time of day of a moment of a run |

pub mod advice;
pub mod amount;
pub mod awr;
pub mod checks;
pub mod conf;
pub mod counter_deltas;
pub mod database_counters;
pub mod demand;
pub mod log;
pub mod moment;
pub mod parameter_error;
pub mod pgio_files;
pub mod run_context;
pub mod service_times;
pub mod session;
pub mod settings;
pub mod sysstat;
pub mod table;
mod values;
pub mod verdict;

pub use amount::Amount;
pub use conf::read as read_conf;
pub use counter_deltas::{Agreement, Counted, Device};
pub use database_counters::DatabaseCounters;
pub use moment::When;
pub use parameter_error::Wrong;
pub use run_context::RunContext;
pub use settings::{Hotspot, RedoStress, Settings, Statistics, Thinking, Words};
