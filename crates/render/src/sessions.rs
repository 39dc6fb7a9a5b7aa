//! Runs of database sessions (`slob`) for the terminal: figures, the curve over sessions, the verdict.

use crate::plot::{self, Panel};
use crate::terminal::Style;
use crate::{labels, number, text};
use fathom_record::{CurveName, Figure, FigureName, LatencyFigures, ResultRecord, Unit};
use std::io::{self, Write};

/// The figures that such a run can have, with the name of their line and what they are.
const FIGURES: [(FigureName, &str, &str); 13] = [
    (FigureName::Iops, "operations", "SQL operations a second"),
    (FigureName::LogicalReads, "logical", "blocks a second that the sessions asked the database's cache for"),
    (FigureName::PhysicalReads, "physical", "blocks a second that were not in it, as the database counts"),
    (FigureName::PhysicalWrites, "written", "blocks a second that the database wrote"),
    (FigureName::DeviceReads, "disk reads", "a second on the disks below the data, by everybody"),
    (FigureName::DeviceWrites, "disk write", "writes a second on the disks below data and log, by everybody"),
    (FigureName::LogMbps, "log", "MiB/s (2^20 bytes) of the database's log"),
    (FigureName::FromDisk, "from disk", "of the table blocks that were asked for"),
    (FigureName::SelectLatency, "select", "mean"),
    (FigureName::UpdateLatency, "update", "mean, without its commit"),
    (FigureName::CommitLatency, "commit", "mean"),
    (FigureName::ScanLatency, "scan", "mean"),
    (FigureName::ResponseTime, "response", "mean, from the intended start"),
];

/// Writes what a run or a sweep has shown. `saved` as in [`text::write`].
pub fn write(
    record: &ResultRecord,
    saved: Option<&str>,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    for (name, head, says) in FIGURES {
        if let Some(figure) = labels::figure(record, name) {
            one(figure, head, says, style, out)?;
        }
    }
    if let Some(figure) = labels::figure(record, FigureName::OfTheDisk) {
        one(figure, "of disk", "of what the disk can do at that latency", style, out)?;
    }
    let latencies: Vec<(&str, &LatencyFigures)> = FIGURES
        .iter()
        .filter(|(name, _, _)| *name != FigureName::Iops)
        .filter_map(|(name, head, _)| Some((*head, labels::figure(record, *name)?.latency.as_ref()?)))
        .collect();
    text::percentiles(&latencies, style, out)?;
    curve(record, style, out)?;
    text::verdict(record, style, out)?;
    text::notes(record, style, out)?;
    match saved {
        Some(saved) => out.write_all(style.hanging("saved    ", 9, saved).as_bytes()),
        None => Ok(()),
    }
}

fn one(figure: &Figure, head: &str, says: &str, style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut says = says.to_owned();
    if head == "operations"
        && let Some(load) = figure.load
    {
        says.push_str(&format!(", {} session{}", load.small, if load.small == 1 { "" } else { "s" }));
    }
    if let Some(note) = &figure.note {
        says.push_str("; ");
        says.push_str(note);
    }
    let value = match figure.unit {
        Unit::Nanoseconds => number::time(figure.value),
        Unit::Ratio => number::percent(figure.value),
        _ if figure.value < 100.0 => number::significant(figure.value, 3),
        _ => format!("{:.0}", figure.value),
    };
    let error = match figure.unit {
        Unit::Ratio if figure.half_width.is_none() => String::new(),
        _ if figure.value == 0.0 => String::new(),
        _ => text::error_of(figure),
    };
    text::line(&format!("{head:<11}"), &value, &error, &says, style, out)
}

/// Operations and latency over sessions, side by side.
fn curve(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let wanted = |curve: &&fathom_record::Curve| curve.name == CurveName::Sessions && curve.points.len() > 1;
    let Some(curve) = record.curves.iter().find(wanted) else { return Ok(()) };
    let rate: Vec<(f64, f64)> = curve.points.iter().map(|p| (labels::level(p.load), p.iops)).collect();
    let late: Vec<(f64, f64)> =
        curve.points.iter().map(|p| (labels::level(p.load), p.latency.mean_ns)).collect();
    let side_by_side = style.columns() >= 72;
    let width = if side_by_side { (style.columns() - 2) / 2 } else { style.columns() }.min(56);
    let mark = if style.unicode { '\u{25cf}' } else { '#' };
    let panel = |title, points, label| Panel { title, points, marked: curve.knee, label, width, rows: 5 };
    let left = plot::lines(
        &panel(format!("operations/s over sessions ({mark} best)"), &rate, number::short),
        style.unicode,
    );
    let right = plot::lines(&panel("mean latency".into(), &late, number::time), style.unicode);
    writeln!(out)?;
    match side_by_side {
        true => left.iter().zip(&right).try_for_each(|(l, r)| writeln!(out, "{l}  {}", r.trim_end()))?,
        false => left.iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))?,
    }
    writeln!(out)?;
    writeln!(out, "sessions  operations/s     +-   mean latency")?;
    for (index, point) in curve.points.iter().enumerate() {
        let error = number::percent_of(point.iops, point.iops_half_width).unwrap_or("?".to_owned());
        let best = if curve.knee == Some(index) { "  best" } else { "" };
        writeln!(
            out,
            "{:>8} {:>13.0} {error:>6} {:>14}{best}",
            point.load.small,
            point.iops,
            number::time(point.latency.mean_ns)
        )?;
    }
    Ok(())
}
