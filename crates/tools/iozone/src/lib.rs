//! iozone's language as version 3.471 speaks it: its options to one plan for each cell of its table, what was seen to
//! its table and to its Excel blocks.
//!
//! | module | holds |
//! |---|---|
//! | `options` | words and what they mean, the matrix of sizes |
//! | `plan` | each test as a plan |
//! | `report` | banner, table, Excel blocks |
//! | `throughput` | throughput mode: its phases and its report |
//! | `session` | its runs |

mod options;
mod plan;
mod report;
pub mod session;
mod throughput;

pub use options::{Invocation, Options, Unit, parse};
pub use plan::{Test, plan, rest, tests, throughput as plan_throughput};
pub use report::{Row, banner, excel, heads, row};
pub use throughput::{Child, Phase, beginning, block, excel as excel_throughput, phases};
