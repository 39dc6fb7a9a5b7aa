//! One load (`run`) and `ping` for the terminal.

use crate::terminal::Style;
use crate::{labels, number, text};
use fathom_record::{Figure, FigureName, LatencyFigures, ResultRecord, Unit};
use std::io::{self, Write};

/// The figures that a described load can have, with the name of their line.
const FIGURES: [(FigureName, &str); 7] = [
    (FigureName::Iops, "iops"),
    (FigureName::Mbps, "mbps"),
    (FigureName::ReadLatency, "read"),
    (FigureName::WriteLatency, "write"),
    (FigureName::SyncLatency, "sync"),
    (FigureName::ResponseTime, "response"),
    (FigureName::SustainedShare, "sustained"),
];

/// Writes what one load did: throughput, latencies, verdict, notes. `saved` as in [`text::write`].
pub fn write(
    record: &ResultRecord,
    saved: Option<&str>,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    for (name, head) in FIGURES {
        if let Some(figure) = labels::figure(record, name) {
            one(record, figure, head, style, out)?;
        }
    }
    text::percentiles(&latencies(record), style, out)?;
    text::verdict(record, style, out)?;
    text::notes(record, style, out)?;
    match saved {
        Some(saved) => out.write_all(style.hanging("saved    ", 9, saved).as_bytes()),
        None => Ok(()),
    }
}

/// Writes what `ping` saw: the latencies of single reads, no throughput (there is none to speak of).
pub fn write_ping(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let target = fathom_spec::names::printable(&record.targets.join(", "));
    match labels::figure(record, FigureName::ReadLatency).and_then(|f| f.latency.as_ref()) {
        Some(latency) => {
            let reads = number::grouped(latency.count as f64);
            let plural = if latency.count == 1 { "" } else { "s" };
            writeln!(out, "{target}: {reads} read{plural}, one at a time")?;
            text::percentiles(&[("read", latency)], style, out)?;
        }
        None => writeln!(out, "{target}: no read was answered")?,
    }
    text::notes(record, style, out)
}

fn latencies(record: &ResultRecord) -> Vec<(&'static str, &LatencyFigures)> {
    FIGURES
        .iter()
        .filter_map(|(name, head)| Some((*head, labels::figure(record, *name)?.latency.as_ref()?)))
        .collect()
}

fn one(
    record: &ResultRecord,
    figure: &Figure,
    head: &str,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let size = labels::run_of(record, figure).and_then(labels::block_size);
    let mut parts = Vec::new();
    match figure.unit {
        Unit::PerSecond => {
            parts.push(format!("{} operations/s", size.unwrap_or_default()).trim().to_owned());
            parts.extend(labels::outstanding(figure.load));
        }
        Unit::MebibytesPerSecond => parts.push("MiB/s (2^20 bytes)".to_owned()),
        Unit::Nanoseconds if head == "response" => parts.push("mean, from the intended start".to_owned()),
        Unit::Nanoseconds => parts.push("mean, from submission to completion".to_owned()),
        Unit::Ratio => parts.push("of the first throughput was left at the end".to_owned()),
    }
    let mut text = parts.join(", ");
    for more in [labels::bound(figure.bound.as_ref()), figure.note.clone()].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(&more);
    }
    if !figure.converged {
        text.push_str("; did not converge");
    }
    let value = match figure.unit {
        Unit::Nanoseconds => number::time(figure.value),
        Unit::Ratio => number::percent(figure.value),
        Unit::MebibytesPerSecond if figure.value < 100.0 => number::significant(figure.value, 3),
        _ => format!("{:.0}", figure.value),
    };
    text::line(&format!("{head:<11}"), &value, &text::error_of(figure), &text, style, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample_record;

    /// A described load made of the sample's figures.
    fn load() -> ResultRecord {
        let mut record = sample_record();
        let take = |name| labels::figure(&record, name).cloned().unwrap();
        let (iops, latency, mbps) =
            (take(FigureName::MaxIops), take(FigureName::Latency), take(FigureName::MaxMbps));
        record.tool = "run".into();
        record.summary.clear();
        record.summary.insert(FigureName::Iops, iops);
        record.summary.insert(FigureName::ReadLatency, latency);
        record.summary.insert(FigureName::Mbps, Figure { converged: false, ..mbps });
        record
    }

    #[test]
    fn one_load() {
        let mut out = Vec::new();
        write(&load(), None, Style::default(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_ping() {
        let mut out = Vec::new();
        write_ping(&load(), Style::default(), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
