//! fio's verification as a user sees it: states that are saved and gone by, discards, threads that check; priorities.

use crate::fio::{counts, fio, peer};
use crate::place::{Place, Started, alone, wait_until};
use std::time::Duration;

const STATE: &str = "local-a-0-verify.state";

#[test]
fn no_more_is_checked_than_a_saved_state_says_was_written() {
    let (place, _quiet) = (Place::new(), alone());
    for (write, read) in [("write", "read"), ("randwrite", "randread")] {
        let job = "--name=a --size=256k --verify=crc32c";
        fio(&place, &format!("{job} --rw={write} --do_verify=0 --number_ios=20")).ends(0);
        assert!(place.path().join(STATE).exists());
        fio(&place, &format!("{job} --rw={read}")).ends(1);
        let words = format!("--output-format=json {job} --rw={read} --verify_state_load=1");
        assert_eq!(counts(&fio(&place, &words).ends(0))[0].1, 20, "{read}");
        std::fs::remove_file(place.path().join("a.0.0")).unwrap();
    }
    let refused = fio(&place, "--name=b --size=4k --verify=md5 --verify_state_load=1").ends(1);
    assert!(refused.err.contains("cannot read local-b-0-verify.state"), "{}", refused.err);
    std::fs::write(place.path().join(STATE), "nothing").unwrap();
    let refused = fio(&place, "--name=a --size=4k --verify=md5 --verify_state_load=1").ends(1);
    assert!(refused.err.contains(STATE), "{}", refused.err);
    let words = "--name=a --size=64k --rw=write --verify=md5 --verify_state_save=0 --filename=other";
    std::fs::remove_file(place.path().join(STATE)).unwrap();
    fio(&place, words).ends(0);
    assert!(!place.path().join(STATE).exists());
}

#[test]
fn a_job_that_was_interrupted_verifies_as_far_as_it_came() {
    let (place, _quiet) = (Place::new(), alone());
    let job = "--name=a --size=16m --verify=crc32c --iodepth=8 --ioengine=libaio";
    let words = format!("fio {job} --rw=randwrite --do_verify=0 --rate_iops=2000 --fallocate=none");
    let words: Vec<&str> = words.split_whitespace().collect();
    let running = Started::new(place.fathom(&words));
    let file = place.path().join("a.0.0");
    let blocks = || {
        let about = std::fs::metadata(&file).ok();
        about.map_or(0, |about| std::os::unix::fs::MetadataExt::blocks(&about))
    };
    wait_until("something is written", Duration::from_secs(20), || blocks() >= 800);
    running.signal("INT").ends(128);
    let check = format!("--output-format=json {job} --rw=randread");
    fio(&place, &check).ends(1);
    let said = fio(&place, &format!("{check} --verify_state_load=1")).ends(0);
    let (_, reads, ..) = counts(&said)[0];
    assert!((100..4096).contains(&reads), "{reads}");
}

#[test]
fn states_of_the_debian_fio_are_gone_by_here_and_ours_there() {
    let (theirs, ours, _quiet) = (Place::new(), Place::new(), alone());
    let job = "--output-format=json --name=a --size=256k --bs=4k --verify=crc32c --nrfiles=2";
    let write = format!("{job} --rw=write --do_verify=0 --number_ios=20");
    let read = format!("{job} --rw=read --verify_state_load=1");
    if peer(&theirs, &write, 0).is_none() {
        return;
    }
    assert_eq!(counts(&fio(&theirs, &read).ends(0))[0].1, 20);
    fio(&ours, &write).ends(0);
    let said = peer(&ours, &read, 0).unwrap();
    assert!((20..=21).contains(&counts(&said)[0].1), "{:?}", counts(&said));
}

#[test]
fn discarded_blocks_read_as_zeros() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--output-format=json --name=a --size=1m --bs=4k --rw=randwrite --verify=md5 \
                 --trim_percentage=100 --trim_backlog=32 --trim_backlog_batch=8";
    assert_eq!(counts(&fio(&place, words).ends(0)), [("a".to_owned(), 256, 256, 64)]);
    let bytes = std::fs::read(place.path().join("a.0.0")).unwrap();
    // As in fio: what is discarded before it is written is checked as what was written.
    let both = "--output-format=json --name=a --size=1m --bs=4k --rw=trimwrite --verify=md5 --trim_percentage=100 \
                --trim_backlog=32";
    for (more, reads, trims) in
        [("", 256, 512), ("--trim_verify_zero=0", 0, 512), ("--trim_percentage=0", 256, 256)]
    {
        let said = fio(&place, &format!("{both} {more}")).ends(0);
        assert_eq!(counts(&said), [("a".to_owned(), reads, 256, trims)], "{more}");
    }
    assert_eq!(bytes.chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0)).count(), 64);
}

#[test]
fn threads_that_check_find_the_same() {
    let (place, _quiet) = (Place::new(), alone());
    let job = "--output-format=json --name=a --size=1m --bs=4k --verify=crc32c --verify_async=2";
    let all = ("a".to_owned(), 256, 256, 0);
    let said =
        fio(&place, &format!("{job} --rw=randwrite --verify_async_cpus=0 --ioengine=io_uring --iodepth=8"));
    assert_eq!(counts(&said.ends(0)), [all]);
    let path = place.path().join("a.0.0");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[500_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    for engine in ["psync", "libaio", "io_uring"] {
        fio(&place, &format!("{job} --rw=read --ioengine={engine}")).ends(1);
    }
}

#[test]
fn single_operations_have_priorities_and_ways_of_their_own() {
    let (place, _quiet) = (Place::new(), alone());
    let job = "--output-format=json --name=a --size=1m --bs=4k --rw=randread --direct=1 --iodepth=4";
    for more in [
        "--ioengine=libaio --cmdprio_percentage=50 --cmdprio_class=2 --cmdprio=0",
        "--ioengine=io_uring --cmdprio_bssplit=4k/50/2/1",
        "--ioengine=io_uring --force_async=4",
        "--ioengine=pvsync2 --hipri --hipri_percentage=50",
    ] {
        assert_eq!(counts(&fio(&place, &format!("{job} {more}")).ends(0))[0].1, 256, "{more}");
    }
    fio(&place, "--name=b --ioengine=filecreate --nrfiles=8 --filesize=4k").ends(0);
    for call in ["stat", "lstat", "statx"] {
        let words = format!(
            "--output-format=json --name=b --ioengine=filestat --nrfiles=8 --filesize=4k --stat_type={call}"
        );
        assert_eq!(counts(&fio(&place, &words).ends(0))[0].1, 8, "{call}");
    }
}

/// What the kernel's block tracer (`blk` of tracefs, as raw bytes) wrote while fio 3.33 read and wrote at random, wrote with
/// an fsync after every four writes, and discarded on a loop device. fio replays it with these counts, and writes 49,152
/// bytes fewer than were queued.
const CAPTURED: &[u8] = include_bytes!("../../../tools/fio/tests/fixtures/blktrace_loop.bin");

#[test]
fn a_capture_of_the_kernels_is_replayed_and_merged() {
    let (place, _quiet) = (Place::new(), alone());
    std::fs::write(place.path().join("trace"), CAPTURED).unwrap();
    let job = "--output-format=json --name=a --ioengine=libaio --replay_redirect=data --read_iolog";
    let said = fio(&place, &format!("{job}=trace")).ends(0);
    let document = said.json();
    assert_eq!(counts(&said), [("a".to_owned(), 19, 33, 6)]);
    assert_eq!(document["jobs"][0]["sync"]["total_ios"], 2);
    // All that was queued: 21 writes of 4 KiB, 12 of 16 KiB.
    assert_eq!(document["jobs"][0]["write"]["io_bytes"], 282_624);
    let ran = document["jobs"][0]["job_runtime"].as_u64().unwrap();
    assert!(ran >= 500, "{ran}");
    let merge = format!(
        "{job}=trace:trace --merge_blktrace_file=merged --merge_blktrace_iters=2:1 --replay_no_stall=1"
    );
    fio(&place, &format!("{merge} --merge-blktrace-only")).ends(0);
    let merged = std::fs::metadata(place.path().join("merged")).unwrap().len();
    assert_eq!(merged, 3 * CAPTURED.len() as u64);
    assert_eq!(counts(&fio(&place, &merge).ends(0)), [("a".to_owned(), 57, 99, 18)]);
}
