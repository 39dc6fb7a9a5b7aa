//! Figures of tests: those of bonnie++'s own table, and those of the record.

use crate::{Figure, Test};
use fathom_record::{Counts, FigureName, Purpose, Run};
use fathom_session::Figures;
use fathom_session::measurement::figures_of;
use fathom_spec::{StreamId, Verb};
use std::collections::BTreeMap;

/// What bonnie++ would have measured.
pub fn table_figure(test: Test, run: &Run) -> Figure {
    let first = run.workers.iter().map(|worker| worker.span_ns.0).min().unwrap_or(0);
    let last = run.workers.iter().map(|worker| worker.span_ns.1).max().unwrap_or(0);
    let counted = |of: fn(&Counts) -> u64| {
        // The first verb is the test's: a rewrite and a seek read before they write.
        run.workers
            .iter()
            .filter_map(|worker| worker.counts.first())
            .map(|(_, counts)| of(counts))
            .sum::<u64>()
    };
    let amount = match test {
        Test::Seek => counted(|counts| counts.operations) as f64,
        test if test.is_of_files() => counted(|counts| counts.operations) as f64,
        _ => counted(|counts| counts.bytes) as f64 / 1024.0,
    };
    let longest = |stream| {
        run.merged(stream).map_or(0, |all| {
            let calls = all.cells.iter().filter(|(verb, _)| *verb != Verb::Sync);
            let kept = calls.filter_map(|(_, cell)| cell.service.as_ref());
            kept.map(|latency| latency.max_ns).max().unwrap_or(0)
        })
    };
    let streams = (0..run.plan.streams.len() as u32).map(StreamId);
    let longest_ns = streams.map(longest).max().unwrap_or(0);
    Figure {
        amount,
        elapsed_s: last.saturating_sub(first) as f64 / 1e9,
        cpu_s: run.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum::<u64>() as f64 / 1e9,
        longest_us: longest_ns.div_ceil(1000),
    }
}

/// What a test's run is worth. A byte a call goes through the C library's buffer and the page cache, also with `-D`: it
/// tells of the CPU, and no figure of the storage rests on it.
pub fn purpose(test: Test) -> Purpose {
    match test {
        Test::WriteCharacters | Test::ReadCharacters => Purpose::Exploring,
        _ => Purpose::Load,
    }
}

/// Which figures of a test's run stand in the record, and under which names.
fn names(test: Test) -> &'static [(FigureName, FigureName)] {
    match test {
        Test::Write => &[
            (FigureName::Mbps, FigureName::SequentialWriteMbps),
            (FigureName::WriteLatency, FigureName::WriteLatency),
        ],
        Test::Read => &[(FigureName::Mbps, FigureName::SequentialReadMbps)],
        Test::Seek => {
            &[(FigureName::Iops, FigureName::Iops), (FigureName::ReadLatency, FigureName::ReadLatency)]
        }
        _ => &[],
    }
}

/// The figures of the record, of each test's last run; `tests` are those of the runs, in their order.
pub fn record_figures(runs: &[Run], tests: &[Test]) -> Figures {
    let mut summary = BTreeMap::new();
    for (index, (run, test)) in runs.iter().zip(tests).enumerate() {
        if names(*test).is_empty() {
            continue;
        }
        let mut figures = figures_of(run, index);
        for (from, to) in names(*test) {
            summary.extend(figures.remove(from).map(|figure| (*to, figure)));
        }
    }
    Figures::Own(summary, Vec::new())
}
