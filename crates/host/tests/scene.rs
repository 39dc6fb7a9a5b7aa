//! What a test makes on this machine: files, loop devices, mounts, swap, processes. All of it goes when the scene goes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Where the two partitions of [`Scene::partitioned`] begin, in sectors of 512 bytes, and how long each is.
pub const STARTS: [u32; 2] = [2048, 34816];
pub const SECTORS: u32 = 32768;
pub const MEBIBYTE: u64 = 1 << 20;

enum Undo {
    Unmount(PathBuf),
    SwapOff(PathBuf),
    Detach(PathBuf),
    Unpartition(PathBuf),
    Remove(PathBuf),
    End(Child),
}

/// Things that a test made.
pub struct Scene {
    undo: Vec<Undo>,
    folder: TempDir,
}

/// A file as long as a disk with two partitions, and the loop device that shows it.
pub struct Partitioned {
    pub file: PathBuf,
    pub whole: PathBuf,
    pub parts: [PathBuf; 2],
}

/// Whether loop devices can be made here; otherwise says so and counts it.
pub fn loops_can_be_made(what: &str) -> bool {
    if !fathom_tidy::is_root() {
        fathom_tidy::skip(what, "needs root");
        return false;
    }
    if !Path::new("/dev/loop-control").exists() {
        fathom_tidy::skip(what, "there are no loop devices here");
        return false;
    }
    true
}

impl Scene {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("fathom-host-test-").tempdir().expect("a folder");
        Scene { undo: Vec::new(), folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("the folder is there").join(name)
    }

    /// An empty folder.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("create a folder");
        path
    }

    /// A file of zeros with these bytes in it.
    pub fn file(&self, name: &str, size_bytes: u64, marks: &[(u64, &[u8])]) -> PathBuf {
        let path = self.path(name);
        let file = File::create_new(&path).expect("a new file");
        file.set_len(size_bytes).expect("set its length");
        for (offset, bytes) in marks {
            file.write_all_at(bytes, *offset).expect("write a mark");
        }
        path
    }

    /// The loop device that shows a file or device from now on, its partitions with it.
    pub fn attach(&mut self, backing: &Path) -> PathBuf {
        let device = run("losetup", &["--find", "--show", "--partscan", text(backing)]);
        let device = PathBuf::from(device.trim());
        self.undo.push(Undo::Detach(device.clone()));
        device
    }

    /// Two partitions with marks in the first, by a hand-written master boot record.
    pub fn partitioned(&mut self, marks: &[(u64, &[u8])]) -> Partitioned {
        let start = u64::from(STARTS[0]) * 512;
        let mut all: Vec<(u64, &[u8])> = marks.iter().map(|(at, bytes)| (start + at, *bytes)).collect();
        let table = boot_record();
        all.push((0, &table));
        let file = self.file("disk.img", 40 * MEBIBYTE, &all);
        let (whole, parts) = self.attach_partitioned(&file);
        Partitioned { file, whole, parts }
    }

    /// Another loop device on a file with [`boot_record`], and its partitions, by the kernel's own reading or by ours.
    pub fn attach_partitioned(&mut self, file: &Path) -> (PathBuf, [PathBuf; 2]) {
        let whole = self.attach(file);
        let parts = [1, 2].map(|number| PathBuf::from(format!("{}p{number}", whole.display())));
        for (number, part) in parts.iter().enumerate() {
            let name = part.file_name().expect("a name");
            let shown = Path::new("/sys/class/block").join(name).join("dev");
            if !shown.exists() {
                // A kernel that does not read this kind of table still takes partitions by BLKPG.
                let (number, start) = ((number + 1).to_string(), STARTS[number].to_string());
                run("addpart", &[text(&whole), &number, &start, &SECTORS.to_string()]);
            }
            if !part.exists() {
                // Where the kernel makes no nodes (a container's /dev), mknod does.
                let number = fs::read_to_string(&shown).expect("the partition is shown");
                let (major, minor) = number.trim().split_once(':').expect("major:minor");
                run("mknod", &[text(part), "b", major, minor]);
                self.undo.push(Undo::Remove(part.clone()));
            }
        }
        self.undo.push(Undo::Unpartition(whole.clone()));
        (whole, parts)
    }

    pub fn make_ext4(&self, device: &Path) {
        run("mkfs.ext4", &["-q", "-F", text(device)]);
    }

    /// Mounts a device in a new folder.
    pub fn mount(&mut self, device: &Path, name: &str) -> PathBuf {
        let place = self.folder(name);
        run("mount", &[text(device), text(&place)]);
        self.undo.push(Undo::Unmount(place.clone()));
        place
    }

    /// A file system in memory in a new folder.
    pub fn mount_memory(&mut self, name: &str) -> PathBuf {
        let place = self.folder(name);
        run("mount", &["-t", "tmpfs", "-o", "size=64m", "fathom-host-test", text(&place)]);
        self.undo.push(Undo::Unmount(place.clone()));
        place
    }

    /// An overlay in a new folder.
    pub fn mount_overlay(&mut self, lower: &Path, upper: &Path, work: &Path) -> PathBuf {
        let place = self.folder("overlay");
        let options = format!("lowerdir={},upperdir={},workdir={}", text(lower), text(upper), text(work));
        run("mount", &["-t", "overlay", "-o", &options, "overlay", text(&place)]);
        self.undo.push(Undo::Unmount(place.clone()));
        place
    }

    /// Makes a device or file active swap, of the lowest priority.
    pub fn swap_on(&mut self, path: &Path) {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its mode");
        run("mkswap", &[text(path)]);
        run("swapon", &["--priority", "0", text(path)]);
        self.undo.push(Undo::SwapOff(path.to_path_buf()));
    }

    /// Another process that has this open file, and nothing else to do.
    pub fn held_by_another(&mut self, file: File) {
        let child = Command::new("sleep").arg("1000").stdin(Stdio::from(file)).spawn();
        self.undo.push(Undo::End(child.expect("sleep is in coreutils")));
    }

    pub fn link(&self, to: &Path) -> PathBuf {
        let link = self.path("link");
        std::os::unix::fs::symlink(to, &link).expect("a symbolic link");
        link
    }

    pub fn hard_link(&self, to: &Path) -> PathBuf {
        let link = to.with_file_name("another-name");
        fs::hard_link(to, &link).expect("a hard link");
        link
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Unmount(place) => unmount(&place),
                Undo::SwapOff(path) => quietly("swapoff", &[text(&path)]),
                Undo::Detach(device) => quietly("losetup", &["--detach", text(&device)]),
                Undo::Unpartition(device) => quietly("partx", &["--delete", text(&device)]),
                Undo::Remove(node) => {
                    let _ = fs::remove_file(node);
                }
                Undo::End(mut child) => {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        }
    }
}

/// A loop device over a file in it is given up a moment after it was told to.
fn unmount(place: &Path) {
    for _ in 0..100 {
        let done = command("umount").arg(place).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if done.is_ok_and(|status| status.success()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// 0x55AA at its end and two entries of Linux partitions.
pub fn boot_record() -> Vec<u8> {
    let mut sector = vec![0u8; 512];
    for (number, start) in STARTS.iter().enumerate() {
        let entry = &mut sector[446 + 16 * number..][..16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..16].copy_from_slice(&SECTORS.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of this test is text")
}

/// The system's programs are not on every path.
fn command(program: &str) -> Command {
    let places = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
    let found = places.iter().map(|place| Path::new(place).join(program)).find(|path| path.exists());
    Command::new(found.unwrap_or_else(|| program.into()))
}

pub fn run(program: &str, words: &[&str]) -> String {
    let output = command(program).args(words).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn quietly(program: &str, words: &[&str]) {
    let _ = command(program).args(words).stderr(Stdio::null()).status();
}
