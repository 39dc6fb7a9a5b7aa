//! dt's language (Data Test 26, and its layout of 2008): options in, statistics and corruption reports out.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | a test as it was asked for |
//! | [`shape`] | sizes, direction, shares, threads |
//! | [`watch`] | what is said meanwhile, and the watchdog of no progress |
//! | [`workload`] | named workloads |
//! | [`number`] | numbers with suffixes and operators |
//! | [`mod@parse`] | from what was typed to options, and what is refused |
//! | [`error`] | what is said of an option that is refused |
//! | [`mod@help`] | the text of `dt help` |
//! | `resolve` | what options mean together |
//! | [`mod@plan`] | from options to the plans of a pass |
//! | [`part`] | what a half of a pass did |
//! | [`message`] | keep-alive messages and their codes |
//! | [`mod@history`] | the last operations |
//! | [`report`] | statistics in both layouts |
//! | [`damage`] | the report of a corruption |

pub mod damage;
pub mod error;
pub mod help;
pub mod history;
pub mod message;
pub mod number;
pub mod options;
pub mod parse;
pub mod part;
pub mod plan;
pub mod report;
mod resolve;
pub mod session;
pub mod shape;
pub mod watch;
pub mod workload;

pub use damage::{Corruption, SecondRead};
pub use error::OptionError;
pub use help::help;
pub use history::{HistoryEntry, history};
pub use message::{MESSAGE, Moment, expand};
pub use number::{Numbers, seconds};
pub use options::{Dispose, Layout, Options, Pattern, Stats};
pub use parse::parse;
pub use part::{Part, Totals};
pub use plan::{Half, PassFacts, WORDS, format, is_constant, pattern_text, plan, word_of};
pub use report::{Report, SystemInfo};
pub use shape::{Crew, Increment, Mode, Percent, Records, Shape};
pub use watch::{Stall, Watch, Watchdog};
pub use workload::listed;
