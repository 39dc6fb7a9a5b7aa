//! Curves, figures and time series as CSV (RFC 4180), units in the header, one unit a column.

use crate::labels;
use fathom_record::ResultRecord;
use std::io::{self, Write};

/// A text as a CSV field: in quotes where it must be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// The name under which a serializable enum stands in the record.
fn name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Writes the figures: one a line.
pub fn figures(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "figure,value,half_width,confidence,unit,converged")?;
    for (figure_name, figure) in &record.summary {
        let half = number(figure.half_width);
        let (figure_name, unit) = (name(figure_name), name(&figure.unit));
        let (value, level, converged) = (figure.value, figure.confidence, figure.converged);
        writeln!(out, "{figure_name},{value},{half},{level},{unit},{converged}")?;
    }
    Ok(())
}

/// Writes every point of every curve: one a line.
pub fn curves(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    write!(out, "curve,outstanding_small,outstanding_large,operations_per_second,half_width_per_second,")?;
    write!(out, "mebibytes_per_second,latency_ms_mean,latency_ms_p50,latency_ms_p90,latency_ms_p99,")?;
    writeln!(out, "latency_ms_p99_9,latency_ms_max,exploring,knee")?;
    for curve in &record.curves {
        for (at, point) in curve.points.iter().enumerate() {
            let (latency, load) = (&point.latency, point.load);
            let half = number(point.iops_half_width);
            write!(out, "{},{},{},{},{half},", name(&curve.name), load.small, load.large, point.iops)?;
            write!(out, "{},{}", point.mbps, latency.mean_ns / 1e6)?;
            for (quantile, _) in labels::PERCENTILES {
                let found = labels::percentile(latency, quantile).and_then(|p| p.value_ns);
                write!(out, ",{}", number(found.map(|ns| ns as f64 / 1e6)))?;
            }
            let max = latency.max_ns as f64 / 1e6;
            writeln!(out, ",{max},{},{}", point.exploring, curve.knee == Some(at))?;
        }
    }
    Ok(())
}

/// Writes the time series of the whole run: a line for each slot, stream and verb that did anything.
pub fn time_series(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    write!(out, "run,stream,verb,start_s,length_s,operations_per_second,mebibytes_per_second,")?;
    writeln!(out, "latency_ms_mean,errors")?;
    for run in &record.runs {
        let slot_ns = run.plan.slot.0.max(1);
        for interval in &run.intervals {
            for (at, slot) in interval.slots.iter().enumerate() {
                for ((verb, _), counts) in interval.cells.iter().zip(slot) {
                    if counts.operations == 0 && counts.errors == 0 {
                        continue;
                    }
                    let start = run.began_ns + interval.start_ns + at as u64 * slot_ns;
                    let length = slot_ns as f64 / 1e9;
                    let latency = (counts.operations > 0)
                        .then(|| counts.latency_sum_ns as f64 / counts.operations as f64 / 1e6);
                    writeln!(
                        out,
                        "{},{},{},{:.3},{length},{},{},{},{}",
                        field(&run.name),
                        interval.stream.0,
                        name(verb),
                        start as f64 / 1e9,
                        counts.operations as f64 / length,
                        fathom_spec::Bytes(counts.bytes).mebibytes() / length,
                        number(latency),
                        counts.errors
                    )?;
                }
            }
        }
    }
    Ok(())
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

    #[test]
    fn a_comma_in_a_name_is_quoted() {
        assert_eq!(field("small reads, 16 \"q\""), "\"small reads, 16 \"\"q\"\"\"");
    }
}
