//! What a report must know of each clone.

use super::job::Job;
use super::members::Planned;
use super::report::{LatencyTarget, ReportJob, Switches, Unified, UntoldSyncs};
use fathom_spec::Verb;

/// The clones that are reported, in the order of the job file. `process`: the number shown as the first one's.
pub fn reported(jobs: &[Job], planned: &Planned, process: u32) -> Vec<ReportJob> {
    let shown = planned.members.iter().enumerate().filter(|(_, member)| jobs[member.job].report.stats);
    shown
        .map(|(number, member)| {
            let job = &jobs[member.job];
            let mut told = of_job(job);
            told.group = member.group;
            told.clone = member.clone;
            told.streams = vec![member.stream];
            told.pid = process.wrapping_add(number as u32);
            told
        })
        .collect()
}

/// What a clock of the system shows more than that of the day, ms.
fn clock_offset_ms(clock: u32) -> i64 {
    let ms = |clock| fathom_drive::system_clock_ms(clock).and_then(|ms| i64::try_from(ms).ok());
    if clock == 0 { 0 } else { ms(clock).zip(ms(0)).map_or(0, |(own, day)| own - day) }
}

fn of_job(job: &Job) -> ReportJob {
    let report = &job.report;
    let (lat, clat, slat) = report.disabled;
    let (of_clat, of_lat, of_slat) = report.percentiles_of;
    let (target, window, percentile) = job.pace.target.unwrap_or_default();
    let without_target = job.pace.target.is_none();
    ReportJob {
        options: job.own.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        description: job.description.clone(),
        group_reporting: report.group,
        block_sizes: job.sizes.said.unwrap_or(job.sizes.ranges),
        sizes_by_order: job.sizes.said.is_some(),
        ioengine: job.engine.name.to_owned(),
        iodepth: job.pace.depth,
        asynchronous: job.engine.is_asynchronous(),
        percentiles: report.percentiles.clone(),
        with_percentiles: Switches { slat: of_slat, clat: of_clat, lat: of_lat },
        disabled: Switches { slat, clat, lat },
        without_bandwidth: report.without_bandwidth,
        unified: match report.unified {
            "mixed" => Unified::Mixed,
            "both" => Unified::Both,
            _ => Unified::Apart,
        },
        latency_target: LatencyTarget {
            target_ns: target.0,
            window_us: window.0 / 1000,
            percentile: if without_target { 100.0 } else { percentile },
            depth: job.pace.depth,
        },
        significant_figures: report.significant_figures as usize,
        sample_ns: report.samples.0.0.max(1),
        thread: job.thread,
        priority: job.terms.standing.io_priority.unwrap_or_default(),
        continue_on_error: job.terms.counts_errors,
        excused: job.terms.excused.clone(),
        clock_offset_ms: clock_offset_ms(report.start_clock),
        verify_only: job.data.verify_only && job.direction.verbs.contains(&Verb::Write),
        bytes_each: job.area.file_size.filter(|_| job.engine.is_about_files()).map(|(_, most)| most),
        untold_syncs: match (job.sync.fsync, job.sync.end_fsync) {
            // What was recorded counts.
            (None, false) if job.replay.is_some() => UntoldSyncs::None,
            (None, _) => UntoldSyncs::All,
            (Some(_), _) => UntoldSyncs::None,
        },
        ends_in_sync: job.sync.end_fsync,
        ..ReportJob::new(job.name.clone(), job.direction.word, Vec::new())
    }
}
