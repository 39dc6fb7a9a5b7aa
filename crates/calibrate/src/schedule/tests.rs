//! Whole calibrations on a model device.

use super::*;
use crate::model::{Model, calibrate, question};
use crate::plan::tests::planner;
use crate::search::Ended;
use proptest::prelude::*;

#[test]
fn a_minute_finds_the_ways_of_any_device_exactly() {
    for ways in [1, 8, 32, 256] {
        let (calibration, runs, _) = calibrate(&Model::new(ways), question(60));
        let found = calibration.found(Phase::SmallReads);
        assert_eq!(found, Some(Found { load: ways, ended: Ended::Saturated }), "{ways}");
        let headline = runs
            .iter()
            .rfind(|r| r.purpose == Purpose::Headline && r.name == Phase::SmallReads.run_name(ways))
            .unwrap();
        let observed = Observed::of(headline).unwrap();
        assert_eq!(observed.rate, f64::from(ways) * 10_000.0);
        let missing: Vec<_> = calibration
            .notes(None)
            .into_iter()
            .filter(|note| note.text.starts_with("not measured"))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn the_number_of_disks_leaves_the_answer_as_it_is() {
    for disks in [1, 3, 28, 100] {
        let (calibration, ..) = calibrate(&Model::new(24), Question { disks, ..question(60) });
        assert_eq!(calibration.found(Phase::SmallReads).unwrap().load, 24);
    }
}

#[test]
fn exploring_points_last_a_second_and_all_phases_have_their_figure() {
    let model = Model { noise: 0.95, ..Model::new(8) };
    let (_, runs, spent) = calibrate(&model, question(60));
    assert!(spent.seconds() > 40.0, "{spent}");
    for run in runs.iter().filter(|r| r.purpose == Purpose::Exploring) {
        assert!(run.length_ns >= 1_000_000_000, "{}", run.name);
    }
    for phase in Phase::ALL {
        let there = runs.iter().any(|r| r.phase == Some(phase) && r.purpose != Purpose::Exploring);
        assert_eq!(there, !matches!(phase, Phase::Mixed | Phase::Sustained), "{phase:?}");
    }
    let of = |group: &[Phase]| -> f64 {
        let of = |r: &&Run| r.phase.is_some_and(|p| group.contains(&p));
        runs.iter().filter(of).map(|r| r.length_ns as f64 / 1e9).sum()
    };
    let small = of(&[Phase::SmallReads, Phase::EighthReads]);
    assert!((10.0..26.0).contains(&small), "{small}");
}

#[test]
fn reading_only_writes_nothing() {
    let (_, runs, _) = calibrate(&Model::new(8), Question { read_only: true, ..question(60) });
    assert!(runs.iter().all(|r| !r.phase.unwrap().writes()));
}

#[test]
fn strict_lengthens_the_budget_and_says_by_how_much() {
    let strict = Question { precision: Precision::Strict, ..question(60) };
    assert_eq!(strict.stretched().unwrap(), "+-2 % needs more time: the budget is 4 min instead of 60 s");
    assert_eq!(question(60).stretched(), None);
}

#[test]
fn the_dry_run_names_every_step() {
    let steps = Calibration::new(question(60), planner()).outline();
    assert_eq!(steps.len(), 20);
    assert_eq!(
        (steps[0].phase.title(), steps[0].what.as_str()),
        ("small reads", "search the best load, points of 1 s")
    );
}

#[test]
fn a_run_that_could_not_be_made_is_left_out_and_the_rest_goes_on() {
    let mut calibration = Calibration::new(question(60), planner());
    let mut steps = 0;
    while let Step::Run(_) = calibration.next(Nanos(0), None) {
        steps += 1;
        assert!(steps < 100);
    }
    assert!(!calibration.notes(None).is_empty());
    let hints = |longer| calibration.notes(longer).into_iter().all(|note| note.hint.is_some());
    assert!(hints(Some("--time 3m")) && !hints(None), "a simulated device has no use for more time");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_budget_is_never_exceeded(
        seconds in 5u64..600, ways in 1u32..300, overhead_ms in 0u64..50, noise in 0.0f64..0.5, read_only: bool,
    ) {
        let model = Model { noise, overhead_ns: overhead_ms * 1_000_000, ..Model::new(ways) };
        let question = Question { read_only, mixed: !read_only, ..question(seconds) };
        let (calibration, runs, spent) = calibrate(&model, question);
        prop_assert!(spent <= question.budget(), "{spent} of {}", question.budget());
        prop_assert!(!runs.is_empty());
        prop_assert!(calibration.found(Phase::SmallReads).is_some());
    }
}
