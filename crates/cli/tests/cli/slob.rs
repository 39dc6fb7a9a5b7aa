//! `fathom slob`, as a user and as SLOB's scripts call it: SQLite, PostgreSQL and MariaDB for real.

use fathom_record::{CheckOutcome, CurveName, FigureName, ResultRecord};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A directory on a real file system (the build's folder: /tmp may be memory), through which a server's user may go.
pub struct Place(TempDir);

/// The build's folder, or /var/tmp where the build lies in one that lets nobody through (a home of root): a server runs as a
/// user of its own.
fn let_through(folder: &Path) -> &Path {
    let open = |above: &Path| above.metadata().is_ok_and(|about| about.permissions().mode() & 1 == 1);
    if folder.ancestors().all(open) { folder } else { Path::new("/var/tmp") }
}

impl Place {
    /// A new one.
    pub fn new() -> Self {
        let directory = TempDir::new_in(let_through(Path::new(env!("CARGO_TARGET_TMPDIR")))).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Place(directory)
    }

    /// A path below it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A directory that anybody may write to, for a server.
    pub fn open(&self, name: &str) -> PathBuf {
        fs::create_dir(self.path(name)).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o777)).unwrap();
        self.path(name)
    }

    /// `fathom slob` with these words.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.arg("slob").args(words.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("FATHOM_STORE", self.path("store.db")).env_remove("NO_OS_PERF_DATA");
        command.env_remove("PGPASSWORD").env_remove("MYSQL_PWD");
        command
    }

    /// Runs it.
    pub fn slob(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs it, and answers its stdout when it ended well.
    pub fn good(&self, words: &str) -> String {
        let out = self.slob(words);
        let (stdout, stderr) = (said(&out.stdout), said(&out.stderr));
        assert_eq!(out.status.code(), Some(0), "{words}\n{stdout}\n{stderr}");
        stdout
    }

    /// The record that it prints.
    pub fn json(&self, words: &str) -> ResultRecord {
        serde_json::from_str(&self.good(&format!("{words} --json"))).unwrap()
    }
}

/// What was printed.
pub fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The check that says disk or cache.
fn verdict(record: &ResultRecord) -> (CheckOutcome, String) {
    let check = record.verdict.checks.iter().find(|c| c.name == "physical reads close to logical reads");
    let check = check.expect("it is always made");
    (check.outcome, check.seen.clone())
}

fn value(record: &ResultRecord, name: FigureName) -> f64 {
    record.summary.get(&name).unwrap_or_else(|| panic!("no {name:?}")).value
}

#[test]
fn sqlite_from_setup_to_drop_measures_the_cache_and_says_so() {
    let place = Place::new();
    let out = place.good("setup 2 --scale 16M");
    assert!(out.contains("one row in each block: slob1 has 2048 rows in 2048 blocks"), "{out}");
    assert!(out.contains("2 schemas loaded, 0 were there already"), "{out}");
    assert!(place.good("setup 2 --scale 16M").contains("0 schemas loaded, 2 were there already"));
    let load = "run --run-time 3s --warm-up 500ms --work-unit 4 --update-pct 20 --scan-pct 10";
    let record = place.json(&format!("{load} --label mine"));
    assert_eq!((record.tool.as_str(), record.label.as_deref()), ("slob", Some("mine")));
    let (outcome, seen) = verdict(&record);
    assert_eq!(outcome, CheckOutcome::Failed, "{seen}");
    assert!(seen.starts_with("you are measuring the cache: "), "{seen}");
    assert!(
        seen.contains("raise SCALE to at least ") && seen.contains("--server DIR --limit-cache "),
        "{seen}"
    );
    for name in [FigureName::SelectLatency, FigureName::UpdateLatency, FigureName::CommitLatency] {
        assert!(value(&record, name) > 0.0);
    }
    assert!(value(&record, FigureName::ScanLatency) > 0.0);
    assert!(value(&record, FigureName::LogicalReads) >= value(&record, FigureName::PhysicalReads));
    let mix = record.verdict.checks.iter().find(|c| c.name == "the mix that was asked for");
    assert!(mix.is_none_or(|check| check.outcome == CheckOutcome::Passed), "{mix:?}");
    let text = place.good("report");
    assert!(
        text.starts_with("fathom ") && text.contains("\nOperations ") && text.contains("RELIABLE  "),
        "{text}"
    );
    let awr = place.good("report --as awr");
    for line in
        ["  Logical read (blocks):", " Physical read (blocks):", "Read IO requests:", "Write IO requests:"]
    {
        assert!(awr.contains(line), "{line}\n{awr}");
    }
    assert!(awr.contains("SEARCH slob1 USING INDEX slob1_key"), "{awr}");
    assert_eq!(place.good("report --as db-stats").lines().count(), 2);
    assert!(place.good("report --as pgio").contains(" seconds. RIOPS >"));
    assert!(place.good("report --as mpstat").contains(" CPU    %usr   %nice    %sys"));
    let page = place.path("page.html");
    place.good(&format!("report --html {}", page.display()));
    assert!(fs::read_to_string(page).unwrap().contains("Select latency"));
    assert!(place.good("drop").contains("dropped 2 schemas, slob1 to slob2"));
    let out = place.slob("run --run-time 1s");
    assert_eq!(out.status.code(), Some(1));
    assert!(said(&out.stderr).contains("nothing was set up in this database\nhint: fathom slob setup"));
}

#[test]
fn sqlite_that_no_cache_holds_measures_the_disk_and_says_so() {
    let place = Place::new();
    place.good("setup 1 --scale 96M");
    // A copy past the page cache: nothing of it is in memory.
    let copy = Command::new("dd")
        .args(["if=slob.db", "of=cold.db", "bs=1M", "oflag=direct"])
        .current_dir(place.0.path())
        .stderr(Stdio::null())
        .status();
    if !copy.is_ok_and(|status| status.success()) {
        fathom_tidy::skip("SLOB on a cold file", "this file system has no O_DIRECT");
        return;
    }
    let record = place.json("run --db sqlite:cold.db --rate 150 --work-unit 1 --run-time 3s --warm-up 0s");
    let (outcome, seen) = verdict(&record);
    if !record.summary.contains_key(&FigureName::DeviceReads) {
        fathom_tidy::skip(
            "the verdict of SLOB on a cold file",
            "no disk is known below the test's directory",
        );
        return;
    }
    assert_eq!(outcome, CheckOutcome::Passed, "{seen}");
    assert!(seen.starts_with("you are measuring the disk: "), "{seen}");
    assert!(value(&record, FigureName::ResponseTime) > 0.0);
    let rate = value(&record, FigureName::Iops);
    assert!((100.0..200.0).contains(&rate), "{rate}");
}

#[test]
fn a_sweep_finds_a_best_number_of_sessions_and_draws_the_curve() {
    let place = Place::new();
    place.good("setup 2 --scale 8M");
    let out = place.good("sweep --point 400ms --most 4 --points 8 --work-unit 2");
    assert!(out.contains("sessions  operations/s") && out.contains("  mean latency"), "{out}");
    assert!(out.contains("  best\n"), "{out}");
    assert!(out.contains("there is no calibration of this disk to put beside it"), "{out}");
    let record: ResultRecord = serde_json::from_str(&place.good("report --json")).unwrap();
    assert_eq!(record.curves[0].name, CurveName::Sessions);
    let loads: Vec<u32> = record.curves[0].points.iter().map(|point| point.load.small).collect();
    assert!(loads.len() >= 2 && loads[0] == 1 && loads.iter().all(|load| *load <= 4), "{loads:?}");
    assert!(record.curves[0].knee.is_some());
}

#[test]
fn slob_conf_makes_slobs_lines_and_files() {
    let place = Place::new();
    let conf = "UPDATE_PCT=10\nRUN_TIME=300\nSCALE=80M\nWORK_UNIT=64\nTHREADS_PER_SCHEMA=1\nDATABASE_STATISTICS_TYPE=awr\nSYSDBA_PASSWD=hunter2\nEXTERNAL_SCRIPT=./hook\n";
    fs::write(place.path("slob.conf"), conf).unwrap();
    fs::write(place.path("hook"), "#!/bin/sh\necho $1 >> hooks\n").unwrap();
    fs::set_permissions(place.path("hook"), fs::Permissions::from_mode(0o755)).unwrap();
    place.good("setup IOPS 1");
    let refused = place.slob("run 1 --run-time 4s --warm-up 500ms");
    let why = said(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("slob.conf names EXTERNAL_SCRIPT ./hook") && why.contains("--allow-exec"), "{why}");
    assert!(!place.path("hooks").exists(), "a file that lies here runs no program");
    let out = place.good("run 1 --run-time 4s --warm-up 500ms --allow-exec");
    for line in [
        "UPDATE_PCT: 10\n",
        "SCALE: 80M (10240 blocks)\n",
        " : Connecting 1 (THREADS_PER_SCHEMA) session(s) to 1 schema(s) ...\n",
        " : Test has been triggered. Processes are executing. Warm-up phase.\n",
        " : SLOB test is complete.\n",
        "RELIABLE  ",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    for name in ["awr.txt", "db_stats.out", "tm.out", "iostat.out", "vmstat.out", "mpstat.out"] {
        let file = fs::read_to_string(place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!file.is_empty(), "{name}");
    }
    assert_eq!(fs::read_to_string(place.path("hooks")).unwrap(), "pre\npost\nend\n");
    let shown = place.good("report --json");
    assert!(!shown.contains("hunter2") && !out.contains("hunter2"));
}

#[test]
fn pgio_conf_makes_pgios_lines() {
    let place = Place::new();
    fs::write(
        place.path("pgio.conf"),
        "RUN_TIME=120\nNUM_SCHEMAS=2\nNUM_THREADS=1\nSCALE=16M\nWORK_UNIT=15\n",
    )
    .unwrap();
    let db = "--db sqlite:pg.db";
    let out = place.good(&format!("setup {db}"));
    assert!(
        out.starts_with("Job info:      Loading 16M scale into 2 schemas as per pgio.conf->NUM_SCHEMAS.\n"),
        "{out}"
    );
    assert!(out.contains("Group data loading phase complete.         Elapsed: "), "{out}");
    let out = place.good(&format!("run {db} --run-time 2s --warm-up 500ms"));
    let detail = fs::read_to_string(place.path("pgio_session_detail.out")).unwrap();
    assert!(detail.contains("\n mypid | loop_iterations | ") && detail.contains("\n     2 | "), "{detail}");
    let disks = fs::read_to_string(place.path("pgio_diskstats.out")).unwrap();
    assert_eq!(disks.split("\n\n").filter(|part| !part.trim().is_empty()).count(), 2, "{disks}");
    assert!(out.starts_with("Date: "), "{out}");
    let line = "\nTesting 2 schemas with 1 thread(s) accessing 16M (2048 blocks) of each schema.\n";
    assert!(out.contains(line), "{out}");
    assert!(out.contains("2 schemas, 1 threads(each). Run time: "), "{out}");
    assert!(out.contains(" seconds. RIOPS >") && out.contains("< CACHE_HITS/s >"), "{out}");
}

#[test]
fn what_cannot_be_is_refused_with_the_right_status() {
    let place = Place::new();
    for (words, status, says) in [
        ("run --update-pct 51", 2, "UPDATE_PCT=51 is refused, as SLOB does"),
        ("run --work-unit 0", 2, "WORK_UNIT=0 is not a whole number"),
        ("setup 1 --scale 1M", 2, "SCALE 1M is 128 blocks of 8 KiB, and the least is 1024"),
        ("setup 4097", 2, "NUM_SCHEMAS=4097 is not a whole number from 1 to 4096"),
        ("run -s 65 -t 64", 2, "4160 sessions, more than 4096"),
        ("run --rate 0", 2, "--rate must be more than nothing"),
        ("run --limit-cache 1g", 2, "add --server DIR"),
        ("setup 1 --server .", 2, "removed afterwards"),
        ("run --db oracle://x", 2, "oracle"),
        ("run --conf missing.conf", 1, "cannot read missing.conf"),
        ("setup 1 --scale 8M --unlogged", 2, "PostgreSQL's"),
        ("report", 1, "no run of slob has been kept yet"),
        ("drop", 1, "slob.db is not there: nothing to drop"),
    ] {
        let out = place.slob(words);
        let text = said(&out.stderr);
        assert_eq!(out.status.code(), Some(status), "{words}: {text}");
        assert!(text.contains(says), "{words}: {text}");
    }
    let out = place.slob("run --db postgres://me:hunter2@127.0.0.1:1/x");
    assert_eq!(out.status.code(), Some(1));
    assert!(!said(&out.stderr).contains("hunter2") && said(&out.stderr).contains("\nhint: "));
}

#[test]
fn a_link_named_slob_speaks_the_same() {
    let place = Place::new();
    let link = place.path("slob");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fathom"), &link).unwrap();
    let run = |words: &str| {
        let mut command = Command::new(&link);
        command.args(words.split_whitespace()).current_dir(place.0.path()).stdin(Stdio::null());
        command.env("FATHOM_STORE", place.path("store.db")).output().unwrap()
    };
    assert_eq!(run("setup IOPS 1 --scale 8M").status.code(), Some(0));
    let out = run("run -s 1 -t 2 --run-time 1s --warm-up 0s --work-unit 2");
    assert_eq!(out.status.code(), Some(0), "{}", said(&out.stderr));
    assert!(said(&out.stdout).contains("Connecting 2 (THREADS_PER_SCHEMA) session(s) to 1 schema(s) ..."));
    assert_eq!(run("run -q").status.code(), Some(2));
}

/// Is the server installed? Else a counted skip.
pub fn installed(kind: fathom_database::ServerKind) -> bool {
    let found = fathom_database::Server::installed(kind);
    if let Err(error) = &found {
        fathom_tidy::skip("fathom slob on a server", &error.what);
    }
    found.is_ok()
}

pub fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn postgres_is_started_loaded_measured_and_removed() {
    if !installed(fathom_database::ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = place.open("server");
    let words = "--scale 16M -s 2 -t 2 --work-unit 4 --update-pct 20 --run-time 3s --warm-up 1s";
    let record = place.json(&format!("run --server {} {words}", server.display()));
    assert!(is_empty(&server));
    let (outcome, seen) = verdict(&record);
    assert_eq!(outcome, CheckOutcome::Failed, "{seen}");
    assert!(
        seen.contains("run with --limit-cache ") && seen.contains("or raise SCALE to at least "),
        "{seen}"
    );
    assert!(value(&record, FigureName::LogMbps) > 0.0);
    assert!(value(&record, FigureName::CommitLatency) > 0.0);
    assert!(value(&record, FigureName::LogicalReads) > 0.0);
    let awr = place.good("report --as awr");
    assert!(awr.contains("PostgreSQL ") && awr.contains("Redo size (bytes):"), "{awr}");
    let plan = "SELECT count(scratch) FROM slob1.blocks WHERE key BETWEEN $1 AND $2\n    Aggregate ";
    assert!(awr.contains(plan) && awr.contains("Index Scan using blocks_key on blocks"), "{awr}");
    for line in
        ["\nfsync                              on\n", "\nautomatic vacuums", "Sampled states of the sessions"]
    {
        assert!(awr.contains(line), "{line}\n{awr}");
    }
    assert!(awr.contains("              DB CPU(s):") && awr.contains("\nDB CPU "), "{awr}");
    assert!(place.good("report --as pgio").contains("\nAFTER:   postgres | "));
}

#[test]
fn mariadb_is_started_loaded_measured_and_removed() {
    if !installed(fathom_database::ServerKind::Mariadb) {
        return;
    }
    let place = Place::new();
    let server = place.open("server");
    let words = "--scale 16M -s 1 -t 2 --work-unit 2 --update-pct 20 --run-time 3s --warm-up 1s";
    let record = place.json(&format!("run --server {} --server-kind mariadb {words}", server.display()));
    assert!(is_empty(&server));
    let (outcome, seen) = verdict(&record);
    assert_eq!(outcome, CheckOutcome::Failed, "{seen}");
    assert!(seen.contains("start the server with innodb_buffer_pool_size=8M and SCALE 80M"), "{seen}");
    assert!(value(&record, FigureName::UpdateLatency) > 0.0);
    let awr = place.good("report --as awr");
    assert!(awr.contains("MariaDB ") && awr.contains("key=blocks_key"), "{awr}");
}

/// Waits until something is there; panics after half a minute.
pub fn wait<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if let Some(found) = found() {
            return found;
        }
        std::thread::yield_now();
    }
    panic!("{what} did not come")
}

/// A run on a server of its own that is at work: the program, its output from there on, and the server's folder.
pub fn at_work(place: &Place, server: &Path, words: &str) -> (Child, BufReader<ChildStdout>, PathBuf) {
    let words = format!("run --server {} {words} -s 1 -t 2 --run-time 60s --warm-up 0s", server.display());
    let mut running = place.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Its first lines come when the sessions start.
    let mut out = BufReader::new(running.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("Test has been triggered") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended too early");
    }
    let folder = wait("the server's directory", || {
        fs::read_dir(server).unwrap().flatten().map(|entry| entry.path()).next()
    });
    (running, out, folder)
}

#[test]
fn a_running_server_is_observed_and_an_interrupt_ends_the_run_that_it_serves() {
    if !installed(fathom_database::ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = place.open("server");
    let (mut running, mut out, directory) =
        at_work(&place, &server, "--scale 16M --work-unit 4 --update-pct 20");
    let url = format!("postgres://postgres@/postgres?host={}", directory.display());
    let seen = place.good(&format!("observe --for 3s --db {url}"));
    assert!(seen.contains("\nverdict     ") && seen.contains("MiB/s (2^20 bytes) of its log"), "{seen}");
    if seen.contains("disk reads") {
        assert!(seen.contains("fathom calibrate --block-size") && seen.contains("[global]"), "{seen}");
    }
    let pid = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    out.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert!(is_empty(&server));
}
