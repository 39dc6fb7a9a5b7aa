//! A calibration for the terminal: what a DBA reads in ten seconds. The three lines of CALIBRATE_IO stand
//! first and can be grepped.

use crate::plot::{self, Panel};
use crate::terminal::{Style, Tone, table};
use crate::{labels, number};
use fathom_record::{
    CheckOutcome, CurveName, Ending, Figure, FigureName, LatencyFigures, ResultRecord, VerdictState,
};
use std::io::{self, Write};

/// Columns before a figure's explanation: name, value, error.
const INDENT: usize = 33;

/// Writes a calibration. `saved` says where it can be found again: `run 12: fathom show 12`.
pub fn write(
    record: &ResultRecord,
    saved: Option<&str>,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    oracle_lines(record, style, out)?;
    further_figures(record, style, out)?;
    let shown = [
        ("unloaded", labels::figure(record, FigureName::UnloadedLatency)),
        ("at max_iops", labels::figure(record, FigureName::MaxIops)),
        ("mixed", labels::figure(record, FigureName::Iops)),
        ("commit", labels::figure(record, FigureName::CommitsPerSecond)),
    ];
    let rows: Vec<(&str, &LatencyFigures)> =
        shown.iter().filter_map(|(name, figure)| Some((*name, figure.as_ref()?.latency.as_ref()?))).collect();
    percentiles(&rows, style, out)?;
    curve(record, style, out)?;
    verdict(record, style, out)?;
    notes(record, style, out)?;
    if let Some(saved) = saved {
        out.write_all(style.hanging("saved    ", 9, saved).as_bytes())?;
    }
    Ok(())
}

/// `+- 3.1 %`, marked where it did not reach the precision asked for; `+- ?` where it could not be told.
pub(crate) fn error_of(figure: &Figure) -> String {
    match number::percent_of(figure.value, figure.half_width) {
        Some(percent) => format!("+- {percent}"),
        None => "+- ?".to_owned(),
    }
}

/// One figure: `name value`, its error, then what it is, parts separated by the caller. The name's column is
/// 11 wide, the value's 11, the error's 11.
pub(crate) fn line(
    head: &str,
    value: &str,
    error: &str,
    text: &str,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let pad = |width: usize, text: &str| " ".repeat(width.saturating_sub(text.chars().count()).max(1));
    let start = format!("{head}{}{}", style.paint(Tone::Strong, value), pad(11, value));
    let start = format!("{start}{error}{}", pad(11, error));
    out.write_all(style.hanging(&start, INDENT, text).as_bytes())
}

fn join(parts: &[Option<String>], with: &str) -> String {
    parts.iter().flatten().cloned().collect::<Vec<_>>().join(with)
}

/// What else a reader must know of a figure: what bounds it, that it did not converge.
fn tail(figure: &Figure) -> String {
    let open = (!figure.converged).then(|| "did not converge".to_owned());
    join(&[labels::bound(figure.bound.as_ref()), open, figure.note.clone()], "; ")
}

fn with_tail(text: String, figure: &Figure) -> String {
    match tail(figure) {
        tail if tail.is_empty() => text,
        tail => format!("{text}; {tail}"),
    }
}

/// The three lines that a script greps, in the form in which CALIBRATE_IO's users print them.
fn oracle_lines(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let missing = |name: &str, out: &mut dyn Write| writeln!(out, "{name} = -          not measured");
    match labels::figure(record, FigureName::MaxIops) {
        Some(figure) => {
            let parts = [
                Some(labels::sized(record, FigureName::MaxIops, "random reads/s")),
                labels::outstanding(figure.load),
                record.max_latency.map(|limit| limit.to_string()),
            ];
            let text = with_tail(join(&parts, ", "), figure);
            line("max_iops = ", &format!("{:.0}", figure.value), &error_of(figure), &text, style, out)?;
        }
        None => missing("max_iops", out)?,
    }
    match labels::figure(record, FigureName::Latency) {
        Some(figure) => {
            let over = figure.latency.as_ref().and_then(|l| l.over_limit);
            let over = over.zip(record.max_latency);
            let over = over.map(|(share, limit)| {
                format!("{} of them took over {}", number::percent(share), limit.at_most)
            });
            let what = "ms, mean of these reads".to_owned();
            let text = with_tail(join(&[Some(what), over], "; "), figure);
            let value = format!("{:.3}", figure.value / 1e6);
            line("latency  = ", &value, &error_of(figure), &text, style, out)?;
        }
        None => missing("latency ", out)?,
    }
    match labels::figure(record, FigureName::MaxMbps) {
        Some(figure) => {
            let reads = labels::sized(record, FigureName::MaxMbps, "reads");
            let unit = Some(format!("MiB/s (2^20 bytes), {reads}"));
            let text = with_tail(join(&[unit, labels::outstanding(figure.load)], ", "), figure);
            line("max_mbps = ", &format!("{:.0}", figure.value), &error_of(figure), &text, style, out)
        }
        None => missing("max_mbps", out),
    }
}

fn further_figures(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let figure = |name| labels::figure(record, name);
    let mut one = |name: FigureName, head: &str, text: String| match figure(name) {
        Some(figure) => {
            let value = match figure.unit {
                fathom_record::Unit::Nanoseconds => number::time(figure.value),
                _ => format!("{:.0}", figure.value),
            };
            let head = format!("{head:<11}");
            line(&head, &value, &error_of(figure), &with_tail(text, figure), style, out)
        }
        None => Ok(()),
    };
    let at = |name: FigureName| figure(name).and_then(|f| labels::outstanding(f.load)).unwrap_or_default();
    one(FigureName::MaxPmbps, "max_pmbps", "MiB/s (2^20 bytes) by one process".into())?;
    one(FigureName::UnloadedLatency, "unloaded", "mean of one read alone, 1 outstanding".into())?;
    let knee = format!("reads/s at {}: more load costs more latency than it gives", at(FigureName::KneeIops));
    one(FigureName::KneeIops, "knee", knee)?;
    one(FigureName::EighthIops, "an eighth", "reads/s over an eighth of the working set".into())?;
    let mixed = [
        Some(labels::sized(record, FigureName::Iops, "random reads and writes/s")),
        figure(FigureName::Iops).and_then(|f| labels::share_of_reads(labels::run_of(record, f)?)),
        figure(FigureName::Iops).and_then(|f| labels::outstanding(f.load)),
    ];
    one(FigureName::Iops, "mixed", join(&mixed, ", "))?;
    one(FigureName::CommitsPerSecond, "commits", commit_text(record))?;
    let writes = labels::sized(record, FigureName::RandomWriteIops, "random writes/s");
    one(FigureName::RandomWriteIops, "rand_write", format!("{writes}, {}", at(FigureName::RandomWriteIops)))?;
    let size = labels::sized(record, FigureName::SequentialWriteMbps, "sequential writes");
    one(FigureName::SequentialWriteMbps, "seq_write", format!("MiB/s (2^20 bytes), {size}"))
}

/// The ways to commit side by side, as pg_test_fsync shows them.
fn commit_text(record: &ResultRecord) -> String {
    let of = |name, what: &str| {
        let figure = labels::figure(record, name)?;
        let error = error_of(figure).replace("+- ", "+-");
        Some(format!("{what} {} {error}", number::grouped(figure.value)))
    };
    let size = labels::sized(record, FigureName::CommitsPerSecond, "append, then fdatasync");
    let parts = [
        Some(format!("commits/s by one writer ({size})")),
        of(FigureName::CommitsDsync, "O_DSYNC"),
        of(FigureName::CommitsFsync, "fsync"),
        of(FigureName::GroupCommits4, "4 writers"),
        of(FigureName::GroupCommits16, "16 writers"),
        labels::figure(record, FigureName::DeviceWritesPerCommit)
            .map(|f| format!("{} device writes a commit", number::significant(f.value, 2))),
    ];
    join(&parts, "; ")
}

/// A table of latencies, one in a column; a percentile that is not known is `-`, and a line under the table says why.
pub(crate) fn percentiles(
    columns: &[(&str, &LatencyFigures)],
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<String> = Vec::new();
    let row = |head: &str, cell: &dyn Fn(&LatencyFigures) -> String| -> Vec<String> {
        std::iter::once(head.to_owned()).chain(columns.iter().map(|(_, latency)| cell(latency))).collect()
    };
    let heads = std::iter::once("latency").chain(columns.iter().map(|(name, _)| *name));
    let mut rows = vec![heads.map(str::to_owned).collect(), row("mean", &mean_text)];
    for (quantile, label) in labels::PERCENTILES {
        for (name, latency) in columns {
            let found = labels::percentile(latency, quantile);
            if found.is_none_or(|percentile| percentile.value_ns.is_none()) {
                let why = found.and_then(|percentile| percentile.why.as_deref()).unwrap_or("not kept");
                reasons.push(format!("- {label} {name}: {why}"));
            }
        }
        rows.push(row(label, &|latency| {
            labels::percentile(latency, quantile)
                .and_then(labels::percentile_text)
                .unwrap_or_else(|| "-".to_owned())
        }));
    }
    rows.push(row("max", &|latency| number::time(latency.max_ns as f64)));
    rows.push(row("samples", &|latency| number::grouped(latency.count as f64)));
    writeln!(out)?;
    out.write_all(table(&rows, &[]).as_bytes())?;
    if !reasons.is_empty() {
        out.write_all(style.hanging("", 0, &reasons.join("; ")).as_bytes())?;
    }
    Ok(())
}

fn mean_text(latency: &LatencyFigures) -> String {
    let value = number::time(latency.mean_ns);
    match latency.mean_half_width_ns {
        Some(half) if half > 0.0 => {
            let (low, high) = ((latency.mean_ns - half).max(0.0), latency.mean_ns + half);
            format!("{value} ({})", number::time_ends(&value, low, high))
        }
        _ => value,
    }
}

/// IOPS and latency over outstanding I/Os, side by side, eight lines.
fn curve(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let wanted = [CurveName::SmallReads, CurveName::Mixed];
    let Some(curve) = record.curves.iter().find(|c| wanted.contains(&c.name) && c.points.len() > 1) else {
        return Ok(());
    };
    let chosen = labels::figure(record, FigureName::MaxIops).and_then(|f| f.load);
    let marked = curve.points.iter().position(|p| Some(p.load) == chosen);
    let of = |value: fn(&fathom_record::CurvePoint) -> f64| -> Vec<(f64, f64)> {
        curve.points.iter().map(|p| (labels::level(p.load), value(p))).collect()
    };
    let (iops, latency) = (of(|p| p.iops), of(|p| p.latency.mean_ns));
    let side_by_side = style.columns() >= 72;
    let width = if side_by_side { (style.columns() - 2) / 2 } else { style.columns() }.min(56);
    let mark = if style.unicode { '\u{25cf}' } else { '#' };
    let left_title = format!("reads/s over outstanding I/Os ({mark} max_iops)");
    let panel = |title, points, label| Panel { title, points, marked, label, width, rows: 5 };
    let left = plot::lines(&panel(left_title, &iops, number::short), style.unicode);
    let right = plot::lines(&panel("mean latency".into(), &latency, number::time), style.unicode);
    writeln!(out)?;
    match side_by_side {
        true => left.iter().zip(&right).try_for_each(|(l, r)| writeln!(out, "{l}  {}", r.trim_end())),
        false => left.iter().try_for_each(|line| writeln!(out, "{}", line.trim_end())),
    }
}

/// The verdict in a word, then the checks that speak against it first.
pub(crate) fn verdict(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    let tone = match record.verdict.state {
        VerdictState::Believable => Tone::Good,
        VerdictState::NotBelievable => Tone::Bad,
        VerdictState::CannotTell => Tone::Warning,
    };
    let passed = record.verdict.checks.iter().filter(|c| c.outcome == CheckOutcome::Passed).count();
    let ending = match record.ending {
        Ending::Complete => "",
        Ending::Interrupted => "; interrupted, what was measured is shown",
        Ending::Failed => "; it failed, what was measured is shown",
    };
    let word = style.paint(tone, &record.verdict.state.to_string());
    writeln!(out)?;
    writeln!(out, "verdict  {word} ({passed} of {} checks passed{ending})", record.verdict.checks.len())?;
    for wanted in [CheckOutcome::Failed, CheckOutcome::Unknown, CheckOutcome::Noted] {
        let tone = if wanted == CheckOutcome::Failed { Tone::Bad } else { Tone::Warning };
        for check in record.verdict.checks.iter().filter(|c| c.outcome == wanted) {
            let (word, _) = labels::outcome(wanted);
            let head = format!("  {}{}", style.paint(tone, word), " ".repeat(9 - word.len()));
            let text = format!("{}: {}", check.name, check.seen);
            out.write_all(style.hanging(&head, 11, &text).as_bytes())?;
        }
    }
    Ok(())
}

/// What the user should know, with what to do about it.
pub(crate) fn notes(record: &ResultRecord, style: Style, out: &mut impl Write) -> io::Result<()> {
    for note in &record.notes {
        out.write_all(style.hanging("note     ", 9, &note.text).as_bytes())?;
        if let Some(hint) = &note.hint {
            out.write_all(style.hanging("  hint:  ", 9, hint).as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample_record;
    use fathom_record::judge;

    fn shown(record: &ResultRecord, style: Style) -> String {
        let mut out = Vec::new();
        write(record, Some("run 12: fathom show 12"), style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_calibration_in_ascii() {
        insta::assert_snapshot!(shown(&sample_record(), Style::default()));
    }

    #[test]
    fn a_calibration_with_braille() {
        insta::assert_snapshot!(shown(&sample_record(), Style { unicode: true, width: 120, colour: false }));
    }

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let plain = shown(&sample_record(), Style::default());
        let mut coloured = shown(&sample_record(), Style { colour: true, ..Style::default() });
        for code in ["1", "2", "32", "33", "1;31", "0"] {
            coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(plain, coloured);
    }

    #[test]
    fn the_three_lines_keep_the_form_that_scripts_grep() {
        let mut record = sample_record();
        record.summary.get_mut(&FigureName::MaxIops).unwrap().value = 24002.4;
        record.summary.get_mut(&FigureName::Latency).unwrap().value = 10_868_000.0;
        record.summary.get_mut(&FigureName::MaxMbps).unwrap().value = 175.2;
        let text = shown(&record, Style::default());
        for start in ["max_iops = 24002 ", "latency  = 10.868 ", "max_mbps = 175 "] {
            assert!(text.lines().any(|line| line.starts_with(start)), "{start}\n{text}");
        }
    }

    #[test]
    fn a_failed_check_stands_first_and_missing_figures_are_said() {
        let mut record = sample_record();
        record.summary.clear();
        record.curves.clear();
        record.ending = Ending::Interrupted;
        let mut checks = record.verdict.checks.clone();
        checks[1].outcome = CheckOutcome::Failed;
        record.verdict = judge(checks);
        insta::assert_snapshot!(shown(&record, Style { width: 80, ..Style::default() }));
    }
}
