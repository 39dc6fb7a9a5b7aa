//! The kernel's older asynchronous I/O by its own system calls; completions are taken from the ring that the
//! kernel shares with the process, and waited for by io_getevents.

use super::arena::Arena;
use super::psync;
use crate::files::OpenTarget;
use fathom_drive::{Clock, Completion, Operation, Queue};
use fathom_spec::{SyncKind, Verb};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// `struct iocb` of the kernel's interface (little endian layout).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Iocb {
    data: u64,
    key: u32,
    flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    more_flags: u32,
    event_fd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// The head of the shared ring, `struct aio_ring`.
#[repr(C)]
struct Ring {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_bytes: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32 && size_of::<Ring>() == 32);

const MAGIC: u32 = 0xa10a_10a1;
const READ: u16 = 0;
const WRITE: u16 = 1;

/// One worker's context.
#[derive(Debug)]
pub struct AioQueue {
    context: u64,
    arena: Arena,
    targets: Arc<[OpenTarget]>,
    clock: Clock,
    commit: SyncKind,
    sync: SyncKind,
    blocks: Vec<Iocb>,
    /// Addresses of the blocks to submit.
    waiting: Vec<u64>,
    operations: Vec<Operation>,
    events: Vec<IoEvent>,
    inline: Vec<Completion>,
}

// SAFETY: the pointers inside lead to memory that the queue itself owns.
unsafe impl Send for AioQueue {}

impl AioQueue {
    /// A context with room for `depth` operations.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        depth: u32,
        (commit, sync): (SyncKind, SyncKind),
    ) -> std::io::Result<Self> {
        let mut context = 0u64;
        // SAFETY: the kernel writes the context's address into the u64, which lives through the call.
        let result =
            unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth.max(1)), &mut context) };
        if result < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let room = depth.max(1) as usize;
        let nothing =
            Operation { offset: 0, due_ns: 0, mark: 0, length: 0, target: 0, verb: Verb::Read, cell: 0 };
        Ok(AioQueue {
            context,
            arena,
            targets,
            clock,
            commit,
            sync,
            blocks: vec![Iocb::default(); room],
            waiting: Vec::with_capacity(room),
            operations: vec![nothing; room],
            events: vec![IoEvent::default(); room],
            inline: Vec::with_capacity(room),
        })
    }

    fn prepare(&mut self, tag: u32, operation: &Operation) {
        let write = matches!(operation.verb, Verb::Write | Verb::Commit);
        self.operations[tag as usize] = *operation;
        self.blocks[tag as usize] = Iocb {
            data: u64::from(tag),
            opcode: if write { WRITE } else { READ },
            fd: self.targets[operation.target as usize].raw() as u32,
            buffer: self.arena.pointer(tag) as u64,
            bytes: u64::from(operation.length),
            offset: operation.offset as i64,
            ..Iocb::default()
        };
        self.waiting.push(std::ptr::from_ref(&self.blocks[tag as usize]) as u64);
    }

    fn submit(&mut self) {
        let mut from = 0;
        while from < self.waiting.len() {
            let left = &self.waiting[from..];
            // SAFETY: the list holds addresses of `blocks`, which never move (the vector never grows) and stay
            // untouched until their tags come back; their buffers lie in the arena.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, left.len() as libc::c_long, left.as_ptr())
            };
            if taken > 0 {
                from += taken as usize;
                continue;
            }
            let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            if matches!(error, libc::EAGAIN | libc::EINTR) && from > 0 {
                break;
            }
            if error == libc::EINTR {
                continue;
            }
            // The first block of the list was refused: that is this operation's result.
            // SAFETY: the address is that of one of `blocks`.
            let tag = unsafe { (*(left[0] as *const Iocb)).data as u32 };
            self.inline.push(Completion { tag, result: -error });
            from += 1;
        }
        self.waiting.drain(..from);
    }

    fn ring(&self) -> Option<&Ring> {
        // SAFETY: the context is the address of the ring that the kernel mapped at io_setup.
        let ring = unsafe { &*(self.context as *const Ring) };
        (ring.magic == MAGIC && ring.incompatible == 0).then_some(ring)
    }

    /// Takes a completion; those of commits are synced first.
    fn complete(&mut self, tag: u32, result: i64, done: &mut Vec<Completion>) {
        let operation = self.operations[tag as usize];
        let mut result = result as i32;
        if operation.verb == Verb::Commit && result >= 0 {
            let fd = self.targets[operation.target as usize].raw();
            if psync::sync(fd, self.commit) < 0 {
                result = -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            }
        }
        done.push(Completion { tag, result });
    }
}

impl Queue for AioQueue {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        for (tag, operation) in tags.iter().zip(operations) {
            match operation.verb {
                Verb::Read | Verb::Write | Verb::Commit => self.prepare(*tag, operation),
                verb => {
                    let target = &self.targets[operation.target as usize];
                    let result = match verb {
                        Verb::Trim => psync::discard(target, operation),
                        _ => psync::sync(target.raw(), self.sync),
                    };
                    let failed = || -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                    let result = if result < 0 { failed() } else { result as i32 };
                    self.inline.push(Completion { tag: *tag, result });
                }
            }
        }
    }

    fn enter(&mut self, at_least: usize, until_ns: u64) {
        let submitted = !self.waiting.is_empty();
        if submitted {
            self.submit();
        }
        if !self.inline.is_empty() {
            return;
        }
        if at_least == 0 {
            if !submitted {
                psync::sleep_until(&self.clock, until_ns);
            }
            return;
        }
        let ready = self
            .ring()
            .is_some_and(|ring| ring.head.load(Ordering::Relaxed) != ring.tail.load(Ordering::Acquire));
        if ready {
            return;
        }
        let left = until_ns.saturating_sub(if until_ns == u64::MAX { 0 } else { self.clock.now() });
        let timeout =
            libc::timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
        let timeout = if until_ns == u64::MAX { std::ptr::null() } else { std::ptr::from_ref(&timeout) };
        // SAFETY: asks for none of the events (they stay in the ring, at most 0 are written) when the ring can be
        // read here, else for as many as `events` holds; the time-out lives through the call.
        let most = if self.ring().is_some() { 1 } else { self.events.len() };
        // SAFETY: `events` has room for `most`; a null time-out waits without end.
        let got = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                1 as libc::c_long,
                most as libc::c_long,
                self.events.as_mut_ptr(),
                timeout,
            )
        };
        let mut done = std::mem::take(&mut self.inline);
        for i in 0..got.max(0) as usize {
            let IoEvent { data, result, .. } = self.events[i];
            self.complete(data as u32, result, &mut done);
        }
        self.inline = done;
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.inline);
        let Some(ring) = self.ring() else { return };
        let count = ring.count;
        let mut head = ring.head.load(Ordering::Relaxed);
        let tail = ring.tail.load(Ordering::Acquire);
        let events = (self.context as usize + ring.header_bytes as usize) as *const IoEvent;
        while head != tail {
            // SAFETY: `head` is below `count`, so this is one of the ring's events, and the kernel has published
            // it before it moved the tail.
            let IoEvent { data, result, .. } = unsafe { std::ptr::read_volatile(events.add(head as usize)) };
            head = if head + 1 >= count { 0 } else { head + 1 };
            self.complete(data as u32, result, done);
        }
        if let Some(ring) = self.ring() {
            ring.head.store(head, Ordering::Release);
        }
    }
}

impl Drop for AioQueue {
    fn drop(&mut self) {
        // SAFETY: the context is this queue's own; the call waits for what is still outstanding.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
        }
    }
}
