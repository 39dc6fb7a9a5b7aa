//! dt's language (Data Test 26, and its layout of 2008): options in, statistics and corruption reports out.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | what was typed, and what is refused |
//! | [`number`] | numbers with suffixes and operators |
//! | [`mod@plan`] | from options to the plans of a pass |
//! | [`report`] | statistics in both layouts |
//! | [`damage`] | the report of a corruption |

pub mod damage;
pub mod number;
pub mod options;
pub mod plan;
pub mod report;

pub use damage::{Again, Damaged};
pub use number::{Numbers, seconds};
pub use options::{Dispose, Layout, OptionError, Options, Pattern, Stats, help, parse};
pub use plan::{Place, WORDS, format, pattern_text, plan};
pub use report::{Part, Report, Surroundings, Totals};
