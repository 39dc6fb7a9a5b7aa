//! What a file or device wants of direct I/O, and which of its bytes were ever written: statx and FIEMAP.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, statx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sys::fiemap;

/// What direct I/O on a file or device must be aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectAlignment {
    /// Of the buffer's address
    pub memory_bytes: u32,
    /// Of offset and length
    pub offset_bytes: u32,
}

/// Asks statx (Linux 6.1 and later); `None` where kernel or file system do not tell, then the disk's logical block size
/// is the rule. `Some` with zeros says that there is no direct I/O on this file.
pub fn direct_alignment(file: &File) -> io::Result<Option<DirectAlignment>> {
    let answer = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
    let told = StatxFlags::from_bits_retain(answer.stx_mask).contains(StatxFlags::DIOALIGN);
    Ok(told.then_some(DirectAlignment {
        memory_bytes: answer.stx_dio_mem_align,
        offset_bytes: answer.stx_dio_offset_align,
    }))
}

/// One extent as FIEMAP tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Where in the file
    pub logical: u64,
    /// Where on the file system's device; btrfs gives its own address space
    pub physical: u64,
    pub length_bytes: u64,
    /// `FIEMAP_EXTENT_*`
    pub flags: u32,
}

const LAST: u32 = 0x1;
const UNKNOWN: u32 = 0x2;
const DELAYED: u32 = 0x4;
const ENCODED: u32 = 0x8;
const INLINE: u32 = 0x200;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// How much of a file was ever written. A read of the rest touches no disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenState {
    /// On the device
    pub written_bytes: u64,
    /// Set aside, never written: reads as zeros
    pub unwritten_bytes: u64,
    /// Not set aside
    pub hole_bytes: u64,
    /// Written to memory, not placed on the device yet
    pub delayed_bytes: u64,
    /// Of the written: compressed, encrypted or inside the inode, so offsets on the device mean nothing
    pub encoded_bytes: u64,
    /// Of the written: shared with other files
    pub shared_bytes: u64,
    pub extents: u64,
}

/// Goes over a file's extents within a byte range; `each` answers whether to go on.
pub fn for_each_extent(
    file: &File,
    start: u64,
    end: u64,
    each: &mut dyn FnMut(Extent) -> bool,
) -> io::Result<()> {
    let mut from = start;
    while from < end {
        let some = fiemap(file.as_fd(), from, end - from)?;
        let Some(last) = some.last() else { return Ok(()) };
        let next = last.logical.saturating_add(last.length);
        let is_last = last.flags & LAST != 0 || next <= from;
        for found in some {
            let extent = Extent {
                logical: found.logical,
                physical: found.physical,
                length_bytes: found.length,
                flags: found.flags,
            };
            if !each(extent) {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
        from = next;
    }
    Ok(())
}

/// Counts a file's written, unwritten and missing bytes.
///
/// # Errors
/// `EOPNOTSUPP` on file systems without FIEMAP (tmpfs, NFS): then it cannot be told.
pub fn written_state(file: &File) -> io::Result<WrittenState> {
    let length = file.metadata()?.len();
    let mut state = WrittenState::default();
    let mut seen = 0;
    for_each_extent(file, 0, length, &mut |extent| {
        // The last extent reaches to the end of its block, past the end of the file.
        let bytes = extent.length_bytes.min(length.saturating_sub(extent.logical));
        seen += bytes;
        state.extents += 1;
        let is = |flags: u32| extent.flags & flags != 0;
        if is(UNWRITTEN) {
            state.unwritten_bytes += bytes;
        } else if is(DELAYED | UNKNOWN) {
            state.delayed_bytes += bytes;
        } else {
            state.written_bytes += bytes;
            state.encoded_bytes += if is(ENCODED | INLINE) { bytes } else { 0 };
            state.shared_bytes += if is(SHARED) { bytes } else { 0 };
        }
        true
    })?;
    state.hole_bytes = length.saturating_sub(seen);
    Ok(state)
}

/// Where a byte of a file stands on its file system's device; `None` in a hole, in what was never written, or encoded.
pub fn physical_of(file: &File, offset: u64) -> io::Result<Option<u64>> {
    let mut place = None;
    for_each_extent(file, offset, offset + 1, &mut |extent| {
        let inside = (extent.logical..extent.logical.saturating_add(extent.length_bytes)).contains(&offset);
        if inside && extent.flags & (UNWRITTEN | DELAYED | UNKNOWN | ENCODED | INLINE) == 0 {
            place = Some(extent.physical + (offset - extent.logical));
        }
        false
    })?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn written_unwritten_and_holes_are_told_apart() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = File::create_new(place.path().join("f")).unwrap();
        file.set_len(4 << 20).unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 1 << 20, 1 << 20).unwrap();
        file.write_all_at(&[7u8; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        match written_state(&file) {
            Err(error) => fathom_tidy::skip("extents of a file", &format!("no FIEMAP here: {error}")),
            Ok(state) => {
                assert_eq!(
                    (state.written_bytes, state.unwritten_bytes, state.hole_bytes),
                    (1 << 20, 1 << 20, 2 << 20)
                );
                assert!(physical_of(&file, 5000).unwrap().is_some());
                assert_eq!(physical_of(&file, (1 << 20) + 5).unwrap(), None);
                assert_eq!(physical_of(&file, 3 << 20).unwrap(), None);
            }
        }
    }
}
