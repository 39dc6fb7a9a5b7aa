//! What SLOB's users work out by hand: are physical reads close to logical reads, or was a cache measured?

use super::advice::{self, Advice};
use super::counter_deltas::Counted;
use super::run_context::RunContext;
use fathom_record::{Check, CheckOutcome};
use fathom_spec::Nanos;

/// From this share of blocks on that the disk answered, the disk was measured. Of blocks that are four times the memory, a
/// quarter can be in it.
pub const DISK_FROM: f64 = 0.75;

/// Where the blocks came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The share that the disk answered, 0 to 1; `None` where it could not be told.
    pub from_disk: Option<f64>,
    /// What that means.
    pub meaning: Meaning,
    /// What would help, each by itself, the least effort first.
    pub advice: Vec<Advice>,
    /// The sentence.
    pub says: String,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The disk.
    Disk,
    /// A cache.
    Cache,
    /// It cannot be told.
    Unknown,
}

impl Judged {
    /// The check of the record's verdict.
    pub fn check(&self) -> Check {
        let outcome = match self.meaning {
            Meaning::Disk => CheckOutcome::Passed,
            Meaning::Cache => CheckOutcome::Failed,
            Meaning::Unknown => CheckOutcome::Unknown,
        };
        Check::new("physical reads close to logical reads", outcome, self.says.clone())
    }
}

/// Judges one run.
///
/// The share that came from the disk is the share of table blocks that missed the database's own cache, times the share of
/// those misses that the disk below answered (its bytes read over the bytes of the misses).
pub fn judge(counted: &Counted, told: &RunContext) -> Judged {
    let Some(missed) = counted.miss_share() else {
        let says = "it cannot be told whether a cache was measured: the database counted no reads".to_owned();
        return Judged { from_disk: None, meaning: Meaning::Unknown, advice: Vec::new(), says };
    };
    let answered = match counted.physical {
        Some(0) => Some(0.0),
        _ => counted.device_share(told.block.0),
    };
    let Some(answered) = answered else {
        // Nothing missed: then it does not matter what the disk did.
        if missed < 1.0 - DISK_FROM {
            return cache(missed, 0.0, told);
        }
        let says = format!(
            "{} of the blocks were not in the database's cache, but whether the disk or the page cache answered them cannot be told: no disk of this machine is known below the data",
            percent(missed)
        );
        return Judged { from_disk: None, meaning: Meaning::Unknown, advice: Vec::new(), says };
    };
    let from_disk = missed * answered;
    if from_disk < DISK_FROM {
        return cache(missed, answered, told);
    }
    let says = format!(
        "you are measuring the disk: {} of the table blocks that were asked for came from it",
        percent(from_disk)
    );
    Judged { from_disk: Some(from_disk), meaning: Meaning::Disk, advice: Vec::new(), says }
}

fn cache(missed: f64, answered: f64, told: &RunContext) -> Judged {
    let from_disk = missed * answered;
    let (own, page) = (1.0 - missed, missed * (1.0 - answered));
    let name = told.cache.as_ref().map_or("the database's cache", |(name, _)| name.as_str());
    let whose = match (own >= 0.01, page >= 0.01) {
        (true, true) => format!(" ({} from {name}, {} from the page cache)", percent(own), percent(page)),
        (true, false) => format!(" ({name})"),
        _ => " (the page cache)".to_owned(),
    };
    let advice = advice::of(from_disk, told);
    let ways: Vec<String> = advice.iter().map(Advice::to_string).collect();
    let says = format!(
        "you are measuring the cache: {} of the blocks came from memory{whose}; {}",
        percent(1.0 - from_disk),
        ways.join(", or ")
    );
    Judged { from_disk: Some(from_disk), meaning: Meaning::Cache, advice, says }
}

/// Whole percent, and never 100 where it is less, nor 0 where it is more.
pub(crate) fn percent(share: f64) -> String {
    let rounded = (share * 100.0).round();
    match rounded {
        r if r >= 100.0 && share < 0.9995 => format!("{:.1} %", (share * 1000.0).floor() / 10.0),
        r if r <= 0.0 && share > 0.0005 => format!("{:.1} %", (share * 1000.0).ceil() / 10.0),
        r => format!("{r:.0} %"),
    }
}

/// The sentence that puts a database beside its disk: reads a second of the one, and of the other at that mean latency, ns.
pub fn of_the_disk(reads: f64, disk: f64, latency_ns: f64, run: i64) -> String {
    format!(
        "the database reaches {} of what the disk can do at that latency: {reads:.0} of {disk:.0} reads a second at {} (calibration: run {run})",
        percent(reads / disk.max(1e-9)),
        Nanos(latency_ns as u64)
    )
}
