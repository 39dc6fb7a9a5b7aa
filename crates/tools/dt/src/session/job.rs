//! One job: one test, or several at a time, each in a thread of its own on its file or its slice. Keeps the record of all.

use super::test::Test;
use super::{complain, system_info};
use crate::{Dispose, Mode, Options, Stats};
use anyhow::{Result, anyhow, bail};
use fathom_engine::{Engine, Permits, Policy, guard};
use fathom_host::{Roots, TargetKind, resolve};
use fathom_record::{Ending, ExecuteError, Note, Run};
use fathom_session::environment::{self, Interrupt};
use fathom_session::record_writer::{Keeper, empty_record};
use fathom_session::targets::Ready;
use fathom_session::watch::Progress;
use fathom_session::{Context, preflight};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What one thread leaves.
pub struct Outcome {
    /// What it ran.
    pub runs: Vec<Run>,
    /// Everything was as it should be.
    pub good: bool,
}

/// Does what was asked for; answers whether everything was as it should be.
pub fn run(options: &Options, context: &Context, engine: &mut Engine) -> Result<bool> {
    let roots = Roots::default();
    let (length, wanted) = system_info::lengths(options, &roots)?;
    if let Some(wanted) = wanted {
        // dt goes on too, as its guide says: the end of a file or of a medium is expected.
        eprintln!("dt (j:1 t:1): WARNING: {} ends after {length} of {wanted} bytes", options.name());
    }
    let mut crew = options.crew_of(length);
    if options.crew.slices > 1 && options.writes() && options.dispose != Dispose::Keep {
        eprintln!("dt (j:1 t:1): WARNING: dispose=keep is set, since slices share one file");
        crew.iter_mut().for_each(|own| own.dispose = Dispose::Keep);
    }
    apart(options)?;
    let permits = permits(&crew, &roots)?;
    truncate(&crew, &roots)?;
    let began = environment::now();
    let interrupt = Interrupt::watch();
    let outcomes: Vec<Result<Outcome>> = match &crew[..] {
        [] => bail!("there is nothing to do"),
        [own] => {
            engine.permits = permits;
            let progress = Progress::new(context.progress);
            vec![Test::run(own, &roots, engine, (&interrupt, &progress))]
        }
        all => std::thread::scope(|scope| {
            let started: Vec<_> = all
                .iter()
                .map(|own| {
                    let (permits, roots, interrupt) = (permits.clone(), &roots, &interrupt);
                    scope.spawn(move || {
                        let mut engine = Engine { permits, ..Engine::default() };
                        let progress = Progress::new(false);
                        Test::run(own, roots, &mut engine, (interrupt, &progress))
                    })
                })
                .collect();
            let joined = started.into_iter().map(|thread| thread.join());
            joined.map(|outcome| outcome.unwrap_or_else(|_| Err(anyhow!("a thread failed")))).collect()
        }),
    };
    let (mut runs, mut good, mut failed) = (Vec::new(), !interrupt.raised(), Vec::new());
    for (outcome, own) in outcomes.into_iter().zip(&crew) {
        match outcome {
            Ok(outcome) => {
                good &= outcome.good;
                runs.extend(outcome.runs);
            }
            Err(error) => failed.push((own.crew.thread, error)),
        }
    }
    if runs.is_empty()
        && let [(_, _)] = failed[..]
        && let Some((_, error)) = failed.pop()
    {
        return Err(error);
    }
    failed.iter().for_each(|(thread, error)| complain(*thread, error));
    good &= failed.is_empty();
    keep(options, context, &roots, (began, good, interrupt.raised()), runs);
    Ok(good)
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

/// What may be written: plain files that were named as outputs, and what the user consented to.
fn permits(crew: &[Options], roots: &Roots) -> Result<Permits> {
    let mut permits = Permits::new(Policy::WhenHolding);
    environment::write_consents().iter().for_each(|name| permits.add_consent(name));
    for name in crew.iter().filter(|own| own.changes()).filter_map(|own| own.output.as_ref()) {
        let says = |error: ExecuteError| {
            anyhow!("{}", error.to_string().replace("say --write-consent ", "set FATHOM_WRITE_CONSENT="))
        };
        guard::allow_named_file(roots, Path::new(name), &permits).map_err(says)?;
        if Path::new(name).is_file() {
            permits.add_consent(name);
        }
    }
    Ok(permits)
}

/// Empties the outputs where that is asked for.
fn truncate(crew: &[Options], roots: &Roots) -> Result<()> {
    for own in crew.iter().filter(|own| own.truncate && own.changes()) {
        let target = system_info::target(own.name(), true, roots)?;
        if target.existed && target.kind == TargetKind::RegularFile {
            std::fs::OpenOptions::new().write(true).truncate(true).open(own.name())?;
        }
    }
    Ok(())
}

fn keep(
    options: &Options,
    context: &Context,
    roots: &Roots,
    (began, good, interrupted): (String, bool, bool),
    runs: Vec<Run>,
) {
    let name = options.name();
    let ready: Vec<Ready> = resolve(roots, Path::new(name))
        .map(|storage| Ready::Existing { path: PathBuf::from(name), storage: Box::new(storage) })
        .into_iter()
        .collect();
    let found = preflight::look(roots, &ready);
    let facts = found.facts(serde_json::Value::Null).unwrap_or_default();
    let mut record = empty_record("dt", &context.command, None, vec![name.to_owned()], facts);
    (record.started, record.ended) = (began, environment::now());
    record.ending = match (interrupted, good) {
        (true, _) => Ending::Interrupted,
        (false, true) => Ending::Complete,
        (false, false) => Ending::Failed,
    };
    if !options.direct {
        record.notes.push(Note {
            text: "the page cache was in the way: what it answered or took is no figure of the disk, and what was compared may never have left memory".to_owned(),
            hint: Some("flags=direct goes past it; fathom dt --classic shows both".to_owned()),
        });
    }
    record.runs = runs;
    let (mut keeper, lost) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
    record.notes.extend(lost);
    keeper.finish(&record);
    if environment::speaks_notes() && options.stats != Stats::None {
        for note in &record.notes {
            let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
            eprintln!("note: {}{hint}", note.text);
        }
    }
}
