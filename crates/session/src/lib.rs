//! The life of a measurement, which is the same for every tool: the machine and its disks looked at, the store's row, the
//! progress, the end. Knows no tool's language.

/// As the standard one, but a reader of stderr that has gone is no reason to panic: the exit status tells as well.
#[macro_export]
macro_rules! eprintln {
    () => {
        $crate::eprintln!("")
    };
    ($($what:tt)+) => {{
        let line = format!("{}\n", format_args!($($what)+));
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }};
}

pub mod cache_comparison;
pub mod environment;
pub mod interference;
pub mod output;
pub mod preflight;
pub mod record_writer;
pub mod step;
pub mod targets;
pub mod tool;
pub mod watch;

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
pub const INTERRUPTED: u8 = 130;

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

/// The exit status of a command.
pub fn status(outcome: anyhow::Result<Ended>) -> u8 {
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
pub fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
