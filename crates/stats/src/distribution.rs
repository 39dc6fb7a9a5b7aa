//! Quantiles and tail probabilities of the named distributions, the only place that calls the library for them.
//!
//! Knows nothing of estimates or samples. Every function is total: an argument outside its domain gives NaN, or the
//! nearest limit where the docs say so, and never a panic.

use statrs::distribution::Binomial;
use statrs::distribution::{ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The quantile of Student's t distribution: the x with `P(T <= x) = p` at `degrees_of_freedom`.
///
/// NaN where `p` is outside `0 < p < 1` or the degrees of freedom are not positive.
pub fn t_quantile(p: f64, degrees_of_freedom: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) || degrees_of_freedom.is_nan() {
        return f64::NAN;
    }
    if degrees_of_freedom > 1e7 {
        return normal_quantile(p);
    }
    StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// How many standard errors a two-sided interval of this confidence (0.95, say) reaches to each side.
pub fn t_factor(confidence: f64, degrees_of_freedom: f64) -> f64 {
    t_quantile(0.5 + confidence / 2.0, degrees_of_freedom)
}

/// The probability that |T| is at least `t` when the truth is zero: the two-sided p-value of a t statistic.
pub fn t_two_sided(t: f64, degrees_of_freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::NAN, |d| 2.0 * d.cdf(-t.abs()))
}

/// The quantile of the standard normal distribution. NaN where `p` is outside `0 < p < 1`.
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return f64::NAN;
    }
    Normal::new(0.0, 1.0).map_or(f64::NAN, |n| n.inverse_cdf(p))
}

/// The probability that |Z| is at least `z` for a standard normal Z: the two-sided p-value of a z statistic.
pub fn normal_two_sided(z: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |n| 2.0 * n.cdf(-z.abs()))
}

/// The probability of at most `k` successes in `n` trials of chance `p`. NaN where `p` is not a probability.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    Binomial::new(p, n).map_or(f64::NAN, |b| b.cdf(k))
}

/// The chance that a Brownian bridge strays at least `x` from zero: the limit of the Kolmogorov-Smirnov statistic.
///
/// `2 sum (-1)^(j-1) exp(-2 j^2 x^2)`: Kolmogorov 1933. Under 0.2 it is 1 to twelve digits and the sum converges slowly.
pub fn kolmogorov_tail(x: f64) -> f64 {
    if x < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..=100)
        .map(|j| {
            let term = (-2.0 * f64::from(j * j) * x * x).exp();
            if j % 2 == 1 { term } else { -term }
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_are_those_of_the_printed_table() {
        let table = [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 4.0, 2.776),
            (0.975, 10.0, 2.228),
            (0.975, 19.0, 2.093),
            (0.975, 39.0, 2.023),
            (0.975, 120.0, 1.980),
            (0.95, 9.0, 1.833),
            (0.995, 29.0, 2.756),
            (0.90, 5.0, 1.476),
        ];
        for (p, df, expected) in table {
            let t = t_quantile(p, df);
            assert!((t - expected).abs() < 6e-4, "t({p}, {df}) = {t}, table {expected}");
            assert!((t_quantile(1.0 - p, df) + t).abs() < 1e-6);
        }
        assert!((t_quantile(0.975, 1e9) - 1.959_964).abs() < 1e-5);
        assert!(t_quantile(1.0, 3.0).is_nan());
        assert!(t_quantile(0.5, -1.0).is_nan());
    }

    #[test]
    fn tails_are_those_of_the_printed_tables() {
        assert!((t_two_sided(2.228, 10.0) - 0.05).abs() < 1e-4);
        assert!((normal_two_sided(1.959_964) - 0.05).abs() < 1e-6);
        assert!((binomial_at_most(1, 9, 0.5) - 10.0 / 512.0).abs() < 1e-12);
    }

    #[test]
    fn the_tail_of_kolmogorov_is_that_of_the_printed_table() {
        for (x, p) in [(1.224, 0.10), (1.358, 0.05), (1.628, 0.01), (0.828, 0.50)] {
            assert!((kolmogorov_tail(x) - p).abs() < 1e-3, "{x}");
        }
        assert!((kolmogorov_tail(0.2000001) - 1.0).abs() < 1e-9);
    }
}
