//! Reports of made-up records, at the widths at which people read them.

use super::*;
use crate::fixture::sample_record;
use fathom_record::{CheckOutcome, Figure, judge};

fn shown(record: &ResultRecord, style: Style) -> String {
    let mut out = Vec::new();
    write(record, Some("run 12: fathom show 12"), style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn at(width: usize, unicode: bool) -> Style {
    Style { width, unicode, colour: false }
}

#[test]
fn a_calibration_at_60_columns_in_ascii() {
    insta::assert_snapshot!(shown(&sample_record(), at(60, false)));
}

#[test]
fn a_calibration_at_80_columns_in_ascii() {
    insta::assert_snapshot!(shown(&sample_record(), at(80, false)));
}

#[test]
fn a_calibration_at_100_columns_with_all_signs() {
    insta::assert_snapshot!(shown(&sample_record(), at(100, true)));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (width, unicode) in [(60, false), (60, true), (80, true), (100, false), (120, true)] {
        let text = shown(&sample_record(), at(width, unicode));
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
        assert!(wide.is_empty(), "{width}: {wide:#?}");
        assert!(unicode || text.is_ascii(), "{text}");
    }
}

#[test]
fn colour_changes_no_character() {
    let plain = shown(&sample_record(), Style::default());
    let mut coloured = shown(&sample_record(), Style { colour: true, ..Style::default() });
    for code in ["1", "2", "32", "33", "1;31", "0"] {
        coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(plain, coloured);
}

#[test]
fn target_device_host_and_moment_stand_in_the_first_line_and_the_verdict_in_the_second() {
    let text = shown(&sample_record(), at(120, false));
    let lines: Vec<&str> = text.lines().take(3).collect();
    for part in ["/data", "ext4 on nvme0n1", "host db1", "2026-11-21 04:37 UTC"] {
        assert!(lines[..2].join(" ").contains(part), "{part}: {lines:#?}");
    }
    assert!(text.lines().take(3).any(|line| line.starts_with("INCONCLUSIVE  flushes are real: ")), "{text}");
}

#[test]
fn an_interval_that_would_reach_below_zero_is_unstable() {
    let mut record = sample_record();
    for name in [FigureName::GroupCommits4, FigureName::RandomWriteIops, FigureName::MaxIops] {
        let figure = record.summary.get_mut(&name).unwrap();
        figure.half_width = Some(figure.value * 1.72);
    }
    for width in [60, 100] {
        let text = shown(&record, at(width, false));
        assert!(!text.contains("172 %") && !text.contains(".. -"), "{text}");
        assert_eq!(text.matches("unstable").count(), 3, "{text}");
        assert!(text.contains("~20,000 IOPS"), "{text}");
    }
}

#[test]
fn a_failed_check_is_the_reason_in_the_second_line_and_missing_figures_have_no_rows() {
    let mut record = sample_record();
    record.summary.clear();
    record.curves.clear();
    record.ending = Ending::Interrupted;
    let mut checks = record.verdict.checks.clone();
    checks[1].outcome = CheckOutcome::Failed;
    record.verdict = judge(checks);
    insta::assert_snapshot!(shown(&record, at(80, false)));
}

#[test]
fn what_is_to_be_done_stands_once_behind_the_last_note_that_asks_for_it() {
    let mut record = sample_record();
    let note = |text: &str| fathom_record::Note { text: text.into(), hint: Some("--time 3m".into()) };
    record.notes = vec![note("one"), note("two"), note("one")];
    let text = shown(&record, Style::default());
    assert!(text.contains("Notes    one\n         two -> --time 3m\n"), "{text}");
}

#[test]
fn what_was_expected_stands_under_the_verdict() {
    let mut record = sample_record();
    let expectation = Expectation {
        name: "iops".into(),
        figure: FigureName::MaxIops,
        of: ExpectedValue::Value,
        wanted: 200_000.0,
        unit: Unit::PerSecond,
        found: Some(24_149.0),
        outcome: ExpectationOutcome::Short,
    };
    record.expectations = vec![expectation];
    let text = shown(&record, at(120, false));
    let line = "expected  NOT REACHED: iops of at least 200,000 /s; measured 24,100 /s, 88 % less; limited by: device";
    assert!(text.lines().take(4).any(|found| found == line), "{text}");
}

/// A described load made of the sample's figures.
fn load() -> ResultRecord {
    let mut record = sample_record();
    let take = |name| labels::figure(&record, name).cloned().unwrap();
    let (iops, latency, mbps) =
        (take(FigureName::MaxIops), take(FigureName::Latency), take(FigureName::MaxMbps));
    record.tool = "run".into();
    record.curves.clear();
    record.summary.clear();
    record.summary.insert(FigureName::Iops, iops);
    record.summary.insert(FigureName::ReadLatency, latency);
    record.summary.insert(FigureName::Mbps, Figure { latency: None, ..mbps });
    record
}

#[test]
fn one_load() {
    insta::assert_snapshot!(shown(&load(), at(80, false)));
}
