//! The load itself beside fio's: which bytes are read and written, in which order, in which sizes, from where. Each of
//! these differed from it.

use crate::fio::{counts, fio, peer};
use crate::place::{Place, alone};
use std::collections::BTreeMap;

/// One I/O of an iolog: file, verb, offset, length.
type Io = (String, String, u64, u64);

/// What a job does by its own iolog, here and in fio, on the null engine.
fn ios(words: &str) -> [Option<Vec<Io>>; 2] {
    let _quiet = alone();
    let words = format!("--name=a --ioengine=null --write_iolog=log {words}");
    let of = |place: &Place| -> Vec<Io> {
        let text = std::fs::read_to_string(place.path().join("log")).expect("a log was written");
        let io = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| matches!(*word, "read" | "write"))?;
            let figure = |behind: usize| words[at + behind].parse().expect("a figure");
            Some((words[at - 1].to_owned(), words[at].to_owned(), figure(1), figure(2)))
        };
        text.lines().filter_map(io).collect()
    };
    let (ours, theirs) = (Place::new(), Place::new());
    fio(&ours, &words).ends(0);
    let theirs = peer(&theirs, &words, 0).map(|_| of(&theirs));
    [Some(of(&ours)), theirs]
}

fn places<'a>(ios: &'a [Io], verb: &'a str) -> impl Iterator<Item = (u64, u64)> + 'a {
    ios.iter().filter(move |io| io.1 == verb).map(|io| (io.2, io.3))
}

#[test]
fn reads_and_writes_in_order_have_a_place_each() {
    for words in ["--rw=rw --size=64k", "--rw=rw --size=256k --bs=4k,16k"] {
        for ios in ios(words).into_iter().flatten() {
            for verb in ["read", "write"] {
                let mut end = 0;
                for (offset, length) in places(&ios, verb) {
                    assert_eq!(offset, end, "{words} {verb}: {ios:?}");
                    end += length;
                }
                assert!(end > 0, "{words}");
            }
        }
    }
}

#[test]
fn operations_of_the_larger_direction_are_whole() {
    for ios in ios("--rw=randrw --size=1m --bs=4k,16k").into_iter().flatten() {
        assert!(places(&ios, "write").all(|(offset, length)| length == 16_384 && offset % 16_384 == 0));
        assert!(places(&ios, "read").all(|(_, length)| length == 4096));
    }
}

#[test]
fn zones_in_bytes_lie_where_they_are_said() {
    let words = "--rw=randread --size=16m --bs=4k --norandommap --random_distribution=zoned_abs:60/1m:40/3m";
    for ios in ios(words).into_iter().flatten() {
        let first = places(&ios, "read").filter(|(offset, _)| *offset < 1 << 20).count() as f64;
        let share = first / ios.len() as f64;
        assert!((share - 0.6).abs() < 0.05, "{share}");
        assert!(places(&ios, "read").all(|(offset, _)| offset < 4 << 20));
    }
    let place = Place::new();
    let words =
        "--name=a --ioengine=null --rw=randread --size=2m --random_distribution=zoned_abs:60/1m:40/3m";
    fio(&place, words).refuses(1, &["zoned_abs sizes exceed file size"]);
}

#[test]
fn all_files_of_the_null_engine_get_their_part() {
    let parts = |words: &str| {
        ios(words).into_iter().flatten().map(|ios| {
            let mut parts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for (file, _, offset, length) in ios {
                let part = parts.entry(file).or_default();
                (part.0, part.1) = (part.0 + length, part.1.max(offset + length));
            }
            parts.into_values().collect::<Vec<_>>()
        })
    };
    for words in ["--rw=read --size=64k --nrfiles=4", "--rw=randread --size=64k --filename=a:b:c:d"] {
        for parts in parts(words).collect::<Vec<_>>() {
            assert_eq!(parts, [(16_384, 16_384); 4], "{words}");
        }
    }
}

#[test]
fn a_seed_that_was_said_gives_the_same_order_each_time() {
    let words = "--rw=randread --size=256k --randseed=7 --randrepeat=0";
    let [first, _] = ios(words);
    let [second, _] = ios(words);
    let [other, _] = ios("--rw=randread --size=256k --randseed=8 --randrepeat=0");
    assert!(first == second && first != other);
}

/// Bytes that were read from a disk by a job that goes over its file again and again.
#[test]
fn each_pass_begins_with_an_empty_page_cache() {
    let _quiet = alone();
    let place = Place::new();
    place.file("a.0.0", 8 << 20);
    fio(&place, "--name=a --size=8m --bs=64k --rw=read --loops=4 --output-format=json").ends(0);
    // What others read at the same time only adds to the disk's counter.
    let record = place.say(&["show", "last", "--json"]).ends(0).json();
    let samples = record["runs"][0]["samples"].as_array().cloned().unwrap_or_default();
    let sectors = |disk: &serde_json::Value| -> Vec<u64> {
        let own = samples.iter().filter(|sample| sample["name"] == "sectors_read" && sample["of"] == *disk);
        own.filter_map(|sample| sample["value"].as_u64()).collect()
    };
    let read = samples.iter().map(|sample| {
        let values = sectors(&sample["of"]);
        512 * values.last().unwrap_or(&0).saturating_sub(*values.first().unwrap_or(&0))
    });
    let Some(read) = read.max() else {
        return fathom_tidy::skip("reads of the disk", "the file system tells of no disk");
    };
    assert!(read >= 4 * (8 << 20), "{read} bytes in four passes over 8 MiB");
}

#[test]
fn a_mixed_load_is_verified_where_it_wrote() {
    let (ours, theirs, _quiet) = (Place::new(), Place::new(), alone());
    for rw in ["rw", "randrw"] {
        let words = format!("--name=v --rw={rw} --verify=md5 --filesize=1M --bs=4096 --output-format=json");
        let only = format!("{words} --verify_only");
        let written = counts(&fio(&ours, &words).ends(0)).remove(0).2;
        let (_, reads, writes, _) = counts(&fio(&ours, &only).ends(0)).remove(0);
        assert_eq!((reads, writes), (written, written), "{rw}");
        if peer(&theirs, &words, 0).is_some() {
            let said = peer(&theirs, &only, 0).expect("it is there");
            let (_, _, writes, _) = counts(&said).remove(0);
            assert!(writes > 0, "fio counts its dry run, too");
        }
    }
}

#[test]
fn a_buffered_job_beside_a_direct_one_keeps_its_own_blocks() {
    let (place, _quiet) = (Place::new(), alone());
    place.file("f", 1 << 20);
    let words = "--filename=f --size=64k --name=d --direct=1 --rw=read --bs=4k --name=b --rw=read --bs=100 \
                 --number_ios=10 --output-format=json";
    let told = counts(&fio(&place, words).ends(0));
    assert_eq!((told[0].1, told[1].1), (16, 10));
}

#[test]
fn a_job_has_its_sections_name_and_its_files_too() {
    let _quiet = alone();
    let file = "[global]\nname=all\nsize=64k\nwrite_bw_log\n[sec]\nname=own\n[two]\n";
    let (ours, theirs) = (Place::new(), Place::new());
    for place in [&ours, &theirs] {
        std::fs::write(place.path().join("x.fio"), file).expect("the place can be written");
    }
    let words = "x.fio --output-format=json";
    let said = [Some(fio(&ours, words).ends(0)), peer(&theirs, words, 0)];
    for (place, said) in [&ours, &theirs].into_iter().zip(&said) {
        let Some(said) = said else { continue };
        let names: Vec<String> = counts(said).into_iter().map(|job| job.0).collect();
        assert_eq!(names, ["own", "two"]);
        for name in ["sec.0.0", "two.0.0", "own_bw.1.log", "two_bw.2.log"] {
            assert!(place.path().join(name).exists(), "{name}");
        }
    }
}

#[test]
fn empty_values_are_refused() {
    let place = Place::new();
    for option in ["filename", "directory", "read_iolog", "write_iolog", "description", "cgroup"] {
        let words = format!("--name=a --size=64k --{option}=");
        let told = format!("option {option} requires an argument");
        fio(&place, &words).refuses(1, &[&told]);
        if let Some(said) = peer(&place, &words, 1) {
            assert!(said.err.contains(&told), "{}", said.err);
        }
    }
    std::fs::write(place.path().join("x.fio"), "[a]\nsize=64k\nfilename=${FATHOM_NONE}\n").expect("written");
    fio(&place, "x.fio").refuses(1, &["option filename requires an argument"]);
    assert!(!place.path().join("a.0.0").exists());
}

#[test]
fn more_jobs_than_max_jobs_run_as_in_fio() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--max-jobs=2 --name=a --numjobs=5 --size=4k --ioengine=null --output-format=json";
    assert_eq!(counts(&fio(&place, words).ends(0)).len(), 5);
    if let Some(said) = peer(&place, words, 0) {
        assert_eq!(counts(&said).len(), 5);
    }
}

#[test]
fn what_is_wrong_with_a_block_is_told_in_fios_words_first() {
    let (place, _quiet) = (Place::new(), alone());
    let (write, read) =
        ("--name=a --filename=f --size=64k --rw=write", "--name=a --filename=f --size=64k --rw=read");
    let block = |at: usize, bytes: &[u8]| {
        let path = place.path().join("f");
        let mut all = std::fs::read(&path).expect("it was written");
        all[at..at + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, all).expect("it can be written");
    };
    let newer: Vec<u8> = [0xca, 0xac, 0x81, 1].into_iter().chain(4..100).collect();
    for (at, bytes, words, peers) in [
        (0, vec![7; 64], "verify: bad magic header 707, wanted acca", true),
        (0, vec![0; 4096], "verify: bad magic header 0, wanted acca", true),
        (3000, vec![1, 2], "md5: verify failed", true),
        (12, vec![1, 2], "verify: bad header crc", true),
        (0, newer, "unsupported header version 1", false),
    ] {
        fio(&place, &format!("{write} --verify=md5 --do_verify=0")).ends(0);
        block(at, &bytes);
        let said = fio(&place, &format!("{read} --verify=md5")).ends(1);
        assert!(
            said.err.contains(words) && said.err.contains("at file f offset 0, length 4096"),
            "{}",
            said.err
        );
        if let Some(said) = peer(&place, &format!("{read} --verify=md5"), 1).filter(|_| peers) {
            assert!(
                said.err.contains(words) && said.err.contains("at file f offset 0, length 4096"),
                "{}",
                said.err
            );
        }
    }
}

#[test]
fn the_null_devices_are_read_and_written() {
    let (place, _quiet) = (Place::new(), alone());
    for words in ["--filename=/dev/zero --rw=randread", "--filename=/dev/null --rw=write"] {
        let words = format!("--name=a --size=64k {words} --output-format=json");
        let told = counts(&fio(&place, &words).ends(0));
        assert_eq!(told[0].1 + told[0].2, 16, "{words}");
        if let Some(said) = peer(&place, &words, 0) {
            assert_eq!(counts(&said), told);
        }
    }
    let said = fio(&place, "--name=a --filename=/dev/zero --rw=read").ends(1);
    assert!(said.err.contains("you need to specify size="), "{}", said.err);
}

#[test]
fn what_others_have_open_is_written_to_with_a_note() {
    let (place, _quiet) = (Place::new(), alone());
    let open = std::fs::File::open(place.file("f", 65_536)).expect("it was made");
    let mut command = place.fathom(&["fio", "--name=a", "--filename=f", "--size=64k", "--rw=write"]);
    command.env("FATHOM_NOTES", "1");
    let said = crate::place::say(command).ends(0);
    assert!(said.err.contains("f was written to while others had it open: process"), "{}", said.err);
    drop(open);
}

#[test]
fn a_job_file_in_latin_1_runs_unless_a_name_is_not_utf_8() {
    let (place, _quiet) = (Place::new(), alone());
    let file = |text: &[u8]| std::fs::write(place.path().join("x.fio"), text).expect("it can be written");
    file(b"# gr\xf6\xdfe\n[a]\nsize=64k ; f\xfcr alle\nioengine=null\ndescription=\xe4\n");
    assert_eq!(counts(&fio(&place, "x.fio --output-format=json").ends(0))[0].1, 16);
    file(b"[a]\nsize=64k\nfilename=\xf6\n");
    let said = fio(&place, "x.fio").ends(1);
    assert!(said.err.contains("line 3 is no UTF-8 text"), "{}", said.err);
}

#[test]
fn samples_are_told_with_gtod_reduce() {
    let (place, _quiet) = (Place::new(), alone());
    let words = "--name=a --size=1m --ioengine=null --rw=read --gtod_reduce=1 --rate_iops=100 --runtime=1200ms --time_based";
    for said in [Some(fio(&place, words).ends(0)), peer(&place, words, 0)].into_iter().flatten() {
        assert!(said.out.contains("   bw (") && said.out.contains("   iops        : min="), "{}", said.out);
        assert!(!said.out.contains("lat ("), "{}", said.out);
    }
}

#[test]
fn files_are_written_out_many_at_a_time_each_to_its_end() {
    let (place, _quiet) = (Place::new(), alone());
    fio(&place, "--name=a --rw=randread --nrfiles=150 --filesize=10k --number_ios=1").ends(0);
    for number in 0..150 {
        let bytes = std::fs::read(place.path().join(format!("a.0.{number}"))).expect("it was laid out");
        assert_eq!(bytes.len(), 10_240);
        assert!(
            bytes.iter().any(|byte| *byte != 0) && bytes[9_000..].iter().any(|byte| *byte != 0),
            "{number}"
        );
    }
}

/// Gaps were filled in further passes.
#[test]
fn a_load_with_gaps_ends_where_the_peers_does() {
    for words in [
        "read:8k",
        "write:8k",
        "read:16k",
        "read:4k",
        "read:20k",
        "read:60k",
        "read:100k",
        "read:8k --loops=2",
    ] {
        let words = format!("--rw={words} --bs=4k --size=64k");
        let [ours, theirs] = ios(&words);
        let offsets = |ios: &[Io]| ios.iter().map(|io| io.2).collect::<Vec<_>>();
        let ours = offsets(&ours.unwrap());
        if let Some(theirs) = theirs {
            assert_eq!(ours, offsets(&theirs), "{words}");
        }
    }
}
