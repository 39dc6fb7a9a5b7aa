//! dd's language, as coreutils 9.1 speaks it: operands in, its three lines out.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | the operands, and what is wrong with them |
//! | [`number`] | numbers with their suffixes |
//! | [`mod@plan`] | from operands to a plan |
//! | [`tables`] | EBCDIC |
//! | [`report`] | the lines of the statistics |

pub mod number;
pub mod options;
pub mod plan;
pub mod report;
pub mod session;
pub mod tables;

pub use options::{Asked, Flag, Options, Quotes, Refusal, Status, named, parse, quoted, shell_quoted};
pub use plan::{plan, records};
pub use report::{Moved, help};
