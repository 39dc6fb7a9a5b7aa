//! sysbench's `fileio` test as version 1.0.20 speaks it: its command line to a plan, what was counted to its report.
//!
//! | module | holds |
//! |---|---|
//! | `options`, `parse`, `resolve` | words, their rules, what they mean together |
//! | `seeds` | the random states of its workers |
//! | `plan` | prepare and run as plans |
//! | `tally` | what it counts, and its classes of latencies |
//! | `report` | its report, byte for byte |
//! | `traps` | what its figures do not say of themselves |
//! | `explain` | what a published report contains |

mod explain;
mod options;
mod parse;
mod plan;
pub mod report;
mod resolve;
mod seeds;
pub mod session;
mod tally;
mod text;
mod traps;

pub use explain::explain;
pub use parse::{Command, Invocation, ReadFile, Stream, parse};
pub use plan::{Present, prepare, run, step_s};
pub use resolve::{Fatal, General, Grace, IoMode, Limits, Mode, Options};
pub use seeds::states;
pub use tally::{Classes, Requests, Tally, Worker, class_ms};
pub use traps::notes;
