//! Counts, sizes and times as ioping takes them: a number as C's `strtod` reads it, then one of a few suffixes in any case.
//! What is no number at all is a zero, and all that stands behind the number is the suffix.

use crate::UsageError;

/// Suffixes and what they multiply by.
pub(crate) type Suffixes = &'static [(&'static str, f64)];

/// Of counts: powers of 1,000.
pub(crate) const COUNTS: Suffixes =
    &[("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("p", 1e15), ("e", 1e18)];

/// Of sizes: powers of 1,024.
pub(crate) const SIZES: Suffixes = &[
    ("", 1.0),
    ("b", 1.0),
    ("sector", 512.0),
    ("k", KIB),
    ("kb", KIB),
    ("kib", KIB),
    ("page", 4.0 * KIB),
    ("m", MIB),
    ("mb", MIB),
    ("mib", MIB),
    ("g", GIB),
    ("gb", GIB),
    ("gib", GIB),
    ("t", TIB),
    ("tb", TIB),
    ("tib", TIB),
    ("pb", PIB),
    ("pib", PIB),
    ("eb", EIB),
];
const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;
const GIB: f64 = KIB * MIB;
const TIB: f64 = KIB * GIB;
const PIB: f64 = KIB * TIB;
const EIB: f64 = KIB * PIB;

/// Of times: nanoseconds; seconds without one.
pub(crate) const TIMES: Suffixes = &[
    ("", 1e9),
    ("ns", 1.0),
    ("nsec", 1.0),
    ("us", 1e3),
    ("usec", 1e3),
    ("ms", 1e6),
    ("msec", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("m", 60e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("hour", 3600e9),
];

/// The most that a count may be.
pub(crate) const COUNT_MOST: f64 = i32::MAX as f64;
/// The most that a rate may be: one a nanosecond.
pub(crate) const RATE_MOST: f64 = 1e9;
/// The most that a size or a time in nanoseconds may be.
pub(crate) const LONG_MOST: f64 = i64::MAX as f64;

/// A number with its suffix, from 0 to `most`, with its fraction.
pub(crate) fn fractional(text: &str, suffixes: Suffixes, most: f64) -> Result<f64, UsageError> {
    let (number, rest) = floating_point(text);
    let scale = suffixes.iter().find(|(suffix, _)| rest.eq_ignore_ascii_case(suffix)).map(|(_, scale)| scale);
    let scaled = number * scale.ok_or_else(|| UsageError::Suffix(rest.to_owned()))?;
    // Written so that what is no number at all falls out as well.
    if (0.0..=most).contains(&scaled) { Ok(scaled) } else { Err(UsageError::Overflow(text.to_owned())) }
}

/// The same without its fraction.
pub(crate) fn whole(text: &str, suffixes: Suffixes, most: f64) -> Result<u64, UsageError> {
    fractional(text, suffixes, most).map(|number| (number as u64).min(i64::MAX as u64))
}

/// A seed as C's `strtoull` reads it in any base; what is no number is 0.
pub(crate) fn seed(text: &str) -> u64 {
    let text = text.trim_ascii_start();
    let (negative, text) = sign(text);
    let (digits, base) = match text.as_bytes() {
        [b'0', b'x' | b'X', next, ..] if next.is_ascii_hexdigit() => (&text[2..], 16),
        [b'0', ..] => (text, 8),
        _ => (text, 10),
    };
    let digits = digits.chars().map_while(|digit| digit.to_digit(base));
    let value =
        digits.fold(0u64, |value, digit| value.saturating_mul(base.into()).saturating_add(digit.into()));
    if negative { value.wrapping_neg() } else { value }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// What `strtod` reads, and what it leaves.
fn floating_point(text: &str) -> (f64, &str) {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let (negative, unsigned) = sign(trimmed);
    let found = word(unsigned).or_else(|| hexadecimal(unsigned)).or_else(|| decimal(unsigned));
    match found {
        Some((number, length)) => (if negative { -number } else { number }, &unsigned[length..]),
        None => (0.0, text),
    }
}

fn word(text: &str) -> Option<(f64, usize)> {
    let begins = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let words = [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)];
    words.iter().find(|(word, _)| begins(word)).map(|(word, number)| (*number, word.len()))
}

/// How many digits stand here.
fn digits(text: &[u8], is_digit: fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_digit(byte)).count()
}

/// The length of a mantissa: digits, perhaps a point among them. `None` without a digit.
fn mantissa(text: &[u8], is_digit: fn(&u8) -> bool) -> Option<usize> {
    let before = digits(text, is_digit);
    let after = match text.get(before) {
        Some(b'.') => Some(digits(&text[before + 1..], is_digit)),
        _ => None,
    };
    match (before, after) {
        (0, None | Some(0)) => None,
        (_, None) => Some(before),
        (_, Some(after)) => Some(before + 1 + after),
    }
}

/// The length of an exponent: its letter, perhaps a sign, at least one digit; else 0.
fn exponent(text: &[u8], letter: u8) -> usize {
    let [first, rest @ ..] = text else { return 0 };
    let signed = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    match digits(&rest[signed..], u8::is_ascii_digit) {
        0 => 0,
        _ if first.to_ascii_lowercase() != letter => 0,
        length => 1 + signed + length,
    }
}

fn decimal(text: &str) -> Option<(f64, usize)> {
    let end = mantissa(text.as_bytes(), u8::is_ascii_digit)?;
    let end = end + exponent(&text.as_bytes()[end..], b'e');
    Some((text[..end].parse().ok()?, end))
}

fn hexadecimal(text: &str) -> Option<(f64, usize)> {
    let rest = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let end = mantissa(rest.as_bytes(), u8::is_ascii_hexdigit)?;
    let (before, after) = rest[..end].split_once('.').unwrap_or((&rest[..end], ""));
    let value = |number: f64, digit: char| number * 16.0 + f64::from(digit.to_digit(16).unwrap_or(0));
    let number = before.chars().chain(after.chars()).fold(0.0, value);
    let length = exponent(&rest.as_bytes()[end..], b'p');
    // More than this is zero or infinite whatever the number was.
    let power: i32 = if length == 0 { 0 } else { rest[end + 1..end + length].parse().unwrap_or(1 << 20) };
    let shift = power.saturating_sub(4 * after.len() as i32).clamp(-(1 << 20), 1 << 20);
    Some((number * 2f64.powi(shift), 2 + end + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(text: &str) -> Result<u64, String> {
        whole(text, SIZES, LONG_MOST).map_err(|error| error.to_string())
    }

    fn time(text: &str) -> Result<u64, String> {
        whole(text, TIMES, LONG_MOST).map_err(|error| error.to_string())
    }

    fn count(text: &str) -> Result<u64, String> {
        whole(text, COUNTS, COUNT_MOST).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_powers_of_1024_however_they_are_spelt() {
        for text in [
            "1k", "1K", "1kb", "1KB", "1kib", "1KiB", "1024", "1024b", "2sector", ".25page", "0x400", "+1e0k",
        ] {
            assert_eq!(size(text), Ok(1024), "{text:?}");
        }
        assert_eq!(size("1.5k"), Ok(1536));
        assert_eq!(size("010"), Ok(10));
        assert_eq!(size("5pb"), Ok(5 << 50));
        assert_eq!(size("1eb"), Ok(1 << 60));
        assert_eq!(size("9223372036854775808"), Ok(i64::MAX as u64));
    }

    #[test]
    fn what_is_no_number_is_zero() {
        for text in ["", "k", "b", "-0"] {
            assert_eq!(size(text), Ok(0), "{text:?}");
        }
        assert_eq!(time("s"), Ok(0));
        assert_eq!(count("k"), Ok(0));
    }

    #[test]
    fn a_suffix_is_all_that_stands_behind_the_number() {
        for (text, suffix) in [
            ("1x", "x"),
            ("1 k", " k"),
            ("1k ", "k "),
            ("2sectors", "sectors"),
            ("1ki", "ki"),
            ("1s", "s"),
            ("0eib", "eib"),
        ] {
            assert_eq!(size(text), Err(format!("invalid suffix: \"{suffix}\"")), "{text:?}");
        }
        assert_eq!(count("1kb"), Err("invalid suffix: \"kb\"".to_owned()));
        assert_eq!(count("-1x"), Err("invalid suffix: \"x\"".to_owned()));
        assert_eq!(time("1day"), Err("invalid suffix: \"day\"".to_owned()));
        assert_eq!(time("1 "), Err("invalid suffix: \" \"".to_owned()));
    }

    #[test]
    fn numbers_outside_of_their_range_overflow() {
        for text in ["-1", "2147483648", "5g", "1t", "inf", "1e30", "-0.5"] {
            assert_eq!(count(text), Err(format!("integer overflow at parsing argument: {text}")), "{text:?}");
        }
        assert_eq!(count("2147483647"), Ok(2_147_483_647));
        assert!(fractional("1000000001", COUNTS, RATE_MOST).is_err());
        assert!(fractional("999999999.5", COUNTS, RATE_MOST).is_ok());
        assert!(time("9223372037").is_err());
        assert_eq!(time("9223372036"), Ok(9_223_372_036_000_000_000));
        assert!(size("18446744073709551615").is_err());
    }

    #[test]
    fn times_are_seconds_without_a_suffix() {
        for (text, nanoseconds) in [
            ("1", 1_000_000_000),
            (" 1", 1_000_000_000),
            ("1e-1", 100_000_000),
            ("0x1", 1_000_000_000),
            ("1.5S", 1_500_000_000),
            ("1MS", 1_000_000),
            ("1usec", 1_000),
            ("1.9ns", 1),
            ("1m", 60_000_000_000),
            ("1HOUR", 3_600_000_000_000),
        ] {
            assert_eq!(time(text), Ok(nanoseconds), "{text:?}");
        }
    }

    #[test]
    fn counts_lose_their_fraction() {
        assert_eq!(count("3.7"), Ok(3));
        assert_eq!(count("3.2k"), Ok(3200));
        assert_eq!(count("2e0"), Ok(2));
    }

    #[test]
    fn seeds_are_read_in_any_base() {
        for text in ["16", "0x10", "020", "16abc", " +16"] {
            assert_eq!(seed(text), 16, "{text:?}");
        }
        assert_eq!(seed("abc"), 0);
        assert_eq!(seed(""), 0);
        assert_eq!(seed("0x"), 0);
        assert_eq!(seed("-1"), u64::MAX);
    }

    #[test]
    fn hexadecimal_numbers_may_have_fractions_and_exponents() {
        assert_eq!(floating_point("0x1.8p1x"), (3.0, "x"));
        assert_eq!(floating_point("0x"), (0.0, "x"));
        assert_eq!(floating_point("1e"), (1.0, "e"));
        assert_eq!(floating_point("1.k"), (1.0, "k"));
        assert_eq!(floating_point("."), (0.0, "."));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = (size(&text), time(&text), count(&text), seed(&text));
        }

        #[test]
        fn whole_numbers_are_themselves(number in 0u64..1 << 52) {
            prop_assert_eq!(size(&number.to_string()), Ok(number));
        }
    }
}
