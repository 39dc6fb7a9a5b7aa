//! One job: one test, or several at a time, each in a thread of its own on its file or its slice. Keeps the record of all.

use super::context::JobContext;
use super::figures::figures;
use super::runner::{JobRecord, ThreadRunner};
use super::test::Test;
use super::{complain, refusal, system_info};
use crate::{Dispose, Mode, Options, Stats};
use anyhow::{Result, anyhow, bail};
use fathom_engine::guard;
use fathom_host::{Roots, TargetKind, directory_of};
use fathom_record::Note;
use fathom_session::layout::Need;
use fathom_session::measurement::existing;
use fathom_session::targets::Ready;
use fathom_session::watch::Progress;
use fathom_session::{End, Session, Setup};
use fathom_spec::{Bytes, Permits, Policy};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc;

/// Does what was asked for; answers whether everything was as it should be.
pub fn run(options: &Options, session: &mut Session<'_>) -> Result<bool> {
    let options = &at_lba(options);
    let (environment, console, roots) =
        (session.environment.clone(), session.console.clone(), session.roots.clone());
    let (length, wanted) = system_info::lengths(options, &roots)?;
    if let Some(wanted) = wanted {
        // dt goes on too, as its guide says: the end of a file or of a medium is expected.
        let name = options.name();
        console.complain(format_args!("dt (j:1 t:1): WARNING: {name} ends after {length} of {wanted} bytes"));
    }
    let mut crew = options.crew_of(length);
    if options.crew.slices > 1 && options.writes() && options.dispose != Dispose::Keep {
        console.complain("dt (j:1 t:1): WARNING: dispose=keep is set, since slices share one file");
        crew.iter_mut().for_each(|own| own.dispose = Dispose::Keep);
    }
    apart(options)?;
    let permits = permits(&crew, &roots, environment.write_consents())?;
    truncate(&crew, &roots, &permits)?;
    if crew.is_empty() {
        bail!("there is nothing to do");
    }
    let interrupt = environment.interrupt();
    let progress = Progress::new(session.progress && crew.len() == 1, &console);
    let context = JobContext {
        environment: &environment,
        console: &console,
        roots: &roots,
        interrupt: &interrupt,
        progress: &progress,
    };
    let mut measurement = session.begin(Setup {
        tool: "dt",
        label: None,
        targets: vec![options.name().to_owned()],
        ready: &storages(&crew),
        permits,
        request: serde_json::Value::Null,
    });
    measurement.record.notes.extend(need(options, &crew).and_then(|need| need.warning()));
    let mut record = JobRecord { measurement, runs: Vec::new() };
    let outcomes = match &crew[..] {
        [own] => vec![Test::run(own, context, &mut record)],
        all => side_by_side(all, context, &mut record),
    };
    let mut good = !interrupt.raised();
    for (outcome, own) in outcomes.into_iter().zip(&crew) {
        match outcome {
            Ok(outcome) => good &= outcome,
            Err(error) => {
                good = false;
                let thread = if crew.len() == 1 { 1 } else { own.crew.thread };
                complain(&console, thread, &error);
            }
        }
    }
    finish(options, record, good, interrupt.raised());
    Ok(good)
}

/// `lba=` is where a test of a disk begins, unless it has a position; of a file it says nothing.
fn at_lba(options: &Options) -> Options {
    let disk = std::fs::metadata(options.name())
        .is_ok_and(|about| TargetKind::of(&about) == TargetKind::BlockDevice);
    let mut own = options.clone();
    if disk && own.position == 0 {
        own.position = own.lba.saturating_mul(own.block);
    }
    own
}

/// Runs each test in a thread of its own; answers how each of them ended, in their order.
fn side_by_side(crew: &[Options], context: JobContext<'_>, record: &mut JobRecord<'_>) -> Vec<Result<bool>> {
    let (sender, runs) = mpsc::channel();
    std::thread::scope(|scope| {
        let start = |own| {
            let mut runner =
                ThreadRunner { measurement: record.measurement.for_thread(), runs: sender.clone() };
            scope.spawn(move || Test::run(own, context, &mut runner))
        };
        let started: Vec<_> = crew.iter().map(start).collect();
        drop(sender);
        record.keep_all(runs);
        let joined = started.into_iter().map(|thread| thread.join());
        joined.map(|outcome| outcome.unwrap_or_else(|_| Err(anyhow!("a thread failed")))).collect()
    })
}

/// What the files that are written take of their file system. dt itself writes what fits.
fn need(options: &Options, crew: &[Options]) -> Option<Need> {
    let path = Path::new(options.output.as_ref()?);
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(|about| !about.is_file()) {
        return None;
    }
    let bytes: u64 = crew.iter().filter(|own| own.changes()).filter_map(|own| own.limit).sum();
    Need::at(path, Bytes(bytes.saturating_sub(there.map_or(0, |about| about.len()))))
}

/// A copy goes to another file: to empty the output must not empty the input.
fn apart(options: &Options) -> Result<()> {
    let (Mode::Copy, Some(input), Some(output)) = (options.mode, &options.input, &options.output) else {
        return Ok(());
    };
    let number = |name: &str| std::fs::metadata(name).ok().map(|about| (about.dev(), about.ino()));
    if number(input).is_some_and(|input| number(output) == Some(input)) {
        bail!("{input} and {output} are one file: a copy onto itself copies nothing");
    }
    Ok(())
}

/// What may be written: plain files that were named as outputs, and what the user consented to. A file that is not there yet is
/// made by whichever thread comes first, and holds something when the next one looks.
fn permits(crew: &[Options], roots: &Roots, consents: Vec<String>) -> Result<Permits> {
    let mut permits = Permits { consents, ..Permits::new(Policy::WhenHolding) };
    for name in crew.iter().filter(|own| own.changes()).filter_map(|own| own.output.as_ref()) {
        guard::allow_named_file(roots, Path::new(name), &permits).map_err(|error| refusal(&error))?;
        let path = Path::new(name);
        if path.is_file() || !path.exists() {
            permits.add_named(name);
        }
    }
    Ok(permits)
}

/// Empties the outputs where that is asked for.
fn truncate(crew: &[Options], roots: &Roots, permits: &Permits) -> Result<()> {
    for own in crew.iter().filter(|own| own.truncate && own.changes()) {
        let target = system_info::target(own.name(), true, roots)?;
        if target.existed && target.kind == TargetKind::RegularFile {
            let file = guard::open_named_file(roots, Path::new(own.name()), permits);
            file.map_err(|error| refusal(&error))?.set_len(0)?;
        }
    }
    Ok(())
}

/// The storage below the targets. Of a file that the job writes its directory is looked at: that the file has holes before
/// says nothing of what is read from it afterwards.
fn storages(crew: &[Options]) -> Vec<Ready> {
    let mut names = BTreeSet::new();
    for own in crew {
        names.extend(own.input.clone());
        names.extend(own.output.as_deref().map(|output| {
            let path = Path::new(output);
            match own.changes() && (path.is_file() || !path.exists()) {
                true => directory_of(path).to_str().unwrap_or(output).to_owned(),
                false => output.to_owned(),
            }
        }));
    }
    existing(names.iter().map(String::as_str))
}

/// Makes the figures and the verdict, and tells the notes; where nothing was measured there is no record.
fn finish(options: &Options, mut record: JobRecord<'_>, good: bool, interrupted: bool) {
    if record.runs.is_empty() {
        return record.measurement.abandon();
    }
    if !options.direct {
        record.measurement.record.notes.push(Note {
            text: "the page cache was in the way: what it answered or took is no figure of the disk, and what was compared may never have left memory".to_owned(),
            hint: Some("flags=direct goes past it; fathom dt --classic shows both".to_owned()),
        });
    }
    if options.stats != Stats::None {
        record.measurement.tell_notes();
    }
    let figures = figures(&record.measurement.record.runs, &record.runs);
    record.measurement.finish(End { figures, ..End::of(interrupted, !good) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_file_that_is_not_there_yet_may_all_write_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("f").to_string_lossy().into_owned();
        let words = [format!("of={name}"), "limit=1m".to_owned(), "slices=4".to_owned()];
        let crew = crate::parse(&words, 4096).unwrap().crew_of(1 << 20);
        assert_eq!(crew.len(), 4);
        let permits = permits(&crew, &Roots::default(), vec!["x".to_owned()]).unwrap();
        assert_eq!((permits.consents, permits.named), (vec!["x".to_owned()], [name.into()].into()));
    }
}
