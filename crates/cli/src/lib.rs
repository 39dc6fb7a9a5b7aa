//! The program's words and what they lead to: fathom's own commands, and the list of tools whose languages are spoken.

pub mod args;
mod calibrate;
mod load;
mod ping;
mod records;
mod tools;

use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
use fathom_host::Roots;
use fathom_record::Execute;
use fathom_session::signals::die_of_pipe;
use fathom_session::tool::Tool;
use fathom_session::{Console, Ended, Environment, Session, status};
use fathom_spec::names::{self, NotText};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Runs one command line and answers the exit status.
pub fn run(
    arguments: Vec<OsString>,
    environment: Environment,
    console: Console,
    execute: &mut dyn Execute,
) -> u8 {
    let speaker = console.clone();
    let mut session = Session {
        store: environment.store_path(None),
        progress: environment.draws_progress(),
        lines: environment.is_process(),
        command: arguments.iter().map(names::shown).collect(),
        environment,
        console,
        execute,
        roots: Roots::default(),
    };
    if let Some(tool) = arguments.first().and_then(|program| tools::called_as(program)) {
        let status = run_tool(tool, &arguments[1..], &mut session);
        return close(tool.name(), status, &speaker);
    }
    if let Some((own, tool, words)) = tool_of(&arguments) {
        own.settle(&mut session);
        let status = run_tool(tool, words, &mut session);
        return close(tool.name(), status, &speaker);
    }
    let parsed = grammar().try_get_matches_from(arguments).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let (words, style) = (error.render(), session.environment.style());
            let text = if style.colour { words.ansi().to_string() } else { words.to_string() };
            let mut stream = if error.use_stderr() { speaker.err() } else { speaker.out() };
            let _ = stream.write_all(text.as_bytes());
            return close("fathom", if error.use_stderr() { 2 } else { 0 }, &speaker);
        }
    };
    Own { store: cli.store.clone(), no_progress: cli.no_progress }.settle(&mut session);
    let ended = execute_command(&cli.command, &mut session);
    let status = status(ended, &session.console);
    close("fathom", status, &speaker)
}

/// The exit status with what became of stdout: what could not be shown is a failure, of whatever tool. A reader that has
/// gone ends a tool as it ends its peer, by SIGPIPE, once the run is kept; of fathom's own commands it is no failure.
fn close(speaker: &str, status: u8, console: &Console) -> u8 {
    match console.close(speaker) {
        Ok(()) => status,
        Err(std::io::ErrorKind::BrokenPipe) if speaker == "fathom" => status,
        Err(std::io::ErrorKind::BrokenPipe) => {
            die_of_pipe();
            status
        }
        Err(_) => status.max(1),
    }
}

/// A tool's words are text: a word that is none is refused, since the text that is nearest to it may name another file.
fn run_tool(tool: &dyn Tool, words: &[OsString], session: &mut Session<'_>) -> u8 {
    match names::texts(words) {
        Ok(words) => tool.run(&words, session),
        Err(error) => {
            session.console.complain(format_args!("{}: {error}\nhint: {}", tool.name(), NotText::HINT));
            1
        }
    }
}

/// What may stand before the tool's name.
#[derive(Default)]
struct Own {
    store: Option<PathBuf>,
    no_progress: bool,
}

impl Own {
    fn settle(self, session: &mut Session<'_>) {
        if self.store.is_some() {
            session.store = self.store;
        }
        session.progress &= !self.no_progress;
        session.lines &= !self.no_progress;
    }
}

/// The tool of a command line, and the words for it. A tool has a language of its own: none of its words is looked at here.
fn tool_of(command: &[OsString]) -> Option<(Own, &'static dyn Tool, &[OsString])> {
    let (mut own, mut at) = (Own::default(), 1);
    loop {
        let word = command.get(at)?;
        at += 1;
        if word == "--no-progress" {
            own.no_progress = true;
        } else if word == "--store" {
            own.store = Some(command.get(at)?.into());
            at += 1;
        } else if let Some(store) = word.as_bytes().strip_prefix(b"--store=") {
            own.store = Some(OsStr::from_bytes(store).into());
        } else {
            return tools::named(word.to_str()?).map(|tool| (own, tool, &command[at..]));
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

fn execute_command(command: &Command, session: &mut Session<'_>) -> anyhow::Result<Ended> {
    match command {
        Command::Calibrate(args) => calibrate::run(args, session),
        Command::Run(args) => load::run(args, session),
        Command::Ping(args) => ping::run(args, session),
        Command::Status(args) => records::status(args, session),
        Command::History(args) => records::history(args, session),
        Command::Show(args) => records::show(args, session),
        Command::Sql(args) => records::sql(args, session),
        Command::Completions { shell } => {
            // Into memory first: the generator panics when its reader has gone.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut grammar(), "fathom", &mut script);
            session.console.out().write_all(&script)?;
            Ok(Ended::Done)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(grammar()).render(&mut page)?;
            session.console.out().write_all(&page)?;
            Ok(Ended::Done)
        }
    }
}
