//! Scratch files whose names say whose they are: `.fathom-scratch-HOST-BOOT-NAMESPACE-PID-START-N.dat`. One is removed only
//! when its name is of this form and its owner is dead for certain.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::process_time::stat_field;
use crate::roots::{Roots, read_text};

const PREFIX: &str = ".fathom-scratch-";
const SUFFIX: &str = ".dat";

/// What tells one process from every other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The host's name; other characters than letters, digits and dots are `_`.
    pub host: String,
    /// The first eight digits of the boot's id.
    pub boot: String,
    /// The inode of the namespace that the pid is of.
    pub pid_namespace: u64,
    pub pid: u32,
    /// When it started, in ticks since boot (field 22 of /proc/PID/stat).
    pub start_ticks: u64,
}

/// What is known of a scratch file's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// It runs.
    Alive,
    /// It does not.
    Dead,
    /// It is of another host or another pid namespace, so nobody here can tell.
    CannotTell,
}

/// A scratch file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// Its length
    pub size_bytes: u64,
    pub mark: Mark,
    /// Whether that process runs
    pub owner: OwnerState,
}

impl Mark {
    /// The mark of this process.
    pub fn own(roots: &Roots) -> io::Result<Self> {
        let pid = std::process::id();
        let missing = |what: &str| io::Error::other(format!("{what} cannot be read"));
        Ok(Mark {
            host: safe(&read_text(&roots.proc.join("sys/kernel/hostname"))?),
            boot: boot(roots)?,
            pid_namespace: fs::metadata(roots.proc.join("self/ns/pid"))?.ino(),
            pid,
            start_ticks: start_ticks(roots, pid).ok_or_else(|| missing("this process's start time"))?,
        })
    }

    /// The name of this process's scratch file `number`.
    pub fn file_name(&self, number: u32) -> String {
        let Mark { host, boot, pid_namespace, pid, start_ticks } = self;
        format!("{PREFIX}{host}-{boot}-{pid_namespace}-{pid}-{start_ticks}-{number}{SUFFIX}")
    }

    /// The mark in a name of exactly this form.
    pub fn parse(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split('-').collect();
        let [host, boot, pid_namespace, pid, start_ticks, number] = parts[..] else { return None };
        let mark = Mark {
            host: host.into(),
            boot: boot.into(),
            pid_namespace: pid_namespace.parse().ok()?,
            pid: pid.parse().ok()?,
            start_ticks: start_ticks.parse().ok()?,
        };
        // Written again it must be the same: no signs, no leading zeros.
        (mark.file_name(number.parse().ok()?) == name).then_some(mark)
    }

    /// Whether the process of this mark runs, as seen by the process of `own`.
    pub fn owner_state(&self, roots: &Roots, own: &Mark) -> OwnerState {
        if self.host != own.host {
            return OwnerState::CannotTell;
        }
        if self.boot != own.boot {
            return OwnerState::Dead;
        }
        if self.pid_namespace != own.pid_namespace {
            return OwnerState::CannotTell;
        }
        match start_ticks(roots, self.pid) {
            Some(ticks) if ticks == self.start_ticks => OwnerState::Alive,
            Some(_) => OwnerState::Dead,
            None if roots.proc.join(self.pid.to_string()).exists() => OwnerState::CannotTell,
            None => OwnerState::Dead,
        }
    }
}

fn safe(host: &str) -> String {
    host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect()
}

fn boot(roots: &Roots) -> io::Result<String> {
    Ok(read_text(&roots.proc.join("sys/kernel/random/boot_id"))?.chars().take(8).collect())
}

/// When a process started, in ticks since boot; `None` when it does not run (or cannot be seen).
pub fn start_ticks(roots: &Roots, pid: u32) -> Option<u64> {
    let text = read_text(&roots.proc.join(pid.to_string()).join("stat")).ok()?;
    stat_field(&text, 22)?.parse().ok()
}

/// A scratch file of this process, locked as long as this lives and removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    pub file: File,
    pub path: PathBuf,
}

impl Scratch {
    /// Makes a new empty file in the directory.
    pub fn create(directory: &Path, mark: &Mark, number: u32) -> io::Result<Self> {
        let path = directory.join(mark.file_name(number));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        // Where a file system has no locks the name alone must do.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Scratch { file, path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The scratch files in a directory that are not of this process.
pub fn leftovers(roots: &Roots, directory: &Path, own: &Mark) -> io::Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)?.flatten() {
        let Some(mark) = Mark::parse(&entry.file_name().to_string_lossy()) else { continue };
        let about = entry.metadata()?;
        if mark != *own && about.is_file() {
            let owner = mark.owner_state(roots, own);
            found.push(Leftover { path: entry.path(), size_bytes: about.len(), mark, owner });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Removes a leftover whose owner is dead; answers whether it did. One that is still locked is kept.
pub fn remove_leftover(leftover: &Leftover) -> io::Result<bool> {
    if leftover.owner != OwnerState::Dead {
        return Ok(false);
    }
    let file = File::open(&leftover.path)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        return Ok(false);
    }
    fs::remove_file(&leftover.path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_dead_owners_are_removed() {
        let roots = Roots::default();
        let place = tempfile::tempdir().unwrap();
        let own = Mark::own(&roots).unwrap();
        let mine = Scratch::create(place.path(), &own, 0).unwrap();
        let reborn = Mark { start_ticks: own.start_ticks + 1, ..own.clone() };
        let parent = std::os::unix::process::parent_id();
        let alive = Mark { pid: parent, start_ticks: start_ticks(&roots, parent).unwrap(), ..own.clone() };
        let foreign = Mark { host: "elsewhere".into(), ..own.clone() };
        let earlier = Mark { boot: "00000000".into(), ..own.clone() };
        for mark in [&reborn, &alive, &foreign, &earlier] {
            fs::write(place.path().join(mark.file_name(1)), "x").unwrap();
        }
        fs::write(place.path().join(".fathom-scratch-of-the-user.dat"), "x").unwrap();
        let found = leftovers(&roots, place.path(), &own).unwrap();
        let state = |mark: &Mark| found.iter().find(|left| left.mark == *mark).map(|left| left.owner);
        assert_eq!(state(&reborn), Some(OwnerState::Dead));
        assert_eq!(state(&alive), Some(OwnerState::Alive));
        assert_eq!(state(&foreign), Some(OwnerState::CannotTell));
        assert_eq!(state(&earlier), Some(OwnerState::Dead));
        assert_eq!(found.len(), 4);
        let removed: Vec<bool> = found.iter().map(|left| remove_leftover(left).unwrap()).collect();
        assert_eq!(removed.iter().filter(|gone| **gone).count(), 2);
        let path = mine.path.clone();
        drop(mine);
        assert!(!path.exists());
    }
}
