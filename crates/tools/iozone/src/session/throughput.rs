//! Throughput mode: phase by phase, a worker for each file.

use super::{Job, excel, note, print, seconds, seed};
use crate::{self as iozone, Child, Phase, Test};
use fathom_engine::Engine;
use fathom_record::{Load, Note, Purpose, Run};
use fathom_session::step::Steps;
use fathom_spec::{StreamId, Verb};
use std::io::Write;

/// From this share of the files on the page cache has answered.
const HELD: f64 = 0.5;

/// Measures and prints.
pub(super) fn measure(
    job: &Job<'_>,
    engine: &mut Engine,
    steps: &mut Steps,
    notes: &mut Vec<Note>,
) -> Result<(), String> {
    let options = job.options;
    let file = options.one_row().0;
    print(|out| iozone::beginning(options, out));
    let (mut phases, mut reading, mut cached) = (Vec::new(), 0, 0);
    for test in iozone::phases(options) {
        job.files.iter().for_each(|file| file.prepare(test));
        if job.reads_through_the_cache(test) {
            reading += 1;
            cached += u32::from(held(job, file).is_some_and(|share| share >= HELD));
        }
        let mut run = job.execute(&iozone::plan_together(options, test, seed()), engine)?;
        run.name = format!("{} of {} workers", test.title(), job.files.len());
        run.load = Load { small: job.files.len() as u32, large: 0 };
        let judged = job.judge(&run);
        let phase = seen(test, &run, job.files.len());
        steps.record.runs.push(run);
        judged?;
        print(|out| iozone::block(options, &phase, out));
        if test.begins_anew() {
            finish(job, &phase, engine, &mut steps.record.runs)?;
        }
        phases.push(phase);
        steps.save();
    }
    print(|out| writeln!(out, "\n\n\niozone test complete."));
    excel(options, |out| iozone::excel_together(options, &phases, out))?;
    if cached > 0 {
        let text = format!("the page cache held the files of {cached} of {reading} reading phases");
        notes.push(note(text, "-I goes past the page cache"));
    }
    notes.extend(stopped(&phases, file));
    Ok(())
}

/// The share of all files that the page cache holds.
fn held(job: &Job<'_>, length: u64) -> Option<f64> {
    let shares: Option<Vec<f64>> = job.files.iter().map(|file| file.cached(length)).collect();
    shares.map(|shares| shares.iter().sum::<f64>() / shares.len().max(1) as f64)
}

/// What each worker did: the stream with its number.
fn seen(test: Test, run: &Run, workers: usize) -> Phase {
    let child = |number: usize| {
        let worker = run.workers.iter().find(|worker| worker.stream == StreamId(number as u32));
        let moved = worker.into_iter().flat_map(|worker| &worker.counts);
        let moved = moved.filter(|(verb, _)| matches!(verb, Verb::Read | Verb::Write));
        Child {
            bytes: moved.map(|(_, counts)| counts.bytes).sum(),
            seconds: worker.map_or(0.0, |worker| seconds(run, worker)),
        }
    };
    let busy = run.workers.iter().filter(|worker| worker.span_ns.1 > 0);
    let first = busy.clone().map(|worker| worker.span_ns.0).min().unwrap_or(0);
    let last = busy.map(|worker| worker.span_ns.1).max().unwrap_or(0);
    Phase {
        test,
        children: (0..workers).map(child).collect(),
        seconds: last.saturating_sub(first) as f64 / 1e9,
    }
}

/// Files whose writers were stopped are written to their end, so that readers find them whole.
fn finish(job: &Job<'_>, phase: &Phase, engine: &mut Engine, runs: &mut Vec<Run>) -> Result<(), String> {
    let file = job.options.one_row().0;
    let children = job.files.iter().zip(&phase.children);
    let missing: Vec<(String, u64)> = children
        .filter(|(_, child)| child.bytes < file)
        .map(|(file, child)| (file.name.clone(), child.bytes))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut run = job.execute(&iozone::rest(job.options, &missing, seed()), engine)?;
    run.name = "what stopped writers left out".to_owned();
    run.purpose = Purpose::Layout;
    let judged = job.judge(&run);
    runs.push(run);
    judged
}

/// How unlike the workers were.
fn stopped(phases: &[Phase], file: u64) -> Option<Note> {
    let least = |phase: &Phase| phase.children.iter().map(|child| child.bytes).min().unwrap_or(0);
    let least = phases.iter().map(least).min().filter(|bytes| *bytes < file)?;
    let share = least as f64 * 100.0 / file.max(1) as f64;
    let text = format!(
        "all workers of a phase end when the first has done its file: the slowest had done {share:.0} % of its own"
    );
    Some(note(text, "-x lets all do their whole file"))
}
