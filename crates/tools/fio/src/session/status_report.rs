//! What fio tells while jobs run: a report of what was done so far, at SIGUSR1 and every `--status-interval`, and the line
//! of progress.

use super::eta::Line;
use crate::report::SoFar;
use fathom_drive::{Balloon, HostSampler, Sampler};
use fathom_record::{Control, Event, EventKind, Interval, Run, Steer, Totals};
use fathom_session::environment::Signalled;
use fathom_spec::{Nanos, Plan};

/// Prints a run that is not over.
pub type Tell<'a> = &'a mut dyn FnMut(&Run, u64);

/// Stands between whoever watches the run and what is told of it.
pub struct Shown<'a> {
    inner: &'a mut dyn Control,
    so_far: SoFar,
    asked: &'a Signalled,
    every: Option<Nanos>,
    next_ns: u64,
    sampler: HostSampler,
    tell: Tell<'a>,
    line: Option<Line>,
    idle: Option<&'a Balloon>,
    /// Blocks that were not as they should be and may still be told.
    mismatches_left: u32,
}

/// So many blocks that are not as they should be are told of, each in a line on stderr.
const MISMATCHES_TOLD: u32 = 100;

impl<'a> Shown<'a> {
    /// Tells of a run of this plan.
    pub fn new(
        inner: &'a mut dyn Control,
        plan: &Plan,
        asked: &'a Signalled,
        every: Option<Nanos>,
        mut sampler: HostSampler,
        tell: Tell<'a>,
        line: Option<Line>,
    ) -> Self {
        let mut so_far = SoFar::new(plan);
        let mut samples = Vec::new();
        sampler.sample(0, &mut samples);
        so_far.samples(samples);
        let every = every.filter(|every| every.0 > 0);
        Shown {
            inner,
            so_far,
            asked,
            every,
            next_ns: every.map_or(u64::MAX, |every| every.0),
            sampler,
            tell,
            line,
            idle: None,
            mismatches_left: MISMATCHES_TOLD,
        }
    }

    /// The same, telling what was left of the processors, too.
    pub fn with_idleness(self, idle: Option<&'a Balloon>) -> Self {
        Shown { idle, ..self }
    }

    /// Ends the line of progress, if one stands.
    pub fn end(&mut self) {
        if let Some(line) = &mut self.line {
            line.end();
        }
    }

    /// Says what a check found, as fio does when it finds it; the report has no more than a number.
    fn wrong(&mut self, note: &str) {
        let Some(left) = self.mismatches_left.checked_sub(1) else { return };
        self.mismatches_left = left;
        self.end();
        eprintln!("verify: {note}");
        if left == 0 {
            eprintln!("verify: there may be more of them");
        }
    }

    fn report(&mut self, now_ns: u64, totals: &[Totals]) {
        let mut samples = Vec::new();
        self.sampler.sample(now_ns, &mut samples);
        self.so_far.samples(samples);
        self.end();
        let mut run = self.so_far.run(now_ns, totals);
        run.samples.extend(self.idle.iter().flat_map(|idle| idle.so_far().samples(now_ns)));
        (self.tell)(&run, now_ns);
    }
}

impl Control for Shown<'_> {
    fn event(&mut self, event: &Event) {
        self.so_far.event(event);
        if let EventKind::Mismatch { note, .. } = &event.what {
            self.wrong(note);
        }
        if let Some(line) = &mut self.line {
            line.event(event);
        }
        self.inner.event(event);
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let due = now_ns >= self.next_ns;
        if let Some(every) = self.every.filter(|_| due) {
            self.next_ns = now_ns - now_ns % every.0 + every.0;
        }
        if self.asked.take() || due {
            self.report(now_ns, totals);
        }
        if let Some(line) = &mut self.line {
            line.draw(now_ns, totals);
        }
        self.inner.slot(now_ns, totals)
    }

    fn interval(&mut self, interval: &Interval) {
        self.so_far.interval(interval);
        self.inner.interval(interval);
    }
}
