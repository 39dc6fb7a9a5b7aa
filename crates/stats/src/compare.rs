//! Is the difference of two results larger than their noise?

use serde::{Deserialize, Serialize};

use crate::distribution::{t_factor, t_two_sided};
use crate::estimate::Estimate;

/// A mean with the variance of that mean: what a comparison needs to know of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    pub mean: f64,
    /// The variance of the mean: its standard error squared.
    pub variance: f64,
    /// The degrees of freedom of that variance.
    pub degrees_of_freedom: f64,
}

impl From<&Estimate> for Measured {
    fn from(estimate: &Estimate) -> Measured {
        Measured {
            mean: estimate.mean,
            variance: estimate.standard_error().powi(2),
            degrees_of_freedom: estimate.degrees_of_freedom,
        }
    }
}

/// Two results side by side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// `a - b`.
    pub difference: f64,
    /// Half the length of the interval of the difference.
    pub half_width: f64,
    /// `a / b`; NaN or infinite where b is 0.
    pub ratio: f64,
    /// Lower end of the interval of the ratio; minus infinity where b cannot be told from 0.
    pub ratio_low: f64,
    /// Upper end of the interval of the ratio; infinity where b cannot be told from 0.
    pub ratio_high: f64,
    /// Degrees of freedom of the difference (Welch-Satterthwaite).
    pub degrees_of_freedom: f64,
    /// Chance of a difference at least this large between equals.
    pub p_value: f64,
    /// Whether the interval of the difference leaves out 0: "the difference is larger than noise".
    pub larger_than_noise: bool,
}

/// Compares `a` with `b` by Welch's t test on the means (Welch 1947), at a confidence such as 0.95.
///
/// The interval of the ratio is Fieller's (1954) for independent means with the same t: the r for which `a - r b` cannot be told from 0.
pub fn compare(a: &Measured, b: &Measured, confidence: f64) -> Comparison {
    let difference = a.mean - b.mean;
    let variance = a.variance + b.variance;
    let degrees_of_freedom = satterthwaite(a, b);
    let t = t_factor(confidence, degrees_of_freedom);
    let half_width = if variance > 0.0 { t * variance.sqrt() } else { 0.0 };
    let p_value = match (variance > 0.0, difference == 0.0) {
        (true, _) => t_two_sided(difference / variance.sqrt(), degrees_of_freedom),
        (false, true) => 1.0,
        (false, false) => 0.0,
    };
    let (ratio_low, ratio_high) = fieller(a, b, t);
    Comparison {
        difference,
        half_width,
        ratio: a.mean / b.mean,
        ratio_low,
        ratio_high,
        degrees_of_freedom,
        p_value,
        larger_than_noise: difference.abs() > half_width,
    }
}

fn satterthwaite(a: &Measured, b: &Measured) -> f64 {
    let parts = a.variance.powi(2) / a.degrees_of_freedom + b.variance.powi(2) / b.degrees_of_freedom;
    if parts > 0.0 {
        (a.variance + b.variance).powi(2) / parts
    } else {
        a.degrees_of_freedom + b.degrees_of_freedom
    }
}

fn fieller(a: &Measured, b: &Measured, t: f64) -> (f64, f64) {
    // NaN-safe: without any error t may be anything, and the interval is the ratio itself.
    let (error_a, error_b) =
        if a.variance + b.variance > 0.0 { (t * t * a.variance, t * t * b.variance) } else { (0.0, 0.0) };
    let square = b.mean * b.mean - error_b;
    if square.is_nan() || square <= 0.0 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let root = (a.mean * a.mean * error_b + b.mean * b.mean * error_a - error_a * error_b).max(0.0).sqrt();
    ((a.mean * b.mean - root) / square, (a.mean * b.mean + root) / square)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Measured {
        Measured::from(&Estimate::of_independent(values, 0.95).unwrap())
    }

    /// The first example of the encyclopedia's article on Welch's test.
    #[test]
    fn the_textbook_example_of_welch() {
        let a =
            of(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]);
        let b =
            of(&[27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]);
        let c = compare(&a, &b, 0.95);
        let t = c.difference / (a.variance + b.variance).sqrt();
        assert!((t + 2.46).abs() < 0.01, "t = {t}");
        assert!((c.degrees_of_freedom - 24.9).abs() < 0.1, "df = {}", c.degrees_of_freedom);
        assert!((c.p_value - 0.021).abs() < 1e-3, "p = {}", c.p_value);
        assert!(c.larger_than_noise && c.ratio_high < 1.0 && c.ratio_low < c.ratio);
    }

    #[test]
    fn equal_results_do_not_differ() {
        let a = of(&[1.0, 2.0, 3.0]);
        let c = compare(&a, &a, 0.95);
        assert!(!c.larger_than_noise && (c.p_value - 1.0).abs() < 1e-9);
        assert!(c.ratio_low < 1.0 && c.ratio_high > 1.0);
    }

    #[test]
    fn results_without_error_differ_by_what_they_differ() {
        let exact = |mean| Measured { mean, variance: 0.0, degrees_of_freedom: 5.0 };
        let c = compare(&exact(3.0), &exact(2.0), 0.95);
        assert_eq!((c.ratio_low, c.ratio, c.ratio_high), (1.5, 1.5, 1.5));
        assert_eq!((c.p_value, c.larger_than_noise), (0.0, true));
        assert!(!compare(&exact(2.0), &exact(2.0), 0.95).larger_than_noise);
    }

    #[test]
    fn a_ratio_to_nothing_has_no_ends() {
        let c = compare(&of(&[5.0, 6.0, 7.0]), &of(&[-1.0, 0.0, 1.0]), 0.95);
        assert_eq!((c.ratio_low, c.ratio_high), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
