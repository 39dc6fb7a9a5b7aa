//! From runs to figures: throughput and latency with their errors, percentiles only where enough samples stand
//! behind them.
//!
//! Everything is made from whole slots inside the window. Throughput is the mean of operations per slot, the mean
//! latency is the ratio of two sums per slot (all latencies over all operations), and the error of both comes from
//! batch means (Law and Carson 1979), because the slots of a disk are correlated and the naive error would be some
//! ten times too small.

use fathom_record::{
    CELLS, Counts, Curve, CurveName, CurvePoint, Figure, Latency, LatencyFigures, Load, Percentile, Purpose,
    Run, Unit,
};
use fathom_spec::{MIB, Nanos, StreamId, Verb};
use fathom_stats::{
    BatchMeans, Estimate, Point, Slot, effective_n_from_variances, percentile_supported, power_knee,
};

/// The level of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// The percentiles that are shown.
pub const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// What all streams of a run did together in whole slots, and the latencies of some of its verbs.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Counters of each whole slot, all streams and the chosen verbs together.
    pub slots: Vec<Counts>,
    /// Length of a slot.
    pub slot: Nanos,
    /// Service times.
    pub service: Latency,
    /// Response times, where arrivals had a timetable.
    pub response: Option<Latency>,
    /// Operations that failed, anywhere in the run.
    pub errors: u64,
}

/// Looks at the verbs that `wanted` chooses.
pub fn seen(run: &Run, wanted: impl Fn(Verb) -> bool) -> Seen {
    let slot = run.plan.slot.0.max(1);
    let mut service = Latency::default();
    let mut response: Option<Latency> = None;
    let parts: Vec<_> =
        (0..run.plan.streams.len() as u32).filter_map(|id| run.merged(StreamId(id))).collect();
    let start = parts.iter().map(|part| part.start_ns).min().unwrap_or(0);
    let end = parts.iter().map(|part| part.start_ns + part.length_ns).min().unwrap_or(0);
    let mut slots = vec![Counts::default(); (end.saturating_sub(start) / slot) as usize];
    for part in &parts {
        let shift = ((part.start_ns - start) / slot) as usize;
        for (cell, (verb, kept)) in part.cells.iter().enumerate().take(CELLS) {
            if !wanted(*verb) {
                continue;
            }
            for (sum, counts) in slots.iter_mut().skip(shift).zip(&part.slots) {
                sum.merge(&counts[cell]);
            }
            kept.service.iter().for_each(|latency| service.merge(latency));
            if let Some(latency) = &kept.response {
                response.get_or_insert_with(Latency::default).merge(latency);
            }
        }
    }
    let all = run.workers.iter().flat_map(|worker| &worker.counts);
    let errors = all.filter(|(verb, _)| wanted(*verb)).map(|(_, counts)| u64::from(counts.errors)).sum();
    Seen { slots, slot: Nanos(slot), service, response, errors }
}

fn batches(slots: &[Counts], of: impl Fn(&Counts) -> Slot) -> Option<Estimate> {
    let mut means = BatchMeans::new();
    slots.iter().for_each(|counts| means.push(of(counts)));
    means.estimate(CONFIDENCE)
}

impl Seen {
    /// Whole slots in seconds.
    pub fn seconds(&self) -> f64 {
        self.slots.len() as f64 * self.slot.seconds()
    }

    /// All counters of the whole slots.
    pub fn total(&self) -> Counts {
        self.slots.iter().fold(Counts::default(), |mut sum, counts| {
            sum.merge(counts);
            sum
        })
    }

    fn rate(&self, of: impl Fn(&Counts) -> f64) -> (f64, Option<f64>) {
        let seconds = self.slot.seconds();
        let total: f64 = self.slots.iter().map(&of).sum();
        let mean = if self.slots.is_empty() { 0.0 } else { total / self.seconds() };
        let estimate = batches(&self.slots, |counts| Slot::of(of(counts) / seconds));
        (mean, estimate.map(|e| e.half_width))
    }

    /// Operations per second, and half the width of its interval.
    pub fn iops(&self) -> (f64, Option<f64>) {
        self.rate(|counts| counts.operations as f64)
    }

    /// 2^20 bytes per second, and half the width of its interval.
    pub fn mbps(&self) -> (f64, Option<f64>) {
        self.rate(|counts| counts.bytes as f64 / MIB as f64)
    }

    /// Mean service time, ns, with its error: a ratio of sums.
    pub fn mean_latency(&self) -> Option<Estimate> {
        batches(&self.slots, |counts| Slot {
            numerator: counts.latency_sum_ns as f64,
            denominator: counts.operations as f64,
        })
    }

    /// Service times as they are shown.
    pub fn latency(&self, limit: Option<Nanos>) -> LatencyFigures {
        latency_figures(&self.service, self.mean_latency(), limit)
    }

    /// The value of the statistic that a limit bounds, ns.
    pub fn statistic(&self, of: fathom_spec::Statistic) -> Option<f64> {
        match of {
            fathom_spec::Statistic::Mean => self.service.mean_ns(),
            fathom_spec::Statistic::Quantile(q) => self.service.quantile_ns(q.0).map(|ns| ns as f64),
        }
    }
}

/// Latencies as they are shown. The mean's error also says how many independent samples the I/Os are worth.
pub fn latency_figures(latency: &Latency, mean: Option<Estimate>, limit: Option<Nanos>) -> LatencyFigures {
    let count = latency.count as f64;
    let variance = latency.deviation_ns().map_or(0.0, |deviation| deviation * deviation);
    let effective = match &mean {
        Some(estimate) if variance > 0.0 => {
            effective_n_from_variances(count, variance, estimate).clamp(1.0, count.max(1.0))
        }
        _ => count,
    };
    let percentiles = PERCENTILES
        .iter()
        .map(|&quantile| match percentile_supported(quantile, effective) {
            Ok(()) => Percentile { quantile, value_ns: latency.quantile_ns(quantile), why: None },
            Err(few) => Percentile { quantile, value_ns: None, why: Some(few.to_string()) },
        })
        .collect();
    let over_limit =
        limit.zip(latency.bins.as_ref()).map(|(limit, bins)| bins.above(limit.0) as f64 / count.max(1.0));
    LatencyFigures {
        mean_ns: latency.mean_ns().unwrap_or(0.0),
        mean_half_width_ns: mean.map(|estimate| estimate.half_width),
        percentiles,
        max_ns: latency.max_ns,
        min_ns: if latency.count == 0 { 0 } else { latency.min_ns },
        count: latency.count,
        effective,
        over_limit,
    }
}

/// What a figure is made of.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its unit.
    pub unit: Unit,
    /// The relative half width that was asked for.
    pub precision: f64,
    /// The latency that is tolerated.
    pub limit: Option<Nanos>,
}

/// A figure of a run: operations or bytes per second, by the unit, or the mean latency.
pub fn figure(run: &Run, index: usize, seen: &Seen, wanted: Wanted) -> Figure {
    let latency = seen.latency(wanted.limit);
    let (value, half_width) = match wanted.unit {
        Unit::PerSecond => seen.iops(),
        Unit::MebibytesPerSecond => seen.mbps(),
        Unit::Nanoseconds | Unit::Ratio => (latency.mean_ns, latency.mean_half_width_ns),
    };
    Figure {
        value,
        half_width,
        confidence: CONFIDENCE,
        unit: wanted.unit,
        converged: half_width.is_some_and(|h| h <= wanted.precision * value),
        load: Some(run.load),
        latency: Some(latency),
        bound: None,
        run: Some(index),
        note: None,
    }
}

/// A plain number as a figure, without an error.
pub fn plain(value: f64, unit: Unit, note: Option<String>) -> Figure {
    Figure {
        value,
        half_width: None,
        confidence: CONFIDENCE,
        unit,
        converged: true,
        load: None,
        latency: None,
        bound: None,
        run: None,
        note,
    }
}

/// The curve of all runs that `wanted` chooses: one point a load, the best-founded run of each.
pub fn curve(
    name: CurveName,
    runs: &[(usize, &Run)],
    limit: Option<Nanos>,
    load_of: impl Fn(Load) -> u32,
) -> Curve {
    let mut points: Vec<CurvePoint> = Vec::new();
    for (index, run) in runs {
        let seen = seen(run, |_| true);
        let (iops, iops_half_width) = seen.iops();
        let point = CurvePoint {
            load: run.load,
            iops,
            iops_half_width,
            mbps: seen.mbps().0,
            latency: seen.latency(limit),
            exploring: run.purpose == Purpose::Exploring,
            run: Some(*index),
        };
        match points.iter_mut().find(|p| p.load == point.load) {
            Some(old) if old.exploring || !point.exploring => *old = point,
            Some(_) => {}
            None => points.push(point),
        }
    }
    points.sort_by_key(|point| load_of(point.load));
    let knee_points: Vec<Point> = points
        .iter()
        .map(|p| Point { load: f64::from(load_of(p.load)), throughput: p.iops, latency: p.latency.mean_ns })
        .collect();
    let knee = power_knee(&knee_points);
    Curve { name, points, knee }
}

/// How much of a kind of operation a disk counted between a run's first sample and its last.
pub fn counted(run: &Run, of: &str, name: &str) -> Option<u64> {
    let mut values = run.samples.iter().filter(|s| s.of == of && s.name == name).map(|s| s.value);
    let first = values.next()?;
    values.next_back()?.checked_sub(first)
}

/// The disks that were sampled in a run.
pub fn sampled_disks(run: &Run) -> Vec<String> {
    let mut disks: Vec<String> =
        run.samples.iter().filter(|s| s.of.starts_with("disk ")).map(|s| s.of.clone()).collect();
    disks.sort();
    disks.dedup();
    disks
}
