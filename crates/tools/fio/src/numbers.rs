//! fio's numbers: `4k`, `0x1000`, `10%`, `5m`, `1k-4k`, `(2*1024)`.
//!
//! With `kb_base=1024`, which is the default, a bare `k` and `kb` mean 1024 and `kib` means 1000: fio turned the
//! prefixes around so as not to break old scripts. With `kb_base=1000` they mean what the standards say. A `ki`
//! without its b is a `k` (as the Debian package of fio 3.33 takes it).

use super::expression::evaluate;
use fathom_spec::Nanos;

/// Is `k` 1024, or 1000?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KbBase {
    /// `k` is 1024 and `kib` 1000.
    #[default]
    Old,
    /// `k` is 1000 and `kib` 1024.
    Standard,
}

/// What a bare number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Thousandths.
    Millis,
    /// Millionths.
    Micros,
}

impl TimeUnit {
    fn nanos(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1e9,
            TimeUnit::Millis => 1e6,
            TimeUnit::Micros => 1e3,
        }
    }
}

/// An amount that may hang on the size of a file or device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So much of it, percent.
    Percent(f64),
}

/// A whole number, perhaps negative, with any prefix or suffix.
pub fn integer(text: &str, base: KbBase) -> Option<i64> {
    let text = text.trim();
    if text.starts_with('(') {
        let number = |word: &str| plain(word, base).map(|n| n as f64).or_else(|| word.parse().ok());
        let value = evaluate(text, &number)?;
        return (value.abs() < 9.2e18).then_some(value as i64);
    }
    match text.strip_prefix('-') {
        Some(positive) => i64::try_from(plain(positive, base)?).ok()?.checked_neg(),
        None => i64::try_from(plain(text, base)?).ok(),
    }
}

/// A whole number of bytes.
pub fn bytes(text: &str, base: KbBase) -> Option<u64> {
    integer(text, base).and_then(|value| u64::try_from(value).ok())
}

/// Bytes, or percent.
pub fn amount(text: &str, base: KbBase) -> Option<Amount> {
    match text.trim().strip_suffix('%') {
        Some(percent) => {
            let percent = percent.trim().parse::<f64>().ok().filter(|p| p.is_finite() && *p >= 0.0)?;
            Some(Amount::Percent(percent))
        }
        None => bytes(text, base).map(Amount::Bytes),
    }
}

/// A time; a bare number counts `unit`, but microseconds in an expression.
pub fn time(text: &str, unit: TimeUnit) -> Option<Nanos> {
    let text = text.trim();
    let nanos = if text.starts_with('(') {
        evaluate(text, &|word| Some(timed(word, TimeUnit::Micros)? / 1e3))? * 1e3
    } else {
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        // 1m30s: parts after the first are added.
        match text[digits..].find(|c: char| c.is_ascii_digit()) {
            Some(next) => {
                let (first, rest) = text.split_at(digits + next);
                timed(first, unit)? + timed(rest, unit)?
            }
            None => timed(text, unit)?,
        }
    };
    (0.0..1.8e19).contains(&nanos).then_some(Nanos(nanos as u64))
}

/// Two numbers with `-` or `:` between them, put in order; one number is a range of itself.
pub fn range(text: &str, base: KbBase) -> Option<(u64, u64)> {
    let text = text.trim();
    if text.starts_with('(') && text.ends_with(')') {
        let one = bytes(text, base)?;
        return Some((one, one));
    }
    match text.split_once(['-', ':']) {
        Some((one, other)) => {
            let (one, other) = (bytes(one, base)?, bytes(other, base)?);
            Some((one.min(other), one.max(other)))
        }
        None => bytes(text, base).map(|one| (one, one)),
    }
}

/// Floating point numbers with `:` between them, at most twenty as in fio.
pub fn floats(text: &str) -> Option<Vec<f64>> {
    let all: Option<Vec<f64>> =
        text.split(':').map(|one| one.trim().parse::<f64>().ok().filter(|f| f.is_finite())).collect();
    all.filter(|list| list.len() <= 20)
}

/// Values for reads, writes and trims. What does not end in a comma holds for the rest too, and `None` is the
/// default.
pub fn triple<T: Copy>(text: &str, one: impl Fn(&str) -> Option<T>) -> Option<[Option<T>; 3]> {
    let parts: Vec<&str> = text.split([',', '/']).collect();
    if parts.len() > 3 && !(parts.len() == 4 && parts[3].trim().is_empty()) {
        return None;
    }
    let mut values = [None; 3];
    for (i, part) in parts.iter().enumerate().take(3) {
        values[i] = match part.trim() {
            "" => None,
            text => Some(one(text)?),
        };
    }
    let last = parts.len().min(3) - 1;
    // A trailing comma leaves the rest at its default.
    if values[last].is_some() {
        let value = values[last];
        values[last..].fill(value);
    }
    values.iter().any(Option::is_some).then_some(values)
}

fn plain(text: &str, base: KbBase) -> Option<u64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    number.checked_mul(factor(&text[digits..], base)?)
}

fn factor(suffix: &str, base: KbBase) -> Option<u64> {
    let suffix = suffix.to_ascii_lowercase();
    let (binary, decimal) = match base {
        KbBase::Old => (1024_u64, 1000_u64),
        KbBase::Standard => (1000, 1024),
    };
    let mut letters = suffix.chars();
    let Some(letter) = letters.next() else { return Some(1) };
    let rest = letters.as_str();
    if letter == 'b' && rest.is_empty() {
        return Some(1);
    }
    let power = "kmgtp".find(letter)? as u32 + 1;
    match rest {
        "" | "b" | "i" => binary.checked_pow(power),
        "ib" => decimal.checked_pow(power),
        _ => None,
    }
}

fn timed(text: &str, unit: TimeUnit) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok().filter(|n: &f64| n.is_finite())?;
    let factor = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" => unit.nanos(),
        "d" => 86_400e9,
        "h" => 3_600e9,
        "m" => 60e9,
        "s" | "sec" => 1e9,
        "ms" | "msec" => 1e6,
        "us" | "usec" => 1e3,
        "ns" | "nsec" => 1.0,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_turned_around_as_in_fio() {
        let old = [
            ("4", 4),
            ("4b", 4),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4KB", 4096),
            ("4ki", 4096),
            ("4kib", 4000),
            ("4KiB", 4000),
            ("4m", 4 << 20),
            ("4mib", 4_000_000),
            ("2t", 2 << 40),
            ("1p", 1 << 50),
            ("0x1000", 4096),
            (" 8k ", 8192),
            ("(4*1024)", 4096),
            ("(1.5*1k)", 1536),
        ];
        for (text, value) in old {
            assert_eq!(bytes(text, KbBase::Old), Some(value), "{text}");
        }
        for (text, value) in [("4k", 4000), ("4kb", 4000), ("4ki", 4000), ("4kib", 4096), ("1m", 1_000_000)] {
            assert_eq!(bytes(text, KbBase::Standard), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in
            ["", "k", "4x", "4kx", "4.5k", "1e3", "4 k", "0x10k", "-4k", "99999999999999999999", "${X}"]
        {
            assert_eq!(bytes(text, KbBase::Old), None, "{text}");
        }
        assert_eq!(integer("-4k", KbBase::Old), Some(-4096));
    }

    #[test]
    fn times_have_their_units() {
        let seconds = |text| time(text, TimeUnit::Seconds).map(|nanos| nanos.0);
        assert_eq!(seconds("30"), Some(30_000_000_000));
        assert_eq!(seconds("5m"), Some(300_000_000_000));
        assert_eq!(seconds("1D"), Some(86_400_000_000_000));
        assert_eq!(seconds("250ms"), Some(250_000_000));
        assert_eq!(seconds("1.5s"), Some(1_500_000_000));
        assert_eq!(seconds("1m30s"), Some(90_000_000_000));
        assert_eq!(seconds("(2*5)"), Some(10_000));
        assert_eq!(time("10", TimeUnit::Micros), Some(Nanos(10_000)));
        assert_eq!(time("10ms", TimeUnit::Micros), Some(Nanos(10_000_000)));
        for text in ["", "x", "5y", "-1", "1m30q", "nan", "inf"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_amounts_and_floats() {
        let old = KbBase::Old;
        assert_eq!(range("1k-4k", old), Some((1024, 4096)));
        assert_eq!(range("4k:1k", old), Some((1024, 4096)));
        assert_eq!(range("8k", old), Some((8192, 8192)));
        assert_eq!(amount("50%", old), Some(Amount::Percent(50.0)));
        assert_eq!(amount("1g", old), Some(Amount::Bytes(1 << 30)));
        assert_eq!(amount("-5%", old), None);
        assert_eq!(floats("50:99.9"), Some(vec![50.0, 99.9]));
        assert_eq!(floats("50:x"), None);
        assert_eq!(floats(&"1:".repeat(30)), None);
    }

    #[test]
    fn triples_fill_up_unless_a_comma_stands_at_the_end() {
        let three = |text| triple(text, |one| bytes(one, KbBase::Old));
        assert_eq!(three("4k"), Some([Some(4096); 3]));
        assert_eq!(three("8k,32k"), Some([Some(8192), Some(32768), Some(32768)]));
        assert_eq!(three("8k,32k,"), Some([Some(8192), Some(32768), None]));
        assert_eq!(three(",8k"), Some([None, Some(8192), Some(8192)]));
        assert_eq!(three(",8k,"), Some([None, Some(8192), None]));
        assert_eq!(three("1,2,3"), Some([Some(1), Some(2), Some(3)]));
        assert_eq!(three("1,2,3,4"), None);
        assert_eq!(three("x"), None);
        assert_eq!(three(""), None);
    }
}
