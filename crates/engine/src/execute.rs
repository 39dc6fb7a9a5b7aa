//! Runs a plan on real files and devices: opens the targets, makes a job of every worker, and lets the conductor
//! conduct.

use crate::block_task::Task;
use crate::cpus::{allowed_cpus, place};
use crate::files::OpenTarget;
use crate::history::History;
use crate::logs::Logs;
use crate::mismatches::Mismatches;
use crate::progress::Progresses;
use crate::{copy, memory, open, tasks, virtual_time, worker_features};
use fathom_drive::{Clock, HostSampler, Job, conduct};
use fathom_host::Roots;
use fathom_record::{
    Attachments, Control, Event, EventKind, Execute, ExecuteError, Outcome, Progress, Request, Run,
    StopReason,
};
use fathom_spec::*;
use std::cell::RefCell;
use std::sync::Arc;

/// Runs plans on this host.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    roots: Roots,
}

impl Engine {
    /// An engine that finds /sys, /proc and /dev there.
    pub fn on(roots: Roots) -> Self {
        Engine { roots }
    }
}

impl Execute for Engine {
    fn execute(&mut self, request: Request<'_>, control: &mut dyn Control) -> Result<Outcome, ExecuteError> {
        let Request { plan, permits, disks, attachments } = request;
        memory::check(plan, &self.roots)?;
        if virtual_time::is_asked_for(plan) {
            return virtual_time::execute(plan, control).map(Outcome::of);
        }
        let Attachments { preopened, sinks, recordings, known, history, progress, commands } = attachments;
        let opened = {
            let control = RefCell::new(&mut *control);
            open::open(plan, &self.roots, permits, preopened, &|| control.borrow_mut().goes_on())
        };
        let opened = match opened {
            Err(ExecuteError::Interrupted { .. }) => return Ok(Outcome::of(never_begun(plan, control))),
            opened => opened?,
        };
        let targets: Arc<[OpenTarget]> = opened.targets.into();
        let names = open::names(plan);
        let mut logs = Logs::with(&self.roots, sinks);
        if !commands && plan.streams.iter().any(|stream| matches!(stream.work, Work::Command(_))) {
            return Err(ExecuteError::Plan {
                what: "the plan runs commands, and that is not allowed".to_owned(),
                hint: "allow it if you know what they do".to_owned(),
            });
        }
        let (mismatches, history) = (Mismatches::default(), History::new(history));
        let progresses = Progresses::new(progress);
        let seen =
            Seen { mismatches: &mismatches, history: &history, progresses: &progresses, known: &known };
        let who = (&self.roots, permits);
        let jobs = jobs(plan, (&targets, &names), &recordings, who, &mut logs, seen)?;
        let mut sampler = HostSampler::new(self.roots.clone(), disks);
        let mut run = conduct(plan, jobs, Clock::start(), &mut sampler, control)?;
        for what in logs.close() {
            let event = Event { at_ns: run.length_ns, what };
            control.event(&event);
            run.events.push(event);
        }
        let made = opened.happenings.into_iter().map(|what| Event { at_ns: 0, what });
        run.events.splice(0..0, made);
        let (mismatches, history, progress) = (mismatches.take(), history.take(), progresses.take());
        Ok(Outcome { run, mismatches, history, progress })
    }

    fn another(&self) -> Box<dyn Execute + Send> {
        Box::new(self.clone())
    }
}

/// A run that the user ended before any of its streams began.
fn never_begun(plan: &Plan, control: &mut dyn Control) -> Run {
    let mut run = Run::empty(plan);
    for stream in 0..plan.streams.len() {
        let what = EventKind::Stopped(StreamId(stream as u32), StopReason::Signal);
        let event = Event { at_ns: 0, what };
        control.event(&event);
        run.events.push(event);
    }
    run
}

/// What is kept of a run beside its record, and what is known of an earlier one.
#[derive(Clone, Copy)]
struct Seen<'a> {
    mismatches: &'a Mismatches,
    history: &'a History,
    progresses: &'a Progresses,
    known: &'a [(StreamId, Progress)],
}

fn jobs<'a>(
    plan: &'a Plan,
    (targets, names): (&Arc<[OpenTarget]>, &Arc<Vec<String>>),
    recordings: &[(TargetId, Arc<str>)],
    who: (&Roots, &Permits),
    logs: &mut Logs,
    seen: Seen,
) -> Result<Vec<Job<'a>>, ExecuteError> {
    let cpus = allowed_cpus();
    let workers: u32 = plan.streams.iter().map(|stream| stream.workers).sum();
    let flows = worker_features::flows(plan)?;
    let mut jobs = Vec::with_capacity(workers as usize);
    for (id, stream) in plan.streams.iter().enumerate() {
        if let Work::Copy(copying) = &stream.work {
            jobs.push(copy::job(plan, StreamId(id as u32), copying, targets, names)?);
            continue;
        }
        if matches!(stream.work, Work::Files(_) | Work::Compute { .. } | Work::Command(_)) {
            for worker in 0..stream.workers {
                let cpus = place(&stream.placement, worker, jobs.len(), workers as usize, &cpus);
                jobs.extend(tasks::job(plan, StreamId(id as u32), worker, cpus, who)?);
            }
            continue;
        }
        let mut task = Task::new(plan, id, targets, names, recordings)?;
        task.mismatches = seen.mismatches.clone();
        task.history = seen.history.clone();
        task.progresses = seen.progresses.clone();
        let known = seen.known.iter().filter(|(of, _)| of.0 as usize == id);
        task.known = known.map(|(_, progress)| progress.clone()).collect();
        // One for all: a stream says something of each of its workers, and a copy for each would be their number squared.
        let task = Arc::new(task);
        for (worker, log) in (0..).zip(logs.open(plan, StreamId(id as u32), stream)?) {
            let task = task.clone();
            let features = worker_features::of(plan, id, worker, &task.blocks, &task.verbs, &flows, log);
            jobs.push(Job {
                stream: StreamId(id as u32),
                worker,
                cpus: place(&stream.placement, worker, jobs.len(), workers as usize, &cpus),
                verbs: task.verbs.clone(),
                targets: names.clone(),
                prepare: Box::new(move |seat| task.prepare(seat, worker, features)),
            });
        }
    }
    Ok(jobs)
}
