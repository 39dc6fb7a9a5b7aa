//! Quantities as types: a number with its unit, as people type it and as people read it.
//!
//! `8k`, `8K` and `8KiB` are 8,192 bytes (storage people mean powers of two when they are short), `8kB` is
//! 8,000 (the International System says so when it is spelt out). A time always carries its unit: `10` is a
//! count and `10s` is a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Why a quantity could not be read. The text says what was found and what would have been right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not {expected}")]
pub struct ParseError {
    /// What was typed.
    pub found: String,
    /// What would have been right, with an example.
    pub expected: &'static str,
}

impl ParseError {
    fn new(found: &str, expected: &'static str) -> Self {
        ParseError { found: found.to_owned(), expected }
    }
}

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A length of time, or a moment counted from the start of a run, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// 2^10 bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;

impl Nanos {
    /// So many whole seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Nanos(seconds * 1_000_000_000)
    }
    /// So many whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Nanos(millis * 1_000_000)
    }
    /// So many whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Nanos(micros * 1_000)
    }
    /// The same length in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The same length in milliseconds.
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Bytes {
    /// The same amount in units of 2^20 bytes, which Oracle calls MB.
    pub fn mebibytes(self) -> f64 {
        self.0 as f64 / MIB as f64
    }
}

/// Splits `12.5ms` into `12.5` and `ms`. `None` when it does not begin with a number.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim()))
}

impl FromStr for Bytes {
    type Err = ParseError;

    /// Whole bytes, or a number with a unit: k, KiB (1024), kB (1000), m, MiB, MB, g, GiB, GB, t, TiB, TB.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, "a size such as 8k, 8KiB, 8kB, 1m, 4GiB or 512");
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let lower = unit.to_ascii_lowercase();
        let scale: u64 = match lower.as_str() {
            "" | "b" => 1,
            "k" | "ki" | "kib" => KIB,
            "m" | "mi" | "mib" => MIB,
            "g" | "gi" | "gib" => GIB,
            "t" | "ti" | "tib" => 1 << 40,
            "p" | "pi" | "pib" => 1 << 50,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "pb" => 1_000_000_000_000_000,
            _ => return Err(wrong()),
        };
        let bytes = number * scale as f64;
        if !(0.0..1.8e19).contains(&bytes) || bytes.fract() != 0.0 {
            return Err(wrong());
        }
        Ok(Bytes(bytes as u64))
    }
}

impl fmt::Display for Bytes {
    /// In the largest unit that is exact, else in the largest that is at least one, with two decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1u64 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
        for (size, name) in units {
            if self.0 >= size {
                let whole = self.0.is_multiple_of(size);
                return match whole {
                    true => write!(f, "{} {name}", self.0 / size),
                    false => write!(f, "{:.2} {name}", self.0 as f64 / size as f64),
                };
            }
        }
        write!(f, "{} B", self.0)
    }
}

impl FromStr for Nanos {
    type Err = ParseError;

    /// A number with its unit: ns, us, ms, s, m or min, h, d. A bare `0` needs none.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, "a time with its unit, such as 500us, 20ms, 30s or 2m");
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let scale = match unit.to_ascii_lowercase().as_str() {
            "" if number == 0.0 => 1.0,
            "ns" => 1.0,
            "us" | "µs" | "usec" => 1e3,
            "ms" | "msec" => 1e6,
            "s" | "sec" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86400e9,
            _ => return Err(wrong()),
        };
        let nanos = (number * scale).round();
        if !(0.0..1.8e19).contains(&nanos) {
            return Err(wrong());
        }
        Ok(Nanos(nanos as u64))
    }
}

impl fmt::Display for Nanos {
    /// With three or four digits and the unit that fits: `850 ns`, `12.3 us`, `7.87 ms`, `60 s`, `30 min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let short = |f: &mut fmt::Formatter<'_>, value: f64, unit: &str| {
            let decimals = if value >= 99.95 || value.fract() == 0.0 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            write!(f, "{value:.decimals$} {unit}")
        };
        match ns {
            0..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => short(f, ns as f64 / 1e3, "us"),
            1_000_000..1_000_000_000 => short(f, ns as f64 / 1e6, "ms"),
            _ if ns.is_multiple_of(60_000_000_000) && ns > 60_000_000_000 => {
                write!(f, "{} min", ns / 60_000_000_000)
            }
            _ => short(f, ns as f64 / 1e9, "s"),
        }
    }
}

/// A probability between 0 and 1, such as the 0.99 of a 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Quantile(pub f64);

impl FromStr for Quantile {
    type Err = ParseError;

    /// `p99`, `p99.9`, `99.9%` or `0.999`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, "a quantile such as p95, p99.9 or 0.99");
        let lower = text.trim().to_ascii_lowercase();
        let value = match (lower.strip_prefix('p'), lower.strip_suffix('%')) {
            (Some(percent), _) | (None, Some(percent)) => {
                percent.parse::<f64>().map_err(|_| wrong())? / 100.0
            }
            (None, None) => lower.parse::<f64>().map_err(|_| wrong())?,
        };
        match value > 0.0 && value < 1.0 {
            true => Ok(Quantile(value)),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", (self.0 * 100.0 * 1e6).round() / 1e6)
    }
}

/// Which latency a limit speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The arithmetic mean, as Oracle's `max_latency` has it.
    Mean,
    /// The value that this share of the I/Os stays under.
    Quantile(Quantile),
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => write!(f, "mean"),
            Statistic::Quantile(q) => write!(f, "{q}"),
        }
    }
}

/// The most latency that is tolerated: `20ms` bounds the mean, `p99=2ms` the quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimit {
    /// What is bounded.
    pub of: Statistic,
    /// The bound, nanoseconds.
    pub at_most: Nanos,
}

impl FromStr for LatencyLimit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, "a latency limit such as 20ms (the mean), p95=10ms or p99=2ms");
        let (of, time) = match text.split_once('=') {
            Some((left, right)) if left.trim().eq_ignore_ascii_case("mean") => (Statistic::Mean, right),
            Some((left, right)) => (Statistic::Quantile(left.parse().map_err(|_| wrong())?), right),
            None => (Statistic::Mean, text),
        };
        let at_most: Nanos = time.parse().map_err(|_| wrong())?;
        match at_most.0 > 0 {
            true => Ok(LatencyLimit { of, at_most }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for LatencyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.of, self.at_most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_units_are_powers_of_two_and_spelt_out_ones_follow_the_international_system() {
        for (text, bytes) in [
            ("8k", 8192),
            ("8K", 8192),
            ("8KiB", 8192),
            ("8kB", 8000),
            ("1m", MIB),
            ("1MB", 1_000_000),
            ("0.5g", GIB / 2),
            ("512", 512),
        ] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "k", "8q", "-1", "0.3", "1e3", "99999999999t"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_needs_its_unit() {
        for (text, ns) in [
            ("500us", 500_000),
            ("2m", 120_000_000_000),
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse::<Nanos>(), Ok(Nanos(ns)), "{text}");
        }
        for text in ["20", "ms", "20 parsecs", "-3s", ""] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_bare_latency_limit_bounds_the_mean() {
        let limit: LatencyLimit = "20ms".parse().unwrap();
        assert_eq!(limit, LatencyLimit { of: Statistic::Mean, at_most: Nanos(20_000_000) });
        assert_eq!("p99=2ms".parse::<LatencyLimit>().unwrap().to_string(), "p99 <= 2 ms");
        assert_eq!("P99.9=2ms".parse::<LatencyLimit>().unwrap().to_string(), "p99.9 <= 2 ms");
        for text in ["p0=2ms", "p100=2ms", "0ms", "x=2ms", "20"] {
            assert!(text.parse::<LatencyLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn quantities_print_as_people_read_them() {
        assert_eq!(Bytes(8192).to_string(), "8 KiB");
        assert_eq!(Bytes(1_500_000_000).to_string(), "1.40 GiB");
        assert_eq!(Nanos(7_867_000).to_string(), "7.87 ms");
        assert_eq!(Nanos(277_600).to_string(), "278 us");
        assert_eq!(Nanos(60_000_000_000).to_string(), "60 s");
        assert_eq!(Nanos(1_800_000_000_000).to_string(), "30 min");
    }
}
