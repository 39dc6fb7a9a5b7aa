//! The figures of a job: of each kind of half the last one, and of several threads what they did together.

use super::runner::RunOf;
use crate::Half;
use fathom_record::{Figure, FigureName, Run, Unit};
use fathom_session::Figures;
use fathom_session::measurement::figures_of;
use fathom_spec::{Pattern, Plan, Work};
use std::collections::{BTreeMap, BTreeSet};

/// In the order in which a pass does them.
const HALVES: [Half; 6] =
    [Half::Write, Half::ReadAfterWrite, Half::Percentages, Half::Copy, Half::Verify, Half::Read];

/// The figures of these runs. Where all halves are of one kind they are those of a load.
pub fn figures(runs: &[Run], of: &[RunOf]) -> Figures {
    let last = |half: Half| -> BTreeMap<u32, usize> {
        let of_half = of.iter().filter(|of| of.half == half && is_a_pass(runs, of));
        of_half.map(|of| (of.thread, of.index)).collect()
    };
    let there: Vec<(Half, BTreeMap<u32, usize>)> =
        HALVES.map(|half| (half, last(half))).into_iter().filter(|(_, last)| !last.is_empty()).collect();
    let mut summary = BTreeMap::new();
    for (half, last) in &there {
        let each: Vec<_> = last.values().map(|index| figures_of(&runs[*index], *index)).collect();
        let order = last.values().next().map_or(Order::Other, |index| Order::of(&runs[*index].plan));
        for (name, figure) in joined(each) {
            let name = if there.len() == 1 { Some(name) } else { renamed(name, *half, order) };
            summary.extend(name.map(|name| (name, figure)));
        }
    }
    Figures::Own(summary, Vec::new())
}

/// A record that is read again is no pass.
fn is_a_pass(runs: &[Run], of: &RunOf) -> bool {
    runs.get(of.index).is_some_and(|run| run.purpose == fathom_record::Purpose::Load)
}

/// The order in which records come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
    Other,
}

impl Order {
    fn of(plan: &Plan) -> Self {
        let Some(Work::Blocks(blocks)) = plan.streams.first().map(|stream| &stream.work) else {
            return Order::Other;
        };
        match &blocks.pattern {
            Pattern::Sequential(_) => Order::Sequential,
            Pattern::VariableRecords(rules) => match rules.random_percent {
                (0, 0) if !rules.backwards => Order::Sequential,
                (100, 100) => Order::Random,
                _ => Order::Other,
            },
            _ => Order::Other,
        }
    }
}

/// The name of a figure where a pass has several halves; none for what only one of them can have.
fn renamed(name: FigureName, half: Half, order: Order) -> Option<FigureName> {
    match (name, half, order) {
        (FigureName::Mbps, Half::Read, Order::Sequential) => Some(FigureName::SequentialReadMbps),
        (FigureName::Mbps, Half::Read, Order::Random) => Some(FigureName::RandomReadMbps),
        (FigureName::Mbps, Half::Write, Order::Sequential) => Some(FigureName::SequentialWriteMbps),
        (FigureName::Iops, Half::Write, Order::Random) => Some(FigureName::RandomWriteIops),
        (FigureName::Mbps | FigureName::Iops | FigureName::ResponseTime, Half::Write, _) => None,
        (FigureName::Iops, Half::Read, Order::Sequential) => None,
        // A comparison is the check of a copy, which is the load.
        (FigureName::Mbps | FigureName::Iops | FigureName::ReadLatency, Half::Verify, _) => None,
        _ => Some(name),
    }
}

/// What threads did together: their throughputs add up, and so do the squares of the errors. Their latencies are in their runs.
fn joined(mut each: Vec<BTreeMap<FigureName, Figure>>) -> BTreeMap<FigureName, Figure> {
    if each.len() < 2 {
        return each.pop().unwrap_or_default();
    }
    let names: BTreeSet<FigureName> = each.iter().flat_map(|figures| figures.keys().copied()).collect();
    let mut all = BTreeMap::new();
    for name in names {
        let parts: Vec<&Figure> = each.iter().filter_map(|figures| figures.get(&name)).collect();
        let adds_up = matches!(parts[0].unit, Unit::PerSecond | Unit::MebibytesPerSecond);
        if parts.len() < each.len() || !adds_up {
            continue;
        }
        let squares: Option<f64> = parts.iter().map(|part| part.half_width.map(|half| half * half)).sum();
        let sum = Figure {
            value: parts.iter().map(|part| part.value).sum(),
            half_width: squares.map(f64::sqrt),
            converged: parts.iter().all(|part| part.converged),
            load: None,
            latency: None,
            run: None,
            note: Some(format!("the sum of {} threads, which began together", parts.len())),
            ..parts[0].clone()
        };
        all.insert(name, sum);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PassFacts, parse, plan};
    use fathom_record::{Counts, WorkerTotals};
    use fathom_spec::{StreamId, Verb};

    /// A second in which a half moved so many records of 1 MiB.
    fn run(words: &str, half: Half, records: u64) -> Run {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let options = parse(&words, 4096).unwrap();
        let facts = PassFacts { length: 64 << 20, file: true, ..PassFacts::default() };
        let mut run = Run::empty(&plan(&options, &facts, 1, half));
        let counts = Counts { operations: records, bytes: records << 20, ..Counts::default() };
        run.workers.push(WorkerTotals {
            counts: vec![(if half.writes() { Verb::Write } else { Verb::Read }, counts)],
            ..WorkerTotals::finished(StreamId(0), 0, (0, 1_000_000_000))
        });
        run
    }

    fn values(runs: &[(Half, u32, Run)]) -> Vec<(FigureName, f64)> {
        let of = runs.iter().enumerate();
        let of: Vec<_> =
            of.map(|(index, (half, thread, _))| RunOf { half: *half, thread: *thread, index }).collect();
        let runs: Vec<Run> = runs.iter().map(|(_, _, run)| run.clone()).collect();
        let Figures::Own(summary, _) = figures(&runs, &of) else { panic!() };
        summary.into_iter().map(|(name, figure)| (name, figure.value)).collect()
    }

    #[test]
    fn one_kind_of_half_has_the_figures_of_a_load_and_the_last_pass_counts() {
        let read = |records| (Half::Read, 1, run("if=f bs=1m", Half::Read, records));
        assert_eq!(values(&[read(10), read(20)]), [(FigureName::Iops, 20.0), (FigureName::Mbps, 20.0)]);
    }

    #[test]
    fn writes_and_reads_at_random_places_are_told_apart() {
        let words = "of=f bs=1m limit=64m iotype=random";
        let write = (Half::Write, 1, run(words, Half::Write, 10));
        let read = (Half::Read, 1, run(words, Half::Read, 30));
        assert_eq!(
            values(&[write, read]),
            [
                (FigureName::RandomReadMbps, 30.0),
                (FigureName::RandomWriteIops, 10.0),
                (FigureName::Iops, 30.0)
            ]
        );
    }

    #[test]
    fn throughputs_of_threads_add_up() {
        let read = |thread, records| (Half::Read, thread, run("if=f bs=1m threads=2", Half::Read, records));
        assert_eq!(
            values(&[read(1, 10), read(2, 12), read(1, 20)]),
            [(FigureName::Iops, 32.0), (FigureName::Mbps, 32.0)]
        );
    }
}
