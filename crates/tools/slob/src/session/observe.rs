//! `fathom slob observe`: what a running database asks of its storage, and what the storage answered meanwhile.

use super::args::Observe;
use super::os::Machine;
use super::place::{DatabaseTarget, placed_by_setup};
use super::settings::{self, wrong};
use super::{counter_deltas, record as records, sweep};
use crate::demand::{self, Demand, Whose};
use crate::verdict::{Judged, Meaning};
use anyhow::{Result, bail};
use fathom_calibrate::sessions::disk_latency_at;
use fathom_host::database_directory::database_directory;
use fathom_record::*;
use fathom_session::output;
use fathom_session::watch::{Progress, Watch};
use fathom_session::{End, Ended, Figures, Finished, Grounds, Session};
use fathom_spec::Nanos;
use std::io::Write;
use std::os::unix::fs::MetadataExt;

/// Runs the command.
pub fn run(args: &Observe, session: &mut Session<'_>) -> Result<Ended> {
    placed_by_setup(&args.place)?;
    let asked = settings::read(&args.place)?;
    if args.place.server.is_some() {
        bail!(wrong(
            "a server that fathom starts has no load of its own to observe\nhint: say which database with --db"
        ));
    }
    if args.length < Nanos::from_seconds(2) {
        bail!(wrong("--for must be at least 2 s: counters are read once a second\nhint: such as --for 60s"));
    }
    let (interrupt, console) = (session.environment.interrupt(), session.console.clone());
    let progress = Progress::new(session.progress, &console);
    let mut here = DatabaseTarget::open(&args.place, &asked, 1, session, &|| interrupt.raised())?;
    let mut told = counter_deltas::told(&asked, &here, 0, Nanos(0));
    let curve = sweep::disk_curve(session, &told.disks);
    let mut measurement = records::begin(&told, &mut here, session, &args.place, &args.label);
    let mut nobody = ();
    let mut machine = Machine::new(&mut nobody, &here.database);
    let mut watch = Watch::new(&mut machine, &progress, &interrupt, "observing".to_owned(), args.length);
    let outcome = here.database.observe(args.length, measurement.disks(), &mut watch);
    progress.clear();
    let mut run = match outcome {
        Ok(run) => run,
        Err(error) => {
            measurement.abandon();
            return Err(error.into());
        }
    };
    run.samples.append(&mut machine.samples);
    (run.name, run.purpose) = ("observed".to_owned(), Purpose::Check);
    let counted = counter_deltas::counted_of_all(&run, &here);
    let demand = Demand::of(&run, &told, &counted);
    let expected = curve
        .and_then(|(_, curve)| disk_latency_at(&curve, demand.reads))
        .map(|ns| Nanos(ns as u64).millis());
    let (whose, says) = demand::judge(&demand, expected);
    let unknown =
        Judged { from_disk: None, meaning: Meaning::Unknown, advice: Vec::new(), says: String::new() };
    let summary = counter_deltas::figures(&run, 0, &here, (&counted, &unknown), None);
    let outcome = match whose {
        Whose::Unknown => CheckOutcome::Unknown,
        Whose::Storage | Whose::Host | Whose::Database => CheckOutcome::Noted,
    };
    let check = Check::new("database, host or storage", outcome, says.clone());
    told.counted = vec![counted];
    told.shown = counter_deltas::shown(&run);
    measurement.record.facts = here.found.facts(serde_json::json!({ "slob": &told }))?;
    measurement.found.buffered_below = None;
    measurement.found.in_memory = None;
    let finished = measurement.finish_with(
        run,
        End {
            figures: Figures::Own(summary.into_iter().collect(), Vec::new()),
            grounds: Grounds::Checks,
            checks: vec![check],
            ..End::of(interrupt.raised(), false)
        },
    );
    let shown = Shown { demand: &demand, expected, says: &says };
    show(args, &finished, shown, &here, session)?;
    let interrupted = finished.record.ending == Ending::Interrupted;
    here.close()?;
    Ok(if interrupted { Ended::Interrupted } else { Ended::Done })
}

/// What is shown of an observation.
struct Shown<'a> {
    demand: &'a Demand,
    expected: Option<f64>,
    says: &'a str,
}

/// The directory above the data's, where it is on the same file system and no database's.
fn beside_the_data(here: &DatabaseTarget) -> Option<String> {
    let data = here.data_path()?;
    let above = data.parent()?;
    let same = above.metadata().ok()?.dev() == data.metadata().ok()?.dev();
    let free = database_directory(above).is_none() && above.parent().is_some();
    above.to_str().filter(|_| same && free).map(str::to_owned)
}

fn show(
    args: &Observe,
    finished: &Finished,
    Shown { demand, expected, says }: Shown<'_>,
    here: &DatabaseTarget,
    session: &Session<'_>,
) -> Result<()> {
    let mut out = Vec::new();
    demand::write(demand, expected, &mut out)?;
    writeln!(out, "\nverdict     {says}\n")?;
    let directory = beside_the_data(here);
    if demand.disks_known {
        demand::jobs(demand, directory.as_deref(), &mut out)?;
    }
    writeln!(out, "\nsaved       {}", finished.saved)?;
    let shown = output::Shown { text: Some(out), ..output::Shown::ended(&finished.record, &finished.saved) };
    args.output.show(&shown, &session.environment, &session.console)
}
