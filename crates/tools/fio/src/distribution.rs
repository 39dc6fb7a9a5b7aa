//! `random_distribution`: which blocks a random job takes more often than others.

use super::diagnostic::Trouble;
use super::job::{Job, wrong};
use super::numbers;
use fathom_spec::Pattern;

/// What is wrong with a job's distribution, as far as it can be told without its files.
pub fn check_distribution(job: &Job) -> Result<(), Trouble> {
    if job.direction.random { distribution(job, None).map(|_| ()) } else { Ok(()) }
}

/// `length`: bytes of the region, where they are known.
pub(super) fn distribution(job: &Job, length: Option<u64>) -> Result<Pattern, Trouble> {
    let (word, rest) = &job.direction.distribution;
    let rest = rest.as_deref().unwrap_or_default();
    let number = |least: f64, most: f64| {
        let mut parts = rest.split(':');
        let value = parts.next().and_then(|text| text.parse::<f64>().ok());
        let value = value.filter(|value| (least..=most).contains(value));
        if parts.next().is_some() {
            return Err(wrong(job, "a distribution has its usual centre", "leave the second number out"));
        }
        value.ok_or_else(|| {
            wrong(
                job,
                format!("random_distribution={word}:{rest} is not possible"),
                "say zipf:1.2, pareto:0.2 or normal:20",
            )
        })
    };
    match *word {
        "random" => Ok(Pattern::Uniform { once: job.direction.map }),
        "zipf" => {
            let theta = number(0.0, 100.0)?;
            // At 1 the sum that the law rests on has another form; fio refuses it.
            if theta == 1.0 {
                Err(wrong(job, "zipf theta must be different than 1.0", "say 0.99 or 1.01"))
            } else {
                Ok(Pattern::Zipf(theta))
            }
        }
        "pareto" => Ok(Pattern::Pareto(number(f64::MIN_POSITIVE, 0.999_999)?)),
        "normal" => Ok(Pattern::Normal(number(0.0, 99.999_999)?)),
        "zoned_abs" => zones(job, rest, length, true),
        _ => zones(job, rest, None, false),
    }
}

/// `60/10:30/20:10/70`: percent of accesses, percent of the region or, absolute, bytes of it, of which there are `length`.
fn zones(job: &Job, text: &str, length: Option<u64>, absolute: bool) -> Result<Pattern, Trouble> {
    let hint = "say zoned:60/10:30/20:10/70";
    if text.contains(',') {
        return Err(wrong(job, "one list of zones for all directions", hint));
    }
    let mut zones = Vec::new();
    for part in text.split(':').filter(|part| !part.is_empty()) {
        let read = part.split_once('/').and_then(|(share, size)| {
            let share = share.trim().parse::<f64>().ok().filter(|s| (0.0..=100.0).contains(s))?;
            // A share of what is left, once all others are known.
            let size = if size.trim().is_empty() && !absolute {
                f64::NAN
            } else if absolute {
                numbers::bytes(size, numbers::KbBase::Old)? as f64
            } else {
                size.trim().parse::<f64>().ok().filter(|s| (0.0..=100.0).contains(s))?
            };
            Some((share, size))
        });
        zones.push(read.ok_or_else(|| wrong(job, format!("{part:?} is no zone"), hint))?);
    }
    let blank = zones.iter().filter(|zone| zone.1.is_nan()).count();
    let said: f64 = zones.iter().map(|zone| zone.1).filter(|size| !size.is_nan()).sum();
    let left = (100.0 - said).max(0.0) / blank.max(1) as f64;
    zones.iter_mut().filter(|zone| zone.1.is_nan()).for_each(|zone| zone.1 = left);
    let shares: f64 = zones.iter().map(|zone| zone.0).sum();
    let sizes: f64 = zones.iter().map(|zone| zone.1).sum();
    if zones.is_empty() || zones.len() > 256 || shares != 100.0 || (!absolute && sizes > 100.0) {
        let what =
            "zones must be 1 to 256, of 100 percent of the accesses and at most 100 percent of the region";
        return Err(wrong(job, what, hint));
    }
    if let Some(length) = length.filter(|_| absolute) {
        if sizes > length as f64 {
            return Err(wrong(
                job,
                "zoned_abs sizes exceed file size",
                "say smaller zones, or a larger size=",
            ));
        }
        zones.iter_mut().for_each(|zone| zone.1 *= 100.0 / length as f64);
    }
    Ok(Pattern::Zoned(zones))
}
