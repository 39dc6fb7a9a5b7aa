//! The chart over the whole run, and latencies over time as a heat map.

use crate::svg::{self, Axis, Scale, place};
use crate::{labels, number};
use fathom_record::{Histogram, ResultRecord, Run};
use fathom_spec::{Bytes, Verb};
use maud::{Markup, html};
use std::fmt::Write;

/// Width of a chart that has the page for itself.
const WIDTH: f64 = 1060.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 14.0;

/// Reads or writes of one run: rates in steps of equal length.
struct Rates {
    /// s since the start of the record.
    start_s: f64,
    step_s: f64,
    /// Operations a second, 2^20 bytes a second.
    steps: Vec<(f64, f64)>,
}

/// Runs of one name, one after the other.
struct Phase {
    name: String,
    from_s: f64,
    to_s: f64,
}

/// The whole run: operations and bytes a second over time, phases shaded and named. Nothing when no run has slots.
pub fn whole_run(record: &ResultRecord) -> Option<Markup> {
    let end_ns = record.runs.iter().map(|run| run.began_ns + run.length_ns).max()?;
    let begin_ns = record.runs.iter().map(|run| run.began_ns).min()?;
    let group = |run: &Run| {
        let slots_on_page = (end_ns - begin_ns) / run.plan.slot.0.max(1);
        (slots_on_page as usize).div_ceil(700).max(1)
    };
    let of = |writes: bool| -> Vec<Rates> {
        record.runs.iter().filter_map(|run| rates(run, writes, group(run))).collect()
    };
    let (reads, writes) = (of(false), of(true));
    if reads.is_empty() && writes.is_empty() {
        return None;
    }
    let x = Scale {
        logarithmic: false,
        low: begin_ns as f64 / 1e9,
        high: end_ns as f64 / 1e9,
        from: LEFT,
        to: RIGHT,
    };
    let phases = phases(&record.runs);
    let (top, high, gap) = (62.0, 150.0, 50.0);
    let second = top + high + gap;
    let bottom = second + high;
    let seconds = |v: f64| number::short(v);
    let time_axis =
        Axis { scale: x, ticks: x.ticks(12), label: seconds, title: "seconds since the start".into() };
    let key = key(&phases, &x);
    let height = bottom + 48.0 + 18.0 * key.len() as f64;
    let inside = html! {
        (bands(&phases, &x, 22.0, bottom))
        (panel(&reads, &writes, |rate| rate.0, "operations per second", &x, (top, top + high)))
        (panel(&reads, &writes, |rate| rate.1, "MiB per second", &x, (second, bottom)))
        (svg::load_axis(&time_axis, bottom))
        (legend(!reads.is_empty(), !writes.is_empty(), top + high + 24.0))
        @for (row, line) in key.iter().enumerate() {
            text class="note" x=(place(LEFT)) y=(place(bottom + 54.0 + 18.0 * row as f64)) { (line) }
        }
    };
    let names: Vec<String> =
        phases.iter().map(|p| format!("{} from {:.0} s to {:.0} s", p.name, p.from_s, p.to_s)).collect();
    let text = format!("Operations and MiB a second over time. Phases: {}.", names.join("; "));
    Some(svg::drawing("whole-run", WIDTH, height, "Throughput over the whole run", &text, inside))
}

fn is_write(verb: Verb) -> bool {
    verb.writes() || matches!(verb, Verb::Sync | Verb::Create | Verb::Delete | Verb::Update)
}

/// Slots of all streams laid on each other, then joined in groups. A last slot that was cut short is left out.
fn rates(run: &Run, writes: bool, group: usize) -> Option<Rates> {
    let slot_ns = run.plan.slot.0.max(1);
    let whole = (run.length_ns / slot_ns) as usize;
    let mut sums = vec![(0u64, 0u64); whole];
    let mut seen = false;
    for interval in &run.intervals {
        let first = (interval.start_ns / slot_ns) as usize;
        for (at, slot) in interval.slots.iter().enumerate() {
            let Some(sum) = sums.get_mut(first + at) else { break };
            let cells = interval.cells.iter().zip(slot).filter(|((verb, _), _)| is_write(*verb) == writes);
            for (_, counts) in cells {
                sum.0 += counts.operations;
                sum.1 += counts.bytes;
                seen |= counts.operations > 0;
            }
        }
    }
    let slot_s = slot_ns as f64 / 1e9;
    let rate = |slots: &[(u64, u64)]| {
        let seconds = slots.len() as f64 * slot_s;
        let (operations, bytes) = slots.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        (operations as f64 / seconds, Bytes(bytes).mebibytes() / seconds)
    };
    let steps: Vec<(f64, f64)> = sums.chunks(group).map(rate).collect();
    seen.then_some(Rates { start_s: run.began_ns as f64 / 1e9, step_s: slot_s * group as f64, steps })
}

fn phases(runs: &[Run]) -> Vec<Phase> {
    let mut out: Vec<Phase> = Vec::new();
    for run in runs {
        let (from_s, to_s) = (run.began_ns as f64 / 1e9, (run.began_ns + run.length_ns) as f64 / 1e9);
        match out.last_mut() {
            Some(last) if last.name == labels::phase(run) => last.to_s = to_s,
            _ => out.push(Phase { name: labels::phase(run).to_owned(), from_s, to_s }),
        }
    }
    out
}

/// Does a phase's name fit over its band?
fn fits(phase: &Phase, x: &Scale) -> bool {
    x.at(phase.to_s) - x.at(phase.from_s) > phase.name.chars().count() as f64 * 6.6 + 8.0
}

/// Lines that say which phases the numbers stand for: those whose names do not fit.
fn key(phases: &[Phase], x: &Scale) -> Vec<String> {
    let mut lines = vec![String::new()];
    let small = phases.iter().enumerate().filter(|(_, phase)| !fits(phase, x));
    for (number, phase) in small {
        let entry = format!("{}: {}", number + 1, phase.name);
        let full = lines.last().is_some_and(|line| line.len() + entry.len() > 140);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push_str("  \u{b7}  ");
            }
            line.push_str(&entry);
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

fn bands(phases: &[Phase], x: &Scale, top: f64, bottom: f64) -> Markup {
    html! {
        @for (number, phase) in phases.iter().enumerate() {
            @let (from, to) = (x.at(phase.from_s), x.at(phase.to_s));
            rect class=(if number % 2 == 0 { "band even" } else { "band" }) x=(place(from)) y=(place(top - 16.0)) width=(place((to - from).max(0.5))) height=(place(bottom - top + 16.0)) {
                title { (phase.name) }
            }
            text class="note" x=(place((from + to) / 2.0)) y=(place(top - 2.0)) text-anchor="middle" {
                @if fits(phase, x) { (phase.name) } @else { (number + 1) }
            }
        }
    }
}

fn panel(
    reads: &[Rates],
    writes: &[Rates],
    value: fn(&(f64, f64)) -> f64,
    title: &str,
    x: &Scale,
    place_y: (f64, f64),
) -> Markup {
    let (top, bottom) = place_y;
    let most = reads.iter().chain(writes).flat_map(|r| r.steps.iter().map(value)).fold(0.0, f64::max);
    let y = Scale { logarithmic: false, low: 0.0, high: svg::round_above(most), from: bottom, to: top };
    let axis = Axis { scale: y, ticks: y.ticks(4), label: number::short, title: title.to_owned() };
    html! {
        (svg::value_axis(&axis, LEFT, RIGHT))
        line class="base" x1=(place(LEFT)) x2=(place(RIGHT)) y1=(place(bottom)) y2=(place(bottom)) {}
        g class="series s1" { @for rates in reads { (area(rates, value, x, &y)) } }
        g class="series s3" { @for rates in writes { (area(rates, value, x, &y)) } }
    }
}

/// One run's rates as steps over a shaded area.
fn area(rates: &Rates, value: fn(&(f64, f64)) -> f64, x: &Scale, y: &Scale) -> Markup {
    let mut d = String::new();
    for (at, step) in rates.steps.iter().enumerate() {
        let from = rates.start_s + at as f64 * rates.step_s;
        let (to, up) = (place(x.at(from + rates.step_s)), place(y.at(value(step))));
        let _ = match at {
            0 => write!(d, "M{} {up}H{to}", place(x.at(from))),
            _ => write!(d, "V{up}H{to}"),
        };
    }
    let end = rates.start_s + rates.steps.len() as f64 * rates.step_s;
    let ground = place(y.from);
    let closed = format!("{d}V{ground}H{}z", place(x.at(rates.start_s).min(x.at(end))));
    html! {
        path class="area" d=(closed) {}
        path class="steps" d=(d) {}
    }
}

fn legend(reads: bool, writes: bool, y: f64) -> Markup {
    let entries: Vec<(&str, &str)> = [(reads, ("s1", "reads")), (writes, ("s3", "writes and commits"))]
        .into_iter()
        .filter_map(|(there, entry)| there.then_some(entry))
        .collect();
    html! {
        @for (number, (class, name)) in entries.iter().enumerate() {
            @let x = RIGHT - 190.0 + 62.0 * number as f64;
            g class={ "series " (class) } {
                rect class="area" x=(place(x)) y=(place(y - 9.0)) width="11" height="11" {}
                path class="steps" d={ "M" (place(x)) " " (place(y - 9.0)) "h11" } {}
            }
            text class="note" x=(place(x + 16.0)) y=(place(y)) { (name) }
        }
    }
}

/// Rows of the heat map in one octave of latency.
const ROWS: u32 = 4;

/// Latencies over time: a column for each interval, rows by latency, darker where more I/Os lie. Nothing for a run of
/// fewer than three intervals with histograms.
pub fn heat_map(run: &Run) -> Option<Markup> {
    let columns: Vec<(f64, f64, Histogram)> = run
        .intervals
        .iter()
        .filter_map(|interval| {
            let mut all = Histogram::default();
            for (_, cell) in &interval.cells {
                let latency = cell.response.as_ref().or(cell.service.as_ref());
                latency.and_then(|l| l.bins.as_ref()).into_iter().for_each(|bins| all.merge(bins));
            }
            let start = interval.start_ns as f64 / 1e9;
            (all.count() > 0).then(|| (start, start + interval.length_ns as f64 / 1e9, all))
        })
        .collect();
    if columns.len() < 3 {
        return None;
    }
    let row = |ns: u64| (f64::from(ROWS) * (ns.max(1) as f64).log2()).floor() as i64;
    let edge = |row: i64| (row as f64 / f64::from(ROWS)).exp2();
    let bins = columns.iter().flat_map(|c| c.2.filled().map(|(bin, _)| row(Histogram::lower_edge(bin))));
    let (low, high) = bins.fold((i64::MAX, i64::MIN), |(low, high), row| (low.min(row), high.max(row)));
    let (top, bottom) = (36.0, 236.0);
    let end = columns.iter().map(|c| c.1).fold(0.0, f64::max);
    let x = Scale { logarithmic: false, low: columns[0].0, high: end, from: LEFT, to: RIGHT };
    let y = Scale { logarithmic: true, low: edge(low), high: edge(high + 1), from: bottom, to: top };
    let time_axis = Axis {
        scale: x,
        ticks: x.ticks(10),
        label: number::short,
        title: "seconds since this run's start".into(),
    };
    let value_axis =
        Axis { scale: y, ticks: y.ticks(5), label: number::time, title: "latency (log scale)".into() };
    let cells = |histogram: &Histogram| {
        let mut rows = vec![0u64; (high - low + 1) as usize];
        histogram.filled().for_each(|(bin, count)| {
            rows[(row(Histogram::lower_edge(bin)) - low) as usize] += u64::from(count);
        });
        let total = histogram.count() as f64;
        rows.into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0)
            .map(|(at, count)| (low + at as i64, count as f64 / total))
            .collect::<Vec<_>>()
    };
    let inside = html! {
        g class="heat" {
            @for (from, to, histogram) in &columns {
                @for (row, share) in cells(histogram) {
                    @let (up, down) = (y.at(edge(row + 1)), y.at(edge(row)));
                    rect x=(place(x.at(*from))) y=(place(up)) width=(place(x.at(*to) - x.at(*from) - 0.6)) height=(place((down - up - 0.6).max(0.6))) fill-opacity=(format!("{:.2}", (0.12 + share.sqrt()).min(1.0))) {
                        title { (number::percent(share)) " of the I/Os from " (number::time(edge(row))) " to " (number::time(edge(row + 1))) }
                    }
                }
            }
        }
        (svg::value_axis(&value_axis, LEFT, RIGHT))
        (svg::load_axis(&time_axis, bottom))
    };
    let text = format!("Latencies of {}, one column for each second, darker where more I/Os lie.", run.name);
    Some(svg::drawing("heat", WIDTH, bottom + 44.0, "Latency over time", &text, inside))
}
