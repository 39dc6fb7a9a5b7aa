//! One plan's execution, as it is stored: raw facts from which everything else can be computed again.

use crate::{Event, EventKind, Interval, Load, Phase, Sample, StopReason};
use fathom_spec::{Plan, StreamId, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What was seen while one plan ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What it was for: `small reads, 16 outstanding`.
    pub name: String,
    /// The phase of a calibration to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// How much it is worth.
    pub purpose: Purpose,
    /// The load that was asked for.
    pub load: Load,
    /// What was done.
    pub plan: Plan,
    /// When it began, ns since the start of the result it belongs to.
    pub began_ns: u64,
    /// How long it ran, ns.
    pub length_ns: u64,
    /// Counters and latencies, a stream's workers merged, in order of time. One in which nothing came back is left out.
    pub intervals: Vec<Interval>,
    /// What of each stream counted, from the plan's window and the moment at which the stream began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowSpan>,
    /// What each worker did in all.
    pub workers: Vec<WorkerTotals>,
    /// Other people's counters.
    pub samples: Vec<Sample>,
    /// What happened besides I/O.
    pub events: Vec<Event>,
    /// How the engine did it: the queue that was really used, and what of it.
    pub queues: Vec<String>,
}

impl Run {
    /// A run of a plan in which nothing has happened yet.
    pub fn empty(plan: &Plan) -> Self {
        Run {
            name: String::new(),
            phase: None,
            purpose: Purpose::Load,
            load: Load::default(),
            plan: plan.clone(),
            began_ns: 0,
            length_ns: 0,
            intervals: Vec::new(),
            windows: Vec::new(),
            workers: Vec::new(),
            samples: Vec::new(),
            events: Vec::new(),
            queues: Vec::new(),
        }
    }
}

/// The part of a stream that counted, whether anything came back in it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSpan {
    pub stream: StreamId,
    /// ns since the run's start.
    pub from_ns: u64,
    /// ns since the run's start.
    pub to_ns: u64,
}

/// What a run is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Bytes laid out to be measured later.
    Layout,
    /// A look around; short, and no figure rests on it.
    Exploring,
    /// A figure rests on it.
    Headline,
    /// A load that the user described.
    Load,
    /// Holds a load to see whether it lasts.
    Sustain,
    /// Tests a belief: a sample read again, a smaller working set.
    Check,
}

/// All that one worker did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerTotals {
    pub stream: StreamId,
    /// Its number in it.
    pub worker: u32,
    /// CPU time in user mode, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// When its first operation was submitted and its last one completed, ns since the run's start.
    pub span_ns: (u64, u64),
    /// Operations, bytes and errors of each verb.
    pub counts: Vec<(Verb, crate::Counts)>,
    /// Why it ended.
    pub ended: StopReason,
    /// The largest number of I/Os it ever had outstanding.
    pub outstanding_most: u32,
}

impl WorkerTotals {
    /// A worker that finished with one I/O outstanding at a time; its counters and CPU time are not known.
    pub fn finished(stream: StreamId, worker: u32, span_ns: (u64, u64)) -> Self {
        WorkerTotals {
            stream,
            worker,
            user_ns: 0,
            system_ns: 0,
            span_ns,
            counts: Vec::new(),
            ended: StopReason::Finished,
            outstanding_most: 1,
        }
    }
}

impl Run {
    /// Everything of one stream as one interval; `None` when it left none. Slots are laid end to end.
    pub fn merged(&self, stream: StreamId) -> Option<Interval> {
        let mut parts = self.intervals.iter().filter(|i| i.stream == stream);
        let first = parts.next()?;
        let mut all = first.clone();
        parts.for_each(|part| all.append(part, self.plan.slot.0));
        Some(all)
    }

    /// Takes what a worker hands over: workers of a stream are merged, and an empty interval says nothing.
    pub fn take(&mut self, interval: &Interval) {
        if interval.is_empty() {
            return;
        }
        let slot_ns = self.plan.slot.0;
        let here = |mine: &&mut Interval| {
            let within = mine.start_ns..mine.start_ns + mine.length_ns.max(1);
            mine.stream == interval.stream && within.contains(&interval.start_ns)
        };
        match self.intervals.iter_mut().rev().find(here) {
            Some(mine) => mine.append(interval, slot_ns),
            None => {
                self.intervals.push(interval.clone());
                self.thin();
            }
        }
    }

    /// With more intervals than the plan allows, neighbours are laid together until half as many are left.
    fn thin(&mut self) {
        let most = self.plan.intervals_most as usize;
        if most == 0 || self.intervals.len() <= most.max(self.plan.streams.len() * 4) {
            return;
        }
        self.intervals.sort_by_key(|interval| (interval.stream, interval.start_ns));
        let mut length_ns = self.plan.interval.0.max(1);
        let mut left = usize::MAX;
        while left > most / 2 && length_ns < u64::MAX / 2 {
            length_ns *= 2;
            let places = self.intervals.iter().map(|i| (i.stream, i.start_ns / length_ns));
            left = places.collect::<BTreeSet<_>>().len();
            if left <= self.plan.streams.len() * 2 {
                break;
            }
        }
        let mut kept: Vec<Interval> = Vec::with_capacity(left + 1);
        for interval in std::mem::take(&mut self.intervals) {
            let same = |last: &&mut Interval| {
                last.stream == interval.stream && last.start_ns / length_ns == interval.start_ns / length_ns
            };
            match kept.last_mut().filter(same) {
                Some(last) => last.append(&interval, self.plan.slot.0),
                None => kept.push(interval),
            }
        }
        self.intervals = kept;
    }

    /// Was any operation refused or failed?
    pub fn faults(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|e| matches!(e.what, EventKind::Fault { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Nanos;

    #[test]
    fn a_long_run_keeps_longer_intervals_and_every_count() {
        let mut plan = Plan::new(1);
        plan.intervals_most = 64;
        let mut run = Run::empty(&plan);
        let (slots, second) = (20, Nanos::from_seconds(1).0);
        for (at, stream) in (0..1000).flat_map(|at| [(at, 0), (at, 1)]) {
            let mut interval = Interval::new(StreamId(stream), 0, Vec::new(), slots);
            (interval.start_ns, interval.length_ns) = (at * second, second);
            interval.slots[(at % 20) as usize][0].operations = at + 1;
            run.take(&interval);
        }
        assert!(run.intervals.len() <= 64, "{}", run.intervals.len());
        for stream in [StreamId(0), StreamId(1)] {
            let all = run.merged(stream).unwrap();
            assert_eq!((all.start_ns, all.length_ns), (0, 1000 * second));
            assert_eq!(all.counts(0).operations, 500_500);
            let there =
                |at: &u64| all.slots[*at as usize * slots + *at as usize % 20][0].operations == at + 1;
            assert!((0..1000).all(|at| there(&at)));
        }
    }

    #[test]
    fn what_another_worker_hands_over_late_is_laid_where_it_belongs() {
        let mut plan = Plan::new(1);
        plan.intervals_most = 0;
        let mut run = Run::empty(&plan);
        let second = Nanos::from_seconds(1).0;
        let mut long = Interval::new(StreamId(0), 0, Vec::new(), 40);
        long.length_ns = 2 * second;
        long.slots[0][0].operations = 1;
        let mut late = Interval::new(StreamId(0), 1, Vec::new(), 20);
        (late.start_ns, late.length_ns) = (second, second);
        late.slots[3][0].operations = 5;
        run.take(&long);
        run.take(&late);
        assert_eq!(run.intervals.len(), 1);
        assert_eq!((run.intervals[0].slots[23][0].operations, run.intervals[0].length_ns), (5, 2 * second));
    }
}
