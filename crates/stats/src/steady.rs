//! Is it steady? A pair of tests on batch means, which also tell how fast the level moves.

use serde::{Deserialize, Serialize};

use crate::batch::{BATCHES_MOST, BatchMeans, Slot};
use crate::change::{ChangePoint, change_point};
use crate::compare::{Measured, compare};
use crate::distribution::normal_two_sided;
use crate::median::median;
use crate::moments::{autocorrelation, long_run_variance};

/// A drift is called one only when it is this unlikely by chance.
pub const DRIFT_SIGNIFICANCE: f64 = 0.01;

/// A step is called one only when it is this unlikely by chance. With 60 slots 0.3 % of independent series, and some
/// per cent of correlated ones, come under 0.01.
pub const STEP_SIGNIFICANCE: f64 = 0.002;

/// ... and when it moves the level by this share of the mean within the series.
pub const DRIFT_LEAST: f64 = 0.02;

/// Whether the level of a series moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Steadiness {
    /// No drift larger than noise.
    Steady,
    /// The level moves.
    Drifting {
        /// How fast, in per cent of the mean a minute; negative where it falls.
        percent_per_minute: f64,
        /// Chance of this in a steady series.
        p_value: f64,
    },
    /// It jumped once.
    Stepped {
        /// Index of the first slot of the new level.
        index: usize,
        /// The new level less the old one, in per cent of the mean.
        percent: f64,
        /// Chance of this in a steady series.
        p_value: f64,
    },
    /// Under 20 slots, or a mean of zero.
    NotEnough,
}

/// Judges a series of slots, the warm-up cut off; `slot_seconds` is the length of one.
///
/// On its 20 to 39 batch means: the Mann-Kendall test for trend (Mann 1945; Kendall 1975), its variance widened for
/// the lag-1 correlation of what is left beside the trend (Yue & Wang 2004), and a Welch comparison of the two halves,
/// which finds a step. It drifts where the smaller of both p-values, doubled (Bonferroni), is at most
/// [`DRIFT_SIGNIFICANCE`] and Sen's slope (1968), or the difference of the halves, comes to [`DRIFT_LEAST`] of the mean.
///
/// Both take a step away from the half, and a bend, for correlation. So a series that has no drift is given to cumulative
/// sums ([`change_point`]), at [`STEP_SIGNIFICANCE`].
pub fn steadiness(slots: &[f64], slot_seconds: f64) -> Steadiness {
    let batches: BatchMeans = slots.iter().copied().map(Slot::of).collect();
    let means: Vec<f64> = batches.batches().iter().map(|b| b.numerator / b.denominator).collect();
    if means.len() < BATCHES_MOST / 2 {
        return Steadiness::NotEnough;
    }
    let level = (means.iter().sum::<f64>() / means.len() as f64).abs();
    let minutes = batches.batch_slots() as f64 * slot_seconds / 60.0;
    if level == 0.0 || minutes.is_nan() || minutes <= 0.0 {
        return Steadiness::NotEnough;
    }
    let slope = sens_slope(&means);
    let (step, step_p) = halves(&means);
    let moved = (slope * (means.len() - 1) as f64).abs().max(step.abs());
    let p_value = (2.0 * mann_kendall(&means, slope).min(step_p)).min(1.0);
    if p_value > DRIFT_SIGNIFICANCE || moved < DRIFT_LEAST * level {
        return stepped(slots, level);
    }
    // Of a step Sen's slope may be zero; then the halves' difference over the distance of their middles is the speed.
    let per_batch = if slope == 0.0 { step / (means.len() as f64 / 2.0) } else { slope };
    Steadiness::Drifting { percent_per_minute: 100.0 * per_batch / level / minutes, p_value }
}

/// Is there one step, somewhere?
fn stepped(slots: &[f64], level: f64) -> Steadiness {
    let change = change_point(slots, 1, STEP_SIGNIFICANCE);
    match change.filter(|change| (change.after - change.before).abs() >= DRIFT_LEAST * level) {
        Some(ChangePoint { index, before, after, p_value }) => {
            Steadiness::Stepped { index, percent: 100.0 * (after - before) / level, p_value }
        }
        None => Steadiness::Steady,
    }
}

/// The median of the slopes between all pairs.
fn sens_slope(values: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (i, a) in values.iter().enumerate() {
        slopes.extend(values[i + 1..].iter().enumerate().map(|(j, b)| (b - a) / (j + 1) as f64));
    }
    median(&slopes).unwrap_or(0.0)
}

/// The two-sided p-value of the trend, ties left in the variance (which makes it cautious).
fn mann_kendall(values: &[f64], slope: f64) -> f64 {
    let mut score = 0.0;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            score += if b > a {
                1.0
            } else if b < a {
                -1.0
            } else {
                0.0
            };
        }
    }
    let n = values.len() as f64;
    let residuals: Vec<f64> = values.iter().enumerate().map(|(i, y)| y - slope * i as f64).collect();
    let r = autocorrelation(&residuals, 1).map_or(0.0, |r| (r + (1.0 + 4.0 * r) / n).clamp(0.0, 0.95));
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * (1.0 + r) / (1.0 - r);
    // One less for continuity.
    normal_two_sided((f64::abs(score) - 1.0).max(0.0) / variance.sqrt())
}

/// Second half less first half, and the p-value of that.
fn halves(values: &[f64]) -> (f64, f64) {
    let measured = |half: &[f64]| Measured {
        mean: half.iter().sum::<f64>() / half.len() as f64,
        variance: long_run_variance(half).unwrap_or(0.0) / half.len() as f64,
        degrees_of_freedom: (half.len() - 1) as f64,
    };
    let (first, second) = values.split_at(values.len() / 2);
    let comparison = compare(&measured(second), &measured(first), 0.95);
    (comparison.difference, comparison.p_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f64 {
        [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1][i % 7]
    }

    #[test]
    fn a_ramp_drifts_at_its_speed() {
        // 100 ms slots; from 100 to 90 in a minute.
        let series: Vec<f64> = (0..600).map(|i| 100.0 - i as f64 / 60.0 + noise(i)).collect();
        let Steadiness::Drifting { percent_per_minute, p_value } = steadiness(&series, 0.1) else {
            panic!("not seen")
        };
        assert!((percent_per_minute + 10.0 / 0.95).abs() < 0.2, "{percent_per_minute}");
        assert!(p_value < 1e-6);
    }

    #[test]
    fn a_step_drifts_and_a_harmless_trend_does_not() {
        let step: Vec<f64> = (0..600).map(|i| if i < 300 { 100.0 } else { 80.0 } + noise(i)).collect();
        assert!(
            matches!(steadiness(&step, 0.1), Steadiness::Drifting { percent_per_minute, .. } if percent_per_minute < 0.0)
        );
        let harmless: Vec<f64> = (0..600).map(|i| 100.0 + i as f64 / 600.0 + noise(i)).collect();
        assert_eq!(steadiness(&harmless, 0.1), Steadiness::Steady);
    }

    /// Regression: the throttle went from 3000 to 2000 reads a second at 70 % of a run, and the run passed as steady. The lag-1
    /// correlation of what a straight line leaves is the step itself, and widened the variance 39 times.
    #[test]
    fn a_step_away_from_the_half_and_a_bend_are_seen() {
        let step = |at: usize, after: f64| -> Vec<f64> {
            (0..60).map(|i| if i < at { 3000.0 } else { after } + 100.0 * noise(i)).collect()
        };
        for (at, after) in [(42, 2000.0), (51, 1500.0), (36, 2100.0)] {
            let Steadiness::Stepped { index, percent, p_value } = steadiness(&step(at, after), 0.05) else {
                panic!("{at}: {:?}", steadiness(&step(at, after), 0.05))
            };
            assert!(index.abs_diff(at) <= 1 && percent < -25.0 && p_value < 0.002, "{at} {index} {percent}");
        }
        let decay: Vec<f64> = (0..60)
            .map(|i| 2000.0 + 1000.0 * (-f64::from(i) / 15.0).exp() + 100.0 * noise(i as usize))
            .collect();
        assert!(!matches!(steadiness(&decay, 0.05), Steadiness::Steady));
    }

    #[test]
    fn noise_and_constants_are_steady_and_too_little_is_not_enough() {
        assert_eq!(
            steadiness(&(0..600).map(|i| 9.0 + noise(i)).collect::<Vec<_>>(), 0.05),
            Steadiness::Steady
        );
        assert_eq!(steadiness(&[4.2; 100], 0.05), Steadiness::Steady);
        assert_eq!(steadiness(&[4.2; 19], 0.05), Steadiness::NotEnough);
        assert_eq!(steadiness(&[0.0; 100], 0.05), Steadiness::NotEnough);
    }
}
