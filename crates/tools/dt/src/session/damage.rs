//! Tells of records that were not as they should be: looks where they stand, reads them again, saves both.

use super::context::JobContext;
use super::print;
use super::runner::RunPlans;
use crate::{self as dt, Corruption, Half, Options, PassFacts, Report, SecondRead};
use anyhow::Result;
use fathom_content::{Damage, dt as content};
use fathom_host::extents;
use fathom_record::{Attachments, Mismatch, Purpose};
use fathom_session::measurement::load_of;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The pass in which records were wrong.
pub struct Place<'a> {
    /// The test, as this pass does it.
    pub options: &'a Options,
    /// What is known of the target.
    pub facts: &'a PassFacts,
    /// Says what there is to be said.
    pub report: &'a Report<'a>,
    /// What the test shares with others.
    pub context: JobContext<'a>,
    /// Which pass it is, from 1.
    pub pass: u64,
}

/// Tells of each, as many as the test allows, and counts them among its errors.
pub fn tell(
    place: &Place<'_>,
    runner: &mut dyn RunPlans,
    mismatches: Vec<Mismatch>,
    errors: &mut u64,
) -> Result<()> {
    let Place { options, facts, report, context, pass } = *place;
    let format = dt::format(options, facts, pass);
    for record in mismatches {
        if options.errors > 0 && *errors >= options.errors {
            break;
        }
        *errors += 1;
        let mut expected = record.expected;
        if expected.is_empty() {
            expected.resize(record.bytes.len(), 0);
            content::fill(&format, &mut expected, record.offset);
        }
        let counted =
            record.offset.saturating_sub(options.start()) / options.records_of(false).most.max(1) + 1;
        let mut corruption = Corruption {
            number: *errors,
            when: context.environment.ctime(),
            pass,
            record_offset: record.offset,
            record_number: if record.number > 0 { record.number } else { counted },
            name: if options.pairs() { options.name() } else { options.reads_from() }.to_owned(),
            expected,
            found: record.bytes,
            offset: record.wrong.offset,
            length: u64::from(record.wrong.length),
            kind: match record.wrong.damage {
                Damage::Zeroed => "zeroed",
                Damage::Stale => "stale",
                Damage::Misdirected => "misdirected",
                Damage::Torn => "torn",
                Damage::Corrupt => "corrupt",
                Damage::Version => "unsupported version",
            },
            story: record.wrong.note,
            ..Corruption::default()
        };
        locate(&mut corruption);
        print(context.console, |out| report.damage(&corruption, out))?;
        if corruption.number == 1 {
            trigger(options, context, "miscompare", corruption.record_offset + corruption.index() as u64);
        }
        let (again, read) = read_again(place, runner, &corruption);
        let saved = save(&corruption, read.as_deref(), options.crew.thread);
        print(context.console, |out| report.second_read(&corruption, again, &saved, out))?;
    }
    Ok(())
}

/// Where the bad bytes stand on the device.
fn locate(corruption: &mut Corruption) {
    let Ok(file) = File::open(&corruption.name) else { return };
    if let Ok(about) = file.metadata() {
        (corruption.inode, corruption.size) = (about.ino(), about.len());
    }
    let at = corruption.record_offset + corruption.index() as u64;
    corruption.physical = extents::physical_of(&file, at).ok().flatten();
    let end = corruption.record_offset + corruption.found.len() as u64;
    let mut found = Vec::new();
    let _ = extents::for_each_extent(&file, corruption.record_offset, end, &mut |extent| {
        found.push((extent.logical, extent.physical, extent.length_bytes));
        found.len() < 16
    });
    corruption.extents = found;
}

/// Reads the record again after a delay; answers what was read, if it could be.
fn read_again(
    place: &Place<'_>,
    runner: &mut dyn RunPlans,
    corruption: &Corruption,
) -> (SecondRead, Option<Vec<u8>>) {
    let options = place.options;
    let length = corruption.found.len() as u64;
    let mut one = options.of_record(corruption.record_offset, length, corruption.pass);
    // The plan is that of the same pass: it finds the pattern itself.
    (one.iot_pass, one.pattern) = (options.iot_pass, options.pattern.clone());
    let facts = dt::PassFacts { length, ..place.facts.clone() };
    let half = if options.pairs() { Half::Verify } else { Half::Read };
    let plan = dt::plan(&one, &facts, corruption.pass, half);
    let mut last = (SecondRead::Failed, None);
    for _ in 0..options.retry_limit.max(1) {
        for _ in 0..options.retry_delay * 20 {
            if place.context.interrupt.raised() {
                return last;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let Ok(outcome) = runner.execute(&plan, Attachments::default(), &mut ()) else { return last };
        let mut run = outcome.run;
        let failed = run.faults().next().is_some();
        (run.name, run.purpose, run.load) = ("read again".to_owned(), Purpose::Check, load_of(&plan));
        runner.keep(half, options.crew.thread, run);
        last = match outcome.mismatches.into_iter().next() {
            _ if failed => (SecondRead::Failed, None),
            None => (SecondRead::Good, Some(corruption.expected.clone())),
            Some(record) if record.bytes == corruption.found => (SecondRead::Same, Some(record.bytes)),
            Some(record) => (SecondRead::Other, Some(record.bytes)),
        };
    }
    last
}

/// Saves what was read at first and what was read then, beside the file, or here for a device.
fn save(corruption: &Corruption, read: Option<&[u8]>, thread: u32) -> Vec<String> {
    let name = corruption.name.as_str();
    let path = Path::new(name);
    let base = match path.starts_with("/dev") {
        true => path.file_name().map_or_else(|| name.to_owned(), |name| name.to_string_lossy().into_owned()),
        false => name.to_owned(),
    };
    let number = corruption.number - 1;
    let mut saved = Vec::new();
    for (what, bytes) in [("CORRUPT", Some(corruption.found.as_slice())), ("REREAD", read)] {
        let name = format!("{base}-{what}{number}-j1t{thread}");
        if let Some(bytes) = bytes
            && std::fs::write(&name, bytes).is_ok()
        {
            saved.push(name);
        }
    }
    saved
}

/// Runs the command that was asked for, if the user consented to that: the name, what happened, the size of a block, the
/// byte, the block.
pub fn trigger(options: &Options, context: JobContext<'_>, what: &str, at: u64) {
    let Some(command) = &options.trigger else { return };
    if !context.environment.write_consents().iter().any(|name| name == "trigger") {
        return say(context, "The trigger was not run: set FATHOM_WRITE_CONSENT=trigger to allow it.");
    }
    let (block, name) = (options.block, options.name());
    let words =
        [name.to_owned(), what.to_owned(), block.to_string(), at.to_string(), (at / block).to_string()];
    let ended = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{command} \"$@\""))
        .arg("dt")
        .args(words)
        .status();
    match ended {
        Ok(status) => say(context, &format!("The trigger ended: {status}")),
        Err(error) => say(context, &format!("The trigger could not be run: {error}")),
    }
}

fn say(context: JobContext<'_>, text: &str) {
    // Who closed the pipe is told with the statistics.
    let _ = print(context.console, |out| writeln!(out, "{text}"));
}
