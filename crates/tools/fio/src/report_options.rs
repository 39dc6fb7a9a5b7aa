//! What is reported of a job, and which logs it writes.

use super::diagnostic::Trouble;
use super::job::{Histograms, Look, Reporting};
use super::values::Value;
use fathom_spec::Nanos;

/// Reads what is reported of a job.
pub(crate) fn reporting(look: &Look) -> Result<Reporting, Trouble> {
    let reduced = look.switch("gtod_reduce", false);
    let off = |name: &str| look.switch(name, reduced);
    let named = |name: &str| look.text(name).map(str::to_owned);
    let percentiles = match look.value("percentile_list") {
        Some(Value::Floats(list)) => {
            let mut list = list.clone();
            list.sort_by(f64::total_cmp);
            list
        }
        _ => vec![
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
            99.99,
        ],
    };
    if !matches!(look.word("unit_base", "0").0, "0" | "8") {
        return Err(look.wrong("unit_base", "reports are in bytes", "say 8 or leave it out"));
    }
    let logs = (named("write_bw_log"), named("write_lat_log"), named("write_iops_log"));
    Ok(Reporting {
        group: look.switch("group_reporting", false),
        stats: look.switch("stats", true),
        percentiles_of: (
            look.switch("clat_percentiles", true),
            look.switch("lat_percentiles", false),
            look.switch("slat_percentiles", false),
        ),
        percentiles,
        disabled: (off("disable_lat"), off("disable_clat"), off("disable_slat")),
        without_bandwidth: off("disable_bw_measurement"),
        unified: match look.word("unified_rw_reporting", "none").0 {
            "1" | "mixed" => "mixed",
            "2" | "both" => "both",
            _ => "none",
        },
        significant_figures: look.small("significant_figures", 4)?,
        disk_util: look.switch("disk_util", true),
        logs,
        log_average: look.time("log_avg_msec").unwrap_or(Nanos(0)),
        log_offset: look.switch("log_offset", false),
        log_priority: look.switch("log_prio", false),
        iolog: named("write_iolog").filter(|name| !name.is_empty() && look.value("read_iolog").is_none()),
        per_job_logs: look.switch("per_job_logs", true),
        log_epoch: epoch(look)?,
        log_largest: look.switch("log_max_value", false),
        histograms: histograms(look),
        samples: (
            look.time("bwavgtime").unwrap_or(Nanos::from_millis(500)),
            look.time("iopsavgtime").unwrap_or(Nanos::from_millis(500)),
        ),
    })
}

/// The clock from whose beginning logs count: that of the system, by `clock_gettime`'s number.
fn epoch(look: &Look) -> Result<Option<u32>, Trouble> {
    let (unix, other) = (look.switch("log_unix_epoch", false), look.switch("log_alternate_epoch", false));
    if !unix && !other {
        return Ok(None);
    }
    let clock = look.small("log_alternate_epoch_clock_id", 0)?;
    if !CLOCKS.contains(&clock) {
        let what = format!("no clock that tells the time has the number {clock}");
        let hint = "say 0 (since 1970), 1 (monotonic), 4 (raw), 7 (since boot) or 11 (TAI)";
        return Err(look.wrong("log_alternate_epoch_clock_id", &what, hint));
    }
    Ok(Some(clock))
}

/// Linux's clocks that do not count CPU time.
const CLOCKS: [u32; 9] = [0, 1, 4, 5, 6, 7, 8, 9, 11];

fn histograms(look: &Look) -> Option<Histograms> {
    let length = look.time("log_hist_msec").unwrap_or(Nanos(0));
    let coarseness = look.count("log_hist_coarseness").unwrap_or(0) as u32;
    look.text("write_hist_log").map(|name| Histograms { name: name.to_owned(), length, coarseness })
}
