//! Which measurement next, and what they mean. No engine, no clock, no randomness but a passed seed.
//!
//! A calibration is a conversation: [`schedule::Calibration`] says which plan to run and when it may stop, whoever
//! owns an `Execute` runs it and tells what was seen, and in the end [`figures`] and [`verdict`] judge all that was
//! seen. Judging needs only the stored runs, so an old record can be judged again by a better formula.
//!
//! | module | knows |
//! |---|---|
//! | [`search`] | which load to try next; loads are numbers and nothing else |
//! | [`precision`] | how exact it shall be, and what that costs |
//! | [`plan`] | how a load of a phase becomes a [`fathom_spec::Plan`] |
//! | [`stopper`] | when a running measurement is precise enough |
//! | [`schedule`] | which phase and which point next, within the budget |
//! | [`pieces`] | which runs are one measurement |
//! | [`observe`] | what one run says, in numbers with errors |
//! | [`figures`] | what all runs say together: the record's figures and curves |
//! | [`bound`] | what keeps a figure from being more |
//! | [`verdict`] | whether the figures can be believed |
//! | [`sustain`] | when a held load changed |
//! | [`sessions`] | rates of a database's counters, and the points of its curve |
//! | [`quantiles`] | percentiles with their intervals |
//! | [`load_figures`] | the figures of one load that the user described |

pub mod bound;
pub mod figures;
pub mod load_figures;
#[cfg(test)]
mod model;
pub mod observe;
pub mod pieces;
pub mod plan;
pub mod precision;
pub mod quantiles;
pub mod schedule;
pub mod search;
pub mod sessions;
pub mod stopper;
pub mod sustain;
pub mod verdict;
