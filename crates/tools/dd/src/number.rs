//! Numbers as dd reads them: decimal digits, a suffix, and at most one product `AxB`.

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// How many.
    pub value: u64,
    /// It was written with a `B`: bytes, where blocks are the rule.
    pub in_bytes: bool,
    /// A product that is zero because it begins with `0x`: somebody may have meant hexadecimal.
    pub zero_times: bool,
}

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotNumber {
    /// Not written as one.
    Invalid,
    /// More than 2^63 - 1.
    TooLarge,
}

/// Reads a number.
pub fn number(text: &str) -> Result<Number, NotNumber> {
    let (first, rest) = factor(text)?;
    let (rest, _) = match rest.strip_prefix('B') {
        // `c`, `w`, `b` and plain digits may be followed by it; after kB and KiB it would stand twice.
        Some(after) if !text[..text.len() - rest.len()].ends_with('B') => (after, true),
        _ => (rest, false),
    };
    let value = match rest.strip_prefix('x') {
        Some(second) => {
            let (second, rest) = factor(second)?;
            if !rest.is_empty() {
                return Err(NotNumber::Invalid);
            }
            multiply(first, second)
        }
        None if rest.is_empty() => first,
        None => return Err(NotNumber::Invalid),
    };
    match value {
        Some(value) if value <= i64::MAX as u64 => Ok(Number {
            value,
            in_bytes: text.contains('B'),
            zero_times: value == 0 && text.starts_with("0x"),
        }),
        _ => Err(NotNumber::TooLarge),
    }
}

fn multiply(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (a, b) => a?.checked_mul(b?),
    }
}

/// Digits with a suffix; the value is `None` when it is too large. A suffix alone counts as one of it.
fn factor(text: &str) -> Result<(Option<u64>, &str), NotNumber> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let signed = text.strip_prefix('+');
    let unsigned = signed.unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (digits, rest) = unsigned.split_at(end);
    let (power, after) = suffix(rest);
    if digits.is_empty() && (signed.is_some() || power.is_none()) {
        return Err(NotNumber::Invalid);
    }
    let count = if digits.is_empty() { Some(1) } else { digits.parse::<u64>().ok() };
    let unit = match power {
        None => Some(1),
        Some((base, exponent)) => base.checked_pow(exponent),
    };
    Ok((multiply(count, unit), after))
}

fn suffix(text: &str) -> (Option<(u64, u32)>, &str) {
    let mut letters = text.chars();
    let exponent = match letters.next() {
        Some('c') => return (Some((1, 1)), letters.as_str()),
        Some('w') => return (Some((2, 1)), letters.as_str()),
        Some('b') => return (Some((512, 1)), letters.as_str()),
        Some('k' | 'K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        Some('Z') => 7,
        Some('Y') => 8,
        _ => return (None, text),
    };
    let rest = letters.as_str();
    match (rest.strip_prefix("iB"), rest.strip_prefix('B')) {
        (Some(after), _) => (Some((1024, exponent)), after),
        (None, Some(after)) => (Some((1000, exponent)), after),
        (None, None) => (Some((1024, exponent)), rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_mean_to_coreutils() {
        let cases: &[(&str, u64)] = &[
            ("1", 1),
            ("010", 10),
            ("+1", 1),
            (" 1", 1),
            ("k", 1024),
            ("M", 1 << 20),
            ("1c", 1),
            ("1w", 2),
            ("1b", 512),
            ("1kB", 1000),
            ("1K", 1024),
            ("1KiB", 1024),
            ("1MB", 1_000_000),
            ("3x2", 6),
            ("2xM", 2 << 20),
            ("1kx2", 2048),
            ("1kBx2", 2000),
            ("1Bx2", 2),
            ("1bB", 512),
            ("1cB", 1),
            ("1MiBx2", 2 << 20),
            ("7E", 7 << 60),
            ("0Z", 0),
            ("9223372036854775807", i64::MAX as u64),
            ("00x1", 0),
            ("3x0", 0),
        ];
        for (text, value) in cases {
            assert_eq!(number(text).map(|n| n.value), Ok(*value), "{text}");
        }
        assert!(number("2kBx3").unwrap().in_bytes && !number("2k").unwrap().in_bytes);
        assert!(number("0x1").unwrap().zero_times && !number("00x1").unwrap().zero_times);
    }

    #[test]
    fn what_is_no_number_is_told_from_what_is_too_large() {
        for text in [
            "", "x", "-1", "1x", "1xx", "1x2x3", "1BB", "1kBB", "1KiBB", "1Mi", "1W", "1m", "1g", "1.5",
            "1e3", "1Ki", "1kib", "1x1B", "1x-1", "xM", "Mx", "2xB", "1kk", "1,2",
        ] {
            assert_eq!(number(text), Err(NotNumber::Invalid), "{text}");
        }
        for text in
            ["99999999999999999999", "9223372036854775808", "8E", "1Z", "1Y", "18446744073709551615x2"]
        {
            assert_eq!(number(text), Err(NotNumber::TooLarge), "{text}");
        }
    }
}
