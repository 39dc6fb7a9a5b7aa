//! What fio tells while jobs run: a report of what was done so far, at SIGUSR1 and every `--status-interval`, and the line
//! of progress.

use super::eta::EtaLine;
use crate::report::SoFar;
use fathom_drive::{HostSampler, IdleProbe, Sampler};
use fathom_record::{Control, Event, EventKind, Interval, Run, Steer, Totals};
use fathom_session::{Console, Signalled};
use fathom_spec::{Nanos, Plan};

/// Prints a run that is not over.
pub type Print<'a> = &'a mut dyn FnMut(&Run);

/// When a report is made of a run that is not over.
#[derive(Debug)]
pub struct StatusSchedule<'a> {
    /// Whenever this signal comes.
    pub request: &'a Signalled,
    /// And each time when so much has passed.
    pub every: Option<Nanos>,
}

/// Stands between whoever watches the run and what is told of it.
pub struct StatusReporter<'a> {
    inner: &'a mut dyn Control,
    so_far: SoFar,
    schedule: StatusSchedule<'a>,
    next_ns: u64,
    sampler: HostSampler,
    print: Print<'a>,
    line: Option<EtaLine<'a>>,
    idle: Option<&'a IdleProbe>,
    console: &'a Console,
    /// Blocks that were not as they should be and may still be told.
    mismatches_left: u32,
}

/// So many blocks that are not as they should be are told of, each in a line on stderr.
const MISMATCHES_TOLD: u32 = 100;

impl<'a> StatusReporter<'a> {
    /// Tells of a run of this plan.
    pub fn new(
        inner: &'a mut dyn Control,
        plan: &Plan,
        schedule: StatusSchedule<'a>,
        mut sampler: HostSampler,
        print: Print<'a>,
        console: &'a Console,
    ) -> Self {
        let mut so_far = SoFar::new(plan);
        let mut samples = Vec::new();
        sampler.sample(0, &mut samples);
        so_far.samples(samples);
        let every = schedule.every.filter(|every| every.0 > 0);
        StatusReporter {
            inner,
            so_far,
            next_ns: every.map_or(u64::MAX, |every| every.0),
            schedule: StatusSchedule { every, ..schedule },
            sampler,
            print,
            line: None,
            idle: None,
            console,
            mismatches_left: MISMATCHES_TOLD,
        }
    }

    /// The same with a line of progress.
    pub fn with_line(self, line: Option<EtaLine<'a>>) -> Self {
        StatusReporter { line, ..self }
    }

    /// The same, telling what was left of the processors, too.
    pub fn with_idleness(self, idle: Option<&'a IdleProbe>) -> Self {
        StatusReporter { idle, ..self }
    }

    /// Ends the line of progress, if one stands.
    pub fn end(&mut self) {
        if let Some(line) = &mut self.line {
            line.end();
        }
    }

    /// The report that fell due in the last moments of a run, which is over now.
    pub fn report_due(&mut self, run: &Run) {
        if run.length_ns >= self.next_ns {
            (self.print)(run);
        }
    }

    /// Says what a check found, as fio does when it finds it; the report has no more than a number.
    fn tell_mismatch(&mut self, told: std::fmt::Arguments<'_>) {
        let Some(left) = self.mismatches_left.checked_sub(1) else { return };
        self.mismatches_left = left;
        self.end();
        self.console.complain(format_args!("verify: {told}"));
        if left == 0 {
            self.console.complain("verify: there may be more of them");
        }
    }

    fn report(&mut self, now_ns: u64, totals: &[Totals]) {
        let mut samples = Vec::new();
        self.sampler.sample(now_ns, &mut samples);
        self.so_far.samples(samples);
        self.end();
        let mut run = self.so_far.run(now_ns, totals);
        run.samples.extend(self.idle.iter().flat_map(|idle| idle.so_far().samples(now_ns)));
        (self.print)(&run);
    }
}

impl Control for StatusReporter<'_> {
    fn event(&mut self, event: &Event) {
        self.so_far.event(event);
        if let EventKind::Mismatch { target, offset, length, why, .. } = &event.what {
            let (offset, length) = (offset.0, length.0);
            self.tell_mismatch(format_args!("{why} at file {target} offset {offset}, length {length}"));
        }
        if let Some(line) = &mut self.line {
            line.event(event);
        }
        self.inner.event(event);
    }

    fn goes_on(&mut self) -> bool {
        self.inner.goes_on()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let due = now_ns >= self.next_ns;
        if let Some(every) = self.schedule.every.filter(|_| due) {
            self.next_ns = now_ns - now_ns % every.0 + every.0;
        }
        if self.schedule.request.take() || due {
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

#[cfg(test)]
mod tests {
    use super::super::members::fixture::{jobs, planned};
    use super::*;
    use fathom_host::Roots;
    use fathom_session::Environment;
    use fathom_spec::{Bytes, StreamId};

    /// When runs are printed, and what stands on stderr, if these slots pass.
    fn printed(
        every: Option<Nanos>,
        slots_ms: &[u64],
        signal_at_ms: u64,
        mismatches: u32,
    ) -> (Vec<u64>, String) {
        let planned = planned(&jobs("--ioengine=null --size=1m --name=a"));
        let (console, request) = (Console::captured(), Environment::given(&[]).usr1());
        let mut moments = Vec::new();
        let mut print = |run: &Run| moments.push(run.length_ns / 1_000_000);
        let mut nobody = ();
        let schedule = StatusSchedule { request: &request, every };
        let sampler = HostSampler::new(Roots::default(), &[]);
        let mut reporter =
            StatusReporter::new(&mut nobody, &planned.plan, schedule, sampler, &mut print, &console);
        for number in 0..mismatches {
            let what = EventKind::Mismatch {
                target: "f".to_owned(),
                stream: StreamId(0),
                offset: Bytes(u64::from(number) * 4096),
                length: Bytes(4096),
                why: "bad magic header 0, wanted acca".to_owned(),
                note: String::new(),
            };
            reporter.event(&Event { at_ns: 0, what });
        }
        for at_ms in slots_ms {
            if *at_ms == signal_at_ms {
                request.raise();
            }
            reporter.slot(at_ms * 1_000_000, &[]);
        }
        drop(reporter);
        (moments, console.take().1)
    }

    #[test]
    fn a_report_comes_at_its_interval_and_at_the_signal() {
        let slots = [50, 100, 150, 230, 290, 310];
        assert_eq!(printed(Some(Nanos::from_millis(100)), &slots, 150, 0).0, [100, 150, 230, 310]);
        assert_eq!(printed(None, &slots, 150, 0).0, [150]);
        assert_eq!(printed(Some(Nanos(0)), &slots, 0, 0).0, [0; 0]);
    }

    #[test]
    fn a_report_that_falls_due_at_the_end_is_made() {
        let planned = planned(&jobs("--ioengine=null --size=1m --name=a"));
        let (console, request) = (Console::captured(), Environment::given(&[]).usr1());
        let mut moments = Vec::new();
        let mut print = |run: &Run| moments.push(run.length_ns);
        let mut nobody = ();
        let schedule = StatusSchedule { request: &request, every: Some(Nanos(1000)) };
        let sampler = HostSampler::new(Roots::default(), &[]);
        let mut reporter =
            StatusReporter::new(&mut nobody, &planned.plan, schedule, sampler, &mut print, &console);
        for length_ns in [999, 1001] {
            reporter.report_due(&Run { length_ns, ..Run::empty(&planned.plan) });
        }
        drop(reporter);
        assert_eq!(moments, [1001]);
    }

    #[test]
    fn a_hundred_wrong_blocks_are_told() {
        let said = printed(None, &[], 0, 102).1;
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        let line = |offset| {
            format!("verify: bad magic header 0, wanted acca at file f offset {offset}, length 4096")
        };
        assert_eq!((lines.len(), lines[0].clone(), lines[99].clone()), (101, line(0), line(99 * 4096)));
        assert_eq!(lines[100], "verify: there may be more of them");
    }
}
