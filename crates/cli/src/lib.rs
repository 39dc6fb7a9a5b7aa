//! The only one that speaks: arguments, progress, printing, exit codes. No arithmetic, no SQL, no `unsafe`.

/// As the standard one, but a reader of stderr that has gone is no reason to panic: the exit status tells as well.
macro_rules! eprintln {
    () => {
        eprintln!("")
    };
    ($($what:tt)+) => {{
        let line = format!("{}\n", format_args!($($what)+));
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }};
}

pub mod args;
mod bonnie;
mod calibrate;
mod dd;
mod dt;
mod fio;
mod iozone;
mod keep;
mod load;
mod orion;
mod others;
mod peers;
mod ping;
mod preflight;
mod records;
mod slob;
mod step;
mod surroundings;
mod sysbench;
mod targets;
mod watch;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use fathom_engine::Engine;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// How a command ended, and with that the program's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As asked: 0.
    Done,
    /// It failed: 1.
    Failed,
    /// It finished, and its figures cannot be believed: 3.
    Unbelievable,
    /// The user interrupted it: 130.
    Interrupted,
}

/// The exit status after SIGINT.
const INTERRUPTED: u8 = 130;

/// What every command knows of its surroundings.
#[derive(Debug)]
pub struct Context {
    /// Where runs are kept; `None` without a home.
    pub store: Option<PathBuf>,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// May progress bars be drawn?
    pub progress: bool,
}

/// Runs one command line and answers the exit status.
pub fn run(arguments: Vec<OsString>, engine: &mut Engine) -> u8 {
    let command: Vec<String> = arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    if let Some(peer) = peers::called_as(&command) {
        let progress = surroundings::draws_progress();
        let words = command[1..].to_vec();
        let context = Context { store: surroundings::store_path(None), command, progress };
        return (peer.run)(&words, &context, engine);
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let context = Context {
        store: surroundings::store_path(cli.store.clone()),
        command,
        progress: !cli.no_progress && surroundings::draws_progress(),
    };
    if let Some((peer, words)) = peers::of(&cli.command) {
        return (peer.run)(words, &context, engine);
    }
    status(execute(&cli.command, &context, engine))
}

fn status(outcome: anyhow::Result<Ended>) -> u8 {
    match outcome {
        Ok(Ended::Done) => 0,
        Ok(Ended::Failed) => 1,
        Ok(Ended::Unbelievable) => 3,
        Ok(Ended::Interrupted) => INTERRUPTED,
        Err(error) if broken_pipe(&error) => 0,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.is::<WrongUsage>() { 2 } else { 1 }
        }
    }
}

/// Each option alone could be meant, and together they cannot: exit status 2, as for what cannot be parsed.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// The reader of our output has seen enough.
fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn execute(command: &Command, context: &Context, engine: &mut Engine) -> anyhow::Result<Ended> {
    match command {
        Command::Calibrate(args) => calibrate::run(args, context, engine),
        Command::Run(args) => load::run(args, context, engine),
        Command::Slob(args) => slob::run(args, context),
        Command::Ping(args) => ping::run(args, context, engine),
        // Answered before: a peer's command has its own exit statuses.
        Command::Orion { .. }
        | Command::Fio { .. }
        | Command::Sysbench { .. }
        | Command::Dd { .. }
        | Command::Dt { .. }
        | Command::Bonnie { .. }
        | Command::Iozone { .. } => Ok(Ended::Done),
        Command::Status => records::status(context),
        Command::History(args) => records::history(args, context),
        Command::Show(args) => records::show(args, context),
        Command::Sql { query } => records::sql(query, context),
        Command::Completions { shell } => {
            // Into memory first: the generator panics when its reader has gone.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "fathom", &mut script);
            std::io::stdout().write_all(&script)?;
            Ok(Ended::Done)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            std::io::stdout().write_all(&page)?;
            Ok(Ended::Done)
        }
    }
}
