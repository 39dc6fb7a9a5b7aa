//! One operation as executors and their logs know it: not stored with a run.

use fathom_spec::{SyncKind, Verb};

/// One operation on its way to a queue: 48 bytes, copied, never allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Operation {
    /// First byte in the target.
    pub offset: u64,
    /// The intended start, ns since the run's start.
    pub due_ns: u64,
    /// A word of the source's own: a number in the pass, a seed of the block.
    pub mark: u64,
    /// Bytes.
    pub length: u32,
    /// Index into the opened targets of the stream's space.
    pub target: u16,
    /// What to do.
    pub verb: Verb,
    /// Index of the verb among the stream's cells.
    pub cell: u8,
}

impl Operation {
    /// A sync of this kind: its `mark` names the kind, where 0 stands for the stream's own.
    pub fn sync(kind: SyncKind, target: u16, cell: u8) -> Self {
        let mark = 1 + SYNC_KINDS.iter().position(|k| *k == kind).unwrap_or(0) as u64;
        Operation { offset: 0, due_ns: 0, mark, length: 0, target, verb: Verb::Sync, cell }
    }

    /// Which sync it is, in a stream whose own is `own`.
    pub fn sync_kind(&self, own: SyncKind) -> SyncKind {
        match self.mark {
            0 => own,
            mark => SYNC_KINDS.get(mark as usize - 1).copied().unwrap_or(own),
        }
    }
}

const SYNC_KINDS: [SyncKind; 7] = [
    SyncKind::None,
    SyncKind::Fsync,
    SyncKind::Fdatasync,
    SyncKind::Range,
    SyncKind::Msync,
    SyncKind::Flush,
    SyncKind::Close,
];

/// One operation as a log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it came back, ns since the run's start.
    pub at_ns: u64,
    /// When it was submitted, ns since the run's start.
    pub submitted_ns: u64,
    /// How long the call took that submitted it, ns; 0 where that is not told apart.
    pub submit_ns: u64,
    /// What it was.
    pub operation: Operation,
    /// The kernel's word for its priority, where operations have their own; 0: the worker's.
    pub priority: u16,
    /// Bytes moved, or the negated error number.
    pub result: i32,
    /// Which worker of the stream did it.
    pub worker: u32,
}
