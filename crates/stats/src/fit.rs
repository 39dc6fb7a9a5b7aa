//! Does a sample look like the distribution it is said to come from? Used to test generators and arrival processes.

use crate::distribution::{chi_square_tail, kolmogorov_tail};

/// A test statistic and the chance of one at least as bad when the sample is what it is said to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The statistic: the largest distance (Kolmogorov-Smirnov) or the sum of squares (chi-square).
    pub statistic: f64,
    /// The p-value.
    pub p_value: f64,
}

/// Kolmogorov-Smirnov: the largest distance between the sample and a distribution function given as `cumulative`.
///
/// The p-value is Kolmogorov's limit with Stephens' (1970) correction for small n; good to about two digits from n = 5.
/// It holds only where the distribution was not fitted to the same sample. `None` of nothing or NaN.
pub fn kolmogorov_smirnov(sample: &[f64], cumulative: impl Fn(f64) -> f64) -> Option<Fit> {
    if sample.is_empty() || sample.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let statistic = sorted.iter().enumerate().fold(0.0_f64, |far, (i, x)| {
        let expected = cumulative(*x);
        far.max((i + 1) as f64 / n - expected).max(expected - i as f64 / n)
    });
    let root = n.sqrt();
    Some(Fit { statistic, p_value: kolmogorov_tail((root + 0.12 + 0.11 / root) * statistic) })
}

/// Kolmogorov-Smirnov against the exponential distribution of this mean: are these the gaps of a Poisson process?
pub fn ks_exponential(sample: &[f64], mean: f64) -> Option<Fit> {
    kolmogorov_smirnov(sample, |x| if x <= 0.0 { 0.0 } else { -(-x / mean).exp_m1() })
}

/// Pearson's chi-square (1900): do the counts follow the expected ones? `fitted` parameters cost a degree of freedom each.
///
/// Each expected count should be at least 5. `None` where lengths differ, no degree of freedom is left, or an expected
/// count is not positive.
pub fn chi_square(observed: &[u64], expected: &[f64], fitted: usize) -> Option<Fit> {
    let degrees_of_freedom = observed.len().checked_sub(1 + fitted).filter(|df| *df > 0)?;
    if observed.len() != expected.len() || expected.iter().any(|e| e.is_nan() || *e <= 0.0) {
        return None;
    }
    let statistic = observed.iter().zip(expected).map(|(o, e)| (*o as f64 - e).powi(2) / e).sum();
    Some(Fit { statistic, p_value: chi_square_tail(statistic, degrees_of_freedom as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mendels_peas() {
        let peas = [315, 101, 108, 32];
        let fit = chi_square(&peas, &[312.75, 104.25, 104.25, 34.75], 0).unwrap();
        assert!((fit.statistic - 0.470).abs() < 1e-3);
        assert!((fit.p_value - 0.9254).abs() < 1e-3);
        assert_eq!(chi_square(&peas, &[1.0; 4], 3), None);
        assert_eq!(chi_square(&peas, &[1.0; 3], 0), None);
    }

    #[test]
    fn the_tail_of_kolmogorov_is_that_of_the_printed_table() {
        for (x, p) in [(1.224, 0.10), (1.358, 0.05), (1.628, 0.01), (0.828, 0.50)] {
            assert!((kolmogorov_tail(x) - p).abs() < 1e-3, "{x}");
        }
        assert!((kolmogorov_tail(0.2000001) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn exponential_quantiles_fit_and_a_constant_does_not() {
        let gaps: Vec<f64> = (0..500).map(|i| -2.0 * (1.0 - (f64::from(i) + 0.5) / 500.0).ln()).collect();
        let fit = ks_exponential(&gaps, 2.0).unwrap();
        assert!((fit.statistic - 0.001).abs() < 1e-9 && fit.p_value > 0.999);
        assert!(ks_exponential(&gaps, 3.0).unwrap().p_value < 1e-6);
        assert!(ks_exponential(&[2.0; 50], 2.0).unwrap().p_value < 1e-6);
        assert_eq!(ks_exponential(&[], 1.0), None);
    }
}
