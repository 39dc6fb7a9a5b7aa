//! What sysbench's figures do not say of themselves: notes for the record, judged from what was counted.

use super::resolve::{IoMode, Mode, Options};
use super::tally::Tally;
use fathom_record::Note;

/// A share of syncs from which on the events are no I/O figure any more.
const MANY_SYNCS: f64 = 0.1;

fn note(text: String, hint: &str) -> Note {
    Note { text, hint: Some(hint.to_owned()) }
}

/// What a reader of the report should know. `seconds` is the time over which the tally was counted.
pub fn notes(options: &Options, mode: Mode, tally: &Tally, seconds: f64) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(syncs_in_events(tally, seconds));
    if options.io_mode == IoMode::Async {
        notes.push(submission_only(options, tally));
    }
    if mode.writes() && !options.validate {
        notes.push(note(
            "all data written are zeros, which some storage compresses away or never stores".to_owned(),
            "prepare and run with --validate write random bytes; fathom run writes such by itself",
        ));
    } else if !options.validate {
        notes.push(note(
            "files that were prepared without --validate hold zeros, which some storage answers without its disks".to_owned(),
            "prepare them with --validate: random bytes are written then",
        ));
    }
    if !options.direct() || options.io_mode == IoMode::Mmap {
        notes.push(note(
            "the page cache was in use: what fits into memory measures memory".to_owned(),
            "--file-extra-flags=direct with --file-io-mode=sync or async goes past it",
        ));
    }
    if !mode.is_random() && options.threads > 1 {
        notes.push(note(
            format!("{} threads take turns in one sequential stream, not in {0} streams", options.threads),
            "fathom run --read sequential --workers N has a stream for each",
        ));
    }
    if options.syncs_at_end() {
        let last = u64::from(options.threads) * u64::from(options.files);
        notes.push(Note {
            text: format!("fsyncs/s counts {last} fsyncs after the load, which are no events and no part of its time limit"),
            hint: None,
        });
    }
    if options.rate > 0 {
        notes.push(Note {
            text: "latencies count from each request's arrival, its wait for a free thread included"
                .to_owned(),
            hint: None,
        });
    }
    notes
}

fn syncs_in_events(tally: &Tally, seconds: f64) -> Option<Note> {
    let requests = tally.requests;
    let transfers = requests.reads + requests.writes;
    let events = tally.events();
    let syncs = events.saturating_sub(transfers);
    if events == 0 || seconds <= 0.0 || (syncs as f64) < MANY_SYNCS * events as f64 {
        return None;
    }
    let per_second = |count: u64| count as f64 / seconds;
    Some(note(
        format!(
            "{:.0} events per second are {:.0} I/O per second + {:.0} fsync per second: the number of events, and each latency, count both",
            per_second(events),
            per_second(transfers),
            per_second(syncs)
        ),
        "take reads/s + writes/s for I/O per second; --file-fsync-freq=0 leaves the fsyncs out",
    ))
}

fn submission_only(options: &Options, tally: &Tally) -> Note {
    let service = &tally.service;
    let ms = |ns: f64| format!("{:.3} ms", ns / 1e6);
    let truth = match (service.mean_ns(), service.quantile_ns(0.95)) {
        (Some(mean), Some(most)) => format!(
            ": from submission to completion it was {} on average, {} at the 95th percentile, {} at most",
            ms(mean),
            ms(most as f64),
            ms(service.max_ns as f64)
        ),
        _ => String::new(),
    };
    note(
        format!(
            "the latencies told are those of the call that submits, with up to {} requests in flight{truth}",
            u64::from(options.backlog) * u64::from(options.threads)
        ),
        "the record keeps the true ones: fathom show --json",
    )
}
