//! The list of runs, the status line, and the plan that a dry run prints.

use crate::terminal::{Style, Tone, table};
use crate::{labels, number};
use fathom_record::VerdictState;
use fathom_spec::Nanos;
use fathom_spec::names::printable;
use std::io::{self, Write};

/// One line of the list of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryLine {
    /// The store's number of it: what `fathom show` takes.
    pub number: i64,
    pub tool: String,
    /// The user's own name for it.
    pub label: Option<String>,
    /// When it began, RFC 3339.
    pub started: String,
    pub targets: Vec<String>,
    pub host: Option<String>,
    /// Disks below the targets.
    pub device: Option<String>,
    /// How far it is, where that is not its whole: `interrupted`.
    pub state: Option<&'static str>,
    /// Whether it is reliable; `None` for one that never ended.
    pub verdict: Option<VerdictState>,
    /// Operations a second, and half the width of their interval.
    pub iops: Option<(f64, Option<f64>)>,
    /// Mean latency there, ns.
    pub latency_ns: Option<f64>,
    /// 2^20 bytes a second.
    pub mbps: Option<f64>,
}

/// The widest target that is shown whole; of a longer one its end.
const TARGET_MOST: usize = 28;

/// Writes the list, in the order given. `-` stands for a figure that a run does not have. The host has a column where there is more
/// than one.
pub fn write_history(lines: &[HistoryLine], style: Style, out: &mut impl Write) -> io::Result<()> {
    let hosts = lines.iter().any(|line| line.host != lines[0].host);
    let mut heads = vec!["run", "started", "target", "device"];
    heads.extend(hosts.then_some("host"));
    heads.extend(["tool", "IOPS", "+-", "latency", "MiB/s", "verdict", "label"]);
    let mut rows = vec![heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>()];
    let dash = || "-".to_owned();
    for line in lines {
        let verdict = match (line.state, line.verdict) {
            (Some(state), _) => state.to_owned(),
            (None, Some(verdict)) => labels::verdict(verdict).to_owned(),
            (None, None) => dash(),
        };
        let error = line.iops.map(|(value, half)| crate::report::error_of(value, half));
        let mut cells = vec![
            line.number.to_string(),
            labels::moment_to_the_minute(&line.started),
            target_text(&line.targets, style),
            line.device.as_deref().map_or_else(dash, printable),
        ];
        cells.extend(hosts.then(|| line.host.as_deref().map_or_else(dash, printable)));
        cells.extend([
            line.tool.clone(),
            line.iops.map_or_else(dash, |(value, half)| number::with_error(value, half)),
            error.map_or_else(dash, |error| error.trim_start_matches("+-").to_owned()),
            line.latency_ns.map_or_else(dash, number::time),
            line.mbps.map_or_else(dash, |mbps| number::significant(mbps, 3)),
            verdict,
            line.label.as_deref().map(printable).unwrap_or_default(),
        ]);
        rows.push(cells);
    }
    let first = if hosts { 6 } else { 5 };
    let text = style.typeset(&table(&rows, &[0, first, first + 1, first + 2, first + 3]));
    let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
    writeln!(out, "{}", style.paint(Tone::Strong, head))?;
    out.write_all(rest.as_bytes())
}

/// The first target and how many more there are; a long one by its end.
fn target_text(targets: &[String], style: Style) -> String {
    let Some(first) = targets.first() else { return "-".to_owned() };
    let more = if targets.len() > 1 { format!(" +{}", targets.len() - 1) } else { String::new() };
    let text = printable(first);
    let count = text.chars().count();
    match count + more.len() <= TARGET_MOST {
        true => text + &more,
        false => {
            let dots = if style.unicode { "\u{2026}" } else { "..." };
            let kept = TARGET_MOST - more.len() - dots.chars().count();
            format!("{dots}{}{more}", text.chars().skip(count - kept).collect::<String>())
        }
    }
}

/// The states that Oracle's V$IO_CALIBRATION_STATUS knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    /// A calibration is running.
    InProgress,
    /// There are results of one.
    Ready,
    NotAvailable,
}

impl std::fmt::Display for StatusState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StatusState::InProgress => "IN PROGRESS",
            StatusState::Ready => "READY",
            StatusState::NotAvailable => "NOT AVAILABLE",
        })
    }
}

/// Writes the status and the end of the last calibration (RFC 3339), as Oracle's view has them.
pub fn write_status(state: StatusState, last: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    match last {
        Some(last) => writeln!(out, "{state}  last calibration {}", labels::moment(last)),
        None => writeln!(out, "{state}"),
    }
}

/// One step of a plan that is only shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is called: `small reads`.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// How long it may take.
    pub length: Nanos,
}

/// Writes what would be done, each step with its length, and the sum.
pub fn write_dry_run(steps: &[Step], style: Style, out: &mut impl Write) -> io::Result<()> {
    let widest = steps.iter().map(|s| s.name.chars().count()).max().unwrap_or(0);
    let mut total = 0;
    for (at, step) in steps.iter().enumerate() {
        total += step.length.0;
        let length = step.length.to_string();
        let head = format!("{:>2}  {:<widest$}  {length:>8}  ", at + 1, step.name);
        let indent = head.chars().count();
        out.write_all(style.hanging(&head, indent, &step.description).as_bytes())?;
    }
    let total = number::time(total as f64);
    writeln!(out, "    {:<widest$}  {total:>8}  in all; nothing was done", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn lines() -> [HistoryLine; 3] {
        let first = HistoryLine {
            number: 12,
            tool: "calibrate".into(),
            label: Some("before the move".into()),
            started: "2026-11-21T04:37:12Z".into(),
            targets: vec!["/srv/data".into()],
            host: Some("db1".into()),
            device: Some("nvme0n1".into()),
            state: None,
            verdict: Some(VerdictState::Believable),
            iops: Some((24002.0, Some(744.0))),
            latency_ns: Some(10_868_000.0),
            mbps: Some(175.0),
        };
        let long = vec!["/u01/app/oracle/oradata/ORCL/users01.dbf".into(), "/u02/x.dbf".into()];
        let second = HistoryLine {
            number: 7,
            tool: "run".into(),
            label: None,
            targets: long,
            verdict: Some(VerdictState::CannotTell),
            iops: Some((300.0, Some(500.0))),
            latency_ns: None,
            mbps: None,
            ..first.clone()
        };
        let third = HistoryLine {
            number: 3,
            state: Some("interrupted"),
            verdict: None,
            iops: None,
            ..second.clone()
        };
        [first, second, third]
    }

    #[test]
    fn runs_stand_in_columns_with_target_device_and_state() {
        insta::assert_snapshot!(shown(|out| write_history(&lines(), Style::default(), out)));
    }

    #[test]
    fn the_host_has_a_column_where_there_is_more_than_one() {
        let mut lines = lines();
        assert!(!shown(|out| write_history(&lines, Style::default(), out)).contains("db1"));
        lines[1].host = Some("db2".into());
        let text = shown(|out| write_history(&lines, Style::default(), out));
        assert!(text.contains("db1") && text.contains("db2"), "{text}");
    }

    #[test]
    fn the_status_speaks_oracles_words() {
        assert_eq!(shown(|out| write_status(StatusState::NotAvailable, None, out)), "NOT AVAILABLE\n");
        assert_eq!(
            shown(|out| write_status(StatusState::Ready, Some("2026-11-21T04:38:35.120Z"), out)),
            "READY  last calibration 2026-11-21 04:38:35 UTC\n"
        );
    }

    #[test]
    fn a_dry_run_lists_steps_and_their_sum() {
        let step = |name: &str, description: &str, seconds| Step {
            name: name.into(),
            description: description.into(),
            length: Nanos::from_seconds(seconds),
        };
        let steps = [
            step("layout", "write 8 GiB of incompressible data to /data, direct", 20),
            step("small reads", "8 KiB random reads, 1 to 128 outstanding, mean <= 20 ms", 24),
        ];
        insta::assert_snapshot!(shown(|out| write_dry_run(&steps, Style::default(), out)));
    }
}
