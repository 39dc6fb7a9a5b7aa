//! Percentiles with their intervals, by one rule everywhere: the error of the share of operations over a quantile, from batch
//! means over intervals, says how many independent operations would tell it as well, and order statistics on so many
//! give the interval (Woodruff 1952). Knows latencies and no runs but for taking them out.

use crate::precision::CONFIDENCE;
use fathom_record::{Cell, Histogram, Latency, LatencyFigures, Percentile, Run};
use fathom_spec::Verb;
use fathom_stats::{Slot, effective_n_of_quantile, quantile_interval, ratio_estimate};
use std::collections::BTreeMap;

/// The quantiles that every latency is shown with.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// An upper end needs operations over the quantile in so many intervals: all of one stall are one event.
const BATCHES_OVER: usize = 5;

/// A latency of each interval of a run, in order of time: all streams and verbs together.
pub fn latencies_by_interval<'r>(
    run: &'r Run,
    of: impl Fn(Verb, &'r Cell) -> Option<&'r Latency>,
) -> Vec<Latency> {
    let mut by_start: BTreeMap<u64, Latency> = BTreeMap::new();
    for interval in &run.intervals {
        let all = by_start.entry(interval.start_ns).or_default();
        interval
            .cells
            .iter()
            .filter_map(|(verb, cell)| of(*verb, cell))
            .for_each(|latency| all.merge(latency));
    }
    by_start.into_values().filter(|latency| latency.count > 0).collect()
}

/// All that is shown of a latency but its error and a limit.
pub fn latency_figures(all: &Latency, intervals: &[Latency]) -> LatencyFigures {
    LatencyFigures {
        mean_ns: all.mean_ns().unwrap_or(0.0),
        mean_half_width_ns: None,
        percentiles: QUANTILES.iter().map(|&q| percentile(all, intervals, q)).collect(),
        max_ns: all.max_ns,
        min_ns: if all.count == 0 { 0 } else { all.min_ns },
        count: all.count,
        effective: effective(all, intervals, 0.5),
        over_limit: None,
    }
}

/// One percentile. It is left out where there are fewer operations than one in `1 - q`: then the greatest is no more than
/// the greatest.
pub fn percentile(all: &Latency, intervals: &[Latency], q: f64) -> Percentile {
    let none =
        |why: String| Percentile { quantile: q, value_ns: None, low_ns: None, high_ns: None, why: Some(why) };
    let needed = (1.0 / (1.0 - q) * (1.0 - 1e-9)).ceil() as u64;
    if all.count < needed {
        return none(format!("needs {needed} operations, has {}", all.count));
    }
    let (Some(value), Some(histogram)) = (all.quantile_ns(q), &all.bins) else {
        return none("no latencies were kept".to_owned());
    };
    let bins: Vec<(f64, u64)> =
        histogram.filled().map(|(bin, count)| (bin as f64, u64::from(count))).collect();
    let found = quantile_interval(bins.iter().copied(), q, effective(all, intervals, q), CONFIDENCE);
    let over = intervals.iter().filter(|latency| above(latency, value) > 0).count();
    let high = found.and_then(|found| found.high).filter(|_| over >= BATCHES_OVER || all.max_ns <= value);
    Percentile {
        quantile: q,
        value_ns: Some(value),
        low_ns: found.map(|found| Histogram::lower_edge(found.low as usize).max(all.min_ns).min(value)),
        high_ns: high.map(|high| Histogram::upper_edge(high as usize).min(all.max_ns).max(value)),
        why: None,
    }
}

/// How many independent operations would tell the quantile as well.
fn effective(all: &Latency, intervals: &[Latency], q: f64) -> f64 {
    let count = all.count as f64;
    let Some(value) = all.quantile_ns(q) else { return count };
    let slot = |latency: &Latency| Slot {
        numerator: above(latency, value) as f64,
        denominator: latency.count as f64,
    };
    let slots: Vec<Slot> = intervals.iter().map(slot).collect();
    match ratio_estimate(&slots, CONFIDENCE) {
        Some(share) => effective_n_of_quantile(count, q, &share),
        // Too few intervals for an error: as if each were one operation, which is cautious.
        None => (intervals.len() as f64).min(count),
    }
}

fn above(latency: &Latency, ns: u64) -> u64 {
    latency.bins.as_ref().map_or(0, |bins| bins.above(ns))
}
