//! Latencies of one priority, as a tally keeps them. Knows nothing of tallies.

use super::job::ReportJob;
use fathom_record::{Interval, Latency};
use fathom_spec::{Verb, priority_class_and_level};

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

/// What the run kept of a verb.
pub(super) fn kept(job: &ReportJob, all: &Interval, verb: Verb) -> Vec<AtPriority> {
    let Some(of) = told_of(job) else { return Vec::new() };
    let mut found = Vec::new();
    for at in all.priorities.iter().filter(|at| at.verb == verb) {
        let priority = match at.priority {
            0 => job.priority,
            word => priority_class_and_level(word.into()),
        };
        let completion = at.completion.as_ref().filter(|_| of == "clat");
        let latency = (**completion.unwrap_or(&at.service)).clone();
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
