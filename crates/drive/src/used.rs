//! What a worker used and how it went about its work, as samples of the run: what some peers print beside the figures.

use crate::{BATCH_CLASSES, sys};
use fathom_record::Sample;
use fathom_spec::StreamId;

/// What a worker used besides CPU time, and how many operations it submitted and took back at a time: counters that
/// some peers print, kept as samples `worker STREAM.WORKER`. A counter that is 0 is left out.
pub(crate) fn worker_samples(
    (stream, worker): (StreamId, u32),
    at_ns: u64,
    used: &sys::Usage,
    batches: Option<[[u64; BATCH_CLASSES.len()]; 2]>,
) -> Vec<Sample> {
    let mut counters = vec![
        ("context_switches".to_owned(), used.context_switches),
        ("major_faults".to_owned(), used.major_faults),
        ("minor_faults".to_owned(), used.minor_faults),
    ];
    for (kind, counts) in ["submitted", "completed"].into_iter().zip(batches.unwrap_or_default()) {
        counters.extend(BATCH_CLASSES.iter().zip(counts).map(|(class, n)| (format!("{kind}_{class}"), n)));
    }
    let of = format!("worker {}.{worker}", stream.0);
    let counters = counters.into_iter().filter(|(_, value)| *value > 0);
    counters.map(|(name, value)| Sample { at_ns, of: of.clone(), name, value }).collect()
}
