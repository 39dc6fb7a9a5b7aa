//! Verification beside the worker, of what was discarded, and of what an earlier run wrote.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;

const ONE_PASS: Verify = Verify { then_read_pass: true, ..Verify::READS };

fn file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    file
}

/// 256 blocks, each once, at random.
fn plan(path: &Path, verify: Verify, queue: QueueKind) -> Plan {
    let mut plan = Plan::new(1);
    let target = PathTarget::direct_read(path.to_string_lossy());
    let space = plan.add_target(Target::Path(PathTarget { access: Access::Write, direct: false, ..target }));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    (blocks.mix, blocks.pattern) = (Mix::Only(Verb::Write), Pattern::Uniform { once: true });
    blocks.content = Content::FioHeader { hash: 5, interval: 0, swap: 0, pattern: Vec::new() };
    (blocks.verify, blocks.queue) = (Some(verify), queue);
    let mut stream = Stream::closed("verified", blocks, 8);
    stream.stop.passes = Some(1);
    plan.add_stream(stream);
    plan
}

fn execute(plan: &Plan, attachments: Attachments) -> Result<Outcome, ExecuteError> {
    let mut permits = Permits::new(Policy::WhenHolding);
    if let Target::Path(path) = &plan.targets[0] {
        permits.add_consent(path.path.clone());
    }
    let request = Request { attachments, ..Request::new(plan).with_permits(&permits) };
    Engine::default().execute(request, &mut ())
}

fn run(plan: &Plan) -> Run {
    execute(plan, Attachments::default()).unwrap().run
}

/// First bytes of what was not as it should be.
fn mismatches(run: &Run) -> Vec<u64> {
    let told = |event: &fathom_record::Event| match &event.what {
        EventKind::Mismatch { offset, .. } => Some(offset.0),
        _ => None,
    };
    let mut all: Vec<u64> = run.events.iter().filter_map(told).collect();
    all.sort_unstable();
    all
}

fn counts(run: &Run) -> Vec<(Verb, u64)> {
    run.workers[0].counts.iter().map(|(verb, counts)| (*verb, counts.operations)).collect()
}

#[test]
fn threads_beside_the_worker_find_what_it_would_have_found() {
    let beside = Verify { checkers: 3, ..ONE_PASS };
    for queue in [
        QueueKind::IoUring,
        QueueKind::Libaio,
        QueueKind::Psync,
        QueueKind::Vectored,
        QueueKind::Threads,
        QueueKind::Mmap,
    ] {
        let file = file();
        for backlog in [None, Some((16, 16))] {
            let run = run(&plan(file.path(), Verify { backlog, ..beside }, queue));
            let all = vec![(Verb::Write, 256), (Verb::Read, 256)];
            assert_eq!((mismatches(&run), counts(&run)), (vec![], all), "{queue:?}");
        }
        let mut bytes = std::fs::read(file.path()).unwrap();
        [3, 77, 200].iter().for_each(|block| bytes[block * 4096 + 900] ^= 1);
        std::fs::write(file.path(), bytes).unwrap();
        let only = Verify { only: true, then_read_pass: false, ..beside };
        let told = run(&plan(file.path(), only, queue));
        assert_eq!(mismatches(&told), [3 * 4096, 77 * 4096, 200 * 4096], "{queue:?}");
        assert_eq!(counts(&told), [(Verb::Write, 0), (Verb::Read, 256)], "{queue:?}");
        let mut fatal = plan(file.path(), Verify { fatal: true, ..only }, queue);
        fatal.streams[0].depth = Depth::Fixed(1);
        let ended = run(&fatal);
        assert!(!mismatches(&ended).is_empty(), "{queue:?}");
        assert_eq!(ended.workers[0].ended, fathom_record::StopReason::Fault, "{queue:?}");
    }
}

#[test]
fn threads_that_check_may_be_kept_on_a_cpu() {
    let file = file();
    let mut pinned = plan(file.path(), Verify { checkers: 2, ..ONE_PASS }, QueueKind::Psync);
    let set = |plan: &mut Plan, cpu| match &mut plan.streams[0].work {
        Work::Blocks(blocks) => blocks.checker_cpus = vec![cpu],
        _ => unreachable!(),
    };
    set(&mut pinned, fathom_engine::allowed_cpus()[0] as u32);
    assert!(mismatches(&run(&pinned)).is_empty());
    set(&mut pinned, 1_000_000);
    let refused = execute(&pinned, Attachments::default()).unwrap_err().to_string();
    assert!(refused.contains("cannot run on the CPUs [1000000]"), "{refused}");
}

#[test]
fn what_was_discarded_reads_as_zeros_and_what_does_not_is_told() {
    let discards = Some(Discards { percent: 30, after: 32, batch: 32, zeros: true });
    for queue in [QueueKind::IoUring, QueueKind::Libaio, QueueKind::Psync] {
        let file = file();
        let told = run(&plan(file.path(), Verify { discards, ..ONE_PASS }, queue));
        let [(Verb::Write, 256), (Verb::Trim, trims), (Verb::Read, 256)] = counts(&told)[..] else {
            panic!("{queue:?}: {:?}", counts(&told))
        };
        assert!((40..120).contains(&trims), "{queue:?}: {trims}");
        assert!(mismatches(&told).is_empty(), "{queue:?}");
        let bytes = std::fs::read(file.path()).unwrap();
        let zeros = bytes.chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0)).count() as u64;
        assert_eq!(zeros, trims, "{queue:?}");
    }
}

#[test]
fn writers_leave_behind_how_far_they_got_and_no_more_is_checked_than_that() {
    let file = file();
    let mut half = plan(file.path(), Verify { then_read_pass: false, ..ONE_PASS }, QueueKind::IoUring);
    half.streams[0].stop = Stop { operations: Some(100), ..Stop::default() };
    let left = execute(&half, Attachments { progress: true, ..Attachments::default() }).unwrap().progress;
    let [(StreamId(0), progress)] = &left[..] else { panic!("{left:?}") };
    assert_eq!((progress.writes, progress.depth, progress.last.len()), (100, 8, 8));
    let only = plan(file.path(), Verify { only: true, then_read_pass: false, ..ONE_PASS }, QueueKind::Psync);
    // Nothing known: what was never written is found, and the first of it is told.
    assert_eq!(mismatches(&run(&only)).len(), 64);
    let known = |progress: Progress| {
        let known = vec![(StreamId(0), progress)];
        let run = execute(&only, Attachments { known, ..Attachments::default() }).unwrap().run;
        (mismatches(&run).len(), counts(&run)[1].1)
    };
    assert_eq!(known(progress.clone()), (0, 100));
    assert_eq!(known(Progress { writes: 120, ..progress.clone() }), (12, 112));
}

#[test]
fn operations_carry_their_priority_to_the_kernel() {
    let file = file();
    for queue in [QueueKind::IoUring, QueueKind::Libaio] {
        let mut plan = plan(file.path(), ONE_PASS, queue);
        let Work::Blocks(blocks) = &mut plan.streams[0].work else { unreachable!() };
        (blocks.verify, blocks.mix) = (None, Mix::Only(Verb::Read));
        let mut refused = |percent, class| {
            let Work::Blocks(blocks) = &mut plan.streams[0].work else { unreachable!() };
            blocks.priorities = vec![Priority { of: Verb::Read, size: None, percent, class, level: 0 }];
            let run = run(&plan);
            run.workers[0].counts[0].1.errors
        };
        // There is no class 5, and the kernel says so to each that has it.
        assert_eq!((refused(100, 2), refused(100, 5)), (0, 256), "{queue:?}");
        let some = refused(25, 5);
        assert!((35..95).contains(&some), "{queue:?}: {some}");
    }
    let mut plan = plan(file.path(), ONE_PASS, QueueKind::Psync);
    let Work::Blocks(blocks) = &mut plan.streams[0].work else { unreachable!() };
    blocks.priorities = vec![Priority { of: Verb::Read, size: None, percent: 1, class: 1, level: 0 }];
    let error = execute(&plan, Attachments::default()).unwrap_err().to_string();
    assert!(error.contains("in io_uring and libaio only"), "{error}");
}

#[test]
fn operations_may_be_handed_over_to_threads_of_the_kernel() {
    let file = file();
    let mut plan = plan(file.path(), ONE_PASS, QueueKind::IoUring);
    let Work::Blocks(blocks) = &mut plan.streams[0].work else { unreachable!() };
    blocks.queue_options.hand_over_every = 2;
    let run = run(&plan);
    assert_eq!((mismatches(&run), counts(&run)), (vec![], vec![(Verb::Write, 256), (Verb::Read, 256)]));
}
