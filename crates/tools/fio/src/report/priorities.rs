//! Latencies of each priority: told where the I/Os of one direction had at least two.

use super::job::ReportJob;
use super::json::latency;
use super::tally::{Direction, Tally, less};
use super::tree::{Tree, object};
use fathom_record::{Interval, Latency, Run};
use fathom_spec::Verb;

/// The I/Os of one priority.
#[derive(Clone, Debug, PartialEq)]
pub struct AtPriority {
    /// Class and level; (0, 0): none was said.
    pub priority: (u8, u8),
    /// `clat` or `lat`, ns, as [`told_of`] says.
    pub latency: Latency,
}

impl AtPriority {
    /// As the normal report names it: `clat prio 1/0`.
    pub fn name(&self, of: &str) -> String {
        let (class, level) = self.priority;
        format!("{of} prio {class}/{level}")
    }
}

/// Of which latency a job tells it: `lat` where that has percentiles, else `clat`; none where it is not measured.
pub fn told_of(job: &ReportJob) -> Option<&'static str> {
    match (job.with_percentiles.lat && !job.disabled.lat, job.disabled.clat) {
        (true, _) => Some("lat"),
        (false, false) => Some("clat"),
        (false, true) => None,
    }
}

/// The class stands above these bits of the kernel's word.
const CLASS_SHIFT: u16 = 13;

/// What the run kept of a verb. Of submissions only the mean is known, which is taken from each.
pub(super) fn kept(job: &ReportJob, all: &Interval, verb: Verb, submit: Option<&Latency>) -> Vec<AtPriority> {
    let Some(of) = told_of(job) else { return Vec::new() };
    let mean_ns = submit.map_or(0, |submit| submit.sum_ns / submit.count.max(1));
    let mut found = Vec::new();
    for at in all.priorities.iter().filter(|at| at.verb == verb) {
        let priority = match at.priority {
            0 => job.priority,
            word => ((word >> CLASS_SHIFT) as u8, (word & ((1 << CLASS_SHIFT) - 1)) as u8),
        };
        let latency = match submit {
            Some(submit) if of == "clat" => {
                let count = at.service.count;
                less(&at.service, &Latency { count, sum_ns: mean_ns * count, ..submit.clone() })
            }
            _ => (*at.service).clone(),
        };
        merge(&mut found, &[AtPriority { priority, latency }]);
    }
    found
}

/// Adds others to these, each to its like; the first found stands first.
pub(super) fn merge(mine: &mut Vec<AtPriority>, others: &[AtPriority]) {
    for other in others {
        match mine.iter_mut().find(|at| at.priority == other.priority) {
            Some(at) => at.latency.merge(&other.latency),
            None => mine.push(other.clone()),
        }
    }
}

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
            (format!("{of}_ns"), latency(&at.latency, wanted.then_some(job), plus)),
        ])
    };
    (!shown.is_empty()).then(|| Tree::Array(shown.iter().map(one).collect()))
}
