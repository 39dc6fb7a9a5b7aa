//! `fathom bonnie++`, and the program called through a link named `bonnie++`: its options in, its table and its CSV
//! line out. Each of its tests is one plan, and one run of the record.

mod barrier;
mod cache;
mod failure;
mod figures;
mod test_files;
#[cfg(test)]
mod tests;
mod user;

use crate::{self as bonnie, CSV_HEADER, Options, Results, Test, USAGE};
use barrier::Barrier;
use failure::{failure, refusal};
use fathom_record::{Attachments, Note};
use fathom_session::layout::Need;
use fathom_session::measurement::{existing, load_of};
use fathom_session::stop_at_fault::StopAtFault;
use fathom_session::tool::Tool;
use fathom_session::{Console, End, Environment, Interrupt, Measurement, Session, Setup};
use fathom_spec::{Bytes, Permits, Policy};
use std::io::Write;
use std::path::Path;
use test_files::TestFiles;

/// The tool, for the list of tools.
pub struct Bonnie;

impl Tool for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie++"
    }

    fn about(&self) -> &'static str {
        "Speak bonnie++'s language: fathom bonnie++ -d DIRECTORY -u USER; refusals tell its options"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        let console = session.console.clone();
        run(words, session).unwrap_or_else(|why| refuse(&console, &why))
    }
}

/// Runs the command on the words after its name and answers bonnie++'s exit status, or why nothing was begun.
fn run(words: &[String], session: &mut Session<'_>) -> Result<u8, String> {
    let options = bonnie::parse(words)?;
    let seed = seed(&options, &session.environment)?;
    ready(&options, session)?;
    options.check()?;
    if let Some(processes) = options.serves {
        return Ok(barrier::serve(processes, &session.console));
    }
    let barrier = Barrier::of(&options)?;
    let memory_mib = memory_mib();
    options.guard(memory_mib)?;
    let load = BulkLoad { size: options.size_on(memory_mib), seed };
    if bonnie::tests(&options, load.size).is_empty() {
        return Err(USAGE.to_owned());
    }
    let limit = options.limit_cache.map(cache::Limit::to).transpose()?;
    let status = measure(&options, load, &barrier, session);
    drop(limit);
    Ok(status)
}

/// What the options leave open.
#[derive(Clone, Copy)]
struct BulkLoad {
    /// Bytes of the bulk tests.
    size: u64,
    seed: u64,
}

/// bonnie++'s exit status for anything that went wrong.
const FAILED: u8 = 1;
/// What it says when it is interrupted.
const CLEANING: &str = "Cleaning up test directory after error.\n";

fn refuse(console: &Console, why: &str) -> u8 {
    // Who closed stderr does not want to know.
    let _ = console.err().write_all(why.as_bytes());
    FAILED
}

/// Says something on the way.
fn tell(options: &Options, console: &Console, text: &str) {
    if !options.quiet {
        let _ = console.err().write_all(text.as_bytes());
    }
}

/// The user, and the directory.
fn ready(options: &Options, session: &Session<'_>) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    if root && options.identity.user.is_none() {
        return Err(format!("You must use the \"-u\" switch when running as root.\n{USAGE}"));
    }
    if !Path::new(&options.directory).is_dir() {
        return Err(format!("Can't change to directory \"{}\".\n{USAGE}", options.directory));
    }
    if let Some(text) = user::become_user(&options.identity, &session.command)? {
        tell(options, &session.console, &text);
    }
    Ok(())
}

/// Memory as bonnie++ tells it: whole pairs of MiB.
fn memory_mib() -> u64 {
    let about = rustix::system::sysinfo();
    ((about.totalram as u64).saturating_mul(u64::from(about.mem_unit)) >> 20) & !1
}

fn seed(options: &Options, environment: &Environment) -> Result<u64, String> {
    let Some(name) = &options.random_file else {
        return Ok(options.seed.unwrap_or_else(|| environment.seconds().into()));
    };
    let mut bytes = [0; 8];
    let mut file = std::fs::File::open(name).map_err(|_| format!("Can't open random file \"{name}\".\n"))?;
    let read = std::io::Read::read_exact(&mut file, &mut bytes);
    read.map_err(|error| format!("Can't open random file \"{name}\": {error}\n"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Why tests were broken off.
enum BrokenOff {
    /// The user had enough.
    Interrupted,
    /// It failed, in bonnie++'s words.
    Failed(String),
}

fn measure(options: &Options, load: BulkLoad, barrier: &Barrier, session: &mut Session<'_>) -> u8 {
    let (console, interrupt) = (session.console.clone(), session.environment.interrupt());
    let mut permits = Permits::new(Policy::WhenHolding);
    permits.consents = session.environment.write_consents();
    test_files::names(options).iter().for_each(|name| permits.add_named(name));
    let mut measurement = session.begin(Setup {
        tool: "bonnie++",
        label: None,
        targets: vec![options.directory.clone()],
        ready: &existing([options.directory.as_str()]),
        permits,
        request: serde_json::Value::Null,
    });
    let need = Need::at(Path::new(&options.directory), Bytes(load.size));
    measurement.record.notes.extend(need.and_then(|need| need.warning()));
    let mut tests =
        Tests { options, barrier, console: &console, interrupt: &interrupt, measurement, done: Vec::new() };
    let name = options.name.clone();
    let name = name.unwrap_or_else(|| {
        String::from_utf8_lossy(rustix::system::uname().nodename().to_bytes()).into_owned()
    });
    if options.runs.is_some_and(|runs| runs > 0) {
        let _ = writeln!(console.out(), "{CSV_HEADER}");
    }
    let mut end = Ok(());
    for _ in 0..options.runs.unwrap_or(1) {
        let BulkLoad { size, seed } = load;
        let mut results = Results { name: name.clone(), seed, size, figures: Vec::new() };
        end = tests.run(&mut results);
        if end.is_err() {
            break;
        }
        report(options, &results, &console);
        tests.measurement.save();
    }
    // The record tells an interrupt from a failure; bonnie++'s status does not.
    let status = match &end {
        Ok(()) => 0,
        Err(BrokenOff::Interrupted) => refuse(&console, CLEANING),
        Err(BrokenOff::Failed(why)) => refuse(&console, why),
    };
    let Tests { mut measurement, done, .. } = tests;
    measurement.record.notes.extend(notes(options, load.size));
    measurement.tell_notes();
    let figures = figures::record_figures(&measurement.record.runs, &done);
    let interrupted = matches!(end, Err(BrokenOff::Interrupted));
    measurement.finish(End { figures, ..End::of(interrupted, end.is_err()) });
    status
}

/// The tests, one after the other.
struct Tests<'a> {
    options: &'a Options,
    barrier: &'a Barrier,
    console: &'a Console,
    interrupt: &'a Interrupt,
    /// What was measured of each goes into it at once.
    measurement: Measurement<'a>,
    /// The tests whose runs it has.
    done: Vec<Test>,
}

impl Tests<'_> {
    /// Runs all of them once.
    fn run(&mut self, results: &mut Results) -> Result<(), BrokenOff> {
        let files = TestFiles::of(self.options);
        for test in bonnie::tests(self.options, results.size) {
            if test == Test::CreateInOrder {
                files.remove();
            }
            let waited = self.barrier.wait(test, self.interrupt, self.console);
            if self.interrupt.raised() {
                return Err(BrokenOff::Interrupted);
            }
            waited.map_err(BrokenOff::Failed)?;
            match self.one(test, &files, results) {
                _ if self.interrupt.raised() => return Err(BrokenOff::Interrupted),
                outcome => outcome.map_err(BrokenOff::Failed)?,
            }
            let (_, end) = test.says();
            let (options, console) = (self.options, self.console);
            match test {
                Test::Seek => {
                    tell(options, console, &format!("{}\n", "done...".repeat(options.seekers as usize)));
                }
                _ => tell(options, console, end),
            }
        }
        Ok(())
    }

    /// Runs one.
    fn one(&mut self, test: Test, files: &TestFiles, results: &mut Results) -> Result<(), String> {
        let (options, (begin, _)) = (self.options, test.says());
        // A file that cannot be opened is told before the test is.
        if test.begins_anew() {
            files.prepare(test, &self.measurement.permits)?;
        }
        tell(options, self.console, begin);
        if !test.begins_anew() {
            files.prepare(test, &self.measurement.permits)?;
        }
        let plan = bonnie::plan(options, test, &files.names(), results.size, results.seed);
        let mut control = StopAtFault(self.interrupt);
        let outcome = self.measurement.execute(&plan, Attachments::default(), &mut control);
        let mut run = outcome.map_err(|error| refusal(options, files, test, &error))?.run;
        run.name = test.name().to_owned();
        run.load = load_of(&plan);
        run.purpose = figures::purpose(test);
        let failed = failure(options, test, &run);
        results.figures.push((test, figures::table_figure(test, &run)));
        self.done.push(test);
        self.measurement.keep(run);
        failed.map_or(Ok(()), Err)
    }
}

fn report(options: &Options, results: &Results, console: &Console) {
    let (mut table, mut line) = (Vec::new(), Vec::new());
    let made =
        bonnie::table(options, results, &mut table).and_then(|()| bonnie::csv(options, results, &mut line));
    if made.is_err() {
        return;
    }
    let mut out = console.out();
    let _ = match (options.runs, options.quiet) {
        (Some(_), _) => Ok(()),
        (None, true) => console.err().write_all(&table),
        (None, false) => out.write_all(&table),
    };
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

/// What bonnie++ does not say of itself.
fn notes(options: &Options, size: u64) -> Vec<Note> {
    let mut notes = Vec::new();
    if size == 0 {
        return notes;
    }
    let note = |text: String, hint: &str| Note { text, hint: Some(hint.to_owned()) };
    notes.push(note(
        "what was written is zeros: storage that compresses or leaves out zeros is measured too fast"
            .to_owned(),
        "fathom calibrate writes random bytes",
    ));
    let memory = options.limit_cache.unwrap_or(memory_mib() << 20);
    if size < 2 * memory {
        let text = format!(
            "the file of {} fits into the page cache of {}: reads, rewrites and seeks tell of the memory, not of the disk",
            fathom_spec::Bytes(size),
            fathom_spec::Bytes(memory)
        );
        notes.push(note(
            text,
            "--limit-cache 64m leaves it only so much; -D writes past it, and reads through it",
        ));
    }
    if options.seed.is_none() && options.random_file.is_none() {
        notes.push(note("the seed was the time of day".to_owned(), "-z repeats a run"));
    }
    notes
}
