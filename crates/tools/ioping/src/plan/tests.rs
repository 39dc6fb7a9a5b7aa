//! Options and the plans that they become.

use super::*;
use crate::{Invocation, parse};
use std::ffi::OsString;

fn options(line: &str) -> Options {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    match parse(&words) {
        Ok(Invocation::Measure(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

const DIRECTORY: TargetFacts = TargetFacts { kind: TargetKind::Directory, size: Bytes(0) };
const FILE: TargetFacts = TargetFacts { kind: TargetKind::RegularFile, size: Bytes(MIB) };

fn prepared(line: &str, facts: TargetFacts) -> Result<Preparation, Failure> {
    prepare(&options(line), facts, "file", 7)
}

fn blocks_of(preparation: &Preparation) -> &Blocks {
    match &preparation.plan.streams[0].work {
        Work::Blocks(blocks) => blocks,
        other => panic!("{other:?}"),
    }
}

fn requests(line: &str, facts: TargetFacts) -> (Stream, Blocks) {
    let plan = prepared(line, facts).expect(line).plan;
    let stream = plan.streams[0].clone();
    match stream.work.clone() {
        Work::Blocks(blocks) => (stream, *blocks),
        other => panic!("{other:?}"),
    }
}

fn path(plan: &Plan) -> PathTarget {
    match &plan.targets[0] {
        Target::Path(path) => path.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_has_a_random_working_file_of_1_mib() {
    let preparation = prepared(".", DIRECTORY).expect("a plan");
    assert!(blocks_of(&preparation).queue_options.drop_cached);
    let layout = preparation.layout.expect("a working file");
    assert_eq!(layout.size, Bytes(MIB));
    assert_eq!(path(&layout.plan).create, Some(Bytes(MIB)));
    assert_eq!(layout.plan.streams[0].stop.bytes, Some(Bytes(MIB)));
    assert_eq!(layout.plan.streams[0].after_last, [SyncKind::Fsync]);
    assert_eq!(path(&preparation.plan).access, Access::Write);
}

#[test]
fn a_working_set_behind_an_offset_ends_behind_it() {
    let layout = prepared("-o 1m -S 64k .", DIRECTORY).expect("a plan").layout.expect("a working file");
    assert_eq!(layout.size, Bytes(MIB + 64 * KIB));
    let layout = prepared("-s 700k .", DIRECTORY).expect("a plan").layout.expect("a working file");
    assert_eq!((layout.size, layout.plan.streams[0].stop.bytes), (Bytes(MIB), Some(Bytes(700 * KIB))));
}

#[test]
fn requests_are_one_at_a_time_and_a_second_apart() {
    let (stream, blocks) = requests(".", FILE);
    assert_eq!((stream.workers, stream.depth), (1, Depth::Fixed(1)));
    let timetable = Timetable { verb: Verb::Read, rate: Rate::Operations(1.0), spacing: Spacing::Even };
    assert_eq!(stream.arrival, Arrival::Open(vec![timetable]));
    assert!(stream.keep.response && stream.keep.service);
    assert_eq!(blocks.pattern, Pattern::Uniform { once: false });
    assert_eq!(blocks.region, (Extent::Bytes(Bytes(0)), Extent::Bytes(Bytes(MIB))));
    assert_eq!(blocks.queue, QueueKind::Psync);
}

#[test]
fn rapid_requests_are_a_closed_loop_of_3_seconds() {
    let (stream, _) = requests("-R .", DIRECTORY);
    assert_eq!(stream.arrival, Arrival::Closed { think: None });
    assert_eq!(stream.stop.time, Some(Nanos::from_seconds(3)));
}

#[test]
fn bursts_and_turns_pause_behind_their_last_request() {
    let think = |every| {
        let think = Think { wait: Nanos::from_seconds(1), spin: Nanos(0), every, work: Nanos(0) };
        Arrival::Closed { think: Some(think) }
    };
    assert_eq!(requests("-b 3 .", DIRECTORY).0.arrival, think(3));
    assert_eq!(requests("-G .", DIRECTORY).0.arrival, think(1));
    assert!(matches!(requests("-b 1 .", DIRECTORY).0.arrival, Arrival::Open(_)));
}

#[test]
fn offsets_are_those_of_whole_requests() {
    let (_, blocks) = requests("-o 700 -S 3500 -s 1000 .", FILE);
    assert_eq!(blocks.region, (Extent::Bytes(Bytes(700)), Extent::Bytes(Bytes(3000))));
    assert_eq!(requests("-L .", FILE).1.pattern, Pattern::Sequential(Begin::First));
}

#[test]
fn a_write_is_a_commit_unless_it_is_cached() {
    assert_eq!(requests("-W .", DIRECTORY).1.mix, Mix::Only(Verb::Commit));
    assert_eq!(requests("-WC .", DIRECTORY).1.mix, Mix::Only(Verb::Write));
    let turns = Mix::ByCompleted { reads_per_write: 1.0, commits: true };
    assert_eq!(requests("-G .", DIRECTORY).1.mix, turns);
    let cached = prepared("-WC .", DIRECTORY).expect("a plan");
    assert!(!blocks_of(&cached).queue_options.drop_cached);
}

#[test]
fn how_requests_are_made_is_said_of_the_queue_and_the_target() {
    assert_eq!(requests("-A .", FILE).1.queue, QueueKind::Libaio);
    let (stream, blocks) = requests("-ND .", FILE);
    assert_eq!((blocks.queue, blocks.queue_options.no_wait), (QueueKind::Vectored, true));
    assert!(!stream.errors.failures.ends(Verb::Read, -EAGAIN));
    assert!(requests("-D .", FILE).0.errors.failures.ends(Verb::Read, -EAGAIN));
    assert!(requests("-HD .", FILE).1.queue_options.io_poll);
    let target = path(&prepared("-DY .", FILE).expect("a plan").plan);
    assert_eq!((target.direct, target.durability, target.access), (true, Durability::Full, Access::Read));
}

#[test]
fn files_and_devices_are_written_only_when_that_is_said_three_times() {
    for line in ["-W .", "-WW .", "-G .", "-GW .", "-W -s 8m .", "-W -S 2m ."] {
        assert_eq!(prepared(line, FILE), Err(Failure::Shred), "{line}");
    }
    for line in ["-WWW .", "-GGW .", "-GGG .", "-WW -G ."] {
        assert!(prepared(line, FILE).expect(line).consents_to_write, "{line}");
    }
    assert!(prepared("-W .", DIRECTORY).is_ok());
    assert!(prepared("-W .", TargetFacts { kind: TargetKind::BlockDevice, ..FILE }).is_err());
}

#[test]
fn what_does_not_fit_is_refused_as_ioping_does() {
    let empty = TargetFacts { kind: TargetKind::RegularFile, size: Bytes(0) };
    assert_eq!(prepared(".", empty), Err(Failure::RequestTooBig));
    for (line, failure) in [
        ("-s 2m .", Failure::RequestTooBig),
        ("-S 512 .", Failure::RequestTooBig),
        ("-o 1m .", Failure::RequestTooBig),
        ("-o 2m .", Failure::TargetTooSmall),
        ("-S 2m .", Failure::TargetTooSmall),
        ("-o 512k -S 1m .", Failure::TargetTooSmall),
    ] {
        assert_eq!(prepared(line, FILE), Err(failure), "{line}");
    }
    assert_eq!(prepared("-L -S 100k .", DIRECTORY), Err(Failure::RequestTooBig));
    assert_eq!(prepared("-s 1t -S 1t .", DIRECTORY), Err(Failure::Buffer));
}

#[test]
fn a_seed_that_was_said_is_that_of_the_plan() {
    assert_eq!(prepared("-e 5 .", FILE).expect("a plan").plan.seed, 5);
    assert_eq!(prepared(".", FILE).expect("a plan").plan.seed, 7);
}
