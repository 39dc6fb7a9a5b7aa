//! Where the warm-up of a series ends: MSER-5.
//!
//! White 1997, Spratt 1998, White, Cobb & Spratt 2000; found the best for automation by Hoad, Robinson & Davies 2008.
//! It cuts where the standard error of the rest is least. Known to fail where the start resembles the rest but is
//! longer than half of it, and on series that drift without end (Wang & Glynn 2016), so the rest is judged again by
//! [`crate::steady`].

use serde::{Deserialize, Serialize};

/// Observations in one group, the 5 of MSER-5.
pub const GROUP: usize = 5;

/// Under so many groups nothing can be said.
const GROUPS_LEAST: usize = 4;

/// What the series says of its own beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WarmUp {
    /// The first so many slots are to be left out; a multiple of [`GROUP`], at most half of the series.
    Cut(usize),
    /// The best cut would lie in the second half: the series is still warming up, or too short (under 20 slots).
    NotYet,
}

/// Finds the cut: the d that makes `variance(y_d..) / (m - d)` least over the m means of five slots.
///
/// Cuts that leave less than a tenth of the series (or four groups) are not tried, for the variance of a short tail is
/// small by chance. O(n).
pub fn warm_up(slots: &[f64]) -> WarmUp {
    let groups: Vec<f64> =
        slots.chunks_exact(GROUP).map(|chunk| chunk.iter().sum::<f64>() / GROUP as f64).collect();
    if groups.len() < GROUPS_LEAST {
        return WarmUp::NotYet;
    }
    // Differences from one value inside the data keep the running sums exact for series far from zero.
    let origin = groups[groups.len() / 2];
    let tail_least = GROUPS_LEAST.max(groups.len() / 10);
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut best, mut best_at) = (f64::INFINITY, 0);
    for (d, value) in groups.iter().enumerate().rev() {
        sum += value - origin;
        squares += (value - origin).powi(2);
        let left = (groups.len() - d) as f64;
        if groups.len() - d < tail_least {
            continue;
        }
        let statistic = (squares - sum * sum / left).max(0.0) / (left * left);
        // Not more than the best by rounding: then the earlier cut, which keeps more, is taken.
        if statistic <= best {
            (best, best_at) = (statistic, d);
        }
    }
    if best_at * 2 > groups.len() { WarmUp::NotYet } else { WarmUp::Cut(best_at * GROUP) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f64 {
        // A fixed, harmless pattern without trend.
        [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1][i % 7]
    }

    #[test]
    fn a_step_is_cut_at_its_group() {
        let series: Vec<f64> =
            (0..200).map(|i| if i < 30 { 50.0 + noise(i) } else { 10.0 + noise(i) }).collect();
        assert_eq!(warm_up(&series), WarmUp::Cut(30));
        let series: Vec<f64> =
            (0..200).map(|i| if i < 32 { 50.0 + noise(i) } else { 10.0 + noise(i) }).collect();
        assert_eq!(warm_up(&series), WarmUp::Cut(35));
    }

    #[test]
    fn a_constant_series_loses_nothing() {
        assert_eq!(warm_up(&[7.25e9; 100]), WarmUp::Cut(0));
    }

    #[test]
    fn a_change_in_the_second_half_is_not_yet() {
        let series: Vec<f64> = (0..200).map(|i| if i < 140 { 50.0 } else { 10.0 } + noise(i)).collect();
        assert_eq!(warm_up(&series), WarmUp::NotYet);
    }

    #[test]
    fn too_short_is_not_yet() {
        assert_eq!(warm_up(&[1.0; 19]), WarmUp::NotYet);
        assert_eq!(warm_up(&[1.0; 20]), WarmUp::Cut(0));
        assert_eq!(warm_up(&[]), WarmUp::NotYet);
    }
}
