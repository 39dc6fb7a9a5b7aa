//! What one run says, in numbers with errors. Knows no other run and no judgement.
//!
//! Throughput is the ratio of operations to time over whole slots inside the window, its error from batch means;
//! the mean latency is the ratio of summed latencies to operations over the same slots, a ratio estimator with an
//! error of the same kind. Percentiles come from the histogram of all intervals.

use crate::search::Seen;
use fathom_record::{Counts, Latency, LatencyFigures, Percentile, Run};
use fathom_spec::{LatencyLimit, Statistic};
use fathom_stats::{
    BatchMeans, Estimate, Slot, Steadiness, WarmUp, effective_n_from_variances, percentile_supported,
    quantile_interval, steadiness, warm_up_of_slots,
};

/// Level of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The quantiles that every latency is shown with.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// The largest part of slots that is cut off as warm-up from a run on which a figure rests.
const CUT_MOST: f64 = 0.5;

/// What one run says.
#[derive(Clone, Debug)]
pub struct Observed {
    /// When its window began, ns since the run's start.
    pub start_ns: u64,
    /// Length of a slot, seconds.
    pub slot_seconds: f64,
    /// Counters of each whole slot in the window, the warm-up cut off; all streams and verbs together.
    pub slots: Vec<Counts>,
    /// How many slots were cut off as warm-up.
    pub cut: usize,
    /// Everything that was counted in the window.
    pub sum: Counts,
    /// Operations per second.
    pub rate: f64,
    /// The same with its error, where there are slots enough.
    pub rate_estimate: Option<Estimate>,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean latency, ns, as a ratio of sums, with its error.
    pub mean_latency: Option<Estimate>,
    /// Service times of all intervals; of all verbs together.
    pub latency: Latency,
    /// Did the level move?
    pub steadiness: Steadiness,
}

impl Observed {
    /// Reads a run. `cut_warm_up`: whether MSER-5 may cut its beginning (a point on which a figure rests) or the plan's
    /// window is all that is left out (an exploring point, which is too short for it). `None` when nothing was counted.
    pub fn of(run: &Run, cut_warm_up: bool) -> Option<Observed> {
        let slot_ns = run.plan.slot.0.max(1);
        let (start_ns, mut slots) = whole_slots(run, slot_ns)?;
        let slot_seconds = slot_ns as f64 / 1e9;
        let rates = |slots: &[Counts]| -> Vec<Slot> {
            slots.iter().map(|c| Slot { numerator: c.operations as f64, denominator: slot_seconds }).collect()
        };
        let cut = match warm_up_of_slots(&rates(&slots)) {
            WarmUp::Cut(cut) if cut_warm_up && (cut as f64) < CUT_MOST * slots.len() as f64 => cut,
            _ => 0,
        };
        slots.drain(..cut);
        let sum = slots.iter().fold(Counts::default(), |mut sum, slot| {
            sum.merge(slot);
            sum
        });
        // Whole nanoseconds first, so that an exact device has an exact figure.
        let seconds = (slots.len() as u64 * slot_ns) as f64 / 1e9;
        let rate_batches: BatchMeans = rates(&slots).into_iter().collect();
        let latencies: BatchMeans = slots
            .iter()
            .map(|c| Slot { numerator: c.latency_sum_ns as f64, denominator: c.operations as f64 })
            .collect();
        let per_slot: Vec<f64> = slots.iter().map(|c| c.operations as f64).collect();
        Some(Observed {
            start_ns,
            slot_seconds,
            cut,
            rate: sum.operations as f64 / seconds,
            rate_estimate: rate_batches.estimate(CONFIDENCE),
            bytes_per_second: sum.bytes as f64 / seconds,
            mean_latency: latencies.estimate(CONFIDENCE),
            latency: service_times(run),
            steadiness: steadiness(&per_slot, slot_seconds),
            sum,
            slots,
        })
    }

    /// Length of the window that counts, seconds.
    pub fn seconds(&self) -> f64 {
        self.slots.len() as f64 * self.slot_seconds
    }

    /// Half the width of the throughput's interval, operations per second.
    pub fn rate_half_width(&self) -> Option<f64> {
        self.rate_estimate.map(|e| e.half_width)
    }

    /// Mean latency, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        let by_slots = (self.sum.operations > 0 && self.sum.latency_sum_ns > 0)
            .then(|| self.sum.latency_sum_ns as f64 / self.sum.operations as f64);
        by_slots.or_else(|| self.latency.mean_ns())
    }

    /// How many independent I/Os would tell the mean latency as well: its variance over its squared error.
    pub fn effective(&self) -> f64 {
        let count = self.latency.count as f64;
        match (self.mean_latency, self.latency.deviation_ns(), self.latency.mean_ns()) {
            (Some(estimate), Some(deviation), Some(mean)) if deviation > 1e-3 * mean => {
                effective_n_from_variances(count, deviation * deviation, &estimate)
            }
            // All alike: any one of them tells it.
            (Some(_), Some(_), Some(_)) => count,
            // Too few slots for an error: as if slots were independent, which is cautious.
            _ => (self.slots.len() as f64).min(count),
        }
    }

    /// The value of the statistic that a limit speaks of, with half its interval, ns.
    pub fn statistic(&self, of: Statistic) -> Option<(f64, f64)> {
        match of {
            Statistic::Mean => {
                Some((self.mean_ns()?, self.mean_latency.map_or(0.0, |estimate| estimate.half_width)))
            }
            Statistic::Quantile(q) => {
                let value = self.latency.quantile_ns(q.0)? as f64;
                let half = quantile_interval(edges(&self.latency), q.0, self.effective(), CONFIDENCE)
                    .map_or(0.0, |interval| (interval.high - interval.low) / 2.0);
                Some((value, half))
            }
        }
    }

    /// The latencies as the record shows them.
    pub fn figures(&self, limit: Option<&LatencyLimit>) -> LatencyFigures {
        let effective = self.effective();
        let percentiles = QUANTILES.iter().map(|&q| self.percentile(q, effective)).collect();
        let count = self.latency.count;
        LatencyFigures {
            mean_ns: self.mean_ns().unwrap_or(0.0),
            mean_half_width_ns: self.mean_latency.map(|estimate| estimate.half_width),
            percentiles,
            max_ns: self.latency.max_ns,
            min_ns: if count == 0 { 0 } else { self.latency.min_ns },
            count,
            effective,
            over_limit: limit.and_then(|limit| self.share_over(limit.at_most.0)),
        }
    }

    /// The share of I/Os over a latency; known to the width of the bin in which it falls.
    pub fn share_over(&self, ns: u64) -> Option<f64> {
        let bins = self.latency.bins.as_ref()?;
        (self.latency.count > 0).then(|| bins.above(ns) as f64 / self.latency.count as f64)
    }

    fn percentile(&self, q: f64, effective: f64) -> Percentile {
        match (percentile_supported(q, effective), self.latency.quantile_ns(q)) {
            (Ok(()), Some(value)) => Percentile { quantile: q, value_ns: Some(value), why: None },
            (Ok(()), None) => {
                Percentile { quantile: q, value_ns: None, why: Some("no latencies were kept".into()) }
            }
            (Err(few), _) => Percentile { quantile: q, value_ns: None, why: Some(few.to_string()) },
        }
    }

    /// The point as a search sees it. `at_seconds` is the middle of the run on the calibration's own time.
    pub fn seen(&self, load: u32, at_seconds: f64, of: Statistic) -> Seen {
        let statistic = self.statistic(of);
        Seen {
            load,
            at_seconds,
            rate: self.rate,
            rate_half_width: self.rate_half_width().unwrap_or(0.0),
            latency_ns: statistic.map(|s| s.0),
            latency_half_width_ns: statistic.map_or(0.0, |s| s.1),
        }
    }

    /// Are there two groups of latencies, one at least twice the other with little between? Under a throttle, which
    /// lets bursts through and then waits, this is so, and a median says little. Judged by quartiles: p25 and p90 an
    /// order of magnitude apart.
    pub fn two_groups(&self) -> bool {
        match (self.latency.quantile_ns(0.25), self.latency.quantile_ns(0.9)) {
            (Some(low), Some(high)) => high >= 10 * low.max(1),
            _ => false,
        }
    }
}

/// All whole slots inside the window of every stream that was measured, on one timeline, and when the first began.
fn whole_slots(run: &Run, slot_ns: u64) -> Option<(u64, Vec<Counts>)> {
    let start = run.intervals.iter().map(|i| i.start_ns).min()? / slot_ns;
    let mut streams: Vec<_> = run.intervals.iter().map(|i| i.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    let end_of = |stream| {
        let ends = run.intervals.iter().filter(|i| i.stream == stream).map(|i| i.start_ns + i.length_ns);
        ends.max().unwrap_or(0)
    };
    let end = streams.into_iter().map(end_of).min()? / slot_ns;
    let mut slots = vec![Counts::default(); end.saturating_sub(start) as usize];
    for interval in &run.intervals {
        let first = (interval.start_ns / slot_ns - start) as usize;
        for (counts, slot) in interval.slots.iter().zip(slots.iter_mut().skip(first)) {
            counts.iter().for_each(|cell| slot.merge(cell));
        }
    }
    (!slots.is_empty()).then_some((start * slot_ns, slots))
}

fn service_times(run: &Run) -> Latency {
    let mut all = Latency::default();
    for (_, cell) in run.intervals.iter().flat_map(|i| &i.cells) {
        if let Some(latency) = cell.service.as_ref().or(cell.response.as_ref()) {
            all.merge(latency);
        }
    }
    all
}

fn edges(latency: &Latency) -> impl Iterator<Item = (f64, u64)> + Clone + '_ {
    let filled: Vec<(f64, u64)> = latency.bins.as_ref().map_or_else(Vec::new, |bins| {
        bins.filled()
            .map(|(bin, count)| (fathom_record::Histogram::upper_edge(bin) as f64, u64::from(count)))
            .collect()
    });
    filled.into_iter()
}
