//! `fathom run`: one load, said plainly.

use crate::args::{Load as Args, Order};
use anyhow::{Result, bail};
use fathom_calibrate::load_figures::load_figures;
use fathom_calibrate::precision::Precision;
use fathom_calibrate::verdict::Evidence;
use fathom_engine::{Engine, Permits, Policy};
use fathom_host::Roots;
use fathom_record::*;
use fathom_session::environment::{self, Interrupt};
use fathom_session::preflight;
use fathom_session::record_writer::{Keeper, empty_record, write_page};
use fathom_session::targets::{self, Ready};
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Context, Ended, WrongUsage};
use fathom_spec::*;
use std::io::Write;
use std::path::Path;

/// Runs the command.
pub fn run(args: &Args, context: &Context, engine: &mut Engine) -> Result<Ended> {
    if args.read.is_none() && args.write.is_none() && args.mix.is_none() {
        bail!(WrongUsage(
            "say what to do: --read random, --write sequential or --mix 70/30\nhint: for example fathom run --read random --block 8k --depth 32 .".to_owned()
        ));
    }
    let writes = args.write.is_some() || args.mix.is_some_and(|mix| mix.read_percent < 100);
    if writes && args.consent.read_only {
        bail!(WrongUsage(
            "this load writes, and --read-only forbids it\nhint: leave one of them out".to_owned()
        ));
    }
    if args.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
        bail!(WrongUsage(
            "--rate must be more than nothing\nhint: so many I/Os a second, such as --rate 5000".to_owned()
        ));
    }
    let roots = Roots::default();
    let interrupt = Interrupt::watch();
    let progress = Progress::new(context.progress && !args.no_preflight);
    if args.dry_run {
        let plan = plan(args, target_of(&args.target), writes, args.size);
        writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&plan)?)?;
        return Ok(Ended::Done);
    }
    let cleared = match Path::new(&args.target).is_dir() {
        true => targets::clear_leftovers(&roots, Path::new(&args.target)),
        false => Vec::new(),
    };
    let ready = targets::ready(&roots, &args.target, args.size, 0)?;
    engine.permits = permits(args, &ready);
    let found = (!args.no_preflight).then(|| preflight::look(&roots, std::slice::from_ref(&ready)));
    if let Some(found) = &found {
        engine.disks = found.disks.clone();
    }
    if let Ready::Scratch { scratch, room, .. } = &ready {
        lay_out(args, &scratch.path.to_string_lossy(), *room, engine, (&progress, &interrupt))?;
    }
    let target = match &ready {
        Ready::Simulated(device) => Target::Sim(device.clone()),
        Ready::Null => Target::Null(Bytes(GIB)),
        Ready::Existing { path, .. } => path_target(&path.to_string_lossy()),
        Ready::Scratch { scratch, .. } => path_target(&scratch.path.to_string_lossy()),
    };
    let size = if matches!(ready, Ready::Scratch { .. }) { None } else { args.size };
    let plan = plan(args, target, writes, size);
    let facts = match &found {
        Some(found) => found.facts(serde_json::Value::Null)?,
        None => serde_json::Value::Null,
    };
    let mut record =
        empty_record("run", &context.command, args.output.label.clone(), vec![args.target.clone()], facts);
    record.notes.extend(cleared.into_iter().map(|text| Note { text, hint: None }));
    let mut keeper = None;
    if let Some(found) = &found {
        let (kept, notes) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
        record.notes.extend(found.notes.iter().cloned().chain(notes));
        keeper = Some(kept);
    }
    let mut nobody = ();
    let mut watch = Watch::new(&mut nobody, &progress, &interrupt, "load".to_owned(), args.time);
    let outcome = engine.execute(&plan, &mut watch);
    progress.clear();
    match outcome {
        Err(error) => {
            keeper.iter_mut().for_each(|k| k.abandon(&record.id));
            bail!("{error}")
        }
        Ok(run) => {
            let quiet = found.map_or_else(unseen, |found| (found.evidence.clone(), found.checks()));
            conclude(args, record, run, quiet, keeper, interrupt.raised())
        }
    }
}

/// What is known without a preflight: nothing.
fn unseen() -> (Evidence, Vec<Check>) {
    let why = "the preflight was left out".to_owned();
    (Evidence { unchecked: vec![why], ..Evidence::default() }, Vec::new())
}

fn target_of(name: &str) -> Target {
    match (name, name.strip_prefix("sim:")) {
        ("null", _) => Target::Null(Bytes(GIB)),
        (_, Some(device)) => Target::Sim(device.to_owned()),
        _ => path_target(name),
    }
}

fn path_target(path: &str) -> Target {
    Target::Path(PathTarget::direct_read(path))
}

fn permits(args: &Args, ready: &Ready) -> Permits {
    let mut permits = Permits::new(Policy::Always);
    args.consent.write_consent.iter().for_each(|name| permits.add_consent(name));
    if let Ready::Scratch { scratch, .. } = ready {
        permits.add_scratch(scratch);
    }
    permits
}

fn plan(args: &Args, target: Target, writes: bool, size: Option<Bytes>) -> Plan {
    let mut plan = Plan::new(args.seed);
    plan.stall = args.stall;
    let target = match target {
        Target::Path(path) => Target::Path(PathTarget {
            access: if writes { Access::Write } else { Access::Read },
            direct: !args.buffered,
            ..path
        }),
        other => other,
    };
    let space = plan.add_target(target);
    let mut blocks = Blocks::random_reads(space, args.block);
    if args.read.or(args.write) == Some(Order::Sequential) {
        blocks.pattern = Pattern::Sequential(Begin::Spread);
    }
    blocks.mix = match args.mix {
        Some(mix) => Mix::Random { read_percent: mix.read_percent },
        None if args.write.is_some() => Mix::Only(Verb::Write),
        None => Mix::Only(Verb::Read),
    };
    if let Some(size) = size {
        blocks.region.1 = Extent::Bytes(size);
    }
    blocks.queue = args.engine.queue();
    blocks.queue_options =
        QueueOptions { io_poll: args.io_poll, submit_poll: args.submit_poll, ..QueueOptions::default() };
    let mut stream = Stream::closed("load", blocks, args.depth);
    stream.workers = args.workers;
    // Whole slots inside the load: neither its rise nor its fall is in the figures.
    stream.window =
        Window::Inside { before: Nanos(0), length: Nanos((args.time.0 / plan.slot.0).max(1) * plan.slot.0) };
    stream.stop.time = Some(Nanos(args.time.0.max(plan.slot.0) + plan.slot.0));
    if let Some(rate) = args.rate {
        let verbs = match args.mix {
            Some(mix) => vec![
                (Verb::Read, f64::from(mix.read_percent) / 100.0),
                (Verb::Write, 1.0 - f64::from(mix.read_percent) / 100.0),
            ],
            None if args.write.is_some() => vec![(Verb::Write, 1.0)],
            None => vec![(Verb::Read, 1.0)],
        };
        let table = |(verb, share): &(Verb, f64)| Timetable {
            verb: *verb,
            rate: Rate::Operations(rate * share / f64::from(args.workers)),
            spacing: Spacing::Poisson,
        };
        stream.arrival = Arrival::Open(verbs.iter().filter(|(_, share)| *share > 0.0).map(table).collect());
        stream.keep.response = true;
    }
    plan.add_stream(stream);
    plan
}

fn lay_out(
    args: &Args,
    path: &str,
    room: Bytes,
    engine: &mut Engine,
    (progress, interrupt): (&Progress, &Interrupt),
) -> Result<()> {
    let room = if args.size.is_some() { room } else { Bytes(room.0.min(GIB)) };
    let mut plan = Plan::new(args.seed);
    let target = PathTarget { access: Access::Write, ..PathTarget::direct_read(path) };
    let space = plan.add_target(Target::Path(target));
    let mut blocks = Blocks::random_reads(space, Bytes(MIB));
    (blocks.pattern, blocks.mix) = (Pattern::Sequential(Begin::Append), Mix::Only(Verb::Write));
    let mut stream = Stream::closed("layout", blocks, 8);
    stream.stop.operations = Some(room.0 / MIB);
    plan.add_stream(stream);
    let mut nobody = ();
    let mut watch = Watch::new(&mut nobody, progress, interrupt, "layout".to_owned(), Nanos(room.0 * 2));
    let run = engine.execute(&plan, &mut watch).map_err(|error| anyhow::anyhow!("{error}"))?;
    if let Some(fault) = run.faults().next() {
        bail!("the layout failed: {:?}\nhint: free some space, or use less of it with --size", fault.what);
    }
    Ok(())
}

fn conclude(
    args: &Args,
    mut record: ResultRecord,
    mut run: Run,
    (found, mut checks): (Evidence, Vec<Check>),
    keeper: Option<Keeper>,
    interrupted: bool,
) -> Result<Ended> {
    run.name = "load".to_owned();
    run.load = Load { small: args.depth * args.workers, large: 0 };
    record.ended = environment::now();
    record.ending = if interrupted { Ending::Interrupted } else { Ending::Complete };
    record.summary = load_figures(&run);
    record.runs.push(run);
    let simulated = args.target.starts_with("sim:") || args.target == "null";
    if args.buffered {
        let seen = "asked to go through the page cache: memory may have answered".to_owned();
        checks.push(Check { name: "page cache bypassed".to_owned(), outcome: CheckOutcome::Failed, seen });
    }
    let evidence = Evidence {
        simulated,
        memory: found.memory,
        memory_backed: found.memory_backed,
        unwritten_share: found.unwritten_share,
        unchecked: if simulated { Vec::new() } else { found.unchecked },
        ..Evidence::of_runs(&record.runs, Precision::Normal)
    };
    checks.extend(evidence.checks());
    record.verdict = judge(checks);
    let mut saved = None;
    if let Some(mut keeper) = keeper {
        keeper.finish(&record);
        saved = Some(keeper.saved());
    }
    let mut out = std::io::stdout().lock();
    match args.output.json {
        true => fathom_render::json::write(&record, &mut out)?,
        false => fathom_render::load::write(&record, saved.as_deref(), environment::style(), &mut out)?,
    }
    out.flush()?;
    if let Some(path) = &args.output.html {
        write_page(path, |out| fathom_render::html::write(&record, out))?;
    }
    Ok(match (interrupted, record.verdict.state) {
        (true, _) => Ended::Interrupted,
        (false, VerdictState::NotBelievable) => Ended::Unbelievable,
        (false, _) => Ended::Done,
    })
}
