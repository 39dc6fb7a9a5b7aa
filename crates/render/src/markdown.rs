//! A record as tables of Markdown, for an issue, a wiki or a merge request.

use crate::figure_rows;
use crate::{facts, labels, number, report};
use fathom_record::{CheckOutcome, ResultRecord};
use std::io::{self, Write};

/// Text in which no character has a meaning for Markdown's tables.
fn plain(text: &str) -> String {
    fathom_spec::names::printable(text).replace('\\', "\\\\").replace('|', "\\|").replace('`', "\\`")
}

/// Writes a table; the first row are heads, columns from the second on are numbers.
pub(crate) fn table(rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
        if at == 0 {
            let rule: Vec<&str> = (0..row.len()).map(|at| if at == 0 { "---" } else { "---:" }).collect();
            writeln!(out, "| {} |", rule.join(" | "))?;
        }
    }
    Ok(())
}

/// Writes what was measured, the verdict, throughputs, commits, latencies, checks and notes.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "## {} of {}", plain(&record.tool), plain(&record.targets.join(", ")))?;
    let about = [
        facts::storage_line(&record.facts),
        facts::host(&record.facts).map(|host| format!("host {host}")),
        Some(labels::moment(&record.started)),
        record.label.clone(),
    ];
    let about: Vec<String> = about.into_iter().flatten().map(|part| plain(&part)).collect();
    writeln!(out, "\n{}, fathom {}", about.join(", "), plain(&record.version))?;
    writeln!(out, "\n**{}**", labels::verdict(record.verdict.state))?;
    throughput(record, out)?;
    commits(record, out)?;
    latencies(record, out)?;
    let open = record.verdict.checks.iter().filter(|check| check.outcome != CheckOutcome::Passed);
    let lines: Vec<String> = open
        .map(|check| {
            let hint = check.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}: {}: {}{hint}", labels::outcome(check.outcome).0, check.name, check.seen)
        })
        .chain(record.expectations.iter().map(|one| report::expectation_text(record, one)))
        .chain(record.notes.iter().map(|note| note.text.clone()))
        .collect();
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "- {}", plain(line)))
}

fn throughput(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let rows = figure_rows::throughput(record);
    if rows.is_empty() {
        return Ok(());
    }
    let mut lines = vec![
        ["figure", "result", "+-", "queue depth", "mean latency", "limited by"].map(str::to_owned).to_vec(),
    ];
    for (row, name) in rows.iter().zip(figure_rows::whole_names(&rows)) {
        lines.push(vec![
            name,
            format!("{} {}", number::with_error(row.value, row.half_width), row.unit),
            report::error_of(row.value, row.half_width),
            row.depth.clone(),
            row.latency_ns.map(number::time).unwrap_or_default(),
            row.limited_by.unwrap_or_default().to_owned(),
        ]);
    }
    writeln!(out)?;
    table(&lines, out)
}

fn commits(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let rows = figure_rows::commits(record);
    if rows.is_empty() {
        return Ok(());
    }
    let mut lines =
        vec![["commits", "writers", "per second", "+-", "mean", "p99"].map(str::to_owned).to_vec()];
    let mut above = "";
    for row in &rows {
        if !row.way.is_empty() {
            above = row.way;
        }
        let latency = row.figure.latency.as_ref();
        let p99 = latency.and_then(|latency| labels::percentile(latency, 0.99));
        lines.push(vec![
            above.to_owned(),
            row.writers.to_string(),
            number::with_error(row.figure.value, row.figure.half_width),
            report::error_of(row.figure.value, row.figure.half_width),
            latency.map(|latency| number::time(latency.mean_ns)).unwrap_or_default(),
            p99.and_then(labels::percentile_text).unwrap_or_default(),
        ]);
    }
    writeln!(out)?;
    table(&lines, out)
}

fn latencies(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    let rows = figure_rows::latencies(record);
    if rows.is_empty() {
        return Ok(());
    }
    let heads = ["latency", "mean"].into_iter().chain(labels::PERCENTILES.map(|(_, label)| label));
    let mut lines = vec![heads.chain(["max", "samples"]).map(str::to_owned).collect::<Vec<_>>()];
    for (name, latency) in rows {
        let mut cells = vec![name.to_owned(), number::time(latency.mean_ns)];
        cells.extend(labels::PERCENTILES.map(|(quantile, _)| {
            labels::percentile(latency, quantile).and_then(labels::percentile_text).unwrap_or_default()
        }));
        cells.extend([number::time(latency.max_ns as f64), number::grouped(latency.count as f64)]);
        lines.push(cells);
    }
    writeln!(out)?;
    table(&lines, out)
}
