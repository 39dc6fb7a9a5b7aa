//! What all charts are made of: scales, ticks, a frame with axes. Knows nothing of records.

use maud::{Markup, html};

/// From a value to a place on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Steps of equal ratio rather than of equal difference.
    pub logarithmic: bool,
    /// Value at `from`.
    pub low: f64,
    /// Value at `to`.
    pub high: f64,
    /// Place of `low`.
    pub from: f64,
    /// Place of `high`.
    pub to: f64,
}

impl Scale {
    /// The place of a value; values outside stand at the edge.
    pub fn at(&self, value: f64) -> f64 {
        let bend = |v: f64| if self.logarithmic { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let width = bend(self.high) - bend(self.low);
        let share = if width > 0.0 { (bend(value) - bend(self.low)) / width } else { 0.5 };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values to label, about so many.
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        if self.logarithmic {
            return self.logarithmic_ticks(about);
        }
        let step = round_step((self.high - self.low) / about.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }

    fn logarithmic_ticks(&self, about: usize) -> Vec<f64> {
        let decades = (self.low.log10().floor() as i32..=self.high.log10().ceil() as i32).collect::<Vec<_>>();
        let of = |steps: &[f64]| -> Vec<f64> {
            let all = decades.iter().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(*d)));
            all.filter(|v| (self.low * 0.999..=self.high * 1.001).contains(v)).collect()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        let coarse = of(&[1.0]);
        if fine.len() <= about + 2 || coarse.len() < 2 { fine } else { coarse }
    }
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.max(f64::MIN_POSITIVE).log10().floor());
    let wanted = step / power;
    power * [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|s| *s >= wanted - 1e-9).unwrap_or(10.0)
}

/// The least round value over a maximum, so that a curve does not touch the top.
pub fn round_above(most: f64) -> f64 {
    let step = round_step(most.max(f64::MIN_POSITIVE) / 5.0);
    (most * 1.04 / step).ceil() * step
}

/// One axis: its scale, the values that are labelled, and how.
pub struct Axis {
    /// From values to places.
    pub scale: Scale,
    /// Labelled values.
    pub ticks: Vec<f64>,
    /// Writes a value.
    pub label: fn(f64) -> String,
    /// What the axis shows, with its unit.
    pub title: String,
}

/// A coordinate with one decimal, to keep the page small.
pub fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Horizontal grid lines with their labels to the left, the title above them.
pub fn value_axis(axis: &Axis, left: f64, right: f64) -> Markup {
    let top = axis.scale.to.min(axis.scale.from);
    html! {
        g class="axis" {
            @for tick in &axis.ticks {
                @let y = place(axis.scale.at(*tick));
                line class="grid" x1=(place(left)) x2=(place(right)) y1=(y) y2=(y) {}
                text x=(place(left - 7.0)) y=(place(axis.scale.at(*tick) + 4.0)) text-anchor="end" { ((axis.label)(*tick)) }
            }
            text class="axis-title" x="2" y=(place(top - 12.0)) { (axis.title) }
        }
    }
}

/// Labels under the drawing, the title at their right end below.
pub fn load_axis(axis: &Axis, bottom: f64) -> Markup {
    let (left, right) = (axis.scale.from, axis.scale.to);
    html! {
        g class="axis" {
            line class="base" x1=(place(left)) x2=(place(right)) y1=(place(bottom)) y2=(place(bottom)) {}
            @for tick in &axis.ticks {
                @let x = place(axis.scale.at(*tick));
                line class="base" x1=(x) x2=(x) y1=(place(bottom)) y2=(place(bottom + 4.0)) {}
                text x=(x) y=(place(bottom + 17.0)) text-anchor="middle" { ((axis.label)(*tick)) }
            }
            text class="axis-title" x=(place(right)) y=(place(bottom + 35.0)) text-anchor="end" { (axis.title) }
        }
    }
}

/// A drawing with its title and description for those who do not see it.
pub fn drawing(id: &str, width: f64, height: f64, title: &str, description: &str, inside: Markup) -> Markup {
    let view = format!("0 0 {} {}", place(width), place(height));
    let (title_id, description_id) = (format!("{id}-title"), format!("{id}-text"));
    html! {
        svg viewBox=(view) role="img" aria-labelledby={ (title_id) " " (description_id) } xmlns="http://www.w3.org/2000/svg" {
            title id=(title_id) { (title) }
            desc id=(description_id) { (description) }
            (inside)
        }
    }
}

/// A path through points.
pub fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        out.push(if at == 0 { 'M' } else { 'L' });
        out.push_str(&place(*x));
        out.push(' ');
        out.push_str(&place(*y));
    }
    out
}

/// Moves labels apart so that none is nearer to the next than `gap`, keeping their order; answers new places
/// in the order given.
pub fn apart(places: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    let mut out = places.to_vec();
    let mut free = low;
    for &at in &order {
        out[at] = out[at].max(free);
        free = out[at] + gap;
    }
    let mut free = high;
    for &at in order.iter().rev() {
        out[at] = out[at].min(free);
        free = out[at] - gap;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale { logarithmic: false, low: 0.0, high: 26_000.0, from: 100.0, to: 0.0 };
        assert_eq!(scale.ticks(5), [0.0, 10_000.0, 20_000.0]);
        let scale = Scale { logarithmic: true, low: 90e3, high: 12e6, from: 100.0, to: 0.0 };
        assert_eq!(scale.ticks(6), [1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7]);
        assert_eq!(scale.ticks(2), [1e5, 1e6, 1e7]);
    }

    #[test]
    fn labels_are_moved_apart_and_stay_inside() {
        assert_eq!(apart(&[50.0, 52.0, 10.0], 10.0, 0.0, 55.0), [45.0, 55.0, 10.0]);
    }

    #[test]
    fn a_scale_without_width_puts_everything_in_the_middle() {
        let scale = Scale { logarithmic: true, low: 1.0, high: 1.0, from: 0.0, to: 10.0 };
        assert_eq!(scale.at(1.0), 5.0);
    }
}
