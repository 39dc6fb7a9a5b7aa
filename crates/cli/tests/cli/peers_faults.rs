//! The other tools' languages on a disk of which a part cannot be read, and when the user interrupts them: what is said,
//! where, and the exit status.

use crate::place::{Lab, Place, Said, Started, alone, say, wait_until};
use fathom_tidy::{is_root, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// An ext4 on a loop device whose backing file can be cut.
struct Cut {
    // The file system goes before the lab that made it.
    place: Place,
    mount: PathBuf,
    file: PathBuf,
    _lab: Lab,
}

impl Cut {
    fn new(name: &str) -> Option<Self> {
        let lab = Lab::open(name)?;
        let (mount, file) = {
            let made = lab.make(&["loop", "create", "--size", "64M", "--fs", "ext4", "--mount"]);
            (PathBuf::from(made("mount")), PathBuf::from(made("file")))
        };
        // A journal that is written behind the cut would lengthen the file again.
        let quiet = Command::new("mount").args(["-o", "remount,noatime"]).arg(&mount).status();
        assert!(quiet.expect("util-linux").success());
        Some(Cut { place: Place::new(), mount, file, _lab: lab })
    }

    /// Runs a command on the mount.
    fn say(&self, program: &Path, words: &str) -> Said {
        let mut command = Command::new(program);
        command.args(words.split_whitespace());
        self.place.at_home(&mut command);
        command.current_dir(&self.mount).env_remove("FATHOM_NOTES");
        say(command)
    }

    fn fathom(&self, words: &str) -> Said {
        self.say(Path::new(env!("CARGO_BIN_EXE_fathom")), words)
    }

    /// The second half of the device can be read no more.
    fn cut(&self) {
        let synced = Command::new("sync").arg("-f").arg(&self.mount).status();
        assert!(synced.expect("coreutils").success());
        let file = std::fs::OpenOptions::new().write(true).open(&self.file).expect("the lab made it");
        file.set_len(32 << 20).expect("it can be cut");
    }
}

/// Lines with their numbers masked: how far a run came is no layout.
fn fatal(said: &Said) -> Vec<String> {
    let lines = said.out.lines().filter(|line| line.contains("FATAL"));
    lines.map(|line| line.replace(|c: char| c.is_ascii_digit(), "")).collect()
}

#[test]
fn sysbench_tells_of_a_read_that_failed_in_its_words_with_its_status() {
    let _alone = alone();
    let Some(cut) = Cut::new("sysbencheio") else { return };
    let shape = "fileio --file-num=1 --file-total-size=40M";
    cut.fathom(&format!("sysbench {shape} prepare")).ends(0);
    cut.cut();
    for mode in ["seqrd", "rndrd"] {
        let words =
            format!("{shape} --file-test-mode={mode} --file-extra-flags=direct --rand-seed=3 --time=5 run");
        let ours = cut.fathom(&format!("sysbench {words}")).ends(1);
        assert!(
            ours.out.contains("\nFATAL: Failed to read file! file: 3 pos: ")
                && ours.out.ends_with(" errno = 5 (Input/output error)\n"),
            "{}",
            ours.out
        );
        assert_eq!(ours.err, "");
        if !Command::new("sysbench").arg("--version").output().is_ok_and(|told| told.status.success()) {
            skip("sysbench on a disk that fails", "it is not installed");
            continue;
        }
        let theirs = cut.say(Path::new("sysbench"), &words).ends(1);
        assert_eq!(fatal(&ours), fatal(&theirs));
    }
}

#[test]
fn iozone_and_dd_tell_of_a_read_that_failed_and_end_badly() {
    let _alone = alone();
    let Some(cut) = Cut::new("iozoneeio") else { return };
    cut.fathom("iozone -i 0 -s 40m -r 1m -w -f data").ends(0);
    cut.cut();
    let said = cut.fathom("iozone -i 1 -s 40m -r 1m -I -w -f data");
    assert_ne!(said.status, Some(0), "{}", said.out);
    assert!(format!("{}{}", said.out, said.err).contains("Input/output error"), "{}{}", said.out, said.err);
    let said = cut.fathom("dd if=data of=/dev/null bs=1M iflag=direct").ends(1);
    assert!(said.err.contains("Input/output error"), "{}", said.err);
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
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(kept["ending"], "interrupted");
}

#[test]
fn an_interrupted_sysbench_ends_with_130_and_is_kept_as_interrupted() {
    let _alone = alone();
    let place = Place::new();
    let shape = ["sysbench", "fileio", "--file-num=1", "--file-total-size=4M"];
    place.say(&[&shape[..], &["prepare"]].concat()).ends(0);
    let printed = place.path().join("printed");
    let words = [&shape[..], &["--file-test-mode=rndrd", "--time=60", "run"]].concat();
    let child = Started::into_file(place.fathom(&words), &printed);
    wait_until("the load", Duration::from_secs(20), || {
        std::fs::read_to_string(&printed).is_ok_and(|text| text.contains("Threads started!"))
    });
    child.signal("INT").ends(130);
    let kept = place.say(&["show", "last", "--json"]).ends(0).json();
    assert_eq!(kept["ending"], "interrupted");
}
