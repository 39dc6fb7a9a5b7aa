//! ioping's language as version 1.3 speaks it: its options to a plan, what each request took to its lines. But for
//! [`session`] it opens nothing and knows no clock.
//!
//! | module | holds |
//! |---|---|
//! | [`args`] | options and what they mean, with ioping's defaults |
//! | `getopt` | words to options, as the C library's `getopt_long_only` reads them |
//! | `number` | counts, sizes and times as they are typed |
//! | [`failure`] | what goes wrong, in ioping's words, and its exit status |
//! | [`plan`] | options to the plan of the requests and of the working file |
//! | [`report`] | a line for each request, raw statistics, the final block, JSON |
//! | [`session`] | a run from its words to its end |
//! | `stamp` | the time of day before a line (`-I`) |
//! | [`tally`] | which requests count, and their statistics |
//! | `units` | times, sizes and counts as they are printed |
//! | [`usage_error`] | what is wrong with the words |

pub mod args;
pub mod failure;
mod getopt;
mod number;
pub mod plan;
pub mod report;
pub mod session;
mod stamp;
pub mod tally;
mod units;
mod usage;
pub mod usage_error;

pub use args::{Invocation, Operations, Options, parse};
pub use failure::Failure;
pub use plan::{Preparation, TargetFacts, prepare};
pub use report::{Report, Request, TargetLabel};
pub use stamp::StampFormat;
pub use tally::{Fate, Statistics, Tally};
pub use usage::{USAGE, VERSION};
pub use usage_error::UsageError;

/// How ioping calls itself at the beginning of each line of stderr.
pub const NAME: &str = "ioping";
