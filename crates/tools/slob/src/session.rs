//! `fathom slob`, and the program called through a link named `slob`: the storage measured through a real database.

pub mod args;
mod files;
mod report;

#[cfg(feature = "databases")]
mod collectors;
#[cfg(feature = "databases")]
mod counter_deltas;
#[cfg(feature = "databases")]
mod observe;
#[cfg(feature = "databases")]
mod os;
#[cfg(feature = "databases")]
mod place;
#[cfg(feature = "databases")]
mod record;
#[cfg(feature = "databases")]
mod run;
#[cfg(feature = "databases")]
mod settings;
#[cfg(feature = "databases")]
mod setup;
#[cfg(feature = "databases")]
mod sweep;
#[cfg(feature = "databases")]
mod user;
#[cfg(feature = "databases")]
mod work;

use anyhow::Result;
use args::{Command, Slob as Args};
use clap::Parser;
use fathom_session::tool::Tool;
use fathom_session::{Ended, Session, status};

/// The tool, for the list of tools.
pub struct Slob;

impl Tool for Slob {
    fn name(&self) -> &'static str {
        "slob"
    }

    fn about(&self) -> &'static str {
        "Measure the storage through a real database, as SLOB does: PostgreSQL, MySQL, MariaDB, SQLite"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        called(words, session)
    }
}

/// Runs the command.
pub fn run(args: &Args, session: &mut Session<'_>) -> Result<Ended> {
    match &args.command {
        Command::Report(args) => report::run(args, session),
        other => with_database(other, session),
    }
}

#[cfg(feature = "databases")]
fn with_database(command: &Command, session: &mut Session<'_>) -> Result<Ended> {
    match command {
        Command::Setup(args) => setup::run(args, session),
        Command::Run(args) => run::run(args, session),
        Command::Sweep(args) => sweep::run(args, session),
        Command::Drop(args) => setup::drop_all(args, session),
        Command::Observe(args) => observe::run(args, session),
        Command::Report(args) => report::run(args, session),
    }
}

#[cfg(not(feature = "databases"))]
fn with_database(_command: &Command, _session: &mut Session<'_>) -> Result<Ended> {
    anyhow::bail!(
        "this build of fathom has no database drivers\nhint: cargo build --release -p fathom-cli builds one that has"
    )
}

/// The program called through a link named `slob`.
#[derive(Debug, Parser)]
#[command(name = "slob", version, max_term_width = 100)]
struct Alone {
    /// Keep runs in this SQLite file instead of the user's own
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    store: Option<std::path::PathBuf>,
    /// No progress bars on stderr
    #[arg(long, global = true)]
    no_progress: bool,
    #[command(flatten)]
    slob: Args,
}

/// Runs the words after the tool's name.
fn called(words: &[String], session: &mut Session<'_>) -> u8 {
    match Alone::try_parse_from(std::iter::once("slob").chain(words.iter().map(String::as_str))) {
        Ok(alone) => {
            if alone.store.is_some() {
                session.store = alone.store;
            }
            session.progress &= !alone.no_progress;
            let ended = run(&alone.slob, session);
            status(ended, &session.console)
        }
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { 2 } else { 0 }
        }
    }
}

/// Its words as the program's help, completions and manual page tell them.
pub fn command() -> clap::Command {
    use clap::CommandFactory;
    Alone::command()
}
