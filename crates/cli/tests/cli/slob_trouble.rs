//! `fathom slob` and servers that others started, or that get into trouble: killed in the middle, on a disk that fills, with a wrong
//! password, too many sessions, too little memory; what is left when fathom itself is killed; tables in another directory.

use crate::place::Lab;
use crate::slob::{Place, at_work, installed, is_empty, said, wait};
use fathom_database::{Brand, Database, Route, Server, ServerKind, ServerOptions, Url};
use fathom_record::{Ending, ResultRecord, StopReason};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The process that another one started.
fn child_of(parent: u32) -> u32 {
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(is_child).expect("it has a child")
}

fn signal(name: &str, whom: &str) {
    assert!(Command::new("kill").args(["-s", name, "--", whom]).status().unwrap().success());
}

/// A server of the test's own below a directory.
fn server(kind: ServerKind, directory: &Path, settings: &[(&str, &str)]) -> Server {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = ServerOptions { settings, ..ServerOptions::new(kind, directory) };
    Server::start(&options, &|| false).expect("the server starts")
}

fn socket(server: &Server) -> PathBuf {
    let Route::Socket(socket) = &server.url().route else { panic!("{}", server.url()) };
    socket.clone()
}

/// Asks or tells it something by its own program; `None`, counted, where that is missing.
fn tell(server: &Server, kind: ServerKind, sql: &str) -> Option<String> {
    let socket = socket(server);
    let mut command = match kind {
        ServerKind::Postgres => Command::new("psql"),
        ServerKind::Mariadb => Command::new("mariadb"),
    };
    match kind {
        ServerKind::Postgres => {
            command.arg("-h").arg(socket).args(["-U", "postgres", "-d", "postgres", "-At", "-c", sql])
        }
        ServerKind::Mariadb => command.arg("--no-defaults").arg("-S").arg(socket).args(["-uroot", "-e", sql]),
    };
    let Ok(out) = command.output() else {
        fathom_tidy::skip("what slob leaves alone", "the database's own client is not installed");
        return None;
    };
    assert!(out.status.success(), "{sql}: {}", said(&out.stderr));
    Some(said(&out.stdout))
}

fn server_that_is_killed(kind: ServerKind, word: &str) {
    if !installed(kind) {
        return;
    }
    let place = Place::new();
    let directory = place.open("server");
    let words = format!("--server-kind {word} --scale 16M --work-unit 4");
    let (mut run, mut out, folder) = at_work(&place, &directory, &words);
    let pid = child_of(run.id());
    let (url, of, name) = match kind {
        ServerKind::Postgres => {
            (Url::socket(Brand::Postgres, folder, "postgres", "postgres"), "database", "commits")
        }
        ServerKind::Mariadb => {
            (Url::socket(Brand::Mysql, folder.join("s"), "root", ""), "server", "com_select")
        }
    };
    let database = Database::open(url).unwrap();
    wait("the sessions' work", || {
        std::thread::sleep(Duration::from_millis(100));
        database.counters().ok()?.get(of, name).filter(|done| *done > 2000)
    });
    signal("KILL", &format!("-{pid}"));
    out.read_to_end(&mut Vec::new()).unwrap();
    let mut error = String::new();
    run.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(1), "{error}");
    assert!(error.contains("error: 2 of 2 sessions ended before their time"), "{error}");
    assert!(error.contains("\nhint: what was measured until then is kept"), "{error}");
    let record: ResultRecord = serde_json::from_str(&place.good("report --json")).unwrap();
    assert_eq!(record.ending, Ending::Failed);
    assert_eq!(record.runs[0].workers.len(), 2);
    for worker in &record.runs[0].workers {
        assert!(worker.ended == StopReason::Fault && worker.counts[0].1.operations > 0, "{worker:?}");
    }
    assert!(is_empty(&directory));
}

#[test]
fn a_postgres_that_is_killed_in_the_middle_ends_the_run_and_the_record_is_kept() {
    server_that_is_killed(ServerKind::Postgres, "postgres");
}

#[test]
fn a_mariadb_that_is_killed_in_the_middle_ends_the_run_and_the_record_is_kept() {
    server_that_is_killed(ServerKind::Mariadb, "mariadb");
}

#[test]
fn a_killed_fathom_takes_its_server_along_and_the_next_one_removes_what_is_left() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let directory = place.open("server");
    let (mut run, _out, folder) = at_work(&place, &directory, "--scale 16M --work-unit 4");
    let pid = child_of(run.id());
    run.kill().unwrap();
    run.wait().unwrap();
    wait("the server's end", || (!Path::new(&format!("/proc/{pid}/cwd")).exists()).then_some(()));
    assert!(folder.join("owner").exists() && folder.join("data").exists());
    let words = "--scale 16M -s 1 -t 1 --work-unit 4 --run-time 1s --warm-up 0s";
    let record = place.json(&format!("run --server {} {words}", directory.display()));
    let told = format!("a server that a killed fathom had left in {} was removed", folder.display());
    assert!(record.notes.iter().any(|note| note.text == told), "{:?}", record.notes);
    assert!(is_empty(&directory));
}

#[test]
fn a_disk_that_a_setup_would_fill_is_told_and_only_what_is_ours_goes() {
    let Some(lab) = Lab::open("slob-full") else { return };
    let small = PathBuf::from(lab.make(&["tmpfs", "create", "--size", "24M"])("mount"));
    let place = Place::new();
    let file = small.join("slob.db");
    let out = place.slob(&format!("setup 1 --scale 64M --db sqlite:{}", file.display()));
    let error = said(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.contains("the tables need ") && error.contains("or make room"), "{error}");
    if !installed(ServerKind::Postgres) {
        return;
    }
    let disk = PathBuf::from(lab.make(&["tmpfs", "create", "--size", "144M"])("mount"));
    let settings = [("min_wal_size", "32MB"), ("max_wal_size", "32MB")];
    let server = server(ServerKind::Postgres, &disk, &settings);
    let kind = ServerKind::Postgres;
    let mine = "CREATE SCHEMA slob7; CREATE TABLE slob7.mine AS SELECT 42 AS answer";
    if tell(&server, kind, mine).is_none() {
        return;
    }
    let out = place.slob(&format!("setup 4 --scale 64M --load-parallel-degree 1 --db {}", server.url()));
    let error = said(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.contains("the tables need ") && error.contains("or make room"), "{error}");
    assert_eq!(tell(&server, kind, "SELECT answer FROM slob7.mine").unwrap(), "42\n");
    place.good(&format!("drop --db {}", server.url()));
    let left = "SELECT string_agg(nspname::text, ' ') FROM pg_namespace WHERE nspname ~ '^slob'";
    assert_eq!(tell(&server, kind, left).unwrap(), "slob7\n");
}

#[test]
fn a_wrong_password_is_told_and_never_shown() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let directory = place.open("server");
    let server = server(ServerKind::Postgres, &directory, &[("password_encryption", "scram-sha-256")]);
    let make = "CREATE ROLE me LOGIN SUPERUSER PASSWORD 'hunter2'";
    if tell(&server, ServerKind::Postgres, make).is_none() {
        return;
    }
    let rules = "local all postgres trust\nlocal all all scram-sha-256\n";
    fs::write(socket(&server).join("data/pg_hba.conf"), rules).unwrap();
    tell(&server, ServerKind::Postgres, "SELECT pg_reload_conf()");
    let url = |secret: &str| format!("postgres://me{secret}@/postgres?host={}", socket(&server).display());
    // The server reads its rules when it gets to it.
    let out = wait("a refusal", || {
        let out = place.slob(&format!("setup 1 --scale 8M --db {}", url(":hunter3")));
        (!out.status.success()).then_some(out)
    });
    let error = said(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(
        error.contains("password authentication failed for user \"me\"\nhint: check the user"),
        "{error}"
    );
    let missing = place.slob(&format!("setup 1 --scale 8M --db {}", url("")));
    assert!(said(&missing.stderr).contains("password"), "{}", said(&missing.stderr));
    let mut right = place.command(&format!("setup 1 --scale 8M --db {}", url("")));
    let right = right.env("PGPASSWORD", "hunter2").output().unwrap();
    assert_eq!(right.status.code(), Some(0), "{}", said(&right.stderr));
    // Where psql looks, too; a file that others may read is not used.
    let words = format!("run --run-time 1s --warm-up 0s --work-unit 4 --db {}", url(""));
    let file = place.path("passwords");
    fs::write(&file, "localhost:*:*:me:hunter2\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let by_file = |words: &str| place.command(words).env("PGPASSFILE", &file).output().unwrap();
    let open = by_file(&words);
    assert!(said(&open.stderr).contains("chmod 600"), "{}", said(&open.stderr));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let closed = by_file(&words);
    assert_eq!(closed.status.code(), Some(0), "{}", said(&closed.stderr));
    let service = place.path("services");
    let host = socket(&server).display().to_string();
    fs::write(&service, format!("[bench]\nhost={host}\nuser=me\ndbname=postgres\n")).unwrap();
    let mut command = place.command("observe --for 2s --db postgres://?service=bench");
    let observed = command.env("PGPASSFILE", &file).env("PGSERVICEFILE", &service).output().unwrap();
    assert_eq!(observed.status.code(), Some(0), "{}", said(&observed.stderr));
    let mut all = error + &said(&out.stdout) + &said(&right.stdout) + &said(&missing.stderr);
    all += &place.good(&format!("run --run-time 1s --warm-up 0s --work-unit 4 --db {}", url(":hunter2")));
    all += &place.good("report --json");
    assert!(!all.contains("hunter"), "{all}");
}

/// A password in a URL stood in the list of processes for the whole run.
#[test]
fn a_password_on_the_command_line_is_written_over() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = server(ServerKind::Postgres, &place.open("server"), &[]);
    let url = format!("postgres://postgres:hunter2@/postgres?host={}", socket(&server).display());
    let mut run = place.command(&format!("observe --for 60s --db {url}")).spawn().unwrap();
    let read = || fs::read(format!("/proc/{}/cmdline", run.id())).ok().map(|words| said(&words));
    let words = wait("the password to go", || read().filter(|words| words.contains("postgres:xxxxxxx@")));
    assert!(!words.contains("hunter2") && words.contains("observe"), "{words}");
    run.kill().unwrap();
    run.wait().unwrap();
}

/// iostat, vmstat and mpstat ran for ever under init when fathom was killed.
#[test]
fn a_killed_fathom_leaves_no_collectors_behind() {
    let place = Place::new();
    place.good("setup 1 --scale 8M");
    fs::create_dir(place.path("files")).unwrap();
    let mut run =
        place.command("run --run-time 60s --warm-up 0s --work-unit 2 --files files").spawn().unwrap();
    let children = || -> Vec<PathBuf> {
        let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let stat = |path: &PathBuf| fs::read_to_string(path.join("stat")).unwrap_or_default();
        let parent = run.id().to_string();
        all.filter(|path| {
            stat(path).rsplit_once(')').is_some_and(|(_, f)| f.split_whitespace().nth(1) == Some(&parent))
        })
        .collect()
    };
    if Command::new("vmstat").arg("-V").output().is_err() {
        fathom_tidy::skip("collectors of a killed fathom", "vmstat is not installed");
        run.kill().unwrap();
        run.wait().unwrap();
        return;
    }
    let started = wait("the collectors", || Some(children()).filter(|found| !found.is_empty()));
    run.kill().unwrap();
    run.wait().unwrap();
    wait("their end", || started.iter().all(|path| !path.join("cwd").exists()).then_some(()));
}

/// A setup of terabytes began at full speed on the disk of a live server and its log.
#[test]
fn a_setup_that_does_not_fit_is_refused_before_anything_is_loaded() {
    let place = Place::new();
    let out = place.slob("setup 2 --scale 500T");
    let error = said(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.contains("the tables need ") && error.contains("are free where sqlite:"), "{error}");
    assert!(!place.path("slob.db").exists());
    if !installed(ServerKind::Postgres) {
        return;
    }
    let server = server(ServerKind::Postgres, &place.open("server"), &[]);
    let out = place.slob(&format!("setup 2 --scale 500T --db {}", server.url()));
    let error = said(&out.stderr);
    assert!(out.status.code() == Some(1) && error.contains("the tables need "), "{error}");
    assert_eq!(fathom_database::schemas(server.url()).unwrap(), []);
    let named = place.slob(&format!("setup IOPS 1 --scale 8M --db {}", server.url()));
    assert!(said(&named.stderr).contains("there is no tablespace IOPS in "), "{}", said(&named.stderr));
    // PostgreSQL folds a name that is not quoted: `create tablespace IOPS` makes iops.
    place.good(&format!("setup PG_DEFAULT 1 --scale 8M --db {}", server.url()));
    let out = place.slob(&format!("setup 1 --scale 16M --db {}", server.url()));
    assert!(said(&out.stderr).contains("\nhint: add --replace "), "{}", said(&out.stderr));
    place.good(&format!("setup 1 --scale 16M --replace --db {}", server.url()));
    let missing = place.slob(&format!("run --files nosuch --run-time 1s --db {}", server.url()));
    assert!(said(&missing.stderr).contains("nosuch is no directory"), "{}", said(&missing.stderr));
}

#[test]
fn more_sessions_than_the_server_takes_are_refused_before_any_is_opened() {
    for (kind, name) in [(ServerKind::Postgres, "postgres"), (ServerKind::Mariadb, "mariadb")] {
        if !installed(kind) {
            continue;
        }
        let place = Place::new();
        let directory = place.open("server");
        let server = server(kind, &directory, &[("max_connections", "12")]);
        let db = format!("--db {}", server.url());
        place.good(&format!("setup 1 --scale 16M {db}"));
        let out = place.slob(&format!("run -t 40 --run-time 1s {db}"));
        let error = said(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{name}: {error}");
        assert!(error.contains("40 sessions are asked for, and the server takes "), "{name}: {error}");
        assert!(error.contains("\nhint: raise max_connections, or take fewer threads"), "{name}: {error}");
    }
}

#[test]
fn a_limit_in_which_the_server_would_be_killed_is_refused_with_the_least_that_works() {
    if !fathom_tidy::is_root() || !installed(ServerKind::Postgres) {
        fathom_tidy::skip("slob in a memory control group", "it needs root, and PostgreSQL");
        return;
    }
    let place = Place::new();
    let directory = place.open("server");
    let run = |limit: &str| {
        let words = "--scale 64M -s 2 -t 2 --work-unit 4 --update-pct 20 --run-time 1s --warm-up 0s";
        place.slob(&format!("run --server {} --limit-cache {limit} {words}", directory.display()))
    };
    let refused = run("20M");
    let error = said(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.contains("a limit of 20 MiB on the memory is too little"), "{error}");
    let hint = error.split_once("\nhint: the least that works is ").expect("a hint").1;
    let least = hint.split(' ').next().unwrap();
    let out = run(least);
    assert_eq!(out.status.code(), Some(0), "{least}: {}", said(&out.stderr));
    assert!(is_empty(&directory));
}

#[test]
fn the_tables_of_a_running_server_go_where_they_are_told_and_are_found_there() {
    for kind in [ServerKind::Postgres, ServerKind::Mariadb] {
        if !installed(kind) {
            continue;
        }
        let place = Place::new();
        let server = server(kind, &place.open("server"), &[]);
        let directory = place.open("elsewhere");
        let owner = fs::metadata(socket(&server)).unwrap();
        std::os::unix::fs::chown(&directory, Some(owner.uid()), Some(owner.gid())).unwrap();
        let db = format!("--db {}", server.url());
        let there = format!("--data-directory {}", directory.display());
        let out = place.slob(&format!("run {there} {db}"));
        assert_eq!(out.status.code(), Some(2), "{}", said(&out.stderr));
        place.good(&format!("setup 1 --scale 16M {there} {db}"));
        let bytes = bytes_below(&directory);
        assert!(bytes >= 16 << 20, "{kind:?}: {bytes}");
        let found = fathom_database::inspect(server.url()).unwrap().data.unwrap();
        assert_eq!(found, fs::canonicalize(&directory).unwrap());
        place.good(&format!("run --run-time 1s --warm-up 0s --work-unit 4 {db}"));
        place.good(&format!("drop {db}"));
        assert_eq!(bytes_below(&directory), 0, "{kind:?}");
    }
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
    entries
        .map(|path| if path.is_dir() { bytes_below(&path) } else { fs::metadata(&path).unwrap().len() })
        .sum()
}
