//! The memory that I/O goes to and comes from: one mapping, one page-aligned buffer a tag.

use std::io;
use std::sync::Arc;

const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;

/// Buffers of one worker. The buffer of tag i begins `i * stride` bytes after the base. The kernel writes to
/// it while an operation is in flight, so that Rust sees it only through raw pointers and [`Arena::with`].
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
    length: usize,
    stride: usize,
    count: usize,
}

// SAFETY: an arena is an address and three numbers; all access to what is behind the address goes through raw
// pointers, whose users say why they may.
unsafe impl Send for Arena {}
// SAFETY: as above; shared access hands out no references.
unsafe impl Sync for Arena {}

impl Arena {
    /// `count` buffers of at least `largest` bytes each, page-aligned and touched, so that no page fault falls
    /// into a measurement. `huge` asks for huge pages and takes common ones where there are none.
    pub fn new(count: u32, largest: u32, huge: bool) -> io::Result<Arc<Arena>> {
        let stride = (largest as usize).max(1).next_multiple_of(PAGE);
        let count = count.max(1) as usize;
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let length = stride.checked_mul(count).ok_or_else(too_much)?;
        let huge_length = length.checked_next_multiple_of(HUGE).ok_or_else(too_much)?;
        let (base, length) = match huge.then(|| map(huge_length, libc::MAP_HUGETLB)) {
            Some(Ok(base)) => (base, huge_length),
            _ => (map(length, 0)?, length),
        };
        Ok(Arc::new(Arena { base, length, stride, count }))
    }

    /// Where a tag's buffer begins. Panics where there is no such tag: a mistake in the program.
    #[inline(always)]
    pub fn pointer(&self, tag: u32) -> *mut u8 {
        assert!((tag as usize) < self.count);
        self.base.wrapping_add(tag as usize * self.stride)
    }

    /// Bytes from one buffer to the next, and the most that one holds.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many buffers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All of it: base and length in bytes.
    pub fn span(&self) -> (*mut u8, usize) {
        (self.base, self.length)
    }

    /// Looks at, or changes, the first `length` bytes of a tag's buffer.
    ///
    /// # Safety
    /// No operation of this tag may be in flight, and nobody else may look at the same buffer meanwhile.
    pub unsafe fn with<R>(&self, tag: u32, length: usize, look: impl FnOnce(&mut [u8]) -> R) -> R {
        assert!(length <= self.stride);
        let start = self.pointer(tag);
        // SAFETY: `start` is the beginning of `stride` mapped bytes, `length` is no more than that, and the caller
        // promises that nobody else, the kernel included, touches them.
        look(unsafe { std::slice::from_raw_parts_mut(start, length) })
    }
}

fn map(length: usize, flags: i32) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE | flags;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base.cast()) }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping that `new` made; a queue with operations in flight keeps
        // its share of the arena alive, so nobody uses it any more.
        unsafe { libc::munmap(self.base.cast(), self.length) };
    }
}
