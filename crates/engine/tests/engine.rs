//! The engine on real files and on simulated devices.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::io::Write;
use std::path::Path;

/// A file of pseudo-random bytes on a real file system (the build's folder: /tmp may be memory).
fn file_of(bytes: usize) -> tempfile::NamedTempFile {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut file = tempfile::NamedTempFile::new_in(folder).unwrap();
    let words: Vec<u8> = (0..bytes / 8)
        .flat_map(|i| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes())
        .collect();
    file.write_all(&words).unwrap();
    file.as_file().sync_all().unwrap();
    file
}

fn reads(path: &Path, queue: QueueKind, depth: u32) -> Plan {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Path(PathTarget::direct_read(path.to_string_lossy())));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    blocks.queue = queue;
    let mut stream = Stream::closed("reads", blocks, depth);
    stream.stop.operations = Some(2000);
    plan.add_stream(stream);
    plan
}

fn operations(run: &Run) -> u64 {
    run.workers.iter().flat_map(|w| &w.counts).map(|(_, c)| c.operations).sum()
}

#[test]
fn every_queue_reads_what_was_asked_for_and_keeps_the_depth() {
    let file = file_of(1 << 20);
    for (queue, depth) in [
        (QueueKind::IoUring, 16),
        (QueueKind::Libaio, 16),
        (QueueKind::Psync, 1),
        (QueueKind::Vectored, 1),
        (QueueKind::Threads, 6),
        (QueueKind::Auto, 8),
    ] {
        let plan = reads(file.path(), queue, depth);
        let run = Engine::default().execute(Request::new(&plan), &mut ()).unwrap().run;
        assert_eq!(operations(&run), 2000, "{queue:?}");
        assert_eq!(run.workers[0].outstanding_most, depth, "{queue:?}");
        let merged = run.merged(StreamId(0)).unwrap();
        assert_eq!(merged.cells[0].1.service.as_ref().unwrap().count, 2000, "{queue:?}");
        assert_eq!(merged.counts(0).bytes, 2000 * 4096);
    }
}

#[test]
fn what_is_written_is_incompressible_and_commits_are_counted_as_one_operation() {
    for (queue, direct) in [(QueueKind::IoUring, true), (QueueKind::Libaio, true), (QueueKind::Psync, false)]
    {
        let file = file_of(0);
        let mut plan = Plan::new(1);
        let space = plan.add_target(Target::Path(PathTarget {
            access: Access::Write,
            direct,
            ..PathTarget::direct_read(file.path().to_string_lossy())
        }));
        let mut blocks = Blocks::random_reads(space, Bytes(8192));
        (blocks.pattern, blocks.mix, blocks.queue) =
            (Pattern::Sequential(Begin::Append), Mix::Only(Verb::Commit), queue);
        let mut stream = Stream::closed("commits", blocks, 1);
        stream.stop.operations = Some(20);
        plan.add_stream(stream);
        let mut permits = Permits::new(Policy::Always);
        let refused = Engine::default()
            .execute(Request::new(&plan).with_permits(&permits), &mut ())
            .map(|outcome| outcome.run);
        assert!(matches!(refused, Err(ExecuteError::NotConsented { .. })));
        permits.add_consent(file.path().to_string_lossy());
        let run = Engine::default()
            .execute(Request::new(&plan).with_permits(&permits), &mut ())
            .map(|outcome| outcome.run)
            .unwrap();
        assert_eq!(operations(&run), 20, "{queue:?} {:?}", run.events);
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!(bytes.len(), 20 * 8192);
        assert!(bytes.chunks(512).all(|c| c.iter().any(|b| *b != 0)));
    }
}

#[test]
fn a_read_behind_the_end_is_a_fault_of_the_record_and_no_operation() {
    let file = file_of(1 << 20);
    let mut plan = reads(file.path(), QueueKind::Psync, 1);
    if let Work::Blocks(blocks) = &mut plan.streams[0].work {
        blocks.pattern = Pattern::Sequential(Begin::Append);
        blocks.region.0 = Extent::Bytes(Bytes(4096));
    }
    plan.streams[0].stop.operations = Some(299);
    let run = Engine::default().execute(Request::new(&plan), &mut ()).map(|outcome| outcome.run).unwrap();
    let counts = run.workers[0].counts[0].1;
    assert_eq!((counts.operations, counts.errors, counts.short), (255, 44, 44));
    let fault = run.faults().next().map(|e| e.what.clone());
    assert!(matches!(fault, Some(EventKind::Fault { times: 44, errno: 0, .. })), "{fault:?}");
}

struct StopAfter(u64);

impl Control for StopAfter {
    fn slot(&mut self, _now: u64, totals: &[Totals]) -> Steer {
        let done: u64 = totals.iter().map(|t| t.counts[0].operations).sum();
        if done >= self.0 { Steer::Stop(Vec::new(), StopReason::Told) } else { Steer::Continue }
    }
}

#[test]
fn a_control_can_end_a_run_and_what_was_measured_stays() {
    let file = file_of(1 << 20);
    let mut plan = reads(file.path(), QueueKind::Auto, 4);
    plan.streams[0].stop.operations = None;
    plan.slot = Nanos::from_millis(10);
    let run = Engine::default()
        .execute(Request::new(&plan), &mut StopAfter(100))
        .map(|outcome| outcome.run)
        .unwrap();
    assert!(operations(&run) >= 100);
    assert_eq!(run.workers[0].ended, StopReason::Told);
}

#[test]
fn streams_start_after_those_they_name() {
    let file = file_of(1 << 20);
    let mut plan = reads(file.path(), QueueKind::Auto, 4);
    let mut second = plan.streams[0].clone();
    second.start.after = vec![StreamId(0)];
    plan.add_stream(second);
    let run = Engine::default().execute(Request::new(&plan), &mut ()).map(|outcome| outcome.run).unwrap();
    let span = |i: usize| run.workers[i].span_ns;
    assert!(span(1).0 > span(0).1, "{:?} {:?}", span(0), span(1));
}

#[test]
fn what_the_engine_cannot_do_is_an_error_that_names_it() {
    let file = file_of(1 << 20);
    let mut plan = reads(file.path(), QueueKind::Auto, 4);
    plan.streams[0].depth = Depth::Flow { cell: CellId(0), weight: 1, high: 4 };
    let error = Engine::default()
        .execute(Request::new(&plan), &mut ())
        .map(|outcome| outcome.run)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no flow number 0"), "{error}");
    let mut odd = reads(file.path(), QueueKind::Auto, 4);
    if let Work::Blocks(blocks) = &mut odd.streams[0].work {
        blocks.sizes = Sizes::One(Bytes(1000));
    }
    let error = Engine::default()
        .execute(Request::new(&odd), &mut ())
        .map(|outcome| outcome.run)
        .unwrap_err()
        .to_string();
    assert!(error.contains("logical block"), "{error}");
}

#[test]
fn a_simulated_device_gives_exactly_its_ways_over_its_service_time() {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim("ways=32,service=100us".to_owned()));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(8192)), 32);
    stream.stop.time = Some(Nanos::from_seconds(2));
    stream.window = Window::Inside { before: Nanos::from_millis(500), length: Nanos::from_seconds(1) };
    plan.add_stream(stream);
    let run = Engine::default().execute(Request::new(&plan), &mut ()).map(|outcome| outcome.run).unwrap();
    let merged = run.merged(StreamId(0)).unwrap();
    assert_eq!(merged.counts(0).operations, 320_000);
    assert_eq!(merged.start_ns, 500_000_000);
}
