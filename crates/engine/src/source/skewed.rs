//! Distributions in which some blocks come more often than others. Ranks (the most frequent is 0) are spread over
//! the region by a permutation, so that what is hot does not lie together; zones lie where they are.

use super::refuse;
use super::uniform::below;
use fathom_drive::Permutation;
use fathom_drive::unit;
use fathom_record::ExecuteError;
use fathom_spec::Pattern;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::RngCore;

/// Draws block numbers below `count`.
pub(crate) struct Skew {
    count: u64,
    law: Law,
    spread: Permutation,
}

enum Law {
    Zipf(Zipf),
    /// Self-similar: a share h of the blocks takes 1 - h of the accesses, again and again. Rank = n u^p with
    /// p = ln h / ln(1 - h) (Gray et al., Quickly Generating Billion-Record Synthetic Databases, 1994).
    Pareto {
        power: f64,
    },
    /// As fio 3.33 was seen to draw: the mean of twelve even numbers over the region, which is a bell, and an even one over
    /// the parameter's share of it, blocks.
    Normal {
        width: f64,
    },
    /// Accesses up to here (0 to 1), first block, blocks.
    Zoned(Vec<(f64, u64, u64)>),
}

impl Skew {
    pub(crate) fn of(pattern: &Pattern, count: u64, seed: u64) -> Result<Self, ExecuteError> {
        let law = match pattern {
            Pattern::Zipf(exponent) if *exponent > 0.0 && exponent.is_finite() => {
                Law::Zipf(Zipf::new(count, *exponent))
            }
            Pattern::Pareto(share) if *share > 0.0 && *share < 1.0 => {
                Law::Pareto { power: share.ln() / (1.0 - share).ln() }
            }
            Pattern::Normal(percent) if *percent >= 0.0 && *percent <= 100.0 => {
                Law::Normal { width: percent / 100.0 * count as f64 }
            }
            Pattern::Zoned(zones) => Law::Zoned(zoned(zones, count)?),
            _ => {
                return Err(refuse(
                    "such parameter of a distribution: zipf above 0, pareto between 0 and 1, normal from 0 to 100 percent",
                ));
            }
        };
        Ok(Skew { count, law, spread: Permutation::new(count, seed ^ 0x5CA7_7E2D) })
    }

    #[inline]
    pub(crate) fn draw(&mut self, random: &mut Xoshiro256Plus) -> u64 {
        match &self.law {
            Law::Zipf(zipf) => self.spread.at(zipf.rank(random)),
            Law::Pareto { power } => {
                let rank = self.count as f64 * unit(random.next_u64()).powf(*power);
                self.spread.at((rank as u64).min(self.count - 1))
            }
            Law::Normal { width } => loop {
                let rank = self.count as f64 * bell(random) + width * (unit(random.next_u64()) - 0.5);
                if rank >= 0.0 && rank < self.count as f64 {
                    return self.spread.at((rank as u64).min(self.count - 1));
                }
            },
            Law::Zoned(zones) => {
                let at = unit(random.next_u64());
                let zone = zones.iter().find(|zone| at < zone.0).or(zones.last());
                let (_, first, blocks) = zone.copied().unwrap_or((1.0, 0, self.count));
                first + below(random.next_u64(), blocks)
            }
        }
    }
}

/// The mean of twelve numbers from 0 to 1: about normal round 1/2, with a deviation of 1/12.
fn bell(random: &mut Xoshiro256Plus) -> f64 {
    (0..12).map(|_| unit(random.next_u64())).sum::<f64>() / 12.0
}

/// Zones as cumulative shares of accesses with their blocks. What percents leave over is shared by one more zone.
fn zoned(zones: &[(f64, f64)], count: u64) -> Result<Vec<(f64, u64, u64)>, ExecuteError> {
    let (accesses, space) = zones.iter().fold((0.0, 0.0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
    let wrong =
        zones.iter().any(|zone| zone.0 < 0.0 || zone.1 < 0.0) || accesses > 100.001 || space > 100.001;
    if zones.is_empty() || wrong {
        return Err(refuse("zones of more than 100 percent, or of less than nothing"));
    }
    let rest = (100.0 - accesses, 100.0 - space);
    let all = zones.iter().copied().chain((rest.0 > 0.001 && rest.1 > 0.001).then_some(rest));
    let (mut made, mut share, mut end) = (Vec::new(), 0.0, 0.0);
    for (access, part) in all {
        let first = (end / 100.0 * count as f64) as u64;
        (share, end) = (share + access / 100.0, end + part);
        let last = ((end / 100.0 * count as f64).round() as u64).min(count);
        if access > 0.0 {
            let first = first.min(count - 1);
            made.push((share, first, last.saturating_sub(first).max(1)));
        }
    }
    Ok(made)
}

/// Zipf's law by rejection from an integrable hat (Hoermann and Derflinger, Rejection-Inversion to Generate Variates
/// from Monotone Discrete Distributions, 1996): no table, the same cost for any number of blocks.
struct Zipf {
    count: u64,
    exponent: f64,
    low: f64,
    high: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Zipf { count, exponent, low: 0.0, high: 0.0, shortcut: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(count as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - 2f64.powf(-exponent));
        zipf
    }

    /// The integral of x^-s from 1: (x^(1-s) - 1) / (1 - s), and ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let log = x.ln();
        if (power * log).abs() < 1e-8 { log } else { (power * log).exp_m1() / power }
    }

    fn inverse(&self, value: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let scaled = (power * value).max(-1.0);
        if scaled.abs() < 1e-8 { value.exp() } else { (scaled.ln_1p() / power).exp() }
    }

    /// A rank from 0.
    fn rank(&self, random: &mut Xoshiro256Plus) -> u64 {
        loop {
            let value = self.high + unit(random.next_u64()) * (self.low - self.high);
            let x = self.inverse(value);
            let rank = x.round().clamp(1.0, self.count as f64);
            if rank - x <= self.shortcut || value >= self.integral(rank + 0.5) - rank.powf(-self.exponent) {
                return rank as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
