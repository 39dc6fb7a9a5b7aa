//! Kinds of targets: loop devices on small files, and files, free or in use. Each is taken down when it is dropped.

use crate::place::{wait_until, write_noise};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Bytes of a target.
const SIZE: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    DeviceEmpty,
    /// 4 KiB of data, between all samples.
    DeviceDataInside,
    DeviceMounted,
    /// By a process in a mount namespace of its own.
    DeviceMountedElsewhere,
    /// A disk of which a partition is mounted.
    DiskOfMounted,
    /// A partition of a disk that is mounted itself.
    PartitionOfMounted,
    /// Another loop device on the file of a mounted one.
    DeviceSecondLoop,
    DeviceSwap,
    DeviceHeld,
    /// Another loop device stands on it.
    DeviceLoopBacking,
    FilePlain,
    FileSparse,
    FileLoopBacking,
    FileHeld,
    FilePostgres,
    /// Its server runs.
    FilePostgresServed,
    /// With its write-ahead log.
    FileSqlite,
}

impl Kind {
    /// All of them: a new one has its place here, or this does not compile.
    pub fn all() -> impl Iterator<Item = Kind> {
        let next = |kind: &Kind| match kind {
            Kind::DeviceEmpty => Some(Kind::DeviceDataInside),
            Kind::DeviceDataInside => Some(Kind::DeviceMounted),
            Kind::DeviceMounted => Some(Kind::DeviceMountedElsewhere),
            Kind::DeviceMountedElsewhere => Some(Kind::DiskOfMounted),
            Kind::DiskOfMounted => Some(Kind::PartitionOfMounted),
            Kind::PartitionOfMounted => Some(Kind::DeviceSecondLoop),
            Kind::DeviceSecondLoop => Some(Kind::DeviceSwap),
            Kind::DeviceSwap => Some(Kind::DeviceHeld),
            Kind::DeviceHeld => Some(Kind::DeviceLoopBacking),
            Kind::DeviceLoopBacking => Some(Kind::FilePlain),
            Kind::FilePlain => Some(Kind::FileSparse),
            Kind::FileSparse => Some(Kind::FileLoopBacking),
            Kind::FileLoopBacking => Some(Kind::FileHeld),
            Kind::FileHeld => Some(Kind::FilePostgres),
            Kind::FilePostgres => Some(Kind::FilePostgresServed),
            Kind::FilePostgresServed => Some(Kind::FileSqlite),
            Kind::FileSqlite => None,
        };
        std::iter::successors(Some(Kind::DeviceEmpty), next)
    }

    pub fn is_device(self) -> bool {
        match self {
            Kind::DeviceEmpty
            | Kind::DeviceDataInside
            | Kind::DeviceMounted
            | Kind::DeviceMountedElsewhere
            | Kind::DiskOfMounted
            | Kind::PartitionOfMounted
            | Kind::DeviceSecondLoop
            | Kind::DeviceSwap
            | Kind::DeviceHeld
            | Kind::DeviceLoopBacking => true,
            Kind::FilePlain
            | Kind::FileSparse
            | Kind::FileLoopBacking
            | Kind::FileHeld
            | Kind::FilePostgres
            | Kind::FilePostgresServed
            | Kind::FileSqlite => false,
        }
    }

    /// Is somebody at work there?
    pub fn is_in_use(self) -> bool {
        match self {
            Kind::DeviceMounted
            | Kind::DeviceMountedElsewhere
            | Kind::DiskOfMounted
            | Kind::PartitionOfMounted
            | Kind::DeviceSecondLoop
            | Kind::DeviceSwap
            | Kind::DeviceHeld
            | Kind::DeviceLoopBacking
            | Kind::FileLoopBacking
            | Kind::FileHeld
            | Kind::FilePostgresServed => true,
            Kind::DeviceEmpty
            | Kind::DeviceDataInside
            | Kind::FilePlain
            | Kind::FileSparse
            | Kind::FilePostgres
            | Kind::FileSqlite => false,
        }
    }
}

/// A target of a kind.
pub struct Target {
    /// Which.
    pub kind: Kind,
    /// By which it is named.
    pub path: PathBuf,
    /// What was there at first.
    content: Vec<u8>,
    holders: Vec<Child>,
    /// Commands that take it down, the last one first.
    undo: Vec<Vec<String>>,
    _directory: tempfile::TempDir,
}

fn run(words: &[&str]) -> String {
    let (program, rest) = words.split_first().expect("a program");
    let output = Command::new(program).args(rest).output().expect("the program is there");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Makes a file system, and a directory where it can be mounted.
fn mount_point(device: &str, folder: &Path) -> String {
    run(&["mkfs.ext4", "-q", "-F", device]);
    let point = folder.join("mounted");
    fs::create_dir(&point).expect("there is room");
    point.to_str().expect("plain").to_owned()
}

impl Target {
    pub fn new(kind: Kind) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build can be written");
        let folder = fs::canonicalize(directory.path()).expect("it is there");
        let file = folder.join("app.db");
        match kind {
            Kind::FilePlain
            | Kind::FileLoopBacking
            | Kind::FileHeld
            | Kind::FilePostgres
            | Kind::FilePostgresServed
            | Kind::FileSqlite => drop(write_noise(&file, SIZE as usize)),
            _ => File::create(&file).and_then(|file| file.set_len(SIZE)).expect("there is room"),
        }
        if kind == Kind::DeviceDataInside {
            let image = File::options().write(true).open(&file).expect("it is ours");
            image.write_all_at(&[7; 4096], (1 << 20) + (64 << 10)).expect("there is room");
        }
        let (holders, undo) = (Vec::new(), Vec::new());
        let mut target =
            Target { kind, path: file.clone(), content: Vec::new(), holders, undo, _directory: directory };
        if kind.is_device() {
            target.path = target.attach(&file);
        }
        target.put_to_use(&folder, &file);
        target.content = target.bytes().expect("it can be read");
        target
    }

    fn put_to_use(&mut self, folder: &Path, file: &Path) {
        let device = self.path.to_str().expect("plain").to_owned();
        match self.kind {
            Kind::DeviceEmpty | Kind::DeviceDataInside | Kind::FilePlain | Kind::FileSparse => {}
            Kind::DeviceMounted => self.mount(&device, folder),
            Kind::DeviceMountedElsewhere => self.mount_elsewhere(&device, folder),
            Kind::DiskOfMounted => {
                let partition = self.partition(&device);
                self.mount(&partition, folder);
            }
            Kind::PartitionOfMounted => {
                // It lies within the file system's own blocks.
                self.path = PathBuf::from(self.partition(&device));
                self.mount(&device, folder);
            }
            Kind::DeviceSecondLoop => {
                self.mount(&device, folder);
                self.path = self.attach(file);
            }
            Kind::DeviceSwap => {
                run(&["mkswap", &device]);
                run(&["swapon", "--priority", "0", &device]);
                self.undo(&["swapoff", &device]);
            }
            Kind::DeviceHeld | Kind::FileHeld => {
                let held = File::options().read(true).write(true).open(&self.path).expect("it is free");
                let child = Command::new("sleep").arg("600").stdin(Stdio::from(held)).spawn();
                self.holders.push(child.expect("sleep is in coreutils"));
            }
            Kind::DeviceLoopBacking => drop(self.attach(Path::new(&device))),
            Kind::FileLoopBacking => drop(self.attach(file)),
            Kind::FilePostgres | Kind::FilePostgresServed => {
                fs::write(folder.join("PG_VERSION"), "17\n").expect("there is room");
                if self.kind == Kind::FilePostgresServed {
                    let child = Command::new("sleep").arg("600").current_dir(folder).spawn();
                    self.holders.push(child.expect("sleep is in coreutils"));
                }
            }
            Kind::FileSqlite => drop(write_noise(&folder.join("app.db-wal"), 4096)),
        }
    }

    fn undo(&mut self, words: &[&str]) {
        self.undo.push(words.iter().map(|word| (*word).to_owned()).collect());
    }

    fn attach(&mut self, below: &Path) -> PathBuf {
        let device = run(&["losetup", "--find", "--show", below.to_str().expect("plain")]);
        self.undo(&["losetup", "-d", &device]);
        PathBuf::from(device)
    }

    /// A partition from the second mebibyte on.
    fn partition(&mut self, device: &str) -> String {
        run(&["addpart", device, "1", "2048", "6144"]);
        self.undo(&["delpart", device, "1"]);
        let partition = format!("{device}p1");
        wait_until(&partition, Duration::from_secs(20), || Path::new(&partition).exists());
        partition
    }

    fn mount_elsewhere(&mut self, device: &str, folder: &Path) {
        let point = mount_point(device, folder);
        let line = r#"mount -o ro,noload "$0" "$1" && echo mounted && exec sleep 600"#;
        let words = ["--mount", "--propagation", "private", "sh", "-c", line, device, &point];
        let child = Command::new("unshare").args(words).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("unshare is in util-linux");
        let mut said = [0; 8];
        child.stdout.take().expect("it is piped").read_exact(&mut said).expect("it is mounted");
        self.holders.push(child);
    }

    fn mount(&mut self, device: &str, folder: &Path) {
        let point = mount_point(device, folder);
        // Read only: the file system itself writes nothing meanwhile.
        run(&["mount", "-o", "ro,noload", device, &point]);
        self.undo(&["umount", &point]);
    }

    /// All bytes, nothing if it is gone. Of active swap the head: the rest is the kernel's.
    fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = fs::read(&self.path).ok()?;
        if self.kind == Kind::DeviceSwap {
            bytes.truncate(4096);
        }
        Some(bytes)
    }

    /// What tells a change.
    pub fn sum(&self) -> Option<u64> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.bytes()?.hash(&mut hasher);
        Some(hasher.finish())
    }

    /// Makes it as it was.
    pub fn restore(&mut self) {
        if self.kind.is_device() {
            let device = File::options().write(true).open(&self.path).expect("it is ours");
            device.write_all_at(&self.content, 0).and_then(|()| device.sync_all()).expect("it has room");
            return;
        }
        if self.kind == Kind::FileSparse {
            File::create(&self.path).and_then(|file| file.set_len(SIZE)).expect("there is room");
            return;
        }
        fs::write(&self.path, &self.content).expect("there is room");
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        for child in &mut self.holders {
            let _ = child.kill();
            let _ = child.wait();
        }
        for words in self.undo.iter().rev() {
            let _ = Command::new(&words[0]).args(&words[1..]).status();
        }
    }
}
