//! What is told when a run has ended, and with which status.

use super::live::Live;
use super::{Voice, in_words};
use crate::report::{self, Times};
use crate::{IoMode, Options, Tally};
use fathom_content::sysbench::Wrong;
use fathom_record::{EventKind, Run};
use fathom_spec::Verb;
use std::io::Write;

/// Arrivals came faster than workers.
pub const QUEUE_IS_FULL: &str = "The event queue is full. This means the worker threads are unable to keep up with the specified event generation rate";
/// The status after a forced shutdown.
const FORCED: u8 = 2;

/// How a run ended.
pub struct End {
    /// From the start of the load to the last sync, seconds.
    pub total_s: f64,
}

impl End {
    /// When and how a run ended.
    pub fn of(run: &Run, live: &Live) -> Self {
        let first = run.workers.iter().map(|worker| worker.span_ns.0).filter(|ns| *ns > 0).min();
        let began = first.unwrap_or(live.began_ns());
        let ended = run.events.iter().rev().find(|event| matches!(event.what, EventKind::Stopped(..)));
        let total_s = ended.map_or(run.length_ns, |event| event.at_ns).saturating_sub(began) as f64 / 1e9;
        End { total_s }
    }

    /// The time over which the figures were counted, seconds.
    pub fn counted_s(&self, live: &Live) -> f64 {
        (self.total_s - live.counted_from_s).max(0.0)
    }
}

/// Tells the end of a run and answers the status.
pub fn tell(options: &Options, run: &Run, live: &Live, end: &End) -> u8 {
    let voice = Voice::of(options);
    if live.overflown {
        voice.fatal(QUEUE_IS_FULL);
        done(voice);
        return 1;
    }
    if let Some(status) = failure(options, run) {
        return status;
    }
    if live.forced {
        return FORCED;
    }
    let by_events = options.events > 0 && live.tally.events() >= options.events;
    let limit = if by_events { "Event" } else { "Time" };
    voice.info(&format!("{limit} limit exceeded, exiting..."));
    if options.threads > 1 {
        voice.info(&format!("(last message repeated {} times)", options.threads - 1));
    }
    done(voice);
    distribution(options, &live.tally);
    let times = Times { total_s: end.total_s, counted_s: end.counted_s(live), unfinished: None };
    voice.notice(|out| report::figures(options, &live.tally, times, out));
    0
}

/// The distribution of latencies: its rows are told at every verbosity, the lines around them at the usual one.
fn distribution(options: &Options, tally: &Tally) {
    let voice = Voice::of(options);
    if options.histogram {
        voice.notice(|out| writeln!(out, "Latency histogram (values are in milliseconds)"));
        voice.at(0, |out| report::histogram(tally, out));
        voice.notice(|out| writeln!(out, " "));
    }
}

fn done(voice: Voice) {
    voice.info("Done.\n");
}

/// A forced shutdown's message and report.
pub fn forced(options: &Options, tally: &Tally, total_s: f64, counted_s: f64) {
    let voice = Voice::of(options);
    voice.fatal("The --max-time limit has expired, forcing shutdown...");
    let times = Times { total_s, counted_s, unfinished: Some(u64::from(options.threads)) };
    distribution(options, tally);
    voice.notice(|out| report::figures(options, tally, times, out));
}

/// The first thing that went wrong, in sysbench's words.
fn failure(options: &Options, run: &Run) -> Option<u8> {
    let voice = Voice::of(options);
    run.events.iter().find_map(|event| match &event.what {
        EventKind::Fault { verb, offset, errno, target, .. } => {
            let words = match errno {
                0 => "Success".to_owned(),
                number => in_words(&std::io::Error::from_raw_os_error(*number)),
            };
            let what = match verb {
                Verb::Read => "read",
                Verb::Sync => "fsync",
                _ => "write",
            };
            let number = target.rsplit_once('.').and_then(|(_, number)| number.parse().ok());
            // sysbench tells the descriptor, and its first file has number 3.
            let descriptor = 3 + number.unwrap_or(0u32);
            let place = if *verb == Verb::Sync { String::new() } else { format!(" pos: {}", offset.0) };
            if options.io_mode == IoMode::Async && *verb != Verb::Sync {
                voice.fatal(&format!("Asynchronous {what} failed!\n"));
            }
            voice.fatal(&format!(
                "Failed to {what} file! file: {descriptor}{place} errno = {errno} ({words})"
            ));
            Some(1)
        }
        EventKind::Mismatch { offset, note, .. } => {
            mismatch(voice, offset.0, note);
            Some(1)
        }
        _ => None,
    })
}

fn mismatch(voice: Voice, offset: u64, note: &str) {
    let (file, what) =
        note.strip_prefix("target ").and_then(|rest| rest.split_once(": ")).unwrap_or(("0", note));
    match Wrong::parse(what) {
        Some(Wrong::Checksum { calculated, stored }) => {
            voice.fatal(&format!("Checksum mismatch in block with offset: {offset}"));
            voice.fatal(&format!("    Calculated value: {calculated:#x}    Stored value: {stored:#x}"));
        }
        Some(Wrong::Offset { stored }) => {
            voice.fatal("Offset mismatch in block:");
            voice.fatal(&format!("   Actual offset: {offset}    Stored offset: {stored}"));
        }
        None => voice.fatal(note),
    }
    voice.fatal(&format!("Validation failed on file {file}, block offset {offset}, exiting..."));
}
