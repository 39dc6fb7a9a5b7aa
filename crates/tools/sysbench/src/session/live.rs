//! Watches a run for sysbench's report: lines of intervals and checkpoints while it goes on, everything counted for the
//! end; breaks off at the first fault, at a full queue, at a forced shutdown, and when the user has had enough.

use super::final_figures;
use super::messages::Messages;
use crate::report::{self, Times};
use crate::{Options, Tally};
use fathom_record::{Control, Event, EventKind, Interval, Steer, StopReason, Totals};
use fathom_session::Interrupt;

/// Arrivals that may wait for a free worker: sysbench's queue.
const QUEUE: f64 = 131_072.0;
/// A worker that is this late with what it counted is not waited for.
const LATE_NS: u64 = 300_000_000;
/// What a forced shutdown is late at most.
const SHUTDOWN_LATE_NS: u64 = 100_000_000;
/// A run that ends so shortly before a full interval has reached it.
const NEARLY_S: f64 = 0.05;

/// What is known so far.
pub struct Live<'a> {
    options: &'a Options,
    interrupt: &'a Interrupt,
    /// Where the report goes.
    pub messages: Messages<'a>,
    /// Everything since the start or the last checkpoint.
    pub tally: Tally,
    /// When counting began anew, seconds after the start.
    pub counted_from_s: f64,
    /// The queue of arrivals has overflown.
    pub overflown: bool,
    /// The run was broken off, and its report told.
    pub forced: bool,
    /// Since the last line.
    line: Tally,
    began_ns: u64,
    /// Seconds between moments at which something may be told.
    step_s: u64,
    next_s: u64,
    line_s: u64,
    delivered: u32,
    running: bool,
}

impl<'a> Live<'a> {
    /// Watches from now on.
    pub fn new(options: &'a Options, interrupt: &'a Interrupt, messages: Messages<'a>) -> Self {
        let step_s = crate::step_s(options);
        Live {
            options,
            interrupt,
            messages,
            tally: Tally::new(options.threads),
            counted_from_s: 0.0,
            overflown: false,
            forced: false,
            line: Tally::new(options.threads),
            began_ns: 0,
            step_s,
            next_s: step_s,
            line_s: 0,
            delivered: 0,
            running: false,
        }
    }

    /// Says once that all threads are there.
    pub fn tell_running(&mut self) {
        if !std::mem::replace(&mut self.running, true) {
            self.messages.notice(report::running);
        }
    }

    /// When the stream began, ns since the run's start.
    pub fn began_ns(&self) -> u64 {
        self.began_ns
    }

    fn interval_s(&self) -> Option<u64> {
        u64::try_from(self.options.report_interval).ok().filter(|seconds| *seconds > 0)
    }

    fn moment(&mut self, at_s: u64) {
        if self.interval_s().is_some_and(|interval| at_s.is_multiple_of(interval)) {
            self.tell_line(at_s);
        }
        if at_s > 0 && self.options.checkpoints.contains(&at_s) {
            let times = Times {
                total_s: at_s as f64,
                counted_s: at_s as f64 - self.counted_from_s,
                unfinished: None,
            };
            self.messages.notice(|out| {
                out.extend_from_slice(format!("[ {at_s}s ] Checkpoint report:\n").as_bytes());
                report::figures(self.options, &self.tally, times, out)
            });
            self.tally.reset();
            self.line.reset();
            self.counted_from_s = at_s as f64;
        }
    }

    fn tell_line(&mut self, at_s: u64) {
        let seconds = (at_s - self.line_s) as f64;
        let percentile_ms = self.line.classes.percentile_ms(self.options.percentile);
        let requests = &self.line.requests;
        let options = self.options;
        self.messages
            .notice(|out| report::interval_line(options, at_s as f64, seconds, requests, percentile_ms, out));
        self.line.reset();
        self.line_s = at_s;
    }

    /// The line of an interval that ended with the run.
    pub fn last_line(&mut self, total_s: f64) {
        while let Some(interval) = self.interval_s()
            && total_s + NEARLY_S >= (self.line_s + interval) as f64
        {
            self.tell_line(self.line_s + interval);
        }
    }

    /// Has the queue of arrivals overflown?
    fn overflows(&self, now_ns: u64, totals: &[Totals]) -> bool {
        if self.options.rate <= 0 {
            return false;
        }
        let arrived = self.options.rate as f64 * now_ns.saturating_sub(self.began_ns) as f64 / 1e9;
        let done: u64 = totals.iter().flat_map(|t| t.counts).map(|counts| counts.operations).sum();
        arrived - done as f64 > QUEUE
    }

    /// Has the time of a forced shutdown come, with workers still busy? Its report is told at once; the program ends
    /// when what is in flight has come back.
    fn shuts_down(&mut self, now_ns: u64) -> bool {
        let Some(limit_s) = self.options.shutdown_s() else { return false };
        let since_ns = now_ns.saturating_sub(self.began_ns);
        let late_ns = if self.options.always_forced() { 0 } else { SHUTDOWN_LATE_NS };
        let limit_ns = limit_s.saturating_mul(1_000_000_000).saturating_add(late_ns);
        if since_ns >= limit_ns && !self.forced {
            let total_s = since_ns as f64 / 1e9;
            let times = Times {
                total_s,
                counted_s: total_s - self.counted_from_s,
                unfinished: Some(u64::from(self.options.threads)),
            };
            final_figures::forced(self.options, &self.tally, times, self.messages);
            self.forced = true;
        }
        self.forced
    }
}

impl Control for Live<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event.what, EventKind::Started(_)) {
            self.began_ns = event.at_ns;
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.tally.add(interval, self.options);
        self.line.add(interval, self.options);
        self.delivered += 1;
    }

    fn goes_on(&mut self) -> bool {
        !self.interrupt.raised()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        self.tell_running();
        let due_ns = self.next_s.saturating_mul(1_000_000_000);
        if now_ns >= due_ns
            && (self.delivered >= self.options.threads || now_ns >= due_ns.saturating_add(LATE_NS))
        {
            self.moment(self.next_s);
            self.delivered = 0;
            self.next_s = self.next_s.saturating_add(self.step_s);
        }
        if self.shuts_down(now_ns) {
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        if self.interrupt.raised() {
            return Steer::Stop(Vec::new(), StopReason::Signal);
        }
        if self.overflows(now_ns, totals) {
            self.overflown = true;
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        let failed = totals.iter().flat_map(|t| t.counts).any(|counts| counts.errors > 0);
        if failed { Steer::Stop(Vec::new(), StopReason::Fault) } else { Steer::Continue }
    }
}
