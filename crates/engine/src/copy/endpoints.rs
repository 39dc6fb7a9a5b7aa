//! The two ends of a copy: descriptors with a position of their own, which pipes and terminals may be too.

use crate::files::OpenTarget;
use fathom_drive::Steering;
use fathom_spec::SyncKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Advice, FileType, OFlags, SeekFrom};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
use std::io::{IoSlice, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

/// The longest wait for a pipe without a look at the orders.
const LOOK_UP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// One end.
#[derive(Debug)]
struct End {
    targets: Arc<[OpenTarget]>,
    target: usize,
    /// A pipe or terminal, which may keep us waiting for ever.
    waits: bool,
    /// The kernel says at once when it would have to wait (pipes, Linux 6.4 and later): nobody asks before each read or write.
    answers_at_once: bool,
}

/// The end's own position.
const HERE: u64 = u64::MAX;

impl End {
    fn new(targets: Arc<[OpenTarget]>, target: usize) -> Self {
        let about = targets[target].fd().and_then(|fd| rustix::fs::fstat(fd).ok());
        let slow = about.is_some_and(|about| match FileType::from_raw_mode(about.st_mode) {
            FileType::Fifo | FileType::Socket => true,
            FileType::CharacterDevice => !always_ready(about.st_rdev),
            _ => false,
        });
        // Opened so that it never waits: a pipe that nobody writes to has ended, but would never become ready.
        let at_once = targets[target].fd().and_then(|fd| rustix::fs::fcntl_getfl(fd).ok());
        let waits = slow && !at_once.is_some_and(|flags| flags.contains(OFlags::NONBLOCK));
        End { targets, target, waits, answers_at_once: waits }
    }

    fn fd(&self) -> Result<&OwnedFd, Errno> {
        self.targets[self.target].fd().ok_or(Errno::BADF)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        if self.answers_at_once {
            match preadv2(self.fd()?, &mut [IoSliceMut::new(buffer)], HERE, ReadWriteFlags::NOWAIT) {
                Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => self.answers_at_once = false,
                answer => return answer,
            }
        }
        rustix::io::read(self.fd()?, buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if self.answers_at_once {
            match pwritev2(self.fd()?, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT) {
                Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => self.answers_at_once = false,
                answer => return answer,
            }
        }
        rustix::io::write(self.fd()?, bytes)
    }

    /// Waits where a read or write would have to be waited for; `false` when the run is told to stop meanwhile.
    fn may_wait(&self, wanted: PollFlags, steering: &Steering) -> bool {
        self.answers_at_once || self.ready(wanted, steering)
    }

    /// Waits until the end is ready; `false` when the run is told to stop meanwhile.
    fn ready(&self, wanted: PollFlags, steering: &Steering) -> bool {
        let Ok(fd) = self.fd() else { return true };
        if !self.waits {
            return true;
        }
        loop {
            match poll(&mut [PollFd::new(fd, wanted)], Some(&LOOK_UP)) {
                Ok(0) | Err(Errno::INTR) => {}
                // What cannot be waited for says so when it is used.
                Ok(_) | Err(_) => return true,
            }
            if steering.stop.load(Acquire) {
                return false;
            }
        }
    }

    fn forget(&self, offset: u64, length: usize, to_the_end: bool) {
        let length = if to_the_end { None } else { NonZeroU64::new(length as u64) };
        if let (Ok(fd), true) = (self.fd(), to_the_end || length.is_some()) {
            // A hint: what does not know it keeps its cache.
            let _ = rustix::fs::fadvise(fd, offset, length, Advice::DontNeed);
        }
    }
}

/// /dev/null, /dev/zero, /dev/full, /dev/random and /dev/urandom: a look whether they are ready would cost as much as the
/// read or write itself.
fn always_ready(device: u64) -> bool {
    matches!((rustix::fs::major(device), rustix::fs::minor(device)), (1, 3 | 5 | 7 | 8 | 9))
}

/// What a read answers.
pub(super) enum Read {
    Some(usize),
    End,
    Stopped,
    Failed(Errno),
}

/// Where bytes come from.
#[derive(Debug)]
pub(super) struct Input(End);

impl Input {
    pub(super) fn new(targets: Arc<[OpenTarget]>, target: usize) -> Self {
        Input(End::new(targets, target))
    }

    pub(super) fn read(&mut self, buffer: &mut [u8], steering: &Steering) -> Read {
        loop {
            if !self.0.may_wait(PollFlags::IN, steering) {
                return Read::Stopped;
            }
            match self.0.read(buffer) {
                Ok(0) => return Read::End,
                Ok(bytes) => return Read::Some(bytes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.0.answers_at_once => {
                    if !self.0.ready(PollFlags::IN, steering) {
                        return Read::Stopped;
                    }
                }
                Err(error) => return Read::Failed(error),
            }
        }
    }

    pub(super) fn seek(&mut self, by: i64) -> Result<(), Errno> {
        rustix::fs::seek(self.0.fd()?, SeekFrom::Current(by)).map(|_| ())
    }

    pub(super) fn forget(&self, offset: u64, length: usize, to_the_end: bool) {
        self.0.forget(offset, length, to_the_end);
    }
}

/// Where bytes go to.
#[derive(Debug)]
pub(super) struct Output {
    end: End,
    /// Bytes written or skipped so far.
    pub(super) written: u64,
    /// The last block became a hole: the file may have to be made longer in the end.
    hole_last: bool,
}

impl Output {
    pub(super) fn new(targets: Arc<[OpenTarget]>, target: usize) -> Self {
        Output { end: End::new(targets, target), written: 0, hole_last: false }
    }

    pub(super) fn seek(&mut self, by: i64) -> Result<(), Errno> {
        rustix::fs::seek(self.end.fd()?, SeekFrom::Current(by)).map(|_| ())
    }

    /// Leaves a hole; `false` where there can be none.
    pub(super) fn skip(&mut self, length: usize) -> bool {
        let skipped = self.seek(length as i64).is_ok();
        self.hole_last = skipped;
        self.written += if skipped { length as u64 } else { 0 };
        skipped
    }

    /// Writes all of it. A short block cannot go past the page cache, so that is given up for it. Answers the error
    /// with the bytes that were written.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        short: bool,
        steering: &Steering,
    ) -> Result<(), (Errno, usize)> {
        let fd = self.end.fd().map_err(|error| (error, 0))?;
        if short
            && let Ok(flags) = rustix::fs::fcntl_getfl(fd)
            && flags.contains(OFlags::DIRECT)
        {
            let _ = rustix::fs::fcntl_setfl(fd, flags - OFlags::DIRECT);
        }
        self.hole_last = false;
        let mut moved = 0;
        while moved < bytes.len() {
            if !self.end.may_wait(PollFlags::OUT, steering) {
                return Err((Errno::INTR, moved));
            }
            match self.end.write(&bytes[moved..]) {
                Ok(0) => return Err((Errno::NOSPC, moved)),
                Ok(some) => {
                    moved += some;
                    self.written += some as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.end.answers_at_once => {
                    if !self.end.ready(PollFlags::OUT, steering) {
                        return Err((Errno::INTR, moved));
                    }
                }
                Err(error) => return Err((error, moved)),
            }
        }
        Ok(())
    }

    /// A file that ends in a hole gets its length.
    pub(super) fn end(&mut self) -> Result<(), Errno> {
        if !self.hole_last {
            return Ok(());
        }
        let fd = self.end.fd()?;
        let (about, at) = (rustix::fs::fstat(fd)?, rustix::fs::tell(fd)?);
        let regular = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
        if regular && (about.st_size as u64) < at {
            rustix::fs::ftruncate(fd, at)?;
        }
        Ok(())
    }

    pub(super) fn sync(&self, kind: SyncKind) -> Result<(), Errno> {
        let fd = self.end.fd()?;
        match kind {
            SyncKind::Fdatasync => rustix::fs::fdatasync(fd),
            SyncKind::Flush => Ok(()),
            SyncKind::Close => rustix::io::dup(fd).map(drop),
            _ => rustix::fs::fsync(fd),
        }
    }

    pub(super) fn forget(&self, offset: u64, length: usize, to_the_end: bool) {
        self.end.forget(offset, length, to_the_end);
    }
}
