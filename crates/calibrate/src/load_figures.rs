//! The figures of one load that the user described: throughput, and the latency of each verb. No search, no phase.

use crate::observe::{CONFIDENCE, Observed};
use crate::quantiles::{latencies_by_interval, latency_figures};
use fathom_record::{Cell, Figure, FigureName, Latency, LatencyFigures, Run, Unit};
use fathom_spec::{MIB, Verb};
use fathom_stats::{Slot, ratio_estimate};
use std::collections::BTreeMap;

/// The verbs whose latencies are figures.
const VERBS: [(FigureName, Verb); 7] = [
    (FigureName::ReadLatency, Verb::Read),
    (FigureName::WriteLatency, Verb::Write),
    (FigureName::SyncLatency, Verb::Sync),
    (FigureName::SelectLatency, Verb::Select),
    (FigureName::UpdateLatency, Verb::Update),
    (FigureName::CommitLatency, Verb::Commit),
    (FigureName::ScanLatency, Verb::Scan),
];

/// The figures of one load, the first run of its record. Everything that was counted is in them.
pub fn load_figures(run: &Run) -> BTreeMap<FigureName, Figure> {
    let mut figures = BTreeMap::new();
    let Some(observed) = Observed::of(run) else { return without_slots(run) };
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
    for (name, verb) in VERBS {
        if let Some(shown) = of_verb(run, verb, &observed) {
            let value = (shown.mean_ns, shown.mean_half_width_ns);
            figures.insert(name, figure(run, value.0, value.1, Unit::Nanoseconds, Some(shown)));
        }
    }
    let response = by_interval(run, |_| true, |cell| cell.response.as_deref());
    let all = together(&response);
    if all.count > 0 {
        let shown = latency_figures(&all, &response);
        let half_width = mean_half_width(&response);
        let shown = LatencyFigures { mean_half_width_ns: half_width, ..shown };
        figures.insert(
            FigureName::ResponseTime,
            figure(run, shown.mean_ns, half_width, Unit::Nanoseconds, Some(shown)),
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
    for (name, verb) in VERBS {
        let service = by_interval(run, |own| own == verb, |cell| cell.service.as_deref());
        let all = together(&service);
        if all.count > 0 {
            let shown = latency_figures(&all, &service);
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

/// Latencies of one verb; those of a load of this verb alone have the error of its slots.
fn of_verb(run: &Run, verb: Verb, observed: &Observed) -> Option<LatencyFigures> {
    let service = by_interval(run, |own| own == verb, |cell| cell.service.as_deref());
    let all = together(&service);
    if all.count == observed.latency.count && all.count > 0 {
        return Some(observed.figures(None));
    }
    let half_width = mean_half_width(&service);
    (all.count > 0)
        .then(|| LatencyFigures { mean_half_width_ns: half_width, ..latency_figures(&all, &service) })
}

/// A latency of some verbs, of each interval, all streams together.
fn by_interval<'r>(
    run: &'r Run,
    wanted: impl Fn(Verb) -> bool,
    of: impl Fn(&'r Cell) -> Option<&'r Latency>,
) -> Vec<Latency> {
    latencies_by_interval(run, |verb, cell| of(cell).filter(|_| wanted(verb)))
}

fn together(latencies: &[Latency]) -> Latency {
    latencies.iter().fold(Latency::default(), |mut all, latency| {
        all.merge(latency);
        all
    })
}

/// Half the interval of a mean, by intervals of time.
fn mean_half_width(latencies: &[Latency]) -> Option<f64> {
    let slot = |l: &Latency| Slot { numerator: l.sum_ns as f64, denominator: l.count as f64 };
    let slots: Vec<Slot> = latencies.iter().map(slot).collect();
    ratio_estimate(&slots, CONFIDENCE).map(|estimate| estimate.half_width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{Counts, WorkerTotals};
    use fathom_spec::{Plan, StreamId};

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
