//! What stands in a file or on a device: its bytes, what blkid says of them, and the first of all its bytes that is not zero.
//! Knows nothing of who uses it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{OFlags, SeekFrom};

use crate::file_identity::FileIdentity;
use crate::use_kind::UseKind;

/// A target's bytes, read past the page cache where that is possible: a cluster's other node may have written since.
pub(crate) struct Content {
    plain: File,
    direct: Option<File>,
    pub(crate) size_bytes: u64,
}

impl Content {
    /// Opens it, if the path still leads to what was meant.
    pub(crate) fn open(path: &Path, identity: FileIdentity) -> io::Result<Self> {
        let plain = File::open(path)?;
        identity.expect(&plain)?;
        let size_bytes = match identity {
            FileIdentity::Device(_) => crate::sys::block_device_size_bytes(plain.as_fd())?,
            FileIdentity::File(..) => plain.metadata()?.len(),
        };
        let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path).ok();
        let direct = direct.filter(|direct| identity.expect(direct).is_ok());
        Ok(Content { plain, direct, size_bytes })
    }

    pub(crate) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        if let Some(bytes) = self.direct.as_ref().and_then(|file| read_direct(file, offset, length)) {
            return Ok(bytes);
        }
        let mut bytes = vec![0u8; length];
        self.plain.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

const ALIGNMENT: usize = 4096;

/// A direct read of any range: widened to whole blocks, into an aligned part of a larger buffer.
fn read_direct(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let start = offset / ALIGNMENT as u64 * ALIGNMENT as u64;
    let skip = (offset - start) as usize;
    let wanted = (skip + length).next_multiple_of(ALIGNMENT);
    let mut buffer = vec![0u8; wanted + ALIGNMENT];
    let shift = buffer.as_ptr().align_offset(ALIGNMENT);
    let aligned = buffer.get_mut(shift..shift + wanted)?;
    let mut got = 0;
    while got < skip + length {
        match file.read_at(&mut aligned[got..], start + got as u64) {
            Ok(0) | Err(_) => return None,
            Ok(count) => got += count,
        }
    }
    Some(aligned[skip..skip + length].to_vec())
}

/// How far a search for bytes that are not zero came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroSearch {
    /// The first byte that is not zero.
    pub first: Option<u64>,
    /// All before this was looked at; holes of a file count.
    pub searched_bytes: u64,
    /// How much there is.
    pub size_bytes: u64,
}

impl ZeroSearch {
    /// Is all of it zeros for certain?
    pub fn is_all_zeros(&self) -> bool {
        self.first.is_none() && self.searched_bytes >= self.size_bytes
    }
}

/// Bytes of a read.
const CHUNK: u64 = 2 << 20;
/// Reads outstanding.
const READERS: usize = 4;
/// How often it is asked whether a search goes on.
const LOOKS_APART: Duration = Duration::from_millis(10);
static ZEROS: [u8; 4096] = [0; 4096];

/// Looks for the first byte that is not zero, past the page cache and with several reads outstanding, while `goes_on` says
/// so. Of a file only what was ever written is read.
pub fn first_nonzero(
    path: &Path,
    identity: FileIdentity,
    goes_on: &dyn Fn() -> bool,
) -> io::Result<ZeroSearch> {
    let content = Content::open(path, identity)?;
    let size_bytes = content.size_bytes;
    let mut search = ZeroSearch { first: None, searched_bytes: 0, size_bytes };
    while search.first.is_none() && search.searched_bytes < size_bytes && goes_on() {
        let (start, end) = content.data_after(search.searched_bytes);
        search.first = content.search(start, end, &mut search.searched_bytes, goes_on)?;
        if search.searched_bytes < end {
            break;
        }
    }
    Ok(search)
}

impl Content {
    /// The next range with data; all of it where the file system cannot tell.
    fn data_after(&self, from: u64) -> (u64, u64) {
        use rustix::io::Errno;
        match rustix::fs::seek(&self.plain, SeekFrom::Data(from)) {
            Ok(start) if start < self.size_bytes => {
                let end = rustix::fs::seek(&self.plain, SeekFrom::Hole(start)).unwrap_or(self.size_bytes);
                (start, end.clamp(start, self.size_bytes))
            }
            Ok(_) | Err(Errno::NXIO) => (self.size_bytes, self.size_bytes),
            Err(_) => (from, self.size_bytes),
        }
    }

    fn search(
        &self,
        start: u64,
        end: u64,
        searched: &mut u64,
        goes_on: &dyn Fn() -> bool,
    ) -> io::Result<Option<u64>> {
        let (next, first) = (AtomicU64::new(start), AtomicU64::new(u64::MAX));
        let stopped = AtomicBool::new(false);
        let read = || -> io::Result<()> {
            while first.load(Ordering::Relaxed) == u64::MAX && !stopped.load(Ordering::Relaxed) {
                let at = next.fetch_add(CHUNK, Ordering::Relaxed);
                if at >= end {
                    break;
                }
                let bytes = self.read(at, CHUNK.min(end - at) as usize).inspect_err(|_| {
                    stopped.store(true, Ordering::Relaxed);
                })?;
                let some = bytes.chunks(ZEROS.len()).position(|part| part != &ZEROS[..part.len()]);
                if let Some(part) = some {
                    let begin = part * ZEROS.len();
                    let within = bytes[begin..].iter().position(|byte| *byte != 0).unwrap_or(0);
                    first.fetch_min(at + (begin + within) as u64, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let waits = std::thread::current();
        let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
            let read = || {
                let result = read();
                waits.unpark();
                result
            };
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
            while !readers.iter().all(|reader| reader.is_finished()) {
                if !goes_on() {
                    stopped.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(LOOKS_APART);
            }
            let failed = || Err(io::Error::other("a thread failed"));
            readers.into_iter().map(|reader| reader.join().unwrap_or_else(|_| failed())).collect()
        });
        results.into_iter().collect::<io::Result<()>>()?;
        // Every chunk that was taken was read.
        *searched = next.into_inner().min(end).max(*searched);
        Ok(Some(first.into_inner()).filter(|first| *first != u64::MAX))
    }
}

/// libblkid knows more marks than our table; asked by its program where there is one.
pub(crate) fn ask_blkid(path: &Path) -> Vec<(UseKind, String)> {
    let programs = ["/usr/sbin/blkid", "/sbin/blkid", "blkid"];
    let ask = |program: &&str| Command::new(program).args(["-p", "-o", "export"]).arg(path).output().ok();
    let Some(answer) = programs.iter().find_map(ask) else { return Vec::new() };
    if answer.status.code() == Some(8) {
        return vec![(UseKind::Content, "several signatures".into())];
    }
    parse_blkid(&String::from_utf8_lossy(&answer.stdout))
}

/// `TYPE=ext4`, `USAGE=filesystem`, `PTTYPE=gpt`
fn parse_blkid(text: &str) -> Vec<(UseKind, String)> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let mut found = Vec::new();
    if let Some(table) = value("PTTYPE") {
        found.push((UseKind::PartitionTable, format!("partition table {table}")));
    }
    if let Some(kind) = value("TYPE") {
        let holding = match (kind, value("USAGE").unwrap_or("")) {
            ("LVM2_member" | "LVM1_member", _) => UseKind::LvmPhysicalVolume,
            ("oracleasm", _) => UseKind::OracleAsm,
            ("mpath_member", _) => UseKind::MultipathMember,
            ("drbd" | "bcache" | "ceph_bluestore" | "zfs_member" | "stratis", _) => UseKind::Content,
            (_, "raid") => UseKind::MdMember,
            (_, "filesystem") => UseKind::FileSystem,
            _ => UseKind::Content,
        };
        found.push((holding, kind.to_string()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(file: &File, path: &Path, goes_on: &dyn Fn() -> bool) -> ZeroSearch {
        first_nonzero(path, FileIdentity::of_descriptor(file).unwrap(), goes_on).unwrap()
    }

    #[test]
    fn one_byte_anywhere_is_found_and_what_was_not_looked_at_is_told() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = place.path().join("f");
        let file = File::create_new(&path).unwrap();
        file.set_len(64 << 20).unwrap();
        assert!(search(&file, &path, &|| true).is_all_zeros());
        for at in [0, 1_200_001, (33 << 20) + 4095, (64 << 20) - 1] {
            file.set_len(0).unwrap();
            file.set_len(64 << 20).unwrap();
            file.write_all_at(&[0; 3 << 20], 8 << 20).unwrap();
            file.write_all_at(&[7], at).unwrap();
            file.sync_all().unwrap();
            assert_eq!(search(&file, &path, &|| true).first, Some(at));
        }
        let stopped = search(&file, &path, &|| false);
        assert_eq!((stopped.first, stopped.searched_bytes, stopped.is_all_zeros()), (None, 0, false));
    }

    #[test]
    fn a_file_that_has_taken_the_name_is_not_looked_at() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (place.path().join("one"), place.path().join("other"));
        std::fs::write(&one, "x").unwrap();
        std::fs::write(&other, "").unwrap();
        let identity = FileIdentity::of_path(&one).unwrap();
        std::fs::rename(&other, &one).unwrap();
        assert!(first_nonzero(&one, identity, &|| true).is_err());
    }
}
