//! Counts by slot and latencies by interval. `merge` is the only way in which two become one.

use crate::Latency;
use fathom_spec::{StreamId, Verb};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verbs that one stream may have at most.
pub const CELLS: usize = 4;

/// One slot of one verb: counters only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Operations that completed in full.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their service times, ns.
    pub latency_sum_ns: u64,
    /// Operations that failed: never counted as operations.
    pub errors: u32,
    /// Operations that moved fewer bytes than asked.
    pub short: u32,
}

impl Counts {
    /// Adds another's to these.
    #[inline]
    pub fn merge(&mut self, other: &Counts) {
        let Counts { operations, bytes, latency_sum_ns, errors, short } = other;
        self.operations += operations;
        self.bytes += bytes;
        self.latency_sum_ns += latency_sum_ns;
        self.errors += errors;
        self.short += short;
    }

    /// What came since an earlier reading of the same counters.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let Counts { operations, bytes, latency_sum_ns, errors, short } = earlier;
        Counts {
            operations: self.operations.saturating_sub(*operations),
            bytes: self.bytes.saturating_sub(*bytes),
            latency_sum_ns: self.latency_sum_ns.saturating_sub(*latency_sum_ns),
            errors: self.errors.saturating_sub(*errors),
            short: self.short.saturating_sub(*short),
        }
    }
}

/// One verb of one stream. A latency exists only where the plan's `Keep` asked for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// From the call that submits until it returns.
    pub submit: Option<Box<Latency>>,
    /// From the return of that call to completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Box<Latency>>,
    /// From submission to completion.
    pub service: Option<Box<Latency>>,
    /// From the intended start to completion.
    pub response: Option<Box<Latency>>,
}

impl Cell {
    /// Adds another's latencies to these.
    pub fn merge(&mut self, other: &Cell) {
        let Cell { submit, completion, service, response } = other;
        let pairs = [
            (&mut self.submit, submit),
            (&mut self.completion, completion),
            (&mut self.service, service),
            (&mut self.response, response),
        ];
        for (mine, theirs) in pairs {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
    }

    /// Empties what exists.
    pub fn clear(&mut self) {
        let Cell { submit, completion, service, response } = self;
        [submit, completion, service, response].into_iter().flatten().for_each(|latency| latency.clear());
    }
}

/// Service times of the operations of one verb that had one priority.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtPriority {
    pub verb: Verb,
    /// The kernel's word (`ioprio` of linux/ioprio.h); 0: the worker's own.
    pub priority: u16,
    /// From submission to completion.
    pub service: Box<Latency>,
    /// From the return of the call that submitted to completion, where the plan's `Keep` asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Box<Latency>>,
}

impl AtPriority {
    /// Adds another's to these.
    fn merge(&mut self, other: &AtPriority) {
        let AtPriority { verb: _, priority: _, service, completion } = other;
        self.service.merge(service);
        match (&mut self.completion, completion) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }
}

/// What one worker, or several merged, did in a stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub stream: StreamId,
    /// Of which worker; in a merged one, of the first.
    pub worker: u32,
    /// When it began, ns since the run's start; on a slot's edge.
    pub start_ns: u64,
    /// How long it is, ns.
    pub length_ns: u64,
    /// The stream's verbs, in the order of its cells.
    pub cells: Vec<(Verb, Cell)>,
    /// Counters for each slot from `start_ns` on; columns are the cells.
    pub slots: Vec<[Counts; CELLS]>,
    /// Submissions seen at each outstanding count, by classes of log2: 1, 2-3, 4-7 ...
    pub outstanding: Vec<u64>,
    /// Service times by priority, where the plan's `Keep` asked for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<AtPriority>,
}

impl Interval {
    /// An empty one with room for `slots` slots.
    pub fn new(stream: StreamId, worker: u32, cells: Vec<(Verb, Cell)>, slots: usize) -> Self {
        Interval {
            stream,
            worker,
            start_ns: 0,
            length_ns: 0,
            cells,
            slots: vec![[Counts::default(); CELLS]; slots],
            outstanding: vec![0; 17],
            priorities: Vec::new(),
        }
    }

    /// The same, with service times apart for each of these priorities of verbs that it has; for a worker. Completion
    /// latencies are kept with them where the verb has its own.
    pub fn apart(mut self, priorities: &[(Verb, u16)]) -> Self {
        let mine = priorities.iter().filter(|(verb, _)| self.cells.iter().any(|(own, _)| own == verb));
        let ready = |(verb, priority): &(Verb, u16)| AtPriority {
            verb: *verb,
            priority: *priority,
            service: Box::new(Latency::ready()),
            completion: self
                .cells
                .iter()
                .find(|(own, _)| own == verb)
                .and_then(|(_, cell)| cell.completion.as_ref())
                .map(|_| Box::new(Latency::ready())),
        };
        self.priorities = mine.map(ready).collect();
        self
    }

    /// The latencies of a verb at a priority, where they are kept.
    pub fn at_priority(&mut self, verb: Verb, priority: u16) -> Option<&mut AtPriority> {
        self.priorities.iter_mut().find(|at| at.verb == verb && at.priority == priority)
    }

    /// Adds another's to these. Slots are aligned by their number: both must begin at the same slot.
    pub fn merge(&mut self, other: &Interval) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.length_ns = self.length_ns.max(other.length_ns);
        self.lay(other, 0);
    }

    /// Adds one that began later, or within this one; `slot_ns` is the length of a slot.
    pub fn append(&mut self, later: &Interval, slot_ns: u64) {
        let behind_ns = later.start_ns.saturating_sub(self.start_ns);
        self.length_ns = self.length_ns.max(behind_ns + later.length_ns);
        self.lay(later, (behind_ns / slot_ns.max(1)) as usize);
    }

    /// Adds cells, and counters so many slots further on.
    fn lay(&mut self, other: &Interval, slots_on: usize) {
        let Interval { stream: _, worker: _, start_ns: _, length_ns: _, cells, slots, .. } = other;
        let Interval { outstanding, priorities, .. } = other;
        for theirs in priorities {
            match self.at_priority(theirs.verb, theirs.priority) {
                Some(mine) => mine.merge(theirs),
                None => self.priorities.push(theirs.clone()),
            }
        }
        // A verb may have two cells, such as syncs between operations and after the last: the place counts first.
        for (number, (verb, cell)) in cells.iter().enumerate() {
            let same_place = self.cells.get(number).is_some_and(|mine| mine.0 == *verb);
            let at =
                if same_place { Some(number) } else { self.cells.iter().position(|mine| mine.0 == *verb) };
            match at.and_then(|at| self.cells.get_mut(at)) {
                Some(mine) => mine.1.merge(cell),
                None => self.cells.push((*verb, cell.clone())),
            }
        }
        if self.slots.len() < slots.len() + slots_on {
            self.slots.resize(slots.len() + slots_on, Default::default());
        }
        for (mine, theirs) in self.slots.iter_mut().skip(slots_on).zip(slots) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| a.merge(b));
        }
        self.outstanding.iter_mut().zip(outstanding).for_each(|(a, b)| *a += b);
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        let Interval { stream: _, worker: _, start_ns, length_ns, cells, slots, outstanding, priorities } =
            self;
        (*start_ns, *length_ns) = (0, 0);
        cells.iter_mut().for_each(|cell| cell.1.clear());
        slots.fill(Default::default());
        outstanding.fill(0);
        for AtPriority { verb: _, priority: _, service, completion } in priorities {
            service.clear();
            completion.iter_mut().for_each(|latency| latency.clear());
        }
    }

    /// Did nothing come back in it? What began in a window and came back behind it is in the latencies alone.
    pub fn is_empty(&self) -> bool {
        let silent =
            |cell: &Cell| cell.service.iter().chain(&cell.response).all(|latency| latency.count == 0);
        self.cells.iter().all(|(_, cell)| silent(cell))
            && self.slots.iter().all(|slot| slot.iter().all(|counts| *counts == Counts::default()))
    }

    /// All counters of a cell over the whole interval.
    pub fn counts(&self, cell: usize) -> Counts {
        self.slots.iter().fold(Counts::default(), |mut sum, slot| {
            sum.merge(&slot[cell]);
            sum
        })
    }
}
