//! A small, fixed part of the table that `examples/coverage.rs` prints, and false alarms of the tests for change.

// The example uses more of it than this test does.
#[allow(dead_code)]
#[path = "../examples/processes/mod.rs"]
mod processes;

use fathom_stats::{Decision, Slot, Steadiness, Stopper, StoppingRule, WarmUp, change_point, steadiness};
use processes::{Process, Source, coverage};

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    for (process, runs, target) in [
        (Process::Exponential, 400, 0.05),
        (Process::Lognormal, 400, 0.05),
        (Process::Autoregressive, 300, 0.05),
        (Process::QueueInSlots, 40, 0.05),
        (Process::Queue, 12, 0.05),
    ] {
        let result = coverage(process, StoppingRule::new(target, 200, 1 << 20), 0..runs);
        // Nominal .95 less three standard errors of so few runs.
        let least = 0.95 - 3.0 * (0.0475 / runs as f64).sqrt();
        assert!(result.share() >= least, "{}: {} of {runs}", process.name(), result.held);
        assert!(runs < 300 || result.share() <= 0.985, "{}: {} of {runs}", process.name(), result.held);
        assert_eq!(result.exhausted, 0, "{}", process.name());
    }
}

/// The share of runs of so many slots in which a test for change or drift cries wolf.
fn false_alarms(process: Process, slots: usize, alarm: impl Fn(&[f64]) -> bool) -> f64 {
    let runs = 300;
    let alarms = (0..runs)
        .filter(|seed| {
            let mut source = Source::new(process, *seed);
            let series: Vec<f64> = (0..slots).map(|_| source.slot().numerator).collect();
            alarm(&series)
        })
        .count();
    alarms as f64 / runs as f64
}

#[test]
fn correlation_is_rarely_taken_for_a_change() {
    for (process, slots) in [(Process::Lognormal, 600), (Process::Autoregressive, 600)] {
        let changes = false_alarms(process, slots, |s| change_point(s, 20, 0.01).is_some());
        assert!(changes <= 0.03, "{}: change in {changes}", process.name());
        let drifts = false_alarms(process, slots, |s| steadiness(s, 0.1) != Steadiness::Steady);
        assert!(drifts <= 0.03, "{}: drift in {drifts}", process.name());
    }
}

#[test]
fn a_constant_converges_at_the_second_look() {
    let mut stopper = Stopper::new(StoppingRule::new(0.05, 40, 1000));
    let decisions: Vec<Decision> = (0..80).map(|_| stopper.push(Slot::of(7.0))).collect();
    assert_eq!(decisions.iter().position(|d| *d != Decision::Continue), Some(79));
    let outcome = stopper.finish();
    assert_eq!((outcome.converged, outcome.slots, outcome.warm_up), (true, 80, WarmUp::Cut(0)));
    assert_eq!(outcome.estimate.map(|e| (e.mean, e.half_width)), Some((7.0, 0.0)));
    // What comes later does not change the outcome.
    assert!(matches!(stopper.push(Slot::of(99.0)), Decision::Converged(_)));
    assert_eq!(stopper.finish(), outcome);
}

#[test]
fn what_does_not_converge_says_how_far_it_came() {
    let mut source = Source::new(Process::Queue, 1);
    let mut stopper = Stopper::new(StoppingRule::new(0.01, 100, 1000));
    let mut pushed = 1;
    while stopper.push(source.slot()) == Decision::Continue {
        pushed += 1;
    }
    let outcome = stopper.finish();
    assert_eq!((pushed, outcome.converged, outcome.slots), (1000, false, 1000));
    assert!(outcome.estimate.is_some_and(|e| e.relative() > 0.01));
}

#[test]
fn slots_without_operations_are_not_an_estimate() {
    let mut stopper = Stopper::new(StoppingRule::new(0.05, 20, 60));
    let last = (0..60).map(|_| stopper.push(Slot::default())).last();
    assert_eq!(last, Some(Decision::Exhausted));
    assert_eq!(stopper.finish().estimate, None);
}

/// Slots that hold more and less by turns, as a throttle's bursts make them, know their mean after a few batches of them.
#[test]
fn bursts_as_long_as_a_slot_are_no_noise_to_batches_of_some_slots() {
    let rule = StoppingRule { growth: 1.15, ..StoppingRule::new(0.05, 20, 500) };
    let mut stopper = Stopper::new(rule);
    let uneven = [400.0, 610.0, 380.0, 600.0, 420.0, 590.0];
    let looks = (0..500).find(|i| {
        let slot = Slot { numerator: uneven[i % uneven.len()], denominator: 0.1 };
        matches!(stopper.push(slot), Decision::Converged(_))
    });
    // The first look at which it is known, and the next; with batches of single slots it took 50.
    assert_eq!(looks, Some(22));
}
