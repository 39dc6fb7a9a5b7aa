//! Throughput mode: phase by phase, a worker for each file.

use super::figures::TestRun;
use super::{Benchmark, EarlyEnd, Findings, IN_MEMORY, excel, note, print, seconds};
use crate::{self as iozone, Child, Phase, Test};
use fathom_record::{Note, Purpose, Run};
use fathom_session::measurement::{Measurement, load_of};
use fathom_spec::{StreamId, Verb};
use std::io::Write;

/// From this share of the files on the page cache has answered.
const HELD: f64 = 0.5;

/// Measures and prints.
pub(super) fn measure(
    benchmark: &Benchmark<'_>,
    measurement: &mut Measurement<'_>,
    findings: &mut Findings,
) -> Result<(), EarlyEnd> {
    let (options, console) = (benchmark.options, benchmark.console);
    let file = options.one_row().0;
    print(console, |out| iozone::beginning(options, out));
    let (mut phases, mut reading, mut cached) = (Vec::new(), 0, 0);
    for test in iozone::phases(options) {
        benchmark.files.iter().for_each(|file| file.prepare(test));
        let mut memory = benchmark.stays_in_memory(test).then(|| IN_MEMORY.to_owned());
        if benchmark.reads_through_the_cache(test) {
            reading += 1;
            if let Some(share) = held(benchmark, file).filter(|share| *share >= HELD) {
                cached += 1;
                memory = Some(format!("the page cache held {:.0} % of the files", share * 100.0));
            }
        }
        let plan = iozone::plan_throughput(options, test, benchmark.seed());
        let mut run = benchmark.execute(&plan, measurement)?;
        run.name = format!("{} of {} workers", test.title(), benchmark.files.len());
        run.load = load_of(&run.plan);
        let judged = benchmark.judge(&run, benchmark.options.one_row().1);
        let phase = seen(test, &run, benchmark.files.len());
        let index = measurement.record.runs.len();
        measurement.keep(run);
        judged?;
        findings.runs.push(TestRun { test, index, memory });
        print(console, |out| iozone::block(options, &phase, out));
        if test.begins_anew() {
            finish(benchmark, &phase, measurement)?;
        }
        phases.push(phase);
        measurement.save();
    }
    print(console, |out| write!(out, "\n\n"));
    let written = excel(options, console, "", |out| iozone::excel_throughput(options, &phases, out));
    let blank = if options.excel { "\n\n" } else { "\n" };
    print(console, |out| writeln!(out, "{blank}iozone test complete."));
    written?;
    if cached > 0 {
        let text = format!("the page cache held the files of {cached} of {reading} reading phases");
        findings.notes.push(note(text, "-I goes past the page cache"));
    }
    findings.notes.extend(stopped(&phases, file));
    Ok(())
}

/// The share of all files that the page cache holds.
fn held(benchmark: &Benchmark<'_>, length: u64) -> Option<f64> {
    let shares: Option<Vec<f64>> = benchmark.files.iter().map(|file| file.cached(length)).collect();
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
fn finish(
    benchmark: &Benchmark<'_>,
    phase: &Phase,
    measurement: &mut Measurement<'_>,
) -> Result<(), EarlyEnd> {
    let file = benchmark.options.one_row().0;
    let children = benchmark.files.iter().zip(&phase.children);
    let missing: Vec<(String, u64)> = children
        .filter(|(_, child)| child.bytes < file)
        .map(|(file, child)| (file.name.clone(), child.bytes))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut run =
        benchmark.execute(&iozone::rest(benchmark.options, &missing, benchmark.seed()), measurement)?;
    run.name = "what stopped writers left out".to_owned();
    run.purpose = Purpose::Layout;
    let judged = benchmark.judge(&run, benchmark.options.one_row().1);
    measurement.keep(run);
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
