//! Tells of records that were not as they should be: looks where they stand, reads them again, saves both.

use super::test::Test;
use crate::{self as dt, Again, Damaged, Half, Options};
use anyhow::Result;
use fathom_content::{Damage, dt as content};
use fathom_engine::{CaughtRecord, Engine};
use fathom_host::extents;
use fathom_record::Execute;
use fathom_session::environment;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Tells of each, as many as the test allows.
pub fn tell(test: &mut Test<'_>, engine: &mut Engine, pass: u64, caught: Vec<CaughtRecord>) -> Result<()> {
    let options = test.options;
    let format = dt::format(options, &test.place, pass);
    for record in caught {
        if options.errors > 0 && test.total.errors >= options.errors {
            break;
        }
        test.total.errors += 1;
        let mut expected = record.expected;
        if expected.is_empty() {
            expected.resize(record.bytes.len(), 0);
            content::fill(&format, &mut expected, record.offset);
        }
        let counted =
            record.offset.saturating_sub(options.start()) / options.records_of(false).most.max(1) + 1;
        let mut damaged = Damaged {
            number: test.total.errors,
            when: environment::ctime(),
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
            },
            story: record.wrong.note,
            ..Damaged::default()
        };
        locate(&mut damaged);
        let mut out = std::io::stdout().lock();
        test.report.damage(&damaged, &mut out)?;
        out.flush()?;
        drop(out);
        if damaged.number == 1 {
            trigger(options, "miscompare", damaged.record_offset + damaged.index() as u64);
        }
        let (again, read) = read_again(test, engine, &damaged);
        let saved = save(&damaged, read.as_deref(), options.crew.thread);
        test.report.again(&damaged, again, &saved, &mut std::io::stdout().lock())?;
    }
    Ok(())
}

/// Where the bad bytes stand on the device.
fn locate(damaged: &mut Damaged) {
    let Ok(file) = File::open(&damaged.name) else { return };
    if let Ok(about) = file.metadata() {
        (damaged.inode, damaged.size) = (about.ino(), about.len());
    }
    let at = damaged.record_offset + damaged.index() as u64;
    damaged.physical = extents::physical_of(&file, at).ok().flatten();
    let end = damaged.record_offset + damaged.found.len() as u64;
    let mut found = Vec::new();
    let _ = extents::for_each_extent(&file, damaged.record_offset, end, &mut |extent| {
        found.push((extent.logical, extent.physical, extent.length_bytes));
        found.len() < 16
    });
    damaged.extents = found;
}

/// Reads the record again after a delay; answers what was read, if it could be.
fn read_again(test: &Test<'_>, engine: &mut Engine, damaged: &Damaged) -> (Again, Option<Vec<u8>>) {
    let options = test.options;
    let length = damaged.found.len() as u64;
    let mut one = options.of_record(damaged.record_offset, length, damaged.pass);
    // The plan is that of the same pass: it finds the pattern itself.
    (one.iot_pass, one.pattern) = (options.iot_pass, options.pattern.clone());
    let place = dt::Place { length, ..test.place.clone() };
    let half = if options.pairs() { Half::Verify } else { Half::Read };
    let plan = dt::plan(&one, &place, damaged.pass, half);
    let mut last = (Again::Failed, None);
    for _ in 0..options.retry_limit.max(1) {
        for _ in 0..options.retry_delay * 20 {
            if test.interrupt.raised() {
                return last;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let Ok(run) = engine.execute(&plan, &mut ()) else { return last };
        let caught = engine.caught.take().into_iter().next();
        last = match caught {
            _ if run.faults().next().is_some() => (Again::Failed, None),
            None => (Again::Good, Some(damaged.expected.clone())),
            Some(record) if record.bytes == damaged.found => (Again::Same, Some(record.bytes)),
            Some(record) => (Again::Other, Some(record.bytes)),
        };
    }
    last
}

/// Saves what was read at first and what was read then, beside the file, or here for a device.
fn save(damaged: &Damaged, read: Option<&[u8]>, thread: u32) -> Vec<String> {
    let name = damaged.name.as_str();
    let path = Path::new(name);
    let base = match path.starts_with("/dev") {
        true => path.file_name().map_or_else(|| name.to_owned(), |name| name.to_string_lossy().into_owned()),
        false => name.to_owned(),
    };
    let number = damaged.number - 1;
    let mut saved = Vec::new();
    for (what, bytes) in [("CORRUPT", Some(damaged.found.as_slice())), ("REREAD", read)] {
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
pub fn trigger(options: &Options, what: &str, at: u64) {
    let Some(command) = &options.trigger else { return };
    if !environment::write_consents().iter().any(|name| name == "trigger") {
        println!("The trigger was not run: set FATHOM_WRITE_CONSENT=trigger to allow it.");
        return;
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
        Ok(status) => println!("The trigger ended: {status}"),
        Err(error) => println!("The trigger could not be run: {error}"),
    }
}
