//! Is a job steady? A rolling window of seconds, judged by fio's criteria. Knows nothing of clocks or runs.

use super::job::Steady;
use super::report::SteadyState;
use std::collections::VecDeque;

/// Seconds that were seen of a job or of a group.
#[derive(Clone, Debug)]
pub struct SteadyWindow {
    rule: Steady,
    /// Bytes and I/Os of each second, the newest last.
    seconds: VecDeque<(u64, u64)>,
    attained: bool,
    judged: Judged,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Judged {
    criterion: f64,
    deviation: f64,
    slope: f64,
}

impl SteadyWindow {
    /// Nothing seen yet.
    pub fn new(rule: Steady) -> Self {
        SteadyWindow { rule, seconds: VecDeque::new(), attained: false, judged: Judged::default() }
    }

    /// One more second; true when the window is full and what is in it is steady.
    pub fn second(&mut self, bytes: u64, operations: u64) -> bool {
        self.seconds.push_back((bytes, operations));
        let full = self.rule.duration_seconds as usize;
        while self.seconds.len() > full {
            self.seconds.pop_front();
        }
        if self.seconds.len() == full {
            self.judged = self.judge();
            self.attained = self.judged.criterion.abs() < self.rule.limit;
        }
        self.attained
    }

    fn judge(&self) -> Judged {
        let of = |second: &(u64, u64)| if self.rule.is_of_bytes() { second.0 } else { second.1 };
        let values: Vec<f64> = self.seconds.iter().map(|second| of(second) as f64).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        // Least squares over the numbers of the seconds.
        let (mut products, mut squares) = (0.0, 0.0);
        for (number, value) in values.iter().enumerate() {
            let x = number as f64 - middle;
            products += x * (value - mean);
            squares += x * x;
        }
        let deviation = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        let slope = if squares > 0.0 { products / squares } else { 0.0 };
        let told = if self.rule.is_slope() { slope } else { deviation };
        let criterion = match self.rule.in_percent {
            true if mean > 0.0 => told * 100.0 / mean,
            // Nothing happened: that is no steady state.
            true => f64::MAX,
            false => told,
        };
        Judged { criterion, deviation, slope }
    }

    /// What a report tells of it.
    pub fn outcome(&self) -> SteadyState {
        let Judged { criterion, deviation, slope } = self.judged;
        SteadyState {
            of: self.rule.of.to_owned(),
            limit: self.rule.limit,
            in_percent: self.rule.in_percent,
            duration_seconds: self.rule.duration_seconds,
            attained: self.attained,
            criterion,
            max_deviation: deviation,
            slope,
            bandwidth: self.seconds.iter().map(|second| second.0).collect(),
            iops: self.seconds.iter().map(|second| second.1).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Nanos;

    fn window(of: &'static str, limit: f64, in_percent: bool) -> SteadyWindow {
        SteadyWindow::new(Steady { of, limit, in_percent, duration_seconds: 4, ramp: Nanos(0) })
    }

    fn seen(mut window: SteadyWindow, operations: &[u64]) -> Option<usize> {
        operations.iter().position(|count| window.second(count * 4096, *count))
    }

    #[test]
    fn the_largest_deviation_from_the_mean_is_held_against_the_limit() {
        assert_eq!(seen(window("iops", 5.0, true), &[200, 100, 100, 104, 100, 98]), Some(4));
        assert_eq!(seen(window("iops", 2.0, false), &[100, 101, 99, 100]), Some(3));
        assert_eq!(seen(window("bw", 2.0, false), &[100, 101, 99, 100]), None);
        assert_eq!(seen(window("bw", 4097.0, false), &[100, 101, 99, 100]), Some(3));
        assert_eq!(seen(window("iops", 5.0, true), &[0, 0, 0, 0]), None);
    }

    #[test]
    fn the_slope_of_the_line_through_the_window_is_held_against_the_limit() {
        assert_eq!(seen(window("iops_slope", 1.0, false), &[100, 110, 120, 130]), None);
        assert_eq!(seen(window("iops_slope", 1.0, false), &[100, 130, 130, 100]), Some(3));
        let mut rising = window("bw_slope", 1.0, true);
        for count in [100, 110, 120, 130] {
            assert!(!rising.second(count, 1));
        }
        let outcome = rising.outcome();
        assert_eq!((outcome.slope, outcome.max_deviation, outcome.attained), (10.0, 15.0, false));
        assert!((outcome.criterion - 1000.0 / 115.0).abs() < 1e-9);
        assert_eq!((outcome.bandwidth, outcome.iops), (vec![100, 110, 120, 130], vec![1; 4]));
    }
}
