//! Whole tests of dt in this process, on an executor that does what each of them says.

use super::Dt;
use fathom_content::{Damage, Wrong};
use fathom_record::*;
use fathom_session::mock::{Scene, Stage};
use fathom_spec::{Bytes, Plan, StreamId, Verb};
use fathom_store::State;
use std::path::Path;

/// A directory with a store in it, and a stage.
struct Setting {
    directory: tempfile::TempDir,
    stage: Stage,
}

impl Setting {
    fn new(scenes: Vec<Scene>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut stage = Stage::new(Scene::default());
        stage.execute.scenes = scenes.into();
        stage.store = Some(directory.path().join("store"));
        Setting { directory, stage }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    /// Runs dt on the file `f`, which `FILE` stands for; what it says has `FILE` in it, too.
    fn dt(&mut self, words: &str) -> (u8, String, String) {
        let file = self.path("f");
        let words = words.replace("FILE", &file);
        let words: Vec<&str> = words.split_whitespace().collect();
        let (status, out, err) = self.stage.run(&Dt, &words);
        (status, out.replace(&file, "FILE"), err.replace(&file, "FILE"))
    }

    fn holds(&self, name: &str) -> bool {
        Path::new(&self.path(name)).exists()
    }
}

/// Counters of the one stream: operations of 4 KiB, those that failed, those outstanding.
fn totals(operations: u64, errors: u64, outstanding: u64) -> Vec<Totals> {
    let mut counts = [Counts::default(); CELLS];
    (counts[0].operations, counts[0].bytes, counts[0].errors) = (operations, operations << 12, errors as _);
    vec![Totals { outstanding, counts, ..Totals::running(StreamId(0), &[Verb::Read, Verb::Write]) }]
}

fn slots(slots: Vec<(u64, Vec<Totals>)>) -> Scene {
    let slots = slots.into_iter().map(|(at_ms, totals)| (at_ms * 1_000_000, totals));
    Scene { slots: slots.collect(), ..Scene::default() }
}

fn refused(error: ExecuteError) -> Scene {
    Scene { answer: Some(Err(error)), ..Scene::default() }
}

fn outcome() -> Outcome {
    Outcome::of(Run::empty(&Plan::new(1)))
}

fn answered(outcome: Outcome) -> Scene {
    Scene { answer: Some(Ok(outcome)), ..Scene::default() }
}

#[test]
fn keep_alive_messages_come_each_second() {
    let moments = (1..=5).map(|at| (at * 500, totals(at, 0, 1))).collect();
    let mut setting = Setting::new(vec![slots(moments)]);
    let (status, out, err) = setting.dt("of=FILE limit=96k bs=4k disable=verify stats=none keepalivet=1");
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "dt (j:1 t:1): FILE Stats: mode write, blocks 16, 0.008 Mbytes, pass 0/1, elapsed 00m01.00s\n\
         dt (j:1 t:1): FILE Stats: mode write, blocks 32, 0.016 Mbytes, pass 0/1, elapsed 00m02.00s\n"
    );
}

#[test]
fn a_test_that_does_not_move_is_told_each_time_and_its_trigger_needs_consent() {
    let moments = [0, 1000, 2000, 2500].map(|at| (at, totals(3, 0, 1))).into();
    let mut setting = Setting::new(vec![slots(moments)]);
    let words = "of=FILE limit=96k bs=4k disable=verify stats=none noprogt=1 noprogtt=2 trigger=cmd:true";
    let (status, out, _) = setting.dt(words);
    assert_eq!(status, 0);
    assert_eq!(
        out,
        "dt (j:1 t:1): WARNING: No progress made on FILE for 1 seconds (write, 3 records done, 1 I/Os outstanding)\n\
         dt (j:1 t:1): WARNING: No progress made on FILE for 2 seconds (write, 3 records done, 1 I/Os outstanding)\n\
         The trigger was not run: set FATHOM_EXEC_CONSENT=1 to allow it.\n"
    );
}

#[test]
fn refusals_are_said_in_dts_words_and_leave_nothing() {
    let full = ExecuteError::NotExtended { target: "x".to_owned(), length: Bytes(1 << 20), errno: 28 };
    let consent = ExecuteError::NotConsented { target: "/dev/x".to_owned(), holds: None };
    let small = ExecuteError::TooSmall {
        targets: vec!["x".to_owned()],
        holds: Bytes(1),
        start: Bytes(0),
        length: Bytes(512),
        block: Bytes(512),
    };
    let missing = ExecuteError::NotOpened { target: "x".to_owned(), errno: 2, direct: false };
    for (error, hint) in [
        (full, "free some space, or use less of it with limit="),
        (
            consent,
            "what is written destroys what is there; if you want that, set FATHOM_WRITE_CONSENT=/dev/x",
        ),
        (small, "use a larger target, a smaller limit= or a smaller bs="),
        (missing, "check the name; it must be in a directory that is there"),
    ] {
        let what = error.what();
        let mut setting = Setting::new(vec![refused(error)]);
        let (status, out, err) = setting.dt("of=FILE limit=96k bs=4k");
        assert_eq!((status, out.as_str()), (255, ""));
        assert_eq!(err, format!("dt (j:1 t:1): ERROR: {what}\nhint: {hint}\n"));
        assert!(setting.stage.stored().is_none() && !setting.holds("f"));
    }
}

#[test]
fn options_that_are_wrong_are_said_as_they_were_typed() {
    let (status, out, err) = Setting::new(Vec::new()).dt("of=FILE limit=1m --block-size=4k");
    assert_eq!((status, out.as_str()), (255, ""));
    assert!(err.starts_with("dt (j:1 t:1): ERROR: Invalid option '--block-size=4k' specified"), "{err}");
}

#[test]
fn the_first_fault_ends_the_test_and_is_kept() {
    let mut failed = outcome();
    let what = EventKind::Fault {
        stream: StreamId(0),
        verb: Verb::Write,
        offset: Bytes(8192),
        errno: 5,
        moved: Bytes(0),
        target: "x".to_owned(),
        times: 1,
    };
    failed.run.events.push(Event { at_ns: 0, what });
    let mut scene = slots(vec![(500, totals(1, 0, 1)), (550, totals(2, 1, 1)), (600, totals(3, 1, 1))]);
    scene.answer = Some(Ok(failed));
    let mut setting = Setting::new(vec![scene]);
    let (status, _, err) = setting.dt("of=FILE limit=96k bs=4k dispose=keep stats=brief");
    assert_eq!(status, 255);
    assert_eq!(
        err.lines().take(2).collect::<Vec<_>>(),
        [
            "dt (j:1 t:1): ERROR: Error number 1 occurred on Thu Jan  1 00:00:00 2026",
            "dt (j:1 t:1): x: write failed at offset 8192: Input/output error (os error 5) (1 times)",
        ]
    );
    assert_eq!(setting.stage.execute.steers, [Steer::Continue, Steer::Stop(Vec::new(), StopReason::Fault)]);
    let stored = setting.stage.stored().unwrap();
    assert_eq!((stored.listing.state, stored.record.runs.len()), (State::Failed, 1));
    assert!(setting.holds("f"));
}

#[test]
fn a_record_that_is_wrong_is_told_read_again_and_both_reads_are_kept() {
    let mut bytes = vec![0x11; 4096];
    bytes[600] = 0x12;
    let wrong = Wrong { damage: Damage::Corrupt, offset: 512, length: 512, note: "one bit".to_owned() };
    let mismatch = Mismatch { target: 0, offset: 0, number: 1, expected: Vec::new(), bytes, wrong };
    let mut setting = Setting::new(vec![
        answered(Outcome { mismatches: vec![mismatch], ..outcome() }),
        answered(outcome()),
    ]);
    std::fs::write(setting.path("f"), vec![0x11; 8192]).unwrap();
    let (status, out, err) = setting.dt("if=FILE bs=4k pattern=0x11111111 retryDC_delay=0 stats=none");
    assert_eq!((status, out.as_str()), (255, ""));
    for line in [
        "dt (j:1 t:1): ERROR: Error number 1 occurred on Thu Jan  1 00:00:00 2026\n",
        " What became of it: corrupt: 1 bytes differ (2 bits), from byte 88 of the block to byte 88\n",
        "dt (j:1 t:1): Read again: the data is correct. The first read was wrong, not the storage.\n",
        "dt (j:1 t:1): Saved: FILE-CORRUPT0-j1t1\n",
    ] {
        assert!(err.contains(line), "no {line:?} in {err}");
    }
    let runs = setting.stage.record().unwrap().runs;
    let kinds: Vec<_> = runs.iter().map(|run| (run.name.as_str(), run.purpose)).collect();
    assert_eq!(kinds, [("read", Purpose::Load), ("read again", Purpose::Check)]);
}

#[test]
fn the_last_operations_are_told_where_they_are_kept() {
    let past = |number: u64| PastOperation {
        at_ns: 0,
        verb: Verb::Read,
        target: 0,
        offset: (number - 1) << 12,
        length: 4096,
        number,
        pieces: vec![(0, vec![0x70, 0])],
    };
    let history = (1..=3).map(past).collect();
    let mut setting = Setting::new(vec![answered(Outcome { history, ..outcome() })]);
    std::fs::write(setting.path("f"), vec![0; 12_288]).unwrap();
    let (status, out, _) = setting.dt("if=FILE bs=4k stats=none history=2 enable=hdump hdsize=2");
    assert_eq!(status, 0);
    let lines: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("dt (j:1 t:1): ")).collect();
    assert_eq!(lines[1], "Dumping History Data (2 entries):");
    assert_eq!(lines[3], "Record #3 - Read 4096 bytes (8 blocks) Relative LBA's 16 - 23 (offset 8192)");
    assert_eq!(lines.len(), 7);
}

#[test]
fn threads_have_executors_of_their_own_and_one_record() {
    let mut setting = Setting::new(Vec::new());
    let (status, _, err) = setting.dt("of=FILE limit=96k bs=4k threads=3 stats=none");
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(setting.stage.execute.requests.is_empty());
    let record = setting.stage.record().unwrap();
    let count = |name: &str| record.runs.iter().filter(|run| run.name == name).count();
    assert_eq!((count("write"), count("read"), record.ending), (3, 3, Ending::Complete));
    assert!(!setting.holds("f-j1t1") && !setting.holds("f-j1t3"));
}

#[test]
fn the_stores_row_is_there_before_the_first_pass_and_the_record_has_a_verdict() {
    let mut setting = Setting::new(Vec::new());
    let (status, _, _) = setting.dt("of=FILE limit=8k stats=none");
    let stored = setting.stage.stored().unwrap();
    assert_eq!((status, stored.listing.state), (0, State::Complete));
    assert_eq!(setting.stage.execute.states, [State::InProgress, State::InProgress]);
    assert!(stored.record.verdict.checks.iter().any(|check| check.name == "page cache bypassed"));
}

#[test]
fn an_interrupt_ends_the_half_and_what_was_made_is_removed() {
    let mut setting = Setting::new(vec![slots(vec![(500, totals(1, 0, 1))])]);
    let interrupt = setting.stage.environment.interrupt();
    setting.stage.execute.scenes[0].interrupt = Some(interrupt);
    let (status, _, _) = setting.dt("of=FILE limit=8k stats=none");
    let stored = setting.stage.stored().unwrap();
    assert_eq!((status, stored.listing.state), (255, State::Interrupted));
    assert_eq!(setting.stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Signal)]);
    let names: Vec<&str> = stored.record.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["write"]);
    assert!(!setting.holds("f"));
}
