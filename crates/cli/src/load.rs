//! `fathom run`: one load, said plainly.

use crate::args::{Load as Args, Order};
use crate::calibrate::setup;
use anyhow::{Result, bail};
use fathom_record::*;
use fathom_session::layout::{self, Layout};
use fathom_session::output::Shown;
use fathom_session::preflight::Found;
use fathom_session::targets::{self, Ready};
use fathom_session::watch::{Progress, Watch};
use fathom_session::{End, Ended, Session, Setup, WrongUsage};
use fathom_spec::*;
use std::io::Write;
use std::path::Path;

/// Runs the command.
pub fn run(args: &Args, session: &mut Session<'_>) -> Result<Ended> {
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
    setup::check_simulated(std::slice::from_ref(&args.target))?;
    if args.dry_run {
        let plan = plan(args, target_of(&args.target), writes, args.size);
        writeln!(session.console.out(), "{}", serde_json::to_string_pretty(&plan)?)?;
        return Ok(Ended::Done);
    }
    measure(args, writes, session)
}

fn measure(args: &Args, writes: bool, session: &mut Session<'_>) -> Result<Ended> {
    let interrupt = session.environment.interrupt();
    let (environment, console) = (session.environment.clone(), session.console.clone());
    let progress = match args.no_preflight {
        true => Progress::new(false, &console),
        false => Progress::of(session, true),
    };
    let cleared = match Path::new(&args.target).is_dir() {
        true => targets::clear_leftovers(&session.roots, Path::new(&args.target)),
        false => Vec::new(),
    };
    let ready = targets::ready(&session.roots, &args.target, args.size, 0, Bytes(0))?;
    let setup = Setup {
        tool: "run",
        label: args.label.clone(),
        targets: vec![args.target.clone()],
        ready: std::slice::from_ref(&ready),
        permits: permits(args, &ready),
        request: serde_json::Value::Null,
    };
    let mut measurement = match args.no_preflight {
        true => {
            session.store = None;
            let found = Found::unseen(&session.roots);
            session.begin_with(setup, found, None)
        }
        false => session.begin(setup),
    };
    if args.no_preflight {
        measurement.record.notes.clear();
    }
    measurement.record.notes.extend(cleared.into_iter().map(|text| Note { text, hint: None }));
    if let Ready::Scratch { scratch, room, .. } = &ready {
        let room = if args.size.is_some() { *room } else { Bytes(room.0.min(GIB)) };
        let path = names::text(&scratch.path)?;
        let plan = Layout { seed: args.seed, ..Layout::new(path, room) }.plan();
        let mut nobody = ();
        let length = Nanos(room.0 * 2);
        let mut watch = Watch::new(&mut nobody, &progress, &interrupt, "layout".to_owned(), length);
        let failed = measurement.run(&plan, &mut watch).map(|run| layout::failure(&run));
        if !matches!(failed, Ok(None)) {
            progress.clear();
            measurement.abandon();
            let Some((what, hint)) = failed? else { return Ok(Ended::Failed) };
            bail!("{what}\nhint: {hint}");
        }
        // Every byte of it was written just now.
        measurement.found.unwritten(0.0);
    }
    let target = match &ready {
        Ready::Simulated(device) => Target::Sim(device.clone()),
        Ready::Null => Target::Null(Bytes(GIB)),
        Ready::Existing { path, .. } => path_target(names::text(path)?),
        Ready::Scratch { scratch, .. } => path_target(names::text(&scratch.path)?),
    };
    let size = if matches!(ready, Ready::Scratch { .. }) { None } else { args.size };
    let plan = plan(args, target, writes, size);
    let mut nobody = ();
    let mut watch = Watch::new(&mut nobody, &progress, &interrupt, "load".to_owned(), args.time);
    let outcome = measurement.run(&plan, &mut watch);
    progress.clear();
    let mut run = match outcome {
        Ok(run) => run,
        Err(error) => {
            measurement.abandon();
            return Err(error.into());
        }
    };
    run.name = "load".to_owned();
    run.load = Load { small: args.depth * args.workers, large: 0 };
    let refused = run.workers.iter().any(|worker| worker.ended == StopReason::Fault);
    let finished = measurement.finish_with(run, End::of(interrupt.raised(), refused));
    let record = &finished.record;
    let saved = (!args.no_preflight).then_some(&finished.saved[..]);
    args.output.show(&Shown { record, saved, tool: None, text: None }, &environment, &console)?;
    Ok(match (record.ending, record.verdict.state) {
        (Ending::Interrupted, _) => Ended::Interrupted,
        (Ending::Failed, _) => Ended::Failed,
        (_, VerdictState::NotBelievable) => Ended::Unbelievable,
        _ => Ended::Done,
    })
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
        permits.add_scratch(&scratch.path);
    }
    permits
}

fn plan(args: &Args, target: Target, writes: bool, size: Option<Bytes>) -> Plan {
    let mut plan = Plan::new(args.seed);
    plan.stall = args.stall;
    // A percentile's error comes from the number of intervals.
    plan.interval = Nanos((args.time.0 / 100).clamp(100_000_000, 1_000_000_000) / plan.slot.0 * plan.slot.0);
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
    stream.errors.failures = Failures::Refusals;
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
