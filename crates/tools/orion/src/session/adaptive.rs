//! `-adaptive`: each point only until both kinds of I/O are known to +-5 %, each load axis only while throughput
//! grows. The rule itself is calibrate's and stats'.

use crate::Point;
use fathom_record::{Control, GroupTotals, LARGE, Load, SMALL, Steer, StopReason, Totals};
use fathom_spec::{GroupId, Nanos, Plan};
use fathom_stats::{Decision, Slot, Stopper, StoppingRule};

/// The rule for one kind of I/O: +-5 % at two looks in a row. The first comes after as many slots as MSER-5 needs to
/// tell a warm-up, the next ones after 1.15 times as many: a point is a cell of a matrix, not a headline figure.
fn rule(slots_most: usize) -> StoppingRule {
    StoppingRule {
        target: 0.05,
        confidence: 0.95,
        slots_least: 20,
        slots_most: slots_most.max(1),
        growth: 1.15,
        looks: 2,
    }
}

/// Twice the load must bring at least this much more.
const GROWTH: f64 = 1.02;

/// One kind of I/O of a point.
struct Kind {
    group: GroupId,
    stopper: Stopper,
    operations: u64,
    enough: bool,
}

/// Ends a point when each kind of I/O of it is known well enough, or an I/O went beyond the end of a LUN.
pub struct Enough {
    kinds: Vec<Kind>,
    slot_ns: u64,
    last_ns: u64,
}

impl Enough {
    /// For one point. Without `adaptive` only a LUN cut short ends it.
    pub fn new(plan: &Plan, duration: Nanos, adaptive: bool) -> Self {
        let slots = (duration.0 / plan.slot.0.max(1)) as usize;
        let there = |group: &GroupId| adaptive && plan.streams.iter().any(|s| s.group == *group);
        let kind = |group| Kind { group, stopper: Stopper::new(rule(slots)), operations: 0, enough: false };
        Enough {
            kinds: [SMALL, LARGE].into_iter().filter(there).map(kind).collect(),
            slot_ns: plan.slot.0,
            last_ns: 0,
        }
    }
}

impl Control for Enough {
    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        for kind in &mut self.kinds {
            let of = totals.iter().filter(|t| t.group == kind.group).flat_map(|t| &t.counts);
            let operations: u64 = of.map(|counts| counts.operations).sum();
            let new = operations.saturating_sub(std::mem::replace(&mut kind.operations, operations));
            // The load rises in the first slot.
            if now_ns >= 2 * self.slot_ns {
                // By the time that really went by: the watcher is not called to the microsecond.
                let denominator = now_ns.saturating_sub(self.last_ns) as f64 / 1e9;
                let decision = kind.stopper.push(Slot { numerator: new as f64, denominator });
                kind.enough |= matches!(decision, Decision::Converged(_));
            }
        }
        self.last_ns = now_ns;
        if totals.iter().flat_map(|t| &t.counts).any(|counts| counts.short > 0) {
            return Steer::Stop(Vec::new(), StopReason::Fault);
        }
        match !self.kinds.is_empty() && self.kinds.iter().all(|kind| kind.enough) {
            true => Steer::Stop(Vec::new(), StopReason::Told),
            false => Steer::Continue,
        }
    }
}

/// How far each load axis is worth going.
#[derive(Debug, Default)]
pub struct Axes {
    /// No small load above this one.
    pub small_most: Option<u32>,
    /// No large load above this one.
    pub large_most: Option<u32>,
}

impl Axes {
    /// Is a load beyond what still brings something?
    pub fn skips(&self, load: Load) -> bool {
        self.small_most.is_some_and(|most| load.small > most)
            || self.large_most.is_some_and(|most| load.large > most)
    }

    /// Looks at the last point beside those before it: an axis ends where twice the load no longer brings more. The
    /// look itself is measured; what comes after it stays at the load that was enough.
    pub fn learn(&mut self, done: &[Point]) {
        let Some(last) = done.last() else { return };
        let Load { small, large } = last.load;
        let small_rate = |p: &Point| p.small.as_ref().map(GroupTotals::operations_per_second);
        let large_rate = |p: &Point| p.large.as_ref().map(GroupTotals::mebibytes_per_second);
        let half = |load: u32| Some(load / 2).filter(|half| *half > 0);
        if let Some(half) = half(small).filter(|_| self.small_most.is_none()) {
            let before = done.iter().filter(|p| p.load.large == large && p.load.small <= half);
            if flat(before.filter_map(small_rate).next_back(), small_rate(last)) {
                self.small_most = Some(half);
            }
        }
        if let Some(half) = half(large).filter(|_| self.large_most.is_none()) {
            let before = done.iter().filter(|p| p.load.small == small && p.load.large <= half);
            if flat(before.filter_map(large_rate).next_back(), large_rate(last)) {
                self.large_most = Some(half);
            }
        }
    }
}

fn flat(before: Option<f64>, now: Option<f64>) -> bool {
    before.zip(now).is_some_and(|(before, now)| before > 0.0 && now < before * GROWTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::Counts;

    fn point(small: u32, rate: u64) -> Point {
        let counts = Counts { operations: rate, ..Counts::default() };
        let side = GroupTotals { counts, seconds: 1.0, ..GroupTotals::default() };
        Point {
            load: Load { small, large: 0 },
            small: Some(side),
            large: None,
            trouble: None,
            cut: false,
            seconds: 1.0,
        }
    }

    #[test]
    fn an_axis_ends_where_twice_the_load_brings_nothing() {
        let (mut axes, mut done) = (Axes::default(), Vec::new());
        for small in 1..=12 {
            done.push(point(small, 100 * u64::from(small.min(4))));
            axes.learn(&done);
        }
        assert_eq!(axes.small_most, Some(4));
        assert!(axes.skips(Load { small: 5, large: 0 }) && !axes.skips(Load { small: 4, large: 5 }));
        assert_eq!(axes.large_most, None);
    }
}
