//! `fathom dt` as a user and as a script calls it: what it writes, what it says, and how it tells of damage.

use crate::place::{Place, Said, say};
use std::os::unix::fs::FileExt;

fn dt(place: &Place, words: &str) -> Said {
    let mut command = place.fathom(&[]);
    command.arg("dt").args(words.split_whitespace()).env("LC_ALL", "C").env_remove("FATHOM_NOTES");
    say(command)
}

/// A file of 64 KiB with the I/O tester pattern of some pass.
fn written(place: &Place, words: &str) -> Vec<u8> {
    let words = format!("of=f limit=64k bs=4k pattern=iot dispose=keep flags=direct stats=none {words}");
    let said = dt(place, &words).ends(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    std::fs::read(place.path().join("f")).expect("it was kept")
}

fn harm(place: &Place, offset: u64, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(place.path().join("f")).expect("it is there");
    file.write_all_at(bytes, offset).expect("it can be written");
}

/// Reads the file again and answers what is told of it.
fn told(place: &Place, words: &str) -> String {
    let words = format!("if=f limit=64k bs=4k pattern=iot flags=direct retryDC_delay=0 {words}");
    dt(place, &words).ends(255).err
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
}

#[test]
fn the_lines_of_the_article_write_compare_and_read_again() {
    let place = Place::new();
    let said = dt(&place, "of=1G limit=8m bs=1m dispose=keep flags=direct").ends(0);
    has(
        &said.out,
        &[
            "dt (j:1 t:1): \ndt (j:1 t:1): Write Statistics:\ndt (j:1 t:1):       Job Information Reported: Job 1, Thread 1\n",
            "dt (j:1 t:1): Read Statistics:\n",
            "dt (j:1 t:1):        Total records processed: 8 @ 1048576 bytes/record (1024.000 Kbytes)\n",
            "dt (j:1 t:1):        Output device/file name: 1G (device type=regular)\n",
            "dt (j:1 t:1):      Data pattern read/written: 0x39c39c39\n",
            "dt (j:1 t:1):        Total records processed: 16 @ 1048576 bytes/record (1024.000 Kbytes)\n",
            "dt (j:1 t:1):         Rates of the I/O alone: ",
            "dt (j:1 t:1):           Mounted on directory: /",
            "    # dt if=1G bs=1048576 dsize=512 iotype=sequential iodir=forward limit=8388608 records=8 pattern=0x39c39c39 flags=direct\n",
        ],
    );
    let bytes = std::fs::read(place.path().join("1G")).expect("it was kept");
    assert_eq!((bytes.len(), &bytes[..8]), (8 << 20, &[0x39, 0x9c, 0xc3, 0x39, 0x39, 0x9c, 0xc3, 0x39][..]));
    let again =
        said.out.lines().find_map(|line| line.split_once("# dt if=1G ")).expect("the command to read again");
    let said = dt(&place, &format!("if=1G {}", again.1)).ends(0);
    has(
        &said.out,
        &[
            "         Input device/file name: 1G (device type=regular)\n",
            "              Data pattern read: 0x39c39c39\n",
        ],
    );
    assert!(!said.out.contains("Read Statistics:"), "{}", said.out);
    let said = dt(&place, "if=1G limit=1g bs=1m flags=direct --layout 2008 --strict").ends(0);
    assert!(
        said.out.starts_with("\nTotal Statistics:\n      Input device/file name: 1G (device type=regular)\n"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("alone") && !said.out.contains("dt (j:1"), "{}", said.out);
    dt(&place, "if=1G bs=1m pattern=0x39c39c38 flags=direct retryDC_delay=0 stats=none").ends(255);
}

#[test]
fn each_pass_has_its_word_and_a_file_of_its_own_is_removed() {
    let place = Place::new();
    let said = dt(&place, "of=f limit=64k bs=4k passes=2 disable=pstats").ends(0);
    has(
        &said.out,
        &[
            "End of Write pass 0/2, 128 blocks, 0.062 Mbytes, 16 records, errors 0/1, elapsed ",
            "End of Read pass 2/2, ",
        ],
    );
    assert!(!place.path().join("f").exists());
    dt(&place, "of=f limit=64k bs=4k passes=2 dispose=keep stats=brief").ends(0);
    let bytes = std::fs::read(place.path().join("f")).expect("it was kept");
    assert_eq!(&bytes[..4], &[0xff, 0, 0xff, 0]);
    let said = dt(&place, "of=f limit=10000 bs=4096 dispose=keep stats=brief").ends(0);
    has(
        &said.out,
        &["dt (j:1 t:1): f Totals: 39 blocks, 0.019 Mbytes, errors 0/1, passes 1/1, elapsed 00m00."],
    );
}

#[test]
fn a_flipped_byte_is_found_told_read_again_and_saved() {
    let place = Place::new();
    let good = written(&place, "");
    assert_eq!(&good[512..520], &[1, 0, 0, 0, 2, 1, 1, 1]);
    harm(&place, 5000, &[good[5000] ^ 0x10]);
    let text = told(&place, "");
    has(
        &text,
        &[
            "ERROR: Error number 1 occurred on ",
            "                 Record Number: 2\n",
            "             Error File Offset: 5000 (0x1388) (modulo 8/512/4096: 0/392/904)\n",
            "            Relative Error LBA: 9 (offset 392)\n",
            "Data compare error at byte 904 in record number 2\n",
            "       Corrupted block numbers: 9\n",
            "             What became of it: corrupt: 1 bytes differ (1 bits), from byte 392 of the block to byte 392\n",
            "the same wrong data. It stands so on the storage.\n",
        ],
    );
    assert!(text.contains("Physical Error LBA: ") && text.contains('*'), "{text}");
    let saved = std::fs::read(place.path().join("f-CORRUPT0-j1t1")).expect("what was read is saved");
    assert_eq!((saved.len(), saved[904]), (4096, good[5000] ^ 0x10));
    assert_eq!(std::fs::read(place.path().join("f-REREAD0-j1t1")).expect("and what was read again"), saved);
    let again =
        text.lines().find_map(|line| line.split_once("# dt if=f ")).expect("the command to read it again");
    dt(&place, &format!("if=f {} retryDC_delay=0", again.1)).ends(255);
    harm(&place, 5000, &good[5000..5001]);
    dt(&place, &format!("if=f {}", again.1)).ends(0);
}

#[test]
fn swapped_stale_zeroed_and_torn_blocks_are_told_apart() {
    let place = Place::new();
    let older = written(&place, "iotpass=1");
    let newer = written(&place, "iotpass=2");
    harm(&place, 8192, &newer[12_288..12_800]);
    harm(&place, 12_288, &newer[8192..8704]);
    let text = told(&place, "iotpass=2 errors=2");
    has(
        &text,
        &[
            "misdirected: it is block 24, and should be block 16\n",
            "misdirected: it is block 16, and should be block 24\n",
        ],
    );
    written(&place, "iotpass=2");
    harm(&place, 16_384, &older[16_384..20_480]);
    let text = told(&place, "iotpass=2");
    has(
        &text,
        &[
            "stale: it is this block as it was written before of pass 1, not of pass 2\n",
            "Corrupted block numbers: 32 - 39\n",
        ],
    );
    written(&place, "iotpass=2");
    harm(&place, 20_480, &[0; 512]);
    has(
        &told(&place, "iotpass=2"),
        &["zeroed: the whole block is zeros\n", "            of these all zeros: 1\n"],
    );
    written(&place, "iotpass=2");
    harm(&place, 24_832, &older[24_832..25_088]);
    has(&told(&place, "iotpass=2"), &["torn: bytes 256 to 511 of the block are of another write"]);
}

#[test]
fn tags_numbers_and_prefixes_verify_and_tell() {
    let place = Place::new();
    for words in
        ["enable=btags", "enable=lbdata", "prefix=%d@x enable=btags,lbdata", "enable=timestamp pattern=0xff"]
    {
        written(&place, words);
        dt(&place, &format!("if=f limit=64k bs=4k pattern=iot flags=direct {words}")).ends(0);
    }
    let good = written(&place, "enable=btags");
    assert_eq!(&good[76..80], &[0xee, 0xaf, 0xdc, 0xba]);
    harm(&place, 4096 + 300, &[!good[4096 + 300]]);
    has(
        &told(&place, "enable=btags"),
        &["corrupt: 1 bytes differ (8 bits), from byte 300 of the block to byte 300\n"],
    );
    written(&place, "enable=btags");
    harm(&place, 4096, &good[8192..8704]);
    has(
        &told(&place, "enable=btags"),
        &["misdirected: its tag says offset 8192 of pass 1, and should say 4096\n"],
    );
}

#[test]
fn what_cannot_be_done_is_said_with_exit_status_255() {
    let place = Place::new();
    for (words, says) in [
        (
            "of=f bogus=1 limit=1m",
            "ERROR: Invalid option 'bogus=1' specified, please use 'help' for valid options.\n",
        ),
        ("of=f", "ERROR: Please say how much to write: limit= or records=.\n"),
        ("if=missing bs=4k", "ERROR: open of missing failed: No such file or directory\n"),
        ("of=f limit=1m step=4k", "ERROR: Option 'step=4k' is dt's, and fathom dt does not do it: "),
        ("of=nowhere/f limit=1m", "ERROR: "),
    ] {
        let said = dt(&place, words).ends(255);
        assert!(said.err.contains(says), "{words}: {}", said.err);
        assert!(!place.path().join("f").exists(), "{words}");
    }
    dt(&place, "of=short limit=8k bs=4k pattern=iot dispose=keep stats=none").ends(0);
    let said = dt(&place, "if=short limit=64k bs=4k pattern=iot stats=none").ends(0);
    assert_eq!(said.err, "dt (j:1 t:1): WARNING: short ends after 8192 of 65536 bytes\n");
    place.file("odd", 8192);
    let said = dt(&place, "if=odd bs=512 flags=direct dsize=256 bs=256").ends(255);
    assert!(said.err.contains("256"), "{}", said.err);
    assert!(dt(&place, "help").ends(0).out.starts_with("Usage: dt "));
}

#[test]
fn the_time_of_a_test_ends_the_pass_that_is_under_way() {
    let place = Place::new();
    // 4096 records at 50 a second would take 82 s.
    let words = "of=f limit=16m bs=4k iops=50 runtime=1 stats=brief disable=pstats";
    let said = dt(&place, words).ends(0);
    assert_eq!(said.err, "");
    assert!(said.out.contains("errors 0/1, passes 0/1, elapsed 00m"), "{}", said.out);
    assert!(!said.out.contains("End of Read pass"), "{}", said.out);
    assert!(!place.path().join("f").exists());
}

#[test]
fn random_offsets_verify_and_the_record_keeps_both_halves() {
    let place = Place::new();
    dt(&place, "of=f limit=256k bs=4k iotype=random rseed=7 pattern=iot flags=direct dispose=keep").ends(0);
    let record = place.say(&["show", "last", "--json"]).ends(0).json();
    let names: Vec<&str> =
        record["runs"].as_array().expect("runs").iter().filter_map(|run| run["name"].as_str()).collect();
    assert_eq!(names, ["write", "read"]);
    assert_eq!(record["ending"], "complete");
}

#[test]
fn the_classic_comparison_stands_side_by_side() {
    let _alone = crate::place::alone();
    let place = Place::new();
    let said = place.say(&["dt", "--classic", "--size", "8m"]).ends(0);
    has(
        &said.out,
        &["write, through the page cache", "compare, past it (flags=direct)", "% of that figure is memory"],
    );
}
