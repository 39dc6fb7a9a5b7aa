//! `fathom iozone`, and the program called through a link named `iozone`: its options in, its table and Excel blocks or the
//! report of its throughput mode out. Each cell is one plan, and one run of the record with all its latencies.

mod cells;
mod throughput;

use crate::{self as iozone, Asked, Options, Test};
use fathom_engine::{Engine, Permits, Policy};
use fathom_host::page_cache;
use fathom_record::*;
use fathom_session::environment::{self, Interrupt};
use fathom_session::record_writer::write_page;
use fathom_session::step::{self, Steps, Until};
use fathom_session::tool::Tool;
use fathom_session::{Context, INTERRUPTED};
use fathom_spec::{Plan, Verb};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The tool, for the list of tools.
pub struct Iozone;

impl Tool for Iozone {
    fn name(&self) -> &'static str {
        "iozone"
    }

    fn about(&self) -> &'static str {
        "Speak iozone's language: fathom iozone -a -I -f FILE; refusals tell what is left out"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        run(words, context, engine)
    }

    fn page(&self, record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
        page_of(record, out)
    }
}

/// Runs the command on the words after its name and answers iozone's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    match iozone::parse(words) {
        Asked::Measure(options) => measure(&options, context, engine),
        Asked::Told(text) => {
            print(|out| out.write_all(text.as_bytes()));
            0
        }
        Asked::Refused(why) => refuse(&why),
    }
}

fn refuse(why: &str) -> u8 {
    let why = step::translated(why, "-s", "-r");
    // Who closed stderr does not want to know.
    let _ = writeln!(std::io::stderr(), "{}", why.trim_end());
    1
}

/// Prints what was made; a reader that has gone is no reason to end a measurement.
fn print(make: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
    let mut text = Vec::new();
    if make(&mut text).is_ok() {
        let mut out = std::io::stdout().lock();
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

    /// Itself, or the directory in which it will be.
    fn place(&self) -> PathBuf {
        let path = Path::new(&self.name);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        PathBuf::from(if self.was_there { path } else { folder })
    }

    /// A writing test begins with a new file, if the old one is ours.
    fn prepare(&self, test: Test) {
        if test.begins_anew() && !self.was_there {
            let _ = std::fs::remove_file(&self.name);
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
            let _ = std::fs::remove_file(&self.name);
        }
    }
}

/// What every pass knows.
struct Job<'a> {
    options: &'a Options,
    files: Vec<TestFile>,
    interrupt: &'a Interrupt,
}

impl Job<'_> {
    /// A test's file is there to be written as long as it is a plain one: anything else that holds something needs a
    /// word.
    fn permits(&self) -> Permits {
        let mut permits = Permits::new(Policy::WhenHolding);
        for file in &self.files {
            if std::fs::symlink_metadata(&file.name).is_ok_and(|about| about.is_file()) {
                permits.add_consent(&file.name);
            }
        }
        environment::write_consents().into_iter().for_each(|name| permits.add_consent(name));
        permits
    }

    /// Runs a plan; an error is what there is to say, nothing after a signal.
    fn execute(&self, plan: &Plan, engine: &mut Engine) -> Result<Run, String> {
        engine.permits = self.permits();
        engine.execute(plan, &mut Until(self.interrupt)).map_err(|error| format!("\n{error}"))
    }

    /// Did it go well?
    fn judge(&self, run: &Run) -> Result<(), String> {
        match failure(run) {
            Some(why) => Err(why),
            None if self.interrupt.raised() => Err(String::new()),
            None => Ok(()),
        }
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

fn seed() -> u64 {
    environment::seconds().into()
}

fn measure(options: &Options, context: &Context, engine: &mut Engine) -> u8 {
    let interrupt = Interrupt::watch();
    let names = match options.workers {
        Some(_) => options.file_names(),
        None => vec![options.file.clone()],
    };
    let files: Vec<TestFile> = names.iter().map(|name| TestFile::new(name.clone(), options)).collect();
    let job = Job { options, files, interrupt: &interrupt };
    let places: Vec<PathBuf> = job.files.iter().map(TestFile::place).collect();
    let mut steps = Steps::begin("iozone", names, &places, context, engine);
    let began = environment::ctime();
    let command = context.command.join(" ");
    print(|out| iozone::banner(options, &began, &command, env!("CARGO_PKG_VERSION"), out));
    let mut notes = Vec::new();
    let done = match options.workers {
        Some(_) => throughput::measure(&job, engine, &mut steps, &mut notes),
        None => cells::measure(&job, engine, &mut steps, &mut notes),
    };
    drop(job);
    let status = match done {
        Ok(()) => 0,
        Err(_) if interrupt.raised() => {
            print(|out| writeln!(out, "\niozone: interrupted\n"));
            INTERRUPTED
        }
        Err(why) => refuse(&why),
    };
    notes.extend(of_memory(options));
    let record = steps.end(status, notes);
    match &options.html {
        Some(page) if !record.runs.is_empty() => {
            match write_page(Path::new(page), |out| page_of(&record, out)) {
                Ok(()) => status,
                Err(error) => refuse(&error.to_string()),
            }
        }
        _ => status,
    }
}

/// The page of a kept run: its surfaces, where it has any.
pub fn page_of(record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
    match record.facts.get(SURFACES) {
        Some(_) => fathom_render::surface::write(record, out),
        None => fathom_render::html::write(record, out),
    }
}

fn failure(run: &Run) -> Option<String> {
    run.events.iter().find_map(|event| match &event.what {
        EventKind::Fault { verb, errno, target, .. } => {
            let reason =
                if *verb == Verb::Read { step::reason_of_read(*errno) } else { step::reason(*errno) };
            let verb = format!("{verb:?}").to_lowercase();
            Some(format!("\nError: cannot {verb} {target}: {reason}"))
        }
        _ => None,
    })
}

/// Writes the Excel text where it is wanted.
fn excel(options: &Options, make: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> Result<(), String> {
    if options.excel {
        print(|out| {
            writeln!(out, "Excel output is below:")?;
            make(out)
        });
    }
    let Some(name) = &options.excel_file else { return Ok(()) };
    let mut text = Vec::new();
    let written = make(&mut text).and_then(|()| std::fs::write(name, &text));
    written.map_err(|error| format!("cannot write {name}: {error}\nhint: name another file with -b"))
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
