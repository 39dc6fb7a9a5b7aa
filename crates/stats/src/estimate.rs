//! A mean and how far it can be trusted, always together.

use serde::{Deserialize, Serialize};

use crate::distribution::t_factor;
use crate::moments::{Moments, autocorrelation};

/// A mean with its error. A number never travels without it.
///
/// The interval `mean +- half_width` holds the true mean with the stated confidence. It is symmetric and made from a
/// Student t with `degrees_of_freedom`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimated mean, in the unit of the numerator over that of the denominator.
    pub mean: f64,
    /// Half the length of the interval, in the unit of the mean.
    pub half_width: f64,
    /// The share of such intervals that hold the truth: 0.95 by custom.
    pub confidence: f64,
    /// How many batch means the error was made from.
    pub batches: usize,
    /// What the Student t was taken at.
    pub degrees_of_freedom: f64,
    /// Correlation of neighbouring batch means. Near zero when batches are long enough; 0 where it cannot be told.
    pub lag_1: f64,
    /// How many independent slots would have given the same error: never more than the slots there were.
    pub effective_n: f64,
}

impl Estimate {
    /// The estimate from values that are independent already, such as the means of whole runs. `None` under two values.
    ///
    /// `mean +- t(n-1) s / sqrt(n)`: Student 1908; any textbook.
    pub fn of_independent(values: &[f64], confidence: f64) -> Option<Estimate> {
        let moments: Moments = values.iter().copied().collect();
        let variance = moments.variance()?;
        let degrees_of_freedom = (values.len() - 1) as f64;
        Some(Estimate {
            mean: moments.mean(),
            half_width: t_factor(confidence, degrees_of_freedom) * (variance / values.len() as f64).sqrt(),
            confidence,
            batches: values.len(),
            degrees_of_freedom,
            lag_1: autocorrelation(values, 1).unwrap_or(0.0),
            effective_n: values.len() as f64,
        })
    }

    /// Half width over mean: 0.05 is "+-5 %". Infinite where the mean is zero and the half width is not; 0 where both are.
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 { 0.0 } else { self.half_width / self.mean.abs() }
    }

    /// The lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether the interval holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        (self.low()..=self.high()).contains(&value)
    }

    /// The standard error of the mean, recovered from the interval.
    pub fn standard_error(&self) -> f64 {
        if self.half_width == 0.0 {
            return 0.0;
        }
        self.half_width / t_factor(self.confidence, self.degrees_of_freedom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_values_give_the_textbook_interval() {
        let e = Estimate::of_independent(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!(e.mean, 3.0);
        assert!((e.half_width - 2.776_445 * (0.5_f64).sqrt()).abs() < 1e-5);
        assert!((e.standard_error() - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!(e.holds(4.9) && !e.holds(5.0));
        assert_eq!(Estimate::of_independent(&[1.0], 0.95), None);
    }

    #[test]
    fn a_constant_has_no_error_even_at_zero() {
        let e = Estimate::of_independent(&[0.0, 0.0, 0.0], 0.95).unwrap();
        assert_eq!((e.half_width, e.relative(), e.standard_error()), (0.0, 0.0, 0.0));
    }
}
