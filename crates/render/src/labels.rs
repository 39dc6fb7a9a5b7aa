//! What figures, curves, loads and bounds are called, the same in the terminal and on the page.

use crate::number;
use fathom_record::{
    Bound, BoundBy, CheckOutcome, CurveName, Figure, FigureName, LatencyFigures, Load, Percentile,
    ResultRecord, Run, Unit, VerdictState,
};
use fathom_spec::{Mix, Sizes, Work};

/// The name under which a serializable enum stands in the record.
pub fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// A figure of the record.
pub fn figure(record: &ResultRecord, name: FigureName) -> Option<&Figure> {
    record.summary.get(&name)
}

/// The run behind a figure.
pub fn run_of<'a>(record: &'a ResultRecord, figure: &Figure) -> Option<&'a Run> {
    record.runs.get(figure.run?)
}

/// Size of the I/Os of a run's first block stream: `8 KiB`, or `4 KiB to 64 KiB`.
pub fn block_size(run: &Run) -> Option<String> {
    run.plan.streams.iter().find_map(|stream| match &stream.work {
        Work::Blocks(blocks) => Some(match &blocks.sizes {
            Sizes::One(size) => size.to_string(),
            sizes => format!("{} to {}", sizes.least(), sizes.most()),
        }),
        _ => None,
    })
}

/// `8 KiB random reads`, with the size where the record tells it.
pub fn sized(record: &ResultRecord, name: FigureName, what: &str) -> String {
    let size = figure(record, name).and_then(|f| run_of(record, f)).and_then(block_size);
    match size {
        Some(size) => format!("{size} {what}"),
        None => what.to_owned(),
    }
}

/// `Random read 8 KiB`, with the size where the run tells it.
pub fn sized_after(run: Option<&Run>, what: &str) -> String {
    match run.and_then(block_size) {
        Some(size) => format!("{what} {size}"),
        None => what.to_owned(),
    }
}

/// The verdict in the words of a report.
pub fn verdict(state: VerdictState) -> &'static str {
    match state {
        VerdictState::Believable => "reliable",
        VerdictState::NotBelievable => "not reliable",
        VerdictState::CannotTell => "inconclusive",
    }
}

/// `70 % reads`: the mix of a run's first block stream, where it has one.
pub fn share_of_reads(run: &Run) -> Option<String> {
    run.plan.streams.iter().find_map(|stream| match &stream.work {
        Work::Blocks(blocks) => match blocks.mix {
            Mix::Random { read_percent } => Some(format!("{read_percent} % reads")),
            _ => None,
        },
        _ => None,
    })
}

/// `32 outstanding`, `4 streams and 16 small outstanding`; nothing for an idle load.
pub fn outstanding(load: Option<Load>) -> Option<String> {
    match load? {
        Load { small: 0, large: 0 } => None,
        Load { small, large: 0 } => Some(format!("{small} outstanding")),
        Load { small: 0, large } => Some(format!("{large} outstanding")),
        Load { small, large } => Some(format!("{small} small and {large} large outstanding")),
    }
}

/// The number on the load axis: whichever kind of I/O the load has.
pub fn level(load: Load) -> f64 {
    f64::from(load.small.max(load.large).max(1))
}

/// `bound by the device`; nothing when it is not known.
pub fn bound(bound: Option<&Bound>) -> Option<String> {
    let by = match bound?.by {
        BoundBy::Device => "bound by the device",
        BoundBy::HostCpu => "bound by this host's CPU",
        BoundBy::Link => "bound by the link to the device",
        BoundBy::Cgroup => "bound by our own control group",
        BoundBy::Queue => "bound by the queue",
        BoundBy::LatencyLimit => "bound by the latency limit",
        BoundBy::Others => "bound by other users of the disk",
        BoundBy::Unknown => "what bounds it could not be told",
    };
    Some(by.to_owned())
}

/// What a figure is called on the page and in lists.
pub fn figure_name(name: FigureName) -> &'static str {
    match name {
        FigureName::MaxIops => "max_iops",
        FigureName::Latency => "latency",
        FigureName::MaxMbps => "max_mbps",
        FigureName::MaxPmbps => "max_pmbps",
        FigureName::UnloadedLatency => "Unloaded latency",
        FigureName::KneeIops => "Knee",
        FigureName::EighthIops => "IOPS over an eighth",
        FigureName::RandomReadMbps => "Large reads, random",
        FigureName::SequentialReadMbps => "Large reads, sequential",
        FigureName::CommitsPerSecond => "Commits, fdatasync",
        FigureName::CommitsDsync => "Commits, O_DSYNC",
        FigureName::CommitsFsync => "Commits, fsync",
        FigureName::GroupCommits4 => "Commits, 4 writers",
        FigureName::GroupCommits16 => "Commits, 16 writers",
        FigureName::DeviceWritesPerCommit => "Device writes per commit",
        FigureName::RandomWriteIops => "Random writes",
        FigureName::SequentialWriteMbps => "Sequential writes",
        FigureName::CachedBelow => "From a cache below",
        FigureName::Iops => "Operations",
        FigureName::Mbps => "Throughput",
        FigureName::ReadLatency => "Read latency",
        FigureName::WriteLatency => "Write latency",
        FigureName::SyncLatency => "Sync latency",
        FigureName::ResponseTime => "Response time",
        FigureName::SustainedShare => "Sustained share",
        FigureName::LogicalReads => "Logical reads",
        FigureName::PhysicalReads => "Physical reads",
        FigureName::PhysicalWrites => "Physical writes",
        FigureName::DeviceReads => "Device reads",
        FigureName::DeviceWrites => "Device writes",
        FigureName::LogMbps => "Log written",
        FigureName::FromDisk => "From the disk",
        FigureName::SelectLatency => "Select latency",
        FigureName::UpdateLatency => "Update latency",
        FigureName::CommitLatency => "Commit latency",
        FigureName::ScanLatency => "Scan latency",
        FigureName::OfTheDisk => "Of the disk",
    }
}

/// What a curve is called.
pub fn curve_name(name: CurveName) -> &'static str {
    match name {
        CurveName::SmallReads => "small random reads",
        CurveName::LargeRandomReads => "large reads, random",
        CurveName::LargeSequentialReads => "large reads, sequential",
        CurveName::Commits => "commits",
        CurveName::RandomWrites => "small random writes",
        CurveName::SequentialWrites => "large sequential writes",
        CurveName::Mixed => "mixed reads and writes",
        CurveName::EighthReads => "small random reads over an eighth",
        CurveName::Sessions => "operations over sessions",
    }
}

/// A unit spelt out.
pub fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => "per second",
        Unit::MebibytesPerSecond => "MiB/s (2^20 bytes)",
        Unit::Nanoseconds => "ns",
        Unit::Ratio => "ratio",
    }
}

/// A figure's value with its unit, as many digits as its error allows: `24,000 /s`, `1.33 ms`, `175 MiB/s`.
pub fn value(figure: &Figure) -> String {
    match figure.unit {
        Unit::PerSecond => format!("{} /s", number::with_error(figure.value, figure.half_width)),
        Unit::MebibytesPerSecond => format!("{} MiB/s", number::with_error(figure.value, figure.half_width)),
        Unit::Nanoseconds => number::time(figure.value),
        Unit::Ratio => number::significant(figure.value, 3),
    }
}

/// How an outcome of a check is called, and its sign where signs can be shown.
pub fn outcome(outcome: CheckOutcome) -> (&'static str, &'static str) {
    match outcome {
        CheckOutcome::Passed => ("passed", "\u{2713}"),
        CheckOutcome::Failed => ("FAILED", "\u{2717}"),
        CheckOutcome::Unknown => ("unknown", "?"),
        CheckOutcome::Noted => ("noted", "!"),
    }
}

/// The percentile at a quantile, if the record has it.
pub fn percentile(latency: &LatencyFigures, quantile: f64) -> Option<&Percentile> {
    latency.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9)
}

/// An interval of this many times its lower end says little more than the order of magnitude.
const VAGUE: u64 = 2;

/// A percentile without its interval, with a `~` where it is known to little more than its order of magnitude.
pub fn percentile_value(percentile: &Percentile) -> Option<String> {
    let value = number::time(percentile.value_ns? as f64);
    Some(match (percentile.low_ns, percentile.high_ns) {
        (Some(low), Some(high)) if high <= low.saturating_mul(VAGUE) => value,
        (None, _) => value,
        _ => format!("~{value}"),
    })
}

/// A percentile with its interval: `270 us (200 to 361)`, with a `~` where that is wider than a factor of two, and
/// `~2.9 ms (over 2.61 ms)` where nobody knows how far over.
pub fn percentile_text(percentile: &Percentile) -> Option<String> {
    let value = number::time(percentile.value_ns? as f64);
    Some(match (percentile.low_ns, percentile.high_ns) {
        (Some(low), Some(high)) => {
            let mark = if high > low.saturating_mul(VAGUE) { "~" } else { "" };
            format!("{mark}{value} ({})", number::time_ends(&value, low as f64, high as f64))
        }
        (Some(low), None) => format!("~{value} (over {})", number::time(low as f64)),
        (None, _) => value,
    })
}

/// The percentiles that are shown, with their names.
pub const PERCENTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// The phase of a run; where it has none, the part of its name before its load, under which neighbours stand together.
pub fn phase(run: &Run) -> &str {
    match run.phase {
        Some(phase) => phase.title(),
        None => run.name.split(',').next().unwrap_or(&run.name).trim(),
    }
}

/// A moment in RFC 3339 as people read it: `2026-11-21 04:37:12 UTC`. Another form is left as it is.
pub fn moment(rfc3339: &str) -> String {
    let (Some(day), Some(time)) = (rfc3339.get(..10), rfc3339.get(11..19)) else {
        return rfc3339.to_owned();
    };
    let zone = rfc3339.get(19..).unwrap_or_default();
    let zone = zone.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    match zone {
        "Z" | "z" | "+00:00" => format!("{day} {time} UTC"),
        other => format!("{day} {time} {other}").trim_end().to_owned(),
    }
}

/// The same without its seconds: `2026-11-21 04:37 UTC`.
pub fn moment_to_the_minute(rfc3339: &str) -> String {
    let whole = moment(rfc3339);
    match (whole.get(..16), whole.get(19..)) {
        (Some(minute), Some(zone)) => format!("{minute}{zone}"),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_told_with_its_interval() {
        let told = |low_ns, high_ns| {
            let value_ns = Some(270_000);
            percentile_text(&Percentile { quantile: 0.99, value_ns, low_ns, high_ns, why: None }).unwrap()
        };
        assert_eq!(told(Some(200_000), Some(361_000)), "270 us (200 to 361)");
        assert_eq!(told(Some(120_000), Some(361_000)), "~270 us (120 to 361)");
        assert_eq!(told(Some(200_000), Some(1_361_000)), "~270 us (200 us to 1.36 ms)");
        assert_eq!(told(Some(200_000), None), "~270 us (over 200 us)");
        assert_eq!(told(None, None), "270 us");
    }

    #[test]
    fn a_moment_loses_its_fraction_and_keeps_its_zone() {
        assert_eq!(moment("2026-11-21T04:37:12.345Z"), "2026-11-21 04:37:12 UTC");
        assert_eq!(moment("2026-11-21T04:37:12+02:00"), "2026-11-21 04:37:12 +02:00");
        assert_eq!(moment("yesterday"), "yesterday");
    }
}
