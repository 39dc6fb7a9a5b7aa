//! fio's line of progress: which jobs run, how far they are, how fast.

use crate::report::live::{self, Live};
use crate::{Job, Planned};
use fathom_record::{Event, EventKind, StopReason, Totals};
use fathom_spec::{Mix, Nanos, Stop, Verb, Work};
use std::io::Write;

/// One stream, as the line needs it.
struct Course {
    letter: char,
    files: u32,
    /// Whose counters stand where.
    verbs: Vec<Verb>,
    stop: Stop,
    ramp: Nanos,
    after: Vec<usize>,
    delay: Nanos,
    began_ns: Option<u64>,
    ended: Option<StopReason>,
}

/// Draws on stdout, where fio draws.
pub struct Line {
    courses: Vec<Course>,
    every: Nanos,
    newline: Option<Nanos>,
    last: Vec<Totals>,
    last_ns: u64,
    line_ns: u64,
    /// Letters that stand on the line now.
    width: usize,
}

impl Line {
    /// A line for these jobs, drawn anew every `every`; each `newline` it is left standing.
    pub fn new(jobs: &[Job], planned: &Planned, every: Option<Nanos>, newline: Option<Nanos>) -> Self {
        let courses = planned.members.iter().map(|member| {
            let (job, stream) = (&jobs[member.job], &planned.plan.streams[member.stream.0 as usize]);
            Course {
                letter: letter(job),
                files: member.files.len() as u32,
                verbs: verbs(job, member.clone, &stream.work),
                stop: stream.stop.clone(),
                ramp: job.stop.ramp,
                after: stream.start.after.iter().map(|stream| stream.0 as usize).collect(),
                delay: stream.start.delay,
                began_ns: None,
                ended: None,
            }
        });
        Line {
            courses: courses.collect(),
            every: every.unwrap_or(Nanos::from_seconds(1)).max(Nanos::from_millis(250)),
            newline: newline.filter(|newline| newline.0 > 0),
            last: Vec::new(),
            last_ns: 0,
            line_ns: 0,
            width: 0,
        }
    }

    /// A stream began or ended.
    pub fn event(&mut self, event: &Event) {
        match event.what {
            EventKind::Started(id) => {
                if let Some(course) = self.courses.get_mut(id.0 as usize) {
                    course.began_ns = Some(event.at_ns);
                }
            }
            EventKind::Stopped(id, why) => {
                if let Some(course) = self.courses.get_mut(id.0 as usize) {
                    course.ended = Some(why);
                }
            }
            _ => {}
        }
    }

    /// Draws it, if it is time.
    pub fn draw(&mut self, now_ns: u64, totals: &[Totals]) {
        if now_ns < self.last_ns + self.every.0 {
            return;
        }
        let live = self.live(now_ns, totals);
        (self.last, self.last_ns) = (totals.to_vec(), now_ns);
        let mut text = Vec::new();
        if live::write(&live, &mut text).is_err() {
            return;
        }
        let drawn = text.len();
        // What is left of a longer line is wiped out.
        text.resize(drawn.max(self.width), b' ');
        self.width = drawn;
        let newline = self.newline.is_some_and(|newline| now_ns >= self.line_ns + newline.0);
        if newline {
            (self.line_ns, self.width) = (now_ns, 0);
        }
        text.push(if newline { b'\n' } else { b'\r' });
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(&text).and_then(|()| out.flush());
    }

    /// Leaves the line standing, so that something can be written below it.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.width) > 0 {
            println!();
        }
    }

    fn live(&self, now_ns: u64, totals: &[Totals]) -> Live {
        let mut live = Live::default();
        let mut rates = [(0u64, 0u64); 3];
        let mut asked = [false; 3];
        for (at, course) in self.courses.iter().enumerate() {
            let running = course.began_ns.is_some() && course.ended.is_none();
            live.running += u32::from(running);
            live.files += if running { course.files } else { 0 };
            live.states.push(match (course.began_ns, course.ended) {
                (_, Some(StopReason::Signal)) => 'K',
                (_, Some(StopReason::Fault)) => 'X',
                (_, Some(_)) => '_',
                (None, None) => 'P',
                (Some(began), None) if now_ns < began + course.ramp.0 => '/',
                (Some(_), None) => course.letter,
            });
            let of = |totals: &[Totals], cell: usize| {
                let mine = totals.iter().find(|total| total.stream.0 as usize == at);
                mine.map_or((0, 0), |total| (total.counts[cell].operations, total.counts[cell].bytes))
            };
            for (cell, verb) in course.verbs.iter().enumerate() {
                let Some(direction) = direction(*verb) else { continue };
                let (before, now) = (of(&self.last, cell), of(totals, cell));
                rates[direction].0 += now.0.saturating_sub(before.0);
                rates[direction].1 += now.1.saturating_sub(before.1);
                asked[direction] |= running;
            }
        }
        let seconds = (now_ns - self.last_ns).max(1) as f64 / 1e9;
        for direction in 0..3 {
            if asked[direction] {
                live.iops[direction] = Some((rates[direction].0 as f64 / seconds) as u64);
                live.bandwidth[direction] = Some((rates[direction].1 as f64 / seconds) as u64);
            }
        }
        if let Some(end_ns) = self.end_ns(now_ns, totals) {
            let left_ns = end_ns.saturating_sub(now_ns);
            live.left_seconds = Some(left_ns.div_ceil(1_000_000_000));
            live.done_percent = Some(now_ns as f64 * 100.0 / end_ns.max(now_ns).max(1) as f64);
        }
        live
    }

    /// When all will have ended, as far as that can be told: at the pace of each until now, those that wait behind those
    /// that they wait for.
    fn end_ns(&self, now_ns: u64, totals: &[Totals]) -> Option<u64> {
        let mut ends: Vec<u64> = Vec::with_capacity(self.courses.len());
        for (at, course) in self.courses.iter().enumerate() {
            if course.ended.is_some() {
                ends.push(0);
                continue;
            }
            let free = course.after.iter().filter_map(|before| ends.get(*before)).copied().max().unwrap_or(0);
            let began_ns = course.began_ns.unwrap_or(free.max(now_ns).saturating_add(course.delay.0));
            let by_time = course.stop.time.map(|time| began_ns.saturating_add(time.0));
            let mine = totals.iter().find(|total| total.stream.0 as usize == at && course.began_ns.is_some());
            let by_amount = mine.and_then(|total| {
                let done =
                    |of: fn(&fathom_record::Counts) -> u64| total.counts.iter().map(of).sum::<u64>() as f64;
                let bytes = course.stop.bytes.map(|all| done(|counts| counts.bytes) / all.0.max(1) as f64);
                let operations =
                    course.stop.operations.map(|all| done(|counts| counts.operations) / all.max(1) as f64);
                let share = bytes.into_iter().chain(operations).fold(0.0, f64::max);
                let ran = now_ns.saturating_sub(began_ns) as f64;
                (share > 0.0).then(|| began_ns.saturating_add((ran / share.min(1.0)) as u64))
            });
            ends.push(by_time.into_iter().chain(by_amount).min()?);
        }
        ends.into_iter().max().filter(|end| *end > 0)
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

/// The verbs of a clone in the order of its counters.
fn verbs(job: &Job, clone: u32, work: &Work) -> Vec<Verb> {
    let Work::Blocks(blocks) = work else { return vec![Verb::Read] };
    if let Some(recorded) = job.replay.as_ref().and_then(|replay| replay.of_clone(clone)) {
        let mut actions: Vec<(u64, Verb)> = Vec::new();
        for verb in recorded.verbs() {
            let first =
                recorded.actions.iter().filter(|action| action.deed.verb() == verb).map(|a| a.at_ns).min();
            actions.extend(first.map(|at_ns| (at_ns, verb)));
        }
        actions.sort_by_key(|(at_ns, _)| *at_ns);
        return actions.into_iter().map(|(_, verb)| verb).collect();
    }
    match blocks.mix {
        Mix::Only(verb) => vec![verb],
        Mix::TrimWrite => vec![Verb::Trim, Verb::Write],
        _ => vec![Verb::Read, Verb::Write],
    }
}

fn direction(verb: Verb) -> Option<usize> {
    match verb {
        Verb::Read => Some(0),
        Verb::Write | Verb::Commit => Some(1),
        Verb::Trim => Some(2),
        _ => None,
    }
}
