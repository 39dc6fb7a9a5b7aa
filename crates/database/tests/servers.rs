//! PostgreSQL and MariaDB for real, on servers that the tests start and remove.

mod common;

use common::*;
use fathom_database::*;
use fathom_record::{Control, Event, EventKind, Execute, Request, Steer, StopReason, Totals};
use fathom_spec::*;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::path::Path;

/// What must hold in both: setup with its proof, the mix, counters, kept schemas, drop.
fn whole_life(url: &Url) {
    let settings = Settings { update_percent: 20.0, scan_percent: 10.0, threads: 2, work_unit: 3, ..small() };
    let done = load(url, &settings);
    assert_eq!(done.loaded, [1, 2]);
    for proof in &done.proofs {
        assert_eq!((proof.rows, proof.blocks), (400, 400), "{proof:?}");
    }
    let all = schemas(url).unwrap();
    assert!(all.iter().all(|schema| schema.state == State::Ready && schema.shape.blocks == 400), "{all:?}");
    let first = run(url, &settings, operations(200), &mut ());
    let [select, update, commit, scan] =
        [Verb::Select, Verb::Update, Verb::Commit, Verb::Scan].map(|verb| count(&first, verb).1);
    assert_eq!((update, commit, select + scan, errors(&first)), (160, 160, 640, 0));
    let (_, before) = Counters::nearest(&first.samples, 0).unwrap();
    let (_, after) = Counters::nearest(&first.samples, u64::MAX).unwrap();
    let change = after.since(&before);
    assert!(change.logical_reads.unwrap() >= select * 3 + update + scan * 50, "{change:?}");
    assert!(change.log_bytes.unwrap() > 0 && change.rows_updated.unwrap() >= 160, "{change:?}");
    let touched = select * 3 + update + scan * 50;
    let (logical, physical) = change.table_reads(touched).unwrap();
    assert!(logical >= touched && physical * 10 < logical, "all of it is in memory: {change:?}");
    let heavy =
        Settings { redo: Redo::Heavy, update_percent: 100.0, hot_schema_every: 2, ..settings.clone() };
    let heavy = run(url, &heavy, operations(30), &mut ());
    assert_eq!((count(&heavy, Verb::Commit).1, errors(&heavy)), (120, 0));
    assert_eq!(load(url, &settings).reused, [1, 2]);
    for schema in schemas(url).unwrap() {
        assert!(prove(url, &schema).is_ok(), "updates leave one row per block");
    }
    let unique = Settings { unique_index: true, schemas: 1, ..settings.clone() };
    assert_eq!(load(url, &unique).loaded, [1], "another index is another shape");
    assert_eq!(errors(&run(url, &unique, operations(20), &mut ())), 0);
    assert_eq!(drop_all(url).unwrap(), [1, 2]);
    assert_eq!(schemas(url).unwrap(), []);
}

/// An interrupt while rows are loaded in parallel: what is ready stays, the rest is gone, and another setup goes on.
fn interrupted(url: &Url) {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let settings = Settings { schemas: 3, blocks: 1200, parallel: 1, ..small() };
    let now = AtomicBool::new(false);
    let error = setup(
        url,
        &settings,
        Replace::Never,
        &mut |p| now.store(p.ready == 1 && p.rows > 1300, Relaxed),
        &|| now.load(Relaxed),
    )
    .unwrap_err();
    assert_eq!(error.kind, Trouble::Interrupted, "{error}");
    let left: Vec<(u32, State)> = schemas(url).unwrap().iter().map(|s| (s.number, s.state)).collect();
    assert_eq!(left, [(1, State::Ready)]);
    let again = load(url, &settings);
    assert_eq!((again.reused, again.loaded), (vec![1], vec![2, 3]));
    drop_all(url).unwrap();
}

/// Kills a process at the second slot.
struct Kills {
    pid: Pid,
    slots: u32,
}

impl Control for Kills {
    fn slot(&mut self, _now_ns: u64, totals: &[Totals]) -> Steer {
        self.slots += u32::from(totals.iter().any(|t| t.counts[0].operations > 0));
        if self.slots == 2 {
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = kill_process(self.pid, Signal::KILL);
        }
        Steer::Continue
    }
}

/// A server that dies in the middle ends the run soon, with the record kept and the reason told.
fn dies(server: &Server) {
    let settings = Settings { update_percent: 10.0, threads: 2, ..small() };
    load(server.url(), &settings);
    let pid = Pid::from_raw(server.pid().unwrap() as i32).unwrap();
    let length = Length { time: Some(Nanos::from_seconds(600)), ..operations(u64::MAX) };
    let run = run(server.url(), &settings, length, &mut Kills { pid, slots: 0 });
    assert!(run.length_ns < 60_000_000_000 && count(&run, Verb::Select).0 > 0);
    assert!(run.workers.iter().all(|worker| worker.ended == StopReason::Fault), "{:?}", run.workers);
    let told = |event: &&Event| matches!(event.what, EventKind::Statement { retried: false, .. });
    assert_eq!(run.events.iter().filter(told).count(), 4, "{:?}", run.events);
    let error = inspect(server.url()).unwrap_err();
    assert_eq!(error.kind, Trouble::Connection, "{error}");
}

fn too_many(url: &Url, most: u32) {
    let settings = Settings { threads: most / 2 + 1, ..small() };
    load(url, &small());
    let mut database = Database::open(url.clone()).unwrap();
    let error =
        database.execute(Request::new(&settings.plan(url, operations(1))), &mut ()).unwrap_err().to_string();
    assert!(error.contains("has room for") && error.contains("max_connections"), "{error}");
}

/// The same server by another user.
fn by(url: &Url, user: &str) -> Url {
    let mut url = url.clone();
    url.user = user.to_owned();
    url
}

fn psql(url: &Url, sql: &str) -> Vec<postgres::Row> {
    let Route::Socket(socket) = &url.route else { panic!("{url}") };
    let mut config = postgres::Config::new();
    config.host_path(socket).user("postgres").dbname("postgres");
    let mut client = config.connect(postgres::NoTls).unwrap();
    match sql.starts_with("SELECT") {
        true => client.query(sql, &[]).unwrap(),
        false => client.batch_execute(sql).map(|()| Vec::new()).unwrap(),
    }
}

fn mysql(url: &Url, sql: &str) -> Vec<mysql::Row> {
    use mysql::prelude::Queryable;
    let Route::Socket(socket) = &url.route else { panic!("{url}") };
    let options = mysql::OptsBuilder::new().socket(Some(socket.display().to_string())).user(Some("root"));
    mysql::Conn::new(options).unwrap().query(sql).unwrap()
}

#[test]
fn postgres_from_setup_to_drop() {
    let Some((directory, server)) = server(ServerKind::Postgres, &[("max_connections", "20")]) else {
        return;
    };
    let url = server.url().clone();
    let facts = inspect(&url).unwrap();
    assert!(facts.product.starts_with("PostgreSQL ") && facts.block_bytes == 8192, "{facts:?}");
    assert!(facts.data.as_ref().unwrap().starts_with(std::fs::canonicalize(directory.path()).unwrap()));
    assert_eq!((facts.cache_bytes, facts.sessions_now), (128 << 20, Some(1)));
    whole_life(&url);
    interrupted(&url);
    too_many(&url, facts.sessions_most.unwrap());
    drop_all(&url).unwrap();
    load(&url, &Settings { schemas: 1, unique_index: true, ..small() });
    let ask = "SELECT 1 FROM pg_index WHERE indrelid = 'slob1.blocks'::regclass AND indisunique";
    assert_eq!(psql(&url, ask).len(), 1);
    drop_all(&url).unwrap();
    foreign_in_postgres(&url);
    let database = Database::open(url.clone()).unwrap();
    assert!(database.disks_below().is_ok());
    full_in_postgres(&url);
    observed(&url);
    dies(&server);
    server.stop().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left");
}

fn foreign_in_postgres(url: &Url) {
    psql(
        url,
        "CREATE SCHEMA slob2; CREATE TABLE slob2.fathom_slob (other int); CREATE TABLE slob2.blocks (mine text)",
    );
    let error = setup(url, &small(), Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Foreign, "{error}");
    let one = Settings { schemas: 1, unlogged: true, ..small() };
    load(url, &one);
    psql(url, "CREATE TABLE slob1.guest (mine text)");
    assert_eq!(drop_all(url).unwrap_err().kind, Trouble::Foreign);
    assert_eq!(psql(url, "SELECT 1 FROM pg_class WHERE relname IN ('guest', 'blocks')").len(), 3);
    psql(url, "DROP TABLE slob1.guest");
    assert_eq!(drop_all(url).unwrap(), [1]);
    assert_eq!(psql(url, "SELECT 1 FROM pg_class WHERE relname IN ('fathom_slob', 'blocks')").len(), 2);
    psql(url, "DROP SCHEMA slob2 CASCADE");
    // A user without rights.
    psql(url, "CREATE ROLE guest LOGIN");
    let guest = by(url, "guest");
    let error = setup(&guest, &small(), Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Rights, "{error}");
    let error = inspect(&by(url, "nobody-here")).unwrap_err();
    assert_eq!(error.kind, Trouble::Password, "{error}");
    let mut missing = url.clone();
    missing.database = "none".to_owned();
    let error = inspect(&missing).unwrap_err();
    assert!(error.kind == Trouble::Connection && error.what.contains("none"), "{error}");
}

/// A tablespace on a disk of its own that fills up.
fn full_in_postgres(url: &Url) {
    let Some(disk) = SmallDisk::mount(8) else { return };
    let space = disk.0.path().join("space");
    std::fs::create_dir(&space).unwrap();
    let owner = std::fs::metadata(inspect(url).unwrap().data.unwrap()).unwrap();
    use std::os::unix::fs::MetadataExt;
    std::os::unix::fs::chown(&space, Some(owner.uid()), Some(owner.gid())).unwrap();
    psql(url, &format!("CREATE TABLESPACE \"small one\" LOCATION '{}'", space.display()));
    let settings = Settings {
        tablespace: Some("small one".into()),
        blocks: 600,
        parallel: 1,
        scan_blocks: 0,
        ..small()
    };
    let error = setup(url, &settings, Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Full, "{error}");
    let left = schemas(url).unwrap();
    assert!(
        left.len() == 1 && left[0].state == State::Ready && left[0].shape.tablespace == "small one",
        "{left:?}"
    );
    assert_eq!(
        Database::open(url.clone()).unwrap().facts.data.unwrap(),
        std::fs::canonicalize(space).unwrap()
    );
    drop_all(url).unwrap();
    psql(url, "DROP TABLESPACE \"small one\"");
}

fn observed(url: &Url) {
    let settings = small();
    load(url, &settings);
    let mut database = Database::open(url.clone()).unwrap();
    let run = database.observe(Nanos::from_millis(1200), &[], &mut ()).unwrap();
    let (first, before) = Counters::nearest(&run.samples, 0).unwrap();
    let (last, after) = Counters::nearest(&run.samples, u64::MAX).unwrap();
    assert!(last > first + 1_000_000_000 && run.workers[0].counts.is_empty());
    assert_eq!(after.since(&before).rows_updated, Some(0), "it only reads");
    drop_all(url).unwrap();
}

#[test]
fn mariadb_from_setup_to_drop() {
    let settings = [("max_connections", "20"), ("innodb_log_file_size", "16M")];
    let Some((directory, server)) = server(ServerKind::Mariadb, &settings) else { return };
    let url = server.url().clone();
    let facts = inspect(&url).unwrap();
    assert!(facts.product.starts_with("MariaDB ") && facts.block_bytes == 16384, "{facts:?}");
    whole_life(&url);
    interrupted(&url);
    too_many(&url, facts.sessions_most.unwrap());
    drop_all(&url).unwrap();
    mysql(&url, "CREATE DATABASE slob2");
    let error = setup(&url, &small(), Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, Trouble::Foreign, "{error}");
    load(&url, &Settings { schemas: 1, random_filler: true, ..small() });
    mysql(&url, "CREATE TABLE slob1.guest (mine INT)");
    assert_eq!(drop_all(&url).unwrap_err().kind, Trouble::Foreign);
    mysql(&url, "DROP TABLE slob1.guest");
    assert_eq!(drop_all(&url).unwrap(), [1]);
    assert_eq!(schemas(&url).unwrap()[0].state, State::Foreign);
    mysql(&url, "DROP DATABASE slob2");
    mysql(&url, "CREATE USER guest@localhost IDENTIFIED BY 'hunter2'");
    let guest = by(&url, "guest");
    let error = inspect(&guest.clone().with_password(Some("hunter3".into()))).unwrap_err();
    assert!(error.kind == Trouble::Password && !error.to_string().contains("hunter"), "{error}");
    let guest = guest.with_password(Some("hunter2".into()));
    let error = setup(&guest, &small(), Replace::Never, &mut |_| {}, &|| false).unwrap_err();
    assert!(error.kind == Trouble::Rights && !error.to_string().contains("hunter"), "{error}");
    observed(&url);
    dies(&server);
    server.stop().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_password_that_is_wrong_or_missing_is_told_and_not_shown() {
    let settings = [("password_encryption", "scram-sha-256")];
    let Some((directory, server)) = server(ServerKind::Postgres, &settings) else { return };
    let url = server.url().clone();
    psql(&url, "CREATE ROLE me LOGIN SUPERUSER PASSWORD 'hunter2'");
    let home = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(home.join("data/pg_hba.conf"), "local all postgres trust\nlocal all all scram-sha-256\n")
        .unwrap();
    psql(&url, "SELECT pg_reload_conf()");
    let me = by(&url, "me");
    // The server reads its file when it gets to it.
    let refused = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        inspect(&me.clone().with_password(Some("hunter3".into()))).err()
    });
    let error = refused.expect("the password is wrong");
    assert!(error.kind == Trouble::Password && !error.to_string().contains("hunter"), "{error}");
    assert_eq!(inspect(&me).unwrap_err().kind, Trouble::Password);
    let right = me.with_password(Some("hunter2".into()));
    load(&right, &Settings { schemas: 1, ..small() });
    let run = run(&right, &Settings { schemas: 1, ..small() }, operations(10), &mut ());
    assert!(!format!("{run:?}").contains("hunter2"), "no record holds it");
}

#[test]
fn a_server_within_a_limit_measures_the_disk_and_not_the_cache() {
    if !fathom_tidy::is_root() {
        fathom_tidy::skip("a server in a memory control group", "it needs root");
        return;
    }
    if Server::installed(ServerKind::Postgres).is_err() {
        fathom_tidy::skip("a server in a memory control group", "there is no PostgreSQL here");
        return;
    }
    let directory = directory();
    let options = ServerOptions {
        limit: Some(Bytes(96 * MIB)),
        cache: Some(Bytes(4 * MIB)),
        settings: vec![("max_connections".into(), "10".into())],
        ..ServerOptions::new(ServerKind::Postgres, directory.path().join("missing"))
    };
    let server = Server::start(&options, &|| false).unwrap();
    let url = server.url().clone();
    let settings = Settings { schemas: 1, blocks: 4000, ..small() };
    load(&url, &settings);
    let run = run(&url, &settings, operations(2000), &mut ());
    let (_, before) = Counters::nearest(&run.samples, 0).unwrap();
    let (_, after) = Counters::nearest(&run.samples, u64::MAX).unwrap();
    let change = after.since(&before);
    let (logical, physical) = change.table_reads(2000).unwrap();
    assert_eq!(logical, 2000, "one block a select: {change:?}");
    assert!(physical * 10 > logical * 7, "4,000 blocks and a cache of 512: {change:?}");
    let used = server.memory().unwrap();
    assert!(used.0 > MIB && used.0 <= 96 * MIB, "{used}");
    server.stop().unwrap();
    assert!(!directory.path().join("missing").exists());
    let groups = |path: &str| {
        let ours = format!("fathom-server-{}-", std::process::id());
        let names = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with(&ours)).count()
    };
    assert_eq!(groups("/sys/fs/cgroup/memory") + groups("/sys/fs/cgroup"), 0);
}

#[test]
fn a_server_is_gone_when_it_is_dropped_or_interrupted() {
    let Some((directory, server)) = server(ServerKind::Postgres, &[]) else { return };
    let pid = server.pid().unwrap();
    drop(server);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let options = ServerOptions::new(ServerKind::Postgres, directory.path());
    assert_eq!(Server::start(&options, &|| true).unwrap_err().kind, Trouble::Interrupted);
    let wrong = ServerOptions { settings: vec![("no_such_setting".into(), "1".into())], ..options.clone() };
    let error = Server::start(&wrong, &|| false).unwrap_err();
    assert!(error.what.contains("no_such_setting"), "{error}");
    let refused = ServerOptions { cache: Some(Bytes(60)), limit: Some(Bytes(100)), ..options };
    assert!(Server::start(&refused, &|| false).unwrap_err().what.contains("more than half"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// The story: a fathom that was killed left its server running, and the next measurement shared the disk with it.
#[test]
fn a_server_that_a_killed_process_left_running_is_stopped_and_removed_by_the_next_start() {
    for kind in [ServerKind::Postgres, ServerKind::Mariadb] {
        let Some((directory, server)) = server(kind, &[]) else { continue };
        assert_eq!(server.leftovers(), []);
        let pid = server.pid().unwrap();
        let place = std::fs::canonicalize(directory.path()).unwrap();
        let home = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
        // As if its owner had been another process, which is dead.
        let roots = fathom_host::Roots::default();
        let own = fathom_host::scratch::Mark::own(&roots).unwrap();
        let dead = fathom_host::scratch::Mark { start_ticks: own.start_ticks + 1, ..own };
        std::fs::remove_file(home.join("owner")).unwrap();
        std::fs::write(home.join("owner"), format!("{}\nfound\n", dead.file_name(0))).unwrap();
        let next = Server::start(&ServerOptions::new(kind, &place), &|| false).unwrap();
        assert_eq!(next.leftovers(), [Leftover { home: home.clone(), trouble: None }]);
        assert!(!home.exists() && !Path::new(&format!("/proc/{pid}/cwd")).exists());
        assert!(inspect(server.url()).is_err() && inspect(next.url()).is_ok());
        next.stop().unwrap();
        // Its process has ended already.
        assert!(server.stop().is_ok());
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    for text in [
        "postgres://127.0.0.1:1/x",
        "mysql://127.0.0.1:1",
        "postgres:///x?host=/nowhere",
        "mysql:///?socket=/nowhere",
    ] {
        let error = inspect(&text.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind, Trouble::Connection, "{error}");
    }
}
