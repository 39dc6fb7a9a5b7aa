//! Loads and stores on a mapping. An access past the end of a file that was cut after it was mapped, or to a page
//! that the device cannot read, is a SIGBUS: the operation then failed with EIO (see `bus_error`). The file's size is
//! asked for before each access, and what lies past it is not touched.

use super::arena::Arena;
use super::blocking::{Blocking, Calls};
use super::bus_error;
use super::psync;
use crate::files::OpenTarget;
use fathom_drive::{Clock, Operation};
use fathom_spec::{SyncKind, Verb};
use std::io;
use std::sync::Arc;

#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    length: usize,
    writable: bool,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length == 0 {
            return;
        }
        // SAFETY: base and length are those of a mapping that `map` made and nobody else knows.
        unsafe { libc::munmap(self.base.cast(), self.length) };
    }
}

/// Loads and stores.
pub type MmapQueue = Blocking<MmapCalls>;

/// What is done for each operation.
#[derive(Debug)]
pub struct MmapCalls {
    targets: Arc<[OpenTarget]>,
    mappings: Vec<Mapping>,
    arena: Arena,
    commit: SyncKind,
    sync: SyncKind,
}

impl MmapQueue {
    /// Maps every target; `writes` asks for writable mappings.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        (commit, sync): (SyncKind, SyncKind),
        writes: bool,
    ) -> io::Result<Self> {
        bus_error::watch();
        let mappings = targets.iter().map(|target| map(target, writes)).collect::<io::Result<_>>()?;
        let room = arena.count();
        Ok(Blocking::of(MmapCalls { targets, mappings, arena, commit, sync }, clock, room))
    }
}

fn map(target: &OpenTarget, writable: bool) -> io::Result<Mapping> {
    let length = target.size_bytes as usize;
    if length == 0 {
        // An empty file, such as a log that is to be written: nothing of it is ever touched.
        return Ok(Mapping { base: std::ptr::null_mut(), length, writable: false });
    }
    let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let base =
        unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, target.raw(), 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Mapping { base: base.cast(), length, writable })
}

/// How many of an operation's bytes there are to touch; the negated errno where that cannot be told.
fn reachable(target: &OpenTarget, mapping: &Mapping, operation: &Operation) -> Result<usize, i32> {
    let mut size = mapping.length as u64;
    if !target.is_device() {
        // SAFETY: an all-zero stat is a valid one.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: fstat writes into `about`, which lives through the call.
        match psync::answer(unsafe { libc::fstat(target.raw(), &mut about) } as isize) {
            0 => size = size.min(about.st_size as u64),
            error => return Err(error),
        }
    }
    Ok(size.saturating_sub(operation.offset).min(u64::from(operation.length)) as usize)
}

impl MmapQueue {
    /// Asks for transparent huge pages under every mapping.
    pub fn ask_for_huge_pages(&self) -> io::Result<()> {
        let used = self.calls().mappings.iter().filter(|mapping| mapping.length > 0);
        let mut used = used;
        used.try_for_each(|mapping| {
            // SAFETY: the range is exactly a mapping of ours; the advice changes neither its bytes nor its rights.
            match unsafe { libc::madvise(mapping.base.cast(), mapping.length, libc::MADV_HUGEPAGE) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }
}

impl MmapCalls {
    /// Makes a range durable; 0 or a negated errno.
    fn durable(&self, index: usize, kind: SyncKind, offset: u64, length: usize) -> i32 {
        if kind != SyncKind::Msync {
            return psync::answer(psync::sync(self.targets[index].raw(), kind));
        }
        let mapping = &self.mappings[index];
        let start = (offset as usize & !4095).min(mapping.length);
        let end = (offset as usize + length).min(mapping.length);
        let address = mapping.base.wrapping_add(start);
        // SAFETY: the range lies within the mapping, from a page's start on; msync reads what is mapped there.
        psync::answer(unsafe { libc::msync(address.cast(), end - start, libc::MS_SYNC) } as isize)
    }

    fn copy(&self, index: usize, operation: &Operation, tag: u32) -> i32 {
        let mapping = &self.mappings[index];
        let length = match reachable(&self.targets[index], mapping, operation) {
            Ok(length) => length,
            Err(error) => return error,
        };
        assert!(length <= self.arena.stride());
        if length == 0 {
            return 0;
        }
        let buffer = self.arena.pointer(tag);
        let place = mapping.base.wrapping_add(operation.offset as usize);
        let reads = operation.verb == Verb::Read;
        if !reads && !mapping.writable {
            return -libc::EBADF;
        }
        let lost = bus_error::during(mapping.base, mapping.length, || match reads {
            // SAFETY: `reachable` has bounded the place by the mapping and the assertion the buffer by the arena; they
            // are different mappings, so they do not overlap.
            true => unsafe { std::ptr::copy_nonoverlapping(place, buffer, length) },
            // SAFETY: as above, and the mapping is writable.
            false => unsafe { std::ptr::copy_nonoverlapping(buffer, place, length) },
        });
        if lost == 0 {
            return length as i32;
        }
        match self.map_again(index, operation.offset as usize, length) {
            0 => -libc::EIO,
            error => error,
        }
    }

    /// Gives the pages of a range their file back, after some were replaced: the next access to them fails as this one did.
    fn map_again(&self, index: usize, offset: usize, length: usize) -> i32 {
        let mapping = &self.mappings[index];
        let start = offset & !4095;
        let end = (offset + length).next_multiple_of(4096).min(mapping.length.next_multiple_of(4096));
        let protection = libc::PROT_READ | if mapping.writable { libc::PROT_WRITE } else { 0 };
        let (flags, file) = (libc::MAP_SHARED | libc::MAP_FIXED, self.targets[index].raw());
        let address = mapping.base.wrapping_add(start).cast();
        // SAFETY: the range is whole pages of a mapping of ours that only this thread knows, and is replaced by the same pages
        // of the same file.
        let answer =
            unsafe { libc::mmap(address, end - start, protection, flags, file, start as libc::off_t) };
        if answer == libc::MAP_FAILED { psync::answer(-1) } else { 0 }
    }
}

impl Calls for MmapCalls {
    fn perform(&mut self, tag: u32, operation: &Operation) -> i32 {
        let index = operation.target as usize;
        match operation.verb {
            Verb::Read | Verb::Write => self.copy(index, operation, tag),
            Verb::Sync => self.durable(index, operation.sync_kind(self.sync), 0, self.mappings[index].length),
            Verb::Trim => psync::answer(psync::discard(&self.targets[index], operation)),
            Verb::Commit => match self.copy(index, operation, tag) {
                written if written as u32 != operation.length => written,
                written => match self.durable(index, self.commit, operation.offset, written as usize) {
                    0 => written,
                    error => error,
                },
            },
            _ => -libc::EOPNOTSUPP,
        }
    }
}
