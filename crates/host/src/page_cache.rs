//! Which blocks of a file the page cache holds, asked by `mincore`, which brings nothing into it. (A read that may not wait,
//! `RWF_NOWAIT`, is answered from the cache or not at all too, but since Linux 5.10 it starts reading what is not there.)

use crate::sys::{page_in_memory, write_back};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// ZFS has a cache of its own, of which mincore knows nothing.
const ZFS: u64 = 0x2fc1_2fc1;

/// The share of so many evenly spread pages that the page cache holds, 0 to 1. `None` where that cannot be told: of
/// somebody else's file that may not be written the kernel says that all of it is held; ZFS caches elsewhere.
pub fn cached_share(path: &Path, length: u64, probes: u64) -> io::Result<Option<f64>> {
    let file = File::open(path)?;
    if !is_told(path, &file)? {
        return Ok(None);
    }
    let page = rustix::param::page_size();
    let pages = length / page as u64;
    let probes = probes.min(pages);
    let mut held = 0u64;
    for i in 0..probes {
        // Odd places: evenly spread ones at round offsets are those that a file system keeps its own things at.
        let at = (pages * i / probes + pages / probes / 2) * page as u64;
        match page_in_memory(file.as_fd(), at, page) {
            Ok(there) => held += u64::from(there),
            // A file system without mappings.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok((probes > 0).then(|| held as f64 / probes as f64))
}

/// Drops a file from the page cache. Only clean pages can be dropped, so dirty ones are written back first; no flush of the
/// disk's own cache is asked for, which for thousands of files takes longer than all else.
pub fn drop_cached(file: &File) -> io::Result<()> {
    write_back(file.as_fd())?;
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

fn is_told(path: &Path, file: &File) -> io::Result<bool> {
    let user = rustix::process::geteuid();
    let ours = user.is_root()
        || file.metadata()?.uid() == user.as_raw()
        || rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    Ok(ours && rustix::fs::fstatfs(file)?.f_type as u64 != ZFS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_just_written_is_in_the_page_cache_and_what_was_dropped_is_not() {
        let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        assert_eq!(cached_share(file.path(), 1 << 20, 64).unwrap(), Some(1.0));
        // The kernel drops what nobody holds at that moment; a page on its way to a list is held for a while.
        let dropped = |_| {
            drop_cached(file.as_file()).unwrap();
            cached_share(file.path(), 1 << 20, 64).unwrap() == Some(0.0)
        };
        assert!((0..100).any(dropped));
        // Asking brings nothing in.
        assert_eq!(cached_share(file.path(), 1 << 20, 256).unwrap(), Some(0.0));
        assert_eq!(cached_share(file.path(), 0, 64).unwrap(), None);
    }
}
