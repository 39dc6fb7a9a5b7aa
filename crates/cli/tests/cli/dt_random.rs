//! `fathom dt` with what is drawn: sizes of records, the limit, direction and type of each pass; files that are filled
//! first; histories of several pieces.

use crate::place::{Place, Said, say};

fn dt(place: &Place, words: &str) -> Said {
    let mut command = place.fathom(&["dt"]);
    command.args(words.split_whitespace()).env("LC_ALL", "C").env_remove("FATHOM_NOTES");
    say(command)
}

fn read(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.path().join(name)).expect("it was kept")
}

#[test]
fn random_sizes_are_told_as_dt_tells_them_and_what_they_wrote_verifies() {
    let place = Place::new();
    let common = "limit=2m bs=random rseed=3 pattern=iot flags=direct";
    let said = dt(&place, &format!("of=f dispose=keep {common}")).ends(0);
    assert!(said.out.contains(" with min=512, max=1048576, incr=variable\n"), "{}", said.out);
    assert_eq!(read(&place, "f").len(), 2 << 20);
    dt(&place, &format!("if=f stats=none {common}")).ends(0);
    dt(&place, "if=f stats=none bs=4k pattern=iot").ends(0);
}

#[test]
fn a_random_limit_makes_a_file_within_its_bounds() {
    let place = Place::new();
    dt(&place, "of=f min_limit=4k max_limit=64k rseed=1 dispose=keep stats=none").ends(0);
    dt(&place, "of=g min_limit=4k max_limit=64k rseed=2 dispose=keep stats=none").ends(0);
    let lengths = [read(&place, "f").len(), read(&place, "g").len()];
    assert!(lengths.iter().all(|length| (4096..=65_536).contains(length)), "{lengths:?}");
    assert!(lengths[0] != lengths[1] && lengths.iter().all(|length| length.is_multiple_of(512)));
}

#[test]
fn each_pass_draws_its_direction_and_its_type_and_verifies() {
    let place = Place::new();
    let said =
        dt(&place, "of=f limit=64k bs=4k passes=8 iotype=vary iodir=vary pattern=iot disable=pstats").ends(0);
    let ends = said.out.lines().filter(|line| line.contains("End of ")).collect::<Vec<_>>();
    assert_eq!(ends.len(), 16, "{}", said.out);
    assert!(said.out.contains("Total passes completed: 8/8"), "{}", said.out);
    // The record tells of each half what it was.
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    let plans =
        kept["runs"].as_array().unwrap().iter().map(|run| run["plan"]["streams"][0]["work"].to_string());
    let kinds: std::collections::BTreeSet<String> = plans.collect();
    assert!(kinds.len() >= 4, "{kinds:?}");
}

#[test]
fn a_file_is_filled_first_with_the_word_or_with_the_inverted_one() {
    let place = Place::new();
    for (words, filled) in [("fill_pattern=a5a5a5a5", 0xa5_u8), ("", 0xc6)] {
        let line = "of=f limit=64k bs=4k iotype=random rseed=5 enable=fill_always dispose=keep stats=none";
        assert_eq!(dt(&place, &format!("{line} {words}")).ends(0).out, "");
        let firsts: Vec<u8> = read(&place, "f").chunks(4096).map(|record| record[0]).collect();
        let count = |byte| firsts.iter().filter(|first| **first == byte).count();
        assert_eq!(count(0x39) + count(filled), 16, "{firsts:02x?}");
        assert!(count(0x39) > 4 && count(filled) > 1, "{firsts:02x?}");
    }
    // What was filled with another word cannot be compared, what is written among the reads can.
    dt(&place, "of=g limit=64k bs=4k readp=50 randp=50 fill_pattern=ff stats=none").ends(0);
}

#[test]
fn a_history_keeps_several_pieces_of_each_record() {
    let place = Place::new();
    let line = "of=f limit=16k bs=8k pattern=iot history=1 hdsize=4 history_bufs=3 history_bsize=1k enable=hdump disable=verify stats=none";
    let said = dt(&place, line).ends(0);
    let rows: Vec<&str> = said.out.lines().filter(|line| line.contains(" | ")).collect();
    assert_eq!(rows.len(), 3, "{}", said.out);
    for (row, words) in rows.iter().zip(["0 | 10 00 00 00", "1024 | 12 00 00 00", "2048 | 14 00 00 00"]) {
        assert!(row.contains(words), "{row}");
    }
}
