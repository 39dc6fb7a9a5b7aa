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
        assert!(said.out.contains("Random read 8 KiB"), "{phase:?}: {}\n{}", said.out, said.err);
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
    assert!(said.out.starts_with("fathom ") && said.out.contains("Random read "), "{}", said.out);
    assert!(scratch_files(&disk.mount).is_empty());
    assert_eq!(loading(&["60s"]).signal("KILL").status, None);
    assert_eq!(scratch_files(&disk.mount).len(), 1);
    let load = ["run", "--read", "random", "--size", "32m", disk.at(), "--time", "1s"];
    let said = disk.place.say(&load);
    let told = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("which a killed run left behind"), "{}\n{}", said.out, said.err);
    assert!(scratch_files(&disk.mount).is_empty());
}

#[test]
fn a_ping_ends_by_interrupt_by_count_and_with_its_reader() {
    let place = Place::new();
    place.file("data", 2 << 20);
    let counted = place.say(&["ping", "-c", "3", "-i", "200ms", "data"]).ends(0);
    assert!(counted.out.contains("\n3 reads   min "), "{}", counted.out);
    let printed = place.path().join("printed");
    let child = Started::into_file(place.fathom(&["ping", "-i", "10ms", "data"]), &printed);
    let so_far = || std::fs::read_to_string(&printed).unwrap_or_default();
    wait_until("two lines", Duration::from_secs(20), || so_far().lines().count() >= 2);
    child.signal("INT").ends(130);
    assert!(so_far().contains(" reads   min "), "{}", so_far());
    say_to_nobody(place.fathom(&["ping", "-i", "10ms", "data"])).ends(0);
}

/// A flag that is looked at between two slots ends nothing that waits in `open` for the partner of a pipe.
#[test]
fn the_first_signal_ends_what_waits_for_the_partner_of_a_pipe() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path().join("p")).status();
    assert!(made.expect("coreutils").success());
    let page = ["run", "--read", "random", "--time", "100ms", "--html", "p", "sim:ways=2,service=100us"];
    for words in [&["dd", "if=p", "of=/dev/null"][..], &["dd", "if=/dev/zero", "of=p", "count=1"], &page] {
        let child = Started::new(place.fathom(words));
        let state = format!("/proc/{}/stack", child.id());
        let waits = || {
            let stack = std::fs::read_to_string(&state).unwrap_or_default();
            stack.contains("fifo_open") || stack.contains("wait_for_partner")
        };
        wait_until("the pipe", Duration::from_secs(20), || waits() || !fathom_tidy::is_root());
        assert_eq!(child.signal("INT").status, None, "{words:?}");
    }
    // What could not work on a pipe in any case does not wait for one.
    for words in [&["ping", "p"][..], &["fio", "--name=a", "--filename=p", "--size=1m"]] {
        let said = place.say(words).ends(1);
        assert!(said.err.contains("p is neither a"), "{}", said.err);
    }
    let said = place.say(&["--store", "p", "run", "--read", "random", "--time", "100ms", "sim:ways=2"]);
    assert!(said.ends(0).out.contains("it is no regular file"));
}

/// `nohup fathom ...` died of the hangup that it was told to ignore.
#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_ignored() {
    let place = Place::new();
    place.file("data", 1 << 20);
    let run = "run --read random --time 60s data";
    let fio = "fio --name=a --filename=data --rw=randread --size=1m --time_based --runtime=60";
    for words in [run, fio] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("trap '' HUP; exec {} {words}", env!("CARGO_BIN_EXE_fathom"))]);
        place.at_home(&mut command);
        let child = Started::new(command);
        let status = format!("/proc/{}/status", child.id());
        // The signals that it takes: SIGINT among them.
        let takes = |text: &str| {
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            // With its load under way: while a file is opened the first signal ends the program.
            caught.is_some_and(|mask| mask & 2 != 0) && !text.contains("Threads:\t1\n")
        };
        wait_until("its signals", Duration::from_secs(20), || {
            std::fs::read_to_string(&status).is_ok_and(|text| takes(&text))
        });
        let sent = std::process::Command::new("kill").args(["-s", "HUP", &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let said = child.signal("INT");
        assert!(matches!(said.status, Some(128 | 130)), "{:?}: {}", said.status, said.err);
    }
}

/// The signal of a limit on file sizes killed it while it wrote its store, and nothing was printed.
#[test]
fn a_limit_on_file_sizes_loses_the_record_and_no_figure() {
    let place = Place::new();
    let mut command = std::process::Command::new("sh");
    let words = "run --read random --time 100ms sim:ways=2,service=100us";
    command.args(["-c", &format!("ulimit -f 10; exec {} {words}", env!("CARGO_BIN_EXE_fathom"))]);
    place.at_home(&mut command);
    let said = crate::place::say(command).ends(0);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Random read 8 KiB 20,000 IOPS"), "{}", said.out);
    assert!(text.contains("this run is not kept"), "{}", said.out);
    assert!(text.contains("the limit on file sizes") && text.contains("ulimit -f"), "{}", said.out);
}

#[test]
fn a_small_stack_is_enough() {
    let place = Place::new();
    let mut command = std::process::Command::new("sh");
    let words = "run --read random --time 100ms sim:ways=2,service=100us";
    command.args(["-c", &format!("ulimit -s 100; exec {} {words}", env!("CARGO_BIN_EXE_fathom"))]);
    place.at_home(&mut command);
    crate::place::say(command).ends(0);
}

/// What was outstanding while the program was stopped had its time as a latency of the device, without a word.
#[test]
fn a_program_that_was_stopped_says_so_in_its_verdict() {
    let _alone = alone();
    let place = Place::new();
    place.file("data", 1 << 20);
    let child = Started::new(place.fathom(&["run", "--read", "random", "--time", "60s", "--json", "data"]));
    let listed = || place.say(&["history", "--json"]).out.contains("in progress");
    wait_until("its row", Duration::from_secs(20), listed);
    let send = |name: &str| {
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &id]).status().expect("kill").success());
    };
    // A conductor that has not begun yet notices nothing: it is stopped until it has told.
    for _ in 0..5 {
        send("STOP");
        std::thread::sleep(Duration::from_millis(800));
        send("CONT");
        std::thread::sleep(Duration::from_millis(100));
    }
    let said = child.signal("INT").ends(130);
    assert!(said.err.contains("fathom did not run for"), "{}", said.err);
    let checks = said.json()["verdict"].to_string();
    assert!(checks.contains("fathom ran all the time") && checks.contains("SIGSTOP"), "{checks}");
}
