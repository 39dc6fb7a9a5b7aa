//! fio's options about what is in buffers, where they lie, how large files and blocks are, and where jobs run.

use crate::fio::{counts, fio, peer};
use crate::place::{Place, alone};
use fathom_host::Roots;
use fathom_host::nodes::{WeighingGroups, read_weighing_groups};
use fathom_tidy::is_root;
use std::path::Path;

fn bytes(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Refused before anything is done, with the reason and a hint.
#[track_caller]
fn cannot(place: &Place, words: &str, why: &str) {
    let said = fio(place, words).ends(1);
    assert!(said.err.contains(why) && said.err.contains("hint: "), "{}", said.err);
}

#[test]
fn buffers_from_a_file_are_those_of_fio() {
    let _quiet = alone();
    let noise: Vec<u8> = (0..2000u32).map(|n| (n * 7 + n / 256) as u8).collect();
    for (pattern, length) in [("'p'", 100), ("'p'", 2000), ("0xface'p'\"ab\"", 30), ("12'p'34", 7)] {
        let (ours, theirs) = (Place::new(), Place::new());
        let words = format!("--name=a --size=16k --bs=4k --rw=write --buffer_pattern={pattern}");
        for place in [&ours, &theirs] {
            std::fs::write(place.path().join("p"), &noise[..length]).unwrap();
        }
        fio(&ours, &words).ends(0);
        let own = bytes(&ours, "a.0.0");
        assert_eq!(own.len(), 16_384);
        if pattern == "'p'" {
            let used = length.min(512);
            assert!(own[..4096].iter().zip(noise[..used].iter().cycle()).all(|(one, other)| one == other));
        }
        if peer(&theirs, &words, 0).is_none() {
            return;
        }
        assert_eq!(own, bytes(&theirs, "a.0.0"), "{pattern} of {length} bytes");
    }
}

#[test]
fn a_pattern_from_a_file_is_verified() {
    let (place, _quiet) = (Place::new(), alone());
    std::fs::write(place.path().join("p"), b"a pattern in a file").unwrap();
    std::fs::write(place.path().join("q"), b"a pattern in a pile").unwrap();
    let words = |name: &str, rw: &str| {
        format!(
            "--name=a --size=64k --rw={rw} --verify=pattern --verify_pattern='{name}' --output-format=json"
        )
    };
    assert_eq!(counts(&fio(&place, &words("p", "write")).ends(0))[0].1, 16);
    fio(&place, &words("p", "read")).ends(0);
    fio(&place, &words("q", "read")).ends(1);
    fio(&place, &words("none", "read")).refuses(1, &["verify_pattern: cannot read none: No such file"]);
}

#[test]
fn files_of_a_range_of_sizes_are_each_used_to_their_end() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --filesize=64k-1m --nrfiles=6 --rw=write --bs=4k --output-format=json";
    let said = fio(&place, words).ends(0);
    let sizes: Vec<u64> = (0..6).map(|number| bytes(&place, &format!("a.0.{number}")).len() as u64).collect();
    assert!(sizes.iter().all(|size| (65_536..=1 << 20).contains(size) && size % 4096 == 0), "{sizes:?}");
    assert!(sizes.iter().any(|size| *size != sizes[0]));
    assert_eq!(counts(&said)[0].2, sizes.iter().sum::<u64>() / 4096);
    for number in 0..6 {
        let name = format!("a.0.{number}");
        assert!(bytes(&place, &name).chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "{name}");
    }
    for more in ["", "--file_service_type=sequential"] {
        let said = fio(&place, &format!("{} {more}", words.replace("rw=write", "rw=randread"))).ends(0);
        assert_eq!(counts(&said)[0].1, sizes.iter().sum::<u64>() / 4096, "the same sizes from the same seed");
    }
}

#[test]
fn blocks_of_any_size_lie_one_behind_the_other() {
    let (place, _quiet) = (Place::new(), alone());
    let words =
        "--name=a --size=256k --rw=write --bsrange=512-9000 --bs_unaligned --write_bw_log=x --log_offset=1";
    fio(&place, words).ends(0);
    let log = String::from_utf8(bytes(&place, "x_bw.1.log")).unwrap();
    let mut end = 0;
    let mut odd = 0;
    for line in log.lines() {
        let figures: Vec<u64> = line.split(", ").map(|one| one.parse().unwrap()).collect();
        assert_eq!(figures[4], end, "{line}");
        assert!(figures[3] <= 9000);
        end += figures[3];
        odd += u64::from(!figures[3].is_multiple_of(512));
    }
    assert!(end >= 256 << 10 && odd > 10, "{end} {odd}");
    fio(&place, &words.replace("rw=write", "rw=randread")).ends(0);
    fio(&place, &format!("{words} --direct=1")).refuses(1, &["bs_unaligned: direct I/O takes whole blocks"]);
}

#[test]
fn sizes_go_by_order_where_that_is_asked_for() {
    let _quiet = alone();
    for (rw, size) in [("read", 4096), ("write", 4096), ("randread", 16_384), ("randwrite", 16_384)] {
        let (ours, theirs) = (Place::new(), Place::new());
        let words =
            format!("--name=a --size=64k --rw={rw} --bs=4k,16k --bs_is_seq_rand=1 --write_iops_log=x");
        let sizes = |place: &Place| -> Vec<u64> {
            let log = String::from_utf8(bytes(place, "x_iops.1.log")).unwrap();
            log.lines()
                .map(|line| line.split(", ").nth(3).and_then(|one| one.parse().ok()).unwrap())
                .collect()
        };
        let own = fio(&ours, &words).ends(0);
        assert_eq!(sizes(&ours), vec![size; 65_536 / size as usize], "{rw}");
        let Some(other) = peer(&theirs, &words, 0) else { return };
        // fio ends a random job where a block would lie across another: it does fewer of them.
        assert!(sizes(&theirs).iter().all(|one| *one == size), "{rw}");
        assert_eq!(own.out.lines().next(), other.out.lines().next(), "{rw}");
    }
}

#[test]
fn a_job_pauses_after_so_long_a_work() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --ioengine=null --size=1t --number_ios=100000000 --runtime=1 --thinktime=300ms \
                 --thinktime_iotime=200ms --write_iops_log=x --log_avg_msec=100";
    fio(&place, words).ends(0);
    let log = String::from_utf8(bytes(&place, "x_iops.1.log")).unwrap();
    let quiet = log.lines().filter(|line| line.split(", ").nth(1) == Some("0")).count();
    // 200 ms of work and 300 of rest, twice.
    assert!((3..=6).contains(&quiet), "{log}");
}

#[test]
fn jobs_run_on_the_cpus_and_with_the_memory_of_nodes() {
    let (place, _quiet) = (Place::new(), alone());
    if !Path::new("/sys/devices/system/node/node0").exists() {
        fio(&place, "--name=a --size=64k --numa_cpu_nodes=0").refuses(1, &["tells of no NUMA nodes"]);
        return;
    }
    let words = "--name=a --size=64k --output-format=json";
    for more in
        ["--numa_cpu_nodes=0 --numa_mem_policy=bind:0", "--numa_cpu_nodes=all --numa_mem_policy=local"]
    {
        assert_eq!(counts(&fio(&place, &format!("{words} {more}")).ends(0))[0].1, 16);
    }
    fio(&place, &format!("{words} --numa_cpu_nodes=77")).refuses(1, &["this machine has no NUMA node 77"]);
}

#[test]
fn the_kernel_is_told_of_lifetimes_huge_pages_and_the_cpu_that_polls() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --size=64k --output-format=json";
    for (more, reads, writes) in [
        ("--rw=write --write_hint=short", 0, 16),
        ("--ioengine=mmap --thp=1", 16, 0),
        ("--ioengine=io_uring --sqthread_poll=1 --sqthread_poll_cpu=0", 16, 0),
    ] {
        let said = counts(&fio(&place, &format!("{words} {more}")).ends(0));
        assert_eq!((said[0].1, said[0].2), (reads, writes), "{more}");
    }
    fio(&place, &format!("{words} --ioengine=io_uring --sqthread_poll=1 --sqthread_poll_cpu=9999"))
        .refuses(1, &["names a CPU that is not there"]);
}

#[test]
fn a_control_group_is_made_entered_and_removed() {
    let (place, _quiet) = (Place::new(), alone());
    let name = format!("fathom-test-{}", std::process::id());
    let words = format!("--name=a --size=64k --output-format=json --cgroup={name}/a");
    let mount = match read_weighing_groups(&Roots::default()) {
        WeighingGroups::Threads(mount) => mount,
        WeighingGroups::Processes(_) => {
            return cannot(&place, &words, "weigh the I/O of whole processes");
        }
        WeighingGroups::None => {
            return cannot(&place, &words, "no blkio controller is mounted");
        }
    };
    if !is_root() {
        return cannot(&place, &words, "cannot make the control group");
    }
    let (outer, inner) = (mount.join(&name), mount.join(&name).join("a"));
    assert_eq!(counts(&fio(&place, &words).ends(0))[0].1, 16);
    assert!(!outer.exists(), "both were made, and both are gone");
    fio(&place, &format!("{words} --cgroup_nodelete=1")).ends(0);
    assert!(inner.exists());
    std::fs::remove_dir(&inner).and_then(|()| std::fs::remove_dir(&outer)).expect("nobody is in them");
    cannot(&place, "--name=a --size=64k --cgroup=../x", "leads out of");
}
