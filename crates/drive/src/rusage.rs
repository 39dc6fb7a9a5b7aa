//! What a worker used and how it went about its work, as samples of the run: what some peers print beside the figures.

use crate::sys;
use fathom_record::{BATCH_CLASSES, BatchClass, Counter, Sample, SampleOf};
use fathom_spec::StreamId;

/// What a worker used besides CPU time, and how many operations it submitted and took back at a time: counters that
/// some peers print, kept as samples of the worker. A counter that is 0 is left out.
pub(crate) fn worker_samples(
    (stream, worker): (StreamId, u32),
    at_ns: u64,
    used: &sys::Usage,
    batches: Option<[[u64; BATCH_CLASSES.len()]; 2]>,
) -> Vec<Sample> {
    let of = SampleOf::Worker { stream, worker };
    let mut counters: Vec<(Counter, u64)> = vec![
        ("context_switches".into(), used.context_switches),
        ("major_faults".into(), used.major_faults),
        ("minor_faults".into(), used.minor_faults),
    ];
    let [submitted, completed] = batches.unwrap_or_default();
    counters.extend(BatchClass::all().map(Counter::Submitted).zip(submitted));
    counters.extend(BatchClass::all().map(Counter::Completed).zip(completed));
    let counters = counters.into_iter().filter(|(_, value)| *value > 0);
    counters.map(|(name, value)| Sample { at_ns, of: of.clone(), name, value }).collect()
}
