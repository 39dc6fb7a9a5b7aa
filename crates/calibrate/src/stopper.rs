//! When a running measurement is precise enough. Sees numbers only: cumulative counters, slot by slot.

use fathom_record::{Control, Steer, StopReason, Totals};
use fathom_spec::Nanos;
use fathom_stats::{Decision, Outcome, Slot, Stopper, StoppingRule};
use serde::{Deserialize, Serialize};

/// When one measurement may stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The relative half width of the throughput's 95 % interval to reach.
    pub half_width: f64,
    /// Left out at the start.
    pub before: Nanos,
    /// Not shorter than this.
    pub at_least: Nanos,
    /// Not longer than this.
    pub at_most: Nanos,
    /// Length of a slot.
    pub slot: Nanos,
}

/// Ends a run once its throughput is known well enough: `fathom_stats::StoppingRule` as a `Control`.
///
/// All streams count as one. The first look comes at half of `at_least`, each next one at twice the slots, and the
/// target must hold twice in a row, so nothing ends before `at_least`.
#[derive(Clone, Debug)]
pub struct Until {
    rule: Rule,
    stopper: Stopper,
    last: Option<(u64, u64)>,
    began_ns: Option<u64>,
    stopped: bool,
}

impl Until {
    /// A measurement that has not begun.
    pub fn new(rule: Rule) -> Self {
        let slots = |time: Nanos| (time.0 / rule.slot.0.max(1)).max(1) as usize;
        let stats =
            StoppingRule::new(rule.half_width, (slots(rule.at_least) / 2).max(1), slots(rule.at_most));
        Until { rule, stopper: Stopper::new(stats), last: None, began_ns: None, stopped: false }
    }

    /// How far it came; may be asked at any time, for a progress display.
    pub fn outcome(&self) -> Outcome {
        self.stopper.finish()
    }

    fn fixed(&self) -> bool {
        self.rule.at_least >= self.rule.at_most
    }
}

impl Control for Until {
    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let operations: u64 = totals.iter().flat_map(|t| t.counts.iter()).map(|c| c.operations).sum();
        let began_ns = *self.began_ns.get_or_insert(now_ns.saturating_sub(self.rule.slot.0));
        if now_ns < began_ns + self.rule.before.0 {
            return Steer::Continue;
        }
        let Some((then_ns, then)) = self.last.replace((now_ns, operations)) else { return Steer::Continue };
        let slot = Slot {
            numerator: operations.saturating_sub(then) as f64,
            denominator: now_ns.saturating_sub(then_ns) as f64 / 1e9,
        };
        let converged = matches!(self.stopper.push(slot), Decision::Converged(_));
        if converged && !self.fixed() && !self.stopped {
            self.stopped = true;
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        Steer::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{CELLS, Counts};
    use fathom_spec::{StreamId, Verb};

    fn ends_at(rule: Rule, each: impl Fn(u64) -> u64) -> Option<u64> {
        let mut until = Until::new(rule);
        let mut counts = [Counts::default(); CELLS];
        (1..=2000u64).find(|slot| {
            counts[0].operations += each(*slot);
            let totals = [Totals { outstanding: 1, counts, ..Totals::running(StreamId(0), &[Verb::Read]) }];
            until.slot(slot * 50_000_000, &totals) != Steer::Continue
        })
    }

    fn rule() -> Rule {
        Rule {
            half_width: 0.05,
            before: Nanos::from_millis(100),
            at_least: Nanos::from_seconds(2),
            at_most: Nanos::from_seconds(60),
            slot: Nanos::from_millis(50),
        }
    }

    #[test]
    fn an_even_load_ends_after_the_least_time_and_the_part_left_out() {
        assert_eq!(ends_at(rule(), |_| 1000), Some(2 + 40));
    }

    #[test]
    fn an_uneven_load_takes_longer() {
        let uneven = ends_at(rule(), |slot| 500 + slot.wrapping_mul(2_654_435_761) % 1000);
        assert!(uneven.is_some_and(|slot| slot > 60), "{uneven:?}");
    }

    #[test]
    fn a_point_of_fixed_length_is_never_ended_early() {
        assert_eq!(ends_at(Rule { at_most: rule().at_least, ..rule() }, |_| 1000), None);
    }
}
