//! `fathom ioping`, and the program called through a link named `ioping`: its options in, its lines out. Each request is one
//! I/O of one run; what the record knows besides (the disk's own counters, percentiles, a verdict) ioping does not print.

use crate::failure::{STATUS_USAGE, short_transfer};
use crate::plan::KEPT_FILE;
use crate::{
    Failure, Invocation, NAME, Options, Preparation, Report, Request, TargetFacts, TargetLabel, USAGE,
    VERSION, parse, prepare,
};
use fathom_engine::guard;
use fathom_host::{Roots, Scratch, Storage, TargetKind, resolve, scratch::Mark};
use fathom_record::{
    Attachments, Control, EventKind, ExecuteError, LogEntry, Purpose, Run, Sink, Steer, StopReason, Totals,
    Vocabulary,
};
use fathom_session::measurement::{existing, load_of};
use fathom_session::stop_at_fault::StopAtFault;
use fathom_session::tool::Tool;
use fathom_session::{Console, End, Environment, Interrupt, Measurement, Session, Setup, errno_text};
use fathom_spec::{Bytes, Nanos, Permits, Policy, StreamId};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The tool, for the list of tools.
pub struct Ioping;

impl Tool for Ioping {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Speak ioping's language: is the disk slow now? fathom ioping -c 10 DIRECTORY; -h tells its options"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        let console = session.console.clone();
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match parse(&words) {
            Ok(Invocation::Measure(options)) => match measure(&options, session) {
                Ok(()) => 0,
                Err(failure) => {
                    complain(&console, &failure.to_string());
                    failure.status()
                }
            },
            Ok(Invocation::Help) => print(&console, USAGE, 0),
            Ok(Invocation::NoWords) => print(&console, USAGE, STATUS_USAGE),
            Ok(Invocation::Version) => print(&console, VERSION, 0),
            Err(error) => {
                complain(&console, &error.to_string());
                if error.shows_usage() {
                    let _ = console.err().write_all(format!("\n{USAGE}").as_bytes());
                }
                STATUS_USAGE
            }
        }
    }
}

/// Whoever does not read it gets the status all the same.
fn print(console: &Console, text: &str, status: u8) -> u8 {
    let _ = console.out().write_all(text.as_bytes());
    status
}

fn complain(console: &Console, what: &str) {
    console.complain(format_args!("{NAME}: {what}"));
}

/// The words for what an executor refuses.
const WORDS: Vocabulary<'static> = Vocabulary {
    size: "-S",
    block: "-s",
    read_only: "leave -W out",
    missing: "it must be a directory, a file or a device",
    workers: "",
    depth: "",
    ..Vocabulary::PEER
};

/// The file or device to which requests go.
struct Place {
    path: PathBuf,
    /// A working file of fathom's own, removed with this.
    scratch: Option<Scratch>,
}

impl Place {
    /// Its name: what was typed, and ASCII behind it.
    fn name<'a>(&'a self, options: &'a Options) -> &'a str {
        self.path.to_str().unwrap_or(&options.target)
    }
}

fn measure(options: &Options, session: &mut Session<'_>) -> Result<(), Failure> {
    let (console, environment) = (session.console.clone(), session.environment.clone());
    options.warnings().iter().for_each(|warning| complain(&console, warning));
    let facts = look(&options.target)?;
    // What the words alone make impossible is said before a working file is made.
    let seed = environment.nanoseconds();
    prepare(options, facts, &options.target, seed)?;
    let place = place(options, facts, &session.roots, &environment)?;
    let preparation = prepare(options, facts, place.name(options), seed)?;
    let label = label(options, facts, &session.roots);
    let ready = existing([options.target.as_str()]);
    let mut measurement = session.begin(Setup {
        tool: NAME,
        label: None,
        targets: vec![options.target.clone()],
        ready: &ready,
        permits: permits(options, &place, &preparation, &environment),
        request: serde_json::Value::Null,
    });
    let interrupt = environment.keyboard_interrupt();
    if let Err(failure) = fill(&preparation, &place, &interrupt, &mut measurement) {
        measurement.abandon();
        return Err(failure);
    }
    let began = environment.zoned();
    let (sender, requests) = channel();
    let mut report = Requests {
        options,
        report: Report::new(options, &label),
        requests,
        began,
        interrupt: &interrupt,
        console: &console,
        reader_gone: false,
    };
    let mut attachments = Attachments::default();
    attachments.sinks.push((StreamId(0), Box::new(Completions(sender))));
    let outcome = measurement.execute(&preparation.plan, attachments, &mut report);
    report.drain();
    let mut run = match outcome {
        Ok(outcome) => outcome.run,
        Err(error) => {
            measurement.abandon();
            return Err(refusal(options, error));
        }
    };
    let failed = failed(&run, options);
    if failed.is_none() {
        report.finish(run.length_ns);
    }
    run.name = "requests".to_owned();
    run.load = load_of(&run.plan);
    measurement.tell_notes();
    measurement.finish_with(run, End::of(interrupt.raised(), failed.is_some()));
    drop(place);
    failed.map_or(Ok(()), Err)
}

/// What the target is, by its name.
fn look(name: &str) -> Result<TargetFacts, Failure> {
    let stat = |error: std::io::Error| Failure::Stat(name.to_owned(), errno_text::of_error(&error));
    let about = std::fs::metadata(name).map_err(stat)?;
    let kind = TargetKind::of(&about);
    let size = match kind {
        TargetKind::BlockDevice => device_size(name)?,
        _ => about.len(),
    };
    Ok(TargetFacts { kind, size: Bytes(size) })
}

fn device_size(name: &str) -> Result<u64, Failure> {
    let open = |error: std::io::Error| Failure::Open(name.to_owned(), errno_text::of_error(&error));
    let device = std::fs::File::open(name).map_err(open)?;
    rustix::fs::seek(&device, rustix::fs::SeekFrom::End(0)).map_err(|error| open(error.into()))
}

/// The target itself, or a working file in a directory.
fn place(
    options: &Options,
    facts: TargetFacts,
    roots: &Roots,
    environment: &Environment,
) -> Result<Place, Failure> {
    let directory = Path::new(&options.target);
    if facts.kind == TargetKind::Directory {
        let permits = Permits { consents: environment.write_consents(), ..Permits::new(Policy::WhenHolding) };
        guard::allow_directory(roots, directory, &permits).map_err(|error| refusal(options, error))?;
    }
    match (facts.kind, options.keep) {
        (TargetKind::Directory, true) => Ok(Place { path: directory.join(KEPT_FILE), scratch: None }),
        (TargetKind::Directory, false) => {
            let no_file = |error: std::io::Error| {
                Failure::TemporaryFile(options.target.clone(), errno_text::of_error(&error))
            };
            let mark = Mark::own(roots).map_err(no_file)?;
            let scratch = Scratch::create(directory, &mark, 0).map_err(no_file)?;
            Ok(Place { path: scratch.path.clone(), scratch: Some(scratch) })
        }
        _ => Ok(Place { path: directory.to_owned(), scratch: None }),
    }
}

/// A working file may be written. A file or a device holds something of the user's: there he must have said it three times.
fn permits(
    options: &Options,
    place: &Place,
    preparation: &Preparation,
    environment: &Environment,
) -> Permits {
    let mut permits = Permits::new(Policy::WhenHolding);
    permits.consents = environment.write_consents();
    match &place.scratch {
        Some(scratch) => permits.add_scratch(&scratch.path),
        None if options.keep && preparation.layout.is_some() => {
            permits.add_named(place.name(options));
        }
        None if preparation.consents_to_write && place.path.is_file() => permits.add_named(&options.target),
        None if preparation.consents_to_write => permits.add_consent(&options.target),
        None => {}
    }
    permits
}

/// What each line says of the target.
fn label(options: &Options, facts: TargetFacts, roots: &Roots) -> TargetLabel {
    let path = options.target.clone();
    if facts.kind == TargetKind::BlockDevice {
        let (file_system, device) = ("block".to_owned(), "device".to_owned());
        return TargetLabel { path, file_system, device, device_size: facts.size };
    }
    let below =
        resolve(roots, Path::new(&options.target)).ok().and_then(|storage: Storage| storage.file_system);
    let size = rustix::fs::statvfs(&*options.target).map_or(0, |about| about.f_blocks * about.f_frsize);
    let (file_system, device) = below.map_or_else(Default::default, |below| (below.kind, below.source));
    TargetLabel { path, file_system, device, device_size: Bytes(size) }
}

/// Fills the working file of a directory; one that was kept and is large enough stays as it is.
fn fill(
    preparation: &Preparation,
    place: &Place,
    interrupt: &Interrupt,
    measurement: &mut Measurement<'_>,
) -> Result<(), Failure> {
    let Some(layout) = &preparation.layout else { return Ok(()) };
    let there = std::fs::metadata(&place.path).map_or(0, |about| about.len());
    if place.scratch.is_none() && there >= layout.size.0 {
        return Ok(());
    }
    let write = |reason: String| Err(Failure::PreparationWrite(reason));
    match measurement.run(&layout.plan, &mut StopAtFault(interrupt)) {
        Err(ExecuteError::NotOpened { target, errno, .. }) => {
            Err(Failure::TemporaryFile(target, errno_text::of_number(errno)))
        }
        Err(ExecuteError::NotExtended { errno, .. }) => write(errno_text::of_number(errno)),
        Err(error) => write(error.in_words(&WORDS)),
        Ok(run) => match first_errno(&run) {
            Some(errno) => write(errno_text::of_write(errno)),
            None => {
                let mut run = run;
                (run.name, run.purpose, run.load) =
                    ("layout".to_owned(), Purpose::Layout, load_of(&run.plan));
                measurement.keep(run);
                Ok(())
            }
        },
    }
}

fn first_errno(run: &Run) -> Option<i32> {
    run.events.iter().find_map(|event| match event.what {
        EventKind::Fault { errno, .. } => Some(errno),
        _ => None,
    })
}

/// The failure of a request, if there was one; what would have had to wait is none.
fn failed(run: &Run, options: &Options) -> Option<Failure> {
    let waits = rustix::io::Errno::AGAIN.raw_os_error();
    let errno = first_errno(run).filter(|errno| !(options.nowait && *errno == waits))?;
    (errno != 0).then(|| Failure::Request(errno_text::of_number(errno)))
}

fn refusal(options: &Options, error: ExecuteError) -> Failure {
    let open = |reason| Failure::Open(options.target.clone(), reason);
    match error {
        ExecuteError::NotOpened { errno, .. } => open(errno_text::of_number(errno)),
        ExecuteError::NoMemory { .. } => Failure::Buffer,
        error => open(error.in_words(&WORDS)),
    }
}

/// Hands completions to whoever prints them.
struct Completions(Sender<Vec<LogEntry>>);

impl Sink for Completions {
    fn take(&mut self, entries: &[LogEntry]) -> std::io::Result<()> {
        // Whoever prints them may have gone: the run ends by itself.
        let _ = self.0.send(entries.to_vec());
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Prints requests as they come back, and ends the run at SIGINT.
struct Requests<'a> {
    options: &'a Options,
    report: Report<'a>,
    requests: Receiver<Vec<LogEntry>>,
    /// The moment at which the run began.
    began: jiff::Zoned,
    interrupt: &'a Interrupt,
    console: &'a Console,
    reader_gone: bool,
}

impl Requests<'_> {
    fn drain(&mut self) {
        let mut text = Vec::new();
        for entry in self.requests.try_iter().flatten() {
            let moved = entry.result.max(0) as u64;
            if entry.result < 0 && !self.options.nowait {
                continue;
            }
            if moved > 0 && moved < u64::from(entry.operation.length) {
                complain(self.console, &short_transfer(moved));
            }
            let request = Request {
                began: Nanos(entry.submitted_ns),
                ended: Nanos(entry.at_ns),
                moved,
                writes: entry.operation.verb.writes(),
            };
            let moment = self.began.saturating_add(jiff::SignedDuration::from_nanos(entry.at_ns as i64));
            let _ = self.report.request(request, &moment, &mut text);
        }
        self.print(&text);
    }

    fn finish(&mut self, length_ns: u64) {
        let mut text = Vec::new();
        let moment = self.began.saturating_add(jiff::SignedDuration::from_nanos(length_ns as i64));
        let _ = self.report.finish(Nanos(length_ns), &moment, &mut text);
        self.print(&text);
    }

    fn print(&mut self, text: &[u8]) {
        let mut out = self.console.out();
        self.reader_gone |= !text.is_empty() && out.write_all(text).and_then(|()| out.flush()).is_err();
    }
}

impl Control for Requests<'_> {
    fn goes_on(&mut self) -> bool {
        !self.interrupt.raised()
    }

    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        self.drain();
        match (self.interrupt.raised(), self.reader_gone) {
            (true, _) => Steer::Stop(Vec::new(), StopReason::Signal),
            (false, true) => Steer::Stop(Vec::new(), StopReason::Told),
            (false, false) => Steer::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::{Event, Operation, Outcome};
    use fathom_session::mock::{Scene, Stage};
    use fathom_spec::{Plan, Verb};

    fn entry(number: u64, took_ns: u64, result: i32) -> LogEntry {
        let operation =
            Operation { offset: 0, due_ns: 0, mark: 0, length: 4096, target: 0, verb: Verb::Read, cell: 0 };
        let submitted_ns = number * 1_000_000_000;
        LogEntry {
            at_ns: submitted_ns + took_ns,
            submitted_ns,
            submit_ns: 0,
            operation,
            priority: 0,
            result,
            worker: 0,
        }
    }

    #[test]
    fn requests_are_printed_as_they_come_and_counted_in_the_end() {
        let options = Options { target: "/t".to_owned(), ..Options::default() };
        let label = TargetLabel {
            path: "/t".to_owned(),
            file_system: "ext4".to_owned(),
            device: "/dev/vda".to_owned(),
            device_size: Bytes(1 << 30),
        };
        let (sender, requests) = channel();
        let (console, interrupt) = (Console::captured(), Environment::given(&[]).interrupt());
        let mut report = Requests {
            options: &options,
            report: Report::new(&options, &label),
            requests,
            began: Environment::given(&[]).zoned(),
            interrupt: &interrupt,
            console: &console,
            reader_gone: false,
        };
        let mut sink = Completions(sender);
        sink.take(&[entry(0, 300_000, 4096), entry(1, 200_000, 4096)]).unwrap();
        assert_eq!(report.slot(50_000_000, &[]), Steer::Continue);
        let out = console.take().0;
        assert_eq!(
            out,
            "4 KiB <<< /t (ext4 /dev/vda 1 GiB): request=1 time=300 us (warmup)\n\
             4 KiB <<< /t (ext4 /dev/vda 1 GiB): request=2 time=200 us\n"
        );
        interrupt.raise();
        assert!(matches!(report.slot(100_000_000, &[]), Steer::Stop(_, StopReason::Signal)));
        report.finish(2_000_000_000);
        let out = console.take().0;
        assert!(out.contains("1 requests completed in 200 us, 4 KiB read"), "{out}");
    }

    #[test]
    fn a_request_that_fails_ends_with_status_3_and_no_statistics() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 1 << 20]).unwrap();
        let mut run = Run::empty(&Plan::new(1));
        let fault = EventKind::Fault {
            stream: StreamId(0),
            verb: Verb::Read,
            offset: Bytes(0),
            errno: 5,
            moved: Bytes(0),
            target: "x".to_owned(),
            times: 1,
        };
        run.events.push(Event { at_ns: 0, what: fault });
        let mut stage = Stage::new(Scene { answer: Some(Ok(Outcome::of(run))), ..Scene::default() });
        let (status, out, err) = stage.run(&Ioping, &["-c", "1", file.path().to_str().unwrap()]);
        assert_eq!(
            (status, out.as_str(), err.as_str()),
            (3, "", "ioping: request failed: Input/output error\n")
        );
    }

    #[test]
    fn a_file_is_not_written_unless_it_was_said_three_times() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 1 << 20]).unwrap();
        let name = file.path().to_str().unwrap();
        let mut stage = Stage::new(Scene::default());
        let (status, _, err) = stage.run(&Ioping, &["-W", "-c", "1", name]);
        assert_eq!(status, 2);
        assert_eq!(err, "ioping: think twice, then use -WWW to shred this target\n");
        assert!(stage.execute.requests.is_empty());
        stage.run(&Ioping, &["-WWW", "-c", "1", name]);
        assert_eq!(stage.execute.requests[0].1.named, [name.into()].into());
    }
}
