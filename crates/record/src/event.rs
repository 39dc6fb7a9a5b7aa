//! What happened besides I/O.

use fathom_spec::{Bytes, StreamId, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that happened, with the moment at which it was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When, ns since the run's start.
    pub at_ns: u64,
    pub what: EventKind,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Something was done to a target: sysbench prepare prints a line for each, fio "Laying out".
    Target {
        name: String,
        /// What was done.
        did: Did,
        /// Its size then.
        bytes: Bytes,
    },
    /// A stream began.
    Started(StreamId),
    /// A stream ended.
    Stopped(StreamId, StopReason),
    /// The kernel refused or failed an operation.
    Fault {
        stream: StreamId,
        /// Doing what.
        verb: Verb,
        /// Where, in its target.
        offset: Bytes,
        /// The kernel's error number; 0 for a short transfer.
        errno: i32,
        /// How many bytes were moved, when fewer than asked.
        moved: Bytes,
        /// The target's path.
        target: String,
        /// How many like it were seen (only the first ones are kept one by one).
        times: u64,
    },
    /// A target that is written to and that others have open, too.
    Shared {
        /// The target's path.
        target: String,
        /// Who: a process with its number and name.
        by: String,
    },
    /// What was read is not what was written.
    Mismatch {
        stream: StreamId,
        offset: Bytes,
        /// The target's path; nothing in records of before it was told.
        #[serde(default)]
        target: String,
        /// Bytes from `offset` on that were looked at together; 0 in records of before it was told.
        #[serde(default)]
        length: Bytes,
        /// What is wrong with them; nothing in records of before it was told.
        #[serde(default)]
        why: String,
        /// What was found, all in one line.
        note: String,
    },
    /// A worker has written everything, and now reads it again to check it.
    ReadsBack {
        stream: StreamId,
        worker: u32,
        /// Since when, ns since the run's start.
        since_ns: u64,
    },
    /// Log lines that were lost because the writer was too slow.
    Late { log_entries: u64 },
    /// A database refused or failed a statement.
    Statement {
        stream: StreamId,
        /// Doing what.
        verb: Verb,
        /// Which database; never with a password.
        target: String,
        /// What the database or its driver said.
        message: String,
        /// It was a deadlock or the like, and the operation was tried again; otherwise the session ended with it.
        retried: bool,
    },
    /// Somebody else used the disk.
    Foreign {
        device: String,
        /// Sectors of 512 bytes that were not ours.
        sectors: u64,
    },
    /// Something that was asked for could not be had, and what was taken in its place.
    Fallback(String),
    /// There was less input than was to be skipped.
    SkippedShort,
    /// A read came back short, and there was more to read after it.
    ShortRead {
        /// Bytes that it brought.
        bytes: u64,
    },
    /// Lines that were longer than a record were cut.
    Truncated {
        /// How many.
        records: u64,
    },
    /// A worker that was to hold a latency ended with so many I/Os outstanding.
    Held {
        stream: StreamId,
        /// The most I/Os with which it was held.
        outstanding: u32,
    },
    /// A timetable had more due in the window than could be started: their response times are in no figure.
    Unstarted { stream: StreamId, operations: u64 },
    /// The whole program did not run for so long, and what was outstanding waited for it: stopped (SIGSTOP), its control group
    /// frozen, or the machine suspended.
    Paused {
        /// For how long, ns.
        for_ns: u64,
    },
    /// No completion for as long as the plan's `stall`, with I/Os outstanding.
    Stalled {
        stream: StreamId,
        /// How many I/Os are outstanding.
        outstanding: u64,
        /// For how long, ns.
        for_ns: u64,
    },
}

/// What was done to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// Made.
    Created,
    /// Made longer.
    Extended,
    /// Used as it was.
    Reused,
    /// Removed.
    Removed,
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    Finished,
    /// Whoever watches it said so.
    Told,
    /// An operation failed.
    Fault,
    /// A signal: the user interrupted it.
    Signal,
    /// The device stopped answering.
    Stalled,
}
