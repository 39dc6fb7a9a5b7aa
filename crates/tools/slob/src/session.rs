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
mod work;

use anyhow::Result;
use args::{Command, Slob as Args};
use clap::Parser;
use fathom_engine::Engine;
use fathom_record::ResultRecord;
use fathom_render::terminal::Style;
use fathom_session::tool::Tool;
use fathom_session::{Context, Ended, status};
use std::io::Write;

/// The tool, for the list of tools.
pub struct Slob;

impl Tool for Slob {
    fn name(&self) -> &'static str {
        "slob"
    }

    fn about(&self) -> &'static str {
        "Measure the storage through a real database, as SLOB does: PostgreSQL, MySQL, MariaDB, SQLite"
    }

    fn run(&self, words: &[String], context: &Context, _engine: &mut Engine) -> u8 {
        called(words, context)
    }

    fn show(&self, record: &ResultRecord, saved: &str, style: Style, out: &mut dyn Write) -> Result<()> {
        let mut text = Vec::new();
        fathom_render::sessions::write(record, Some(saved), style, &mut text)?;
        Ok(out.write_all(&text)?)
    }
}

/// Runs the command.
pub fn run(args: &Args, context: &Context) -> Result<Ended> {
    match &args.command {
        Command::Report(args) => report::run(args, context),
        other => with_database(other, context),
    }
}

#[cfg(feature = "databases")]
fn with_database(command: &Command, context: &Context) -> Result<Ended> {
    match command {
        Command::Setup(args) => setup::run(args, context),
        Command::Run(args) => run::run(args, context),
        Command::Sweep(args) => sweep::run(args, context),
        Command::Drop(args) => setup::drop_all(args),
        Command::Observe(args) => observe::run(args, context),
        Command::Report(args) => report::run(args, context),
    }
}

#[cfg(not(feature = "databases"))]
fn with_database(_command: &Command, _context: &Context) -> Result<Ended> {
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
fn called(words: &[String], context: &Context) -> u8 {
    match Alone::try_parse_from(std::iter::once("slob").chain(words.iter().map(String::as_str))) {
        Ok(alone) => {
            let context = Context {
                store: alone.store.or_else(|| context.store.clone()),
                command: context.command.clone(),
                progress: context.progress && !alone.no_progress,
            };
            status(run(&alone.slob, &context))
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
