//! Options to plans: the requests, and what fills the working file of a directory before them. Opens nothing and removes
//! nothing.

use crate::args::{REQUEST_MOST, directory_work_size};
use crate::{Failure, Operations, Options};
use fathom_host::TargetKind;
use fathom_spec::*;

/// The working file in a directory with `-k`; it is used again as long as it is large enough.
pub const KEPT_FILE: &str = "ioping.tmp";

/// What must be known of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// What it is.
    pub kind: TargetKind,
    /// Bytes of a file or a block device; of others nothing.
    pub size: Bytes,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// The requests: one stream, one worker, one outstanding I/O.
    pub plan: Plan,
    /// What fills the working file of a directory.
    pub layout: Option<Layout>,
    /// Three times `-W` or `-G`: the user consents to the loss of what the file or the device holds.
    pub consents_to_write: bool,
}

/// How a working file is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Random bytes over the working set, a request's size at a time, then a sync.
    pub plan: Plan,
    /// The size of the file afterwards. One that is kept and has it already is not filled again.
    pub size: Bytes,
}

/// Plans the requests to `path`: the working file of a directory, else the target itself. The seed is that of a run without
/// `-e`.
pub fn prepare(options: &Options, facts: TargetFacts, path: &str, seed: u64) -> Result<Preparation, Failure> {
    let in_directory = match facts.kind {
        TargetKind::Directory => true,
        TargetKind::RegularFile | TargetKind::BlockDevice => false,
        TargetKind::CharacterDevice => return Err(Failure::CharacterDevice(options.target.clone())),
        TargetKind::Other => return Err(Failure::Unsupported(options.target.clone())),
    };
    let consents_to_write = options.write_consents >= CONSENTS;
    if !in_directory && options.operations != Operations::Read && !consents_to_write {
        return Err(Failure::Shred);
    }
    let set = working_set(options, in_directory, facts.size)?;
    let seed = options.seed.unwrap_or(seed);
    let mut plan = Plan::new(seed);
    let space = plan.add_target(Target::Path(target(options, path, in_directory)));
    plan.add_stream(stream(options, blocks(options, space, set)));
    let layout = in_directory.then(|| layout(options, path, set, seed));
    Ok(Preparation { plan, layout, consents_to_write })
}

/// So often must `-W` or `-G` be said for what is no directory.
const CONSENTS: u32 = 3;

/// First byte and length of the working set.
fn working_set(options: &Options, in_directory: bool, size: Bytes) -> Result<(Bytes, Bytes), Failure> {
    let offset = options.work_offset;
    let length = match in_directory {
        true => directory_work_size(options),
        false => {
            let left = size.0.checked_sub(offset.0).ok_or(Failure::TargetTooSmall)?;
            let length = options.work_size.map_or(left, |size| size.0);
            if length > left {
                return Err(Failure::TargetTooSmall);
            }
            Bytes(length)
        }
    };
    if options.size > length {
        return Err(Failure::RequestTooBig);
    }
    if options.size > REQUEST_MOST || offset.0.checked_add(length.0).is_none() {
        return Err(Failure::Buffer);
    }
    Ok((offset, length))
}

fn target(options: &Options, path: &str, in_directory: bool) -> PathTarget {
    let reads = options.operations == Operations::Read && !in_directory;
    PathTarget {
        path: path.to_owned(),
        access: if reads { Access::Read } else { Access::Write },
        create: None,
        direct: options.direct,
        durability: options.durability,
    }
}

/// A write without `-C` is a commit: the fdatasync behind it is in its time.
fn write_verb(options: &Options) -> Verb {
    if options.cached { Verb::Write } else { Verb::Commit }
}

/// So many bytes of a working set are reached by requests.
fn whole_requests(options: &Options, length: Bytes) -> u64 {
    length.0 - length.0 % options.size.0
}

fn blocks(options: &Options, space: SpaceId, (offset, length): (Bytes, Bytes)) -> Blocks {
    let whole = whole_requests(options, length);
    let mut blocks = Blocks::random_reads(space, options.size);
    blocks.region = (Extent::Bytes(offset), Extent::Bytes(Bytes(whole)));
    if options.linear {
        blocks.pattern = Pattern::Sequential(Begin::First);
    }
    blocks.mix = match options.operations {
        Operations::Read => Mix::Only(Verb::Read),
        Operations::Write => Mix::Only(write_verb(options)),
        Operations::Alternate => Mix::ByCompleted { reads_per_write: 1.0, commits: !options.cached },
    };
    blocks.queue = match (options.asynchronous, options.nowait || options.high_priority) {
        (true, _) => QueueKind::Libaio,
        (false, true) => QueueKind::Vectored,
        (false, false) => QueueKind::Psync,
    };
    blocks.queue_options.no_wait = options.nowait;
    blocks.queue_options.io_poll = options.high_priority;
    blocks.queue_options.drop_cached = !options.cached;
    // Read-ahead would bring in what a later request is to fetch.
    blocks.queue_options.expect = if options.linear { Expect::Nothing } else { Expect::Random };
    blocks
}

fn stream(options: &Options, blocks: Blocks) -> Stream {
    let mut stream = Stream::closed("ioping", blocks, 1);
    stream.arrival = arrival(options);
    stream.keep.response = matches!(stream.arrival, Arrival::Open(_));
    stream.stop.operations = options.count;
    stream.stop.time = options.work_time;
    // ioping ends at the first request that fails; one that would have had to wait (EAGAIN) is no failure.
    let passed: Vec<i32> = if options.nowait { vec![EAGAIN] } else { Vec::new() };
    stream.errors.failures = Failures::End { read: passed.clone(), write: passed, check: Vec::new() };
    stream
}

/// Linux's number for what would have had to wait.
const EAGAIN: i32 = 11;

/// One verb has a timetable: what is late does not move what comes behind it. A timetable knows neither bursts nor verbs in
/// turn: there the interval is a pause behind the burst or the request.
fn arrival(options: &Options) -> Arrival {
    let verb = match options.operations {
        Operations::Read => Some(Verb::Read),
        Operations::Write => Some(write_verb(options)),
        Operations::Alternate => None,
    };
    match (options.interval, verb) {
        (Nanos(0), _) => Arrival::Closed { think: None },
        (interval, Some(verb)) if options.burst <= 1 => {
            let rate = Rate::Operations(1e9 / interval.0 as f64);
            Arrival::Open(vec![Timetable { verb, rate, spacing: Spacing::Even }])
        }
        (wait, _) => {
            let every = options.burst.max(1);
            Arrival::Closed { think: Some(Think { wait, spin: Nanos(0), every, work: Nanos(0) }) }
        }
    }
}

fn layout(options: &Options, path: &str, (offset, length): (Bytes, Bytes), seed: u64) -> Layout {
    let mut plan = Plan::new(seed);
    let size = Bytes(offset.0 + length.0);
    let file = PathTarget { create: Some(size), ..target(options, path, true) };
    let space = plan.add_target(Target::Path(file));
    let mut blocks = Blocks::random_reads(space, options.size);
    // Behind the last whole request a hole remains, which no request touches.
    let whole = Bytes(whole_requests(options, length));
    blocks.region = (Extent::Bytes(offset), Extent::Bytes(whole));
    blocks.pattern = Pattern::Sequential(Begin::First);
    blocks.mix = Mix::Only(Verb::Write);
    blocks.queue = QueueKind::Psync;
    let mut stream = Stream::closed("layout", blocks, 1);
    stream.stop.bytes = Some(whole);
    stream.after_last = vec![SyncKind::Fsync];
    stream.window = Window::Unmeasured;
    stream.errors.failures = Failures::End { read: Vec::new(), write: Vec::new(), check: Vec::new() };
    plan.add_stream(stream);
    Layout { plan, size }
}

#[cfg(test)]
mod tests;
