//! Whoever watches a run and steers it.

use crate::{CELLS, Counts, Event, Interval, StopReason};
use fathom_spec::{GroupId, StreamId};

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
