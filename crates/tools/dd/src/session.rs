//! `fathom dd`, and the program called through a link named `dd`: coreutils' operands in, its lines on stderr out.
//! What was seen besides (latencies, zeros, page cache) is kept with the run.

pub mod classic;
mod open;

use crate::{self as dd, Asked, Moved, Options, Quotes, Status, named, records as counted, shell_quoted};
use fathom_engine::{Engine, Permits, Policy};
use fathom_host::{Roots, TargetKind, resolve};
use fathom_record::*;
use fathom_render::terminal::Style;
use fathom_session::environment::{self, Interrupt, Signalled};
use fathom_session::record_writer::{Keeper, empty_record};
use fathom_session::targets::Ready;
use fathom_session::tool::Tool;
use fathom_session::{Context, preflight};
use fathom_spec::{Nanos, Verb, Work};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The tool, for the list of tools.
pub struct Dd;

impl Tool for Dd {
    fn name(&self) -> &'static str {
        "dd"
    }

    fn about(&self) -> &'static str {
        "Copy as coreutils' dd does, and keep what was seen: fathom dd if=FILE of=FILE bs=1M; --help tells its operands"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        run(words, context, engine)
    }

    fn show(&self, record: &ResultRecord, _: &str, _: Style, out: &mut dyn Write) -> anyhow::Result<()> {
        show(record, out)
    }
}

/// Runs the command on the words after its name and answers dd's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    if words.first().is_some_and(|word| word == "--classic") {
        return fathom_session::status(classic::run(&words[1..], context, engine));
    }
    let quotes = if environment::style().unicode { Quotes::Curved } else { Quotes::Plain };
    match dd::parse(words, quotes) {
        Ok(Asked::Copy(options, warnings)) => {
            warnings.iter().for_each(|warning| eprintln!("{warning}"));
            copy(&options, context, engine)
        }
        Ok(Asked::Help) => u8::from(dd::help(&mut std::io::stdout().lock()).is_err()),
        Ok(Asked::Version) => {
            let version = env!("CARGO_PKG_VERSION");
            u8::from(writeln!(std::io::stdout(), "dd (fathom {version}, as coreutils 9.1)").is_err())
        }
        Err(refusal) => {
            eprintln!("{refusal}");
            1
        }
    }
}

fn copy(options: &Options, context: &Context, engine: &mut Engine) -> u8 {
    let (asked, interrupt) = (Signalled::usr1(), Interrupt::only_from_the_keyboard());
    let roots = Roots::default();
    let mut permits = Permits::new(Policy::WhenHolding);
    environment::write_consents().iter().for_each(|name| permits.add_consent(name));
    let began = environment::now();
    let ends = match open::open(options, &roots, &permits) {
        Ok(ends) => ends,
        Err(says) => {
            eprintln!("dd: {says}");
            return 1;
        }
    };
    ends.says.iter().for_each(|says| eprintln!("dd: {says}"));
    if ends.cannot {
        tell(&Moved { elapsed_ns: 1, ..Moved::default() }, options.status);
        return 1;
    }
    let zeros = ends.zeros;
    let plan = dd::plan(options);
    engine.lent = ends.lent;
    let mut live = Live { options, asked, interrupt, began_ns: 0, told_s: 0, line: 0 };
    let outcome = engine.execute(&plan, &mut live);
    live.leave_line();
    match outcome {
        Err(error) => {
            eprintln!("dd: {}", memory(options, &error).unwrap_or_else(|| error.to_string()));
            1
        }
        Ok(run) => {
            let gone = reader_has_gone(&run);
            let failed = !gone && faults(options, &run);
            let moved = moved(&run);
            let interrupted = live.interrupt.raised();
            let ending = match (interrupted, failed) {
                (true, _) => Ending::Interrupted,
                (false, true) => Ending::Failed,
                (false, false) => Ending::Complete,
            };
            let record = judged(options, context, run, (began, ending), zeros);
            if gone {
                environment::die_of_pipe();
            }
            if environment::speaks_notes() {
                for note in &record.notes {
                    let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
                    eprintln!("note: {}{hint}", note.text);
                }
            }
            tell(&moved, options.status);
            if interrupted {
                environment::die_of_interrupt();
            }
            u8::from(failed || ends.failed)
        }
    }
}

/// Prints the closing lines.
fn tell(moved: &Moved, status: Status) {
    let mut text = Vec::new();
    if status == Status::None || moved.records(&mut text).is_err() {
        return;
    }
    if status != Status::NoTransfer {
        text.extend_from_slice(moved.transfer().as_bytes());
        text.push(b'\n');
    }
    // Who closed stderr does not want to know.
    let _ = std::io::stderr().lock().write_all(&text);
}

/// What coreutils says when there is no memory for a buffer.
fn memory(options: &Options, error: &ExecuteError) -> Option<String> {
    let size = options.read_size.max(options.write_size);
    let human = dd::report::amount(size, 1024)?;
    let end = if options.read_size >= options.write_size { "input" } else { "output" };
    matches!(error, ExecuteError::System { what, .. } if what.starts_with("there is no memory"))
        .then(|| format!("memory exhausted by {end} buffer of size {size} bytes ({human})"))
}

/// Has the reader of the pipe that was written to seen enough?
fn reader_has_gone(run: &Run) -> bool {
    let broken = rustix::io::Errno::PIPE.raw_os_error();
    run.faults().any(|event| matches!(event.what, EventKind::Fault { errno, .. } if errno == broken))
}

/// Says what failed; answers whether anything did.
fn faults(options: &Options, run: &Run) -> bool {
    let input = options.input.as_deref();
    let output = options.output.as_deref();
    let quoted_input = input.map_or_else(|| "'standard input'".to_owned(), shell_quoted);
    let quoted_output = output.map_or_else(|| "'standard output'".to_owned(), shell_quoted);
    let mut failed = false;
    for event in &run.events {
        match &event.what {
            EventKind::Fault { verb, errno, .. } => {
                let error = std::io::Error::from_raw_os_error(*errno).to_string();
                let error = error.split(" (os error").next().unwrap_or_default();
                // Told to stop while it waited: no fault of the output.
                if *errno == rustix::io::Errno::INTR.raw_os_error() {
                    continue;
                }
                failed = true;
                match verb {
                    Verb::Read => eprintln!("dd: error reading {quoted_input}: {error}"),
                    Verb::Sync => {
                        let only_data = options.converts("fdatasync") && *errno != 22;
                        let call = if only_data { "fdatasync" } else { "fsync" };
                        eprintln!("dd: {call} failed for {quoted_output}: {error}");
                    }
                    _ if gathered(options, run) => eprintln!("dd: writing to {quoted_output}: {error}"),
                    _ => eprintln!("dd: error writing {quoted_output}: {error}"),
                }
            }
            EventKind::Fallback(text) if text == fathom_engine::SHORT_SKIP => {
                if options.status == Status::None {
                    continue;
                }
                eprintln!("dd: {}: {text}", input.map_or("'standard input'".to_owned(), named));
            }
            EventKind::Fallback(text) => {
                if let (true, Some(bytes)) =
                    (options.warns_of_short_reads(), text.strip_prefix(fathom_engine::PARTIAL))
                {
                    let unit = if bytes == "1" { "byte" } else { "bytes" };
                    eprintln!("dd: warning: partial read ({bytes} {unit}); suggest iflag=fullblock");
                }
            }
            _ => {}
        }
    }
    failed
}

/// Was the block whose write failed a full one that was gathered for writing? dd has other words for those than for
/// blocks that go out as they came in, and for what is left at the end.
fn gathered(options: &Options, run: &Run) -> bool {
    let (read, written) = counted(run);
    !options.as_read() && read.bytes.saturating_sub(written.bytes) >= options.write_size
}

/// Blocks in full, and short ones.
fn full(counts: &Counts) -> (u64, u64) {
    let short = u64::from(counts.short);
    (counts.operations.saturating_sub(short), short)
}

/// What a run moved, as dd counts it.
fn moved(run: &Run) -> Moved {
    let (read, written) = counted(run);
    let mut works = run.plan.streams.iter().map(|stream| &stream.work);
    let as_read = works.any(|work| matches!(work, Work::Copy(copying) if copying.as_read));
    let mut moved = Moved {
        records_in: full(&read),
        records_out: full(&written),
        bytes: written.bytes,
        elapsed_ns: run.workers.iter().map(|worker| worker.span_ns.1 - worker.span_ns.0).max().unwrap_or(0),
        truncated: 0,
    };
    for event in &run.events {
        match &event.what {
            // A write that failed half-way has left a part of the block behind; dd counts it as a record only where
            // its blocks are gathered in a buffer for writing.
            EventKind::Fault { verb: Verb::Write, moved: part, .. } if part.0 > 0 => {
                moved.records_out.1 += u64::from(!as_read);
                moved.bytes += part.0;
            }
            EventKind::Fallback(text) => {
                let number = text.strip_prefix(fathom_engine::TRUNCATED);
                moved.truncated += number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
            }
            _ => {}
        }
    }
    moved
}

/// The record of a copy, kept, with what the user should know.
fn judged(
    options: &Options,
    context: &Context,
    mut run: Run,
    (began, ending): (String, Ending),
    zeros: bool,
) -> ResultRecord {
    let roots = Roots::default();
    let names = [&options.input, &options.output];
    let ready: Vec<Ready> = names.into_iter().flatten().filter_map(|name| existing(&roots, name)).collect();
    let found = preflight::look(&roots, &ready);
    let facts = found.facts(serde_json::Value::Null).unwrap_or_default();
    let targets = vec![
        options.input.clone().unwrap_or_else(|| "standard input".to_owned()),
        options.output.clone().unwrap_or_else(|| "standard output".to_owned()),
    ];
    let mut record = empty_record("dd", &context.command, None, targets, facts);
    (record.started, record.ended, record.ending) = (began, environment::now(), ending);
    record.notes = notes(options, &run, zeros);
    run.name = "copy".to_owned();
    record.runs.push(run);
    let (mut keeper, lost) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
    record.notes.extend(lost);
    keeper.finish(&record);
    record
}

fn existing(roots: &Roots, name: &str) -> Option<Ready> {
    let storage = resolve(roots, Path::new(name)).ok()?;
    let known = matches!(storage.kind, TargetKind::RegularFile | TargetKind::BlockDevice);
    known.then(|| Ready::Existing { path: PathBuf::from(name), storage: Box::new(storage) })
}

/// What dd does not say of itself.
fn notes(options: &Options, run: &Run, zeros: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    let merged = run.merged(fathom_spec::StreamId(0));
    for (verb, cell) in merged.iter().flat_map(|interval| &interval.cells) {
        let Some(latency) = cell.service.as_ref().filter(|latency| latency.count > 0) else { continue };
        let name = match verb {
            Verb::Read => "reads",
            Verb::Write => "writes",
            _ => "syncs",
        };
        let mean = Nanos(latency.mean_ns().unwrap_or(0.0) as u64);
        let mut text = format!("{name}: {} of them, mean {mean}", latency.count);
        // A percentile needs ten samples beyond it.
        for (q, says, least) in [(0.5, "p50", 20), (0.99, "p99", 1000), (0.999, "p99.9", 10_000)] {
            if let (true, Some(ns)) = (latency.count >= least, latency.quantile_ns(q)) {
                text += &format!(", {says} {}", Nanos(ns));
            }
        }
        text += &format!(", longest {}", Nanos(latency.max_ns));
        notes.push(Note { text, hint: None });
    }
    if zeros {
        notes.push(Note {
            text:
                "what was written is zeros: storage that compresses or leaves out zeros is measured too fast"
                    .to_owned(),
            hint: Some("copy from a file of random bytes, or let fathom calibrate write".to_owned()),
        });
    }
    let direct = |flags: &std::collections::BTreeSet<dd::Flag>| flags.contains(&dd::Flag::Direct);
    let names =
        [(&options.input, direct(&options.input_flags)), (&options.output, direct(&options.output_flags))];
    if names.iter().any(|(name, direct)| !direct && name.as_ref().is_some_and(|name| is_stored(name))) {
        notes.push(Note {
            text: "the page cache was in the way: what it answered or took is no figure of the disk"
                .to_owned(),
            hint: Some(
                "iflag=direct or oflag=direct goes past it; fathom dd --classic shows both".to_owned(),
            ),
        });
    }
    notes
}

/// Does this name mean something that the page cache stands before?
fn is_stored(name: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = Path::new(name).metadata().map(|about| about.file_type());
    kind.is_ok_and(|kind| kind.is_file() || kind.is_block_device())
}

/// Prints a kept copy's lines again.
fn show(record: &ResultRecord, mut out: &mut dyn Write) -> anyhow::Result<()> {
    for run in &record.runs {
        let moved = moved(run);
        moved.records(&mut out)?;
        writeln!(out, "{}", moved.transfer())?;
    }
    for note in &record.notes {
        writeln!(out, "note: {}", note.text)?;
    }
    Ok(())
}

/// Prints progress each second, the lines at SIGUSR1, and stops at SIGINT.
struct Live<'a> {
    options: &'a Options,
    asked: Signalled,
    interrupt: Interrupt,
    began_ns: u64,
    told_s: u64,
    /// Characters of the progress line that stands there.
    line: usize,
}

impl Live<'_> {
    fn leave_line(&mut self) {
        if std::mem::take(&mut self.line) > 0 {
            eprintln!();
        }
    }

    fn moved(&self, now_ns: u64, totals: &[Totals]) -> Moved {
        let counts = totals.first().map(|totals| totals.counts).unwrap_or_default();
        Moved {
            records_in: full(&counts[0]),
            records_out: full(&counts[1]),
            truncated: 0,
            bytes: counts[1].bytes,
            elapsed_ns: now_ns.saturating_sub(self.began_ns),
        }
    }
}

impl Control for Live<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event.what, EventKind::Started(_)) {
            self.began_ns = event.at_ns;
        }
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        if self.asked.take() {
            self.leave_line();
            tell(&self.moved(now_ns, totals), self.options.status);
        }
        let moved = self.moved(now_ns, totals);
        let seconds = moved.elapsed_ns / 1_000_000_000;
        if self.options.status == Status::Progress && seconds > self.told_s {
            self.told_s = seconds;
            let text = moved.progress();
            let blanks = " ".repeat(self.line.saturating_sub(text.len()));
            self.line = text.len();
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r{text}{blanks}").and_then(|()| err.flush());
        }
        match self.interrupt.raised() {
            true => Steer::Stop(Vec::new(), StopReason::Signal),
            false => Steer::Continue,
        }
    }
}
