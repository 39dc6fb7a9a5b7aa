//! io_uring: one system call submits and waits; waiting is for one, reaping is of all.

use super::arena::Arena;
use super::psync;
use super::ring_descriptor::{ENTER_GETEVENTS, ENTER_SQ_WAKEUP, RingDescriptor};
use super::ring_entries::Entries;
use super::ring_mode::{Mode, Tasks, climb};
use crate::files::OpenTarget;
use crate::priorities::Priorities;
use fathom_drive::{AWAKE_NS, Clock, Completion, Operation, Queue};
use fathom_spec::{QueueOptions, SyncKind, Verb};
use io_uring::{IoUring, squeue, types};
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

/// The most that one registered buffer may hold.
const BUFFER_MOST: usize = 1 << 30;

/// What a completion belongs to; stands above the tag in `user_data`.
const PART_WRITE: u64 = 1 << 32;
const PART_SYNC: u64 = 2 << 32;
const PART_LENGTH: u64 = 3 << 32;

/// Looks at the completion queue before a worker with a submitting kernel thread goes to sleep: one or two microseconds.
const LOOKS: u32 = 100;

const _: () = assert!(size_of::<squeue::Entry>() == 64 && size_of::<io_uring::cqueue::Entry>() == 16);

/// Operations through io_uring. It stays on the thread that made it (SINGLE_ISSUER).
pub struct UringQueue {
    /// It goes before the ring whose descriptor it is.
    descriptor: RingDescriptor,
    ring: IoUring,
    clock: Clock,
    entries: Entries,
    commit: SyncKind,
    sync: SyncKind,
    /// Per tag: what the write of a commit answered, or a trim's length.
    kept: Vec<i32>,
    /// Completions of what the ring could not do and the thread did itself.
    done: Vec<Completion>,
    /// Entries that the kernel has not taken yet.
    unsubmitted: u32,
    /// Entries that have not come back.
    outstanding: usize,
    mode: Mode,
    /// What is said of single operations, if anything is.
    special: Option<Special>,
    notes: Vec<String>,
    on_this_thread: PhantomData<*const ()>,
}

/// What is said of single operations.
#[derive(Debug)]
struct Special {
    priorities: Option<Priorities>,
    /// Each so many-th is handed to a thread of the kernel at once; 0: none is.
    hand_over_every: u32,
    since: u32,
}

/// What a ring is made for.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// Operations outstanding at most.
    pub depth: u32,
    /// Are there writes, and so perhaps commits, which take two entries each?
    pub writes: bool,
    /// What `Verb::Commit` does after its write.
    pub commit: SyncKind,
    /// What `Verb::Sync` does.
    pub sync: SyncKind,
    /// Finer points.
    pub options: QueueOptions,
}

impl UringQueue {
    /// A ring over these targets and buffers. Make it on the thread that uses it.
    pub fn new(targets: Arc<[OpenTarget]>, arena: Arena, clock: Clock, wishes: Wishes) -> io::Result<Self> {
        let mut notes = Vec::new();
        let (options, depth) = (wishes.options, wishes.depth.max(1).next_power_of_two());
        let entries = if wishes.writes { depth * 2 } else { depth };
        let wanted = Mode {
            io_poll: options.io_poll && may_poll(&targets, &arena, clock, wishes, &mut notes),
            submit_poll: options.submit_poll,
            submit_poll_cpu: options.submit_poll_cpu,
            tasks: if options.submit_poll { Tasks::Interrupting } else { Tasks::Deferred },
        };
        let (ring, mode) = climb(wanted, entries, &mut notes)?;
        let queue = Self::over(ring, mode, targets, arena, clock, wishes, notes);
        // A filter of system calls may allow the set-up and refuse the call that does the work.
        match queue.descriptor.enter(0, 0, ENTER_GETEVENTS, None) {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => Err(error),
            _ => Ok(queue),
        }
    }

    fn over(
        ring: IoUring,
        mode: Mode,
        targets: Arc<[OpenTarget]>,
        arena: Arena,
        clock: Clock,
        wishes: Wishes,
        mut notes: Vec<String>,
    ) -> Self {
        let registered = !wishes.options.unregistered;
        let fixed_files = registered && register_files(&ring, &targets, &mut notes);
        let buffer_mask = if arena.length() <= BUFFER_MOST { 0 } else { u32::MAX };
        let fixed_buffers = registered && register_buffers(&ring, &arena, buffer_mask, &mut notes);
        UringQueue {
            descriptor: RingDescriptor::of(&ring),
            clock,
            kept: vec![0; arena.count()],
            done: Vec::with_capacity(arena.count()),
            entries: Entries {
                arena: ManuallyDrop::new(arena),
                targets,
                fixed_files,
                fixed_buffers,
                buffer_mask,
                rw_flags: if wishes.options.no_wait { libc::RWF_NOWAIT } else { 0 },
                io_poll: mode.io_poll,
            },
            commit: wishes.commit,
            sync: wishes.sync,
            unsubmitted: 0,
            outstanding: 0,
            mode,
            special: (wishes.options.hand_over_every > 0).then_some(Special {
                priorities: None,
                hand_over_every: wishes.options.hand_over_every,
                since: 0,
            }),
            notes,
            on_this_thread: PhantomData,
            ring,
        }
    }

    /// The same, with priorities of single operations.
    pub(crate) fn special(mut self, priorities: Option<Priorities>) -> Self {
        if priorities.is_some() {
            let empty = Special { priorities: None, hand_over_every: 0, since: 0 };
            self.special.get_or_insert(empty).priorities = priorities;
        }
        self
    }

    /// What was asked for and could not be had, and what was taken instead.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How this ring does its work, for the record.
    pub fn description(&self) -> String {
        let tasks = match self.mode.tasks {
            Tasks::Deferred => ", deferred task work",
            Tasks::Cooperative => ", cooperative task work",
            Tasks::Interrupting => "",
        };
        let said = |yes: bool, text| if yes { text } else { "" };
        format!(
            "io_uring{tasks}{}{}{}{}",
            said(self.entries.fixed_files, ", registered files"),
            said(self.entries.fixed_buffers, ", registered buffers"),
            said(self.mode.io_poll, ", polled completions"),
            said(self.mode.submit_poll, ", a submitting kernel thread"),
        )
    }

    /// Puts entries into the ring. There is room for all that the depth allows, but a submitting kernel thread may
    /// lag behind in taking them.
    #[inline(always)]
    fn queue(&mut self, entries: &[squeue::Entry]) {
        // SAFETY: an entry's pointer is a tag's buffer in the arena, which lives until nothing is outstanding.
        while unsafe { self.ring.submission().push_multiple(entries) }.is_err() {
            self.hand_over();
        }
        self.unsubmitted += entries.len() as u32;
        self.outstanding += entries.len();
    }

    #[cold]
    fn hand_over(&mut self) {
        if self.mode.submit_poll {
            self.wake();
        } else if let Ok(taken) = self.call(0, None) {
            self.unsubmitted = self.unsubmitted.saturating_sub(taken as u32);
        }
        std::thread::yield_now();
    }

    /// Operations of which something is said one by one.
    #[cold]
    fn push_special(&mut self, tags: &[u32], operations: &[Operation]) {
        for (tag, operation) in tags.iter().zip(operations) {
            let (true, Some(special)) =
                (matches!(operation.verb, Verb::Read | Verb::Write), &mut self.special)
            else {
                // No rule is about it: told is that it has none.
                if let Some(drawn) = self.special.as_mut().and_then(|special| special.priorities.as_mut()) {
                    drawn.draw_for(*tag, operation);
                }
                self.push_other(*tag, operation);
                continue;
            };
            let priority = special.priorities.as_mut().map_or(0, |drawn| drawn.draw_for(*tag, operation));
            special.since += 1;
            let hands_over = special.hand_over_every > 0 && special.since >= special.hand_over_every;
            if hands_over {
                special.since = 0;
            }
            let entry = self.entries.transfer(*tag, operation, priority);
            self.queue(&[if hands_over { entry.flags(squeue::Flags::ASYNC) } else { entry }]);
        }
    }

    /// What is neither a read nor a write.
    #[cold]
    fn push_other(&mut self, tag: u32, operation: &Operation) {
        let word = u64::from(tag);
        let range = (operation.offset, operation.length);
        match operation.verb {
            Verb::Commit => {
                let write = self.entries.transfer(tag, operation, 0);
                match self.entries.sync(operation.target, self.commit, range) {
                    Some(sync) => self.queue(&[
                        write.flags(squeue::Flags::IO_LINK).user_data(word | PART_WRITE),
                        sync.user_data(word | PART_SYNC),
                    ]),
                    None => self.queue(&[write]),
                }
            }
            Verb::Sync => {
                let kind = operation.sync_kind(self.sync);
                match self.entries.sync(operation.target, kind, (0, 0)) {
                    Some(sync) => self.queue(&[sync.user_data(word)]),
                    None => {
                        let result = psync::answer(psync::sync(self.entries.fd(operation.target), kind));
                        self.done.push(Completion { tag, result });
                    }
                }
            }
            Verb::Trim => self.push_trim(tag, operation),
            _ => self.done.push(Completion { tag, result: -libc::EOPNOTSUPP }),
        }
    }

    fn push_trim(&mut self, tag: u32, operation: &Operation) {
        let Some(entry) = self.entries.trim(operation) else {
            let target = &self.entries.targets[operation.target as usize];
            let result = psync::answer(psync::discard(target, operation));
            return self.done.push(Completion { tag, result });
        };
        self.kept[tag as usize] = operation.length as i32;
        self.queue(&[entry.user_data(u64::from(tag) | PART_LENGTH)]);
    }

    /// One call into the kernel: hands over what is new and waits for `least`, at most `wait`.
    fn call(&mut self, least: u32, wait: Option<Duration>) -> io::Result<usize> {
        let submit = self.unsubmitted;
        match wait {
            None => self.descriptor.enter(submit, least, ENTER_GETEVENTS, None),
            Some(wait) => {
                let time = types::Timespec::from(wait);
                self.descriptor.enter(submit, least, ENTER_GETEVENTS, Some(&time))
            }
        }
    }

    /// With a submitting kernel thread entries are taken without a call, unless that thread sleeps.
    fn wake(&mut self) {
        if self.ring.submission().need_wakeup() {
            // A call that was interrupted has woken it all the same, or the next look finds it asleep again.
            let _ = self.descriptor.enter(self.unsubmitted, 0, ENTER_SQ_WAKEUP, None);
        }
        self.unsubmitted = 0;
    }

    /// With a submitting kernel thread: looks at the completion queue, without a call, for a moment. Are `least` there? A
    /// worker that looked on and on would take the CPU from the thread that it waits for, where there are few.
    fn watch(&mut self, least: usize) -> bool {
        self.wake();
        (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            self.ring.completion().len() >= least
        })
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

/// Can completions be polled for here? Syncs cannot be done by a polled ring (the thread does them itself, with a call that
/// waits; where each commit has one, such a ring would be none), and a driver without queues for
/// polling answers EOPNOTSUPP: one read of the first block tells.
fn may_poll(
    targets: &Arc<[OpenTarget]>,
    arena: &Arena,
    clock: Clock,
    wishes: Wishes,
    notes: &mut Vec<String>,
) -> bool {
    let refused = match wishes.writes && wishes.commit != SyncKind::None {
        true => Some("a polled ring knows no syncs".to_owned()),
        false => polled_read(targets, arena.stride() as u32, clock).err().map(|error| error.to_string()),
    };
    if let Some(why) = &refused {
        notes.push(format!("io_uring without polled completions: {why}"));
    }
    refused.is_none()
}

fn polled_read(targets: &Arc<[OpenTarget]>, stride: u32, clock: Clock) -> io::Result<()> {
    let mode = Mode { io_poll: true, submit_poll: false, submit_poll_cpu: None, tasks: Tasks::Interrupting };
    let ring = mode.build(2, 4)?;
    let length = stride.min(4096);
    let arena = Arena::new(1, length as usize)?;
    let options = QueueOptions { unregistered: true, ..QueueOptions::default() };
    let wishes = Wishes { depth: 1, writes: false, commit: SyncKind::None, sync: SyncKind::None, options };
    let mut queue = UringQueue::over(ring, mode, targets.clone(), arena, clock, wishes, Vec::new());
    let verb = Verb::Read;
    queue.push(&[0], &[Operation { offset: 0, due_ns: 0, mark: 0, length, target: 0, verb, cell: 0 }]);
    let (mut done, until) = (Vec::new(), clock.now() + 1_000_000_000);
    while done.is_empty() && clock.now() < until {
        queue.enter(1, until);
        queue.poll(&mut done);
    }
    match done.first().map(|completion| completion.result) {
        Some(result) if result < 0 => Err(io::Error::from_raw_os_error(-result)),
        _ => Ok(()),
    }
}

fn register_files(ring: &IoUring, targets: &[OpenTarget], notes: &mut Vec<String>) -> bool {
    let descriptors: Vec<RawFd> = targets.iter().map(|target| target.raw()).collect();
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
        0 => vec![vector(arena.base(), arena.length())],
        _ => (0..arena.count() as u32).map(|tag| vector(arena.pointer(tag), arena.room())).collect(),
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
        if self.special.is_some() {
            return self.push_special(tags, operations);
        }
        let mut pairs = tags.iter().zip(operations);
        loop {
            // The ring's tail is read and written once for all reads and writes in a row.
            let mut tail = self.ring.submission();
            let mut queued = 0;
            let left = loop {
                let Some((tag, operation)) = pairs.next() else { break None };
                if !matches!(operation.verb, Verb::Read | Verb::Write) {
                    break Some((tag, operation, None));
                }
                let entry = self.entries.transfer(*tag, operation, 0);
                // SAFETY: the entry's pointer is the tag's buffer in the arena, which lives until nothing is outstanding.
                if unsafe { tail.push(&entry) }.is_err() {
                    break Some((tag, operation, Some(entry)));
                }
                queued += 1;
            };
            drop(tail);
            self.unsubmitted += queued;
            self.outstanding += queued as usize;
            match left {
                None => return,
                Some((_, _, Some(entry))) => self.queue(&[entry]),
                Some((tag, operation, None)) => self.push_other(*tag, operation),
            }
        }
    }

    #[inline]
    fn enter(&mut self, at_least: usize, until_ns: u64) {
        if self.outstanding == 0 {
            if self.done.is_empty() && until_ns != u64::MAX {
                self.clock.sleep_until(until_ns);
            }
            return;
        }
        let (least, wait) = match until_ns {
            _ if !self.done.is_empty() => (0, None),
            0 => (0, None),
            u64::MAX => (at_least.min(self.outstanding) as u32, None),
            until => match until.saturating_sub(self.clock.now()) {
                // The last of a wait is spent awake, step by step.
                left if left <= AWAKE_NS => (0, None),
                left => {
                    let wait = Duration::from_nanos(left - AWAKE_NS);
                    (at_least.clamp(1, self.outstanding) as u32, Some(wait))
                }
            },
        };
        if self.mode.submit_poll && self.watch(least as usize) {
            return;
        }
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
        // A device that has stopped answering may still write into the buffers: then they are never given back.
        if self.outstanding == 0 {
            // SAFETY: the arena is dropped only here, and nobody uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.entries.arena) };
        }
    }
}
