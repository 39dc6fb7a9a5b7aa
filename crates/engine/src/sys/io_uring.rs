//! io_uring: one system call submits and waits; waiting is for one, reaping is of all.

use crate::files::{OpenKind, Setup, Targets, sync_kind};
use crate::sys::arena::Arena;
use crate::sys::calls;
use fathom_drive::{Clock, Completion, Operation, Queue};
use fathom_spec::{SyncKind, Verb};
use io_uring::{IoUring, opcode, squeue, types};
use std::io;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 2;
const ENTER_EXT_ARG: u32 = 8;
/// How long the kernel's submitting thread stays awake without work.
const SUBMIT_POLL_IDLE_MS: u32 = 1000;
/// The most that one registered buffer may hold.
const BUFFER_MOST: usize = 1 << 30;

/// What a completion belongs to; stands above the tag in `user_data`.
const PART_WRITE: u64 = 1 << 32;
const PART_SYNC: u64 = 2 << 32;
const PART_LENGTH: u64 = 3 << 32;

/// The kernel's struct io_uring_getevents_arg.
#[repr(C)]
struct WaitArgument {
    signal_mask: u64,
    signal_mask_size: u32,
    least_wait_us: u32,
    timespec: u64,
}
const _: () = assert!(size_of::<WaitArgument>() == 24);
const _: () = assert!(size_of::<squeue::Entry>() == 64 && size_of::<io_uring::cqueue::Entry>() == 16);
const _: () = assert!(size_of::<types::Timespec>() == 16);

/// Operations through io_uring. It stays on the thread that made it (SINGLE_ISSUER).
pub struct UringQueue {
    ring: IoUring,
    clock: Clock,
    arena: Arc<Arena>,
    targets: Targets,
    /// Descriptors, or their numbers among the registered ones (which are the targets' own).
    fixed_files: bool,
    fixed_buffers: bool,
    /// 0: all of the arena is one registered buffer; all ones: each tag has its own.
    buffer_mask: u32,
    rw_flags: i32,
    commit: SyncKind,
    /// Per tag: what the write of a commit answered, or a trim's length.
    kept: Vec<i32>,
    /// Completions of what the ring could not do and the thread did itself.
    done: Vec<Completion>,
    /// Entries that the kernel has not taken yet.
    unsubmitted: u32,
    /// Entries that have not come back.
    outstanding: usize,
    mode: Mode,
    notes: Vec<String>,
    on_this_thread: PhantomData<*const ()>,
}

/// How a ring is set up; each is a step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode {
    io_poll: bool,
    submit_poll: bool,
    tasks: Tasks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tasks {
    /// SINGLE_ISSUER | DEFER_TASKRUN (Linux 6.1).
    Deferred,
    /// COOP_TASKRUN (Linux 5.19).
    Cooperative,
    /// None of these.
    Interrupting,
}

impl Mode {
    fn build(self, entries: u32, completions: u32) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions).dontfork();
        if self.io_poll {
            builder.setup_iopoll();
        }
        if self.submit_poll {
            builder.setup_sqpoll(SUBMIT_POLL_IDLE_MS);
        }
        match self.tasks {
            Tasks::Deferred => builder.setup_single_issuer().setup_defer_taskrun(),
            Tasks::Cooperative => builder.setup_coop_taskrun(),
            Tasks::Interrupting => &mut builder,
        };
        builder.build(entries)
    }

    /// The next step down, with what is lost by it.
    fn down(self) -> Option<(Mode, &'static str)> {
        match self {
            Mode { tasks: Tasks::Deferred, .. } => Some((
                Mode { tasks: Tasks::Cooperative, ..self },
                "io_uring without DEFER_TASKRUN: this kernel does not know it (Linux 6.1 does)",
            )),
            Mode { tasks: Tasks::Cooperative, .. } => Some((
                Mode { tasks: Tasks::Interrupting, ..self },
                "io_uring without COOP_TASKRUN: this kernel does not know it (Linux 5.19 does)",
            )),
            Mode { submit_poll: true, .. } => Some((
                Mode { submit_poll: false, tasks: Tasks::Deferred, ..self },
                "io_uring without a submitting kernel thread: this kernel refused SQPOLL",
            )),
            Mode { io_poll: true, .. } => Some((
                Mode { io_poll: false, tasks: Tasks::Deferred, ..self },
                "io_uring without polled completions: this kernel refused IOPOLL",
            )),
            _ => None,
        }
    }
}

/// Goes down the ladder until a ring can be made.
fn climb(mut mode: Mode, entries: u32, notes: &mut Vec<String>) -> io::Result<(IoUring, Mode)> {
    loop {
        match mode.build(entries, entries * 2) {
            Ok(ring) => return Ok((ring, mode)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM)) => {
                let Some((lower, lost)) = mode.down() else { return Err(error) };
                notes.push(lost.to_owned());
                mode = lower;
            }
            Err(error) => return Err(error),
        }
    }
}

impl UringQueue {
    /// A ring for `setup.depth` operations over these targets and buffers. Make it on the thread that uses it.
    pub fn new(clock: Clock, setup: &Setup, targets: Targets, arena: Arc<Arena>) -> io::Result<Self> {
        let mut notes = Vec::new();
        let submit_poll = setup.options.submit_poll;
        let io_poll = setup.options.io_poll && !setup.commits;
        if setup.options.io_poll && setup.commits {
            notes.push("io_uring without polled completions: a polled ring knows no syncs".to_owned());
        }
        let wanted = Mode {
            io_poll,
            submit_poll,
            tasks: if submit_poll { Tasks::Interrupting } else { Tasks::Deferred },
        };
        let mut queue = Self::with_mode(clock, setup, targets.clone(), arena.clone(), wanted, &mut notes)?;
        if queue.mode.io_poll && queue.refuses_polled_reads() {
            notes.push(
                "io_uring without polled completions: the target's driver has no queues for polling".to_owned(),
            );
            let without = Mode { io_poll: false, ..wanted };
            drop(queue);
            queue = Self::with_mode(clock, setup, targets, arena, without, &mut notes)?;
        }
        queue.notes = notes;
        Ok(queue)
    }

    fn with_mode(
        clock: Clock,
        setup: &Setup,
        targets: Targets,
        arena: Arc<Arena>,
        wanted: Mode,
        notes: &mut Vec<String>,
    ) -> io::Result<Self> {
        let depth = setup.depth.max(1).next_power_of_two();
        let entries = if setup.commits { depth * 2 } else { depth };
        let (ring, mode) = climb(wanted, entries, notes)?;
        let registered = !setup.options.unregistered;
        let fixed_files = registered && register_files(&ring, &targets, notes);
        let buffer_mask = if arena.span().1 <= BUFFER_MOST { 0 } else { u32::MAX };
        let fixed_buffers = registered && register_buffers(&ring, &arena, buffer_mask, notes);
        Ok(UringQueue {
            clock,
            kept: vec![0; arena.count()],
            done: Vec::with_capacity(arena.count()),
            arena,
            targets,
            fixed_files,
            fixed_buffers,
            buffer_mask,
            rw_flags: if setup.options.no_wait { libc::RWF_NOWAIT } else { 0 },
            commit: setup.commit,
            unsubmitted: 0,
            outstanding: 0,
            mode,
            notes: Vec::new(),
            on_this_thread: PhantomData,
            ring,
        })
    }

    /// What was asked for and could not be had, and what was taken instead.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How this ring does its work, for the record.
    pub fn describe(&self) -> String {
        let tasks = match self.mode.tasks {
            Tasks::Deferred => ", deferred task work",
            Tasks::Cooperative => ", cooperative task work",
            Tasks::Interrupting => "",
        };
        let said = |yes: bool, text| if yes { text } else { "" };
        format!(
            "io_uring{tasks}{}{}{}{}",
            said(self.fixed_files, ", registered files"),
            said(self.fixed_buffers, ", registered buffers"),
            said(self.mode.io_poll, ", polled completions"),
            said(self.mode.submit_poll, ", a submitting kernel thread"),
        )
    }

    /// One read of the first block of the first target: a driver without polled queues answers EOPNOTSUPP.
    fn refuses_polled_reads(&mut self) -> bool {
        let length = self.arena.stride().min(4096) as u32;
        let operation =
            Operation { offset: 0, due_ns: 0, mark: 0, length, target: 0, verb: Verb::Read, cell: 0 };
        self.push(&[0], &[operation]);
        let mut done = Vec::new();
        let until = self.clock.now() + 1_000_000_000;
        while done.is_empty() && self.clock.now() < until {
            self.enter(1, until);
            self.poll(&mut done);
        }
        done.first().is_none_or(|c| c.result == -libc::EOPNOTSUPP || c.result == -libc::EINVAL)
    }

    /// Puts one entry into the ring. There is room for all that the depth allows.
    #[inline(always)]
    fn queue(ring: &mut IoUring, unsubmitted: &mut u32, entry: &squeue::Entry) {
        // SAFETY: an entry's pointer is a tag's buffer in the arena, which lives until nothing is outstanding.
        if unsafe { ring.submission().push(entry) }.is_err() {
            unreachable!("the ring has room for the depth");
        }
        *unsubmitted += 1;
    }

    fn fd(&self, file: u16) -> RawFd {
        self.targets.get(file as usize).map_or(-1, |target| target.raw_fd())
    }

    /// A read, or else a write, of a tag's buffer.
    #[inline(always)]
    fn transfer(&self, tag: u32, operation: &Operation) -> squeue::Entry {
        let Operation { offset, length, target, .. } = *operation;
        assert!(length as usize <= self.arena.stride());
        let buffer = self.arena.pointer(tag);
        let index = (tag & self.buffer_mask) as u16;
        let flags = self.rw_flags;
        macro_rules! entry {
            ($kind:ident $(, $index:ident)?) => {
                if self.fixed_files {
                    let file = types::Fixed(target.into());
                    opcode::$kind::new(file, buffer, length $(, $index)?).offset(offset).rw_flags(flags).build()
                } else {
                    let file = types::Fd(self.fd(target));
                    opcode::$kind::new(file, buffer, length $(, $index)?).offset(offset).rw_flags(flags).build()
                }
            };
        }
        let entry = match (operation.verb, self.fixed_buffers) {
            (Verb::Read, true) => entry!(ReadFixed, index),
            (Verb::Read, false) => entry!(Read),
            (_, true) => entry!(WriteFixed, index),
            (_, false) => entry!(Write),
        };
        entry.user_data(u64::from(tag))
    }

    /// The sync of a target; `None` where the ring cannot do it.
    fn sync_entry(&self, file: u16, kind: SyncKind, range: (u64, u32)) -> Option<squeue::Entry> {
        let file = types::Fd(self.fd(file));
        let whole = |flags| opcode::Fsync::new(file).flags(flags).build();
        match kind {
            _ if self.mode.io_poll => None,
            SyncKind::None => None,
            SyncKind::Fsync => Some(whole(types::FsyncFlags::empty())),
            SyncKind::Fdatasync | SyncKind::Msync => Some(whole(types::FsyncFlags::DATASYNC)),
            SyncKind::Range => {
                let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                Some(opcode::SyncFileRange::new(file, range.1).offset(range.0).flags(flags).build())
            }
        }
    }

    /// What is neither a read nor a write.
    #[cold]
    fn push_other(&mut self, tag: u32, operation: &Operation) {
        let range = (operation.offset, operation.length);
        let tag_word = u64::from(tag);
        match operation.verb {
            Verb::Commit => {
                let write = self.transfer(tag, operation);
                match self.sync_entry(operation.target, self.commit, range) {
                    Some(sync) => {
                        let write = write.flags(squeue::Flags::IO_LINK).user_data(tag_word | PART_WRITE);
                        Self::queue(&mut self.ring, &mut self.unsubmitted, &write);
                        let sync = sync.user_data(tag_word | PART_SYNC);
                        Self::queue(&mut self.ring, &mut self.unsubmitted, &sync);
                        self.outstanding += 2;
                    }
                    None if self.commit == SyncKind::None => {
                        Self::queue(&mut self.ring, &mut self.unsubmitted, &write);
                        self.outstanding += 1;
                    }
                    None => self.done.push(Completion { tag, result: -libc::EOPNOTSUPP }),
                }
            }
            Verb::Sync => match self.sync_entry(operation.target, sync_kind(operation.mark), (0, 0)) {
                Some(sync) => {
                    Self::queue(&mut self.ring, &mut self.unsubmitted, &sync.user_data(tag_word));
                    self.outstanding += 1;
                }
                None => {
                    let result = calls::sync(self.fd(operation.target), sync_kind(operation.mark), 0, 0);
                    self.done.push(Completion { tag, result });
                }
            },
            Verb::Trim => self.push_trim(tag, operation),
            _ => self.done.push(Completion { tag, result: -libc::EOPNOTSUPP }),
        }
    }

    fn push_trim(&mut self, tag: u32, operation: &Operation) {
        let Some(target) = self.targets.get(operation.target as usize) else {
            return self.done.push(Completion { tag, result: -libc::EBADF });
        };
        if target.kind == OpenKind::BlockDevice || self.mode.io_poll {
            let result = calls::trim(target, operation.offset, operation.length);
            return self.done.push(Completion { tag, result });
        }
        self.kept[tag as usize] = operation.length as i32;
        let entry = opcode::Fallocate::new(types::Fd(target.raw_fd()), operation.length.into())
            .offset(operation.offset)
            .mode(calls::PUNCH)
            .build()
            .user_data(u64::from(tag) | PART_LENGTH);
        Self::queue(&mut self.ring, &mut self.unsubmitted, &entry);
        self.outstanding += 1;
    }

    /// One call into the kernel: hands over what is new and waits for `least`, at most `wait`.
    fn call(&mut self, least: u32, wait: Option<Duration>) -> io::Result<usize> {
        let mut flags = ENTER_GETEVENTS;
        if self.mode.submit_poll && self.ring.submission().need_wakeup() {
            flags |= ENTER_SQ_WAKEUP;
        }
        let submit = self.unsubmitted;
        let submitter = self.ring.submitter();
        match wait {
            // SAFETY: no argument is passed; the entries' buffers live until nothing is outstanding.
            None => unsafe { submitter.enter::<libc::sigset_t>(submit, least, flags, None) },
            Some(wait) => {
                let time = types::Timespec::from(wait);
                let argument = WaitArgument {
                    signal_mask: 0,
                    signal_mask_size: 0,
                    least_wait_us: 0,
                    timespec: std::ptr::from_ref(&time) as u64,
                };
                // SAFETY: the argument has the layout that EXT_ARG asks for, and it and its time live through the call.
                unsafe { submitter.enter(submit, least, flags | ENTER_EXT_ARG, Some(&argument)) }
            }
        }
    }

    /// Handles one completion of the parts of an operation; answers the operation's own when it is whole.
    #[inline(always)]
    fn whole(kept: &mut [i32], user_data: u64, result: i32) -> Option<Completion> {
        let tag = user_data as u32;
        match user_data & !0xffff_ffff {
            0 => Some(Completion { tag, result }),
            PART_WRITE => {
                kept[tag as usize] = result;
                None
            }
            PART_SYNC if result == 0 || result == -libc::ECANCELED => {
                Some(Completion { tag, result: kept[tag as usize] })
            }
            PART_LENGTH if result == 0 => Some(Completion { tag, result: kept[tag as usize] }),
            _ => Some(Completion { tag, result }),
        }
    }
}

fn register_files(ring: &IoUring, targets: &Targets, notes: &mut Vec<String>) -> bool {
    let descriptors: Vec<RawFd> = targets.iter().map(|target| target.raw_fd()).collect();
    match ring.submitter().register_files(&descriptors) {
        Ok(()) => true,
        Err(error) => {
            notes.push(format!("io_uring without registered files: {error}"));
            false
        }
    }
}

fn register_buffers(ring: &IoUring, arena: &Arena, mask: u32, notes: &mut Vec<String>) -> bool {
    let vector = |base: *mut u8, length| libc::iovec { iov_base: base.cast(), iov_len: length };
    let buffers: Vec<libc::iovec> = match mask {
        0 => vec![vector(arena.span().0, arena.span().1)],
        _ => (0..arena.count() as u32).map(|tag| vector(arena.pointer(tag), arena.stride())).collect(),
    };
    // SAFETY: the buffers are the arena's, which outlives the ring.
    match unsafe { ring.submitter().register_buffers(&buffers) } {
        Ok(()) => true,
        Err(error) => {
            let hint = match error.raw_os_error() {
                Some(libc::ENOMEM) => "; raise the limit on locked memory (ulimit -l)",
                _ => "",
            };
            notes.push(format!("io_uring without registered buffers: {error}{hint}"));
            false
        }
    }
}

impl Queue for UringQueue {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        for (tag, operation) in tags.iter().zip(operations) {
            if matches!(operation.verb, Verb::Read | Verb::Write) {
                let entry = self.transfer(*tag, operation);
                Self::queue(&mut self.ring, &mut self.unsubmitted, &entry);
                self.outstanding += 1;
            } else {
                self.push_other(*tag, operation);
            }
        }
    }

    #[inline]
    fn enter(&mut self, at_least: usize, until_ns: u64) {
        if self.outstanding == 0 {
            if self.done.is_empty() && until_ns != u64::MAX {
                calls::sleep_until(&self.clock, until_ns);
            }
            return;
        }
        let (least, wait) = match until_ns {
            _ if !self.done.is_empty() => (0, None),
            0 => (0, None),
            u64::MAX => (at_least.min(self.outstanding) as u32, None),
            until => match until.saturating_sub(self.clock.now()) {
                0 => (0, None),
                left => {
                    (at_least.clamp(1, self.outstanding) as u32, Some(Duration::from_nanos(left)))
                }
            },
        };
        match self.call(least, wait) {
            Ok(taken) => self.unsubmitted -= (taken as u32).min(self.unsubmitted),
            Err(error) => self.refused(&error),
        }
    }

    #[inline]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        if !self.done.is_empty() {
            done.append(&mut self.done);
        }
        let (kept, mut reaped) = (&mut self.kept, 0);
        for entry in self.ring.completion() {
            reaped += 1;
            if let Some(completion) = Self::whole(kept, entry.user_data(), entry.result()) {
                done.push(completion);
            }
        }
        self.outstanding -= reaped;
    }
}

impl UringQueue {
    /// The kernel did not take what was offered. EINTR, EAGAIN, EBUSY and a timeout (ETIME) pass by themselves: the
    /// next `enter` offers again. How many entries it took before a timeout is told by the ring itself.
    #[cold]
    fn refused(&mut self, error: &io::Error) {
        self.unsubmitted = self.ring.submission().len() as u32;
        let passing = [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ETIME];
        if !error.raw_os_error().is_some_and(|code| passing.contains(&code)) {
            std::thread::yield_now();
        }
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        let until = self.clock.now() + 1_000_000_000;
        let mut done = Vec::new();
        while self.outstanding > 0 && self.clock.now() < until {
            self.enter(self.outstanding, until);
            done.clear();
            self.poll(&mut done);
        }
        if self.outstanding > 0 {
            // A device that has stopped answering may still write into the buffers: they are never given back.
            std::mem::forget(self.arena.clone());
        }
    }
}
