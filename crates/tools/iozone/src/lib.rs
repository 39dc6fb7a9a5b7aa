//! iozone's language as version 3.489 speaks it: its options to one plan for each cell of its table, what was seen to
//! its table and to its Excel blocks.
//!
//! | module | holds |
//! |---|---|
//! | `options` | words and what they mean, the matrix of sizes |
//! | `phase_names` | the phases of throughput mode |
//! | `plan` | each test as a plan |
//! | `report` | banner, table, Excel blocks |
//! | `test` | the tests, each a column of the table |
//! | `throughput` | throughput mode: its report |
//! | `session` | its runs |

mod options;
mod phase_names;
mod plan;
mod report;
pub mod session;
mod test;
mod throughput;

pub use options::{Invocation, Options, Unit, parse};
pub use plan::{plan, rest, tests, throughput as plan_throughput};
pub use report::{Row, banner, excel, heads, row, row_begun};
pub use test::Test;
pub use throughput::{Child, Phase, beginning, block, excel as excel_throughput, phases};
