//! The log that commits are appended to: how much room it has, and what ends a run that would take more. A tenth of the file
//! system stays free, whatever else is written there meanwhile.

use anyhow::Result;
use fathom_host::{Room, Roots, Scratch, scratch};
use fathom_record::{Control, Event, Interval, Note, Run, Steer, StopReason, Totals};
use fathom_spec::{Bytes, GIB, MIB, Nanos, Pattern, Plan, Stream, Work};
use std::path::Path;

/// The least room that the log must have beside the scratch files.
pub(super) const LEAST: Bytes = Bytes(16 * MIB);
/// The most that it takes in one run, however much is free.
pub(super) const MOST: Bytes = Bytes(4 * GIB);

/// A scratch file that grows with each commit, and is emptied when it has taken half of its room.
pub(super) struct CommitLog {
    scratch: Scratch,
    /// Runs that ended because there was no more room.
    shortened: Vec<Note>,
}

impl CommitLog {
    pub(super) fn create(directory: &Path, roots: &Roots) -> Result<Self> {
        let scratch = Scratch::create(directory, &scratch::Mark::own(roots)?, 1000)?;
        Ok(CommitLog { scratch, shortened: Vec::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.scratch.path
    }

    /// Makes room for a run that appends to the log, and answers how much it has. The plan gets it as a limit too, for a
    /// disk that fills it within a slot.
    pub(super) fn limit(&self, plan: &mut Plan) -> Option<Bytes> {
        let appends = |work: &Work| matches!(work, Work::Blocks(blocks) if appends(&blocks.pattern));
        let workers: u64 =
            plan.streams.iter().filter(|s| appends(&s.work)).map(|s| u64::from(s.workers)).sum();
        if workers == 0 {
            return None;
        }
        let taken = self.scratch.file.metadata().map_or(0, |about| about.len());
        if taken > left_at(self.path())?.min(MOST.0) {
            // The room is there again before the run begins.
            let _ = self.scratch.file.set_len(0).and_then(|()| self.scratch.file.sync_all());
        }
        let most = Bytes(left_at(self.path())?.min(MOST.0));
        for stream in &mut plan.streams {
            stream.stop.operations = Some((most.0 / workers / block_bytes(stream)).max(1));
        }
        Some(most)
    }

    /// Takes note of a run that ended for want of room: it was told to, or did all that the plan's limit allows.
    pub(super) fn look_at(&mut self, run: &Run, most: Bytes, told: bool) {
        let written: u64 = run.workers.iter().flat_map(|w| &w.counts).map(|(_, counts)| counts.bytes).sum();
        let one_each: u64 = run.plan.streams.iter().map(|s| u64::from(s.workers) * block_bytes(s)).sum();
        if !told && written + one_each <= most.0 {
            return;
        }
        let (name, after) = (&run.name, Nanos(run.length_ns));
        self.shortened.push(Note {
            text: format!("{name}: ended after {after}, for the commit log had room for {most}"),
            hint: Some("free some space: a tenth of the file system stays free".to_owned()),
        });
    }

    /// What the report says of the runs that were shortened.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.shortened)
    }

    /// What looks how much may still be added, while a run goes on.
    pub(super) fn look(&self) -> impl Fn() -> Option<u64> + use<> {
        let path = self.scratch.path.clone();
        move || left_at(&path)
    }
}

/// The bytes that may be added to a log now; `None` where the file system does not tell.
fn left_at(path: &Path) -> Option<u64> {
    Some(Room::of(path).ok()?.most_bytes())
}

fn block_bytes(stream: &Stream) -> u64 {
    match &stream.work {
        Work::Blocks(blocks) => blocks.sizes.most().0.max(1),
        _ => 1,
    }
}

fn appends(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Sequential(fathom_spec::Begin::Append))
}

/// Ends a run before its log has taken more than its room: two more slots like the largest so far must find room.
pub(super) struct LogLimit<'a> {
    inner: &'a mut dyn Control,
    most: Bytes,
    left: &'a dyn Fn() -> Option<u64>,
    written: u64,
    slot_most: u64,
    /// Has it ended the run?
    pub(super) full: bool,
}

impl<'a> LogLimit<'a> {
    /// At most so many bytes, and `left` of the file system.
    pub(super) fn new(inner: &'a mut dyn Control, most: Bytes, left: &'a dyn Fn() -> Option<u64>) -> Self {
        LogLimit { inner, most, left, written: 0, slot_most: 0, full: false }
    }
}

impl Control for LogLimit<'_> {
    fn event(&mut self, event: &Event) {
        self.inner.event(event);
    }

    fn goes_on(&mut self) -> bool {
        self.inner.goes_on()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let written: u64 = totals.iter().flat_map(|totals| totals.counts).map(|counts| counts.bytes).sum();
        self.slot_most = self.slot_most.max(written.saturating_sub(self.written));
        self.written = written;
        let own = self.most.0.saturating_sub(written);
        let left = (self.left)().map_or(own, |left| left.min(own));
        if left <= 2 * self.slot_most {
            self.full = true;
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        self.inner.slot(now_ns, totals)
    }

    fn interval(&mut self, interval: &Interval) {
        self.inner.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{CELLS, Counts};
    use fathom_spec::{StreamId, Verb};
    use std::cell::Cell;

    fn commits(bytes: u64) -> Vec<Totals> {
        let mut counts = [Counts::default(); CELLS];
        counts[0].bytes = bytes;
        vec![Totals { counts, ..Totals::running(StreamId(0), &[Verb::Commit]) }]
    }

    fn goes_on(limit: &mut LogLimit<'_>, bytes: u64) -> bool {
        matches!(limit.slot(0, &commits(bytes)), Steer::Continue)
    }

    /// A calibration filled a file system of 300 MiB to its last block with its log, and the writes failed.
    #[test]
    fn a_run_ends_while_two_more_slots_of_its_log_would_find_room() {
        let mut nobody = ();
        let unknown = || None;
        let mut limit = LogLimit::new(&mut nobody, Bytes(100), &unknown);
        assert!(goes_on(&mut limit, 10) && goes_on(&mut limit, 39) && !limit.full);
        assert!(!goes_on(&mut limit, 42), "58 are left, and a slot took 29 before");
        assert!(limit.full);
    }

    #[test]
    fn what_others_write_to_the_file_system_ends_it_too() {
        let (mut nobody, free) = ((), Cell::new(1000));
        let left = || Some(free.get());
        let mut limit = LogLimit::new(&mut nobody, Bytes(1000), &left);
        assert!(goes_on(&mut limit, 10));
        free.set(20);
        assert!(!goes_on(&mut limit, 20) && limit.full);
    }
}
