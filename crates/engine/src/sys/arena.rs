//! The buffers of one worker: one page-aligned mapping, cut into one piece a tag. Page-aligned always: the kernel
//! copies into unaligned buffers at half the speed.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;

/// Buffers for tags `0..count`, each of `stride` bytes. Freed when dropped.
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
    stride: usize,
    /// Bytes from one buffer to the next.
    pitch: usize,
    /// Bytes of the mapping before the first buffer.
    offset: usize,
    count: usize,
    mapped: usize,
    huge: bool,
}

/// Bytes of one huge page: the smallest kind that there is, so that little of what a database waits for is taken.
const HUGE: usize = 2 << 20;

// SAFETY: the mapping belongs to the arena alone; whoever holds the arena may use it on any one thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Maps buffers of at least `size` bytes for so many tags. The pages are touched only when used.
    pub fn new(count: usize, size: usize) -> std::io::Result<Self> {
        Self::map(count, size, false, 0)
    }

    /// The same in huge pages of 2 MiB where the system holds free ones, else in ordinary pages.
    pub fn huge(count: usize, size: usize) -> std::io::Result<Self> {
        Self::map(count, size, true, 0).or_else(|_| Self::new(count, size))
    }

    /// The same, each buffer so many bytes behind the start of a page: for whoever tests what that does.
    pub fn beside(count: usize, size: usize, offset: usize) -> std::io::Result<Self> {
        Self::map(count, size, false, offset)
    }

    fn map(count: usize, size: usize, huge: bool, offset: usize) -> std::io::Result<Self> {
        let (stride, count) = (size.next_multiple_of(4096).max(4096), count.max(1));
        let pitch = stride + offset.next_multiple_of(4096);
        let (mapped, more) = match huge {
            true => ((pitch * count).next_multiple_of(HUGE), MapFlags::HUGETLB | MapFlags::HUGE_2MB),
            false => (pitch * count, MapFlags::empty()),
        };
        // SAFETY: an anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | more,
            )?
        };
        // The first buffer begins inside its own room: `pitch` holds the stride and the offset before it.
        let base = base.cast::<u8>().wrapping_add(offset);
        Ok(Arena { base, stride, pitch, offset, count, mapped, huge })
    }

    /// Does it lie in huge pages?
    pub fn is_huge(&self) -> bool {
        self.huge
    }

    /// First byte of a tag's buffer.
    #[inline(always)]
    pub fn pointer(&self, tag: u32) -> *mut u8 {
        assert!((tag as usize) < self.count, "a tag of this arena");
        self.base.wrapping_add(tag as usize * self.pitch)
    }

    /// First byte of all.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Bytes of one buffer.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many buffers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes from the first buffer's start to the last one's end.
    pub fn length(&self) -> usize {
        self.pitch * (self.count - 1) + self.stride
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; queues end their I/O before they drop their arena.
        let _ = unsafe { munmap(self.base.wrapping_sub(self.offset).cast::<c_void>(), self.mapped) };
    }
}

/// The same buffers, for whoever makes and checks bytes while the kernel does not have them.
#[derive(Debug)]
pub struct ArenaView {
    base: *mut u8,
    stride: usize,
    pitch: usize,
    count: usize,
}

// SAFETY: used between completion and the next push of the same tag: on the worker's own thread, or by the one checker
// to which the worker has lent the tag until it gives it back.
unsafe impl Send for ArenaView {}

impl ArenaView {
    /// A view of an arena; the queue that owns the arena lives as long as the worker that owns the view.
    pub fn of(arena: &Arena) -> Self {
        ArenaView { base: arena.base, stride: arena.stride, pitch: arena.pitch, count: arena.count }
    }

    /// The first `length` bytes of a tag's buffer.
    pub fn bytes(&mut self, tag: u32, length: usize) -> &mut [u8] {
        assert!((tag as usize) < self.count && length <= self.stride, "a tag of this arena");
        // SAFETY: inside the mapping by the assertion; the tag is not with the kernel while its content is made
        // or checked (the worker pushes it afterwards, or has just had it back), and `&mut self` excludes a second slice
        // of this view; other views are not asked for a tag that is lent to somebody.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(tag as usize * self.pitch), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_beside_pages_do_not_meet() {
        for offset in [0usize, 1, 3, 512, 4095, 5000] {
            let arena = Arena::beside(3, 5000, offset).unwrap();
            let mut view = ArenaView::of(&arena);
            for tag in 0..3 {
                assert_eq!(arena.pointer(tag) as usize % 4096, offset % 4096);
                view.bytes(tag, 8192).fill(tag as u8 + 1);
            }
            assert!((0..3).all(|tag| view.bytes(tag, 8192).iter().all(|byte| *byte == tag as u8 + 1)));
            assert_eq!(arena.length(), arena.pointer(2) as usize - arena.base() as usize + arena.stride());
        }
    }

    #[test]
    fn huge_pages_are_taken_where_there_are_free_ones_and_ordinary_ones_elsewhere() {
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
        let value = |name: &str| -> u64 {
            let line = meminfo.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let arena = Arena::huge(3, 5000).unwrap();
        assert_eq!((arena.stride(), arena.count()), (8192, 3));
        // Another process may have taken the last one meanwhile: only the clear cases are asserted.
        if value("HugePages_Total:") == 0 {
            assert!(!arena.is_huge());
        }
        ArenaView::of(&arena).bytes(2, 8192).fill(7);
    }
}
