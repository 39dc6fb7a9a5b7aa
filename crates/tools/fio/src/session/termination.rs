//! Ends jobs before their work is done: one that is too slow, one that is steady, those that another takes along, busy loops
//! that have nobody left to be busy beside.

use super::members::{Done, MemberIndex, Members};
use crate::report::{ReportJob, SteadyState};
use crate::steady::SteadyWindow;
use fathom_record::{Control, Event, EventKind, Interval, Steer, StopReason, Totals};
use fathom_spec::{GroupId, StreamId};

/// EIO: a job was slower than it may be.
const TOO_SLOW: i32 = 5;
/// ECHILD: a command before a job failed.
const COMMAND_FAILED: i32 = 10;
/// How often a steady state is looked at, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// Watches jobs while they run, and ends those that must not go on.
pub struct EarlyStop<'a> {
    inner: &'a mut dyn Control,
    members: &'a Members<'a>,
    /// By the number of the stream.
    streams: Vec<StreamProgress>,
    rates: Vec<MinimumRate>,
    steady: Vec<SteadyJobs>,
    /// What is to be ended at the next slot; `all`: everything, also what has not begun.
    ending: Vec<StreamId>,
    all: bool,
}

/// How far a stream is.
#[derive(Clone, Copy, Default)]
struct StreamProgress {
    began_ns: Option<u64>,
    ended: bool,
    error: Option<i32>,
}

/// The least that a clone must do.
struct MinimumRate {
    member: MemberIndex,
    /// When the present cycle began, and what had been done of each direction by then.
    since_ns: u64,
    before: [Done; 3],
}

/// A job, or a group of jobs, that ends when it is steady.
struct SteadyJobs {
    members: Vec<MemberIndex>,
    window: SteadyWindow,
    next_ns: Option<u64>,
    before: Done,
    done: bool,
}

/// What a report must know of what was seen.
#[derive(Debug, Default, PartialEq)]
pub struct Findings {
    /// The steady states of jobs that were to become steady.
    steady: Vec<(StreamId, SteadyState)>,
    /// The error numbers of jobs that were ended for it.
    errors: Vec<(StreamId, i32)>,
}

impl Findings {
    /// Enters them in the reports of their jobs.
    pub fn complete(&self, reports: &mut [ReportJob]) {
        for report in reports {
            let Some(stream) = report.streams.first().copied() else { continue };
            let steady = self.steady.iter().find(|(of, _)| *of == stream);
            report.steady_state = steady.map(|(_, state)| state.clone());
            let error = self.errors.iter().find(|(of, _)| *of == stream);
            report.error = report.error.or(error.map(|(_, error)| *error));
        }
    }
}

impl<'a> EarlyStop<'a> {
    /// Watches these jobs, and passes everything on.
    pub fn new(inner: &'a mut dyn Control, members: &'a Members<'a>) -> Self {
        let rates = members.indices().filter(|member| {
            let terms = &members.job(*member).terms;
            terms.rate_least.iter().chain(&terms.rate_iops_least).any(Option::is_some)
        });
        let before = [Done::default(); 3];
        let rates = rates.map(|member| MinimumRate { member, since_ns: 0, before }).collect();
        EarlyStop {
            inner,
            members,
            streams: vec![StreamProgress::default(); members.plan().streams.len()],
            rates,
            steady: steady_jobs(members),
            ending: Vec::new(),
            all: false,
        }
    }

    fn progress(&mut self, stream: StreamId) -> &mut StreamProgress {
        &mut self.streams[stream.0 as usize]
    }

    /// What a report must know of what was seen.
    pub fn findings(&self) -> Findings {
        let mut steady = Vec::new();
        for jobs in &self.steady {
            let outcome = jobs.window.outcome();
            steady
                .extend(jobs.members.iter().map(|member| (self.members.stream_id(*member), outcome.clone())));
        }
        let errors = (0..).map(StreamId).zip(&self.streams);
        let errors = errors.filter_map(|(stream, progress)| Some((stream, progress.error?)));
        Findings { steady, errors: errors.collect() }
    }

    /// A stream has ended: those that it takes along.
    fn ended(&mut self, stream: StreamId, why: StopReason) {
        let Some(member) = self.members.of_stream(stream) else {
            return self.command_ended(stream, why);
        };
        let job = self.members.job(member);
        self.all |= job.terms.takes_all_on_error && why == StopReason::Fault;
        match job.stop.takes_down {
            Some("all") => self.all = true,
            Some("stonewall") => {
                let running = (0..).map(StreamId).zip(&self.streams);
                let running = running.filter(|(_, stream)| stream.began_ns.is_some() && !stream.ended);
                self.ending.extend(running.map(|(stream, _)| stream));
            }
            _ => {}
        }
    }

    /// A command before a job that failed is a failure of the job, which does nothing then.
    fn command_ended(&mut self, command: StreamId, why: StopReason) {
        for member in self.members.indices().filter(|_| why == StopReason::Fault) {
            if self.members.stream(member).start.after.contains(&command) {
                let stream = self.members.stream_id(member);
                self.progress(stream).error = Some(COMMAND_FAILED);
                self.ending.push(stream);
            }
        }
    }

    /// Busy loops end with the last job of another kind.
    fn end_the_idle(&mut self) {
        let members = self.members;
        let is_busy = |member: &MemberIndex| members.job(*member).engine.name == "cpuio";
        let (busy, others): (Vec<_>, Vec<_>) = members.indices().partition(is_busy);
        let ended = |member: &MemberIndex| self.streams[members.stream_id(*member).0 as usize].ended;
        if !others.is_empty() && !busy.is_empty() && others.iter().all(ended) {
            let left: Vec<StreamId> = busy
                .iter()
                .filter(|member| !ended(member))
                .map(|member| members.stream_id(*member))
                .collect();
            self.ending.extend(left);
        }
    }

    fn judge_rates(&mut self, now_ns: u64, totals: &[Totals]) {
        for rate in &mut self.rates {
            let (job, stream) = (self.members.job(rate.member), self.members.stream_id(rate.member));
            let progress = &mut self.streams[stream.0 as usize];
            let (Some(began_ns), false, None) = (progress.began_ns, progress.ended, progress.error) else {
                continue;
            };
            let begins_ns = began_ns.saturating_add(job.stop.ramp.0);
            let Some(total) = totals.iter().find(|total| total.stream == stream) else { continue };
            let done = self.members.done(rate.member, total);
            if rate.since_ns < begins_ns {
                (rate.since_ns, rate.before) = (begins_ns.max(now_ns), done);
                continue;
            }
            let length_ns = now_ns.saturating_sub(rate.since_ns);
            // One I/O may take longer than a cycle: a rate is judged when something has come back, as in fio.
            if length_ns < job.terms.rate_cycle.0 || done == rate.before {
                continue;
            }
            let slow = |count: u64, before: u64, least: Option<u64>| {
                let rate = u128::from(count - before) * u128::from(SECOND_NS) / u128::from(length_ns);
                least.is_some_and(|least| rate < u128::from(least))
            };
            // A half of a mix of which nothing is planned cannot be too slow.
            let directions = self.members.directions(rate.member);
            let fails = (0..3).filter(|at| directions[*at]).any(|at| {
                let (done, before) = (done[at], rate.before[at]);
                slow(done.bytes, before.bytes, job.terms.rate_least[at])
                    || slow(done.operations, before.operations, job.terms.rate_iops_least[at])
            });
            if fails {
                progress.error = Some(TOO_SLOW);
                self.ending.push(stream);
            }
            (rate.since_ns, rate.before) = (now_ns, done);
        }
    }

    fn judge_steadiness(&mut self, now_ns: u64, totals: &[Totals]) {
        for jobs in self.steady.iter_mut().filter(|jobs| !jobs.done) {
            let streams: Vec<StreamId> =
                jobs.members.iter().map(|member| self.members.stream_id(*member)).collect();
            let begun = streams.iter().filter_map(|stream| self.streams[stream.0 as usize].began_ns).min();
            let (Some(began_ns), Some(first)) = (begun, jobs.members.first()) else { continue };
            let mut sum = Done::default();
            for counts in totals.iter().filter(|total| streams.contains(&total.stream)).flat_map(|t| t.counts)
            {
                sum.bytes += counts.bytes;
                sum.operations += counts.operations;
            }
            let ramp_ns = self.members.job(*first).terms.steady.as_ref().map_or(0, |rule| rule.ramp.0);
            let next_ns = *jobs.next_ns.get_or_insert(began_ns.saturating_add(ramp_ns));
            if now_ns < next_ns {
                continue;
            }
            // Streams that have ended are in the totals no more: what is left of the group says nothing then.
            let bytes = sum.bytes.saturating_sub(jobs.before.bytes);
            let operations = sum.operations.saturating_sub(jobs.before.operations);
            let is_first = next_ns == began_ns.saturating_add(ramp_ns);
            jobs.before = sum;
            jobs.next_ns = Some(next_ns + SECOND_NS);
            if !is_first && jobs.window.second(bytes, operations) {
                jobs.done = true;
                self.ending.extend(&streams);
            }
        }
    }
}

/// Jobs that end when they are steady; with group_reporting, those of a group together.
fn steady_jobs(members: &Members<'_>) -> Vec<SteadyJobs> {
    let mut all: Vec<SteadyJobs> = Vec::new();
    let mut groups: Vec<(GroupId, usize)> = Vec::new();
    for index in members.indices() {
        let (job, own) = (members.job(index), members.get(index).group);
        let Some(rule) = &job.terms.steady else { continue };
        let known = groups.iter().find(|(group, _)| job.report.group && *group == own);
        match known {
            Some((_, at)) => all[*at].members.push(index),
            None => {
                if job.report.group {
                    groups.push((own, all.len()));
                }
                all.push(SteadyJobs {
                    members: vec![index],
                    window: SteadyWindow::new(rule.clone()),
                    next_ns: None,
                    before: Done::default(),
                    done: false,
                });
            }
        }
    }
    all
}

impl Control for EarlyStop<'_> {
    fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::Started(stream) => {
                self.progress(*stream).began_ns = Some(event.at_ns);
            }
            EventKind::Stopped(stream, why) => {
                self.progress(*stream).ended = true;
                self.ended(*stream, *why);
                self.end_the_idle();
            }
            _ => {}
        }
        self.inner.event(event);
    }

    fn goes_on(&mut self) -> bool {
        self.inner.goes_on()
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

#[cfg(test)]
mod tests {
    use super::super::members::fixture::{jobs, planned, totals};
    use super::*;
    use fathom_spec::Verb;

    const MS: u64 = 1_000_000;

    /// What the watcher answers in each slot, and what it found.
    fn watch(words: &str, slots: &[(u64, &[EventKind], &[Totals])]) -> (Vec<Steer>, Findings) {
        let jobs = jobs(words);
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let mut nobody = ();
        let mut early_stop = EarlyStop::new(&mut nobody, &members);
        let mut steers = Vec::new();
        for (at_ms, events, totals) in slots {
            for what in *events {
                early_stop.event(&Event { at_ns: at_ms * MS, what: what.clone() });
            }
            steers.push(early_stop.slot(at_ms * MS, totals));
        }
        (steers, early_stop.findings())
    }

    fn started(stream: u32) -> EventKind {
        EventKind::Started(StreamId(stream))
    }

    fn stopped(stream: u32, why: StopReason) -> EventKind {
        EventKind::Stopped(StreamId(stream), why)
    }

    fn stop(streams: &[u32]) -> Steer {
        Steer::Stop(streams.iter().copied().map(StreamId).collect(), StopReason::Told)
    }

    fn failed(stream: u32, error: i32) -> Findings {
        Findings { steady: Vec::new(), errors: vec![(StreamId(stream), error)] }
    }

    /// The writes of a mix without reads stand in the first cell, and were taken for reads: a job that wrote fast enough was
    /// ended for not writing.
    #[test]
    fn the_rate_of_writes_is_judged_where_a_mix_has_no_reads() {
        let words = "--ioengine=null --size=1m --bs=1k --name=a --rw=rw --rwmixread=0 --rate_cycle=1000";
        let writes = |count| [totals(0, &[(Verb::Write, count)])];
        let slots: [(u64, &[EventKind], &[Totals]); 3] =
            [(0, &[started(0)], &writes(0)), (1000, &[], &writes(150)), (2000, &[], &writes(210))];
        for least in ["--rate_iops_min=,100", "--rate_iops_min=100", "--rate_min=,100k"] {
            let (steers, findings) = watch(&format!("{words} {least}"), &slots);
            assert_eq!(steers, [Steer::Continue, Steer::Continue, stop(&[0])], "{least}");
            assert_eq!(findings, failed(0, TOO_SLOW), "{least}");
        }
        let (steers, findings) = watch(&format!("{words} --rate_iops_min=,50"), &slots);
        assert_eq!((steers.contains(&stop(&[0])), findings), (false, Findings::default()));
    }

    #[test]
    fn a_rate_is_judged_once_a_cycle_after_the_ramp_and_when_something_has_come_back() {
        let words =
            "--ioengine=null --size=1m --bs=1k --name=a --ramp_time=1 --rate_cycle=500 --rate_iops_min=100";
        let reads = |count| [totals(0, &[(Verb::Read, count)])];
        let (steers, findings) = watch(
            words,
            &[
                (0, &[started(0)], &reads(0)),
                (1000, &[], &reads(1)),
                (1400, &[], &reads(2)),
                (1500, &[], &reads(51)),
                (2500, &[], &reads(51)),
                (3000, &[], &reads(52)),
            ],
        );
        let go_on = || Steer::Continue;
        assert_eq!(steers, [go_on(), go_on(), go_on(), go_on(), go_on(), stop(&[0])]);
        assert_eq!(findings, failed(0, TOO_SLOW));
    }

    #[test]
    fn a_command_that_fails_ends_its_job_before_it_begins() {
        let words = "--allow-exec --ioengine=null --size=64k --name=a --exec_prerun=true --name=b --exec_prerun=false";
        let (steers, findings) = watch(
            words,
            &[
                (10, &[started(0), started(2)], &[]),
                (20, &[stopped(0, StopReason::Finished), started(1)], &[]),
                (30, &[stopped(2, StopReason::Fault)], &[]),
            ],
        );
        assert_eq!(steers, [Steer::Continue, Steer::Continue, stop(&[3])]);
        assert_eq!(findings, failed(3, COMMAND_FAILED));
    }

    #[test]
    fn a_busy_loop_ends_with_the_last_job_of_another_kind() {
        let words = "--name=busy --ioengine=cpuio --cpuload=10 --name=io --ioengine=null --size=64k";
        let (steers, _) = watch(
            words,
            &[(10, &[started(0), started(1)], &[]), (20, &[stopped(1, StopReason::Finished)], &[])],
        );
        assert_eq!(steers, [Steer::Continue, stop(&[0])]);
    }

    #[test]
    fn a_job_takes_all_others_along_or_those_that_run() {
        let words = "--ioengine=null --size=64k --name=a --exitall --exit_what=";
        let rest = "--name=b --new_group --name=c --stonewall";
        let slots: [(u64, &[EventKind], &[Totals]); 2] =
            [(10, &[started(0), started(1)], &[]), (20, &[stopped(0, StopReason::Finished)], &[])];
        assert_eq!(watch(&format!("{words}all {rest}"), &slots).0, [Steer::Continue, stop(&[])]);
        assert_eq!(watch(&format!("{words}stonewall {rest}"), &slots).0, [Steer::Continue, stop(&[1])]);
    }

    #[test]
    fn a_job_ends_when_its_seconds_are_alike() {
        let words = "--ioengine=null --size=1m --bs=1k --name=a --ss=iops:10% --ss_dur=3";
        let counts = [0, 90, 190, 291, 390];
        let totals: Vec<[Totals; 1]> =
            counts.iter().map(|count| [totals(0, &[(Verb::Read, *count)])]).collect();
        let began = [started(0)];
        let slots: Vec<(u64, &[EventKind], &[Totals])> = (0..)
            .zip(&totals)
            .map(|(second, totals)| (second * 1000, if second == 0 { &began[..] } else { &[] }, &totals[..]))
            .collect();
        let (steers, findings) = watch(words, &slots);
        let ended = steers.iter().position(|steer| *steer == stop(&[0]));
        assert_eq!(ended, Some(3), "{steers:?}");
        assert!(findings.steady[0].1.attained, "{findings:?}");
    }
}
