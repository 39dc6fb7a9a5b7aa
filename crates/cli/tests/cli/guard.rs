//! What must not be written, and what must not even get a scratch file.

use std::process::Command;
use std::time::Duration;

use crate::disks::Disk;
use crate::place::{Lab, Place, Started, alone, wait_until, write_noise};

fn sum_of(path: &str) -> String {
    let output = Command::new("sha256sum").arg(path).output().expect("sha256sum is in coreutils");
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn a_database_directory_gets_no_scratch_file() {
    let place = Place::new();
    for (database, sign) in [("PostgreSQL", "PG_VERSION"), ("MySQL", "ibdata1"), ("Oracle", "control01.ctl")]
    {
        let inside = place.path().join(database).join("base");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(place.path().join(database).join(sign), "16\n").unwrap();
        let inside = inside.to_str().unwrap();
        for command in [&["calibrate", inside][..], &["run", "--read", "random", inside]] {
            let words = ["inside a database's own directory", database, sign, "--data-files"];
            place.say(command).refuses(1, &words);
        }
        assert!(crate::place::scratch_files(std::path::Path::new(inside)).is_empty());
    }
}

#[test]
fn a_file_that_holds_data_is_written_only_with_consent() {
    let place = Place::new();
    let data = place.file("data", 4 << 20);
    let name = data.to_str().unwrap();
    let before = sum_of(name);
    let write = ["run", "--write", "random", "--time", "200ms", "--no-preflight", name];
    place.say(&write).refuses(1, &["will not write to", "it holds something", "--write-consent"]);
    assert_eq!(sum_of(name), before, "untouched");
    let other = place.file("other", 4096);
    let wrong = [&write[..], &["--write-consent", other.to_str().unwrap()]].concat();
    place.say(&wrong).refuses(1, &["will not write to"]);
    assert_eq!(sum_of(name), before, "untouched");
    place.say(&[&write[..], &["--write-consent", name]].concat()).measures();
    assert_ne!(sum_of(name), before);
    assert_eq!(std::fs::metadata(&data).unwrap().len(), 4 << 20, "written in place");
}

#[test]
fn a_consent_that_names_no_target_is_refused() {
    let _alone = alone();
    let Some(disk) = Disk::own("consent") else { return };
    let said = crate::place::say(disk.calibrate(&["--write-consent", "/dev/other"]));
    said.refuses(1, &["/dev/other names none of the targets"]);
    assert!(crate::place::scratch_files(&disk.mount).is_empty());
}

#[test]
fn a_mounted_device_is_not_written_whatever_the_consent() {
    let _alone = alone();
    let Some(disk) = Disk::own("mounted") else { return };
    let folder = disk.at().to_owned();
    let made =
        disk.lab.make(&["loop", "create", "--size", "32M", "--mount", "--fs", "ext4", "--dir", &folder]);
    let (device, mount) = (made("device"), made("mount"));
    let place = &disk.place;
    let words = ["cannot write to", &device, &mount];
    let consent = ["--write-consent", &device];
    let run = ["run", "--write", "random", "--time", "1s", &device];
    place.say(&[&run[..], &consent].concat()).refuses(1, &words);
    let calibrate = ["calibrate", "--time", "5s", "--while-busy", &device];
    place.say(&[&calibrate[..], &consent].concat()).refuses(1, &words);
    write_noise(&std::path::Path::new(&mount).join("still"), 4096);
}

#[test]
fn a_block_device_is_read_without_a_byte_written() {
    let _alone = alone();
    let Some(disk) = Disk::own("readonly") else { return };
    let folder = disk.at().to_owned();
    let made = disk.lab.make(&["loop", "create", "--size", "32M", "--fill", "--dir", &folder]);
    let (device, file) = (made("device"), made("file"));
    let before = (sum_of(&file), std::fs::metadata(&file).unwrap().modified().unwrap());
    let said = disk.place.say(&["calibrate", &device, "--time", "5s", "--json", "--while-busy"]).measures();
    assert!(said.json().pointer("/summary/max_iops/value").is_some(), "{}", said.out);
    assert!(said.json().pointer("/summary/random_write_iops").is_none(), "nothing was written");
    assert_eq!((sum_of(&file), std::fs::metadata(&file).unwrap().modified().unwrap()), before);
}

#[test]
fn data_files_are_read_as_one_set_and_what_was_left_out_is_listed() {
    let _alone = alone();
    let Some(disk) = Disk::own("datafiles") else { return };
    let base = disk.mount.join("base");
    std::fs::create_dir_all(&base).unwrap();
    std::fs::write(base.join("PG_VERSION"), "16\n").unwrap();
    let (one, two) = (write_noise(&base.join("one"), 8 << 20), write_noise(&base.join("two"), 4 << 20));
    write_noise(&base.join("little"), 4096);
    std::os::unix::fs::symlink(&one, base.join("link")).unwrap();
    let before = (sum_of(one.to_str().unwrap()), sum_of(two.to_str().unwrap()));
    let said = disk
        .place
        .say(&["calibrate", "--data-files", base.to_str().unwrap(), "--time", "5s", "--json"])
        .measures();
    let record = said.json();
    let targets = record.pointer("/targets").unwrap().as_array().unwrap().len();
    assert_eq!(targets, 2, "the two of 1 MiB and more");
    let notes = record.pointer("/notes").unwrap().to_string();
    for word in ["left out", "little", "PG_VERSION", "link"] {
        assert!(notes.contains(word), "no {word} in {notes}");
    }
    assert_eq!((sum_of(one.to_str().unwrap()), sum_of(two.to_str().unwrap())), before, "never written");
    disk.place.say(&["calibrate", "--data-files", "/no/such/*.dbf"]).refuses(1, &["/no/such"]);
}

/// fio's users let two runs write to one device. Both hold it: it is busy to others until the last one has ended.
#[test]
fn two_runs_of_fio_share_a_device_by_consent_and_it_is_held_until_both_have_ended() {
    let Some(lab) = Lab::open("share") else { return };
    let _alone = alone();
    let made = lab.make(&["loop", "create", "--size", "16M"]);
    let device = made("device");
    let (one, two) = (Place::new(), Place::new());
    let run = |place: &Place, consents: bool| {
        let words =
            ["fio", "--name=a", "--rw=randwrite", "--time_based", "--runtime=600", "--filename", &device];
        let mut command = place.fathom(&words);
        if consents {
            command.env("FATHOM_WRITE_CONSENT", &device);
        }
        command
    };
    let is_busy = || {
        let flags = rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
        rustix::fs::open(device.as_str(), flags, rustix::fs::Mode::empty()).err()
            == Some(rustix::io::Errno::BUSY)
    };
    let writes = |place: &Place, child: &Started| {
        let links = format!("/proc/{}/task", child.id());
        let threads = || std::fs::read_dir(&links).map_or(0, Iterator::count);
        wait_until("its threads", Duration::from_secs(60), || threads() > 1 && is_busy());
        assert!(place.say(&["history", "--json"]).out.contains("in progress"));
    };
    let first = Started::new(run(&one, true));
    writes(&one, &first);
    let refused = crate::place::say(run(&two, false));
    assert_eq!(refused.status, Some(1), "{}", refused.err);
    let second = Started::new(run(&two, true));
    writes(&two, &second);
    first.signal("INT").ends(128);
    assert!(is_busy(), "the second still writes");
    let said = second.signal("INT").ends(128);
    assert!(!is_busy(), "{}", said.err);
    let record = two.say(&["show", "last", "--json"]).ends(0).out;
    assert!(record.contains("(fathom) has") && record.contains("open"), "the record says who else wrote");
}
