//! `fathom iozone`, and the program called through a link named `iozone`: its options in, its table and Excel blocks or the
//! report of its throughput mode out. Each cell is one plan, and one run of the record with all its latencies.

mod cells;
mod failure;
mod figures;
mod throughput;

use crate::{self as iozone, Invocation, Options, Test};
use failure::Failure;
use fathom_host::{Roots, output_file, page_cache};
use fathom_record::*;
use fathom_session::layout::Need;
use fathom_session::measurement::{Measurement, existing, tell_notes};
use fathom_session::record_writer::write_page;
use fathom_session::stop_at_fault::StopAtFault;
use fathom_session::tool::Tool;
use fathom_session::{Console, End, Environment, Figures, INTERRUPTED, Interrupt, Session, Setup};
use fathom_spec::{Bytes, Permits, Plan, Policy, Verb};
use figures::TestRun;
use std::io::Write;
use std::path::Path;

/// What a hint advises, in iozone's options.
const WORDS: Vocabulary<'static> = Vocabulary {
    size: "-s",
    block: "-r",
    missing: "it must be in a directory that is there",
    workers: "-t",
    depth: "-k",
    ..Vocabulary::PEER
};

/// The tool, for the list of tools.
pub struct Iozone;

impl Tool for Iozone {
    fn name(&self) -> &'static str {
        "iozone"
    }

    fn about(&self) -> &'static str {
        "Speak iozone's language: fathom iozone -a -I -f FILE; refusals tell what is left out"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        run(words, session)
    }

    fn page(&self, record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
        page_of(record, out)
    }
}

/// Runs the command on the words after its name and answers iozone's exit status.
fn run(words: &[String], session: &mut Session<'_>) -> u8 {
    match iozone::parse(words) {
        Invocation::Measure(options) => measure(&options, session),
        Invocation::Print(text) => {
            print(&session.console, |out| out.write_all(text.as_bytes()));
            0
        }
        Invocation::Error(why, status) => {
            session.console.complain(why);
            status
        }
    }
}

/// Who closed stderr does not want to know.
fn refuse(why: &str, console: &Console) -> u8 {
    console.complain(why);
    1
}

/// Prints what was made; a reader that has gone is no reason to end a measurement.
fn print(console: &Console, make: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
    let mut text = Vec::new();
    if make(&mut text).is_ok() {
        let mut out = console.out();
        let _ = out.write_all(&text).and_then(|()| out.flush());
    }
}

/// A file; one that iozone made goes with it, unless it is to be kept.
struct TestFile {
    name: String,
    was_there: bool,
    keep: bool,
}

impl TestFile {
    fn new(name: String, options: &Options) -> Self {
        TestFile { was_there: Path::new(&name).exists(), keep: options.keep, name }
    }

    /// A writing test begins with a new file, if the old one is ours.
    fn prepare(&self, test: Test) {
        if test.begins_anew() && !self.was_there {
            let _ = output_file::remove(&Roots::default(), Path::new(&self.name));
        }
    }

    /// How much of so many bytes the page cache holds.
    fn cached(&self, length: u64) -> Option<f64> {
        page_cache::cached_share(Path::new(&self.name), length, PROBES).ok().flatten()
    }
}

/// Pages of a file that are asked for without waiting, to tell whether the page cache holds it.
const PROBES: u64 = 64;

impl Drop for TestFile {
    fn drop(&mut self) {
        if !self.keep && !self.was_there {
            let _ = output_file::remove(&Roots::default(), Path::new(&self.name));
        }
    }
}

/// Why a write's figure is one of memory.
const IN_MEMORY: &str = "nothing in its time waits for the disk";

/// Why a measurement ends before all is measured.
enum EarlyEnd {
    /// A signal.
    Interrupted,
    /// An operation that failed, or was not begun.
    Failed(Failure),
}

/// What was found beside the table.
#[derive(Default)]
struct Findings {
    /// The runs on which figures rest.
    runs: Vec<TestRun>,
    /// What the user should know.
    notes: Vec<Note>,
}

/// What every pass knows.
struct Benchmark<'a> {
    options: &'a Options,
    files: Vec<TestFile>,
    interrupt: &'a Interrupt,
    environment: &'a Environment,
    console: &'a Console,
}

impl Benchmark<'_> {
    /// A test's file is there to be written as long as it is a plain one: anything else that holds something needs a
    /// word.
    fn permits(&self) -> Permits {
        let mut permits = Permits::new(Policy::WhenHolding);
        for file in &self.files {
            if std::fs::symlink_metadata(&file.name).is_ok_and(|about| about.is_file()) {
                permits.add_named(&file.name);
            }
        }
        self.environment.write_consents().into_iter().for_each(|name| permits.add_consent(name));
        permits
    }

    /// Runs a plan. Files that an earlier one made are there now.
    fn execute(&self, plan: &Plan, measurement: &mut Measurement<'_>) -> Result<Run, EarlyEnd> {
        measurement.permits = self.permits();
        let run = measurement.run(plan, &mut StopAtFault(self.interrupt));
        run.map_err(|error| EarlyEnd::Failed(Failure::of_begin(&error, plan.writes())))
    }

    /// Did a run with records of so many bytes go well?
    fn judge(&self, run: &Run, record: u64) -> Result<(), EarlyEnd> {
        match Failure::of_run(run, record) {
            Some(why) => Err(EarlyEnd::Failed(why)),
            None if self.interrupt.raised() => Err(EarlyEnd::Interrupted),
            None => Ok(()),
        }
    }

    fn seed(&self) -> u64 {
        self.environment.seconds().into()
    }

    /// Is this test's time one of the page cache, because nothing in it waits for the disk?
    fn stays_in_memory(&self, test: Test) -> bool {
        let waits = (self.options.direct || self.options.synchronous) && !test.is_of_streams();
        test.writes() && !waits && !self.options.flush
    }

    /// Does it read through the page cache?
    fn reads_through_the_cache(&self, test: Test) -> bool {
        !test.writes() && (!self.options.direct || test.is_of_streams())
    }
}

/// The time of one worker, seconds. That of a writer is the sum of its calls: between them it makes the bytes of its next
/// record, which belongs to no storage. Iozone writes the same bytes over and over.
fn seconds(run: &Run, worker: &WorkerTotals) -> f64 {
    let span = worker.span_ns.1.saturating_sub(worker.span_ns.0);
    let writes = worker.counts.iter().any(|(verb, counts)| *verb == Verb::Write && counts.operations > 0);
    let calls = run.merged(worker.stream).filter(|_| writes).map(|all| {
        let latencies = all.cells.iter().filter_map(|(_, cell)| cell.service.as_ref());
        latencies.map(|latency| latency.sum_ns).sum::<u64>()
    });
    calls.unwrap_or(span) as f64 / 1e9
}

/// What the largest files of the run take.
fn need(options: &Options) -> Option<Need> {
    let workers = options.workers.map_or(1, |_| options.file_names().len() as u64);
    let largest = options.file_sizes().into_iter().max()?;
    Need::at(Path::new(&options.file), Bytes(largest.saturating_mul(workers)))
}

fn measure(options: &Options, session: &mut Session<'_>) -> u8 {
    let (environment, console) = (session.environment.clone(), session.console.clone());
    let interrupt = environment.interrupt();
    let names = match options.workers {
        Some(_) => options.file_names(),
        None => vec![options.file.clone()],
    };
    let files = names.iter().map(|name| TestFile::new(name.clone(), options)).collect();
    let benchmark =
        Benchmark { options, files, interrupt: &interrupt, environment: &environment, console: &console };
    let command = session.command.join(" ");
    let ready = existing(names.iter().map(String::as_str));
    let mut measurement = session.begin(Setup {
        tool: "iozone",
        label: None,
        targets: names,
        ready: &ready,
        permits: benchmark.permits(),
        request: serde_json::Value::Null,
    });
    measurement.record.notes.extend(need(options).and_then(|need| need.warning()));
    let began = environment.ctime();
    print(&console, |out| iozone::banner(options, &began, &command, env!("CARGO_PKG_VERSION"), out));
    let mut findings = Findings::default();
    let done = match options.workers {
        Some(_) => throughput::measure(&benchmark, &mut measurement, &mut findings),
        None => cells::measure(&benchmark, &mut measurement, &mut findings),
    };
    // The files go before anything more is told.
    drop(benchmark);
    let status = match done {
        Ok(()) => 0,
        Err(EarlyEnd::Failed(failure)) if !interrupt.raised() => {
            print(&console, |out| out.write_all(failure.out.as_bytes()));
            console.complain(failure.err);
            failure.status
        }
        Err(_) => {
            print(&console, |out| writeln!(out, "\niozone: interrupted\n"));
            INTERRUPTED
        }
    };
    let Findings { runs, mut notes } = findings;
    notes.extend(of_memory(options));
    let figures = Figures::Own(figures::best(&measurement.record.runs, &runs), Vec::new());
    let end = End { figures, ..End::of(status == INTERRUPTED, status != 0) };
    let finished = measurement.finish(end.with_notes(notes));
    let record = finished.record;
    tell_notes(&record.notes, &environment, &console);
    match &options.html {
        Some(page) if !record.runs.is_empty() => {
            let mut text = Vec::new();
            let made = page_of(&record, &mut text).map_err(|error| error.to_string());
            match made.and_then(|()| write_page(Path::new(page), text).map_err(|error| error.to_string())) {
                Ok(()) => status,
                Err(error) => refuse(&error, &console),
            }
        }
        _ => status,
    }
}

/// The page of a kept run: its surfaces, where it has any.
fn page_of(record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
    match record.facts.get(SURFACES) {
        Some(_) => fathom_render::surface::write(record, out),
        None => fathom_render::html::write(record, out),
    }
}

const HINT: &str = "name another file with -b";

/// Writes the Excel text where it is wanted; on stdout something stands before it.
fn excel(
    options: &Options,
    console: &Console,
    before: &str,
    make: impl Fn(&mut Vec<u8>) -> std::io::Result<()>,
) -> Result<(), EarlyEnd> {
    if options.excel {
        print(console, |out| {
            out.write_all(before.as_bytes())?;
            make(out)
        });
    }
    let Some(name) = &options.excel_file else { return Ok(()) };
    let mut text = Vec::new();
    let failed = |error: std::io::Error| {
        EarlyEnd::Failed(Failure::ours(format!("cannot write {name}: {error}\nhint: {HINT}")))
    };
    make(&mut text).map_err(failed)?;
    output_file::write(&Roots::default(), Path::new(name), &text)
        .map_err(|error| EarlyEnd::Failed(Failure::ours(error.with_hint(HINT))))
}

fn note(text: String, hint: &str) -> Note {
    Note { text, hint: Some(hint.to_owned()) }
}

/// What iozone does not say of how it wrote.
fn of_memory(options: &Options) -> Vec<Note> {
    let tests = match options.workers {
        Some(_) => iozone::phases(options),
        None => iozone::tests(options),
    };
    let mut notes = Vec::new();
    let waits = options.direct || options.synchronous || options.flush;
    if !waits && tests.iter().any(|test| test.writes()) {
        notes.push(note(
            "what was written may have gone no further than the page cache".to_owned(),
            "-e has the flush in the time, -o makes each write durable, -I goes past the page cache",
        ));
    }
    if (options.direct || options.synchronous) && tests.iter().any(|test| test.is_of_streams()) {
        notes.push(note(
            "C's buffered files go through the page cache: -I and -o do not reach tests 6 and 7".to_owned(),
            "-e has their flush in the time",
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
