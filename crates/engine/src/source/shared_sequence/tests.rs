//! A sequence that workers share, taken one operation at a time: order, mix, syncs, generators, arrivals.

use super::*;
use fathom_spec::{Bytes, CellId, SpaceId, SyncKind, TargetId, Timetable};

const MIB: u64 = 1 << 20;

/// Blocks of 16 KiB over 4 files of 16 MiB, as a shared sequence.
fn blocks(pattern: Pattern, mix: Mix) -> Blocks {
    Blocks { pattern, mix, shared: Some(CellId(0)), ..Blocks::random_reads(SpaceId(0), Bytes(16_384)) }
}

fn stream(blocks: &Blocks, workers: u32) -> Stream {
    Stream { workers, ..Stream::closed("run", blocks.clone(), 1) }
}

fn sequence(stream: &Stream, blocks: &Blocks, file: u64, operations: Option<u64>) -> Arc<SharedSequence> {
    let space = Space::Striped { over: (0..4).map(TargetId).collect(), depth: Bytes(file) };
    let geometry = Geometry { space, sizes: vec![file; 4], start: 0, length: 4 * file, align: 512 };
    let stop = Stop { operations, ..Stop::default() };
    SharedSequence::new(stream, blocks, &geometry, &stop, 7, &crate::source::verbs(blocks)).unwrap()
}

/// Takes operations one at a time, each completed before the next.
fn take(turn: &mut dyn Source, count: usize) -> Vec<(Verb, u16, u64, u32)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let mut out = Vec::new();
        if turn.fill(0, 1, &mut Pace::Closed, &mut out) != Fill::Some {
            break;
        }
        turn.completed(&[(out[0], out[0].length as i32)]);
        seen.push((out[0].verb, out[0].target, out[0].offset, out[0].length));
    }
    seen
}

/// States that sysbench takes from glibc's random() after srandom(7), for its first thread.
const STATE: (u64, u64) = (7 << 32, 11);

#[test]
fn one_cursor_serves_all_workers_and_wraps() {
    let blocks = blocks(Pattern::Sequential(Begin::First), Mix::Only(Verb::Read));
    let sequence = sequence(&stream(&blocks, 2), &blocks, 40_000, None);
    let (mut first, mut second) = (sequence.turn(0), sequence.turn(1));
    let a = take(first.as_mut(), 2);
    let b = take(second.as_mut(), 2);
    assert_eq!(a, [(Verb::Read, 0, 0, 16_384), (Verb::Read, 0, 16_384, 16_384)]);
    assert_eq!(
        b,
        [(Verb::Read, 0, 32_768, 7232), (Verb::Read, 1, 0, 16_384)],
        "no request crosses a file's end"
    );
    let rest = take(first.as_mut(), 9);
    assert_eq!(rest[8], (Verb::Read, 0, 0, 16_384), "after the last file comes the first");
}

#[test]
fn the_mix_is_kept_by_what_was_completed() {
    let mix = Mix::ByCompleted { reads_per_write: 1.5, commits: false };
    let blocks = blocks(Pattern::Uniform { once: false }, mix);
    let sequence = sequence(&stream(&blocks, 1), &blocks, MIB, Some(10));
    let seen = take(sequence.turn(0).as_mut(), 99);
    let letters: String = seen.iter().map(|op| if op.0 == Verb::Read { 'R' } else { 'W' }).collect();
    assert_eq!(letters, "RWRWRRWRWR");
}

#[test]
fn syncs_of_all_targets_in_turn_are_operations_of_the_course() {
    let mut blocks = blocks(Pattern::Sequential(Begin::First), Mix::Only(Verb::Write));
    let rule = SyncRule {
        every: 3,
        of: Verb::Write,
        kind: SyncKind::Fsync,
        all_targets_in_turn: true,
        between: false,
    };
    blocks.sync = vec![rule];
    let sequence = sequence(&stream(&blocks, 1), &blocks, MIB, Some(13));
    let seen = take(sequence.turn(0).as_mut(), 99);
    let letters: String =
        seen.iter().map(|op| if op.0 == Verb::Sync { char::from(b'0' + op.1 as u8) } else { 'W' }).collect();
    assert_eq!(letters, "WWW0123WWW012");
}

#[test]
fn reads_alone_are_never_followed_by_syncs() {
    let mut blocks = blocks(Pattern::Uniform { once: false }, Mix::Only(Verb::Read));
    let rule = SyncRule {
        every: 1,
        of: Verb::Write,
        kind: SyncKind::Fsync,
        all_targets_in_turn: true,
        between: false,
    };
    blocks.sync = vec![rule];
    let sequence = sequence(&stream(&blocks, 1), &blocks, MIB, Some(50));
    assert!(take(sequence.turn(0).as_mut(), 99).iter().all(|op| op.0 == Verb::Read));
}

#[test]
fn a_given_generator_draws_the_same_places_each_time_and_discards_what_is_asked() {
    let places = |discard_per_event| {
        let mut blocks = blocks(Pattern::Uniform { once: false }, Mix::Only(Verb::Read));
        blocks.generator = Generator::Given { states: vec![STATE], discard_per_event };
        let sequence = sequence(&stream(&blocks, 1), &blocks, 16 * MIB, Some(8));
        take(sequence.turn(0).as_mut(), 8).into_iter().map(|op| (op.1, op.2)).collect::<Vec<_>>()
    };
    let (all, every_second) = (places(0), places(1));
    assert_eq!(all, places(0));
    assert_eq!(all[2], every_second[1]);
    assert_eq!(all[6], every_second[3]);
}

#[test]
fn a_block_in_flight_is_given_to_nobody_else() {
    let mut blocks = blocks(Pattern::Uniform { once: false }, Mix::Only(Verb::Write));
    blocks.verify = Some(fathom_spec::Verify { fatal: true, ..fathom_spec::Verify::READS });
    let sequence = sequence(&stream(&blocks, 8), &blocks, 16_384, None);
    let mut out = Vec::new();
    for worker in 0..4 {
        let mut turn = sequence.turn(worker);
        while turn.fill(0, 1, &mut Pace::Closed, &mut out) == Fill::Blocked {}
    }
    let mut targets: Vec<u16> = out.iter().map(|op| op.target).collect();
    targets.sort_unstable();
    assert_eq!(targets, [0, 1, 2, 3], "one block each");
    assert_eq!(sequence.turn(4).fill(0, 1, &mut Pace::Closed, &mut out), Fill::Blocked);
}

#[test]
fn arrivals_are_taken_by_whoever_is_free() {
    let blocks = blocks(Pattern::Sequential(Begin::First), Mix::Only(Verb::Read));
    let mut stream = stream(&blocks, 2);
    let table = Timetable { verb: Verb::Read, rate: Rate::Operations(500.0), spacing: Spacing::Even };
    stream.arrival = Arrival::Open(vec![table]);
    let sequence = sequence(&stream, &blocks, MIB, None);
    let (mut first, mut second) = (sequence.turn(0), sequence.turn(1));
    let mut out = Vec::new();
    assert_eq!(first.fill(0, 1, &mut Pace::Closed, &mut out), Fill::Some);
    assert_eq!(first.fill(0, 1, &mut Pace::Closed, &mut out), Fill::Wait(1_000_000));
    assert_eq!(second.fill(0, 1, &mut Pace::Closed, &mut out), Fill::Wait(2_000_000));
    assert_eq!(first.fill(5_000_000, 1, &mut Pace::Closed, &mut out), Fill::Some);
    assert_eq!(out[1].due_ns, 1_000_000, "the wait for a free worker counts");
}
