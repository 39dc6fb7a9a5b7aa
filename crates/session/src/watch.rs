//! Watches a run for the user: draws progress on stderr, ends it when the user interrupts, says at once what
//! went wrong. Wraps the Control that steers.

use crate::interference::Others;
use crate::signals::Interrupt;
use crate::terminal_text::terminal_text;
use crate::{Console, Session};
use fathom_record::{Control, Event, EventKind, Interval, Steer, StopReason, Totals};
use fathom_spec::Nanos;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::{Mutex, PoisonError};

/// Draws a bar, or tells each phase in a line, or keeps silent.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Where no bar is drawn: is each phase told in a line?
    lines: bool,
    last_phase: Mutex<&'static str>,
    console: Console,
}

impl Progress {
    /// A bar on stderr, if it is wanted.
    pub fn new(drawn: bool, console: &Console) -> Self {
        // As wide as the terminal, however narrow that is.
        let style = ProgressStyle::with_template("{spinner} {wide_msg} [{bar:14}] {eta:>4} left");
        let bar = drawn.then(|| {
            let bar = ProgressBar::new(100);
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Progress { bar, lines: false, last_phase: Mutex::new(""), console: console.clone() }
    }

    /// For one of fathom's own commands: a bar on a terminal; elsewhere a line a phase, where they are `wanted`.
    pub fn of(session: &Session<'_>, wanted: bool) -> Self {
        let lines = session.lines && wanted && !session.progress;
        Progress { lines, ..Progress::new(session.progress, &session.console) }
    }

    /// A step of so many begins.
    pub fn step(&self, number: usize, of: usize, phase: &'static str) {
        let mut last = self.last_phase.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lines && std::mem::replace(&mut *last, phase) != phase {
            self.console.complain(format_args!("{number}/{of} {phase}"));
        }
    }

    /// A figure that is known: above the bar, or in a line of its own.
    pub fn tell(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(String::from_utf8_lossy(&terminal_text(text.as_bytes()))),
            None if self.lines => self.console.complain(text),
            None => {}
        }
    }

    /// What is done now, and how far the whole is, 0 to 1.
    pub fn show(&self, what: &str, share: f64) {
        if let Some(bar) = &self.bar {
            bar.set_position((share * 100.0).clamp(0.0, 100.0) as u64);
            bar.set_message(fathom_spec::names::printable(what));
        }
    }

    /// A line above the bar.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(String::from_utf8_lossy(&terminal_text(text.as_bytes()))),
            None => self.console.complain(text),
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Stands between the engine and whoever steers.
pub struct Watch<'a> {
    /// Who steers.
    pub inner: &'a mut dyn Control,
    /// Where progress goes.
    pub progress: &'a Progress,
    /// Has the user had enough?
    pub interrupt: &'a Interrupt,
    /// What is done, for the bar.
    pub what: String,
    /// How far the whole was when this run began, and how far it will be when it ends.
    pub share: (f64, f64),
    /// How long this run is expected to be.
    pub length: Nanos,
    /// Others on the same disk, who must not suffer.
    pub others: Option<&'a mut Others>,
    last: Vec<Totals>,
    last_ns: u64,
}

impl<'a> Watch<'a> {
    /// Watches one run.
    pub fn new(
        inner: &'a mut dyn Control,
        progress: &'a Progress,
        interrupt: &'a Interrupt,
        what: String,
        length: Nanos,
    ) -> Self {
        Watch {
            inner,
            progress,
            interrupt,
            what,
            share: (0.0, 1.0),
            length,
            others: None,
            last: Vec::new(),
            last_ns: 0,
        }
    }

    fn draw(&mut self, now_ns: u64, totals: &[Totals]) {
        if now_ns < self.last_ns + 250_000_000 {
            return;
        }
        let sum = |totals: &[Totals]| -> (u64, u64) {
            totals.iter().flat_map(|t| t.counts).fold((0, 0), |(n, b), c| (n + c.operations, b + c.bytes))
        };
        let (before, now) = (sum(&self.last), sum(totals));
        let seconds = (now_ns - self.last_ns) as f64 / 1e9;
        let iops = now.0.saturating_sub(before.0) as f64 / seconds;
        let mbps = now.1.saturating_sub(before.1) as f64 / seconds / (1 << 20) as f64;
        let done = (now_ns as f64 / self.length.0.max(1) as f64).min(1.0);
        let share = self.share.0 + (self.share.1 - self.share.0) * done;
        self.progress.show(&format!("{}  {iops:.0} IOPS, {mbps:.0} MiB/s", self.what), share);
        (self.last, self.last_ns) = (totals.to_vec(), now_ns);
    }
}

impl Control for Watch<'_> {
    fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::Stalled { outstanding, for_ns, .. } => self.progress.say(&format!(
                "warning: the device has not answered for {}, {outstanding} I/Os are outstanding\n\
                 hint: see dmesg; Ctrl-C ends the measurement once it answers",
                Nanos(*for_ns)
            )),
            EventKind::Fault { verb, offset, errno: 0, moved, target, times, .. } => {
                self.progress.say(&format!(
                    "warning: {verb:?} of {target} at byte {} fell short {times} times: {moved} were moved",
                    offset.0
                ))
            }
            EventKind::Fault { verb, offset, errno, target, times, .. } => self.progress.say(&format!(
                "warning: {verb:?} of {target} at byte {} failed {times} times: {}",
                offset.0,
                std::io::Error::from_raw_os_error(*errno)
            )),
            EventKind::Paused { for_ns } => {
                self.progress.say(&format!("warning: fathom did not run for {}", Nanos(*for_ns)));
            }
            _ => {}
        }
        self.inner.event(event);
    }

    fn goes_on(&mut self) -> bool {
        !self.interrupt.raised() && self.inner.goes_on()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        if self.interrupt.raised() {
            return Steer::Stop(Vec::new(), StopReason::Signal);
        }
        if self.others.as_mut().is_some_and(|others| others.suffer(now_ns, totals)) {
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        self.draw(now_ns, totals);
        self.inner.slot(now_ns, totals)
    }

    fn interval(&mut self, interval: &Interval) {
        self.inner.interval(interval);
    }
}
