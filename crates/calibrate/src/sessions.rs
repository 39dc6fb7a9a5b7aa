//! What runs of database sessions say: rates of counters that were read once a second, with their errors, and the points of the
//! curve over sessions. Knows no database: counters come as numbers.

use crate::observe::{CONFIDENCE, Observed};
use crate::search::Seen;
use fathom_record::{
    Counts, Curve, CurveName, CurvePoint, Figure, Load, Purpose, Run, Sample, SampleOf, Unit,
};
use fathom_spec::{MIB, Statistic, Verb};
use fathom_stats::{BatchMeans, Slot};
use std::collections::BTreeMap;

/// The rate of a counter from what it grew by between readings: pairs of the growth and of the seconds in which it grew. The
/// error is that of batch means over the readings. `None` where nothing was read.
pub fn rate(grew: &[(f64, f64)], unit: Unit, load: Load, run: usize) -> Option<Figure> {
    let slots = grew.iter().map(|&(numerator, denominator)| Slot { numerator, denominator });
    let batches: BatchMeans = slots.collect();
    let value = batches.mean()?;
    let half_width = batches.estimate(CONFIDENCE).map(|estimate| estimate.half_width);
    Some(Figure { half_width, unit, ..share(value, load, run) })
}

/// A share with no error of its own.
pub fn share(value: f64, load: Load, run: usize) -> Figure {
    Figure::share(value, CONFIDENCE, load, run)
}

/// What counters of that name grew by from a moment on, all of their owners together, between one reading and the next: with
/// the seconds between. A reading that lacks an owner, or in which one went backwards, is left out.
pub fn growth(samples: &[Sample], owners: &[SampleOf], name: &str, from_ns: u64) -> Vec<(f64, f64)> {
    let mut readings: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let wanted =
        |sample: &&Sample| sample.at_ns >= from_ns && sample.name == name && owners.contains(&sample.of);
    for sample in samples.iter().filter(wanted) {
        readings.entry(sample.at_ns).or_default().push(sample.value);
    }
    let whole: Vec<(u64, u64)> = readings
        .iter()
        .filter(|(_, values)| values.len() == owners.len())
        .map(|(at, values)| (*at, values.iter().sum()))
        .collect();
    let pairs = whole.windows(2).filter_map(|pair| {
        let grew = pair[1].1.checked_sub(pair[0].1)? as f64;
        Some((grew, (pair[1].0 - pair[0].0) as f64 / 1e9))
    });
    pairs.collect()
}

/// What operations did between two moments, ns since the run's start, in whole slots of the part that counts; commits belong
/// to their updates and are left out.
pub fn done_between(run: &Run, from_ns: u64, to_ns: u64) -> Counts {
    let slot = run.plan.slot.0.max(1);
    let mut done = Counts::default();
    for interval in &run.intervals {
        for (index, counts) in interval.slots.iter().enumerate() {
            let at = interval.start_ns + index as u64 * slot;
            // A reading falls somewhere into a slot: the slot belongs to the side on which its middle lies.
            if at + slot / 2 >= from_ns && at + slot / 2 < to_ns {
                let wanted = interval.cells.iter().zip(counts).filter(|((verb, _), _)| *verb != Verb::Commit);
                wanted.for_each(|(_, counts)| done.merge(counts));
            }
        }
    }
    done
}

/// A counter's rate that was told by operation and not by time: its error is that of the operations' own rate.
pub fn rate_of_operations(value: f64, operations: Option<&Figure>, load: Load, run: usize) -> Figure {
    let relative = operations.and_then(|figure| Some(figure.half_width? / figure.value.max(1e-9)));
    Figure {
        half_width: relative.map(|relative| relative * value),
        unit: Unit::PerSecond,
        ..share(value, load, run)
    }
}

/// One run as a search over sessions sees it: operations a second, and their mean latency. `None` where nothing was counted.
pub fn seen(run: &Run) -> Option<Seen> {
    let observed = Observed::of(run)?;
    let middle = (run.began_ns + run.length_ns / 2) as f64 / 1e9;
    Some(observed.seen(run.load.small, middle, Statistic::Mean))
}

/// The curve over sessions; runs that counted nothing are left out. The knee is the load that the search found.
pub fn curve(runs: &[Run], found: Option<u32>) -> Curve {
    let mut points: Vec<CurvePoint> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let Some(observed) = Observed::of(run) else { continue };
        // A load that was measured again is one point: its last run, unless only the first was long.
        points
            .retain(|point| point.load != run.load || run.purpose == Purpose::Exploring && !point.exploring);
        if points.iter().any(|point| point.load == run.load) {
            continue;
        }
        points.push(CurvePoint {
            load: run.load,
            iops: observed.rate,
            iops_half_width: observed.rate_half_width(),
            mbps: observed.bytes_per_second / MIB as f64,
            latency: observed.figures(None),
            exploring: run.purpose == Purpose::Exploring,
            run: Some(index),
        });
    }
    points.sort_by_key(|point| point.load.small);
    let knee = found.and_then(|load| points.iter().position(|point| point.load.small == load));
    Curve { name: CurveName::Sessions, points, knee }
}

/// What a curve of a disk gives at a mean latency: the most operations a second of its points with no more than that, between
/// points along the straight line. `None` where even its lowest point is slower, or there is no curve.
pub fn disk_at_latency(curve: &Curve, latency_ns: f64) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.latency.mean_ns, p.iops)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best = points.iter().filter(|p| p.0 <= latency_ns).map(|p| p.1).fold(None, most)?;
    for pair in points.windows(2) {
        let ((low, less), (high, more)) = (pair[0], pair[1]);
        if low <= latency_ns && latency_ns < high && high > low {
            best = best.max(less + (more - less) * (latency_ns - low) / (high - low));
        }
    }
    Some(best)
}

/// The mean latency, ns, that a curve of a disk has at so many operations a second: at the lowest load that gives them, between
/// loads along the straight line. `None` where it never gave so many.
pub fn disk_latency_at(curve: &Curve, rate: f64) -> Option<f64> {
    let mut points: Vec<&CurvePoint> = curve.points.iter().collect();
    points.sort_by_key(|point| point.load);
    let above = points.iter().position(|point| point.iops >= rate)?;
    let high = points[above];
    let Some(low) = above.checked_sub(1).map(|below| points[below]) else {
        return Some(high.latency.mean_ns);
    };
    let share = (rate - low.iops) / (high.iops - low.iops).max(1e-9);
    Some(low.latency.mean_ns + share.clamp(0.0, 1.0) * (high.latency.mean_ns - low.latency.mean_ns))
}

fn most(so_far: Option<f64>, value: f64) -> Option<f64> {
    Some(so_far.map_or(value, |so_far| so_far.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::LatencyFigures;

    fn sample(at_s: u64, of: &str, value: u64) -> Sample {
        Sample { at_ns: at_s * 1_000_000_000, of: of.into(), name: "reads".into(), value }
    }

    #[test]
    fn a_counters_rate_is_its_growth_over_the_time_between_readings() {
        let samples: Vec<Sample> = (0..6).map(|s| sample(s, "disk a", 1000 + s * 50)).collect();
        let grew = growth(&samples, &["disk a".into()], "reads", 1_000_000_000);
        assert_eq!(grew, [(50.0, 1.0); 4]);
        let figure = rate(&grew, Unit::PerSecond, Load { small: 4, large: 0 }, 0).unwrap();
        assert_eq!((figure.value, figure.half_width), (50.0, Some(0.0)));
        assert_eq!(rate(&[], Unit::PerSecond, Load::default(), 0), None);
    }

    #[test]
    fn two_disks_are_one_sum_and_a_reading_that_lacks_one_is_left_out() {
        let mut samples = vec![sample(0, "disk a", 1), sample(0, "disk b", 10)];
        samples.extend([sample(1, "disk a", 3), sample(2, "disk a", 5), sample(2, "disk b", 30)]);
        let both = ["disk a".into(), "disk b".into()];
        assert_eq!(growth(&samples, &both, "reads", 0), [(24.0, 2.0)]);
        samples.push(sample(3, "disk a", 0));
        samples.push(sample(3, "disk b", 0));
        assert_eq!(growth(&samples, &both, "reads", 0).len(), 1, "backwards");
    }

    #[test]
    fn a_disk_between_two_points_is_taken_along_the_line() {
        let point = |iops: f64, ms: f64| CurvePoint {
            load: Load { small: ms as u32, large: 0 },
            iops,
            iops_half_width: None,
            mbps: 0.0,
            latency: LatencyFigures {
                mean_ns: ms * 1e6,
                mean_half_width_ns: None,
                percentiles: Vec::new(),
                max_ns: 0,
                min_ns: 0,
                count: 1,
                effective: 1.0,
                over_limit: None,
            },
            exploring: false,
            run: None,
        };
        let points = vec![point(1000.0, 1.0), point(3000.0, 3.0), point(2900.0, 6.0)];
        let curve = Curve { name: CurveName::SmallReads, points, knee: None };
        assert_eq!(disk_at_latency(&curve, 0.5e6), None);
        assert_eq!(disk_at_latency(&curve, 2e6), Some(2000.0));
        assert_eq!(disk_at_latency(&curve, 9e6), Some(3000.0));
        assert_eq!(disk_latency_at(&curve, 10.0), Some(1e6));
        assert_eq!(disk_latency_at(&curve, 2000.0), Some(2e6));
        assert_eq!(disk_latency_at(&curve, 4000.0), None);
    }
}
