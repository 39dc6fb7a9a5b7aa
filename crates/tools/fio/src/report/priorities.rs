//! Latencies of each priority: told where the I/Os of one direction had at least two.

pub use super::at_priority::{AtPriority, told_of};
use super::job::ReportJob;
use super::latency::latency;
use super::tally::{Direction, Tally};
use super::tree::{Tree, object};
use fathom_record::Run;

/// Can a report tell of several priorities at all?
pub(super) fn may_differ(run: &Run, jobs: &[ReportJob]) -> bool {
    let several = jobs.iter().any(|job| job.group_reporting && job.priority != jobs[0].priority);
    several || run.plan.streams.iter().any(|stream| stream.keep.priorities)
}

/// What has no priorities of its own has the job's.
pub(super) fn complete(job: &ReportJob, tally: &mut Tally) {
    let Some(of) = told_of(job) else { return };
    for direction in &mut tally.directions {
        let latency = if of == "lat" { &direction.lat } else { &direction.clat };
        if direction.priorities.is_empty() && latency.count > 0 {
            direction.priorities = vec![AtPriority { priority: job.priority, latency: latency.clone() }];
        }
    }
}

/// The priorities that are told: all that occurred, if there are two at least.
pub(super) fn shown<'a>(job: &ReportJob, direction: &'a Direction) -> Vec<&'a AtPriority> {
    let occurred: Vec<_> = direction.priorities.iter().filter(|at| at.latency.count > 0).collect();
    if occurred.len() < 2 || told_of(job).is_none() { Vec::new() } else { occurred }
}

/// The value of the key `prios`.
pub(super) fn tree(job: &ReportJob, direction: &Direction, plus: bool) -> Option<Tree> {
    let of = told_of(job)?;
    let shown = shown(job, direction);
    let wanted = if of == "lat" { job.with_percentiles.lat } else { job.with_percentiles.clat };
    let one = |at: &&AtPriority| {
        let (class, level) = at.priority;
        object([
            ("prioclass".to_owned(), Tree::from(u32::from(class))),
            ("prio".to_owned(), Tree::from(u32::from(level))),
            ("priohint".to_owned(), Tree::from(0)),
            (format!("{of}_ns"), latency(&at.latency, wanted.then_some(job), plus)),
        ])
    };
    (!shown.is_empty()).then(|| Tree::Array(shown.iter().map(one).collect()))
}
