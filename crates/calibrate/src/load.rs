//! From a load to a plan: what the storage is asked to do at so many outstanding I/Os.

use fathom_spec::*;

/// Where a calibration works, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// Targets to read, past the page cache.
    pub targets: Vec<Target>,
    /// The space over them.
    pub space: Space,
    /// Bytes of the working set.
    pub working_set: Bytes,
    /// May the targets be written?
    pub writable: bool,
    /// Files of fathom's own to which commits are appended; empty: commits overwrite the targets.
    pub logs: Vec<String>,
    /// How I/O is asked of the kernel.
    pub queue: QueueKind,
    /// CPUs that may be used.
    pub cpus: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// A device that has not answered for so long is reported.
    pub stall: Nanos,
}

/// What one point does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Small random I/Os; percent of reads.
    Small {
        /// 100: reads only.
        read_percent: u8,
    },
    /// Small random reads over an eighth of the working set.
    Eighth,
    /// Large reads at random places, by one process.
    LargeByOne,
    /// Large reads at random places, by as many processes as there are CPUs.
    LargeByMany,
    /// Large sequential reads, one stream for each unit of load.
    Streams,
    /// Small random writes.
    SmallWrites,
    /// Large sequential writes.
    LargeWrites,
    /// A write and its sync by each of so many writers.
    Commits(SyncKind),
    /// A sample of reads for the check of caches; the load is the outstanding count.
    Sample {
        /// How many, so that the same can be read again; 0: as many as fit the time.
        operations: u64,
    },
}

/// Slots are as long as the bursts in which a throttle lets I/Os through, so that whole ones are fair.
pub const SLOT: Nanos = Nanos::from_millis(100);

/// Left out at the start of a point.
pub fn ramp(length: Nanos) -> Nanos {
    Nanos((length.0 / 8).clamp(SLOT.0, 5 * SLOT.0) / SLOT.0 * SLOT.0)
}

impl Ground {
    fn empty_plan(&self) -> Plan {
        Plan { slot: SLOT, interval: Nanos::from_seconds(1), stall: self.stall, ..Plan::new(self.seed) }
    }

    /// The plan of one point of this kind and load that lasts `length` in all, ramp included.
    pub fn plan(&self, kind: Kind, load: u32, sizes: (Bytes, Bytes), length: Nanos, log_start: u64) -> Plan {
        if let Kind::Commits(sync) = kind {
            return self.commits(sync, load, sizes.0, length, log_start);
        }
        let mut plan = self.empty_plan();
        let writes = matches!(kind, Kind::SmallWrites | Kind::LargeWrites)
            || matches!(kind, Kind::Small { read_percent } if read_percent < 100);
        plan.targets = self.targets.iter().cloned().map(|target| opened_for(target, writes)).collect();
        plan.spaces = vec![self.space.clone()];
        let blocks = self.blocks(kind, sizes);
        let sequential = matches!(kind, Kind::Streams | Kind::LargeWrites);
        let (workers, by_worker) = self.spread(kind, load);
        for (count, depth) in by_worker {
            let mut stream = Stream::closed(name(kind), blocks.clone(), depth);
            stream.workers = count;
            self.time(&mut stream, kind, length);
            plan.add_stream(stream);
        }
        if sequential && workers > 1 && plan.streams.len() > 1 {
            // Streams of one kind only: their starting places are spread by the worker's number in its stream.
            plan.streams.truncate(1);
            plan.streams[0].workers = workers;
        }
        plan
    }

    fn time(&self, stream: &mut Stream, kind: Kind, length: Nanos) {
        let before = ramp(length);
        stream.window =
            Window::Inside { before, length: Nanos(length.0.saturating_sub(before.0) / SLOT.0 * SLOT.0) };
        stream.stop.time = Some(Nanos(length.0 + SLOT.0));
        if let Kind::Sample { operations } = kind {
            stream.window = Window::Everything;
            stream.stop.time = Some(length);
            stream.stop.operations = (operations > 0).then_some(operations);
        }
    }

    fn blocks(&self, kind: Kind, (small, large): (Bytes, Bytes)) -> Blocks {
        let large_kind =
            matches!(kind, Kind::LargeByOne | Kind::LargeByMany | Kind::Streams | Kind::LargeWrites);
        let mut blocks = Blocks::random_reads(SpaceId(0), if large_kind { large } else { small });
        blocks.queue = self.queue;
        blocks.region.1 = Extent::Bytes(self.working_set);
        match kind {
            Kind::Small { read_percent: 100 }
            | Kind::LargeByOne
            | Kind::LargeByMany
            | Kind::Sample { .. }
            | Kind::Commits(_) => {}
            Kind::Small { read_percent } => blocks.mix = Mix::Random { read_percent },
            Kind::Eighth => {
                blocks.region.1 = Extent::Bytes(Bytes((self.working_set.0 / 8 / MIB).max(1) * MIB))
            }
            Kind::Streams => blocks.pattern = Pattern::Sequential(Begin::Spread),
            Kind::SmallWrites => blocks.mix = Mix::Only(Verb::Write),
            Kind::LargeWrites => {
                blocks.mix = Mix::Only(Verb::Write);
                blocks.pattern = Pattern::Sequential(Begin::First);
            }
        }
        blocks
    }

    /// Workers in all, and how many of them keep how many I/Os outstanding. The sum is the load.
    fn spread(&self, kind: Kind, load: u32) -> (u32, Vec<(u32, u32)>) {
        let load = load.max(1);
        let workers = match (kind, self.queue) {
            (Kind::Streams, _) => return (load, vec![(load, 2)]),
            (_, QueueKind::Psync) => load,
            (Kind::LargeByOne | Kind::LargeWrites | Kind::Sample { .. }, _) => 1,
            (Kind::LargeByMany, _) => self.cpus.max(2).min(load),
            _ if matches!(self.targets.first(), Some(Target::Sim(_))) => 1,
            _ => load.div_ceil(32).min(self.cpus.max(1)),
        };
        let (each, more) = (load / workers, load % workers);
        let parts = [(more, each + 1), (workers - more, each)];
        (workers, parts.into_iter().filter(|(count, depth)| *count > 0 && *depth > 0).collect())
    }

    /// Commits: each writer appends to a log of its own, or overwrites a part of the target in order.
    fn commits(&self, sync: SyncKind, writers: u32, size: Bytes, length: Nanos, log_start: u64) -> Plan {
        let mut plan = self.empty_plan();
        let durability = if sync == SyncKind::None { Durability::Data } else { Durability::None };
        let log = |target: Target| match target {
            Target::Path(path) => {
                Target::Path(PathTarget { access: Access::Write, direct: false, durability, ..path })
            }
            other => other,
        };
        let mut blocks = Blocks::random_reads(SpaceId(0), size);
        (blocks.mix, blocks.commit, blocks.queue) = (Mix::Only(Verb::Commit), sync, QueueKind::Psync);
        if self.logs.is_empty() {
            plan.targets = self.targets.iter().cloned().map(log).collect();
            plan.spaces = vec![self.space.clone()];
            blocks.region.1 = Extent::Bytes(self.working_set);
            blocks.pattern = Pattern::Sequential(Begin::Spread);
            let mut stream = Stream::closed("commits", blocks, 1);
            stream.workers = writers;
            self.time(&mut stream, Kind::Commits(sync), length);
            plan.add_stream(stream);
            return plan;
        }
        for path in self.logs.iter().take(writers as usize) {
            let space = plan.add_target(log(Target::Path(PathTarget::direct_read(path))));
            let region = (Extent::Bytes(Bytes(log_start)), Extent::Bytes(Bytes(0)));
            let blocks =
                Blocks { space, region, pattern: Pattern::Sequential(Begin::Append), ..blocks.clone() };
            let mut stream = Stream::closed("commits", blocks, 1);
            self.time(&mut stream, Kind::Commits(sync), length);
            plan.add_stream(stream);
        }
        plan
    }
}

fn opened_for(target: Target, writes: bool) -> Target {
    match target {
        Target::Path(path) => {
            Target::Path(PathTarget { access: if writes { Access::Write } else { Access::Read }, ..path })
        }
        other => other,
    }
}

/// What a kind of point is called.
pub fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Small { read_percent: 100 } => "small reads",
        Kind::Small { .. } => "mixed",
        Kind::Eighth => "an eighth of the working set",
        Kind::LargeByOne => "large reads, one process",
        Kind::LargeByMany => "large reads",
        Kind::Streams => "sequential reads",
        Kind::SmallWrites => "random writes",
        Kind::LargeWrites => "sequential writes",
        Kind::Commits(SyncKind::None) => "commits with O_DSYNC",
        Kind::Commits(SyncKind::Fsync) => "commits with fsync",
        Kind::Commits(_) => "commits",
        Kind::Sample { operations: 0 } => "a sample",
        Kind::Sample { .. } => "the sample again",
    }
}
