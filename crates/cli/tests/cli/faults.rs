//! Devices that fail, fill up or stop: nothing that failed is counted, and what happened is said with errno and place.

use std::process::Command;
use std::time::Duration;

use crate::disks::Disk;
use crate::place::{Lab, Place, Said, Started, alone, scratch_files, wait_until};

/// Those checks of a record that failed, each with what it saw.
fn failed(record: &serde_json::Value) -> String {
    let checks = record.pointer("/verdict/checks").and_then(|checks| checks.as_array()).expect("checks");
    let failed = checks.iter().filter(|check| check["outcome"] == "failed");
    failed.map(|check| check["seen"].to_string()).collect::<Vec<_>>().join("\n")
}

/// The number before " of " in the check of failed I/Os, and the one after it.
fn failed_of_all(record: &serde_json::Value) -> (f64, f64) {
    let seen = failed(record);
    let line = seen.lines().find(|line| line.contains("they count in no figure")).expect("the check failed");
    let mut numbers = line.trim_matches('"').split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().expect("failed"), numbers.next().expect("all"))
}

#[test]
fn reads_past_a_cut_fail_with_errno_and_offset_and_count_as_no_iops() {
    let _alone = alone();
    let Some(disk) = Disk::own("cut") else { return };
    let folder = disk.at().to_owned();
    let made = disk.lab.make(&["cut-loop", "create", "--size", "32M", "--keep", "16M", "--dir", &folder]);
    let words = ["run", "--read", "random", "--time", "1s", "--json", &made("device")];
    let said = disk.place.say(&words).ends(3);
    for word in [&made("device"), "at byte ", "Input/output error (os error 5)"] {
        assert!(said.err.contains(word), "no {word} in {}", said.err);
    }
    let record = said.json();
    assert_eq!(record.pointer("/verdict/state"), Some(&"not believable".into()));
    let (failed, all) = failed_of_all(&record);
    let iops =
        record.pointer("/summary/iops/value").and_then(|v| v.as_f64()).expect("half of it can be read");
    // Half of the device is gone, so about half of the reads failed. Both together would be twice the figure.
    assert!(failed > all * 0.4 && failed < all * 0.6, "{failed} of {all}");
    let samples =
        record.pointer("/summary/read_latency/latency/count").and_then(|v| v.as_f64()).expect("reads");
    assert!(samples <= all - failed, "{samples} latencies of {} reads that succeeded", all - failed);
    assert!(iops < (all - failed) * 1.5, "{iops}/s in a second with {} good reads", all - failed);
}

#[test]
fn a_calibration_of_a_cut_device_is_not_believable() {
    let _alone = alone();
    let Some(disk) = Disk::own("cutcal") else { return };
    let folder = disk.at().to_owned();
    let made = disk.lab.make(&["cut-loop", "create", "--size", "32M", "--keep", "16M", "--dir", &folder]);
    let said = disk.place.say(&["calibrate", &made("device"), "--time", "5s", "--json"]).ends(3);
    assert!(said.err.contains("at byte ") && said.err.contains("Input/output error"), "{}", said.err);
    assert!(failed(&said.json()).contains("they count in no figure"));
}

#[test]
fn a_full_device_below_a_loop_fails_the_writes_and_is_not_believable() {
    let _alone = alone();
    let Some(lab) = Lab::open("full") else { return };
    let made = lab.make(&["full-loop", "create"]);
    let device = made("device");
    let words = ["run", "--write", "random", "--time", "1s", "--json", "--write-consent", &device, &device];
    let said = Place::new().say(&words).ends(3);
    let errno = ["No space left on device (os error 28)", "Input/output error (os error 5)"];
    assert!(errno.iter().any(|errno| said.err.contains(errno)), "{}", said.err);
    assert!(said.err.contains("Write of") && said.err.contains("at byte "), "{}", said.err);
    let (failed, all) = failed_of_all(&said.json());
    assert!(failed > 0.0 && failed < all);
}

/// A calibration whose layout writes 8 MiB a second, once it has begun to.
fn slow_layout(disk: &Disk) -> Started {
    let program = env!("CARGO_BIN_EXE_fathom");
    let limit = ["throttle", "--write-bps", "8M", "--path", disk.at(), "--", program];
    let words = ["calibrate", disk.at(), "--time", "5s", "--size", "96m"];
    let mut command = disk.lab.command(&[&limit[..], &words].concat());
    disk.place.at_home(&mut command);
    let child = Started::new(command);
    wait_until("the layout", Duration::from_secs(20), || {
        // Number 0 is what is laid out; the logs of the commits begin at 1000.
        let names = scratch_files(&disk.mount);
        let file = names.iter().find(|name| name.ends_with("-0.dat")).map(|name| disk.mount.join(name));
        file.and_then(|file| file.metadata().ok()).is_some_and(|about| about.len() >= 2 << 20)
    });
    child
}

#[test]
fn a_disk_that_fills_up_during_the_layout_ends_the_run_and_leaves_nothing() {
    let _alone = alone();
    let Some(disk) = Disk::own("enospc") else { return };
    let child = slow_layout(&disk);
    // Somebody else takes the rest.
    let other = disk.mount.join("other");
    let free = rustix::fs::statvfs(&disk.mount).map(|about| about.f_bfree * about.f_frsize).expect("a mount");
    let mut take = free;
    while take > 4096 {
        let size = std::fs::metadata(&other).map_or(0, |about| about.len());
        let wanted = (size + take).to_string();
        let taken = Command::new("fallocate").args(["-l", &wanted]).arg(&other).output().expect("util-linux");
        take = if taken.status.success() { take } else { take / 2 };
    }
    let said =
        child.ended().refuses(1, &["the layout failed", "No space left on device", "at byte ", "--size"]);
    assert!(!said.out.contains("Random read"), "{}", said.out);
    assert!(scratch_files(&disk.mount).is_empty());
    std::fs::remove_file(other).unwrap();
    let history = disk.place.say(&["status"]).ends(0);
    assert!(history.out.starts_with("NOT AVAILABLE"), "{}", history.out);
}

#[test]
fn an_interrupted_layout_ends_with_130_and_leaves_no_scratch_file() {
    let _alone = alone();
    let Some(disk) = Disk::own("intlayout") else { return };
    let child = slow_layout(&disk);
    let said = child.signal("INT").ends(130);
    assert!(!said.out.contains("Random read"), "{}", said.out);
    assert!(scratch_files(&disk.mount).is_empty());
}

#[test]
fn what_a_killed_layout_left_is_said_and_removed_by_the_next_start() {
    let _alone = alone();
    let Some(disk) = Disk::own("killlayout") else { return };
    let child = slow_layout(&disk);
    assert_eq!(child.signal("KILL").status, None);
    assert!(!scratch_files(&disk.mount).is_empty());
    let said: Said = crate::place::say(disk.calibrate(&[]));
    assert!(said.out.contains("which a killed run left behind"), "{}\n{}", said.out, said.err);
    assert!(scratch_files(&disk.mount).is_empty());
}

#[test]
fn a_device_that_stops_answering_is_reported_with_what_is_outstanding() {
    let _alone = alone();
    let Some(disk) = Disk::own("stall") else { return };
    let data = crate::place::write_noise(&disk.mount.join("data"), 8 << 20);
    let program = env!("CARGO_BIN_EXE_fathom");
    let limit = ["throttle", "--read-iops", "1", "--path", disk.at(), "--", program];
    let load = ["run", "--read", "random", "--depth", "4", "--time", "3s", "--stall", "600ms", "--json"];
    let mut command = disk.lab.command(&[&limit[..], &load, &[data.to_str().unwrap()]].concat());
    disk.place.at_home(&mut command);
    let said = crate::place::say(command).measures();
    assert!(said.err.contains("the device has not answered for"), "{}", said.err);
    assert!(said.err.contains("I/Os are outstanding"), "{}", said.err);
    assert!(said.out.contains("\"stalled\"") || said.out.contains("\"Stalled\""), "it is in the record too");
}

/// The commit log had no limit: beside a large scratch file it took the file system to its last block.
#[test]
fn a_calibration_leaves_a_tenth_of_the_file_system_free_and_says_that_its_log_was_full() {
    let _alone = alone();
    let Some(disk) = Disk::own("logroom") else { return };
    let room = || fathom_host::Room::of(&disk.mount).expect("a mount");
    // The log has the least that it may have.
    let size = ((room().most_bytes() - (16 << 20)) >> 20).to_string() + "m";
    let dry = disk.place.say(&["calibrate", disk.at(), "--size", &size, "--dry-run"]).ends(0);
    let text = dry.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("and a commit log of at most 16"), "{}", dry.out);
    let words = ["calibrate", disk.at(), "--time", "10s", "--size", &size, "--json", "--block-size", "256k"];
    let least = std::sync::atomic::AtomicU64::new(u64::MAX);
    let said = std::thread::scope(|scope| {
        let child = scope.spawn(|| disk.place.say(&words));
        while !child.is_finished() {
            least.fetch_min(room().free_bytes, std::sync::atomic::Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(2));
        }
        child.join().expect("it ends").measures()
    });
    let kept = room().total_bytes / 10;
    // The file system's own blocks for the extents are not counted beforehand.
    let least = least.into_inner() + (1 << 20);
    assert!(least >= kept, "{least} of {kept}");
    assert!(!said.err.contains("No space left"), "{}", said.err);
    let record = said.json();
    assert!(!failed(&record).contains("they count in no figure"), "{}", failed(&record));
    assert!(record["notes"].to_string().contains("the commit log had room for"), "{}", record["notes"]);
}

/// A read-only device refused 391,744 writes, one by one, until the time was over.
#[test]
fn a_device_that_refuses_every_write_ends_the_run_at_its_first() {
    let _alone = alone();
    let Some(lab) = Lab::open("readonly") else { return };
    let device = lab.make(&["loop", "create", "--size", "16M"])("device");
    assert!(Command::new("blockdev").args(["--setro", &device]).status().expect("util-linux").success());
    let words = ["run", "--write", "random", "--time", "60s", "--json", "--write-consent", &device, &device];
    let said = Place::new().say(&words);
    // The kernel keeps it of a loop device that is gone, for whoever gets its number next.
    assert!(Command::new("blockdev").args(["--setrw", &device]).status().expect("util-linux").success());
    assert_eq!(said.status, Some(1), "{}", said.err);
    assert!(said.err.contains("Operation not permitted") || said.err.contains("Read-only"), "{}", said.err);
}

/// A page that cannot be read was the end of the program, with nothing printed and a record in progress for ever.
#[test]
fn a_mapped_page_that_cannot_be_read_is_a_fault_of_the_run() {
    let _alone = alone();
    let Some(lab) = Lab::open("mmapcut") else { return };
    let device = lab.make(&["cut-loop", "create", "--size", "32M", "--keep", "16M"])("device");
    let place = Place::new();
    let job = format!("fio --name=a --ioengine=mmap --rw=read --bs=64k --size=32m --filename={device}");
    let said = place.say(&job.split_whitespace().collect::<Vec<_>>()).ends(1);
    assert!(format!("{}{}", said.out, said.err).contains("Input/output error"), "{}{}", said.out, said.err);
    let record = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(record["ending"], "failed");
    assert!(record.to_string().contains("\"errno\":5"));
}
