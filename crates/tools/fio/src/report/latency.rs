//! A latency as JSON tells it.

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
