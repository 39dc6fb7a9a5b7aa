//! ORION's matrix as a page: heat maps of IOPS, MB/s and latency over small and large load, and how the latencies
//! of each point are spread. Works on any record whose runs have a small and a large side.

use crate::heat::{Field, Heat, WIDTH};
use crate::{html as page, html_details, number, svg};
use fathom_record::{GroupTotals, Histogram, LARGE, Latency, Load, Purpose, ResultRecord, SMALL};
use maud::{Markup, html};
use std::io::{self, Write};

/// Left of a map: row headers.
const MARGIN: f64 = 62.0;
/// Above this an I/O is called slow, ns.
const SLOW_NS: u64 = 10_000_000;

/// One measured point.
struct Cell {
    load: Load,
    small: Option<GroupTotals>,
    large: Option<GroupTotals>,
    trouble: bool,
}

/// Writes the page.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    out.write_all(whole(record).into_string().as_bytes())
}

fn whole(record: &ResultRecord) -> Markup {
    let counted = |side: &GroupTotals| side.counts.operations > 0;
    let cells: Vec<Cell> = record
        .runs
        .iter()
        .filter(|run| run.purpose == Purpose::Load)
        .map(|run| Cell {
            load: run.load,
            small: run.side(SMALL).filter(counted),
            large: run.side(LARGE).filter(counted),
            trouble: run.faults().next().is_some(),
        })
        .collect();
    let targets = record.targets.join(", ");
    page::frame(
        record,
        &targets,
        html! {
            (page::heading(record, &targets))
            (page::cards(record))
            (maps(&cells))
            (spread(&cells))
            (table(&cells))
            (html_details::machine(record))
            (html_details::runs(record))
            (html_details::footer(record))
        },
    )
}

/// What one map shows.
struct Map {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    of: fn(&Cell) -> Option<f64>,
    label: fn(f64) -> String,
}

const MAPS: [Map; 3] = [
    Map {
        id: "iops",
        title: "Small I/Os a second",
        unit: "IOPS",
        of: |cell| cell.small.as_ref().map(GroupTotals::operations_per_second),
        label: number::short,
    },
    Map {
        id: "mbps",
        title: "Bytes a second by large I/Os",
        unit: "MiB/s",
        of: |cell| cell.large.as_ref().map(GroupTotals::mebibytes_per_second),
        label: |mbps| number::significant(mbps, 3),
    },
    Map {
        id: "latency",
        title: "Mean latency of small I/Os",
        unit: "ms",
        of: |cell| Some(cell.small.as_ref()?.both().mean_ns()? / 1e6),
        label: |ms| number::significant(ms, 3),
    },
];

fn maps(cells: &[Cell]) -> Markup {
    let axis = |of: fn(&Cell) -> u32| {
        let mut loads: Vec<u32> = cells.iter().map(of).collect();
        loads.sort_unstable();
        loads.dedup();
        loads
    };
    let (smalls, larges) = (axis(|cell| cell.load.small), axis(|cell| cell.load.large));
    html! {
        h2 { "Over small and large load" }
        p class="quiet" { "Across: small I/Os outstanding. Down: large I/Os or streams outstanding. The darker, the more; a cell that was not measured is empty, ! marks a point in which I/Os failed." }
        @for map in MAPS.iter().filter(|map| cells.iter().any(|cell| (map.of)(cell).is_some())) {
            figure class="wide" {
                h3 { (map.title) ", " (map.unit) }
                (heat(map, cells, &smalls, &larges))
            }
        }
    }
}

/// The map itself.
fn heat(map: &Map, cells: &[Cell], smalls: &[u32], larges: &[u32]) -> Markup {
    let place = |loads: &[u32], load: u32| loads.iter().position(|l| *l == load).unwrap_or(0);
    let best = cells.iter().filter_map(|cell| Some((cell.load, (map.of)(cell)?)));
    let best = best.max_by(|a, b| a.1.total_cmp(&b.1));
    let says = best.map_or(String::new(), |(load, value)| {
        format!(
            "largest: {} {} at small {} and large {}",
            (map.label)(value),
            map.unit,
            load.small,
            load.large
        )
    });
    let field = |cell: &Cell| {
        let value = (map.of)(cell)?;
        let (Load { small, large }, label) = (cell.load, (map.label)(value));
        let mark = if cell.trouble { "!" } else { "" };
        Some(Field {
            column: place(smalls, small),
            row: place(larges, large),
            value,
            title: format!("small {small}, large {large}: {label} {}{mark}", map.unit),
            label: label + mark,
        })
    };
    let fields: Vec<Field> = cells.iter().filter_map(field).collect();
    let heads = |loads: &[u32]| loads.iter().map(u32::to_string).collect::<Vec<_>>();
    let (columns, rows) = (heads(smalls), heads(larges));
    let (id, title) = (map.id, map.title);
    Heat { id, title, says: &says, margin: MARGIN, columns: &columns, rows: &rows, fields: &fields }.draw()
}

/// ORION's octaves of microseconds.
const OCTAVES: usize = 24;

/// Share of the I/Os in each octave.
fn octaves(latency: &Latency) -> [f64; OCTAVES] {
    let mut shares = [0.0; OCTAVES];
    for (bin, count) in latency.bins.iter().flat_map(Histogram::filled) {
        let us = Histogram::lower_edge(bin) / 1000;
        let octave = (u64::BITS - us.leading_zeros()).saturating_sub(1) as usize;
        shares[octave.min(OCTAVES - 1)] += f64::from(count) / latency.count.max(1) as f64;
    }
    shares
}

fn sides(cell: &Cell) -> impl Iterator<Item = (&'static str, Latency)> {
    let both = |side: &Option<GroupTotals>| side.as_ref().map(GroupTotals::both);
    [("small", both(&cell.small)), ("large", both(&cell.large))]
        .into_iter()
        .filter_map(|(kind, latency)| Some((kind, latency?)))
}

fn octave_label(octave: usize) -> String {
    number::time((1u64 << octave) as f64 * 1e3)
}

/// One line a point and kind: where its latencies lie.
fn spread(cells: &[Cell]) -> Markup {
    let lines: Vec<(Load, &str, [f64; OCTAVES])> = cells
        .iter()
        .flat_map(|cell| sides(cell).map(|(kind, latency)| (cell.load, kind, octaves(&latency))))
        .collect();
    let used = |octave: &usize| lines.iter().any(|(_, _, shares)| shares[*octave] > 0.0);
    let first = (0..OCTAVES).find(used).unwrap_or(0);
    let last = (0..OCTAVES).rev().find(used).unwrap_or(first);
    let (left, tall, top) = (170.0, 15.0, 22.0);
    let width = (WIDTH - left) / (last - first + 1) as f64;
    let height = top + tall * lines.len() as f64 + 4.0;
    let says = "each line is a point, each field an octave of latency; the darker, the more I/Os lie in it";
    html! {
        h2 { "How latencies are spread" }
        figure class="wide" {
            (svg::drawing("spread", WIDTH, height, "Latencies of each point", says, html! {
                g class="axis" {
                    @for octave in first..=last {
                        text x=(svg::place(left + width * (octave - first) as f64)) y="14" { (octave_label(octave)) }
                    }
                    @for (at, (load, kind, _)) in lines.iter().enumerate() {
                        text x=(svg::place(left - 8.0)) y=(svg::place(top + tall * at as f64 + 11.5)) text-anchor="end" {
                            (kind) " at " (load.small) " + " (load.large)
                        }
                    }
                }
                g class="heat" {
                    @for (at, (_, _, shares)) in lines.iter().enumerate() {
                        @for octave in (first..=last).filter(|octave| shares[*octave] > 0.0) {
                            rect x=(svg::place(left + width * (octave - first) as f64)) y=(svg::place(top + tall * at as f64 + 1.0))
                                width=(svg::place(width - 1.0)) height=(svg::place(tall - 2.0)) fill-opacity=(format!("{:.2}", 0.06 + 0.94 * shares[octave])) {
                                title { (octave_label(octave)) " to " (octave_label(octave + 1)) ": " (number::percent(shares[octave])) }
                            }
                        }
                    }
                }
            }))
            figcaption { "small + large is the load of the point. From the edge that is labelled to twice that." }
        }
    }
}

fn table(cells: &[Cell]) -> Markup {
    let time = |ns: Option<f64>| ns.map(number::time).unwrap_or_else(|| "-".to_owned());
    html! {
        h2 { "Every point" }
        div class="scroll" { table {
            thead { tr {
                @for name in ["Small", "Large"] { th class="number" { (name) } }
                th { "Of" }
                @for name in ["IOPS", "MiB/s", "Mean", "p50", "p99", "Largest", "Over 10 ms"] { th class="number" { (name) } }
            } }
            tbody { @for cell in cells { @for (kind, latency) in sides(cell) {
                @let side = if kind == "small" { cell.small.as_ref() } else { cell.large.as_ref() };
                @let over = latency.bins.as_ref().map_or(0, |bins| bins.above(SLOW_NS)) as f64 / latency.count.max(1) as f64;
                tr {
                    td class="number" { (cell.load.small) }
                    td class="number" { (cell.load.large) }
                    td { (kind) @if cell.trouble { " " span class="bad" { "I/Os failed" } } }
                    td class="number" { (number::grouped(side.map_or(0.0, GroupTotals::operations_per_second))) }
                    td class="number" { (number::significant(side.map_or(0.0, GroupTotals::mebibytes_per_second), 4)) }
                    td class="number" { (time(latency.mean_ns())) }
                    td class="number" { (time(latency.quantile_ns(0.5).map(|ns| ns as f64))) }
                    td class="number" { (time(latency.quantile_ns(0.99).filter(|_| latency.count >= 1000).map(|ns| ns as f64))) }
                    td class="number" { (time(Some(latency.max_ns as f64))) }
                    td class="number" { (number::percent(over)) }
                }
            } } }
        } }
        p class="quiet" { "p99 is shown only where 1,000 I/Os or more stand behind it." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(small: u32, large: u32, ms: u64) -> Cell {
        let mut side = GroupTotals { seconds: 1.0, ..GroupTotals::default() };
        side.read.add(ms * 1_000_000);
        (side.counts.operations, side.counts.bytes) = (1000 / ms, 8192 * 1000 / ms);
        let side = |load: u32| (load > 0).then(|| side.clone());
        Cell { load: Load { small, large }, small: side(small), large: side(large), trouble: small == 2 }
    }

    #[test]
    fn each_map_has_a_cell_for_each_point_that_has_a_value() {
        let cells = [cell(1, 0, 10), cell(2, 0, 20), cell(0, 1, 40), cell(2, 1, 50)];
        let text = maps(&cells).into_string();
        assert_eq!(text.matches("<rect").count(), 3 + 2 + 3);
        assert!(text.contains("small 2, large 1: 20 IOPS!"), "{text}");
        assert!(text.contains("largest: 100 IOPS at small 1 and large 0"), "{text}");
        assert!(text.contains(">50.0!<"), "{text}");
        let small_only = maps(&cells[..1]).into_string();
        assert!(!small_only.contains("Bytes a second by large"));
    }

    #[test]
    fn a_latency_lies_in_the_octave_that_orion_counts_it_in() {
        let mut latency = Latency::default();
        [900, 1_500, 2_000, 5_000_000].iter().for_each(|ns| latency.add(*ns));
        let shares = octaves(&latency);
        assert_eq!((shares[0], shares[1], shares[12]), (0.5, 0.25, 0.25));
    }

    #[test]
    fn a_record_without_any_point_is_a_page_too() {
        assert!(spread(&[]).into_string().contains("How latencies are spread"));
        assert!(!maps(&[]).into_string().contains("<rect"));
    }
}
