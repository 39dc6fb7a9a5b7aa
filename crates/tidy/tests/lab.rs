//! The lab: it makes what it says, limits what it says, and takes back only what it made.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fathom_tidy::{house, is_root, skip};

/// A run directory of its own, so that tests side by side do not see each other's things; what is left in it goes at the end.
struct Lab {
    state: PathBuf,
}

impl Lab {
    /// Nothing, and a counted skip, where the machine cannot.
    fn open(name: &str) -> Option<Self> {
        if !is_root() {
            skip(&format!("the lab: {name}"), "needs root");
            return None;
        }
        let state = PathBuf::from(format!("/run/fathom-lab-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&state).expect("/run can be written by root");
        Some(Self { state })
    }

    fn say(&self, words: &[&str]) -> Output {
        Command::new(house::root().join("scripts/lab"))
            .args(words)
            .env("FATHOM_LAB_DIR", &self.state)
            .output()
            .expect("scripts/lab is there")
    }

    /// Makes a thing; the value of a key of what was printed.
    fn make(&self, words: &[&str]) -> impl Fn(&str) -> String {
        let output = self.say(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        move |key| {
            let line = printed.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
            line.unwrap_or_else(|| panic!("no {key}= in {printed}")).to_owned()
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.say(&["remove", "--all"]);
        let _ = std::fs::remove_dir(&self.state);
    }
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
    assert!(lab.say(&["remove", &thing("device")]).status.success());
    assert!(!Path::new(&folder).exists() && !Path::new(&mount).exists());
    assert!(lab.say(&["list"]).stdout.is_empty());
}

#[test]
fn a_device_that_the_lab_did_not_make_is_left_alone() {
    let Some(lab) = Lab::open("foreign") else { return };
    let output = lab.say(&["remove", "/dev/zram0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the lab did not make /dev/zram0"));
}

#[test]
fn a_throttled_command_keeps_its_exit_status_and_its_group_ends_with_it() {
    let Some(lab) = Lab::open("throttle") else { return };
    let disk = lab.make(&["loop", "create", "--size", "8M"])("device");
    let inside = "cat /proc/self/cgroup; exit 7";
    let output = lab.say(&["throttle", "--read-iops", "500", "--disk", &disk, "--", "sh", "-c", inside]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("/fathom-lab-"));
    // Each word to the lab forgets the throttles whose command has ended.
    assert!(!String::from_utf8_lossy(&lab.say(&["list"]).stdout).contains("kind=throttle"));
}

#[test]
fn a_throttle_without_a_limit_or_a_command_is_a_usage_error() {
    let Some(lab) = Lab::open("usage") else { return };
    for words in [
        &["throttle", "--", "true"][..],
        &["throttle", "--read-iops", "5"],
        &["throttle", "--read-iops", "x", "--", "true"],
    ] {
        assert_eq!(lab.say(words).status.code(), Some(2), "{words:?}");
    }
}
