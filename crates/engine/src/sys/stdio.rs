//! C's buffered streams: fread and fwrite go through a buffer of the program's own, and only what leaves it is asked of
//! the kernel. The buffer is the one that the C library gives a stream, as large as a block of the file system. It knows
//! nothing of where the last bytes went until it is flushed: a stream of work that writes ends with a
//! [`SyncKind::Flush`], or what the kernel refuses of them is not seen.

use super::arena::Arena;
use super::blocking::{Blocking, Calls};
use super::psync;
use crate::files::OpenTarget;
use fathom_drive::{Clock, Operation};
use fathom_spec::{SyncKind, Verb};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::Arc;

/// One target's stream, on a descriptor of its own.
#[derive(Debug)]
struct Stream {
    file: *mut libc::FILE,
    /// Where it stands; `None`: it must be told.
    at: Option<u64>,
    /// What was done last; between reads and writes it must be told where it stands.
    wrote: bool,
}

impl Stream {
    fn on(target: &OpenTarget, writes: bool) -> io::Result<Self> {
        let fd = target.fd().ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
        if target.is_direct() {
            return Err(io::Error::other("the buffer of a stream cannot go past the page cache"));
        }
        let own = fd.try_clone()?;
        let mode = if writes { c"r+" } else { c"r" };
        // SAFETY: an open descriptor and a text that ends in 0; the stream takes the descriptor only when it succeeds.
        let file = unsafe { libc::fdopen(own.as_raw_fd(), mode.as_ptr()) };
        if file.is_null() {
            return Err(io::Error::last_os_error());
        }
        // The stream closes it.
        let _ = own.into_raw_fd();
        Ok(Stream { file, at: None, wrote: false })
    }

    /// Bytes moved, or the negated errno.
    fn transfer(&mut self, offset: u64, buffer: *mut libc::c_void, length: usize, write: bool) -> i32 {
        if self.at != Some(offset) || self.wrote != write {
            // SAFETY: the stream is open; the same holds for each call below.
            let moved = unsafe { libc::fseeko(self.file, offset as libc::off_t, libc::SEEK_SET) };
            if moved != 0 {
                self.at = None;
                return psync::answer(-1);
            }
        }
        let moved = match write {
            // SAFETY: the buffer holds `length` bytes, and nobody else uses it during the call.
            true => unsafe { libc::fwrite(buffer, 1, length, self.file) },
            // SAFETY: the same.
            false => unsafe { libc::fread(buffer, 1, length, self.file) },
        };
        (self.at, self.wrote) = (Some(offset + moved as u64), write);
        if moved == length {
            return moved as i32;
        }
        let error = psync::answer(-1);
        self.at = None;
        // SAFETY: as above.
        let failed = unsafe { libc::ferror(self.file) } != 0;
        // SAFETY: as above; the next operation begins anew.
        unsafe { libc::clearerr(self.file) };
        if failed { error } else { moved as i32 }
    }

    /// Gives the kernel what the buffer holds; 0, or the negated errno.
    fn flush(&mut self) -> i32 {
        // SAFETY: the stream is open.
        psync::answer(unsafe { libc::fflush(self.file) } as isize)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and nobody uses it afterwards.
        unsafe { libc::fclose(self.file) };
    }
}

/// Blocking calls on streams.
pub type StdioQueue = Blocking<StdioCalls>;

/// The calls.
#[derive(Debug)]
pub struct StdioCalls {
    targets: Arc<[OpenTarget]>,
    streams: Vec<Stream>,
    arena: Arena,
    commit: SyncKind,
    sync: SyncKind,
}

impl StdioQueue {
    /// Opens a stream on every target; `writes` asks for streams that write.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        (commit, sync): (SyncKind, SyncKind),
        writes: bool,
    ) -> io::Result<Self> {
        let streams = targets.iter().map(|target| Stream::on(target, writes)).collect::<io::Result<_>>()?;
        let room = arena.count();
        Ok(Blocking::of(StdioCalls { targets, streams, arena, commit, sync }, clock, room))
    }
}

impl StdioCalls {
    /// Makes what was written durable, as far as the kind says; 0 or a negated errno.
    fn settle(&mut self, index: usize, kind: SyncKind) -> i32 {
        match kind {
            SyncKind::None => 0,
            kind => match self.streams[index].flush() {
                0 => psync::answer(psync::sync(self.targets[index].raw(), kind)),
                error => error,
            },
        }
    }

    fn transfer(&mut self, tag: u32, operation: &Operation) -> i32 {
        let buffer = self.arena.pointer(tag).cast::<libc::c_void>();
        let length = (operation.length as usize).min(self.arena.stride());
        let write = operation.verb != Verb::Read;
        self.streams[operation.target as usize].transfer(operation.offset, buffer, length, write)
    }
}

impl Calls for StdioCalls {
    fn perform(&mut self, tag: u32, operation: &Operation) -> i32 {
        let index = operation.target as usize;
        match operation.verb {
            Verb::Read | Verb::Write => self.transfer(tag, operation),
            Verb::Sync => self.settle(index, operation.sync_kind(self.sync)),
            Verb::Commit => match self.transfer(tag, operation) {
                written if written as u32 != operation.length => written,
                written => match self.settle(index, self.commit) {
                    0 => written,
                    error => error,
                },
            },
            _ => -libc::EOPNOTSUPP,
        }
    }
}
