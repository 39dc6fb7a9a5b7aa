//! Whole calibrations on a model device.

use super::*;
use crate::model::{Model, calibrate, question};

use crate::schedule::Question;
use crate::verdict::Evidence;
use fathom_record::{BoundBy, CheckOutcome, Counts, Interval, Sample, WindowSpan, WorkerTotals};
use fathom_spec::{Nanos, StreamId, Verb};

fn runs(model: &Model, question: Question) -> Vec<Run> {
    calibrate(model, question).1
}

fn frame() -> Frame {
    Frame {
        limit: question(60).limit,
        precision: Precision::Fast,
        around: Surroundings {
            simulated: true,
            small_most: Some(1024),
            large_most: Some(64),
            ..Default::default()
        },
        expected: Vec::new(),
    }
}

#[test]
fn a_device_of_eight_ways_has_the_figures_of_its_formula() {
    let runs = runs(&Model::new(8), question(60));
    let Summary { figures, curves, expectations, notes } = summarize(&runs, &frame());
    assert!(expectations.is_empty());
    let value = |name| figures[&name].value;
    assert_eq!(value(FigureName::MaxIops), 80_000.0);
    assert_eq!(value(FigureName::Latency), 100_000.0);
    assert_eq!(value(FigureName::UnloadedLatency), 100_000.0);
    let small = |name| figures[&name].load.unwrap().small;
    assert_eq!(small(FigureName::UnloadedLatency), 1);
    assert_eq!((value(FigureName::KneeIops), small(FigureName::KneeIops)), (80_000.0, 8));
    assert_eq!(value(FigureName::EighthIops), 80_000.0);
    // 16 pieces of 64 KiB of 100 us each, eight at a time.
    assert_eq!(value(FigureName::MaxMbps), 5_000.0);
    assert_eq!(value(FigureName::MaxPmbps), 5_000.0);
    assert_eq!(value(FigureName::GroupCommits16), 80_000.0);
    assert_eq!(value(FigureName::CachedBelow), 0.0);
    assert_eq!(figures[&FigureName::MaxIops].bound.as_ref().unwrap().by, BoundBy::Device);
    assert!(figures[&FigureName::MaxIops].converged);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(curves.len(), 7);
}

#[test]
fn a_latency_limit_that_holds_the_load_is_named() {
    let question = Question { limit: "50us".parse().unwrap(), ..question(60) };
    let runs = runs(&Model::new(8), question);
    let summary = summarize(&runs, &Frame { limit: question.limit, ..frame() });
    let figure = &summary.figures[&FigureName::MaxIops];
    assert_eq!((figure.load.unwrap().small, figure.value), (1, 10_000.0));
    assert_eq!(figure.bound.as_ref().unwrap().by, BoundBy::LatencyLimit);
    assert_eq!(figure.latency.as_ref().unwrap().over_limit, Some(1.0));
}

#[test]
fn a_control_groups_limit_is_found_to_be_the_bound_and_is_met_exactly() {
    for limit in [500.0, 5_000.0, 20_000.0] {
        let runs = runs(&Model { throttle: limit, ..Model::new(8) }, question(60));
        let mut frame = frame();
        frame.around.read_iops_limit = Some(limit);
        let figure = summarize(&runs, &frame).figures[&FigureName::MaxIops].clone();
        assert!((figure.value - limit).abs() < 1e-9 * limit, "{} {limit}", figure.value);
        assert_eq!(figure.bound.unwrap().by, BoundBy::Cgroup);
    }
}

#[test]
fn a_sample_that_is_faster_when_read_again_came_from_a_cache() {
    let runs = runs(&Model { again: 10, ..Model::new(8) }, question(60));
    let summary = summarize(&runs, &frame());
    assert_eq!(summary.figures[&FigureName::CachedBelow].value, 1.0);
    let evidence = Evidence::of_runs(&runs, Precision::Fast);
    assert_eq!((evidence.cached_again, evidence.faster_than_flash), (Some(1.0), Some(0.0)));
}

#[test]
fn what_is_expected_and_not_reached_is_said() {
    let runs = runs(&Model::new(8), question(60));
    let expected = |name, figure, of, wanted| Expected { name, figure, of, wanted };
    let p99 = ExpectedValue::Percentile(0.99);
    let expected = vec![
        expected("iops", FigureName::MaxIops, ExpectedValue::Value, 100_000.0),
        expected("latency", FigureName::MaxIops, ExpectedValue::MeanLatency, 2e6),
        expected("p99", FigureName::MaxIops, p99, 1e3),
        expected("log", FigureName::LogMbps, ExpectedValue::Value, 100.0),
    ];
    let summary = summarize(&runs, &Frame { expected, ..frame() });
    let told: Vec<_> = summary.expectations.iter().map(|e| (e.name.as_str(), e.outcome)).collect();
    use ExpectationOutcome::{Reached, Short, Unknown};
    assert_eq!(told, [("iops", Short), ("latency", Reached), ("p99", Short), ("log", Unknown)]);
    assert_eq!(summary.expectations[0].found, Some(80_000.0));
}

#[test]
fn a_calibration_cut_short_shows_what_it_has() {
    let mut runs = runs(&Model::new(8), question(60));
    runs.truncate(4);
    let figure = summarize(&runs, &frame()).figures[&FigureName::MaxIops].clone();
    assert_eq!((figure.value, figure.converged), (80_000.0, false));
    assert!(figure.note.unwrap().starts_with("rests on an exploring point"));
}

#[test]
fn writes_of_the_device_are_counted_for_each_commit() {
    let mut runs = runs(&Model::new(8), question(60));
    for run in runs.iter_mut().filter(|r| r.phase == Some(Phase::CommitFdatasync)) {
        let commits = run.workers[0].counts[0].1.operations;
        for (at_ns, value) in [(0, 7), (run.length_ns, 7 + 3 * commits)] {
            run.samples.push(Sample { at_ns, of: "disk vdb".into(), name: "writes".into(), value });
        }
    }
    let figures = summarize(&runs, &frame()).figures;
    assert_eq!(figures[&FigureName::DeviceWritesPerCommit].value, 3.0);
    // Regression: our own limit of 30,000 writes a second was said to be the device's, for 10,000 commits are far below it.
    let mut limited = frame();
    limited.around.write_iops_limit = Some(30_000.0);
    let bound =
        |frame: &Frame| summarize(&runs, frame).figures[&FigureName::CommitsPerSecond].bound.clone().unwrap();
    assert_eq!((bound(&limited).by, bound(&frame()).by), (BoundBy::Cgroup, BoundBy::Device));
}

#[test]
fn percentiles_with_too_few_samples_behind_them_say_why() {
    let mut runs = runs(&Model { service_ns: 10_000_000, ..Model::new(1) }, question(5));
    runs.truncate(1);
    let summary = summarize(&runs, &frame());
    let latency = summary.figures[&FigureName::MaxIops].latency.clone().unwrap();
    let last = latency.percentiles.last().unwrap();
    assert_eq!((last.quantile, last.value_ns), (0.999, None));
    assert!(last.why.as_ref().unwrap().starts_with("needs 1000 operations, has "), "{last:?}");
}

/// A run of 100 ms slots in which so many reads came back, each in a millisecond; 0 leaves no trace in the intervals.
fn counted(operations: &[u64]) -> Run {
    let plan = crate::plan::tests::planner().plan(
        Phase::SmallReads,
        8,
        crate::plan::Length::Window { before: Nanos(0), length: Nanos::from_seconds(1) },
        1,
    );
    let mut run = Run { purpose: Purpose::Load, ..Run::empty(&plan) };
    let slot_ns = plan.slot.0;
    let to_ns = operations.len() as u64 * slot_ns;
    run.windows.push(WindowSpan { stream: StreamId(0), from_ns: 0, to_ns });
    for (at, operations) in (0..).zip(operations) {
        let mut interval = Interval::new(StreamId(0), 0, Vec::new(), 1);
        (interval.start_ns, interval.length_ns) = (at * slot_ns, slot_ns);
        interval.slots[0][0].operations = *operations;
        interval.slots[0][0].latency_sum_ns = operations * 1_000_000;
        run.take(&interval);
    }
    run
}

#[test]
fn slots_in_which_nothing_came_back_are_part_of_the_window() {
    let bursts: Vec<u64> = (0..60).map(|i| if i % 2 == 0 { 100 } else { 0 }).collect();
    let observed = Observed::of(&counted(&bursts)).unwrap();
    assert_eq!((observed.rate, observed.slots.len()), (1000.0, 60));
    // The grain of one burst of 100 in 3 s.
    let half = observed.rate_half_width().unwrap();
    assert!((half - 1.959_964 * 100.0 / (6.0_f64.sqrt() * 3.0)).abs() < 0.01, "{half}");
    let stopped: Vec<u64> = (0..60).map(|i| if i < 30 { 50 } else { 0 }).collect();
    assert_eq!(Observed::of(&counted(&stopped)).unwrap().rate, 500.0);
}

/// Regression: a throttle went from 3000 to 2000 reads a second at 70 % of a run; all checks passed, and the cut of the
/// warm-up had the verdict look at other slots than the figure.
#[test]
fn a_step_within_a_load_fails_its_verdict_and_not_its_figure() {
    let step: Vec<u64> = (0..60).map(|i| if i < 42 { 150 } else { 100 } + i % 3).collect();
    let run = counted(&step);
    let evidence =
        Evidence { simulated: true, ..Evidence::of_runs(std::slice::from_ref(&run), Precision::Fast) };
    let check = evidence.checks().into_iter().find(|check| check.name == "steady state").unwrap();
    assert_eq!(check.outcome, CheckOutcome::Failed, "{check:?}");
    assert_eq!(Observed::of(&run).unwrap().sum.operations, step.iter().sum::<u64>());
}

/// A measurement of five pieces on a disk of two speeds: one window knows one of them, pieces know both.
#[test]
fn pieces_of_a_disk_with_two_speeds_hold_the_mean_of_both() {
    let piece = |each: u64| {
        let mut run = counted(&[each; 20]);
        (run.purpose, run.phase, run.load) =
            (Purpose::Headline, Some(Phase::SmallReads), Phase::SmallReads.load(8));
        run.name = Phase::SmallReads.run_name(8);
        run
    };
    let runs = [4600, 3300, 3400, 4500, 4600].map(piece);
    assert_eq!(pieces(&runs).len(), 1);
    let figure = summarize(&runs, &frame()).figures[&FigureName::MaxIops].clone();
    assert_eq!((figure.value, figure.run), (81_600.0, Some(0)));
    let half = figure.half_width.unwrap();
    assert!(half > 13_000.0 && half < 20_000.0, "{half}");
    assert!(Observed::of(&runs[0]).unwrap().rate_half_width().unwrap() < 1.0);
    let evidence = Evidence { simulated: true, ..Evidence::of_runs(&runs, Precision::Fast) };
    let told = evidence.checks().into_iter().find(|check| check.name == "one speed").unwrap();
    assert!(told.seen.ends_with("changes between 66000 and 92000 I/Os a second"), "{}", told.seen);
    assert_eq!(told.outcome, CheckOutcome::Noted);
}

#[test]
fn foreign_bytes_count_as_well_as_foreign_operations() {
    let mut run = counted(&[100; 20]);
    let counts = Counts { operations: 2000, bytes: 2000 * 8192, ..Counts::default() };
    run.workers.push(WorkerTotals {
        counts: vec![(Verb::Read, counts)],
        ..WorkerTotals::finished(StreamId(0), 0, (0, 1))
    });
    // Others wrote 20 MiB in 20 operations: 1 % of ours by number, 128 % by bytes.
    for (name, grew) in
        [("reads", 2000), ("writes", 20), ("sectors_read", 32_000), ("sectors_written", 40_960)]
    {
        for (at_ns, value) in [(0, 5), (1, 5 + grew)] {
            run.samples.push(Sample { at_ns, of: "disk vdb".into(), name: name.into(), value });
        }
    }
    let evidence = Evidence::of_runs(&[run], Precision::Fast);
    assert_eq!(evidence.foreign_share, Some(1.28));
}

#[test]
fn a_sustained_load_names_the_moment_at_which_it_changed() {
    let mut runs = runs(&Model::new(8), question(60));
    let mut held = runs.remove(0);
    (held.name, held.phase) = (Phase::Sustained.run_name(8), Some(Phase::Sustained));
    let slot = held.intervals[0].slots[0];
    held.intervals[0].slots = (0..2400)
        .map(|i| {
            let mut slot = slot;
            slot[0].operations = if i < 1200 { 4000 + i % 3 } else { 1000 + i % 3 };
            slot
        })
        .collect();
    held.intervals[0].start_ns = 0;
    held.intervals[0].length_ns = 2400 * 50_000_000;
    let summary = summarize(&[held], &frame());
    assert_eq!(summary.notes.len(), 1);
    assert_eq!(summary.notes[0].text, "after 1 min 0 s throughput went from 80020 to 20020 IOPS (-75 %)");
}
