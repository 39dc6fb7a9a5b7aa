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
//! | [`mod@assemble`] | defaults handed down, names looked up |
//! | [`job`], [`meaning`], [`engines`], [`pattern`], [`terms`] | what a job means |
//! | [`conditions`], [`reporting`](mod@reporting) | where it runs; what is reported and logged of it |
//! | `dedupe` | from which blocks those are drawn that repeat |
//! | `finer` | what a job says of single I/Os and of what is checked |
//! | [`territory`], [`streams`], [`plan`](mod@plan) | where it works, what it does, and the plan of all jobs |
//! | [`planned`] | what planning gives |
//! | `random` | numbers drawn from a seed |
//! | [`recording`], [`replay`] | recordings that are done again, the reading of them, and their writing |
//! | [`reported`](mod@reported) | what a report must know of each clone |
//! | [`state`] | how far a job got that writes what can be verified |
//! | [`steady`] | whether a job is steady |
//! | [`report`] | what fio prints, and its log files |
//! | [`import`] | reads fio's JSON into a record |
//! | [`help`], [`doc`] | `--cmdhelp`, `--enghelp`, `--showcmd`; `docs/dialect/fio.md` |
//! | [`place`] | where something was said, and what is wrong with it |

pub mod assemble;
pub mod commandline;
pub mod conditions;
mod dedupe;
pub mod doc;
pub mod engines;
pub mod expression;
mod finer;
pub mod help;
pub mod import;
pub mod job;
pub mod jobfile;
mod look;
pub mod meaning;
pub mod numbers;
pub mod option_table;
pub mod options;
pub mod pattern;
pub mod place;
pub mod plan;
pub mod planned;
pub mod profile;
mod random;
pub mod recording;
pub mod replay;
pub mod report;
pub mod reported;
pub mod reporting;
pub mod state;
pub mod steady;
pub mod streams;
pub mod terms;
pub mod territory;
pub mod understood;
pub mod values;

pub use assemble::{Parts, Typed};
pub use commandline::{CommandLine, Eta, Format, General, IdleProf};
pub use conditions::{Node, settle_nodes};
pub use job::Job;
pub use jobfile::{Section, Setting, Surroundings};
pub use meaning::meant;
pub use place::{Place, Source, Trouble};
pub use plan::plan;
pub use planned::{Member, Planned};
pub use replay::recall;
pub use reported::reported;
pub use territory::{Facts, FileFacts, FileNeed};
pub use understood::understood;
