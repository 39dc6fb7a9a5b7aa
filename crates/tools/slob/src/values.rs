//! The values of parameters, as the scripts write them.

use super::amount::Amount;
use super::parameter_error::{Wrong, wrong};
use super::table::Row;
use fathom_spec::{Bytes, GIB, MIB, Nanos};

/// Percent as the scripts take it: 51 to 99 cannot be had from quotas that alternate.
pub(super) fn percent(row: &Row, value: &str) -> Result<u32, Wrong> {
    let percent = count(row, value, 0, 100)? as u32;
    match percent {
        51..=99 => Err(wrong(
            format!("{}={percent} is refused, as SLOB does: 51 to 99 percent cannot be had", row.name),
            "take 0 to 50, or 100",
        )),
        _ => Ok(percent),
    }
}

pub(super) fn count(row: &Row, value: &str, least: u64, most: u64) -> Result<u64, Wrong> {
    value.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(|| {
        let range = match most {
            most if most > 1 << 60 => format!("from {least} on"),
            _ => format!("from {least} to {most}"),
        };
        wrong(format!("{}={value} is not a whole number {range}", row.name), row.says)
    })
}

/// Blocks, or a size with M, G or T as the scripts write it (`MB`, `MiB` and the like are taken for the same).
pub(super) fn amount(row: &Row, value: &str) -> Result<Amount, Wrong> {
    let no = || {
        wrong(
            format!("{}={value} is neither a number of blocks nor a size", row.name),
            "for example 10240 (blocks), 80M, 8G or 1T",
        )
    };
    if value.bytes().all(|c| c.is_ascii_digit()) {
        return value.parse().ok().filter(|n| (1..=1 << 48).contains(n)).map(Amount::Blocks).ok_or_else(no);
    }
    let upper = value.to_ascii_uppercase();
    let digits = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &upper[digits.len()..] {
        "M" | "MB" | "MIB" => MIB,
        "G" | "GB" | "GIB" => GIB,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return Err(no()),
    };
    let size = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(scale));
    size.filter(|n| (1..=1 << 56).contains(n)).map(|n| Amount::Size(Bytes(n))).ok_or_else(no)
}

/// Seconds with a fraction, as `.1`; or a time with its unit.
pub(super) fn pause(row: &Row, value: &str) -> Result<Nanos, Wrong> {
    let bare = value.parse::<f64>().ok().filter(|s| (0.0..=86_400.0).contains(s));
    let parsed = bare.map(|seconds| Nanos((seconds * 1e9).round() as u64)).or_else(|| value.parse().ok());
    parsed.ok_or_else(|| {
        wrong(format!("{}={value} is no length of time", row.name), "seconds, such as .1, or 100ms")
    })
}

pub(super) fn truth(row: &Row, value: &str) -> Result<bool, Wrong> {
    choose(row, value, &[("TRUE", true), ("FALSE", false), ("T", true), ("F", false), ("", false)])
}

pub(super) fn choose<T: Copy>(row: &Row, value: &str, known: &[(&str, T)]) -> Result<T, Wrong> {
    let found = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    let words: Vec<&str> = known.iter().map(|(word, _)| *word).filter(|word| word.len() > 1).collect();
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        wrong(format!("{}={value} is not known", row.name), format!("one of {}", words.join(", ")))
    })
}
