//! `fathom dt` with records of changing sizes, both directions, shares, threads, slices and two files: what is written so is
//! found good again, and a byte that was flipped is found.

use crate::place::{Place, Said, say};
use std::os::unix::fs::FileExt;

fn dt(place: &Place, words: &str) -> Said {
    let mut command = place.fathom(&[]);
    command.arg("dt").args(words.split_whitespace()).env("LC_ALL", "C").env_remove("FATHOM_NOTES");
    say(command)
}

fn read(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.path().join(name)).expect("it was kept")
}

fn flip(place: &Place, name: &str, at: usize) {
    let byte = read(place, name)[at] ^ 0x10;
    let file = std::fs::OpenOptions::new().write(true).open(place.path().join(name)).expect("it is there");
    file.write_all_at(&[byte], at as u64).expect("it can be written");
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
}

/// Every 512-byte block of IOT pass 1 from `first` on.
#[track_caller]
fn is_iot(bytes: &[u8], first: u32) {
    for (i, block) in bytes.chunks(512).enumerate() {
        let number = first + i as u32;
        for (word, found) in (0u32..).zip(block.chunks_exact(4)) {
            let expected = number.wrapping_add(word.wrapping_mul(0x0101_0101));
            assert_eq!(found, expected.to_le_bytes(), "block {number}, word {word}");
        }
    }
}

/// Writes with some words, reads with the same words, finds a flipped byte.
#[track_caller]
fn there_and_back(place: &Place, length: usize, words: &str) {
    let _ = std::fs::remove_file(place.path().join("f"));
    let common = format!("limit={length} pattern=iot flags=direct {words}");
    let said = dt(place, &format!("of=f dispose=keep stats=none {common}")).ends(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""), "{words}");
    // A reader has nothing that it could read after it wrote it.
    let common = common.replace("enable=raw,reread", "").replace("enable=raw", "");
    let bytes = read(place, "f");
    assert_eq!(bytes.len(), length, "{words}");
    is_iot(&bytes, 0);
    dt(place, &format!("if=f stats=none {common}")).ends(0);
    // Read as one may read anything: without the words.
    dt(place, &format!("if=f stats=none bs=4k limit={length} pattern=iot")).ends(0);
    let at = length / 3 * 2 + 77;
    flip(place, "f", at);
    let said = dt(place, &format!("if=f retryDC_delay=0 {common}")).ends(255);
    has(&said.err, &[&format!("Error File Offset: {at} ")]);
    has(&said.out, &["Total errors detected: 1/1\n"]);
    // The command that it prints reads just that record, whatever its size and place.
    let again =
        said.err.lines().find_map(|line| line.split_once("# dt if=f ")).expect("the command").1.to_owned();
    dt(place, &format!("if=f {again} retryDC_delay=0 stats=none")).ends(255);
    flip(place, "f", at);
    dt(place, &format!("if=f {again} stats=none")).ends(0);
}

#[test]
fn records_of_every_size_and_direction_verify_and_a_flipped_byte_is_found() {
    let place = Place::new();
    for words in [
        "min=4k max=64k incr=variable rseed=9",
        "min=512 max=8k incr=1k",
        "max=8k bs=16k",
        "ibs=4k obs=16k",
        "ibs=64k obs=512 iodir=reverse",
        "bs=8k iodir=reverse",
        "min=4k max=32k incr=4k iodir=reverse aios=4",
        "bs=4k enable=raw",
        "min=512 max=4k incr=variable enable=raw,reread iodir=reverse",
        "bs=4k align=512",
        "bs=4k ibs=8k align=512 aios=4",
    ] {
        there_and_back(&place, 300 * 1024, words);
    }
}

#[test]
fn buffers_beside_pages_go_through_the_page_cache_too() {
    let place = Place::new();
    dt(&place, "of=f limit=64k bs=4k align=3 pattern=iot dispose=keep stats=none").ends(0);
    is_iot(&read(&place, "f"), 0);
    dt(&place, "if=f limit=64k bs=8k align=5 pattern=iot stats=none").ends(0);
    flip(&place, "f", 9000);
    dt(&place, "if=f limit=64k bs=8k align=5 pattern=iot stats=none retryDC_delay=0").ends(255);
    for more in ["", "aios=4", "iops=100000", "enable=raw"] {
        let words = format!("of=g limit=256k bs=4k align=rotate pattern=iot dispose=keep stats=none {more}");
        dt(&place, &words).ends(0);
        dt(&place, "if=g limit=256k bs=8k align=rotate pattern=iot stats=none").ends(0);
        std::fs::remove_file(place.path().join("g")).expect("it was kept");
    }
    dt(&place, "if=f limit=64k bs=8k align=rotate pattern=iot stats=none retryDC_delay=0").ends(255);
}

#[test]
fn statistics_name_the_shapes() {
    let place = Place::new();
    let said = dt(&place, "of=f limit=32k min=4k max=16k incr=4k iodir=reverse dispose=keep").ends(0);
    // 4 + 8 + 12 + 8 (what is left) in each half.
    has(
        &said.out,
        &[
            "dt (j:1 t:1):        Total records processed: 4 with min=4096, max=16384, incr=4096\n",
            "dt (j:1 t:1):        Total records processed: 8 with min=4096, max=16384, incr=4096\n",
            "dt (j:1 t:1):        Type of I/O's performed: sequential (reverse)\n",
            "    # dt if=f min=4096 max=16384 incr=4096 dsize=512 iotype=sequential iodir=reverse limit=32768 rseed=0x2a pattern=0x39c39c39\n",
        ],
    );
    let said = dt(&place, "of=f limit=32k ibs=4k obs=8k").ends(0);
    has(
        &said.out,
        &[
            "Total records processed: 4 @ 8192 bytes/record (8.000 Kbytes)\n",
            "Total records processed: 8 @ 4096 bytes/record (4.000 Kbytes)\n",
            "Total records processed: 12 with ibs=4096, obs=8192\n",
        ],
    );
    let said = dt(&place, "of=f limit=32k bs=4k enable=raw disable=pstats").ends(0);
    has(
        &said.out,
        &[
            "End of Read After Write pass 1/1, 128 blocks, 0.062 Mbytes, 16 records, errors 0/1, elapsed ",
            "Total records read: 8\n",
            "Total records written: 8\n",
        ],
    );
    let said = dt(&place, "of=f limit=64k bs=4k iotype=random rseed=7 pattern=iot").ends(0);
    has(
        &said.out,
        &[
            "Type of I/O's performed: random (rseed=0x7)\n",
            "Random I/O Parameters: offset=0, ralign=512, rlimit=65536\n",
        ],
    );
}

#[test]
fn random_places_and_shares_read_what_they_wrote() {
    let place = Place::new();
    for words in [
        "bs=4k iotype=random rseed=3",
        "bs=4k iotype=random rseed=3 ralign=4k rlimit=128k aios=8",
        "bs=4k randp=40 rseed=5",
        "min=1k max=16k incr=variable iotype=random enable=btags",
        "bs=4k iotype=random enable=raw,reread,lbdata",
    ] {
        let said =
            dt(&place, &format!("of=f limit=256k pattern=iot flags=direct dispose=keep {words}")).ends(0);
        let again = said.out.lines().find_map(|line| line.split_once("# dt if=f ")).expect("a command").1;
        dt(&place, &format!("if=f {again} stats=none")).ends(0);
    }
}

/// Records read and written as the statistics count them.
fn counted(text: &str) -> (u64, u64) {
    let number = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).expect("the line is there");
        let value = line.rsplit(": ").next().and_then(|value| value.split(' ').next());
        value.and_then(|value| value.parse().ok()).expect("a number")
    };
    (number("Total records read"), number("Total records written"))
}

#[test]
fn reads_have_their_share_of_a_file_that_is_filled_first_and_are_compared() {
    let place = Place::new();
    let words = "limit=4m bs=4k readp=70 randp=100 rseed=1 pattern=iot flags=direct dispose=keep";
    let said = dt(&place, &format!("of=f disable=verify {words}")).ends(0);
    let (reads, writes) = counted(&said.out);
    assert_eq!(reads + writes, 1024);
    assert!((650..780).contains(&reads), "{reads}");
    has(&said.out, &[&format!("Total records read: {reads} ({}%)\n", reads * 100 / 1024)]);
    // Every byte is the pattern's: what was not written at random was filled before.
    is_iot(&read(&place, "f"), 0);
    let record = place.say(&["show", "last", "--json"]).ends(0).json();
    let names: Vec<_> =
        record["runs"].as_array().expect("runs").iter().filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(names, ["fill", "write"]);
    // With verification each write is read again at once, which is no part of the share.
    std::fs::remove_file(place.path().join("f")).expect("it is there");
    let said = dt(&place, &format!("of=f {words}")).ends(0);
    assert_eq!(counted(&said.out), (1024, writes));
    has(&said.out, &["Read After Write Statistics:\n"]);
    // A file that was there before is not filled; what this run wrote is compared all the same.
    let said = dt(&place, &format!("of=f pattern=0xff {words}").replace("pattern=iot ", "")).ends(0);
    assert_eq!(counted(&said.out), (1024, writes));
    let said = dt(&place, "of=g workload=web_file_server limit=1m disable=pstats dispose=keep").ends(0);
    assert_eq!(counted(&said.out).0 + counted(&said.out).1, 16);
    has(&said.out, &["    # dt of=g workload=web_file_server limit=1m disable=pstats dispose=keep\n"]);
}

#[test]
fn threads_have_files_of_their_own_and_words_of_their_own() {
    let place = Place::new();
    let said = dt(&place, "of=x limit=64k bs=4k threads=3 flags=direct dispose=keep").ends(0);
    for (thread, first) in [(1, [0x39, 0x9c]), (2, [0xff, 0x00]), (3, [0x0f, 0x0f])] {
        let bytes = read(&place, &format!("x-j1t{thread}"));
        assert_eq!((bytes.len(), &bytes[..2]), (64 << 10, &first[..]));
        has(
            &said.out,
            &[
                &format!("dt (j:1 t:{thread}):       Job Information Reported: Job 1, Thread {thread}\n"),
                &format!(
                    "dt (j:1 t:{thread}):        Output device/file name: x-j1t{thread} (device type=regular)\n"
                ),
                &format!("dt (j:1 t:{thread}):         Total passes completed: 1/1\n"),
            ],
        );
    }
    assert!(!place.path().join("x").exists());
    let record = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(record["runs"].as_array().expect("runs").len(), 6);
    dt(&place, "of=y limit=64k bs=4k threads=2 stats=none").ends(0);
    assert!(!place.path().join("y-j1t1").exists() && !place.path().join("y-j1t2").exists());
    dt(&place, "if=x-j1t2 limit=64k bs=4k pattern=0x00ff00ff threads=2 stats=none").ends(0);
    flip(&place, "x-j1t2", 5000);
    let said = dt(&place, "if=x-j1t2 bs=4k pattern=0x00ff00ff stats=none retryDC_delay=0 errors=1").ends(255);
    has(&said.err, &["Error File Offset: 5000 "]);
}

#[test]
fn slices_share_one_file_that_stays() {
    let place = Place::new();
    let said = dt(&place, "of=x limit=100k bs=4k slices=3 pattern=iot flags=direct disable=pstats").ends(0);
    assert_eq!(said.err, "dt (j:1 t:1): WARNING: dispose=keep is set, since slices share one file\n");
    let bytes = read(&place, "x");
    assert_eq!(bytes.len(), 100 << 10);
    is_iot(&bytes, 0);
    for (slice, blocks) in [(1, 66), (2, 66), (3, 68)] {
        has(&said.out, &[&format!("dt (j:1 t:{slice}): End of Write pass 0/1, {blocks} blocks, ")]);
    }
    dt(&place, "if=x limit=100k bs=4k slices=5 pattern=iot stats=none").ends(0);
    flip(&place, "x", 70_000);
    let said =
        dt(&place, "if=x limit=100k bs=4k slices=3 pattern=iot retryDC_delay=0 disable=pstats").ends(255);
    has(&said.err, &["dt (j:1 t:3):              Error File Offset: 70000 "]);
    assert!(place.path().join("x-CORRUPT0-j1t3").exists());
    dt(&place, "if=x limit=100k bs=4k slices=3 slice=2 pattern=iot stats=none").ends(0);
    dt(&place, "of=x limit=100k bs=4k slices=3 slice=3 pattern=iot dispose=keep stats=none").ends(0);
    is_iot(&read(&place, "x"), 0);
}

#[test]
fn copies_are_byte_for_byte_and_differences_are_told() {
    let place = Place::new();
    place.file("a", 300 * 1024);
    let said = dt(&place, "iomode=copy if=a of=b bs=16k flags=direct").ends(0);
    has(
        &said.out,
        &[
            "Copy Statistics:\n",
            "Verify Statistics:\n",
            "         Input device/file name: a (device type=regular)\n",
            "        Output device/file name: b (device type=regular)\n",
        ],
    );
    assert!(read(&place, "a") == read(&place, "b"), "a copy is the same");
    dt(&place, "iomode=verify if=a of=b bs=64k stats=none").ends(0);
    flip(&place, "b", 123_456);
    let said = dt(&place, "iomode=verify if=a of=b bs=4k flags=direct retryDC_delay=0").ends(255);
    let found = read(&place, "b")[123_456];
    has(
        &said.err,
        &[
            "                     File Name: b\n",
            "                 Record Number: 31\n",
            "                      I/O Mode: verify\n",
            "             Error File Offset: 123456 ",
            &format!("Data expected = 0x{:02x}, data found = 0x{found:02x}", found ^ 0x10),
            "the same wrong data. It stands so on the storage.\n",
            "    # dt iomode=verify if=a of=b bs=4096 dsize=512 limit=4096 position=122880 oposition=122880 flags=direct\n",
        ],
    );
    assert!(place.path().join("b-CORRUPT0-j1t1").exists());
    dt(&place, "iomode=verify if=a of=b bs=4096 limit=4096 position=122880 oposition=122880 stats=none retryDC_delay=0")
        .ends(255);
    // From somewhere to somewhere else, by records of changing sizes; what stood before it stays.
    let words =
        "iomode=copy if=a of=c min=512 max=8k incr=variable position=64k oposition=4k limit=100k stats=none";
    place.file("c", 4096);
    let before = read(&place, "c");
    dt(&place, words).ends(0);
    let (from, to) = (read(&place, "a"), read(&place, "c"));
    assert!(to[..4096] == before[..] && to[4096..] == from[64 << 10..164 << 10], "the part is copied");
    std::fs::hard_link(place.path().join("a"), place.path().join("same")).expect("one file, two names");
    let said = dt(&place, "iomode=copy if=a of=same oflags=trunc").ends(255);
    has(&said.err, &["ERROR: a and same are one file: a copy onto itself copies nothing\n"]);
    assert!(read(&place, "a") == from, "and nothing was emptied");
    let said = dt(&place, "iomode=copy if=missing of=d").ends(255);
    has(&said.err, &["ERROR: open of missing failed: No such file or directory\n"]);
}

#[test]
fn a_mirror_is_written_on_one_side_and_read_on_the_other() {
    let place = Place::new();
    std::fs::write(place.path().join("left"), []).expect("it can be written");
    std::fs::hard_link(place.path().join("left"), place.path().join("right")).expect("one file, two names");
    let words = "iomode=mirror of=left if=right limit=256k bs=8k pattern=iot dispose=keep";
    let said = dt(&place, words).ends(0);
    has(&said.out, &["Input device/file name: right ", "Output device/file name: left "]);
    is_iot(&read(&place, "right"), 0);
    std::fs::remove_file(place.path().join("right")).expect("it is there");
    std::fs::write(place.path().join("right"), read(&place, "left")).expect("it can be written");
    flip(&place, "right", 100_000);
    let said = dt(&place, &format!("{words} retryDC_delay=0")).ends(255);
    has(&said.err, &["File Name: right\n", "Error File Offset: 100000 ", "I/O Mode: mirror\n"]);
}
