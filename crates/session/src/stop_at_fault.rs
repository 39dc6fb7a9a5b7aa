//! A Control that ends a run at a signal, and at its first fault.

use crate::signals::Interrupt;
use fathom_record::{Control, Steer, StopReason, Totals};

/// Stops at a signal, and at the first fault.
pub struct StopAtFault<'a>(pub &'a Interrupt);

impl Control for StopAtFault<'_> {
    fn goes_on(&mut self) -> bool {
        !self.0.raised()
    }

    fn slot(&mut self, _now_ns: u64, totals: &[Totals]) -> Steer {
        let failed = totals.iter().flat_map(|t| t.counts).any(|counts| counts.errors > 0);
        match (self.0.raised(), failed) {
            (true, _) => Steer::Stop(Vec::new(), StopReason::Signal),
            (false, true) => Steer::Stop(Vec::new(), StopReason::Fault),
            (false, false) => Steer::Continue,
        }
    }
}
