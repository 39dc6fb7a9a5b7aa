//! `fathom slob`, and the program called through a link named `slob`: the storage measured through a real database.

pub mod args;
mod files;
mod report;

#[cfg(feature = "databases")]
mod asked;
#[cfg(feature = "databases")]
mod collectors;
#[cfg(feature = "databases")]
mod kept;
#[cfg(feature = "databases")]
mod measured;
#[cfg(feature = "databases")]
mod observe;
#[cfg(feature = "databases")]
mod os;
#[cfg(feature = "databases")]
mod place;
#[cfg(feature = "databases")]
mod run;
#[cfg(feature = "databases")]
mod setup;
#[cfg(feature = "databases")]
mod sweep;
#[cfg(feature = "databases")]
mod work;

use crate::{Context, Ended, status};
use anyhow::Result;
use args::{Command, Slob};
use clap::Parser;

/// Runs the command.
pub fn run(args: &Slob, context: &Context) -> Result<Ended> {
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
    #[command(flatten)]
    slob: Slob,
}

/// Runs the words after the link's name.
pub fn called(words: &[String], context: &Context) -> u8 {
    match Alone::try_parse_from(std::iter::once("slob").chain(words.iter().map(String::as_str))) {
        Ok(alone) => status(run(&alone.slob, context)),
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { 2 } else { 0 }
        }
    }
}
