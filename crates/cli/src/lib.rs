//! The program's words and what they lead to: fathom's own commands, and the list of tools whose languages are spoken.

#[macro_use]
extern crate fathom_session;

pub mod args;
mod calibrate;
mod load;
mod ping;
mod records;
mod tools;

use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
use fathom_engine::Engine;
use fathom_session::{Context, Ended, environment, status};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Runs one command line and answers the exit status.
pub fn run(arguments: Vec<OsString>, engine: &mut Engine) -> u8 {
    let command: Vec<String> = arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let context = |store: Option<PathBuf>, progress: bool| Context {
        store: environment::store_path(store),
        command: command.clone(),
        progress: progress && environment::draws_progress(),
    };
    if let Some(tool) = command.first().and_then(|program| tools::called_as(program)) {
        return tool.run(&command[1..], &context(None, true), engine);
    }
    if let Some((own, tool, words)) = tool_of(&command) {
        return tool.run(words, &context(own.store, !own.no_progress), engine);
    }
    let parsed = grammar().try_get_matches_from(arguments).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let context = context(cli.store.clone(), !cli.no_progress);
    status(execute(&cli.command, &context, engine))
}

/// What may stand before the tool's name.
#[derive(Default)]
struct Own {
    store: Option<PathBuf>,
    no_progress: bool,
}

/// The tool of a command line, and the words for it. A tool has a language of its own: none of its words is looked at here.
fn tool_of(command: &[String]) -> Option<(Own, &'static dyn fathom_session::tool::Tool, &[String])> {
    let (mut own, mut at) = (Own::default(), 1);
    loop {
        let word = command.get(at)?;
        at += 1;
        if word == "--no-progress" {
            own.no_progress = true;
        } else if word == "--store" {
            own.store = Some(command.get(at)?.into());
            at += 1;
        } else if let Some(store) = word.strip_prefix("--store=") {
            own.store = Some(store.into());
        } else {
            return tools::named(word).map(|tool| (own, tool, &command[at..]));
        }
    }
}

/// fathom's own grammar with the tools in it, for help, completions and the manual page.
fn grammar() -> clap::Command {
    tools::TOOLS.iter().fold(Cli::command(), |grammar, tool| {
        let words = clap::Arg::new("words").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
        grammar.subcommand(
            clap::Command::new(tool.name())
                .about(tool.about())
                .disable_help_flag(true)
                .arg(words.value_name("WORD").help("The tool's own words")),
        )
    })
}

fn execute(command: &Command, context: &Context, engine: &mut Engine) -> anyhow::Result<Ended> {
    match command {
        Command::Calibrate(args) => calibrate::run(args, context, engine),
        Command::Run(args) => load::run(args, context, engine),
        Command::Ping(args) => ping::run(args, context, engine),
        Command::Status => records::status(context),
        Command::History(args) => records::history(args, context),
        Command::Show(args) => records::show(args, context),
        Command::Sql { query } => records::sql(query, context),
        Command::Completions { shell } => {
            // Into memory first: the generator panics when its reader has gone.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut grammar(), "fathom", &mut script);
            std::io::stdout().write_all(&script)?;
            Ok(Ended::Done)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(grammar()).render(&mut page)?;
            std::io::stdout().write_all(&page)?;
            Ok(Ended::Done)
        }
    }
}
