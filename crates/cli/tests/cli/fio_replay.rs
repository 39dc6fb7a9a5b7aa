//! Recordings, logs of single I/Os, and what fio says while it runs.

use crate::fio::{counts, fio};
use crate::place::{Place, Said, Started, alone, say, wait_until};
use fathom_tidy::skip;
use std::process::Command;
use std::time::Duration;

/// The Debian fio on the same words in a place; `None`, told and counted, where it is not installed.
fn peer(place: &Place, words: &str, what: &str) -> Option<Said> {
    let mut command = Command::new("fio");
    command.args(words.split_whitespace());
    place.at_home(&mut command);
    if Command::new("fio").arg("--version").output().is_err() {
        skip(what, "no fio here");
        return None;
    }
    Some(say(command))
}

fn text(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Reads, writes and trims of the first job, and how long it ran, ms.
fn of_first(said: &Said) -> ((u64, u64, u64), u64) {
    let (_, reads, writes, trims) = counts(said)[0].clone();
    let ran = said.json()["jobs"][0]["job_runtime"].as_u64().unwrap();
    ((reads, writes, trims), ran)
}

#[test]
fn what_was_written_down_is_done_again_at_its_speed_or_as_fast_as_it_goes() {
    let (place, _quiet) = (Place::new(), alone());
    let record = "--name=a --size=64k --rw=randrw --fsync=4 --rate_iops=40,40 --write_iolog=log";
    let recorded = fio(&place, &format!("--output-format=json {record}")).ends(0);
    let (done, _) = of_first(&recorded);
    assert_eq!(done.0 + done.1, 16);
    let log = text(&place, "log");
    assert!(log.starts_with("fio version 3 iolog\n"), "{log}");
    let again = |options: &str| {
        let words = format!("--output-format=json --name=b --read_iolog=log {options}");
        of_first(&fio(&place, &words).ends(0))
    };
    let last_us = log.lines().filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).max().unwrap();
    let last_ms = last_us / 1000;
    assert!(last_ms >= 150, "{log}");
    let (counts, ran) = again("");
    assert_eq!(counts, done);
    assert!(ran + 1 >= last_ms, "{ran} ms for what took {last_ms}");
    let (counts, ran) = again("--replay_time_scale=50");
    assert_eq!(counts, done);
    assert!(ran + 2 >= last_ms * 2, "{ran} ms at half the speed for what took {last_ms}");
    assert_eq!(again("--replay_no_stall=1").0, done);
    assert_eq!(again("--replay_no_stall=1 --replay_skip=read,sync").0, (0, done.1, 0));
    assert_eq!(again("--replay_no_stall=1 --loops=2").0, (done.0 * 2, done.1 * 2, 0));
    assert_eq!(again("--replay_no_stall=1 --replay_redirect=other").0, done);
    assert!(place.path().join("other").exists() && !place.path().join("b.0.0").exists());
}

#[test]
fn logs_of_the_debian_fio_are_replayed_here_and_ours_there() {
    let _quiet = alone();
    for words in [
        "--size=64k --rw=randwrite --fsync=4",
        "--size=64k --rw=randrw --nrfiles=2 --bsrange=4k-16k",
        "--size=256k --rw=read --ioengine=libaio --iodepth=8 --direct=1 --rate_iops=300",
    ] {
        let (ours, theirs) = (Place::new(), Place::new());
        let words = format!("--output-format=json --name=a --write_iolog=log {words}");
        let Some(recorded) = peer(&theirs, &words, "logs of fio are replayed") else { return };
        let (done, _) = of_first(&recorded.ends(0));
        let replay = "--output-format=json --name=b --read_iolog=log";
        assert_eq!(of_first(&fio(&theirs, replay).ends(0)).0, done, "{words}: {}", text(&theirs, "log"));
        let (done, _) = of_first(&fio(&ours, &words).ends(0));
        let said = peer(&ours, replay, "our logs are replayed by fio").unwrap().ends(0);
        assert_eq!(of_first(&said).0, done, "{words}: {}", text(&ours, "log"));
    }
}

#[test]
fn blktraces_events_are_done_again_on_the_file_that_is_named() {
    let (place, _quiet) = (Place::new(), alone());
    let event = |time_ns: u64, sector: u64, bytes: u32, action: u32| {
        let mut event = Vec::new();
        event.extend(0x6561_7407u32.to_le_bytes());
        event.extend(1u32.to_le_bytes());
        event.extend(time_ns.to_le_bytes());
        event.extend(sector.to_le_bytes());
        for word in [bytes, action, 1, 250 << 20, 0, 0] {
            event.extend(word.to_le_bytes());
        }
        event
    };
    let queue = 1 << 20 | 1;
    let mut trace = event(7_000_000, 16, 4096, queue | 1 << 16);
    trace.extend(event(57_000_000, 0, 8192, queue | 1 << 17));
    trace.extend(event(58_000_000, 0, 8192, 1 << 23 | 8 | 1 << 17));
    trace.extend(event(60_000_000, 0, 0, queue | 1 << 17 | 1 << 18));
    std::fs::write(place.path().join("trace"), &trace).unwrap();
    let words = "--output-format=json --name=a --read_iolog=trace --replay_redirect=data";
    let (done, ran) = of_first(&fio(&place, words).ends(0));
    assert_eq!(done, (1, 1, 0));
    assert!(ran >= 50, "{ran}");
    assert_eq!(std::fs::metadata(place.path().join("data")).unwrap().len(), 12_288);
    fio(&place, "--name=a --read_iolog=trace")
        .refuses(1, &["was recorded on device 250:0", "replay_redirect"]);
    std::fs::write(place.path().join("trace"), &trace[..60]).unwrap();
    fio(&place, words).refuses(1, &["event 2 at byte 48 is cut off"]);
    std::fs::write(place.path().join("log"), "fio version 2 iolog\nx add\nx eat 0 1\n").unwrap();
    fio(&place, "--name=a --read_iolog=log").refuses(1, &["log:3:1", "\"eat\" is no action"]);
}

/// The columns behind time and value of each line: what does not depend on the machine.
fn columns(log: &str) -> Vec<String> {
    log.lines().map(|line| line.splitn(3, ", ").nth(2).unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_io_has_its_line_in_fios_logs() {
    let _quiet = alone();
    for words in [
        "--rw=read --log_offset=1",
        "--rw=write --numjobs=2 --log_prio=1",
        "--rw=read --ioengine=libaio --direct=1 --iodepth=1 --log_offset=1",
        "--rw=write --numjobs=2 --per_job_logs=0 --stonewall",
    ] {
        let (ours, theirs) = (Place::new(), Place::new());
        let logs = "--write_bw_log=x --write_lat_log=x --write_iops_log=x";
        let words = format!("--name=a --size=64k {logs} {words}");
        fio(&ours, &words).ends(0);
        let Some(said) = peer(&theirs, &words, "logs are those of fio") else { return };
        said.ends(0);
        let mut seen = 0;
        for file in std::fs::read_dir(theirs.path()).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            if name.ends_with(".log") {
                assert_eq!(columns(&text(&ours, &name)), columns(&text(&theirs, &name)), "{words}: {name}");
                seen += 1;
            }
        }
        assert!(seen >= 4, "{words}");
    }
}

#[test]
fn logs_grow_while_the_job_runs_and_a_signal_asks_for_a_report() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "fio --name=a --ioengine=null --size=1g --runtime=3 --time_based --rate_iops=200 --write_iops_log=x --output-format=json --status-interval=1";
    let child = Started::new(place.fathom(&words.split(' ').collect::<Vec<_>>()));
    let log = place.path().join("x_iops.1.log");
    wait_until("a log that grows", Duration::from_secs(10), || {
        std::fs::metadata(&log).is_ok_and(|about| about.len() > 1000)
    });
    // It goes on: the signal asks, and does not end.
    let sent = Command::new("kill").args(["-s", "USR1", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let said = child.ended().ends(0);
    let documents = serde_json::Deserializer::from_str(&said.out).into_iter::<serde_json::Value>();
    let done: Vec<u64> = documents
        .map(|document| document.unwrap()["jobs"][0]["read"]["total_ios"].as_u64().unwrap())
        .collect();
    assert!(done.len() >= 3, "{done:?}");
    assert!(done.is_sorted() && (590..=610).contains(done.last().unwrap()), "{done:?}");
    assert_eq!(text(&place, "x_iops.1.log").lines().count() as u64, *done.last().unwrap());
}

#[test]
fn the_line_of_progress_is_drawn_where_it_is_asked_for() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--ioengine=null --size=1g --runtime=1 --time_based --rate_iops=100 --eta-interval=250ms";
    let said = fio(&place, &format!("--eta=always --name=a {words}")).ends(0);
    let line = said.out.split(['\r', '\n']).find(|line| line.starts_with("Jobs: 1 (f=")).unwrap_or_default();
    assert!(
        line.contains(": [R(1)][") && line.contains("[r=") && line.contains(" IOPS][eta 00m:0"),
        "{}",
        said.out
    );
    let silent = fio(&place, &format!("--name=a {words}")).ends(0);
    assert!(!silent.out.contains("Jobs: "), "{}", silent.out);
}
