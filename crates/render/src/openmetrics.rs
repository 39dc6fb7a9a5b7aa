//! A record as OpenMetrics text (openmetrics.io, 1.0): gauges with labels, in base units, for Prometheus' textfile collector.

use crate::{facts, labels};
use fathom_record::{ResultRecord, Unit, VerdictState};
use std::io::{self, Write};

/// A label's value: `\`, `"` and line breaks escaped, as the format says.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// One family of metrics.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

impl Family {
    fn new(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Family { name, unit, help, samples: Vec::new() }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.samples.is_empty() {
            return Ok(());
        }
        writeln!(out, "# TYPE {} gauge", self.name)?;
        if !self.unit.is_empty() {
            writeln!(out, "# UNIT {} {}", self.name, self.unit)?;
        }
        writeln!(out, "# HELP {} {}", self.name, self.help)?;
        self.samples.iter().try_for_each(|(labels, value)| writeln!(out, "{}{{{labels}}} {value}", self.name))
    }
}

/// Writes the figures with half the widths of their intervals, latencies, and whether the figures are reliable.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let of = |(name, value): (&str, String)| format!("{name}=\"{}\"", escaped(&value));
    let own: Vec<String> = [
        Some(("tool", record.tool.clone())),
        Some(("target", record.targets.join(","))),
        facts::host(&record.facts).map(|host| ("host", host)),
        facts::device(&record.facts).map(|device| ("device", device)),
        record.label.clone().map(|label| ("label", label)),
    ]
    .into_iter()
    .flatten()
    .map(of)
    .collect();
    let own = own.join(",");
    let mut operations =
        Family::new("fathom_operations_per_second", "", "Operations a second at the load of the figure.");
    let mut bytes = Family::new("fathom_bytes_per_second", "", "Bytes a second at the load of the figure.");
    let mut ratio = Family::new("fathom_figure_ratio", "ratio", "Shares.");
    let mut half = Family::new(
        "fathom_half_width_ratio",
        "ratio",
        "Half the width of the 95 % interval over the value of the figure.",
    );
    let mut mean =
        Family::new("fathom_latency_mean_seconds", "seconds", "Mean latency at the load of the figure.");
    let mut quantiles = Family::new("fathom_latency_seconds", "seconds", "Percentiles of latency.");
    for (name, figure) in &record.summary {
        let labelled = format!("figure=\"{}\",{own}", labels::word(name));
        match figure.unit {
            Unit::PerSecond => operations.samples.push((labelled.clone(), figure.value)),
            Unit::MebibytesPerSecond => {
                bytes.samples.push((labelled.clone(), figure.value * fathom_spec::MIB as f64));
            }
            Unit::Ratio => ratio.samples.push((labelled.clone(), figure.value)),
            Unit::Nanoseconds => {}
        }
        if let Some(relative) = figure.half_width.map(|half| half / figure.value).filter(|r| r.is_finite()) {
            half.samples.push((labelled.clone(), relative));
        }
        let latency = figure.latency.as_ref();
        let mean_ns = match figure.unit {
            Unit::Nanoseconds => Some(figure.value),
            _ => latency.map(|latency| latency.mean_ns),
        };
        mean.samples.extend(mean_ns.map(|ns| (labelled.clone(), ns / 1e9)));
        for (quantile, _) in labels::PERCENTILES {
            let found = latency.and_then(|latency| labels::percentile(latency, quantile)?.value_ns);
            let sample = |ns: u64| (format!("quantile=\"{quantile}\",{labelled}"), ns as f64 / 1e9);
            quantiles.samples.extend(found.map(sample));
        }
    }
    let mut reliable = Family::new(
        "fathom_reliable",
        "",
        "1 where every check of the result passed, 0 where one failed, 0.5 where one could not be made.",
    );
    let state = match record.verdict.state {
        VerdictState::Believable => 1.0,
        VerdictState::NotBelievable => 0.0,
        VerdictState::CannotTell => 0.5,
    };
    reliable.samples.push((own.clone(), state));
    for family in [operations, bytes, ratio, half, mean, quantiles, reliable] {
        family.write(out)?;
    }
    writeln!(out, "# EOF")
}
