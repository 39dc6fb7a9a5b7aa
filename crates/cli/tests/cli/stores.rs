//! Stores that cannot be written, are damaged or newer, or for which there is no place: the measurement is not lost.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::disks::Disk;
use crate::place::{Place, Said, alone};
use fathom_tidy::skip;

const SIMULATED: &str = "sim:ways=4,service=100us";

#[track_caller]
fn measured_and_not_kept(said: Said, why: &str) {
    let said = said.ends(0);
    for word in ["40,000 IOPS", "this run is not kept", why] {
        // Long lines are broken where the terminal ends.
        let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(word), "no {word:?} in {}", said.out);
    }
}

#[test]
fn a_damaged_store_is_left_alone_and_the_run_is_measured() {
    let place = Place::new();
    let store = place.file("runs.db", 64 << 10);
    let before = std::fs::read(&store).unwrap();
    measured_and_not_kept(place.say(&["calibrate", SIMULATED]), "not a database or is damaged");
    assert_eq!(std::fs::read(&store).unwrap(), before);
    for words in [&["status"][..], &["history"], &["show"], &["sql", "select 1"]] {
        place.say(words).refuses(1, &["not a database or is damaged", "move it away"]);
    }
}

#[test]
fn a_store_of_a_newer_version_is_left_alone_and_the_run_is_measured() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED]).ends(0);
    let Ok(made) = Command::new("sqlite3").arg(place.store()).arg("PRAGMA user_version=9999").output() else {
        return skip("the command line: a newer store", "no sqlite3");
    };
    assert!(made.status.success());
    measured_and_not_kept(place.say(&["calibrate", SIMULATED]), "has layout 9999");
    place.say(&["history"]).refuses(1, &["has layout 9999", "use the newer fathom"]);
}

#[test]
fn another_programs_database_is_left_alone() {
    let place = Place::new();
    let Ok(made) = Command::new("sqlite3").arg(place.store()).arg("create table theirs(a)").output() else {
        return skip("the command line: another program's database", "no sqlite3");
    };
    assert!(made.status.success());
    measured_and_not_kept(place.say(&["calibrate", SIMULATED]), "a database of another program");
}

#[test]
fn a_store_in_a_place_that_cannot_be_is_a_warning() {
    let place = Place::new();
    place.file("plain", 10);
    let said = place.say(&["--store", "plain/runs.db", "calibrate", SIMULATED]);
    measured_and_not_kept(said, "plain/runs.db");
    // Not even root may write there.
    measured_and_not_kept(place.say(&["--store", "/proc/runs.db", "calibrate", SIMULATED]), "/proc/runs.db");
}

#[test]
fn a_store_that_may_only_be_read_is_a_warning() {
    let _alone = alone();
    let Some(disk) = Disk::own("rostore") else { return };
    let folder = disk.mount.join("kept");
    std::fs::create_dir(&folder).unwrap();
    let store = folder.join("runs.db");
    let store = store.to_str().unwrap();
    disk.place.say(&["--store", store, "calibrate", SIMULATED]).ends(0);
    std::fs::set_permissions(store, PermissionsExt::from_mode(0o444)).unwrap();
    let said = disk.as_nobody(&["--store", store, "calibrate", SIMULATED]);
    measured_and_not_kept(said, "cannot write the store");
    let said = disk.as_nobody(&["--store", store, "history"]).ends(0);
    assert!(said.out.contains("40,000"), "it can still be read: {}", said.out);
}

#[test]
fn without_a_home_it_measures_and_keeps_nothing() {
    let place = Place::new();
    let mut command = place.fathom(&["calibrate", SIMULATED]);
    command.env_remove("HOME").env_remove("FATHOM_STORE");
    let said = crate::place::say(command).ends(0);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["40,000 IOPS", "no home directory", "--store or FATHOM_STORE", "saved nowhere"] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    let mut command = place.fathom(&["history"]);
    command.env_remove("HOME").env_remove("FATHOM_STORE");
    crate::place::say(command).refuses(1, &["no home directory"]);
}

#[test]
fn another_user_measures_what_he_may() {
    let _alone = alone();
    let Some(disk) = Disk::own("user") else { return };
    let own = disk.mount.join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o777)).unwrap();
    let words = ["calibrate", own.to_str().unwrap(), "--time", "5s", "--size", "64m", "--json"];
    let said = disk.as_nobody(&words).measures();
    let iops = said.json().pointer("/summary/max_iops/value").and_then(|v| v.as_f64());
    assert!(iops.is_some_and(|iops| iops > 0.0), "{}", said.out);
    assert!(crate::place::scratch_files(&own).is_empty());
}

#[test]
fn an_empty_store_answers_every_question() {
    let place = Place::new();
    assert_eq!(place.say(&["status"]).ends(0).out, "NOT AVAILABLE\n");
    place.say(&["history"]).ends(0);
    place.say(&["history", "--json"]).ends(0);
    place.say(&["show"]).refuses(1, &["nothing has been kept yet"]);
    place.say(&["sql", "select 1"]).refuses(1, &["nothing has been kept yet"]);
    assert!(!place.store().exists(), "asking makes no store");
}

#[test]
fn a_filled_store_answers_every_question() {
    let place = Place::new();
    place.say(&["calibrate", SIMULATED, "--label", "first"]).ends(0);
    place.say(&["calibrate", "sim:ways=8,service=100us", "--label", "second"]).ends(0);
    assert_eq!(place.say(&["status"]).ends(0).out, "NOT AVAILABLE\n", "a simulated device is no calibration");
    let history = place.say(&["history"]).ends(0).out;
    assert!(
        history.contains("40,000") && history.contains("80,000") && history.contains("first"),
        "{history}"
    );
    assert_eq!(place.say(&["history", "--json", "--limit", "1"]).ends(0).json()["label"], "second");
    assert!(place.say(&["show"]).ends(0).out.contains("80,000 IOPS"));
    assert!(place.say(&["show", "1"]).ends(0).out.contains("40,000 IOPS"));
    assert_eq!(place.say(&["show", "1", "--json"]).ends(0).json()["label"], "first");
    for which in ["figures", "curves", "series"] {
        assert!(place.say(&["show", "1", "--csv", which]).ends(0).out.lines().count() > 1, "{which}");
    }
    place.say(&["show", "17"]).refuses(1, &["no run `17`", "fathom history"]);
    let asked = place.say(&["sql", "select status from v$io_calibration_status"]).ends(0).out;
    assert!(asked.ends_with("NOT AVAILABLE\n"), "{asked}");
    place.say(&["sql", "select nonsense"]).refuses(1, &["the query cannot be answered"]);
    place.say(&["sql", "delete from runs"]).refuses(1, &["the query cannot be answered"]);
}

#[test]
fn the_seeds_query_is_answered_by_sqlite_itself() {
    let place = Place::new();
    let _alone = alone();
    let words = ["calibrate", ".", "--time", "5s", "--size", "64m", "--read-only", "--while-busy"];
    place.say(&words).measures();
    let query = "select max_iops, latency, max_mbps from dba_rsrc_io_calibrate";
    let Ok(answer) = Command::new("sqlite3").arg(place.store()).arg(query).output() else {
        return skip("the command line: Oracle's view by sqlite3", "no sqlite3");
    };
    let text = String::from_utf8(answer.stdout).unwrap();
    let iops: Option<u64> = text.split('|').next().and_then(|iops| iops.parse().ok());
    assert!(iops.is_some_and(|iops| iops > 0), "{text}{}", String::from_utf8_lossy(&answer.stderr));
}

#[test]
fn a_short_run_costs_the_store_less_than_eight_kibibytes() {
    let place = Place::new();
    let copy = || place.say(&["dd", "if=/dev/zero", "of=copy", "count=1"]).ends(0);
    copy();
    let bytes = || std::fs::metadata(place.store()).unwrap().len();
    let first = bytes();
    for _ in 0..10 {
        copy();
    }
    let each = (bytes() - first) / 10;
    assert!(each < 8 << 10, "{each} bytes");
}

#[test]
fn the_sqlite3_shell_reads_the_records() {
    let place = Place::new();
    place.say(&["dd", "if=/dev/zero", "of=copy", "count=1"]).ends(0);
    let sql = "select json_extract(record, '$.tool') from records where number = 1";
    let Ok(read) = Command::new("sqlite3").arg(place.store()).arg(sql).output() else {
        return skip("the command line: records in the sqlite3 shell", "no sqlite3");
    };
    assert_eq!(String::from_utf8_lossy(&read.stdout), "dd\n");
    assert_eq!(place.say(&["sql", sql]).ends(0).out.lines().last(), Some("dd"));
}

/// Somebody who holds the store kept every command waiting for ten seconds at its beginning, and then again at its end.
#[test]
fn a_store_that_is_held_at_the_beginning_keeps_the_run_at_its_end() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let place = Place::new();
    place.say(&["calibrate", SIMULATED]).ends(0);
    let mut sqlite = Command::new("sqlite3");
    sqlite.arg(place.store()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut holder) = sqlite.spawn() else {
        return skip("the command line: a store that is held", "no sqlite3");
    };
    let mut holds = holder.stdin.take().expect("it is piped");
    holds.write_all(b"BEGIN IMMEDIATE; SELECT 'held';\n").expect("it reads");
    let mut line = String::new();
    BufReader::new(holder.stdout.take().expect("it is piped")).read_line(&mut line).expect("it answers");
    assert_eq!(line, "held\n");
    let mut dd = place.fathom(&["dd", "of=out", "bs=512", "count=2", "status=none"]);
    let mut dd = dd.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = dd.stdin.take().expect("it is piped");
    input.write_all(&[1; 512]).expect("it reads");
    let copied = || std::fs::metadata(place.path().join("out")).is_ok_and(|about| about.len() >= 512);
    crate::place::wait_until("the copy", std::time::Duration::from_secs(60), copied);
    drop(holds);
    assert!(holder.wait().expect("it ends").success());
    input.write_all(&[2; 512]).expect("it reads");
    drop(input);
    assert!(dd.wait().expect("it ends").success());
    let history = place.say(&["history", "--json"]).ends(0);
    assert!(history.out.lines().any(|line| line.contains("\"dd\"")), "{}", history.out);
}
