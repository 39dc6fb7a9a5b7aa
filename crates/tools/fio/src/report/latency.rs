//! Latencies as the report tells them: the object of one in JSON, and one less the part that was another.

use super::buckets;
use super::job::ReportJob;
use super::tree::{Tree, object};
use fathom_record::Latency;

/// One latency; with a job also its percentiles, where there is anything to take them of.
pub(crate) fn latency(latency: &Latency, with_percentiles: Option<&ReportJob>, plus: bool) -> Tree {
    let (min, max) = if latency.count == 0 { (0, 0) } else { (latency.min_ns, latency.max_ns) };
    let mut tree = object([
        ("min", Tree::from(min)),
        ("max", Tree::from(max)),
        ("mean", Tree::from(latency.mean_ns().unwrap_or(0.0))),
        ("stddev", Tree::from(latency.deviation_ns().unwrap_or(0.0))),
        ("N", Tree::from(latency.count)),
    ]);
    let Some(job) = with_percentiles.filter(|_| latency.count > 0) else { return tree };
    let mut list = job.percentiles.clone();
    list.sort_by(f64::total_cmp);
    let values = buckets::percentiles(latency, &list);
    let pairs = list.iter().zip(values).map(|(percent, ns)| (format!("{percent:.6}"), Tree::from(ns)));
    tree.push("percentile", object(pairs));
    if plus {
        let filled = buckets::filled(latency).into_iter();
        let pairs = filled.map(|(bucket, count)| (buckets::value(bucket).to_string(), Tree::from(count)));
        tree.push("bins", object(pairs));
    }
    tree
}

/// The completion's part of a latency: the mean is exact, the extremes are bounded by those of the parts, the spread
/// and the shape are the whole's, moved by the submission's mean.
pub(super) fn less(lat: &Latency, slat: &Latency) -> Latency {
    let mean = slat.sum_ns / slat.count.max(1);
    if mean == 0 {
        return lat.clone();
    }
    let mut part = Latency {
        count: lat.count,
        min_ns: lat.min_ns.saturating_sub(mean),
        max_ns: lat.max_ns.saturating_sub(slat.min_ns.min(mean)),
        sum_ns: lat.sum_ns.saturating_sub(slat.sum_ns),
        ..Latency::default()
    };
    let spread = lat.deviation_ns().unwrap_or(0.0).powi(2);
    let center = part.mean_ns().unwrap_or(0.0).powi(2);
    part.sum_squares = (spread + center) * part.count as f64;
    if let (Some(to), Some(from)) = (&mut part.bins, &lat.bins) {
        for (bin, count) in from.filled() {
            to.add_many(fathom_record::Histogram::lower_edge(bin).saturating_sub(mean), count);
        }
    }
    part
}
