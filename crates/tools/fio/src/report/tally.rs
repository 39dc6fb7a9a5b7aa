//! A job's figures, taken from the run; merging them is group reporting.
//!
//! fio tells `slat` (until the submission returned), `clat` (from there to the completion) and `lat` (both). A run keeps
//! each of them for each I/O where the engine tells the submission apart; elsewhere `clat` is the whole.

use super::at_priority::{self, AtPriority};
use super::buckets::Classes;
use super::job::{ReportJob, Unified, UntoldSyncs};
use fathom_record::{
    CELLS, Cell, Counter, Counts, EventKind, Interval, Latency, Run, SampleOf, StopReason, WorkerTotals,
};
use fathom_spec::{StreamId, Verb, Window};

/// The directions in fio's order.
pub const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// What was done in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Operations that completed in full.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Operations that moved fewer bytes than asked.
    pub short: u64,
    /// Operations that failed.
    pub failed: u64,
    /// How long the job ran in it, ms; of a group the longest.
    pub runtime_ms: u64,
    /// Until the submission returned, ns.
    pub slat: Latency,
    /// From there to the completion, ns.
    pub clat: Latency,
    /// Both together, ns.
    pub lat: Latency,
    /// From the intended start to the completion, ns, where it is kept.
    pub response: Latency,
    /// `clat` or `lat` of each priority, where several may occur.
    pub priorities: Vec<AtPriority>,
    /// KiB a second, sampled.
    pub bandwidth: Series,
    /// I/Os a second, sampled.
    pub iops: Series,
}

/// Samples of a rate, one for each stretch of equal length. Merging adds them up stretch by stretch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The samples.
    pub values: Vec<f64>,
    /// How many were taken; more than there are values where several jobs were added up.
    pub samples: u64,
}

impl Series {
    fn of(values: Vec<f64>, members: u32) -> Self {
        Series { samples: values.len() as u64 * u64::from(members.max(1)), values }
    }

    /// Adds another's to these.
    pub fn merge(&mut self, other: &Series) {
        let Series { values, samples } = other;
        if self.values.len() < values.len() {
            self.values.resize(values.len(), 0.0);
        }
        self.values.iter_mut().zip(values).for_each(|(mine, theirs)| *mine += theirs);
        self.samples += samples;
    }

    /// The smallest; 0 when there is none.
    pub fn least(&self) -> u64 {
        self.values.iter().copied().reduce(f64::min).unwrap_or(0.0) as u64
    }

    /// The largest.
    pub fn most(&self) -> u64 {
        self.values.iter().copied().reduce(f64::max).unwrap_or(0.0) as u64
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        if self.values.is_empty() { 0.0 } else { self.values.iter().sum::<f64>() / self.values.len() as f64 }
    }

    /// The standard deviation of a sample.
    pub fn deviation(&self) -> f64 {
        if self.values.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.values.len() - 1) as f64).sqrt()
    }
}

impl Direction {
    /// Bytes a second over its runtime.
    pub fn bytes_per_second(&self) -> u64 {
        if self.runtime_ms == 0 {
            0
        } else {
            (u128::from(self.bytes) * 1000 / u128::from(self.runtime_ms)) as u64
        }
    }

    /// I/Os a second over its runtime.
    pub fn operations_per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { self.operations as f64 * 1000.0 / self.runtime_ms as f64 }
    }

    /// Adds another's to these.
    pub fn merge(&mut self, other: &Direction) {
        let Direction {
            operations,
            bytes,
            short,
            failed,
            runtime_ms,
            slat,
            clat,
            lat,
            response,
            priorities,
            bandwidth,
            iops,
        } = other;
        self.operations += operations;
        self.bytes += bytes;
        self.short += short;
        self.failed += failed;
        self.runtime_ms = self.runtime_ms.max(*runtime_ms);
        self.slat.merge(slat);
        self.clat.merge(clat);
        self.lat.merge(lat);
        self.response.merge(response);
        at_priority::merge(&mut self.priorities, priorities);
        self.bandwidth.merge(bandwidth);
        self.iops.merge(iops);
    }
}

/// Syncs in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncTally {
    /// How many.
    pub operations: u64,
    /// How long they took, ns.
    pub lat: Latency,
}

/// All figures of a job, or of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Reads, writes, trims.
    pub directions: [Direction; 3],
    /// Syncs.
    pub sync: SyncTally,
    /// How many jobs it is.
    pub members: u32,
    /// How long they ran, ms, added up.
    pub runtime_ms: u64,
    /// CPU time in user mode, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// Context switches.
    pub switches: u64,
    /// Page faults that needed I/O, and those that did not.
    pub page_faults: (u64, u64),
    /// Submissions at a depth of 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 and more.
    pub depths: [u64; 7],
    /// Submissions of 0, 1-4, 5-8, 9-16, 17-32, 33-64 and more operations at a time.
    pub submitted: [u64; 7],
    /// Completions taken 0, 1-4, 5-8 ... at a time.
    pub completed: [u64; 7],
    /// Did the job begin, or one of the group's?
    pub began: bool,
    /// Operations that failed.
    pub errors: u64,
    /// The first error; 0 when there was none.
    pub first_error: i32,
    /// Jobs that an error ended, or in which one happened that was not to be passed over.
    pub failed_jobs: u32,
    /// Were errors passed over by a job that counts them? The first of them is told as its error, and it did not fail.
    pub passed: bool,
}

/// The error that says that what was read is not what was written: EILSEQ, as fio has it.
const MISMATCH: i32 = 84;
/// The error of a short transfer that was not made good: EIO.
const SHORT: i32 = 5;

impl Tally {
    /// What one job did.
    pub fn of(run: &Run, job: &ReportJob) -> Self {
        let mut tally = Tally { members: job.members.max(1), ..Tally::default() };
        for stream in &job.streams {
            let workers: Vec<&WorkerTotals> = run.workers.iter().filter(|w| w.stream == *stream).collect();
            tally.take_workers(run, *stream, &workers);
            if let Some(all) = run.merged(*stream) {
                tally.take_interval(run, job, &all, &workers);
            }
            tally.take_errors(run, *stream, job);
        }
        if job.verify_only {
            let (operations, bytes) = (tally.directions[0].operations, tally.directions[0].bytes);
            (tally.directions[1].operations, tally.directions[1].bytes) = (operations, bytes);
        }
        if let Some(error) = job.error {
            tally.first_error = error;
            tally.failed_jobs = u32::from(error != 0);
        }
        tally
    }

    fn take_workers(&mut self, run: &Run, stream: StreamId, workers: &[&WorkerTotals]) {
        self.began |= !workers.is_empty();
        for worker in workers {
            let WorkerTotals { span_ns, user_ns, system_ns, ended, .. } = worker;
            self.runtime_ms += runtime_ms(run, stream, *span_ns);
            self.user_ns += user_ns;
            self.system_ns += system_ns;
            self.failed_jobs |= u32::from(*ended == StopReason::Fault);
            let of = SampleOf::Worker { stream, worker: worker.worker };
            for sample in run.samples.iter().filter(|sample| sample.of == of) {
                match &sample.name {
                    Counter::Submitted(class) => self.submitted[class.0] += sample.value,
                    Counter::Completed(class) => self.completed[class.0] += sample.value,
                    name if *name == "context_switches" => self.switches += sample.value,
                    name if *name == "major_faults" => self.page_faults.0 += sample.value,
                    name if *name == "minor_faults" => self.page_faults.1 += sample.value,
                    Counter::Named(_) => {}
                }
            }
        }
    }

    fn take_interval(&mut self, run: &Run, job: &ReportJob, all: &Interval, workers: &[&WorkerTotals]) {
        let stream = all.stream;
        let longest = |span: &dyn Fn(&WorkerTotals) -> (u64, u64)| {
            workers.iter().map(|worker| runtime_ms(run, stream, span(worker))).max().unwrap_or(0)
        };
        let runtime = longest(&|worker| worker.span_ns);
        let turned = |worker: &WorkerTotals| reads_back(run, stream, worker.worker);
        // fio counts a direction's time: what was written is read again in a time of its own.
        let of_writes = longest(&|w| (w.span_ns.0, turned(w).unwrap_or(w.span_ns.1)));
        let reads_too = job.rw.contains("read") || job.rw.ends_with("rw");
        let of_reads = match reads_too {
            true => runtime,
            false => longest(&|w| (turned(w).unwrap_or(w.span_ns.0), w.span_ns.1)),
        };
        for (class, count) in all.outstanding.iter().enumerate() {
            self.depths[class.min(6)] += count;
        }
        for (at, (verb, cell)) in all.cells.iter().enumerate().take(CELLS) {
            let counts = all.counts(at);
            let service = cell.service.as_deref();
            if *verb == Verb::Sync {
                if job.ends_in_sync && at + 1 == all.cells.len() {
                    // It was done with nothing else outstanding.
                    self.depths[0] = self.depths[0].saturating_sub(counts.operations);
                    continue;
                }
                let told = job.untold_syncs == UntoldSyncs::None;
                self.sync.operations += if told { counts.operations } else { 0 };
                service.into_iter().for_each(|lat| self.sync.lat.merge(lat));
                continue;
            }
            // Chunks of CPU time are reads of nothing, which take no time.
            if *verb == Verb::Compute {
                self.directions[0].operations += counts.operations;
            }
            let Some(direction) = direction_of(*verb) else { continue };
            let mut one = direction_figures(job, &counts, cell);
            one.priorities = at_priority::kept(job, all, *verb);
            if let Some(bytes) = job.bytes_each {
                one.bytes = one.operations * bytes;
            }
            let time = if *verb == Verb::Read { of_reads } else { of_writes };
            one.runtime_ms = if counts.operations + u64::from(counts.errors) > 0 { time } else { 0 };
            cell.response.iter().for_each(|response| one.response.merge(response));
            if !job.without_bandwidth {
                let windows = windows(all, at, job.sample_ns, run.plan.slot.0, runtime);
                let seconds = job.sample_ns as f64 / 1e9;
                let rates = |of: fn(&Counts) -> f64| {
                    Series::of(windows.iter().map(|c| of(c) / seconds).collect(), job.members)
                };
                one.bandwidth = rates(|counts| counts.bytes as f64 / 1024.0);
                one.iops = rates(|counts| counts.operations as f64);
            }
            let mine = &mut self.directions[direction];
            let before = mine.runtime_ms;
            one.bandwidth.values.splice(0..0, std::iter::repeat_n(0.0, mine.bandwidth.values.len()));
            one.iops.values.splice(0..0, std::iter::repeat_n(0.0, mine.iops.values.len()));
            mine.merge(&one);
            mine.runtime_ms = before + one.runtime_ms;
        }
    }

    fn take_errors(&mut self, run: &Run, stream: StreamId, job: &ReportJob) {
        for event in &run.events {
            let (error, times, ends) = match &event.what {
                EventKind::Fault { stream: of, verb, errno, times, .. } if *of == stream => {
                    let error = if *errno == 0 { SHORT } else { *errno };
                    (error, *times, job.excused.ends(*verb, -error))
                }
                EventKind::Mismatch { stream: of, .. } if *of == stream => {
                    (MISMATCH, 1, job.excused.ends_check())
                }
                _ => continue,
            };
            self.errors += times;
            self.failed_jobs |= u32::from(ends && !job.continue_on_error);
            self.passed |= job.continue_on_error;
            if self.first_error == 0 {
                self.first_error = error;
            }
        }
    }

    /// Was nothing done at all, and did nothing fail?
    pub fn is_of_nothing(&self) -> bool {
        let nothing = |each: &Direction| each.operations + each.short + each.failed == 0;
        self.runtime_ms == 0
            && self.errors == 0
            && self.failed_jobs == 0
            && self.directions.iter().all(nothing)
    }

    /// The error number that the job reports, also of those that were passed over and counted; 0: none.
    pub fn error(&self) -> i32 {
        if self.failed_jobs > 0 || self.passed { self.first_error } else { 0 }
    }

    /// Adds another's to these: group reporting.
    pub fn merge(&mut self, other: &Tally) {
        let Tally {
            directions,
            sync: SyncTally { operations, lat },
            members,
            runtime_ms,
            user_ns,
            system_ns,
            switches,
            page_faults,
            depths,
            submitted,
            completed,
            began,
            errors,
            first_error,
            failed_jobs,
            passed,
        } = other;
        self.directions.iter_mut().zip(directions).for_each(|(mine, theirs)| mine.merge(theirs));
        self.sync.operations += operations;
        self.sync.lat.merge(lat);
        self.members += members;
        self.runtime_ms += runtime_ms;
        self.user_ns += user_ns;
        self.system_ns += system_ns;
        self.switches += switches;
        self.page_faults.0 += page_faults.0;
        self.page_faults.1 += page_faults.1;
        for (mine, theirs) in
            [(&mut self.depths, depths), (&mut self.submitted, submitted), (&mut self.completed, completed)]
        {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.began |= began;
        self.errors += errors;
        if self.first_error == 0 {
            self.first_error = *first_error;
        }
        self.failed_jobs += failed_jobs;
        self.passed |= passed;
    }

    /// Reads, writes and trims as one.
    pub fn mixed(&self) -> Direction {
        let mut all = self.directions[0].clone();
        self.directions[1..].iter().for_each(|direction| all.merge(direction));
        all
    }

    /// Operations of all directions.
    pub fn operations(&self) -> u64 {
        self.directions.iter().map(|direction| direction.operations).sum()
    }

    /// Completion latencies of all directions by class.
    pub fn classes(&self) -> Classes {
        let mut classes = Classes::default();
        self.directions.iter().for_each(|direction| classes.add(&direction.clat));
        classes
    }
}

/// The directions that a job reports, with their names.
pub fn directions(tally: &Tally, unified: Unified) -> Vec<(&'static str, Direction)> {
    let apart = || DIRECTIONS.into_iter().zip(tally.directions.clone());
    match unified {
        Unified::Apart => apart().collect(),
        Unified::Mixed => vec![("mixed", tally.mixed())],
        Unified::Both => apart().chain([("mixed", tally.mixed())]).collect(),
    }
}

/// The index of a verb's direction; files that are made, looked at or removed count as reads, as fio counts them.
pub fn direction_of(verb: Verb) -> Option<usize> {
    match verb {
        Verb::Read | Verb::Create | Verb::Open | Verb::Stat | Verb::Delete => Some(0),
        Verb::Write | Verb::Commit => Some(1),
        Verb::Trim => Some(2),
        Verb::Sync | Verb::Compute | Verb::Select | Verb::Update | Verb::Scan => None,
    }
}

fn direction_figures(job: &ReportJob, counts: &Counts, cell: &Cell) -> Direction {
    let (submit, service) = (cell.submit.as_deref(), cell.service.as_deref());
    let Counts { operations, bytes, latency_sum_ns: _, errors, short } = *counts;
    let mut direction = Direction {
        operations,
        bytes,
        short: u64::from(short),
        failed: u64::from(errors.saturating_sub(short)),
        ..Direction::default()
    };
    let Some(lat) = service.filter(|lat| lat.count > 0) else { return direction };
    let slat = match submit.filter(|submit| submit.count > 0) {
        Some(submit) => submit.clone(),
        None => nothing(lat.count),
    };
    if !job.disabled.clat {
        direction.clat = cell.completion.as_deref().unwrap_or(lat).clone();
    }
    if !job.disabled.lat {
        direction.lat = lat.clone();
    }
    if job.asynchronous && !job.disabled.slat {
        direction.slat = slat;
    }
    direction
}

/// So many latencies of 0: a submission that the engine does not tell from the completion.
fn nothing(count: u64) -> Latency {
    let mut latency = Latency { count, min_ns: 0, ..Latency::default() };
    if let Some(bins) = &mut latency.bins {
        bins.add_many(0, count.min(u64::from(u32::MAX)) as u32);
    }
    latency
}

/// When a worker had written everything and began to read it again, ns since the run's start.
fn reads_back(run: &Run, of: StreamId, number: u32) -> Option<u64> {
    run.events.iter().find_map(|event| match event.what {
        EventKind::ReadsBack { stream, worker, since_ns } if (stream, worker) == (of, number) => {
            Some(since_ns)
        }
        _ => None,
    })
}

/// How long a worker ran, ms, a ramp left out; at least 1 when it did anything.
fn runtime_ms(run: &Run, stream: StreamId, (from, to): (u64, u64)) -> u64 {
    let window = run.plan.streams.get(stream.0 as usize).map(|stream| stream.window);
    let ramp = match window {
        Some(Window::After(ramp)) => ramp.0,
        _ => 0,
    };
    let length = to.saturating_sub(from).saturating_sub(ramp);
    if to == 0 { 0 } else { length.div_ceil(1_000_000).max(1) }
}

/// A cell's counters in whole stretches of `length_ns`, as many as the runtime holds.
pub(crate) fn windows(
    all: &Interval,
    cell: usize,
    length_ns: u64,
    slot_ns: u64,
    runtime_ms: u64,
) -> Vec<Counts> {
    let slots = (length_ns / slot_ns.max(1)).max(1) as usize;
    let whole = (runtime_ms * 1_000_000 / length_ns.max(1)) as usize;
    let sum = |part: &[[Counts; CELLS]]| {
        part.iter().fold(Counts::default(), |mut sum, slot| {
            sum.merge(&slot[cell]);
            sum
        })
    };
    all.slots.chunks(slots).take(whole).map(sum).collect()
}
