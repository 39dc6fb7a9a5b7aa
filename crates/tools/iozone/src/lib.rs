//! iozone's language as version 3.471 speaks it: its options to one plan for each cell of its table, what was seen to
//! its table and to its Excel blocks.
//!
//! | module | holds |
//! |---|---|
//! | `options` | words and what they mean, the matrix of sizes |
//! | `plan` | each test as a plan |
//! | `report` | banner, table, Excel blocks |
//! | `together` | throughput mode: its phases and its report |

#[macro_use]
extern crate fathom_session;

mod options;
mod plan;
mod report;
pub mod session;
mod throughput;

pub use options::{Asked, Options, Unit, parse};
pub use plan::{Test, plan, rest, tests, together as plan_together};
pub use report::{Row, banner, excel, heads, row};
pub use throughput::{Child, Phase, beginning, block, excel as excel_together, phases};
