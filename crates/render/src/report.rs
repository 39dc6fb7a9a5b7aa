//! A result for the terminal: what was measured and whether it holds in the first two lines, then one figure a row, commits,
//! latencies, the curve, the checks, and what to do. The same for every tool; a part that a record has nothing for is left out.

use crate::figure_rows::{self, ThroughputRow};
use crate::plot::{self, Panel};
use crate::terminal::{Style, Tone, table};
use crate::{facts, labels, latency_table, number};
use fathom_record::{
    Check, CheckOutcome, Curve, CurveName, Ending, Expectation, ExpectationOutcome, ExpectedValue,
    FigureName, Note, ResultRecord, Unit, VerdictState,
};
use fathom_spec::names::printable;
use std::io::{self, Write};

/// From so many columns on a row has the interval of its figure, and from so many its latency too.
const WITH_INTERVAL: usize = 76;
const WITH_LATENCY: usize = 92;

/// Writes a result. `saved` says where it can be found again: `run 12 in FILE: fathom show 12`.
pub fn write(
    record: &ResultRecord,
    saved: Option<&str>,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    head(record, style, out)?;
    verdict_line(record, style, out)?;
    expectations(record, style, out)?;
    throughput(record, style, out)?;
    commits(record, style, out)?;
    latency_table::write(&figure_rows::latencies(record), style, out)?;
    curve(record, style, out)?;
    sessions(record, style, out)?;
    checks(record, style, out)?;
    notes(record, style, out)?;
    if saved.is_some() || record.label.is_some() {
        writeln!(out)?;
    }
    for (head, text) in
        [("label  ", record.label.as_deref().map(printable)), ("saved  ", saved.map(str::to_owned))]
    {
        if let Some(text) = text {
            out.write_all(style.hanging(head, 7, &text).as_bytes())?;
        }
    }
    Ok(())
}

/// Program, target, device, host and moment, broken between them.
fn head(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let parts = [
        Some(format!("fathom {} {}", record.version, record.tool)),
        Some(printable(&record.targets.join(", "))).filter(|targets| !targets.is_empty()),
        facts::storage_short(&record.facts),
        facts::host(&record.facts).map(|host| format!("host {}", printable(&host))),
        Some(labels::moment_to_the_minute(&record.started)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut line = String::new();
    for part in parts {
        let beside = line.chars().count() + 3 + part.chars().count() <= style.columns();
        match (line.is_empty(), beside) {
            (true, _) => {}
            (false, true) => line.push_str("   "),
            (false, false) => {
                writeln!(out, "{line}")?;
                line = "  ".to_owned();
            }
        }
        line.push_str(&part);
    }
    writeln!(out, "{line}")
}

/// The verdict in capitals with the first reason against it.
fn verdict_line(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let (state, checks) = (record.verdict.state, &record.verdict.checks);
    let ending = match record.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("interrupted: what was measured is shown"),
        Ending::Failed => Some("it failed: what was measured is shown"),
    };
    let against: Vec<&Check> = against(record).collect();
    let mut reasons: Vec<String> = ending.map(str::to_owned).into_iter().collect();
    match (against.as_slice(), state, checks.is_empty()) {
        (_, _, true) => reasons.push("no check was made".to_owned()),
        ([], ..) => reasons.push(passed_text(checks)),
        ([one], ..) => reasons.push(format!("{}: {}", one.name, one.seen)),
        ([first, more @ ..], ..) => {
            reasons.push(format!("{}: {} (and {} more below)", first.name, first.seen, more.len()));
        }
    }
    let (tone, sign) = verdict_mark(state, style);
    let head = format!("{sign}{}  ", labels::verdict(state).to_uppercase());
    let indent = head.chars().count();
    let head = style.paint(tone, &head);
    out.write_all(style.hanging(&head, indent, &style.typeset(&reasons.join("; "))).as_bytes())
}

/// How a verdict is painted, and the sign before it where the terminal can show one.
pub(crate) fn verdict_mark(state: VerdictState, style: Style) -> (Tone, &'static str) {
    let (tone, sign) = match state {
        VerdictState::Believable => (Tone::Good, "\u{2713} "),
        VerdictState::NotBelievable => (Tone::Bad, "\u{2717} "),
        VerdictState::CannotTell => (Tone::Warning, "? "),
    };
    (tone, if style.unicode { sign } else { "" })
}

/// The checks that keep a result from being reliable.
pub(crate) fn against(record: &ResultRecord) -> impl Iterator<Item = &Check> {
    let outcome = match record.verdict.state {
        VerdictState::Believable => None,
        VerdictState::NotBelievable => Some(CheckOutcome::Failed),
        VerdictState::CannotTell => Some(CheckOutcome::Unknown),
    };
    record.verdict.checks.iter().filter(move |check| Some(check.outcome) == outcome)
}

fn passed_text(checks: &[Check]) -> String {
    let noted = checks.iter().filter(|check| check.outcome == CheckOutcome::Noted).count();
    let passed = checks.iter().filter(|check| check.outcome == CheckOutcome::Passed).count();
    match noted {
        0 => format!("{passed} checks passed"),
        1 => format!("{passed} checks passed, 1 warning"),
        _ => format!("{passed} checks passed, {noted} warnings"),
    }
}

/// What was expected, and what came of it.
fn expectations(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    for expectation in &record.expectations {
        let (tone, word) = match expectation.outcome {
            ExpectationOutcome::Reached => (Tone::Good, "reached"),
            ExpectationOutcome::Short => (Tone::Bad, "NOT REACHED"),
            ExpectationOutcome::Unknown => (Tone::Warning, "not measured"),
        };
        let text =
            format!("{}: {}", style.paint(tone, word), style.typeset(&expectation_text(record, expectation)));
        out.write_all(style.hanging("expected  ", 10, &text).as_bytes())?;
    }
    Ok(())
}

/// `iops of at least 200,000 IOPS; measured 90,000 IOPS, 55 % less; limited by: device`.
pub fn expectation_text(record: &ResultRecord, expectation: &Expectation) -> String {
    let Expectation { name, figure, of, wanted, unit, found, outcome } = expectation;
    let value = |value: f64| match unit {
        Unit::Nanoseconds => number::time(value),
        Unit::MebibytesPerSecond => format!("{} MiB/s", number::significant(value, 3)),
        Unit::PerSecond => format!("{} /s", number::significant(value, 3)),
        Unit::Ratio => number::percent(value),
    };
    let bound = if *of == ExpectedValue::Value { "at least" } else { "at most" };
    let mut text = format!("{name} of {bound} {}", value(*wanted));
    if let Some(found) = found {
        text.push_str(&format!("; measured {}", value(*found)));
        if *outcome == ExpectationOutcome::Short {
            let more = found > wanted;
            text.push_str(&match found / wanted {
                ratio if ratio >= 3.0 => format!(", {} times as much", number::significant(ratio, 2)),
                ratio => {
                    format!(
                        ", {} {}",
                        number::percent((ratio - 1.0).abs()),
                        if more { "more" } else { "less" }
                    )
                }
            });
        }
    }
    let by = labels::figure(record, *figure).and_then(|figure| figure.bound.as_ref());
    if let (Some(by), ExpectationOutcome::Short) = (by, outcome) {
        text.push_str(&format!("; limited by: {}", figure_rows::limited_by(by.by)));
    }
    text
}

/// One figure a row.
fn throughput(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let rows = figure_rows::throughput(record);
    if rows.is_empty() {
        return Ok(());
    }
    let (interval, latency) = (style.columns() >= WITH_INTERVAL, style.columns() >= WITH_LATENCY);
    let any = |of: fn(&ThroughputRow) -> bool| rows.iter().any(of);
    let (depths, limits) = (any(|row| !row.depth.is_empty()), any(|row| row.limited_by.is_some()));
    let latencies = latency && any(|row| row.latency_ns.is_some());
    let mut heads = vec!["", "result", if interval { "95 % interval" } else { "+-" }];
    heads.extend(depths.then_some("depth"));
    heads.extend(latencies.then_some("mean latency"));
    heads.extend(limits.then_some("limited by"));
    let mut lines = vec![heads.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for row in &rows {
        let indent = if row.indented { "  " } else { "" };
        let error = if interval { interval_of(row) } else { error_of(row.value, row.half_width) };
        let value = value_of(row.value, row.half_width);
        let mut cells = vec![format!("{indent}{}", row.label), format!("{value} {}", row.unit), error];
        cells.extend(depths.then(|| row.depth.clone()));
        cells.extend(latencies.then(|| row.latency_ns.map(number::time).unwrap_or_default()));
        cells.extend(limits.then(|| row.limited_by.unwrap_or_default().to_owned()));
        lines.push(cells);
    }
    writeln!(out)?;
    columns(&lines, &[1, 2, 3, if latencies { 4 } else { 3 }], style, out)?;
    for (note, names) in noted(&rows) {
        let names = match names.as_slice() {
            [first, _, _, more @ ..] => format!("{first} and {} more", more.len() + 2),
            few => few.join("; "),
        };
        out.write_all(style.hanging("  ", 4, &style.typeset(&format!("{names}: {note}"))).as_bytes())?;
    }
    Ok(())
}

/// One figure while the measurement goes on: `small reads, 96 outstanding: 90,000 IOPS +-9.4 %, mean latency 1.02 ms`; without an error it
/// is preliminary.
pub fn figure_line(
    name: &str,
    value: f64,
    unit: &str,
    relative: Option<f64>,
    latency_ns: Option<f64>,
) -> String {
    let latency = latency_ns.map(|ns| format!(", mean latency {}", number::time(ns))).unwrap_or_default();
    match relative {
        Some(relative) => {
            let half_width = Some(value * relative);
            let (shown, error) = (number::with_error(value, half_width), error_of(value, half_width));
            format!("{name}: {shown} {unit} {error}{latency}")
        }
        None => format!("{name}: {} {unit} so far{latency}", number::significant(value, 3)),
    }
}

/// Rows with a head that stands out.
fn columns(rows: &[Vec<String>], right: &[usize], style: Style, out: &mut impl Write) -> io::Result<()> {
    let text = style.typeset(&table(rows, right));
    let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
    writeln!(out, "{}", style.paint(Tone::Strong, head))?;
    out.write_all(rest.as_bytes())
}

/// Is the interval as wide as the figure? Then it says no more than the order of magnitude.
fn is_unstable(value: f64, half_width: Option<f64>) -> bool {
    half_width.is_some_and(|half| half.is_nan() || half >= value.abs() && half > 0.0)
}

/// As many digits as the error allows; one digit of what is unstable.
fn value_of(value: f64, half_width: Option<f64>) -> String {
    match is_unstable(value, half_width) {
        true => format!("~{}", number::significant(value, 1)),
        false => number::with_error(value, half_width),
    }
}

fn interval_of(row: &ThroughputRow) -> String {
    match row.half_width.filter(|half| half.is_finite()) {
        _ if is_unstable(row.value, row.half_width) => "unstable".to_owned(),
        Some(half) => {
            let (low, high) = number::ends(row.value, half);
            format!("{low} .. {high}")
        }
        None => "-".to_owned(),
    }
}

/// `+-3.1 %`; `unstable` where that would reach zero, `-` where it is not known.
pub(crate) fn error_of(value: f64, half_width: Option<f64>) -> String {
    match number::percent_of(value, half_width) {
        _ if is_unstable(value, half_width) => "unstable".to_owned(),
        Some(percent) => format!("+-{percent}"),
        None => "-".to_owned(),
    }
}

/// Each note once, with the rows that it is of.
fn noted(rows: &[ThroughputRow]) -> Vec<(&str, Vec<String>)> {
    let mut notes: Vec<(&str, Vec<String>)> = Vec::new();
    for (row, name) in rows.iter().zip(figure_rows::whole_names(rows)) {
        let Some(note) = &row.note else { continue };
        match notes.iter_mut().find(|(text, _)| text == note) {
            Some((_, names)) => names.push(name),
            None => notes.push((note, vec![name])),
        }
    }
    notes
}

/// The ways to commit side by side, as pg_test_fsync shows them.
fn commits(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let rows = figure_rows::commits(record);
    if rows.is_empty() {
        return Ok(());
    }
    let what = figure_rows::commits_head(record);
    let mut lines =
        vec![["Commits", "writers", "commits/s", "+-", "mean", "p99"].map(str::to_owned).to_vec()];
    for row in &rows {
        let latency = row.figure.latency.as_ref();
        let p99 = latency.and_then(|latency| labels::percentile(latency, 0.99));
        lines.push(vec![
            format!("  {}", row.way),
            row.writers.to_string(),
            value_of(row.figure.value, row.figure.half_width),
            error_of(row.figure.value, row.figure.half_width),
            latency.map_or_else(|| "-".to_owned(), |latency| number::time(latency.mean_ns)),
            p99.and_then(|p99| match style.columns() >= WITH_INTERVAL {
                true => labels::percentile_text(p99),
                false => labels::percentile_value(p99),
            })
            .unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    writeln!(out)?;
    columns(&lines, &[1, 2, 3, 4], style, out)?;
    let notes: Vec<&str> = rows.iter().filter_map(|row| row.figure.note.as_deref()).collect();
    let mut told: Vec<String> = vec![what];
    for note in notes {
        if !told.iter().any(|text| text == note) {
            told.push(note.to_owned());
        }
    }
    let text = told.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ");
    out.write_all(style.hanging("  ", 4, &style.typeset(&text)).as_bytes())
}

/// The curve that is shown, with the index of the point that is marked and what that is.
fn curve_of(record: &ResultRecord) -> Option<(&Curve, Option<usize>, &'static str, &'static str)> {
    let of = |name| record.curves.iter().find(|curve| curve.name == name && curve.points.len() > 1);
    if let Some(curve) = of(CurveName::SmallReads).or(of(CurveName::Mixed)) {
        let chosen = labels::figure(record, FigureName::MaxIops).and_then(|figure| figure.load);
        let marked = curve.points.iter().position(|point| Some(point.load) == chosen);
        return Some((curve, marked, "max", "queue depth"));
    }
    let curve = of(CurveName::Sessions)?;
    Some((curve, curve.knee, "best", "sessions"))
}

/// Throughput and latency over load, side by side, eight lines.
fn curve(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let Some((curve, marked, best, load)) = curve_of(record) else { return Ok(()) };
    let of = |value: fn(&fathom_record::CurvePoint) -> Option<f64>| -> Vec<(f64, f64)> {
        curve.points.iter().filter_map(|p| Some((labels::level(p.load), value(p)?))).collect()
    };
    let (iops, latency) = (of(|p| Some(p.iops)), of(|p| Some(p.latency.mean_ns)));
    let p99 = of(|p| labels::percentile(&p.latency, 0.99)?.value_ns.map(|ns| ns as f64));
    let p99 = if p99.len() > 1 { p99 } else { Vec::new() };
    let side_by_side = style.columns() >= 72;
    let width = if side_by_side { (style.columns() - 2) / 2 } else { style.columns() }.min(56);
    let (mark, line, dots) =
        if style.unicode { ("\u{25cf}", "\u{2500}", "\u{b7}\u{b7}") } else { ("#", ".", ":") };
    let panel = |title, points, dotted, label| Panel { title, points, dotted, marked, label, width, rows: 5 };
    let tail = if p99.is_empty() { String::new() } else { format!(", {dots} p99") };
    let left = format!("{} over {load} ({mark} {best})", if best == "max" { "IOPS" } else { "operations/s" });
    let left = plot::lines(&panel(left, &iops, &[], number::short), style.unicode);
    let right = plot::lines(
        &panel(format!("latency ({line} mean{tail})"), &latency, &p99, number::time),
        style.unicode,
    );
    writeln!(out)?;
    let mut write = |line: &str| writeln!(out, "{}", style.typeset(line.trim_end()));
    match side_by_side {
        true => left.iter().zip(&right).try_for_each(|(l, r)| write(&format!("{l}  {r}"))),
        false => left.iter().chain(&right).try_for_each(|line| write(line)),
    }
}

/// The points of a sweep over sessions, the best one marked.
fn sessions(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let Some(curve) = record.curves.iter().find(|curve| curve.name == CurveName::Sessions) else {
        return Ok(());
    };
    let mut rows = vec![["sessions", "operations/s", "+-", "mean latency", ""].map(str::to_owned).to_vec()];
    for (at, point) in curve.points.iter().enumerate() {
        rows.push(vec![
            point.load.small.to_string(),
            number::with_error(point.iops, point.iops_half_width),
            error_of(point.iops, point.iops_half_width),
            number::time(point.latency.mean_ns),
            if curve.knee == Some(at) { "best" } else { "" }.to_owned(),
        ]);
    }
    writeln!(out)?;
    columns(&rows, &[0, 1, 2, 3], style, out)
}

/// What passed in a line or two, then each doubt with what to do about it.
fn checks(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let checks = &record.verdict.checks;
    if checks.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let sign = |outcome| {
        let (word, sign) = labels::outcome(outcome);
        if style.unicode { sign } else { word }
    };
    let passed: Vec<&str> =
        checks.iter().filter(|c| c.outcome == CheckOutcome::Passed).map(|c| c.name.as_str()).collect();
    let width = if style.unicode { 1 } else { "unknown".len() };
    let mut head = "Checks   ".to_owned();
    if !passed.is_empty() {
        let text = format!("{:<width$} {}", sign(CheckOutcome::Passed), passed.join(", "));
        out.write_all(style.hanging(&head, 9, &text).as_bytes())?;
        head = " ".repeat(9);
    }
    for wanted in [CheckOutcome::Failed, CheckOutcome::Unknown, CheckOutcome::Noted] {
        let tone = if wanted == CheckOutcome::Failed { Tone::Bad } else { Tone::Warning };
        for check in checks.iter().filter(|check| check.outcome == wanted) {
            let start = format!("{head}{}{} ", style.paint(tone, sign(wanted)), pad(sign(wanted), width));
            let mut text = format!("{}: {}", check.name, check.seen);
            if let Some(hint) = &check.hint {
                text.push_str(&format!(" -> {hint}"));
            }
            out.write_all(style.hanging(&start, 10 + width, &style.typeset(&text)).as_bytes())?;
            head = " ".repeat(9);
        }
    }
    Ok(())
}

fn pad(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.chars().count()))
}

/// What the user should know, each once. What to do about it stands behind the last of those that ask for the same.
fn notes(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut told: Vec<&Note> = Vec::new();
    for note in &record.notes {
        if !told.iter().any(|one| one.text == note.text) {
            told.push(note);
        }
    }
    let mut head = "Notes    ";
    for (at, note) in told.iter().enumerate() {
        let last = !told[at + 1..].iter().any(|later| later.hint == note.hint);
        let text = match note.hint.as_deref().filter(|_| last) {
            Some(hint) => format!("{} -> {hint}", note.text),
            None => note.text.clone(),
        };
        out.write_all(style.hanging(head, 9, &style.typeset(&text)).as_bytes())?;
        head = "         ";
    }
    Ok(())
}

#[cfg(test)]
mod tests;
