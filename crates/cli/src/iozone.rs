//! `fathom iozone`, and the program called through a link named `iozone`: its options in, its table and Excel blocks
//! out. Each cell is one plan, and one run of the record with all its latencies.

use crate::step::{self, Steps, Until};
use crate::surroundings::{self, Interrupt};
use crate::{Context, INTERRUPTED};
use fathom_dialect::iozone::{self, Asked, Options, Row, Test};
use fathom_engine::{Engine, Permits, Policy};
use fathom_record::*;
use fathom_spec::Bytes;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command on the words after its name and answers iozone's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    match iozone::parse(words) {
        Asked::Measure(options) => measure(&options, context, engine),
        Asked::Refused(why) => refuse(&why),
    }
}

fn refuse(why: &str) -> u8 {
    let why = why.replace("say --write-consent ", "set FATHOM_WRITE_CONSENT=");
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

/// A test's file is there to be written as long as it is a plain one: anything else that holds something needs a word.
fn permits(options: &Options) -> Permits {
    let mut permits = Permits::new(Policy::WhenHolding);
    if std::fs::symlink_metadata(&options.file).is_ok_and(|about| about.is_file()) {
        permits.add_consent(&options.file);
    }
    surroundings::write_consents().into_iter().for_each(|name| permits.add_consent(name));
    permits
}

/// The file; one that iozone made goes with it, unless it is to be kept.
struct TestFile<'a> {
    options: &'a Options,
    was_there: bool,
}

impl TestFile<'_> {
    /// A writing test begins with a new file, if the old one is ours.
    fn prepare(&self, test: Test) {
        if test.begins_anew() && !self.was_there {
            let _ = std::fs::remove_file(&self.options.file);
        }
    }
}

impl Drop for TestFile<'_> {
    fn drop(&mut self) {
        if !self.options.keep && !self.was_there {
            let _ = std::fs::remove_file(&self.options.file);
        }
    }
}

fn measure(options: &Options, context: &Context, engine: &mut Engine) -> u8 {
    let interrupt = Interrupt::watch();
    let path = Path::new(&options.file);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if path.exists() { path } else { folder };
    let targets = vec![options.file.clone()];
    let mut steps = Steps::begin("iozone", targets, &[PathBuf::from(place)], context, engine);
    let began = surroundings::ctime();
    let command = context.command.join(" ");
    print(|out| iozone::banner(options, &began, &command, env!("CARGO_PKG_VERSION"), out));
    print(|out| iozone::heads(options, out));
    let file = TestFile { options, was_there: path.exists() };
    let mut rows = Vec::new();
    let mut status = 0;
    for (size, length) in options.rows() {
        match cells(&file, (size, length), &interrupt, engine, &mut steps.record) {
            Ok(row) => {
                print(|out| iozone::row(options, &row, out));
                rows.push(row);
                steps.save();
            }
            Err(why) => {
                status = if interrupt.raised() { INTERRUPTED } else { refuse(&why) };
                break;
            }
        }
    }
    drop(file);
    if status == 0 {
        status = last_words(options, &rows);
    }
    steps.end(status, notes(options, &rows));
    status
}

/// One row: every test once over the file.
fn cells(
    file: &TestFile<'_>,
    (size, length): (u64, u64),
    interrupt: &Interrupt,
    engine: &mut Engine,
    record: &mut ResultRecord,
) -> Result<Row, String> {
    let options = file.options;
    let mut row = Row { file: size, record: length, cells: Vec::new() };
    for test in iozone::tests(options) {
        file.prepare(test);
        engine.permits = permits(options);
        let plan = iozone::plan(options, test, size, length, surroundings::seconds().into());
        let mut run = engine.execute(&plan, &mut Until(interrupt)).map_err(|error| format!("\n{error}"))?;
        run.name = format!("{}, {} in records of {}", test.title(), Bytes(size), Bytes(length));
        run.load = Load { small: 1, large: 0 };
        let failed = failure(&run);
        let span = run.workers.first().map_or((0, 0), |worker| worker.span_ns);
        row.cells.push((test, span.1.saturating_sub(span.0) as f64 / 1e9));
        record.runs.push(run);
        if let Some(why) = failed {
            return Err(why);
        }
        if interrupt.raised() {
            return Err(String::new());
        }
    }
    Ok(row)
}

fn failure(run: &Run) -> Option<String> {
    run.events.iter().find_map(|event| match &event.what {
        Happening::Fault { verb, errno, target, .. } => {
            let error = step::reason(*errno);
            Some(format!("\nError: cannot {} {target}: {error}", format!("{verb:?}").to_lowercase()))
        }
        _ => None,
    })
}

/// The end, with the Excel blocks where they are wanted.
fn last_words(options: &Options, rows: &[Row]) -> u8 {
    print(|out| writeln!(out, "\niozone test complete."));
    if options.excel {
        print(|out| {
            writeln!(out, "Excel output is below:")?;
            iozone::excel(options, rows, out)
        });
    }
    let Some(name) = &options.excel_file else { return 0 };
    let mut text = Vec::new();
    let written = iozone::excel(options, rows, &mut text).and_then(|()| std::fs::write(name, &text));
    match written {
        Ok(()) => 0,
        Err(error) => refuse(&format!("cannot write {name}: {error}\nhint: name another file with -b")),
    }
}

/// What iozone does not say of itself.
fn notes(options: &Options, rows: &[Row]) -> Vec<Note> {
    let note = |text: String, hint: &str| Note { text, hint: Some(hint.to_owned()) };
    let mut notes = vec![note(
        "each cell is one pass over the file: nothing tells how far another pass would differ".to_owned(),
        "fathom calibrate gives every figure with its error",
    )];
    if options.direct {
        return notes;
    }
    let about = rustix::system::sysinfo();
    let memory = (about.totalram as u64).saturating_mul(u64::from(about.mem_unit));
    let cached = rows.iter().filter(|row| row.file < memory).count();
    if cached > 0 && iozone::tests(options).iter().any(|test| !test.writes()) {
        notes.push(note(
            format!("the page cache answered the reads of {cached} of {} rows: their files are smaller than the memory of {}", rows.len(), Bytes(memory)),
            "-I goes past the page cache",
        ));
    }
    if !options.synchronous && !options.flush && iozone::tests(options).iter().any(|test| test.writes()) {
        notes.push(note(
            "what was written may have gone no further than the page cache".to_owned(),
            "-e has the flush in the time, -o makes each write durable, -I goes past the page cache",
        ));
    }
    notes
}
