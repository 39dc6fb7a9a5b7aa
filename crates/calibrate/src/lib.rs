//! Which measurement next, and what they mean. No engine, no clock, no randomness but a passed seed.
//!
//! | module | holds |
//! |---|---|
//! | [`search`] | the best load within a latency limit, as ask and tell |
//! | [`load`] | from a load to a plan |
//! | [`schedule`] | the phases of a calibration and their time |
//! | [`stopper`] | ends a run when its error is small enough |
//! | [`figures`] | from runs to figures |
//! | [`summary`] | all figures and curves of a calibration, and what bounds each |
//! | [`evidence`] | whether they can be believed |

pub mod evidence;
pub mod figures;
pub mod load;
pub mod schedule;
pub mod search;
pub mod stopper;
pub mod summary;
