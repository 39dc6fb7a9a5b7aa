//! System calls that several queues make, with results as the kernel gives them: a number, or a negated errno.

use crate::files::{OpenKind, OpenTarget};
use fathom_spec::SyncKind;
use std::os::fd::RawFd;

/// BLKDISCARD: discard a range, given as two u64 (start, length).
const BLKDISCARD: libc::c_ulong = 0x1277;

/// A call's answer as a result: what it returned, or the negated errno.
#[inline]
pub fn result(answer: i64) -> i32 {
    if answer < 0 { -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { answer as i32 }
}

/// Makes what was written durable; 0 or a negated errno. A range of length 0 is everything.
pub fn sync(fd: RawFd, kind: SyncKind, offset: u64, length: u64) -> i32 {
    // SAFETY: these calls take a descriptor and numbers; no memory of ours is touched.
    unsafe {
        match kind {
            SyncKind::None => 0,
            SyncKind::Fsync => result(libc::fsync(fd).into()),
            SyncKind::Fdatasync | SyncKind::Msync => result(libc::fdatasync(fd).into()),
            SyncKind::Range => {
                let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                result(libc::sync_file_range(fd, offset as i64, length as i64, flags).into())
            }
        }
    }
}

/// The mode of fallocate that gives a range of a file back.
pub const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// Gives a range back: a hole in a file, a discard on a device. Answers its length, or a negated errno.
pub fn trim(target: &OpenTarget, offset: u64, length: u32) -> i32 {
    let fd = target.raw_fd();
    let answer = match target.kind {
        OpenKind::BlockDevice => {
            let range = [offset, u64::from(length)];
            // SAFETY: BLKDISCARD reads two u64, which `range` is.
            unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) }
        }
        // SAFETY: fallocate takes a descriptor and numbers.
        _ => unsafe { libc::fallocate(fd, PUNCH, offset as i64, i64::from(length)) },
    };
    match result(answer.into()) {
        0 => length as i32,
        error => error,
    }
}

/// Sleeps until `until_ns` by the run's clock, or until a signal comes.
pub fn sleep_until(clock: &fathom_drive::Clock, until_ns: u64) {
    let now = clock.now();
    if until_ns <= now {
        return;
    }
    let left = until_ns - now;
    let time = rustix::time::Timespec {
        tv_sec: (left / 1_000_000_000).min(1 << 30) as i64,
        tv_nsec: (left % 1_000_000_000) as _,
    };
    let _ = rustix::thread::nanosleep(&time);
}
