//! Which workers wait for which before they begin. Knows nothing of what they do.

use crate::Job;
use fathom_spec::{GroupId, Plan};
use std::sync::{Arc, Barrier};

/// What the workers of each stream that is ready wait at until all are there. Streams that end together (each takes its
/// own group down) begin together, too.
pub(crate) fn barriers(plan: &Plan, jobs: &[Option<Job<'_>>], ready: &[usize]) -> Vec<(usize, Arc<Barrier>)> {
    let workers = |id: usize| jobs.iter().flatten().filter(|job| job.stream.0 as usize == id).count();
    let mut barriers: Vec<(usize, Arc<Barrier>)> = Vec::with_capacity(ready.len());
    for id in ready.iter().copied() {
        let group = group(plan, id);
        let among = |other: usize| other == id || (group.is_some() && self::group(plan, other) == group);
        let barrier = match barriers.iter().find(|(other, _)| among(*other)) {
            Some((_, barrier)) => barrier.clone(),
            None => {
                let mates = ready.iter().copied().filter(|other| among(*other));
                Arc::new(Barrier::new(mates.map(workers).sum::<usize>().max(1)))
            }
        };
        barriers.push((id, barrier));
    }
    barriers
}

/// The group that a stream is of and takes down.
fn group(plan: &Plan, id: usize) -> Option<GroupId> {
    let stream = &plan.streams[id];
    stream.stop.takes_down.filter(|group| *group == stream.group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Blocks, Bytes, SpaceId, Stream, StreamId};

    #[test]
    fn streams_that_end_together_wait_for_each_other_and_others_for_nobody() {
        let mut plan = Plan::new(1);
        for down in [Some(GroupId(0)), None, Some(GroupId(0)), Some(GroupId(1))] {
            let mut stream = Stream::closed("s", Blocks::random_reads(SpaceId(0), Bytes(4096)), 1);
            stream.stop.takes_down = down;
            plan.add_stream(stream);
        }
        let job = |stream| Job {
            stream: StreamId(stream),
            worker: 0,
            cpus: Vec::new(),
            verbs: Vec::new(),
            targets: Arc::default(),
            prepare: Box::new(|_| unreachable!("nobody runs it")),
        };
        let jobs: Vec<Option<Job<'_>>> = (0..4).map(|stream| Some(job(stream))).collect();
        let barriers = barriers(&plan, &jobs, &[0, 1, 2, 3]);
        let same = |a: usize, b: usize| Arc::ptr_eq(&barriers[a].1, &barriers[b].1);
        assert!(same(0, 2) && !same(0, 1) && !same(0, 3) && !same(1, 3));
    }
}
