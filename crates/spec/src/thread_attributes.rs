//! What a worker's thread is to the system: its priorities, user, memory and control group.

use crate::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a worker is to the system. Each worker is a thread, and only that thread is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadAttributes {
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

impl ThreadAttributes {
    /// Does it ask for nothing?
    pub fn is_plain(&self) -> bool {
        let ThreadAttributes { nice, io_priority, user, group, locked, memory, control_group } = self;
        let placed = memory.is_some() || control_group.is_some();
        let plain = nice.is_none() && io_priority.is_none() && user.is_none() && group.is_none();
        plain && !placed && locked.0 == 0
    }
}
