//! The seam between whoever runs a plan and whoever watches and steers it.

use crate::{CELLS, Counts, Event, Interval, Run, StopReason};
use fathom_spec::{GroupId, Plan, StreamId};

/// Watches a run and steers it: progress bars, the stopping rule and every dialect's live report are
/// Controls. Called by the coordinating thread, never by a worker; at most once a slot.
pub trait Control {
    /// Something happened.
    fn event(&mut self, _event: &Event) {}
    /// A slot has ended at this moment. `totals` are the cumulative counters of each stream from its start to then.
    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        Steer::Continue
    }
    /// A worker has handed over an interval.
    fn interval(&mut self, _interval: &Interval) {}
}

/// Watches nothing.
impl Control for () {}

/// Cumulative counters of one stream, all of its workers, since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// Whose.
    pub stream: StreamId,
    /// In which group it reports.
    pub group: GroupId,
    /// Workers still running.
    pub running: u32,
    /// I/Os outstanding when the workers last told.
    pub outstanding: u64,
    /// One for each verb of the stream.
    pub counts: [Counts; CELLS],
}

/// What whoever watches wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Steer {
    /// Go on.
    Continue,
    /// End these streams; an empty list means all.
    Stop(Vec<StreamId>, StopReason),
    /// Keep this many I/Os outstanding in each worker, at most what the plan allowed.
    Depth(StreamId, u32),
    /// Start this many operations a second in each worker.
    Rate(StreamId, f64),
}

/// Why a plan could not be run. The texts say what, where and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    /// The plan itself cannot be carried out.
    #[error("{what}\nhint: {hint}")]
    Plan {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A target could not be opened, or must not be used as asked.
    #[error("{what}\nhint: {hint}")]
    Target {
        /// What is wrong, with the target's name.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The kernel or another program refused something that the run needs.
    #[error("{what}\nhint: {hint}")]
    System {
        /// What was refused.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A worker's thread could not be started; those that were have ended.
    #[error(
        "cannot start thread {number} of {stream}: {}\nhint: use fewer workers, or raise the limit on processes (ulimit -u)",
        std::io::Error::from_raw_os_error(*errno)
    )]
    Thread {
        /// Which, from 0.
        number: u32,
        /// Of which stream.
        stream: String,
        /// Why.
        errno: i32,
    },
}

/// Everything that can run a plan: the engine, a database, a simulated world, a team of hosts.
pub trait Execute {
    /// Runs it to its end and answers what was seen. Faults of the device are events of the run, no errors.
    fn execute(&mut self, plan: &Plan, control: &mut dyn Control) -> Result<Run, ExecuteError>;
}
