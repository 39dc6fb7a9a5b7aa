//! A heat map: a rectangle for each pair of a column and a row, as strong as its share of the largest value, with the
//! value in it. Knows nothing of records.

use crate::svg;
use maud::{Markup, html};

/// Of the widest drawing.
pub const WIDTH: f64 = 1060.0;
/// Strongest colour of a field: numbers must stay readable on it.
const STRONGEST: f64 = 0.5;
/// Height of a row.
const TALL: f64 = 26.0;
/// Above the first row: the columns' heads.
const TOP: f64 = 22.0;

/// One field of a map.
pub struct Field {
    /// Index into the columns.
    pub column: usize,
    /// Index into the rows.
    pub row: usize,
    /// How much: not negative.
    pub value: f64,
    /// That, in the field.
    pub label: String,
    /// All that is known of it, for who points at it.
    pub title: String,
}

/// A map with its heads.
pub struct Heat<'a> {
    /// Its name on the page.
    pub id: &'a str,
    pub title: &'a str,
    /// What it says, in a sentence for who cannot see it.
    pub says: &'a str,
    /// Left of the first column, for the rows' heads.
    pub margin: f64,
    pub columns: &'a [String],
    pub rows: &'a [String],
    pub fields: &'a [Field],
}

impl Heat<'_> {
    /// The drawing.
    pub fn draw(&self) -> Markup {
        let width = ((WIDTH - self.margin) / self.columns.len().max(1) as f64).clamp(6.0, 96.0);
        let most = self.fields.iter().map(|field| field.value).fold(0.0, f64::max);
        let every = (30.0 / width).ceil().max(1.0) as usize;
        let height = TOP + TALL * self.rows.len() as f64 + 4.0;
        svg::drawing(
            self.id,
            WIDTH,
            height,
            self.title,
            self.says,
            html! {
                g class="axis" {
                    @for (at, head) in self.columns.iter().enumerate().step_by(every) {
                        text x=(svg::place(self.margin + width * (at as f64 + 0.5))) y="14" text-anchor="middle" { (head) }
                    }
                    @for (at, head) in self.rows.iter().enumerate() {
                        text x=(svg::place(self.margin - 8.0)) y=(svg::place(TOP + TALL * at as f64 + 17.0)) text-anchor="end" { (head) }
                    }
                }
                g class="heat" {
                    @for field in self.fields { (self.field(field, width, most)) }
                }
            },
        )
    }

    fn field(&self, field: &Field, width: f64, most: f64) -> Markup {
        let (x, y) = (self.margin + width * field.column as f64, TOP + TALL * field.row as f64);
        let strength = if most > 0.0 { STRONGEST * field.value / most } else { 0.0 };
        html! {
            rect x=(svg::place(x + 1.0)) y=(svg::place(y + 1.0)) width=(svg::place(width - 2.0)) height=(svg::place(TALL - 2.0)) fill-opacity=(format!("{:.2}", 0.04 + strength)) {
                title { (field.title) }
            }
            @if width >= 34.0 {
                text class="bar-name" x=(svg::place(x + width / 2.0)) y=(svg::place(y + 17.0)) text-anchor="middle" { (field.label) }
            }
        }
    }
}
