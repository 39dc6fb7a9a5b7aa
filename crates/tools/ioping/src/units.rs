//! Times, sizes and counts as ioping prints them: in the largest unit that is not larger than the value; whole numbers of it
//! without a point, else two decimals below ten and one above.

/// Names of units, the largest first, and what each is worth.
type Units = &'static [(&'static str, u64)];

const TIMES: Units = &[
    ("hour", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const SIZES: Units =
    &[("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

const COUNTS: Units = &[("T ", 1_000_000_000_000), ("G ", 1_000_000_000), ("M ", 1_000_000), ("k ", 1_000)];

/// A whole number of the unit that fits, and that unit's name.
fn scaled(value: u64, units: Units) -> Option<(String, &'static str)> {
    let (name, unit) = units.iter().find(|(_, unit)| value >= *unit)?;
    let share = value as f64 / *unit as f64;
    let number = match (value.is_multiple_of(*unit), share < 10.0) {
        (true, _) => (value / unit).to_string(),
        (false, true) => decimals(share, 2),
        (false, false) => decimals(share, 1),
    };
    Some((number, name))
}

/// As C prints it: what lies exactly between two goes to the even one.
fn decimals(value: f64, places: usize) -> String {
    format!("{value:.places$}")
}

/// Nanoseconds: `149.9 us`, `1 ms`, `0 ns`.
pub(crate) fn time(nanoseconds: u64) -> String {
    let (number, unit) = scaled(nanoseconds, TIMES).unwrap_or(("0".to_owned(), "ns"));
    format!("{number} {unit}")
}

/// Bytes: `4 KiB`, `252.0 GiB`, `0 B`.
pub(crate) fn size(bytes: u64) -> String {
    let (number, unit) = scaled(bytes, SIZES).unwrap_or(("0".to_owned(), "B"));
    format!("{number} {unit}")
}

/// A count and the space behind it: `375 `, `2.67 k `.
pub(crate) fn count(count: u64) -> String {
    match scaled(count, COUNTS) {
        Some((number, unit)) => format!("{number} {unit}"),
        None => format!("{count} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_ioping_prints() {
        for (nanoseconds, text) in [
            (0, "0 ns"),
            (1, "1 ns"),
            (999, "999 ns"),
            (1_000, "1 us"),
            (1_001, "1.00 us"),
            (1_009, "1.01 us"),
            (1_994, "1.99 us"),
            (1_995, "2.00 us"),
            (9_994, "9.99 us"),
            (9_995, "9.99 us"),
            (9_999, "10.00 us"),
            (10_000, "10 us"),
            (10_049, "10.0 us"),
            (10_050, "10.1 us"),
            (99_949, "99.9 us"),
            (99_950, "100.0 us"),
            (100_000, "100 us"),
            (100_050, "100.0 us"),
            (100_051, "100.1 us"),
            (100_949, "100.9 us"),
            (100_950, "101.0 us"),
            (999_950, "1000.0 us"),
            (1_000_001, "1.00 ms"),
            (9_999_999, "10.00 ms"),
            (999_999_999, "1000.0 ms"),
            (1_005_000_000, "1.00 s"),
            (9_995_000_000, "9.99 s"),
            (10_050_000_000, "10.1 s"),
            (59_999_999_999, "60.0 s"),
            (60_000_000_000, "1 min"),
            (90_000_000_000, "1.50 min"),
            (3_599_999_999_999, "60.0 min"),
            (3_600_000_000_000, "1 hour"),
            (86_400_000_000_001, "24.0 hour"),
            (63_072_000_000_000_001, "17520.0 hour"),
        ] {
            assert_eq!(time(nanoseconds), text, "{nanoseconds}");
        }
    }

    #[test]
    fn sizes_are_those_that_ioping_prints() {
        for (bytes, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1025, "1.00 KiB"),
            (2000, "1.95 KiB"),
            (10_239, "10.00 KiB"),
            (10_241, "10.0 KiB"),
            (102_500, "100.1 KiB"),
            (1_022_976, "999 KiB"),
            (1_048_575, "1024.0 KiB"),
            (1_048_576, "1 MiB"),
            (1_048_577, "1.00 MiB"),
            (3_276_800, "3.12 MiB"),
            (270_553_174_016, "252.0 GiB"),
            (4_096_000_000_000, "3.73 TiB"),
            (1 << 60, "1024 PiB"),
            (i64::MAX as u64, "8192.0 PiB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn counts_are_those_that_ioping_prints() {
        for (number, text) in [
            (0, "0 "),
            (999, "999 "),
            (1_000, "1 k "),
            (1_999, "2.00 k "),
            (2_000, "2 k "),
            (2_499, "2.50 k "),
            (53_846, "53.8 k "),
            (927_600, "927.6 k "),
            (2_770_000, "2.77 M "),
            (93_750_000, "93.8 M "),
            (1_000_000_000, "1 G "),
        ] {
            assert_eq!(count(number), text, "{number}");
        }
    }
}
