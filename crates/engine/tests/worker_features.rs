//! What workers do besides the plain loop, on a simulated device and a virtual clock: every figure is exact.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;

fn simulated(device: &str, depth: u32) -> Plan {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim(device.to_owned()));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), depth);
    stream.stop.time = Some(Nanos::from_seconds(1));
    plan.add_stream(stream);
    plan
}

fn run(plan: &Plan) -> Run {
    Engine::default().execute(Request::new(plan), &mut ()).map(|outcome| outcome.run).unwrap()
}

fn operations(run: &Run, stream: u32) -> u64 {
    let workers = run.workers.iter().filter(|w| w.stream == StreamId(stream));
    workers.flat_map(|w| &w.counts).map(|(_, c)| c.operations).sum()
}

#[test]
fn a_pause_after_every_four_operations_is_added_to_their_time() {
    let mut plan = simulated("ways=4,service=1ms", 4);
    let think = Think { wait: Nanos::from_millis(9), spin: Nanos(0), every: 4, work: Nanos(0) };
    plan.streams[0].arrival = Arrival::Closed { think: Some(think) };
    assert_eq!(operations(&run(&plan), 0), 400);
}

#[test]
fn a_spinning_pause_takes_cpu_time_and_a_sleeping_one_does_not() {
    let cpu_ns = |spin: u64| {
        let mut plan = Plan::new(1);
        let space = plan.add_target(Target::Null(Bytes(1 << 30)));
        let mut stream = Stream::closed("null", Blocks::random_reads(space, Bytes(4096)), 1);
        let think =
            Think { wait: Nanos::from_millis(40), spin: Nanos::from_millis(spin), every: 1, work: Nanos(0) };
        stream.arrival = Arrival::Closed { think: Some(think) };
        stream.stop.operations = Some(3);
        plan.add_stream(stream);
        let run = run(&plan);
        assert!(run.workers[0].span_ns.1 - run.workers[0].span_ns.0 >= 80_000_000);
        run.workers[0].user_ns + run.workers[0].system_ns
    };
    assert!(cpu_ns(40) > 20_000_000 && cpu_ns(0) < 20_000_000);
}

#[test]
fn a_queue_that_is_refilled_only_when_nearly_empty_does_less() {
    let mut plan = simulated("ways=8,service=1ms", 8);
    plan.streams[0].depth = Depth::Hysteresis { low: 0, high: 8 };
    plan.streams[0].batch.submit = 4;
    let result = run(&plan);
    assert_eq!((operations(&result, 0), result.workers[0].outstanding_most), (8000, 8));
}

#[test]
fn a_ramp_takes_nothing_of_what_a_window_is_to_hold() {
    let in_window = |depth: u32, stop: Stop| {
        let mut plan = simulated("ways=4,service=1ms", depth);
        plan.streams[0].stop = Stop { of_window: true, ..stop };
        plan.streams[0].window = Window::After(Nanos::from_micros(10_500));
        let result = run(&plan);
        let merged = result.merged(StreamId(0)).unwrap();
        let counted: u64 = merged.slots.iter().map(|slot| slot[0].operations).sum();
        (operations(&result, 0), counted, merged.outstanding.iter().sum::<u64>())
    };
    let (operations, bytes) = (Some(100), Some(Bytes(100 * 4096)));
    // Ten each way in the ramp; four that were started in it come back in the window.
    let expected = (140, 100, 96);
    assert_eq!(in_window(4, Stop { operations, ..Stop::default() }), expected);
    assert_eq!(in_window(4, Stop { bytes, ..Stop::default() }), expected);
    assert_eq!(in_window(1, Stop { operations: Some(3), ..Stop::default() }), (13, 3, 2));
}

#[test]
fn syncs_after_the_last_operation_are_timed_and_counted_as_syncs() {
    let mut plan = simulated("ways=1,service=1ms,flush=3ms", 1);
    plan.streams[0].stop = Stop { operations: Some(10), ..Stop::default() };
    plan.streams[0].after_last = vec![SyncKind::Fdatasync, SyncKind::Fsync, SyncKind::None];
    let result = run(&plan);
    let counts: Vec<_> = result.workers[0].counts.iter().map(|(v, c)| (*v, c.operations)).collect();
    assert_eq!(counts, [(Verb::Read, 10), (Verb::Sync, 2)]);
    assert_eq!(result.workers[0].span_ns, (0, 16_000_000));
    let merged = result.merged(StreamId(0)).unwrap();
    assert_eq!(merged.cells[1].1.service.as_ref().unwrap().max_ns, 3_000_000);
}

#[test]
fn the_deepest_queue_that_holds_a_latency_is_found() {
    let mut plan = simulated("ways=1,service=100us", 64);
    let target = Nanos::from_micros(1050);
    let window = Nanos::from_millis(50);
    plan.streams[0].depth = Depth::Latency { target, share: 0.99, window, high: 64 };
    plan.streams[0].stop.time = Some(Nanos::from_seconds(4));
    plan.streams[0].window = Window::After(Nanos::from_seconds(3));
    let result = run(&plan);
    let merged = result.merged(StreamId(0)).unwrap();
    let service = merged.cells[0].1.service.as_ref().unwrap();
    let held = EventKind::Held { stream: StreamId(0), outstanding: 10 };
    assert!(result.events.iter().any(|event| event.what == held), "{:?}", result.events);
    // Ten outstanding on one way of 100 us: each waits for nine others.
    assert_eq!((service.min_ns, service.max_ns), (1_000_000, 1_000_000));
}

#[test]
fn streams_of_a_flow_do_operations_in_the_ratio_of_their_weights() {
    let mut plan = simulated("ways=8,service=100us", 1);
    plan.cells.push(Shared::Flow { tolerance: 0 });
    let mut other = plan.streams[0].clone();
    plan.streams[0].depth = Depth::Flow { cell: CellId(0), weight: 3, high: 2 };
    other.depth = Depth::Flow { cell: CellId(0), weight: 1, high: 2 };
    plan.add_stream(other);
    let result = run(&plan);
    let (one, two) = (operations(&result, 0), operations(&result, 1));
    assert!(two > 1000 && one.abs_diff(two * 3) <= 6, "{one} {two}");
}

#[test]
fn the_time_of_submission_is_kept_where_it_is_asked_for() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = tempfile::NamedTempFile::new_in(folder).unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Path(PathTarget {
        direct: false,
        ..PathTarget::direct_read(file.path().to_string_lossy())
    }));
    for queue in [QueueKind::IoUring, QueueKind::Libaio, QueueKind::Psync] {
        let mut blocks = Blocks::random_reads(space, Bytes(4096));
        blocks.queue = queue;
        let mut stream = Stream::closed("reads", blocks, 8);
        (stream.keep.submit, stream.keep.completion) = (true, true);
        stream.stop.operations = Some(1000);
        plan.streams = vec![stream];
        let permits = Permits::new(Policy::Always);
        let result = Engine::default()
            .execute(Request::new(&plan).with_permits(&permits), &mut ())
            .map(|outcome| outcome.run)
            .unwrap();
        let merged = result.merged(StreamId(0)).unwrap();
        let cell = &merged.cells[0].1;
        let (submit, service) = (cell.submit.as_ref().unwrap(), cell.service.as_ref().unwrap());
        assert_eq!((submit.count, service.count), (1000, 1000), "{queue:?}");
        let completion = cell.completion.as_ref().unwrap();
        assert!(submit.min_ns > 0, "{queue:?}");
        let parts = (completion.count, submit.sum_ns + completion.sum_ns);
        assert_eq!(parts, (1000, service.sum_ns), "each is divided: {queue:?}");
    }
}
