//! Moments of a stream of numbers, and the correlation of a series with itself.

use serde::{Deserialize, Serialize};

/// Count, mean and spread of the values seen so far, in O(1) memory; two can be merged.
///
/// Welford 1962 for one value; Chan, Golub & LeVeque 1979 ("Updating formulae and a pairwise algorithm for computing
/// sample variances") for the merge. Neither loses digits when the mean is large beside the spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared differences from the mean.
    squares: f64,
}

impl Moments {
    /// Nothing seen yet.
    pub fn new() -> Moments {
        Moments::default()
    }

    /// Takes one more value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Takes all that `other` has seen.
    pub fn merge(&mut self, other: Moments) {
        let Moments { count, mean, squares } = other;
        if count == 0 {
            return;
        }
        let (ours, theirs) = (self.count as f64, count as f64);
        let apart = mean - self.mean;
        self.count += count;
        self.mean += apart * theirs / (ours + theirs);
        self.squares += squares + apart * apart * ours * theirs / (ours + theirs);
    }

    /// How many values were seen.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 before the first.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their sample variance (divided by n - 1); `None` under two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count >= 2).then(|| self.squares / (self.count - 1) as f64)
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Moments {
        let mut moments = Moments::new();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

/// The autocorrelation of a series at a lag: the autocovariance divided by n over the variance divided by n (Box &
/// Jenkins 1970). It lies in -1..=1 and is biased towards `-1/n`. `None` where the series is not longer than the lag
/// plus one, or constant.
pub fn autocorrelation(series: &[f64], lag: usize) -> Option<f64> {
    if series.len() < lag + 2 {
        return None;
    }
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let squares: f64 = series.iter().map(|y| (y - mean).powi(2)).sum();
    // A constant series has rounding noise for a variance; it has no correlation.
    if squares <= series.len() as f64 * (mean * 1e-14).powi(2) {
        return None;
    }
    let products: f64 = series.iter().zip(&series[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
    Some(products / squares)
}

/// The variance that one value of the series contributes to a long mean, its correlation with its neighbours counted:
/// `s^2 (1 + r) / (1 - r)` for the lag-1 correlation r.
///
/// Exact for an autoregressive series of first order. r is corrected for its bias, `r + (1 + 4 r) / n` (Marriott &
/// Pope 1954), and held to 0..=0.95. `None` under two values.
pub fn long_run_variance(series: &[f64]) -> Option<f64> {
    let moments: Moments = series.iter().copied().collect();
    let variance = moments.variance()?;
    let correction = |r: f64| (r + (1.0 + 4.0 * r) / series.len() as f64).clamp(0.0, 0.95);
    let r = autocorrelation(series, 1).map_or(0.0, correction);
    Some(variance * (1.0 + r) / (1.0 - r))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_of_known_values() {
        let m: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!((m.count(), m.mean()), (8, 5.0));
        assert!((m.variance().unwrap() - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!(Moments::new().variance(), None);
    }

    #[test]
    fn a_large_offset_loses_no_digits() {
        let m: Moments = [4.0, 7.0, 13.0, 16.0].into_iter().map(|x| x + 1e9).collect();
        assert_eq!(m.variance(), Some(30.0));
    }

    #[test]
    fn autocorrelation_of_known_series() {
        // 1..=10: the textbook value of lag 1 is 0.7.
        let line: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((autocorrelation(&line, 1).unwrap() - 0.7).abs() < 1e-12);
        assert_eq!(autocorrelation(&line, 0), Some(1.0));
        assert_eq!(autocorrelation(&[0.1; 30], 1), None);
        assert_eq!(autocorrelation(&[1.0, 2.0], 1), None);
        let teeth: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert!((autocorrelation(&teeth, 1).unwrap() + 0.99).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn merging_is_the_same_as_pushing_all(
            a in prop::collection::vec(-1e6..1e6_f64, 0..50),
            b in prop::collection::vec(-1e6..1e6_f64, 0..50),
        ) {
            let mut merged: Moments = a.iter().copied().collect();
            merged.merge(b.iter().copied().collect());
            let whole: Moments = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert!((merged.mean() - whole.mean()).abs() < 1e-6);
            if let Some(variance) = whole.variance() {
                prop_assert!((merged.variance().unwrap() - variance).abs() <= 1e-9 * variance.max(1.0));
            }
        }
    }
}
