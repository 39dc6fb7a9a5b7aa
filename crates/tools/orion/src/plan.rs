//! From a data point to a plan: small and large I/Os outstanding at the same time, each kind as streams of its own.

use super::options::{LargeType, OptionError, Options, Simulate, wrong};
use fathom_record::{LARGE, Load, SMALL};
use fathom_spec::*;

/// One line of `NAME.lun`, and what it was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lun {
    /// As it stands there.
    pub name: String,
    /// How large it is.
    pub size: Bytes,
}

/// Slots of 100 ms: a throttle lets I/Os through in bursts of that length.
const SLOT: Nanos = Nanos::from_millis(100);
/// Junk I/O before a large sequential point when no cache size is given.
const WARMING: Nanos = Nanos::from_seconds(120);
/// Outstanding I/Os of that.
const WARMING_DEPTH: u32 = 8;

/// The names in a `.lun` file: one a line, blank lines left out.
pub fn luns(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Checks what the options ask of the LUNs.
pub fn fits(options: &Options, luns: &[Lun], loads: &[Load]) -> Result<(), OptionError> {
    let uses_large = loads.iter().any(|load| load.large > 0);
    let block = if uses_large { options.size_large.max(options.size_small) } else { options.size_small };
    if let Some(lun) = luns.iter().find(|lun| lun.size < block) {
        return Err(wrong(
            format!("{} holds {}, less than one I/O of {block}", lun.name, lun.size),
            "name a larger LUN, or say a smaller -size_large",
        ));
    }
    if options.simulate == Simulate::Raid0 && luns.len() > 1 {
        let sizes = [Some(options.size_small), uses_large.then_some(options.size_large)];
        for size in sizes.into_iter().flatten() {
            if !options.stripe.0.is_multiple_of(size.0) {
                return Err(wrong(
                    format!("-stripe {} is no multiple of I/Os of {size}", options.stripe),
                    "take a stripe of one or several I/Os, such as -stripe 1024",
                ));
            }
        }
    }
    Ok(())
}

/// The plan of one data point.
pub fn plan(options: &Options, luns: &[Lun], load: Load, seed: u64) -> Plan {
    let (mut plan, space) = ground(options, luns, seed);
    if load.small > 0 {
        let blocks = random(options, space, options.size_small);
        plan.add_stream(timed(Stream::closed("small", blocks, load.small), SMALL, options.duration));
    }
    if load.large > 0 {
        match options.large_type {
            LargeType::Rand => {
                let blocks = random(options, space, options.size_large);
                plan.add_stream(timed(Stream::closed("large", blocks, load.large), LARGE, options.duration));
            }
            LargeType::Seq => add_sequential(&mut plan, options, space, load),
        }
    }
    plan
}

/// So many of the streams of a sequential point read, and so many write: a stream does one of both.
pub fn large_workers(options: &Options, streams: u32) -> (u32, u32) {
    let writing = (f64::from(streams) * f64::from(options.write) / 100.0).round() as u32;
    (streams - writing, writing)
}

/// Streams begin at even distances of the striped volume when they are alone on it, else anywhere.
fn add_sequential(plan: &mut Plan, options: &Options, space: SpaceId, load: Load) {
    let (reading, writing) = large_workers(options, load.large);
    let alone = options.simulate == Simulate::Raid0 && load.small == 0 && (reading == 0 || writing == 0);
    let begin = if alone { Begin::Inner } else { Begin::Random };
    for (workers, verb, name) in
        [(reading, Verb::Read, "large reads"), (writing, Verb::Write, "large writes")]
    {
        if workers == 0 {
            continue;
        }
        let mut blocks = random(options, space, options.size_large);
        (blocks.pattern, blocks.mix) = (Pattern::Sequential(begin), Mix::Only(verb));
        let mut stream = Stream::closed(name, blocks, options.num_stream_io);
        stream.workers = workers;
        plan.add_stream(timed(stream, LARGE, options.duration));
    }
}

/// Junk I/O that fills caches with what the next point cannot use again; `None` where the point needs none.
pub fn warming(options: &Options, luns: &[Lun], load: Load, seed: u64) -> Option<Plan> {
    let wanted = load.large > 0 && options.large_type == LargeType::Seq;
    if !wanted || options.cache_size == Some(Bytes(0)) {
        return None;
    }
    let (mut plan, space) = ground(options, luns, seed);
    let mut blocks = random(options, space, options.size_large);
    blocks.mix = Mix::Only(if options.write > 0 { Verb::Write } else { Verb::Read });
    let mut stream = Stream::closed("cache warming", blocks, WARMING_DEPTH);
    match options.cache_size {
        Some(size) => stream.stop.operations = Some(size.0.div_ceil(options.size_large.0).max(1)),
        None => stream.stop.time = Some(WARMING),
    }
    stream.window = Window::Unmeasured;
    stream.keep = Keep::default();
    plan.add_stream(stream);
    Some(plan)
}

/// The window lies inside the load: neither its rise nor its fall is counted. What has come back is replaced at once, in
/// one submission, so that each kind keeps its own number outstanding to the letter.
fn timed(mut stream: Stream, group: GroupId, duration: Nanos) -> Stream {
    stream.group = group;
    stream.batch.submit = stream.depth.most();
    stream.window = Window::Inside { before: SLOT, length: duration };
    stream.stop.time = Some(Nanos(duration.0 + 2 * SLOT.0));
    stream
}

fn random(options: &Options, space: SpaceId, size: Bytes) -> Blocks {
    let mut blocks = Blocks::random_reads(space, size);
    blocks.mix = match options.write {
        0 => Mix::Only(Verb::Read),
        100 => Mix::Only(Verb::Write),
        write => Mix::Random { read_percent: 100 - write },
    };
    blocks.queue = options.queue;
    // As ORION does; where the system holds none, ordinary pages do (it fails there without -hugenotneeded).
    blocks.queue_options.huge_pages = true;
    blocks
}

fn ground(options: &Options, luns: &[Lun], seed: u64) -> (Plan, SpaceId) {
    let mut plan = Plan::new(seed);
    plan.slot = SLOT;
    // Latencies of a tenth of a point, not of each second: a matrix has many points.
    plan.interval = Nanos(options.duration.0 / 10).max(plan.interval);
    let access = if options.write > 0 { Access::Write } else { Access::Read };
    let mut space = SpaceId(0);
    for lun in luns {
        space = plan.add_target(match lun.name.strip_prefix("sim:") {
            Some(device) => Target::Sim(device.to_owned()),
            None => Target::Path(PathTarget { access, ..PathTarget::direct_read(lun.name.as_str()) }),
        });
    }
    if luns.len() > 1 {
        let over: Vec<TargetId> = (0..luns.len() as u32).map(TargetId).collect();
        plan.spaces.push(match options.simulate {
            Simulate::Concat => Space::Concat(over),
            Simulate::Raid0 => Space::Striped { over, depth: options.stripe },
        });
        space = SpaceId(plan.spaces.len() as u32 - 1);
    }
    (plan, space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parse;

    fn typed(line: &str) -> Options {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words, Default::default()).unwrap()
    }

    fn some_luns(count: usize) -> Vec<Lun> {
        (0..count).map(|i| Lun { name: format!("/dev/lun{i}"), size: Bytes(GIB) }).collect()
    }

    fn blocks(stream: &Stream) -> &Blocks {
        let Work::Blocks(blocks) = &stream.work else { panic!("block work") };
        blocks
    }

    #[test]
    fn small_and_large_ios_are_outstanding_at_the_same_time() {
        let options = typed("-run normal -write 20 -duration 7");
        let plan = plan(&options, &some_luns(1), Load { small: 8, large: 2 }, 1);
        let seen: Vec<_> =
            plan.streams.iter().map(|s| (s.name.as_str(), s.group, s.depth.most(), s.workers)).collect();
        assert_eq!(seen, [("small", SMALL, 8, 1), ("large", LARGE, 2, 1)]);
        assert!(plan.streams.iter().all(|s| s.start == Start::default()));
        let window = Window::Inside { before: SLOT, length: Nanos::from_seconds(7) };
        assert!(plan.streams.iter().all(|s| s.window == window));
        assert_eq!(blocks(&plan.streams[0]).mix, Mix::Random { read_percent: 80 });
        assert_eq!(blocks(&plan.streams[1]).sizes, Sizes::One(Bytes(MIB)));
        assert!(plan.writes());
    }

    #[test]
    fn a_sequential_stream_wholly_reads_or_wholly_writes() {
        let line = "-run advanced -type seq -num_streamIO 3 -simulate raid0 -write 25 -matrix max -num_small 0 -num_large 4";
        let options = typed(line);
        let made = plan(&options, &some_luns(2), Load { small: 0, large: 4 }, 1);
        let seen: Vec<_> = made.streams.iter().map(|s| (s.workers, s.depth.most(), blocks(s).mix)).collect();
        assert_eq!(seen, [(3, 3, Mix::Only(Verb::Read)), (1, 3, Mix::Only(Verb::Write))]);
        let alone = plan(&typed(&line.replace("25", "0")), &some_luns(2), Load { small: 0, large: 4 }, 1);
        assert_eq!(blocks(&alone.streams[0]).pattern, Pattern::Sequential(Begin::Inner));
        let chained = line.replace("25", "0").replace("raid0", "concat");
        let chained = plan(&typed(&chained), &some_luns(2), Load { small: 0, large: 4 }, 1);
        assert_eq!(blocks(&chained.streams[0]).pattern, Pattern::Sequential(Begin::Random));
    }

    #[test]
    fn several_luns_are_chained_or_striped() {
        let concat = plan(&typed("-run simple"), &some_luns(3), Load { small: 1, large: 0 }, 1);
        assert_eq!(concat.spaces[3], Space::Concat(vec![TargetId(0), TargetId(1), TargetId(2)]));
        assert_eq!(blocks(&concat.streams[0]).space, SpaceId(3));
        let line = "-run simple -simulate raid0 -stripe 512";
        let striped = plan(&typed(line), &some_luns(2), Load { small: 1, large: 0 }, 1);
        let over = vec![TargetId(0), TargetId(1)];
        assert_eq!(striped.spaces[2], Space::Striped { over, depth: Bytes(512 * KIB) });
        let loads = [Load { small: 0, large: 1 }];
        assert!(fits(&typed(line), &some_luns(2), &loads).unwrap_err().what.contains("-stripe 512 KiB"));
        assert!(fits(&typed(line), &some_luns(1), &loads).is_ok());
    }

    #[test]
    fn only_large_sequential_points_are_warmed_up_to() {
        let large = Load { small: 0, large: 2 };
        let luns = some_luns(1);
        assert!(warming(&typed("-run simple"), &luns, large, 1).is_none());
        let seq = typed("-run advanced -type seq");
        assert!(warming(&seq, &luns, Load { small: 3, large: 0 }, 1).is_none());
        assert_eq!(warming(&seq, &luns, large, 1).unwrap().streams[0].stop.time, Some(WARMING));
        let sized = typed("-run advanced -type seq -cache_size 64 -write 10");
        let warm = warming(&sized, &luns, large, 1).unwrap();
        assert_eq!(warm.streams[0].stop.operations, Some(64));
        assert_eq!(warm.streams[0].window, Window::Unmeasured);
        assert_eq!(blocks(&warm.streams[0]).mix, Mix::Only(Verb::Write));
        assert!(warming(&typed("-run advanced -type seq -cache_size 0"), &luns, large, 1).is_none());
    }

    #[test]
    fn a_lun_smaller_than_one_io_is_named() {
        let luns = [Lun { name: "tiny".into(), size: Bytes(512 * KIB) }];
        let (small, large) = (Load { small: 1, large: 0 }, Load { small: 0, large: 1 });
        assert!(fits(&typed("-run oltp"), &luns, &[small]).is_ok());
        let text = fits(&typed("-run simple"), &luns, &[small, large]).unwrap_err().to_string();
        assert!(text.contains("tiny holds 512 KiB, less than one I/O of 1 MiB"), "{text}");
    }

    #[test]
    fn blank_lines_are_no_luns() {
        assert_eq!(luns("/dev/sdb\r\n\n  \n/dev/sdc\n"), ["/dev/sdb", "/dev/sdc"]);
        assert!(luns("\n \n").is_empty());
    }
}
