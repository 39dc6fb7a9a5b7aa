//! What goes to stdout at which verbosity, and what fathom refuses in sysbench's manner.

use crate::{Options, report};
use fathom_record::{ExecuteError, Vocabulary};
use fathom_session::Console;
use std::io::{self, Write};

/// What a hint advises, in words that make sense to whoever typed sysbench's.
const WORDS: Vocabulary<'static> = Vocabulary {
    read_only: "use a mode that only reads",
    size: "--file-total-size",
    block: "--file-block-size",
    workers: "--threads",
    depth: "--file-async-backlog",
    ..Vocabulary::PEER
};

/// Writes to stdout at once; a reader that has gone is no reason to end a measurement.
pub fn print(text: &str, console: &Console) {
    let mut out = console.out();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The messages of a command, as its verbosity lets them through.
#[derive(Clone, Copy, Debug)]
pub struct Messages<'a> {
    verbosity: u8,
    console: &'a Console,
}

impl<'a> Messages<'a> {
    /// Those of a command with these options.
    pub fn new(options: &Options, console: &'a Console) -> Self {
        Messages { verbosity: options.verbosity, console }
    }

    /// Told from this verbosity on.
    pub fn at(self, verbosity: u8, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        let mut text = Vec::new();
        if self.verbosity >= verbosity && write(&mut text).is_ok() {
            print(&String::from_utf8_lossy(&text), self.console);
        }
    }

    /// The report itself.
    pub fn notice(self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        self.at(3, write);
    }

    /// What may be wrong.
    pub fn warning(self, text: &str) {
        self.at(2, |out| writeln!(out, "WARNING: {text}"));
    }

    /// What ends the command.
    pub fn fatal(self, text: &str) {
        self.at(0, |out| report::fatal(text, out));
    }

    /// What happens.
    pub fn info(self, text: &str) {
        self.at(4, |out| writeln!(out, "{text}"));
    }

    /// What happens, operation by operation.
    pub fn debug(self, text: &str) {
        self.at(5, |out| writeln!(out, "DEBUG: {text}"));
    }

    /// What fathom refuses and sysbench has no words for: in its manner, with a hint on stderr. Answers the exit status.
    pub fn refuse(self, what: &str, hint: &str) -> u8 {
        self.fatal(what);
        self.console.complain(format_args!("hint: {hint}"));
        1
    }

    /// The same of a plan that could not be run.
    pub fn refuse_plan(self, error: &ExecuteError) -> u8 {
        self.refuse(&error.what(), &error.hint(&WORDS))
    }
}
