//! A full record to store, and what several tests need.
#![allow(dead_code)] // Each test binary uses a part of it.

use fathom_record::*;
use fathom_spec::*;
use fathom_store::{Owner, Store};
use std::path::{Path, PathBuf};

pub fn owner() -> Owner {
    Owner { pid: 4711, start: 123_456, boot: "b007".into() }
}

pub fn lives(_: &Owner) -> bool {
    true
}

pub fn is_dead(_: &Owner) -> bool {
    false
}

/// A directory and a store's path in it, two levels down.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data/fathom/fathom.db");
    (directory, path)
}

/// One run of `count` reads of `size` over the given files with the given queue.
pub fn reads(paths: &[&str], queue: QueueKind, size: u64, count: u64) -> Run {
    let mut plan = Plan::new(7);
    for path in paths {
        plan.add_target(Target::Path(PathTarget::direct_read(*path)));
    }
    let space = match paths.len() {
        1 => SpaceId(0),
        many => {
            plan.spaces.push(Space::Concat((0..many as u32).map(TargetId).collect()));
            SpaceId(many as u32)
        }
    };
    let mut blocks = Blocks::random_reads(space, Bytes(size));
    blocks.queue = queue;
    let stream = plan.add_stream(Stream::closed("reads", blocks, 16));
    let mut latency = Latency::default();
    latency.add(250_000);
    latency.add(1_250_000);
    let service = Cell { service: Some(Box::new(latency)), ..Cell::default() };
    let mut interval = Interval::new(stream, 0, vec![(Verb::Read, service)], 2);
    let counts = Counts {
        operations: count,
        bytes: count * size,
        latency_sum_ns: count * 500_000,
        errors: 1,
        short: 0,
    };
    interval.slots[1][0] = counts;
    let target = |path: &&str| Event {
        at_ns: 0,
        what: EventKind::Target { name: path.to_string(), did: Did::Reused, bytes: Bytes(GIB) },
    };
    Run {
        name: "small reads, 16 outstanding".into(),
        phase: Some(Phase::SmallReads),
        purpose: Purpose::Headline,
        load: Load { small: 16, large: 0 },
        plan,
        began_ns: 0,
        length_ns: 1_000_000_000,
        intervals: vec![interval],
        windows: Vec::new(),
        workers: Vec::new(),
        samples: vec![Sample { at_ns: 5, of: "disk vda".into(), name: "reads".into(), value: 9 }],
        events: paths.iter().map(target).collect(),
        queues: vec!["io_uring: registered files".into()],
    }
}

pub fn latency(mean_ns: f64) -> LatencyFigures {
    LatencyFigures {
        mean_ns,
        mean_half_width_ns: Some(0.1 + 0.2),
        percentiles: vec![
            Percentile {
                quantile: 0.5,
                value_ns: Some(900_000),
                low_ns: Some(880_000),
                high_ns: Some(910_000),
                why: None,
            },
            Percentile {
                quantile: 0.999,
                value_ns: None,
                low_ns: None,
                high_ns: None,
                why: Some("too few samples".into()),
            },
        ],
        max_ns: 20_000_000,
        min_ns: 1,
        count: 4_000,
        effective: 311.7,
        over_limit: Some(0.01),
    }
}

pub fn figure(value: f64, unit: Unit) -> Figure {
    Figure {
        value,
        half_width: Some(value / 100.0),
        confidence: 0.95,
        unit,
        converged: true,
        load: Some(Load { small: 16, large: 0 }),
        latency: (unit == Unit::PerSecond).then(|| latency(10_868_123.4)),
        bound: Some(Bound { by: BoundBy::LatencyLimit, because: "20 ms are tolerated".into() }),
        run: Some(0),
        note: None,
    }
}

/// A calibration of one file with every field filled.
pub fn calibration(id: &str) -> ResultRecord {
    let point = CurvePoint {
        load: Load { small: 16, large: 0 },
        iops: 24_001.6,
        iops_half_width: Some(200.0),
        mbps: 187.5,
        latency: latency(10_868_123.4),
        exploring: false,
        run: Some(0),
    };
    let checks = vec![Check::new("page cache bypassed", CheckOutcome::Passed, "all of it")];
    ResultRecord {
        schema: SCHEMA,
        id: id.into(),
        tool: "calibrate".into(),
        version: "0.1.0".into(),
        command: vec!["fathom".into(), "calibrate".into(), "it's here".into()],
        label: Some("before the move".into()),
        started: "2026-01-02T03:04:05.123456Z".into(),
        ended: "2026-01-02T03:05:06.654321Z".into(),
        ending: Ending::Complete,
        targets: vec!["/data/one".into()],
        simulated: false,
        max_latency: "20ms".parse().ok(),
        facts: serde_json::json!({ "machine": { "cpus": 2 }, "num_physical_disks": 3 }),
        runs: vec![
            reads(&["/data/one"], QueueKind::Auto, 8192, 4167),
            reads(&["/data/one"], QueueKind::Auto, MIB, 181),
        ],
        summary: [
            (FigureName::MaxIops, figure(24_001.6, Unit::PerSecond)),
            (FigureName::Latency, figure(10_868_123.4, Unit::Nanoseconds)),
            (FigureName::MaxMbps, figure(175.2, Unit::MebibytesPerSecond)),
            (FigureName::MaxPmbps, figure(186.4, Unit::MebibytesPerSecond)),
        ]
        .into(),
        curves: vec![Curve { name: CurveName::SmallReads, points: vec![point], knee: Some(0) }],
        verdict: judge(checks),
        expectations: Vec::new(),
        notes: vec![Note { text: "the file is young".into(), hint: Some("wait".into()) }],
    }
}

/// What is known of a calibration before it measures.
pub fn beginning(id: &str) -> ResultRecord {
    let whole = calibration(id);
    ResultRecord { runs: vec![], summary: Default::default(), curves: vec![], ..whole }
}

pub fn rows(store: &Store, sql: &str) -> Vec<Vec<serde_json::Value>> {
    store.query(sql).unwrap().rows
}

/// Answers what the real sqlite3 shell prints; `None`, a counted skip, where it is not installed.
pub fn shell(path: &Path, sql: &str) -> Option<(String, String)> {
    match std::process::Command::new("sqlite3").arg(path).arg(sql).output() {
        Ok(output) => {
            Some((String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap()))
        }
        Err(error) => {
            fathom_tidy::skip("the sqlite3 shell", &error.to_string());
            None
        }
    }
}
