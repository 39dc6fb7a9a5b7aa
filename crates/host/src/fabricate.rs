//! Fabricated trees for tests: a sysfs of disks, partitions and those that stand on them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::roots::Roots;

/// A tree in a temporary directory, removed when dropped.
pub struct Fabricated {
    directory: tempfile::TempDir,
}

impl Fabricated {
    /// With the folders that every machine has, empty.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let made = Fabricated { directory };
        for folder in ["sys/dev/block", "sys/block", "sys/class/block", "proc/self", "dev"] {
            fs::create_dir_all(made.path(folder)).expect("create a folder");
        }
        made
    }

    /// Its folders in place of /sys, /proc and /dev.
    pub fn roots(&self) -> Roots {
        // Sysfs paths are canonicalized, and the temporary directory may stand behind a link.
        Roots::below(&fs::canonicalize(self.directory.path()).expect("the directory is there"))
    }

    /// A path below it.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join(relative)
    }

    /// Writes a file and the folders above it.
    pub fn file(&self, relative: &str, text: &str) -> &Self {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("create folders");
        fs::write(path, text).expect("write a file");
        self
    }

    /// A whole device in the sysfs folder named (`devices/pci0/ata1/host0/block/sda`).
    pub fn disk(&self, folder: &str, number: &str, sectors: u64) -> &Self {
        self.file(&format!("sys/{folder}/dev"), number);
        self.file(&format!("sys/{folder}/size"), &sectors.to_string());
        for below in ["slaves", "holders", "queue"] {
            fs::create_dir_all(self.path(&format!("sys/{folder}/{below}"))).expect("create a folder");
        }
        self.index(folder, number);
        let name = Path::new(folder).file_name().expect("a name");
        symlink(self.path(&format!("sys/{folder}")), self.path("sys/block").join(name)).expect("link");
        self
    }

    /// A partition of the device in `folder`.
    pub fn partition(&self, folder: &str, name: &str, number: &str, start: u64, sectors: u64) -> &Self {
        let mine = format!("{folder}/{name}");
        for (file, text) in [
            ("dev", number.to_string()),
            ("partition", "1".to_string()),
            ("start", start.to_string()),
            ("size", sectors.to_string()),
        ] {
            self.file(&format!("sys/{mine}/{file}"), &text);
        }
        fs::create_dir_all(self.path(&format!("sys/{mine}/holders"))).expect("create a folder");
        self.index(&mine, number);
        self
    }

    /// `upper` stands on `lower`: both links as the kernel makes them.
    pub fn stands_on(&self, upper: &str, lower: &str) -> &Self {
        let name = |folder: &str| Path::new(folder).file_name().expect("a name").to_owned();
        let (up, low) = (self.path(&format!("sys/{upper}")), self.path(&format!("sys/{lower}")));
        symlink(&low, up.join("slaves").join(name(lower))).expect("link");
        symlink(&up, low.join("holders").join(name(upper))).expect("link");
        self
    }

    fn index(&self, folder: &str, number: &str) {
        let target = self.path(&format!("sys/{folder}"));
        symlink(&target, self.path("sys/dev/block").join(number)).expect("link");
        let name = Path::new(folder).file_name().expect("a name");
        symlink(&target, self.path("sys/class/block").join(name)).expect("link");
    }
}
