//! SQLite for real: setup and its proof, runs, counters, what is not ours, interrupts.

mod common;

use common::*;
use fathom_database::{
    Counters, Database, Length, Replace, Settings, State, Step, Trouble, Url, drop_all, schemas, setup,
};
use fathom_record::{Control, Execute, Request, Steer, StopReason, Totals};
use fathom_spec::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn file() -> (tempfile::TempDir, Url) {
    let directory = directory();
    let url = Url::sqlite(directory.path().join("bench.db"));
    (directory, url)
}

#[test]
fn each_block_has_one_row_and_keys_stand_in_random_order() {
    let (_directory, url) = file();
    let settings = Settings { random_filler: true, ..small() };
    let mut steps = Vec::new();
    let done =
        setup(&url, &settings, Replace::Never, &mut |progress| steps.push(*progress), &|| false).unwrap();
    assert_eq!((done.loaded.as_slice(), done.reused.len()), (&[1, 2][..], 0));
    for proof in &done.proofs {
        assert_eq!((proof.rows, proof.blocks), (400, 400), "{proof:?}");
    }
    let last = steps.last().unwrap();
    assert_eq!((last.ready, last.rows, last.rows_in_all, last.step), (2, 900, 900, Step::Ready(2)));
    let connection = rusqlite::Connection::open(url.file().unwrap()).unwrap();
    let ask = "SELECT count(*), count(DISTINCT key), sum(pos = key), count(DISTINCT filler) FROM slob2";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let (rows, keys, in_order, fillers): (u32, u32, u32, u32) = connection.query_row(ask, [], read).unwrap();
    assert_eq!((rows, keys, fillers), (400, 400, 400));
    assert!(in_order < 10, "{in_order}");
}

#[test]
fn a_filler_with_two_rows_to_a_block_fails_the_setup_and_leaves_nothing() {
    let (_directory, url) = file();
    let settings = Settings { filler_bytes: Some(3000), ..small() };
    let error = setup(&url, &settings, Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::NotOneRowPerBlock, "{error}");
    assert_eq!(schemas(&url).unwrap(), []);
}

#[test]
fn ready_schemas_are_kept_and_others_are_loaded_anew() {
    let (_directory, url) = file();
    load(&url, &small());
    let more = load(&url, &Settings { schemas: 3, ..small() });
    assert_eq!((more.reused, more.loaded), (vec![1, 2], vec![3]));
    let other = load(&url, &Settings { blocks: 100, ..small() });
    assert_eq!((other.reused, other.loaded), (vec![], vec![1, 2]));
    let shapes: Vec<u64> = schemas(&url).unwrap().iter().map(|schema| schema.shape.blocks).collect();
    assert_eq!(shapes, [100, 100, 400]);
}

#[test]
fn the_mix_that_was_asked_for_is_what_ran() {
    let (_directory, url) = file();
    let settings = Settings {
        threads: 2,
        work_unit: 4,
        update_unit: 2,
        update_percent: 20.0,
        scan_percent: 10.0,
        redo: Redo::Heavy,
        hot_schema_every: 5,
        ..small()
    };
    load(&url, &settings);
    let run = run(&url, &settings, operations(200), &mut ());
    let all: Vec<(u64, u64)> =
        [Verb::Select, Verb::Update, Verb::Commit, Verb::Scan].map(|verb| count(&run, verb)).to_vec();
    // Four sessions, 200 operations each: 40 updates; of the other 160, in each hundred 10 scans, and in the sixty begun
    // at most 10.
    assert_eq!((all[1], all[2]), ((160, 160), (160, 160)));
    assert_eq!(all[0].1 + all[3].1, 640);
    assert!((40..=80).contains(&all[3].1), "{all:?}");
    assert!(all.iter().all(|(counted, total)| counted == total), "{all:?}");
    assert_eq!((errors(&run), run.workers.len()), (0, 4));
    let merged = run.merged(StreamId(0)).unwrap();
    let bytes: Vec<u64> = (0..4).map(|cell| merged.counts(cell).bytes / 8192).collect();
    assert_eq!(bytes, [all[0].1 * 4, 160 * 2, 0, all[3].1 * 50], "blocks touched");
    assert!(run.workers.iter().all(|worker| worker.ended == StopReason::Finished));
}

#[test]
fn the_pager_tells_memory_from_file() {
    let (_directory, url) = file();
    let change = |blocks, cold| {
        let settings = Settings { schemas: 1, blocks, seed: 5, ..small() };
        load(&url, &settings);
        let run = run(&url, &settings, operations(1500), &mut ());
        let (_, before) = Counters::nearest(&run.samples, 0).unwrap();
        let (_, after) = Counters::nearest(&run.samples, u64::MAX).unwrap();
        let change = after.since(&before);
        let (logical, physical) = change.table_reads(1500).unwrap();
        assert_eq!(logical, 1500);
        assert!(change.logical_reads.unwrap() > 3000, "index pages are logical reads too: {change:?}");
        let share = physical as f64 / logical as f64;
        assert!(if cold { share > 0.8 } else { share < 0.2 }, "{blocks} blocks: {share}");
    };
    // The cache of a session is 2 MB: 100 blocks fit, 4,000 do not.
    change(100, false);
    change(4000, true);
}

#[test]
fn updates_write_log_and_reads_do_not() {
    let (_directory, url) = file();
    let settings = Settings { schemas: 1, update_percent: 100.0, ..small() };
    load(&url, &settings);
    let written = |settings: &Settings| {
        let run = run(&url, settings, operations(50), &mut ());
        let (_, before) = Counters::nearest(&run.samples, 0).unwrap();
        let (_, after) = Counters::nearest(&run.samples, u64::MAX).unwrap();
        after.since(&before).log_bytes.unwrap()
    };
    assert!(written(&settings) >= 50 * 8192);
    assert_eq!(written(&Settings { update_percent: 0.0, ..settings }), 0);
}

#[test]
fn an_open_loop_keeps_its_rate_and_its_response_times() {
    let (_directory, url) = file();
    let settings = Settings { schemas: 1, threads: 2, ..small() };
    load(&url, &settings);
    let length = Length {
        time: Some(Nanos::from_millis(1000)),
        operations: None,
        warm_up: Nanos::from_millis(300),
        rate: Some(400.0),
    };
    let run = run(&url, &settings, length, &mut ());
    let (counted, total) = count(&run, Verb::Select);
    // Poisson: 400 +- 20 a second; five deviations.
    assert!((300..=500).contains(&total), "{total}");
    assert!(counted < total && counted > total / 2, "{counted} of {total} after the warm-up");
    let merged = run.merged(StreamId(0)).unwrap();
    let response = merged.cells[0].1.response.as_ref().expect("kept under a rate");
    let service = merged.cells[0].1.service.as_ref().expect("kept");
    assert!(response.mean_ns() >= service.mean_ns());
}

#[test]
fn think_time_holds_a_session_back() {
    let (_directory, url) = file();
    let pause = Nanos::from_millis(10);
    let think = Some(RandomThink { least: pause, most: pause, every: 1 });
    let settings = Settings { schemas: 1, think, ..small() };
    load(&url, &settings);
    let run = run(&url, &settings, operations(20), &mut ());
    assert_eq!(count(&run, Verb::Select).1, 20);
    assert!(run.length_ns >= 200_000_000, "{}", run.length_ns);
    let service = run.merged(StreamId(0)).unwrap().cells[0].1.service.clone().unwrap();
    assert!(service.mean_ns().unwrap() < 9e6, "the pause is no part of the service");
}

/// Stops everything at the second slot.
struct Stops(u32);

impl Control for Stops {
    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        self.0 += 1;
        if self.0 == 2 { Steer::Stop(Vec::new(), StopReason::Signal) } else { Steer::Continue }
    }
}

#[test]
fn a_run_that_is_told_to_stop_stops_and_is_kept() {
    let (_directory, url) = file();
    let settings = Settings { update_percent: 50.0, ..small() };
    load(&url, &settings);
    let length = Length { time: Some(Nanos::from_seconds(600)), ..operations(u64::MAX) };
    let run = run(&url, &settings, length, &mut Stops(0));
    assert!(run.length_ns < 60_000_000_000);
    assert!(
        count(&run, Verb::Select).0 > 0 && run.workers.iter().all(|worker| worker.ended == StopReason::Told)
    );
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let (_directory, url) = file();
    let connection = rusqlite::Connection::open(url.file().unwrap()).unwrap();
    connection.execute_batch("CREATE TABLE slob2 (mine TEXT); INSERT INTO slob2 VALUES ('dear')").unwrap();
    let error = setup(&url, &small(), Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Foreign, "{error}");
    assert!(error.what.contains("slob2"));
    assert_eq!(schemas(&url).unwrap()[0].state, State::Foreign);
    load(&url, &Settings { schemas: 1, filler_bytes: Some(2500), ..small() });
    assert_eq!(drop_all(&url).unwrap(), [1]);
    let kept: String = connection.query_row("SELECT mine FROM slob2", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "dear");
    let others = "SELECT count(*) FROM sqlite_master WHERE name <> 'slob2'";
    assert_eq!(connection.query_row(others, [], |row| row.get::<_, u32>(0)).unwrap(), 0);
}

#[test]
fn a_file_of_another_kind_is_not_touched() {
    let (directory, _) = file();
    let path = directory.path().join("letter.txt");
    let text = "Dear reader,\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let error = setup(&Url::sqlite(&path), &small(), Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Foreign, "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_disk_that_fills_ends_the_setup_and_nothing_half_loaded_is_left() {
    let Some(disk) = SmallDisk::mount(8) else { return };
    let url = Url::sqlite(disk.0.path().join("bench.db"));
    let settings = Settings { blocks: 600, ..small() };
    let error = setup(&url, &settings, Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Full, "{error}");
    let left: Vec<(u32, State)> = schemas(&url).unwrap().iter().map(|s| (s.number, s.state)).collect();
    assert_eq!(left, [(1, State::Ready)]);
}

#[test]
fn what_only_postgres_has_is_refused_by_name() {
    let (directory, url) = file();
    let settings = Settings { unlogged: true, ..small() };
    let error = setup(&url, &settings, Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert!(error.kind == Trouble::Settings && error.what.contains("without a log"), "{error}");
    let settings = Settings { tablespace: Some("fast".into()), ..small() };
    assert!(
        setup(&url, &settings, Replace::Never, &mut |_| {}, &|| false)
            .unwrap_err()
            .what
            .contains("tablespace")
    );
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn dropping_all_of_ours_removes_the_file() {
    let (directory, url) = file();
    load(&url, &small());
    assert_eq!(drop_all(&url).unwrap(), [1, 2]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(drop_all(&url).unwrap(), [] as [u32; 0]);
}

/// What stood in the way of one schema was found when the others were gone, and the error said that nothing was dropped.
#[test]
fn nothing_is_dropped_when_one_schema_holds_what_is_not_ours() {
    let (_directory, url) = file();
    load(&url, &small());
    let connection = rusqlite::Connection::open(url.file().unwrap()).unwrap();
    connection.execute_batch("CREATE INDEX mine ON slob2 (scratch)").unwrap();
    let error = drop_all(&url).unwrap_err();
    assert!(error.kind == Trouble::Foreign && error.what.contains("slob2 holds mine"), "{error}");
    let states: Vec<State> = schemas(&url).unwrap().iter().map(|schema| schema.state).collect();
    assert_eq!(states, [State::Ready; 2]);
    let other = Settings { blocks: 300, ..small() };
    let error = setup(&url, &other, Replace::Shapes, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!((error.kind, schemas(&url).unwrap()[0].shape.blocks), (Trouble::Foreign, 400));
}

#[test]
fn what_is_loaded_in_another_shape_is_replaced_only_when_that_is_said() {
    let (_directory, url) = file();
    load(&url, &Settings { schemas: 3, ..small() });
    let other = Settings { blocks: 300, ..small() };
    let error = setup(&url, &other, Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert!(error.what.contains("slob1 is loaded with 400 blocks, and 300 are asked for"), "{error}");
    assert!(error.hint.contains("--replace"), "{error}");
    let done = setup(&url, &other, Replace::Shapes, &mut |_| {}, &|| false).unwrap();
    assert_eq!(done.loaded, [1, 2]);
    let left: Vec<(u32, u64)> = schemas(&url).unwrap().iter().map(|s| (s.number, s.shape.blocks)).collect();
    assert_eq!(left, [(1, 300), (2, 300), (3, 400)], "a third one was not asked for");
}

/// A user's own file was turned to a write-ahead log for good.
#[test]
fn a_file_with_somebody_elses_tables_keeps_its_journal_mode() {
    let (_directory, url) = file();
    let mine = rusqlite::Connection::open(url.file().unwrap()).unwrap();
    mine.execute_batch("PRAGMA page_size = 8192; CREATE TABLE mine (x); INSERT INTO mine VALUES (42)")
        .unwrap();
    drop(mine);
    load(&url, &small());
    let settings = Settings { update_percent: 20.0, ..small() };
    run(&url, &settings, operations(50), &mut ());
    drop_all(&url).unwrap();
    let mine = rusqlite::Connection::open(url.file().unwrap()).unwrap();
    let mode: String = mine.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    let answer: u32 = mine.query_row("SELECT x FROM mine", [], |row| row.get(0)).unwrap();
    assert_eq!((mode.as_str(), answer), ("delete", 42));
}

#[test]
fn an_interrupted_setup_keeps_what_is_ready_and_goes_on_from_there() {
    let (_directory, url) = file();
    let settings = Settings { schemas: 3, blocks: 2500, ..small() };
    let ready = AtomicU32::new(0);
    let error = setup(
        &url,
        &settings,
        Replace::Never,
        &mut |progress| ready.store(progress.ready * 10_000 + (progress.rows % 2550) as u32, Relaxed),
        &|| ready.load(Relaxed) > 10_000,
    )
    .unwrap_err();
    assert_eq!(error.kind, Trouble::Interrupted, "{error}");
    let left: Vec<(u32, State)> = schemas(&url).unwrap().iter().map(|s| (s.number, s.state)).collect();
    assert_eq!(left, [(1, State::Ready)]);
    assert_eq!(load(&url, &settings).loaded, [2, 3]);
}

#[test]
fn a_plan_that_was_not_set_up_is_told_before_it_runs() {
    let (_directory, url) = file();
    let mut database = Database::open(url.clone()).unwrap();
    let error =
        database.execute(Request::new(&small().plan(&url, operations(1))), &mut ()).unwrap_err().to_string();
    assert!(error.contains("slob1 is not set up"), "{error}");
    load(&url, &small());
    for (settings, says) in [
        (Settings { schemas: 3, ..small() }, "slob3 is not set up"),
        (Settings { blocks: 401, ..small() }, "400 blocks, not 401"),
    ] {
        let error = database
            .execute(Request::new(&settings.plan(&url, operations(1))), &mut ())
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn rows_that_vanish_end_the_run_with_a_clear_event() {
    let (_directory, url) = file();
    let settings = Settings { schemas: 1, ..small() };
    load(&url, &settings);
    let connection = rusqlite::Connection::open(url.file().unwrap()).unwrap();
    connection.execute("DELETE FROM slob1 WHERE key = 7", []).unwrap();
    let run = run(&url, &settings, operations(100_000), &mut ());
    assert_eq!(run.workers[0].ended, StopReason::Fault);
    let told = |event: &fathom_record::Event| {
        matches!(&event.what, fathom_record::EventKind::Statement { message, retried: false, .. }
            if message.contains("0 rows where 1"))
    };
    assert!(run.events.iter().any(told), "{:?}", run.events);
    assert!(count(&run, Verb::Select).0 > 0, "the record is kept");
}

#[test]
fn two_writers_of_one_file_wait_for_each_other() {
    let (_directory, url) = file();
    let settings = Settings { threads: 2, update_percent: 100.0, ..small() };
    load(&url, &settings);
    let run = run(&url, &settings, operations(25), &mut ());
    assert_eq!((count(&run, Verb::Commit).1, errors(&run)), (100, 0));
}

#[test]
fn the_disks_below_are_found_by_themselves() {
    let (_directory, url) = file();
    load(&url, &small());
    let database = Database::open(url).unwrap();
    let below = database.disks_below().unwrap();
    assert_eq!(below.data, below.log);
}
