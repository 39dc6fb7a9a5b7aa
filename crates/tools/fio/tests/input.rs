//! fio's job files as plans: the published ones letter by letter, each part of the language, and whatever else is
//! thrown at it.

use fathom_fio::{self as fio, *};
use fathom_spec::*;
use proptest::prelude::*;
use std::time::{Duration, Instant};

const NOTHING: Facts = Facts { look: &|_| None, chance: 77 };

fn around() -> Surroundings<'static> {
    Surroundings {
        variable: &|_| None,
        include: &|name| {
            if name == "self" { Ok("include self\n[x]\n".to_owned()) } else { Err("none".to_owned()) }
        },
        page_size: 4096,
        memory_mebibytes: 24_064,
        cpus: 2,
    }
}

fn jobs(text: &str) -> Result<Vec<Job>, Vec<Trouble>> {
    let sections = fio::jobfile::parse("t.fio", text, &around())?;
    let parts = Parts { files: vec![sections], ..Parts::default() };
    understood(parts, &[], &|_, _| Ok(b"bytes of a file".to_vec())).map(|(jobs, _)| jobs)
}

fn planned(text: &str) -> Planned {
    plan(&jobs(text).unwrap(), &NOTHING).unwrap()
}

fn wrong(text: &str) -> String {
    match jobs(text) {
        Err(troubles) => troubles[0].to_string(),
        Ok(jobs) => plan(&jobs, &NOTHING).unwrap_err().to_string(),
    }
}

/// The one stream of a job `a` with these options.
fn stream(options: &str) -> Stream {
    let mut planned = planned(&format!("[a]\nsize=1m\n{options}\n"));
    assert_eq!(planned.plan.streams.len(), 1);
    planned.plan.streams.remove(0)
}

fn blocks(options: &str) -> Blocks {
    match stream(options).work {
        Work::Blocks(blocks) => *blocks,
        other => panic!("{other:?}"),
    }
}

/// As printed in a book on database consolidation, with its line for the scheduler of old kernels.
const PUBLISHED_SYNC: &str = "[random-read-sync]\nrw=randread\n\nsize=1024m\nbs=8k\ndirectory=/u01/fio/data/\nioengine=sync\niodepth=8\ndirect=1\ninvalidate=1\nioscheduler=noop\n";

#[test]
fn a_zone_without_a_size_has_what_is_left() {
    let zoned =
        |text: &str| blocks(&format!("rw=randread\nnorandommap\nrandom_distribution=zoned:{text}")).pattern;
    assert_eq!(zoned("50/5:30/15:20/"), Pattern::Zoned(vec![(50.0, 5.0), (30.0, 15.0), (20.0, 80.0)]));
    assert_eq!(zoned("50/:50/"), Pattern::Zoned(vec![(50.0, 50.0), (50.0, 50.0)]));
}

#[test]
fn sequential_offsets_go_back_where_that_is_said() {
    assert_eq!(blocks("rw=read:-8k").pattern, Pattern::Strided { step: -8192, run: 1, skip: 0 });
    assert!(wrong("[a]\nsize=1m\nrw=randread:-8\n").contains(":-8 is no number"));
}

#[test]
fn the_published_job_file_for_synchronous_reads_is_understood_letter_by_letter() {
    let read = jobs(PUBLISHED_SYNC).unwrap();
    assert_eq!(read[0].place.scheduler.as_deref(), Some("noop"));
    assert!(read[0].place.invalidate);
    let planned = plan(&read, &NOTHING).unwrap();
    let stream = &planned.plan.streams[0];
    assert_eq!((stream.name.as_str(), stream.depth.clone()), ("random-read-sync", Depth::Fixed(1)));
    let note = "random-read-sync: iodepth=8 has no effect, sync does one I/O at a time";
    assert_eq!(planned.notes, [note]);
    let Work::Blocks(blocks) = &stream.work else { panic!("{:?}", stream.work) };
    assert_eq!(blocks.pattern, Pattern::Uniform { once: true });
    assert_eq!((blocks.mix, blocks.queue), (Mix::Only(Verb::Read), QueueKind::Psync));
    assert_eq!(blocks.sizes, Sizes::One(Bytes(8192)));
    assert_eq!(stream.stop.bytes, Some(Bytes(1 << 30)));
    let Target::Path(path) = &planned.plan.targets[0] else { panic!() };
    assert_eq!((path.path.as_str(), path.direct), ("/u01/fio/data/random-read-sync.0.0", true));
    assert_eq!(path.access, Access::Read);
}

#[test]
fn the_published_job_files_for_asynchronous_reads_keep_their_depth() {
    for depth in [8, 32] {
        let text = PUBLISHED_SYNC
            .replace("sync", "async")
            .replace("ioengine=async", "ioengine=libaio")
            .replace("iodepth=8", &format!("iodepth={depth}"));
        let planned = planned(&text);
        let stream = &planned.plan.streams[0];
        assert_eq!((stream.name.as_str(), stream.depth.clone()), ("random-read-async", Depth::Fixed(depth)));
        let Work::Blocks(blocks) = &stream.work else { panic!() };
        assert_eq!(blocks.queue, QueueKind::Libaio);
        assert!(planned.notes.is_empty());
    }
}

#[test]
fn directions_and_orders() {
    let told = |options: &str| {
        let blocks = blocks(options);
        (blocks.mix, blocks.pattern)
    };
    let straight = Pattern::Sequential(Begin::First);
    assert_eq!(told("rw=write"), (Mix::Only(Verb::Write), straight.clone()));
    assert_eq!(told("rw=trim"), (Mix::Only(Verb::Trim), straight.clone()));
    assert_eq!(
        told("rw=rw"),
        (Mix::Random { read_percent: 50 }, Pattern::EachVerb(Box::new(straight.clone())))
    );
    assert_eq!(told("rw=readwrite\nrwmixread=70").0, Mix::Random { read_percent: 70 });
    assert_eq!(told("rw=randrw\nrwmixwrite=20").0, Mix::Random { read_percent: 80 });
    assert_eq!(told("rw=randrw\nrwmixread=30\nrwmixwrite=20").0, Mix::Random { read_percent: 80 });
    assert_eq!(told("rw=randrw\nrwmixread=100").0, Mix::Only(Verb::Read));
    assert_eq!(told("rw=read:512k").1, Pattern::Strided { step: 0, run: 1, skip: 524_288 });
    assert_eq!(told("rw=randread").1, Pattern::Uniform { once: true });
    assert_eq!(told("rw=randread\nnorandommap").1, Pattern::Uniform { once: false });
    assert_eq!(told("rw=randread\npercentage_random=0").1, straight);
    assert_eq!(told("rw=randread\nrandom_distribution=zipf:1.2").1, Pattern::Zipf(1.2));
    assert_eq!(told("rw=randread\nrandom_distribution=pareto:0.2").1, Pattern::Pareto(0.2));
    assert_eq!(told("rw=randread\nrandom_distribution=normal:20").1, Pattern::Normal(20.0));
    let zones = |sizes: [f64; 2]| Pattern::Zoned(vec![(60.0, sizes[0]), (40.0, sizes[1])]);
    assert_eq!(told("rw=randread\nrandom_distribution=zoned:60/10:40/90").1, zones([10.0, 90.0]));
    // Of a mebibyte.
    let absolute = told("rw=randread\nrandom_distribution=zoned_abs:60/100k:40/900k").1;
    assert_eq!(absolute, zones([9.765625, 87.890625]));
    // Two blocks, then over the rest of the zone and the gap: 0 1, 5 6, 10 11 as fio does it.
    let zoned = "zonemode=strided\nzonesize=8k\nzonerange=16k\nzoneskip=4k";
    assert_eq!(told(zoned).1, Pattern::Strided { step: 0, run: 2, skip: 12_288 });
    assert_eq!(
        told("zonemode=strided\nzonesize=8k\nzoneskip=8k").1,
        Pattern::Strided { step: 0, run: 2, skip: 8192 }
    );
    let runs = |same| Pattern::Runs { of: Box::new(Pattern::Uniform { once: true }), run: 8, same };
    assert_eq!(told("rw=randread:8").1, runs(false));
    assert_eq!(told("rw=randread:8\nrw_sequencer=identical").1, runs(true));
    let partly = Pattern::Partly { of: Box::new(Pattern::Uniform { once: true }), percent: 30 };
    assert_eq!(told("rw=randread\npercentage_random=30").1, partly);
    assert_eq!(told("rw=trimwrite").0, Mix::TrimWrite);
    assert_eq!(stream("rw=trimwrite").stop.bytes, Some(Bytes(2 << 20)));
    assert_eq!(told("rw=write\nfile_append=1").1, Pattern::Sequential(Begin::Append));
}

#[test]
fn what_is_said_of_random_jobs_moves_no_others_and_the_other_way_round() {
    let align = |options: &str| blocks(options).align;
    assert_eq!(align("rw=randread\nblockalign=8k"), Bytes(8192));
    assert_eq!(align("rw=read\nblockalign=8k"), Bytes(0));
    let zoned = wrong("[a]\nsize=1m\nrw=randread\nzonemode=strided\nzonesize=8k\n");
    assert!(zoned.contains("this one is random"), "{zoned}");
}

#[test]
fn whoever_says_exitall_says_it_for_the_whole_group() {
    let taken = |text: &str| {
        let plan = planned(text).plan;
        plan.streams.iter().map(|stream| stream.stop.takes_down.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(taken("[a]\nsize=1m\n[b]\nsize=1m\nexitall\n"), [true, true]);
    assert_eq!(taken("[a]\nsize=1m\n[b]\nsize=1m\n"), [false, false]);
}

#[test]
fn sizes_of_blocks() {
    let sizes = |options: &str| blocks(options).sizes;
    let b = Bytes;
    assert_eq!(sizes("bs=16k"), Sizes::One(b(16384)));
    assert_eq!(sizes("bs=4k,64k\nrw=write"), Sizes::One(b(65536)));
    assert_eq!(
        sizes("bs=4k,8k\nrw=randrw"),
        Sizes::Split(vec![(Verb::Read, b(4096), 100), (Verb::Write, b(8192), 100)])
    );
    assert_eq!(sizes("bsrange=4k-64k"), Sizes::Range(b(4096), b(65536)));
    assert_eq!(sizes("bsrange=1k-9000\nbs_unaligned"), Sizes::Any(b(1024), b(9000)));
    let aligned = |options: &str| blocks(&format!("bsrange=1k-9000\nbs_unaligned\n{options}")).align;
    assert_eq!(
        (aligned("rw=write"), aligned("rw=randwrite")),
        (b(1), b(0)),
        "in order, one behind the other"
    );
    assert_eq!(sizes("bs=4k,16k\nbs_is_seq_rand=1\nrw=write"), Sizes::One(b(4096)));
    assert_eq!(sizes("bs=4k,16k\nbs_is_seq_rand=1\nrw=randread"), Sizes::One(b(16384)));
    let part = "[a]\nsize=1m\nrw=randread\nbs=4k,16k\nbs_is_seq_rand=1\npercentage_random=50\n";
    assert!(wrong(part).contains("random in part"));
    assert!(wrong("[a]\nsize=1m\nbsrange=512-1k\nbs_unaligned\ndirect=1\n").contains("whole blocks"));
    let half =
        Sizes::Split(vec![(Verb::Read, b(4096), 50), (Verb::Read, b(1024), 25), (Verb::Read, b(32768), 25)]);
    assert_eq!(sizes("bssplit=4k/50:1k/:32k/"), half);
    let apart = sizes("rw=rw\nbssplit=2k/50:4k/50,4k/90:8k/10");
    let part = |verb, size, weight| (verb, b(size), weight);
    let expected = vec![
        part(Verb::Read, 2048, 50),
        part(Verb::Read, 4096, 50),
        part(Verb::Write, 4096, 90),
        part(Verb::Write, 8192, 10),
    ];
    assert_eq!(apart, Sizes::Split(expected));
    assert!(wrong("[a]\nsize=1m\nbssplit=4k/60:8k/60\n").contains("add up to 120"));
    assert!(wrong("[a]\nsize=1m\nbs=0\n").contains("bs cannot be 0"));
    assert!(wrong("[a]\nsize=9g\nbs=2g\n").contains("bytes are not possible"));
}

#[test]
fn pace_depth_and_end() {
    let seconds = Nanos::from_seconds;
    let evenly = |verb, rate| Timetable { verb, rate, spacing: Spacing::Even };
    let arrival = |options: &str| stream(options).arrival;
    assert_eq!(arrival("rate_iops=100"), Arrival::Open(vec![evenly(Verb::Read, Rate::Operations(100.0))]));
    let both = vec![evenly(Verb::Read, Rate::Bytes(1048576.0)), evenly(Verb::Write, Rate::Bytes(524288.0))];
    assert_eq!(arrival("rw=randrw\nrate=1m,512k"), Arrival::Open(both));
    assert_eq!(
        arrival("rw=randrw\nrate_iops=,50,"),
        Arrival::Open(vec![evenly(Verb::Write, Rate::Operations(50.0))])
    );
    let poisson = Timetable { verb: Verb::Read, rate: Rate::Operations(9.0), spacing: Spacing::Poisson };
    assert_eq!(arrival("rate_iops=9\nrate_process=poisson"), Arrival::Open(vec![poisson]));
    let think = Think { wait: Nanos(10_000_000), spin: Nanos(2_000), every: 8, work: Nanos(0) };
    let thinking = "thinktime=10ms\nthinktime_spin=2\nthinktime_blocks=8";
    assert_eq!(arrival(thinking), Arrival::Closed { think: Some(think) });
    let by_time = |every| Some(Think { wait: seconds(1), spin: Nanos(0), every, work: seconds(9) });
    let timed = "thinktime=1s\nthinktime_iotime=9";
    assert_eq!(arrival(timed), Arrival::Closed { think: by_time(u64::MAX) });
    assert_eq!(arrival(&format!("{timed}\nthinktime_blocks=7")), Arrival::Closed { think: by_time(7) });
    let aio = "ioengine=libaio\niodepth=16\n";
    assert_eq!(stream(&format!("{aio}iodepth_low=4")).depth, Depth::Hysteresis { low: 4, high: 16 });
    let target = "latency_target=500\nlatency_window=1s\nlatency_percentile=99";
    let share = Depth::Latency { target: Nanos(500_000), share: 0.99, window: seconds(1), high: 16 };
    assert_eq!(stream(&format!("{aio}{target}")).depth, share);
    let batch = "iodepth_batch=8\niodepth_batch_complete_min=2\niodepth_batch_complete_max=4";
    assert_eq!(
        stream(&format!("{aio}{batch}")).batch,
        Batch { submit: 8, reap_least: 2, reap_most: 4, ..Batch::default() }
    );
    let timed = stream("runtime=1m\ntime_based\nramp_time=5");
    assert_eq!((timed.stop.time, timed.stop.bytes), (Some(seconds(65)), None));
    assert_eq!(timed.window, Window::After(seconds(5)));
    let ramped = stream("ramp_time=5\nio_size=8k").stop;
    assert_eq!((ramped.bytes, ramped.of_window), (Some(Bytes(8192)), true));
    assert!(!stream("ramp_time=5\nverify=md5").stop.of_window && !stream("io_size=8k").stop.of_window);
    let looped = stream("loops=3\nruntime=10\nnumber_ios=7");
    assert_eq!((looped.stop.bytes, looped.stop.operations), (Some(Bytes(3 << 20)), Some(7)));
    assert_eq!(stream("startdelay=2").start.delay, seconds(2));
    let drawn = stream("startdelay=1-5").start.delay;
    assert!((seconds(1)..seconds(5)).contains(&drawn));
    assert_eq!(stream("gtod_reduce=1").keep, Keep::default());
    let some = stream(&format!("{aio}cmdprio_percentage=10")).keep;
    assert!(some.priorities && !stream("gtod_reduce=1").keep.priorities && !stream(aio).keep.priorities);
}

#[test]
fn jobs_with_dedupe_global_draw_from_one_set_and_write_it_together() {
    let set = "rw=write\nsize=1m\ndedupe_percentage=50\ndedupe_mode=working_set\n";
    let text = format!("[global]\n{set}dedupe_global=1\n[a]\nnumjobs=2\n[b]\nbs=8k\n");
    let sets: Vec<_> = planned(&text)
        .plan
        .streams
        .iter()
        .map(|stream| match &stream.work {
            Work::Blocks(of) => match of.content {
                Content::OfSet { blocks, seed, first, own, .. } => (blocks, seed.is_some(), first, own),
                _ => panic!("{:?}", of.content),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sets, [(30, true, 0, 12), (30, true, 12, 12), (30, true, 24, 6)]);
    assert!(wrong(&format!("[a]\n{set}nrfiles=2\n")).contains("of one file, and there are 2"));
}

#[test]
fn what_no_kernel_has_does_nothing_and_a_note_says_so() {
    let text = "[a]\nrw=write\nsize=1m\nwrite_barrier=8\natomic=1\n";
    let planned = planned(text);
    let notes = planned.notes.join("\n");
    assert!(notes.contains("a: write_barrier has no effect") && notes.contains("a: atomic=1 is direct=1"));
    assert!(jobs(text).unwrap()[0].sync.direct);
    assert!(wrong("[a]\nsize=1m\nunlink_each_loop=1\nloops=2\n").contains("stay open"));
    assert!(jobs("[a]\nsize=1m\nunlink_each_loop=1\n").is_ok());
}

#[test]
fn data_syncs_and_verification() {
    assert_eq!(blocks("rw=write\nzero_buffers").content, Content::Zero);
    assert_eq!(blocks("rw=write\nbuffer_pattern=0xdead").content, Content::Pattern(vec![0xde, 0xad]));
    let squeezed = Content::Random { compress_percent: 40, dedupe_percent: 10 };
    assert_eq!(blocks("rw=write\nbuffer_compress_percentage=40\ndedupe_percentage=10").content, squeezed);
    let of_set =
        Content::OfSet { compress_percent: 0, dedupe_percent: 10, blocks: 12, seed: None, first: 0, own: 12 };
    assert_eq!(blocks("rw=write\ndedupe_percentage=10\ndedupe_mode=working_set").content, of_set);
    let rules = blocks("rw=write\nfsync=4\nfdatasync=8\nsync_file_range=wait_before,write:16").sync;
    let kinds: Vec<(u64, SyncKind)> = rules.iter().map(|rule| (rule.every, rule.kind)).collect();
    assert_eq!(kinds, [(4, SyncKind::Fsync), (8, SyncKind::Fdatasync), (16, SyncKind::Range)]);
    assert_eq!(stream("rw=write\nend_fsync=1").after_last, [SyncKind::Fsync]);
    let checked =
        blocks("rw=write\nverify=crc32c\nverify_backlog=64\nverify_async=2\nverify_fatal=1").verify.unwrap();
    assert_eq!(
        (checked.backlog, checked.checkers, checked.then_read_pass, checked.fatal),
        (Some((64, 64)), 2, true, true)
    );
    assert!(!blocks("rw=write\nverify=md5\ndo_verify=0").verify.unwrap().then_read_pass);
    assert!(!blocks("rw=read\nverify=md5").verify.unwrap().then_read_pass);
    assert_eq!(blocks("rw=write\nverify=null").verify, None);
    let header = Content::FioHeader { hash: 5, interval: 512, swap: 64, pattern: vec![1] };
    let said = "rw=write\nverify=crc32c\nverify_interval=512\nverify_offset=64\nverify_pattern=1";
    assert_eq!(blocks(said).content, header);
    assert_eq!(
        blocks("rw=write\nverify=pattern\nverify_pattern=\"ab\"").content,
        Content::Pattern(b"ab".to_vec())
    );
    let planned = planned("[a]\nsize=1m\nrw=write\ndirect=1\nsync=dsync\n");
    let Target::Path(path) = &planned.plan.targets[0] else { panic!() };
    assert_eq!(
        (path.durability, path.create, path.access),
        (Durability::Data, Some(Bytes(1 << 20)), Access::Write)
    );
}

#[test]
fn order_of_jobs_and_groups() {
    let text = "[global]\nsize=1m\nioengine=null\n[a]\nnumjobs=2\n[b]\n[c]\nstonewall\n[d]\nnew_group\n[e]\nwait_for=d\n[f]\nstonewall\n";
    let planned = planned(text);
    let after: Vec<Vec<u32>> =
        planned.plan.streams.iter().map(|s| s.start.after.iter().map(|id| id.0).collect()).collect();
    let before = vec![0, 1, 2];
    let with_d = vec![0, 1, 2, 4];
    assert_eq!(after, [vec![], vec![], vec![], before.clone(), before, with_d, vec![3, 4, 5]]);
    let groups: Vec<u32> = planned.members.iter().map(|member| member.group.0).collect();
    assert_eq!(groups, [0, 0, 0, 1, 2, 2, 3]);
    assert!(wrong("[a]\nsize=1m\nwait_for=b\n").contains("waitee job b unknown"));
}

#[test]
fn clones_share_named_files_and_have_made_up_ones_of_their_own() {
    assert_eq!(planned("[a]\nsize=1m\nnumjobs=3\nfilename=f\n").plan.targets.len(), 1);
    assert_eq!(planned("[a]\nsize=1m\nnumjobs=3\n").plan.targets.len(), 3);
    let picked = planned("[a]\nsize=1m\nnrfiles=4\nfile_service_type=random\n");
    assert!(
        matches!(&picked.plan.spaces[0], Space::Picked { over, by: Pattern::Uniform { once: false } } if over.len() == 4)
    );
    let in_turn = planned("[a]\nsize=1m\nnrfiles=4\nfile_service_type=roundrobin:3\n");
    let three = Pattern::Runs { of: Box::new(Pattern::Sequential(Begin::First)), run: 3, same: true };
    assert!(matches!(&in_turn.plan.spaces[0], Space::Picked { by, .. } if *by == three));
    let one_after_the_other = planned("[a]\nsize=1m\nfilename=x:y\nfile_service_type=sequential\n");
    assert!(matches!(&one_after_the_other.plan.spaces[0], Space::Concat(over) if over.len() == 2));
    let shifted = planned("[a]\nsize=1m\nnumjobs=2\nfilename=f\noffset_increment=1m\n");
    let begins: Vec<Extent> = shifted
        .plan
        .streams
        .iter()
        .map(|stream| match &stream.work {
            Work::Blocks(blocks) => blocks.region.0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(begins, [Extent::Bytes(Bytes(0)), Extent::Bytes(Bytes(1 << 20))]);
}

#[test]
fn serial_engines_are_other_work() {
    assert_eq!(
        stream("ioengine=cpuio\ncpuload=50\nruntime=1").work,
        Work::Compute { share: 0.5, chunk: Nanos::from_millis(50), sorts: false }
    );
    let made = stream("ioengine=filecreate\nnrfiles=5\nfilesize=4k").work;
    let Work::Files(files) = made else { panic!("{made:?}") };
    assert_eq!((files.verbs, files.count, files.size), (vec![Verb::Create], 5, Bytes(0)));
    assert_eq!((files.under.as_str(), files.prefix.as_str()), (".", "a."));
    assert!(wrong("[a]\nsize=1m\nioengine=filestat\nfilename=x\n").contains("files named as fio names them"));
}

#[test]
fn conflicts_are_told_with_a_place() {
    for (text, part) in [
        ("[a]\nsize=1m\nrw=trim\nverify=md5\n", "t.fio:4:1: verify: what is discarded cannot be checked"),
        ("[a]\nsize=1m\nverify=pattern\n", "say verify_pattern="),
        ("[a]\nsize=1m\nrate=1m\nthinktime=5\n", "a rate and thinktime at once"),
        ("[a]\nrw=write\n", "t.fio:1:1: a: you need to specify size="),
        ("[a]\nsize=4k\nbs=8k\n", "must not be less than minimum block size"),
        ("[a]\nsize=1m\nioengine=rbd\n", "t.fio:3:1: ioengine: there is no rbd here"),
        ("[a]\nsize=1m\nrw=randread\nrandom_distribution=zipf:1\n", "different than 1.0"),
        ("[a]\nsize=1m\nfilename=-\n", "pipes are not measured"),
        ("[a]\nsize=1m\ncpus_allowed=x\n", "cpus_allowed=0-3,6"),
    ] {
        let told = wrong(text);
        assert!(told.contains(part), "{text}: {told}");
    }
}

#[test]
fn five_thousand_sections_are_read_in_no_time() {
    let mut text =
        "[global]\nbs=4k\nioengine=libaio\niodepth=16\ndirect=1\nruntime=60\ntime_based\n".to_owned();
    for number in 0..5000 {
        text +=
            &format!("[job{number}]\nrw=randread\nfilename=/dev/disk{number}\nsize=1g\nstonewall\nbs=8k\n");
    }
    let began = Instant::now();
    let read = jobs(&text).unwrap();
    let parsed = began.elapsed();
    let planned = plan(&read, &NOTHING).unwrap();
    println!("5000 sections: read in {parsed:?}, planned in {:?}", began.elapsed() - parsed);
    assert_eq!(planned.plan.streams.len(), 5000);
    // The budget is 50 ms in a release build; this holds for a slow machine and an unoptimised one.
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// Words that make a random text look like a job file.
fn word() -> impl Strategy<Value = String> {
    let names = fio::options::OPTIONS.iter().map(|option| option.name.to_owned()).collect::<Vec<_>>();
    let values = [
        "1",
        "0",
        "4k",
        "50%",
        "(1+2)",
        "((((",
        "${X}",
        "$ncpus*2",
        "a,b,c",
        "1-2",
        "zipf:1.2",
        "randread:8",
        "\"x",
        "0xff",
        "-1",
        "99999999999999999999",
        "1e308",
        "self",
        ":",
        "/",
        "9p",
        "1d",
        "[",
        "]",
        "\u{e9}\u{4e16}",
        "=",
        "1:2:3",
    ];
    prop_oneof![
        proptest::sample::select(names),
        proptest::sample::select(values.map(str::to_owned).to_vec()),
        Just("[a]\n".to_owned()),
        Just("[global]\n".to_owned()),
        Just("=".to_owned()),
        Just("\n".to_owned()),
        Just("include self\n".to_owned()),
        "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_read_is_answered_within_a_second(words in proptest::collection::vec(word(), 0..60)) {
        let text = words.concat();
        let began = Instant::now();
        answered(&text);
        let line: Vec<String> = words.iter().map(|word| format!("--{word}")).collect();
        if let Err(troubles) = fio::commandline::parse(&line, &around()) {
            troubles.iter().for_each(|trouble| { trouble.render(); });
        }
        prop_assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn options_with_any_value_are_answered(
        name in proptest::sample::select(fio::options::OPTIONS.iter().map(|o| o.name).collect::<Vec<_>>()),
        value in "\\PC{0,20}|[0-9]{1,25}[kmgtp%]?|[0-9,:/-]{0,12}",
    ) {
        answered(&format!("[a]\nsize=1m\n{name}={value}\n"));
    }
}

/// Reads and plans, and writes out what is wrong; a plan for a few clones only, as a test must end.
fn answered(text: &str) {
    match jobs(text) {
        Err(troubles) => troubles.iter().for_each(|trouble| {
            assert!(!trouble.render().is_empty());
        }),
        Ok(jobs) => {
            let files =
                jobs.iter().map(|job| u64::from(job.start.clones) * u64::from(job.files.count)).sum::<u64>();
            if files < 5000
                && let Err(trouble) = plan(&jobs, &NOTHING)
            {
                assert!(!trouble.render().is_empty());
            }
        }
    }
}
