//! sysbench's test files in the current directory: made, looked at, removed.

use super::messages::Messages;
use super::permits;
use crate::{self as sysbench, IoMode, Mode, Options, Present, report};
use fathom_host::{OpenFiles, Roots, output_file};
use fathom_record::{Control, Event, EventKind, ExecuteError, Request, Run, Steer, Totals};
use fathom_session::layout::Need;
use fathom_session::measurement::tell_notes;
use fathom_session::stop_at_fault::StopAtFault;
use fathom_session::{INTERRUPTED, Interrupt, Session, errno_text};
use fathom_spec::{Bytes, Nanos, Verb};
use std::io::Write;
use std::path::Path;

/// Removes the files; those that are missing are no error. One that somebody uses stays, and is told.
pub fn remove(options: &Options, messages: Messages<'_>) -> Result<(), u8> {
    let roots = Roots::default();
    let others = OpenFiles::read(&roots);
    for number in 0..options.files {
        let name = options.file(number);
        if let Err(error) = output_file::remove_among(&roots, Path::new(&name), &others) {
            let what = format!("cannot remove {name}: {error}");
            return Err(messages.refuse(&what, "end who uses it, or work in another directory"));
        }
    }
    Ok(())
}

/// Looks at the files of a run, in sysbench's order and words; a mode that creates them removes old ones.
pub fn ready(options: &Options, mode: Mode, messages: Messages<'_>) -> Result<(), u8> {
    if options.file_size == 0 {
        return Err(
            messages.refuse("each file would have no bytes", "raise --file-total-size, or lower --file-num")
        );
    }
    let creates = mode == Mode::SequentialWrite;
    if creates {
        remove(options, messages)?;
    }
    for number in 0..options.files {
        let name = options.file(number);
        messages.debug(&format!("Opening file: {name}"));
        if let Some(flags) = options.unknown_flags() {
            messages.fatal(&format!("Unknown extra flags value: {flags}"));
            let missing = report::cannot_open(&name, 2, "No such file or directory");
            return Err(unusable(missing, messages));
        }
        if creates {
            continue;
        }
        let opened = output_file::is_writable(Path::new(&name));
        let size = opened.and_then(|()| std::fs::metadata(&name)).map(|about| about.len());
        match size {
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                let words = errno_text::of_error(&error);
                return Err(unusable(report::cannot_open(&name, errno, &words), messages));
            }
            Ok(has) if has < options.file_size => {
                return Err(unusable(report::too_small(&name, has, options.file_size), messages));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Tells of a run's file that cannot be used.
fn unusable(error: report::FileError, messages: Messages<'_>) -> u8 {
    messages.fatal(&error.what);
    messages.warning(error.warning);
    1
}

/// The prepare command.
pub fn prepare(options: &Options, session: &mut Session<'_>) -> u8 {
    let console = session.console.clone();
    let messages = Messages::new(options, &console);
    messages.notice(|out| report::preparing(options, out));
    if let Some(flags) = options.unknown_flags() {
        messages.fatal(&format!("Unknown extra flags value: {flags}"));
        return 1;
    }
    let present: Vec<Present> = (0..options.files)
        .map(|number| std::fs::metadata(options.file(number)).ok().map(|about| about.len()))
        .collect();
    let (mut plan, files) = sysbench::prepare(options, &present, session.environment.seconds().into());
    if options.io_mode == IoMode::Mmap {
        plan.stall = Nanos::from_seconds(60);
    }
    tell_room(options, &present, session);
    let permits = permits(options, &session.environment);
    let interrupt = session.environment.interrupt();
    let mut progress = FileProgress::new(options, &present, &files, &interrupt, messages);
    if files.is_empty() {
        progress.tell_up_to(options.files);
        messages.notice(|out| report::prepared(0, 0.0, out));
        return 0;
    }
    let request = Request::new(&plan).with_permits(&permits);
    let run = match session.execute.execute(request, &mut progress) {
        Err(error) => {
            forget_unwritten(options, &present);
            return not_made(&error, messages);
        }
        Ok(outcome) => outcome.run,
    };
    if let Some(status) = failed(&run, messages) {
        forget_unwritten(options, &present);
        return status;
    }
    if interrupt.raised() {
        forget_unwritten(options, &present);
        return INTERRUPTED;
    }
    progress.tell_up_to(options.files);
    let written = run.workers.iter().flat_map(|worker| &worker.counts);
    let bytes: u64 = written.filter(|(verb, _)| *verb == Verb::Write).map(|(_, counts)| counts.bytes).sum();
    messages.notice(|out| report::prepared(bytes, run.length_ns as f64 / 1e9, out));
    0
}

/// Says what the files will take and what is left, where notes may be told.
fn tell_room(options: &Options, present: &[Present], session: &Session<'_>) {
    let missing = |there: &Present| options.file_size.saturating_sub(there.unwrap_or(0));
    let bytes = Bytes(present.iter().map(missing).sum());
    if let Some(need) = Need::at(Path::new("."), bytes).filter(|_| bytes.0 > 0) {
        tell_notes(&[need.note()], &session.environment, &session.console);
    }
}

/// A file that cannot be made: in sysbench's words where the system refused it.
fn not_made(error: &ExecuteError, messages: Messages<'_>) -> u8 {
    let ExecuteError::NotOpened { errno, .. } = error else { return messages.refuse_plan(error) };
    let words = errno_text::of_number(*errno);
    messages.fatal(&format!("Can't open file errno = {errno} ({words})"));
    1
}

fn failed(run: &Run, messages: Messages<'_>) -> Option<u8> {
    let faults = run.events.iter().filter_map(|event| match &event.what {
        EventKind::Fault { verb, errno, .. } => Some((*verb, *errno)),
        _ => None,
    });
    // A disk that fills up takes a part of a block first; what it says of the next one tells why.
    let (verb, errno) = faults.max_by_key(|(_, errno)| *errno > 0)?;
    let what = if verb == Verb::Sync { "fsync" } else { "write" };
    let errno = if errno == 0 { rustix::io::Errno::NOSPC.raw_os_error() } else { errno };
    let words = errno_text::of_number(errno);
    messages.fatal(&format!("Failed to {what} file! errno = {errno} ({words})"));
    Some(1)
}

/// Files that were only opened so far do not stay behind.
fn forget_unwritten(options: &Options, present: &[Present]) {
    for (number, present) in present.iter().enumerate() {
        let name = options.file(number as u32);
        if present.is_none() && std::fs::metadata(&name).is_ok_and(|about| about.len() == 0) {
            let _ = output_file::remove(&Roots::default(), Path::new(&name));
        }
    }
}

/// Tells each file when its turn comes.
struct FileProgress<'a> {
    options: &'a Options,
    present: &'a [Present],
    files: &'a [u32],
    next: u32,
    /// Files after one that could not be written are not told.
    failed: bool,
    until: StopAtFault<'a>,
    messages: Messages<'a>,
}

impl<'a> FileProgress<'a> {
    fn new(
        options: &'a Options,
        present: &'a [Present],
        files: &'a [u32],
        interrupt: &'a Interrupt,
        messages: Messages<'a>,
    ) -> Self {
        let until = StopAtFault(interrupt);
        FileProgress { options, present, files, next: 0, failed: false, until, messages }
    }

    fn tell_up_to(&mut self, end: u32) {
        for number in self.next..end {
            let what = match self.present.get(number as usize).copied().flatten() {
                None | Some(0) if self.options.file_size > 0 => "Creating",
                Some(size) if size < self.options.file_size => "Extending existing",
                _ => "Reusing existing",
            };
            let name = self.options.file(number);
            self.messages.notice(|out| writeln!(out, "{what} file {name}"));
        }
        self.next = self.next.max(end);
    }
}

impl Control for FileProgress<'_> {
    fn event(&mut self, event: &Event) {
        self.failed |= matches!(event.what, EventKind::Fault { .. });
        if let EventKind::Started(stream) = event.what
            && !self.failed
            && let Some(file) = self.files.get(stream.0 as usize)
        {
            self.tell_up_to(file + 1);
        }
    }

    fn goes_on(&mut self) -> bool {
        self.until.goes_on()
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        self.until.slot(now_ns, totals)
    }
}
