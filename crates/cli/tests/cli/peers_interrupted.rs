//! The other tools' languages when the user interrupts them: what is said, the exit status, what stays behind, and what is
//! kept.

use crate::place::{Lab, Place, Started, alone, wait_until};
use fathom_tidy::{is_root, skip};
use std::path::PathBuf;
use std::time::Duration;

/// The last run was kept as one that the user ended.
#[track_caller]
fn is_kept_as_interrupted(place: &Place) {
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(kept["ending"], "interrupted");
}

/// Starts it, and interrupts it as soon as it has printed this; answers what it printed, and its exit status.
fn interrupted_after(place: &Place, words: &str, sign: &str) -> (String, Option<i32>) {
    let printed = place.path().join("printed");
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut command = place.fathom(&words);
    command.env_remove("FATHOM_NOTES");
    let child = Started::into_file(command, &printed);
    let text = || std::fs::read_to_string(&printed).unwrap_or_default();
    wait_until(sign, Duration::from_secs(60), || text().contains(sign));
    let said = child.signal("INT");
    assert_eq!(said.err, "");
    (text(), said.status)
}

#[test]
fn an_interrupted_bonnie_cleans_up_says_so_and_ends_with_its_status() {
    if !is_root() {
        skip("bonnie++ as another user", "only root may be another");
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let child = Started::new(place.fathom(&["bonnie++", "-u", "root", "-s", "0", "-n", "512"]));
    let folder = place.path().join(format!("Bonnie.{}", child.id()));
    wait_until("a file", Duration::from_secs(20), || {
        std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some())
    });
    let said = child.signal("INT").ends(1);
    assert!(said.err.ends_with("Cleaning up test directory after error.\n"), "{}", said.err);
    assert!(!folder.exists());
    is_kept_as_interrupted(&place);
}

#[test]
fn an_interrupted_sysbench_ends_with_130_and_is_kept_as_interrupted() {
    let _alone = alone();
    let place = Place::new();
    place.say(&["sysbench", "fileio", "--file-num=1", "--file-total-size=4M", "prepare"]).ends(0);
    let words = "sysbench fileio --file-num=1 --file-total-size=4M --file-test-mode=rndrd --time=60 run";
    let (out, status) = interrupted_after(&place, words, "Threads started!");
    assert_eq!(status, Some(130), "{out}");
    is_kept_as_interrupted(&place);
}

#[test]
fn an_interrupted_iozone_leaves_whole_rows_and_no_file() {
    let _alone = alone();
    let place = Place::new();
    // The first row is there; thousands of records of the second file are still to come.
    let words = "iozone -i 0 -i 1 -r 4k -s 64k -s 512m -I -f data";
    let (out, status) = interrupted_after(&place, words, "              64       4");
    assert_eq!(status, Some(130), "{out}");
    assert!(out.ends_with("\n\niozone: interrupted\n\n"), "{out}");
    let rows = out.lines().filter(|line| line.starts_with("              64       4"));
    let cells: Vec<usize> = rows.map(|row| row.split_whitespace().count()).collect();
    assert_eq!(cells, [6], "{out}");
    assert!(!place.path().join("data").exists());
    is_kept_as_interrupted(&place);
}

#[test]
fn an_interrupted_iozone_of_several_workers_leaves_none_of_their_files() {
    let _alone = alone();
    let place = Place::new();
    let words = "iozone -t 2 -i 0 -i 1 -i 2 -r 4k -s 32m -I -f data";
    let (out, status) = interrupted_after(&place, words, "Children see throughput for  2 initial writers");
    assert_eq!(status, Some(130), "{out}");
    assert!(out.ends_with("\n\niozone: interrupted\n\n"), "{out}");
    for number in 0..2 {
        assert!(!place.path().join(format!("data.DUMMY.{number}")).exists());
    }
    is_kept_as_interrupted(&place);
}

#[test]
fn an_interrupted_dt_tells_its_totals_and_removes_what_it_made() {
    let _alone = alone();
    let endless = "limit=256k bs=64k passes=1000000 flags=direct disable=pstats";
    for (words, files) in [("dt of=f", &["f"][..]), ("dt of=f threads=2", &["f-j1t1", "f-j1t2"])] {
        let place = Place::new();
        let (out, status) = interrupted_after(&place, &format!("{words} {endless}"), "End of Read pass 2/");
        assert_eq!(status, Some(255), "{out}");
        let totals = out.matches("Total Statistics:\n").count();
        assert_eq!(totals, files.len(), "{out}");
        assert!(out.contains("Total errors detected: 0/1\n"), "{out}");
        for file in files {
            assert!(!place.path().join(file).exists(), "{file}");
        }
        is_kept_as_interrupted(&place);
    }
}

/// All of 65,536 threads were started first, without an answer to anybody.
#[test]
fn an_interrupt_ends_a_run_whose_threads_are_still_being_started() {
    let _alone = alone();
    let place = Place::new();
    place.say(&["sysbench", "fileio", "--file-num=1", "--file-total-size=4M", "prepare"]).ends(0);
    let words = "sysbench fileio --file-num=1 --file-total-size=4M --file-test-mode=rndrd --threads=2000 --time=600 run";
    let words: Vec<&str> = words.split_whitespace().collect();
    for signal in ["INT", "TERM"] {
        let child = Started::new(place.fathom(&words));
        let threads = PathBuf::from(format!("/proc/{}/task", child.id()));
        let some = || std::fs::read_dir(&threads).is_ok_and(|threads| threads.count() > 20);
        wait_until("some threads", Duration::from_secs(60), some);
        let said = child.signal(signal).ends(130);
        assert!(said.out.contains("Initializing worker threads"), "{}", said.out);
        is_kept_as_interrupted(&place);
    }
}

/// Whether a device is empty is searched for up to 10 s; the search went on to its end.
#[test]
fn an_interrupt_ends_the_search_of_a_device_for_data() {
    let Some(lab) = Lab::open("search") else { return };
    let _alone = alone();
    let made = lab.make(&["loop", "create", "--size", "512G"]);
    let device = made("device");
    let fio = ["fio", "--name=a", "--rw=write", "--size=1m", "--filename", &device];
    let iozone = ["iozone", "-i", "0", "-s", "1m", "-w", "-f", &device];
    for (words, signal, status) in [(&fio[..], "INT", 128), (&fio, "TERM", 128), (&iozone, "INT", 130)] {
        let place = Place::new();
        let child = Started::new(place.fathom(words));
        let begun = || place.say(&["history", "--json"]).out.contains("in progress");
        wait_until("its row", Duration::from_secs(60), begun);
        let said = child.signal(signal).ends(status);
        assert!(!said.err.contains("could be looked at"), "{}", said.err);
        is_kept_as_interrupted(&place);
    }
}
