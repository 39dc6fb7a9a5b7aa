//! The kernel's older asynchronous I/O by its own system calls: one io_submit a batch; completions are taken from
//! the ring that the kernel maps into the process, and io_getevents only waits.

use super::arena::Arena;
use super::psync;
use crate::files::OpenTarget;
use crate::priorities::Priorities;
use fathom_drive::{Clock, Completion, Operation, Queue};
use fathom_spec::{QueueOptions, SyncKind, Verb};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
/// In a control's flags: its priority counts (IOCB_FLAG_IOPRIO of linux/aio_abi.h).
const HAS_PRIORITY: u32 = 1 << 1;
const RING_MAGIC: u32 = 0xa10a_10a1;

/// The kernel's struct iocb.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Control {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}
const _: () = assert!(size_of::<Control>() == 64);

/// The kernel's struct io_event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    data: u64,
    control: u64,
    result: i64,
    more: i64,
}
const _: () = assert!(size_of::<Answer>() == 32);

/// The head of the ring that the kernel shares.
#[repr(C)]
struct Shared {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_length: u32,
}
const _: () = assert!(size_of::<Shared>() == 32);

/// Operations through libaio's system calls.
#[derive(Debug)]
pub struct AioQueue {
    context: u64,
    clock: Clock,
    arena: Arena,
    targets: Arc<[OpenTarget]>,
    controls: Vec<Control>,
    operations: Vec<Operation>,
    /// Addresses of the controls that are to be submitted next.
    pending: Vec<*mut Control>,
    answers: Vec<Answer>,
    done: Vec<Completion>,
    outstanding: usize,
    rw_flags: i32,
    commit: SyncKind,
    sync: SyncKind,
    /// May completions be taken from the shared ring?
    shared_ring: bool,
    /// Does the kernel refuse asynchronous syncs?
    syncs_here: bool,
    /// Operations at a priority of their own.
    priorities: Option<Priorities>,
    notes: Vec<String>,
}

/// Bit of `data` that marks the sync of a commit, whose write is done.
const SYNC_PART: u64 = 1 << 32;

impl AioQueue {
    /// A context for as many operations as there are buffers, over these targets and buffers. EAGAIN: the system's slots
    /// (fs.aio-max-nr) are used up.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        (commit, sync): (SyncKind, SyncKind),
        options: QueueOptions,
    ) -> io::Result<Self> {
        let depth = arena.count();
        let mut context = 0u64;
        // SAFETY: io_setup writes the context's handle into a u64 that is 0 before.
        if unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_long, &mut context) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let empty = Control {
            data: 0,
            key: 0,
            rw_flags: 0,
            opcode: 0,
            priority: 0,
            fd: 0,
            buffer: 0,
            length: 0,
            offset: 0,
            reserved: 0,
            flags: 0,
            event_fd: 0,
        };
        let nothing =
            Operation { offset: 0, due_ns: 0, mark: 0, length: 0, target: 0, verb: Verb::Read, cell: 0 };
        let high = if options.io_poll { libc::RWF_HIPRI } else { 0 };
        let mut notes = Vec::new();
        if options.io_poll {
            notes.push(
                "libaio is asked for polled completions by RWF_HIPRI, which it takes as a hint".to_owned(),
            );
        }
        if options.submit_poll {
            notes.push("libaio has no submitting kernel thread".to_owned());
        }
        // SAFETY: the kernel has mapped its ring at the address that is the context's handle.
        let ring = unsafe { &*(context as *const Shared) };
        let shared_ring = ring.magic == RING_MAGIC && ring.incompatible == 0 && ring.header_length == 32;
        if !shared_ring {
            notes.push(
                "libaio's completions by system call: its shared ring is of an unknown kind".to_owned(),
            );
        }
        Ok(AioQueue {
            context,
            clock,
            arena,
            targets,
            controls: vec![empty; depth],
            operations: vec![nothing; depth],
            pending: Vec::with_capacity(depth),
            answers: vec![Answer::default(); depth],
            done: Vec::with_capacity(depth),
            outstanding: 0,
            rw_flags: high | if options.no_wait { libc::RWF_NOWAIT } else { 0 },
            commit,
            sync,
            shared_ring,
            syncs_here: false,
            priorities: None,
            notes,
        })
    }

    /// What was asked for and could not be had, and what was taken instead.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The same, with priorities of single operations.
    pub(crate) fn with(mut self, priorities: Option<Priorities>) -> Self {
        self.priorities = priorities;
        self
    }

    /// Sets the priorities of what was lined up.
    #[cold]
    fn set_priorities(&mut self, tags: &[u32], operations: &[Operation]) {
        let Some(priorities) = &mut self.priorities else { return };
        for (tag, operation) in tags.iter().zip(operations) {
            let control = &mut self.controls[*tag as usize];
            let word = priorities.draw_for(*tag, operation);
            (control.priority, control.flags) = (word as i16, if word == 0 { 0 } else { HAS_PRIORITY });
        }
    }

    /// Prepares the control of a tag and lines it up.
    #[inline(always)]
    fn line_up(&mut self, tag: u32, part: u64, opcode: u16, rw_flags: i32) {
        let operation = &self.operations[tag as usize];
        let fd = self.targets.get(operation.target as usize).map_or(-1, |target| target.raw());
        let sync = matches!(opcode, FSYNC | FDSYNC);
        assert!(operation.length as usize <= self.arena.stride());
        let control = &mut self.controls[tag as usize];
        control.data = u64::from(tag) | part;
        control.opcode = opcode;
        control.rw_flags = rw_flags;
        control.fd = fd as u32;
        (control.buffer, control.length, control.offset) = match sync {
            true => (0, 0, 0),
            false => (self.arena.pointer(tag) as u64, u64::from(operation.length), operation.offset as i64),
        };
        self.pending.push(std::ptr::from_mut(control));
    }

    /// A sync as its own operation or as the second part of a commit.
    fn line_up_sync(&mut self, tag: u32, part: u64, kind: SyncKind) {
        match kind {
            SyncKind::Fsync if !self.syncs_here => self.line_up(tag, part, FSYNC, 0),
            SyncKind::Fdatasync | SyncKind::Msync if !self.syncs_here => self.line_up(tag, part, FDSYNC, 0),
            _ => {
                let result = self.sync_here(tag, kind);
                self.finish(tag, part, result);
            }
        }
    }

    fn sync_here(&self, tag: u32, kind: SyncKind) -> i32 {
        let operation = &self.operations[tag as usize];
        let fd = self.targets.get(operation.target as usize).map_or(-1, |target| target.raw());
        psync::answer(psync::sync(fd, kind))
    }

    /// Books a result; the write of a commit goes on to its sync.
    #[inline(always)]
    fn finish(&mut self, tag: u32, part: u64, result: i32) {
        let operation = &self.operations[tag as usize];
        let result = match operation.verb {
            Verb::Commit if part == 0 && result as u32 == operation.length => {
                return self.line_up_sync(tag, SYNC_PART, self.commit);
            }
            Verb::Commit if part != 0 && result == 0 => operation.length as i32,
            _ => result,
        };
        self.done.push(Completion { tag, result });
    }

    /// Offers everything that is lined up, in one call unless the kernel takes only a part.
    fn submit(&mut self) {
        let mut from = 0;
        while from < self.pending.len() {
            let rest = &self.pending[from..];
            // SAFETY: the list holds pointers into `controls`, whose buffers live until nothing is outstanding.
            let taken = psync::answer(unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, rest.len() as libc::c_long, rest.as_ptr())
                    as isize
            });
            match taken {
                0.. if taken > 0 => {
                    self.outstanding += taken as usize;
                    from += taken as usize;
                }
                error if (error == 0 || error == -libc::EAGAIN) && self.outstanding > 0 => break,
                error if error == -libc::EINTR => break,
                error => {
                    let index = self.first_pending(from);
                    from += 1;
                    self.not_taken(index, error);
                }
            }
        }
        self.pending.drain(..from);
    }

    fn first_pending(&self, from: usize) -> u32 {
        let base = self.controls.as_ptr() as usize;
        ((self.pending[from] as usize - base) / size_of::<Control>()) as u32
    }

    /// The kernel refused one operation outright: that is its result, except that a sync can be done here.
    #[cold]
    fn not_taken(&mut self, tag: u32, error: i32) {
        let (opcode, part) = {
            let control = &self.controls[tag as usize];
            (control.opcode, control.data & SYNC_PART)
        };
        let error = if error == 0 { -libc::EAGAIN } else { error };
        if matches!(opcode, FSYNC | FDSYNC) && error == -libc::EINVAL {
            if !self.syncs_here {
                self.syncs_here = true;
                self.notes
                    .push("libaio's syncs by system call: the kernel refused them in the queue".to_owned());
            }
            let kind = if opcode == FSYNC { SyncKind::Fsync } else { SyncKind::Fdatasync };
            let result = self.sync_here(tag, kind);
            return self.finish(tag, part, result);
        }
        self.done.push(Completion { tag, result: error });
    }

    /// Takes what the kernel has put into the ring, without a system call.
    #[inline]
    fn reap_shared(&mut self) {
        // SAFETY: the ring stays mapped at the context's address until io_destroy, and its magic was checked.
        let ring = unsafe { &*(self.context as *const Shared) };
        let tail = ring.tail.load(Ordering::Acquire);
        let mut head = ring.head.load(Ordering::Relaxed);
        let events = self.context as usize + size_of::<Shared>();
        while head != tail {
            // SAFETY: head is below the ring's count, and the kernel has filled what lies before the tail.
            let answer = unsafe { *((events as *const Answer).wrapping_add(head as usize)) };
            head = if head + 1 == ring.count { 0 } else { head + 1 };
            self.outstanding -= 1;
            self.finish(answer.data as u32, answer.data & SYNC_PART, answer.result as i32);
        }
        ring.head.store(head, Ordering::Release);
    }

    /// Waits in the kernel for `least` completions, until `until_ns` or for ever.
    fn wait(&mut self, least: usize, until_ns: u64) {
        let left = until_ns.saturating_sub(self.clock.now());
        let time = libc::timespec {
            tv_sec: (left / 1_000_000_000).min(1 << 30) as i64,
            tv_nsec: (left % 1_000_000_000) as i64,
        };
        let time = if until_ns == u64::MAX { std::ptr::null() } else { std::ptr::from_ref(&time) };
        let least = least.clamp(1, self.outstanding);
        // SAFETY: `answers` has room for all that can be outstanding, and the time lives through the call.
        let got = psync::answer(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least as libc::c_long,
                self.answers.len() as libc::c_long,
                self.answers.as_mut_ptr(),
                time,
            ) as isize
        });
        for i in 0..got.max(0) as usize {
            let answer = self.answers[i];
            self.outstanding -= 1;
            self.finish(answer.data as u32, answer.data & SYNC_PART, answer.result as i32);
        }
    }

    fn reap(&mut self) {
        if self.shared_ring {
            self.reap_shared();
        } else if self.outstanding > 0 {
            self.wait_none();
        }
    }

    /// A look without waiting, where there is no shared ring.
    fn wait_none(&mut self) {
        self.wait(1, 0);
    }
}

impl Queue for AioQueue {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        for (&tag, operation) in tags.iter().zip(operations) {
            self.operations[tag as usize] = *operation;
            match operation.verb {
                Verb::Read => self.line_up(tag, 0, PREAD, self.rw_flags),
                Verb::Write | Verb::Commit => self.line_up(tag, 0, PWRITE, self.rw_flags),
                Verb::Sync => self.line_up_sync(tag, 0, operation.sync_kind(self.sync)),
                Verb::Trim => {
                    let result = match self.targets.get(operation.target as usize) {
                        Some(target) => psync::answer(psync::discard(target, operation)),
                        None => -libc::EBADF,
                    };
                    self.done.push(Completion { tag, result });
                }
                _ => self.done.push(Completion { tag, result: -libc::EOPNOTSUPP }),
            }
        }
        if self.priorities.is_some() {
            self.set_priorities(tags, operations);
        }
    }

    fn enter(&mut self, at_least: usize, until_ns: u64) {
        if !self.pending.is_empty() {
            self.submit();
        }
        self.reap();
        // The write of a commit that is done has lined up its sync, which is to go out before any waiting.
        while self.done.len() < at_least && until_ns != 0 {
            if !self.pending.is_empty() {
                self.submit();
            }
            if self.outstanding == 0 || self.done.len() >= at_least {
                break;
            }
            let before = self.outstanding;
            self.wait(at_least - self.done.len(), until_ns);
            if self.outstanding == before {
                break;
            }
        }
        if at_least == 0 && self.done.is_empty() && until_ns != u64::MAX && until_ns != 0 {
            match self.outstanding {
                0 => self.clock.sleep_until(until_ns),
                _ => self.wait(1, until_ns),
            }
        }
        if !self.pending.is_empty() {
            self.submit();
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.outstanding > 0 {
            self.reap();
        }
        done.append(&mut self.done);
    }
}

impl Drop for AioQueue {
    fn drop(&mut self) {
        // SAFETY: the context is ours. The call waits until nothing is in flight, so that the buffers are free then.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
