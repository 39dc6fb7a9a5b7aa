//! sysbench's commands on an executor that does what the test says. Sequential writes make their files themselves, so
//! that none is looked for.

use super::*;
use crate::Options;
use fathom_content::sysbench::seal;
use fathom_content::{Damage, Wrong};
use fathom_record::*;
use fathom_session::mock::{Scene, Stage};
use fathom_spec::{Bytes, Nanos, Plan, Verb};

const SHAPE: [&str; 4] = ["fileio", "--file-num=2", "--file-total-size=32K", "--file-test-mode=seqwr"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SHAPE.into_iter().chain(more.iter().copied()).collect()
}

fn options(more: &[&str]) -> Options {
    let words: Vec<String> = words(more).into_iter().map(str::to_owned).collect();
    match sysbench::parse(&words, &|_| Ok(String::new())).command {
        Command::Run(options) | Command::Prepare(options) => options,
        other => panic!("{other:?}"),
    }
}

/// The plan that a run with these words has.
fn plan() -> Plan {
    sysbench::run(&options(&["run"]), Mode::SequentialWrite, 1)
}

fn fails(error: ExecuteError) -> Stage {
    Stage::new(Scene { answer: Some(Err(error)), ..Scene::default() })
}

fn totals(operations: u64) -> Vec<Totals> {
    let mut counts = [Counts::default(); CELLS];
    counts[0].operations = operations;
    vec![Totals { counts, ..Totals::running(StreamId(0), &[Verb::Read, Verb::Write]) }]
}

/// Writes of one worker that took 1 ms each.
fn interval(writes: u32) -> Interval {
    let mut service = Latency::ready();
    (0..writes).for_each(|_| service.add(1_000_000));
    let cell = Cell { service: Some(Box::new(service)), ..Cell::default() };
    let mut interval = Interval::new(StreamId(0), 0, vec![(Verb::Write, cell)], 1);
    interval.slots[0][0] =
        Counts { operations: writes.into(), bytes: u64::from(writes) << 14, ..Counts::default() };
    interval
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

#[test]
fn what_the_guard_refuses_is_fatal_and_its_hint_names_what_can_be_done_here() {
    let target = || "test_file.0".to_owned();
    let held = ExecuteError::NotConsented { target: target(), holds: Some("a file system".to_owned()) };
    let unseen = ExecuteError::NotInspected { target: target(), error: "no".to_owned() };
    for (error, fatal, hint) in [
        (
            held,
            "FATAL: will not write to test_file.0: it holds something: a file system",
            "hint: what is written destroys what is there; if you want that, set FATHOM_WRITE_CONSENT=test_file.0\n",
        ),
        (
            unseen,
            "FATAL: cannot see what test_file.0 holds: no",
            "hint: only a target that could be looked at is written to; try as root, or use a mode that only reads\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Stage { store: Some(folder.path().join("store.db")), ..fails(error) };
        let (status, out, err) = stage.run(&Sysbench, &words(&["run"]));
        assert_eq!((status, last_line(&out), err.as_str()), (1, fatal, hint));
        assert_eq!(stage.record(), None);
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_told_with_its_number() {
    let error = ExecuteError::Thread { number: 7, stream: "run".to_owned(), errno: 11 };
    let (status, out, err) = fails(error).run(&Sysbench, &words(&["run"]));
    let fatal =
        "FATAL: sb_thread_create() for thread #7 failed. errno = 11 (Resource temporarily unavailable)";
    assert_eq!((status, last_line(&out), err.as_str()), (1, fatal, ""));
}

#[test]
fn prepare_tells_each_file_when_its_turn_comes() {
    let started = |stream| Event { at_ns: 0, what: EventKind::Started(StreamId(stream)) };
    let mut stage = Stage::new(Scene { events: vec![started(0), started(1)], ..Scene::default() });
    let (status, out, err) = stage.run(&Sysbench, &words(&["prepare"]));
    assert!(
        out.ends_with("\nCreating file test_file.0\nCreating file test_file.1\nNo bytes written.\n"),
        "{out}"
    );
    assert_eq!((status, err.as_str(), stage.execute.requests.len()), (0, "", 1));
}

#[test]
fn a_file_that_cannot_be_made_is_told_in_its_words_only_where_the_system_refused_it() {
    let target = || "test_file.0".to_owned();
    let denied = ExecuteError::NotOpened { target: target(), errno: 13, direct: false };
    let (status, out, err) = fails(denied).run(&Sysbench, &words(&["prepare"]));
    let fatal = "FATAL: Can't open file errno = 13 (Permission denied)";
    assert_eq!((status, last_line(&out), err.as_str()), (1, fatal, ""));
    let used =
        ExecuteError::InUse { target: target(), by: "it swaps".to_owned(), hint: "swapoff".to_owned() };
    let (status, out, err) = fails(used).run(&Sysbench, &words(&["prepare"]));
    let fatal = "FATAL: cannot write to test_file.0: it swaps";
    assert_eq!((status, last_line(&out), err.as_str()), (1, fatal, "hint: swapoff\n"));
}

#[test]
fn the_first_fault_is_told_with_the_descriptor_of_its_file() {
    let mut run = Run::empty(&plan());
    let fault = EventKind::Fault {
        stream: StreamId(0),
        verb: Verb::Write,
        offset: Bytes(8192),
        errno: 5,
        moved: Bytes(0),
        target: "test_file.1".to_owned(),
        times: 1,
    };
    run.events.push(Event { at_ns: 0, what: fault });
    let mut stage = Stage::new(Scene { answer: Some(Ok(Outcome::of(run))), ..Scene::default() });
    let (status, out, _) = stage.run(&Sysbench, &words(&["run"]));
    let fatal = "FATAL: Failed to write file! file: 4 pos: 8192 errno = 5 (Input/output error)";
    assert_eq!((status, last_line(&out)), (1, fatal));
}

/// What is told of a block of the second file: its bytes as they were found at 16384.
fn told_of(bytes: Vec<u8>) -> String {
    let mut run = Run::empty(&plan());
    let note = "in other words".to_owned();
    let (offset, target) = (Bytes(16_384), "test_file.1".to_owned());
    let (length, why) = (Bytes(bytes.len() as u64), note.clone());
    let what = EventKind::Mismatch { stream: StreamId(0), offset, target, length, why, note: note.clone() };
    run.events.push(Event { at_ns: 0, what });
    let wrong = Wrong { damage: Damage::Corrupt, offset: 16_384, length: bytes.len() as u32, note };
    let block = |target| Mismatch {
        target,
        offset: 16_384,
        number: 0,
        expected: Vec::new(),
        bytes: bytes.clone(),
        wrong: wrong.clone(),
    };
    // Another block at the same place of another file.
    let other = Mismatch { bytes: vec![9; 512], ..block(0) };
    let outcome = Outcome { mismatches: vec![other, block(1)], ..Outcome::of(run) };
    let mut stage = Stage::new(Scene { answer: Some(Ok(outcome)), ..Scene::default() });
    let (status, out, err) = stage.run(&Sysbench, &words(&["run"]));
    assert_eq!((status, err.as_str()), (1, ""));
    let at = out.find("FATAL").unwrap();
    out[at..].to_owned()
}

#[test]
fn a_block_that_does_not_validate_is_judged_by_its_bytes() {
    let mut moved = vec![7; 512];
    seal(&mut moved, 4096);
    assert_eq!(
        told_of(moved.clone()),
        "FATAL: Offset mismatch in block:\nFATAL:    Actual offset: 16384    Stored offset: 4096\n\
         FATAL: Validation failed on file 1, block offset 16384, exiting...\n"
    );
    moved[500..504].copy_from_slice(&[0x78, 0x56, 0x34, 0x12]);
    let told = told_of(moved);
    assert!(told.starts_with(
        "FATAL: Checksum mismatch in block with offset: 16384\nFATAL:     Calculated value: 0x"
    ));
    assert!(
        told.contains("    Stored value: 0x12345678\nFATAL: Validation failed on file 1, block"),
        "{told}"
    );
}

#[test]
fn an_interrupted_run_is_kept_with_figures_checks_and_notes() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::empty(&plan());
    let counts = Counts { operations: 2, bytes: 32 << 10, ..Counts::default() };
    run.workers.push(WorkerTotals {
        counts: vec![(Verb::Write, counts)],
        ended: StopReason::Signal,
        ..WorkerTotals::finished(StreamId(0), 0, (0, 1_000_000_000))
    });
    let slots = vec![(100_000_000, totals(1)), (200_000_000, totals(2))];
    let scene = Scene { slots, answer: Some(Ok(Outcome::of(run))), ..Scene::default() };
    let mut stage = Stage { store: Some(folder.path().join("store.db")), ..Stage::new(scene) };
    stage.environment.interrupt().raise();
    let (status, out, err) = stage.run(&Sysbench, &words(&["run"]));
    assert_eq!((status, err.as_str()), (INTERRUPTED, ""), "{out}");
    assert_eq!(stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Signal)]);
    let record = stage.record().unwrap();
    assert_eq!((record.ending, record.runs[0].name.as_str()), (Ending::Interrupted, "fileio"));
    assert_eq!(record.summary[&FigureName::Iops].value, 2.0);
    let through = record.verdict.checks.iter().find(|check| check.name == "page cache bypassed").unwrap();
    assert_eq!(through.outcome, CheckOutcome::Failed);
    assert!(record.notes.iter().any(|note| note.text.starts_with("all data written are zeros")));
}

#[test]
fn arrivals_that_nobody_takes_fill_the_queue() {
    // 131,072 may wait: of 200,000 in the first second 68,928 must have been done.
    for (done, status) in [(68_928, 0), (68_927, 1)] {
        let scene = Scene { slots: vec![(1_000_000_000, totals(done))], ..Scene::default() };
        let mut stage = Stage::new(scene);
        let (seen, out, _) = stage.run(&Sysbench, &words(&["--rate=200000", "run"]));
        assert_eq!((seen, out.contains("FATAL: The event queue is full. ")), (status, status == 1), "{out}");
        let stops = matches!(stage.execute.steers[..], [Steer::Stop(_, StopReason::Told)]);
        assert_eq!(stops, status == 1);
    }
}

#[test]
fn a_forced_shutdown_tells_its_report_a_tenth_of_a_second_after_its_time() {
    let slots = vec![(3_099_999_999, totals(1)), (3_100_000_000, totals(1))];
    let mut stage = Stage::new(Scene { slots, ..Scene::default() });
    let (status, out, _) = stage.run(&Sysbench, &words(&["--time=2", "--forced-shutdown=1", "run"]));
    assert_eq!(status, 2, "{out}");
    assert_eq!(stage.execute.steers, [Steer::Continue, Steer::Stop(Vec::new(), StopReason::Told)]);
    let fatal = "FATAL: The --max-time limit has expired, forcing shutdown...\n";
    assert_eq!(out.matches(fatal).count(), 1, "{out}");
}

/// The real one finds its threads busy there but for a machine under load.
#[test]
fn a_forced_shutdown_after_no_seconds_comes_with_the_end_of_the_time() {
    let slots = vec![(999_999_999, totals(1)), (1_000_000_000, totals(1))];
    let mut stage = Stage::new(Scene { slots, ..Scene::default() });
    let (status, out, _) = stage.run(&Sysbench, &words(&["--time=1", "--forced-shutdown", "run"]));
    assert_eq!(status, 2, "{out}");
    assert_eq!(stage.execute.steers, [Steer::Continue, Steer::Stop(Vec::new(), StopReason::Told)]);
    let plan = &stage.execute.requests[0].0;
    assert!(plan.streams[0].stop.time.is_some_and(|time| time > Nanos::from_seconds(1)));
}

#[test]
fn a_fault_stops_the_others() {
    let mut failed = totals(1);
    failed[0].counts[0].errors = 1;
    let mut stage = Stage::new(Scene { slots: vec![(1, failed)], ..Scene::default() });
    stage.run(&Sysbench, &words(&["run"]));
    assert_eq!(stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Fault)]);
}

#[test]
fn a_line_comes_with_the_last_worker_or_three_tenths_of_a_second_late() {
    let console = Console::captured();
    let options = options(&["--report-interval=1", "--threads=2", "run"]);
    let interrupt = Environment::given(&[]).interrupt();
    let mut live = Live::new(&options, &interrupt, Messages::new(&options, &console));
    live.event(&Event { at_ns: 0, what: EventKind::Started(StreamId(0)) });
    live.interval(&interval(64));
    live.slot(1_100_000_000, &totals(64));
    assert_eq!(console.take().0, "Threads started!\n\n");
    live.interval(&interval(64));
    live.slot(1_200_000_000, &totals(128));
    let line = |at: u64, mibs: &str, ms: &str| {
        format!("[ {at}s ] reads: 0.00 MiB/s writes: {mibs} MiB/s fsyncs: 0.00/s latency (ms,95%): {ms}\n")
    };
    assert_eq!(console.take().0, line(1, "2.00", "1.007"));
    live.interval(&interval(64));
    live.slot(2_299_999_999, &totals(192));
    assert_eq!(console.take().0, "");
    live.slot(2_300_000_000, &totals(192));
    assert_eq!(console.take().0, line(2, "1.00", "1.007"));
}

#[test]
fn debug_tells_every_request_but_the_syncs_at_the_end() {
    let console = Console::captured();
    let options = options(&["--debug", "run"]);
    let entry = |verb, target, offset| LogEntry {
        at_ns: 0,
        submitted_ns: 0,
        submit_ns: 0,
        operation: Operation { offset, due_ns: 0, mark: 0, length: 16_384, target, verb, cell: 0 },
        priority: 0,
        result: 16_384,
        worker: 0,
    };
    let mut log = DebugLog::default();
    log.take(&[entry(Verb::Write, 0, 0), entry(Verb::Sync, 0, 0), entry(Verb::Commit, 1, 5 << 30)]).unwrap();
    // One for each file when the load has ended.
    log.take(&[entry(Verb::Sync, 0, 0), entry(Verb::Sync, 1, 0)]).unwrap();
    log.tell(&options, Messages::new(&options, &console));
    let line = |kind, file, at| {
        format!("DEBUG: Executing request, operation: {kind}, file_id: {file}, pos: {at}, size: 16384\n")
    };
    let expected = [line(2, 0, 0), line(3, 0, 0), line(2, 1, 1 << 30)].concat();
    assert_eq!(console.take(), (expected, String::new()));
}
