//! What is reported of a job, and which logs it writes.

use super::diagnostic::Trouble;
use super::job::{Histograms, Reporting};
use super::options::OptionId;
use super::reader::OptionReader;
use super::report::windows::WindowValue;

/// Reads what is reported of a job.
pub(crate) fn reporting(reader: &OptionReader) -> Result<Reporting, Trouble> {
    let reduced = reader.switch(OptionId::GtodReduce);
    let off = |id: OptionId| reader.said_switch(id).unwrap_or(reduced);
    let named = |id: OptionId| reader.text(id).map(str::to_owned);
    let mut percentiles = reader.floats(OptionId::PercentileList).to_vec();
    percentiles.sort_by(f64::total_cmp);
    if !matches!(reader.word(OptionId::UnitBase), "0" | "8") {
        return Err(reader.wrong(OptionId::UnitBase, "reports are in bytes", "say 8 or leave it out"));
    }
    let logs = (named(OptionId::WriteBwLog), named(OptionId::WriteLatLog), named(OptionId::WriteIopsLog));
    Ok(Reporting {
        group: reader.switch(OptionId::GroupReporting),
        stats: reader.switch(OptionId::Stats),
        percentiles_of: (
            reader.switch(OptionId::ClatPercentiles),
            reader.switch(OptionId::LatPercentiles),
            reader.switch(OptionId::SlatPercentiles),
        ),
        percentiles,
        disabled: (off(OptionId::DisableLat), off(OptionId::DisableClat), off(OptionId::DisableSlat)),
        // gtod_reduce turns this off in fio, too, and fio samples all the same.
        without_bandwidth: reader.said_switch(OptionId::DisableBwMeasurement).unwrap_or(false),
        unified: match reader.word(OptionId::UnifiedRwReporting) {
            "1" | "mixed" => "mixed",
            "2" | "both" => "both",
            _ => "none",
        },
        significant_figures: reader.small(OptionId::SignificantFigures)?,
        disk_util: reader.switch(OptionId::DiskUtil),
        logs,
        log_average: reader.time(OptionId::LogAvgMsec),
        log_offset: reader.switch(OptionId::LogOffset),
        log_priority: reader.switch(OptionId::LogPrio),
        iolog: reader.some_text(OptionId::WriteIolog).filter(|_| !reader.is_said(OptionId::ReadIolog)),
        per_job_logs: reader.switch(OptionId::PerJobLogs),
        log_epoch: epoch(reader)?,
        start_clock: clock(reader, OptionId::JobStartClockId)?,
        log_window: match reader.word(OptionId::LogWindowValue) {
            "max" | "1" => WindowValue::Largest,
            "both" | "2" => WindowValue::Both,
            _ => WindowValue::Mean,
        },
        log_issue_time: reader.switch(OptionId::LogIssueTime),
        histograms: histograms(reader),
        samples: (reader.time(OptionId::Bwavgtime), reader.time(OptionId::Iopsavgtime)),
    })
}

/// The clock from whose beginning logs count: that of the system, by `clock_gettime`'s number.
fn epoch(reader: &OptionReader) -> Result<Option<u32>, Trouble> {
    let (unix, other) = (reader.switch(OptionId::LogUnixEpoch), reader.switch(OptionId::LogAlternateEpoch));
    if !unix && !other {
        return Ok(None);
    }
    clock(reader, OptionId::LogAlternateEpochClockId).map(Some)
}

/// A clock that tells the time.
fn clock(reader: &OptionReader, id: OptionId) -> Result<u32, Trouble> {
    let clock = reader.small(id)?;
    if !CLOCKS.contains(&clock) {
        let what = format!("no clock that tells the time has the number {clock}");
        let hint = "say 0 (since 1970), 1 (monotonic), 4 (raw), 7 (since boot) or 11 (TAI)";
        return Err(reader.wrong(id, &what, hint));
    }
    Ok(clock)
}

/// Linux's clocks that do not count CPU time.
const CLOCKS: [u32; 9] = [0, 1, 4, 5, 6, 7, 8, 9, 11];

fn histograms(reader: &OptionReader) -> Option<Histograms> {
    let length = reader.time(OptionId::LogHistMsec);
    let coarseness = reader.count(OptionId::LogHistCoarseness) as u32;
    reader.text(OptionId::WriteHistLog).map(|name| Histograms { name: name.to_owned(), length, coarseness })
}
