//! fio's reports beside those of the Debian fio: for the same job the same keys, types and layout. Only figures differ.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use fathom_engine::Engine;
use fathom_fio::report::{Disk, Format, Moment, Report, ReportJob, Switches, Unified, normal};
use fathom_record::{Execute, Request, Run};
use fathom_spec::*;
use fathom_tidy::skip;
use serde_json::Value;

use crate::place::alone;

/// The version of fio that these reports are held against.
const PEER_VERSION: &str = "fio-3.33";

/// Keys that came after it, until fio 3.42.
const LATER: [&str; 6] = [
    "/job_start ",
    "/latency_target_ns ",
    "/latency_window_us ",
    "/read_sectors ",
    "/write_sectors ",
    "/priohint ",
];

/// What the installed fio prints, or nothing and a counted skip where it is missing or another version.
fn peer(words: &[String], format: &str) -> Option<String> {
    let version = Command::new("fio").arg("--version").output().ok();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    if version.as_deref() != Some(PEER_VERSION) {
        skip("fio's reports beside fio's own", &format!("no {PEER_VERSION} here, but {version:?}"));
        return None;
    }
    let said = Command::new("fio").args(words).arg(format!("--output-format={format}")).output().ok()?;
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
    Some(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// One job in both languages.
struct Case {
    words: Vec<String>,
    plan: Plan,
    jobs: Vec<ReportJob>,
}

/// A job of the null engine: the words common to all, and what they mean.
fn null(rw: &str, depth: u32, mix: Mix, more: &str) -> Case {
    let common = format!(
        "--name=x --ioengine=null --size=1m --bs=4k --randrepeat=1 --norandommap=1 --rw={rw} --iodepth={depth}"
    );
    let words = common.split(' ').chain(more.split(' ')).filter(|w| !w.is_empty()).map(str::to_owned);
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Null(Bytes(MIB)));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    (blocks.mix, blocks.queue) = (mix, QueueKind::Null);
    let mut stream = Stream::closed("x", blocks, depth);
    stream.stop.operations = Some(256);
    let stream = plan.add_stream(stream);
    let mut job = ReportJob::new("x", rw, vec![stream]);
    (job.ioengine, job.iodepth, job.latency_target.depth) = ("null".to_owned(), depth, depth);
    job.asynchronous = depth > 1;
    finish(Case { words: words.collect(), plan, jobs: vec![job] })
}

/// A job on a file of its own in `folder`.
fn file(folder: &Path, mix: Mix, queue: QueueKind, depth: u32, words: &str) -> Case {
    let path = folder.join("data").to_string_lossy().into_owned();
    let all = format!("--name=x --filename={path} {words} --iodepth={depth}");
    let direct = words.contains("--direct=1");
    let mut plan = Plan::new(1);
    let access = if mix == Mix::Only(Verb::Read) { Access::Read } else { Access::Write };
    let target = PathTarget { direct, access, ..PathTarget::direct_read(path) };
    let space = plan.add_target(Target::Path(target));
    let mut blocks = Blocks::random_reads(space, Bytes(4096));
    (blocks.mix, blocks.queue) = (mix, queue);
    let stream = plan.add_stream(Stream::closed("x", blocks, depth));
    let mut job = ReportJob::new("x", "randread", vec![stream]);
    (job.iodepth, job.latency_target.depth) = (depth, depth);
    job.asynchronous = matches!(queue, QueueKind::Libaio | QueueKind::IoUring);
    finish(Case { words: all.split_whitespace().map(str::to_owned).collect(), plan, jobs: vec![job] })
}

/// The options that fio echoes are the words themselves.
fn finish(mut case: Case) -> Case {
    let pair = |word: &String| {
        let word = word.trim_start_matches('-');
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let silent = ["description", "group_reporting", "thread"].contains(&key);
        (!silent || key == "description").then(|| (key.to_owned(), value.to_owned()))
    };
    let options: Vec<(String, String)> = case.words.iter().filter_map(pair).collect();
    case.jobs.iter_mut().for_each(|job| job.options = options.clone());
    case
}

impl Case {
    fn with(mut self, change: impl Fn(&mut ReportJob)) -> Self {
        self.jobs.iter_mut().for_each(change);
        self
    }

    fn run(&self) -> Run {
        let mut permits = Permits::new(Policy::Always);
        for target in &self.plan.targets {
            if let Target::Path(target) = target {
                permits.add_consent(target.path.clone());
            }
        }
        Engine::default()
            .execute(Request::new(&self.plan).with_permits(&permits), &mut ())
            .map(|outcome| outcome.run)
            .expect("a small load runs")
    }

    /// Our report of a run of the same job.
    fn report(&self, format: Format, disks: &[Disk]) -> String {
        let run = self.run();
        let moment = Moment {
            unix_ms: 1_795_244_885_192,
            time: "Sat Nov 21 07:08:05 2026".to_owned(),
            elapsed_seconds: 1,
        };
        let report = Report {
            run: &run,
            jobs: &self.jobs,
            moment: &moment,
            global: &[],
            disks,
            idleness: None,
            extras: None,
        };
        let mut out = Vec::new();
        if format == Format::Normal {
            normal::opening(&self.jobs, &mut out).expect("memory takes it");
        }
        report.write(format, &mut out).expect("memory takes it");
        String::from_utf8(out).expect("a report is UTF-8")
    }
}

/// Every key of a document with the kind of its value; the bins of histograms are one kind of key.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            found.insert(format!("{path} object"));
            for (key, value) in map {
                let key = if path.ends_with("/bins") { "N" } else { key };
                keys(value, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(values) => {
            found.insert(format!("{path} array"));
            values.iter().for_each(|value| keys(value, &format!("{path}/[]"), found));
        }
        Value::Number(number) if number.is_f64() => drop(found.insert(format!("{path} fraction"))),
        Value::Number(_) => drop(found.insert(format!("{path} whole"))),
        Value::String(_) => drop(found.insert(format!("{path} text"))),
        Value::Bool(_) | Value::Null => drop(found.insert(format!("{path} word"))),
    }
}

fn keys_of(text: &str) -> BTreeSet<String> {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut found = BTreeSet::new();
    keys(&value, "", &mut found);
    found
}

/// A disk of which only the keys matter.
fn some_disk() -> Vec<Disk> {
    vec![Disk { name: "vda".to_owned(), ..Disk::default() }]
}

fn same_keys(name: &str, case: &Case, format: &str) {
    let Some(theirs) = peer(&case.words, format) else { return };
    let disks = if theirs.contains("disk_util") { some_disk() } else { Vec::new() };
    let of = if format == "json+" { Format::JsonPlus } else { Format::Json };
    let ours = case.report(of, &disks);
    let (ours_keys, theirs_keys) = (keys_of(&ours), keys_of(&theirs));
    let missing: Vec<_> = theirs_keys.difference(&ours_keys).collect();
    let later = |key: &&String| LATER.iter().any(|later| key.replace("aggr_", "").contains(later));
    let flag = |key: &&String| key.contains(" options/");
    let more = ours_keys.difference(&theirs_keys).filter(|key| !later(key) && !flag(key));
    let more: Vec<_> = more.collect();
    assert!(missing.is_empty() && more.is_empty(), "{name}: missing {missing:#?}, more {more:#?}");
    let braces = |text: &str| text.lines().filter(|line| *line == "{" || *line == "}").count();
    assert_eq!(braces(&ours), braces(&theirs), "{name}: the document's braces stand alone on their lines");
}

const READS: Mix = Mix::Only(Verb::Read);
const WRITES: Mix = Mix::Only(Verb::Write);
const HALF: Mix = Mix::Random { read_percent: 50 };

#[test]
fn json_has_the_keys_and_types_of_the_peer_for_jobs_of_the_null_engine() {
    let _alone = alone();
    let group = |job: &mut ReportJob| (job.group_reporting, job.members, job.thread) = (true, 2, true);
    let mut two = null("randrw", 1, HALF, "--numjobs=2 --group_reporting --thread").with(group);
    two.plan.streams[0].workers = 2;
    two.jobs[0].options.retain(|(key, _)| key != "group_reporting" && key != "thread");
    let lat = Switches { slat: true, clat: false, lat: true };
    let list = vec![99.9999, 50.0, 1.5];
    let cases = [
        ("reads", null("randread", 1, READS, ""), "json"),
        ("a group of two threads", two, "json"),
        ("writes at depth", null("write", 4, WRITES, ""), "json+"),
        (
            "as one",
            null("randrw", 1, HALF, "--unified_rw_reporting=1").with(|j| j.unified = Unified::Mixed),
            "json",
        ),
        (
            "both ways",
            null("randrw", 1, HALF, "--unified_rw_reporting=both").with(|j| j.unified = Unified::Both),
            "json",
        ),
        (
            "other percentiles",
            null("randrw", 4, HALF, "--lat_percentiles=1 --slat_percentiles=1 --clat_percentiles=0")
                .with(|j| j.with_percentiles = lat),
            "json+",
        ),
        (
            "no clock",
            null("randrw", 1, HALF, "--gtod_reduce=1").with(|j| *j = j.clone().without_clock()),
            "json",
        ),
        (
            "a list",
            null("randread", 1, READS, "--percentile_list=99.9999:50:1.5")
                .with(|j| j.percentiles = list.clone()),
            "json",
        ),
        (
            "errors passed over, described",
            null("randread", 1, READS, "--continue_on_error=all --description=words").with(|j| {
                j.continue_on_error = true;
                j.description = Some("words".to_owned());
            }),
            "json",
        ),
        ("without lat", null("randrw", 1, HALF, "--disable_lat=1").with(|j| j.disabled.lat = true), "json"),
        ("trims", null("randtrim", 1, Mix::Only(Verb::Trim), ""), "json"),
    ];
    for (name, case, format) in &cases {
        same_keys(name, case, format);
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build's folder takes a folder")
}

fn filled(folder: &Path, bytes: usize) {
    let words = (0..bytes / 8).flat_map(|i| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    let file = std::fs::File::create(folder.join("data")).expect("a file");
    std::io::Write::write_all(&mut &file, &words.collect::<Vec<u8>>()).expect("room");
    file.sync_all().expect("a disk");
}

fn syncing(folder: &Path) -> Case {
    let words = "--ioengine=sync --rw=write --bs=4k --size=256k --fsync=4";
    let mut case = file(folder, WRITES, QueueKind::Psync, 1, words);
    if let Work::Blocks(blocks) = &mut case.plan.streams[0].work {
        blocks.pattern = Pattern::Sequential(Begin::First);
        blocks.sync = vec![SyncRule {
            every: 4,
            of: Verb::Write,
            kind: SyncKind::Fsync,
            all_targets_in_turn: false,
            between: false,
        }];
    }
    case.plan.streams[0].stop.operations = Some(80);
    case.with(|job| (job.rw, job.ioengine) = ("write".to_owned(), "sync".to_owned()))
}

/// The same job, half of its reads real-time.
fn at_priorities(mut case: Case, lat: bool) -> Case {
    if let Work::Blocks(blocks) = &mut case.plan.streams[0].work {
        blocks.priorities = vec![Priority { of: Verb::Read, size: None, percent: 50, class: 1, level: 0 }];
    }
    let stream = &mut case.plan.streams[0];
    (stream.keep.priorities, stream.stop.operations) = (true, Some(256));
    case.with(|job| {
        job.ioengine = "libaio".to_owned();
        (job.with_percentiles.lat, job.with_percentiles.clat) = (lat, !lat);
    })
}

#[test]
fn json_has_the_keys_and_types_of_the_peer_for_jobs_on_files() {
    let _alone = alone();
    let folder = folder();
    filled(folder.path(), 1 << 20);
    let words = "--ioengine=libaio --rw=randread --bs=4k --size=1m --direct=1";
    let mut reads = file(folder.path(), READS, QueueKind::Libaio, 4, words);
    reads.plan.streams[0].stop.operations = Some(256);
    same_keys("direct reads", &reads, "json+");
    for (name, more, lat) in [
        ("priorities", "--cmdprio_percentage=50 --prioclass=2 --prio=3", false),
        ("priorities of lat", "--cmdprio_percentage=50 --lat_percentiles=1 --clat_percentiles=0", true),
    ] {
        let words = format!("--ioengine=libaio --rw=randread --bs=4k --size=1m --direct=1 {more}");
        same_keys(
            name,
            &at_priorities(file(folder.path(), READS, QueueKind::Libaio, 4, &words), lat),
            "json+",
        );
    }
    same_keys("writes with syncs", &syncing(folder.path()), "json+");
}

/// A line without its figures: numbers, units and times become one sign, blanks one blank.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut figures = String::new();
    for c in line.chars().chain(['\n']) {
        if c.is_ascii_digit() || (c == '.' && !figures.is_empty()) {
            figures.push(c);
            continue;
        }
        if !std::mem::take(&mut figures).is_empty() {
            shape.push('#');
        }
        shape.push(c);
    }
    for unit in ["KiB", "MiB", "GiB", "kB", "MB", "GB", "B/s", "nsec", "usec", "B", "k"] {
        shape = shape.replace(&format!("#{unit}"), "#");
    }
    for unit in ["nsec", "usec", "msec"] {
        shape = shape.replace(&format!("({unit})"), "(time)");
    }
    let shape = shape.replace("KiB/s", "rate").replace("MiB/s", "rate");
    shape
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("= #", "=#")
        .replace("[ #", "[#")
        .replace("/s", "")
}

/// The shapes of a report's lines. Which latency classes occur is a figure, and so is how many percentiles a row takes,
/// which goes by the width of the largest: one line stands for all of them. The lines about a file that is laid out are
/// fio's alone, here.
fn shapes(text: &str) -> Vec<String> {
    let mut shapes: Vec<String> = Vec::new();
    for line in text.lines() {
        let several = ["  lat (", "     |"].into_iter().find(|start| line.starts_with(start));
        let shape = several.map_or_else(|| shape(line), str::to_owned);
        let date = shape.find(": pid=").unwrap_or(shape.len());
        let shape = shape[..date].to_owned();
        if shapes.last() != Some(&shape) || several.is_none() {
            shapes.push(shape);
        }
    }
    shapes.retain(|shape| !shape.contains("Laying out") && !shape.starts_with("fio-"));
    // fio 3.33 does not tell sectors.
    shapes.iter_mut().for_each(|shape| *shape = shape.replace("sectors=#/#, ", ""));
    shapes
}

fn same_layout(name: &str, case: &Case) {
    let Some(theirs) = peer(&case.words, "normal") else { return };
    let disks = if theirs.contains("Disk stats") { some_disk() } else { Vec::new() };
    let ours = case.report(Format::Normal, &disks);
    assert_eq!(shapes(&ours), shapes(&theirs), "{name}:\n{ours}\n{theirs}");
}

#[test]
fn a_normal_report_differs_from_the_peers_in_figures_only() {
    let _alone = alone();
    let folder = folder();
    filled(folder.path(), 1 << 20);
    let timed = "--size=1m --time_based --runtime=1300ms --bs=4k";
    let second = Some(Nanos::from_millis(1300));

    let words = format!("--ioengine=libaio --rw=randread --direct=1 {timed}");
    let mut reads = file(folder.path(), READS, QueueKind::Libaio, 4, &words)
        .with(|job| job.ioengine = "libaio".to_owned());
    reads.plan.streams[0].stop.time = second;
    same_layout("direct reads", &reads);

    let words = format!("--ioengine=psync --rw=randrw --numjobs=2 --group_reporting --thread {timed}");
    let mut mixed = file(folder.path(), HALF, QueueKind::Psync, 1, &words).with(|job| {
        (job.group_reporting, job.members, job.thread) = (true, 2, true);
        (job.rw, job.description) = ("randrw".to_owned(), Some("two of them".to_owned()));
    });
    mixed.words.push("--description=two of them".to_owned());
    mixed.plan.streams[0].workers = 2;
    mixed.plan.streams[0].stop.time = second;
    same_layout("a group of two threads", &mixed);

    same_layout("writes with syncs", &syncing(folder.path()));

    let words = "--ioengine=libaio --rw=randread --direct=1 --size=1m --bs=4k --cmdprio_percentage=50";
    let reads = file(folder.path(), READS, QueueKind::Libaio, 4, words);
    same_layout("priorities", &at_priorities(reads, false));
}

#[test]
fn a_terse_line_has_the_fields_of_the_peer() {
    let _alone = alone();
    for version in 2..=5u8 {
        let words = format!("--terse-version={version} --continue_on_error=all");
        let case = null("randrw", 4, HALF, &words).with(|job| job.continue_on_error = true);
        let Some(theirs) = peer(&case.words, "terse") else { return };
        let ours = case.report(Format::Terse(version), &[]);
        let fields = |text: &str| -> Vec<String> {
            let kind = |field: &str| {
                let figure: String =
                    field.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
                let (name, value) = figure.split_once('=').unwrap_or(("", &figure));
                let kind = match (value.contains('.'), value.ends_with('%')) {
                    (true, true) => "share",
                    (true, false) => "fraction",
                    (false, _) if value.chars().all(|c| c == '#') => "whole",
                    (false, _) => value,
                };
                format!("{name}:{kind}")
            };
            text.trim_end().split(';').map(kind).collect()
        };
        assert_eq!(fields(&ours), fields(&theirs), "version {version}:\n{ours}\n{theirs}");
    }
}
