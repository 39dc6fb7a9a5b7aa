//! Latencies as a table: one load in a column, a percentile with its interval in a row.

use crate::terminal::{Style, Tone, table};
use crate::{labels, number};
use fathom_record::LatencyFigures;
use std::io::{self, Write};

/// Writes the table, in as many parts one below the other as the width asks for. A percentile that is not known is `-`, and a line under
/// the table says why.
pub fn write(columns: &[(&str, &LatencyFigures)], style: Style, out: &mut impl Write) -> io::Result<()> {
    let cells: Vec<Vec<String>> =
        columns.iter().map(|(name, latency)| column(name, latency, style)).collect();
    let heads: Vec<String> = ["Latency", "mean"]
        .into_iter()
        .chain(labels::PERCENTILES.iter().map(|(_, label)| *label))
        .chain(["max", "samples"])
        .map(|head| if head == "Latency" { head.to_owned() } else { format!("  {head}") })
        .collect();
    let width = |cells: &[String]| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut rest = &cells[..];
    while !rest.is_empty() {
        let mut used = width(&heads);
        let fits = rest.iter().take_while(|cells| {
            used += 2 + width(cells);
            used <= style.columns()
        });
        let count = fits.count().max(1);
        let (part, others) = rest.split_at(count);
        let rows: Vec<Vec<String>> = heads
            .iter()
            .enumerate()
            .map(|(at, head)| {
                std::iter::once(head.clone()).chain(part.iter().map(|cells| cells[at].clone())).collect()
            })
            .collect();
        let text = table(&rows, &[]);
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        writeln!(out)?;
        writeln!(out, "{}", style.paint(Tone::Strong, head))?;
        out.write_all(body.as_bytes())?;
        rest = others;
    }
    let missing = missing(columns);
    match missing.is_empty() {
        true => Ok(()),
        false => out.write_all(style.hanging("  ", 4, &missing.join("; ")).as_bytes()),
    }
}

fn column(name: &str, latency: &LatencyFigures, style: Style) -> Vec<String> {
    let mut cells = vec![name.to_owned(), mean_text(latency)];
    cells.extend(labels::PERCENTILES.iter().map(|(quantile, _)| {
        let found = labels::percentile(latency, *quantile).and_then(labels::percentile_text);
        found.unwrap_or_else(|| "-".to_owned())
    }));
    cells.extend([number::time(latency.max_ns as f64), number::grouped(latency.count as f64)]);
    cells.iter().map(|cell| style.typeset(cell)).collect()
}

/// Why a percentile is not there, each reason once.
fn missing(columns: &[(&str, &LatencyFigures)]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for (quantile, label) in labels::PERCENTILES {
        for (name, latency) in columns {
            let found = labels::percentile(latency, quantile);
            if found.is_none_or(|percentile| percentile.value_ns.is_none()) {
                let why = found.and_then(|percentile| percentile.why.as_deref()).unwrap_or("not kept");
                reasons.push(format!("{label} of {name}: {why}"));
            }
        }
    }
    reasons
}

fn mean_text(latency: &LatencyFigures) -> String {
    let value = number::time(latency.mean_ns);
    match latency.mean_half_width_ns {
        Some(half) if half >= latency.mean_ns => format!("~{value}"),
        Some(half) if half > 0.0 => {
            let (low, high) = (latency.mean_ns - half, latency.mean_ns + half);
            format!("{value} ({})", number::time_ends(&value, low, high))
        }
        _ => value,
    }
}
