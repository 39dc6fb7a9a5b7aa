//! A whole calibration made up from a formula, for snapshots and the example page. Always the same.

use fathom_record::*;
use fathom_spec::*;
use std::collections::BTreeMap;

const SLOT: u64 = 50_000_000;
const SECOND: u64 = 1_000_000_000;

/// What one made-up run does.
struct Made {
    name: String,
    purpose: Purpose,
    load: Load,
    verb: Verb,
    size: u64,
    rate: f64,
    latency_ns: f64,
    seconds: u64,
}

/// Collects runs one after the other.
struct Maker {
    runs: Vec<Run>,
    now_ns: u64,
}

impl Maker {
    fn run(&mut self, made: Made) -> usize {
        let length_ns = made.seconds * SECOND;
        let mut plan = Plan::new(7);
        let space = plan.add_target(Target::Path(PathTarget::direct_read("/data/fathom-scratch-1")));
        let mut blocks = Blocks::random_reads(space, Bytes(made.size));
        blocks.mix = Mix::Only(made.verb);
        plan.add_stream(Stream::closed(made.name.clone(), blocks, made.load.small.max(made.load.large)));
        let intervals = (0..made.seconds).map(|second| interval(&made, second)).collect();
        let run = Run {
            name: made.name,
            phase: None,
            purpose: made.purpose,
            load: made.load,
            plan,
            began_ns: self.now_ns,
            length_ns,
            intervals,
            windows: Vec::new(),
            workers: Vec::new(),
            samples: Vec::new(),
            events: Vec::new(),
            queues: vec!["io_uring, registered buffers and files, DEFER_TASKRUN".into()],
        };
        self.now_ns += length_ns + 150_000_000;
        self.runs.push(run);
        self.runs.len() - 1
    }
}

/// A value between -1 and 1 that looks like chance and is not.
fn wobble(n: u64) -> f64 {
    let mixed = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 40) as f64 / (1u64 << 24) as f64) * 2.0 - 1.0
}

fn interval(made: &Made, second: u64) -> Interval {
    let mut latency = Latency::default();
    let count = made.rate.round() as u64;
    let steps = count.clamp(1, 400);
    for step in 0..steps {
        let u = (step as f64 + 0.5) / steps as f64;
        let slow = 1.0 + 0.06 * wobble(second * 31 + count);
        let ns = (made.latency_ns * 0.97 * slow * (u / (1.0 - u)).powf(0.15)) as u64;
        latency.count += count / steps;
        latency.sum_ns += ns * (count / steps);
        latency.min_ns = latency.min_ns.min(ns);
        latency.max_ns = latency.max_ns.max(ns);
        if let Some(bins) = &mut latency.bins {
            bins.add_many(ns, (count / steps) as u32);
        }
    }
    let cell = Cell { service: Some(Box::new(latency)), ..Cell::default() };
    let mut interval = Interval::new(StreamId(0), 0, vec![(made.verb, cell)], (SECOND / SLOT) as usize);
    interval.start_ns = second * SECOND;
    interval.length_ns = SECOND;
    for (at, slot) in interval.slots.iter_mut().enumerate() {
        let warm = if second == 0 && at < 4 { 0.55 + 0.1 * at as f64 } else { 1.0 };
        let noise = 1.0 + 0.035 * wobble(second * 1000 + at as u64 + count);
        let operations = (made.rate / 20.0 * warm * noise).round() as u64;
        slot[0] = Counts {
            operations,
            bytes: operations * made.size,
            latency_sum_ns: (operations as f64 * made.latency_ns) as u64,
            errors: 0,
            short: 0,
        };
    }
    interval
}

fn latencies(mean_ns: f64, count: u64, limit_ns: f64) -> LatencyFigures {
    let value = |q: f64| (mean_ns * 0.97 * (q / (1.0 - q)).powf(0.15)) as u64;
    let effective = count as f64 * 0.4;
    let percentiles = [0.5, 0.9, 0.99, 0.999]
        .into_iter()
        .map(|quantile| {
            let needed = 1.0 / (1.0 - quantile);
            let enough = count as f64 >= needed;
            let around = |factor: f64| enough.then(|| (value(quantile) as f64 * factor) as u64);
            Percentile {
                quantile,
                value_ns: enough.then(|| value(quantile)),
                low_ns: around(1.0 - 0.1 * quantile),
                high_ns: if quantile > 0.995 { None } else { around(1.0 + 0.2 * quantile) },
                why: (!enough).then(|| format!("needs {needed:.0} operations, has {count}")),
            }
        })
        .collect();
    LatencyFigures {
        mean_ns,
        mean_half_width_ns: Some(mean_ns * 0.021),
        percentiles,
        max_ns: value(0.99999) * 2,
        min_ns: value(0.0005),
        count,
        effective,
        over_limit: Some(if mean_ns > limit_ns { 0.6 } else { 0.004 }),
    }
}

fn figure(value: f64, relative: f64, unit: Unit, load: Option<Load>, run: usize) -> Figure {
    Figure {
        value,
        half_width: Some(value * relative),
        confidence: 0.95,
        unit,
        converged: relative <= 0.1,
        load,
        latency: None,
        bound: None,
        run: Some(run),
        note: None,
    }
}

const SMALL: fn(u32) -> Load = |small| Load { small, large: 0 };
const LARGE: fn(u32) -> Load = |large| Load { small: 0, large };

/// One curve: its points measured in turn, then the chosen one again for longer. Answers the last run.
fn curve(
    maker: &mut Maker,
    name: CurveName,
    what: &str,
    verb: Verb,
    size: u64,
    device: (f64, f64),
) -> (Curve, usize) {
    let (service_ns, cap) = device;
    let load = |n: u32| if size > 65_536 { LARGE(n) } else { SMALL(n) };
    let rate = |n: f64| {
        let free = n * 1e9 / service_ns;
        (free.powf(-2.2) + cap.powf(-2.2)).powf(-1.0 / 2.2)
    };
    let depths: &[u32] = if size > 65_536 { &[1, 2, 4, 8, 16] } else { &[1, 2, 4, 8, 16, 32, 64, 128] };
    let mut points = Vec::new();
    for &depth in depths {
        let exploring = !matches!((size > 65_536, depth), (false, 1 | 32) | (true, 8));
        let seconds = if exploring { 1 } else { 5 };
        let rate = rate(f64::from(depth)) * (1.0 + 0.006 * wobble(u64::from(depth)));
        let latency_ns = f64::from(depth) * 1e9 / rate;
        let purpose = if exploring { Purpose::Exploring } else { Purpose::Headline };
        let name = format!("{what}, {depth} outstanding");
        let run = maker.run(Made { name, purpose, load: load(depth), verb, size, rate, latency_ns, seconds });
        points.push(CurvePoint {
            load: load(depth),
            iops: rate,
            iops_half_width: Some(rate * if exploring { 0.07 } else { 0.021 }),
            mbps: rate * size as f64 / MIB as f64,
            latency: latencies(latency_ns, (rate * seconds as f64) as u64, 5e6),
            exploring,
            run: Some(run),
        });
    }
    let knee =
        points.iter().position(|p| p.load.small.max(p.load.large) == if size > 65_536 { 4 } else { 16 });
    let last = points.iter().rfind(|p| !p.exploring).and_then(|p| p.run).unwrap_or(0);
    (Curve { name, points, knee }, last)
}

/// Durable writes: figures by name, each with its run.
fn writes(maker: &mut Maker, summary: &mut BTreeMap<FigureName, Figure>) {
    let kinds = [
        (FigureName::CommitsPerSecond, "commits, fdatasync", Verb::Commit, 8192, 812.0, 1, 0.034),
        (FigureName::CommitsDsync, "commits, O_DSYNC", Verb::Commit, 8192, 846.0, 1, 0.041),
        (FigureName::CommitsFsync, "commits, fsync", Verb::Commit, 8192, 604.0, 1, 0.052),
        (FigureName::GroupCommits4, "commits, 4 writers", Verb::Commit, 8192, 2210.0, 4, 0.048),
        (FigureName::GroupCommits16, "commits, 16 writers", Verb::Commit, 8192, 5120.0, 16, 0.13),
        (
            FigureName::RandomWriteIops,
            "random writes, 32 outstanding",
            Verb::Write,
            8192,
            18_240.0,
            32,
            0.028,
        ),
    ];
    for (name, what, verb, size, rate, depth, error) in kinds {
        let latency_ns = f64::from(depth) * 1e9 / rate;
        let (purpose, load) = (Purpose::Headline, SMALL(depth));
        let run =
            maker.run(Made { name: what.into(), purpose, load, verb, size, rate, latency_ns, seconds: 3 });
        let latency = latencies(latency_ns, (rate * 3.0) as u64, 5e6);
        let figure = figure(rate, error, Unit::PerSecond, Some(load), run);
        summary.insert(name, Figure { latency: Some(latency), ..figure });
    }
    let made = Made {
        name: "sequential writes, 4 outstanding".into(),
        purpose: Purpose::Headline,
        load: LARGE(4),
        verb: Verb::Write,
        size: MIB,
        rate: 642.0,
        latency_ns: 6.2e6,
        seconds: 3,
    };
    let run = maker.run(made);
    summary.insert(
        FigureName::SequentialWriteMbps,
        figure(642.0, 0.017, Unit::MebibytesPerSecond, Some(LARGE(4)), run),
    );
    let per_commit = Figure { half_width: None, ..figure(3.0, 0.0, Unit::Ratio, None, run) };
    summary.insert(FigureName::DeviceWritesPerCommit, per_commit);
}

fn read_figures(small: &Curve, large: [&Curve; 2], summary: &mut BTreeMap<FigureName, Figure>) {
    let of = |curve: &Curve, depth: u32| {
        curve.points.iter().find(|p| p.load.small.max(p.load.large) == depth).cloned()
    };
    let because = |by, text: &str| Some(Bound { by, because: text.into() });
    if let (Some(one), Some(most)) = (of(small, 1), of(small, 32)) {
        let run = most.run.unwrap_or(0);
        let iops = figure(most.iops, 0.021, Unit::PerSecond, Some(most.load), run);
        let bound =
            because(BoundBy::Device, "twice the outstanding I/Os gave 1.2 % more, and the CPU was 78 % idle");
        summary.insert(FigureName::MaxIops, Figure { latency: Some(most.latency.clone()), bound, ..iops });
        let latency = figure(most.latency.mean_ns, 0.021, Unit::Nanoseconds, Some(most.load), run);
        summary.insert(FigureName::Latency, Figure { latency: Some(most.latency.clone()), ..latency });
        let unloaded =
            figure(one.latency.mean_ns, 0.021, Unit::Nanoseconds, Some(one.load), one.run.unwrap_or(0));
        summary.insert(FigureName::UnloadedLatency, Figure { latency: Some(one.latency), ..unloaded });
        let eighth = figure(most.iops * 1.17, 0.026, Unit::PerSecond, Some(most.load), run);
        let note = Some("17 % more than over the whole working set: a cache below the device helps".into());
        summary.insert(FigureName::EighthIops, Figure { note, ..eighth });
    }
    if let Some(knee) = of(small, 16) {
        let figure = figure(knee.iops, 0.07, Unit::PerSecond, Some(knee.load), knee.run.unwrap_or(0));
        summary.insert(FigureName::KneeIops, figure);
    }
    let names = [(FigureName::RandomReadMbps, large[0], 8), (FigureName::SequentialReadMbps, large[1], 8)];
    for (name, curve, depth) in names {
        let Some(point) = of(curve, depth) else { continue };
        let unit = Unit::MebibytesPerSecond;
        let found = figure(point.mbps, 0.012, unit, Some(point.load), point.run.unwrap_or(0));
        if name == FigureName::RandomReadMbps {
            let bound = because(BoundBy::Link, "PCIe 3.0 x1 carries 985 MB/s, of which 98 % were used");
            summary.insert(FigureName::MaxMbps, Figure { bound, ..found.clone() });
        }
        summary.insert(name, found);
    }
    if let Some(point) = of(large[1], 2) {
        let load = Some(point.load);
        let figure = figure(point.mbps, 0.02, Unit::MebibytesPerSecond, load, point.run.unwrap_or(0));
        summary.insert(FigureName::MaxPmbps, figure);
    }
}

fn checks() -> Vec<Check> {
    let check = |name: &str, outcome, seen: &str| Check::new(name, outcome, seen);
    vec![
        check(
            "page cache bypassed",
            CheckOutcome::Passed,
            "the disk's own counters saw 100.0 % of our reads",
        ),
        check("disk otherwise idle", CheckOutcome::Passed, "others read and wrote 0.1 % of what we did"),
        check("steady state", CheckOutcome::Passed, "the warm-up of 0.2 s was cut; no drift after it"),
        check(
            "converged",
            CheckOutcome::Noted,
            "commits by 16 writers reached +-13 % where +-10 % was asked",
        ),
        check(
            "flushes are real",
            CheckOutcome::Unknown,
            "the medium behind virtio is not known, so a fast flush proves nothing",
        ),
        check("async I/O slots", CheckOutcome::Passed, "65,536 free of 65,536"),
        check("working set against caches", CheckOutcome::Passed, "32 GiB against 4 GiB of memory"),
    ]
}

fn facts() -> serde_json::Value {
    serde_json::json!({
        "machine": {
            "hostname": "db1", "kernel": "6.12.48", "architecture": "x86_64",
            "cpu_model": "AMD EPYC 7B13", "cpus_online": 8, "cpus_allowed": 8,
            "memory_bytes": 4_294_967_296u64, "hypervisor": true, "page_bytes": 4096,
            "aio": { "used": 0, "limit": 65536 }, "io_uring": { "disabled": 0, "group": -1 },
            "limits": { "groups": [], "cpus": null, "memory_bytes": null, "io": [] },
            "unchecked": []
        },
        "storage": [{
            "path": "/data", "kind": "directory", "size_bytes": null,
            "file_system": { "kind": "ext4", "mount_point": "/data", "source": "/dev/nvme0n1p1",
                "options": "rw,noatime", "size_bytes": 214_748_364_800u64, "free_bytes": 171_798_691_840u64 },
            "disks": [{
                "name": "nvme0n1", "model": "Samsung SSD 980 PRO 250GB", "vendor": null, "transport": "nvme",
                "size_bytes": 250_059_350_016u64, "rotational": false,
                "link": { "description": "PCIe 8.0 GT/s x1", "bytes_per_second": 985_000_000u64 },
                "queue": { "scheduler": "none", "write_cache": "write back", "logical_block_bytes": 512,
                    "physical_block_bytes": 512, "nr_requests": 1023, "max_sectors_kb": 128 },
                "medium_known": false, "medium_unknown_because": "in a virtual machine"
            }],
            "medium": "disk", "physical_disks": null, "unchecked": []
        }]
    })
}

/// A full calibration of a made-up disk: 24 thousand reads a second, 900 MiB/s, some writes, one check that could not
/// be made.
pub fn sample_record() -> ResultRecord {
    let mut maker = Maker { runs: Vec::new(), now_ns: 400_000_000 };
    maker.run(Made {
        name: "layout".into(),
        purpose: Purpose::Layout,
        load: LARGE(4),
        verb: Verb::Write,
        size: MIB,
        rate: 610.0,
        latency_ns: 6.5e6,
        seconds: 9,
    });
    let small = (118e3, 24_310.0);
    let (reads, _) = curve(&mut maker, CurveName::SmallReads, "small reads", Verb::Read, 8192, small);
    let (random, _) =
        curve(&mut maker, CurveName::LargeRandomReads, "large reads", Verb::Read, MIB, (2.3e6, 918.0));
    let name = CurveName::LargeSequentialReads;
    let (sequential, _) = curve(&mut maker, name, "large sequential", Verb::Read, MIB, (1.5e6, 921.0));
    let mut summary = BTreeMap::new();
    read_figures(&reads, [&random, &sequential], &mut summary);
    writes(&mut maker, &mut summary);
    let run = maker.runs.len() - 1;
    summary.insert(FigureName::CachedBelow, figure(0.02, 0.4, Unit::Ratio, None, run));
    let words = ["fathom", "calibrate", "--max-latency", "5ms", "--time", "60s", "/data"];
    ResultRecord {
        schema: SCHEMA,
        id: "20261121-043712-7f3a".into(),
        tool: "calibrate".into(),
        version: "0.1.0".into(),
        command: words.map(String::from).to_vec(),
        label: Some("before the move".into()),
        started: "2026-11-21T04:37:12Z".into(),
        ended: "2026-11-21T04:38:35Z".into(),
        ending: Ending::Complete,
        targets: vec!["/data".into()],
        simulated: false,
        max_latency: "5ms".parse().ok(),
        facts: facts(),
        runs: maker.runs,
        summary,
        curves: vec![reads, random, sequential],
        verdict: judge(checks()),
        expectations: Vec::new(),
        notes: vec![Note {
            text: "the disk has a volatile write cache (write back)".into(),
            hint: Some("durability rests on flushes: do not mount with nobarrier".into()),
        }],
    }
}
