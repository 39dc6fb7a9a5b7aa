//! The forms in which a record is shown, and the one function that writes it in each.

use crate::terminal::Style;
use crate::{brief, csv, html, json, kv, markdown, openmetrics, oracle, report};
use fathom_record::ResultRecord;
use std::io::{self, Write};

/// A form of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A report for people.
    #[default]
    Text,
    /// One line for people.
    Brief,
    /// `name=value`, one a line.
    Kv,
    /// The whole record.
    Json,
    /// The figures, one a line.
    Csv,
    /// The points of all curves, one a line.
    CsvCurves,
    /// The time series, a line for each slot.
    CsvSeries,
    /// A page that can be mailed.
    Html,
    /// Tables for an issue or a wiki.
    Markdown,
    /// The three lines of DBMS_RESOURCE_MANAGER.CALIBRATE_IO.
    Oracle,
    /// Gauges for Prometheus' textfile collector.
    OpenMetrics,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 11] = [
        Format::Text,
        Format::Brief,
        Format::Kv,
        Format::Json,
        Format::Csv,
        Format::CsvCurves,
        Format::CsvSeries,
        Format::Html,
        Format::Markdown,
        Format::Oracle,
        Format::OpenMetrics,
    ];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Brief => "brief",
            Format::Kv => "kv",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::CsvCurves => "csv-curves",
            Format::CsvSeries => "csv-series",
            Format::Html => "html",
            Format::Markdown => "markdown",
            Format::Oracle => "oracle",
            Format::OpenMetrics => "openmetrics",
        }
    }

    /// What it is, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Format::Text => "report for people",
            Format::Brief => "one line",
            Format::Kv => "name=value, one a line",
            Format::Json => "the whole record",
            Format::Csv => "the figures",
            Format::CsvCurves => "the points of the curves",
            Format::CsvSeries => "the time series",
            Format::Html => "a page with charts",
            Format::Markdown => "tables for an issue or a wiki",
            Format::Oracle => "max_iops, latency, max_mbps as CALIBRATE_IO's users print them",
            Format::OpenMetrics => "for Prometheus' textfile collector",
        }
    }

    /// The form of that name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Writes a record in a form. `saved` says where it can be found again, for those who read a report; `style` is of no
/// consequence to any other form than text and brief.
pub fn write(
    record: &ResultRecord,
    format: Format,
    saved: Option<&str>,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        Format::Text => report::write(record, saved, style, out),
        Format::Brief => brief::write(record, style, out),
        Format::Kv => kv::write(record, out),
        Format::Json => json::write(record, out),
        Format::Csv => csv::figures(record, out),
        Format::CsvCurves => csv::curves(record, out),
        Format::CsvSeries => csv::time_series(record, out),
        Format::Html => html::write(record, out),
        Format::Markdown => markdown::write(record, out),
        Format::Oracle => oracle::write(record, out),
        Format::OpenMetrics => openmetrics::write(record, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample_record;

    fn shown(format: Format) -> String {
        let mut out = Vec::new();
        write(&sample_record(), format, Some("run 12"), Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_form_has_a_name_by_which_it_is_found_and_a_text_of_its_own() {
        let mut texts: Vec<String> = Vec::new();
        for format in Format::ALL {
            assert_eq!(Format::named(format.name()), Some(format));
            let text = shown(format);
            assert!(text.ends_with('\n') || format == Format::Html, "{format:?}");
            assert!(!texts.contains(&text), "{format:?}");
            texts.push(text);
        }
        assert_eq!(Format::named("pdf"), None);
    }

    #[test]
    fn oracles_three_lines_begin_lines_of_their_own() {
        assert_eq!(shown(Format::Oracle), "max_iops = 24149\nlatency  = 1.325\nmax_mbps = 895\n");
    }

    #[test]
    fn one_line_for_people() {
        insta::assert_snapshot!(shown(Format::Brief));
    }

    #[test]
    fn a_figure_a_line_for_scripts() {
        let text = shown(Format::Kv);
        assert!(
            text.lines().all(|line| line.split_once('=').is_some_and(|(name, _)| !name.contains(' '))),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn tables_in_markdown() {
        let text = shown(Format::Markdown);
        for block in text.split("\n\n").filter(|block| block.starts_with('|')) {
            let bars: Vec<usize> = block.lines().map(|line| line.matches('|').count()).collect();
            assert!(bars.iter().all(|count| *count == bars[0]), "{block}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn gauges_for_prometheus() {
        let text = shown(Format::OpenMetrics);
        assert!(text.ends_with("# EOF\n") && !text.contains("\n\n"), "{text}");
        insta::assert_snapshot!(text);
    }
}
