//! Curves, figures and time series as CSV (RFC 4180), units in the header, one unit a column.

use crate::labels::word as name;
use crate::{facts, labels};
use csv::Writer;
use fathom_record::{Phase, ResultRecord};
use std::io::{self, Write};

fn number(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// The error of the writer below, whose kind (a closed pipe) says what to do; the library's own would hide it.
pub(crate) fn write_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// The columns with which every line begins, so that those of several runs can stand below each other.
const RUN: [&str; 7] = ["id", "tool", "started", "host", "device", "target", "label"];

fn run_cells(record: &ResultRecord) -> Vec<String> {
    vec![
        record.id.clone(),
        record.tool.clone(),
        record.started.clone(),
        facts::host(&record.facts).unwrap_or_default(),
        facts::device(&record.facts).unwrap_or_default(),
        record.targets.join(","),
        record.label.clone().unwrap_or_default(),
    ]
}

/// Writes the figures: one a line.
pub fn figures(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Writer::from_writer(out);
    let heads = ["figure", "value", "half_width", "confidence", "unit", "converged"];
    lines.write_record(RUN.into_iter().chain(heads)).map_err(write_error)?;
    let run = run_cells(record);
    for (figure_name, figure) in &record.summary {
        let cells = [
            name(figure_name),
            figure.value.to_string(),
            number(figure.half_width),
            figure.confidence.to_string(),
            name(&figure.unit),
            figure.converged.to_string(),
        ];
        lines.write_record(run.iter().chain(&cells)).map_err(write_error)?;
    }
    lines.flush()
}

/// The columns of [`curves`].
const CURVES: [&str; 14] = [
    "curve",
    "outstanding_small",
    "outstanding_large",
    "operations_per_second",
    "half_width_per_second",
    "mebibytes_per_second",
    "latency_ms_mean",
    "latency_ms_p50",
    "latency_ms_p90",
    "latency_ms_p99",
    "latency_ms_p99_9",
    "latency_ms_max",
    "exploring",
    "knee",
];

/// How many reads each stream of a point keeps outstanding; of other loads 1, since they are counted in outstanding I/Os.
fn streams_depth(record: &ResultRecord, point: &fathom_record::CurvePoint) -> u32 {
    let run = point.run.and_then(|run| record.runs.get(run)).filter(|run| run.phase == Some(Phase::Streams));
    run.and_then(|run| run.plan.streams.first()).map_or(1, |stream| stream.depth.most())
}

/// Writes every point of every curve: one a line.
pub fn curves(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Writer::from_writer(out);
    lines.write_record(RUN.iter().chain(&CURVES)).map_err(write_error)?;
    let run = run_cells(record);
    for curve in &record.curves {
        for (at, point) in curve.points.iter().enumerate() {
            let (latency, load) = (&point.latency, point.load);
            let percentile = |(quantile, _)| {
                let found = labels::percentile(latency, quantile).and_then(|p| p.value_ns);
                number(found.map(|ns| ns as f64 / 1e6))
            };
            let [p50, p90, p99, p99_9] = labels::PERCENTILES.map(percentile);
            let cells = [
                name(&curve.name),
                load.small.to_string(),
                (load.large * streams_depth(record, point)).to_string(),
                point.iops.to_string(),
                number(point.iops_half_width),
                point.mbps.to_string(),
                (latency.mean_ns / 1e6).to_string(),
                p50,
                p90,
                p99,
                p99_9,
                (latency.max_ns as f64 / 1e6).to_string(),
                point.exploring.to_string(),
                (curve.knee == Some(at)).to_string(),
            ];
            lines.write_record(run.iter().chain(&cells)).map_err(write_error)?;
        }
    }
    lines.flush()
}

/// The columns of [`time_series`].
const TIME_SERIES: [&str; 9] = [
    "run",
    "stream",
    "verb",
    "start_s",
    "length_s",
    "operations_per_second",
    "mebibytes_per_second",
    "latency_ms_mean",
    "errors",
];

/// Writes the time series of the whole run: a line for each slot, stream and verb that did anything.
pub fn time_series(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Writer::from_writer(out);
    lines.write_record(TIME_SERIES).map_err(write_error)?;
    for run in &record.runs {
        let slot_ns = run.plan.slot.0.max(1);
        let length = slot_ns as f64 / 1e9;
        for interval in &run.intervals {
            for (at, slot) in interval.slots.iter().enumerate() {
                for ((verb, _), counts) in interval.cells.iter().zip(slot) {
                    if counts.operations == 0 && counts.errors == 0 {
                        continue;
                    }
                    let start = run.began_ns + interval.start_ns + at as u64 * slot_ns;
                    let latency = (counts.operations > 0)
                        .then(|| counts.latency_sum_ns as f64 / counts.operations as f64 / 1e6);
                    lines
                        .write_record([
                            run.name.clone(),
                            interval.stream.0.to_string(),
                            name(verb),
                            format!("{:.3}", start as f64 / 1e9),
                            length.to_string(),
                            (counts.operations as f64 / length).to_string(),
                            (fathom_spec::Bytes(counts.bytes).mebibytes() / length).to_string(),
                            number(latency),
                            counts.errors.to_string(),
                        ])
                        .map_err(write_error)?;
                }
            }
        }
    }
    lines.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample_record;

    fn head(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> (String, usize) {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let columns = text.lines().next().unwrap().matches(',').count();
        let quoted = |line: &&str| line.contains('"') || line.matches(',').count() == columns;
        assert!(text.lines().all(|line| quoted(&line)));
        let lines = text.lines().count();
        (text.lines().take(12).collect::<Vec<_>>().join("\n"), lines)
    }

    #[test]
    fn curves_have_units_in_their_header() {
        let record = sample_record();
        let (text, lines) = head(|out| curves(&record, out));
        assert_eq!(lines, 1 + 8 + 5 + 5);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_time_series_has_a_line_for_each_slot() {
        let record = sample_record();
        let (text, lines) = head(|out| time_series(&record, out));
        let slots: usize = record.runs.iter().flat_map(|r| &r.intervals).map(|i| i.slots.len()).sum();
        assert_eq!(lines, 1 + slots);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_figure_has_a_line() {
        let record = sample_record();
        let (text, lines) = head(|out| figures(&record, out));
        assert_eq!(lines, 1 + record.summary.len());
        insta::assert_snapshot!(text);
    }
}
