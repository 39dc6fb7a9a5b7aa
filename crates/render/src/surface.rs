//! Figures over two sizes as a page: a heat map and a surface of each, and every cell with its error. Works on any record
//! that has [`fathom_record::Surface`]s among its facts.

use crate::heat::{Field, Heat};
use crate::{html as page, html_details, number, svg};
use fathom_record::{ResultRecord, Surface, SurfaceCell};
use fathom_spec::Bytes;
use maud::{Markup, html};
use std::io::{self, Write};

/// Left of a map: the rows' heads.
const MARGIN: f64 = 86.0;

/// Writes the page.
pub fn write(record: &ResultRecord, out: &mut impl Write) -> io::Result<()> {
    out.write_all(whole(record).into_string().as_bytes())
}

fn whole(record: &ResultRecord) -> Markup {
    let targets = record.targets.join(", ");
    let surfaces = Surface::all(&record.facts);
    page::frame(
        record,
        &targets,
        html! {
            (page::heading(record, &targets))
            (maps(&surfaces))
            (table(&surfaces))
            (notes(record))
            (html_details::machine(record))
            (html_details::runs(record))
            (html_details::footer(record))
        },
    )
}

/// The sizes of a surface, in order.
fn axes(surface: &Surface) -> (Vec<u64>, Vec<u64>) {
    let axis = |of: fn(&SurfaceCell) -> u64| {
        let mut sizes: Vec<u64> = surface.cells.iter().map(of).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    (axis(|cell| cell.across), axis(|cell| cell.down))
}

fn place(sizes: &[u64], size: u64) -> usize {
    sizes.iter().position(|one| *one == size).unwrap_or(0)
}

/// What may be said of a cell besides its value.
fn mark(cell: &SurfaceCell) -> &'static str {
    if cell.memory.is_some() { "*" } else { "" }
}

fn title(surface: &Surface, cell: &SurfaceCell) -> String {
    let error = number::percent_of(cell.value, cell.half_width);
    let error = error.map_or("one pass".to_owned(), |error| format!("\u{b1} {error}"));
    let memory = cell.memory.iter().map(|why| format!("; {why}")).collect::<String>();
    format!(
        "{} {}, {} {}: {} {}, {error}{memory}",
        surface.down,
        Bytes(cell.down),
        surface.across,
        Bytes(cell.across),
        number::grouped(cell.value),
        surface.unit
    )
}

fn maps(surfaces: &[Surface]) -> Markup {
    let Some(first) = surfaces.first() else { return html! {} };
    html! {
        h2 { "Over " (first.across) " and " (first.down) " size" }
        p class="quiet" {
            "Across: " (first.across) ". Down: " (first.down) ". The darker, the more; what was not measured is empty. "
            "* marks a figure of memory: it says nothing of the disk."
        }
        @for (number, surface) in surfaces.iter().enumerate() {
            figure class="wide" {
                h3 { (surface.name) ", " (surface.unit) }
                (heat(number, surface))
            }
        }
        @let solid: Vec<(usize, &Surface)> = surfaces.iter().enumerate().filter(|(_, one)| has_faces(one)).collect();
        @if !solid.is_empty() {
            h2 { "The same as surfaces" }
            p class="quiet" { "To the right: " (first.across) ". To the back: " (first.down) ". Up: " (first.unit) "." }
            div class="charts" {
                @for (number, surface) in solid {
                    figure {
                        h3 { (surface.name) }
                        (solid_of(number, surface))
                    }
                }
            }
        }
    }
}

fn says(surface: &Surface) -> String {
    let best = surface.cells.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    best.map_or(String::new(), |best| format!("largest: {}", title(surface, best)))
}

fn heat(number: usize, surface: &Surface) -> Markup {
    let (columns, rows) = axes(surface);
    let field = |cell: &SurfaceCell| Field {
        column: place(&columns, cell.across),
        row: place(&rows, cell.down),
        value: cell.value,
        label: number::short(cell.value) + mark(cell),
        title: title(surface, cell),
    };
    let fields: Vec<Field> = surface.cells.iter().map(field).collect();
    let heads = |sizes: &[u64]| sizes.iter().map(|size| Bytes(*size).to_string()).collect::<Vec<_>>();
    let map = Heat {
        id: &format!("heat-{number}"),
        title: &surface.name,
        says: &says(surface),
        margin: MARGIN,
        columns: &heads(&columns),
        rows: &heads(&rows),
        fields: &fields,
    };
    map.draw()
}

/// Size of a surface's drawing.
const SOLID: (f64, f64) = (520.0, 300.0);
/// Where its front left corner stands on the ground.
const CORNER: (f64, f64) = (58.0, 268.0);
/// How far its ground goes: to the right, and to the back (to the right and up).
const GROUND: (f64, f64, f64) = (280.0, 118.0, 96.0);
/// How high its largest value stands.
const UP: f64 = 140.0;

/// The corners of a face.
type Face = [(usize, usize); 4];

/// Pairs of neighbouring sizes of which all four were measured, the farthest first.
fn faces(surface: &Surface) -> Vec<Face> {
    let (columns, rows) = axes(surface);
    let known = |(column, row): (usize, usize)| value(surface, columns[column], rows[row]).is_some();
    let mut faces = Vec::new();
    for row in (0..rows.len().saturating_sub(1)).rev() {
        for column in 0..columns.len().saturating_sub(1) {
            let face = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
            if face.into_iter().all(known) {
                faces.push(face);
            }
        }
    }
    faces
}

fn has_faces(surface: &Surface) -> bool {
    !faces(surface).is_empty()
}

fn value(surface: &Surface, across: u64, down: u64) -> Option<f64> {
    let cell = surface.cells.iter().find(|cell| (cell.across, cell.down) == (across, down));
    cell.map(|cell| cell.value)
}

/// A surface seen from the front, a little from above.
fn solid_of(number: usize, surface: &Surface) -> Markup {
    let (columns, rows) = axes(surface);
    let most = surface.cells.iter().map(|cell| cell.value).fold(f64::MIN_POSITIVE, f64::max);
    let ground = |column: f64, row: f64| {
        let right = column / (columns.len() - 1).max(1) as f64;
        let back = row / (rows.len() - 1).max(1) as f64;
        (CORNER.0 + GROUND.0 * right + GROUND.1 * back, CORNER.1 - GROUND.2 * back)
    };
    let of = |(column, row): (usize, usize)| value(surface, columns[column], rows[row]).unwrap_or(0.0);
    let above = |corner: (usize, usize)| {
        let (x, y) = ground(corner.0 as f64, corner.1 as f64);
        format!("{},{}", svg::place(x), svg::place(y - UP * of(corner) / most))
    };
    let line = |from: (f64, f64), to: (f64, f64)| {
        html! { line class="grid" x1=(svg::place(from.0)) y1=(svg::place(from.1)) x2=(svg::place(to.0)) y2=(svg::place(to.1)) {} }
    };
    let (right, back) = ((columns.len() - 1) as f64, (rows.len() - 1) as f64);
    let every = columns.len().div_ceil(6);
    svg::drawing(
        &format!("solid-{number}"),
        SOLID.0,
        SOLID.1,
        &surface.name,
        &says(surface),
        html! {
            g class="axis" {
                @for row in 0..rows.len() { (line(ground(0.0, row as f64), ground(right, row as f64))) }
                @for column in 0..columns.len() { (line(ground(column as f64, 0.0), ground(column as f64, back))) }
                @for (at, size) in columns.iter().enumerate().step_by(every) {
                    @let (x, y) = ground(at as f64, 0.0);
                    text x=(svg::place(x)) y=(svg::place(y + 16.0)) text-anchor="middle" { (Bytes(*size)) }
                }
                @for (at, size) in [(0, rows[0]), (rows.len() - 1, rows[rows.len() - 1])] {
                    @let (x, y) = ground(right, at as f64);
                    text x=(svg::place(x + 10.0)) y=(svg::place(y)) { (Bytes(size)) }
                }
                @let (x, y) = ground(0.0, 0.0);
                (line((x, y), (x, y - UP)))
                text x=(svg::place(x - 6.0)) y=(svg::place(y - UP + 4.0)) text-anchor="end" { (number::short(most)) }
                text x=(svg::place(x - 6.0)) y=(svg::place(y + 4.0)) text-anchor="end" { "0" }
            }
            g class="heat" {
                @for face in faces(surface) {
                    @let points = face.map(above).join(" ");
                    @let mean = face.into_iter().map(of).sum::<f64>() / 4.0;
                    polygon class="under" points=(points) {}
                    polygon points=(points) fill-opacity=(format!("{:.2}", 0.08 + 0.62 * mean / most)) {}
                }
            }
        },
    )
}

fn table(surfaces: &[Surface]) -> Markup {
    let Some(first) = surfaces.first() else { return html! {} };
    html! {
        h2 { "Every cell" }
        div class="scroll" { table {
            thead { tr {
                th { "Of" }
                @for name in [&first.down, &first.across, &first.unit] { th class="number" { (name) } }
                th class="number" { "\u{b1}" }
                th class="number" { "Passes" }
                th { "Memory" }
            } }
            tbody { @for surface in surfaces { @for cell in &surface.cells { tr {
                td { (surface.name) }
                td class="number" { (Bytes(cell.down)) }
                td class="number" { (Bytes(cell.across)) }
                td class="number" { (number::with_error(cell.value, cell.half_width)) }
                td class="number" { (number::percent_of(cell.value, cell.half_width).unwrap_or_else(|| "-".to_owned())) }
                td class="number" { (cell.passes.len()) @if !cell.converged { " " span class="doubt" { "did not converge" } } }
                td { @if let Some(why) = &cell.memory { (why) } }
            } } } }
        } }
        p class="quiet" { "\u{b1} is half the width of a 95 % interval of the mean of all passes; - where there was one pass only." }
    }
}

fn notes(record: &ResultRecord) -> Markup {
    html! {
        @for note in &record.notes {
            p class="note" { (note.text) @if let Some(hint) = &note.hint { br; span class="quiet" { (hint) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::Pass;

    fn surface() -> Surface {
        let cell = |across: u64, down: u64, value: f64| SurfaceCell {
            across: across << 10,
            down: down << 10,
            value,
            half_width: (across > 4).then_some(value / 20.0),
            converged: across > 4,
            passes: vec![Pass { seconds: 0.5, cached: None }; if across > 4 { 3 } else { 1 }],
            memory: (down > 64).then(|| "the page cache held it".to_owned()),
        };
        let cells =
            vec![cell(4, 64, 1000.0), cell(8, 64, 2000.0), cell(4, 128, 3000.0), cell(8, 128, 40_000.0)];
        let text = |word: &str| word.to_owned();
        let (name, unit) = (text("Reader report"), text("KiB/s"));
        Surface { name, unit, across: text("record"), down: text("file"), cells }
    }

    #[test]
    fn each_cell_is_a_field_and_memory_is_marked() {
        let text = maps(&[surface()]).into_string();
        assert_eq!(text.matches("<rect").count(), 4);
        assert!(text.contains("file 64 KiB, record 8 KiB: 2,000 KiB/s, \u{b1} 5.0 %"), "{text}");
        assert!(text.contains("1,000 KiB/s, one pass"), "{text}");
        assert!(text.contains(">40k*<") && text.contains(">2,000<"), "{text}");
        assert!(text.contains("largest: file 128 KiB, record 8 KiB: 40,000"), "{text}");
    }

    #[test]
    fn a_face_needs_its_four_corners() {
        let mut surface = surface();
        assert_eq!(faces(&surface), [[(0, 0), (1, 0), (1, 1), (0, 1)]]);
        surface.cells.remove(1);
        assert_eq!(faces(&surface), [] as [Face; 0]);
        let text = maps(&[surface]).into_string();
        assert!(!text.contains("as surfaces") && text.matches("<rect").count() == 3);
    }

    #[test]
    fn every_cell_stands_in_the_table_with_its_error() {
        let text = table(&[surface()]).into_string();
        assert_eq!(text.matches("<td>Reader report</td>").count(), 4);
        assert_eq!(text.matches("did not converge").count(), 2);
        assert!(maps(&[]).into_string().is_empty() && table(&[]).into_string().is_empty());
    }
}
