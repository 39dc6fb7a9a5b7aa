//! One calibration at a time on a disk: `flock`, freed by the kernel when its owner dies. Users meet on the kernel's own
//! file of the disk below /sys, which nobody can write, replace or fill with text. Those of one user also meet on a file in a
//! directory of his own, which says since when, and which stands for disks that /sys does not have. Lock files are never
//! removed: removing one that another waits for would let two in.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::roots::Roots;
use crate::storage::Storage;
use fathom_spec::names::printable;

/// Who holds a lock; written into the lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// Since when, as the caller wrote it
    pub since: String,
    /// Its command line
    pub command: String,
}

/// Why a lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another calibration runs on this disk: wait for it or end it.
    #[error("another calibration is running on {name}: {}", describe_owner(.owner))]
    Held {
        /// The disk or file system
        name: String,
        /// Who holds it, where that can be told
        owner: Option<Owner>,
    },
    /// The user's lock directory cannot be used, and the kernel has no file of the disk.
    #[error("cannot lock {name}: {source}")]
    Unusable {
        /// The disk or file system
        name: String,
        /// The user's lock directory
        directory: PathBuf,
        source: io::Error,
    },
}

fn describe_owner(owner: &Option<Owner>) -> String {
    match owner {
        Some(Owner { pid, since, command }) => {
            // Another user may have written it.
            format!("process {pid} since {} ({})", printable(since), printable(command))
        }
        None => "its owner cannot be told".into(),
    }
}

/// Locks that are held as long as this lives.
#[derive(Debug)]
pub struct Locks {
    files: Vec<File>,
}

impl Locks {
    /// How many lock files are held.
    pub fn count(&self) -> usize {
        self.files.len()
    }
}

impl Drop for Locks {
    /// Freed here and not by closing alone: a process that was forked in between holds the same open files for a moment.
    fn drop(&mut self) {
        for file in &self.files {
            // What cannot be freed now the kernel frees with the last of those files.
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

/// Where locks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockPlaces {
    /// The kernel's folders of block devices by number, on whose files all users meet: `/sys/dev/block`.
    pub devices: Option<PathBuf>,
    /// The user's own directory, made if it is not there.
    pub own: PathBuf,
}

impl LockPlaces {
    /// Those of this machine for the user who runs: `runtime` is his directory for files of running programs, if he has one.
    pub fn of_user(roots: &Roots, runtime: Option<PathBuf>) -> Self {
        let user = rustix::process::geteuid();
        let shared = ["/run/lock", "/tmp"].map(Path::new).into_iter().find(|place| place.is_dir());
        let shared = shared.unwrap_or(Path::new("/tmp"));
        let own = match (user.is_root(), runtime) {
            (true, _) => shared.join("fathom"),
            (false, Some(runtime)) => runtime.join("fathom"),
            (false, None) => shared.join(format!("fathom-{user}")),
        };
        LockPlaces { devices: Some(roots.sys.join("dev/block")), own }
    }
}

/// The names to lock for a set of targets, sorted: every path of every disk, and every server, pool or file system in memory
/// where the walk down ended without one.
pub fn lock_names(storages: &[Storage]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for storage in storages {
        let numbers = storage.disk_numbers();
        let safe = |c: char| if c.is_ascii_alphanumeric() || ".:-".contains(c) { c } else { '_' };
        let named = |place: &String| format!("fs-{}", place.chars().map(safe).collect::<String>());
        if numbers.is_empty() && storage.places.is_empty() {
            names.insert(named(&storage.identity));
        }
        names.extend(storage.places.iter().map(named));
        names.extend(numbers.iter().map(|number| format!("disk-{number}")));
    }
    names
}

/// Locks all names in sorted order without waiting.
///
/// # Errors
/// [`LockError::Held`] says who has one of them; [`LockError::Unusable`] that there is nothing to lock.
pub fn acquire(places: &LockPlaces, names: &BTreeSet<String>, owner: &Owner) -> Result<Locks, LockError> {
    let mut held = Locks { files: Vec::new() };
    for name in names {
        let held_by = |owner| LockError::Held { name: name.clone(), owner };
        let own = open_own(&places.own, name).and_then(|file| Ok((try_lock(&file)?, file)));
        let is_own = match own {
            Ok((false, mut file)) => return Err(held_by(read_owner(&mut file))),
            Ok((true, mut file)) => {
                write_owner(&mut file, owner);
                held.files.push(file);
                Ok(())
            }
            Err(error) => Err(error),
        };
        let device = name.strip_prefix("disk-").zip(places.devices.as_ref());
        let device = device.and_then(|(number, devices)| File::open(devices.join(number).join("dev")).ok());
        let locked = device.map(|file| (try_lock(&file), file));
        match (locked, is_own) {
            (Some((Ok(false), file)), _) => return Err(held_by(holder_by_kernel(&file).map(described))),
            (Some((Ok(true), file)), _) => held.files.push(file),
            (_, Ok(())) => {}
            (_, Err(source)) => {
                return Err(LockError::Unusable {
                    name: name.clone(),
                    directory: places.own.clone(),
                    source,
                });
            }
        }
    }
    Ok(held)
}

/// Is it locked now? `false`: somebody else has it.
fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The lock file of that name in the user's own directory. What others may have put there is not opened: no link, no
/// pipe that hangs, no file of somebody else's.
fn open_own(directory: &Path, name: &str) -> io::Result<File> {
    let refused = |what: &str| Err(io::Error::other(format!("{} {what}", directory.display())));
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(directory)?;
    let user = rustix::process::geteuid().as_raw();
    if !about.is_dir() {
        return refused("is not a directory");
    }
    if about.uid() != user {
        return refused("belongs to another user");
    }
    if about.mode() & 0o022 != 0 {
        // As earlier versions made it.
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    let path = directory.join(name);
    let is_ours = |about: &fs::Metadata| about.is_file() && about.uid() == user && about.nlink() == 1;
    if fs::symlink_metadata(&path).is_ok_and(|about| !is_ours(&about)) {
        fs::remove_file(&path)?;
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(&path)?;
    match is_ours(&file.metadata()?) {
        true => Ok(file),
        false => refused("has a lock that is no file of ours"),
    }
}

/// The owner's note is for the message only; a lock without it still holds.
fn write_owner(file: &mut File, owner: &Owner) {
    let Owner { pid, since, command } = owner;
    let line = |text: &str| text.replace('\n', " ");
    let text = format!("{pid}\n{}\n{}\n", line(since), line(command));
    let _ = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(text.as_bytes()));
}

/// The kernel's list of locks says who holds it now; the note, if it is by the same process, says the rest.
fn read_owner(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(NOTE_MOST).read_to_string(&mut text));
    let mut lines = text.lines();
    let note = (|| {
        let pid = lines.next()?.parse().ok()?;
        Some(Owner { pid, since: lines.next()?.into(), command: lines.next()?.into() })
    })();
    let Some(pid) = holder_by_kernel(file) else { return note };
    note.filter(|note| note.pid == pid).or_else(|| Some(described(pid)))
}

/// Bytes of a note that are read: a command line may be long.
const NOTE_MOST: u64 = 64 << 10;

/// A process as the kernel knows it.
fn described(pid: u32) -> Owner {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_string();
    Owner { pid, since: "an unknown time".into(), command }
}

/// `1: FLOCK  ADVISORY  WRITE 1234 fe:00:56789 0 EOF`
fn holder_by_kernel(file: &File) -> Option<u32> {
    let about = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(about.dev()), rustix::fs::minor(about.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", about.ino());
    let holder = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&wanted.as_str()))
            .then(|| words.get(4)?.parse().ok())
            .flatten()
    };
    (0..LOOKS).find_map(|_| fs::read_to_string("/proc/locks").ok()?.lines().find_map(holder))
}

/// The kernel gives its list in parts, and a lock that stays is left out where others come and go between two of them.
const LOOKS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn owner() -> Owner {
        Owner { pid: std::process::id(), since: "12:00".into(), command: "fathom calibrate .".into() }
    }

    fn own(directory: &Path) -> LockPlaces {
        LockPlaces { devices: None, own: directory.to_owned() }
    }

    #[test]
    fn what_others_left_under_a_locks_name_is_neither_opened_nor_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let names: BTreeSet<String> = ["disk-8:0".into(), "disk-8:16".into()].into();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            place.path().join("disk-8:0"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o444),
            0,
        )
        .unwrap();
        let precious = place.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, place.path().join("disk-8:16")).unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        let held = acquire(&own(place.path()), &names, &owner()).unwrap();
        assert_eq!(held.count(), 2);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(place.path().join("disk-8:0")).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn users_with_directories_of_their_own_meet_on_the_kernels_file_of_the_disk() {
        let place = tempfile::tempdir().unwrap();
        let devices = place.path().join("dev/block");
        fs::create_dir_all(devices.join("8:0")).unwrap();
        fs::write(devices.join("8:0/dev"), "8:0\n").unwrap();
        let of = |name: &str| LockPlaces { devices: Some(devices.clone()), own: place.path().join(name) };
        let names: BTreeSet<String> = ["disk-8:0".into()].into();
        let held = acquire(&of("one"), &names, &owner()).unwrap();
        match acquire(&of("other"), &names, &owner()) {
            Err(LockError::Held { owner: Some(by), .. }) => assert_eq!(by.pid, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(held);
        acquire(&of("other"), &names, &owner()).unwrap();
        // Without a directory the kernel's file is enough, and without both nothing can be locked.
        fs::write(place.path().join("file"), "").unwrap();
        acquire(&of("file"), &names, &owner()).unwrap();
        let nowhere = acquire(&own(&place.path().join("file")), &names, &owner());
        assert!(matches!(nowhere, Err(LockError::Unusable { .. })), "{nowhere:?}");
    }

    #[test]
    fn what_the_owner_says_of_itself_moves_no_cursor() {
        let command = "\u{1b}]0;pwned\u{7}\u{1b}[2J\nx".to_owned();
        let owner = Some(Owner { pid: 7, since: "now".into(), command });
        let told = LockError::Held { name: "disk-8:0".into(), owner }.to_string();
        assert!(!told.contains(['\u{1b}', '\u{7}', '\n']), "{told:?}");
    }

    #[test]
    fn a_second_lock_fails_at_once_and_names_the_first() {
        let place = tempfile::tempdir().unwrap();
        let places = own(&place.path().join("locks"));
        let both: BTreeSet<String> = ["disk-8:0".into(), "disk-8:16".into()].into();
        let one: BTreeSet<String> = ["disk-8:16".into()].into();
        let held = acquire(&places, &both, &owner()).unwrap();
        assert_eq!(held.count(), 2);
        match acquire(&places, &one, &owner()) {
            Err(LockError::Held { name, owner: Some(by) }) => {
                assert_eq!((name.as_str(), by), ("disk-8:16", owner()))
            }
            other => panic!("{other:?}"),
        }
        drop(held);
        acquire(&places, &one, &owner()).unwrap();
    }

    #[test]
    fn a_process_that_was_forked_meanwhile_does_not_keep_it() {
        let place = tempfile::tempdir().unwrap();
        let places = own(place.path());
        let names: BTreeSet<String> = ["disk-8:0".into()].into();
        let held = acquire(&places, &names, &owner()).unwrap();
        let childs = held.files[0].try_clone().unwrap();
        drop(held);
        acquire(&places, &names, &owner()).unwrap();
        drop(childs);
    }

    #[test]
    fn the_lock_dies_with_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let places = own(place.path());
        let names: BTreeSet<String> = ["disk-8:0".into()].into();
        drop(acquire(&places, &names, &owner()).unwrap());
        let mut child = Command::new("flock")
            .args(["-x", "--no-fork"])
            .arg(place.path().join("disk-8:0"))
            .args(["sh", "-c", "echo locked; exec sleep 1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut word = [0u8; 6];
        child.stdout.take().unwrap().read_exact(&mut word).unwrap();
        match acquire(&places, &names, &owner()) {
            Err(LockError::Held { owner: Some(by), .. }) => {
                assert_eq!(by.pid, child.id(), "by /proc/locks, not by the note")
            }
            other => panic!("{other:?}"),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acquire(&places, &names, &owner()).unwrap();
    }
}
