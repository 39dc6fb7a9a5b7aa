//! Is it steady? Three verdicts: SNIA's, fio's, and fathom's own.
//!
//! The first two are shown because their names are familiar; both look at few points and have no error. The third is a
//! pair of tests on batch means, and tells how fast the level moves.

use serde::{Deserialize, Serialize};

use crate::batch::{BATCHES_MOST, BatchMeans, Slot};
use crate::compare::{Measured, compare};
use crate::distribution::normal_two_sided;
use crate::moments::{autocorrelation, long_run_variance};
use crate::robust::median;

/// Rounds in the window of the PTS.
pub const PTS_ROUNDS: usize = 5;

/// The steady-state verdict of the SNIA Performance Test Specification 2.0.2 (2.1.24) over the last five rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PtsVerdict {
    /// Greatest less least value, in per cent of the mean; must be under 20.
    pub range_percent: f64,
    /// What the least-squares line rises or falls from the first to the last round, in per cent of the mean; under 10.
    pub slope_percent: f64,
    /// Whether both hold.
    pub steady: bool,
}

/// Judges the last five of these rounds. `None` under five rounds, or where their mean is not positive.
pub fn pts_steady_state(rounds: &[f64]) -> Option<PtsVerdict> {
    let window = &rounds[rounds.len().checked_sub(PTS_ROUNDS)?..];
    let line = Line::through(window).filter(|line| line.mean > 0.0)?;
    let (least, most) = extremes(window);
    let range_percent = 100.0 * (most - least) / line.mean;
    let slope_percent = 100.0 * line.slope.abs() * (PTS_ROUNDS - 1) as f64 / line.mean;
    Some(PtsVerdict { range_percent, slope_percent, steady: range_percent < 20.0 && slope_percent < 10.0 })
}

/// The two values that fio's `steadystate` option holds against its limit, over one window of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FioSteadyState {
    /// `iops`, `bw`: the greatest distance of an interval from the mean, in per cent of the mean.
    pub deviation_percent: f64,
    /// `iops_slope`, `bw_slope`: the least-squares slope per interval, in per cent of the mean.
    pub slope_percent: f64,
}

/// Computes them (fio's manual, "Steady state"). `None` under two intervals or where the mean is not positive.
pub fn fio_steady_state(window: &[f64]) -> Option<FioSteadyState> {
    let line = Line::through(window).filter(|line| line.mean > 0.0)?;
    let (least, most) = extremes(window);
    Some(FioSteadyState {
        deviation_percent: 100.0 * (most - line.mean).max(line.mean - least) / line.mean,
        slope_percent: 100.0 * line.slope / line.mean,
    })
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), y| (least.min(*y), most.max(*y)))
}

/// The least-squares line through equally spaced values.
struct Line {
    mean: f64,
    slope: f64,
}

impl Line {
    fn through(values: &[f64]) -> Option<Line> {
        if values.len() < 2 {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let middle = (n - 1.0) / 2.0;
        let products: f64 = values.iter().enumerate().map(|(i, y)| (i as f64 - middle) * (y - mean)).sum();
        Some(Line { mean, slope: products / (n * (n * n - 1.0) / 12.0) })
    }
}

/// A drift is called one only when it is this unlikely by chance.
pub const DRIFT_SIGNIFICANCE: f64 = 0.01;

/// ... and when it moves the level by this share of the mean within the series.
pub const DRIFT_LEAST: f64 = 0.02;

/// fathom's own verdict.
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
    /// Under 20 slots, or a mean of zero.
    NotEnough,
}

/// Judges a series of slots, the warm-up cut off; `slot_seconds` is the length of one.
///
/// On its 20 to 39 batch means: the Mann-Kendall test for trend (Mann 1945; Kendall 1975), its variance widened for
/// the lag-1 correlation of what is left beside the trend (Yue & Wang 2004), and a Welch comparison of the two halves,
/// which finds a step. It drifts where the smaller of both p-values, doubled (Bonferroni), is at most
/// [`DRIFT_SIGNIFICANCE`] and Sen's slope (1968), or the difference of the halves, comes to [`DRIFT_LEAST`] of the mean.
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
        return Steadiness::Steady;
    }
    // Of a step Sen's slope may be zero; then the halves' difference over the distance of their middles is the speed.
    let per_batch = if slope == 0.0 { step / (means.len() as f64 / 2.0) } else { slope };
    Steadiness::Drifting { percent_per_minute: 100.0 * per_batch / level / minutes, p_value }
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
    fn pts_looks_at_the_last_five_rounds_only() {
        let v = pts_steady_state(&[900.0, 500.0, 100.0, 102.0, 98.0, 101.0, 99.0]).unwrap();
        assert!((v.range_percent - 4.0).abs() < 1e-12);
        assert!((v.slope_percent - 1.2).abs() < 1e-12, "{}", v.slope_percent);
        assert!(v.steady);
        assert_eq!(pts_steady_state(&[1.0; 4]), None);
        assert_eq!(pts_steady_state(&[0.0; 5]), None);
    }

    #[test]
    fn pts_limits_are_not_met_at_exactly_twenty_and_ten_percent() {
        // Range 20 % and no slope; then a line that rises 10 % and has a range of 10 %.
        let v = pts_steady_state(&[100.0, 90.0, 100.0, 110.0, 100.0]).unwrap();
        assert!((v.range_percent - 20.0).abs() < 1e-12 && !v.steady);
        let v = pts_steady_state(&[95.0, 97.5, 100.0, 102.5, 105.0]).unwrap();
        assert!((v.slope_percent - 10.0).abs() < 1e-12 && !v.steady);
    }

    #[test]
    fn fio_values_of_a_line() {
        let v = fio_steady_state(&[90.0, 95.0, 100.0, 105.0, 110.0]).unwrap();
        assert!((v.deviation_percent - 10.0).abs() < 1e-12 && (v.slope_percent - 5.0).abs() < 1e-12);
        assert_eq!(fio_steady_state(&[1.0]), None);
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
