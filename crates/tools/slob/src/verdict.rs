//! What SLOB's users work out by hand: are physical reads close to logical reads, or was a cache measured?

use super::counter_deltas::Counted;
use super::run_context::RunContext;
use super::service_times::service;
use super::settings::Settings;
use fathom_record::{Check, CheckOutcome, Run};
use fathom_spec::{Bytes, GIB, MIB, Nanos, Verb};

/// From this share of blocks on that the disk answered, the disk was measured. Of blocks that are four times the memory, a
/// quarter can be in it.
pub const DISK_FROM: f64 = 0.75;

/// What is advised: so many times the memory that could hold them is there of blocks, and nine of ten random reads miss it.
const TIMES: u64 = 10;

/// Where the blocks came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The share that the disk answered, 0 to 1; `None` where it could not be told.
    pub from_disk: Option<f64>,
    /// What that means.
    pub meaning: Meaning,
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
        return Judged { from_disk: None, meaning: Meaning::Unknown, says };
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
        return Judged { from_disk: None, meaning: Meaning::Unknown, says };
    };
    let from_disk = missed * answered;
    if from_disk < DISK_FROM {
        return cache(missed, answered, told);
    }
    let says = format!(
        "you are measuring the disk: {} of the table blocks that were asked for came from it",
        percent(from_disk)
    );
    Judged { from_disk: Some(from_disk), meaning: Meaning::Disk, says }
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
    let mut ways = Vec::new();
    if own >= 0.05 {
        ways.push(format!("shrink {name}"));
    }
    ways.push(format!("raise SCALE to at least {}", scale_at_least(from_disk, told)));
    ways.extend(limited(told));
    let says = format!(
        "you are measuring the cache: {} of the blocks came from memory{whose}; {}",
        percent(1.0 - from_disk),
        ways.join(", or ")
    );
    Judged { from_disk: Some(from_disk), meaning: Meaning::Cache, says }
}

/// The SCALE of each schema at which memory can hold no more than a tenth of the blocks.
///
/// Random reads of D bytes of which C are held in memory hit it with the probability C / D. Where a part of the reads came
/// from the disk, C is the share of the hits times D; where none did, C is what could be held: the database's cache and the
/// page cache.
fn scale_at_least(from_disk: f64, told: &RunContext) -> String {
    let data = told.data().0 as f64;
    let known = told.cache.as_ref().map_or(0, |(_, size)| size.0) + told.page_cache.map_or(0, |size| size.0);
    let held = if from_disk > 0.03 { (1.0 - from_disk) * data } else { (known as f64).max(data) };
    let each = held * TIMES as f64 / f64::from(told.settings.schemas.max(1));
    // A rounding error of a byte is not a megabyte more.
    let mebibytes = (each / MIB as f64 - 1e-6).ceil() as u64;
    if mebibytes >= 10 * 1024 { format!("{}G", mebibytes.div_ceil(1024)) } else { format!("{mebibytes}M") }
}

/// Every server works in so much memory, with some sixty sessions.
const LIMIT_LEAST: u64 = 256 * MIB;

/// The bound on memory at which it can hold no more than a tenth of the blocks; with the SCALE that it needs where the blocks
/// are too few for any bound. SQLite has no server that could be bounded.
fn limited(told: &RunContext) -> Option<String> {
    if told.connect.starts_with("sqlite:") || told.page_cache_limited {
        return None;
    }
    let tenth = told.data().0 / TIMES / MIB * MIB;
    if tenth >= LIMIT_LEAST {
        return Some(format!("run with --limit-cache {}", in_words(Bytes(tenth))));
    }
    let each = (LIMIT_LEAST * TIMES).div_ceil(u64::from(told.settings.schemas.max(1)));
    Some(format!(
        "run with --limit-cache {} and SCALE {}",
        in_words(Bytes(LIMIT_LEAST)),
        in_words(Bytes(each.div_ceil(MIB) * MIB))
    ))
}

fn in_words(size: Bytes) -> String {
    if size.0 >= GIB && size.0.is_multiple_of(GIB) {
        format!("{}G", size.0 / GIB)
    } else {
        format!("{}M", size.0 / MIB)
    }
}

/// Whole percent, and never 100 where it is less, nor 0 where it is more.
fn percent(share: f64) -> String {
    let rounded = (share * 100.0).round();
    match rounded {
        r if r >= 100.0 && share < 0.9995 => format!("{:.1} %", (share * 1000.0).floor() / 10.0),
        r if r <= 0.0 && share > 0.0005 => format!("{:.1} %", (share * 1000.0).ceil() / 10.0),
        r => format!("{r:.0} %"),
    }
}

/// Whether what was asked for is what ran: the shares of updates and scans.
pub fn mix(run: &Run, settings: &Settings) -> Option<Check> {
    let count = |verb| service(run, verb).count;
    let (selects, updates, scans) = (count(Verb::Select), count(Verb::Update), count(Verb::Scan));
    let all = selects + updates + scans;
    if all < 1000 {
        return None;
    }
    let share = |part: u64, of: u64| part as f64 * 100.0 / of.max(1) as f64;
    let (updated, scanned) = (share(updates, all), share(scans, selects + scans));
    let far = (updated - f64::from(settings.update_pct)).abs() > 2.0
        || settings.update_pct < 100 && (scanned - f64::from(settings.scan_pct)).abs() > 2.0;
    let seen = format!(
        "{updated:.1} % updates (asked {}), {scanned:.1} % of the rest scans (asked {})",
        settings.update_pct, settings.scan_pct
    );
    let outcome = if far { CheckOutcome::Failed } else { CheckOutcome::Passed };
    Some(Check::new("the mix that was asked for", outcome, seen))
}

/// The sentence that puts a database beside its disk: reads a second of the one, and of the other at that mean latency, ns.
pub fn of_the_disk(reads: f64, disk: f64, latency_ns: f64, run: i64) -> String {
    format!(
        "the database reaches {} of what the disk can do at that latency: {reads:.0} of {disk:.0} reads a second at {} (calibration: run {run})",
        percent(reads / disk.max(1e-9)),
        Nanos(latency_ns as u64)
    )
}
