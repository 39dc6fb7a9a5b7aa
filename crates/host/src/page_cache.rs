//! Which blocks of a file the page cache holds: reads that may not wait (`RWF_NOWAIT`) are answered from it or not at all.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Bytes of one probe: a page.
const PROBE: usize = 4096;

/// The share of so many evenly spread pages that the page cache holds, 0 to 1. `None` where the file system cannot tell
/// (it has no reads that do not wait). A probe brings nothing into the cache.
pub fn cached_share(path: &Path, length: u64, probes: u64) -> io::Result<Option<f64>> {
    let file = File::open(path)?;
    let pages = length / PROBE as u64;
    let probes = probes.min(pages);
    let (mut held, mut page) = (0, [0; PROBE]);
    for i in 0..probes {
        // Odd places: evenly spread ones at round offsets are those that a file system keeps its own things at.
        let at = (pages * i / probes + pages / probes / 2) * PROBE as u64;
        match preadv2(&file, &mut [io::IoSliceMut::new(&mut page)], at, ReadWriteFlags::NOWAIT) {
            Ok(read) if read > 0 => held += 1,
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((probes > 0).then(|| held as f64 / probes as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_just_written_is_in_the_page_cache_and_what_was_dropped_is_not() {
        let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        assert_eq!(cached_share(file.path(), 1 << 20, 64).unwrap(), Some(1.0));
        // The kernel drops what nobody holds at that moment; a page on its way to a list is held for a while.
        let dropped = |_| {
            rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
            cached_share(file.path(), 1 << 20, 64).unwrap() == Some(0.0)
        };
        assert!((0..100).any(dropped));
        assert_eq!(cached_share(file.path(), 0, 64).unwrap(), None);
    }
}
