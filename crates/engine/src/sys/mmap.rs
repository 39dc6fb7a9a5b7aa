//! Loads and stores on a mapping. An access past the end of a file that was cut after it was mapped, or to a page
//! that the device cannot read, is a SIGBUS, which ends the program: nothing here catches it. What can be seen
//! beforehand is: the file's size is asked for before each access, and what lies past it is not touched.

use super::serial::{Perform, SerialQueue};
use crate::files::{OpenKind, OpenTarget, Setup, Targets, sync_kind};
use crate::sys::arena::Arena;
use crate::sys::calls;
use fathom_drive::{Clock, Operation};
use fathom_spec::{SyncKind, Verb};
use std::io;
use std::sync::Arc;

/// Loads and stores.
pub type MmapQueue = SerialQueue<Mapped>;

#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    length: usize,
    writable: bool,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of a mapping that `map` made and nobody else knows.
        unsafe { libc::munmap(self.base.cast(), self.length) };
    }
}

/// How [`MmapQueue`] does an operation.
#[derive(Debug)]
pub struct Mapped {
    targets: Targets,
    mappings: Vec<Mapping>,
    commit: SyncKind,
}

impl MmapQueue {
    /// Maps every target, readable and, where its descriptor allows it, writable. `writes` asks for that.
    pub fn new(
        clock: Clock,
        setup: &Setup,
        targets: Targets,
        arena: Arc<Arena>,
        writes: bool,
    ) -> io::Result<Self> {
        let mappings = targets.iter().map(|target| map(target, writes)).collect::<io::Result<_>>()?;
        Ok(SerialQueue::over(clock, arena, Mapped { targets, mappings, commit: setup.commit }))
    }
}

fn map(target: &OpenTarget, writable: bool) -> io::Result<Mapping> {
    let length = target.size_bytes as usize;
    let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: a mapping at an address of the kernel's choice touches no memory of ours.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, target.raw_fd(), 0)
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Mapping { base: base.cast(), length, writable })
}

/// How many of an operation's bytes there are to touch.
fn reachable(target: &OpenTarget, mapping: &Mapping, operation: &Operation) -> Result<usize, i32> {
    let size = match target.kind {
        OpenKind::File => {
            // SAFETY: an all-zero stat is a valid one, and fstat only writes into it.
            let mut about: libc::stat = unsafe { std::mem::zeroed() };
            // SAFETY: `about` lives through the call.
            let answer = calls::result(unsafe { libc::fstat(target.raw_fd(), &mut about) }.into());
            if answer < 0 {
                return Err(answer);
            }
            (about.st_size as u64).min(mapping.length as u64)
        }
        _ => mapping.length as u64,
    };
    Ok(size.saturating_sub(operation.offset).min(u64::from(operation.length)) as usize)
}

impl Mapped {
    fn sync(&self, index: usize, kind: SyncKind, offset: u64, length: usize) -> i32 {
        if kind != SyncKind::Msync {
            return calls::sync(self.targets[index].raw_fd(), kind, offset, length as u64);
        }
        let mapping = &self.mappings[index];
        let start = offset as usize & !4095;
        let end = (offset as usize + length).min(mapping.length);
        // SAFETY: the range lies within the mapping, from a page's start on.
        let address = unsafe { mapping.base.add(start) };
        // SAFETY: as above; msync reads what is mapped there.
        calls::result(unsafe { libc::msync(address.cast(), end - start, libc::MS_SYNC) }.into())
    }

    fn copy(&self, index: usize, operation: &Operation, buffer: *mut u8) -> i32 {
        let mapping = &self.mappings[index];
        let length = match reachable(&self.targets[index], mapping, operation) {
            Ok(length) => length,
            Err(error) => return error,
        };
        if length == 0 {
            return 0;
        }
        // SAFETY: `reachable` has bounded offset and length by the mapping.
        let place = unsafe { mapping.base.add(operation.offset as usize) };
        match operation.verb {
            // SAFETY: both are `length` bytes long and of different mappings, so they do not overlap.
            Verb::Read => unsafe { std::ptr::copy_nonoverlapping(place, buffer, length) },
            _ if !mapping.writable => return -libc::EBADF,
            // SAFETY: as above, and the mapping is writable.
            _ => unsafe { std::ptr::copy_nonoverlapping(buffer, place, length) },
        }
        length as i32
    }
}

impl Perform for Mapped {
    fn perform(&mut self, operation: &Operation, buffer: *mut u8) -> i32 {
        let index = operation.target as usize;
        if index >= self.mappings.len() {
            return -libc::EBADF;
        }
        match operation.verb {
            Verb::Read | Verb::Write => self.copy(index, operation, buffer),
            Verb::Sync => self.sync(index, sync_kind(operation.mark), 0, self.mappings[index].length),
            Verb::Trim => calls::trim(&self.targets[index], operation.offset, operation.length),
            Verb::Commit => match self.copy(index, operation, buffer) {
                written if written == operation.length as i32 => {
                    match self.sync(index, self.commit, operation.offset, written as usize) {
                        0 => written,
                        error => error,
                    }
                }
                short => short,
            },
            _ => -libc::EOPNOTSUPP,
        }
    }
}
