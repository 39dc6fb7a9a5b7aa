//! fio's language: job files and command lines in, a plan out; what was seen in, fio's reports out.
//!
//! | module | holds |
//! |---|---|
//! | [`options`], [`option_table`] | the one table of every option of fio 3.33: works, without effect, refused and why |
//! | [`numbers`], [`expression`] | numbers, times, ranges, arithmetic |
//! | [`values`] | what was said for an option, read as its kind |
//! | [`jobfile`] | sections, includes, variables |
//! | [`commandline`] | general options, jobs made of words |
//! | [`profile`] | jobs that are built in |
//! | [`mod@inherit`] | defaults handed down, names looked up |
//! | [`job`], [`resolve`], [`engines`], [`pattern`], [`limits`] | what a job means |
//! | [`placement`], [`report_options`] | where it runs; what is reported and logged of it |
//! | `dedupe` | from which blocks those are drawn that repeat |
//! | `cmdprio` | what a job says of single I/Os and of what is checked |
//! | [`file_layout`], [`streams`], [`plan`](mod@plan) | where it works, what it does, and the plan of all jobs |
//! | [`members`] | what planning gives |
//! | `random` | numbers drawn from a seed |
//! | [`recording`], [`replay`] | recordings that are done again, the reading of them, and their writing |
//! | [`report_job`] | what a report must know of each clone |
//! | [`state`] | how far a job got that writes what can be verified |
//! | [`steady`] | whether a job is steady |
//! | [`report`] | what fio prints, and its log files |
//! | [`import`] | reads fio's JSON into a record |
//! | [`help`], [`doc`] | `--cmdhelp`, `--enghelp`, `--showcmd`; `docs/tools/fio.md` |
//! | [`diagnostic`] | where something was said, and what is wrong with it |

mod cmdprio;
pub mod commandline;
mod dedupe;
pub mod diagnostic;
mod distribution;
pub mod doc;
pub mod engines;
pub mod expression;
pub mod file_layout;
pub mod help;
pub mod import;
pub mod inherit;
pub mod job;
pub mod jobfile;
pub mod limits;
pub mod load;
pub mod members;
pub mod numbers;
pub mod option_table;
pub mod options;
pub mod pattern;
pub mod placement;
pub mod plan;
pub mod profile;
mod random;
mod reader;
pub mod recording;
pub mod replay;
pub mod report;
pub mod report_job;
pub mod report_options;
pub mod resolve;
pub mod session;
pub mod state;
pub mod steady;
pub mod streams;
pub mod values;

pub use commandline::{CommandLine, Eta, Format, General, IdleProf};
pub use diagnostic::{Place, Source, Trouble};
pub use file_layout::{Facts, FileFacts, FileNeed};
pub use inherit::{Parts, Typed};
pub use job::Job;
pub use jobfile::{Section, Setting, Surroundings};
pub use load::understood;
pub use members::{Member, Planned};
pub use placement::{Node, settle_nodes};
pub use plan::plan;
pub use replay::recall;
pub use report_job::reported;
pub use resolve::meant;
