//! The plan: targets, the address spaces over them, what workers share, and the streams.

use crate::{Blocks, Bytes, Nanos, Pattern, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u32);
    )* };
}
ids!(
    /// Index into [`Plan::targets`].
    TargetId,
    /// Index into [`Plan::spaces`].
    SpaceId,
    /// Index into [`Plan::streams`].
    StreamId,
    /// What is reported together. A number of the plan's own; names stand in the streams.
    GroupId,
    /// Index into [`Plan::cells`].
    CellId
);

/// Everything that one run does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Files, devices, simulated devices.
    pub targets: Vec<Target>,
    /// Address spaces over the targets.
    pub spaces: Vec<Space>,
    /// What is done, and what each stream starts after.
    pub streams: Vec<Stream>,
    /// The only things that workers may share.
    pub cells: Vec<Shared>,
    /// Length of a slot, for which counters are kept (50 to 100 ms).
    pub slot: Nanos,
    /// Length of an interval, for which latencies are kept (1 s).
    pub interval: Nanos,
    /// When so many intervals are there, of all streams together, neighbours are laid together: a long run keeps longer ones.
    /// 0: each is kept, however long the run is.
    #[serde(default)]
    pub intervals_most: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// After this long without a completion while I/Os are outstanding, the device is reported as stalled.
    pub stall: Nanos,
}

impl Plan {
    /// An empty plan with slots of 50 ms, at most 2048 intervals of at least 1 s, and stalls reported after 30 s.
    pub fn new(seed: u64) -> Self {
        Plan {
            targets: Vec::new(),
            spaces: Vec::new(),
            streams: Vec::new(),
            cells: Vec::new(),
            slot: Nanos::from_millis(50),
            interval: Nanos::from_seconds(1),
            intervals_most: 2048,
            seed,
            stall: Nanos::from_seconds(30),
        }
    }

    /// Adds a target and a space that is the whole of it.
    pub fn add_target(&mut self, target: Target) -> SpaceId {
        self.targets.push(target);
        self.spaces.push(Space::Whole(TargetId(self.targets.len() as u32 - 1)));
        SpaceId(self.spaces.len() as u32 - 1)
    }

    /// Adds a stream and answers its number.
    pub fn add_stream(&mut self, stream: Stream) -> StreamId {
        self.streams.push(stream);
        StreamId(self.streams.len() as u32 - 1)
    }

    /// Does any stream write to this target?
    pub fn writes(&self) -> bool {
        self.targets.iter().any(|t| matches!(t, Target::Path(p) if p.access == Access::Write))
    }
}

/// One thing that I/O goes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A file or a block device.
    Path(PathTarget),
    /// A simulated device, such as `ways=32,service=100us`.
    Sim(String),
    /// Nothing: every I/O succeeds at once on a space of this size.
    Null(Bytes),
    /// A database, by the name under which its executor knows it (never a URL: that could hold a password).
    Database(String),
}

/// A file or block device, and how it is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathTarget {
    /// Where it is.
    pub path: String,
    /// Only read, or also written. Writing needs the guard's consent at opening.
    pub access: Access,
    /// Make the file if it is missing, and extend it to this size (by allocating, not by writing).
    pub create: Option<Bytes>,
    /// Past the page cache (O_DIRECT).
    pub direct: bool,
    /// What the open itself promises of durability.
    pub durability: Durability,
}

impl PathTarget {
    /// Read only, past the page cache.
    pub fn direct_read(path: impl Into<String>) -> Self {
        PathTarget {
            path: path.into(),
            access: Access::Read,
            create: None,
            direct: true,
            durability: Durability::None,
        }
    }
}

/// Only read, or also written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Opened read only.
    Read,
    /// Opened for reading and writing.
    Write,
}

/// What an open file promises of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing until a sync.
    None,
    /// Each write is durable when it returns (O_DSYNC).
    Data,
    /// Each write and its metadata are durable when it returns (O_SYNC).
    Full,
}

/// One address space over one or several targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// One target, from its first byte to its last.
    Whole(TargetId),
    /// One after the other (ORION's `-simulate concat`, a database spread over LUNs).
    Concat(Vec<TargetId>),
    /// In stripes of `depth` bytes (ORION's `-simulate raid0`); as long as the shortest allows.
    Striped {
        /// The members, in order.
        over: Vec<TargetId>,
        /// Bytes of one stripe on one member.
        depth: Bytes,
    },
    /// The target is drawn first, then the offset in it (fio's nrfiles). A region lies in each of them.
    Picked {
        /// The members.
        over: Vec<TargetId>,
        /// How the next one is drawn.
        by: Pattern,
    },
}

impl Space {
    /// The targets that it lies over, in order.
    pub fn members(&self) -> &[TargetId] {
        match self {
            Space::Whole(target) => std::slice::from_ref(target),
            Space::Concat(over) | Space::Striped { over, .. } | Space::Picked { over, .. } => over,
        }
    }
}

/// What workers may share; locked once a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    /// One source of operations for all workers (sysbench's cursor, mix and fsync series).
    Cursor(Box<Blocks>),
    /// Streams that keep in step (fio's flow).
    Flow {
        /// How far one may run ahead, operations.
        tolerance: u64,
    },
    /// A number of operations for all workers together.
    Budget {
        /// That number.
        operations: u64,
    },
}
