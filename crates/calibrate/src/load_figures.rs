//! The figures of one load that the user described: throughput, and the latency of each verb. No search, no phase.

use crate::observe::{CONFIDENCE, Observed, QUANTILES};
use fathom_record::{Figure, FigureName, Latency, LatencyFigures, Percentile, Run, Unit};
use fathom_spec::{MIB, StreamId, Verb};
use fathom_stats::percentile_supported;
use std::collections::BTreeMap;

/// The figures of one load, the first run of its record. Everything that was counted is in them.
pub fn load_figures(run: &Run) -> BTreeMap<FigureName, Figure> {
    let mut figures = BTreeMap::new();
    let Some(observed) = Observed::of(run, false) else { return without_slots(run) };
    let half_width = observed.rate_half_width();
    let per_operation = observed.sum.bytes as f64 / observed.sum.operations.max(1) as f64 / MIB as f64;
    figures.insert(
        FigureName::Iops,
        figure(run, observed.rate, half_width, Unit::PerSecond, Some(observed.figures(None))),
    );
    let mbps = observed.bytes_per_second / MIB as f64;
    figures.insert(
        FigureName::Mbps,
        figure(run, mbps, half_width.map(|h| h * per_operation), Unit::MebibytesPerSecond, None),
    );
    let share = observed.effective() / observed.latency.count.max(1) as f64;
    let verbs = [
        (FigureName::ReadLatency, Verb::Read),
        (FigureName::WriteLatency, Verb::Write),
        (FigureName::SyncLatency, Verb::Sync),
        (FigureName::SelectLatency, Verb::Select),
        (FigureName::UpdateLatency, Verb::Update),
        (FigureName::CommitLatency, Verb::Commit),
        (FigureName::ScanLatency, Verb::Scan),
    ];
    for (name, verb) in verbs {
        let (service, _) = latencies(run, |v| v == verb);
        if service.count > 0 {
            let mut shown = plain(&service, share);
            if service.count == observed.latency.count {
                shown = observed.figures(None);
            }
            figures.insert(
                name,
                figure(run, shown.mean_ns, shown.mean_half_width_ns, Unit::Nanoseconds, Some(shown)),
            );
        }
    }
    let (_, response) = latencies(run, |_| true);
    if response.count > 0 {
        let shown = plain(&response, share);
        figures.insert(
            FigureName::ResponseTime,
            figure(run, shown.mean_ns, None, Unit::Nanoseconds, Some(shown)),
        );
    }
    figures
}

/// A run that was over before one whole slot was: what the workers counted in all, without an error.
fn without_slots(run: &Run) -> BTreeMap<FigureName, Figure> {
    let mut figures = BTreeMap::new();
    let all = || run.workers.iter().flat_map(|w| &w.counts);
    let operations: u64 = all().map(|(_, counts)| counts.operations).sum();
    let bytes: u64 = all().map(|(_, counts)| counts.bytes).sum();
    let spans = || run.workers.iter().map(|w| w.span_ns);
    let first = spans().map(|span| span.0).min().unwrap_or(0);
    let last = spans().map(|span| span.1).max().unwrap_or(0);
    if operations == 0 || last <= first {
        return figures;
    }
    let seconds = (last - first) as f64 / 1e9;
    let short = |value: f64, unit| Figure {
        converged: false,
        note: Some("over before one whole slot was".to_owned()),
        ..figure(run, value, None, unit, None)
    };
    figures.insert(FigureName::Iops, short(operations as f64 / seconds, Unit::PerSecond));
    if bytes > 0 {
        let mbps = bytes as f64 / MIB as f64 / seconds;
        figures.insert(FigureName::Mbps, short(mbps, Unit::MebibytesPerSecond));
    }
    for (name, verb) in [(FigureName::ReadLatency, Verb::Read), (FigureName::WriteLatency, Verb::Write)] {
        let (service, _) = latencies(run, |v| v == verb);
        if service.count > 0 {
            let shown = plain(&service, 1.0);
            figures.insert(name, figure(run, shown.mean_ns, None, Unit::Nanoseconds, Some(shown)));
        }
    }
    figures
}

fn figure(
    run: &Run,
    value: f64,
    half_width: Option<f64>,
    unit: Unit,
    latency: Option<LatencyFigures>,
) -> Figure {
    Figure {
        value,
        half_width,
        confidence: CONFIDENCE,
        unit,
        converged: true,
        load: Some(run.load),
        latency,
        bound: None,
        run: Some(0),
        note: None,
    }
}

/// Service and response times of some verbs, all streams and intervals together.
fn latencies(run: &Run, wanted: impl Fn(Verb) -> bool) -> (Latency, Latency) {
    let (mut service, mut response) = (Latency::default(), Latency::default());
    for id in 0..run.plan.streams.len() as u32 {
        let Some(merged) = run.merged(StreamId(id)) else { continue };
        for (_, cell) in merged.cells.iter().filter(|(verb, _)| wanted(*verb)) {
            cell.service.iter().for_each(|latency| service.merge(latency));
            cell.response.iter().for_each(|latency| response.merge(latency));
        }
    }
    (service, response)
}

/// Latencies without an error of their own: they are worth the same share of samples as all I/Os of the run.
fn plain(latency: &Latency, share: f64) -> LatencyFigures {
    let effective = (latency.count as f64 * share).max(1.0);
    let percentile = |&quantile: &f64| match percentile_supported(quantile, effective) {
        Ok(()) => Percentile { quantile, value_ns: latency.quantile_ns(quantile), why: None },
        Err(few) => Percentile { quantile, value_ns: None, why: Some(few.to_string()) },
    };
    LatencyFigures {
        mean_ns: latency.mean_ns().unwrap_or(0.0),
        mean_half_width_ns: None,
        percentiles: QUANTILES.iter().map(percentile).collect(),
        max_ns: latency.max_ns,
        min_ns: if latency.count == 0 { 0 } else { latency.min_ns },
        count: latency.count,
        effective,
        over_limit: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{Counts, WorkerTotals};
    use fathom_spec::Plan;

    #[test]
    fn a_run_shorter_than_a_slot_has_both_throughputs_and_no_error() {
        let mut run = Run::empty(&Plan::new(1));
        let counts = Counts { operations: 4, bytes: 4 * MIB, ..Counts::default() };
        run.workers.push(WorkerTotals {
            counts: vec![(Verb::Write, counts)],
            ..WorkerTotals::finished(StreamId(0), 0, (0, 2_000_000))
        });
        let figures = load_figures(&run);
        let told = |name| figures.get(&name).map(|figure: &Figure| (figure.value, figure.half_width));
        assert_eq!(told(FigureName::Iops), Some((2000.0, None)));
        assert_eq!(told(FigureName::Mbps), Some((2000.0, None)));
        assert!(!figures[&FigureName::Mbps].converged);
    }
}
