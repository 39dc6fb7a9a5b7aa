//! When a measurement may stop: the sequential rule.
//!
//! Looking often and stopping at the first good look makes intervals lie (coverage .89 instead of .94, measured even
//! on independent data). So the rule looks only at geometrically spaced lengths, and the target must hold at several looks in
//! a row. Knows no clock: slots come one by one, and lengths are counted in slots.

use serde::{Deserialize, Serialize};

use crate::batch::{Slot, rate_estimate, slot_residuals};
use crate::estimate::Estimate;
use crate::warm_up::{WarmUp, warm_up};

/// What has to hold before a measurement may stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// The relative half width to reach: 0.05 is +-5 %.
    pub target: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// Slots before the first look.
    pub slots_least: usize,
    /// Slots after which the measurement ends whatever it has reached.
    pub slots_most: usize,
    /// Each look comes when there are so many times the slots of the last: 1.5 to 2.
    pub growth: f64,
    /// Looks in a row at which the target must hold.
    pub looks: u32,
}

impl StoppingRule {
    /// +-`target` at 95 %, first look after `slots_least`, each at twice the slots, two in a row.
    pub fn new(target: f64, slots_least: usize, slots_most: usize) -> StoppingRule {
        StoppingRule { target, confidence: 0.95, slots_least, slots_most, growth: 2.0, looks: 2 }
    }
}

/// What to do after a slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// Measure on.
    Continue,
    /// The target is reached.
    Converged(Estimate),
    /// The most slots are used up first; `finish` says how far it came.
    Exhausted,
}

/// How a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the target was reached by the rule.
    pub converged: bool,
    /// The mean and its error; `None` where there is too little to say anything (under three slots, or no operation).
    /// Of an outcome that did not converge, "did not converge: +-x %" is its `relative()`.
    pub estimate: Option<Estimate>,
    /// What was left out as warm-up, in slots. `NotYet`: nothing was, for the series never came to rest.
    pub warm_up: WarmUp,
    /// All slots, the warm-up included.
    pub slots: usize,
}

/// Takes slots one by one and tells when the rule is met.
#[derive(Debug, Clone)]
pub struct Stopper {
    rule: StoppingRule,
    slots: Vec<Slot>,
    next_look: usize,
    in_a_row: u32,
    converged: Option<Outcome>,
}

impl Stopper {
    /// A measurement that has not begun.
    pub fn new(rule: StoppingRule) -> Stopper {
        Stopper { rule, slots: Vec::new(), next_look: rule.slots_least.max(1), in_a_row: 0, converged: None }
    }

    /// Takes one slot. After `Converged` it keeps saying so, and the outcome stays that of the look that decided.
    pub fn push(&mut self, slot: Slot) -> Decision {
        if let Some(Outcome { estimate: Some(estimate), .. }) = self.converged {
            return Decision::Converged(estimate);
        }
        self.slots.push(slot);
        if self.slots.len() >= self.next_look {
            // At least one slot on, for growth factors that are too small to be seen.
            let grown = (self.next_look as f64 * self.rule.growth).ceil() as usize;
            self.next_look = grown.max(self.slots.len() + 1);
            if let Some(estimate) = self.look() {
                return Decision::Converged(estimate);
            }
        }
        if self.slots.len() >= self.rule.slots_most { Decision::Exhausted } else { Decision::Continue }
    }

    fn look(&mut self) -> Option<Estimate> {
        let outcome = self.judge();
        let good = outcome
            .estimate
            .filter(|e| matches!(outcome.warm_up, WarmUp::Cut(_)) && e.relative() <= self.rule.target);
        self.in_a_row = if good.is_some() { self.in_a_row + 1 } else { 0 };
        let estimate = good.filter(|_| self.in_a_row >= self.rule.looks)?;
        self.converged = Some(Outcome { converged: true, ..outcome });
        Some(estimate)
    }

    fn judge(&self) -> Outcome {
        let warm_up = warm_up_of_slots(&self.slots);
        let cut = match warm_up {
            WarmUp::Cut(cut) => cut,
            WarmUp::NotYet => 0,
        };
        let estimate = rate_estimate(&self.slots[cut..], self.rule.confidence);
        Outcome { converged: false, estimate, warm_up, slots: self.slots.len() }
    }

    /// The slots taken so far.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// How it ended; may be asked at any time, for a progress display.
    pub fn finish(&self) -> Outcome {
        self.converged.unwrap_or_else(|| self.judge())
    }
}

/// The warm-up of a ratio: MSER-5 on the residuals `N - R D`, which exist also in slots without an operation.
pub fn warm_up_of_slots(slots: &[Slot]) -> WarmUp {
    warm_up(&slot_residuals(slots))
}
