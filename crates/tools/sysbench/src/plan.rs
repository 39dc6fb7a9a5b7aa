//! sysbench's commands as plans: `prepare` as one stream a file, `run` as one sequence that all workers share.

use super::resolve::{IoMode, Mode, Options};
use super::seeds;
use fathom_spec::*;

/// What is there of a file before `prepare`, bytes; `None`: nothing.
pub type Present = Option<u64>;

/// What `prepare` does: each file that is missing or too short is written to its end in whole blocks and synced,
/// one after the other. Answers the number of the file for each stream.
pub fn prepare(options: &Options, present: &[Present], seed: u64) -> (Plan, Vec<u32>) {
    let mut plan = Plan::new(seed);
    let mut files = Vec::new();
    for (number, present) in present.iter().enumerate() {
        let there = present.unwrap_or(0);
        if there >= options.file_size {
            continue;
        }
        let space = plan.add_target(target(options, number as u32, Access::Write, Some(Bytes(0))));
        let left =
            (options.file_size - there).div_ceil(options.block_size).saturating_mul(options.block_size);
        let blocks = Blocks {
            pattern: Pattern::Sequential(Begin::Append),
            mix: Mix::Only(Verb::Write),
            content: content(options),
            queue: QueueKind::Psync,
            ..Blocks::random_reads(space, Bytes(options.block_size))
        };
        let mut stream = Stream::closed(options.file(number as u32), blocks, 1);
        stream.start.after =
            files.len().checked_sub(1).map(|last| StreamId(last as u32)).into_iter().collect();
        stream.stop.bytes = Some(Bytes(left));
        stream.after_last = vec![SyncKind::Fsync];
        plan.add_stream(stream);
        files.push(number as u32);
    }
    (plan, files)
}

fn target(options: &Options, number: u32, access: Access, create: Option<Bytes>) -> Target {
    let durability = match options.flags & 3 {
        0 => Durability::None,
        2 => Durability::Data,
        _ => Durability::Full,
    };
    let direct = options.direct() && options.io_mode != IoMode::Mmap;
    Target::Path(PathTarget { path: options.file(number), access, create, direct, durability })
}

fn content(options: &Options) -> Content {
    if options.validate { Content::SysbenchSum } else { Content::Zero }
}

/// How a series of syncs is done.
fn sync_kind(options: &Options) -> SyncKind {
    match (options.io_mode, options.fdatasync) {
        (IoMode::Mmap, _) => SyncKind::Msync,
        (_, true) => SyncKind::Fdatasync,
        (_, false) => SyncKind::Fsync,
    }
}

/// Of a run: everything of its mode.
fn blocks(options: &Options, mode: Mode, seed: u32) -> Blocks {
    let write = if options.fsync_all { Verb::Commit } else { Verb::Write };
    let mix = match mode {
        Mode::SequentialRead | Mode::RandomRead => Mix::Only(Verb::Read),
        Mode::RandomMixed => {
            Mix::ByCompleted { reads_per_write: options.rw_ratio, commits: options.fsync_all }
        }
        Mode::SequentialWrite | Mode::SequentialRewrite | Mode::RandomWrite => Mix::Only(write),
    };
    let series = SyncRule {
        every: options.fsync_freq,
        of: Verb::Write,
        kind: sync_kind(options),
        all_targets_in_turn: true,
        between: false,
    };
    let wants_syncs = mode.writes() && options.fsync_freq > 0;
    let verify = Verify { fatal: true, ..Verify::READS };
    Blocks {
        region: (Extent::Bytes(Bytes(0)), Extent::Bytes(Bytes(options.total_size()))),
        pattern: match mode.is_random() {
            true => Pattern::Uniform { once: false },
            false => Pattern::Sequential(Begin::First),
        },
        generator: Generator::Given {
            states: seeds::states(seed, options.threads, options.rate != 0),
            discard_per_event: u32::from(options.percentile > 0),
        },
        mix,
        sync: if wants_syncs { vec![series] } else { Vec::new() },
        commit: sync_kind(options),
        content: content(options),
        verify: (options.validate && mode != Mode::SequentialWrite).then_some(verify),
        queue: match options.io_mode {
            IoMode::Sync => QueueKind::Psync,
            IoMode::Async => QueueKind::Libaio,
            IoMode::Mmap => QueueKind::Mmap,
        },
        shared: Some(CellId(0)),
        ..Blocks::random_reads(SpaceId(0), Bytes(options.request_size()))
    }
}

/// What `run` does: all workers take turns in one sequence over the files, each file a stripe of one space.
pub fn run(options: &Options, mode: Mode, seed: u32) -> Plan {
    let mut plan = Plan::new(u64::from(seed));
    let access = if mode.writes() { Access::Write } else { Access::Read };
    let create = match (mode, options.io_mode) {
        // What is mapped must be there.
        (Mode::SequentialWrite, IoMode::Mmap) => Some(Bytes(options.file_size)),
        (Mode::SequentialWrite, _) => Some(Bytes(0)),
        _ => None,
    };
    plan.targets = (0..options.files).map(|number| target(options, number, access, create)).collect();
    let over = (0..options.files).map(TargetId).collect();
    plan.spaces = vec![Space::Striped { over, depth: Bytes(options.file_size) }];
    let blocks = blocks(options, mode, seed);
    plan.cells = vec![Shared::Cursor(Box::new(Blocks { shared: None, ..blocks.clone() }))];
    let asynchronous = options.io_mode == IoMode::Async;
    let mut stream = Stream::closed("run", blocks, if asynchronous { options.backlog } else { 1 });
    stream.workers = options.threads;
    stream.batch = Batch { submit: 1, reap_least: 1, ..Batch::default() };
    stream.placement = Placement::Any(Vec::new());
    if options.rate > 0 {
        let rate = Rate::Operations(options.rate as f64 / f64::from(options.threads));
        stream.arrival = Arrival::Open(vec![Timetable { verb: Verb::Read, rate, spacing: Spacing::Poisson }]);
    }
    stream.stop.operations = (options.events > 0).then_some(options.events);
    let after = if options.always_forced() { SHUTDOWN_AFTER } else { Nanos(0) };
    stream.stop.time =
        (options.time_s > 0).then(|| Nanos(Nanos::from_seconds(options.time_s).0.saturating_add(after.0)));
    if options.syncs_at_end() {
        stream.after_last = vec![sync_kind(options)];
    }
    stream.keep.response = options.rate > 0;
    stream.keep.submit = asynchronous;
    plan.interval = Nanos::from_seconds(step_s(options));
    plan.add_stream(stream);
    plan
}

/// A forced shutdown finds the threads busy for so long after their time.
const SHUTDOWN_AFTER: Nanos = Nanos::from_seconds(1);

/// No interval is longer, seconds: a worker keeps counters for each slot of it.
const LONGEST_S: u64 = 60;

/// Seconds between moments at which something may be told: the largest not too long that divides them all.
pub fn step_s(options: &Options) -> u64 {
    let mut divisor = u64::try_from(options.report_interval).unwrap_or(0);
    for checkpoint in &options.checkpoints {
        divisor = greatest_common_divisor(*checkpoint, divisor);
    }
    match divisor {
        0 => 1,
        all => (1..=LONGEST_S.min(all)).rev().find(|step| all.is_multiple_of(*step)).unwrap_or(1),
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
