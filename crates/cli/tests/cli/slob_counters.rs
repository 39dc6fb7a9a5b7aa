//! What `fathom slob` counts of a server beside what the server counts itself: with others at work in the same database and on
//! the same machine.

use crate::slob::{Place, installed, said};
use fathom_database::{Route, Server, ServerKind, ServerOptions};
use fathom_record::{CheckOutcome, ResultRecord};
use fathom_spec::{Bytes, MIB};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// With so many MiB of shared_buffers.
fn postgres(directory: &Path, cache: u64) -> Server {
    let cache = Some(Bytes(cache * MIB));
    let options = ServerOptions { cache, ..ServerOptions::new(ServerKind::Postgres, directory) };
    Server::start(&options, &|| false).expect("the server starts")
}

fn words(server: &Server) -> Vec<String> {
    let Route::Socket(socket) = &server.url().route else { panic!("{}", server.url()) };
    ["-h", socket.to_str().unwrap(), "-U", "postgres"].map(str::to_owned).to_vec()
}

/// What psql answers; `None`, counted, where it is missing.
fn psql(server: &Server, sql: &str) -> Option<String> {
    let out = Command::new("psql").args(words(server)).args(["-d", "postgres", "-XAtq", "-c", sql]).output();
    let Ok(out) = out else {
        fathom_tidy::skip("slob beside the server's own counters", "psql is not installed");
        return None;
    };
    assert!(out.status.success(), "{sql}: {}", said(&out.stderr));
    Some(said(&out.stdout).trim().to_owned())
}

/// Ended with the value.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// pgbench in the same database, with a statement of its own.
fn beside(place: &Place, server: &Server, rate: &str, sql: &str) -> Option<Beside> {
    let script = place.path("beside.sql");
    std::fs::write(&script, sql).unwrap();
    let mut command = Command::new("pgbench");
    command.args(words(server)).args(["-n", "-c", "2", "-T", "600", "-R", rate, "-f"]).arg(script);
    let child = command.arg("postgres").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if child.is_err() {
        fathom_tidy::skip("slob beside a foreign client", "pgbench is not installed");
    }
    Some(Beside(child.ok()?))
}

/// Blocks asked for, those not in the cache, rows: of the schemas, by the server.
const OWN: &str = "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read), \
    sum(heap_blks_read + idx_blks_read), sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)) \
    FROM pg_statio_user_tables b JOIN pg_stat_user_tables t USING (relid) \
    WHERE b.schemaname ~ '^slob' AND b.relname IN ('blocks', 'scan')";

fn counted(record: &ResultRecord, name: &str) -> f64 {
    let counted = record.facts.pointer("/request/slob/counted/0").expect("it is kept");
    counted.get(name).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("no {name} in {counted}"))
}

fn check<'a>(record: &'a ResultRecord, name: &str) -> &'a fathom_record::Check {
    record.verdict.checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The story: on a slow disk reads were a fifth to a third too low, and beside a foreign client half of what they were,
/// because they were multiplied by operations over everybody's commits.
#[test]
fn what_is_counted_is_what_the_server_counts_also_beside_a_foreign_client() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = postgres(&place.open("server"), 2);
    let db = format!("--no-conf --db {}", server.url());
    place.good(&format!("setup 2 --scale 8M {db}"));
    let statement = "SELECT relname FROM pg_class WHERE oid = 1259;\n";
    let Some(_beside) = beside(&place, &server, "300", statement) else { return };
    let truth = || -> Option<Vec<f64>> {
        Some(psql(&server, OWN)?.split('|').map(|number| number.parse().unwrap()).collect())
    };
    for (percent, warm_up) in [(0, "0s"), (25, "0s"), (100, "0s"), (0, "1s"), (50, "1s")] {
        let Some(before) = truth() else { return };
        let words = format!("-t 2 --rate 40 --work-unit 8 --update-pct {percent} --run-time 3s");
        let record = place.json(&format!("run {words} --warm-up {warm_up} {db}"));
        let after = truth().expect("it was there before");
        let [asked, missed, rows] = [0, 1, 2].map(|at| after[at] - before[at]);
        let names = ["logical", "physical", "table_logical"].map(|name| counted(&record, name));
        let whole = names[2] / rows;
        // With a warm-up a part of the run counts; what a row cost is the same in all of it, but for random misses.
        let near = if warm_up == "0s" { 0.02 } else { 0.15 };
        for (found, truth) in [(names[0] / whole, asked), (names[1] / whole, missed)] {
            assert!((found / truth - 1.0).abs() < near, "{percent} {warm_up}: {found} of {truth}");
        }
        assert!(warm_up != "0s" || (whole - 1.0).abs() < 0.02, "{percent}: {} of {rows}", names[2]);
        let agreement = check(&record, "counters agree with the sessions");
        assert_eq!(agreement.outcome, CheckOutcome::Passed, "{}", agreement.seen);
    }
}

/// An update reads its block once and finds it in the cache two or three times more: the verdict called any load with updates
/// "the cache", whatever the disk did.
#[test]
fn blocks_of_updates_that_were_not_in_the_cache_are_not_called_cached() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = postgres(&place.open("server"), 1);
    let db = format!("--no-conf --db {}", server.url());
    place.good(&format!("setup 1 --scale 64M {db}"));
    for percent in [25, 100] {
        let words = format!("-t 2 --work-unit 4 --update-pct {percent} --run-time 2s --warm-up 0s");
        let record = place.json(&format!("run {words} {db}"));
        let missed = counted(&record, "table_physical") / counted(&record, "table_logical");
        assert!((0.9..=1.0).contains(&missed), "{percent}: 64 MiB of blocks, a cache of 1 MiB: {missed}");
    }
}

/// What a second server on the machine reads was taken for the first one's: "you are measuring the disk" of a warm cache.
#[test]
fn what_a_second_server_reads_is_not_taken_for_the_first_ones() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = postgres(&place.open("server"), 1);
    let other = postgres(&place.open("other"), 16);
    let db = format!("--no-conf --db {}", server.url());
    place.good(&format!("setup 1 --scale 16M {db}"));
    let busy = "SELECT sum(i) FROM generate_series(1, 300000) i;\n";
    let Some(_beside) = beside(&place, &other, "100000", busy) else { return };
    let record = place.json(&format!("run -t 1 --rate 20 --work-unit 2 --run-time 4s --warm-up 0s {db}"));
    let found = fathom_database::inspect(server.url()).unwrap().server_process;
    assert_eq!(found, server.pid(), "the cluster's own postmaster");
    // The other one uses a processor as much as it gets; ours does next to nothing.
    let cpu = counted(&record, "cpu_ns") / 1e9;
    assert!(cpu < 0.5, "{cpu} s");
    let maria = ServerOptions::new(ServerKind::Mariadb, place.open("maria"));
    if installed(ServerKind::Mariadb) {
        let maria = Server::start(&maria, &|| false).expect("it starts");
        assert_eq!(fathom_database::inspect(maria.url()).unwrap().server_process, maria.pid());
    }
}

/// The connection that reads the counters was killed in the middle: the counters covered 2 of 8 s, and nothing said so.
#[test]
fn a_counter_session_that_is_killed_makes_the_run_not_reliable() {
    if !installed(ServerKind::Postgres) {
        return;
    }
    let place = Place::new();
    let server = postgres(&place.open("server"), 16);
    let db = format!("--no-conf --db {}", server.url());
    place.good(&format!("setup 1 --scale 8M {db}"));
    let words = format!("run -t 1 --work-unit 2 --run-time 8s --warm-up 0s --json {db}");
    let run = place.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'fathom' \
                AND EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'fathom session')";
    crate::slob::wait("the counters' connection", || (psql(&server, kill)? != "0").then_some(()));
    let out = run.wait_with_output().unwrap();
    let record: ResultRecord = serde_json::from_slice(&out.stdout).unwrap();
    let agreement = check(&record, "counters agree with the sessions");
    assert_eq!(agreement.outcome, CheckOutcome::Failed, "{}", agreement.seen);
    assert!(agreement.seen.contains("the connection that read them was lost"), "{}", agreement.seen);
}
