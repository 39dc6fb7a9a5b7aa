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

#[test]
fn a_figure_that_is_far_below_what_the_search_saw_is_not_believable() {
    let evidence = Evidence { slower: doubt(Phase::SmallReads, 8, 1.6), ..good() };
    assert_eq!(evidence.verdict().state, VerdictState::NotBelievable);
    let evidence = Evidence { slower: doubt(Phase::GroupCommit, 16, 1.6), ..good() };
    assert_eq!(evidence.verdict().state, VerdictState::Believable);
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
    assert!(verdict.checks.iter().any(|c| c.seen.contains("random writes, 8 outstanding: +-13.0 %")));
}

#[test]
fn memory_is_fast_without_being_a_cache() {
    let zram = Evidence { memory_backed: true, faster_than_flash: Some(1.0), ..good() };
    assert_eq!(zram.verdict().state, VerdictState::Believable);
}
