//! `fathom sysbench`, and the program called through a link named `sysbench`: its fileio test, its words in, its
//! report out. What its report does not say of itself goes into the record as notes.

mod ending;
mod files;
mod final_figures;
mod live;
mod log;
mod messages;

use crate::{self as sysbench, Command, Mode, Options, Stream, report};
use ending::Elapsed;
use fathom_host::text_file::{self, TextError};
use fathom_record::{Attachments, ExecuteError, Sink};
use fathom_session::measurement::{existing, load_of, tell_notes};
use fathom_session::tool::Tool;
use fathom_session::{Console, End, Environment, INTERRUPTED, Session, Setup, errno_text};
use fathom_spec::{Permits, Policy, StreamId};
use live::Live;
use log::DebugLog;
use messages::{Messages, print};
use std::io::Write;

/// The tool, for the list of tools.
pub struct Sysbench;

impl Tool for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn about(&self) -> &'static str {
        "Speak sysbench's language, its fileio test: fathom sysbench fileio --file-test-mode=rndrw run; --help tells its options"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        run(words, session)
    }
}

/// Runs the words after the name and answers sysbench's exit status.
fn run(words: &[String], session: &mut Session<'_>) -> u8 {
    let console = session.console.clone();
    let read = |path: &str| text_file::read(path).map_err(|error| words_of(&error));
    let invocation = sysbench::parse(words, &read);
    for (stream, text) in &invocation.messages {
        match stream {
            Stream::Out => print(text, &console),
            Stream::Err => drop(console.err().write_all(text.as_bytes())),
        }
    }
    match invocation.command {
        Command::Exit(status) => status,
        Command::Explain(name) => explain(&name, &console),
        Command::Cleanup(options) => {
            Messages::new(&options, &console).notice(|out| writeln!(out, "Removing test files..."));
            let removed = files::remove(&options, Messages::new(&options, &console));
            removed.err().unwrap_or(0)
        }
        Command::Prepare(options) => files::prepare(&options, session),
        Command::Run(options) => {
            let Some(mode) = options.mode else { return 1 };
            measure(&options, mode, session)
        }
    }
}

/// Test files are there to be written, whatever they hold, as long as they are plain files: a link may lead to
/// something else, which needs a word more if it holds something. What is in use is written in no case.
fn permits(options: &Options, environment: &Environment) -> Permits {
    let mut permits = Permits::new(Policy::WhenHolding);
    for name in (0..options.files).map(|number| options.file(number)) {
        if std::fs::symlink_metadata(&name).is_ok_and(|about| about.is_file()) {
            permits.add_named(name);
        }
    }
    environment.write_consents().into_iter().for_each(|name| permits.add_consent(name));
    permits
}

/// Why a text cannot be read, in the system's words where they are the system's.
fn words_of(error: &TextError) -> String {
    match error {
        TextError::System(error) => errno_text::of_error(error),
        error => error.to_string(),
    }
}

fn explain(name: &str, console: &Console) -> u8 {
    let text = match text_file::read_named(name) {
        Ok(text) => text,
        Err(error) => {
            console.complain(format_args!(
                "error: cannot read {name}: {}\nhint: name a file, or - for what is piped in",
                words_of(&error)
            ));
            return 1;
        }
    };
    match sysbench::explain(&text) {
        Some(explanation) => {
            print(&explanation, console);
            0
        }
        None => {
            console.complain(format_args!(
                "error: {name} holds no figures of sysbench's fileio\nhint: a report of sysbench 1.0 or 1.1 can be explained, or a table with its IOPS and MiB/s"
            ));
            1
        }
    }
}

/// The run command: files looked at, one plan executed, figures told, the record kept.
fn measure(options: &Options, mode: Mode, session: &mut Session<'_>) -> u8 {
    let (environment, console) = (session.environment.clone(), session.console.clone());
    let messages = Messages::new(options, &console);
    messages.notice(|out| report::opening(options, mode, out));
    if let Err(status) = files::ready(options, mode, messages) {
        return status;
    }
    let seed = if options.seed == 0 { environment.seconds() } else { options.seed };
    let plan = sysbench::run(options, mode, seed);
    let mut measurement = session.begin(Setup {
        tool: "sysbench",
        label: None,
        targets: vec![options.file(0)],
        ready: &existing(["."]),
        permits: permits(options, &environment),
        request: serde_json::Value::Null,
    });
    messages.notice(|out| report::starting(options, out));
    if options.rate < 0 {
        messages.notice(report::running);
        measurement.abandon();
        messages.fatal(ending::QUEUE_IS_FULL);
        return 1;
    }
    let interrupt = environment.interrupt();
    let mut live = Live::new(options, &interrupt, messages);
    let log = options.debug.then(DebugLog::default);
    let sinks = log.iter().map(|log| (StreamId(0), Box::new(log.clone()) as Box<dyn Sink>)).collect();
    let attachments = Attachments { sinks, ..Attachments::default() };
    let outcome = match measurement.execute(&plan, attachments, &mut live) {
        Ok(outcome) => outcome,
        Err(error) => {
            measurement.abandon();
            return not_run(&error, messages);
        }
    };
    live.tell_running();
    let elapsed = Elapsed::of(&outcome.run, &live);
    if !live.forced {
        live.last_line(elapsed.total_s);
    }
    log.iter().for_each(|log| log.tell(options, messages));
    let status = ending::tell(options, &outcome, &live, elapsed);
    let status = if interrupt.raised() { INTERRUPTED } else { status };
    let mut run = outcome.run;
    run.name = "fileio".to_owned();
    run.load = load_of(&run.plan);
    let notes = sysbench::notes(options, mode, &live.tally, elapsed.counted_s(&live));
    let end = End::of(status == INTERRUPTED, status != 0).with_notes(notes);
    let finished = measurement.finish_with(run, end);
    tell_notes(&finished.record.notes, &environment, &console);
    status
}

/// Why nothing was run.
fn not_run(error: &ExecuteError, messages: Messages<'_>) -> u8 {
    let ExecuteError::Thread { number, errno, .. } = error else { return messages.refuse_plan(error) };
    messages.fatal(&report::no_thread(*number, *errno, &errno_text::of_number(*errno)));
    1
}

#[cfg(test)]
mod tests;
