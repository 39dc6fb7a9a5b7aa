//! A record in one line, for people who measure often.

use crate::terminal::Style;
use crate::{figure_rows, labels, number, report};
use fathom_record::{Figure, FigureName, ResultRecord};
use std::io::{self, Write};

/// Writes the line. It is not broken, however narrow the terminal is.
pub fn write(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let targets = fathom_spec::names::printable(&record.targets.join(", "));
    let mut parts: Vec<String> = Vec::new();
    let rows = figure_rows::throughput(record);
    for row in rows.iter().filter(|row| !row.indented || row.unit == "MiB/s").take(3) {
        let error = report::error_of(row.value, row.half_width);
        let beside: Vec<String> = [
            Some(row.label[..1].to_lowercase() + &row.label[1..]).filter(|_| !row.indented),
            Some(format!("QD {}", row.depth)).filter(|_| !row.depth.is_empty()),
            row.latency_ns.map(number::time),
        ]
        .into_iter()
        .flatten()
        .collect();
        let value = number::with_error(row.value, row.half_width);
        parts.push(format!("{value} {} {error} ({})", row.unit, beside.join(", ")).replace(" ()", ""));
    }
    let time = |name, label: &str| {
        let of = |figure: &Figure| figure.latency.as_ref().map(|latency| latency.mean_ns);
        let mean = labels::figure(record, name).and_then(of)?;
        Some(format!("{label} {}", number::time(mean)))
    };
    parts.extend(time(FigureName::CommitsPerSecond, "commit"));
    parts.extend(time(FigureName::UnloadedLatency, "QD 1"));
    let (tone, sign) = report::verdict_mark(record.verdict.state, style);
    let reason = report::against(record).next();
    let reason = reason.map(|check| format!(": {}", check.name)).unwrap_or_default();
    let verdict = style.paint(tone, &format!("{sign}{}{reason}", labels::verdict(record.verdict.state)));
    let between = if style.unicode { " \u{b7} " } else { "; " };
    writeln!(out, "{targets}   {}   {verdict}", style.typeset(&parts.join(between)))
}
