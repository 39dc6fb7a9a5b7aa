//! `fathom slob observe`: what a running database asks of its storage, and what the storage answered meanwhile.

use super::args::Observe;
use super::os::Machine;
use super::place::{Here, placed_by_setup};
use super::settings::{self, wrong};
use super::{counter_deltas, record as records, sweep};
use crate::demand::{self, Demand, Whose};
use crate::verdict::{Judged, Meaning};
use anyhow::{Result, bail};
use fathom_calibrate::sessions::disk_latency_at;
use fathom_record::*;
use fathom_session::environment::{self, Interrupt};
use fathom_session::record_writer::{Keeper, write_page};
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Context, Ended};
use fathom_spec::Nanos;
use std::io::Write;

/// Runs the command.
pub fn run(args: &Observe, context: &Context) -> Result<Ended> {
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
    let (interrupt, progress) = (Interrupt::watch(), Progress::new(context.progress));
    let mut here = Here::open(&args.place, &asked, 1, &interrupt)?;
    let mut told = counter_deltas::told(&asked, &here, 0, Nanos(0));
    let (mut record, mut keeper) = records::begin(&told, &mut here, context, (&args.place, &args.output))?;
    let mut nobody = ();
    let mut machine = Machine::new(&mut nobody, here.database.roots.clone(), here.processes());
    let mut watch = Watch::new(&mut machine, &progress, &interrupt, "observing".to_owned(), args.length);
    let outcome = here.database.observe(args.length, &mut watch);
    progress.clear();
    let mut run = match outcome {
        Ok(run) => run,
        Err(error) => {
            keeper.abandon(&record.id);
            bail!("{error}");
        }
    };
    run.samples.append(&mut machine.samples);
    (run.name, run.purpose) = ("observed".to_owned(), Purpose::Check);
    let counted = counter_deltas::counted(&run, &here);
    let demand = Demand::of(&run, &told, &counted);
    let expected = sweep::disk_curve(context, &told.disks)
        .and_then(|(_, curve)| disk_latency_at(&curve, demand.reads))
        .map(|ns| Nanos(ns as u64).millis());
    let (whose, says) = demand::judge(&demand, expected);
    let unknown = Judged { from_disk: None, meaning: Meaning::Unknown, says: String::new() };
    record.summary.extend(counter_deltas::figures(&run, 0, &here, (&counted, &unknown), None));
    let outcome = match whose {
        Whose::Unknown => CheckOutcome::Unknown,
        Whose::Storage | Whose::Host | Whose::Database => CheckOutcome::Noted,
    };
    let check = Check { name: "database, host or storage".to_owned(), outcome, seen: says.clone() };
    record.verdict = judge(vec![check]);
    told.counted = vec![counted];
    told.shown = counter_deltas::shown(&run, &here);
    record.facts = here.found.facts(serde_json::json!({ "slob": &told }))?;
    record.runs.push(run);
    record.ended = environment::now();
    record.ending = if interrupt.raised() { Ending::Interrupted } else { Ending::Complete };
    keeper.finish(&record);
    show(args, &record, (&demand, expected, &says), &here, &keeper)?;
    let interrupted = record.ending == Ending::Interrupted;
    here.close()?;
    Ok(if interrupted { Ended::Interrupted } else { Ended::Done })
}

fn show(
    args: &Observe,
    record: &ResultRecord,
    (demand, expected, says): (&Demand, Option<f64>, &str),
    here: &Here,
    keeper: &Keeper,
) -> Result<()> {
    let out = &mut std::io::stdout().lock();
    if args.output.json {
        fathom_render::json::write(record, out)?;
    } else {
        demand::write(demand, expected, out)?;
        writeln!(out, "\nverdict     {says}\n")?;
        let directory =
            here.data_path().map(|path| if path.is_file() { path.with_file_name("") } else { path });
        let name = directory.map(|path| path.display().to_string()).filter(|name| !name.is_empty());
        if demand.disks_known {
            demand::jobs(demand, name.as_deref().unwrap_or("."), out)?;
        }
        writeln!(out, "\nsaved       {}", keeper.saved())?;
    }
    out.flush()?;
    if let Some(path) = &args.output.html {
        write_page(path, |out| fathom_render::html::write(record, out))?;
    }
    Ok(())
}
