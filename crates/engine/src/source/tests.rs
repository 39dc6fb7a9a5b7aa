//! Whole sources: bounds for any plan, counts where the plan says how many.

use super::*;
use fathom_drive::{Fill, Operation, Pace};
use fathom_spec::*;
use proptest::prelude::*;

fn blocks(pattern: Pattern, sizes: Sizes) -> Blocks {
    Blocks { pattern, sizes, ..Blocks::random_reads(SpaceId(0), Bytes(4096)) }
}

fn whole(bytes: u64) -> Geometry {
    Geometry { space: Space::Whole(TargetId(0)), sizes: vec![bytes], start: 0, length: bytes, align: 512 }
}

fn draw(source: &mut dyn Source, most: usize) -> Vec<Operation> {
    let (mut out, mut pace) = (Vec::new(), Pace::Closed);
    while out.len() < most {
        if source.fill(0, (most - out.len()).min(64), &mut pace, &mut out) == Fill::Done {
            break;
        }
    }
    out
}

fn made(blocks: &Blocks, geometry: &Geometry, stop: &Stop) -> Box<dyn Source> {
    build(blocks, geometry, stop, 0, 1, 3, &verbs(blocks)).unwrap()
}

fn patterns() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Uniform { once: false }),
        Just(Pattern::Sequential(Begin::Random)),
        (-40i64..40, 1u64..9).prop_map(|(step, run)| Pattern::Strided { step: step * 4096, run, skip: 0 }),
        (0.2f64..2.0).prop_map(Pattern::Zipf),
        (0.05f64..0.95).prop_map(Pattern::Pareto),
        (1f64..100.0).prop_map(Pattern::Normal),
        Just(Pattern::Zoned(vec![(50.0, 5.0), (30.0, 15.0)])),
    ]
}

proptest! {
    #[test]
    fn no_operation_leaves_its_target_its_region_or_its_stripe(
        pattern in patterns(),
        most in 1u64..9,
        sizes in prop::collection::vec(10u64..80, 1..4),
        striped: bool,
        start in 0u64..4,
    ) {
        let bytes: Vec<u64> = sizes.iter().map(|blocks| blocks * 4096 + 512).collect();
        let over: Vec<TargetId> = (0..bytes.len() as u32).map(TargetId).collect();
        let depth = Bytes(8 * 4096);
        let space = if striped { Space::Striped { over, depth } } else { Space::Concat(over) };
        let start = start * 4096;
        let length = Geometry::length_of(&space, &bytes) - start;
        let geometry = Geometry { space, sizes: bytes.clone(), start, length, align: 512 };
        let sizes = if most == 1 { Sizes::One(Bytes(4096)) } else { Sizes::Range(Bytes(4096), Bytes(4096 * most)) };
        let mut source = made(&blocks(pattern, sizes), &geometry, &Stop::default());
        for op in draw(&mut *source, 400) {
            let (first, length) = (op.offset, u64::from(op.length));
            prop_assert!(length >= 4096 && length.is_multiple_of(4096));
            prop_assert!(first + length <= bytes[op.target as usize]);
            if striped {
                prop_assert_eq!(first / depth.0, (first + length - 1) / depth.0);
            }
        }
    }
}

#[test]
fn every_block_is_as_likely_as_every_other() {
    let mut source = made(
        &blocks(Pattern::Uniform { once: false }, Sizes::One(Bytes(4096))),
        &whole(4096 * 100),
        &Stop::default(),
    );
    let mut counts = [0f64; 100];
    draw(&mut *source, 100_000).iter().for_each(|op| counts[(op.offset / 4096) as usize] += 1.0);
    let chi: f64 = counts.iter().map(|seen| (seen - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi < 148.2, "chi-square of 99 degrees at 0.1 %: {chi}");
}

#[test]
fn a_stop_ends_after_its_operations_bytes_or_passes() {
    let blocks = blocks(Pattern::Uniform { once: true }, Sizes::One(Bytes(4096)));
    let after = |stop| draw(&mut *made(&blocks, &whole(4096 * 10), &stop), 1000).len();
    assert_eq!(after(Stop { operations: Some(7), ..Stop::default() }), 7);
    assert_eq!(after(Stop { bytes: Some(Bytes(4096 * 5 + 1)), ..Stop::default() }), 6);
    assert_eq!(after(Stop { passes: Some(3), ..Stop::default() }), 30);
    assert_eq!(after(Stop { passes: Some(3), operations: Some(12), ..Stop::default() }), 12);
}

#[test]
fn strides_go_forward_and_back_and_round() {
    let at = |step: i64, run, skip| {
        let blocks = blocks(Pattern::Strided { step, run, skip }, Sizes::One(Bytes(4096)));
        let source = &mut *made(&blocks, &whole(4096 * 10), &Stop::default());
        draw(source, 6).iter().map(|op| op.offset / 4096).collect::<Vec<_>>()
    };
    assert_eq!(at(8192, 1, 0), [0, 3, 6, 9, 2, 5]);
    assert_eq!(at(-8192, 1, 0), [0, 9, 8, 7, 6, 5]);
    assert_eq!(at(0, 2, 4096 * 3), [0, 1, 5, 6, 0, 1]);
    assert_eq!(at(0, 1, 8192), [0, 3, 6, 9, 0, 3]);
}

#[test]
fn sizes_come_by_weight_and_each_verb_has_its_own() {
    let parts =
        vec![(Verb::Read, Bytes(4096), 25), (Verb::Read, Bytes(8192), 75), (Verb::Write, Bytes(16_384), 100)];
    let mut blocks = blocks(Pattern::Uniform { once: false }, Sizes::Split(parts));
    blocks.mix = Mix::Random { read_percent: 70 };
    let drawn = draw(&mut *made(&blocks, &whole(1 << 30), &Stop::default()), 20_000);
    let share = |verb, length| {
        drawn.iter().filter(|op| (op.verb, op.length) == (verb, length)).count() as f64 / 20_000.0
    };
    assert!((share(Verb::Read, 4096) - 0.175).abs() < 0.015);
    assert!((share(Verb::Read, 8192) - 0.525).abs() < 0.015);
    assert!((share(Verb::Write, 16_384) - 0.3).abs() < 0.015);
}

#[test]
fn a_mix_by_what_was_completed_keeps_its_ratio() {
    let mut blocks = blocks(Pattern::Uniform { once: false }, Sizes::One(Bytes(4096)));
    blocks.mix = Mix::ByCompleted { reads_per_write: 1.5, commits: false };
    let mut source = made(&blocks, &whole(1 << 20), &Stop::default());
    assert!(source.wants_completions());
    let mut reads = 0;
    for _ in 0..1000 {
        let op = draw(&mut *source, 1)[0];
        reads += u32::from(op.verb == Verb::Read);
        source.completed(&[(op, 4096)]);
    }
    assert!((599..=602).contains(&reads), "{reads}");
}

#[test]
fn after_so_many_writes_every_target_is_synced_in_turn() {
    let mut blocks = blocks(Pattern::Sequential(Begin::First), Sizes::One(Bytes(4096)));
    blocks.mix = Mix::Only(Verb::Write);
    blocks.sync = vec![SyncRule {
        every: 2,
        of: Verb::Write,
        kind: SyncKind::Fsync,
        all_targets_in_turn: true,
        between: false,
    }];
    let space = Space::Concat(vec![TargetId(0), TargetId(1), TargetId(2)]);
    let geometry = Geometry { space, sizes: vec![8192; 3], start: 0, length: 24_576, align: 512 };
    let stop = Stop { operations: Some(4), ..Stop::default() };
    let drawn = draw(&mut *made(&blocks, &geometry, &stop), 100);
    let said: Vec<_> = drawn.iter().map(|op| (op.verb, op.target)).collect();
    let round = |target| {
        let write = (Verb::Write, target);
        [write, write, (Verb::Sync, 0), (Verb::Sync, 1), (Verb::Sync, 2)]
    };
    assert_eq!(said, [round(0), round(1)].concat());
}

#[test]
fn several_rules_of_syncs_each_keep_their_own_count() {
    let mut blocks = blocks(Pattern::Sequential(Begin::First), Sizes::One(Bytes(4096)));
    blocks.mix = Mix::Only(Verb::Write);
    let rule =
        |every, kind| SyncRule { every, of: Verb::Write, kind, all_targets_in_turn: false, between: false };
    blocks.sync = vec![rule(2, SyncKind::Fdatasync), rule(3, SyncKind::Fsync)];
    let stop = Stop { operations: Some(6), ..Stop::default() };
    let drawn = draw(&mut *made(&blocks, &whole(1 << 20), &stop), 100);
    let said: Vec<u8> = drawn
        .iter()
        .map(|op| match (op.verb, op.sync_kind(SyncKind::None)) {
            (Verb::Write, _) => b'w',
            (_, SyncKind::Fdatasync) => b'd',
            _ => b'f',
        })
        .collect();
    assert_eq!(String::from_utf8(said).unwrap(), "wwdwfwdwwdf");
}

#[test]
fn each_block_is_touched_once_a_pass_by_operations_of_several_sizes() {
    for generator in [Generator::Xoshiro, Generator::Tausworthe { seed: 3 }] {
        let range = Sizes::Range(Bytes(4096), Bytes(16_384));
        let blocks = Blocks { generator, ..blocks(Pattern::Uniform { once: true }, range) };
        let stop = Stop { passes: Some(1), ..Stop::default() };
        let mut seen = vec![0; 1000];
        for op in draw(&mut *made(&blocks, &whole(4096 * 1000), &stop), 2000) {
            (op.offset / 4096..(op.offset + u64::from(op.length)) / 4096).for_each(|b| seen[b as usize] += 1);
        }
        assert!(seen.iter().all(|times| *times == 1));
    }
}

#[test]
fn generators_of_others_touch_each_block_once_too() {
    for generator in [Generator::Lfsr { seed: 5 }, Generator::Tausworthe { seed: 5 }] {
        let one = blocks(Pattern::Uniform { once: true }, Sizes::One(Bytes(4096)));
        let drawn = draw(&mut *made(&Blocks { generator, ..one }, &whole(4096 * 777), &Stop::default()), 777);
        let mut offsets: Vec<u64> = drawn.iter().map(|op| op.offset / 4096).collect();
        assert!(!offsets.is_sorted());
        offsets.sort_unstable();
        assert!(offsets.into_iter().eq(0..777));
    }
}

#[test]
fn runs_begin_where_another_order_points_and_a_share_goes_on_behind_the_last() {
    let of = || Box::new(Pattern::Uniform { once: false });
    let at = |pattern| {
        let source = &mut *made(&blocks(pattern, Sizes::One(Bytes(4096))), &whole(1 << 30), &Stop::default());
        draw(source, 4000).iter().map(|op| op.offset / 4096).collect::<Vec<_>>()
    };
    let runs = at(Pattern::Runs { of: of(), run: 4, same: false });
    assert!(runs.chunks(4).all(|run| run.windows(2).all(|two| two[1] == two[0] + 1)));
    let same = at(Pattern::Runs { of: of(), run: 4, same: true });
    assert!(same.chunks(4).all(|run| run.iter().all(|block| *block == run[0])));
    let partly = at(Pattern::Partly { of: of(), percent: 30 });
    let behind = partly.windows(2).filter(|two| two[1] == two[0] + 1).count();
    assert!((2680..2920).contains(&behind), "{behind}");
}

#[test]
fn a_trimmed_block_is_written_next_and_never_while_the_trim_is_under_way() {
    let mut blocks = blocks(Pattern::Uniform { once: true }, Sizes::One(Bytes(4096)));
    blocks.mix = Mix::TrimWrite;
    let mut source = made(&blocks, &whole(1 << 20), &Stop::default());
    let (mut out, mut pace) = (Vec::new(), Pace::Closed);
    assert_eq!(source.fill(0, 8, &mut pace, &mut out), Fill::Blocked);
    assert_eq!(out.iter().map(|op| op.verb).collect::<Vec<_>>(), [Verb::Trim]);
    let trim = out[0];
    source.completed(&[(trim, 4096)]);
    out.clear();
    source.fill(0, 8, &mut pace, &mut out);
    assert_eq!((out[0].verb, out[0].offset, out[0].cell), (Verb::Write, trim.offset, 1));
    assert_eq!((out[1].verb, out[1].offset == trim.offset), (Verb::Trim, false));
}

#[test]
fn a_block_that_was_read_is_written_back_next_and_only_reads_count_against_the_end() {
    let mut blocks = blocks(Pattern::Sequential(Begin::First), Sizes::One(Bytes(4096)));
    let stop = Stop { passes: Some(1), ..Stop::default() };
    for (write_percent, writes) in [(100, 4..=4), (0, 0..=0), (10, 0..=3)] {
        blocks.mix = Mix::ReadWrite { write_percent };
        let mut source = made(&blocks, &whole(16_384), &stop);
        let (mut all, mut out, mut pace) = (Vec::new(), Vec::new(), Pace::Closed);
        loop {
            let fill = source.fill(0, 1, &mut pace, &mut out);
            let Some(op) = out.pop() else { break assert_eq!(fill, Fill::Done) };
            source.completed(&[(op, 4096)]);
            all.push((op.verb, op.offset));
        }
        let reads: Vec<u64> = all.iter().filter(|(verb, _)| *verb == Verb::Read).map(|op| op.1).collect();
        assert_eq!(reads, [0, 4096, 8192, 12_288]);
        assert!(writes.contains(&(all.len() - 4)), "{all:?}");
        let paired = |two: &[(Verb, u64)]| two[1].0 == Verb::Read || two[0] == (Verb::Read, two[1].1);
        assert!(all.windows(2).all(paired), "{all:?}");
    }
}

#[test]
fn files_are_picked_in_turn_and_each_keeps_its_own_place() {
    let over: Vec<TargetId> = (0..3).map(TargetId).collect();
    let picked = |by, pattern| {
        let space = Space::Picked { over: over.clone(), by };
        let geometry = Geometry { space, sizes: vec![16_384; 3], start: 8192, length: 8192, align: 512 };
        let stop = Stop { passes: Some(1), ..Stop::default() };
        let blocks = blocks(pattern, Sizes::One(Bytes(4096)));
        let drawn = draw(&mut *made(&blocks, &geometry, &stop), 100);
        drawn.iter().map(|op| (op.target, op.offset - 8192)).collect::<Vec<_>>()
    };
    let first = || Pattern::Sequential(Begin::First);
    let in_turn = picked(first(), first());
    assert_eq!(in_turn, [(0, 0), (1, 0), (2, 0), (0, 4096), (1, 4096), (2, 4096)]);
    let mut once = picked(first(), Pattern::Uniform { once: true });
    once.sort_unstable();
    assert_eq!(once, [(0, 0), (0, 4096), (1, 0), (1, 4096), (2, 0), (2, 4096)]);
    let by_chance = picked(Pattern::Uniform { once: false }, first());
    assert!(by_chance.len() == 6 && by_chance != in_turn);
}

#[test]
fn files_that_differ_in_size_are_each_touched_whole() {
    let over: Vec<TargetId> = (0..3).map(TargetId).collect();
    let sizes = vec![8192, 40_960, 4096 * 3];
    for by in [Pattern::Sequential(Begin::First), Pattern::Uniform { once: false }] {
        for pattern in [Pattern::Sequential(Begin::First), Pattern::Uniform { once: true }] {
            let space = Space::Picked { over: over.clone(), by: by.clone() };
            let geometry = Geometry { space, sizes: sizes.clone(), start: 4096, length: 36_864, align: 512 };
            let stop = Stop { bytes: Some(Bytes(4096 * 12)), ..Stop::default() };
            let drawn = draw(&mut *made(&blocks(pattern, Sizes::One(Bytes(4096))), &geometry, &stop), 100);
            let mut places: Vec<(u16, u64)> = drawn.iter().map(|op| (op.target, op.offset)).collect();
            places.sort_unstable();
            let all =
                (0..3u16).flat_map(|file| (1..sizes[file as usize] / 4096).map(move |b| (file, b * 4096)));
            assert_eq!(places, all.collect::<Vec<_>>(), "{by:?}");
        }
    }
}

#[test]
fn lengths_of_any_number_of_bytes_follow_one_another() {
    let any = Sizes::Any(Bytes(100), Bytes(5000));
    let blocks = Blocks { align: Bytes(1), ..blocks(Pattern::Sequential(Begin::First), any) };
    let stop = Stop { bytes: Some(Bytes(1 << 20)), ..Stop::default() };
    let geometry = Geometry { align: 1, ..whole(4 << 20) };
    let drawn = draw(&mut *made(&blocks, &geometry, &stop), 10_000);
    assert!(drawn.windows(2).all(|two| two[0].offset + u64::from(two[0].length) == two[1].offset));
    assert!(drawn.iter().all(|op| (100..=5000).contains(&op.length)));
    let odd = drawn.iter().filter(|op| op.length % 4 != 0).count();
    assert!(drawn.len() > 300 && odd * 2 > drawn.len(), "{odd} of {}", drawn.len());
}

#[test]
fn what_a_source_cannot_do_is_refused() {
    let refused =
        |blocks: &Blocks| build(blocks, &whole(1 << 20), &Stop::default(), 0, 1, 3, &verbs(blocks)).is_err();
    let range = Sizes::Range(Bytes(4096), Bytes(8192));
    let unaligned = Blocks { align: Bytes(512), ..blocks(Pattern::Uniform { once: true }, range) };
    assert!(refused(&unaligned));
    assert!(refused(&blocks(Pattern::Trace(TargetId(0)), Sizes::One(Bytes(4096)))));
    assert!(refused(&blocks(Pattern::Strided { step: 1000, run: 1, skip: 0 }, Sizes::One(Bytes(4096)))));
    assert!(refused(&blocks(Pattern::Zipf(-1.0), Sizes::One(Bytes(4096)))));
}

/// A job with `rate_iops=800,200` did 200 reads a second: its even mix waited for the writes.
#[test]
fn each_verb_of_a_mix_keeps_to_its_own_timetable() {
    let table = |verb, rate| Timetable { verb, rate: Rate::Operations(rate), spacing: Spacing::Even };
    let counts = |tables: Vec<Timetable>| {
        let mut blocks = blocks(Pattern::Uniform { once: false }, Sizes::One(Bytes(4096)));
        blocks.mix = Mix::Random { read_percent: 50 };
        let mut source = made(&blocks, &whole(1 << 20), &Stop::default());
        let mut pace = crate::worker_maker::pace(&Arrival::Open(tables), &verbs(&blocks), 0, 7);
        let (mut out, mut now) = (Vec::new(), 0);
        while now < 1_000_000_000 {
            let before = out.len();
            match source.fill(now, 1, &mut pace, &mut out) {
                Fill::Wait(due) => now = due,
                _ => now += 100_000,
            }
            assert!(out[before..].iter().all(|op| op.due_ns <= now));
        }
        let of = |verb| out.iter().filter(|op| op.verb == verb).count();
        (of(Verb::Read), of(Verb::Write))
    };
    let (reads, writes) = counts(vec![table(Verb::Read, 800.0), table(Verb::Write, 200.0)]);
    assert!((798..=801).contains(&reads) && (198..=201).contains(&writes), "{reads} and {writes}");
    // Without a timetable reads fill the time that writes leave: a step of 0.1 ms each.
    let (reads, writes) = counts(vec![table(Verb::Write, 200.0)]);
    assert!((198..=201).contains(&writes) && (9_700..=9_810).contains(&reads), "{reads} and {writes}");
}

#[test]
fn a_stream_of_more_verbs_than_are_counted_apart_is_refused_with_their_names() {
    let sync = SyncRule {
        every: 10,
        of: Verb::Write,
        kind: SyncKind::Fsync,
        all_targets_in_turn: false,
        between: false,
    };
    let discards = Discards { percent: 10, after: 10, batch: 1, zeros: true };
    let blocks = Blocks {
        mix: Mix::Random { read_percent: 50 },
        sync: vec![sync],
        verify: Some(Verify { discards: Some(discards), ..Verify::READS }),
        ..Blocks::random_reads(SpaceId(0), Bytes(4096))
    };
    let mut stream = Stream::closed("s", blocks.clone(), 1);
    assert_eq!(super::cells(&stream, &blocks, None).unwrap().len(), 4);
    stream.after_last = vec![SyncKind::Fsync];
    let error = super::cells(&stream, &blocks, None).unwrap_err().to_string();
    assert!(error.contains("this one has 5: read, write, sync, trim, sync"), "{error}");
}
