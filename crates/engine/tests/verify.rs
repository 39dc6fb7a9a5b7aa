//! Verification on real files.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;

const ONE_PASS: Verify = Verify { then_read_pass: true, ..Verify::READS };
const ONLY: Verify = Verify { then_read_pass: false, only: true, ..ONE_PASS };

fn headers(hash: u8) -> Content {
    Content::FioHeader { hash, interval: 0, swap: 0, pattern: Vec::new() }
}

fn file(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

fn plan(path: &Path, verify: Verify, content: Content, pattern: Pattern) -> Plan {
    let mut plan = Plan::new(1);
    let path = PathTarget {
        access: Access::Write,
        direct: false,
        ..PathTarget::direct_read(path.to_string_lossy())
    };
    let space = plan.add_target(Target::Path(path));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    (blocks.mix, blocks.pattern, blocks.content) = (Mix::Only(Verb::Write), pattern, content);
    blocks.verify = Some(verify);
    let mut stream = Stream::closed("verified", blocks, 8);
    stream.stop.passes = Some(1);
    plan.add_stream(stream);
    plan
}

fn blocks(plan: &mut Plan) -> &mut Blocks {
    match &mut plan.streams[0].work {
        Work::Blocks(blocks) => blocks,
        _ => unreachable!(),
    }
}

fn run(plan: &Plan) -> Run {
    execute(plan).unwrap()
}

fn execute(plan: &Plan) -> Result<Run, ExecuteError> {
    let mut permits = Permits::new(Policy::WhenHolding);
    if let Target::Path(path) = &plan.targets[0] {
        permits.add_consent(path.path.clone());
    }
    Engine::default().execute(Request::new(plan).with_permits(&permits), &mut ()).map(|outcome| outcome.run)
}

fn mismatches(run: &Run) -> Vec<(u64, String)> {
    let told = |event: &fathom_record::Event| match &event.what {
        EventKind::Mismatch { offset, note, .. } => Some((offset.0, note.clone())),
        _ => None,
    };
    run.events.iter().filter_map(told).collect()
}

fn counts(run: &Run) -> Vec<(Verb, u64)> {
    run.workers[0].counts.iter().map(|(verb, counts)| (*verb, counts.operations)).collect()
}

#[test]
fn what_was_written_is_read_again_and_found_good_on_every_queue() {
    for (queue, direct) in [
        (QueueKind::IoUring, false),
        (QueueKind::IoUring, true),
        (QueueKind::Libaio, true),
        (QueueKind::Psync, true),
        (QueueKind::Vectored, false),
        (QueueKind::Threads, true),
        (QueueKind::Mmap, false),
    ] {
        let file = file(1 << 20);
        let mut plan = plan(file.path(), ONE_PASS, headers(5), Pattern::Uniform { once: false });
        blocks(&mut plan).queue = queue;
        if let Target::Path(path) = &mut plan.targets[0] {
            path.direct = direct;
        }
        let run = run(&plan);
        assert_eq!((mismatches(&run), counts(&run)), (vec![], vec![(Verb::Write, 256), (Verb::Read, 256)]));
    }
}

#[test]
fn a_backlog_is_verified_while_the_writing_goes_on() {
    let file = file(1 << 20);
    let backlog = Verify { backlog: Some((16, 8)), ..ONE_PASS };
    let mut plan = plan(file.path(), backlog, headers(15), Pattern::Zipf(1.2));
    plan.streams[0].stop = Stop { time: Some(Nanos::from_millis(200)), ..Stop::default() };
    let run = run(&plan);
    let [(_, written), (_, read)] = counts(&run)[..] else { panic!("{:?}", counts(&run)) };
    assert_eq!((mismatches(&run), written > 100, written), (vec![], true, read));
}

#[test]
fn several_sizes_that_overlap_and_several_writers_raise_no_false_alarm() {
    let file = file(1 << 20);
    let mut plan = plan(file.path(), ONE_PASS, headers(2), Pattern::Zipf(1.1));
    blocks(&mut plan).sizes = Sizes::Split(vec![
        (Verb::Write, Bytes(4096), 50),
        (Verb::Write, Bytes(16_384), 30),
        (Verb::Write, Bytes(65_536), 20),
    ]);
    plan.streams[0].stop = Stop { operations: Some(2000), ..Stop::default() };
    plan.streams[0].workers = 2;
    blocks(&mut plan).queue = QueueKind::Psync;
    let run = run(&plan);
    // Two writers of the same bytes at the same time may tear a block of the page cache: only within one is it sure.
    let sure: Vec<_> = mismatches(&run).into_iter().filter(|(_, note)| !note.contains("torn")).collect();
    assert_eq!(sure, []);
}

#[test]
fn each_harm_done_to_a_file_is_told_by_its_name_and_place() {
    let file = file(1 << 20);
    let once = || Pattern::Sequential(Begin::First);
    run(&plan(file.path(), ONE_PASS, headers(2), once()));
    let mut bytes = std::fs::read(file.path()).unwrap();
    let block = |i: usize| i * 4096..(i + 1) * 4096;
    bytes[block(3)].fill(0);
    bytes.copy_within(block(8), 4096 * 9);
    bytes[block(20)][1000] ^= 1;
    std::fs::write(file.path(), &bytes).unwrap();
    let run = run(&plan(file.path(), ONLY, headers(2), once()));
    let found = mismatches(&run);
    let words = |i: usize| found[i].1.split(": ").nth(1).map(str::to_owned).unwrap_or_default();
    assert_eq!(counts(&run), [(Verb::Write, 0), (Verb::Read, 256)]);
    let mut places: Vec<(u64, String)> = (0..found.len()).map(|i| (found[i].0, words(i))).collect();
    places.sort_unstable();
    let expected = [(3, "zeroed"), (9, "misdirected"), (20, "torn")];
    assert_eq!(places, expected.map(|(block, word)| (block * 4096, word.to_owned())));
}

#[test]
fn a_fatal_mismatch_ends_the_run() {
    let file = file(1 << 20);
    let mut plan =
        plan(file.path(), Verify { fatal: true, ..ONLY }, headers(2), Pattern::Sequential(Begin::First));
    plan.streams[0].depth = Depth::Fixed(1);
    let run = run(&plan);
    assert_eq!((mismatches(&run).len(), run.workers[0].ended), (1, StopReason::Fault));
}

#[test]
fn bytes_that_cannot_be_told_again_are_refused() {
    let file = file(1 << 20);
    let random = Content::Random { compress_percent: 0, dedupe_percent: 0 };
    let plan = plan(file.path(), ONE_PASS, random, Pattern::Uniform { once: true });
    let error = execute(&plan).unwrap_err().to_string();
    assert!(error.contains("cannot be verified"), "{error}");
}
