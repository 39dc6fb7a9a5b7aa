//! Watches over others on the same disk: their latency is what the disk counted, less what we did ourselves.

use fathom_host::counters::{DiskCounters, read_disk_stat};
use fathom_host::{DeviceNumber, Roots};
use fathom_record::{Counts, Totals};

/// A second between looks.
const LOOK_NS: u64 = 1_000_000_000;

/// Others who use a disk while it is measured.
#[derive(Debug)]
pub struct Others {
    roots: Roots,
    disks: Vec<(String, DeviceNumber)>,
    /// Mean latency of their reads before, ms.
    before_ms: Option<f64>,
    last: Option<(u64, Vec<DiskCounters>, Counts)>,
    bad: u32,
    /// Has their latency doubled?
    pub disturbed: bool,
}

impl Others {
    /// Watches from now on.
    pub fn new(roots: Roots, disks: Vec<(String, DeviceNumber)>, before_ms: Option<f64>) -> Self {
        Others { roots, disks, before_ms, last: None, bad: 0, disturbed: false }
    }

    /// Do they suffer? Two seconds in a row at more than twice their latency before.
    pub fn suffer(&mut self, now_ns: u64, totals: &[Totals]) -> bool {
        if self.disturbed {
            return true;
        }
        let due = self.last.as_ref().is_none_or(|(at, _, _)| now_ns >= at + LOOK_NS || now_ns < *at);
        if !due {
            return false;
        }
        let mut ours = Counts::default();
        totals.iter().flat_map(|t| &t.counts).for_each(|counts| ours.merge(counts));
        let read = self.disks.iter().filter_map(|(_, number)| read_disk_stat(&self.roots, *number).ok());
        let now: Vec<DiskCounters> = read.collect();
        if let Some((at, before, ours_before)) = &self.last
            && now_ns > *at
        {
            let theirs = self.latency_ms(before, &now, &ours.since(ours_before));
            let doubled =
                theirs.zip(self.before_ms).is_some_and(|(now, before)| now > 2.0 * before.max(0.05));
            self.bad = if doubled { self.bad + 1 } else { 0 };
            self.disturbed = self.bad >= 2;
        }
        self.last = Some((now_ns, now, ours));
        self.disturbed
    }

    /// Mean latency of reads and writes that were not ours, ms; `None` when there were too few to tell.
    fn latency_ms(&self, before: &[DiskCounters], now: &[DiskCounters], ours: &Counts) -> Option<f64> {
        let (mut count, mut time) = (-(ours.operations as f64), -(ours.latency_sum_ns as f64 / 1e6));
        for (before, now) in before.iter().zip(now) {
            let difference = now.since(before);
            count += (difference.reads? + difference.writes?) as f64;
            time += (difference.read_ms? + difference.write_ms?) as f64;
        }
        (count >= 5.0).then(|| (time / count).max(0.0))
    }
}
