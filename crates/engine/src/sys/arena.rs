//! The buffers of one worker: one page-aligned mapping, cut into one piece a tag. Page-aligned always: the kernel
//! copies into unaligned buffers at half the speed.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Buffers for tags `0..count`, each of `stride` bytes. Freed when dropped.
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
    stride: usize,
    /// Bytes from one buffer to the next.
    pitch: usize,
    /// Bytes of the mapping before the first buffer.
    lead: usize,
    count: usize,
    mapped: usize,
    huge: bool,
    turns: Option<Turns>,
}

/// How far behind its place each tag's buffer begins just now, for buffers that move between operations.
#[derive(Clone, Debug)]
pub struct Turns {
    now: Arc<[AtomicU8]>,
    count: u8,
}

impl Turns {
    /// Buffers begin 0 to so many bytes behind their places, this one not included.
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Moves a tag's buffer; only while nobody uses it.
    pub fn set(&self, tag: u32, bytes: u8) {
        assert!(bytes < self.count, "there is room for it");
        self.now[tag as usize].store(bytes, Relaxed);
    }

    fn of(&self, tag: u32) -> usize {
        self.now[tag as usize].load(Relaxed).into()
    }
}

/// Bytes of one huge page: the smallest kind that there is, so that little of what a database waits for is taken.
const HUGE: usize = 2 << 20;

/// Buffers from this size on lie in transparent huge pages: of ordinary pages 1 MiB is 256 segments of a request, and a device
/// that takes 254 is given one request or two, as the pages happen to lie.
const LARGE: usize = 256 << 10;

// SAFETY: the mapping belongs to the arena alone; whoever holds the arena may use it on any one thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Maps buffers of at least `size` bytes for so many tags. The pages are touched only when used.
    pub fn new(count: usize, size: usize) -> std::io::Result<Self> {
        Self::map(count, size, (false, 0, 0))
    }

    /// The same in huge pages of 2 MiB where the system holds free ones, else in ordinary pages.
    pub fn huge(count: usize, size: usize) -> std::io::Result<Self> {
        Self::map(count, size, (true, 0, 0)).or_else(|_| Self::new(count, size))
    }

    /// The same, each buffer `offset` bytes behind the start of a page, for whoever tests what that does, and with room to
    /// begin fewer than `turns` bytes further behind ([`Turns`]); 0: none has.
    pub fn beside(count: usize, size: usize, offset: usize, turns: u8) -> std::io::Result<Self> {
        Self::map(count, size, (false, offset, turns))
    }

    fn map(count: usize, size: usize, (huge, offset, turns): (bool, usize, u8)) -> std::io::Result<Self> {
        let (stride, count) = (size.next_multiple_of(4096).max(4096), count.max(1));
        let pitch = stride + (offset + usize::from(turns)).next_multiple_of(4096);
        let is_large = !huge && stride >= LARGE;
        let (mapped, more) = match huge {
            true => ((pitch * count).next_multiple_of(HUGE), MapFlags::HUGETLB | MapFlags::HUGE_2MB),
            false if is_large => ((pitch * count).next_multiple_of(HUGE) + HUGE, MapFlags::empty()),
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
        let before = if is_large { base.addr().next_multiple_of(HUGE) - base.addr() } else { 0 };
        if is_large {
            // SAFETY: the whole of a mapping that was just made. A kernel without such pages refuses, and they are ordinary ones.
            let _ = unsafe { madvise(base, mapped, Advice::LinuxHugepage) };
        }
        // The first buffer begins inside its own room: `pitch` holds the stride and the offset before it.
        let lead = before + offset;
        let base = base.cast::<u8>().wrapping_add(lead);
        let now = (0..count).map(|_| AtomicU8::new(0)).collect();
        let turns = (turns > 0).then_some(Turns { now, count: turns });
        Ok(Arena { base, stride, pitch, lead, count, mapped, huge, turns })
    }

    /// Does it lie in huge pages?
    pub fn is_huge(&self) -> bool {
        self.huge
    }

    /// First byte of a tag's buffer.
    #[inline(always)]
    pub fn pointer(&self, tag: u32) -> *mut u8 {
        assert!((tag as usize) < self.count, "a tag of this arena");
        let turned = self.turns.as_ref().map_or(0, |turns| turns.of(tag));
        self.base.wrapping_add(tag as usize * self.pitch + turned)
    }

    /// What moves the buffers, where they have room to.
    pub fn turns(&self) -> Option<Turns> {
        self.turns.clone()
    }

    /// First byte of all.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Bytes of one buffer.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes of one buffer and of the room in which it turns.
    pub fn room(&self) -> usize {
        self.stride + self.turns.as_ref().map_or(0, |turns| usize::from(turns.count))
    }

    /// How many buffers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes from the first buffer's start to the last one's end.
    pub fn length(&self) -> usize {
        self.pitch * (self.count - 1) + self.room()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; queues end their I/O before they drop their arena.
        let _ = unsafe { munmap(self.base.wrapping_sub(self.lead).cast::<c_void>(), self.mapped) };
    }
}

/// The same buffers, for whoever makes and checks bytes while the kernel does not have them.
#[derive(Debug)]
pub struct ArenaView {
    base: *mut u8,
    stride: usize,
    pitch: usize,
    count: usize,
    turns: Option<Turns>,
}

// SAFETY: used between completion and the next push of the same tag: on the worker's own thread, or by the one checker
// to which the worker has lent the tag until it gives it back.
unsafe impl Send for ArenaView {}

impl ArenaView {
    /// A view of an arena; the queue that owns the arena lives as long as the worker that owns the view.
    pub fn of(arena: &Arena) -> Self {
        let Arena { base, stride, pitch, count, .. } = *arena;
        ArenaView { base, stride, pitch, count, turns: arena.turns() }
    }

    /// The first `length` bytes of a tag's buffer.
    pub fn bytes(&mut self, tag: u32, length: usize) -> &mut [u8] {
        assert!((tag as usize) < self.count && length <= self.stride, "a tag of this arena");
        let turned = self.turns.as_ref().map_or(0, |turns| turns.of(tag));
        // SAFETY: inside the mapping by the assertion, wherever in its room the buffer begins; the tag is not with the
        // kernel while its content is made or checked (the worker pushes it afterwards, or has just had it back), and
        // `&mut self` excludes a second slice of this view; other views are not asked for a tag that is lent to somebody.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(tag as usize * self.pitch + turned), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_beside_pages_do_not_meet() {
        for offset in [0usize, 1, 3, 512, 4095, 5000] {
            let arena = Arena::beside(3, 5000, offset, 0).unwrap();
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
    fn buffers_that_turn_stay_in_their_own_room() {
        let arena = Arena::beside(2, 4096, 4090, 8).unwrap();
        let (mut view, turns) = (ArenaView::of(&arena), arena.turns().unwrap());
        let first = arena.pointer(1) as usize;
        for turn in 0..8 {
            turns.set(1, turn);
            assert_eq!(arena.pointer(1) as usize, first + usize::from(turn));
            view.bytes(0, 4096).fill(1);
            view.bytes(1, 4096).fill(2);
            assert!(view.bytes(0, 4096).iter().all(|byte| *byte == 1));
            assert!(first + usize::from(turn) + arena.stride() <= arena.base() as usize + arena.length());
        }
        assert!(Arena::beside(1, 4096, 3, 0).unwrap().turns().is_none());
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
