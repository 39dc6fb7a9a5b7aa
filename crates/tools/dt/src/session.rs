//! `fathom dt`, and the program called through a link named `dt`: dt's options in, its statistics and its report of a
//! corruption out. Comparing goes on while the next record is read.

mod classic;
mod damage;
mod job;
mod live;
mod system_info;
mod test;

use crate::{self as dt, Part};
use anyhow::anyhow;
use fathom_engine::Engine;
use fathom_record::Run;
use fathom_session::Context;
use fathom_session::tool::Tool;
use fathom_spec::{StreamId, Verb};
use std::io::Write;

/// The tool, for the list of tools.
pub struct Dt;

impl Tool for Dt {
    fn name(&self) -> &'static str {
        "dt"
    }

    fn about(&self) -> &'static str {
        "Speak dt's language (Data Test): writes, reads back and compares: fathom dt of=FILE bs=1m limit=1g; help tells its options"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        run(words, context, engine)
    }
}

/// dt's exit status for anything that went wrong.
const FAILED: u8 = 255;

/// Runs the command on the words after its name and answers dt's exit status.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> u8 {
    let told = |text: &str| if std::io::stdout().write_all(text.as_bytes()).is_ok() { 0 } else { FAILED };
    match words.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => {
            return if dt::help(&mut std::io::stdout().lock()).is_ok() { 0 } else { FAILED };
        }
        Some("--classic") => return fathom_session::status(classic::run(&words[1..], context, engine)),
        Some("workloads") => return told(&dt::listed(words.get(1).map_or("", String::as_str))),
        Some("version") => {
            let version = env!("CARGO_PKG_VERSION");
            return told(&format!("    --> fathom {version}, speaking as dt 26.3 <--\n"));
        }
        Some(_) => {}
    }
    let page = rustix::param::page_size() as u64;
    let outcome = match dt::parse(words, page) {
        Ok(options) => job::run(&options, context, engine),
        Err(error) => Err(anyhow!("{error}")),
    };
    match outcome {
        Ok(true) => 0,
        Ok(false) => FAILED,
        Err(error) => {
            complain(1, &error);
            FAILED
        }
    }
}

/// An error of one thread, on stderr.
fn complain(thread: u32, error: &anyhow::Error) {
    let text = fathom_session::step::translated(&error.to_string(), "limit=", "bs=");
    let text = if text.starts_with("ERROR: ") { text } else { format!("ERROR: {text}") };
    eprintln!("dt (j:1 t:{thread}): {text}");
}

/// What a run did.
pub fn count(run: &Run, part: &mut Part) {
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
