//! `fathom sysbench`, and the program called through a link named `sysbench`: its fileio test, its words in, its
//! report out. What its report does not say of itself goes into the record as notes.

mod ending;
mod files;
mod live;
mod log;

use crate::{self as sysbench, Command, Mode, Options, Stream, report};
use ending::End;
use fathom_calibrate::load_figures::load_figures;
use fathom_calibrate::precision::Precision;
use fathom_calibrate::verdict::Evidence;
use fathom_engine::{Engine, Permits, Policy};
use fathom_host::Roots;
use fathom_record::*;
use fathom_session::environment::{self, Interrupt};
use fathom_session::preflight::{self, Found};
use fathom_session::record_writer::{Keeper, empty_record};
use fathom_session::targets;
use fathom_session::tool::Tool;
use fathom_session::{Context, INTERRUPTED};
use fathom_spec::Plan;
use live::Live;
use std::io::{Read, Write};

/// The tool, for the list of tools.
pub struct Sysbench;

impl Tool for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn about(&self) -> &'static str {
        "Speak sysbench's language, its fileio test: fathom sysbench fileio --file-test-mode=rndrw run; --help tells its options"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        run(words, context, engine)
    }
}

/// Runs the words after the name and answers sysbench's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    let read = |path: &str| std::fs::read_to_string(path).map_err(|error| in_words(&error));
    let understood = sysbench::understand(words, &read);
    for (stream, text) in &understood.said {
        match stream {
            Stream::Out => say(text),
            Stream::Err => drop(std::io::stderr().write_all(text.as_bytes())),
        }
    }
    match understood.then {
        Command::Exit(status) => status,
        Command::Explain(name) => explain(&name),
        Command::Cleanup(options) => {
            Voice::of(&options).notice(|out| writeln!(out, "Removing test files..."));
            files::remove(&options);
            0
        }
        Command::Prepare(options) => files::prepare(&options, engine),
        Command::Run(options) => {
            let Some(mode) = options.mode else { return 1 };
            work(&options, mode, context, engine)
        }
    }
}

/// What the system says of an error, without the number.
fn in_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// Writes to stdout at once; a reader that has gone is no reason to end a measurement.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Tells what is to be told at a verbosity.
#[derive(Clone, Copy)]
struct Voice {
    level: u8,
}

impl Voice {
    fn of(options: &Options) -> Self {
        Voice { level: options.verbosity }
    }

    fn at(self, level: u8, tell: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
        let mut text = Vec::new();
        if self.level >= level && tell(&mut text).is_ok() {
            say(&String::from_utf8_lossy(&text));
        }
    }

    /// The report itself.
    fn notice(self, tell: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
        self.at(3, tell);
    }

    fn warning(self, text: &str) {
        self.at(2, |out| writeln!(out, "WARNING: {text}"));
    }

    fn fatal(self, text: &str) {
        self.at(0, |out| report::fatal(text, out));
    }

    fn info(self, text: &str) {
        self.at(4, |out| writeln!(out, "{text}"));
    }

    fn debug(self, text: &str) {
        self.at(5, |out| writeln!(out, "DEBUG: {text}"));
    }
}

/// What fathom refuses and sysbench has no words for: in its manner, with a hint on stderr.
fn refuse(voice: Voice, error: &str) -> u8 {
    let (what, hint) = error.split_once("\nhint: ").unwrap_or((error, ""));
    voice.fatal(&what.replace("--write-consent", "FATHOM_WRITE_CONSENT"));
    if !hint.is_empty() {
        let hint = hint.replace("say --write-consent ", "set FATHOM_WRITE_CONSENT=");
        let _ = writeln!(
            std::io::stderr(),
            "hint: {}",
            hint.replace("measure with --read-only", "use a mode that only reads")
        );
    }
    1
}

/// Test files are there to be written, whatever they hold, as long as they are plain files: a link may lead to
/// something else, which needs a word more if it holds something. What is in use is written in no case.
fn permits(options: &Options) -> Permits {
    let mut permits = Permits::new(Policy::WhenHolding);
    for name in (0..options.files).map(|number| options.file(number)) {
        if std::fs::symlink_metadata(&name).is_ok_and(|about| about.is_file()) {
            permits.add_consent(name);
        }
    }
    environment::write_consents().into_iter().for_each(|name| permits.add_consent(name));
    permits
}

fn explain(name: &str) -> u8 {
    let mut text = String::new();
    let read = match name {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        path => std::fs::read_to_string(path).map(|read| text = read),
    };
    if let Err(error) = read {
        let _ = writeln!(
            std::io::stderr(),
            "error: cannot read {name}: {}\nhint: name a file, or - for what is piped in",
            in_words(&error)
        );
        return 1;
    }
    match sysbench::explain(&text) {
        Some(said) => {
            say(&said);
            0
        }
        None => {
            let _ = writeln!(
                std::io::stderr(),
                "error: {name} holds no figures of sysbench's fileio\nhint: a report of sysbench 1.0 or 1.1 can be explained, or a table with its IOPS and MiB/s"
            );
            1
        }
    }
}

/// The run command: files looked at, one plan executed, figures told, the record kept.
fn work(options: &Options, mode: Mode, context: &Context, engine: &mut Engine) -> u8 {
    let voice = Voice::of(options);
    voice.notice(|out| report::opening(options, mode, out));
    if let Err(status) = files::ready(options, mode) {
        return status;
    }
    let seed = if options.seed == 0 { environment::seconds() } else { options.seed };
    let log = log::Log::wanted(options, &environment::run_id());
    let plan = sysbench::run(options, mode, seed, log.as_ref().map(|log| &log.path[..]));
    let roots = Roots::default();
    let found = look(&roots);
    engine.disks = found.as_ref().map(|found| found.disks.clone()).unwrap_or_default();
    engine.permits = permits(options);
    let mut record = begin(options, context, found.as_ref());
    let (mut keeper, lost) =
        Keeper::begin(context.store.clone(), &record, found.as_ref().and_then(Found::physical_disks));
    record.notes.extend(lost);
    voice.notice(|out| report::starting(options, out));
    if options.rate < 0 {
        voice.notice(report::running);
        keeper.abandon(&record.id);
        voice.fatal(ending::QUEUE_IS_FULL);
        return 1;
    }
    let interrupt = Interrupt::watch();
    let mut live = Live::new(options, &interrupt);
    let outcome = engine.execute(&plan, &mut live);
    match outcome {
        Err(ExecuteError::Thread { number, errno, .. }) => {
            keeper.abandon(&record.id);
            let words = in_words(&std::io::Error::from_raw_os_error(errno));
            voice.fatal(&report::no_thread(number, errno, &words));
            1
        }
        Err(error) => {
            keeper.abandon(&record.id);
            refuse(voice, &error.to_string())
        }
        Ok(run) => {
            live.tell_running();
            let end = End::of(&run, &live);
            if !live.forced {
                live.last_line(end.total_s);
            }
            log.iter().for_each(|log| log.tell(options));
            let status = ending::tell(options, &run, &live, &end);
            let status = if interrupt.raised() { INTERRUPTED } else { status };
            record.notes.extend(sysbench::notes(options, mode, &live.tally, end.counted_s(&live)));
            conclude(record, run, &plan, found, (keeper, status));
            status
        }
    }
}

/// The machine and what is below the current directory, as far as that can be seen.
fn look(roots: &Roots) -> Option<Found> {
    let storage = fathom_host::resolve(roots, std::path::Path::new(".")).ok()?;
    let here = targets::Ready::Existing { path: ".".into(), storage: Box::new(storage) };
    Some(preflight::look(roots, std::slice::from_ref(&here)))
}

fn begin(options: &Options, context: &Context, found: Option<&Found>) -> ResultRecord {
    let facts = found.and_then(|found| found.facts(serde_json::Value::Null).ok()).unwrap_or_default();
    let targets = vec![options.file(0)];
    let mut record = empty_record("sysbench", &context.command, None, targets, facts);
    record.notes.extend(found.iter().flat_map(|found| found.notes.iter().cloned()));
    record
}

fn conclude(
    mut record: ResultRecord,
    mut run: Run,
    plan: &Plan,
    found: Option<Found>,
    (mut keeper, status): (Keeper, u8),
) {
    let (workers, depth) = plan.streams.first().map_or((1, 1), |s| (s.workers, s.depth.most()));
    run.name = "fileio".to_owned();
    run.load = Load { small: workers * depth, large: 0 };
    record.ended = environment::now();
    record.ending = match status {
        0 => Ending::Complete,
        INTERRUPTED => Ending::Interrupted,
        _ => Ending::Failed,
    };
    record.summary = load_figures(&run);
    record.runs.push(run);
    let mut checks = found.as_ref().map(Found::checks).unwrap_or_default();
    let evidence = found.map(|found| found.evidence).unwrap_or_default();
    let evidence = Evidence {
        memory: evidence.memory,
        memory_backed: evidence.memory_backed,
        unchecked: evidence.unchecked,
        ..Evidence::of_runs(&record.runs, Precision::Normal)
    };
    checks.extend(evidence.checks());
    record.verdict = judge(checks);
    keeper.finish(&record);
    if environment::speaks_notes() {
        for note in &record.notes {
            let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
            let _ = writeln!(std::io::stderr(), "note: {}{hint}", note.text);
        }
    }
}
