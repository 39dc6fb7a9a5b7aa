//! pread and pwrite, and their vectored kin with flags: one operation at a time.

use super::serial::{Perform, SerialQueue};
use crate::files::{Setup, Targets, sync_kind};
use crate::sys::arena::Arena;
use crate::sys::calls;
use fathom_drive::{Clock, Operation};
use fathom_spec::{SyncKind, Verb};
use std::sync::Arc;

/// pread and pwrite.
pub type PsyncQueue = SerialQueue<Psync>;
/// preadv2 and pwritev2 with RWF_HIPRI or RWF_NOWAIT.
pub type VectoredQueue = SerialQueue<Vectored>;

/// How [`PsyncQueue`] does an operation.
#[derive(Debug)]
pub struct Psync {
    targets: Targets,
    commit: SyncKind,
}

/// How [`VectoredQueue`] does an operation.
#[derive(Debug)]
pub struct Vectored {
    plain: Psync,
    flags: i32,
}

impl PsyncQueue {
    /// A queue over these targets and buffers.
    pub fn new(clock: Clock, setup: &Setup, targets: Targets, arena: Arc<Arena>) -> Self {
        SerialQueue::over(clock, arena, Psync { targets, commit: setup.commit })
    }
}

impl VectoredQueue {
    /// A queue over these targets and buffers; `io_poll` is RWF_HIPRI, `no_wait` RWF_NOWAIT.
    pub fn new(clock: Clock, setup: &Setup, targets: Targets, arena: Arc<Arena>) -> Self {
        let poll = if setup.options.io_poll { libc::RWF_HIPRI } else { 0 };
        let no_wait = if setup.options.no_wait { libc::RWF_NOWAIT } else { 0 };
        let plain = Psync { targets, commit: setup.commit };
        SerialQueue::over(clock, arena, Vectored { plain, flags: poll | no_wait })
    }
}

/// What is the same however bytes are moved: syncs, trims, and the sync of a commit after its write.
fn around(
    targets: &Targets,
    commit: SyncKind,
    operation: &Operation,
    mut transfer: impl FnMut(i32) -> i32,
) -> i32 {
    let Some(target) = targets.get(operation.target as usize) else { return -libc::EBADF };
    let (fd, length) = (target.raw_fd(), u64::from(operation.length));
    match operation.verb {
        Verb::Read | Verb::Write => transfer(fd),
        Verb::Sync => calls::sync(fd, sync_kind(operation.mark), 0, 0),
        Verb::Trim => calls::trim(target, operation.offset, operation.length),
        Verb::Commit => match transfer(fd) {
            written if written == operation.length as i32 => {
                match calls::sync(fd, commit, operation.offset, length) {
                    0 => written,
                    error => error,
                }
            }
            short => short,
        },
        _ => -libc::EOPNOTSUPP,
    }
}

impl Perform for Psync {
    #[inline]
    fn perform(&mut self, operation: &Operation, buffer: *mut u8) -> i32 {
        let (length, offset) = (operation.length as usize, operation.offset as i64);
        around(&self.targets, self.commit, operation, |fd| {
            // SAFETY: the queue has made sure that the buffer holds `length` bytes, and nobody else uses it while this
            // thread is here.
            calls::result(unsafe {
                match operation.verb {
                    Verb::Read => libc::pread64(fd, buffer.cast(), length, offset) as i64,
                    _ => libc::pwrite64(fd, buffer.cast(), length, offset) as i64,
                }
            })
        })
    }
}

impl Perform for Vectored {
    fn perform(&mut self, operation: &Operation, buffer: *mut u8) -> i32 {
        let vector = libc::iovec { iov_base: buffer.cast(), iov_len: operation.length as usize };
        let (offset, flags) = (operation.offset as i64, self.flags);
        around(&self.plain.targets, self.plain.commit, operation, |fd| {
            // SAFETY: the vector names one buffer of `length` bytes that nobody else uses while this thread is here.
            calls::result(unsafe {
                match operation.verb {
                    Verb::Read => libc::preadv2(fd, &vector, 1, offset, flags) as i64,
                    _ => libc::pwritev2(fd, &vector, 1, offset, flags) as i64,
                }
            })
        })
    }
}
