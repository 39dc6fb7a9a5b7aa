//! The buffers of one worker: one page-aligned mapping, cut into one piece a tag. Page-aligned always: the kernel
//! copies into unaligned buffers at half the speed.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;

/// Buffers for tags `0..count`, each of `stride` bytes. Freed when dropped.
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
    stride: usize,
    count: usize,
}

// SAFETY: the mapping belongs to the arena alone; whoever holds the arena may use it on any one thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Maps buffers of at least `size` bytes for so many tags. The pages are touched only when used.
    pub fn new(count: usize, size: usize) -> std::io::Result<Self> {
        let stride = size.next_multiple_of(4096).max(4096);
        // SAFETY: an anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                stride * count.max(1),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        Ok(Arena { base: base.cast(), stride, count: count.max(1) })
    }

    /// First byte of a tag's buffer.
    #[inline(always)]
    pub fn pointer(&self, tag: u32) -> *mut u8 {
        assert!((tag as usize) < self.count, "a tag of this arena");
        self.base.wrapping_add(tag as usize * self.stride)
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

    /// Bytes of all.
    pub fn length(&self) -> usize {
        self.stride * self.count
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `new` made; queues end their I/O before they drop their arena.
        let _ = unsafe { munmap(self.base.cast::<c_void>(), self.stride * self.count) };
    }
}

/// The same buffers, for whoever makes and checks bytes while the kernel does not have them.
#[derive(Debug)]
pub struct ArenaView {
    base: *mut u8,
    stride: usize,
    count: usize,
}

// SAFETY: used on the worker's own thread, between completion and the next push of the same tag.
unsafe impl Send for ArenaView {}

impl ArenaView {
    /// A view of an arena; the queue that owns the arena lives as long as the worker that owns the view.
    pub fn of(arena: &Arena) -> Self {
        ArenaView { base: arena.base, stride: arena.stride, count: arena.count }
    }

    /// The first `length` bytes of a tag's buffer.
    pub fn bytes(&mut self, tag: u32, length: usize) -> &mut [u8] {
        assert!((tag as usize) < self.count && length <= self.stride, "a tag of this arena");
        // SAFETY: inside the mapping by the assertion; the tag is not with the kernel while its content is made
        // or checked (the worker pushes it afterwards, or has just had it back), and `&mut self` excludes a second view.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(tag as usize * self.stride), length) }
    }
}
