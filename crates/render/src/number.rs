//! Numbers as people read them: thousands apart, no more digits than the error allows, the unit that fits.

use fathom_spec::Nanos;

/// A whole number with commas between thousands: `24,002`.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value <= -0.5 {
        out.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number rounded to so many significant digits, thousands apart: `0.0312`, `3.12`, `312`, `31,200`.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "-".to_owned() };
    }
    let power = value.abs().log10().floor() as i32;
    at_place(value, power + 1 - digits)
}

/// A number rounded at the place of the second significant digit of its error: 24,002 with 744 is `24,000`.
/// Without an error, to three significant digits.
pub fn with_error(value: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(error) if error > 0.0 && error.is_finite() => {
            at_place(value, (error.log10().floor() as i32 - 1).min(place_of(value) - 2))
        }
        Some(_) => significant(value, 4),
        None => significant(value, 3),
    }
}

/// The ends of an interval, rounded where its value is: 24,002 with 744 is `23,300` and `24,700`.
pub fn ends(value: f64, half_width: f64) -> (String, String) {
    let place = (place_of(half_width) - 1).min(place_of(value) - 2);
    let decimals = if value.abs() < 1000.0 { place.min(0) } else { 0 };
    let end = |end: f64| match decimals {
        0 => at_place(end, place.max(0)),
        _ => format!("{end:.*}", (-decimals).min(9) as usize),
    };
    (end(value - half_width), end(value + half_width))
}

/// The power of ten of the first digit.
fn place_of(value: f64) -> i32 {
    match value == 0.0 || !value.is_finite() {
        true => 0,
        false => value.abs().log10().floor() as i32,
    }
}

/// Rounds at a power of ten; from a thousand on there are no decimals.
fn at_place(value: f64, place: i32) -> String {
    if place < 0 && value.abs() < 1000.0 {
        return format!("{value:.*}", (-place).min(9) as usize);
    }
    let step = 10f64.powi(place.max(0));
    grouped((value / step).round() * step)
}

/// Half the width as a share of the value, percent: `3.1 %`; `None` when either cannot tell.
pub fn percent_of(value: f64, half_width: Option<f64>) -> Option<String> {
    let half = half_width.filter(|half| half.is_finite())?;
    (value != 0.0).then(|| percent(half / value.abs()))
}

/// A share of one as percent with two significant digits, at least 0.01: `3.1 %`, `12 %`, `0.40 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = match percent.abs() {
        p if p >= 9.95 || p == 0.0 => 0,
        p if p >= 0.995 => 1,
        _ => 2,
    };
    format!("{percent:.decimals$} %")
}

/// A time in the unit that fits, three digits: `98.2 us`, `1.33 ms`.
pub fn time(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_owned();
    }
    Nanos(ns.max(0.0).round() as u64).to_string()
}

/// Two ends in one unit where they have the same: `200 to 361`, of a value that has the unit; `0.98 ms to 1.2 ms`.
pub fn time_ends(value: &str, low_ns: f64, high_ns: f64) -> String {
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    let ends = [time(low_ns), time(high_ns)];
    let same = ends.iter().all(|end| unit(end) == unit(value));
    let [low, high] = ends.map(|end| match (same, end.rsplit_once(' ')) {
        (true, Some((number, _))) => number.to_owned(),
        _ => end,
    });
    format!("{low} to {high}")
}

/// A number for an axis: `500`, `12k`, `1.5M`.
pub fn short(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        v if v >= 999_999.5e3 => (1e9, "G"),
        v if v >= 999_999.5 => (1e6, "M"),
        v if v >= 9_999.5 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let text = match (unit, scaled) {
        ("", v) if v.abs() >= 999.5 => grouped(v),
        (_, v) if (v - v.round()).abs() < 1e-9 * v.abs().max(1.0) => format!("{v:.0}"),
        (_, v) if v.abs() < 1.0 => format!("{v:.2}").trim_end_matches('0').to_owned(),
        (_, v) => format!("{v:.1}"),
    };
    text + unit
}

/// Prefixes of units by powers of a thousand, the first one for 10^3.
pub const PREFIXES: [char; 8] = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

/// Bytes a second in units of 1000: one decimal below 100, none above.
pub fn rate(per_second: f64) -> String {
    let (mut value, mut exponent) = (per_second / 1000.0, 0);
    while value >= 1000.0 && exponent + 1 < PREFIXES.len() {
        value /= 1000.0;
        exponent += 1;
    }
    let text = format!("{value:.1}");
    let text = if text.len() > 4 { format!("{value:.0}") } else { text };
    format!("{text} {}B", PREFIXES[exponent])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (value, text) in [(0.0, "0"), (999.0, "999"), (24002.4, "24,002"), (-1234567.0, "-1,234,567")] {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn an_error_decides_how_many_digits_are_shown() {
        for (value, error, text) in [
            (24002.0, Some(744.0), "24,000"),
            (24002.0, Some(7.0), "24,002"),
            (175.3, Some(2.1), "175.3"),
            (1234.56, None, "1,230"),
            (0.01234, Some(0.001), "0.0123"),
            (3.0, Some(0.0), "3.000"),
            (81.0, Some(60.0), "81.0"),
        ] {
            assert_eq!(with_error(value, error), text, "{value} {error:?}");
        }
    }

    #[test]
    fn the_ends_of_an_interval_are_rounded_where_its_value_is() {
        for (value, half, low, high) in [
            (90024.0, 8460.0, "81,600", "98,500"),
            (24002.0, 744.0, "23,260", "24,750"),
            (175.3, 2.1, "173.2", "177.4"),
            (999.0, 12.0, "987", "1,011"),
            (40000.0, 0.0, "40,000", "40,000"),
        ] {
            assert_eq!(ends(value, half), (low.to_owned(), high.to_owned()), "{value} {half}");
        }
    }

    #[test]
    fn shares_are_percent_with_two_digits() {
        for (share, text) in
            [(0.031, "3.1 %"), (0.124, "12 %"), (0.004, "0.40 %"), (0.0, "0 %"), (1.0, "100 %")]
        {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent_of(200.0, Some(10.0)).as_deref(), Some("5.0 %"));
        assert_eq!(percent_of(0.0, Some(10.0)), None);
        assert_eq!(percent_of(200.0, None), None);
    }

    #[test]
    fn an_axis_has_short_numbers() {
        for (value, text) in
            [(0.0, "0"), (0.5, "0.5"), (500.0, "500"), (5000.0, "5,000"), (12000.0, "12k"), (1.5e6, "1.5M")]
        {
            assert_eq!(short(value), text);
        }
    }
}
