//! What is told when a run has ended, and with which status.

use super::final_figures;
use super::live::Live;
use super::messages::Messages;
use crate::report::Times;
use crate::{IoMode, Options};
use fathom_content::sysbench::{self, Wrong};
use fathom_record::{EventKind, Outcome, Run};
use fathom_session::errno_text;
use fathom_spec::{Plan, Target, Verb};

/// Arrivals came faster than workers.
pub const QUEUE_IS_FULL: &str = "The event queue is full. This means the worker threads are unable to keep up with the specified event generation rate";
/// The status after a forced shutdown.
const FORCED: u8 = 2;

/// How long a run took.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    /// From the start of the load to the last sync, seconds.
    pub total_s: f64,
}

impl Elapsed {
    /// The time of a run.
    pub fn of(run: &Run, live: &Live<'_>) -> Self {
        let first = run.workers.iter().map(|worker| worker.span_ns.0).filter(|ns| *ns > 0).min();
        let began = first.unwrap_or(live.began_ns());
        let ended = run.events.iter().rev().find(|event| matches!(event.what, EventKind::Stopped(..)));
        let total_s = ended.map_or(run.length_ns, |event| event.at_ns).saturating_sub(began) as f64 / 1e9;
        Elapsed { total_s }
    }

    /// The time over which the figures were counted, seconds.
    pub fn counted_s(&self, live: &Live<'_>) -> f64 {
        (self.total_s - live.counted_from_s).max(0.0)
    }
}

/// Tells the end of a run and answers the status.
pub fn tell(options: &Options, outcome: &Outcome, live: &Live<'_>, elapsed: Elapsed) -> u8 {
    let messages = live.messages;
    if live.overflown {
        messages.fatal(QUEUE_IS_FULL);
        done(messages);
        return 1;
    }
    if let Some(status) = failure(options, outcome, messages) {
        return status;
    }
    if live.forced {
        return FORCED;
    }
    let by_events = options.events > 0 && live.tally.events() >= options.events;
    let limit = if by_events { "Event" } else { "Time" };
    messages.info(&format!("{limit} limit exceeded, exiting..."));
    if options.threads > 1 {
        messages.info(&format!("(last message repeated {} times)", options.threads - 1));
    }
    done(messages);
    let times = Times { total_s: elapsed.total_s, counted_s: elapsed.counted_s(live), unfinished: None };
    final_figures::tell(options, &live.tally, times, messages);
    0
}

fn done(messages: Messages<'_>) {
    messages.info("Done.\n");
}

/// The first thing that went wrong, in sysbench's words.
fn failure(options: &Options, outcome: &Outcome, messages: Messages<'_>) -> Option<u8> {
    let plan = &outcome.run.plan;
    outcome.run.events.iter().find_map(|event| match &event.what {
        EventKind::Fault { verb, offset, errno, target, .. } => {
            let words = match errno {
                0 => "Success".to_owned(),
                number => errno_text::of_number(*number),
            };
            let what = match verb {
                Verb::Read => "read",
                Verb::Sync => "fsync",
                _ => "write",
            };
            // sysbench tells the descriptor, and its first file has number 3.
            let descriptor = 3 + file_number(plan, target);
            let place = if *verb == Verb::Sync { String::new() } else { format!(" pos: {}", offset.0) };
            if options.io_mode == IoMode::Async && *verb != Verb::Sync {
                messages.fatal(&format!("Asynchronous {what} failed!\n"));
            }
            messages.fatal(&format!(
                "Failed to {what} file! file: {descriptor}{place} errno = {errno} ({words})"
            ));
            Some(1)
        }
        EventKind::Mismatch { offset, target, note, .. } => {
            mismatch(outcome, file_number(plan, target), offset.0, note, messages);
            Some(1)
        }
        _ => None,
    })
}

/// A file's number: the plan has them in order.
fn file_number(plan: &Plan, path: &str) -> usize {
    let is_it = |target: &Target| matches!(target, Target::Path(file) if file.path == path);
    plan.targets.iter().position(is_it).unwrap_or(0)
}

/// What is wrong with a block. Only the first blocks of a run are kept: of many workers that find one at a time another
/// may be told than the one whose event came first.
fn mismatch(outcome: &Outcome, file: usize, offset: u64, note: &str, messages: Messages<'_>) {
    let mut kept = outcome.mismatches.iter();
    let block = kept.find(|block| (usize::from(block.target), block.offset) == (file, offset));
    let block = block.or(outcome.mismatches.first());
    let (file, offset) = block.map_or((file, offset), |block| (usize::from(block.target), block.offset));
    match block.and_then(|block| sysbench::check(&block.bytes, block.offset).err()) {
        Some(Wrong::Checksum { calculated, stored }) => {
            messages.fatal(&format!("Checksum mismatch in block with offset: {offset}"));
            messages.fatal(&format!("    Calculated value: {calculated:#x}    Stored value: {stored:#x}"));
        }
        Some(Wrong::Offset { stored }) => {
            messages.fatal("Offset mismatch in block:");
            messages.fatal(&format!("   Actual offset: {offset}    Stored offset: {stored}"));
        }
        None => messages.fatal(note),
    }
    messages.fatal(&format!("Validation failed on file {file}, block offset {offset}, exiting..."));
}
