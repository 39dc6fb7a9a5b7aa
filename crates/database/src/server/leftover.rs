//! Servers that a killed fathom left behind: found by the mark in their folders, stopped, and removed. One is touched only when
//! its owner is dead for certain; a folder without a mark never.

use super::group::MemoryGroup;
use fathom_host::Roots;
use fathom_host::scratch::{Mark, OwnerState};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "fathom-server-";
/// The file in a server's folder that says whose it is.
const FILE: &str = "owner";
/// Short names of the processes that are ended: servers, and what makes their data directories.
const SERVERS: [&str; 5] = ["postgres", "postmaster", "initdb", "mariadbd", "mysqld"];
/// Looks at the processes, 20 ms apart, before those that still run are killed, and before they are given up.
const PATIENT: u32 = 250;
const GIVEN_UP: u32 = 350;
const LOOK: Duration = Duration::from_millis(20);

/// A server whose fathom was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its folder.
    pub home: PathBuf,
    /// Why it is still there; `None`: it was stopped and removed.
    pub trouble: Option<String>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Cleared {
    pub(super) leftovers: Vec<Leftover>,
    /// Had one of those that were removed made the directory itself?
    pub(super) made: bool,
}

/// The name of a server's folder and control group: that of no other process since the machine was started.
pub(super) fn name(own: &Mark, number: u32) -> String {
    format!("{PREFIX}{}-{}-{number}", own.pid, own.start_ticks)
}

/// Marks a new server's folder as this process's: locked as long as the file is open. `made`: so was the directory above it.
pub(super) fn mark(home: &Path, own: &Mark, made: bool) -> io::Result<File> {
    let mut file = File::create_new(home.join(FILE))?;
    // Where a file system has no locks the process's number must do.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let made = if made { "made" } else { "found" };
    file.write_all(format!("{}\n{made}\n", own.file_name(0)).as_bytes())?;
    Ok(file)
}

/// The mark in a folder, and whether the directory above it was made for it.
fn read(home: &Path) -> Option<(Mark, bool)> {
    let text = fs::read_to_string(home.join(FILE)).ok()?;
    let mut lines = text.lines();
    Some((Mark::parse(lines.next()?)?, lines.next() == Some("made")))
}

fn is_locked(home: &Path) -> bool {
    let lock = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive);
    File::open(home.join(FILE)).is_ok_and(|file| lock(file) == Err(rustix::io::Errno::WOULDBLOCK))
}

/// Stops and removes the servers below a directory (its real path) whose owners are dead.
pub(super) fn clear(directory: &Path, roots: &Roots, own: &Mark) -> Cleared {
    let mut cleared = Cleared::default();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (home, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !name.starts_with(PREFIX) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Some((mark, made)) = read(&home) else { continue };
        if mark.owner_state(roots, own) != OwnerState::Dead || is_locked(&home) {
            continue;
        }
        let trouble = remove(&home, &name, roots).err().map(|error| error.to_string());
        cleared.made |= made && trouble.is_none();
        cleared.leftovers.push(Leftover { home, trouble });
    }
    cleared
}

fn remove(home: &Path, name: &str, roots: &Roots) -> io::Result<()> {
    stop(home, roots);
    if !running(home, roots).is_empty() {
        return Err(io::Error::other("its processes do not end"));
    }
    if MemoryGroup::found(name).is_some_and(|group| !group.remove()) {
        return Err(io::Error::other("its memory control group is still busy"));
    }
    // The socket of a server whose path was too long for one.
    match fs::remove_dir_all(Path::new("/tmp").join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir_all(home)
}

/// A server's processes work in its folder or below, and nobody else's of that name do.
fn is_of(home: &Path, roots: &Roots, pid: u32) -> Option<String> {
    let folder = roots.proc.join(pid.to_string());
    let works_in = fs::read_link(folder.join("cwd")).ok()?;
    let command = fs::read_to_string(folder.join("comm")).ok()?.trim().to_owned();
    (works_in.starts_with(home) && SERVERS.contains(&command.as_str())).then_some(command)
}

fn running(home: &Path, roots: &Roots) -> Vec<u32> {
    let entries = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_of(home, roots, *pid).is_some()).collect()
}

/// Sends a process of that folder a signal: PostgreSQL's its own first, at which it ends at once and frees its shared memory.
fn send(home: &Path, roots: &Roots, pid: u32, gently: bool) {
    let Some(handle) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(handle, PidfdFlags::empty()) else { return };
    // Asked again with the process held, so that no other one that got its number is hit.
    let Some(command) = is_of(home, roots, pid) else { return };
    let is_postgres = matches!(command.as_str(), "postgres" | "postmaster");
    let signal = if gently && is_postgres { Signal::QUIT } else { Signal::KILL };
    let _ = pidfd_send_signal(handle, signal);
}

fn stop(home: &Path, roots: &Roots) {
    for look in 0..GIVEN_UP {
        let pids = running(home, roots);
        if pids.is_empty() {
            return;
        }
        if look == 0 || look >= PATIENT {
            pids.iter().for_each(|pid| send(home, roots, *pid, look == 0));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_folders_of_dead_owners_are_removed() {
        let roots = Roots::default();
        let own = Mark::own(&roots).unwrap();
        let dead = Mark { start_ticks: own.start_ticks + 1, ..own.clone() };
        let elsewhere = Mark { host: "elsewhere".to_owned(), ..own.clone() };
        let place = tempfile::tempdir().unwrap();
        let folder = |name: String, mark: Option<&Mark>, made: bool| {
            let home = place.path().join(name);
            fs::create_dir(&home).unwrap();
            fs::write(home.join("data"), "x").unwrap();
            mark.map(|whose| mark_of(&home, whose, made))
        };
        fn mark_of(home: &Path, whose: &Mark, made: bool) -> File {
            mark(home, whose, made).unwrap()
        }
        drop(folder(name(&dead, 0), Some(&dead), true));
        let locked = folder(name(&dead, 1), Some(&dead), true);
        folder(name(&own, 0), Some(&own), false);
        folder(name(&elsewhere, 2), Some(&elsewhere), false);
        folder(name(&dead, 3), None, false);
        folder("my-server".to_owned(), Some(&dead), false);
        let cleared = clear(place.path(), &roots, &own);
        let home = place.path().join(name(&dead, 0));
        assert_eq!(cleared.leftovers, [Leftover { home: home.clone(), trouble: None }]);
        assert!(cleared.made && !home.exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 5);
        drop(locked);
        assert_eq!(clear(place.path(), &roots, &own).leftovers.len(), 1);
    }

    #[test]
    fn a_process_that_only_stands_in_the_folder_is_not_a_server() {
        let place = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(place.path()).unwrap();
        let mut other = std::process::Command::new("sleep").arg("60").current_dir(&home).spawn().unwrap();
        stop(&home, &Roots::default());
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
