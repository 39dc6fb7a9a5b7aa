//! bonnie++'s language as version 2.00a speaks it: its options to one plan for each of its tests, what was seen to its
//! table and to its CSV line (format 1.98).
//!
//! | module | holds |
//! |---|---|
//! | `options` | words and what they mean |
//! | `plan` | each test as a plan |
//! | `report` | the table and the CSV line |

mod options;
mod plan;
mod report;
pub mod session;

pub use options::{BarrierKind, Identity, Options, USAGE, parse};
pub use plan::{Test, plan, tests};
pub use report::{CSV_HEADER, Figure, Results, csv, table};
