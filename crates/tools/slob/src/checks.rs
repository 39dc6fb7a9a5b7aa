//! What else a run of sessions is checked for: that the server counted what the sessions did, that what was asked for is what
//! ran, and that commits reached the disk.

use super::counter_deltas::{Agreement, Counted};
use super::run_context::RunContext;
use super::service_times::service;
use super::settings::Settings;
use super::verdict::percent;
use fathom_record::{Check, CheckOutcome, Run};
use fathom_spec::{Bytes, Verb};

/// What the counters may be off by.
const OFF: f64 = 0.02;

/// Seconds of the end of a run that may lack a reading.
const LATE_SECONDS: f64 = 3.0;

/// Processes' reads may exceed those of the disk by so much: both are read once a second, at other moments.
const DISK_OFF: f64 = 0.5;
const DISK_OFF_BYTES: f64 = 16e6;

/// A rate of arrival that was reached but for so much.
const RATE_REACHED: f64 = 0.95;

/// Do the server, the sessions and the kernel say the same?
pub fn counters(counted: &Counted, told: &RunContext) -> Option<Check> {
    let agreement = counted.agreement.as_ref()?;
    let name = "counters agree with the sessions";
    if agreement.seconds_counted + LATE_SECONDS < agreement.seconds {
        let Agreement { seconds_counted, seconds, .. } = agreement;
        let seen = format!(
            "the counters cover {seconds_counted:.1} of {seconds:.1} s: the connection that read them was lost"
        );
        return Some(Check::new(name, CheckOutcome::Failed, seen));
    }
    let touched = agreement.rows_touched;
    let mut seen = Vec::new();
    let mut outcome = CheckOutcome::Passed;
    if let Some(rows) = agreement.rows_counted {
        let off = rows as f64 / touched.max(1) as f64 - 1.0;
        seen.push(format!("the sessions touched {touched} rows, the server counted {rows}"));
        if off.abs() > OFF && touched > 0 {
            outcome = CheckOutcome::Failed;
            let why = if off > 0.0 { "somebody else reads the schemas" } else { "counts were lost" };
            seen.push(why.to_owned());
        }
    }
    if let Some(others) = agreement.statements_of_others
        && others as f64 > OFF * agreement.statements as f64
    {
        outcome = CheckOutcome::Failed;
        seen.push(format!(
            "others ran {others} statements beside {} of the sessions, and the server counts its reads for all of them (with performance_schema=ON it counts them by file)",
            agreement.statements
        ));
    }
    if let (Some(processes), Some(device)) = (counted.process_read_bytes, counted.device)
        && processes as f64 > device.read_bytes as f64 * (1.0 + DISK_OFF) + DISK_OFF_BYTES
    {
        outcome = CheckOutcome::Failed;
        seen.push(format!(
            "the kernel counts {} read for the sessions, and {} counted {}",
            Bytes(processes),
            told.disks.join(", "),
            Bytes(device.read_bytes)
        ));
    }
    if let Some(times @ 1..) = counted.autovacuums {
        seen.push(format!("the server vacuumed or analyzed the tables {times} times: what it read of them is counted with the sessions' reads"));
        if outcome == CheckOutcome::Passed {
            outcome = CheckOutcome::Noted;
        }
    }
    (!seen.is_empty()).then(|| Check::new(name, outcome, seen.join("; ")))
}

/// Settings with which a commit, or a page that is written, is not what a database promises by default.
const WEAKER: [(&str, &str, Weaker); 11] = [
    ("fsync", "off", Weaker::Nothing),
    ("innodb_flush_method", "nosync", Weaker::Nothing),
    ("synchronous_commit", "off", Weaker::Later),
    ("innodb_flush_log_at_trx_commit", "0", Weaker::Later),
    ("innodb_flush_log_at_trx_commit", "2", Weaker::Later),
    ("full_page_writes", "off", Weaker::Once),
    ("innodb_doublewrite", "OFF", Weaker::Once),
    ("innodb_doublewrite", "0", Weaker::Once),
    ("wal_compression", "on", Weaker::Compressed),
    ("wal_compression", "lz4", Weaker::Compressed),
    ("wal_compression", "zstd", Weaker::Compressed),
];

/// What such a setting leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weaker {
    /// Nothing is forced to the disk.
    Nothing,
    /// Commits do not wait for the disk.
    Later,
    /// Pages are written without a copy.
    Once,
    /// The log is smaller than what was changed.
    Compressed,
}

/// The settings that decide what commits and writes mean, where sessions update: `None` where they only read.
pub fn durability(told: &RunContext) -> Option<Check> {
    if told.settings.update_pct == 0 {
        return None;
    }
    const DECIDING: [&str; 8] = [
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_sync_method",
        "innodb_flush_method",
        "innodb_flush_log_at_trx_commit",
        "innodb_doublewrite",
        "sync_binlog",
    ];
    let known: Vec<String> =
        DECIDING.iter().filter_map(|name| Some(format!("{name}={}", told.setting(name)?))).collect();
    if known.is_empty() {
        return None;
    }
    let weaker: Vec<(&str, Weaker)> = WEAKER
        .iter()
        .filter(|(name, value, _)| told.setting(name).is_some_and(|set| set.eq_ignore_ascii_case(value)))
        .map(|(name, _, what)| (*name, *what))
        .collect();
    let outcome = match weaker.iter().any(|(_, what)| *what == Weaker::Nothing) {
        true => CheckOutcome::Failed,
        _ if weaker.is_empty() => CheckOutcome::Passed,
        _ => CheckOutcome::Noted,
    };
    let says = |(name, what): &(&str, Weaker)| match what {
        Weaker::Nothing => format!("{name}: no commit waits for the disk"),
        Weaker::Later => format!("{name}: commits do not wait for the disk"),
        Weaker::Once => format!("{name}: pages are written without a copy"),
        Weaker::Compressed => format!("{name}: the log is compressed"),
    };
    let mut seen = vec![known.join(", ")];
    seen.extend(weaker.iter().map(says));
    Some(Check::new("commits reach the disk", outcome, seen.join("; ")))
}

/// Was the rate of arrival reached? Both in operations a second, updates with their commits as one, over so many seconds.
pub fn rate(asked: Option<f64>, reached: Option<f64>, seconds: f64) -> Option<Check> {
    let (asked, reached) = asked.zip(reached)?;
    // Arrivals are random: three standard deviations of a Poisson count are no shortfall.
    let short = reached < asked * RATE_REACHED && reached < asked - 3.0 * (asked / seconds.max(1e-9)).sqrt();
    let seen = format!(
        "{reached:.1} operations a second of {asked:.1} that arrived ({})",
        percent(reached / asked.max(1e-9))
    );
    let outcome = if short { CheckOutcome::Failed } else { CheckOutcome::Passed };
    Some(Check::new("the rate that was asked for", outcome, seen))
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
