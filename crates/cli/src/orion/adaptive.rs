//! `-adaptive`: each point only until both kinds of I/O are known to +-5 %, each load axis only while throughput
//! grows. The rule itself is calibrate's and stats'.

use fathom_calibrate::stopper::{Rule, Until};
use fathom_dialect::orion::Point;
use fathom_record::{Control, LARGE, Load, SMALL, Side, Steer, Totals, Why};
use fathom_spec::{GroupId, Nanos, Plan};

/// Relative half width at which a point ends.
const HALF_WIDTH: f64 = 0.05;
/// No point is shorter.
const AT_LEAST: Nanos = Nanos::from_seconds(2);
/// Twice the load must bring at least this much more.
const GROWTH: f64 = 1.02;

/// Ends a point when each kind of I/O of it is known well enough.
pub struct Enough {
    kinds: Vec<(GroupId, Until, bool)>,
}

impl Enough {
    /// For one point; `None`: never ends it.
    pub fn new(plan: &Plan, duration: Nanos, adaptive: bool) -> Self {
        let rule = Rule {
            half_width: HALF_WIDTH,
            before: plan.slot,
            at_least: AT_LEAST,
            at_most: duration,
            slot: plan.slot,
        };
        let there = |group: &GroupId| adaptive && plan.streams.iter().any(|s| s.group == *group);
        let kinds = [SMALL, LARGE].into_iter().filter(there);
        Enough { kinds: kinds.map(|group| (group, Until::new(rule), false)).collect() }
    }
}

impl Control for Enough {
    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        for (group, until, enough) in &mut self.kinds {
            let of: Vec<Totals> = totals.iter().filter(|t| t.group == *group).copied().collect();
            *enough |= matches!(until.slot(now_ns, &of), Steer::Stop(..));
        }
        match !self.kinds.is_empty() && self.kinds.iter().all(|(_, _, enough)| *enough) {
            true => Steer::Stop(Vec::new(), Why::Told),
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

    /// Looks at the last point beside those before it: an axis ends where twice the load no longer brings more.
    pub fn learn(&mut self, done: &[Point]) {
        let Some(last) = done.last() else { return };
        let Load { small, large } = last.load;
        let small_rate = |p: &Point| p.small.as_ref().map(Side::operations_per_second);
        let large_rate = |p: &Point| p.large.as_ref().map(Side::mebibytes_per_second);
        let half = |load: u32| Some(load / 2).filter(|half| *half > 0);
        if let Some(half) = half(small).filter(|_| self.small_most.is_none()) {
            let before = done.iter().filter(|p| p.load.large == large && p.load.small <= half);
            if flat(before.filter_map(small_rate).next_back(), small_rate(last)) {
                self.small_most = Some(small);
            }
        }
        if let Some(half) = half(large).filter(|_| self.large_most.is_none()) {
            let before = done.iter().filter(|p| p.load.small == small && p.load.large <= half);
            if flat(before.filter_map(large_rate).next_back(), large_rate(last)) {
                self.large_most = Some(large);
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
        let side = Side { counts, seconds: 1.0, ..Side::default() };
        Point { load: Load { small, large: 0 }, small: Some(side), large: None, trouble: None, seconds: 1.0 }
    }

    #[test]
    fn an_axis_ends_where_twice_the_load_brings_nothing() {
        let (mut axes, mut done) = (Axes::default(), Vec::new());
        for small in 1..=12 {
            done.push(point(small, 100 * u64::from(small.min(4))));
            axes.learn(&done);
        }
        assert_eq!(axes.small_most, Some(8));
        assert!(axes.skips(Load { small: 9, large: 0 }) && !axes.skips(Load { small: 8, large: 5 }));
        assert_eq!(axes.large_most, None);
    }
}
