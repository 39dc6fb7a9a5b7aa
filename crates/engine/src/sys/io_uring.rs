//! io_uring: registered files and buffers where they can be had, one system call that submits and waits.

use super::arena::Arena;
use super::psync;
use crate::files::OpenTarget;
use fathom_drive::{Clock, Completion, Operation, Queue};
use fathom_spec::{QueueOptions, SyncKind, Verb};
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use std::sync::Arc;

/// Marks the write of a commit, whose completion does not end the operation.
const HALF: u64 = 1 << 32;

/// One worker's ring.
pub struct UringQueue {
    // Dropped first: the kernel lets go of the buffers before the arena unmaps them.
    ring: IoUring,
    arena: Arena,
    targets: Arc<[OpenTarget]>,
    clock: Clock,
    fixed_files: bool,
    fixed_buffers: bool,
    commit: SyncKind,
    sync: SyncKind,
    read_write_flags: i32,
    queued: usize,
    /// Results of writes whose sync is still on its way, by tag.
    halves: Vec<i32>,
    /// Operations done at once, outside the ring.
    inline: Vec<Completion>,
    notes: Vec<String>,
}

impl UringQueue {
    /// A ring with room for `depth` operations over open targets.
    pub fn new(
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        depth: u32,
        (commit, sync): (SyncKind, SyncKind),
        options: QueueOptions,
    ) -> std::io::Result<Self> {
        let mut notes = Vec::new();
        let entries = (depth.max(1) * 2).next_power_of_two();
        let ring = build(entries, options, &mut notes)?;
        let mut queue = UringQueue {
            ring,
            arena,
            targets,
            clock,
            fixed_files: false,
            fixed_buffers: false,
            commit,
            sync,
            read_write_flags: if options.no_wait { libc::RWF_NOWAIT } else { 0 },
            queued: 0,
            halves: vec![0; depth as usize],
            inline: Vec::with_capacity(depth as usize),
            notes,
        };
        if !options.unregistered {
            queue.register();
        }
        Ok(queue)
    }

    /// What was taken in place of what was asked for.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How the ring works, in a few words.
    pub fn description(&self) -> String {
        let with = |yes, what: &str| if yes { format!(", registered {what}") } else { String::new() };
        format!("io_uring{}{}", with(self.fixed_files, "files"), with(self.fixed_buffers, "buffers"))
    }

    fn register(&mut self) {
        let fds: Vec<i32> = self.targets.iter().map(OpenTarget::raw).collect();
        match self.ring.submitter().register_files(&fds) {
            Ok(()) => self.fixed_files = true,
            Err(error) => self.notes.push(format!("io_uring: files are not registered ({error})")),
        }
        let whole = libc::iovec { iov_base: self.arena.base().cast(), iov_len: self.arena.length() };
        // SAFETY: the arena stays mapped until the ring, which is dropped first, has let go of it.
        match unsafe { self.ring.submitter().register_buffers(&[whole]) } {
            Ok(()) => self.fixed_buffers = true,
            Err(error) => self.notes.push(format!(
                "io_uring: buffers are not registered ({error}); raise the limit on locked memory (ulimit -l)"
            )),
        }
    }

    #[inline(always)]
    fn entry(&self, tag: u32, operation: &Operation, write: bool) -> squeue::Entry {
        let pointer = self.arena.pointer(tag);
        let (offset, length, flags) = (operation.offset, operation.length, self.read_write_flags);
        let target = u32::from(operation.target);
        macro_rules! build {
            ($op:ident, $fd:expr $(, $index:expr)?) => {
                opcode::$op::new($fd, pointer.cast(), length $(, $index)?).offset(offset).rw_flags(flags).build()
            };
        }
        let entry = match (write, self.fixed_files, self.fixed_buffers) {
            (false, true, true) => build!(ReadFixed, Fixed(target), 0),
            (false, true, false) => build!(Read, Fixed(target)),
            (false, false, true) => build!(ReadFixed, Fd(self.raw(operation)), 0),
            (false, false, false) => build!(Read, Fd(self.raw(operation))),
            (true, true, true) => build!(WriteFixed, Fixed(target), 0),
            (true, true, false) => build!(Write, Fixed(target)),
            (true, false, true) => build!(WriteFixed, Fd(self.raw(operation)), 0),
            (true, false, false) => build!(Write, Fd(self.raw(operation))),
        };
        entry.user_data(u64::from(tag))
    }

    fn raw(&self, operation: &Operation) -> i32 {
        self.targets[operation.target as usize].raw()
    }

    fn sync_entry(&self, tag: u32, operation: &Operation, kind: SyncKind) -> squeue::Entry {
        let flags = if kind == SyncKind::Fdatasync { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let entry = match self.fixed_files {
            true => opcode::Fsync::new(Fixed(u32::from(operation.target))).flags(flags).build(),
            false => opcode::Fsync::new(Fd(self.raw(operation))).flags(flags).build(),
        };
        entry.user_data(u64::from(tag))
    }

    fn submit_one(&mut self, entry: &squeue::Entry) {
        // SAFETY: the entry's buffer is the tag's piece of the arena, which stays mapped and untouched until the tag
        // comes back; its file stays open as long as `targets`.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // The ring has room for twice the depth, so this is only a kernel thread that lags behind.
            let _ = self.ring.submit();
        }
        self.queued += 1;
    }

    #[cold]
    fn push_unusual(&mut self, tag: u32, operation: &Operation) {
        match operation.verb {
            Verb::Sync if matches!(self.sync, SyncKind::Fsync | SyncKind::Fdatasync) => {
                let entry = self.sync_entry(tag, operation, self.sync);
                self.submit_one(&entry);
            }
            Verb::Commit if matches!(self.commit, SyncKind::Fsync | SyncKind::Fdatasync) => {
                let write = self
                    .entry(tag, operation, true)
                    .flags(squeue::Flags::IO_LINK)
                    .user_data(u64::from(tag) | HALF);
                self.submit_one(&write);
                let entry = self.sync_entry(tag, operation, self.commit);
                self.submit_one(&entry);
            }
            Verb::Commit => {
                let entry = self.entry(tag, operation, true);
                self.submit_one(&entry);
            }
            verb => {
                let target = &self.targets[operation.target as usize];
                let result = match verb {
                    Verb::Trim => psync::discard(target, operation),
                    _ => psync::sync(target.raw(), self.sync),
                };
                let failed = || -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
                let result = if result < 0 { failed() } else { result as i32 };
                self.inline.push(Completion { tag, result });
            }
        }
    }
}

/// Makes a ring with the best flags that the kernel takes; what it does not take is noted.
fn build(entries: u32, options: QueueOptions, notes: &mut Vec<String>) -> std::io::Result<IoUring> {
    let attempt = |deferred: bool, cooperative: bool, submit_poll: bool, io_poll: bool| {
        let mut builder = IoUring::builder();
        builder.setup_clamp();
        if deferred {
            builder.setup_single_issuer().setup_defer_taskrun();
        } else if cooperative {
            builder.setup_coop_taskrun();
        }
        if submit_poll {
            builder.setup_sqpoll(2000);
        }
        if io_poll {
            builder.setup_iopoll();
        }
        builder.build(entries)
    };
    if options.submit_poll {
        match attempt(false, false, true, options.io_poll) {
            Ok(ring) => return Ok(ring),
            Err(error) => notes.push(format!("io_uring: no polling submission thread ({error})")),
        }
    }
    if options.io_poll {
        match attempt(true, false, false, true) {
            Ok(ring) => return Ok(ring),
            Err(error) => notes.push(format!("io_uring: no polled completions ({error})")),
        }
    }
    let refused = |error: &std::io::Error| error.raw_os_error() == Some(libc::EINVAL);
    match attempt(true, false, false, false) {
        Err(error) if refused(&error) => {
            notes.push("io_uring: this kernel has no deferred task work".to_owned());
            match attempt(false, true, false, false) {
                Err(error) if refused(&error) => attempt(false, false, false, false),
                other => other,
            }
        }
        other => other,
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
            match operation.verb {
                Verb::Read | Verb::Write => {
                    let entry = self.entry(*tag, operation, operation.verb == Verb::Write);
                    self.submit_one(&entry);
                }
                _ => self.push_unusual(*tag, operation),
            }
        }
    }

    #[inline]
    fn enter(&mut self, at_least: usize, until_ns: u64) {
        let at_least = at_least.saturating_sub(self.inline.len());
        if self.queued == 0 && at_least == 0 {
            if self.inline.is_empty() {
                psync::sleep_until(&self.clock, until_ns);
            }
            return;
        }
        let result = if at_least == 0 || until_ns == u64::MAX {
            self.ring.submitter().submit_and_wait(at_least)
        } else {
            let left = until_ns.saturating_sub(self.clock.now());
            let timeout = Timespec::new().sec(left / 1_000_000_000).nsec((left % 1_000_000_000) as u32);
            self.ring.submitter().submit_with_args(at_least, &SubmitArgs::new().timespec(&timeout))
        };
        // A time-out, a signal or a full completion queue leave what was not submitted in the ring: the next
        // call takes it along.
        if let Ok(submitted) = result {
            self.queued = self.queued.saturating_sub(submitted);
        } else {
            self.queued = self.ring.submission().len();
        }
    }

    #[inline]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.inline);
        for entry in self.ring.completion() {
            let data = entry.user_data();
            let tag = data as u32;
            if data & HALF != 0 {
                self.halves[tag as usize] = entry.result();
                continue;
            }
            let half = std::mem::take(&mut self.halves[tag as usize]);
            let result = match (half, entry.result()) {
                (0, result) => result,
                // The sync of a commit: it counts what its write moved, or what went wrong first.
                (moved, 0) => moved,
                (moved, failed) => {
                    if moved < 0 {
                        moved
                    } else {
                        failed
                    }
                }
            };
            done.push(Completion { tag, result });
        }
    }
}
