//! Chooses how I/O is asked of the kernel, and falls back where that cannot be had: every fallback is an event of
//! the record.

use crate::buffer_rotation::BufferRotation;
use crate::cache_drop::CacheDrop;
use crate::checkers::Beside;
use crate::content::{Checks, Filling};
use crate::files::OpenTarget;
use crate::history::{History, Remembering};
use crate::null::NullQueue;
use crate::priorities::Priorities;
use crate::space::{Change, SpaceQueue};
use crate::sys::arena::{Arena, ArenaView};
use crate::sys::io_uring::{UringQueue, Wishes};
use crate::sys::libaio::AioQueue;
use crate::sys::mmap::MmapQueue;
use crate::sys::pool::PoolQueue;
use crate::sys::psync::{Flags, PsyncCalls, PsyncQueue};
use crate::sys::stdio::StdioQueue;
use crate::verification::spare;
use crate::worker_maker::WorkerMaker;
use fathom_drive::{Perform, Priorities as Told, Seat};
use fathom_record::ExecuteError;
use fathom_spec::{Bytes, Content, Priority, QueueKind, QueueOptions, SyncKind};
use std::sync::Arc;

/// What a worker wants of its queue.
pub(crate) struct Wanted {
    pub kind: QueueKind,
    pub options: QueueOptions,
    pub commit: SyncKind,
    pub sync: SyncKind,
    pub depth: u32,
    /// Threads that check, and their CPUs.
    pub checkers: (u32, Vec<u32>),
    pub size_most: usize,
    pub writes: bool,
    pub content: Content,
    /// How what was read is checked, if it is.
    pub checks: Option<Checks>,
    /// Where the last operations are kept, if they are.
    pub history: History,
    /// Operations at a priority of their own.
    pub priorities: Vec<Priority>,
    /// Where the priority of each tag's operation is told, if it is kept.
    pub told: Option<Told>,
    pub seed: u64,
}

/// Will a worker do one call after the other, and nothing else, on its thread?
pub(crate) fn blocks(kind: QueueKind, depth: u32) -> bool {
    matches!(kind, QueueKind::Psync | QueueKind::Vectored) || (kind == QueueKind::Auto && depth == 1)
}

/// Makes a worker's queue on the calling thread.
pub(crate) fn build(
    targets: Arc<[OpenTarget]>,
    wanted: Wanted,
    seat: &Seat,
    maker: WorkerMaker,
) -> Result<Perform, ExecuteError> {
    if wanted.kind == QueueKind::Null || targets.iter().all(|target| target.raw() < 0) {
        seat.queue("null".to_owned());
        return Ok(maker.on(NullQueue::new(seat.clock, wanted.depth), None));
    }
    let kinds: &[QueueKind] = match wanted.kind {
        QueueKind::Auto if blocks(wanted.kind, wanted.depth) => &[QueueKind::Psync],
        QueueKind::Auto => &[QueueKind::IoUring, QueueKind::Libaio, QueueKind::Psync],
        QueueKind::IoUring => &[QueueKind::IoUring],
        QueueKind::Libaio => &[QueueKind::Libaio],
        QueueKind::Psync => &[QueueKind::Psync],
        QueueKind::Vectored => &[QueueKind::Vectored],
        QueueKind::Mmap => &[QueueKind::Mmap],
        QueueKind::Stdio => &[QueueKind::Stdio],
        QueueKind::Threads => &[QueueKind::Threads],
        QueueKind::Allocate | QueueKind::Truncate => {
            let change = if wanted.kind == QueueKind::Allocate { Change::Allocate } else { Change::Truncate };
            seat.queue(name(wanted.kind).to_owned());
            return Ok(maker.on(SpaceQueue::new(targets, seat.clock, change, wanted.sync), None));
        }
        QueueKind::Null | QueueKind::Sim => {
            return Err(ExecuteError::Plan {
                what: format!("the engine has no {:?} queue for files", wanted.kind),
                hint: "use io_uring, libaio or psync".to_owned(),
            });
        }
    };
    let mut maker = Some(maker);
    for (i, kind) in kinds.iter().enumerate() {
        match attempt(*kind, &targets, &wanted, seat, &mut maker) {
            Ok(perform) => return Ok(perform),
            Err(error) if i + 1 < kinds.len() => {
                seat.note(format!("{} cannot be used: {error}; {} is", name(*kind), name(kinds[i + 1])));
            }
            Err(error) => {
                return Err(ExecuteError::System {
                    what: format!("cannot set up {}: {error}", name(*kind)),
                    hint: hint(*kind, &error).to_owned(),
                });
            }
        }
    }
    unreachable!("the last kind has answered")
}

fn attempt(
    kind: QueueKind,
    targets: &Arc<[OpenTarget]>,
    wanted: &Wanted,
    seat: &Seat,
    maker: &mut Option<WorkerMaker>,
) -> std::io::Result<Perform> {
    let (count, size) = ((wanted.depth + spare(wanted.checkers.0)) as usize, wanted.size_most);
    let offset = wanted.options.buffer_offset as usize;
    let arena = match wanted.options.huge_pages {
        true => Arena::huge(count, size)?,
        false => Arena::beside(count, size, offset, wanted.options.buffer_turns)?,
    };
    let pages = if arena.is_huge() { ", buffers in huge pages" } else { "" };
    let view = ArenaView::of(&arena);
    let second = ArenaView::of(&arena);
    let content =
        |view| Filling::wanted(&wanted.content, wanted.writes, wanted.checks.clone(), view, wanted.seed);
    let checkers = (0..wanted.checkers.0).filter_map(|_| content(ArenaView::of(&arena))).collect();
    let inner = Beside::before(content(view), checkers, &wanted.checkers.1)?;
    let turns = arena.turns();
    let inner = CacheDrop::before(inner, wanted.options.drop_cached, targets);
    let filling =
        || BufferRotation::before(Remembering::before(inner, &wanted.history, seat.clock, second), turns);
    let priorities = Priorities::of(&wanted.priorities, wanted.seed, wanted.told.clone());
    let syncs = (wanted.commit, wanted.sync);
    let clock = seat.clock;
    let mut take =
        || maker.take().unwrap_or_else(|| unreachable!("a maker is taken once, by the kind that works"));
    Ok(match kind {
        QueueKind::IoUring => {
            let Wanted { writes, commit, sync, options, depth, .. } = *wanted;
            let wishes = Wishes { depth, writes, commit, sync, options };
            let queue = UringQueue::new(targets.clone(), arena, clock, wishes)?.special(priorities);
            queue.notes().iter().for_each(|note| seat.note(note.clone()));
            seat.queue(queue.description() + pages);
            take().on(queue, filling())
        }
        QueueKind::Libaio => {
            let queue = AioQueue::new(targets.clone(), arena, clock, syncs, wanted.options)?.with(priorities);
            queue.notes().iter().for_each(|note| seat.note(note.clone()));
            seat.queue(format!("libaio{pages}"));
            take().on(queue, filling())
        }
        QueueKind::Mmap => {
            let queue = MmapQueue::new(targets.clone(), arena, clock, syncs, wanted.writes)?;
            if wanted.options.huge_mappings
                && let Err(error) = queue.ask_for_huge_pages()
            {
                seat.note(format!("the mappings are in small pages: {error}"));
            }
            if targets.iter().any(OpenTarget::is_direct) {
                seat.note("mmap goes through the page cache, although direct I/O was asked for".to_owned());
            }
            seat.queue(format!("mmap{pages}"));
            take().on(queue, filling())
        }
        QueueKind::Stdio => {
            let queue = StdioQueue::new(targets.clone(), arena, clock, syncs, wanted.writes)?;
            seat.queue(format!("{}{pages}", name(kind)));
            take().on(queue, filling())
        }
        QueueKind::Threads => {
            let calls = PsyncCalls::new(targets.clone(), arena, syncs.0, syncs.1, None);
            let pool = PoolQueue::new(calls, clock, wanted.depth)?;
            seat.queue(format!("psync on {} threads{pages}", wanted.depth));
            take().on(pool, filling())
        }
        kind => {
            let vectored = kind == QueueKind::Vectored;
            let flags = vectored.then(|| Flags::of(wanted.options, wanted.seed));
            seat.queue(format!("{}{pages}", name(kind)));
            take().on(PsyncQueue::new(targets.clone(), arena, clock, syncs.0, syncs.1, flags), filling())
        }
    })
}

fn name(kind: QueueKind) -> &'static str {
    match kind {
        QueueKind::Auto => "the best queue",
        QueueKind::IoUring => "io_uring",
        QueueKind::Libaio => "libaio",
        QueueKind::Psync => "psync",
        QueueKind::Vectored => "vectored",
        QueueKind::Mmap => "mmap",
        QueueKind::Stdio => "buffered streams",
        QueueKind::Threads => "psync on threads",
        QueueKind::Allocate => "fallocate",
        QueueKind::Truncate => "ftruncate",
        QueueKind::Null => "null",
        QueueKind::Sim => "sim",
    }
}

fn hint(kind: QueueKind, error: &std::io::Error) -> &'static str {
    match (kind, error.raw_os_error()) {
        (_, Some(libc::ENOMEM)) => {
            "raise the limit on locked memory (ulimit -l), or use fewer outstanding I/Os"
        }
        (QueueKind::IoUring, _) => "see sysctl kernel.io_uring_disabled; or use --engine libaio",
        (QueueKind::Libaio, Some(libc::EAGAIN)) => {
            "the kernel's async I/O slots are used up: raise sysctl fs.aio-max-nr"
        }
        _ => "try another --engine",
    }
}

/// Bytes that buffers of so many operations take, for messages and limits.
pub fn buffer_bytes(depth: u32, size_most: Bytes) -> u64 {
    u64::from(depth) * size_most.0.next_multiple_of(4096)
}
