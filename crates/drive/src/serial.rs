//! The serial loop: one thing at a time on a thread of its own. Files made and removed, copies, CPU time and SQL
//! sessions are done by it, with the same pace, record and orders as the batch loop.

use crate::worker::{Steering, WorkerOutcome};
use crate::{Clock, Operation, Pace, Published, Recorder};
use fathom_record::{EventKind, StopReason};
use fathom_spec::Verb;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// What it does.
    pub verb: Verb,
    /// Index of the verb among the stream's cells.
    pub cell: u8,
    /// Bytes by which a timetable in bytes counts it.
    pub bytes: u32,
    /// Starts by the timetable. Otherwise it belongs to the one before it (a commit to its update) and starts at once.
    pub paced: bool,
    /// A pause before it, ns: think time.
    pub wait_ns: u64,
}

/// How one act ended badly.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// It failed: counted as an error of its cell, never as an operation; the loop goes on.
    Failed(Box<EventKind>),
    /// It failed, and nothing after it can succeed: the worker ends.
    Fatal(Box<EventKind>),
    /// There was nothing to do after all (the end of an input): neither an operation nor an error.
    Nothing,
}

/// Work that is done one act at a time.
pub trait Serial {
    /// Chooses what comes next and prepares it (draws keys, fills buffers); nothing of this is timed. `None`: done.
    fn next(&mut self, now_ns: u64) -> Option<Act>;
    /// Does it, and answers the bytes that it moved. Timed.
    fn perform(&mut self) -> Result<u32, Trouble>;
    /// Does [`Serial::next`] take time that is worth a look at the clock? Without it an act's service begins where the one
    /// before it ended: a look costs a tenth of a copy of 512 bytes.
    fn prepares(&self) -> bool {
        true
    }
    /// Did the last act move less than it might have, and is that no failure (a short read of a copy)? It is an
    /// operation then, and counted as a short one besides.
    fn was_short(&self) -> bool {
        false
    }
}

/// What a serial worker is built from.
pub struct SerialParts<'a, S: Serial> {
    /// What is done.
    pub work: S,
    /// When it may start.
    pub pace: Pace,
    /// What is kept.
    pub recorder: Recorder,
    /// The run's clock.
    pub clock: Clock,
    /// Start nothing from this moment on, ns since the run's start.
    pub until_ns: u64,
    /// Orders: stop and rate (there is no depth).
    pub steering: &'a Steering,
    /// Tells outstanding acts and the last completion.
    pub published: Arc<Published>,
}

/// The longest sleep without a look at the orders.
const LOOK_UP_NS: u64 = 20_000_000;

/// Failures that are kept one by one; later ones are only counted.
const FOUND_MOST: usize = 64;

/// Runs serial work on the calling thread until it is done, told to stop, or out of time.
pub fn run_serial<S: Serial>(mut parts: SerialParts<'_, S>) -> WorkerOutcome {
    let mut found: Vec<EventKind> = Vec::new();
    let (mut first_ns, mut last_ns, mut rate) = (u64::MAX, 0, 0);
    let mut now = parts.clock.now();
    let why = loop {
        parts.recorder.advance(now);
        if let Some(why) = told(&mut parts, now) {
            break why;
        }
        let wanted = parts.steering.rate.load(Relaxed);
        if wanted != rate {
            rate = wanted;
            parts.pace.set_rate(f64::from_bits(rate));
        }
        let Some(act) = parts.work.next(now) else { break StopReason::Finished };
        let mut started = if parts.work.prepares() { parts.clock.now() } else { now };
        let due_ns = if act.paced { parts.pace.due(act.cell, started) } else { started };
        let start_at = due_ns.max(started.saturating_add(act.wait_ns));
        if start_at > started {
            if let Some(why) = sleep_until(&mut parts, start_at) {
                break why;
            }
            started = parts.clock.now();
        }
        if act.paced {
            parts.pace.take(act.cell, act.bytes);
        }
        // Without a timetable an act is due when it starts: think time is no part of its response.
        let due_ns = if act.paced && parts.pace.is_open() { due_ns } else { started };
        first_ns = first_ns.min(started);
        parts.published.outstanding.store(1, Relaxed);
        parts.recorder.submitted(started, 1, 1);
        parts.recorder.took(1);
        let answer = parts.work.perform();
        let ended = parts.clock.now();
        (last_ns, now) = (ended, ended);
        parts.published.outstanding.store(0, Relaxed);
        parts.published.last_ns.store(ended, Relaxed);
        parts.recorder.advance(ended);
        let mut operation =
            Operation { offset: 0, due_ns, mark: 0, length: 0, target: 0, verb: act.verb, cell: act.cell };
        match answer {
            Ok(bytes) => {
                operation.length = bytes;
                let counted = parts.recorder.counts_at(ended);
                parts.recorder.completed(&operation, started, ended, counted);
                if parts.work.was_short() {
                    parts.recorder.shortened(&operation);
                }
                // Each time: the next act may wait for ever, and somebody may ask meanwhile.
                parts.recorder.publish();
            }
            Err(Trouble::Nothing) => {}
            Err(Trouble::Failed(what)) => {
                parts.recorder.failed(&operation, -1);
                if found.len() < FOUND_MOST {
                    found.push(*what);
                }
            }
            Err(Trouble::Fatal(what)) => {
                parts.recorder.failed(&operation, -1);
                found.push(*what);
                break StopReason::Fault;
            }
        }
    };
    let (interval, totals) = parts.recorder.finish(parts.clock.now());
    WorkerOutcome {
        interval,
        totals,
        faults: Vec::new(),
        found,
        span_ns: (first_ns, last_ns),
        outstanding_most: u32::from(first_ns != u64::MAX),
        why,
    }
}

fn told<S: Serial>(parts: &mut SerialParts<'_, S>, now: u64) -> Option<StopReason> {
    if now >= parts.until_ns {
        return Some(StopReason::Finished);
    }
    parts.steering.stop.load(Acquire).then(|| {
        parts.recorder.close(parts.steering.close_ns.load(Relaxed));
        StopReason::Told
    })
}

/// Sleeps, and wakes now and then to look at the orders and to turn the slot.
fn sleep_until<S: Serial>(parts: &mut SerialParts<'_, S>, until_ns: u64) -> Option<StopReason> {
    loop {
        let now = parts.clock.now();
        if now >= until_ns {
            return None;
        }
        parts.recorder.advance(now);
        if let Some(why) = told(parts, now) {
            return Some(why);
        }
        let wake = until_ns.min(parts.until_ns).min(now + LOOK_UP_NS);
        std::thread::sleep(std::time::Duration::from_nanos(wake - now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metronome, empty_interval, frame};
    use fathom_record::CELLS;
    use fathom_spec::{Blocks, Bytes, Keep, Nanos, Plan, SpaceId, Stream, StreamId};

    /// Updates that each have a commit; the third fails.
    struct Updates {
        left: u32,
        commit: bool,
        done: u32,
    }

    impl Serial for Updates {
        fn next(&mut self, _now_ns: u64) -> Option<Act> {
            if self.commit {
                return Some(Act { verb: Verb::Commit, cell: 1, bytes: 0, paced: false, wait_ns: 0 });
            }
            self.left = self.left.checked_sub(1)?;
            Some(Act { verb: Verb::Update, cell: 0, bytes: 1, paced: true, wait_ns: 0 })
        }
        fn perform(&mut self) -> Result<u32, Trouble> {
            self.commit = !self.commit;
            self.done += 1;
            match self.done {
                5 => {
                    self.commit = false;
                    Err(Trouble::Failed(Box::new(EventKind::Fallback("deadlock".to_owned()))))
                }
                _ => Ok(8),
            }
        }
    }

    fn outcome(pace: Pace, until_ns: u64, left: u32) -> WorkerOutcome {
        let keep = Keep { service: true, response: true, ..Keep::default() };
        let stream = Stream { keep, ..Stream::closed("s", Blocks::random_reads(SpaceId(0), Bytes(1)), 1) };
        let plan = Plan { slot: Nanos::from_millis(50), ..Plan::new(1) };
        let frame = frame(&plan, &stream, 0);
        let interval = empty_interval(StreamId(0), 0, &[Verb::Update, Verb::Commit], keep, &frame);
        let published = Arc::new(Published::default());
        let steering = Steering::new(1);
        run_serial(SerialParts {
            work: Updates { left, commit: false, done: 0 },
            pace,
            recorder: Recorder::new(interval, frame, None, published.clone()),
            clock: Clock::start(),
            until_ns,
            steering: &steering,
            published,
        })
    }

    #[test]
    fn acts_are_counted_by_verb_and_a_failed_one_is_no_operation() {
        let outcome = outcome(Pace::Closed, u64::MAX, 4);
        let counts = |cell: usize| (outcome.totals[cell].operations, outcome.totals[cell].errors);
        assert_eq!((counts(0), counts(1)), ((3, 1), (3, 0)));
        assert_eq!((outcome.found.len(), outcome.why), (1, StopReason::Finished));
        let kept = outcome.interval.cells[0].1.service.as_ref().map(|latency| latency.count);
        assert_eq!(kept, Some(3));
    }

    #[test]
    fn a_timetable_sets_the_starts_and_the_time_ends_it() {
        let mut cells: [Option<Metronome>; CELLS] = Default::default();
        cells[0] = Some(Metronome::new(0, 100.0, false, None));
        let outcome = outcome(Pace::Open(Box::new(cells)), 95_000_000, 1000);
        // Due at 0, 10, ... 90 ms.
        assert_eq!(outcome.totals[0].operations + u64::from(outcome.totals[0].errors), 10);
    }
}
