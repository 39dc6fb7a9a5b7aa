//! The figures of a record in the order and under the names in which people read them: throughput at a load, ways to commit,
//! latencies. What a terminal, a mail or a line shows of them is made elsewhere.

use crate::{labels, number};
use fathom_record::{
    BoundBy, CurveName, Figure, FigureName, LatencyFigures, Load, Phase, ResultRecord, Run, Unit,
};
use fathom_spec::{Pattern, Verb, Work};

/// One throughput with what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputRow {
    /// `Random read 8 KiB`, or what a row belongs to the one above by: `QD 1`.
    pub label: String,
    /// Does it belong to the row above?
    pub indented: bool,
    /// In the unit that is shown.
    pub value: f64,
    pub half_width: Option<f64>,
    /// `IOPS`, `MiB/s`.
    pub unit: &'static str,
    /// `96`, `1x4`.
    pub depth: String,
    /// Mean at that load, ns.
    pub latency_ns: Option<f64>,
    pub limited_by: Option<&'static str>,
    /// What else a reader should know.
    pub note: Option<String>,
}

/// One way to make writes durable.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitRow<'a> {
    /// `fdatasync`; nothing where it is that of the row above.
    pub way: &'static str,
    pub writers: u32,
    pub figure: &'a Figure,
}

/// What a row is called.
enum Label {
    /// The size of its I/Os, and what is done with them.
    Sized(&'static str),
    /// What the run does: `Random read 8 KiB`.
    OfRun,
    /// A name of its own.
    Plain(&'static str),
    /// It belongs to the row above.
    Below(&'static str),
}

/// Throughputs, in the order in which they are shown.
const THROUGHPUT: [(FigureName, Label, &str); 18] = [
    (FigureName::MaxIops, Label::Sized("Random read"), "IOPS"),
    (FigureName::KneeIops, Label::Below("knee"), "IOPS"),
    (FigureName::EighthIops, Label::Below("1/8 of the set"), "IOPS"),
    (FigureName::Iops, Label::OfRun, "IOPS"),
    (FigureName::Mbps, Label::Below("throughput"), "MiB/s"),
    (FigureName::RandomWriteIops, Label::Sized("Random write"), "IOPS"),
    (FigureName::MaxMbps, Label::Sized("Random read"), "MiB/s"),
    (FigureName::MaxPmbps, Label::Below("1 process"), "MiB/s"),
    (FigureName::SequentialReadMbps, Label::Sized("Seq. read"), "MiB/s"),
    (FigureName::SequentialWriteMbps, Label::Sized("Seq. write"), "MiB/s"),
    (FigureName::LogicalReads, Label::Plain("Logical reads"), "blocks/s"),
    (FigureName::PhysicalReads, Label::Plain("Physical reads"), "blocks/s"),
    (FigureName::PhysicalWrites, Label::Plain("Physical writes"), "blocks/s"),
    (FigureName::DeviceReads, Label::Plain("Disk reads"), "IOPS"),
    (FigureName::DeviceWrites, Label::Plain("Disk writes"), "IOPS"),
    (FigureName::LogMbps, Label::Plain("Log"), "MiB/s"),
    (FigureName::FromDisk, Label::Plain("Read from disk"), "%"),
    (FigureName::OfTheDisk, Label::Plain("Of the disk"), "%"),
];

/// The share of a sustained load, which has no row above it in a load of the user's.
const SUSTAINED: (FigureName, Label, &str) = (FigureName::SustainedShare, Label::Plain("Sustained"), "%");

/// Ways to commit, in the order in which they are shown.
const COMMITS: [(FigureName, &str, u32); 5] = [
    (FigureName::CommitsPerSecond, "fdatasync", 1),
    (FigureName::GroupCommits4, "", 4),
    (FigureName::GroupCommits16, "", 16),
    (FigureName::CommitsDsync, "O_DSYNC", 1),
    (FigureName::CommitsFsync, "fsync", 1),
];

/// A load that is none of blocks.
const OPERATIONS: &str = "Operations";

/// Latencies by name, in the order in which they are shown.
const LATENCIES: [(FigureName, &str); 12] = [
    (FigureName::UnloadedLatency, "QD 1"),
    (FigureName::MaxIops, "max IOPS"),
    (FigureName::Iops, "operation"),
    (FigureName::ReadLatency, "read"),
    (FigureName::WriteLatency, "write"),
    (FigureName::SyncLatency, "sync"),
    (FigureName::CommitsPerSecond, "commit"),
    (FigureName::SelectLatency, "select"),
    (FigureName::UpdateLatency, "update"),
    (FigureName::CommitLatency, "commit"),
    (FigureName::ScanLatency, "scan"),
    (FigureName::ResponseTime, "response"),
];

/// The throughputs of a record.
pub fn throughput(record: &ResultRecord) -> Vec<ThroughputRow> {
    let mut rows = Vec::new();
    for (name, label, unit) in THROUGHPUT.iter().chain([&SUSTAINED]) {
        let Some(figure) = labels::figure(record, *name) else { continue };
        let percent = if *unit == "%" { 100.0 } else { 1.0 };
        let run = labels::run_of(record, figure);
        let (text, indented) = match label {
            Label::Sized(what) => (labels::sized_after(run, what), false),
            Label::OfRun => (of_run(run), false),
            Label::Plain(what) => ((*what).to_owned(), false),
            Label::Below(what) => ((*what).to_owned(), true),
        };
        let latency = figure.latency.as_ref().map(|latency| latency.mean_ns);
        let unit = if text == OPERATIONS { "ops/s" } else { unit };
        rows.push(ThroughputRow {
            label: text,
            indented,
            value: figure.value * percent,
            half_width: figure.half_width.map(|half| half * percent),
            unit,
            depth: figure.load.map(|load| depth(load, run)).unwrap_or_default(),
            latency_ns: latency.filter(|_| *name != FigureName::Mbps),
            limited_by: figure.bound.as_ref().map(|bound| limited_by(bound.by)),
            note: figure.note.clone(),
        });
        if *name == FigureName::MaxIops && figure.load != Some(Load { small: 1, large: 0 }) {
            rows.extend(unloaded(record));
        }
    }
    rows
}

/// Each row's name where it stands alone: with that of the row above that it belongs to.
pub fn whole_names(rows: &[ThroughputRow]) -> Vec<String> {
    let mut above = "";
    let mut names = Vec::new();
    for row in rows {
        if row.indented {
            names.push(format!("{above}, {}", row.label));
        } else {
            above = &row.label;
            names.push(row.label.clone());
        }
    }
    names
}

/// Random reads one at a time, as their curve tells.
fn unloaded(record: &ResultRecord) -> Option<ThroughputRow> {
    let curve = record.curves.iter().find(|curve| curve.name == CurveName::SmallReads)?;
    let point = curve.points.iter().find(|point| point.load == Load { small: 1, large: 0 })?;
    Some(ThroughputRow {
        label: "QD 1".to_owned(),
        indented: true,
        value: point.iops,
        half_width: point.iops_half_width,
        unit: "IOPS",
        depth: "1".to_owned(),
        latency_ns: Some(point.latency.mean_ns),
        limited_by: None,
        note: None,
    })
}

/// What a load does: `Random read 8 KiB`, `Read/write 70/30 8 KiB`; of a database, its operations.
fn of_run(run: Option<&Run>) -> String {
    let blocks = run.and_then(|run| {
        run.plan.streams.iter().find_map(|stream| match &stream.work {
            Work::Blocks(blocks) => Some(blocks),
            _ => None,
        })
    });
    let Some(blocks) = blocks else { return OPERATIONS.to_owned() };
    let pattern = match blocks.pattern {
        Pattern::Sequential(_) | Pattern::Strided { .. } => "Seq. ",
        Pattern::Uniform { .. } | Pattern::Zipf(_) | Pattern::Pareto(_) | Pattern::Normal(_) => "Random ",
        _ => "",
    };
    let what = match &blocks.mix {
        fathom_spec::Mix::Only(Verb::Read) => "read".to_owned(),
        fathom_spec::Mix::Only(Verb::Write) => "write".to_owned(),
        fathom_spec::Mix::Random { read_percent } => {
            format!("read/write {read_percent}/{}", 100 - u32::from(*read_percent))
        }
        _ => "I/O".to_owned(),
    };
    let text = labels::sized_after(run, &format!("{pattern}{what}"));
    text[..1].to_uppercase() + &text[1..]
}

/// `96`; of streams how many and how deep each is: `4x4`; of both kinds of load: `16+2`.
fn depth(load: Load, run: Option<&Run>) -> String {
    let streams =
        run.filter(|run| run.phase == Some(Phase::Streams)).and_then(|run| run.plan.streams.first());
    match (load, streams) {
        (Load { small: 0, large }, Some(stream)) => format!("{large}x{}", stream.depth.most()),
        (Load { small: 0, large: 0 }, _) => String::new(),
        (Load { small: 0, large: one } | Load { small: one, large: 0 }, _) => one.to_string(),
        (Load { small, large }, _) => format!("{small}+{large}"),
    }
}

/// What keeps a figure from being more, in a word or two.
pub fn limited_by(by: BoundBy) -> &'static str {
    match by {
        BoundBy::Device => "device",
        BoundBy::HostCpu => "host CPU",
        BoundBy::Link => "link",
        BoundBy::Cgroup => "cgroup limit",
        BoundBy::Queue => "queue",
        BoundBy::LatencyLimit => "latency limit",
        BoundBy::Others => "other users",
        BoundBy::Unknown => "unknown",
    }
}

/// The ways to commit of a record.
pub fn commits(record: &ResultRecord) -> Vec<CommitRow<'_>> {
    let mut rows: Vec<CommitRow> = Vec::new();
    for (name, way, writers) in COMMITS {
        if let Some(figure) = labels::figure(record, name) {
            let way = if way.is_empty() && rows.is_empty() { "fdatasync" } else { way };
            rows.push(CommitRow { way, writers, figure });
        }
    }
    rows
}

/// What stands over the commits: `8 KiB append; 3.0 device writes each`.
pub fn commits_head(record: &ResultRecord) -> String {
    let size = labels::figure(record, FigureName::CommitsPerSecond)
        .and_then(|figure| labels::run_of(record, figure))
        .and_then(labels::block_size);
    let writes = labels::figure(record, FigureName::DeviceWritesPerCommit)
        .map(|figure| format!("{} device writes each", number::significant(figure.value, 2)));
    let size = size.map(|size| format!("{size} append"));
    [size, writes].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The latencies of a record. Where reads and writes are known apart, those of all together are not among them.
pub fn latencies(record: &ResultRecord) -> Vec<(&'static str, &LatencyFigures)> {
    let calibrated = labels::figure(record, FigureName::MaxIops).is_some();
    let apart = |(name, _): &(FigureName, &str)| {
        let figure = labels::figure(record, *name).filter(|_| *name != FigureName::ResponseTime);
        figure.is_some_and(|figure| figure.unit == Unit::Nanoseconds)
    };
    let together = calibrated || !LATENCIES.iter().any(apart);
    LATENCIES
        .iter()
        .filter(|(name, _)| *name != FigureName::Iops || together)
        .filter_map(|(name, head)| {
            let head = if *name == FigureName::Iops && calibrated { "mixed" } else { head };
            Some((head, labels::figure(record, *name)?.latency.as_ref()?))
        })
        .collect()
}
