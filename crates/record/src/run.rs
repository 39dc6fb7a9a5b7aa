//! One plan's execution, as it is stored: raw facts from which everything else can be computed again.

use crate::{Event, Happening, Interval, Sample, Why};
use fathom_spec::{Plan, StreamId, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was seen while one plan ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What it was for: `small reads, 16 outstanding`.
    pub name: String,
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
    /// Counters and latencies, a stream's workers merged, in order of time.
    pub intervals: Vec<Interval>,
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
            purpose: Purpose::Load,
            load: Load::default(),
            plan: plan.clone(),
            began_ns: 0,
            length_ns: 0,
            intervals: Vec::new(),
            workers: Vec::new(),
            samples: Vec::new(),
            events: Vec::new(),
            queues: Vec::new(),
        }
    }
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

/// A load as a search names it: outstanding I/Os of the small and of the large kind.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Load {
    /// Small I/Os outstanding, or sessions, or writers.
    pub small: u32,
    /// Large I/Os outstanding, or streams.
    pub large: u32,
}

/// All that one worker did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerTotals {
    /// Its stream.
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
    pub ended: Why,
    /// The largest number of I/Os it ever had outstanding.
    pub outstanding_most: u32,
}

impl Run {
    /// Everything of one stream as one interval; `None` when it left none. Slots are laid end to end.
    pub fn merged(&self, stream: StreamId) -> Option<Interval> {
        let mut parts = self.intervals.iter().filter(|i| i.stream == stream);
        let first = parts.next()?;
        let mut all = first.clone();
        for part in parts {
            let at = part.start_ns.saturating_sub(all.start_ns) / self.plan.slot.0.max(1);
            let mut shifted = part.clone();
            shifted.slots.splice(0..0, std::iter::repeat_n(Default::default(), at as usize));
            shifted.length_ns += part.start_ns.saturating_sub(all.start_ns);
            all.merge(&shifted);
        }
        Some(all)
    }

    /// Was any operation refused or failed?
    pub fn faults(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|e| matches!(e.what, Happening::Fault { .. }))
    }
}
