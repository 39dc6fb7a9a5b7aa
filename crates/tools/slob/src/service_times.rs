//! How long the database took for what its sessions asked of it.

use fathom_record::{Latency, Run};
use fathom_spec::{StreamId, Verb};

/// Service times of one verb, all streams and sessions together.
pub fn service(run: &Run, verb: Verb) -> Latency {
    let mut all = Latency::default();
    for id in 0..run.plan.streams.len() as u32 {
        let Some(merged) = run.merged(StreamId(id)) else { continue };
        for (_, cell) in merged.cells.iter().filter(|(v, _)| *v == verb) {
            cell.service.iter().for_each(|latency| all.merge(latency));
        }
    }
    all
}
