//! One operation at a time: pread, pwrite, or preadv2 and pwritev2 with flags, then the syncs.

use super::arena::Arena;
use super::blocking::{Blocking, Calls};
use crate::files::OpenTarget;
use fathom_drive::{Clock, Operation};
use fathom_spec::{QueueOptions, SyncKind, Verb};
use rustix::io::ReadWriteFlags;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Blocking calls.
pub type PsyncQueue = Blocking<PsyncCalls>;

/// The calls.
#[derive(Debug)]
pub struct PsyncCalls {
    targets: Arc<[OpenTarget]>,
    arena: Arena,
    commit: SyncKind,
    sync: SyncKind,
    /// Of preadv2 and pwritev2; `None`: pread and pwrite.
    flags: Option<Flags>,
}

/// Flags of preadv2 and pwritev2.
#[derive(Debug)]
pub struct Flags {
    always: ReadWriteFlags,
    /// For so many of the calls, percent, polling too.
    polled: Option<(u8, AtomicU64)>,
}

impl Flags {
    /// What a plan asks for; `seed` draws where only some calls are polled for.
    pub fn of(options: QueueOptions, seed: u64) -> Self {
        let some = options.io_poll && (1..100).contains(&options.io_poll_percent);
        let when = |wanted, flag| if wanted { flag } else { ReadWriteFlags::empty() };
        Flags {
            always: when(options.io_poll && !some, ReadWriteFlags::HIPRI)
                | when(options.no_wait, ReadWriteFlags::NOWAIT),
            polled: some.then(|| (options.io_poll_percent, AtomicU64::new(seed))),
        }
    }

    /// Those of the next call.
    fn next(&self) -> ReadWriteFlags {
        let Some((percent, state)) = &self.polled else { return self.always };
        // SplitMix64: one addition and a finisher a call.
        let z = state.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let drawn = ((u128::from(z ^ (z >> 31)) * 100) >> 64) as u8;
        if drawn < *percent { self.always | ReadWriteFlags::HIPRI } else { self.always }
    }
}

impl PsyncQueue {
    /// A queue over open targets. `flags` makes it use preadv2 and pwritev2.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        commit: SyncKind,
        sync: SyncKind,
        flags: Option<Flags>,
    ) -> Self {
        Blocking::of(PsyncCalls::new(targets, arena, commit, sync, flags), clock, 64)
    }
}

impl PsyncCalls {
    /// Calls on open targets, without a queue around them.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        commit: SyncKind,
        sync: SyncKind,
        flags: Option<Flags>,
    ) -> Self {
        PsyncCalls { targets, arena, commit, sync, flags }
    }

    /// Moves an operation's bytes: how many, or the negated errno. The system calls are rustix's, which stand in the code
    /// where they are called: see [`Self::one`].
    #[inline(always)]
    fn transfer(&self, file: &OwnedFd, tag: u32, operation: &Operation, write: bool) -> i32 {
        let buffer = self.arena.pointer(tag);
        let length = (operation.length as usize).min(self.arena.stride());
        // SAFETY: `length` bytes inside the arena, which outlives the call; nobody else reads or writes this tag's buffer
        // while the operation goes on.
        let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, length) };
        let moved = match (&self.flags, write) {
            (None, true) => rustix::io::pwrite(file, buffer, operation.offset),
            (None, false) => rustix::io::pread(file, buffer, operation.offset),
            (Some(flags), true) => {
                rustix::io::pwritev2(file, &[IoSlice::new(buffer)], operation.offset, flags.next())
            }
            (Some(flags), false) => {
                rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], operation.offset, flags.next())
            }
        };
        match moved {
            Ok(bytes) => bytes as i32,
            Err(error) => -error.raw_os_error(),
        }
    }

    /// Does one operation and answers what came of it. Several threads may do so, each with a tag of its own.
    ///
    /// It is part of the loop that calls it, down to the system call. One function around the call made a read of 4 KiB
    /// from the page cache 1.2 us long instead of 1.0, four of them no longer than one (`docs/benchmarks.md`, the bound of
    /// psync). Most likely the first return after a call is guessed wrong where the kernel guards its own returns (SRSO of
    /// AMD's processors), and what the processor had begun beside the call is thrown away.
    #[inline(always)]
    pub(super) fn one(&self, tag: u32, operation: &Operation) -> i32 {
        let target = &self.targets[operation.target as usize];
        let Some(file) = target.fd() else { return -libc::EBADF };
        loop {
            let result = match operation.verb {
                Verb::Read => self.transfer(file, tag, operation, false),
                Verb::Write => self.transfer(file, tag, operation, true),
                _ => self.other(target, file, tag, operation),
            };
            if result != -libc::EINTR {
                return result;
            }
        }
    }

    /// What is neither a read nor a write.
    fn other(&self, target: &OpenTarget, file: &OwnedFd, tag: u32, operation: &Operation) -> i32 {
        match operation.verb {
            Verb::Sync => answer(sync(target.raw(), operation.sync_kind(self.sync))),
            Verb::Trim => answer(discard(target, operation)),
            Verb::Commit => match self.transfer(file, tag, operation, true) {
                moved if moved < 0 => moved,
                moved => match answer(sync(target.raw(), self.commit)) {
                    0 => moved,
                    failed => failed,
                },
            },
            _ => self.transfer(file, tag, operation, false),
        }
    }
}

impl Calls for PsyncCalls {
    #[inline(always)]
    fn perform(&mut self, tag: u32, operation: &Operation) -> i32 {
        self.one(tag, operation)
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A call's answer as a result: what it returned, or the negated errno.
pub fn answer(returned: isize) -> i32 {
    if returned < 0 { -errno() } else { returned as i32 }
}

/// Makes an open file durable; 0, or -1 with errno.
pub fn sync(fd: i32, kind: SyncKind) -> isize {
    let result = match kind {
        SyncKind::None | SyncKind::Flush => 0,
        // SAFETY: plain calls on an open file descriptor.
        SyncKind::Fsync | SyncKind::Msync => unsafe { libc::fsync(fd) },
        // SAFETY: the same.
        SyncKind::Fdatasync => unsafe { libc::fdatasync(fd) },
        SyncKind::Range => {
            let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                | libc::SYNC_FILE_RANGE_WRITE
                | libc::SYNC_FILE_RANGE_WAIT_AFTER;
            // SAFETY: the same; a length of 0 means to the file's end.
            unsafe { libc::sync_file_range(fd, 0, 0, flags) }
        }
        // SAFETY: the same; what is closed is the duplicate that was made.
        SyncKind::Close => match unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) } {
            -1 => -1,
            // SAFETY: nobody else knows the duplicate.
            duplicate => unsafe { libc::close(duplicate) },
        },
    };
    result as isize
}

/// _IO(0x12, 119) of linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Gives a range back: a hole in a file, a discard on a device. Answers the length, or -1 with errno.
pub fn discard(target: &OpenTarget, operation: &Operation) -> isize {
    if target.is_device() {
        let range = [operation.offset, u64::from(operation.length)];
        // SAFETY: BLKDISCARD reads two words, first byte and length, which live through the call.
        let result = unsafe { libc::ioctl(target.raw(), BLKDISCARD, range.as_ptr()) };
        return if result == 0 { operation.length as isize } else { -1 };
    }
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a plain call on an open file descriptor.
    let result = unsafe {
        libc::fallocate(
            target.raw(),
            mode,
            operation.offset as libc::off_t,
            libc::off_t::from(operation.length),
        )
    };
    if result == 0 { operation.length as isize } else { -1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_calls_is_polled_for() {
        let count = |io_poll, io_poll_percent| {
            let flags = Flags::of(QueueOptions { io_poll, io_poll_percent, ..QueueOptions::default() }, 5);
            (0..10_000).filter(|_| flags.next().contains(ReadWriteFlags::HIPRI)).count()
        };
        assert_eq!([count(false, 50), count(true, 0), count(true, 100)], [0, 10_000, 10_000]);
        assert!((2850..3150).contains(&count(true, 30)));
    }
}
