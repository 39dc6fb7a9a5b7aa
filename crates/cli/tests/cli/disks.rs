//! A mounted disk of its own, in memory: no other program has it busy or locked. And what that disk is doing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fathom_tidy::skip;

use crate::place::{Lab, Place, Said, say};

/// An ext4 on a zram device.
pub struct Disk {
    /// What made it, and removes it.
    pub lab: Lab,
    /// Store and small files.
    pub place: Place,
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The device's name, such as zram1.
    pub name: String,
}

/// What a disk does just now, told from its own counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Nothing,
    SmallReads,
    LargeReads,
    Writes,
}

impl Disk {
    /// Nothing, and a counted skip, where the machine cannot make one.
    pub fn own(name: &str) -> Option<Self> {
        let lab = Lab::open(name)?;
        if !Path::new("/sys/class/zram-control/hot_add").exists() {
            skip(&format!("the command line: {name}"), "this kernel has no zram");
            return None;
        }
        let made = lab.make(&["zram", "create", "--size", "256M", "--mount"]);
        let (mount, device) = (PathBuf::from(made("mount")), made("device"));
        Some(Disk { lab, place: Place::new(), mount, name: device.trim_start_matches("/dev/").to_owned() })
    }

    /// The mount's path as text.
    pub fn at(&self) -> &str {
        self.mount.to_str().expect("a path of the lab is plain")
    }

    /// A short calibration of the whole, for what comes before and after the figures.
    pub fn calibrate(&self, more: &[&str]) -> Command {
        self.place.fathom(&[&["calibrate", self.at(), "--time", "5s", "--size", "64m"], more].concat())
    }

    /// The program as another user, who may reach this disk but not the build: from a copy on it.
    pub fn as_nobody(&self, words: &[&str]) -> Said {
        let program = self.mount.join("fathom");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_fathom"), &program).expect("the program fits the disk");
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program).args(words);
        self.place.at_home(&mut command);
        command.current_dir("/").env_remove("FATHOM_STORE").env_remove("HOME");
        say(command)
    }

    fn counters(&self) -> [u64; 4] {
        let text =
            std::fs::read_to_string(format!("/sys/block/{}/stat", self.name)).expect("the disk is there");
        let number: Vec<u64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        [number[0], number[2], number[4], number[6]]
    }

    /// What it does, by a look of 60 ms.
    pub fn doing(&self) -> Doing {
        let before = self.counters();
        std::thread::sleep(Duration::from_millis(60));
        let after = self.counters();
        let [reads, read_sectors, writes, _] = std::array::from_fn(|i| after[i] - before[i]);
        match () {
            () if writes > 20 && writes > reads => Doing::Writes,
            () if reads > 20 && read_sectors / reads <= 16 => Doing::SmallReads,
            () if reads > 20 && read_sectors / reads >= 64 => Doing::LargeReads,
            () => Doing::Nothing,
        }
    }
}
