//! What ends workers before their work is done, what their threads are to the system, and queues that are no queues of bytes.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::path::Path;

fn file(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

fn plan(path: &Path, queue: QueueKind, mix: Mix) -> Plan {
    let mut plan = Plan::new(1);
    let target = PathTarget {
        access: Access::Write,
        direct: false,
        ..PathTarget::direct_read(path.to_string_lossy())
    };
    let space = plan.add_target(Target::Path(target));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    (blocks.mix, blocks.queue) = (mix, queue);
    blocks.pattern = Pattern::Sequential(Begin::First);
    let mut stream = Stream::closed("terms", blocks, 1);
    stream.stop.operations = Some(16);
    plan.add_stream(stream);
    plan
}

fn run(plan: &Plan) -> Run {
    let mut permits = Permits::new(Policy::Always);
    for target in &plan.targets {
        if let Target::Path(target) = target {
            permits.add_consent(target.path.clone());
        }
    }
    Engine::default()
        .execute(Request::new(plan).with_permits(&permits), &mut ())
        .map(|outcome| outcome.run)
        .unwrap()
}

fn counts(run: &Run) -> (u64, u32, StopReason) {
    let worker = &run.workers[0];
    (worker.counts[0].1.operations, worker.counts[0].1.errors, worker.ended)
}

/// Reads of a queue that knows writes only: each fails with EINVAL.
fn failing(failures: Failures) -> (u64, u32, StopReason) {
    let file = file(1 << 16);
    let mut plan = plan(file.path(), QueueKind::Truncate, Mix::Only(Verb::Read));
    plan.streams[0].errors.failures = failures;
    counts(&run(&plan))
}

#[test]
fn the_first_failure_that_is_not_passed_over_ends_a_worker() {
    let end = |read| Failures::End { read, write: Vec::new(), check: Vec::new() };
    assert_eq!(failing(Failures::Pass), (0, 16, StopReason::Finished));
    assert_eq!(failing(end(vec![])), (0, 1, StopReason::Fault));
    assert_eq!(failing(end(vec![5, 22])), (0, 16, StopReason::Finished));
}

#[test]
fn an_operation_that_takes_longer_than_it_may_ends_its_worker() {
    let file = file(1 << 16);
    let mut plan = plan(file.path(), QueueKind::Psync, Mix::Only(Verb::Read));
    plan.streams[0].errors.latency_most = vec![(Verb::Write, Nanos(0)), (Verb::Read, Nanos(0))];
    let late = run(&plan);
    assert_eq!(counts(&late), (1, 1, StopReason::Fault));
    let fault = late.faults().next().map(|event| event.what.clone());
    assert!(matches!(fault, Some(EventKind::Fault { errno: 110, times: 1, .. })), "{fault:?}");
    plan.streams[0].errors.latency_most = vec![(Verb::Read, Nanos::from_seconds(100))];
    assert_eq!(counts(&run(&plan)), (16, 0, StopReason::Finished));
}

#[test]
fn space_is_reserved_given_back_and_sized() {
    let file = file(0);
    let mut reserve = plan(file.path(), QueueKind::Allocate, Mix::Only(Verb::Write));
    let set = |plan: &mut Plan, mix| {
        if let Work::Blocks(blocks) = &mut plan.streams[0].work {
            blocks.region.1 = Extent::Bytes(Bytes(1 << 16));
            blocks.mix = mix;
        }
        if let Target::Path(path) = &mut plan.targets[0] {
            path.create = Some(Bytes(0));
        }
    };
    set(&mut reserve, Mix::Only(Verb::Write));
    assert_eq!(counts(&run(&reserve)), (16, 0, StopReason::Finished));
    let about = || file.as_file().metadata().unwrap();
    let blocks = || std::os::unix::fs::MetadataExt::blocks(&about());
    assert_eq!((about().len(), blocks() >= 128), (1 << 16, true));
    set(&mut reserve, Mix::Only(Verb::Trim));
    assert_eq!(counts(&run(&reserve)), (16, 0, StopReason::Finished));
    assert_eq!((about().len(), blocks()), (1 << 16, 0));
    let mut truncate = plan(file.path(), QueueKind::Truncate, Mix::Only(Verb::Write));
    set(&mut truncate, Mix::Only(Verb::Write));
    assert_eq!(counts(&run(&truncate)), (16, 0, StopReason::Finished));
    assert_eq!(about().len(), 15 * 4096, "the last write is at the last block");
}

#[test]
fn no_more_completions_are_taken_at_a_time_than_asked_for() {
    let file = file(1 << 20);
    let mut plan = plan(file.path(), QueueKind::Libaio, Mix::Only(Verb::Read));
    let stream = &mut plan.streams[0];
    stream.depth = Depth::Fixed(16);
    stream.batch = Batch { submit: 16, reap_least: 1, reap_most: 4, ..Batch::default() };
    stream.stop.operations = Some(256);
    let run = run(&plan);
    assert_eq!(counts(&run), (256, 0, StopReason::Finished));
    let taken = |class: &str| {
        let name = Counter::from(format!("completed_{class}"));
        let found = run.samples.iter().rev().find(|sample| sample.name == name);
        found.map_or(0, |sample| sample.value)
    };
    assert!(taken("4") >= 64, "{}", taken("4"));
    assert_eq!((taken("8"), taken("16"), taken("more")), (0, 0, 0));
}

#[test]
fn syncs_between_operations_leave_out_the_one_behind_the_last() {
    let file = file(1 << 16);
    for (between, expected) in [(false, 4), (true, 3)] {
        let mut plan = plan(file.path(), QueueKind::Psync, Mix::Only(Verb::Write));
        if let Work::Blocks(blocks) = &mut plan.streams[0].work {
            let kind = SyncKind::Fdatasync;
            blocks.sync =
                vec![SyncRule { every: 4, of: Verb::Write, kind, all_targets_in_turn: false, between }];
        }
        let run = run(&plan);
        assert_eq!((counts(&run).0, run.workers[0].counts[1].1.operations), (16, expected));
    }
}

#[test]
fn a_worker_has_the_attributes_it_was_given_and_others_keep_theirs() {
    let nice = || rustix::process::getpriority_process(None).unwrap();
    let before = nice();
    let file = file(1 << 16);
    let mut plan = plan(file.path(), QueueKind::Psync, Mix::Only(Verb::Read));
    let thread = &mut plan.streams[0].thread;
    (thread.nice, thread.io_priority, thread.locked) = (Some(19), Some((3, 0)), Bytes(4096));
    assert_eq!(counts(&run(&plan)), (16, 0, StopReason::Finished));
    assert_eq!(nice(), before);
}

#[test]
fn sizes_below_the_alignment_stand_at_aligned_places() {
    let file = file(1 << 20);
    let mut plan = plan(file.path(), QueueKind::Psync, Mix::Only(Verb::Read));
    plan.streams[0].stop.operations = Some(200);
    if let Work::Blocks(blocks) = &mut plan.streams[0].work {
        blocks.sizes = Sizes::Split(vec![(Verb::Read, Bytes(512), 50), (Verb::Read, Bytes(6144), 50)]);
        (blocks.align, blocks.pattern) = (Bytes(4096), Pattern::Uniform { once: false });
    }
    assert_eq!(counts(&run(&plan)), (200, 0, StopReason::Finished));
}

fn command(text: &str, output: Option<(String, String)>) -> Plan {
    let mut plan = Plan::new(1);
    let mut stream = Stream::closed("command", Blocks::random_reads(SpaceId(0), Bytes(1)), 1);
    let grace = Nanos::from_millis(20);
    let arguments = vec!["-c".to_owned(), text.to_owned()];
    let command = Command { program: "/bin/sh".to_owned(), arguments, output, grace };
    stream.work = Work::Command(Box::new(command));
    stream.keep = Keep::default();
    plan.add_stream(stream);
    plan
}

fn ended(plan: &Plan) -> StopReason {
    let attachments = Attachments { commands: true, ..Attachments::default() };
    let outcome = Engine::default().execute(Request { attachments, ..Request::new(plan) }, &mut ()).unwrap();
    outcome.run.workers[0].ended
}

#[test]
fn commands_run_only_where_they_are_allowed() {
    let refused = Engine::default().execute(Request::new(&command("true", None)), &mut ());
    assert!(matches!(refused, Err(ExecuteError::Plan { what, .. }) if what.contains("not allowed")));
    assert_eq!(ended(&command("true", None)), StopReason::Finished);
    assert_eq!(ended(&command("exit 3", None)), StopReason::Fault);
}

#[test]
fn a_command_writes_where_it_is_told_and_ends_with_its_stream() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let both = Some((path("out"), path("out")));
    let mut plan = command("echo one; echo two >&2; exec sleep 100", both);
    plan.streams[0].stop.time = Some(Nanos::from_millis(300));
    let clock = fathom_drive::Clock::start();
    assert_eq!(ended(&plan), StopReason::Finished);
    assert!(clock.now() < 20_000_000_000, "it was not waited for");
    assert_eq!(std::fs::read_to_string(path("out")).unwrap(), "one\ntwo\n");
}
