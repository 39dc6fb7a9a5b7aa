//! What is done and said while a half of a pass runs: progress, keep-alive messages, the watchdog, the end by the user.

use super::context::JobContext;
use super::damage::trigger;
use super::print;
use crate::{self as dt, Half, Moment, Part, Report, Stall, Watchdog};
use fathom_record::{Control, Steer, StopReason, Totals};
use fathom_session::stop_at_fault::StopAtFault;
use fathom_spec::Verb;

/// Watches one half.
pub struct Live<'a> {
    context: JobContext<'a>,
    report: &'a Report<'a>,
    half: Half,
    length: u64,
    /// What was done before this half.
    pub before: Part,
    /// Which pass this is, from 1.
    pub pass: u64,
    /// When the time of the whole test (`runtime=`) is over, ns after the start of this half.
    pub until_ns: Option<u64>,
    /// It was over before this half had ended.
    pub cut: bool,
    dog: Watchdog,
    said_ns: u64,
}

impl<'a> Live<'a> {
    /// Watches a half that moves so many bytes.
    pub fn new(context: JobContext<'a>, report: &'a Report<'a>, half: Half, length: u64) -> Self {
        Live {
            context,
            report,
            half,
            length,
            before: Part::default(),
            pass: 1,
            until_ns: None,
            cut: false,
            dog: Watchdog::default(),
            said_ns: 0,
        }
    }

    /// What was done until now.
    fn part(&self, now_ns: u64, totals: &[Totals]) -> Part {
        let mut part = Part { elapsed_ns: now_ns, passes: self.pass - 1, ..Part::default() };
        for (verb, counts) in totals.iter().flat_map(Totals::cells) {
            let (records, bytes) = match verb {
                Verb::Read => (&mut part.records_read, &mut part.bytes_read),
                Verb::Write => (&mut part.records_written, &mut part.bytes_written),
                _ => continue,
            };
            *records += counts.operations;
            *bytes += counts.bytes;
        }
        part
    }

    fn keep_alive(&mut self, now_ns: u64, totals: &[Totals]) {
        let (options, system) = (self.report.options, self.report.system_info);
        let Some(every) = options.watch.every else { return };
        if now_ns.saturating_sub(self.said_ns) < every.saturating_mul(1_000_000_000) {
            return;
        }
        self.said_ns = now_ns;
        let pass = self.part(now_ns, totals);
        let mut total = self.before.clone();
        total.add(&pass);
        let (host, user) = (system.host.as_str(), system.user.as_str());
        let moment = Moment { pass, total, mode: self.half.mode(), host, user };
        let message = options.watch.message.as_deref().unwrap_or(dt::MESSAGE);
        self.say(&dt::expand(message, options, &moment));
    }

    fn look(&mut self, now_ns: u64, totals: &[Totals]) {
        let options = self.report.options;
        if !options.watch.looks() {
            return;
        }
        let operations = totals.iter().flat_map(|totals| totals.counts).map(|counts| counts.operations).sum();
        let outstanding = totals.iter().map(|totals| totals.outstanding).sum();
        for stuck in self.dog.look(now_ns, operations, outstanding, &options.watch) {
            match stuck {
                Stall::Warning(seconds) => self.say(&format!(
                    "WARNING: No progress made on {} for {seconds} seconds ({}, {operations} records done, {outstanding} I/Os outstanding)",
                    options.name(),
                    self.half.mode()
                )),
                Stall::Trigger(_) => trigger(options, self.context, "noprog", 0),
            }
        }
    }

    fn say(&self, text: &str) {
        // Who closed the pipe is told with the statistics.
        let _ = print(self.context.console, |out| self.report.line(text, out));
    }
}

impl Control for Live<'_> {
    fn goes_on(&mut self) -> bool {
        !self.context.interrupt.raised()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let bytes: u64 = totals.iter().flat_map(|totals| totals.counts).map(|counts| counts.bytes).sum();
        let what = format!("{} pass {}", self.half.mode(), self.pass);
        self.context.progress.show(&what, bytes as f64 / self.length.max(1) as f64);
        self.keep_alive(now_ns, totals);
        self.look(now_ns, totals);
        // What failed ends the test: it need not fail to the end.
        match StopAtFault(self.context.interrupt).slot(now_ns, totals) {
            Steer::Continue if self.until_ns.is_some_and(|until| now_ns >= until) => {
                self.cut = true;
                Steer::Stop(Vec::new(), StopReason::Told)
            }
            steer => steer,
        }
    }
}
