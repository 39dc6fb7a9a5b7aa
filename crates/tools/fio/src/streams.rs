//! One clone as a stream: what it does, at what pace, until when, and what is kept of it.

use super::diagnostic::Trouble;
use super::distribution::distribution;
use super::file_layout::{Territory, align, column, least_block, null_files, ranges};
use super::job::{Hint, Job, wrong};
use super::random::mixed;
use super::recording::Replay;
use fathom_spec::*;

/// What a clone stands on.
pub struct Ground<'a> {
    /// Its files and what is used of them.
    pub territory: &'a Territory,
    /// Their address space.
    pub space: SpaceId,
    /// Which clone.
    pub clone: u32,
    /// The flow that it shares.
    pub flow: Option<CellId>,
    /// A number that differs from run to run.
    pub chance: u64,
    /// The recording that it replays, and its longest operation.
    pub trace: Option<(TargetId, u32)>,
}

/// The stream of a clone, without its group and what it starts after.
pub fn stream(job: &Job, ground: &Ground) -> Result<Stream, Trouble> {
    let timed = job.replay.as_ref().is_some_and(|replay| !replay.no_stall);
    let paced = timed || job.pace.rate.iter().chain(&job.pace.rate_iops).any(Option::is_some);
    let asynchronous = job.engine.is_asynchronous();
    let (lat, clat, slat) = job.report.disabled;
    Ok(Stream {
        name: job.name.clone(),
        group: GroupId(0),
        workers: 1,
        start: Start { after: Vec::new(), delay: delay(job, ground) },
        work: work(job, ground)?,
        arrival: match &job.replay {
            Some(replay) => replayed(replay),
            None => arrival(job)?,
        },
        depth: depth(job, ground),
        batch: batch(job),
        stop: stop(job, ground),
        window: if job.stop.ramp.0 > 0 { Window::After(job.stop.ramp) } else { Window::Everything },
        after_last: if job.sync.end_fsync { vec![SyncKind::Fsync] } else { Vec::new() },
        keep: Keep {
            submit: asynchronous && !slat,
            completion: asynchronous && !clat,
            service: !(lat && clat),
            response: paced && !lat,
            log: None,
            priorities: !job.engine.priorities.is_empty(),
        },
        placement: placement(job, ground.clone),
        errors: errors(job),
        thread: job.terms.standing.clone(),
    })
}

/// How much goes in and out at a time. Nothing said: the engine follows the device. But libaio does buffered I/O within
/// the call that submits, where only fio's own order, one in and one out of a full queue, gives the latencies that it
/// stands for.
fn batch(job: &Job) -> Batch {
    let pace = &job.pace;
    let plain = pace.rate.iter().chain(&pace.rate_iops).all(Option::is_none) && job.replay.is_none();
    let nothing_said = pace.batch == (None, None, None) && pace.low.is_none() && pace.think.is_none();
    if plain && nothing_said && job.engine.name == "libaio" && !job.engine.offload && !job.sync.direct {
        return Batch { submit: 1, reap_least: 1, reap_most: 1, fill_first: true };
    }
    let (submit, reap_least, reap_most) = pace.batch;
    Batch {
        submit: submit.unwrap_or(0),
        reap_least: reap_least.unwrap_or(0),
        reap_most: reap_most.unwrap_or(0),
        fill_first: false,
    }
}

/// What ends a clone before its time.
fn errors(job: &Job) -> ErrorPolicy {
    let verbs = [Verb::Read, Verb::Write, Verb::Trim];
    let latency_most = match job.terms.latency_most {
        Some(most) if !job.engine.is_serial() => verbs.iter().map(|verb| (*verb, most)).collect(),
        _ => Vec::new(),
    };
    ErrorPolicy { failures: job.terms.excused.clone(), latency_most }
}

/// Of a range, each clone draws its own.
fn delay(job: &Job, ground: &Ground) -> Nanos {
    let (least, most) = job.start.delay;
    let span = most.0 - least.0;
    if span == 0 {
        return least;
    }
    let seed = if job.direction.repeat { job.direction.seed } else { ground.chance };
    Nanos(least.0 + mixed(seed ^ u64::from(ground.clone).wrapping_mul(0x9E37_79B9_7F4A_7C15)) % span)
}

fn work(job: &Job, ground: &Ground) -> Result<Work, Trouble> {
    let verbs = match job.engine.name {
        "cpuio" => {
            let share = job.engine.cpu_percent as f64 / 100.0;
            return Ok(Work::Compute { share, chunk: job.engine.cpu_chunk, sorts: job.engine.cpu_sorts });
        }
        "exec" => return Ok(Work::Command(Box::new(command(job)))),
        "filecreate" | "dircreate" => vec![Verb::Create],
        "filestat" | "dirstat" => vec![Verb::Stat],
        "filedelete" | "dirdelete" => vec![Verb::Delete],
        _ => return blocks(job, ground).map(|blocks| Work::Blocks(Box::new(blocks))),
    };
    let files = &job.files;
    let made_up =
        files.names.is_empty() && files.format == "$jobname.$jobnum.$filenum" && !job.section.contains('/');
    if !made_up {
        let hint = "leave filename= and filename_format= out";
        return Err(wrong(job, format!("{} works on files named as fio names them", job.engine.name), hint));
    }
    let turn = ground.clone as usize % files.directories.len().max(1);
    Ok(Work::Files(Files {
        verbs,
        count: ground.territory.files.len() as u64,
        // fio makes empty files too.
        size: Bytes(0),
        under: files.directories.get(turn).cloned().unwrap_or_else(|| ".".to_owned()),
        prefix: format!("{}.", job.section),
        entry: if job.engine.is_about_directories() { Entry::Directory } else { Entry::File },
        look: job.engine.stat_call,
        first: ground.clone,
        ..Files::default()
    }))
}

fn command(job: &Job) -> Command {
    let program = job.engine.command.clone().unwrap_or_default();
    let seconds = job.stop.time.map_or(0, |time| time.0 / 1_000_000_000);
    let told = |word: &str| word.replace("%r", &seconds.to_string()).replace("%n", &job.name);
    let output = (format!("{}.stdout", job.name), format!("{}.stderr", job.name));
    Command {
        arguments: program.arguments.split_whitespace().map(told).collect(),
        program: program.program,
        output: program.redirected.then_some(output),
        grace: program.grace,
    }
}

/// The recorded times, or none.
fn replayed(replay: &Replay) -> Arrival {
    match replay.no_stall {
        true => Arrival::Closed { think: None },
        false => Arrival::Recorded { speed: f64::from(replay.time_scale.max(1)) / 100.0 },
    }
}

fn blocks(job: &Job, ground: &Ground) -> Result<Blocks, Trouble> {
    if let Some((trace, longest)) = ground.trace {
        let mix = job.direction.verbs.first().map_or(Mix::Only(Verb::Read), |verb| Mix::Only(*verb));
        let whole = (Extent::Bytes(Bytes(0)), Extent::Whole);
        let sizes = Sizes::One(Bytes(longest.into()));
        return Ok(made(job, ground, whole, (Pattern::Trace(trace), mix, sizes)));
    }
    let files = if job.engine.is_diskless() { null_files(job) } else { ground.territory.files.len() as u64 };
    // One after the other they are one space; else each is drawn, and the region lies in each.
    let joined = files > 1 && job.files.service.0 == "sequential";
    if joined && ground.territory.offset > 0 {
        return Err(wrong(job, "no offset in files one after the other", "leave file_service_type out"));
    }
    let length = match (ground.territory.apart, joined) {
        (true, true) => Extent::Whole,
        (true, false) => Extent::Each,
        (false, _) => Extent::Bytes(Bytes(ground.territory.length * if joined { files } else { 1 })),
    };
    let region = (Extent::Bytes(Bytes(ground.territory.offset)), length);
    let pattern = pattern(job, ground.territory.length)?;
    let mix = mix(job)?;
    // Reads and writes in order have a place each.
    let apart = !job.direction.random && !job.area.append && matches!(mix, Mix::Random { .. });
    let pattern = if apart { Pattern::EachVerb(Box::new(pattern)) } else { pattern };
    Ok(made(job, ground, region, (pattern, mix, sizes(job)?)))
}

/// Block work from where, in which order, of what and in which sizes.
fn made(
    job: &Job,
    ground: &Ground,
    region: (Extent, Extent),
    (pattern, mix, sizes): (Pattern, Mix, Sizes),
) -> Blocks {
    Blocks {
        space: ground.space,
        region,
        pattern,
        generator: generator(job, ground),
        mix,
        sizes,
        align: align(job),
        sync: syncs(job),
        commit: SyncKind::Fdatasync,
        content: content(job),
        verify: verify(job),
        queue: queue(job),
        queue_options: QueueOptions {
            io_poll: job.engine.poll,
            submit_poll: job.engine.submit_poll,
            submit_poll_cpu: job.engine.submit_poll_cpu,
            no_wait: job.engine.no_wait,
            huge_pages: job.place.huge_pages,
            huge_mappings: job.place.huge_mappings,
            no_overlap: job.pace.no_overlap,
            expect: expect(job),
            lifetime: job.place.lifetime,
            drop_cached_every: drop_cached_every(job, ground),
            hand_over_every: job.engine.hand_over_every,
            io_poll_percent: job.engine.poll_percent,
            // What no job can say: registered buffers are used, and they begin with their pages.
            ..QueueOptions::default()
        },
        priorities: job.engine.priorities.clone(),
        checker_cpus: job.data.checker_cpus.clone(),
        shared: None,
    }
}

/// fio opens its files anew for each pass, and drops them from the page cache then.
fn drop_cached_every(job: &Job, ground: &Ground) -> Bytes {
    let passes = job.stop.time_based || job.stop.loops > 1;
    let cached = job.place.invalidate && !job.sync.direct && !job.engine.is_diskless();
    match passes && cached && job.replay.is_none() {
        true => Bytes(ground.territory.io_bytes),
        false => Bytes(0),
    }
}

/// What the kernel is told of the order of I/Os.
fn expect(job: &Job) -> Expect {
    match job.terms.hint {
        Hint::Silent => Expect::Nothing,
        Hint::Random => Expect::Random,
        Hint::Sequential => Expect::Sequential,
        Hint::Honest if job.direction.random => Expect::Random,
        Hint::Honest => Expect::Sequential,
    }
}

fn pattern(job: &Job, length: u64) -> Result<Pattern, Trouble> {
    let direction = &job.direction;
    if direction.random {
        if job.area.zones.is_some() {
            let hint =
                "use rw=read or rw=write, or random_distribution=zoned for some parts more than others";
            return Err(wrong(job, "zonemode=strided is for jobs in order, this one is random", hint));
        }
        let mut pattern = distribution(job, Some(length))?;
        if direction.random_percent == 0 {
            return Ok(Pattern::Sequential(Begin::First));
        }
        if direction.random_percent < 100 {
            pattern = Pattern::Partly { of: Box::new(pattern), percent: direction.random_percent };
        }
        return Ok(match direction.modifier {
            None | Some(1) => pattern,
            Some(run) => {
                Pattern::Runs { of: Box::new(pattern), run: run.unsigned_abs(), same: direction.identical }
            }
        });
    }
    if let Some((size, range, skip)) = job.area.zones {
        let block = least_block(job);
        let run = (size / block).max(1);
        let skip = (range + skip).saturating_sub(run * block);
        return Ok(Pattern::Strided { step: 0, run, skip });
    }
    match direction.modifier {
        Some(run) if direction.identical => {
            let run = run.unsigned_abs();
            Ok(Pattern::Runs { of: Box::new(Pattern::Sequential(Begin::First)), run, same: true })
        }
        Some(step) => Ok(Pattern::Strided { step: step.min(0), run: 1, skip: step.max(0).unsigned_abs() }),
        None if job.area.append => Ok(Pattern::Sequential(Begin::Append)),
        None => Ok(Pattern::Sequential(Begin::First)),
    }
}

/// fio's generators only where they are asked for; else our own, of which nothing can be seen.
fn generator(job: &Job, ground: &Ground) -> Generator {
    let base = if job.direction.repeat { job.direction.seed } else { ground.chance };
    let seed = base.wrapping_add(u64::from(ground.clone));
    match job.direction.generator {
        Some("lfsr") => Generator::Lfsr { seed },
        Some(_) => Generator::Tausworthe { seed },
        None => Generator::Xoshiro,
    }
}

fn mix(job: &Job) -> Result<Mix, Trouble> {
    match job.direction.verbs.as_slice() {
        [only] => Ok(Mix::Only(*only)),
        [Verb::Read, _] => Ok(match job.direction.read_percent {
            0 => Mix::Only(Verb::Write),
            100 => Mix::Only(Verb::Read),
            read_percent => Mix::Random { read_percent },
        }),
        _ => Ok(Mix::TrimWrite),
    }
}

fn sizes(job: &Job) -> Result<Sizes, Trouble> {
    let verbs = &job.direction.verbs;
    let split = |verb: &Verb| &job.sizes.split[column(*verb)];
    let all: Vec<(u64, u64)> = ranges(job).collect();
    let same = all.iter().all(|range| *range == all[0]);
    if verbs.iter().all(|verb| split(verb).is_empty()) && same {
        let (least, most) = all[0];
        return Ok(if least == most {
            Sizes::One(Bytes(least))
        } else if job.sizes.unaligned {
            Sizes::Any(Bytes(least), Bytes(most))
        } else {
            Sizes::Range(Bytes(least), Bytes(most))
        });
    }
    let mut parts = Vec::new();
    for (verb, (least, most)) in verbs.iter().zip(all) {
        match split(verb).as_slice() {
            [] if least == most => parts.push((*verb, Bytes(least), 100)),
            [] => {
                let hint = "say bssplit= with each size and its share";
                return Err(wrong(job, "ranges of sizes that differ by direction are not supported", hint));
            }
            weights => {
                parts.extend(
                    weights.iter().filter(|w| w.1 > 0).map(|(size, weight)| (*verb, Bytes(*size), *weight)),
                );
            }
        }
    }
    Ok(Sizes::Split(parts))
}

fn syncs(job: &Job) -> Vec<SyncRule> {
    let sync = &job.sync;
    let rules =
        [(sync.fsync, SyncKind::Fsync), (sync.fdatasync, SyncKind::Fdatasync), (sync.range, SyncKind::Range)];
    let rule = |(every, kind): (Option<u64>, SyncKind)| {
        Some(SyncRule { every: every?, of: Verb::Write, kind, all_targets_in_turn: false, between: true })
    };
    rules.into_iter().filter_map(rule).collect()
}

fn content(job: &Job) -> Content {
    let data = &job.data;
    let random =
        Content::Random { compress_percent: data.compress_percent, dedupe_percent: data.dedupe_percent };
    match data.verify {
        Some("pattern") if !data.verify_places.is_empty() => Content::Placed {
            pattern: data.verify_pattern.clone().unwrap_or_default(),
            places: data.verify_places.clone(),
        },
        Some("pattern") => Content::Pattern(data.verify_pattern.clone().unwrap_or_default()),
        Some("null") | None => match &data.pattern {
            Some(pattern) => Content::Pattern(pattern.clone()),
            None if data.zero => Content::Zero,
            None => random,
        },
        Some(hash) => Content::FioHeader {
            hash: HASHES.iter().find(|(name, _)| *name == hash).map_or(0, |(_, number)| *number),
            // As in fio a header that would be needed less often than once a block stands in each.
            interval: data.verify_interval.min(u32::try_from(least_block(job)).unwrap_or(u32::MAX)),
            swap: data.verify_offset,
            pattern: data.verify_pattern.clone().unwrap_or_default(),
        },
    }
}

/// The numbers that fio's headers have for their hashes, as files written by fio 3.33 show.
pub const HASHES: &[(&str, u8)] = &[
    ("meta", 1),
    ("md5", 2),
    ("crc64", 3),
    ("crc32", 4),
    ("crc32c", 5),
    ("crc32c-intel", 5),
    ("crc16", 7),
    ("crc7", 8),
    ("sha256", 9),
    ("sha512", 10),
    ("sha3-224", 11),
    ("sha3-256", 12),
    ("sha3-384", 13),
    ("sha3-512", 14),
    ("xxhash", 15),
    ("sha1", 16),
];

fn verify(job: &Job) -> Option<Verify> {
    let data = &job.data;
    // `null` only pretends, as in fio.
    data.verify.filter(|word| *word != "null").map(|_| Verify {
        backlog: data.backlog,
        checkers: data.checkers,
        then_read_pass: data.do_verify && job.direction.verbs.contains(&Verb::Write),
        from_disk: job.place.invalidate && !job.sync.direct,
        by_anyone: data.by_anyone,
        only: data.verify_only,
        fatal: data.fatal,
        discards: data.discards,
    })
}

fn queue(job: &Job) -> QueueKind {
    if job.engine.offload {
        return QueueKind::Threads;
    }
    match job.engine.name {
        "posixaio" => QueueKind::Threads,
        "falloc" => QueueKind::Allocate,
        "ftruncate" => QueueKind::Truncate,
        "libaio" => QueueKind::Libaio,
        "io_uring" => QueueKind::IoUring,
        "vsync" | "pvsync" | "pvsync2" => QueueKind::Vectored,
        "mmap" => QueueKind::Mmap,
        "null" => QueueKind::Null,
        _ => QueueKind::Psync,
    }
}

fn depth(job: &Job, ground: &Ground) -> Depth {
    let pace = &job.pace;
    let high = if job.engine.is_asynchronous() || job.engine.name == "null" { pace.depth } else { 1 };
    if let (Some((_, weight)), Some(cell)) = (pace.flow, ground.flow) {
        return Depth::Flow { cell, weight: weight as i32, high };
    }
    if let Some((target, window, percent)) = pace.target {
        return Depth::Latency { target, share: percent / 100.0, window, high };
    }
    match pace.low {
        Some(low) if low < high => Depth::Hysteresis { low, high },
        _ => Depth::Fixed(high),
    }
}

fn arrival(job: &Job) -> Result<Arrival, Trouble> {
    let pace = &job.pace;
    let spacing = if pace.poisson { Spacing::Poisson } else { Spacing::Even };
    let mut tables = Vec::new();
    for verb in &job.direction.verbs {
        let rate = match (pace.rate[column(*verb)], pace.rate_iops[column(*verb)]) {
            (None, None) => continue,
            (Some(bytes), None) => Rate::Bytes(bytes as f64),
            (None, Some(operations)) => Rate::Operations(operations as f64),
            (Some(_), Some(_)) => {
                return Err(wrong(job, "rate and rate_iops at once are not supported", "say one of them"));
            }
        };
        tables.push(Timetable { verb: *verb, rate, spacing });
    }
    match (tables.is_empty(), pace.think) {
        (true, None) => Ok(Arrival::Closed { think: None }),
        (true, think @ Some(_)) => Ok(Arrival::Closed { think }),
        (false, None) => Ok(Arrival::Open(tables)),
        (false, Some(_)) => {
            Err(wrong(job, "a rate and thinktime at once are not supported", "say one of them"))
        }
    }
}

fn stop(job: &Job, ground: &Ground) -> Stop {
    let stop = &job.stop;
    let loops = stop.loops;
    if ground.trace.is_some() {
        return Stop {
            operations: stop.operations,
            time: stop.time.map(|time| Nanos(time.0.saturating_add(stop.ramp.0))),
            passes: Some(if stop.time_based { u64::MAX } else { loops }),
            ..Stop::default()
        };
    }
    // A trim and the write behind it are two operations of one block.
    let twice = if job.direction.verbs.len() == 2 && job.direction.verbs[0] == Verb::Trim { 2 } else { 1 };
    let bytes = ground.territory.io_bytes.saturating_mul(loops).saturating_mul(twice);
    let serial = job.engine.is_serial();
    // fio keeps its ramp out of the runtime.
    let time = stop.time.map(|time| Nanos(time.0.saturating_add(stop.ramp.0)));
    Stop {
        bytes: (!stop.time_based && !serial).then_some(Bytes(bytes)),
        operations: stop.operations,
        time,
        passes: None,
        takes_down: None,
        // What is verified is what was written, in the ramp as well.
        of_window: stop.ramp.0 > 0 && !serial && verify(job).is_none(),
    }
}

fn placement(job: &Job, clone: u32) -> Placement {
    match &job.place.cpus {
        None => Placement::Anywhere,
        Some(cpus) if job.place.split && !cpus.is_empty() => {
            Placement::OneEach(vec![cpus[clone as usize % cpus.len()]])
        }
        Some(cpus) => Placement::Any(cpus.clone()),
    }
}
