//! `fathom dd`, and the program called through a link named `dd`: coreutils' operands in, its lines on stderr out.
//! What was seen besides (latencies, zeros, page cache) is kept with the run.

pub mod classic;
mod open;

use crate::{self as dd, Asked, Moved, Options, Quotes, Status, named, records as counted, shell_quoted};
use fathom_record::*;
use fathom_session::measurement::{existing, load_of};
use fathom_session::signals::{
    die_of_file_size_limit, die_of_interrupt, die_of_pipe, interruptible, met_file_size_limit,
};
use fathom_session::tool::Tool;
use fathom_session::{Console, End, Interrupt, Session, Setup, Signalled, errno_text};
use fathom_spec::{Nanos, Permits, Policy, Verb, Work};
use rustix::io::Errno;
use std::io::Write;
use std::path::Path;

/// The tool, for the list of tools.
pub struct Dd;

impl Tool for Dd {
    fn name(&self) -> &'static str {
        "dd"
    }

    fn about(&self) -> &'static str {
        "Copy as coreutils' dd does, and keep what was seen: fathom dd if=FILE of=FILE bs=1M; --help tells its operands"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        run(words, session)
    }

    fn show(&self, record: &ResultRecord, out: &mut dyn Write) -> anyhow::Result<()> {
        show(record, out)
    }
}

/// Runs the command on the words after its name and answers dd's exit status.
fn run(words: &[String], session: &mut Session<'_>) -> u8 {
    if words.first().is_some_and(|word| word == "--classic") {
        return fathom_session::status(classic::run(&words[1..], session), &session.console);
    }
    let quotes = if session.environment.style().unicode { Quotes::Curved } else { Quotes::Plain };
    match dd::parse(words, quotes) {
        Ok(Asked::Copy(options, warnings)) => {
            warnings.iter().for_each(|warning| session.console.complain(warning));
            copy(&options, session)
        }
        Ok(Asked::Help) => u8::from(dd::help(&mut session.console.out()).is_err()),
        Ok(Asked::Version) => {
            let version = env!("CARGO_PKG_VERSION");
            u8::from(writeln!(session.console.out(), "dd (fathom {version}, as coreutils 9.1)").is_err())
        }
        Err(refusal) => {
            session.console.complain(refusal);
            1
        }
    }
}

fn copy(options: &Options, session: &mut Session<'_>) -> u8 {
    let (usr1, interrupt) = (session.environment.usr1(), session.environment.keyboard_interrupt());
    let console = session.console.clone();
    let mut permits = Permits::new(Policy::WhenHolding);
    permits.consents = session.environment.write_consents();
    let ends = match interruptible(|| open::open(options, &session.roots, &permits)) {
        Ok(ends) => ends,
        Err(says) => {
            console.complain(format_args!("dd: {says}"));
            return 1;
        }
    };
    ends.says.iter().for_each(|says| console.complain(format_args!("dd: {says}")));
    if ends.cannot {
        tell(&Moved { elapsed_ns: 1, ..Moved::default() }, options.status, &console);
        return 1;
    }
    let names = [&options.input, &options.output];
    let ready = existing(names.into_iter().flatten().map(String::as_str).filter(|name| is_stored(name)));
    let mut measurement = session.begin(Setup {
        tool: "dd",
        label: None,
        targets: vec![
            options.input.clone().unwrap_or_else(|| "standard input".to_owned()),
            options.output.clone().unwrap_or_else(|| "standard output".to_owned()),
        ],
        ready: &ready,
        permits,
        request: serde_json::Value::Null,
    });
    let attachments = Attachments { preopened: ends.preopened, ..Attachments::default() };
    let mut live = Live::new(options, usr1, interrupt, &console);
    let outcome = measurement.execute(&dd::plan(options), attachments, &mut live);
    live.leave_line();
    let mut run = match outcome {
        Ok(outcome) => outcome.run,
        Err(error) => {
            measurement.abandon();
            let says = memory(options, &error).unwrap_or_else(|| error.to_string());
            console.complain(format_args!("dd: {says}"));
            return 1;
        }
    };
    // The reader of the pipe has seen enough, or the file may not grow: either signal would have ended dd without a word.
    let gone = has_fault(&run, Errno::PIPE);
    let limited = met_file_size_limit() && has_fault(&run, Errno::FBIG);
    let failed = limited || !gone && faults(options, &run, &console);
    let (moved, interrupted) = (moved(&run), live.interrupt.raised());
    let notes = notes(options, &run, ends.zeros);
    run.name = "copy".to_owned();
    run.load = load_of(&run.plan);
    measurement.record.notes.extend(notes);
    measurement.tell_notes();
    measurement.finish_with(run, End::of(interrupted, failed));
    if gone {
        die_of_pipe();
    }
    if limited {
        die_of_file_size_limit();
    }
    tell(&moved, options.status, &console);
    if interrupted {
        die_of_interrupt();
    }
    u8::from(failed || ends.failed)
}

/// Prints the closing lines.
fn tell(moved: &Moved, status: Status, console: &Console) {
    let mut text = Vec::new();
    if status == Status::None || moved.records(&mut text).is_err() {
        return;
    }
    if status != Status::NoTransfer {
        text.extend_from_slice(moved.transfer().as_bytes());
        text.push(b'\n');
    }
    // Who closed stderr does not want to know.
    let _ = console.err().write_all(&text);
}

/// What coreutils says when there is no memory for a buffer.
fn memory(options: &Options, error: &ExecuteError) -> Option<String> {
    let size = options.read_size.max(options.write_size);
    let human = dd::report::amount(size, 1024)?;
    let end = if options.read_size >= options.write_size { "input" } else { "output" };
    matches!(error, ExecuteError::NoMemory { .. })
        .then(|| format!("memory exhausted by {end} buffer of size {size} bytes ({human})"))
}

fn has_fault(run: &Run, error: Errno) -> bool {
    let number = error.raw_os_error();
    run.faults().any(|event| matches!(event.what, EventKind::Fault { errno, .. } if errno == number))
}

/// Says what failed; answers whether anything did.
fn faults(options: &Options, run: &Run, console: &Console) -> bool {
    let input = options.input.as_deref();
    let output = options.output.as_deref();
    let quoted_input = input.map_or_else(|| "'standard input'".to_owned(), shell_quoted);
    let quoted_output = output.map_or_else(|| "'standard output'".to_owned(), shell_quoted);
    let mut failed = false;
    for event in &run.events {
        match &event.what {
            EventKind::Fault { verb, errno, .. } => {
                let error = errno_text::of_number(*errno);
                // Told to stop while it waited: no fault of the output.
                if *errno == Errno::INTR.raw_os_error() {
                    continue;
                }
                failed = true;
                match verb {
                    Verb::Read => console.complain(format_args!("dd: error reading {quoted_input}: {error}")),
                    Verb::Sync => {
                        let only_data = options.converts("fdatasync") && *errno != 22;
                        let call = if only_data { "fdatasync" } else { "fsync" };
                        console.complain(format_args!("dd: {call} failed for {quoted_output}: {error}"));
                    }
                    _ if gathered(options, run) => {
                        console.complain(format_args!("dd: writing to {quoted_output}: {error}"))
                    }
                    _ => console.complain(format_args!("dd: error writing {quoted_output}: {error}")),
                }
            }
            EventKind::SkippedShort => {
                if options.status == Status::None {
                    continue;
                }
                let name = input.map_or("'standard input'".to_owned(), named);
                console.complain(format_args!("dd: {name}: {}", crate::report::SHORT_SKIP));
            }
            EventKind::ShortRead { bytes } if options.warns_of_short_reads() => {
                let unit = if *bytes == 1 { "byte" } else { "bytes" };
                console.complain(format_args!(
                    "dd: warning: partial read ({bytes} {unit}); suggest iflag=fullblock"
                ));
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
            EventKind::Truncated { records } => moved.truncated += records,
            _ => {}
        }
    }
    moved
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
    console: &'a Console,
    usr1: Signalled,
    interrupt: Interrupt,
    began_ns: u64,
    told_s: u64,
    /// Characters of the progress line that stands there.
    line: usize,
}

impl<'a> Live<'a> {
    fn new(options: &'a Options, usr1: Signalled, interrupt: Interrupt, console: &'a Console) -> Self {
        Live { options, console, usr1, interrupt, began_ns: 0, told_s: 0, line: 0 }
    }

    fn leave_line(&mut self) {
        if std::mem::take(&mut self.line) > 0 {
            self.console.complain("");
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

    fn goes_on(&mut self) -> bool {
        !self.interrupt.raised()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        if self.usr1.take() {
            self.leave_line();
            tell(&self.moved(now_ns, totals), self.options.status, self.console);
        }
        let moved = self.moved(now_ns, totals);
        let seconds = moved.elapsed_ns / 1_000_000_000;
        if self.options.status == Status::Progress && seconds > self.told_s {
            self.told_s = seconds;
            let text = moved.progress();
            let blanks = " ".repeat(self.line.saturating_sub(text.len()));
            self.line = text.len();
            let mut err = self.console.err();
            let _ = write!(err, "\r{text}{blanks}").and_then(|()| err.flush());
        }
        match self.interrupt.raised() {
            true => Steer::Stop(Vec::new(), StopReason::Signal),
            false => Steer::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{CELLS, Outcome, Totals};
    use fathom_session::mock::{Scene, Stage};
    use fathom_spec::StreamId;

    fn totals(read: u64, written: u64) -> Vec<Totals> {
        let mut counts = [Counts::default(); CELLS];
        (counts[0].operations, counts[0].bytes) = (read, read * 512);
        (counts[1].operations, counts[1].bytes) = (written, written * 512);
        vec![Totals { counts, ..Totals::running(StreamId(0), &[Verb::Read, Verb::Write]) }]
    }

    #[test]
    fn sigusr1_prints_the_lines_of_the_moment() {
        let scene = Scene {
            events: vec![Event { at_ns: 0, what: EventKind::Started(StreamId(0)) }],
            slots: vec![(1_000_000_000, totals(3, 2))],
            ..Scene::default()
        };
        let mut stage = Stage::new(scene);
        stage.environment.usr1().raise();
        let (status, _, said) = stage.run(&Dd, &["if=/dev/zero", "of=/dev/null"]);
        assert_eq!(status, 0);
        assert!(
            said.starts_with(
                "3+0 records in\n2+0 records out\n1024 bytes (1.0 kB, 1.0 KiB) copied, 1 s, 1.0 kB/s\n"
            ),
            "{said}"
        );
    }

    #[test]
    fn no_memory_is_said_in_coreutils_words() {
        let refused = ExecuteError::NoMemory { buffer: fathom_spec::Bytes(1 << 40) };
        let mut stage = Stage::new(Scene { answer: Some(Err(refused)), ..Scene::default() });
        let (status, _, said) = stage.run(&Dd, &["if=/dev/zero", "of=/dev/null", "bs=1T"]);
        assert_eq!(status, 1);
        assert_eq!(said, "dd: memory exhausted by input buffer of size 1099511627776 bytes (1.0 TiB)\n");
        assert_eq!(stage.execute.requests.len(), 1);
    }

    #[test]
    fn a_fault_is_told_and_the_lines_come_all_the_same() {
        let mut run = Run::empty(&fathom_spec::Plan::new(1));
        let fault = EventKind::Fault {
            stream: StreamId(0),
            verb: Verb::Read,
            offset: fathom_spec::Bytes(0),
            errno: 5,
            moved: fathom_spec::Bytes(0),
            target: "x".to_owned(),
            times: 1,
        };
        run.events.push(Event { at_ns: 0, what: fault });
        let mut stage = Stage::new(Scene { answer: Some(Ok(Outcome::of(run))), ..Scene::default() });
        let (status, _, said) = stage.run(&Dd, &["if=/dev/zero", "of=/dev/null"]);
        assert_eq!(status, 1);
        assert!(
            said.starts_with("dd: error reading '/dev/zero': Input/output error\n0+0 records in\n"),
            "{said}"
        );
    }
}
