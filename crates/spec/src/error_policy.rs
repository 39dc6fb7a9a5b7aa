//! Under which terms workers run: what they are to the system, and what they put up with before they end.

use crate::{Bytes, Nanos, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Terms of a stream's workers. The default asks for nothing and puts up with everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// Which failures end a worker.
    #[serde(default)]
    pub failures: Failures,
    /// An operation of this verb that took longer ends its worker, as a fault of its own (ETIMEDOUT).
    #[serde(default)]
    pub latency_most: Vec<(Verb, Nanos)>,
    /// What a worker is to the system.
    #[serde(default)]
    pub standing: Standing,
}

/// Which failures end a worker. Whatever they do besides, all of them are counted and are events of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Failures {
    /// None: work goes on.
    #[default]
    Pass,
    /// All but these error numbers, apart for reads, for everything that changes the storage, and for checks of what was
    /// read (EILSEQ: it is not what was written). A transfer that fell short counts as EIO.
    End {
        /// Passed over in reads.
        read: Vec<i32>,
        /// Passed over in writes, discards and syncs.
        write: Vec<i32>,
        /// Passed over in checks.
        check: Vec<i32>,
    },
}

/// EIO, as which a short transfer counts.
const EIO: i32 = 5;
/// EILSEQ, as which bytes count that are not what was written.
const EILSEQ: i32 = 84;

impl Failures {
    /// Does a worker end because an operation answered this: bytes moved, or the negated error number?
    pub fn ends(&self, verb: Verb, result: i32) -> bool {
        let errno = if result < 0 { -result } else { EIO };
        match (self, verb) {
            (Failures::Pass, _) => false,
            (Failures::End { read, .. }, Verb::Read) => !read.contains(&errno),
            (Failures::End { write, .. }, _) => !write.contains(&errno),
        }
    }

    /// Does a worker end because a check failed?
    pub fn ends_check(&self) -> bool {
        match self {
            Failures::Pass => false,
            Failures::End { check, .. } => !check.contains(&EILSEQ),
        }
    }
}

/// What a worker is to the system. Each worker is a thread, and only that thread is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// Its nice value, -20 (first) to 19 (last).
    pub nice: Option<i32>,
    /// Its I/O priority: class (1 real-time, 2 best effort, 3 idle) and level, 0 (first) to 7.
    pub io_priority: Option<(u8, u8)>,
    /// As this user. Targets are opened before, by whoever runs the program.
    pub user: Option<u32>,
    /// As this group.
    pub group: Option<u32>,
    /// Memory that it keeps locked while it works, so that there is less for the page cache.
    pub locked: Bytes,
    /// Where its memory comes from.
    #[serde(default)]
    pub memory: Option<MemoryPolicy>,
    /// A control group's list of threads (`tasks`), into which it enters itself.
    #[serde(default)]
    pub control_group: Option<String>,
}

/// From which NUMA nodes memory comes (set_mempolicy).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPolicy {
    /// How it is taken from them.
    pub mode: MemoryMode,
    /// The nodes.
    pub nodes: Vec<u32>,
}

/// How memory is taken from nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryMode {
    /// As the system does.
    Default,
    /// From this node, as long as there is some.
    Prefer,
    /// From these nodes only.
    Bind,
    /// From these nodes in turn.
    Interleave,
    /// From the node of the CPU that asks.
    Local,
}

impl Standing {
    /// Does it ask for nothing?
    pub fn is_plain(&self) -> bool {
        let Standing { nice, io_priority, user, group, locked, memory, control_group } = self;
        let placed = memory.is_some() || control_group.is_some();
        let plain = nice.is_none() && io_priority.is_none() && user.is_none() && group.is_none();
        plain && !placed && locked.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_passed_over_ends_a_worker() {
        let end = Failures::End { read: vec![11], write: vec![28, 5], check: vec![] };
        assert!(end.ends(Verb::Read, -5) && !end.ends(Verb::Read, -11));
        assert!(end.ends(Verb::Write, -11) && !end.ends(Verb::Write, -28) && !end.ends(Verb::Trim, -28));
        assert!(end.ends(Verb::Read, 512) && !end.ends(Verb::Write, 512), "a short transfer is EIO");
        assert!(end.ends_check() && !Failures::Pass.ends_check() && !Failures::Pass.ends(Verb::Read, -5));
        assert!(!Failures::End { read: vec![], write: vec![], check: vec![84] }.ends_check());
    }
}
