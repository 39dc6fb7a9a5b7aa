//! Work that is done one act at a time by the serial loop: files made, opened, looked at and removed; CPU time; commands.

mod command;
mod compute;
mod files;
mod names;

use crate::thread_attributes;
use crate::worker_maker::pace;
use fathom_drive::{
    Begin, Job, Perform, Recorder, Seat, Serial, SerialParts, WorkerOutcome, run_serial, worker_seed,
};
use fathom_host::Roots;
use fathom_record::{CELLS, ExecuteError};
use fathom_spec::Permits;
use fathom_spec::*;
use std::sync::Arc;

/// The job of one worker of a stream whose work is serial; `None` for all other work.
pub(crate) fn job<'a>(
    plan: &Plan,
    id: StreamId,
    worker: u32,
    cpus: Vec<usize>,
    (roots, permits): (&Roots, &Permits),
) -> Result<Option<Job<'a>>, ExecuteError> {
    let stream = &plan.streams[id.0 as usize];
    check(stream)?;
    let task = Task { stream: stream.clone(), seed: worker_seed(plan.seed, worker) };
    let (verbs, prepare): (Vec<Verb>, fathom_drive::Prepare<'a>) = match &stream.work {
        Work::Files(files) => {
            let mut verbs = files.verbs.clone();
            verbs.extend(ends_with_sync(stream).then_some(Verb::Sync));
            if verbs.len() > CELLS {
                return Err(refuse(format!("a stream has at most {CELLS} verbs")));
            }
            let work = files::Filing::new(files, id, worker, stream, task.seed, (roots, permits))?;
            (verbs, Box::new(move |seat| task.with(work, seat)))
        }
        Work::Compute { share, chunk, sorts } => {
            let (share, chunk, sorts) = (*share, *chunk, *sorts);
            let prepare = move |seat: &Seat| {
                let operations = task.stream.stop.operations;
                let work = compute::Computing::new((share, chunk, sorts), operations, seat.clock);
                task.with(work, seat)
            };
            (vec![Verb::Compute], Box::new(prepare))
        }
        Work::Command(wanted) => {
            let work = command::Running::new(wanted.as_ref().clone(), id, roots);
            (vec![Verb::Compute], Box::new(move |seat| task.with(work, seat)))
        }
        _ => return Ok(None),
    };
    Ok(Some(Job { stream: id, worker, cpus, verbs, targets: Arc::default(), prepare }))
}

fn refuse(what: String) -> ExecuteError {
    ExecuteError::Plan { what, hint: "describe the load without it".to_owned() }
}

/// Is the file system made durable after the last file?
pub(crate) fn ends_with_sync(stream: &Stream) -> bool {
    stream.after_last.iter().any(|kind| *kind != SyncKind::None)
}

/// What a serial stream must not ask for, because nothing would come of it.
fn check(stream: &Stream) -> Result<(), ExecuteError> {
    let serial = matches!(stream.work, Work::Files(_) | Work::Compute { .. } | Work::Command(_));
    let asks = stream.depth.most() > 1
        || stream.keep.submit
        || stream.keep.completion
        || stream.keep.log.is_some()
        || (!stream.after_last.is_empty() && !matches!(stream.work, Work::Files(_)))
        || stream.stop.bytes.is_some()
        || !stream.errors.latency_most.is_empty()
        || matches!(stream.arrival, Arrival::Recorded { .. } | Arrival::Closed { think: Some(_) });
    match serial && asks {
        true => Err(refuse(
            "work on files, of the CPU and of commands knows neither depth, submission, log, think time nor a limit in bytes or of latency, and only work on files end syncs"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// What all serial work of a worker has in common.
struct Task {
    stream: Stream,
    seed: u64,
}

impl Task {
    fn with<S: Serial + 'static>(self, work: S, seat: &Seat) -> Result<Perform, ExecuteError> {
        seat.queue("system calls, one at a time".to_owned());
        let held = thread_attributes::take(&self.stream.thread)?;
        Ok(Box::new(move |seat, begin| {
            let outcome = self.perform(work, seat, begin);
            drop(held);
            outcome
        }))
    }

    fn perform<S: Serial>(self, work: S, seat: &Seat, begin: Begin) -> WorkerOutcome {
        let verbs: Vec<Verb> = begin.interval.cells.iter().map(|cell| cell.0).collect();
        let time = self.stream.stop.time;
        run_serial(SerialParts {
            work,
            pace: pace(&self.stream.arrival, &verbs, begin.at_ns, self.seed),
            recorder: Recorder::new(begin.interval, begin.frame, Some(begin.outbox), seat.published.clone()),
            clock: seat.clock,
            until_ns: time.map_or(u64::MAX, |time| begin.at_ns.saturating_add(time.0)),
            steering: &seat.steering,
            published: seat.published.clone(),
        })
    }
}
