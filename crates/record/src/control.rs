//! Whoever watches a run and steers it.

use crate::{CELLS, Counts, Event, Interval, StopReason};
use fathom_spec::{GroupId, StreamId, Verb};

/// Watches a run and steers it: progress bars, the stopping rule and every dialect's live report are
/// Controls. Called by the coordinating thread, never by a worker; at most once a slot.
pub trait Control {
    /// Something happened.
    fn event(&mut self, _event: &Event) {}
    /// A slot has ended at this moment. `totals` are the cumulative counters of each stream from its start to then.
    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        Steer::Continue
    }
    /// May a run that has not begun go on to its beginning? Asked while its targets are searched, where there is no slot yet.
    fn goes_on(&mut self) -> bool {
        true
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
    /// What each of the counters counts. A mix of which only one half is done has no cell for the other: the verbs of a
    /// stream are not those that its user named.
    pub verbs: [Option<Verb>; CELLS],
    /// One for each verb of the stream, in the same order.
    pub counts: [Counts; CELLS],
}

impl Totals {
    /// A stream of the first group with one worker, which has done nothing yet.
    pub fn running(stream: StreamId, verbs: &[Verb]) -> Self {
        Totals {
            stream,
            group: GroupId(0),
            running: 1,
            outstanding: 0,
            verbs: Totals::verbs_of(verbs),
            counts: Default::default(),
        }
    }

    /// The verbs of a stream as totals have them.
    pub fn verbs_of(verbs: &[Verb]) -> [Option<Verb>; CELLS] {
        std::array::from_fn(|cell| verbs.get(cell).copied())
    }

    /// Each verb of the stream with its counters.
    pub fn cells(&self) -> impl Iterator<Item = (Verb, &Counts)> {
        self.verbs.iter().zip(&self.counts).filter_map(|(verb, counts)| Some(((*verb)?, counts)))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_of_the_verb_that_stands_in_its_place() {
        let mut counts = [Counts::default(); CELLS];
        (counts[0].operations, counts[1].operations) = (7, 2);
        let totals = Totals { counts, ..Totals::running(StreamId(3), &[Verb::Write, Verb::Sync]) };
        let told: Vec<(Verb, u64)> = totals.cells().map(|(verb, counts)| (verb, counts.operations)).collect();
        assert_eq!(told, [(Verb::Write, 7), (Verb::Sync, 2)]);
    }
}
