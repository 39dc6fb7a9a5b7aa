//! iozone on an executor that does what the test says. Its files are in a directory of their own and never made.

use super::*;
use fathom_session::mock::{Scene, Stage};
use fathom_spec::{Bytes, StreamId};

/// A run with a worker for each of these: what it did, how many bytes in how many operations, how long, ns.
fn run_of(workers: &[(Verb, u64, u64, u64)]) -> Run {
    let mut run = Run::empty(&Plan::new(1));
    for (stream, (verb, bytes, operations, span_ns)) in workers.iter().enumerate() {
        let counts = Counts { operations: *operations, bytes: *bytes, ..Counts::default() };
        run.workers.push(WorkerTotals {
            counts: vec![(*verb, counts)],
            ..WorkerTotals::finished(StreamId(stream as u32), 0, (0, *span_ns))
        });
    }
    run
}

fn answers(run: Run) -> Scene {
    Scene { answer: Some(Ok(Outcome::of(run))), ..Scene::default() }
}

fn fails(error: ExecuteError) -> Stage {
    Stage::new(Scene { answer: Some(Err(error)), ..Scene::default() })
}

/// A stage with these executions one after the other, and a store.
fn stage(folder: &tempfile::TempDir, scenes: Vec<Scene>) -> Stage {
    let mut stage = Stage::new(Scene::default());
    stage.execute.scenes = scenes.into();
    stage.store = Some(folder.path().join("store.db"));
    stage
}

fn file(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

fn totals(operations: u64, errors: u32) -> Vec<Totals> {
    let mut counts = [Counts::default(); CELLS];
    (counts[0].operations, counts[0].errors) = (operations, errors);
    vec![Totals { counts, ..Totals::running(StreamId(0), &[]) }]
}

#[test]
fn what_cannot_be_run_is_told_with_a_hint_in_its_own_options() {
    let target = || "t".to_owned();
    let short = ExecuteError::TooSmall {
        targets: vec![target()],
        holds: Bytes(1024),
        start: Bytes(0),
        length: Bytes(4096),
        block: Bytes(4096),
    };
    let full = ExecuteError::NotExtended { target: target(), length: Bytes(4096), errno: 28 };
    let held = ExecuteError::NotConsented { target: target(), holds: None };
    for (error, told) in [
        (
            short,
            "\nt holds 1 KiB, too little for 4 KiB from 0 B in blocks of 4 KiB\n\
             hint: use a larger target, a smaller -s or a smaller -r\n",
        ),
        (
            full,
            "\ncannot make t 4 KiB long: No space left on device (os error 28)\n\
             hint: free some space, or use less of it with -s\n",
        ),
        (
            held,
            "\nwill not write to t: nobody consented to that\n\
             hint: what is written destroys what is there; if you want that, set FATHOM_WRITE_CONSENT=t\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (status, out, err) = fails(error).run(&Iozone, &["-i", "0", "-f", &file(&folder, "t")]);
        assert_eq!((status, err.as_str()), (1, told));
        assert!(out.ends_with("freread\n") || out.ends_with("fread  freread\n"), "{out}");
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_told_in_iozones_words() {
    let folder = tempfile::tempdir().unwrap();
    for (test, status, told) in [
        ("0", 44, "             512       4\nCan not open temp file: t\n"),
        ("1", 58, "             512       4\nCan not open temporary file t for read\n"),
    ] {
        let missing = ExecuteError::NotOpened { target: "t".to_owned(), errno: 2, direct: false };
        let (found, out, err) = fails(missing).run(&Iozone, &["-i", test, "-f", &file(&folder, "t")]);
        assert_eq!((found, err.as_str()), (status, "open: No such file or directory\n"));
        assert!(out.ends_with(told), "{out}");
    }
}

#[test]
fn an_option_that_is_not_there_is_refused_by_the_name_that_was_typed() {
    let (status, out, err) = Stage::new(Scene::default()).run(&Iozone, &["--size", "4"]);
    let told = "fathom's iozone has no option --size\nhint: see docs/tools/iozone.md\n";
    assert_eq!((status, out.as_str(), err.as_str()), (1, "", told));
}

#[test]
fn a_fault_ends_the_run_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let fault = |verb, errno| EventKind::Fault {
        stream: StreamId(0),
        verb,
        offset: Bytes(0),
        errno,
        moved: Bytes(0),
        target: "t".to_owned(),
        times: 1,
    };
    for (verb, errno, wanted, told) in [
        (Verb::Write, 28, 74, "write: No space left on device\n"),
        (Verb::Write, 0, 74, "write: No space left on device\n"),
        (Verb::Read, 5, 60, "read: Input/output error\n"),
        (Verb::Read, 0, 60, "read: The file is shorter than it was\n"),
        (Verb::Sync, 5, 1, "\nError: cannot sync t: Input/output error\n"),
    ] {
        let mut run = run_of(&[(verb, 4096, 1, 1000)]);
        run.events.push(Event { at_ns: 0, what: fault(verb, errno) });
        let slots = vec![(1, totals(1, 0)), (2, totals(1, 1)), (3, totals(1, 1))];
        let mut stage = stage(&folder, vec![Scene { slots, ..answers(run) }]);
        let (status, out, err) = stage.run(&Iozone, &["-i", "0", "-f", &file(&folder, "t")]);
        assert_eq!((status, err.as_str()), (wanted, told));
        let block = match verb {
            Verb::Write => "  4\nError writing block 0, fd= 3\n\niozone: interrupted\n\nexiting iozone\n\n",
            Verb::Read => "  4\nError reading block 0\n",
            _ => "fread  freread\n",
        };
        assert!(out.ends_with(block), "{out}");
        let stop = Steer::Stop(Vec::new(), StopReason::Fault);
        assert_eq!(stage.execute.steers, [Steer::Continue, stop]);
        let record = stage.record().unwrap();
        // What failed is kept, and no figure rests on it.
        assert_eq!((record.ending, record.runs.len(), record.summary.len()), (Ending::Failed, 1, 0));
    }
}

#[test]
fn a_signal_ends_the_run_and_what_was_measured_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene { slots: vec![(1, totals(1, 0)), (2, totals(2, 0))], ..Scene::default() };
    let mut stage = stage(&folder, vec![scene]);
    stage.environment.interrupt().raise();
    let (status, out, err) = stage.run(&Iozone, &["-i", "0", "-f", &file(&folder, "t")]);
    assert_eq!((status, err.as_str()), (INTERRUPTED, ""));
    assert!(out.ends_with("freread\n\niozone: interrupted\n\n"), "{out}");
    assert_eq!(stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Signal)]);
    assert_eq!(stage.record().unwrap().ending, Ending::Interrupted);
}

#[test]
fn the_record_has_the_best_of_each_kind_and_a_verdict_and_nothing_of_the_repeated_passes() {
    let folder = tempfile::tempdir().unwrap();
    const MIB: u64 = 1 << 20;
    // Write, rewrite, read, reread, random read, random write, of 1 MiB in records of 256 KiB.
    let spans_ms = [4, 2, 1, 2, 4, 8];
    let verbs = [Verb::Write, Verb::Write, Verb::Read, Verb::Read, Verb::Read, Verb::Write];
    let runs = || {
        let each = spans_ms.iter().zip(verbs);
        each.map(|(ms, verb)| answers(run_of(&[(verb, MIB, 4, ms * 1_000_000)]))).collect::<Vec<_>>()
    };
    let scenes: Vec<Scene> = (0..3).flat_map(|_| runs()).collect();
    let mut stage = stage(&folder, scenes);
    let name = file(&folder, "t");
    let words = ["-I", "-s", "1m", "-r", "256k", "-i", "0", "-i", "1", "-i", "2", "-f", &name];
    let (status, out, err) = stage.run(&Iozone, &words);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    // Three passes make a cell known; the first one stands in the table and in the record.
    assert_eq!(stage.execute.requests.len(), 18);
    let record = stage.record().unwrap();
    assert_eq!((record.runs.len(), record.ending), (6, Ending::Complete));
    let figure = |name| record.summary.get(&name).map(|figure: &Figure| (figure.value, figure.run));
    assert_eq!(figure(FigureName::SequentialWriteMbps), Some((500.0, Some(1))));
    assert_eq!(figure(FigureName::SequentialReadMbps), Some((1000.0, Some(2))));
    assert_eq!(figure(FigureName::RandomReadMbps), Some((250.0, Some(4))));
    assert_eq!(figure(FigureName::RandomWriteIops), Some((500.0, Some(5))));
    assert_eq!(record.summary.len(), 4);
    assert!(!record.verdict.checks.is_empty());
    let surfaces = Surface::all(&record.facts);
    assert_eq!((surfaces.len(), surfaces[0].cells[0].passes.len()), (6, 3));
    assert!(out.contains("\niozone test complete.\n"), "{out}");
}

#[test]
fn what_memory_answered_is_no_figure_of_the_disk_unless_there_is_no_other() {
    let mut runs = vec![
        run_of(&[(Verb::Read, 1 << 20, 1, 1_000_000)]),
        run_of(&[(Verb::Read, 1 << 20, 1, 10_000_000)]),
        run_of(&[(Verb::Read, 1 << 20, 1, 1000)]),
    ];
    runs[2].purpose = Purpose::Layout;
    let memory = Some("the page cache held 100 % of the file".to_owned());
    let test = |index, memory: &Option<String>| TestRun { test: Test::Read, index, memory: memory.clone() };
    let both = [test(0, &memory), test(1, &None), test(2, &None)];
    let best =
        |tests: &[TestRun]| figures::best(&runs, tests).remove(&FigureName::SequentialReadMbps).unwrap();
    assert_eq!((best(&both).value, best(&both).run), (100.0, Some(1)));
    assert_eq!((best(&both[..1]).value, best(&both[..1]).note), (1000.0, memory));
}

#[test]
fn a_phase_is_told_by_its_workers_and_files_that_were_stopped_are_finished_unmeasured() {
    let folder = tempfile::tempdir().unwrap();
    let (full, half) = (512 << 10, 256 << 10);
    let write = |bytes| (Verb::Write, bytes, bytes / 4096, 1_000_000_000);
    let scenes = vec![
        answers(run_of(&[write(full), write(half)])),
        answers(run_of(&[(Verb::Write, half, 64, 1)])),
        answers(run_of(&[write(full), write(full)])),
    ];
    let mut stage = stage(&folder, scenes);
    let (a, b) = (file(&folder, "a"), file(&folder, "b"));
    let words = ["-t", "2", "-i", "0", "-o", "-F", &a, &b];
    let (status, out, err) = stage.run(&Iozone, &words);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let block = "
\tChildren see throughput for  2 initial writers \t=     768.00 kB/sec
\tParent sees throughput for  2 initial writers \t=     768.00 kB/sec
\tMin throughput per process \t\t\t=     256.00 kB/sec 
\tMax throughput per process \t\t\t=     512.00 kB/sec
\tAvg throughput per process \t\t\t=     384.00 kB/sec
\tMin xfer \t\t\t\t\t=     256.00 kB
";
    assert!(out.contains(block), "{out}");
    let record = stage.record().unwrap();
    let purposes: Vec<Purpose> = record.runs.iter().map(|run| run.purpose).collect();
    assert_eq!(purposes, [Purpose::Load, Purpose::Layout, Purpose::Load]);
    let best = &record.summary[&FigureName::SequentialWriteMbps];
    assert_eq!((best.value, best.run), (1.0, Some(2)));
    let told =
        "all workers of a phase end when the first has done its file: the slowest had done 50 % of its own";
    assert!(record.notes.iter().any(|note| note.text == told), "{:?}", record.notes);
}
