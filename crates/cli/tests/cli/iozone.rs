//! `fathom iozone`: its table and Excel blocks, what it refuses, and what it leaves on the disk.

use crate::place::{Place, alone};

/// Columns of the table that hold something.
fn cells(line: &str) -> usize {
    line.split_whitespace().count()
}

#[test]
fn the_matrix_has_a_row_for_each_pair_of_sizes_and_a_block_for_each_test() {
    let _alone = alone();
    let place = Place::new();
    let words = "iozone -a -n 256 -g 512 -y 64 -q 512 -I -R -b out.xls -f ./t";
    let words: Vec<&str> = words.split(' ').collect();
    let said = place.say(&words).ends(0);
    let lines: Vec<&str> = said.out.lines().collect();
    let head = lines.iter().position(|line| line.contains("reclen")).unwrap();
    let rows: Vec<&str> = lines[head + 1..].iter().copied().take_while(|line| !line.is_empty()).collect();
    // 64, 128 and 256 KiB for 256; one more for 512.
    assert_eq!(rows.len(), 7, "{}", said.out);
    assert!(rows.iter().all(|row| cells(row) == 11), "{rows:?}");
    for line in
        ["\tAuto Mode", "\tO_DIRECT feature enabled", "\tOutput is in kBytes/sec", "Excel output is below:"]
    {
        assert!(lines.contains(&line), "{line}: {}", said.out);
    }
    assert_eq!(lines.iter().filter(|line| line.ends_with("report\"")).count(), 9);
    assert_eq!(said.err, "");
    let excel = std::fs::read_to_string(place.path().join("out.xls")).unwrap();
    assert!(said.out.ends_with(&excel) && excel.contains("\"Stride read report\""));
    assert!(!place.path().join("t").exists(), "the test's file stays behind");
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(kept["runs"].as_array().unwrap().len(), 63);
    assert!(kept["runs"][0]["name"].as_str().unwrap().starts_with("Writer report, 256 KiB"));
}

#[test]
fn a_file_that_is_kept_can_be_read_later_and_units_are_those_asked_for() {
    let _alone = alone();
    let place = Place::new();
    place.say(&["iozone", "-s", "1m", "-r", "4k", "-i", "0", "-w", "-e", "-f", "t"]).ends(0);
    assert_eq!(std::fs::metadata(place.path().join("t")).unwrap().len(), 1 << 20);
    let said = place.say(&["iozone", "-s", "1m", "-r", "4k", "-i", "1", "-i", "12", "-N", "-f", "t"]).ends(0);
    assert!(said.out.contains("\tMicroseconds/op Mode."), "{}", said.out);
    assert!(said.out.contains("preadv  repreadv"), "{}", said.out);
    // What was there before stays.
    assert_eq!(std::fs::metadata(place.path().join("t")).unwrap().len(), 1 << 20);
    let notes = place.say(&["show", "last", "--json"]).ends(0).json()["notes"].to_string();
    assert!(notes.contains("the page cache answered the reads of 1 of 1 rows"), "{notes}");
}

#[test]
fn what_cannot_be_done_is_refused_with_a_hint() {
    let place = Place::new();
    let lines = [
        ("-i 6", "fwrite"),
        ("-t 2", "-t"),
        ("-c", "-c"),
        ("-s 4k -r 8k", "no record"),
        ("-i 1 -f missing", "missing"),
    ];
    for (line, words) in lines {
        let line: Vec<&str> = ["iozone"].into_iter().chain(line.split(' ')).collect();
        let said = place.say(&line).ends(1);
        assert!(said.err.contains(words) && said.err.contains("hint: "), "{line:?}: {}", said.err);
    }
    let mut full = place.fathom(&["iozone", "-s", "1m", "-r", "64k", "-i", "0", "-f", "/dev/full"]);
    full.env("FATHOM_WRITE_CONSENT", "/dev/full");
    assert_eq!(crate::place::say(full).ends(1).out.matches("Run began").count(), 1);
}
