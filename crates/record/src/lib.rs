//! What was seen. No judgement: a run stores facts, and what they mean can be computed again from it.
//!
//! | module | holds |
//! |---|---|
//! | [`histogram`] | latencies in bins, 128 an octave |
//! | [`latency`] | exact moments beside a histogram |
//! | [`interval`] | counts by slot and latencies by interval; `merge` is the only combinator |
//! | [`event`] | what happened besides I/O |
//! | [`sample`] | raw samples of other people's counters, each with a typed key |
//! | [`control`] | whoever watches a run and steers it |
//! | [`request`] | the seam: what an execution needs and what comes of it |
//! | [`execute_error`] | why a plan could not be run |
//! | [`operation`] | one operation as logs tell it |
//! | [`run`] | one plan's execution, as stored |
//! | [`load`] | how much work was asked for at a time |
//! | [`phase`], [`curve_name`] | the phases of a calibration and the curves that they draw |
//! | [`group_totals`] | small and large I/Os of a mixed load apart |
//! | [`result`] | runs with what was made of them: figures, curves, verdict |
//! | [`surface`] | a figure over two sizes |

pub mod control;
pub mod curve_name;
pub mod event;
pub mod execute_error;
pub mod group_totals;
pub mod histogram;
pub mod interval;
pub mod latency;
pub mod load;
pub mod operation;
pub mod phase;
pub mod request;
pub mod result;
pub mod run;
pub mod sample;
pub mod surface;

pub use control::*;
pub use curve_name::*;
pub use event::*;
pub use execute_error::*;
pub use group_totals::*;
pub use histogram::*;
pub use interval::*;
pub use latency::*;
pub use load::*;
pub use operation::*;
pub use phase::*;
pub use request::*;
pub use result::*;
pub use run::*;
pub use sample::*;
pub use surface::*;
