//! The page's lower part: tables of latencies, facts and runs, and how to read it all.

use crate::{facts, labels, number};
use fathom_record::{FigureName, LatencyFigures, Purpose, ResultRecord};
use fathom_spec::Bytes;
use maud::{Markup, html};

pub(crate) fn latencies(record: &ResultRecord) -> Markup {
    let rows: Vec<(&FigureName, &LatencyFigures)> = record
        .summary
        .iter()
        .filter(|(name, _)| **name != FigureName::Latency)
        .filter_map(|(name, figure)| Some((name, figure.latency.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let limit = record.max_latency;
    html! {
        h2 { "Latencies behind the figures" }
        div class="scroll" { table {
            tr {
                th { "figure" }
                @for head in ["mean", "p50", "p90", "p99", "p99.9", "max", "over the limit", "samples"] { th class="number" { (head) } }
            }
            @for (name, latency) in rows {
                tr {
                    td { (labels::figure_name(*name)) }
                    td class="number" { (number::time(latency.mean_ns)) }
                    @for (quantile, _) in labels::PERCENTILES { (percentile(latency, quantile)) }
                    td class="number" { (number::time(latency.max_ns as f64)) }
                    td class="number" { @match latency.over_limit { Some(share) if limit.is_some() => (number::percent(share)), _ => "-" } }
                    td class="number" { (number::grouped(latency.count as f64)) }
                }
            }
        } }
        @let reasons = reasons(record);
        @if !reasons.is_empty() { p class="quiet reasons" { "- where too few operations stand behind it: " (reasons.join("; ")) } }
    }
}

fn percentile(latency: &LatencyFigures, quantile: f64) -> Markup {
    let found = labels::percentile(latency, quantile);
    match found.and_then(labels::percentile_text) {
        Some(text) => html! { td class="number" { (text) } },
        None => {
            html! { td class="number" title=(found.and_then(|p| p.why.clone()).unwrap_or_default()) { "-" } }
        }
    }
}

/// Why percentiles are missing, by figure.
fn reasons(record: &ResultRecord) -> Vec<String> {
    let mut out = Vec::new();
    for (name, figure) in record.summary.iter().filter(|(name, _)| **name != FigureName::Latency) {
        for missing in figure.latency.iter().flat_map(|l| &l.percentiles).filter(|p| p.value_ns.is_none()) {
            let why = missing.why.as_deref().unwrap_or("not kept");
            let quantile = fathom_spec::Quantile(missing.quantile);
            out.push(format!("{} {quantile}: {why}", labels::figure_name(*name)));
        }
    }
    out
}

pub(crate) fn machine(record: &ResultRecord) -> Markup {
    let sections = facts::sections(&record.facts);
    if sections.is_empty() {
        return html! {};
    }
    html! {
        h2 { "Machine and storage" }
        div class="facts" {
            @for part in &sections {
                section {
                    h3 { (part.title) }
                    dl { @for (name, value) in &part.rows { dt { (name) } dd { (value) } } }
                }
            }
        }
    }
}

pub(crate) fn how_to_read(record: &ResultRecord) -> Markup {
    let small = labels::sized(record, FigureName::MaxIops, "reads at random places");
    let large = labels::sized(record, FigureName::MaxMbps, "reads");
    html! {
        h2 { "How to read this page" }
        div class="read" {
            p { b { "max_iops" } " is the most " (small) " a second that the storage gave while latency stayed within the limit; " b { "latency" } " is their mean there. The names are those of Oracle's CALIBRATE_IO." }
            p { b { "max_mbps" } " is the most that " (large) " moved, in units of 2^20 bytes a second; " b { "max_pmbps" } " is what one process got alone." }
            p { b { "\u{b1} x %" } " is half the width of a 95 % confidence interval, with the correlation of neighbouring I/Os counted in. A figure that did not converge says so, and its interval still holds." }
            p { b { "p99" } " is the latency that 99 of 100 I/Os stayed under. It is shown only where enough samples stand behind it." }
            p { b { "The knee" } " is where more outstanding I/Os begin to cost more latency than they give throughput: a good place to run a database." }
            p { b { "A commit" } " is a small write made durable before the next. Databases wait for it at every COMMIT." }
            p { b { "Believable" } " means that every check passed: the page cache was bypassed, nobody else used the disk, the load was steady. " b { "Cannot tell" } " means that a check could not be made." }
            p { b { "Bound by" } " names what kept a figure from being more: the device, the link to it, this host's CPU, a control group, or the latency limit." }
        }
    }
}

pub(crate) fn runs(record: &ResultRecord) -> Markup {
    let purpose = |purpose| match purpose {
        Purpose::Layout => "layout",
        Purpose::Exploring => "exploring",
        Purpose::Headline => "headline",
        Purpose::Load => "load",
        Purpose::Sustain => "sustain",
        Purpose::Check => "check",
    };
    html! {
        h2 { "What was done" }
        pre { (record.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")) }
        details {
            summary { (record.runs.len()) " runs, one after the other" }
            div class="scroll" { table {
                tr { th { "run" } th { "worth" } th class="number" { "began" } th class="number" { "length" } th class="number" { "block" } th class="number" { "I/Os" } th { "queue" } }
                @for run in &record.runs {
                    @let sum = run.intervals.iter().flat_map(|i| i.slots.iter().flatten()).map(|c| c.operations).sum::<u64>();
                    tr {
                        td { (run.name) }
                        td { (purpose(run.purpose)) }
                        td class="number" { (format!("{:.1} s", run.began_ns as f64 / 1e9)) }
                        td class="number" { (number::time(run.length_ns as f64)) }
                        td class="number" { (labels::block_size(run).unwrap_or_default()) }
                        td class="number" { (number::grouped(sum as f64)) }
                        td class="quiet" { (run.queues.join("; ")) }
                    }
                }
            } }
        }
    }
}

/// A word of a command line as a shell would take it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

pub(crate) fn footer(record: &ResultRecord) -> Markup {
    let moved: u64 = record
        .runs
        .iter()
        .flat_map(|r| &r.intervals)
        .flat_map(|i| i.slots.iter().flatten())
        .map(|c| c.bytes)
        .sum();
    html! {
        footer {
            "fathom " (record.version) " \u{b7} record " (record.id) " \u{b7} " (labels::moment(&record.started)) " to " (labels::moment(&record.ended))
            @if moved > 0 { " \u{b7} " (Bytes(moved)) " read and written" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_space_is_quoted() {
        assert_eq!(quoted("p99=2ms"), "p99=2ms");
        assert_eq!(quoted("my disk's"), "'my disk'\\''s'");
    }
}
