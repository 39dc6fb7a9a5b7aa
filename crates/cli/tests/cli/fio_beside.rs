//! What only a comparison with fio itself had shown, option by option: each of these differed from it.

use crate::fio::{counts, fio, peer};
use crate::place::{Place, alone};
use std::fs::{create_dir, metadata, read, write};

fn bytes(place: &Place, name: &str) -> Option<u64> {
    metadata(place.path().join(name)).map(|about| about.len()).ok()
}

/// A directory that is not there may be a disk that is not mounted; what stands in a file's own name is made.
#[test]
fn a_directory_must_be_there_and_directories_in_names_are_made() {
    let place = Place::new();
    let none = fio(&place, "--name=a --rw=write --size=64k --directory=mnt").ends(1);
    assert!(none.err.contains("mnt is not a directory"), "{}", none.err);
    assert_eq!(bytes(&place, "mnt"), None);
    create_dir(place.path().join("mnt")).unwrap();
    fio(&place, "--name=a --rw=write --size=64k --directory=mnt --filename=deep/er/f").ends(0);
    fio(&place, "--name=a --rw=write --size=64k --filename=one/f").ends(0);
    assert_eq!((bytes(&place, "mnt/deep/er/f"), bytes(&place, "one/f")), (Some(65_536), Some(65_536)));
}

#[test]
fn a_block_that_is_wrong_is_told_on_stderr() {
    let place = Place::new();
    write(place.path().join("f"), vec![b'x'; 65_536]).unwrap();
    let words = "--name=a --filename=f --rw=read --bs=4k --verify=md5 --output=report --output-format=json";
    let said = fio(&place, words).ends(1);
    assert!(
        said.err.starts_with("verify: bad magic header 7878, wanted acca at file f offset 0, length 4096"),
        "{}",
        said.err
    );
    assert_eq!(said.out, "");
}

#[test]
fn where_there_is_no_job_the_status_says_so() {
    let place = Place::new();
    write(place.path().join("x.fio"), "[global]\nsize=64k\n[a]\nrw=read\n").unwrap();
    write(place.path().join("none.fio"), "[global]\nsize=64k\n").unwrap();
    for words in ["--section=b x.fio", "none.fio", ""] {
        let said = fio(&place, words).ends(1);
        assert!(said.err.contains("No job(s) defined"), "{words}: {}", said.err);
    }
}

/// Scripts that lay files out in a run of its own read its report, too.
#[test]
fn files_that_are_only_made_have_a_report() {
    let place = Place::new();
    let words = "--name=a --rw=read --size=64k --create_only=1 --output-format=json";
    let said = fio(&place, words).ends(0);
    assert_eq!(counts(&said), [("a".to_owned(), 0, 0, 0)]);
    assert_eq!(bytes(&place, "a.0.0"), Some(65_536));
    let said = fio(&place, "--name=a --rw=read --size=64k --create_only=1").ends(0);
    assert!(!said.out.contains("groupid") && said.out.contains("Run status group 0"), "{}", said.out);
}

#[test]
fn a_file_whose_space_is_not_reserved_is_as_long_as_what_was_written() {
    let place = Place::new();
    fio(&place, "--name=a --rw=write --size=1m --bs=4k --number_ios=2 --fallocate=none").ends(0);
    fio(&place, "--name=b --rw=write --size=1m --bs=4k --number_ios=2 --fallocate=keep").ends(0);
    fio(&place, "--name=c --rw=write --size=1m --bs=4k --number_ios=2").ends(0);
    let all = ["a.0.0", "b.0.0", "c.0.0"].map(|name| bytes(&place, name));
    assert_eq!(all, [Some(8192), Some(8192), Some(1 << 20)]);
    let two =
        "--filename=two --size=256k --fallocate=none --name=e --rw=write --number_ios=2 --name=f --rw=read";
    assert_eq!(counts(&fio(&place, &format!("{two} --output-format=json")).ends(0))[1].1, 64);
    let checked = "--name=d --rw=randwrite --size=256k --fallocate=none --verify=crc32c --output-format=json";
    assert_eq!(counts(&fio(&place, checked).ends(0)), [("d".to_owned(), 64, 64, 0)]);
}

#[test]
fn what_is_appended_begins_where_the_file_ended() {
    let place = Place::new();
    write(place.path().join("f"), vec![b'x'; 65_536]).unwrap();
    let words = "--name=a --rw=write --size=128k --file_append=1 --zero_buffers --filename=";
    fio(&place, &format!("{words}f")).ends(0);
    fio(&place, &format!("{words}new")).ends(0);
    let grown = read(place.path().join("f")).unwrap();
    assert_eq!((grown.len(), grown[65_535], grown[65_536]), (65_536 + 131_072, b'x', 0));
    assert_eq!(bytes(&place, "new"), Some(131_072));
}

#[test]
fn processors_that_are_not_there_are_refused() {
    let place = Place::new();
    let said = fio(&place, "--name=a --rw=read --size=64k --cpus_allowed=0,65000").ends(1);
    assert!(said.err.contains("names CPU 65000"), "{}", said.err);
}

/// The sum of rates is what fio reaches, whatever rwmixread says: one direction does not wait for the other.
#[test]
fn each_direction_of_a_mix_has_its_own_rate() {
    let (place, _quiet) = (Place::new(), alone());
    let words =
        "--name=a --rw=randrw --size=1m --ioengine=null --rate_iops=4000,1000 --runtime=500ms --time_based";
    let said = fio(&place, &format!("{words} --output-format=json")).ends(0);
    let (_, reads, writes, _) = counts(&said).remove(0);
    assert!(reads > 3 * writes && writes > 0, "{reads} and {writes}");
}

/// fio leaves the ramp out of `number_ios`, but not out of `io_size`.
#[test]
fn a_ramp_takes_nothing_of_the_io_size() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--rw=randread --size=1m --bs=4k --ioengine=null --rate_iops=100 --ramp_time=300ms --output-format=json";
    let done = |more: &str| counts(&fio(&place, &format!("--name=a {words} {more}")).ends(0)).remove(0).1;
    assert_eq!((done("--number_ios=10"), done("--io_size=20k")), (10, 5));
}

/// Our words and fio's in a place of each program's own.
fn statuses(words: &str, status: i32) {
    let (ours, theirs) = (Place::new(), Place::new());
    fio(&ours, words).ends(status);
    peer(&theirs, words, status);
}

#[test]
fn the_status_says_how_many_jobs_failed() {
    statuses("--name=a --filename=/dev/full --rw=write --size=64k --numjobs=3", 3);
    statuses("--name=a --filename=/dev/full --rw=write --size=64k --numjobs=3 --group_reporting", 3);
    statuses(
        "--rw=write --size=64k --name=a --filename=/dev/full --name=b --filename=/dev/full --name=c --filename=c",
        2,
    );
}

/// A database's file is empty when it is made: what is read of it before it was written is no hole.
#[test]
fn a_file_that_is_made_on_open_begins_empty() {
    for (words, status, length) in [
        ("--rw=write --number_ios=3", 0, Some(12_288)),
        ("--rw=randwrite --number_ios=16", 0, Some(65_536)),
        ("--rw=randread", 1, Some(0)),
        ("--rw=randrw", 1, None),
    ] {
        let words = format!("--name=a --filename=f --size=64k --create_on_open=1 {words}");
        let (ours, theirs) = (Place::new(), Place::new());
        fio(&ours, &words).ends(status);
        assert!(length.is_none() || bytes(&ours, "f") == length, "{words}");
        if peer(&theirs, &words, status).is_some() {
            assert!(length.is_none() || bytes(&theirs, "f") == length, "{words}");
        }
    }
}

#[test]
fn a_job_that_only_makes_its_files_has_the_peers_keys() {
    let words = "--name=a --rw=read --size=64k --create_only=1 --output-format=json";
    let keys = |said: &crate::place::Said, later: &[&str]| -> (Vec<String>, Vec<String>) {
        let document = said.json();
        let of = |value: &serde_json::Value| -> Vec<String> {
            let all = value.as_object().expect("an object").keys().cloned();
            all.filter(|key| !later.contains(&key.as_str())).collect()
        };
        (of(&document), of(&document["jobs"][0]))
    };
    let (ours, theirs) = (Place::new(), Place::new());
    let said = fio(&ours, words).ends(0);
    if let Some(theirs) = peer(&theirs, words, 0) {
        assert_eq!(keys(&said, &["job_start"]), keys(&theirs, &["job_start"]));
    }
}

#[test]
fn what_the_peer_refuses_while_it_parses_is_refused_and_the_rest_is_not() {
    for (words, status) in [
        ("--parse-only", 0),
        ("--name=a --size=64k --read_iolog=none --parse-only", 0),
        ("--name=a --size=64k --read_iolog=none", 1),
        ("--name=a --filesize=0 --parse-only", 1),
        ("--name=a --size=64k --bsrange=1 --parse-only", 1),
        ("--name=a --size=64k --bsrange=4k-4k --parse-only", 0),
        ("--name=a --size=64k --zonesize=4k", 1),
        ("--name=a --size=64k --experimental_verify=1 --verify=md5 --rw=randwrite", 0),
        ("--name=a --size=64k --rw=write --verify=md5 --verify_interval=16k", 0),
        ("--name=a --size=64k --rw=write --buffer_pattern=\"abcd\"-120xdeadface", 0),
    ] {
        statuses(words, status);
    }
}

/// A header stands in each block, as the peer reads it.
#[test]
fn headers_further_apart_than_blocks_stand_in_each() {
    let place = Place::new();
    let words = "--name=a --filename=f --size=64k --verify=md5 --verify_interval=16k --bs=4k";
    fio(&place, &format!("{words} --rw=write --do_verify=0")).ends(0);
    peer(&place, &format!("{words} --rw=read"), 0);
    if peer(&place, &format!("{words} --rw=write --do_verify=0"), 0).is_some() {
        fio(&place, &format!("{words} --rw=read")).ends(0);
    }
}
