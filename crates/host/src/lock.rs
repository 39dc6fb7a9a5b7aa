//! One calibration at a time on a disk: `flock` on a file named after each physical disk, freed by the kernel when its owner
//! dies. Every usable directory of [`directories`] is locked, so that root and others meet in one of them. Lock files are
//! never removed: removing one that another waits for would let two in.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::storage::Storage;

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
    /// No lock directory can be used: make one of them writable.
    #[error("cannot lock {name}: {source} ({directories:?})")]
    Unusable {
        /// The disk or file system
        name: String,
        directories: Vec<PathBuf>,
        source: io::Error,
    },
}

fn describe_owner(owner: &Option<Owner>) -> String {
    match owner {
        Some(Owner { pid, since, command }) => format!("process {pid} since {since} ({command})"),
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

/// Where lock files live: of the machine, and where others than root may write.
pub fn directories() -> Vec<PathBuf> {
    vec!["/run/lock/fathom".into(), "/tmp/fathom-locks".into()]
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
/// [`LockError::Held`] says who has one of them; [`LockError::Unusable`] that no directory can keep lock files.
pub fn acquire(directories: &[PathBuf], names: &BTreeSet<String>, owner: &Owner) -> Result<Locks, LockError> {
    let mut held = Locks { files: Vec::new() };
    for name in names {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        let before = held.count();
        for directory in directories {
            match open(directory, name) {
                Err(error) => last = error,
                Ok(mut file) => match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => {
                        write_owner(&mut file, owner);
                        held.files.push(file);
                    }
                    Err(rustix::io::Errno::WOULDBLOCK) => {
                        return Err(LockError::Held { name: name.clone(), owner: read_owner(&mut file) });
                    }
                    Err(error) => last = error.into(),
                },
            }
        }
        if held.count() == before {
            let directories = directories.to_vec();
            return Err(LockError::Unusable { name: name.clone(), directories, source: last });
        }
    }
    Ok(held)
}

fn open(directory: &Path, name: &str) -> io::Result<File> {
    if fs::create_dir(directory).is_ok() {
        // Others must be able to lock too, and not to remove: sticky, as /tmp is.
        fs::set_permissions(directory, Permissions::from_mode(0o1777))?;
    }
    if !fs::symlink_metadata(directory)?.is_dir() {
        return Err(io::Error::other(format!("{} is not a directory", directory.display())));
    }
    let path = directory.join(name);
    let plain = |write: bool| {
        OpenOptions::new().read(true).write(write).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&path)
    };
    // Without O_CREAT first: a protected sticky directory refuses O_CREAT on another user's file.
    let opened = plain(true).or_else(|_| plain(false));
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let created = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
            match created {
                Ok(file) => {
                    file.set_permissions(Permissions::from_mode(0o666))?;
                    Ok(file)
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => plain(true),
                Err(error) => Err(error),
            }
        }
        other => other,
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
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text));
    let mut lines = text.lines();
    let note = (|| {
        let pid = lines.next()?.parse().ok()?;
        Some(Owner { pid, since: lines.next()?.into(), command: lines.next()?.into() })
    })();
    let Some(pid) = holder_by_kernel(file) else { return note };
    note.filter(|note| note.pid == pid).or_else(|| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_string();
        Some(Owner { pid, since: "an unknown time".into(), command })
    })
}

/// `1: FLOCK  ADVISORY  WRITE 1234 fe:00:56789 0 EOF`
fn holder_by_kernel(file: &File) -> Option<u32> {
    let about = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(about.dev()), rustix::fs::minor(about.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", about.ino());
    let list = fs::read_to_string("/proc/locks").ok()?;
    list.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&wanted.as_str()))
            .then(|| words.get(4)?.parse().ok())
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn owner() -> Owner {
        Owner { pid: std::process::id(), since: "12:00".into(), command: "fathom calibrate .".into() }
    }

    #[test]
    fn a_second_lock_fails_at_once_and_names_the_first() {
        let place = tempfile::tempdir().unwrap();
        let directories = [place.path().join("locks")];
        let both: BTreeSet<String> = ["disk-8:0".into(), "disk-8:16".into()].into();
        let one: BTreeSet<String> = ["disk-8:16".into()].into();
        let held = acquire(&directories, &both, &owner()).unwrap();
        assert_eq!(held.count(), 2);
        match acquire(&directories, &one, &owner()) {
            Err(LockError::Held { name, owner: Some(by) }) => {
                assert_eq!((name.as_str(), by), ("disk-8:16", owner()))
            }
            other => panic!("{other:?}"),
        }
        drop(held);
        acquire(&directories, &one, &owner()).unwrap();
    }

    #[test]
    fn a_process_that_was_forked_meanwhile_does_not_keep_it() {
        let place = tempfile::tempdir().unwrap();
        let directories = [place.path().to_path_buf()];
        let names: BTreeSet<String> = ["disk-8:0".into()].into();
        let held = acquire(&directories, &names, &owner()).unwrap();
        let childs = held.files[0].try_clone().unwrap();
        drop(held);
        acquire(&directories, &names, &owner()).unwrap();
        drop(childs);
    }

    #[test]
    fn the_lock_dies_with_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let directories = [place.path().to_path_buf()];
        let names: BTreeSet<String> = ["disk-8:0".into()].into();
        drop(acquire(&directories, &names, &owner()).unwrap());
        let mut child = Command::new("flock")
            .args(["-x", "--no-fork"])
            .arg(place.path().join("disk-8:0"))
            .args(["sh", "-c", "echo locked; exec sleep 1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut word = [0u8; 6];
        child.stdout.take().unwrap().read_exact(&mut word).unwrap();
        match acquire(&directories, &names, &owner()) {
            Err(LockError::Held { owner: Some(by), .. }) => {
                assert_eq!(by.pid, child.id(), "by /proc/locks, not by the note")
            }
            other => panic!("{other:?}"),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acquire(&directories, &names, &owner()).unwrap();
    }
}
