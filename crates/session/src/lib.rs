//! The life of a measurement, which is the same for every tool: the machine and its disks looked at, the store's row, the
//! progress, the end. Knows no tool's language.

pub mod cache_comparison;
pub mod console;
pub mod environment;
pub mod errno_text;
pub mod interference;
pub mod layout;
pub mod measurement;
pub mod mock;
pub mod output;
pub mod preflight;
pub mod record_writer;
pub mod signals;
pub mod stop_at_fault;
pub mod targets;
pub mod terminal_text;
pub mod tool;
pub mod watch;

pub use console::Console;
pub use environment::Environment;
pub use measurement::{End, Figures, Finished, Grounds, Measurement, Setup};
pub use signals::{Interrupt, Signalled};

use fathom_host::Roots;
use fathom_record::Execute;
use std::path::PathBuf;

/// What a command works with.
pub struct Session<'a> {
    /// What it finds around it.
    pub environment: Environment,
    /// Where it speaks.
    pub console: Console,
    /// Who runs its plans.
    pub execute: &'a mut dyn Execute,
    /// Where /sys, /proc and /dev are.
    pub roots: Roots,
    /// Where runs are kept; `None` without a home.
    pub store: Option<PathBuf>,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// May progress bars be drawn?
    pub progress: bool,
    /// Where none are: may fathom's own commands tell each phase in a line on stderr?
    pub lines: bool,
}

impl Session<'_> {
    /// The same with another executor: a database runs plans of its own.
    pub fn on<'e>(&self, execute: &'e mut dyn Execute) -> Session<'e> {
        Session {
            environment: self.environment.clone(),
            console: self.console.clone(),
            execute,
            roots: self.roots.clone(),
            store: self.store.clone(),
            command: self.command.clone(),
            progress: self.progress,
            lines: self.lines,
        }
    }
}

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
pub const INTERRUPTED: u8 = 130;

/// The exit status of a command.
pub fn status(outcome: anyhow::Result<Ended>, console: &Console) -> u8 {
    match outcome {
        Ok(Ended::Done) => 0,
        Ok(Ended::Failed) => 1,
        Ok(Ended::Unbelievable) => 3,
        Ok(Ended::Interrupted) => INTERRUPTED,
        Err(error) if broken_pipe(&error) => 0,
        Err(error) => {
            console.complain(format_args!("error: {error:#}"));
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
pub fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
