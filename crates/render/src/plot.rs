//! A small curve drawn with characters: braille dots, or stars where only ASCII can be shown.

use crate::number;

/// One panel: a value over the load, both from the record.
pub struct Panel<'a> {
    /// What stands over it.
    pub title: String,
    /// Load and value, in order of load.
    pub points: &'a [(f64, f64)],
    /// A second curve, dotted; its loads lie within those of the first.
    pub dotted: &'a [(f64, f64)],
    /// Index of the point that is marked.
    pub marked: Option<usize>,
    /// Writes a number on the value axis.
    pub label: fn(f64) -> String,
    /// Columns in all.
    pub width: usize,
    /// Rows of the drawing; title and load axis come on top of that.
    pub rows: usize,
}

/// Columns of the value axis.
const AXIS: usize = 9;

/// The panel as lines: title, `rows` of drawing, the load axis. The value axis has ticks at its ends and, where the number of rows is
/// odd, in the middle. Each is `width` columns wide. The load axis
/// is logarithmic, the value axis begins at zero.
pub fn lines(panel: &Panel, unicode: bool) -> Vec<String> {
    let columns = panel.width.saturating_sub(AXIS + 1).max(8);
    let values = panel.points.iter().chain(panel.dotted).map(|p| p.1);
    let most = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let (low, high) = ends(panel.points);
    let across = |load: f64| match high > low {
        true => (load.ln() - low.ln()) / (high.ln() - low.ln()),
        false => 0.0,
    };
    let cells = match unicode {
        true => braille(panel, columns, most, across),
        false => stars(panel, columns, most, across),
    };
    let mut out = vec![pad(&format!("{:AXIS$} {}", "", panel.title), panel.width)];
    for (row, cells) in cells.iter().enumerate() {
        let label = match row {
            0 => (panel.label)(most),
            row if row + 1 == panel.rows => "0".to_owned(),
            row if panel.rows % 2 == 1 && row == panel.rows / 2 => (panel.label)(most / 2.0),
            _ => String::new(),
        };
        let edge = if unicode { '\u{2524}' } else { '|' };
        out.push(pad(
            &format!("{label:>width$}{edge}{}", cells.iter().collect::<String>(), width = AXIS),
            panel.width,
        ));
    }
    out.push(pad(&load_axis(panel.points, columns, across), panel.width));
    out
}

fn ends(points: &[(f64, f64)]) -> (f64, f64) {
    let low = points.first().map_or(1.0, |p| p.0);
    let high = points.last().map_or(1.0, |p| p.0);
    (low, high)
}

fn pad(line: &str, width: usize) -> String {
    let short = width.saturating_sub(line.chars().count());
    format!("{line}{:short$}", "")
}

/// Loads under the drawing, as many as fit.
fn load_axis(points: &[(f64, f64)], columns: usize, across: impl Fn(f64) -> f64) -> String {
    let mut line = vec![' '; columns];
    let mut free = 0;
    for (load, _) in points {
        let text = number::short(*load);
        let middle = (across(*load) * (columns - 1) as f64).round() as usize;
        let start = middle.saturating_sub(text.len() / 2).min(columns.saturating_sub(text.len()));
        if start < free || start + text.len() > line.len() {
            continue;
        }
        for (at, c) in text.chars().enumerate() {
            line[start + at] = c;
        }
        free = start + text.len() + 1;
    }
    format!("{:width$}{}", "", line.iter().collect::<String>().trim_end(), width = AXIS + 1)
}

/// The curve at every step across, 0 to 1 up; straight between points.
fn heights(points: &[(f64, f64)], steps: usize, most: f64, across: &impl Fn(f64) -> f64) -> Vec<f64> {
    let at = |step: usize| step as f64 / (steps - 1).max(1) as f64;
    (0..steps)
        .map(|step| {
            let x = at(step);
            let next = points.iter().position(|p| across(p.0) >= x - 1e-9);
            let right = next.unwrap_or(points.len().saturating_sub(1));
            let (Some(a), Some(b)) = (points.get(right.saturating_sub(1)), points.get(right)) else {
                return 0.0;
            };
            let (from, to) = (across(a.0), across(b.0));
            let share = if to > from { ((x - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
            (a.1 + (b.1 - a.1) * share) / most
        })
        .collect()
}

fn braille(panel: &Panel, columns: usize, most: f64, across: impl Fn(f64) -> f64) -> Vec<Vec<char>> {
    let (wide, high) = (columns * 2, panel.rows * 4);
    let mut dots = vec![vec![0u8; columns]; panel.rows];
    let mut dot = |x: usize, y: usize| {
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        dots[y / 4][x / 2] |= BITS[y % 4][x % 2];
    };
    let down = |height: f64| ((1.0 - height.clamp(0.0, 1.0)) * (high - 1) as f64).round() as usize;
    let mut last = None;
    if !panel.dotted.is_empty() {
        let dotted = heights(panel.dotted, wide, most, &across).into_iter().enumerate();
        dotted.filter(|(x, _)| x % 3 == 0).for_each(|(x, height)| dot(x, down(height)));
    }
    for (x, height) in heights(panel.points, wide, most, &across).into_iter().enumerate() {
        let y = down(height);
        let from = last.unwrap_or(y);
        for between in y.min(from)..=y.max(from) {
            dot(x, between);
        }
        last = Some(y);
    }
    let mut out: Vec<Vec<char>> = dots
        .iter()
        .map(|row| row.iter().map(|bits| char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ')).collect())
        .collect();
    out.iter_mut().flatten().filter(|c| **c == '\u{2800}').for_each(|c| *c = ' ');
    mark(panel, &mut out, most, across, '\u{25cf}');
    out
}

fn stars(panel: &Panel, columns: usize, most: f64, across: impl Fn(f64) -> f64) -> Vec<Vec<char>> {
    let mut out = vec![vec![' '; columns]; panel.rows];
    if !panel.dotted.is_empty() {
        let dotted = heights(panel.dotted, columns, most, &across).into_iter().enumerate();
        dotted.filter(|(x, _)| x % 3 == 0).for_each(|(x, height)| out[row_of(panel, height)][x] = ':');
    }
    for (x, height) in heights(panel.points, columns, most, &across).into_iter().enumerate() {
        out[row_of(panel, height)][x] = '.';
    }
    for (load, value) in panel.points {
        let x = (across(*load) * (columns - 1) as f64).round() as usize;
        out[row_of(panel, value / most)][x] = '*';
    }
    mark(panel, &mut out, most, across, '#');
    out
}

fn row_of(panel: &Panel, height: f64) -> usize {
    ((1.0 - height.clamp(0.0, 1.0)) * (panel.rows - 1) as f64).round() as usize
}

fn mark(panel: &Panel, cells: &mut [Vec<char>], most: f64, across: impl Fn(f64) -> f64, with: char) {
    let Some((load, value)) = panel.marked.and_then(|at| panel.points.get(at)) else { return };
    let columns = cells[0].len();
    let x = (across(*load) * (columns - 1) as f64).round() as usize;
    cells[row_of(panel, value / most)][x] = with;
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64); 4] = [(1.0, 100.0), (2.0, 200.0), (4.0, 400.0), (8.0, 400.0)];

    fn panel(width: usize) -> Panel<'static> {
        Panel {
            title: "reads/s".into(),
            points: &POINTS,
            dotted: &[],
            marked: Some(2),
            label: number::short,
            width,
            rows: 4,
        }
    }

    #[test]
    fn every_line_is_as_wide_as_asked_and_the_mark_is_there() {
        for (unicode, mark) in [(true, '\u{25cf}'), (false, '#')] {
            let lines = lines(&panel(40), unicode);
            assert_eq!(lines.len(), 6);
            assert!(lines.iter().all(|line| line.chars().count() == 40), "{lines:#?}");
            assert_eq!(lines.iter().filter(|line| line.contains(mark)).count(), 1, "{lines:#?}");
            assert!(unicode || lines.iter().all(|line| line.is_ascii()));
        }
    }

    #[test]
    fn a_second_curve_is_dotted_and_the_axis_has_three_ticks() {
        let double = POINTS.map(|(load, value)| (load, value * 2.0));
        let lines = lines(&Panel { dotted: &double, rows: 5, ..panel(40) }, false);
        let ticks: Vec<&str> = [1, 3, 5].iter().map(|row| lines[*row][..AXIS].trim()).collect();
        assert_eq!(ticks, ["800", "400", "0"], "{lines:#?}");
        assert!(lines[1].contains(':'), "{lines:#?}");
    }

    #[test]
    fn one_point_alone_is_drawn() {
        let points = [(1.0, 5.0)];
        let lines = lines(&Panel { points: &points, marked: Some(0), ..panel(30) }, false);
        assert!(lines[1].contains('#'), "{lines:#?}");
    }
}
