//! Ctrl-C and SIGKILL while it measures. (During the layout: see faults.)

use std::time::Duration;

use crate::disks::{Disk, Doing};
use crate::place::{Place, Started, alone, say_to_nobody, scratch_files, wait_until};

const PHASES: [Doing; 3] = [Doing::SmallReads, Doing::LargeReads, Doing::Writes];

/// A calibration that has come to a phase: told by what the disk does.
fn calibrating(disk: &Disk, phase: Doing) -> Started {
    let words = ["calibrate", disk.at(), "--time", "10s", "--size", "64m"];
    let child = Started::new(disk.place.fathom(&words));
    let mut looks = 0;
    // Looks of 60 ms: the first point, of a second, is behind it then.
    wait_until("two seconds of small reads", Duration::from_secs(20), || {
        looks += u32::from(disk.doing() == Doing::SmallReads);
        looks >= 35
    });
    wait_until(&format!("{phase:?}"), Duration::from_secs(30), || disk.doing() == phase);
    child
}

#[test]
fn an_interrupt_keeps_and_shows_what_was_measured_and_leaves_no_scratch_file() {
    let _alone = alone();
    let Some(disk) = Disk::own("int") else { return };
    for phase in PHASES {
        let child = calibrating(&disk, phase);
        let said = child.signal("INT").ends(130);
        assert!(scratch_files(&disk.mount).is_empty(), "{phase:?}");
        assert!(said.out.contains("max_iops = "), "{phase:?}: {}\n{}", said.out, said.err);
        let kept = disk.place.say(&["show", "--json"]).ends(0).json();
        assert_eq!(kept.pointer("/ending"), Some(&"interrupted".into()), "{phase:?}");
        assert!(kept.pointer("/summary/max_iops/value").is_some(), "{phase:?}");
        let large = kept.pointer("/summary/max_mbps/value").is_some();
        assert_eq!(large, phase == Doing::Writes, "{phase:?}: {}", said.out);
    }
    let status = disk.place.say(&["status"]).ends(0);
    assert!(!status.out.starts_with("IN PROGRESS"), "{}", status.out);
}

#[test]
fn a_second_start_says_what_a_killed_run_left_and_removes_it() {
    let _alone = alone();
    let Some(disk) = Disk::own("kill") else { return };
    for phase in PHASES {
        let child = calibrating(&disk, phase);
        let status = disk.place.say(&["status"]).ends(0);
        assert!(status.out.starts_with("IN PROGRESS"), "{phase:?}: {}", status.out);
        assert_eq!(child.signal("KILL").status, None);
        let left = scratch_files(&disk.mount);
        assert!(!left.is_empty(), "{phase:?}");
        let status = disk.place.say(&["status"]).ends(0);
        assert!(!status.out.starts_with("IN PROGRESS"), "its owner is dead: {}", status.out);
        // A run that comes no further than its own layout clears them too.
        let said = crate::place::say(disk.calibrate(&["--json"])).measures();
        let notes = said.json().pointer("/notes").map(ToString::to_string).unwrap_or_default();
        for name in &left {
            assert!(notes.contains(name), "{phase:?}: nothing said of {name}: {notes}");
        }
        assert!(notes.contains("which a killed run left behind"), "{phase:?}: {notes}");
        assert!(scratch_files(&disk.mount).is_empty(), "{phase:?}");
    }
}

#[test]
fn files_that_only_look_like_scratch_files_and_those_of_other_hosts_stay() {
    let _alone = alone();
    let Some(disk) = Disk::own("alike") else { return };
    let alike =
        [".fathom-scratch-mine.dat", ".fathom-scratch-elsewhere-0c683e7b-4026531836-1-2-0.dat", "fathom.dat"];
    for name in alike {
        std::fs::write(disk.mount.join(name), "somebody's").unwrap();
    }
    let said = disk.place.say(&["calibrate", disk.at(), "--size", "250m"]);
    said.refuses(1, &["less than a tenth"]);
    for name in alike {
        assert!(disk.mount.join(name).exists(), "{name}");
    }
}

#[test]
fn a_single_load_is_interrupted_and_cleaned_up_after_like_a_calibration() {
    let _alone = alone();
    let Some(disk) = Disk::own("load") else { return };
    let loading = |words: &[&str]| {
        let load = ["run", "--read", "random", "--size", "32m", disk.at(), "--time"];
        let child = Started::new(disk.place.fathom(&[&load[..], words].concat()));
        wait_until("the load", Duration::from_secs(20), || disk.doing() == Doing::SmallReads);
        child
    };
    let said = loading(&["60s"]).signal("INT").ends(130);
    assert!(said.out.starts_with("iops "), "{}", said.out);
    assert!(scratch_files(&disk.mount).is_empty());
    assert_eq!(loading(&["60s"]).signal("KILL").status, None);
    assert_eq!(scratch_files(&disk.mount).len(), 1);
    let load = ["run", "--read", "random", "--size", "32m", disk.at(), "--time", "1s"];
    let said = disk.place.say(&load);
    assert!(said.out.contains("which a killed run left behind"), "{}\n{}", said.out, said.err);
    assert!(scratch_files(&disk.mount).is_empty());
}

#[test]
fn a_ping_ends_by_interrupt_by_count_and_with_its_reader() {
    let place = Place::new();
    place.file("data", 2 << 20);
    let counted = place.say(&["ping", "-c", "3", "-i", "200ms", "data"]).ends(0);
    assert!(counted.out.contains("3 reads, one at a time"), "{}", counted.out);
    let printed = place.path().join("printed");
    let child = Started::into_file(place.fathom(&["ping", "-i", "10ms", "data"]), &printed);
    let so_far = || std::fs::read_to_string(&printed).unwrap_or_default();
    wait_until("two lines", Duration::from_secs(20), || so_far().lines().count() >= 2);
    child.signal("INT").ends(130);
    assert!(so_far().contains("one at a time"), "{}", so_far());
    say_to_nobody(place.fathom(&["ping", "-i", "10ms", "data"])).ends(0);
}
