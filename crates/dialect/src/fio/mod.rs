//! fio's language: job files and command lines in, a plan out.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | the one table of every option of fio 3.33: works, without effect, refused and why |
//! | [`numbers`], [`expression`] | numbers, times, ranges, arithmetic |
//! | [`values`] | what was said for an option, read as its kind |
//! | [`jobfile`] | sections, includes, variables |
//! | [`commandline`] | general options, jobs made of words |
//! | [`assemble`] | defaults handed down, names looked up |
//! | [`place`] | where something was said, and what is wrong with it |

pub mod assemble;
pub mod commandline;
pub mod expression;
pub mod jobfile;
pub mod numbers;
pub mod options;
pub mod place;
pub mod values;

pub use assemble::{Assembled, Typed, assemble};
pub use commandline::{CommandLine, Eta, Format, General};
pub use jobfile::{Section, Setting, Surroundings};
pub use place::{Place, Source, Trouble};
