//! The space that a file system has left, and how much of it a measurement may take. It judges no tool's needs.

use std::io;
use std::path::Path;

use crate::storage::directory_of;

/// The share of a file system that stays free of what a measurement writes: one part in so many.
const KEPT_FREE: u64 = 10;

/// The space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub free_bytes: u64,
    pub total_bytes: u64,
}

impl Room {
    /// That of the file system below a path; a file that is not there yet stands on its directory.
    pub fn of(path: &Path) -> io::Result<Room> {
        let there = if path.exists() { path } else { directory_of(path) };
        let space = rustix::fs::statvfs(there)?;
        Ok(Room {
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        })
    }

    /// The bytes that may be taken of it: a tenth of the file system stays free.
    pub fn most_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.total_bytes / KEPT_FREE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_whole_stays_free_and_a_full_one_has_no_room() {
        let room = |free_bytes| Room { free_bytes, total_bytes: 1000 }.most_bytes();
        assert_eq!([room(1000), room(101), room(100), room(3)], [900, 1, 0, 0]);
    }

    #[test]
    fn a_file_that_is_not_there_yet_has_the_room_of_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let of = |path: &Path| Room::of(path).unwrap().total_bytes;
        assert_eq!(of(&place.path().join("later")), of(place.path()));
    }
}
