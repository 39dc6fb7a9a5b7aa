//! Stdout and stderr as values: a command and the Controls of its runs write to the same ones, and a test reads what they
//! wrote.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a command speaks.
#[derive(Clone)]
pub struct Console {
    streams: Streams,
}

#[derive(Clone)]
enum Streams {
    Process,
    Captured { out: Arc<Mutex<Vec<u8>>>, err: Arc<Mutex<Vec<u8>>> },
}

impl Console {
    /// Stdout and stderr of this process.
    pub fn process() -> Self {
        Console { streams: Streams::Process }
    }

    /// One that keeps what is written.
    pub fn captured() -> Self {
        Console { streams: Streams::Captured { out: Arc::default(), err: Arc::default() } }
    }

    /// What was written to stdout and to stderr of a captured console.
    pub fn take(&self) -> (String, String) {
        let text = |bytes: &Mutex<Vec<u8>>| {
            let bytes = std::mem::take(&mut *bytes.lock().unwrap_or_else(PoisonError::into_inner));
            String::from_utf8_lossy(&bytes).into_owned()
        };
        match &self.streams {
            Streams::Process => Default::default(),
            Streams::Captured { out, err } => (text(out), text(err)),
        }
    }

    /// Stdout.
    pub fn out(&self) -> Box<dyn Write> {
        match &self.streams {
            Streams::Process => Box::new(io::stdout()),
            Streams::Captured { out, .. } => Box::new(Shared(out.clone())),
        }
    }

    /// Stderr.
    pub fn err(&self) -> Box<dyn Write> {
        match &self.streams {
            Streams::Process => Box::new(io::stderr()),
            Streams::Captured { err, .. } => Box::new(Shared(err.clone())),
        }
    }

    /// A line on stderr. That nobody reads it is no failure: the exit status tells as well.
    pub fn complain(&self, line: impl fmt::Display) {
        let _ = self.err().write_all(format!("{line}\n").as_bytes());
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.streams {
            Streams::Process => "Console::process",
            Streams::Captured { .. } => "Console::captured",
        })
    }
}

struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
