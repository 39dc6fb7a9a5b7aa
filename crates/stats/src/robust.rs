//! Medians: of values, of distances, and of paired ratios with an interval that assumes no distribution.

use serde::{Deserialize, Serialize};

use crate::distribution::binomial_at_most;

/// The median; the mean of the two middle values where their number is even. `None` of nothing or where a value is NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 })
}

/// The median distance from the median (Hampel 1974), not scaled: times 1.4826 it estimates the standard deviation of
/// normal values.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances)
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Median {
    /// The median.
    pub median: f64,
    /// Lower end of the interval: one of the values.
    pub low: f64,
    /// Upper end of the interval: one of the values.
    pub high: f64,
    /// The exact confidence of the interval; at least the one asked for unless there were too few values for it.
    pub confidence: f64,
}

/// The median of paired ratios (ours over theirs, measured next to each other) with its interval by order statistics.
///
/// The k-th least and k-th greatest of n values hold the median with confidence `1 - 2 P(Binomial(n, 1/2) < k)`, of any
/// distribution (Conover 1999, 3.2). The largest k is taken that reaches `confidence`: nine pairs give the 2nd to the
/// 8th at 96.1 %. Where even the extremes do not reach it, they are the interval, at their own confidence. `None` of nothing or NaN.
pub fn paired_median(ratios: &[f64], confidence: f64) -> Option<Median> {
    let sorted = sorted(ratios)?;
    let n = sorted.len() as u64;
    let confidence_of = |k: u64| 1.0 - 2.0 * binomial_at_most(k - 1, n, 0.5);
    let k = (1..=n.div_ceil(2)).rev().find(|k| confidence_of(*k) >= confidence).unwrap_or(1);
    Some(Median {
        median: median(ratios)?,
        low: sorted[k as usize - 1],
        high: sorted[(n - k) as usize],
        confidence: confidence_of(k).max(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_known_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(median_absolute_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
    }

    #[test]
    fn nine_pairs_give_the_second_to_the_eighth_at_96_percent() {
        let ratios = [1.9, 1.1, 1.8, 1.2, 1.7, 1.3, 1.6, 1.4, 1.5];
        let m = paired_median(&ratios, 0.95).unwrap();
        assert_eq!((m.median, m.low, m.high), (1.5, 1.2, 1.8));
        assert!((m.confidence - (1.0 - 20.0 / 512.0)).abs() < 1e-12);
    }

    #[test]
    fn too_few_pairs_say_their_own_confidence() {
        let m = paired_median(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!((m.low, m.high), (1.0, 3.0));
        assert!((m.confidence - 0.75).abs() < 1e-11);
        assert!(paired_median(&[1.0], 0.95).unwrap().confidence < 1e-11);
    }
}
