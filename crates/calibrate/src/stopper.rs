//! Ends a run when its error is small enough, or when somebody else's latency suffers.

use fathom_record::{Control, Counts, Steer, Totals, Why};
use fathom_stats::{Decision, Slot, Stopper, StoppingRule};

/// Feeds slots to the sequential rule: looks at geometric times, twice in a row.
#[derive(Debug)]
pub struct UntilPrecise {
    stopper: Option<Stopper>,
    slot_ns: u64,
    from_ns: u64,
    last: Counts,
}

impl UntilPrecise {
    /// Stops at a relative half width of `target`, not before `least` slots; `None` never stops.
    pub fn new(target: Option<f64>, slot_ns: u64, from_ns: u64, least: usize, most: usize) -> Self {
        let stopper = target.map(|target| Stopper::new(StoppingRule::new(target, least, most)));
        UntilPrecise { stopper, slot_ns, from_ns, last: Counts::default() }
    }
}

impl Control for UntilPrecise {
    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let mut all = Counts::default();
        totals.iter().flat_map(|t| &t.counts).for_each(|counts| all.merge(counts));
        let new = all.since(&self.last);
        self.last = all;
        let Some(stopper) = &mut self.stopper else { return Steer::Continue };
        if now_ns < self.from_ns + self.slot_ns {
            return Steer::Continue;
        }
        match stopper.push(Slot::of(new.operations as f64)) {
            Decision::Converged(_) => Steer::Stop(Vec::new(), Why::Told),
            _ => Steer::Continue,
        }
    }
}
