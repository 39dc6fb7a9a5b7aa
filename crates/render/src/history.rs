//! The list of runs, the status line, and the plan that a dry run prints.

use crate::terminal::{Style, Tone, table};
use crate::{labels, number};
use fathom_record::VerdictState;
use fathom_spec::Nanos;
use fathom_spec::names::printable;
use std::io::{self, Write};

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryLine {
    /// The store's number of it: what `fathom show` takes.
    pub number: i64,
    /// Its name that no other has.
    pub id: String,
    pub tool: String,
    /// The user's own name for it.
    pub label: Option<String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// Whether it can be believed.
    pub verdict: VerdictState,
    /// Small random reads a second.
    pub max_iops: Option<f64>,
    /// Mean latency there, ns.
    pub latency_ns: Option<f64>,
    /// Large reads, 2^20 bytes a second.
    pub max_mbps: Option<f64>,
}

/// Writes the list, in the order given. `-` stands for a figure that a run does not have.
pub fn write_history(lines: &[HistoryLine], style: Style, out: &mut impl Write) -> io::Result<()> {
    if lines.is_empty() {
        return writeln!(out, "no runs yet: fathom calibrate DIRECTORY makes the first");
    }
    let heads = ["run", "started", "tool", "max_iops/s", "latency ms", "MiB/s", "verdict", "label"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    let whole = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.0}"));
    for line in lines {
        rows.push(vec![
            line.number.to_string(),
            labels::moment(&line.started),
            line.tool.clone(),
            whole(line.max_iops),
            line.latency_ns.map_or("-".to_owned(), |ns| format!("{:.3}", ns / 1e6)),
            whole(line.max_mbps),
            line.verdict.to_string(),
            line.label.as_deref().map(printable).unwrap_or_default(),
        ]);
    }
    let text = table(&rows, &[0, 3, 4, 5]);
    let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
    writeln!(out, "{}", style.paint(Tone::Strong, head))?;
    out.write_all(rest.as_bytes())
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

    #[test]
    fn runs_stand_in_columns_with_their_units() {
        let first = HistoryLine {
            number: 12,
            id: "20261121-043712-7f3a".into(),
            tool: "calibrate".into(),
            label: Some("before the move".into()),
            started: "2026-11-21T04:37:12Z".into(),
            verdict: VerdictState::Believable,
            max_iops: Some(24002.0),
            latency_ns: Some(10_868_000.0),
            max_mbps: Some(175.0),
        };
        let second = HistoryLine {
            number: 7,
            tool: "run".into(),
            label: None,
            verdict: VerdictState::CannotTell,
            max_iops: None,
            latency_ns: None,
            max_mbps: None,
            ..first.clone()
        };
        insta::assert_snapshot!(shown(|out| write_history(
            &[first.clone(), second.clone()],
            Style::default(),
            out
        )));
        assert!(shown(|out| write_history(&[], Style::default(), out)).starts_with("no runs yet"));
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
