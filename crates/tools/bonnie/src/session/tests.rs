//! Whole commands in this process, on executors that do what each test says.

use super::figures::record_figures;
use super::{Bonnie, CLEANING};
use crate::Test;
use fathom_engine::Engine;
use fathom_record::*;
use fathom_session::measurement::figures_of;
use fathom_session::mock::{Scene, Stage};
use fathom_session::{Environment, Figures};
use fathom_spec::*;
use fathom_store::State;
use std::path::Path;

/// The words of a command on a directory; root must name a user.
fn words(directory: &Path, words: &str) -> Vec<String> {
    let root = rustix::process::geteuid().is_root();
    let user = if root { "-u root" } else { "" };
    let line = format!("-d {} -m host -z 7 {words} {user}", directory.display());
    line.split_whitespace().map(str::to_owned).collect()
}

/// Runs a command on a stage; answers its status and what it says on stderr, but whose numbers it has.
fn bonnie(stage: &mut Stage, directory: &Path, line: &str) -> (u8, String) {
    let words = words(directory, line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (status, _, err) = stage.run(&Bonnie, &words);
    let own = format!("Bonnie.{}", std::process::id());
    let lines = err.lines().filter(|line| !line.starts_with("Using uid:"));
    (status, lines.map(|line| line.replace(&own, "Bonnie.N") + "\n").collect())
}

fn refused(error: ExecuteError) -> Scene {
    Scene { answer: Some(Err(error)), ..Scene::default() }
}

#[test]
fn a_consent_of_the_environment_counts_beside_the_files_of_the_tests() {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(Scene::default());
    stage.environment = Environment::given(&[("FATHOM_WRITE_CONSENT", "/dev/x, /dev/y")]);
    let (status, _) = bonnie(&mut stage, directory.path(), "-s 16 -r 8 -n 0 -f -q");
    assert_eq!(status, 0);
    let own = directory.path().join(format!("Bonnie.{}", std::process::id()));
    assert_eq!(stage.execute.requests.len(), 4);
    for (_, permits) in &stage.execute.requests {
        assert_eq!(permits.consents, ["/dev/x", "/dev/y"]);
        assert_eq!(permits.named, [own.clone()].into());
        assert_eq!(permits.policy, Policy::WhenHolding);
    }
}

#[test]
fn what_is_not_begun_is_said_in_bonnies_words() {
    let consent = ExecuteError::NotConsented { target: "x".to_owned(), holds: None };
    let full = ExecuteError::NotExtended { target: "x".to_owned(), length: Bytes(1 << 20), errno: 28 };
    let small = || ExecuteError::TooSmall {
        targets: vec!["x".to_owned()],
        holds: Bytes(0),
        start: Bytes(0),
        length: Bytes(1 << 24),
        block: Bytes(8192),
    };
    let misaligned = || ExecuteError::Misaligned { block: Bytes(256), logical_block: 512 };
    let writes = "Writing intelligently...";
    let rewrites = "Writing intelligently...done\nRewriting...";
    let reads = "Writing intelligently...done\nRewriting...done\nReading intelligently...";
    for (line, before, error, says) in [
        (
            "",
            0,
            consent,
            "Writing intelligently...\nwill not write to x: nobody consented to that\nhint: what is written destroys what is there; if you want that, set FATHOM_WRITE_CONSENT=x\n".to_owned(),
        ),
        (
            "",
            0,
            full,
            format!("{writes}\ncannot make x 1 MiB long: No space left on device (os error 28)\nhint: free some space, or use less of it with -s\n"),
        ),
        (
            "",
            0,
            misaligned(),
            format!("{writes}\nblocks of 256 B cannot be read past the page cache: the device's logical block is 512 B\nhint: use a block size that is a multiple of 512 bytes\n"),
        ),
        ("-D", 0, misaligned(), format!("{writes}Can't write block.: Invalid argument\nCan't write block 0.\n")),
        ("", 1, small(), format!("{rewrites}Can't read a full block, only got 0 bytes.\n")),
        (
            "",
            2,
            small(),
            format!("{reads}Can't read a full block, only got 0 bytes.\nBonnie: drastic I/O error (read(2)): No such file or directory\n"),
        ),
        (
            "",
            0,
            small(),
            format!("{writes}\nx holds 0 B, too little for 16 MiB from 0 B in blocks of 8 KiB\nhint: use a larger target, a smaller -s or a smaller chunk of -s\n"),
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut stage = Stage::new(Scene::default());
        stage.execute.scenes = (0..before).map(|_| Scene::default()).collect();
        stage.execute.scenes.push_back(refused(error));
        let (status, err) = bonnie(&mut stage, directory.path(), &format!("-s 16 -r 8 -n 0 -f {line}"));
        assert_eq!((status, err), (1, says));
    }
}

#[test]
fn the_first_fault_ends_the_test_and_the_record_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let mut counts = [Counts::default(); CELLS];
    counts[0].errors = 1;
    let totals = vec![Totals { counts, ..Totals::running(StreamId(0), &[]) }];
    let mut run = Run::empty(&Plan::new(1));
    let what = EventKind::Fault {
        stream: StreamId(0),
        verb: Verb::Write,
        offset: Bytes(81_920),
        errno: 28,
        moved: Bytes(0),
        target: "x".to_owned(),
        times: 1,
    };
    run.events.push(Event { at_ns: 0, what });
    let mut stage = Stage::new(Scene {
        slots: vec![(50_000_000, totals.clone()), (100_000_000, totals)],
        answer: Some(Ok(Outcome::of(run))),
        ..Scene::default()
    });
    stage.store = Some(directory.path().join("store"));
    let (status, err) = bonnie(&mut stage, directory.path(), "-s 16 -r 8 -n 0 -f");
    assert_eq!(status, 1);
    assert_eq!(
        err,
        "Writing intelligently...Can't write block.: No space left on device\nCan't write block 10.\n"
    );
    assert_eq!(stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Fault)]);
    let stored = stage.stored().unwrap();
    assert_eq!((stored.listing.state, stored.record.runs.len()), (State::Failed, 1));
    assert!(!stored.record.verdict.checks.is_empty());
}

#[test]
fn a_test_that_is_interrupted_is_in_progress_before_and_interrupted_after() {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = Stage::new(Scene { slots: vec![(50_000_000, Vec::new())], ..Scene::default() });
    stage.execute.scenes[0].interrupt = Some(stage.environment.interrupt());
    stage.store = Some(directory.path().join("store"));
    let words = words(directory.path(), "-s 0 -n 1 -q");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(stage.run(&Bonnie, &words), (1, String::new(), CLEANING.to_owned()));
    assert_eq!(stage.execute.steers, [Steer::Stop(Vec::new(), StopReason::Signal)]);
    assert_eq!(stage.execute.states, [State::InProgress]);
    let stored = stage.stored().unwrap();
    assert_eq!((stored.listing.state, stored.record.runs.len()), (State::Interrupted, 1));
    let left = std::fs::read_dir(directory.path()).unwrap().flatten();
    assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("Bonnie")));
}

/// Two seconds of a simulated disk.
fn simulated(verb: Verb) -> Run {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim("ways=1,service=100us".to_owned()));
    let blocks = Blocks { mix: Mix::Only(verb), ..Blocks::random_reads(space, Bytes(8192)) };
    let mut stream = Stream::closed("test", blocks, 1);
    stream.stop.time = Some(Nanos::from_seconds(2));
    plan.add_stream(stream);
    Engine::default().execute(Request::new(&plan), &mut ()).unwrap().run
}

#[test]
fn the_record_has_the_figures_of_writes_reads_and_seeks() {
    let tests = [Test::WriteCharacters, Test::Write, Test::Rewrite, Test::Read, Test::Seek, Test::Read];
    let runs = tests.map(|test| simulated(if test <= Test::Rewrite { Verb::Write } else { Verb::Read }));
    let Figures::Own(summary, _) = record_figures(&runs, &tests) else { panic!() };
    let of: Vec<_> = summary.iter().map(|(name, figure)| (*name, figure.run)).collect();
    assert_eq!(
        of,
        [
            (FigureName::SequentialReadMbps, Some(5)),
            (FigureName::SequentialWriteMbps, Some(1)),
            (FigureName::Iops, Some(4)),
            (FigureName::ReadLatency, Some(4)),
            (FigureName::WriteLatency, Some(1)),
        ]
    );
    let read = figures_of(&runs[5], 5);
    assert_eq!(summary[&FigureName::SequentialReadMbps], read[&FigureName::Mbps]);
}

/// In a container the process number is 1 each time: another run's directory was removed.
#[test]
fn a_directory_that_this_run_did_not_make_stays() {
    let directory = tempfile::tempdir().unwrap();
    let theirs = directory.path().join(format!("Bonnie.{}", std::process::id()));
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("data"), "precious").unwrap();
    for (line, says) in [
        ("-s 0 -n 1 -q", "Can't make directory ./Bonnie.N\nCleaning up test directory after error.\n"),
        ("-s 16 -r 8 -n 0 -f -q", "Can't open file ./Bonnie.N\n"),
    ] {
        let (status, err) = bonnie(&mut Stage::new(Scene::default()), directory.path(), line);
        assert_eq!(status, 1);
        assert!(err.contains(says), "{err}");
        assert_eq!(std::fs::read_to_string(theirs.join("data")).unwrap(), "precious");
    }
}
