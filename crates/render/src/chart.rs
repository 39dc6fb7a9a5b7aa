//! Charts of the page: lines over the load, and bars, each with its errors.

use crate::svg::{self, Axis, Scale, place};
use crate::{labels, number};
use fathom_record::{Curve, CurvePoint, Load};
use maud::{Markup, html};

/// Width of a chart that stands beside another.
const WIDTH: f64 = 520.0;
/// Height of a line chart.
const HEIGHT: f64 = 300.0;

/// One measured point.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub load: f64,
    pub value: f64,
    /// Half the width of its confidence interval.
    pub half_width: Option<f64>,
    /// A look around: drawn hollow.
    pub exploring: bool,
    /// All of it in words, shown when a pointer rests on it.
    pub text: String,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Written at its end when there are several.
    pub name: String,
    /// Its points in order of load.
    pub marks: Vec<Mark>,
}

/// A chart of lines over the load.
pub struct LineChart {
    /// Its name in the page, no other's.
    pub id: &'static str,
    /// Its title, for those who do not see it.
    pub title: String,
    /// What the load axis shows.
    pub load_title: String,
    /// What the value axis shows, with its unit.
    pub value_title: String,
    /// Writes a value on the axis.
    pub label: fn(f64) -> String,
    /// Value axis in equal ratios, not from zero.
    pub logarithmic: bool,
    pub series: Vec<Series>,
    /// A level that must not be passed, with its name.
    pub limit: Option<(f64, String)>,
    /// The load of the knee.
    pub knee: Option<f64>,
    /// The load of the point that gave the headline figure, and its name.
    pub chosen: Option<(f64, &'static str)>,
}

/// A curve's throughput as a series: operations a second, or 2^20 bytes a second.
pub fn throughput(curve: &Curve, mebibytes: bool) -> Series {
    let mark = |point: &CurvePoint| {
        let (value, unit) = if mebibytes { (point.mbps, "MiB/s") } else { (point.iops, "/s") };
        let half =
            point.iops_half_width.map(|half| if point.iops > 0.0 { half / point.iops * value } else { 0.0 });
        mark(point, value, half, &format!("{} {unit}", number::with_error(value, half)))
    };
    Series { name: labels::curve_name(curve.name).to_owned(), marks: curve.points.iter().map(mark).collect() }
}

/// A curve's mean latency as a series, ns.
pub fn mean_latency(curve: &Curve) -> Series {
    let mark = |point: &CurvePoint| {
        let mean = point.latency.mean_ns;
        mark(point, mean, point.latency.mean_half_width_ns, &format!("mean {}", number::time(mean)))
    };
    Series { name: "mean".into(), marks: curve.points.iter().map(mark).collect() }
}

/// A curve's percentiles as series, ns; points without enough samples are left out.
pub fn percentiles(curve: &Curve) -> Vec<Series> {
    let series = |(quantile, name): &(f64, &str)| Series {
        name: (*name).to_owned(),
        marks: curve
            .points
            .iter()
            .filter_map(|point| {
                let ns = labels::percentile(&point.latency, *quantile)?.value_ns? as f64;
                Some(mark(point, ns, None, &format!("{name} {}", number::time(ns))))
            })
            .collect(),
    };
    labels::PERCENTILES.iter().map(series).filter(|series| !series.marks.is_empty()).collect()
}

fn mark(point: &CurvePoint, value: f64, half_width: Option<f64>, what: &str) -> Mark {
    let load = labels::outstanding(Some(point.load)).unwrap_or_default();
    let error = number::percent_of(value, half_width).map(|e| format!(" \u{b1} {e}")).unwrap_or_default();
    let kind = if point.exploring { ", an exploring point" } else { "" };
    Mark {
        load: labels::level(point.load),
        value,
        half_width,
        exploring: point.exploring,
        text: format!("{load}: {what}{error}{kind}"),
    }
}

/// The load at a curve's knee.
pub fn knee(curve: &Curve) -> Option<f64> {
    Some(labels::level(curve.points.get(curve.knee?)?.load))
}

/// A load on the load axis, with the name of its figure.
pub fn chosen(load: Option<Load>, name: &'static str) -> Option<(f64, &'static str)> {
    load.map(|load| (labels::level(load), name))
}

impl LineChart {
    fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.series.iter().flat_map(|series| &series.marks)
    }

    /// Lowest and highest value that the axis must hold. A limit far above all points is not drawn.
    fn range(&self) -> (f64, f64) {
        let error = |mark: &Mark| mark.half_width.filter(|_| !mark.exploring).unwrap_or(0.0);
        let top = |mark: &Mark| mark.value + error(mark);
        let mut most = self.marks().map(top).fold(0.0, f64::max);
        let least = self.marks().map(|mark| mark.value).fold(f64::INFINITY, f64::min);
        if let Some((limit, _)) = &self.limit
            && *limit < most * 2.0
        {
            most = most.max(*limit);
        }
        match self.logarithmic {
            true => (least.min(most) * 0.8, most * 1.25),
            false => (0.0, svg::round_above(most)),
        }
    }

    /// The chart; nothing when it has no points.
    pub fn draw(&self) -> Option<Markup> {
        self.marks().next()?;
        let several = self.series.len() > 1;
        let (left, right) = (64.0, WIDTH - if several { self.longest_name() * 7.0 + 12.0 } else { 16.0 });
        let (top, bottom) = (36.0, HEIGHT - 44.0);
        let loads = self.loads();
        let (low, high) = self.range();
        let x = Scale {
            logarithmic: true,
            low: loads.first().copied().unwrap_or(1.0),
            high: loads.last().copied().unwrap_or(1.0),
            from: left + 10.0,
            to: right - 10.0,
        };
        let y = Scale { logarithmic: self.logarithmic, low, high, from: bottom, to: top };
        let ticks = y.ticks(5);
        let value_axis = Axis { scale: y, ticks, label: self.label, title: self.value_title.clone() };
        let load_axis = Axis {
            scale: x,
            ticks: thinned(&loads, &x),
            label: number::short,
            title: self.load_title.clone(),
        };
        let inside = html! {
            (svg::value_axis(&value_axis, left, right))
            (svg::load_axis(&load_axis, bottom))
            (self.knee_line(&x, top, bottom))
            (self.limit_line(&y, left, right))
            @for (number, series) in self.series.iter().enumerate() { (draw_series(number, series, &x, &y)) }
            @if several { (self.names(&x, &y, top, bottom)) }
            (self.chosen_label(&x, &y))
        };
        Some(svg::drawing(self.id, WIDTH, HEIGHT, &self.title, &self.in_words(), inside))
    }

    fn longest_name(&self) -> f64 {
        self.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0) as f64
    }

    fn loads(&self) -> Vec<f64> {
        let mut loads: Vec<f64> = self.marks().map(|mark| mark.load).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        loads
    }

    fn in_words(&self) -> String {
        let series = self.series.iter().map(|series| {
            let points: Vec<&str> = series.marks.iter().map(|mark| mark.text.as_str()).collect();
            format!("{}: {}.", series.name, points.join("; "))
        });
        series.collect::<Vec<_>>().join(" ")
    }

    fn knee_line(&self, x: &Scale, top: f64, bottom: f64) -> Markup {
        let Some(knee) = self.knee else { return html! {} };
        let at = place(x.at(knee));
        html! {
            line class="knee" x1=(at) x2=(at) y1=(place(top)) y2=(place(bottom)) {}
            text class="note" x=(at) y=(place(top - 5.0)) text-anchor="middle" { "knee" }
        }
    }

    fn limit_line(&self, y: &Scale, left: f64, right: f64) -> Markup {
        match &self.limit {
            Some((limit, name)) if (y.low..=y.high).contains(limit) => html! {
                line class="limit" x1=(place(left)) x2=(place(right)) y1=(place(y.at(*limit))) y2=(place(y.at(*limit))) {}
                text class="note limit-name" x=(place(left + 8.0)) y=(place(y.at(*limit) - 5.0)) { "limit: " (name) }
            },
            _ => html! {},
        }
    }

    fn chosen_label(&self, x: &Scale, y: &Scale) -> Markup {
        let Some((load, name)) = self.chosen else { return html! {} };
        let Some(mark) = self.marks().find(|mark| mark.load == load) else { return html! {} };
        let (at, down) = (x.at(load), y.at(mark.value));
        let above = (down - y.to) > (y.from - y.to) * 0.5;
        let (shift, anchor) = if above { (-12.0, "end") } else { (24.0, "middle") };
        html! {
            circle class="ring" cx=(place(at)) cy=(place(down)) r="9" {}
            text class="chosen" x=(place(if above { at - 6.0 } else { at })) y=(place(down + shift)) text-anchor=(anchor) { (name) }
        }
    }

    /// Names at the lines' ends: to the right where a line reaches the edge, else over its last point.
    fn names(&self, x: &Scale, y: &Scale, top: f64, bottom: f64) -> Markup {
        let ends = self.series.iter().enumerate().filter_map(|(number, series)| {
            let end = series.marks.last()?;
            Some((number + 1, series.name.as_str(), end.load, y.at(end.value)))
        });
        let (whole, short): (Vec<_>, Vec<_>) = ends.partition(|end| end.2 >= x.high);
        let places: Vec<f64> = whole.iter().map(|end| end.3).collect();
        let places = svg::apart(&places, 14.0, top, bottom);
        html! {
            @for ((number, name, load, _), down) in whole.iter().zip(&places) {
                text class={ "name s" (number) } x=(place(x.at(*load) + 12.0)) y=(place(down + 4.0)) { (name) }
            }
            @for (number, name, load, down) in &short {
                text class={ "name s" (number) } x=(place(x.at(*load) - 4.0)) y=(place(down - 9.0)) text-anchor="middle" { (name) }
            }
        }
    }
}

/// Those loads whose labels do not touch.
fn thinned(loads: &[f64], x: &Scale) -> Vec<f64> {
    let mut free = f64::NEG_INFINITY;
    let fits = |load: &&f64| {
        let half = number::short(**load).len() as f64 * 3.6 + 3.0;
        let fits = x.at(**load) - half >= free;
        if fits {
            free = x.at(**load) + half;
        }
        fits
    };
    loads.iter().filter(fits).copied().collect()
}

fn draw_series(number: usize, series: &Series, x: &Scale, y: &Scale) -> Markup {
    let points: Vec<(f64, f64)> = series.marks.iter().map(|m| (x.at(m.load), y.at(m.value))).collect();
    html! {
        g class={ "series s" (number + 1) } {
            path class="curve" d=(svg::path(&points)) {}
            @for (mark, (cx, cy)) in series.marks.iter().zip(&points) {
                @if let (Some(half), false) = (mark.half_width, mark.exploring) {
                    (error_bar(*cx, y.at(mark.value - half), y.at(mark.value + half)))
                }
                (dot(number, mark, *cx, *cy))
            }
        }
    }
}

fn error_bar(x: f64, low: f64, high: f64) -> Markup {
    let d = format!(
        "M{0} {2}H{1}M{0} {3}H{1}M{4} {2}V{3}",
        place(x - 5.0),
        place(x + 5.0),
        place(low),
        place(high),
        place(x)
    );
    html! { path class="error" d=(d) {} }
}

/// A point: its shape tells the series, a hollow one is exploring.
fn dot(number: usize, mark: &Mark, x: f64, y: f64) -> Markup {
    let class = if mark.exploring { "dot exploring" } else { "dot" };
    let r = if mark.exploring { 3.2 } else { 4.6 };
    let d = match number % 3 {
        0 => {
            return html! { circle class=(class) cx=(place(x)) cy=(place(y)) r=(r) { title { (mark.text) } } };
        }
        1 => format!(
            "M{} {}h{}v{}h-{}z",
            place(x - r),
            place(y - r),
            place(2.0 * r),
            place(2.0 * r),
            place(2.0 * r)
        ),
        _ => format!("M{} {}l{r} {r}l-{r} {r}l-{r} -{r}z", place(x), place(y - r)),
    };
    html! { path class=(class) d=(d) { title { (mark.text) } } }
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// Half the width of its confidence interval.
    pub half_width: Option<f64>,
}

/// Bars from zero, one under the other, with their errors and values; all in one unit.
pub fn bars(id: &str, title: &str, unit: &str, bars: &[Bar]) -> Option<Markup> {
    if bars.is_empty() {
        return None;
    }
    let (left, right, top, step) = (138.0, WIDTH - 118.0, 8.0, 34.0);
    let height = top + step * bars.len() as f64 + 44.0;
    let most = bars.iter().map(|bar| bar.value + bar.half_width.unwrap_or(0.0)).fold(0.0, f64::max);
    let scale = Scale { logarithmic: false, low: 0.0, high: most * 1.02, from: left, to: right };
    let bottom = height - 44.0;
    let ticks = scale.ticks(4);
    let text = |bar: &Bar| {
        let error = number::percent_of(bar.value, bar.half_width).map(|e| format!(" \u{b1} {e}"));
        format!("{}{}", number::with_error(bar.value, bar.half_width), error.unwrap_or_default())
    };
    let axis = Axis { scale, ticks, label: number::short, title: unit.to_owned() };
    let in_words: Vec<String> =
        bars.iter().map(|bar| format!("{}: {} {unit}", bar.name, text(bar))).collect();
    let inside = html! {
        (svg::load_axis(&axis, bottom))
        @for (number, bar) in bars.iter().enumerate() {
            @let y = top + step * number as f64;
            @let middle = y + step / 2.0;
            text class="bar-name" x=(place(left - 10.0)) y=(place(middle + 4.0)) text-anchor="end" { (bar.name) }
            rect class="bar" x=(place(left)) y=(place(y + 6.0)) width=(place(scale.at(bar.value) - left)) height=(place(step - 12.0)) rx="2" {}
            @if let Some(half) = bar.half_width {
                @let (low, high) = (place(scale.at(bar.value - half)), place(scale.at(bar.value + half)));
                path class="error bar-error" d={ "M" (low) " " (place(middle)) "H" (high) "M" (low) " " (place(middle - 4.0)) "v8M" (high) " " (place(middle - 4.0)) "v8" } {}
            }
            text class="bar-value" x=(place(scale.at(bar.value + bar.half_width.unwrap_or(0.0)) + 8.0)) y=(place(middle + 4.0)) { (text(bar)) }
        }
    };
    Some(svg::drawing(id, WIDTH, height, title, &in_words.join("; "), inside))
}
