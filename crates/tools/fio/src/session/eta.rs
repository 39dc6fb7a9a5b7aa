//! fio's line of progress: which jobs run, how far they are, how fast.

use super::members::{Done, MemberIndex, Members};
use crate::Job;
use crate::report::live::{self, Live};
use fathom_record::{Counts, Event, EventKind, StopReason, Totals};
use fathom_session::Console;
use fathom_spec::{Nanos, StreamId, Verb};
use std::io::Write;

/// How far one clone is.
#[derive(Clone, Copy, Default)]
struct JobProgress {
    began_ns: Option<u64>,
    ended: Option<StopReason>,
}

/// When the line is drawn.
#[derive(Clone, Copy, Debug)]
pub struct EtaInterval {
    /// Anew after so long.
    pub every: Nanos,
    /// Left standing after so long.
    pub newline: Option<Nanos>,
}

impl EtaInterval {
    /// As `--eta-interval` and `--eta-newline` say.
    pub fn new(every: Option<Nanos>, newline: Option<Nanos>) -> Self {
        EtaInterval {
            every: every.unwrap_or(Nanos::from_seconds(1)).max(Nanos::from_millis(250)),
            newline: newline.filter(|newline| newline.0 > 0),
        }
    }
}

/// Draws on stdout, where fio draws.
pub struct EtaLine<'a> {
    members: &'a Members<'a>,
    console: &'a Console,
    interval: EtaInterval,
    /// By the number of the clone.
    progress: Vec<JobProgress>,
    /// What each had done when the line was drawn last.
    before: Vec<[Done; 3]>,
    last_ns: u64,
    line_ns: u64,
    /// Letters that stand on the line now.
    width: usize,
}

impl<'a> EtaLine<'a> {
    /// A line for these jobs.
    pub fn new(members: &'a Members<'a>, interval: EtaInterval, console: &'a Console) -> Self {
        let count = members.indices().count();
        let (progress, before) = (vec![JobProgress::default(); count], vec![Default::default(); count]);
        EtaLine { members, console, interval, progress, before, last_ns: 0, line_ns: 0, width: 0 }
    }

    fn progress_of(&mut self, stream: StreamId) -> Option<&mut JobProgress> {
        let index = self.members.of_stream(stream)?;
        self.progress.get_mut(index.number())
    }

    /// A stream began or ended.
    pub fn event(&mut self, event: &Event) {
        match event.what {
            EventKind::Started(stream) => {
                if let Some(progress) = self.progress_of(stream) {
                    progress.began_ns = Some(event.at_ns);
                }
            }
            EventKind::Stopped(stream, why) => {
                if let Some(progress) = self.progress_of(stream) {
                    progress.ended = Some(why);
                }
            }
            _ => {}
        }
    }

    /// Draws it, if it is time.
    pub fn draw(&mut self, now_ns: u64, totals: &[Totals]) {
        if now_ns < self.last_ns + self.interval.every.0 {
            return;
        }
        let live = self.live(now_ns, totals);
        self.last_ns = now_ns;
        let mut text = Vec::new();
        if live::write(&live, &mut text).is_err() {
            return;
        }
        let drawn = text.len();
        // What is left of a longer line is wiped out.
        text.resize(drawn.max(self.width), b' ');
        self.width = drawn;
        let newline = self.interval.newline.is_some_and(|newline| now_ns >= self.line_ns + newline.0);
        if newline {
            (self.line_ns, self.width) = (now_ns, 0);
        }
        text.push(if newline { b'\n' } else { b'\r' });
        let mut out = self.console.out();
        let _ = out.write_all(&text).and_then(|()| out.flush());
    }

    /// Leaves the line standing, so that something can be written below it.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.width) > 0 {
            let _ = self.console.out().write_all(b"\n");
        }
    }

    /// What the line says now; rates are those since it was made last.
    fn live(&mut self, now_ns: u64, totals: &[Totals]) -> Live {
        let mut live = Live::default();
        let mut rates = [Done::default(); 3];
        let mut wanted = [false; 3];
        for index in self.members.indices() {
            let progress = self.progress[index.number()];
            let running = progress.began_ns.is_some() && progress.ended.is_none();
            live.running += u32::from(running);
            live.files += if running { self.members.get(index).files.len() as u32 } else { 0 };
            live.states.push(state(self.members.job(index), progress, now_ns));
            for (at, is_of) in self.members.directions(index).into_iter().enumerate() {
                wanted[at] |= is_of && running;
            }
        }
        let before = std::mem::take(&mut self.before);
        self.before = vec![Default::default(); before.len()];
        for total in totals {
            let Some(index) = self.members.of_stream(total.stream) else { continue };
            let done = self.members.done(index, total);
            for at in 0..3 {
                let before = before[index.number()][at];
                rates[at].bytes += done[at].bytes.saturating_sub(before.bytes);
                rates[at].operations += done[at].operations.saturating_sub(before.operations);
            }
            self.before[index.number()] = done;
        }
        let seconds = (now_ns - self.last_ns).max(1) as f64 / 1e9;
        for at in (0..3).filter(|at| wanted[*at]) {
            live.iops[at] = Some((rates[at].operations as f64 / seconds) as u64);
            live.bandwidth[at] = Some((rates[at].bytes as f64 / seconds) as u64);
        }
        if let Some(end_ns) = self.end_ns(now_ns, totals) {
            let left_ns = end_ns.saturating_sub(now_ns);
            live.left_seconds = Some(left_ns.div_ceil(1_000_000_000));
            live.done_percent = Some(now_ns as f64 * 100.0 / end_ns.max(now_ns).max(1) as f64);
        }
        live
    }

    /// When all will have ended, as far as that can be told: at the pace of each until now, those that wait behind those
    /// that they wait for. How long a command takes is not known; it is taken to need no time.
    fn end_ns(&self, now_ns: u64, totals: &[Totals]) -> Option<u64> {
        let streams = &self.members.plan().streams;
        let mut running: Vec<Option<&Totals>> = vec![None; streams.len()];
        for total in totals {
            if let Some(place) = running.get_mut(total.stream.0 as usize) {
                *place = Some(total);
            }
        }
        let mut ends: Vec<u64> = Vec::with_capacity(streams.len());
        for ((number, stream), total) in (0..).zip(streams).zip(running) {
            let before = stream.start.after.iter().filter_map(|stream| ends.get(stream.0 as usize));
            let free_ns = before.copied().max().unwrap_or(0);
            ends.push(match self.members.of_stream(StreamId(number)) {
                Some(index) => self.end_of(index, free_ns.max(now_ns), now_ns, total)?,
                None => free_ns,
            });
        }
        ends.into_iter().max().filter(|end| *end > 0)
    }

    /// When one clone will have ended that cannot begin before `free_ns` unless it has; 0 if it has ended.
    fn end_of(&self, index: MemberIndex, free_ns: u64, now_ns: u64, total: Option<&Totals>) -> Option<u64> {
        let progress = self.progress[index.number()];
        if progress.ended.is_some() {
            return Some(0);
        }
        let stream = self.members.stream(index);
        let began_ns = progress.began_ns.unwrap_or(free_ns.saturating_add(stream.start.delay.0));
        let by_time = stream.stop.time.map(|time| began_ns.saturating_add(time.0));
        let by_amount = total.filter(|_| progress.began_ns.is_some()).and_then(|total| {
            let done = |of: fn(&Counts) -> u64| total.counts.iter().map(of).sum::<u64>() as f64;
            let bytes = stream.stop.bytes.map(|all| done(|counts| counts.bytes) / all.0.max(1) as f64);
            let operations =
                stream.stop.operations.map(|all| done(|counts| counts.operations) / all.max(1) as f64);
            let share = bytes.into_iter().chain(operations).fold(0.0, f64::max);
            let ran = now_ns.saturating_sub(began_ns) as f64;
            (share > 0.0).then(|| began_ns.saturating_add((ran / share.min(1.0)) as u64))
        });
        by_time.into_iter().chain(by_amount).min()
    }
}

/// The letter that stands for a clone.
fn state(job: &Job, progress: JobProgress, now_ns: u64) -> char {
    match (progress.began_ns, progress.ended) {
        (_, Some(StopReason::Signal)) => 'K',
        (_, Some(StopReason::Fault)) => 'X',
        (_, Some(_)) => '_',
        (None, None) => 'P',
        (Some(began_ns), None) if now_ns < began_ns + job.stop.ramp.0 => '/',
        (Some(_), None) => letter(job),
    }
}

fn letter(job: &Job) -> char {
    let (sequential, random) = match job.direction.verbs.as_slice() {
        [Verb::Read] => ('R', 'r'),
        [Verb::Write] => ('W', 'w'),
        [Verb::Trim] => ('D', 'd'),
        _ => ('M', 'm'),
    };
    if job.direction.random { random } else { sequential }
}

#[cfg(test)]
mod tests {
    use super::super::members::fixture::{jobs, planned, totals};
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// What the line says at these moments, with the events before each.
    fn lines(words: &str, moments: &[(u64, &[EventKind], &[Totals])]) -> Vec<String> {
        let (jobs, console) = (jobs(words), Console::captured());
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let mut line = EtaLine::new(&members, EtaInterval::new(None, None), &console);
        let mut drawn = Vec::new();
        for (second, events, totals) in moments {
            let at_ns = second * SECOND_NS;
            for what in *events {
                // What is seen now happened at the last slot.
                line.event(&Event { at_ns: at_ns.saturating_sub(SECOND_NS), what: what.clone() });
            }
            line.draw(at_ns, totals);
            drawn.push(console.take().0);
        }
        drawn
    }

    /// The streams of commands were taken for those of jobs: the line told of another job, or of none.
    #[test]
    fn the_line_tells_of_the_jobs_whatever_commands_run_before_them() {
        let words = "--allow-exec --ioengine=null --size=1m --bs=1k --runtime=10 --time_based --exec_prerun=true \
             --name=a --rw=write --name=b --rw=randread --stonewall";
        let (started, stopped) =
            (EventKind::Started, |stream| EventKind::Stopped(stream, StopReason::Finished));
        let drawn = lines(
            words,
            &[
                (1, &[started(StreamId(0))], &[totals(0, &[])]),
                (2, &[stopped(StreamId(0)), started(StreamId(1))], &[totals(1, &[(Verb::Write, 10)])]),
                (11, &[stopped(StreamId(1)), started(StreamId(2))], &[totals(2, &[])]),
                (12, &[stopped(StreamId(2)), started(StreamId(3))], &[totals(3, &[(Verb::Read, 20)])]),
            ],
        );
        let wanted = [
            "Jobs: 0 (f=0): [P(2)][4.8%][][ IOPS][eta 00m:20s]\r",
            "Jobs: 1 (f=0): [W(1),P(1)][9.5%][w=10.0KiB/s][w=10 IOPS][eta 00m:19s]\r",
            "Jobs: 0 (f=0): [_(1),P(1)][52.4%][][ IOPS][eta 00m:10s]              \r",
            "Jobs: 1 (f=0): [_(1),r(1)][57.1%][r=20.0KiB/s][r=20 IOPS][eta 00m:09s]\r",
        ];
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn the_end_is_told_from_the_pace_and_a_ramp_and_a_failure_have_their_letters() {
        let drawn = lines(
            "--size=100k --bs=1k --name=a --rw=rw --ramp_time=2 --name=b --rw=randread",
            &[
                (
                    1,
                    &[EventKind::Started(StreamId(0)), EventKind::Started(StreamId(1))],
                    &[totals(0, &[(Verb::Read, 20), (Verb::Write, 5)]), totals(1, &[(Verb::Read, 50)])],
                ),
                (
                    2,
                    &[EventKind::Stopped(StreamId(1), StopReason::Fault)],
                    &[totals(0, &[(Verb::Read, 30), (Verb::Write, 20)])],
                ),
            ],
        );
        let wanted = [
            "Jobs: 2 (f=2): [/(1),r(1)][25.0%][r=70.0KiB/s,w=5120B/s][r=70,w=5 IOPS][eta 00m:03s]\r",
            "Jobs: 1 (f=1): [M(1),X(1)][50.0%][r=10.0KiB/s,w=15.0KiB/s][r=10,w=15 IOPS][eta 00m:02s]\r",
        ];
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn a_line_is_left_standing_at_its_interval_and_when_something_comes_below_it() {
        let (jobs, console) = (jobs("--ioengine=null --size=1m --name=a"), Console::captured());
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let interval = EtaInterval::new(Some(Nanos::from_millis(500)), Some(Nanos::from_seconds(1)));
        let mut line = EtaLine::new(&members, interval, &console);
        let mut end_of = |at_ns: u64| {
            line.draw(at_ns, &[]);
            console.take().0.pop()
        };
        let ends = [400, 500, 900, 1000, 1500].map(|ms| end_of(ms * 1_000_000));
        assert_eq!(ends, [None, Some('\r'), None, Some('\n'), Some('\r')]);
        line.end();
        line.end();
        assert_eq!(console.take().0, "\n");
    }
}
