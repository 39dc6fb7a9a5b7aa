//! One side of a mixed load apart from the other: ORION's small I/Os beside its large ones.

use crate::{Counts, Latency, Run};
use fathom_spec::{GroupId, MIB, StreamId, Verb};

/// The group of the small I/Os of a mixed load, by convention.
pub const SMALL: GroupId = GroupId(0);
/// The group of the large I/Os of a mixed load, by convention.
pub const LARGE: GroupId = GroupId(1);

/// What all streams of one group did together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupTotals {
    /// Service times of reads.
    pub read: Latency,
    /// Service times of writes.
    pub write: Latency,
    /// Counters of the whole slots, all verbs and streams.
    pub counts: Counts,
    /// How long those slots are together, seconds.
    pub seconds: f64,
}

impl GroupTotals {
    /// Operations per second; 0 when nothing was counted.
    pub fn operations_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.counts.operations as f64 / self.seconds } else { 0.0 }
    }

    /// 2^20 bytes per second; 0 when nothing was counted.
    pub fn mebibytes_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.counts.bytes as f64 / MIB as f64 / self.seconds } else { 0.0 }
    }

    /// Reads and writes together.
    pub fn both(&self) -> Latency {
        let mut both = self.read.clone();
        both.merge(&self.write);
        both
    }
}

impl Run {
    /// Everything of one group's streams; `None` when it has none. Slots after a stream's planned end, in which
    /// its last I/Os only drain, are left out of the counters.
    pub fn side(&self, group: GroupId) -> Option<GroupTotals> {
        let slot_ns = self.plan.slot.0.max(1);
        let mut side: Option<GroupTotals> = None;
        for (id, stream) in self.plan.streams.iter().enumerate().filter(|(_, s)| s.group == group) {
            let side = side.get_or_insert_with(GroupTotals::default);
            let Some(all) = self.merged(StreamId(id as u32)) else { continue };
            let length = all.length_ns.min(stream.stop.time.map_or(u64::MAX, |time| time.0));
            let slots = (length / slot_ns) as usize;
            for counts in all.slots.iter().take(slots).flatten() {
                side.counts.merge(counts);
            }
            side.seconds = side.seconds.max(slots as f64 * slot_ns as f64 / 1e9);
            for (verb, cell) in &all.cells {
                let Some(service) = &cell.service else { continue };
                match verb {
                    Verb::Read => side.read.merge(service),
                    _ => side.write.merge(service),
                }
            }
        }
        side
    }
}
