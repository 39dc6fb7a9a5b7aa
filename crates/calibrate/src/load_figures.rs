//! The figures of one load that the user described: throughput, and the latency of each verb. No search, no phase.

use crate::observe::{CONFIDENCE, Observed};
use crate::quantiles::{latencies_by_interval, latency_figures};
use fathom_record::{Cell, Counts, EventKind, Figure, FigureName, Latency, LatencyFigures, Note, Run, Unit};
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

/// A stretch without a completion is told from this length on, and where so many operations would have come back in it.
const SILENCE_SECONDS: f64 = 0.5;
const SILENCE_OPERATIONS: f64 = 20.0;

/// What of one load no figure tells: how long nothing came back, and what could not be started.
pub fn load_notes(run: &Run) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(observed) = Observed::of(run)
        && let Some((at, slots)) = longest_silence(&observed.slots)
    {
        let seconds = slots as f64 * observed.slot_seconds;
        if seconds >= SILENCE_SECONDS && seconds * observed.rate >= SILENCE_OPERATIONS {
            let began = observed.start_ns as f64 / 1e9 + at as f64 * observed.slot_seconds;
            let text = format!("nothing came back for {seconds:.1} s at second {began:.0}");
            notes.push(Note { text, hint: Some("see dmesg, and what else used the disk then".to_owned()) });
        }
    }
    for event in &run.events {
        if let EventKind::Unstarted { operations, .. } = event.what {
            let text = format!(
                "{operations} operations were due and could not be started: the device cannot keep the rate, and their \
                 response times are in no figure"
            );
            notes.push(Note {
                text,
                hint: Some("ask for a lower rate, or for more outstanding I/Os".to_owned()),
            });
        }
    }
    notes
}

/// The longest run of slots in which nothing came back: its first slot and its length.
fn longest_silence(slots: &[Counts]) -> Option<(usize, usize)> {
    let mut longest: Option<(usize, usize)> = None;
    let mut length = 0;
    for (at, slot) in slots.iter().enumerate() {
        length = if slot.operations == 0 { length + 1 } else { 0 };
        if length > longest.map_or(0, |(_, most)| most) {
            longest = Some((at + 1 - length, length));
        }
    }
    longest
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
    use fathom_record::{Event, Interval, WindowSpan, WorkerTotals};
    use fathom_spec::{Plan, StreamId};

    #[test]
    fn a_stall_and_what_was_not_started_are_told() {
        let plan = Plan::new(1);
        let mut run = Run::empty(&plan);
        let (slot_ns, slots) = (plan.slot.0, 400);
        run.windows.push(WindowSpan { stream: StreamId(0), from_ns: 0, to_ns: slots * slot_ns });
        for at in (0..slots).filter(|at| !(200..220).contains(at)) {
            let mut interval = Interval::new(StreamId(0), 0, Vec::new(), 1);
            (interval.start_ns, interval.length_ns) = (at * slot_ns, slot_ns);
            interval.slots[0][0].operations = 50;
            run.take(&interval);
        }
        let what = EventKind::Unstarted { stream: StreamId(0), operations: 9968 };
        run.events.push(Event { at_ns: 0, what });
        let texts: Vec<String> = load_notes(&run).into_iter().map(|note| note.text).collect();
        assert_eq!(texts[0], "nothing came back for 1.0 s at second 10");
        assert!(texts[1].starts_with("9968 operations were due and could not be started"), "{texts:?}");
    }

    /// Of a rate of 1,000 operations with updates 1,194 were told: commits stood beside them.
    #[test]
    fn an_update_and_its_commit_are_one_operation_and_its_time_is_both() {
        let plan = Plan::new(1);
        let mut run = Run::empty(&plan);
        let (slot_ns, slots) = (plan.slot.0, 40);
        run.windows.push(WindowSpan { stream: StreamId(0), from_ns: 0, to_ns: slots * slot_ns });
        let cells = [Verb::Select, Verb::Update, Verb::Commit].map(|verb| (verb, Cell::default())).to_vec();
        for at in 0..slots {
            let mut interval = Interval::new(StreamId(0), 0, cells.clone(), 1);
            (interval.start_ns, interval.length_ns) = (at * slot_ns, slot_ns);
            for (cell, operations) in [80, 20, 20].into_iter().enumerate() {
                let latency_sum_ns = operations * 1000;
                interval.slots[0][cell] = Counts { operations, latency_sum_ns, ..Counts::default() };
            }
            run.take(&interval);
        }
        let observed = Observed::of(&run).unwrap();
        assert_eq!(observed.rate, 100.0 / (slot_ns as f64 / 1e9));
        assert_eq!(observed.mean_ns(), Some(1200.0));
    }

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
