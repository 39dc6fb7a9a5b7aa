//! When did a held load change? Burst credit that runs out, a write cache that fills, heat.

use crate::observe::Observed;
use fathom_stats::change_points;
use std::fmt;

/// A change counts when it is this unlikely by chance.
const SIGNIFICANCE: f64 = 0.001;
/// ... when each level lasted for so long,
const LASTS_SECONDS: f64 = 5.0;
/// ... and when it moved the level by so much.
const MOVES_LEAST: f64 = 0.05;

/// One change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When, seconds since the run's start.
    pub at_seconds: f64,
    /// Operations per second before.
    pub before: f64,
    pub after: f64,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { at_seconds, before, after } = self;
        let percent = 100.0 * (after / before.max(1e-9) - 1.0);
        let (minutes, seconds) = ((at_seconds / 60.0) as u64, at_seconds % 60.0);
        write!(
            f,
            "after {minutes} min {seconds:.0} s throughput went from {before:.0} to {after:.0} IOPS ({percent:+.0} %)"
        )
    }
}

/// What a held load did.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Its changes, in order.
    pub changes: Vec<Change>,
    /// The last level as a share of the first.
    pub share_at_end: f64,
}

/// Judges a long run.
pub fn judge(observed: &Observed) -> Held {
    let rates: Vec<f64> =
        observed.slots.iter().map(|slot| slot.operations as f64 / observed.slot_seconds).collect();
    let segment = (LASTS_SECONDS / observed.slot_seconds).ceil() as usize;
    let began = observed.start_ns as f64 / 1e9 + observed.cut as f64 * observed.slot_seconds;
    let changes: Vec<Change> = change_points(&rates, segment, SIGNIFICANCE)
        .into_iter()
        .filter(|c| (c.after - c.before).abs() >= MOVES_LEAST * c.before.max(1e-9))
        .map(|c| Change {
            at_seconds: began + c.index as f64 * observed.slot_seconds,
            before: c.before,
            after: c.after,
        })
        .collect();
    let share_at_end = match (changes.first(), changes.last()) {
        (Some(first), Some(last)) => last.after / first.before.max(1e-9),
        _ => 1.0,
    };
    Held { changes, share_at_end }
}
