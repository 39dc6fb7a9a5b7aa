//! Which workers wait for which before they begin. Knows nothing of what they do.

use crate::driver::StreamLaunch;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Workers wait at it until all are there, or until it is said that not all will come.
#[derive(Debug)]
pub(crate) struct StartBarrier {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waiting {
    missing: usize,
    called_off: bool,
}

impl StartBarrier {
    /// A barrier for so many.
    pub(crate) fn new(workers: usize) -> Self {
        StartBarrier {
            state: Mutex::new(Waiting { missing: workers, called_off: false }),
            changed: Condvar::new(),
        }
    }

    /// Waits until all are there. `false`: they will not be, and nobody begins.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.missing = state.missing.saturating_sub(1);
        // Those who wait wait for the last one: thousands that wake each other at every arrival do nothing else.
        if state.missing == 0 {
            self.changed.notify_all();
        }
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

    /// Was it said that not all will come?
    pub(crate) fn is_called_off(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).called_off
    }
}

/// What the workers of each stream wait at until all are there. Streams that end together (each takes its own group
/// down) begin together, too.
pub(crate) fn start_barriers<P>(streams: &[StreamLaunch<P>]) -> Vec<Arc<StartBarrier>> {
    let mut barriers: Vec<Arc<StartBarrier>> = Vec::with_capacity(streams.len());
    for (place, stream) in streams.iter().enumerate() {
        let mate = |other: &StreamLaunch<P>| stream.group.is_some() && other.group == stream.group;
        let barrier = match streams[..place].iter().position(mate) {
            Some(first) => barriers[first].clone(),
            None => {
                let mates = streams[place + 1..].iter().filter(|other| mate(other));
                let workers = stream.workers.len() + mates.map(|other| other.workers.len()).sum::<usize>();
                Arc::new(StartBarrier::new(workers.max(1)))
            }
        };
        barriers.push(barrier);
    }
    barriers
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::GroupId;

    #[test]
    fn streams_that_end_together_wait_for_each_other_and_others_for_nobody() {
        let groups = [Some(GroupId(0)), None, Some(GroupId(0)), None, Some(GroupId(1))];
        let barriers = start_barriers::<()>(&groups.map(|group| StreamLaunch { group, workers: Vec::new() }));
        let same = |a: usize, b: usize| Arc::ptr_eq(&barriers[a], &barriers[b]);
        assert!(same(0, 2) && !same(0, 1) && !same(1, 3) && !same(0, 4));
    }

    #[test]
    fn a_gate_opens_when_all_are_there_and_sends_all_home_when_one_will_not_come() {
        let all_of = |expected: usize, called_off: bool| {
            let barrier = StartBarrier::new(expected);
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| barrier.wait())).collect();
                if called_off {
                    barrier.call_off();
                }
                waiting.into_iter().map(|one| one.join().unwrap()).collect::<Vec<bool>>()
            })
        };
        assert_eq!(all_of(3, false), [true; 3]);
        assert_eq!(all_of(4, true), [false; 3]);
    }
}
