//! Stdout and stderr as values: a command and the Controls of its runs write to the same ones, and a test reads what they
//! wrote.

use crate::terminal_text::terminal_text;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a command speaks.
#[derive(Clone)]
pub struct Console {
    streams: Streams,
    fate: Arc<Mutex<Fate>>,
}

/// What became of what was said.
#[derive(Default)]
struct Fate {
    /// Why stdout could not be written to at first.
    failure: Option<(io::ErrorKind, String)>,
    /// Where the run can be found that could not be shown.
    kept: Option<String>,
}

#[derive(Clone)]
enum Streams {
    Process,
    Captured { out: Arc<Mutex<Vec<u8>>>, err: Arc<Mutex<Vec<u8>>> },
}

impl Console {
    /// Stdout and stderr of this process.
    pub fn process() -> Self {
        Console { streams: Streams::Process, fate: Arc::default() }
    }

    /// One that keeps what is written.
    pub fn captured() -> Self {
        let streams = Streams::Captured { out: Arc::default(), err: Arc::default() };
        Console { streams, fate: Arc::default() }
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
            Streams::Process => {
                let stdout = io::stdout();
                Box::new(Out {
                    is_terminal: stdout.is_terminal(),
                    stream: stdout,
                    fate: Some(self.fate.clone()),
                })
            }
            Streams::Captured { out, .. } => Box::new(Shared(out.clone())),
        }
    }

    /// Stderr.
    pub fn err(&self) -> Box<dyn Write> {
        match &self.streams {
            Streams::Process => {
                let stderr = io::stderr();
                Box::new(Out { is_terminal: stderr.is_terminal(), stream: stderr, fate: None })
            }
            Streams::Captured { err, .. } => Box::new(Shared(err.clone())),
        }
    }

    /// The run is kept, and this says where: for whoever could not be shown it.
    pub fn keep(&self, saved: String) {
        lock(&self.fate).kept = Some(saved);
    }

    /// Has the reader of stdout gone? He wants no words about it either.
    pub fn reader_has_gone(&self) -> bool {
        matches!(lock(&self.fate).failure, Some((io::ErrorKind::BrokenPipe, _)))
    }

    /// Writes out what stdout still holds. Says why not everything could be written, in the words of `speaker`, and
    /// where the run is kept; a reader that has gone is told nothing.
    ///
    /// # Errors
    /// What kept stdout from being written, the first time.
    pub fn close(&self, speaker: &str) -> Result<(), io::ErrorKind> {
        // The stream remembers its own failure.
        let _ = self.out().flush();
        let mut fate = lock(&self.fate);
        let Some((kind, why)) = fate.failure.take() else { return Ok(()) };
        if kind != io::ErrorKind::BrokenPipe {
            let hint = fate.kept.as_ref().map(|saved| format!("\nhint: the run is kept: {saved}"));
            self.complain(format_args!("{speaker}: write error: {why}{}", hint.unwrap_or_default()));
        }
        Err(kind)
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

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stdout or stderr of the process: the only way to a terminal, which is sent no text that would steer it.
struct Out<S> {
    stream: S,
    is_terminal: bool,
    /// Where a failure is remembered.
    fate: Option<Arc<Mutex<Fate>>>,
}

impl<S> Out<S> {
    /// A failure of stdout is told at the end and ends no measurement; a reader that has gone wants none.
    fn remember<T>(&self, result: io::Result<T>, lost: T) -> io::Result<T> {
        let (Err(error), Some(fate)) = (&result, &self.fate) else { return result };
        if error.kind() == io::ErrorKind::Interrupted {
            return result;
        }
        lock(fate).failure.get_or_insert_with(|| (error.kind(), crate::errno_text::of_error(error)));
        if error.kind() == io::ErrorKind::BrokenPipe { result } else { Ok(lost) }
    }
}

impl<S: Write> Write for Out<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.is_terminal {
            true => self.stream.write_all(&terminal_text(bytes)).map(|()| bytes.len()),
            false => self.stream.write(bytes),
        };
        self.remember(written, bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.remember(flushed, ())
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(28))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_report_that_is_lost_is_said_once_with_where_the_run_is_kept() {
        let console = Console::captured();
        let mut out = Out { stream: Full, is_terminal: false, fate: Some(console.fate.clone()) };
        writeln!(out, "a report").unwrap();
        console.keep("run 7 in runs.db: fathom show 7".to_owned());
        assert_eq!(console.close("fio"), Err(io::ErrorKind::StorageFull));
        let says = "fio: write error: No space left on device\nhint: the run is kept: run 7 in runs.db: fathom show 7\n";
        assert_eq!(console.take().1, says);
        assert_eq!(console.close("fio"), Ok(()));
    }

    #[test]
    fn a_terminal_is_sent_no_text_that_steers_it_and_a_pipe_every_byte() {
        let written = |is_terminal| {
            let mut stream = Vec::new();
            let mut out = Out { stream: &mut stream, is_terminal, fate: None };
            out.write_all(b"a\x1b]0;pwned\x07b").unwrap();
            stream
        };
        assert_eq!(written(false), b"a\x1b]0;pwned\x07b");
        assert_eq!(written(true), br"a\x1b]0;pwned\x07b");
    }
}
