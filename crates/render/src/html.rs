//! One self-contained page: no script, nothing fetched, opens from an e-mail, prints on A4.

use crate::chart::{self, Bar, LineChart};
use crate::{facts, html_details, labels, number, timeline};
use fathom_record::{
    Check, CheckOutcome, Curve, CurveName, Ending, Figure, FigureName, ResultRecord, Unit, VerdictState,
};
use fathom_spec::{LatencyLimit, Statistic};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io::{self, Write};

const CSS: &str = include_str!("page.css");

/// Writes the page.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    out.write_all(page(record).into_string().as_bytes())
}

fn page(record: &ResultRecord) -> Markup {
    let targets = record.targets.join(", ");
    frame(
        record,
        &targets,
        html! {
            (heading(record, &targets))
            (cards(record))
            (checks(record))
            (over_load(record))
            (large_and_writes(record))
            (over_time(record))
            (html_details::latencies(record))
            (html_details::machine(record))
            (html_details::how_to_read(record))
            (html_details::runs(record))
            (html_details::footer(record))
        },
    )
}

/// What every page has around it: a title, the style, both colour schemes.
pub(crate) fn frame(record: &ResultRecord, targets: &str, inside: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "fathom " (record.tool) ": " (targets) }
                style { (PreEscaped(CSS)) }
            }
            body { main { (inside) } }
        }
    }
}

pub(crate) fn heading(record: &ResultRecord, targets: &str) -> Markup {
    let ending = match record.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("It was interrupted: what had been measured by then is shown."),
        Ending::Failed => Some("It failed: what had been measured by then is shown."),
    };
    let host = record.facts.pointer("/machine/hostname").and_then(|v| v.as_str());
    html! {
        header {
            div {
                p class="kind" { "fathom " (record.tool) @if let Some(label) = &record.label { " \u{b7} " (label) } }
                h1 { (targets) }
                @if let Some(storage) = facts::storage_line(&record.facts) { p { (storage) } }
                p class="quiet" { @if let Some(host) = host { (host) ", " } (labels::moment(&record.started)) }
                @if let Some(ending) = ending { p class="doubt" { (ending) } }
            }
            (verdict(record))
        }
    }
}

fn tone(state: VerdictState) -> (&'static str, &'static str) {
    match state {
        VerdictState::Believable => ("good", "\u{2713}"),
        VerdictState::NotBelievable => ("bad", "\u{2717}"),
        VerdictState::CannotTell => ("doubt", "?"),
    }
}

/// The verdict with the checks that speak against it.
fn verdict(record: &ResultRecord) -> Markup {
    let (class, sign) = tone(record.verdict.state);
    let against: Vec<&Check> = record
        .verdict
        .checks
        .iter()
        .filter(|check| matches!(check.outcome, CheckOutcome::Failed | CheckOutcome::Unknown))
        .collect();
    html! {
        div class={ "verdict " (class) } {
            b { (sign) " " (record.verdict.state) }
            @if against.is_empty() {
                span { "no check of the measurement failed" }
            } @else {
                span { @for (at, check) in against.iter().enumerate() {
                    @if at > 0 { "; " }
                    (labels::outcome(check.outcome).0.to_lowercase()) ": " (check.name)
                } }
            }
        }
    }
}

/// A value and its unit apart, so that the unit can stand smaller.
fn value_and_unit(figure: &Figure) -> (String, String) {
    match figure.unit {
        Unit::PerSecond => (number::with_error(figure.value, figure.half_width), "/s".into()),
        Unit::MebibytesPerSecond => (number::with_error(figure.value, figure.half_width), "MiB/s".into()),
        Unit::Nanoseconds => {
            let text = number::time(figure.value);
            let (value, unit) = text.split_once(' ').unwrap_or((&text, ""));
            (value.to_owned(), unit.to_owned())
        }
        Unit::Ratio => (number::percent(figure.value), String::new()),
    }
}

fn card(record: &ResultRecord, name: FigureName, what: &str, lesser: bool) -> Markup {
    let Some(figure) = labels::figure(record, name) else { return html! {} };
    let (value, unit) = value_and_unit(figure);
    let size = labels::run_of(record, figure).and_then(labels::block_size);
    let what = match (size, what.strip_prefix("{size} ")) {
        (Some(size), Some(rest)) => format!("{size} {rest}"),
        (None, Some(rest)) => rest.to_owned(),
        _ => what.to_owned(),
    };
    let alone = matches!(name, FigureName::UnloadedLatency | FigureName::CommitsPerSecond);
    let load = if alone { None } else { labels::outstanding(figure.load) };
    let error = number::percent_of(figure.value, figure.half_width);
    html! {
        div class=(if lesser { "card lesser" } else { "card" }) {
            div class="name" { (labels::figure_name(name)) }
            div class="value" { (value) " " small { (unit) } }
            div class="error" {
                @match error { Some(error) => { "\u{b1} " (error) }, None => { "error not known" } }
                @if !figure.converged { " " span class="doubt" { "did not converge" } }
            }
            div class="more" {
                (what) @if let Some(load) = load { ", " (load) }
                @if let Some(bound) = labels::bound(figure.bound.as_ref()) { br; (bound) }
                @if let (Some(note), true) = (&figure.note, lesser) { br; (note) }
            }
        }
    }
}

pub(crate) fn cards(record: &ResultRecord) -> Markup {
    let limit = record.max_latency.map(|limit| format!(", {}", sign(limit))).unwrap_or_default();
    let first = [
        (FigureName::MaxIops, format!("{{size}} random reads{limit}")),
        (FigureName::Latency, "mean of those reads".into()),
        (FigureName::MaxMbps, "{size} reads; a MiB is 2^20 bytes".into()),
        (FigureName::MaxPmbps, "{size} reads by one process".into()),
        (FigureName::Iops, "{size} operations".into()),
        (FigureName::Mbps, "a MiB is 2^20 bytes".into()),
        (FigureName::ReadLatency, "mean, submission to completion".into()),
        (FigureName::WriteLatency, "mean, submission to completion".into()),
    ];
    let second = [
        (FigureName::UnloadedLatency, "mean of one read alone"),
        (FigureName::CommitsPerSecond, "{size} append made durable, one writer"),
        (FigureName::RandomWriteIops, "{size} writes"),
        (FigureName::SequentialWriteMbps, "{size} writes"),
        (FigureName::EighthIops, "{size} random reads"),
        (FigureName::SyncLatency, "mean of a sync or commit"),
        (FigureName::ResponseTime, "mean, from the intended start"),
        (FigureName::SustainedShare, "of the first throughput was left at the end"),
        (FigureName::LogicalReads, "blocks that sessions asked for"),
        (FigureName::PhysicalReads, "blocks that were not in the database's cache"),
        (FigureName::PhysicalWrites, "blocks that the database wrote"),
        (FigureName::DeviceReads, "reads of the disks below the data"),
        (FigureName::DeviceWrites, "writes of the disks below data and log"),
        (FigureName::LogMbps, "the database's log"),
        (FigureName::FromDisk, "of the table blocks asked for"),
        (FigureName::SelectLatency, "mean of a select"),
        (FigureName::UpdateLatency, "mean of an update"),
        (FigureName::CommitLatency, "mean of a commit"),
        (FigureName::ScanLatency, "mean of a scan"),
        (FigureName::OfTheDisk, "of what the disk can do at that latency"),
    ];
    html! {
        div class="cards" { @for (name, what) in &first { (card(record, *name, what, false)) } }
        div class="cards small" { @for (name, what) in &second { (card(record, *name, what, true)) } }
    }
}

fn checks(record: &ResultRecord) -> Markup {
    let rank = |check: &&Check| match check.outcome {
        CheckOutcome::Failed => 0,
        CheckOutcome::Unknown => 1,
        CheckOutcome::Noted => 2,
        CheckOutcome::Passed => 3,
    };
    let mut checks: Vec<&Check> = record.verdict.checks.iter().collect();
    checks.sort_by_key(rank);
    let class = |outcome| match outcome {
        CheckOutcome::Passed => "outcome good",
        CheckOutcome::Failed => "outcome bad",
        CheckOutcome::Unknown | CheckOutcome::Noted => "outcome doubt",
    };
    html! {
        h2 { "Can it be believed? " (record.verdict.state) }
        table {
            @for check in checks {
                @let (word, sign) = labels::outcome(check.outcome);
                tr {
                    td class=(class(check.outcome)) { (sign) " " (word.to_lowercase()) }
                    td { (check.name) }
                    td class="quiet" { (check.seen) }
                }
            }
        }
        @for note in &record.notes {
            p class="note" { (note.text) @if let Some(hint) = &note.hint { br; span class="quiet" { "What to do: " (hint) } } }
        }
    }
}

fn figure(chart: Option<Markup>, title: &str, caption: &str, wide: bool) -> Markup {
    match chart {
        Some(chart) => html! {
            figure class=(if wide { "wide" } else { "" }) {
                h3 { (title) }
                (chart)
                figcaption { (caption) }
            }
        },
        None => html! {},
    }
}

/// The limit with the sign that print has for it.
fn sign(limit: LatencyLimit) -> String {
    limit.to_string().replace("<=", "\u{2264}")
}

/// The limit as a line of a chart, where the chart shows what it bounds.
fn limit_line(limit: Option<LatencyLimit>, of_mean: bool) -> Option<(f64, String)> {
    let limit = limit?;
    let fits = matches!(limit.of, Statistic::Mean) == of_mean;
    fits.then(|| (limit.at_most.0 as f64, sign(limit)))
}

/// The main curve: throughput, mean latency and percentiles over outstanding I/Os.
fn over_load(record: &ResultRecord) -> Markup {
    let wanted = [CurveName::SmallReads, CurveName::Mixed, CurveName::Sessions];
    let Some(curve) = record.curves.iter().find(|c| wanted.contains(&c.name) && !c.points.is_empty()) else {
        return html! {};
    };
    let sessions = curve.name == CurveName::Sessions;
    let best = if sessions { FigureName::Iops } else { FigureName::MaxIops };
    let load = labels::figure(record, best).and_then(|f| f.load);
    let limit = record.max_latency;
    let base = |id, title: &str, value_title: &str, series| LineChart {
        id,
        title: title.to_owned(),
        load_title: if sessions { "sessions (log scale)" } else { "outstanding I/Os (log scale)" }.into(),
        value_title: value_title.to_owned(),
        label: number::time,
        logarithmic: false,
        series,
        limit: None,
        knee: chart::knee(curve),
        chosen: chart::chosen(load, if sessions { "best" } else { "max_iops" }),
    };
    let iops = LineChart {
        label: number::short,
        ..base("iops", "Throughput over load", "operations per second", vec![chart::throughput(curve, false)])
    };
    let mean = LineChart {
        limit: limit_line(limit, true),
        ..base("latency", "Mean latency over load", "mean latency", vec![chart::mean_latency(curve)])
    };
    let percentiles = LineChart {
        limit: limit_line(limit, false),
        logarithmic: true,
        chosen: None,
        ..base(
            "percentiles",
            "Latency percentiles over load",
            "latency (log scale)",
            chart::percentiles(curve),
        )
    };
    let eighth = record.curves.iter().find(|c| c.name == CurveName::EighthReads && !c.points.is_empty());
    html! {
        h2 { "Throughput and latency over load: " (labels::curve_name(curve.name)) }
        p class="quiet" { "Filled points were measured to the precision asked for and carry their 95 % interval; hollow ones are short looks around." }
        div class="charts" {
            (figure(iops.draw(), "Throughput", "More outstanding I/Os give more, up to the knee.", false))
            (figure(mean.draw(), "Mean latency", "Past the knee more load costs latency and gives little.", false))
            (figure(percentiles.draw(), "Latency percentiles", "A share of the I/Os stays under each line. A point is missing where too few samples stand behind it.", false))
            @match eighth {
                Some(eighth) => (figure(eighth_chart(curve, eighth), "Over an eighth of the working set", "A difference speaks of a cache below the device, or of how far the heads must move.", false)),
                None => (figure(large_chart(record), "Large reads", "Shapes tell the curves apart: random places, sequential streams.", false)),
            }
        }
    }
}

fn eighth_chart(whole: &Curve, eighth: &Curve) -> Option<Markup> {
    let named = |curve, name: &str| chart::Series { name: name.into(), ..chart::throughput(curve, false) };
    let chart = LineChart {
        id: "eighth",
        title: "Small reads over the whole working set and an eighth".into(),
        load_title: "outstanding I/Os (log scale)".into(),
        value_title: "operations per second".into(),
        label: number::short,
        logarithmic: false,
        series: vec![named(whole, "whole"), named(eighth, "an eighth")],
        limit: None,
        knee: None,
        chosen: None,
    };
    chart.draw()
}

fn large_chart(record: &ResultRecord) -> Option<Markup> {
    let wanted = [CurveName::LargeRandomReads, CurveName::LargeSequentialReads, CurveName::SequentialWrites];
    let curves = wanted.iter().filter_map(|name| record.curves.iter().find(|c| c.name == *name));
    let short = |curve: &Curve| match curve.name {
        CurveName::LargeRandomReads => "random",
        CurveName::LargeSequentialReads => "sequential",
        _ => "writes",
    };
    let series: Vec<chart::Series> = curves
        .map(|curve| chart::Series { name: short(curve).into(), ..chart::throughput(curve, true) })
        .collect();
    let chart = LineChart {
        id: "large",
        title: "Large reads over load".into(),
        load_title: "outstanding I/Os or streams (log scale)".into(),
        value_title: "MiB per second (2^20 bytes)".into(),
        label: number::short,
        logarithmic: false,
        series,
        limit: None,
        knee: None,
        chosen: None,
    };
    chart.draw()
}

fn large_and_writes(record: &ResultRecord) -> Markup {
    let eighth = record.curves.iter().any(|c| c.name == CurveName::EighthReads && !c.points.is_empty());
    let bar = |(name, text): &(FigureName, &str)| {
        let figure = labels::figure(record, *name)?;
        Some(Bar { name: (*text).to_owned(), value: figure.value, half_width: figure.half_width })
    };
    let commits: Vec<Bar> = [
        (FigureName::CommitsPerSecond, "fdatasync"),
        (FigureName::CommitsDsync, "O_DSYNC"),
        (FigureName::CommitsFsync, "fsync"),
        (FigureName::GroupCommits4, "4 writers, fdatasync"),
        (FigureName::GroupCommits16, "16 writers, fdatasync"),
    ]
    .iter()
    .filter_map(bar)
    .collect();
    let streams: Vec<Bar> = [
        (FigureName::MaxMbps, "max_mbps"),
        (FigureName::MaxPmbps, "one process"),
        (FigureName::RandomReadMbps, "random reads"),
        (FigureName::SequentialReadMbps, "sequential reads"),
        (FigureName::SequentialWriteMbps, "sequential writes"),
    ]
    .iter()
    .filter_map(bar)
    .collect();
    let large = if eighth { large_chart(record) } else { None };
    if commits.is_empty() && streams.is_empty() && large.is_none() {
        return html! {};
    }
    let writes = labels::figure(record, FigureName::DeviceWritesPerCommit).map(|f| f.value);
    let caption = match writes {
        Some(writes) => {
            let writes = number::significant(writes, 2);
            format!("One commit is an append made durable; the device saw {writes} writes for each.")
        }
        None => "One commit is an append made durable.".to_owned(),
    };
    html! {
        h2 { "Large transfers and durable writes" }
        div class="charts" {
            (figure(large, "Large reads", "Shapes tell the curves apart.", false))
            (figure(chart::bars("commits", "Commits per second", "commits per second", &commits), "Commits", &caption, false))
            (figure(chart::bars("streams", "Large transfers", "MiB per second (2^20 bytes)", &streams), "Large transfers", "The thin lines are 95 % intervals.", false))
        }
    }
}

fn over_time(record: &ResultRecord) -> Markup {
    let headline = labels::figure(record, FigureName::MaxIops)
        .or_else(|| labels::figure(record, FigureName::Iops))
        .and_then(|figure| labels::run_of(record, figure));
    let heat = headline.and_then(timeline::heat_map);
    let name = headline.map(|run| run.name.clone()).unwrap_or_default();
    let whole = timeline::whole_run(record);
    if whole.is_none() && heat.is_none() {
        return html! {};
    }
    html! {
        h2 { "Over time" }
        (figure(whole, "The whole run", "Every slot of every run as it happened, exploring points too.", true))
        (figure(heat, &format!("Latency over time: {name}"), "One column a second; darker where more of its I/Os lie.", true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample_record;

    fn text(record: &ResultRecord) -> String {
        page(record).into_string()
    }

    #[test]
    fn the_page_fetches_nothing_and_runs_nothing() {
        let page = text(&sample_record());
        for word in ["<script", "<link", "<img", "@import", "url(", "onload", "javascript:"] {
            assert!(!page.contains(word), "{word}");
        }
        let addresses = page.matches("http").count();
        assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count());
    }

    #[test]
    fn every_chart_has_a_title_a_description_and_real_coordinates() {
        let page = text(&sample_record());
        let charts = page.matches("<svg").count();
        assert_eq!(charts, 8);
        assert_eq!(page.matches("<desc").count(), charts);
        for word in ["NaN", "inf\"", "inf ", "\"-inf"] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn ids_are_unique() {
        let page = text(&sample_record());
        let mut ids: Vec<&str> =
            page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }

    #[test]
    fn names_from_outside_are_escaped() {
        let mut record = sample_record();
        record.targets = vec!["/data/<b>&\"x".into()];
        record.label = Some("<script>alert(1)</script>".into());
        let page = text(&record);
        assert!(!page.contains("<script"));
        assert!(page.contains("/data/&lt;b&gt;&amp;"));
    }

    #[test]
    fn a_record_without_anything_still_makes_a_page() {
        let mut record = sample_record();
        record.summary.clear();
        record.curves.clear();
        record.runs.clear();
        record.facts = serde_json::Value::Null;
        record.ending = Ending::Interrupted;
        let page = text(&record);
        assert!(page.contains("It was interrupted"));
        assert_eq!(page.matches("<svg").count(), 0);
    }
}
