//! Batch means: the error of a mean whose observations are correlated, in O(1) memory.
//!
//! Neighbouring slots of a disk resemble each other, so the spread of the slots says too little about the error of
//! their mean (on a real disk eleven times too little). Means of long batches are nearly independent, so their spread
//! says it well (Conway 1963; Law & Carson 1979). Knows nothing of time: a slot is a numerator and a denominator.

use crate::distribution::{normal_quantile, t_factor};
use crate::estimate::Estimate;
use crate::moments::{Moments, autocorrelation};

/// So many batches are full when their size doubles and pairs of them merge into half as many.
pub const BATCHES_MOST: usize = 40;

/// Under so many batches there is no estimate.
pub const BATCHES_LEAST: usize = 3;

/// Correlations of batch means beyond this are treated as this: the interval is then already three times as wide, and
/// the batches are known to be too short.
const LAG_1_MOST: f64 = 0.8;

/// One slot, or the sum of many: a numerator (sum of latencies, operations) and a denominator (operations, seconds).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Slot {
    /// What is divided.
    pub numerator: f64,
    /// What it is divided by; not negative.
    pub denominator: f64,
}

impl Slot {
    /// A slot of a plain series: the value over one.
    pub fn of(value: f64) -> Slot {
        Slot { numerator: value, denominator: 1.0 }
    }

    /// Adds another slot to this one.
    pub fn add(&mut self, other: Slot) {
        let Slot { numerator, denominator } = other;
        self.numerator += numerator;
        self.denominator += denominator;
    }
}

/// Collects slots into at most [`BATCHES_MOST`] batches of equal length and tells the ratio of the sums with its error.
///
/// Batches hold one slot each until 40 are full; then neighbours merge, their length doubles, and so on: after that
/// there are always 20 to 39 full batches (Fishman & Yarberry 1997; the number must not stay fixed as the run grows:
/// Glynn & Whitt 1991).
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMeans {
    batches: [Slot; BATCHES_MOST],
    full: usize,
    /// Slots in a batch: a power of two.
    batch_slots: u64,
    open: Slot,
    open_slots: u64,
    slots: u64,
    /// Sums over single slots, for the error that independence would give.
    numerator_squares: f64,
    denominator_squares: f64,
    products: f64,
}

impl Default for BatchMeans {
    fn default() -> BatchMeans {
        BatchMeans::new()
    }
}

impl BatchMeans {
    /// Nothing seen yet.
    pub fn new() -> BatchMeans {
        BatchMeans {
            batches: [Slot::default(); BATCHES_MOST],
            full: 0,
            batch_slots: 1,
            open: Slot::default(),
            open_slots: 0,
            slots: 0,
            numerator_squares: 0.0,
            denominator_squares: 0.0,
            products: 0.0,
        }
    }

    /// Takes one more slot.
    pub fn push(&mut self, slot: Slot) {
        self.slots += 1;
        self.numerator_squares += slot.numerator * slot.numerator;
        self.denominator_squares += slot.denominator * slot.denominator;
        self.products += slot.numerator * slot.denominator;
        self.open.add(slot);
        self.open_slots += 1;
        if self.open_slots < self.batch_slots {
            return;
        }
        self.batches[self.full] = std::mem::take(&mut self.open);
        self.open_slots = 0;
        self.full += 1;
        if self.full == BATCHES_MOST {
            self.full = BATCHES_MOST / 2;
            self.batch_slots *= 2;
            for i in 0..self.full {
                let mut pair = self.batches[2 * i];
                pair.add(self.batches[2 * i + 1]);
                self.batches[i] = pair;
            }
        }
    }

    /// How many slots were seen.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// How many slots one batch holds.
    pub fn batch_slots(&self) -> u64 {
        self.batch_slots
    }

    /// The full batches, oldest first.
    pub fn batches(&self) -> &[Slot] {
        &self.batches[..self.full]
    }

    /// The ratio of all numerators to all denominators, the open batch included. `None` where the denominators sum to 0.
    pub fn mean(&self) -> Option<f64> {
        let sum = self.sum();
        (sum.denominator > 0.0).then(|| sum.numerator / sum.denominator)
    }

    fn sum(&self) -> Slot {
        let mut sum = self.open;
        self.batches().iter().for_each(|batch| sum.add(*batch));
        sum
    }

    /// The batches linearised round the mean R: `(N_b - R D_b) / mean(D_b)`.
    ///
    /// To first order a batch's share in the error of R (the delta method; Cochran 1977, *Sampling Techniques*, 6.3).
    /// Where the denominators are equal they are batch means less R.
    pub fn residuals(&self) -> Vec<f64> {
        let Some(mean) = self.mean() else { return Vec::new() };
        let length: f64 = self.batches().iter().map(|b| b.denominator).sum::<f64>() / self.full.max(1) as f64;
        if length <= 0.0 {
            return Vec::new();
        }
        self.batches().iter().map(|b| (b.numerator - mean * b.denominator) / length).collect()
    }

    /// The mean with its error at a confidence such as 0.95. `None` under [`BATCHES_LEAST`] batches.
    ///
    /// `half = t(confidence, B - 1) sqrt(s^2 / B * f)` with s^2 the variance of the B residuals and
    /// `f = (1 + r) / (1 - r)` for their lag-1 correlation r where it is positive: the factor by which an
    /// autoregressive series of first order understates (as in SBatch: Lada, Steiger & Wilson 2008).
    pub fn estimate(&self, confidence: f64) -> Option<Estimate> {
        let mean = self.mean()?;
        let residuals = self.residuals();
        if residuals.len() < BATCHES_LEAST {
            return None;
        }
        let moments: Moments = residuals.iter().copied().collect();
        let batches = residuals.len() as f64;
        let lag_1 = autocorrelation(&residuals, 1).unwrap_or(0.0);
        let variance_of_mean = moments.variance()? / batches * inflation(lag_1);
        let degrees_of_freedom = batches - 1.0;
        Some(Estimate {
            mean,
            half_width: t_factor(confidence, degrees_of_freedom) * variance_of_mean.sqrt(),
            confidence,
            batches: residuals.len(),
            degrees_of_freedom,
            lag_1,
            effective_n: self.effective_slots(mean, variance_of_mean),
        })
    }

    /// Variance of one slot's residual over the variance of the mean, at most the number of slots.
    fn effective_slots(&self, mean: f64, variance_of_mean: f64) -> f64 {
        let slots = self.slots as f64;
        let length = self.sum().denominator / slots;
        let squares =
            self.numerator_squares - 2.0 * mean * self.products + mean * mean * self.denominator_squares;
        if variance_of_mean <= 0.0 || squares <= 0.0 {
            return slots;
        }
        (squares / (slots - 1.0) / (length * length) / variance_of_mean).clamp(1.0, slots)
    }
}

/// So many slots are one batch where neighbours lean on each other negatively: an even number, for a burst in every other
/// slot is the usual case.
const LEANING_SLOTS: usize = 6;

/// The ratio of the sums of slots with its error.
///
/// Slots of one each as [`BatchMeans`] batches them; but where neighbours are correlated negatively, by more than chance
/// (`r < -2 / sqrt(n)`, Bartlett 1946), in batches of six: a throttle that lets a burst through and then waits makes slots
/// of 200, 0, 200, 0, whose spread says nothing of the mean's error, and whose pairs have none at all.
pub fn ratio_estimate(slots: &[Slot], confidence: f64) -> Option<Estimate> {
    let single: BatchMeans = slots.iter().copied().collect();
    let leans = slots.len() >= BATCHES_LEAST * LEANING_SLOTS
        && autocorrelation(&slot_residuals(slots), 1).is_some_and(|r| r < -2.0 / (slots.len() as f64).sqrt());
    match leans {
        true => slots.chunks(LEANING_SLOTS).map(sum_of).collect::<BatchMeans>().estimate(confidence),
        false => single.estimate(confidence),
    }
}

/// A rate, events over seconds, with its error and the grain of its bursts: where the window's edges fall in a burst of q
/// events is chance, so each edge adds a uniform error of deviation `q / sqrt 12` (Sheppard 1898), both together
/// `half^2 + (z q / (sqrt 6 T))^2`. q is the greatest slot less the least: even events have no bursts.
pub fn rate_estimate(slots: &[Slot], confidence: f64) -> Option<Estimate> {
    let estimate = ratio_estimate(slots, confidence)?;
    let seconds: f64 = slots.iter().map(|slot| slot.denominator).sum();
    let counts = || slots.iter().map(|slot| slot.numerator);
    let burst = counts().fold(0.0, f64::max) - counts().fold(f64::INFINITY, f64::min);
    // Of even events a slot has one more than another; such a grain is far below all that is shown.
    let burst = if burst <= 1.0 { 0.0 } else { burst };
    let grain = normal_quantile(1.0 - (1.0 - confidence) / 2.0) * burst / (6.0_f64.sqrt() * seconds);
    Some(Estimate { half_width: estimate.half_width.hypot(grain), ..estimate })
}

/// The sum of slots.
pub fn sum_of(slots: &[Slot]) -> Slot {
    slots.iter().fold(Slot::default(), |mut sum, slot| {
        sum.add(*slot);
        sum
    })
}

/// What each slot's numerator is off from the ratio of the sums.
pub fn slot_residuals(slots: &[Slot]) -> Vec<f64> {
    let sum = sum_of(slots);
    if sum.denominator <= 0.0 {
        return Vec::new();
    }
    let mean = sum.numerator / sum.denominator;
    slots.iter().map(|slot| slot.numerator - mean * slot.denominator).collect()
}

/// By how much the variance of the mean grows for a lag-1 correlation of the batch means.
fn inflation(lag_1: f64) -> f64 {
    let lag_1 = lag_1.clamp(0.0, LAG_1_MOST);
    (1.0 + lag_1) / (1.0 - lag_1)
}

impl FromIterator<Slot> for BatchMeans {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> BatchMeans {
        let mut batches = BatchMeans::new();
        slots.into_iter().for_each(|slot| batches.push(slot));
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn batches_double_when_forty_are_full() {
        let mut b: BatchMeans = (0..39).map(|i| Slot::of(f64::from(i))).collect();
        assert_eq!((b.batches().len(), b.batch_slots()), (39, 1));
        b.push(Slot::of(39.0));
        assert_eq!((b.batches().len(), b.batch_slots()), (20, 2));
        assert_eq!(b.batches()[0], Slot { numerator: 1.0, denominator: 2.0 });
        assert_eq!(b.batches()[19], Slot { numerator: 77.0, denominator: 2.0 });
        (40..80).for_each(|i| b.push(Slot::of(f64::from(i))));
        assert_eq!((b.batches().len(), b.batch_slots(), b.slots()), (20, 4, 80));
        assert_eq!(b.mean(), Some(39.5));
    }

    #[test]
    fn five_slots_give_the_textbook_interval_widened_by_their_correlation() {
        let b: BatchMeans = [5.0, 1.0, 4.0, 2.0, 3.0].map(Slot::of).into_iter().collect();
        let e = b.estimate(0.95).unwrap();
        // Lag 1 is negative here, so nothing is widened.
        assert!(e.lag_1 < 0.0);
        assert_eq!(e.mean, 3.0);
        assert!((e.half_width - 2.776_445 * 0.5_f64.sqrt()).abs() < 1e-5);
        assert!((e.effective_n - 5.0).abs() < 1e-9);

        let b: BatchMeans = [1.0, 2.0, 3.0, 4.0, 5.0].map(Slot::of).into_iter().collect();
        let e = b.estimate(0.95).unwrap();
        assert!((e.lag_1 - 0.4).abs() < 1e-12);
        assert!((e.half_width - 2.776_445 * (0.5_f64 * 1.4 / 0.6).sqrt()).abs() < 1e-5);
    }

    #[test]
    fn a_ratio_that_never_varies_has_no_error_whatever_the_denominators_do() {
        let b: BatchMeans =
            (1..=100).map(|i| Slot { numerator: f64::from(3 * i), denominator: f64::from(i) }).collect();
        let e = b.estimate(0.95).unwrap();
        assert_eq!((e.mean, e.half_width), (3.0, 0.0));
    }

    #[test]
    fn a_throttles_slots_have_an_interval_that_holds_the_limit() {
        let of = |counts: &[f64]| -> Estimate {
            let slots: Vec<Slot> = counts.iter().map(|c| Slot { numerator: *c, denominator: 0.05 }).collect();
            rate_estimate(&slots, 0.95).unwrap()
        };
        // 2000 a second in bursts of 200 each 100 ms, 59 slots of 50 ms: one burst too many.
        let bursts: Vec<f64> = (0..59).map(|i| if i % 2 == 0 { 200.0 } else { 0.0 }).collect();
        let estimate = of(&bursts);
        assert!(estimate.mean > 2030.0 && estimate.holds(2000.0), "{estimate:?}");
        assert!(estimate.relative() < 0.15, "{estimate:?}");
        // Negative neighbours in single slots: a third of the figure, were each slot a batch of its own.
        let single: BatchMeans =
            bursts[..30].iter().map(|c| Slot { numerator: *c, denominator: 0.05 }).collect();
        assert!(single.estimate(0.95).unwrap().relative() > 0.3);
        assert!(of(&bursts[..30]).relative() < 0.2, "{:?}", of(&bursts[..30]));
        assert_eq!(of(&[100.0; 60]).half_width, 0.0);
    }

    #[test]
    fn too_little_gives_no_estimate() {
        assert_eq!(BatchMeans::new().mean(), None);
        assert_eq!([1.0, 2.0].map(Slot::of).into_iter().collect::<BatchMeans>().estimate(0.95), None);
        let idle: BatchMeans = (0..50).map(|_| Slot::default()).collect();
        assert_eq!(idle.estimate(0.95), None);
    }

    proptest! {
        #[test]
        fn memory_and_mean_stay_right_at_any_length(values in prop::collection::vec(0.0..1e3_f64, 1..700)) {
            let b: BatchMeans = values.iter().copied().map(Slot::of).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            prop_assert!((b.mean().unwrap() - mean).abs() < 1e-9);
            prop_assert!(b.batches().len() < BATCHES_MOST);
            prop_assert!(values.len() < BATCHES_MOST || b.batches().len() >= BATCHES_MOST / 2);
            if let Some(e) = b.estimate(0.95) {
                prop_assert!(e.half_width >= 0.0 && e.effective_n <= values.len() as f64);
            }
        }
    }
}
