//! Whole calibrations on a model device.

use super::*;
use crate::model::{Model, calibrate, question};
use crate::schedule::Question;
use crate::verdict::Evidence;
use fathom_record::{BoundBy, Sample};

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
        expect: Expect::default(),
    }
}

#[test]
fn a_device_of_eight_ways_has_the_figures_of_its_formula() {
    let runs = runs(&Model::new(8), question(60));
    let Summary { figures, curves, notes } = summarize(&runs, &frame());
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
    let expect = Expect { iops: Some(100_000.0), mbps: Some(4_000.0) };
    let summary = summarize(&runs, &Frame { expect, ..frame() });
    let texts: Vec<&str> = summary.notes.iter().map(|n| n.text.as_str()).collect();
    assert_eq!(texts, ["max_iops = 80000 is 20 % short of the 100000 expected"]);
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
    let run = runs.iter_mut().find(|r| r.phase == Some(Phase::CommitFdatasync)).unwrap();
    let commits = run.workers[0].counts[0].1.operations;
    for (at_ns, value) in [(0, 7), (run.length_ns, 7 + 3 * commits)] {
        run.samples.push(Sample { at_ns, of: "disk vdb".into(), name: "writes".into(), value });
    }
    assert_eq!(summarize(&runs, &frame()).figures[&FigureName::DeviceWritesPerCommit].value, 3.0);
}

#[test]
fn percentiles_with_too_few_samples_behind_them_say_why() {
    let mut runs = runs(&Model { service_ns: 10_000_000, ..Model::new(1) }, question(5));
    runs.truncate(1);
    let summary = summarize(&runs, &frame());
    let latency = summary.figures[&FigureName::MaxIops].latency.clone().unwrap();
    let last = latency.percentiles.last().unwrap();
    assert_eq!((last.quantile, last.value_ns), (0.999, None));
    assert!(last.why.as_ref().unwrap().starts_with("needs 10000 effective samples, has "), "{last:?}");
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
