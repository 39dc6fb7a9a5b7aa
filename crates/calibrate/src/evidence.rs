//! Whether the figures can be believed: checks of what the device, the host and the statistics say.

use crate::figures::{counted, sampled_disks, seen};
use fathom_record::{Check, Figure, FigureName, Outcome, Purpose, Run};
use fathom_stats::{Steadiness, WarmUp, steadiness, warm_up};
use std::collections::BTreeMap;

/// A device that saw less than this share of our bytes was not the one that answered.
const SEEN_LEAST: f64 = 0.98;
/// A device that saw this much more than our bytes worked for others too.
const FOREIGN_MOST: f64 = 0.05;
/// Time taken by the hypervisor above this share makes a CPU-bound figure a figure of the neighbours.
const STEAL_MOST: f64 = 0.05;
/// Drift of a headline above this many percent a minute is no steady state.
const DRIFT_MOST: f64 = 10.0;

/// What the preflight found that bears on the verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preflight {
    /// Checks that could not be made, with the reason.
    pub unchecked: Vec<String>,
    /// Was the target past the page cache?
    pub direct: bool,
    /// No disk is below the target, or none whose counters can be read: why.
    pub no_counters: Option<String>,
    /// Below the target something caches and counts for itself (a loop device through the page cache).
    pub buffered_below: Option<String>,
    /// Share of the working set that was really written, 0 to 1; `None` when it cannot be told.
    pub written: Option<f64>,
    /// The target is memory, not a disk.
    pub memory: Option<String>,
    /// Disks over which I/O is multiplied (mirrors, parity) or divided before it is counted.
    pub multiplied: bool,
}

fn check(name: &str, outcome: Outcome, seen: impl Into<String>) -> Check {
    Check { name: name.to_owned(), outcome, seen: seen.into() }
}

/// Bytes that a run moved and what its disks counted meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moved {
    ours_read: f64,
    ours_written: f64,
    disk_read: f64,
    disk_written: f64,
}

fn moved(runs: &[&Run]) -> Option<Moved> {
    let mut sum = Moved::default();
    for run in runs {
        let disks = sampled_disks(run);
        if disks.is_empty() {
            return None;
        }
        for disk in &disks {
            sum.disk_read += counted(run, disk, "sectors_read")? as f64 * 512.0;
            sum.disk_written += counted(run, disk, "sectors_written")? as f64 * 512.0;
        }
        for (verb, counts) in run.workers.iter().flat_map(|w| &w.counts) {
            match verb.writes() {
                true => sum.ours_written += counts.bytes as f64,
                false => sum.ours_read += counts.bytes as f64,
            }
        }
    }
    Some(sum)
}

/// All checks of a set of runs.
pub fn checks(runs: &[Run], summary: &BTreeMap<FigureName, Figure>, preflight: &Preflight) -> Vec<Check> {
    let measured: Vec<&Run> = runs.iter().filter(|run| run.purpose != Purpose::Layout).collect();
    let mut checks = vec![
        device_counted(&measured, preflight),
        foreign(&measured, preflight),
        below(summary, preflight),
        written(preflight),
        steady(&measured),
        converged(summary),
        faults(&measured),
        stolen(&measured),
    ];
    for unknown in &preflight.unchecked {
        checks.push(check("preflight", Outcome::Unknown, unknown.clone()));
    }
    checks
}

fn device_counted(runs: &[&Run], preflight: &Preflight) -> Check {
    let name = "page cache bypassed";
    if let Some(memory) = &preflight.memory {
        return check(name, Outcome::Failed, format!("the target is memory, no disk: {memory}"));
    }
    if !preflight.direct {
        return check(
            name,
            Outcome::Failed,
            "the target was read through the page cache, so memory may have answered",
        );
    }
    if let Some(why) = &preflight.no_counters {
        return check(name, Outcome::Unknown, format!("no disk's own counters to compare with: {why}"));
    }
    let reads: Vec<&Run> = runs.iter().copied().filter(|run| reads_only(run)).collect();
    match moved(&reads) {
        Some(m) if m.ours_read > 0.0 => {
            let share = m.disk_read / m.ours_read;
            let told = format!("the disks counted {:.1} % of the bytes that were read", share * 100.0);
            match share >= SEEN_LEAST {
                true => check(name, Outcome::Passed, told),
                false => {
                    check(name, Outcome::Failed, format!("{told}; the rest came from memory above them"))
                }
            }
        }
        _ => check(name, Outcome::Unknown, "no disk counted anything while it was read"),
    }
}

fn reads_only(run: &Run) -> bool {
    run.workers.iter().flat_map(|w| &w.counts).all(|(verb, _)| !verb.writes())
}

fn foreign(runs: &[&Run], preflight: &Preflight) -> Check {
    let name = "no foreign I/O";
    if let Some(why) = preflight.no_counters.as_ref().or(preflight.memory.as_ref()) {
        return check(name, Outcome::Unknown, format!("others cannot be seen: {why}"));
    }
    let reads: Vec<&Run> = runs.iter().copied().filter(|run| reads_only(run)).collect();
    let Some(m) = moved(&reads) else {
        return check(name, Outcome::Unknown, "the disks' counters could not be read");
    };
    let others = (m.disk_read - m.ours_read).max(0.0) + m.disk_written;
    let share = others / m.ours_read.max(1.0);
    let told = format!("others moved {:.1} % as many bytes as the reads measured here", share * 100.0);
    match share <= FOREIGN_MOST {
        true => check(name, Outcome::Passed, told),
        false => check(name, Outcome::Failed, format!("{told}; measure again when the disk is idle")),
    }
}

fn below(summary: &BTreeMap<FigureName, Figure>, preflight: &Preflight) -> Check {
    let name = "no cache below the device";
    if let Some(what) = &preflight.buffered_below {
        return check(name, Outcome::Failed, format!("{what}: its counters look right while memory answers"));
    }
    match summary.get(&FigureName::CachedBelow) {
        None => check(name, Outcome::Noted, "a sample was not read twice"),
        Some(figure) => {
            let note = figure.note.clone().unwrap_or_default();
            match figure.value {
                share if share < 0.5 => check(name, Outcome::Passed, note),
                _ => check(name, Outcome::Noted, note),
            }
        }
    }
}

fn written(preflight: &Preflight) -> Check {
    let name = "blocks were written";
    match preflight.written {
        Some(share) if share >= SEEN_LEAST => check(
            name,
            Outcome::Passed,
            format!("{:.1} % of the working set holds written data", share * 100.0),
        ),
        Some(share) => check(
            name,
            Outcome::Failed,
            format!(
                "only {:.1} % of the working set was ever written; the rest is answered without touching a disk",
                share * 100.0
            ),
        ),
        None => check(name, Outcome::Noted, "whether every block was ever written cannot be told here"),
    }
}

/// Operations per slot of a run, whatever they were.
pub fn series(run: &Run) -> Vec<f64> {
    seen(run, |_| true).slots.iter().map(|counts| counts.operations as f64).collect()
}

fn steady(runs: &[&Run]) -> Check {
    let name = "steady state";
    let mut drifting = Vec::new();
    let mut judged = 0;
    for run in runs.iter().filter(|run| run.purpose == Purpose::Headline) {
        let slots = series(run);
        let cut = match warm_up(&slots) {
            WarmUp::Cut(cut) => cut,
            WarmUp::NotYet => 0,
        };
        match steadiness(&slots[cut.min(slots.len())..], run.plan.slot.seconds()) {
            Steadiness::Drifting { percent_per_minute, .. }
                if percent_per_minute.abs() * run.length_ns as f64 / 60e9 > DRIFT_MOST =>
            {
                drifting.push(format!("{} drifts by {percent_per_minute:+.0} % a minute", run.name));
            }
            Steadiness::NotEnough => {}
            _ => judged += 1,
        }
    }
    match (drifting.is_empty(), judged) {
        (false, _) => check(name, Outcome::Failed, drifting.join("; ")),
        (true, 0) => check(name, Outcome::Noted, "no point was measured long enough to tell"),
        (true, _) => check(name, Outcome::Passed, format!("{judged} headline points show no drift")),
    }
}

fn converged(summary: &BTreeMap<FigureName, Figure>) -> Check {
    let open: Vec<String> = summary
        .iter()
        .filter(|(_, figure)| !figure.converged)
        .map(|(name, figure)| {
            let error = figure
                .half_width
                .map_or("an unknown error".to_owned(), |h| format!("+-{:.0} %", h / figure.value * 100.0));
            let name = serde_json::to_value(name)
                .ok()
                .and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default();
            format!("{name} {error}")
        })
        .collect();
    match open.is_empty() {
        true => check("convergence", Outcome::Passed, "every figure reached its precision"),
        false => check("convergence", Outcome::Noted, format!("did not converge: {}", open.join(", "))),
    }
}

fn faults(runs: &[&Run]) -> Check {
    let errors: u64 =
        runs.iter().flat_map(|r| &r.workers).flat_map(|w| &w.counts).map(|(_, c)| u64::from(c.errors)).sum();
    match errors {
        0 => check("no I/O errors", Outcome::Passed, "every operation succeeded"),
        _ => check(
            "no I/O errors",
            Outcome::Failed,
            format!("{errors} operations failed; they are not counted as I/Os"),
        ),
    }
}

fn stolen(runs: &[&Run]) -> Check {
    let (mut stolen, mut total) = (0u64, 0u64);
    for run in runs {
        stolen += counted(run, "cpu", "steal_ticks").unwrap_or(0);
        total += counted(run, "cpu", "total_ticks").unwrap_or(0);
    }
    let share = stolen as f64 / total.max(1) as f64;
    let told = format!("the hypervisor took {:.1} % of the CPU time", share * 100.0);
    match share <= STEAL_MOST {
        true => check("CPU was ours", Outcome::Passed, told),
        false => check("CPU was ours", Outcome::Noted, told),
    }
}
