//! When did the level of a series change: the moment burst credit, a write cache or heat changed a throughput.
//!
//! A cumulative-sum test whose noise is measured with its correlation, so that a series that only wanders is not taken
//! for one that jumped. Knows no time: a position is an index.

use serde::{Deserialize, Serialize};

use crate::distribution::kolmogorov_tail;
use crate::moments::long_run_variance;

/// A series is first averaged down to at most so many points; positions are then exact to one such point.
const POINTS_MOST: usize = 400;

/// Under so many points on either side of a change there is no test.
const SEGMENT_LEAST: usize = 8;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub index: usize,
    /// Mean before it, back to the change before or the beginning.
    pub before: f64,
    /// Mean from it on, to the next change or the end.
    pub after: f64,
    /// Chance of so large a step in a series without one.
    pub p_value: f64,
}

/// The most certain change of level, if its p-value is at most `significance` (0.01, say) and at least `segment_least`
/// values stand on either side.
///
/// Cumulative sums (Page 1954) round the mean, `max |S_k - k/n S_n| / (sigma sqrt(n))`, are referred to the Brownian
/// bridge (Csorgo & Horvath 1997). sigma^2 is the long-run variance of the two sides round their own means
/// ([`long_run_variance`]), so the step itself does not count as noise. The step stands where least squares put it.
pub fn change_point(series: &[f64], segment_least: usize, significance: f64) -> Option<ChangePoint> {
    let step = series.len().div_ceil(POINTS_MOST).max(1);
    let points: Vec<f64> = series.chunks_exact(step).map(|c| c.iter().sum::<f64>() / step as f64).collect();
    let found = split(&points, segment_least.div_ceil(step).max(SEGMENT_LEAST))?;
    let index = found.index * step;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (found.p_value <= significance).then(|| ChangePoint {
        index,
        before: mean(&series[..index]),
        after: mean(&series[index..]),
        p_value: found.p_value,
    })
}

fn split(points: &[f64], segment_least: usize) -> Option<ChangePoint> {
    let n = points.len();
    if n < 2 * segment_least {
        return None;
    }
    let mean = points.iter().sum::<f64>() / n as f64;
    let (mut sum, mut farthest) = (0.0, 0.0_f64);
    let (mut best, mut index) = (-1.0, segment_least);
    for (i, value) in points[..n - segment_least].iter().enumerate() {
        sum += value - mean;
        let before = i + 1;
        if before < segment_least {
            continue;
        }
        farthest = farthest.max(f64::abs(sum));
        // What a split here takes from the sum of squares.
        let gain = sum * sum * n as f64 / (before as f64 * (n - before) as f64);
        if gain > best {
            (best, index) = (gain, before);
        }
    }
    let (before, after) = (mean_of(&points[..index]), mean_of(&points[index..]));
    let residuals: Vec<f64> =
        points.iter().enumerate().map(|(i, y)| y - if i < index { before } else { after }).collect();
    // Rounding noise of a constant is not a step.
    let noise = long_run_variance(&residuals)?.max((mean * 1e-12).powi(2));
    let p_value = if farthest > 0.0 { kolmogorov_tail(farthest / (noise * n as f64).sqrt()) } else { 1.0 };
    Some(ChangePoint { index, before, after, p_value })
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// All changes of level, in order, by binary segmentation: each side of a change is searched again (Scott & Knott
/// 1974; Vostrikova 1981). `before` and `after` are the means between neighbouring changes.
pub fn change_points(series: &[f64], segment_least: usize, significance: f64) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    let mut open = vec![(0, series.len())];
    while let Some((from, to)) = open.pop() {
        if let Some(change) = change_point(&series[from..to], segment_least, significance) {
            let at = from + change.index;
            found.push(ChangePoint { index: at, ..change });
            open.extend([(from, at), (at, to)]);
        }
    }
    found.sort_by_key(|change| change.index);
    let mut ends: Vec<usize> = found.iter().map(|change| change.index).collect();
    ends.insert(0, 0);
    ends.push(series.len());
    for (change, around) in found.iter_mut().zip(ends.windows(3)) {
        change.before = mean_of(&series[around[0]..around[1]]);
        change.after = mean_of(&series[around[1]..around[2]]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f64 {
        [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1][i % 7]
    }

    #[test]
    fn one_step_is_found_where_it_is() {
        let series: Vec<f64> = (0..300).map(|i| if i < 210 { 100.0 } else { 60.0 } + noise(i)).collect();
        let change = change_point(&series, 20, 0.01).unwrap();
        assert_eq!(change.index, 210);
        assert!((change.before - 100.0).abs() < 0.1 && (change.after - 60.0).abs() < 0.1);
        assert!(change.p_value < 1e-6);
    }

    #[test]
    fn a_long_series_is_found_to_one_averaged_point() {
        let series: Vec<f64> = (0..36_000).map(|i| if i < 18_050 { 9.0 } else { 3.0 } + noise(i)).collect();
        let change = change_point(&series, 600, 0.01).unwrap();
        assert!(change.index.abs_diff(18_050) <= 90, "{}", change.index);
    }

    #[test]
    fn three_levels_are_two_changes_with_their_own_means() {
        let level = |i: usize| {
            if i < 100 {
                10.0
            } else if i < 250 {
                30.0
            } else {
                20.0
            }
        };
        let series: Vec<f64> = (0..400).map(|i| level(i) + noise(i)).collect();
        let changes = change_points(&series, 20, 0.01);
        assert_eq!(changes.iter().map(|c| c.index).collect::<Vec<_>>(), [100, 250]);
        assert!((changes[0].after - 30.0).abs() < 0.1 && (changes[1].before - 30.0).abs() < 0.1);
    }

    #[test]
    fn no_step_is_no_change() {
        assert_eq!(change_point(&[5.5e8; 500], 20, 0.01), None);
        assert_eq!(change_points(&(0..300).map(noise).collect::<Vec<_>>(), 20, 0.01), []);
        assert_eq!(change_point(&[1.0, 2.0], 1, 0.01), None);
        assert_eq!(change_point(&[], 0, 0.01), None);
    }
}
