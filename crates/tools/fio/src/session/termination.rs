//! Ends jobs before their work is done: one that is too slow, one that is steady, those that another takes along, busy loops
//! that have nobody left to be busy beside.

use crate::report::{ReportJob, SteadyState};
use crate::steady::SteadyWindow;
use crate::{Job, Planned};
use fathom_record::{Control, Event, EventKind, Interval, Steer, StopReason, Totals};
use fathom_spec::StreamId;

/// EIO: a job was slower than it may be.
const TOO_SLOW: i32 = 5;
/// ECHILD: a command before a job failed.
const COMMAND_FAILED: i32 = 10;
/// How often a steady state is looked at, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// Watches jobs while they run.
pub struct Warden<'a> {
    inner: &'a mut dyn Control,
    jobs: &'a [Job],
    planned: &'a Planned,
    streams: Vec<Stand>,
    floors: Vec<Floor>,
    steady: Vec<Watched>,
    /// What is to be ended at the next slot; `all`: everything, also what has not begun.
    ending: Vec<StreamId>,
    all: bool,
}

/// Where a stream stands.
#[derive(Clone, Copy, Default)]
struct Stand {
    began_ns: Option<u64>,
    ended: bool,
    error: Option<i32>,
}

/// The least that a clone must do.
struct Floor {
    member: usize,
    /// When the present cycle began, and what had been done of each direction by then.
    since_ns: u64,
    before: [(u64, u64); 3],
}

/// A job, or a group of jobs, that ends when it is steady.
struct Watched {
    members: Vec<usize>,
    window: SteadyWindow,
    next_ns: Option<u64>,
    before: (u64, u64),
    done: bool,
}

impl<'a> Warden<'a> {
    /// Watches these jobs, and passes everything on.
    pub fn new(inner: &'a mut dyn Control, jobs: &'a [Job], planned: &'a Planned) -> Self {
        let floors = (0..planned.members.len()).filter(|member| {
            let terms = &jobs[planned.members[*member].job].terms;
            terms.rate_least.iter().chain(&terms.rate_iops_least).any(Option::is_some)
        });
        let floors = floors.map(|member| Floor { member, since_ns: 0, before: [(0, 0); 3] }).collect();
        Warden {
            inner,
            jobs,
            planned,
            streams: vec![Stand::default(); planned.plan.streams.len()],
            floors,
            steady: watched(jobs, planned),
            ending: Vec::new(),
            all: false,
        }
    }

    fn job(&self, member: usize) -> &'a Job {
        &self.jobs[self.planned.members[member].job]
    }

    fn stream(&self, member: usize) -> StreamId {
        self.planned.members[member].stream
    }

    /// What a report must know of what was seen.
    pub fn told(&self, reports: &mut [ReportJob]) {
        let mut told: Vec<(StreamId, SteadyState)> = Vec::new();
        for watched in &self.steady {
            let outcome = watched.window.outcome();
            told.extend(watched.members.iter().map(|member| (self.stream(*member), outcome.clone())));
        }
        for report in reports {
            let Some(stream) = report.streams.first().copied() else { continue };
            report.steady_state = told.iter().find(|(of, _)| *of == stream).map(|(_, state)| state.clone());
            report.error = report.error.or(self.streams[stream.0 as usize].error);
        }
    }

    /// A stream has ended: those that it takes along.
    fn ended(&mut self, stream: StreamId, why: StopReason) {
        let Some(member) = (0..self.planned.members.len()).find(|member| self.stream(*member) == stream)
        else {
            return self.command_ended(stream, why);
        };
        let job = self.job(member);
        self.all |= job.terms.takes_all_on_error && why == StopReason::Fault;
        match job.stop.takes_down {
            Some("all") => self.all = true,
            Some("stonewall") => {
                let running = self.streams.iter().enumerate();
                let running = running.filter(|(_, stand)| stand.began_ns.is_some() && !stand.ended);
                self.ending.extend(running.map(|(number, _)| StreamId(number as u32)));
            }
            _ => {}
        }
    }

    /// A command before a job that failed is a failure of the job, which does nothing then.
    fn command_ended(&mut self, command: StreamId, why: StopReason) {
        for member in (0..self.planned.members.len()).filter(|_| why == StopReason::Fault) {
            let stream = self.stream(member);
            if self.planned.plan.streams[stream.0 as usize].start.after.contains(&command) {
                self.streams[stream.0 as usize].error = Some(COMMAND_FAILED);
                self.ending.push(stream);
            }
        }
    }

    /// Busy loops end with the last job of another kind.
    fn end_the_idle(&mut self) {
        let is_busy = |member: &usize| self.job(*member).engine.name == "cpuio";
        let (busy, others): (Vec<usize>, Vec<usize>) = (0..self.planned.members.len()).partition(is_busy);
        let ended = |member: &usize| self.streams[self.stream(*member).0 as usize].ended;
        if !others.is_empty() && !busy.is_empty() && others.iter().all(ended) {
            let left: Vec<StreamId> =
                busy.iter().filter(|member| !ended(member)).map(|member| self.stream(*member)).collect();
            self.ending.extend(left);
        }
    }

    fn judge_rates(&mut self, now_ns: u64, totals: &[Totals]) {
        let mut floors = std::mem::take(&mut self.floors);
        for floor in &mut floors {
            let (job, stream) = (self.job(floor.member), self.stream(floor.member));
            let stand = &mut self.streams[stream.0 as usize];
            let (Some(began_ns), false, None) = (stand.began_ns, stand.ended, stand.error) else { continue };
            let begins_ns = began_ns.saturating_add(job.stop.ramp.0);
            let Some(total) = totals.iter().find(|total| total.stream == stream) else { continue };
            let mut done = [(0, 0); 3];
            for (verb, counts) in job.direction.verbs.iter().zip(&total.counts) {
                let at = crate::file_layout::column(*verb);
                done[at] = (counts.bytes, counts.operations);
            }
            if floor.since_ns < begins_ns {
                (floor.since_ns, floor.before) = (begins_ns.max(now_ns), done);
                continue;
            }
            let length_ns = now_ns.saturating_sub(floor.since_ns);
            // One I/O may take longer than a cycle: a rate is judged when something has come back, as in fio.
            if length_ns < job.terms.rate_cycle.0 || done == floor.before {
                continue;
            }
            let slow = |count: u64, before: u64, least: Option<u64>| {
                let rate = u128::from(count - before) * u128::from(SECOND_NS) / u128::from(length_ns);
                least.is_some_and(|least| rate < u128::from(least))
            };
            let used = job.direction.verbs.iter().map(|verb| crate::file_layout::column(*verb));
            let fails = used.into_iter().any(|at| {
                let (bytes, operations) = floor.before[at];
                slow(done[at].0, bytes, job.terms.rate_least[at])
                    || slow(done[at].1, operations, job.terms.rate_iops_least[at])
            });
            if fails {
                stand.error = Some(TOO_SLOW);
                self.ending.push(stream);
            }
            (floor.since_ns, floor.before) = (now_ns, done);
        }
        self.floors = floors;
    }

    fn judge_steadiness(&mut self, now_ns: u64, totals: &[Totals]) {
        let mut steady = std::mem::take(&mut self.steady);
        for watched in steady.iter_mut().filter(|watched| !watched.done) {
            let streams: Vec<StreamId> = watched.members.iter().map(|member| self.stream(*member)).collect();
            let begun = streams.iter().filter_map(|stream| self.streams[stream.0 as usize].began_ns).min();
            let (Some(began_ns), Some(first)) = (begun, watched.members.first()) else { continue };
            let sum = totals.iter().filter(|total| streams.contains(&total.stream)).flat_map(|t| t.counts);
            let sum = sum.fold((0, 0), |(bytes, count), c| (bytes + c.bytes, count + c.operations));
            let ramp_ns = self.job(*first).terms.steady.as_ref().map_or(0, |rule| rule.ramp.0);
            let next_ns = *watched.next_ns.get_or_insert(began_ns.saturating_add(ramp_ns));
            if now_ns < next_ns {
                continue;
            }
            // Streams that have ended are in the totals no more: what is left of the group says nothing then.
            let second = (sum.0.saturating_sub(watched.before.0), sum.1.saturating_sub(watched.before.1));
            let is_first = next_ns == began_ns.saturating_add(ramp_ns);
            watched.before = sum;
            watched.next_ns = Some(next_ns + SECOND_NS);
            if !is_first && watched.window.second(second.0, second.1) {
                watched.done = true;
                self.ending.extend(&streams);
            }
        }
        self.steady = steady;
    }
}

/// Jobs that end when they are steady; with group_reporting, those of a group together.
fn watched(jobs: &[Job], planned: &Planned) -> Vec<Watched> {
    let mut all: Vec<Watched> = Vec::new();
    let mut groups: Vec<(fathom_spec::GroupId, usize)> = Vec::new();
    for (number, member) in planned.members.iter().enumerate() {
        let job = &jobs[member.job];
        let Some(rule) = &job.terms.steady else { continue };
        let known = groups.iter().find(|(group, _)| job.report.group && *group == member.group);
        match known {
            Some((_, at)) => all[*at].members.push(number),
            None => {
                if job.report.group {
                    groups.push((member.group, all.len()));
                }
                let window = SteadyWindow::new(rule.clone());
                let members = vec![number];
                all.push(Watched { members, window, next_ns: None, before: (0, 0), done: false });
            }
        }
    }
    all
}

impl Control for Warden<'_> {
    fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::Started(stream) => {
                self.streams[stream.0 as usize].began_ns = Some(event.at_ns);
            }
            EventKind::Stopped(stream, why) => {
                self.streams[stream.0 as usize].ended = true;
                self.ended(*stream, *why);
                self.end_the_idle();
            }
            _ => {}
        }
        self.inner.event(event);
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        let steer = self.inner.slot(now_ns, totals);
        if steer != Steer::Continue {
            return steer;
        }
        self.judge_rates(now_ns, totals);
        self.judge_steadiness(now_ns, totals);
        if std::mem::take(&mut self.all) {
            return Steer::Stop(Vec::new(), StopReason::Told);
        }
        match std::mem::take(&mut self.ending) {
            none if none.is_empty() => Steer::Continue,
            some => Steer::Stop(some, StopReason::Told),
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.inner.interval(interval);
    }
}
