//! How a load of a phase becomes a plan. Knows no devices: targets come opened by nobody, as plain data.

use fathom_record::Phase;
use fathom_spec::{
    Access, Batch, Begin, Blocks, Bytes, CellId, Durability, Extent, GroupId, Mix, Nanos, Pattern, Plan,
    QueueKind, Shared, Sizes, Space, SpaceId, Stop, Stream, SyncKind, Target, TargetId, Verb, Window,
};

/// One worker keeps up to so many outstanding before another thread helps: below it one CPU carries any load that a
/// disk of that depth can give.
const DEPTH_PER_WORKER: u32 = 32;

/// Outstanding reads of one sequential stream, ORION's `num_streamIO` default.
const READS_PER_STREAM: u32 = 4;

/// Everything that the plans of one calibration have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Planner {
    /// What is read: one address space over all of them.
    pub reads: Vec<Target>,
    /// What is written at random and in sequence: scratch files, or devices with consent. Empty: nothing is.
    pub writes: Vec<Target>,
    /// The log that commits are appended to: a scratch file of its own. `None`: commits overwrite what is written, in
    /// sequence.
    pub log: Option<Target>,
    /// How much of the address space of `reads` and `writes` is used, from its beginning.
    pub working_set: Extent,
    /// Bytes of a small I/O.
    pub block: Bytes,
    /// Bytes of a large I/O.
    pub large: Bytes,
    /// How I/O is asked of the kernel.
    pub queue: QueueKind,
    /// CPUs that may be used: no phase has more workers, except where each unit of load needs one (psync, commits).
    pub cpus: u32,
    /// Length of a slot: 50 ms, or 100 ms under a throttle, which lets I/Os through in bursts of that length.
    pub slot: Nanos,
    /// Percent of reads of the mixed phase.
    pub read_percent: u8,
    /// Seed of all offsets; each run has one of its own made from it.
    pub seed: u64,
}

/// How long one run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// A window inside the load.
    Window {
        /// Left out at the start.
        before: Nanos,
        /// Counted, at most.
        length: Nanos,
    },
    /// So many operations in all, everything counted, within this time.
    Sample {
        /// Operations of all workers together.
        operations: u64,
        /// Not longer than this.
        at_most: Nanos,
    },
}

impl Planner {
    /// The plan of one run. `number` makes its offsets different from those of other runs; the two readings of the
    /// sample must be given the same one.
    pub fn plan(&self, phase: Phase, load: u32, length: Length, number: u64) -> Plan {
        let mut plan = Plan::new(self.seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        plan.slot = self.slot;
        let space = self.add_space(&mut plan, phase);
        let blocks = self.blocks(phase, space);
        if blocks.shared.is_some() {
            plan.cells.push(Shared::Cursor(Box::new(blocks.clone())));
        }
        for (workers, depth) in self.shares(phase, load.max(1)) {
            let mut stream = Stream::closed(phase.title(), blocks.clone(), depth);
            stream.group = GroupId(0);
            stream.workers = workers;
            stream.batch = Batch::default();
            self.measure(&mut stream, length, u64::from(self.workers(phase, load)));
            plan.add_stream(stream);
        }
        plan
    }

    /// The least time that fits the slots of this planner: whole slots, at least one.
    pub fn whole_slots(&self, time: Nanos) -> Nanos {
        let slot = self.slot.0.max(1);
        Nanos((time.0 / slot).max(1) * slot)
    }

    fn measure(&self, stream: &mut Stream, length: Length, workers: u64) {
        match length {
            Length::Window { before, length } => {
                stream.window = Window::Inside { before, length };
                // One slot more, so that the fall of the load lies behind the window.
                stream.stop =
                    Stop { time: Some(Nanos(before.0 + length.0 + self.slot.0)), ..Stop::default() };
            }
            Length::Sample { operations, at_most } => {
                stream.window = Window::Everything;
                let each = operations.div_ceil(workers.max(1)).max(1);
                stream.stop = Stop { operations: Some(each), time: Some(at_most), ..Stop::default() };
            }
        }
    }

    fn add_space(&self, plan: &mut Plan, phase: Phase) -> SpaceId {
        let mut targets = match (phase.commits() && self.log.is_some(), phase.writes()) {
            (true, _) => self.log.iter().cloned().collect(),
            (false, true) => self.writes.clone(),
            (false, false) => self.reads.clone(),
        };
        for target in &mut targets {
            if let (Target::Path(path), true) = (target, phase.writes()) {
                path.access = Access::Write;
                if phase == Phase::CommitDsync {
                    path.durability = Durability::Data;
                }
            }
        }
        if let [only] = targets.as_slice() {
            return plan.add_target(only.clone());
        }
        plan.targets = targets;
        plan.spaces.push(Space::Concat((0..plan.targets.len() as u32).map(TargetId).collect()));
        SpaceId(0)
    }

    fn blocks(&self, phase: Phase, space: SpaceId) -> Blocks {
        let size = if phase.is_large() { self.large } else { self.block };
        let mut blocks = Blocks::random_reads(space, size);
        blocks.queue = self.queue;
        blocks.sizes = Sizes::One(size);
        blocks.region.1 = self.working_set;
        match phase {
            Phase::SmallReads | Phase::LargeOne | Phase::LargeAll | Phase::Sustained => {}
            Phase::SampleFirst | Phase::SampleAgain => {}
            Phase::EighthReads => {
                blocks.region.1 = match self.working_set {
                    Extent::Bytes(bytes) => Extent::Bytes(Bytes(bytes.0 / 8 / size.0.max(1) * size.0.max(1))),
                    Extent::Percent(percent) => Extent::Percent(percent / 8.0),
                    Extent::Whole | Extent::Each => Extent::Percent(12.5),
                };
            }
            Phase::Mixed => blocks.mix = Mix::Random { read_percent: self.read_percent },
            Phase::Streams => blocks.pattern = Pattern::Sequential(Begin::Spread),
            Phase::RandomWrites => blocks.mix = Mix::Only(Verb::Write),
            Phase::SequentialWrites => {
                blocks.mix = Mix::Only(Verb::Write);
                blocks.pattern = Pattern::Sequential(Begin::Spread);
            }
            Phase::CommitFdatasync | Phase::CommitDsync | Phase::CommitFsync | Phase::GroupCommit => {
                blocks.mix = Mix::Only(Verb::Commit);
                if self.log.is_some() {
                    blocks.region.1 = Extent::Bytes(Bytes(0));
                    blocks.pattern = Pattern::Sequential(Begin::Append);
                } else {
                    blocks.pattern = Pattern::Sequential(Begin::First);
                }
                // All writers share one log, and so one cursor.
                blocks.shared = Some(CellId(0));
                blocks.commit = match phase {
                    Phase::CommitDsync => SyncKind::None,
                    Phase::CommitFsync => SyncKind::Fsync,
                    _ => SyncKind::Fdatasync,
                };
                if !matches!(self.queue, QueueKind::Sim | QueueKind::Null) {
                    blocks.queue = QueueKind::Psync;
                }
            }
        }
        blocks
    }

    /// How many workers a load of this phase has.
    pub fn workers(&self, phase: Phase, load: u32) -> u32 {
        let (load, cpus) = (load.max(1), self.cpus.max(1));
        match phase {
            Phase::Streams => load,
            _ if phase.commits() => load,
            _ if self.queue == QueueKind::Psync => load,
            Phase::LargeOne | Phase::SequentialWrites => 1,
            Phase::LargeAll => load.min(cpus),
            _ => load.div_ceil(DEPTH_PER_WORKER).min(cpus),
        }
    }

    /// Workers and the outstanding I/Os of each. Their products sum to the load exactly: where it does not divide, some
    /// workers carry one more, as a stream of their own.
    fn shares(&self, phase: Phase, load: u32) -> Vec<(u32, u32)> {
        let workers = self.workers(phase, load);
        if phase == Phase::Streams {
            let depth = if self.queue == QueueKind::Psync { 1 } else { READS_PER_STREAM };
            return vec![(workers, depth)];
        }
        let (each, more) = (load / workers, load % workers);
        let mut shares = vec![(workers - more, each)];
        if more > 0 {
            shares.push((more, each + 1));
        }
        shares
    }

    /// Can this phase run at all?
    pub fn can(&self, phase: Phase) -> bool {
        match phase {
            _ if phase.commits() => self.log.is_some() || !self.writes.is_empty(),
            _ if phase.writes() => !self.writes.is_empty(),
            _ => !self.reads.is_empty(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fathom_spec::{Depth, PathTarget};

    pub(crate) fn planner() -> Planner {
        Planner {
            reads: vec![Target::Sim("ways=8".into())],
            writes: vec![Target::Sim("ways=8".into())],
            log: Some(Target::Sim("ways=8".into())),
            working_set: Extent::Whole,
            block: Bytes(8192),
            large: Bytes(1 << 20),
            queue: QueueKind::Sim,
            cpus: 4,
            slot: Nanos::from_millis(50),
            read_percent: 70,
            seed: 1,
        }
    }

    fn window() -> Length {
        Length::Window { before: Nanos::from_millis(100), length: Nanos::from_seconds(1) }
    }

    #[test]
    fn workers_share_any_load_exactly() {
        for queue in [QueueKind::IoUring, QueueKind::Psync] {
            for cpus in [1, 2, 3, 64] {
                for load in 1..300 {
                    let planner = Planner { queue, cpus, ..planner() };
                    for phase in [Phase::SmallReads, Phase::LargeAll, Phase::LargeOne, Phase::GroupCommit] {
                        let plan = planner.plan(phase, load, window(), 0);
                        let sum: u32 = plan.streams.iter().map(|s| s.workers * s.depth.most()).sum();
                        assert_eq!(sum, load);
                        assert!(plan.streams.iter().all(|s| s.workers > 0 && s.depth.most() > 0));
                    }
                }
            }
        }
    }

    #[test]
    fn only_the_writing_phases_open_anything_for_writing() {
        let file = || Target::Path(PathTarget::direct_read("/scratch"));
        let planner =
            Planner { reads: vec![file(), file()], writes: vec![file()], log: Some(file()), ..planner() };
        for phase in Phase::ALL {
            assert_eq!(planner.plan(phase, 4, window(), 0).writes(), phase.writes(), "{phase:?}");
        }
    }

    #[test]
    fn o_dsync_is_a_promise_of_the_open_file_and_no_call() {
        let planner = Planner {
            log: Some(Target::Path(PathTarget::direct_read("/log"))),
            queue: QueueKind::Auto,
            ..planner()
        };
        let plan = planner.plan(Phase::CommitDsync, 1, window(), 0);
        let Target::Path(path) = &plan.targets[0] else { panic!() };
        assert_eq!(path.durability, Durability::Data);
        let fathom_spec::Work::Blocks(blocks) = &plan.streams[0].work else { panic!() };
        assert_eq!((blocks.commit, blocks.queue), (SyncKind::None, QueueKind::Psync));
        assert_eq!(plan.streams[0].depth, Depth::Fixed(1));
    }

    #[test]
    fn the_sample_is_read_again_at_the_same_places() {
        let sample = Length::Sample { operations: 1000, at_most: Nanos::from_seconds(1) };
        let first = planner().plan(Phase::SampleFirst, 8, sample, 7);
        let again = planner().plan(Phase::SampleAgain, 8, sample, 7);
        assert_eq!(first.seed, again.seed);
        assert_ne!(first.seed, planner().plan(Phase::SampleFirst, 8, sample, 8).seed);
    }
}
