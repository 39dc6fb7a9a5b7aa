//! What a user types wrong, and places that will not do.

use std::os::unix::fs::PermissionsExt;

use crate::disks::Disk;
use crate::place::{Lab, Place, alone};

#[test]
fn a_path_that_is_not_there_is_named() {
    let place = Place::new();
    for command in [&["calibrate", "/no/such"][..], &["run", "--read", "random", "/no/such"]] {
        place.say(command).refuses(1, &["cannot look at /no/such", "No such file", "check the name"]);
    }
    place.say(&["ping", "/no/such"]).refuses(1, &["/no/such"]);
    assert!(!place.store().exists(), "nothing was begun");
}

#[test]
fn a_target_that_is_no_storage_is_refused() {
    let place = Place::new();
    place.say(&["calibrate", "/dev/null"]).refuses(1, &["/dev/null is neither a directory"]);
}

#[test]
fn a_latency_that_cannot_be_meant_is_wrong_usage_and_shows_what_can() {
    let place = Place::new();
    for odd in ["20", "0", "0ms", "banana", "p99", "p0=3ms", "p100=3ms", "p99=", "=3ms", "1e400s", "nan", ""]
    {
        let said = place.say(&["calibrate", &format!("--max-latency={odd}"), "--dry-run", "."]).ends(2);
        assert!(said.err.contains("such as 20ms (the mean), p95=10ms or p99=2ms"), "{odd}: {}", said.err);
    }
    place.say(&["calibrate", "--max-latency", "p99=2ms", "--dry-run", "."]).ends(0);
}

#[test]
fn an_unknown_option_is_wrong_usage_and_names_the_like() {
    let said = Place::new().say(&["calibrate", "--max-latncy", "3ms", "."]).ends(2);
    assert!(said.err.contains("'--max-latncy'") && said.err.contains("'--max-latency'"), "{}", said.err);
}

#[test]
fn values_that_no_option_takes_are_wrong_usage() {
    let place = Place::new();
    for words in [
        &["calibrate", "--block-size", "8q"][..],
        &["calibrate", "--size", "-1"],
        &["calibrate", "--num-disks", "0"],
        &["calibrate", "--mix", "70/40"],
        &["calibrate", "--expect", "tps=3"],
        &["calibrate", "--read-only", "--write-consent", "x"],
        &["run", "--read", "random", "--depth", "0", "."],
        &["run", "--read", "random", "--write", "random", "."],
        &["run", "."],
        &["run", "--read", "random", "--rate", "0", "."],
        &["run", "--write", "random", "--read-only", "."],
        &["ping", "--interval", "1us", "."],
        &["calibrat"],
        &[],
    ] {
        place.say(words).ends(2);
    }
}

#[test]
fn a_file_smaller_than_one_block_is_refused() {
    let place = Place::new();
    let small = place.file("small", 4096);
    let said = place.say(&["run", "--read", "random", "--time", "1s", small.to_str().unwrap()]);
    said.refuses(1, &["small holds 4 KiB", "8 KiB", "a larger target"]);
    std::fs::write(place.path().join("empty"), "").unwrap();
    place.say(&["run", "--read", "random", "--time", "1s", "empty"]).refuses(1, &["empty"]);
}

#[test]
fn a_calibration_of_a_file_smaller_than_one_block_is_refused() {
    let _alone = alone();
    let Some(disk) = Disk::own("small") else { return };
    let small = crate::place::write_noise(&disk.mount.join("small"), 4096);
    disk.place
        .say(&["calibrate", small.to_str().unwrap(), "--time", "5s"])
        .refuses(1, &["small holds 4 KiB"]);
    let said = disk.place.say(&["history"]).ends(0);
    assert!(
        !said.out.contains("calibrate\n") && said.out.lines().count() <= 1,
        "no run is kept: {}",
        said.out
    );
}

#[test]
fn a_block_that_is_no_multiple_of_the_devices_is_refused() {
    let place = Place::new();
    place.file("data", 1 << 20);
    let said = place.say(&["run", "--read", "random", "--block", "1000", "--time", "1s", "data"]);
    said.refuses(1, &["blocks of 1000 B", "logical block", "a multiple of"]);
}

#[test]
fn a_calibration_in_blocks_that_are_no_multiple_of_the_devices_is_refused_and_leaves_nothing() {
    let _alone = alone();
    let Some(disk) = Disk::own("odd") else { return };
    let said = crate::place::say(disk.calibrate(&["--block-size", "1000"]));
    said.refuses(2, &["--block-size 1000", "no multiple of 512"]);
    assert!(crate::place::scratch_files(&disk.mount).is_empty());
}

#[test]
fn a_size_that_would_fill_the_disk_is_refused_with_the_most_that_fits() {
    let _alone = alone();
    let Some(disk) = Disk::own("size") else { return };
    let said = disk.place.say(&["calibrate", disk.at(), "--size", "250m"]);
    said.refuses(1, &["less than a tenth", "--size"]);
    assert!(crate::place::scratch_files(&disk.mount).is_empty());
}

#[test]
fn a_directory_without_space_is_refused() {
    let Some(lab) = Lab::open("tiny") else { return };
    let made = lab.make(&["tmpfs", "create", "--size", "8M"]);
    Place::new().say(&["calibrate", &made("mount")]).refuses(1, &["no room in", "free some space"]);
}

#[test]
fn without_permission_the_refusal_names_the_place_and_what_would_do() {
    let _alone = alone();
    let Some(disk) = Disk::own("nobody") else { return };
    let closed = disk.mount.join("closed");
    std::fs::create_dir(&closed).unwrap();
    let secret = crate::place::write_noise(&closed.join("secret"), 1 << 20);
    let visible = crate::place::write_noise(&disk.mount.join("visible"), 1 << 20);
    std::fs::set_permissions(&visible, PermissionsExt::from_mode(0o600)).unwrap();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    // A directory to which nobody may write, a file that he may see and not open, and one that he may not see.
    disk.as_nobody(&["calibrate", disk.at()]).refuses(1, &["cannot make a scratch file in", disk.at()]);
    let said = disk.as_nobody(&["calibrate", &text(&visible), "--time", "5s"]);
    said.refuses(1, &["visible", "Permission denied"]);
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    let said = disk.as_nobody(&["calibrate", &text(&secret)]);
    said.refuses(1, &["cannot look at", "Permission denied", "as a user who may"]);
}

/// Bytes that no text has, and that take no room: a hole.
fn hole(place: &Place, name: &str, bytes: u64) -> String {
    let path = place.path().join(name);
    std::fs::File::create(&path).and_then(|file| file.set_len(bytes)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn where_a_text_is_meant_a_device_or_a_huge_file_is_refused_before_it_takes_memory() {
    let place = Place::new();
    let huge = hole(&place, "huge", 3 << 30);
    std::fs::rename(hole(&place, "huge2", 3 << 30), place.path().join("o.lun")).unwrap();
    std::fs::write(place.path().join("inc.fio"), format!("include {huge}\n[a]\nrw=read\n")).unwrap();
    let run = |words: &[&str]| {
        // What reads all of it does not fit.
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_fathom")])
            .args(words);
        place.at_home(&mut command);
        crate::place::say(command)
    };
    let most = "16 MiB";
    for (words, status, told) in [
        (&["fio", &huge][..], 1, most),
        (&["fio", "inc.fio"], 1, most),
        (&["fio", "--name=a", &format!("--read_iolog={huge}")], 1, "64 KiB"),
        (&["slob", "run", "--conf", &huge], 1, most),
        (&["orion", "-run", "oltp", "-testname", "o"], 1, most),
        (&["dt", "of=x", &format!("pf={huge}"), "limit=1m", "bs=4k"], 255, most),
        (&["sysbench", "--explain", &huge], 1, most),
        (&["sysbench", &format!("--config-file={huge}"), "fileio", "run"], 1, most),
        (&["fio", "/dev/zero"], 1, "did you mean --filename=/dev/zero?"),
        (&["slob", "run", "--conf", "/dev/zero"], 1, "character device"),
        (&["sysbench", "--explain", "/dev/zero"], 1, "character device"),
        (&["dt", "of=x", "pf=/dev/zero", "limit=1m", "bs=4k"], 255, "character device"),
    ] {
        let said = run(words).ends(status);
        assert!(said.err.contains(told) || said.out.contains(told), "{words:?}: {} {}", said.out, said.err);
    }
}

#[test]
fn what_would_take_more_memory_than_there_is_is_an_error_that_names_the_option() {
    let place = Place::new();
    for (words, status, told) in [
        (&["fio", "--name=a", "--numjobs=24k", "--ioengine=null", "--size=1m"][..], 1, "lower numjobs="),
        (&["run", "--read", "random", "--workers", "4096", "--no-preflight", "null"], 1, "lower --workers"),
        (&["bonnie++", "-n", "1000000:0:0", "-s", "0", "-u", "root", "-q"], 1, "lower -c or -n"),
        (&["run", "--read", "random", "sim:service=4294967296100us"], 2, "more than an hour"),
        (&["run", "--read", "random", "--depth", "60000", "sim:service=30m"], 1, "outstanding I/Os"),
    ] {
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_fathom")])
            .args(words);
        place.at_home(&mut command);
        let said = crate::place::say(command).ends(status);
        assert!(said.err.contains(told), "{words:?}: {} {}", said.out, said.err);
    }
    // As coreutils' dd, which fills a record up without keeping it.
    let mut command = std::process::Command::new("sh");
    let dd = "ulimit -v 1000000; printf 'a\\n' | \"$0\" dd cbs=8589934592 conv=block obs=1M status=none | head -c 3";
    command.args(["-c", dd, env!("CARGO_BIN_EXE_fathom")]);
    place.at_home(&mut command);
    assert_eq!(crate::place::say(command).ends(0).out, "a  ");
}

#[test]
fn a_simulated_device_of_many_ways_is_as_fast_as_one_of_few() {
    let place = Place::new();
    let words = ["run", "--read", "random", "--depth", "1000", "--time", "20ms", "--no-preflight"];
    place.say(&[&words[..], &["sim:ways=65536"]].concat()).measures();
}
