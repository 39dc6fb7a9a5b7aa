//! Which workers wait for which before they begin. Knows nothing of what they do.

use crate::Job;
use fathom_spec::{GroupId, Plan};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Workers wait at it until all are there, or until it is said that not all will come.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waiting {
    missing: usize,
    called_off: bool,
}

impl Gate {
    /// A gate for so many.
    pub(crate) fn new(workers: usize) -> Self {
        Gate { state: Mutex::new(Waiting { missing: workers, called_off: false }), changed: Condvar::new() }
    }

    /// Waits until all are there. `false`: they will not be, and nobody begins.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
        while state.missing > 0 && !state.called_off {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.called_off
    }

    /// Some will never come: those who wait go home.
    pub(crate) fn call_off(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).called_off = true;
        self.changed.notify_all();
    }
}

/// What the workers of each stream that is ready wait at until all are there. Streams that end together (each takes its
/// own group down) begin together, too.
pub(crate) fn gates(plan: &Plan, jobs: &[Option<Job<'_>>], ready: &[usize]) -> Vec<(usize, Arc<Gate>)> {
    let workers = |id: usize| jobs.iter().flatten().filter(|job| job.stream.0 as usize == id).count();
    let mut gates: Vec<(usize, Arc<Gate>)> = Vec::with_capacity(ready.len());
    for id in ready.iter().copied() {
        let group = group(plan, id);
        let among = |other: usize| other == id || (group.is_some() && self::group(plan, other) == group);
        let gate = match gates.iter().find(|(other, _)| among(*other)) {
            Some((_, gate)) => gate.clone(),
            None => {
                let mates = ready.iter().copied().filter(|other| among(*other));
                Arc::new(Gate::new(mates.map(workers).sum::<usize>().max(1)))
            }
        };
        gates.push((id, gate));
    }
    gates
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
        let gates = gates(&plan, &jobs, &[0, 1, 2, 3]);
        let same = |a: usize, b: usize| Arc::ptr_eq(&gates[a].1, &gates[b].1);
        assert!(same(0, 2) && !same(0, 1) && !same(0, 3) && !same(1, 3));
    }

    #[test]
    fn a_gate_opens_when_all_are_there_and_sends_all_home_when_one_will_not_come() {
        let all_of = |expected: usize, called_off: bool| {
            let gate = Gate::new(expected);
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| gate.wait())).collect();
                if called_off {
                    gate.call_off();
                }
                waiting.into_iter().map(|one| one.join().unwrap()).collect::<Vec<bool>>()
            })
        };
        assert_eq!(all_of(3, false), [true; 3]);
        assert_eq!(all_of(4, true), [false; 3]);
    }
}
