//! sysbench's test files in the current directory: made, looked at, removed.

use super::{Voice, in_words, permits, refuse};
use crate::{self as sysbench, IoMode, Mode, Options, Present, report};
use fathom_engine::Engine;
use fathom_record::{Control, Event, EventKind, Execute, Run, Steer, Totals};
use fathom_session::step::Until;
use fathom_spec::Verb;
use std::io::Write;

/// Removes the files; those that are missing are no error.
pub fn remove(options: &Options) {
    for number in 0..options.files {
        let _ = std::fs::remove_file(options.file(number));
    }
}

/// Looks at the files of a run, in sysbench's order and words; a mode that creates them removes old ones.
pub fn ready(options: &Options, mode: Mode) -> Result<(), u8> {
    let voice = Voice::of(options);
    if options.file_size == 0 {
        return Err(refuse(
            voice,
            "each file would have no bytes\nhint: raise --file-total-size, or lower --file-num",
        ));
    }
    let creates = mode == Mode::SequentialWrite;
    if creates {
        remove(options);
    }
    for number in 0..options.files {
        let name = options.file(number);
        voice.debug(&format!("Opening file: {name}"));
        if let Some(flags) = options.unknown_flags() {
            voice.fatal(&format!("Unknown extra flags value: {flags}"));
            return Err(told(voice, report::cannot_open(&name, 2, "No such file or directory")));
        }
        if creates {
            continue;
        }
        let opened = std::fs::OpenOptions::new().read(true).write(true).open(&name);
        let size = opened.and_then(|file| file.metadata()).map(|about| about.len());
        match size {
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                return Err(told(voice, report::cannot_open(&name, errno, &in_words(&error))));
            }
            Ok(has) if has < options.file_size => {
                return Err(told(voice, report::too_small(&name, has, options.file_size)));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn told(voice: Voice, (what, warning): (String, &str)) -> u8 {
    voice.fatal(&what);
    voice.warning(warning);
    1
}

/// The prepare command.
pub fn prepare(options: &Options, engine: &mut Engine) -> u8 {
    let voice = Voice::of(options);
    voice.notice(|out| report::preparing(options, out));
    if let Some(flags) = options.unknown_flags() {
        voice.fatal(&format!("Unknown extra flags value: {flags}"));
        voice.fatal(&report::cannot_open(&options.file(0), 2, "No such file or directory").0);
        return 1;
    }
    let present: Vec<Present> = (0..options.files)
        .map(|number| std::fs::metadata(options.file(number)).ok().map(|about| about.len()))
        .collect();
    let (mut plan, files) =
        sysbench::prepare(options, &present, fathom_session::environment::seconds().into());
    if options.io_mode == IoMode::Mmap {
        plan.stall = fathom_spec::Nanos::from_seconds(60);
    }
    engine.permits = permits(options);
    let interrupt = fathom_session::environment::Interrupt::watch();
    let mut making =
        Making { options, present: &present, files: &files, next: 0, failed: false, interrupt: &interrupt };
    if files.is_empty() {
        making.tell_up_to(options.files);
        voice.notice(|out| report::prepared(0, 0.0, out));
        return 0;
    }
    let run = match engine.execute(&plan, &mut making) {
        Err(error) => {
            forget_unwritten(options, &present);
            return not_opened(voice, &error.to_string());
        }
        Ok(run) => run,
    };
    if let Some(status) = failed(voice, &run) {
        forget_unwritten(options, &present);
        return status;
    }
    if interrupt.raised() {
        forget_unwritten(options, &present);
        return fathom_session::INTERRUPTED;
    }
    making.tell_up_to(options.files);
    let written = run.workers.iter().flat_map(|worker| &worker.counts);
    let bytes: u64 = written.filter(|(verb, _)| *verb == Verb::Write).map(|(_, counts)| counts.bytes).sum();
    voice.notice(|out| report::prepared(bytes, run.length_ns as f64 / 1e9, out));
    0
}

/// A file that cannot be made: in sysbench's words where the system refused it.
fn not_opened(voice: Voice, error: &str) -> u8 {
    let number = error.split_once("(os error ").and_then(|(_, rest)| rest.split_once(')'));
    match number.and_then(|(number, _)| number.parse().ok()) {
        Some(errno) if error.starts_with("cannot open ") => {
            let words = in_words(&std::io::Error::from_raw_os_error(errno));
            voice.fatal(&format!("Can't open file errno = {errno} ({words})"));
            1
        }
        _ => refuse(voice, error),
    }
}

fn failed(voice: Voice, run: &Run) -> Option<u8> {
    let faults = run.events.iter().filter_map(|event| match &event.what {
        EventKind::Fault { verb, errno, .. } => Some((*verb, *errno)),
        _ => None,
    });
    // A disk that fills up takes a part of a block first; what it says of the next one tells why.
    let (verb, errno) = faults.max_by_key(|(_, errno)| *errno > 0)?;
    let what = if verb == Verb::Sync { "fsync" } else { "write" };
    let errno = if errno == 0 { rustix::io::Errno::NOSPC.raw_os_error() } else { errno };
    let words = in_words(&std::io::Error::from_raw_os_error(errno));
    voice.fatal(&format!("Failed to {what} file! errno = {errno} ({words})"));
    Some(1)
}

/// Files that were only opened so far do not stay behind.
fn forget_unwritten(options: &Options, present: &[Present]) {
    for (number, present) in present.iter().enumerate() {
        let name = options.file(number as u32);
        if present.is_none() && std::fs::metadata(&name).is_ok_and(|about| about.len() == 0) {
            let _ = std::fs::remove_file(name);
        }
    }
}

/// Tells each file when its turn comes.
struct Making<'a> {
    options: &'a Options,
    present: &'a [Present],
    files: &'a [u32],
    next: u32,
    /// Files after one that could not be written are not told.
    failed: bool,
    interrupt: &'a fathom_session::environment::Interrupt,
}

impl Making<'_> {
    fn tell_up_to(&mut self, end: u32) {
        for number in self.next..end {
            let what = match self.present.get(number as usize).copied().flatten() {
                None | Some(0) if self.options.file_size > 0 => "Creating",
                Some(size) if size < self.options.file_size => "Extending existing",
                _ => "Reusing existing",
            };
            let name = self.options.file(number);
            Voice::of(self.options).notice(|out| writeln!(out, "{what} file {name}"));
        }
        self.next = self.next.max(end);
    }
}

impl Control for Making<'_> {
    fn event(&mut self, event: &Event) {
        self.failed |= matches!(event.what, EventKind::Fault { .. });
        if let EventKind::Started(stream) = event.what
            && !self.failed
            && let Some(file) = self.files.get(stream.0 as usize)
        {
            self.tell_up_to(file + 1);
        }
    }

    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        Until(self.interrupt).slot(now_ns, totals)
    }
}
