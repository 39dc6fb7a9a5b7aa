//! One stream of work: what, how much at a time, when it starts and when it ends, and what is kept of it.

use crate::{
    Blocks, Bytes, CellId, Command, Copying, ErrorPolicy, GroupId, Nanos, StreamId, SyncKind, TargetId,
    ThreadAttributes, Verb,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of workers that do the same. There are no phases: `start.after` is the phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// For reports.
    pub name: String,
    /// What is reported together; says nothing of what starts together.
    pub group: GroupId,
    /// Threads, each with its own queue, buffers and record.
    pub workers: u32,
    /// What must have ended before, and how long to wait then.
    pub start: Start,
    /// What is done.
    pub work: Work,
    /// When the next operation may start.
    pub arrival: Arrival,
    /// Outstanding I/Os of each worker.
    pub depth: Depth,
    /// How many are submitted and reaped at a time.
    pub batch: Batch,
    /// When it ends: at the first of these.
    pub stop: Stop,
    /// Which part of it counts.
    pub window: Window,
    /// Syncs after the last operation: timed and counted, but no events of the load.
    pub after_last: Vec<SyncKind>,
    /// Which latencies are kept.
    pub keep: Keep,
    /// On which CPUs the workers run.
    pub placement: Placement,
    /// Which errors end them early.
    #[serde(default)]
    pub errors: ErrorPolicy,
    /// What their threads are to the system.
    #[serde(default)]
    pub thread: ThreadAttributes,
}

impl Stream {
    /// A closed loop of block work that keeps `depth` I/Os outstanding in one worker and everything of it.
    pub fn closed(name: impl Into<String>, blocks: Blocks, depth: u32) -> Self {
        Stream {
            name: name.into(),
            group: GroupId(0),
            workers: 1,
            start: Start::default(),
            work: Work::Blocks(Box::new(blocks)),
            arrival: Arrival::Closed { think: None },
            depth: Depth::Fixed(depth),
            batch: Batch::default(),
            stop: Stop::default(),
            window: Window::Everything,
            after_last: Vec::new(),
            keep: Keep { service: true, ..Keep::default() },
            placement: Placement::Anywhere,
            errors: ErrorPolicy::default(),
            thread: ThreadAttributes::default(),
        }
    }

    /// The priorities whose service times are kept apart, as words, each for a verb: first 0, the worker's own, then those
    /// of the rules, by size. None where none is kept.
    pub fn kept_priorities(&self) -> Vec<(Verb, u16)> {
        let Work::Blocks(blocks) = &self.work else { return Vec::new() };
        if !self.keep.priorities || !self.keep.service || blocks.priorities.is_empty() {
            return Vec::new();
        }
        let mut rules = blocks.priorities.clone();
        rules.sort_by_key(|rule| rule.size.map_or(0, |size| size.0));
        let mut kept = vec![(Verb::Read, 0), (Verb::Write, 0)];
        for rule in &rules {
            let of = (rule.of, rule.word());
            if !kept.contains(&of) {
                kept.push(of);
            }
        }
        kept
    }
}

/// When a stream begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// Streams that must have ended. Empty: at once.
    pub after: Vec<StreamId>,
    /// A pause after that.
    pub delay: Nanos,
}

/// What a stream does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Reads and writes of blocks, many at a time: the engine's batch loop.
    Blocks(Box<Blocks>),
    /// Files made, opened, looked at and removed: the serial loop.
    Files(Files),
    /// Bytes from one space to another, as dd does: the serial loop.
    Copy(Box<Copying>),
    /// CPU time and nothing else (fio's cpuio).
    Compute {
        /// Share of one CPU, 0 to 1.
        share: f64,
        /// Length of a busy chunk; 0: 50 ms.
        #[serde(default)]
        chunk: Nanos,
        /// Numbers are sorted, rather than nothing done.
        #[serde(default)]
        sorts: bool,
    },
    /// A command that is run and waited for.
    Command(Box<Command>),
    /// SQL sessions.
    Session(Session),
}

/// Work on many files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Files {
    /// Create, open, read, stat, delete: each over all files before the next. At most four, with a sync after the last
    /// three; `after_last` makes the directory's file system durable.
    pub verbs: Vec<Verb>,
    /// How many files each worker has.
    pub count: u64,
    /// Bytes in each, written when it is made.
    pub size: Bytes,
    /// Some: each file has a random number of bytes from this to `size`.
    #[serde(default)]
    pub size_least: Option<Bytes>,
    /// The directory in which they are made; it exists.
    pub under: String,
    /// What their names begin with; worker and number follow.
    pub prefix: String,
    /// Directories of each worker over which its files are dealt out, made and removed with them; 0: none.
    #[serde(default)]
    pub directories: u32,
    /// Each verb goes through them in a random order of its own, not by number.
    #[serde(default)]
    pub shuffled: bool,
    /// Files, or directories in their place.
    #[serde(default)]
    pub entry: Entry,
    /// How they are looked at.
    #[serde(default)]
    pub look: StatCall,
    /// The number of the first worker in names.
    #[serde(default)]
    pub first: u32,
    /// How they are named.
    #[serde(default)]
    pub names: Names,
    /// What comes after creation goes through them as their directory lists them: all that lies in it is theirs, and
    /// of one worker.
    #[serde(default)]
    pub listed: bool,
    /// Each creation and each removal ends with a sync of the directory, and of the file.
    #[serde(default)]
    pub durable: bool,
    /// Bytes of one call that writes or reads; 0: up to 1 MiB.
    #[serde(default)]
    pub piece: Bytes,
}

/// How files are named, behind what all names begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// Worker and number: `0.17`.
    #[default]
    Plain,
    /// Ten hexadecimal digits, which go on from worker to worker, and up to twelve letters and digits that follow from a seed.
    NumberFirst {
        /// The seed.
        seed: u64,
    },
    /// The same, letters first: names that follow each other look random.
    LettersFirst {
        /// The seed.
        seed: u64,
    },
}

/// With which call a file is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatCall {
    /// lstat: a symbolic link itself.
    #[default]
    Link,
    /// stat: what a symbolic link leads to.
    File,
    /// statx, of what a symbolic link leads to.
    Extended,
}

/// What is made, opened, looked at and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Files.
    #[default]
    File,
    /// Directories.
    Directory,
    /// Names of one empty file, which is made before them and removed after them.
    HardLink,
    /// Symbolic links to that file.
    SymbolicLink,
}

/// Work of SQL sessions on schemas whose tables have one row per block. A run of rows whose keys follow each other lies in
/// as many blocks at random places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Which database, among the plan's targets.
    pub target: TargetId,
    /// Schemas over which the workers are spread: worker w uses schema w mod `schemas`, counted from 0.
    pub schemas: u32,
    /// Rows, one a block, of each schema.
    pub blocks: u64,
    /// Blocks that one select touches.
    pub work_unit: u32,
    /// Blocks that one update touches; each update is committed.
    pub update_unit: u32,
    /// Share of updates among all operations, percent, kept exactly in each hundred.
    pub update_percent: f64,
    /// Share of scans of the scan table among what is no update, percent, kept exactly in each hundred of them.
    pub scan_percent: f64,
    /// How much log an update makes.
    pub redo: Redo,
    /// A part of each schema that is used more than the rest.
    pub hotspot: Option<Hotspot>,
    /// Every so many operations of a session, one goes to the first schema; 0: never.
    pub hot_schema_every: u32,
    /// A pause of random length.
    pub think: Option<RandomThink>,
}

impl Session {
    /// Selects of one random block each.
    pub fn selects(target: TargetId, schemas: u32, blocks: u64) -> Self {
        Session {
            target,
            schemas,
            blocks,
            work_unit: 1,
            update_unit: 1,
            update_percent: 0.0,
            scan_percent: 0.0,
            redo: Redo::Light,
            hotspot: None,
            hot_schema_every: 0,
            think: None,
        }
    }
}

/// How much an update changes of a row, and so how much log it makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Redo {
    /// A number.
    #[default]
    Light,
    /// The whole row.
    Heavy,
}

/// A part of the blocks that is used more than the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hotspot {
    /// Blocks before it.
    pub offset: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Every so many operations of a session, one falls into it.
    pub every: u32,
}

/// A pause whose length is drawn evenly between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RandomThink {
    /// At least.
    pub least: Nanos,
    /// At most.
    pub most: Nanos,
    /// Before an operation whose key is a multiple of this.
    pub every: u32,
}

/// When the next operation may start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// As soon as one has ended, perhaps after thinking.
    Closed {
        /// The pause, if any.
        think: Option<Think>,
    },
    /// By a timetable of its own for each verb, whatever the device does.
    Open(Vec<Timetable>),
    /// At the times of a recording.
    Recorded {
        /// 1 is as recorded, 2 twice as fast.
        speed: f64,
    },
}

/// The timetable of one verb; the rate is that of each worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timetable {
    /// Whose.
    pub verb: Verb,
    /// How many, or how much.
    pub rate: Rate,
    /// Evenly or at random.
    pub spacing: Spacing,
}

/// A pause between operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Think {
    /// Asleep.
    pub wait: Nanos,
    /// Of that, awake and busy.
    pub spin: Nanos,
    /// After so many operations.
    pub every: u64,
    /// And after so long at work, whichever comes first; 0: by operations only.
    #[serde(default)]
    pub work: Nanos,
}

/// How many a second, or how much a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Operations per second.
    Operations(f64),
    /// Bytes per second.
    Bytes(f64),
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// The same gap every time.
    Even,
    /// Exponential gaps.
    Poisson,
}

/// How many I/Os a worker keeps outstanding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Always so many.
    Fixed(u32),
    /// Up to `high`; once full, none until only `low` are left (fio's iodepth_low).
    Hysteresis {
        /// Refill below this.
        low: u32,
        /// Fill to this.
        high: u32,
    },
    /// As many as keep `share` of the latencies under `target` over a window.
    Latency {
        /// The latency to hold.
        target: Nanos,
        /// The share that must hold it, 0 to 1.
        share: f64,
        /// Judged over this long.
        window: Nanos,
        /// Never more than this.
        high: u32,
    },
    /// In step with others that share a flow.
    Flow {
        /// The shared flow.
        cell: CellId,
        /// This stream's weight in it.
        weight: i32,
        /// Outstanding I/Os.
        high: u32,
    },
}

impl Depth {
    /// The most I/Os that a worker may ever have outstanding.
    pub fn most(&self) -> u32 {
        match self {
            Depth::Fixed(high) => *high,
            Depth::Hysteresis { high, .. } | Depth::Latency { high, .. } | Depth::Flow { high, .. } => *high,
        }
    }
}

/// How many operations go into the queue and come out of it at a time. Zero: the engine's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// At most so many in one submission.
    pub submit: u32,
    /// Wait for at least so many.
    pub reap_least: u32,
    /// Take at most so many.
    pub reap_most: u32,
    /// Take none before as many are outstanding as may be, or no more can be started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fill_first: bool,
}

/// When a stream ends: at the first of these that is set. None set: when it is told to; a recording when it has been
/// replayed, files when each verb has gone over them once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// After so many bytes of each worker.
    pub bytes: Option<Bytes>,
    /// After so many operations of each worker.
    pub operations: Option<u64>,
    /// After so long.
    pub time: Option<Nanos>,
    /// After so many passes over the region.
    pub passes: Option<u64>,
    /// When it ends, this group ends with it.
    pub takes_down: Option<GroupId>,
    /// Bytes and operations are those of the window: a ramp before it takes nothing of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_window: bool,
}

/// Which part of a stream counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// All of it, as fio, dd, dt and sysbench do.
    Everything,
    /// What comes after a ramp.
    After(Nanos),
    /// A part inside a longer load, so that neither rise nor fall is in it.
    Inside {
        /// Left out at the start.
        before: Nanos,
        /// Counted.
        length: Nanos,
    },
    /// Nothing: junk I/O to warm or flush a cache.
    Unmeasured,
}

/// Which latencies are kept. One that is not asked for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Keep {
    /// From the call that submits until it returns.
    pub submit: bool,
    /// From the return of the call that submitted to completion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completion: bool,
    /// From submission to completion.
    pub service: bool,
    /// From the intended start to completion: the only honest one under a rate.
    pub response: bool,
    /// A line for each I/O goes to this target.
    pub log: Option<TargetId>,
    /// With `service`: also apart for each priority that operations may have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub priorities: bool,
}

/// On which CPUs workers run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// One on each CPU by the engine when there are as many workers as CPUs, else free.
    #[default]
    Anywhere,
    /// Worker i on the i-th of these, round and round.
    OneEach(Vec<u32>),
    /// Each on any of these.
    Any(Vec<u32>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Priority, SpaceId};

    #[test]
    fn priorities_are_kept_where_that_is_asked_for_each_once_and_by_size() {
        let rule = |of, size: u64, class| {
            let size = (size > 0).then_some(Bytes(size));
            Priority { of, size, percent: 10, class, level: 7 }
        };
        let mut blocks = Blocks::random_reads(SpaceId(0), Bytes(4096));
        blocks.priorities = vec![
            rule(Verb::Read, 8192, 3),
            rule(Verb::Read, 4096, 2),
            rule(Verb::Read, 4096, 1),
            rule(Verb::Write, 0, 2),
            rule(Verb::Read, 512, 3),
        ];
        let mut stream = Stream::closed("a", blocks, 4);
        assert!(stream.kept_priorities().is_empty());
        stream.keep.priorities = true;
        let words = stream.kept_priorities();
        let of = |verb| -> Vec<u16> {
            words.iter().filter(|(of, _)| *of == verb).map(|(_, word)| word >> 13).collect()
        };
        assert_eq!((of(Verb::Read), of(Verb::Write)), (vec![0, 3, 2, 1], vec![0, 2]));
    }
}
