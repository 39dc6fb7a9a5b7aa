//! What ends jobs of fio before their work is done, commands around them, and engines that move no bytes.

use crate::fio::{fio, peer};
use crate::place::{Place, alone};

/// One figure of a job of a JSON report.
fn figure(said: &crate::place::Said, path: &str) -> serde_json::Value {
    said.json().pointer(&format!("/jobs/0/{path}")).cloned().unwrap_or_default()
}

#[test]
fn a_job_that_is_slower_than_it_may_be_ends_with_an_error() {
    let (place, _quiet) = (Place::new(), alone());
    let words =
        "--output-format=json --name=a --ioengine=null --size=1g --runtime=20 --time_based --thinktime=10ms";
    let slow = fio(&place, &format!("{words} --rate_iops_min=2000 --rate_cycle=200")).ends(1);
    assert_eq!(figure(&slow, "error"), 5);
    assert!(figure(&slow, "read/runtime").as_u64().is_some_and(|ms| ms < 5000), "{}", slow.out);
    let words =
        "--output-format=json --name=a --ioengine=null --size=1g --runtime=1 --time_based --rate_iops=500";
    let kept = fio(&place, &format!("{words} --rate_iops_min=100 --rate_cycle=200")).ends(0);
    assert_eq!(figure(&kept, "error"), 0);
    let more = fio(&place, &format!("{words} --rate_iops_min=600"));
    more.refuses(1, &["the minimum rate exceeds the rate"]);
}

#[test]
fn a_job_ends_when_it_is_steady() {
    let (place, _quiet) = (Place::new(), alone());
    let words =
        "--output-format=json --name=a --ioengine=null --size=1g --runtime=60 --time_based --rate_iops=1000";
    let said = fio(&place, &format!("{words} --ss=iops:20% --ss_dur=2")).ends(0);
    assert_eq!(figure(&said, "steadystate/attained"), 1, "{}", said.out);
    assert_eq!(figure(&said, "steadystate/ss"), "iops:20.000000%");
    assert!(figure(&said, "read/runtime").as_u64().is_some_and(|ms| ms < 30_000), "{}", said.out);
}

#[test]
fn the_sync_at_the_end_is_in_no_figure() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--output-format=json --name=a --rw=write --bs=4k --size=64k --end_fsync=1";
    for (more, syncs) in [("", 0), ("--fsync=8", 1)] {
        let said = fio(&place, &format!("{words} {more}")).ends(0);
        let told = |path| figure(&said, path).as_u64();
        assert_eq!((told("sync/total_ios"), told("sync/lat_ns/N")), (Some(syncs), Some(syncs)), "{more}");
        let at_one = 100.0 * (16 + syncs) as f64 / 16.0;
        assert!(figure(&said, "iodepth_level/1").as_f64().is_some_and(|seen| (seen - at_one).abs() < 0.1));
        if let Some(theirs) = peer(&place, &format!("{words} {more}"), 0) {
            for path in ["sync/total_ios", "sync/lat_ns/N", "iodepth_level/1"] {
                assert_eq!(figure(&said, path), figure(&theirs, path), "{more} {path}");
            }
        }
    }
}

#[test]
fn an_operation_that_takes_too_long_ends_its_job() {
    let (place, _quiet) = (Place::new(), alone());
    let said = fio(&place, "--output-format=json --name=a --size=64k --rw=write --fsync=1 --max_latency=1ns")
        .ends(1);
    assert_eq!(figure(&said, "error"), 110);
    assert_eq!(figure(&said, "write/total_ios"), 1);
    fio(&place, "--name=b --size=64k --rw=write --max_latency=100s").ends(0);
}

#[test]
fn a_mismatch_is_passed_over_where_that_is_said_and_counted() {
    let (place, _quiet) = (Place::new(), alone());
    fio(&place, "--name=a --size=64k --rw=write --verify=crc32c").ends(0);
    let path = place.path().join("a.0.0");
    let mut bytes = std::fs::read(&path).expect("it was written");
    for at in [9000, 30_000] {
        bytes[at] ^= 1;
    }
    std::fs::write(&path, bytes).expect("it is ours");
    let words = "--output-format=json --name=a --size=64k --rw=read --verify=crc32c";
    for more in ["--continue_on_error=verify", "--continue_on_error=all"] {
        let words = format!("{words} {more}");
        let said = fio(&place, &words).ends(0);
        let figures = ["total_err", "first_error", "error", "read/total_ios"].map(|name| figure(&said, name));
        assert_eq!(figures.to_vec(), [2, 84, 84, 16].map(serde_json::Value::from).to_vec(), "{more}");
        if let Some(theirs) = peer(&place, &words, 0) {
            let theirs =
                ["total_err", "first_error", "error", "read/total_ios"].map(|name| figure(&theirs, name));
            assert_eq!(figures, theirs, "{more}");
        }
    }
    fio(&place, &format!("{words} --continue_on_error=write")).ends(1);
    let first = fio(&place, &format!("{words} --verify_dump=1")).ends(1);
    assert_eq!(figure(&first, "read/total_ios"), 3, "the first one ends the job");
    let received = std::fs::read(place.path().join("a.0.0.8192.received")).expect("it was asked for");
    let there = std::fs::read(place.path().join("a.0.0")).expect("it is ours");
    assert_eq!(received, there[8192..12_288]);
}

#[test]
fn commands_are_run_only_where_that_is_allowed() {
    let (place, _quiet) = (Place::new(), alone());
    std::fs::write(
        place.path().join("x.fio"),
        "[a]\nioengine=null\nsize=4k\nexec_prerun=echo before\nexec_postrun=cat a.prerun.txt && echo after\n",
    )
    .expect("a place takes files");
    fio(&place, "x.fio").refuses(1, &["a runs a command", "x.fio:1", "--allow-exec"]);
    assert!(!place.path().join("a.prerun.txt").exists());
    let mut by_variable = place.fathom(&["fio", "--parse-only", "x.fio"]);
    by_variable.env("FATHOM_EXEC_CONSENT", "1");
    crate::place::say(by_variable).ends(0);
    fio(&place, "--allow-exec x.fio").ends(0);
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap_or_default();
    assert_eq!((read("a.prerun.txt"), read("a.postrun.txt")), ("before\n".into(), "before\nafter\n".into()));
    std::fs::write(place.path().join("y.fio"), "[a]\nioengine=null\nsize=4k\nexec_prerun=false\n")
        .expect("a place takes files");
    fio(&place, "--allow-exec y.fio").ends(1);
    let words = "--allow-exec --name=a --ioengine=exec --program=/bin/echo --arguments=%n:%r --runtime=3";
    fio(&place, words).ends(0);
    assert_eq!(read("a.stdout"), "a:3\n");
}

/// The Debian fio waits for ever with this job.
#[test]
fn other_threads_submit_where_that_is_asked_for() {
    let (place, _quiet) = (Place::new(), alone());
    for words in ["--io_submit_mode=offload", "--io_submit_mode=offload --ioengine=libaio"] {
        let words = format!("--output-format=json --name=a --size=1m --rw=randread --iodepth=8 {words}");
        let said = fio(&place, &words).ends(0);
        assert_eq!(figure(&said, "read/total_ios"), 256);
    }
}

#[test]
fn directories_are_made_looked_at_and_removed() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--output-format=json --name=a --nrfiles=3 --filesize=4k --numjobs=2";
    for engine in ["dircreate", "dirstat", "dirdelete"] {
        let said = fio(&place, &format!("{words} --ioengine={engine}")).ends(0);
        assert_eq!(figure(&said, "read/total_ios"), 3, "{engine}");
        assert_eq!(place.path().join("a.1.2").is_dir(), engine != "dirdelete", "{engine}");
    }
}

#[test]
fn files_below_a_directory_are_the_jobs() {
    let (place, _quiet) = (Place::new(), alone());
    std::fs::create_dir_all(place.path().join("d/e")).expect("a place takes folders");
    for name in ["d/one", "d/e/two"] {
        std::fs::write(place.path().join(name), [7; 16_384]).expect("a place takes files");
    }
    let said = fio(&place, "--output-format=json --name=a --opendir=d --rw=read").ends(0);
    assert_eq!(figure(&said, "read/total_ios"), 8);
    let none = fio(&place, "--name=a --opendir=nowhere --rw=read").ends(1);
    assert!(none.err.contains("cannot list nowhere"), "{}", none.err);
}

#[test]
fn a_job_takes_others_along_beyond_its_group_and_busy_loops_end_with_the_last_job() {
    let (place, _quiet) = (Place::new(), alone());
    let file = "[global]\nioengine=null\nsize=1g\ntime_based\nruntime=60\nrate_iops=100\nexitall\n\
        [short]\nruntime=300ms\nexit_what=all\n[long]\nnew_group\n[never]\nstonewall\n";
    std::fs::write(place.path().join("x.fio"), file).expect("a place takes files");
    let said = fio(&place, "--output-format=json x.fio").ends(0);
    let document = said.json();
    let runtime = |job: usize| document["jobs"][job]["read"]["runtime"].as_u64().unwrap_or(u64::MAX);
    assert!(runtime(1) < 20_000 && runtime(2) == 0, "{}", said.out);
    let file = "[busy]\nioengine=cpuio\ncpuload=10\n[io]\nioengine=null\nsize=64k\n";
    std::fs::write(place.path().join("y.fio"), file).expect("a place takes files");
    fio(&place, "y.fio").ends(0);
}
