//! What the user named, made ready to be measured: directories get a scratch file, files and devices are looked
//! at, several become one space.

use anyhow::{Context, Result, bail};
use fathom_host::{
    Room, Roots, Scratch, Storage, TargetKind, database_directory, directory_of, extents, resolve, scratch,
};
use fathom_record::execute_error::TOO_LONG;
use fathom_spec::{Bytes, GIB, MIB, names};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One target, ready.
pub enum Ready {
    /// A simulated device, by its description.
    Simulated(String),
    /// Nothing at all.
    Null,
    /// A file or block device that was there.
    Existing {
        /// Its path.
        path: PathBuf,
        /// What it stands on.
        storage: Box<Storage>,
    },
    /// A scratch file in a directory; removed when this is dropped.
    Scratch {
        /// The file.
        scratch: Scratch,
        /// What it stands on.
        storage: Box<Storage>,
        /// How large it may become.
        room: Bytes,
    },
}

impl Ready {
    /// Its path, where it has one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Ready::Simulated(_) | Ready::Null => None,
            Ready::Existing { path, .. } => Some(path),
            Ready::Scratch { scratch, .. } => Some(&scratch.path),
        }
    }

    /// Is it no storage of this machine?
    pub fn is_simulated(&self) -> bool {
        matches!(self, Ready::Simulated(_) | Ready::Null)
    }

    /// What it stands on, where that is known.
    pub fn storage(&self) -> Option<&Storage> {
        match self {
            Ready::Simulated(_) | Ready::Null => None,
            Ready::Existing { storage, .. } | Ready::Scratch { storage, .. } => Some(storage),
        }
    }
}

/// Does a name stand for a simulated device, or for none at all?
pub fn is_simulated(name: &str) -> bool {
    name == "null" || name.starts_with("sim:")
}

/// A name of a file, directory or device from the root on; what is none of them keeps its name.
pub fn absolute(name: &str) -> String {
    let path = Path::new(name);
    let is_path = !is_simulated(name) && (path.exists() || directory_of(path).is_dir());
    let absolute = is_path.then(|| std::path::absolute(path).ok()).flatten();
    absolute.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| name.to_owned())
}

/// What a target stands on.
///
/// # Errors
/// It is not there, or cannot be looked at.
pub fn look(roots: &Roots, name: &str) -> Result<Storage> {
    let path = Path::new(name);
    resolve(roots, path).map_err(|error| refusal(path, &error))
}

/// Makes one target ready. `number` tells scratch files of one run apart; `beside` is the room that other files of the run need
/// on the same file system.
pub fn ready(roots: &Roots, name: &str, size: Option<Bytes>, number: u32, beside: Bytes) -> Result<Ready> {
    if let Some(device) = name.strip_prefix("sim:") {
        return Ok(Ready::Simulated(device.to_owned()));
    }
    if name == "null" {
        return Ok(Ready::Null);
    }
    let path = Path::new(name);
    let storage = resolve(roots, path).map_err(|error| refusal(path, &error))?;
    match storage.kind {
        TargetKind::Directory => {
            refuse_database(path)?;
            let room = room_in(path).and_then(|room| room_for(room, size, beside));
            let room = room.with_context(|| format!("no room in {name}"))?;
            in_directory(roots, path, storage, room, number)
        }
        TargetKind::RegularFile | TargetKind::BlockDevice => {
            Ok(Ready::Existing { path: path.to_owned(), storage: Box::new(storage) })
        }
        TargetKind::CharacterDevice if name.starts_with("/dev/raw/") => {
            bail!(
                "raw devices are gone: name the block device\nhint: /dev/raw/raw1 is bound to one; see lsblk"
            )
        }
        TargetKind::CharacterDevice | TargetKind::Other => {
            bail!(
                "{name} is neither a directory, a regular file nor a block device\nhint: name the file system or disk that you mean"
            )
        }
    }
}

fn refusal(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let name = names::shown(path);
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "check the name; a directory on the disk that you mean will do".to_owned()
        }
        std::io::ErrorKind::PermissionDenied => "run as a user who may look there".to_owned(),
        // What stands on a file is found by its whole path.
        std::io::ErrorKind::InvalidFilename => TOO_LONG.to_owned(),
        _ => format!("see whether `stat {name}` works"),
    };
    anyhow::anyhow!("cannot look at {name}: {error}\nhint: {hint}")
}

/// Nobody's scratch file is made among a database's own files.
fn refuse_database(path: &Path) -> Result<()> {
    let name = names::shown(path);
    if let Some(database) = database_directory::database_directory(path) {
        bail!(
            "{name} is inside a database's own directory: {database}\nhint: name a directory beside it on the same disk, or read the files with --data-files {name}"
        );
    }
    Ok(())
}

fn room_in(path: &Path) -> Result<Room> {
    Room::of(path).map_err(|error| {
        anyhow::anyhow!("cannot tell the free space: {error}\nhint: name a file or a device instead")
    })
}

fn in_directory(roots: &Roots, path: &Path, storage: Storage, room: Bytes, number: u32) -> Result<Ready> {
    let name = names::shown(path);
    let mark = scratch::Mark::own(roots).map_err(|error| {
        anyhow::anyhow!("cannot mark a scratch file as ours: {error}\nhint: mount /proc: it tells whether the owner of a scratch file still runs")
    })?;
    let scratch = Scratch::create(path, &mark, number).map_err(|error| {
        anyhow::anyhow!("cannot make a scratch file in {name}: {error}\nhint: name a directory that you may write to, or a file to read")
    })?;
    Ok(Ready::Scratch { scratch, storage: Box::new(storage), room })
}

/// How large a scratch file may become: what was asked for, else the least of a quarter of the free space and
/// 32 GiB; in no case so much that less than a tenth of the file system stays free, with the files beside it.
pub fn room_for(room: Room, asked: Option<Bytes>, beside: Bytes) -> Result<Bytes> {
    let free = room.free_bytes;
    let most = room.most_bytes().saturating_sub(beside.0);
    let room = match asked {
        Some(asked) if asked.0 > most => bail!(
            "{asked} would leave less than a tenth of the file system free ({} are free{})\nhint: ask for at most --size {}",
            Bytes(free),
            if beside.0 > 0 { format!(", and the commit log needs {beside}") } else { String::new() },
            Bytes(most / MIB * MIB)
        ),
        Some(asked) => asked.0,
        None => most.min(free / 4).min(32 * GIB),
    };
    let room = room / MIB * MIB;
    if room < 16 * MIB {
        bail!(
            "{} are too little to measure on ({} are free)\nhint: free some space, or name a file or device that is there",
            Bytes(room),
            Bytes(free)
        );
    }
    Ok(Bytes(room))
}

/// The files that a database keeps below a directory or that a pattern names, of 1 MiB and more, and those left
/// out with the reason.
pub fn data_files(pattern: &str) -> Result<(Vec<String>, Vec<String>)> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    let path = Path::new(pattern);
    let names: Vec<PathBuf> = match path.is_dir() {
        true => below(path, &mut left_out),
        false => matching(path)?,
    };
    for name in names {
        match std::fs::metadata(&name) {
            Err(error) => left_out.push(format!("{}: {error}", names::shown(&name))),
            Ok(about) if !about.is_file() => {
                left_out.push(format!("{}: not a regular file", names::shown(&name)))
            }
            Ok(about) if about.len() < MIB => {
                left_out.push(format!("{}: {} is less than 1 MiB", names::shown(&name), Bytes(about.len())));
            }
            Ok(_) => match (names::text(&name), std::fs::File::open(&name)) {
                (Ok(text), Ok(_)) => files.push(text.to_owned()),
                (Err(_), _) => left_out.push(format!("{name:?}: the name is not UTF-8 text")),
                (_, Err(error)) => left_out.push(format!("{}: {error}", names::shown(&name))),
            },
        }
    }
    files.sort();
    if files.is_empty() {
        bail!(
            "no file of 1 MiB or more in {pattern} can be read\nhint: name the directory of the data files, or a pattern such as '/u01/oradata/*.dbf'"
        );
    }
    Ok((files, left_out))
}

fn below(directory: &Path, left_out: &mut Vec<String>) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            left_out.push(format!("{}: {error}", names::shown(directory)));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(below(&entry.path(), left_out)),
            Ok(kind) if kind.is_symlink() => {
                left_out.push(format!("{}: a link", names::shown(&entry.path())))
            }
            _ => found.push(entry.path()),
        }
    }
    found
}

/// Files of one directory whose names match a pattern of `*` and `?`.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>> {
    let directory = directory_of(pattern);
    let name = pattern.file_name().context("a pattern such as '/u01/oradata/*.dbf' is needed")?;
    let entries = std::fs::read_dir(directory).map_err(|error| refusal(directory, &error))?;
    let fits = |entry: &std::fs::DirEntry| fits(&characters(name), &characters(&entry.file_name()));
    Ok(entries.flatten().filter(fits).map(|entry| entry.path()).collect())
}

/// The characters of a name; a byte that is no text is one character of its own.
fn characters(name: &OsStr) -> Vec<char> {
    let of_chunk = |chunk: std::str::Utf8Chunk<'_>| -> Vec<char> {
        let rest = chunk.invalid().iter().map(|byte| char::from_u32(0xF_0000 + u32::from(*byte)));
        chunk.valid().chars().chain(rest.flatten()).collect()
    };
    name.as_bytes().utf8_chunks().flat_map(of_chunk).collect()
}

fn fits(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=text.len()).any(|skip| fits(rest, &text[skip..])),
        (['?', p @ ..], [_, t @ ..]) => fits(p, t),
        ([a, p @ ..], [b, t @ ..]) => a == b && fits(p, t),
        _ => false,
    }
}

/// Bytes of a file that were really written; `None` where the file system cannot tell.
pub fn written_bytes(path: &Path) -> Option<u64> {
    let file = std::fs::File::open(path).ok()?;
    extents::written_state(&file)
        .ok()
        .map(|state| state.written_bytes + state.encoded_bytes + state.delayed_bytes)
}

/// Removes scratch files of dead owners in a directory and says what was found.
pub fn clear_leftovers(roots: &Roots, directory: &Path) -> Vec<String> {
    let Ok(own) = scratch::Mark::own(roots) else { return Vec::new() };
    let Ok(found) = scratch::leftovers(roots, directory, &own) else { return Vec::new() };
    found
        .iter()
        .filter_map(|leftover| {
            let name = names::shown(&leftover.path);
            let size = Bytes(leftover.size_bytes);
            match scratch::remove_leftover(leftover) {
                Ok(true) => Some(format!("removed {name} ({size}), which a killed run left behind")),
                Ok(false) => None,
                Err(error) => Some(format!(
                    "{name} ({size}) was left behind by a killed run and cannot be removed: {error}"
                )),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_file_system_stays_free() {
        let of = |free_bytes, asked, beside| {
            room_for(Room { free_bytes, total_bytes: 256 * GIB }, asked, Bytes(beside))
        };
        assert_eq!(of(80 * GIB, None, 0).unwrap(), Bytes(20 * GIB));
        let all = 30 * GIB - 256 * GIB / 10;
        assert_eq!(of(30 * GIB, None, 0).unwrap(), Bytes(all / MIB * MIB));
        assert!(of(10 * GIB, None, 0).is_err());
        assert!(of(80 * GIB, Some(Bytes(60 * GIB)), 0).is_err());
        assert_eq!(of(80 * GIB, Some(Bytes(GIB)), 0).unwrap(), Bytes(GIB));
        // The files beside it have their room too.
        assert_eq!(of(30 * GIB, None, 16 * MIB).unwrap(), Bytes((all - 16 * MIB) / MIB * MIB));
        assert!(of(30 * GIB, Some(Bytes(all)), MIB).is_err());
    }

    #[test]
    fn patterns_know_stars_and_question_marks() {
        let fit = |p: &str, t: &str| fits(&p.chars().collect::<Vec<_>>(), &t.chars().collect::<Vec<_>>());
        assert!(
            fit("*.dbf", "system01.dbf") && fit("a?c*", "abc") && !fit("*.dbf", "a.ctl") && !fit("?", "")
        );
    }
}
