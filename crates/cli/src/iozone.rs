//! `fathom iozone`, and the program called through a link named `iozone`: its options in, its table and Excel blocks
//! out. Each cell is one plan, and one run of the record with all its latencies.

use crate::keep::{Keeper, empty_record};
use crate::surroundings::{self, Interrupt};
use crate::targets::Ready;
use crate::{Context, INTERRUPTED, preflight};
use fathom_dialect::iozone::{self, Asked, Options, Row, Test};
use fathom_engine::{Engine, Permits, Policy};
use fathom_host::Roots;
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
    let roots = Roots::default();
    let path = Path::new(&options.file);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if path.exists() { path } else { folder };
    let here = fathom_host::resolve(&roots, place)
        .ok()
        .map(|storage| Ready::Existing { path: PathBuf::from(place), storage: Box::new(storage) });
    let found = preflight::look(&roots, here.as_slice());
    let facts = found.facts(serde_json::Value::Null).unwrap_or_default();
    let mut record = empty_record("iozone", &context.command, None, vec![options.file.clone()], facts);
    record.notes.extend(found.notes.iter().cloned());
    let (mut keeper, lost) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
    record.notes.extend(lost);
    engine.disks = found.disks.clone();
    let began = surroundings::ctime();
    let command = context.command.join(" ");
    print(|out| iozone::banner(options, &began, &command, env!("CARGO_PKG_VERSION"), out));
    print(|out| iozone::heads(options, out));
    let file = TestFile { options, was_there: path.exists() };
    let mut rows = Vec::new();
    let mut status = 0;
    for (size, length) in options.rows() {
        match cells(&file, (size, length), &interrupt, engine, &mut record) {
            Ok(row) => {
                print(|out| iozone::row(options, &row, out));
                rows.push(row);
                keeper.save(&record);
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
    record.ended = surroundings::now();
    record.ending = match status {
        0 => Ending::Complete,
        INTERRUPTED => Ending::Interrupted,
        _ => Ending::Failed,
    };
    record.notes.extend(notes(options, &rows));
    keeper.finish(&record);
    if surroundings::speaks_notes() {
        for note in &record.notes {
            let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
            let _ = writeln!(std::io::stderr(), "note: {}{hint}", note.text);
        }
    }
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
            let errno = if *errno == 0 { rustix::io::Errno::NOSPC.raw_os_error() } else { *errno };
            let error = std::io::Error::from_raw_os_error(errno).to_string();
            let error = error.split(" (os error").next().unwrap_or_default().to_owned();
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

/// Stops at a signal, and at the first fault.
struct Until<'a>(&'a Interrupt);

impl Control for Until<'_> {
    fn slot(&mut self, _now_ns: u64, totals: &[Totals]) -> Steer {
        let failed = totals.iter().flat_map(|t| t.counts).any(|counts| counts.errors > 0);
        match (self.0.raised(), failed) {
            (true, _) => Steer::Stop(Vec::new(), Why::Signal),
            (false, true) => Steer::Stop(Vec::new(), Why::Fault),
            (false, false) => Steer::Continue,
        }
    }
}
