//! A record as `name=value`, one a line, for scripts: figures by their names in the record, in the units that the names end in.

use crate::{facts, labels};
use fathom_record::{ResultRecord, Unit};
use std::io::{self, Write};

/// Writes what the record is of, its verdict, and every figure with half the width of its interval, its mean latency and percentiles.
/// A value is what stands behind the first `=`; one that was not measured has no line. A line break within a name is written as `\n`.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let text = |value: &str| fathom_spec::names::printable(value);
    writeln!(out, "id={}", text(&record.id))?;
    writeln!(out, "tool={}", text(&record.tool))?;
    writeln!(out, "version={}", text(&record.version))?;
    writeln!(out, "started={}", text(&record.started))?;
    writeln!(out, "ended={}", text(&record.ended))?;
    writeln!(out, "target={}", text(&record.targets.join(",")))?;
    for (name, value) in [
        ("host", facts::host(&record.facts)),
        ("device", facts::device(&record.facts)),
        ("label", record.label.clone()),
    ] {
        if let Some(value) = value {
            writeln!(out, "{name}={}", text(&value))?;
        }
    }
    writeln!(out, "verdict={}", record.verdict.state)?;
    for (name, figure) in &record.summary {
        let name = labels::word(name);
        let unit = match figure.unit {
            Unit::Nanoseconds => "_ns",
            _ => "",
        };
        writeln!(out, "{name}{unit}={}", figure.value)?;
        if let Some(half) = figure.half_width {
            writeln!(out, "{name}{unit}_half_width={half}")?;
        }
        if let Some(bound) = &figure.bound {
            writeln!(out, "{name}_limited_by={}", labels::word(&bound.by))?;
        }
        if let Some(load) = figure.load {
            writeln!(out, "{name}_depth={}", load.small.max(load.large))?;
        }
        let Some(latency) = &figure.latency else { continue };
        if figure.unit != Unit::Nanoseconds {
            writeln!(out, "{name}_latency_ns={}", latency.mean_ns)?;
        }
        for (quantile, label) in labels::PERCENTILES {
            if let Some(ns) = labels::percentile(latency, quantile).and_then(|found| found.value_ns) {
                writeln!(out, "{name}_latency_ns_{}={ns}", label.replace('.', "_"))?;
            }
        }
    }
    Ok(())
}
