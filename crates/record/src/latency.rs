//! Exact moments beside a histogram: dt, ORION, sysbench and fio all print them, and bins cannot give them back.

use crate::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latencies of one verb: count, extremes, sums, and the distribution where it was asked for. Nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    pub count: u64,
    /// The smallest, ns; `u64::MAX` when there is none.
    pub min_ns: u64,
    /// The largest, ns.
    pub max_ns: u64,
    /// Sum, ns.
    pub sum_ns: u64,
    /// Sum of squares, ns^2.
    pub sum_squares: f64,
    pub bins: Option<Histogram>,
}

impl Default for Latency {
    fn default() -> Self {
        Latency {
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_squares: 0.0,
            bins: Some(Histogram::default()),
        }
    }
}

impl Latency {
    /// An empty one that never asks for memory, for a worker.
    pub fn ready() -> Self {
        Latency { bins: Some(Histogram::whole()), ..Latency::default() }
    }

    /// Counts one.
    #[inline(always)]
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += ns;
        self.sum_squares += ns as f64 * ns as f64;
        if let Some(bins) = &mut self.bins {
            bins.add(ns);
        }
    }

    /// Adds another's to these.
    pub fn merge(&mut self, other: &Latency) {
        let Latency { count, min_ns, max_ns, sum_ns, sum_squares, bins } = other;
        self.count += count;
        self.min_ns = self.min_ns.min(*min_ns);
        self.max_ns = self.max_ns.max(*max_ns);
        self.sum_ns += sum_ns;
        self.sum_squares += sum_squares;
        if let Some(theirs) = bins {
            self.bins.get_or_insert_with(Histogram::default).merge(theirs);
        }
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        let Latency { count, min_ns, max_ns, sum_ns, sum_squares, bins } = self;
        (*count, *min_ns, *max_ns, *sum_ns, *sum_squares) = (0, u64::MAX, 0, 0, 0.0);
        if let Some(bins) = bins {
            bins.clear();
        }
    }

    /// Mean, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Standard deviation of the values (not of their mean), ns; population formula.
    pub fn deviation_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        Some((self.sum_squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }

    /// A quantile, ns, never outside the extremes.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let found = self.bins.as_ref()?.quantile(q)?;
        Some(found.clamp(self.min_ns.min(self.max_ns), self.max_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_two_halves_is_the_whole() {
        let (mut left, mut right, mut whole) = (Latency::default(), Latency::default(), Latency::default());
        for ns in 1..1000u64 {
            if ns % 3 == 0 {
                left.add(ns * 97)
            } else {
                right.add(ns * 97)
            }
            whole.add(ns * 97);
        }
        left.merge(&right);
        assert_eq!(left, whole);
        assert_eq!(left.mean_ns(), Some(48_500.0));
        left.clear();
        assert_eq!(left, Latency::default());
    }
}
