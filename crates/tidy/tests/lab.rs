//! The lab: it makes what it says, limits what it says, and takes back only what it made.

use fathom_tidy::lab::Lab;
use std::path::Path;
use std::process::{Command, Output};

fn say(lab: &Lab, words: &[&str]) -> Output {
    lab.command(words).output().expect("scripts/lab is there")
}

fn read_of(device: &str, skip_megabytes: u32) -> bool {
    let skip = format!("skip={skip_megabytes}");
    let input = format!("if={device}");
    let words = [&input, "of=/dev/null", "bs=1M", "count=1", "iflag=direct", &skip];
    Command::new("dd").args(words).output().expect("dd is in coreutils").status.success()
}

#[test]
fn a_cut_loop_reads_up_to_the_cut_and_fails_after_it() {
    let Some(lab) = Lab::open("cut") else { return };
    let thing = lab.make(&["cut-loop", "create", "--size", "8M", "--keep", "4M"]);
    assert!(read_of(&thing("device"), 3));
    assert!(!read_of(&thing("device"), 5));
}

#[test]
fn a_filled_loop_is_mounted_and_leaves_nothing_when_removed() {
    let Some(lab) = Lab::open("loop") else { return };
    let thing = lab.make(&["loop", "create", "--size", "32M", "--fill", "--mount"]);
    let (folder, mount) = (thing("folder"), thing("mount"));
    assert!(Path::new(&mount).join("lost+found").is_dir());
    assert!(say(&lab, &["remove", &thing("device")]).status.success());
    assert!(!Path::new(&folder).exists() && !Path::new(&mount).exists());
    assert!(say(&lab, &["list"]).stdout.is_empty());
}

#[test]
fn a_device_that_the_lab_did_not_make_is_left_alone() {
    let Some(lab) = Lab::open("foreign") else { return };
    let output = say(&lab, &["remove", "/dev/zram0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the lab did not make /dev/zram0"));
}

#[test]
fn a_throttled_command_keeps_its_exit_status_and_its_group_ends_with_it() {
    let Some(lab) = Lab::open("throttle") else { return };
    let disk = lab.make(&["loop", "create", "--size", "8M"])("device");
    let inside = "cat /proc/self/cgroup; exit 7";
    let output = say(&lab, &["throttle", "--read-iops", "500", "--disk", &disk, "--", "sh", "-c", inside]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("/fathom-lab-"));
    // Each word to the lab forgets the throttles whose command has ended.
    assert!(!String::from_utf8_lossy(&say(&lab, &["list"]).stdout).contains("kind=throttle"));
}

#[test]
fn a_throttle_without_a_limit_or_a_command_is_a_usage_error() {
    let Some(lab) = Lab::open("usage") else { return };
    for words in [
        &["throttle", "--", "true"][..],
        &["throttle", "--read-iops", "5"],
        &["throttle", "--read-iops", "x", "--", "true"],
    ] {
        assert_eq!(say(&lab, words).status.code(), Some(2), "{words:?}");
    }
}
