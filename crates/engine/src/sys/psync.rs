//! One operation at a time: pread, pwrite, or preadv2 and pwritev2 with flags, then the syncs.

use super::arena::Arena;
use super::blocking::{Blocking, Calls};
use crate::files::OpenTarget;
use fathom_drive::{Clock, Operation};
use fathom_spec::{QueueOptions, SyncKind, Verb};
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
    always: i32,
    /// For so many of the calls, percent, polling too.
    polled: Option<(u8, AtomicU64)>,
}

impl Flags {
    /// What a plan asks for; `seed` draws where only some calls are polled for.
    pub fn of(options: QueueOptions, seed: u64) -> Self {
        let some = options.io_poll && (1..100).contains(&options.io_poll_percent);
        let poll = if options.io_poll && !some { libc::RWF_HIPRI } else { 0 };
        Flags {
            always: poll | if options.no_wait { libc::RWF_NOWAIT } else { 0 },
            polled: some.then(|| (options.io_poll_percent, AtomicU64::new(seed))),
        }
    }

    /// Those of the next call.
    fn next(&self) -> i32 {
        let Some((percent, state)) = &self.polled else { return self.always };
        // SplitMix64: one addition and a finisher a call.
        let z = state.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let drawn = ((u128::from(z ^ (z >> 31)) * 100) >> 64) as u8;
        self.always | if drawn < *percent { libc::RWF_HIPRI } else { 0 }
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

    fn transfer(&self, fd: i32, tag: u32, operation: &Operation, write: bool) -> isize {
        let buffer = self.arena.pointer(tag).cast::<libc::c_void>();
        let length = (operation.length as usize).min(self.arena.stride());
        let offset = operation.offset as libc::off_t;
        match &self.flags {
            // SAFETY: the buffer is `length` bytes inside the arena, which outlives the call; the fd is open.
            None if write => unsafe { libc::pwrite(fd, buffer, length, offset) },
            // SAFETY: as above, and nobody else reads or writes this tag's buffer during the call.
            None => unsafe { libc::pread(fd, buffer, length, offset) },
            Some(flags) => {
                let flags = flags.next();
                let vector = libc::iovec { iov_base: buffer, iov_len: length };
                match write {
                    // SAFETY: one vector that lives through the call, over a buffer as above.
                    true => unsafe { libc::pwritev2(fd, &vector, 1, offset, flags) },
                    // SAFETY: the same.
                    false => unsafe { libc::preadv2(fd, &vector, 1, offset, flags) },
                }
            }
        }
    }

    /// Does one operation and answers what came of it. Several threads may do so, each with a tag of its own.
    pub(super) fn one(&self, tag: u32, operation: &Operation) -> i32 {
        let target = &self.targets[operation.target as usize];
        let fd = target.raw();
        loop {
            let result = match operation.verb {
                Verb::Write => self.transfer(fd, tag, operation, true),
                Verb::Sync => sync(fd, operation.sync_kind(self.sync)),
                Verb::Trim => discard(target, operation),
                Verb::Commit => match self.transfer(fd, tag, operation, true) {
                    moved if moved < 0 => moved,
                    moved => match sync(fd, self.commit) {
                        0 => moved,
                        failed => failed,
                    },
                },
                _ => self.transfer(fd, tag, operation, false),
            };
            match result {
                -1 => match errno() {
                    libc::EINTR => {}
                    error => return -error,
                },
                moved => return moved as i32,
            }
        }
    }
}

impl Calls for PsyncCalls {
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

/// Sleeps until a moment of the run's clock.
pub fn sleep_until(clock: &Clock, until_ns: u64) {
    let left = until_ns.saturating_sub(clock.now());
    if left > 0 && until_ns != u64::MAX {
        std::thread::sleep(std::time::Duration::from_nanos(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_calls_is_polled_for() {
        let count = |io_poll, io_poll_percent| {
            let flags = Flags::of(QueueOptions { io_poll, io_poll_percent, ..QueueOptions::default() }, 5);
            (0..10_000).filter(|_| flags.next() & libc::RWF_HIPRI != 0).count()
        };
        assert_eq!([count(false, 50), count(true, 0), count(true, 100)], [0, 10_000, 10_000]);
        assert!((2850..3150).contains(&count(true, 30)));
    }
}
