//! dt's language (Data Test 26, and its layout of 2008): options in, statistics and corruption reports out.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | what was typed, and what is refused |
//! | [`shape`] | sizes, direction, shares, threads |
//! | [`watch`] | what is said meanwhile: keep-alive, no progress, history |
//! | [`workload`] | named workloads |
//! | `resolve` | what options mean together |
//! | [`number`] | numbers with suffixes and operators |
//! | [`mod@plan`] | from options to the plans of a pass |
//! | [`report`] | statistics in both layouts |
//! | [`damage`] | the report of a corruption |

pub mod damage;
pub mod number;
pub mod options;
pub mod plan;
pub mod report;
mod resolve;
pub mod session;
pub mod shape;
pub mod watch;
pub mod workload;

pub use damage::{Corruption, SecondRead};
pub use number::{Numbers, seconds};
pub use options::{Dispose, Layout, OptionError, Options, Pattern, Stats, help, parse};
pub use plan::{Half, PassFacts, WORDS, format, is_constant, pattern_text, plan, word_of};
pub use report::{Part, Report, SystemInfo, Totals};
pub use shape::{Crew, Increment, Mode, Percent, Records, Shape};
pub use watch::{HistoryEntry, MESSAGE, Moment, Stall, Watch, Watchdog, expand, history};
pub use workload::listed;
