//! Quantiles of a binned distribution, and how far they can be trusted.
//!
//! Takes bins as pairs of upper edge and count, in rising order. Knows nothing of how the bins are laid out.

use serde::{Deserialize, Serialize};

use crate::distribution::{binomial_at_most, normal_quantile};
use crate::estimate::Estimate;

/// The upper edge of the bin that holds the p-quantile: the least edge with at least `ceil(p n)` counts at or under it
/// (the nearest-rank definition, Hyndman & Fan 1996, type 1). `p` is held to 0..=1. `None` where nothing was counted.
pub fn quantile<I>(bins: I, p: f64) -> Option<f64>
where
    I: IntoIterator<Item = (f64, u64)> + Clone,
{
    let total: u64 = bins.clone().into_iter().map(|(_, count)| count).sum();
    at_rank(bins, rank(p, total))
}

/// The rank 1..=n of the p-quantile of n values; 0 of none.
fn rank(p: f64, total: u64) -> u64 {
    // 0.9 * 10 is a little more than 9 in binary; a rank must not jump for that.
    let exact = p.clamp(0.0, 1.0) * total as f64;
    ((exact - exact * 1e-12).ceil() as u64).clamp(total.min(1), total)
}

fn at_rank(bins: impl IntoIterator<Item = (f64, u64)>, rank: u64) -> Option<f64> {
    let mut seen = 0;
    bins.into_iter().find_map(|(edge, count)| {
        seen += count;
        (count > 0 && rank > 0 && seen >= rank).then_some(edge)
    })
}

/// The share of counts in bins whose upper edge is over `limit`: "a third were over 8 ms". 0 of nothing.
pub fn share_over(bins: impl IntoIterator<Item = (f64, u64)>, limit: f64) -> f64 {
    let (mut over, mut total) = (0, 0);
    for (edge, count) in bins {
        total += count;
        over += if edge > limit { count } else { 0 };
    }
    if total == 0 { 0.0 } else { over as f64 / total as f64 }
}

/// Effective samples from the lag-1 correlation of single values: `n (1 - r) / (1 + r)`, right for an autoregressive
/// series of first order; a negative correlation counts as none (Bartlett 1946). Within 0..=n.
pub fn effective_n_from_lag_1(n: f64, lag_1: f64) -> f64 {
    let lag_1 = lag_1.clamp(0.0, 1.0);
    n * (1.0 - lag_1) / (1.0 + lag_1)
}

/// Effective samples from the error that batch means found: `variance / standard_error^2`, the number of independent
/// values of this variance that would have given this error. Within 1..=n; n where there is no error.
pub fn effective_n_from_variances(n: f64, variance: f64, estimate: &Estimate) -> f64 {
    let squared = estimate.standard_error().powi(2);
    if squared > 0.0 { (variance / squared).max(1.0).min(n) } else { n }
}

/// A quantile with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuantileEstimate {
    /// The quantile.
    pub value: f64,
    /// Lower end of the interval; never over the value. The least value where no rank is as sure.
    pub low: f64,
    /// Upper end of the interval; never under the value. `None` where no rank is as sure.
    pub high: Option<f64>,
    /// The share of such intervals that hold the truth; of order statistics at least this.
    pub confidence: f64,
}

/// The p-quantile with its interval by order statistics on `effective_n` samples.
///
/// The number of n independent values under the true quantile is binomial (n, p), so the interval runs between the
/// ranks that leave `(1 - confidence) / 2` to each side (David & Nagaraja 2003, *Order Statistics*, 7.1); as shares of n those
/// ranks are looked up in the bins. Exact to 1,000,000 effective samples, by the normal approximation beyond. `None` where nothing was
/// counted.
pub fn quantile_interval<I>(bins: I, p: f64, effective_n: f64, confidence: f64) -> Option<QuantileEstimate>
where
    I: IntoIterator<Item = (f64, u64)> + Clone,
{
    let value = quantile(bins.clone(), p)?;
    let total: u64 = bins.clone().into_iter().map(|(_, count)| count).sum();
    let n = effective_n.floor().min(total as f64);
    let (low, high) = rank_bounds(n as u64, p, confidence);
    let low = quantile(bins.clone(), low.map_or(0.0, |low| low as f64 / n))?.min(value);
    let high = high.and_then(|high| quantile(bins, high as f64 / n)).map(|high| high.max(value));
    Some(QuantileEstimate { value, low, high, confidence })
}

/// How many independent values would tell the p-quantile as well as correlated ones do: `p (1 - p) / se^2`, from the error
/// of the share of values over the quantile, which batch means of that share in slots tell (Heidelberger & Lewis 1984). The
/// t of few batches is in it: `(z / t)^2` (Korn & Graubard 1998). `estimate` is that share. Within 1..=n.
pub fn effective_n_of_quantile(n: f64, p: f64, share_over: &Estimate) -> f64 {
    if share_over.half_width <= 0.0 {
        return n;
    }
    let z = normal_quantile(1.0 - (1.0 - share_over.confidence) / 2.0);
    (p * (1.0 - p) * (z / share_over.half_width).powi(2)).max(1.0).min(n)
}

/// The ranks (from 1) between which the p-quantile of n independent values lies with at least this confidence: the
/// inmost whose tails are at most half of the rest each. `None` where n is too small for both to exist.
pub fn rank_interval(n: u64, p: f64, confidence: f64) -> Option<(u64, u64)> {
    let (low, high) = rank_bounds(n, p, confidence);
    low.zip(high)
}

/// The same, each rank where it exists.
fn rank_bounds(n: u64, p: f64, confidence: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 || !(p > 0.0 && p < 1.0) || !(confidence > 0.0 && confidence < 1.0) {
        return (None, None);
    }
    let tail = (1.0 - confidence) / 2.0;
    if n > 1_000_000 {
        let (centre, spread) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
        let reach = normal_quantile(1.0 - tail) * spread;
        let (low, high) = ((centre - reach).floor(), (centre + reach).ceil() + 1.0);
        return ((low >= 1.0).then_some(low as u64), (high <= n as f64).then_some(high as u64));
    }
    // low: the largest rank with P(fewer than low values lie under the quantile) <= tail.
    let low = first_over(n, |k| binomial_at_most(k, n, p) > tail);
    // high: the least rank with P(at least high values lie under it) <= tail.
    let high = first_over(n, |k| binomial_at_most(k, n, p) >= 1.0 - tail) + 1;
    ((low >= 1).then_some(low), (high <= n).then_some(high))
}

/// The least k in 0..=n for which `holds`, which is false and then true.
fn first_over(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The interval from the same quantile of each of several long batches: sectioning. The batches' quantiles are treated
/// as independent values (Asmussen & Glynn 2007, *Stochastic Simulation*, III.5). `None` under two batches.
pub fn quantile_by_batches(quantiles_of_batches: &[f64], confidence: f64) -> Option<Estimate> {
    Estimate::of_independent(quantiles_of_batches, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn to_hundred() -> Vec<(f64, u64)> {
        (1..=100).map(|i| (f64::from(i), 1)).collect()
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let bins = to_hundred();
        for (p, expected) in
            [(0.0, 1.0), (0.5, 50.0), (0.9, 90.0), (0.99, 99.0), (0.991, 100.0), (1.0, 100.0)]
        {
            assert_eq!(quantile(bins.iter().copied(), p), Some(expected), "p = {p}");
        }
        assert_eq!(quantile([(1.0, 0), (2.0, 5), (3.0, 0)], 0.0), Some(2.0));
        assert_eq!(quantile([(1.0, 0)], 0.5), None);
        assert_eq!(share_over(bins.iter().copied(), 80.0), 0.2);
    }

    #[test]
    fn ranks_of_the_median_are_those_of_the_printed_table() {
        // Two-sided 95 % intervals of the median; Conover, table A: n = 9 gives 2..8, n = 20 gives 6..15.
        assert_eq!(rank_interval(9, 0.5, 0.95), Some((2, 8)));
        assert_eq!(rank_interval(20, 0.5, 0.95), Some((6, 15)));
        assert_eq!(rank_interval(6, 0.5, 0.95), Some((1, 6)));
        assert_eq!(rank_interval(5, 0.5, 0.95), None);
        assert_eq!(rank_interval(100, 0.999, 0.95), None);
    }

    #[test]
    fn exact_and_approximate_ranks_meet() {
        let (low, high) = rank_interval(1_000_000, 0.99, 0.95).unwrap();
        let (low_after, high_after) = rank_interval(1_000_001, 0.99, 0.95).unwrap();
        assert!(low.abs_diff(low_after) <= 2 && high.abs_diff(high_after) <= 2);
    }

    #[test]
    fn the_interval_of_a_median_of_a_hundred() {
        let q = quantile_interval(to_hundred(), 0.5, 100.0, 0.95).unwrap();
        assert_eq!((q.low, q.value, q.high), (40.0, 50.0, Some(61.0)));
        let wider = quantile_interval(to_hundred(), 0.5, 25.0, 0.95).unwrap();
        assert!(wider.low < q.low && wider.high > q.high);
        // p99 of thirty values' worth has no upper end.
        let open = quantile_interval(to_hundred(), 0.99, 30.0, 0.95).unwrap();
        assert_eq!((open.value, open.high), (99.0, None));
    }

    #[test]
    fn a_quantile_is_worth_as_many_values_as_its_own_indicator_says() {
        let share = |half_width: f64| Estimate {
            mean: 0.01,
            half_width,
            confidence: 0.95,
            batches: 20,
            degrees_of_freedom: 19.0,
            lag_1: 0.0,
            effective_n: 20.0,
        };
        // Of 10,000 independent values the share over p99 has a standard error of 0.000995.
        let n = effective_n_of_quantile(1e6, 0.99, &share(1.959_964 * 0.000_995));
        assert!((n - 10_000.0).abs() < 10.0, "{n}");
        assert_eq!(effective_n_of_quantile(500.0, 0.99, &share(1e-9)), 500.0);
        assert_eq!(effective_n_of_quantile(500.0, 0.99, &share(0.0)), 500.0);
        assert_eq!(effective_n_of_quantile(500.0, 0.99, &share(10.0)), 1.0);
    }

    #[test]
    fn effective_n_of_known_correlations() {
        assert!((effective_n_from_lag_1(900.0, 0.8) - 100.0).abs() < 1e-9);
        assert_eq!(effective_n_from_lag_1(900.0, -0.5), 900.0);
        let e = Estimate::of_independent(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((effective_n_from_variances(5.0, 2.5, &e) - 5.0).abs() < 1e-9);
        assert!((effective_n_from_variances(5.0, 1.0, &e) - 2.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn quantiles_rise_with_p(counts in prop::collection::vec(0u64..50, 1..40), p in 0.0..1.0_f64, q in 0.0..1.0_f64) {
            let bins: Vec<(f64, u64)> = counts.iter().enumerate().map(|(i, c)| (i as f64, *c)).collect();
            let (low, high) = (p.min(q), p.max(q));
            prop_assert!(quantile(bins.clone(), low) <= quantile(bins, high));
        }
    }
}
