//! `fathom dt`, and the program called through a link named `dt`: dt's options in, its statistics and its report of a
//! corruption out. Comparing goes on while the next record is read.

mod classic;
mod context;
mod damage;
mod figures;
mod job;
mod live;
mod runner;
mod system_info;
mod test;
#[cfg(test)]
mod tests;

use crate::{self as dt, Part};
use fathom_record::{ExecuteError, Run, Vocabulary};
use fathom_session::tool::Tool;
use fathom_session::{Console, Session};
use fathom_spec::{StreamId, Verb};
use std::io::{self, Write};

/// The tool, for the list of tools.
pub struct Dt;

impl Tool for Dt {
    fn name(&self) -> &'static str {
        "dt"
    }

    fn about(&self) -> &'static str {
        "Speak dt's language (Data Test): writes, reads back and compares: fathom dt of=FILE bs=1m limit=1g; help tells its options"
    }

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        run(words, session)
    }
}

/// dt's exit status for anything that went wrong.
const FAILED: u8 = 255;

/// dt's words for what an error's hint advises.
const WORDS: Vocabulary<'static> = Vocabulary {
    size: "limit=",
    block: "bs=",
    missing: "it must be in a directory that is there",
    workers: "threads= or slices=",
    depth: "aios=",
    ..Vocabulary::PEER
};

/// Runs the command on the words after its name and answers dt's exit status.
fn run(words: &[String], session: &mut Session<'_>) -> u8 {
    let console = session.console.clone();
    let status = |written: io::Result<()>| if written.is_ok() { 0 } else { FAILED };
    match words.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => return status(dt::help(&mut console.out())),
        Some("--classic") => return fathom_session::status(classic::run(&words[1..], session), &console),
        Some("workloads") => {
            let list = dt::listed(words.get(1).map_or("", String::as_str));
            return status(console.out().write_all(list.as_bytes()));
        }
        Some("version") => {
            let version = env!("CARGO_PKG_VERSION");
            let line = format!("    --> fathom {version}, speaking as dt 26.3 <--\n");
            return status(console.out().write_all(line.as_bytes()));
        }
        Some(_) => {}
    }
    let page = rustix::param::page_size() as u64;
    match dt::parse(words, page) {
        Ok(options) => match job::run(&options, session) {
            Ok(true) => 0,
            Ok(false) => FAILED,
            Err(error) => {
                complain(&console, 1, &error);
                FAILED
            }
        },
        Err(error) => {
            console.complain(format_args!("dt (j:1 t:1): {error}"));
            FAILED
        }
    }
}

/// An error of one thread, on stderr.
fn complain(console: &Console, thread: u32, error: &anyhow::Error) {
    if fathom_session::broken_pipe(error) {
        return;
    }
    console.complain(format_args!("dt (j:1 t:{thread}): ERROR: {error}"));
}

/// A plan that was not run, in dt's words.
fn refusal(error: &ExecuteError) -> anyhow::Error {
    anyhow::Error::msg(error.in_words(&WORDS))
}

/// Writes to stdout at once, so that nothing of another thread comes between.
fn print(console: &Console, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let mut out = console.out();
    out.write_all(&text)?;
    out.flush()
}

/// The same to stderr: errors, and all that is told of one. That nobody reads it is no failure.
fn complain_of(console: &Console, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let _ = console.err().write_all(&text);
    Ok(())
}

/// What a run did.
fn count(run: &Run, part: &mut Part) {
    let began = run.workers.iter().map(|worker| worker.span_ns.0).min().unwrap_or(0);
    let ended = run.workers.iter().map(|worker| worker.span_ns.1).max().unwrap_or(0);
    part.elapsed_ns = ended.saturating_sub(began);
    for worker in &run.workers {
        part.user_ns += worker.user_ns;
        part.system_ns += worker.system_ns;
        for (verb, counts) in &worker.counts {
            let (records, bytes) = match verb {
                Verb::Read => (&mut part.records_read, &mut part.bytes_read),
                Verb::Write => (&mut part.records_written, &mut part.bytes_written),
                _ => continue,
            };
            *records += counts.operations;
            *bytes += counts.bytes;
            // Several records share the time in which they are outstanding together.
            part.io_ns += counts.latency_sum_ns / u64::from(worker.outstanding_most.max(1));
        }
    }
    part.io_ns = part.io_ns.min(part.elapsed_ns);
    for stream in 0..run.plan.streams.len() as u32 {
        let merged = run.merged(StreamId(stream));
        for (verb, cell) in merged.iter().flat_map(|interval| &interval.cells) {
            let Some(latency) = cell.service.as_ref().filter(|latency| latency.count > 0) else { continue };
            let seen = (latency.sum_ns, latency.min_ns, latency.max_ns);
            let mut more = Part::default();
            match verb {
                Verb::Read => more.read_ns = seen,
                Verb::Write => more.write_ns = seen,
                _ => continue,
            }
            part.add(&more);
        }
    }
}
