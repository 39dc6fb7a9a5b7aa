//! What was done to each file, from the record's runs: the rows behind Oracle's `v$iostat_file` and `v$datafile`.
//!
//! Only what was counted is told. A stream over one file counts for that file. A stream over several counts for
//! file 0, "no file", and leaves the files' own counts unknown: its workers do not count by file, and a share by
//! size would be a guess. Operations under 128 KiB are small, as Oracle has it.

use fathom_record::{Counts, EventKind, ResultRecord, Run};
use fathom_spec::{
    Access, Blocks, Bytes, KIB, Plan, QueueKind, Sizes, Space, SpaceId, Stream, StreamId, Target, TargetId,
    Verb, Work,
};
use std::ops::RangeInclusive;

/// Operations of fewer bytes than this are small.
const LARGE_FROM: Bytes = Bytes(128 * KIB);

/// Requests, bytes and time of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub requests: u64,
    pub bytes: u64,
    pub service_ns: u64,
}

/// What was done to one file; `None` is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileUse {
    /// From 1 in the order in which they were first used; 0 for what was spread over several.
    pub file_no: i64,
    pub name: Option<String>,
    pub written: bool,
    pub size_bytes: Option<u64>,
    /// Size of its small reads.
    pub block_size_bytes: Option<u64>,
    pub asynchronous: Option<bool>,
    pub small_reads: Option<Tally>,
    pub small_writes: Option<Tally>,
    pub large_reads: Option<Tally>,
    pub large_writes: Option<Tally>,
    /// Those of the small reads that were made one at a time by a queue that waits.
    pub small_sync_reads: Option<Tally>,
}

impl FileUse {
    fn new(file_no: i64, name: Option<String>) -> Self {
        let none = Some(Tally::default());
        FileUse {
            file_no,
            name,
            written: false,
            size_bytes: None,
            block_size_bytes: None,
            asynchronous: None,
            small_reads: none,
            small_writes: none,
            large_reads: none,
            large_writes: none,
            small_sync_reads: none,
        }
    }

    fn tally(&mut self, way: Way, size: Size) -> &mut Option<Tally> {
        match (way, size) {
            (Way::Read, Size::Small) => &mut self.small_reads,
            (Way::Read, Size::Large) => &mut self.large_reads,
            (Way::Write, Size::Small) => &mut self.small_writes,
            (Way::Write, Size::Large) => &mut self.large_writes,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Read,
    Write,
}

#[derive(Clone, Copy, PartialEq)]
enum Size {
    Small,
    Large,
}

/// The files that a result touched, in the order of first use, after file 0 where anything stands in it.
pub(crate) fn files_of(record: &ResultRecord) -> Vec<FileUse> {
    let mut files = vec![FileUse::new(0, None)];
    for run in &record.runs {
        let numbers: Vec<Option<usize>> = run.plan.targets.iter().map(|t| number_of(&mut files, t)).collect();
        note_sizes(&mut files, run);
        for (index, stream) in run.plan.streams.iter().enumerate() {
            add_stream(&mut files, run, StreamId(index as u32), stream, &numbers);
        }
    }
    let shared = files[0] != FileUse::new(0, None);
    files.split_off(usize::from(!shared))
}

/// The place of a target among the files; a new file when it was not seen before. Databases are none.
fn number_of(files: &mut Vec<FileUse>, target: &Target) -> Option<usize> {
    let (name, size, written) = match target {
        Target::Path(path) => (path.path.clone(), path.create, path.access == Access::Write),
        Target::Sim(model) => (format!("sim:{model}"), None, false),
        Target::Null(size) => ("null".to_owned(), Some(*size), false),
        Target::Database(_) => return None,
    };
    let place = match files.iter().position(|file| file.name.as_ref() == Some(&name)) {
        Some(place) => place,
        None => {
            files.push(FileUse::new(files.len() as i64, Some(name)));
            files.len() - 1
        }
    };
    let file = &mut files[place];
    file.written |= written;
    file.size_bytes = file.size_bytes.max(size.map(|bytes| bytes.0));
    Some(place)
}

/// Sizes that the engine told when it opened or laid out a file; the latest counts.
fn note_sizes(files: &mut [FileUse], run: &Run) {
    for event in &run.events {
        if let EventKind::Target { name, bytes, did: _ } = &event.what
            && let Some(file) = files.iter_mut().find(|file| file.name.as_ref() == Some(name))
            && bytes.0 > 0
        {
            file.size_bytes = Some(bytes.0);
        }
    }
}

fn add_stream(files: &mut [FileUse], run: &Run, id: StreamId, stream: &Stream, numbers: &[Option<usize>]) {
    match &stream.work {
        Work::Blocks(blocks) => {
            let waits = waits(run, blocks);
            let members = members(&run.plan, blocks.space, numbers);
            note_queue(files, &members, waits);
            for (verb, counts) in counts_of(run, id) {
                let Some(way) = way(verb) else { continue };
                let sizes = size_range(&blocks.sizes, verb);
                add(files, &members, way, sizes, &counts, waits);
            }
        }
        Work::Copy(copying) => {
            for (verb, counts) in counts_of(run, id) {
                let (space, size) = match way(verb) {
                    Some(Way::Read) => (copying.from, copying.read_size),
                    Some(Way::Write) => (copying.to, copying.write_size),
                    None => continue,
                };
                let way = if verb == Verb::Read { Way::Read } else { Way::Write };
                add(files, &members(&run.plan, space, numbers), way, size..=size, &counts, None);
            }
        }
        Work::Files(_) | Work::Compute { .. } | Work::Command(_) | Work::Session(_) => {}
    }
}

fn add(
    files: &mut [FileUse],
    members: &[usize],
    way: Way,
    sizes: RangeInclusive<Bytes>,
    counts: &Counts,
    waits: Option<bool>,
) {
    if counts.operations == 0 || members.is_empty() {
        return;
    }
    let size = match (*sizes.start() < LARGE_FROM, *sizes.end() < LARGE_FROM) {
        (true, true) => Some(Size::Small),
        (false, false) => Some(Size::Large),
        _ => None,
    };
    let whole = |place: usize| members.len() == 1 || place == 0;
    let places = if members.len() == 1 { members.to_vec() } else { [&[0], members].concat() };
    for place in places {
        let file = &mut files[place];
        for each in [Size::Small, Size::Large] {
            match size {
                Some(size) if size != each => {}
                Some(_) if whole(place) => put(file.tally(way, each), counts),
                _ => *file.tally(way, each) = None,
            }
        }
        if way == Way::Read && size != Some(Size::Large) {
            if size == Some(Size::Small) && sizes.start() == sizes.end() {
                file.block_size_bytes = file.block_size_bytes.or(Some(sizes.start().0));
            }
            match (waits, size) {
                (Some(false), _) => {}
                (Some(true), Some(_)) if whole(place) => put(&mut file.small_sync_reads, counts),
                _ => file.small_sync_reads = None,
            }
        }
    }
}

/// Adds to a tally that is known; one that is not stays so.
fn put(tally: &mut Option<Tally>, counts: &Counts) {
    if let Some(Tally { requests, bytes, service_ns }) = tally {
        *requests += counts.operations;
        *bytes += counts.bytes;
        *service_ns += counts.latency_sum_ns;
    }
}

/// What a stream did in all: its workers' totals, or where there are none what its intervals counted.
fn counts_of(run: &Run, id: StreamId) -> Vec<(Verb, Counts)> {
    let totals =
        run.workers.iter().filter(|worker| worker.stream == id).flat_map(|worker| worker.counts.clone());
    let mut parts: Vec<(Verb, Counts)> = totals.collect();
    if parts.is_empty() {
        for interval in run.intervals.iter().filter(|interval| interval.stream == id) {
            parts.extend(
                interval.cells.iter().enumerate().map(|(cell, (verb, _))| (*verb, interval.counts(cell))),
            );
        }
    }
    let mut sums: Vec<(Verb, Counts)> = Vec::new();
    for (verb, counts) in parts {
        match sums.iter_mut().find(|sum| sum.0 == verb) {
            Some(sum) => sum.1.merge(&counts),
            None => sums.push((verb, counts)),
        }
    }
    sums
}

fn way(verb: Verb) -> Option<Way> {
    match verb {
        Verb::Read => Some(Way::Read),
        Verb::Write | Verb::Commit => Some(Way::Write),
        Verb::Trim
        | Verb::Sync
        | Verb::Create
        | Verb::Open
        | Verb::Stat
        | Verb::Delete
        | Verb::Compute
        | Verb::Select
        | Verb::Update
        | Verb::Scan => None,
    }
}

/// The smallest and the largest operation of a verb.
fn size_range(sizes: &Sizes, verb: Verb) -> RangeInclusive<Bytes> {
    let of_verb = match sizes {
        Sizes::Split(parts) => parts.iter().filter(|part| part.0 == verb).map(|part| part.1).collect(),
        Sizes::One(_) | Sizes::Range(..) | Sizes::Any(..) => Vec::new(),
    };
    match (of_verb.iter().min(), of_verb.iter().max()) {
        (Some(least), Some(most)) => *least..=*most,
        _ => sizes.least()..=sizes.most(),
    }
}

/// The files under a space.
fn members(plan: &Plan, space: SpaceId, numbers: &[Option<usize>]) -> Vec<usize> {
    let place = |id: &TargetId| numbers.get(id.0 as usize).copied().flatten();
    let mut places: Vec<usize> = match plan.spaces.get(space.0 as usize) {
        None => Vec::new(),
        Some(Space::Whole(id)) => place(id).into_iter().collect(),
        Some(Space::Concat(over) | Space::Striped { over, .. } | Space::Picked { over, .. }) => {
            over.iter().filter_map(place).collect()
        }
    };
    places.sort_unstable();
    places.dedup();
    places
}

/// Does the queue wait for each I/O? What was really used counts, then what was asked for; `None` if neither tells.
fn waits(run: &Run, blocks: &Blocks) -> Option<bool> {
    match blocks.queue {
        QueueKind::IoUring | QueueKind::Libaio | QueueKind::Threads => Some(false),
        QueueKind::Psync | QueueKind::Vectored | QueueKind::Mmap | QueueKind::Stdio => Some(true),
        QueueKind::Null | QueueKind::Sim | QueueKind::Allocate | QueueKind::Truncate => None,
        QueueKind::Auto => {
            let used = |names: &[&str]| run.queues.iter().any(|q| names.iter().any(|name| q.contains(name)));
            match (used(&["io_uring", "libaio"]), used(&["psync", "vectored", "mmap"])) {
                (true, false) => Some(false),
                (false, true) => Some(true),
                _ => None,
            }
        }
    }
}

/// A file on which any asynchronous I/O was done is asynchronous.
fn note_queue(files: &mut [FileUse], members: &[usize], waits: Option<bool>) {
    let Some(waits) = waits else { return };
    for &place in members {
        files[place].asynchronous = Some(!waits || files[place].asynchronous == Some(true));
    }
}
