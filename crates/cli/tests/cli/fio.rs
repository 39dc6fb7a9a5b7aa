//! `fathom fio`, as a user and as a script calls it: fio's words in, its files, reports and exit statuses out.

use crate::place::{Place, Said, alone, say};
use fathom_fio::options;
use fathom_tidy::skip;
use std::process::Command;

/// Runs fathom's fio on words in a place.
pub fn fio(place: &Place, words: &str) -> Said {
    let mut all = vec!["fio"];
    all.extend(words.split_whitespace());
    let mut command = place.fathom(&all);
    command.env_remove("FATHOM_NOTES").env_remove("FATHOM_WRITE_CONSENT");
    say(command)
}

/// What the Debian fio says to the same words in the same place; nothing where there is none.
pub fn peer(place: &Place, words: &str, status: i32) -> Option<Said> {
    let mut command = Command::new("fio");
    command.args(words.split_whitespace());
    place.at_home(&mut command);
    if Command::new("fio").arg("--version").output().is_err() {
        skip("figures beside fio's", "no fio here");
        return None;
    }
    Some(say(command).ends(status))
}

/// Reads, writes and trims of each job.
pub fn counts(said: &Said) -> Vec<(String, u64, u64, u64)> {
    let document = said.json();
    let jobs = document["jobs"].as_array().expect("there are jobs").iter();
    let count = |job: &serde_json::Value, verb: &str| job[verb]["total_ios"].as_u64().expect("a count");
    let one = |job: &serde_json::Value| {
        let name = job["jobname"].as_str().unwrap_or_default().to_owned();
        (name, count(job, "read"), count(job, "write"), count(job, "trim"))
    };
    jobs.map(one).collect()
}

fn named(name: &str, reads: u64, writes: u64, trims: u64) -> (String, u64, u64, u64) {
    (name.to_owned(), reads, writes, trims)
}

#[test]
fn a_job_file_runs_and_its_files_are_laid_out_as_fios() {
    let (place, _quiet) = (Place::new(), alone());
    let file = "[global]\nsize=256k\nbs=8k ; of each\n[reader]\nrw=randread\nnumjobs=2\n[writer]\nstonewall\nrw=write\nnrfiles=2\n";
    std::fs::write(place.path().join("x.fio"), file).unwrap();
    let said = fio(&place, "--output-format=json x.fio").ends(0);
    assert_eq!(
        counts(&said),
        [named("reader", 32, 0, 0), named("reader", 32, 0, 0), named("writer", 0, 32, 0)]
    );
    let size = |name: &str| std::fs::metadata(place.path().join(name)).map(|about| about.len()).ok();
    assert_eq!(size("reader.0.0"), Some(262_144));
    assert_eq!(size("reader.1.0"), Some(262_144));
    assert_eq!((size("writer.0.0"), size("writer.0.1")), (Some(131_072), Some(131_072)));
    let document = said.json();
    assert_eq!(document["global options"]["bs"], "8k");
    assert_eq!(document["jobs"][2]["groupid"], 1);
    assert_eq!(document["jobs"][2]["job options"]["nrfiles"], "2");
}

#[test]
fn jobs_on_the_command_line_run_again_over_their_files() {
    let (place, _quiet) = (Place::new(), alone());
    for _ in 0..2 {
        let said = fio(&place, "--output-format=json --name=a --size=64k --rw=write --end_fsync=1").ends(0);
        assert_eq!(counts(&said), [named("a", 0, 16, 0)]);
    }
    let said = fio(&place, "--output-format=json --name=a --size=64k --rw=read --loops=3").ends(0);
    assert_eq!(counts(&said), [named("a", 48, 0, 0)]);
    fio(&place, "--name=a --size=64k --unlink=1").ends(0);
    assert!(!place.path().join("a.0.0").exists());
}

#[test]
fn the_normal_report_goes_where_output_says() {
    let (place, _quiet) = (Place::new(), alone());
    let said = fio(&place, "--output=report.txt --name=a --ioengine=null --size=1m").ends(0);
    assert_eq!(said.out, "");
    let report = std::fs::read_to_string(place.path().join("report.txt")).unwrap();
    assert!(report.starts_with("a: (g=0): rw=read, bs=(R) 4096B-4096B"), "{report}");
    assert!(report.contains("Run status group 0 (all jobs):"), "{report}");
}

#[test]
fn what_was_written_with_headers_is_verified() {
    let (place, _quiet) = (Place::new(), alone());
    fio(&place, "--name=a --size=64k --rw=write --verify=crc32c").ends(0);
    fio(&place, "--name=a --size=64k --rw=read --verify=crc32c").ends(0);
    let path = place.path().join("a.0.0");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    fio(&place, "--name=a --size=64k --rw=read --verify=crc32c --verify_fatal=1").ends(1);
}

#[test]
fn bad_input_is_told_with_its_place_and_status_1() {
    let place = Place::new();
    std::fs::write(place.path().join("x.fio"), "[a]\nrw=read\niodetph=4\n").unwrap();
    let said = fio(&place, "x.fio")
        .refuses(1, &["there is no option iodetph", "x.fio:3:1", "did you mean iodepth?"]);
    assert_eq!(said.out, "");
    fio(&place, "--name=a --lockfile=readwrite").refuses(1, &["lockfile is known and not supported here"]);
    let missing = fio(&place, "none.fio").ends(1);
    assert!(missing.err.contains("unable to open 'none.fio' job file"), "{}", missing.err);
    let nothing = fio(&place, "").ends(1);
    assert!(nothing.err.contains("No job(s) defined"), "{}", nothing.err);
    let small = fio(&place, "--name=a --size=4k --bs=8k").ends(1);
    assert!(small.err.contains("must not be less than minimum block size: 4096 < 8192"), "{}", small.err);
    let write = fio(&place, "--readonly --name=a --size=4k --rw=write").ends(1);
    assert!(write.err.contains("job <a> has write or trim bit set"), "{}", write.err);
    let made = fio(&place, "--name=a --size=4k --allow_file_create=0").ends(1);
    assert!(made.err.contains("file creation disallowed by allow_file_create=0"), "{}", made.err);
    assert!(!place.path().join("a.0.0").exists());
}

#[test]
fn questions_are_answered_without_a_run() {
    let place = Place::new();
    assert_eq!(fio(&place, "--version").ends(0).out, "fio-3.42\n");
    std::fs::write(place.path().join("x.fio"), "[global]\nbs=4k\n[a]\nsize=1m\nstonewall\n").unwrap();
    assert_eq!(fio(&place, "--showcmd x.fio").ends(0).out, "fio --bs=4k --name=a --size=1m --stonewall \n");
    fio(&place, "--parse-only x.fio").ends(0);
    assert!(!place.path().join("a.0.0").exists());
    assert!(fio(&place, "--cmdhelp=bs").ends(0).out.contains("default: 4096"));
    assert!(fio(&place, "--enghelp").ends(0).out.contains("\tio_uring\n"));
    fio(&place, "--enghelp=zz").ends(1);
}

#[test]
fn a_link_named_fio_speaks_fio() {
    let place = Place::new();
    let link = place.path().join("fio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fathom"), &link).unwrap();
    let mut command = Command::new(link);
    command.arg("--version");
    place.at_home(&mut command);
    assert_eq!(say(command).ends(0).out, "fio-3.42\n");
}

#[test]
fn averages_are_logged_under_fios_names() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --ioengine=null --size=1g --runtime=1 --time_based --rate_iops=1000 --write_bw_log=x --write_lat_log=x --log_avg_msec=100";
    fio(&place, words).ends(0);
    let log = std::fs::read_to_string(place.path().join("x_bw.1.log")).unwrap();
    assert!((9..=12).contains(&log.lines().count()), "{log}");
    assert!(place.path().join("x_clat.1.log").exists());
}

#[test]
fn the_table_has_every_option_of_the_debian_fio() {
    let listed = |words: &[&str]| {
        Command::new("fio").args(words).output().ok().map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
    };
    let Some(listing) = listed(&["--cmdhelp=all"]) else {
        return skip("the table has every option of fio", "no fio here");
    };
    let name = |line: &str| line.split(':').next().unwrap_or_default().trim().to_owned();
    let missing: Vec<String> =
        listing.lines().map(name).filter(|name| !name.is_empty() && options::find(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for engine in listed(&["--enghelp"]).unwrap_or_default().lines().skip(1).map(str::trim) {
        let of = listed(&[&format!("--enghelp={engine}")]).unwrap_or_default();
        for option in of.lines().filter(|line| line.contains(':')).map(name) {
            let known = options::find(&option).is_some_and(|id| id.option().belongs_to(engine));
            assert!(known, "{engine} has {option}");
        }
    }
}

#[test]
fn what_was_written_is_verified_from_the_disk_in_a_time_of_its_own() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --size=16m --rw=write --bs=64k --verify=crc32c --output-format=json";
    let document = fio(&place, words).ends(0).json();
    let job = &document["jobs"][0];
    let ms = |at: &serde_json::Value| at.as_u64().expect("a number");
    let (read, write) = (ms(&job["read"]["runtime"]), ms(&job["write"]["runtime"]));
    assert!(read > 0 && write > 0 && read + write <= ms(&job["job_runtime"]) + 2, "{read} {write} {job}");
    // The kernel reads ahead in pieces of megabytes; from the page cache nothing would be read at all.
    for disk in document["disk_util"].as_array().into_iter().flatten() {
        assert!(ms(&disk["read_ios"]) > 0, "{disk}");
    }
}

#[test]
fn counts_are_those_of_the_debian_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("counts are those of fio", "no fio here");
    }
    let _quiet = alone();
    for words in [
        "--size=1m --rw=read",
        "--size=1m --rw=randread --nrfiles=3 --numjobs=2",
        "--size=1m --rw=write --bs=3k",
        "--size=1m --rw=randwrite --ioengine=libaio --iodepth=8 --direct=1",
        "--size=1m --rw=read --io_size=100k --loops=3",
        "--size=1m --rw=read:12k",
        "--size=1m --rw=randread:8",
        "--size=1m --rw=read:-8k",
        "--size=1m --rw=trimwrite --ioengine=null",
        "--size=1m --rw=write --verify=crc32c",
        "--size=1m --rw=read --zonemode=strided --zonesize=64k --zonerange=128k",
        "--size=1m --rw=read --offset=512k --filesize=1m",
        "--size=300k --filesize=512k --nrfiles=2",
        "--filename=f:g --filesize=256k --offset=64k --rw=write",
        "--size=1m --rw=read --filename=f --numjobs=2 --offset_increment=1m --group_reporting",
        "--size=1m --ioengine=mmap --rw=write",
        "--nrfiles=5 --filesize=4k --ioengine=filestat",
        "--nrfiles=5 --filesize=4k --ioengine=filecreate --numjobs=2",
        "--nrfiles=5 --filesize=4k --ioengine=filedelete",
        "--size=1m --rw=randwrite --ioengine=posixaio --iodepth=8",
        "--size=256k --rw=write --ioengine=falloc",
        "--size=256k --rw=write --ioengine=ftruncate",
        "--size=64k --rw=write --verify=pattern --verify_pattern=0xff%o\"abcd\"-12",
        "--size=1m --rw=randread --ioengine=libaio --iodepth=16 --iodepth_batch_complete_max=4",
        "--size=1m --rw=randread --nice=5 --prio=4 --prioclass=2 --fadvise_hint=random",
    ] {
        let (ours, theirs) = (Place::new(), Place::new());
        let words = format!("--output-format=json --name=a {words}");
        let said = fio(&ours, &words).ends(0);
        let mut command = Command::new("fio");
        command.args(words.split_whitespace());
        theirs.at_home(&mut command);
        let peer = say(command).ends(0);
        assert_eq!(counts(&said), counts(&peer), "{words}");
        // fio 3.33 does not tell flags that have no value.
        let options = |said: &Said| {
            let mut options = said.json()["jobs"][0]["job options"].clone();
            options.as_object_mut().expect("an object").retain(|_, value| value != "");
            options
        };
        assert_eq!(options(&said), options(&peer), "{words}");
        for file in std::fs::read_dir(theirs.path()).unwrap().flatten() {
            let name = file.file_name();
            if name.to_string_lossy().contains(".state") {
                continue;
            }
            let there = std::fs::metadata(ours.path().join(&name)).map(|about| about.len()).ok();
            assert_eq!(there, Some(file.metadata().unwrap().len()), "{words}: {name:?}");
        }
    }
}
