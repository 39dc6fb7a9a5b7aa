//! Verdicts from made-up evidence.

use super::*;
use fathom_record::VerdictState;

fn doubt(phase: Phase, load: u32, amount: f64) -> Vec<RunDoubt> {
    vec![RunDoubt { run: phase.run_name(load), phase: Some(phase), amount }]
}

fn good() -> Evidence {
    Evidence {
        our_bytes_read: 1000,
        device_bytes_read: Some(1000),
        foreign_share: Some(0.0),
        unwritten_share: Some(0.0),
        cached_again: Some(0.0),
        faster_than_flash: Some(0.0),
        precision: 0.1,
        working_set: Bytes(1 << 40),
        memory: Some(Bytes(1 << 30)),
        ..Evidence::default()
    }
}

#[test]
fn clean_evidence_is_believable() {
    assert_eq!(good().verdict().state, VerdictState::Believable, "{:?}", good().checks());
}

#[test]
fn each_reason_for_doubt_is_enough_alone() {
    let not: [Evidence; 8] = [
        Evidence { device_bytes_read: Some(979), ..good() },
        Evidence { foreign_share: Some(0.04), ..good() },
        Evidence { page_cache_share: Some(0.5), ..good() },
        Evidence { unwritten_share: Some(0.5), ..good() },
        Evidence { faster_than_flash: Some(0.9), ..good() },
        Evidence { async_slots: Some((10, 64)), ..good() },
        Evidence { stolen: Some(0.3), ..good() },
        Evidence {
            drifts: [doubt(Phase::GroupCommit, 16, 40.0), doubt(Phase::SmallReads, 8, -30.0)].concat(),
            ..good()
        },
    ];
    for evidence in not {
        assert_eq!(evidence.verdict().state, VerdictState::NotBelievable, "{:?}", evidence.checks());
    }
}

/// Regression: three of six calibrations of an idle disk that has two speeds were thrown away, by a threshold in the middle
/// of the jump between them.
#[test]
fn a_disk_with_two_speeds_is_told_as_such_and_doubted_only_where_its_interval_is_wide() {
    let levels = |phase: Phase, half_width: f64| Evidence {
        levels: vec![RunLevels {
            run: phase.run_name(32),
            phase: Some(phase),
            low: 66_000.0,
            high: 92_000.0,
            half_width,
        }],
        ..good()
    };
    let narrow = levels(Phase::SmallReads, 0.13);
    assert_eq!(narrow.verdict().state, VerdictState::Believable);
    let told = narrow.checks().into_iter().find(|check| check.name == "one speed").unwrap();
    assert_eq!(
        told.seen,
        "small reads, 32 outstanding: this disk changes between 66000 and 92000 I/Os a second"
    );
    assert_eq!(levels(Phase::SmallReads, 0.4).verdict().state, VerdictState::NotBelievable);
    assert_eq!(levels(Phase::GroupCommit, 0.4).verdict().state, VerdictState::Believable);
}

#[test]
fn a_working_set_that_a_controllers_cache_holds_is_no_measurement_of_a_disk() {
    let small = Evidence { working_set: Bytes(16 << 20), ..good() };
    assert_eq!(small.verdict().state, VerdictState::NotBelievable);
    let memory = Evidence { memory_backed: true, ..small };
    assert_eq!(memory.verdict().state, VerdictState::Believable);
}

#[test]
fn cpus_that_others_used_are_named() {
    let shared = Evidence { cpu_of_others: Some(0.5), ..good() };
    let named = shared.checks().into_iter().find(|check| check.name == "nobody else used the CPUs").unwrap();
    assert_eq!((named.outcome, named.seen.contains("50 %")), (CheckOutcome::Noted, true));
}

#[test]
fn a_drift_aside_spoils_its_own_figure_only() {
    let evidence = Evidence { drifts: doubt(Phase::GroupCommit, 16, 40.0), ..good() };
    assert_eq!(evidence.verdict().state, VerdictState::Believable);
    let noted = evidence.checks().into_iter().find(|check| check.name == "steady state").unwrap();
    assert!(noted.seen.contains("group commits, 16 writers") && noted.seen.contains("that one figure"));
}

#[test]
fn what_could_not_be_checked_makes_it_cannot_tell() {
    let unknown: [Evidence; 5] = [
        Evidence { device_bytes_read: None, ..good() },
        Evidence { foreign_share: None, ..good() },
        Evidence { unwritten_share: None, ..good() },
        Evidence { cached_again: None, ..good() },
        Evidence { unchecked: vec!["holders".into()], ..good() },
    ];
    for evidence in unknown {
        assert_eq!(evidence.verdict().state, VerdictState::CannotTell, "{:?}", evidence.checks());
    }
}

#[test]
fn not_converging_says_how_far_it_came_and_is_no_reason_to_doubt() {
    let evidence = Evidence { not_converged: doubt(Phase::RandomWrites, 8, 0.13), ..good() };
    let verdict = evidence.verdict();
    assert_eq!(verdict.state, VerdictState::Believable);
    let seen = |evidence: &Evidence| {
        let check = evidence.checks().into_iter().find(|check| check.name == "converged").unwrap();
        (check.seen, check.hint)
    };
    assert_eq!(seen(&evidence).0, "wider than +-10 %: random writes, 8 outstanding (+-13.0 %)");
    let many = [doubt(Phase::RandomWrites, 8, 0.13), doubt(Phase::GroupCommit, 4, 1.72)].concat();
    let short = doubt(Phase::SmallReads, 1, f64::INFINITY);
    let longer = Some("--time 3m".to_owned());
    let evidence = Evidence { not_converged: [many, short].concat(), longer: longer.clone(), ..good() };
    let told = "wider than +-10 %: 2 measurements, at most group commits, 4 writers (+-172.0 %); too short for an interval: 1";
    assert_eq!(seen(&evidence), (told.to_owned(), longer));
}

#[test]
fn memory_is_fast_without_being_a_cache() {
    let zram = Evidence { memory_backed: true, faster_than_flash: Some(1.0), ..good() };
    assert_eq!(zram.verdict().state, VerdictState::Believable);
}

/// A run of the user's with these bytes read and written, and what the disk counted meanwhile.
fn user_load(ours: (u64, u64), disk: (u64, u64)) -> Run {
    use fathom_record::{Counts, Sample, WorkerTotals};
    use fathom_spec::{Plan, StreamId};
    let mut run = Run { purpose: Purpose::Load, ..Run::empty(&Plan::new(1)) };
    let of = |bytes: u64| Counts { operations: bytes / 4096, bytes, ..Counts::default() };
    let counts = vec![(Verb::Read, of(ours.0)), (Verb::Write, of(ours.1))];
    run.workers.push(WorkerTotals { counts, ..WorkerTotals::finished(StreamId(0), 0, (0, 1)) });
    for (at_ns, (read, written)) in [(0, (0, 0)), (1, disk)] {
        let counters =
            [("sectors_read", read / 512), ("sectors_written", written / 512), ("reads", read / 4096)];
        for (name, value) in counters.into_iter().chain([("writes", written / 4096)]) {
            run.samples.push(Sample { at_ns, of: "disk vda".into(), name: name.into(), value });
        }
    }
    run
}

/// Regression: `run --mix 70/30` always ended "cannot tell" for two reasons, both untrue: nothing was read, and the counters
/// of the disk could not be read.
#[test]
fn a_mix_has_its_reads_counted() {
    let of = |ours, disk| Evidence::of_runs(&[user_load(ours, disk)], Precision::Fast);
    let mixed = of((7 << 20, 3 << 20), (7 << 20, 4 << 20));
    assert_eq!((mixed.our_bytes_read, mixed.device_bytes_read), (7 << 20, Some(7 << 20)));
    assert_eq!((mixed.our_bytes_written, mixed.device_bytes_written), (3 << 20, Some(4 << 20)));
    assert_eq!(mixed.foreign_share, Some(0.0), "a file system writes for itself");
    assert_eq!(of((7 << 20, 3 << 20), (12 << 20, 4 << 20)).foreign_share, Some(0.5));
    let states: Vec<CheckOutcome> = mixed.checks().iter().map(|check| check.outcome).collect();
    let unknown = states.iter().filter(|outcome| **outcome == CheckOutcome::Unknown).count();
    assert_eq!(
        unknown,
        1,
        "only what the preflight knows, whether blocks were written: {:?}",
        mixed.checks()
    );
    let writes = of((0, 8 << 20), (0, 8 << 20));
    let names: Vec<String> = writes.checks().into_iter().map(|check| check.name).collect();
    assert!(!names.contains(&"page cache bypassed".to_owned()), "{names:?}");
    assert!(names.contains(&"writes reached the device".to_owned()), "{names:?}");
}

/// Regression: "the figure is known to +-inf % only", and the result not believable for it.
#[test]
fn what_was_too_short_for_an_interval_is_not_infinitely_wide() {
    let (run, phase) = (Phase::RandomWrites.run_name(1), Some(Phase::RandomWrites));
    let levels = vec![RunLevels { run, phase, low: 7650.0, high: 17_310.0, half_width: f64::INFINITY }];
    let evidence = Evidence { levels, ..good() };
    assert_eq!(evidence.verdict().state, VerdictState::Believable);
    assert!(evidence.checks().iter().all(|check| !check.seen.contains("inf")));
}
