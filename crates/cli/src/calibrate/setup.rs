//! What was asked of a calibration: the command line checked and turned into questions and plans.

use super::commit_log;
use super::{LARGE_MOST, LAYOUT_MOST, SLOT, SMALL_MOST};
use crate::args::{Calibrate, Precision};
use anyhow::{Result, bail};
use fathom_calibrate::plan::Planner;
use fathom_calibrate::precision;
use fathom_calibrate::schedule::{Calibration, Question};
use fathom_engine::guard::same_place;
use fathom_host::{Room, Roots, lock};
use fathom_record::{Note, Phase};
use fathom_session::interference::Others;
use fathom_session::layout::Layout;
use fathom_session::preflight::{self, Found};
use fathom_session::{Ended, Interrupt, Session, targets};
use fathom_spec::*;
use std::io::Write;
use std::path::Path;

/// Ends with wrong usage: exit status 2.
macro_rules! wrong {
    ($($text:tt)*) => { return Err(fathom_session::WrongUsage(format!($($text)*)).into()) };
}

pub(super) fn check(args: &Calibrate) -> Result<()> {
    if args.block_size.0 == 0 || args.large_size.0 < args.block_size.0 {
        wrong!(
            "--block-size {} and --large-size {} do not go together\nhint: the large one must not be smaller, and neither zero",
            args.block_size,
            args.large_size
        );
    }
    if args.large_size.0 > 1 << 30 {
        wrong!("--large-size {} is too large\nhint: at most 1g", args.large_size);
    }
    if args.time.0 < Nanos::from_seconds(5).0 {
        wrong!("--time {} is too short to find anything\nhint: at least 5s; 60s is the default", args.time);
    }
    if args.mix.is_some() && args.consent.read_only {
        wrong!("--mix writes, and --read-only forbids it\nhint: leave one of them out");
    }
    Ok(())
}

/// Sizes that no disk takes past the page cache are refused before anything is asked of one.
pub(super) fn check_sizes(args: &Calibrate, names: &[String]) -> Result<()> {
    const SECTOR: u64 = 512;
    let real = names.iter().any(|name| !name.starts_with("sim:") && name != "null");
    for (option, size) in [("--block-size", args.block_size), ("--large-size", args.large_size)] {
        if real && size.0 % SECTOR != 0 {
            wrong!(
                "{option} {size} is no multiple of 512 bytes, the smallest block of any disk\nhint: 8k is a database's, 1m a large one"
            );
        }
    }
    Ok(())
}

/// A simulated device that makes no sense is wrong usage, said before anything is done.
pub(crate) fn check_simulated(names: &[String]) -> Result<()> {
    for name in names {
        let device = name.strip_prefix("sim:").map(str::parse::<fathom_drive::sim::Device>);
        if let Some(Err(error)) = device {
            wrong!("{name} is no simulated device: {error}\nhint: such as sim:ways=32,service=100us");
        }
    }
    Ok(())
}

/// The targets' names, and what `--data-files` left out.
pub(super) fn names(args: &Calibrate) -> Result<(Vec<String>, Vec<String>)> {
    match &args.data_files {
        Some(pattern) => {
            let (files, left_out) = targets::data_files(pattern)?;
            Ok((files, left_out))
        }
        None if args.targets.is_empty() => Ok((vec![".".to_owned()], Vec::new())),
        None => Ok((args.targets.clone(), Vec::new())),
    }
}

pub(super) fn precision(args: &Calibrate) -> precision::Precision {
    match args.precision {
        Precision::Fast => precision::Precision::Fast,
        Precision::Normal => precision::Precision::Normal,
        Precision::Strict => precision::Precision::Strict,
    }
}

pub(super) fn question(args: &Calibrate, disks: Option<u32>, writable: bool) -> Question {
    Question {
        limit: args.max_latency,
        disks: args.num_disks.or(disks).unwrap_or(1),
        small_most: SMALL_MOST,
        large_most: LARGE_MOST,
        time: args.time,
        precision: precision(args),
        read_only: !writable,
        mixed: args.mix.is_some(),
    }
}

pub(super) fn planner(args: &Calibrate) -> Planner {
    Planner {
        reads: Vec::new(),
        writes: Vec::new(),
        log: None,
        working_set: Extent::Whole,
        block: args.block_size,
        large: args.large_size,
        queue: args.engine.queue(),
        cpus: fathom_engine::allowed_cpus().len().max(1) as u32,
        slot: SLOT,
        read_percent: args.mix.map_or(100, |mix| mix.read_percent),
        seed: args.seed,
    }
}

/// The room that the commit log needs beside a scratch file.
pub(super) fn log_room(args: &Calibrate) -> Bytes {
    if args.consent.read_only { Bytes(0) } else { commit_log::LEAST }
}

/// What a calibration of a directory takes of its file system, in a sentence.
fn room_text(name: &str, args: &Calibrate) -> Result<String> {
    let room = Room::of(Path::new(name))
        .map_err(|error| anyhow::anyhow!("cannot tell the free space in {name}: {error}"))?;
    let (beside, most) = (log_room(args), Bytes(room.most_bytes()));
    let file = targets::room_for(room, args.size, beside)?;
    Ok(match beside.0 {
        0 => format!("a scratch file of at most {file} in {name}, removed afterwards"),
        _ => format!(
            "a scratch file of at most {file} in {name} and a commit log of at most {}, removed afterwards",
            Bytes((most.0 - file.0).min(commit_log::MOST.0))
        ),
    })
}

/// What would be measured, and whether it would be written.
pub(super) fn dry_run(args: &Calibrate, names: &[String], session: &Session<'_>) -> Result<Ended> {
    let consent =
        |name: &str| args.consent.write_consent.iter().any(|given| same_place(given, Path::new(name)));
    let made = |name: &str| targets::is_simulated(name) || Path::new(name).is_dir();
    let writes = !args.consent.read_only && names.iter().all(|name| made(name) || consent(name));
    if args.mix.is_some() && !writes {
        bail!(NO_CONSENT_FOR_MIX);
    }
    let mut out = session.console.out();
    let (mut size, mut devices) = (0, Vec::new());
    for name in names.iter().filter(|name| !targets::is_simulated(name)) {
        let storage = targets::look(&session.roots, name)?;
        size += if Path::new(name).is_dir() { 0 } else { storage.size_bytes.unwrap_or(0) };
        devices.extend(storage.disks.iter().map(|disk| disk.name.clone()));
    }
    devices.sort_unstable();
    devices.dedup();
    let what = match names {
        [one] => fathom_spec::names::printable(&targets::absolute(one)),
        many => format!("{} targets", many.len()),
    };
    let size = if size > 0 { format!(", {}", Bytes(size)) } else { String::new() };
    let on = if devices.is_empty() { String::new() } else { format!(", on {}", devices.join(", ")) };
    let written = match (writes, names.iter().any(|name| Path::new(name).is_dir())) {
        (false, false) => "Nothing will be written.",
        (false, true) => "Nothing will be written but a test file, which is removed afterwards.",
        (true, true) => "It writes to files that it makes and removes afterwards.",
        (true, false) => "It will be WRITTEN to, whatever it holds.",
    };
    writeln!(out, "Would measure {what}{size}{on}. {written}")?;
    let anything = || vec![Target::Null(Bytes(GIB))];
    let mut planner = Planner { reads: anything(), ..planner(args) };
    if writes {
        planner.writes = anything();
        // A file or device of the user's own has no commit log beside it.
        planner.log = names.iter().any(|name| made(name)).then_some(Target::Null(Bytes(GIB)));
    }
    let calibration = Calibration::new(question(args, None, writes), planner);
    let mut steps = Vec::new();
    for name in names.iter().filter(|name| Path::new(name).is_dir()) {
        steps.push(fathom_render::history::Step {
            name: "layout".to_owned(),
            description: room_text(name, args)?,
            length: LAYOUT_MOST,
        });
    }
    steps.extend(calibration.outline().into_iter().map(|outline| fathom_render::history::Step {
        name: outline.phase.title().to_owned(),
        description: outline.what,
        length: outline.length,
    }));
    steps.extend(args.sustain.map(|length| fathom_render::history::Step {
        name: Phase::Sustained.title().to_owned(),
        description: "the best load, held".to_owned(),
        length,
    }));
    fathom_render::history::write_dry_run(&steps, session.environment.style(), &mut out)?;
    Ok(Ended::Done)
}

/// A mix writes, which nobody allowed.
pub(super) const NO_CONSENT_FOR_MIX: &str = "--mix writes, and there is no consent for that\nhint: say --write-consent for each target, or name a directory";

pub(super) fn request_facts(args: &Calibrate) -> serde_json::Value {
    let limit = match args.max_latency.of {
        Statistic::Mean => args.max_latency.at_most.to_string(),
        Statistic::Quantile(quantile) => format!("{quantile}={}", args.max_latency.at_most),
    };
    serde_json::json!({
        "max_latency": limit.replace(' ', ""),
        "block_size_bytes": args.block_size,
        "large_size_bytes": args.large_size,
        "time_ns": args.time,
        "num_disks": args.num_disks,
        "seed": args.seed,
    })
}

/// Writes a scratch file from its first byte on: all of it when a size was asked for, else what fits the time.
pub(super) fn layout(path: &str, room: Bytes, asked: bool, count: u64, args: &Calibrate) -> Plan {
    let layout = Layout {
        queue: args.engine.queue(),
        time: (!asked).then_some(Nanos(LAYOUT_MOST.0 / count)),
        stall: Some(args.stall),
        seed: args.seed,
        ..Layout::new(path, room)
    };
    layout.plan()
}

/// Waits for another calibration of these disks to end, as long as the user said.
pub(super) fn take_locks(
    args: &Calibrate,
    found: &Found,
    session: &Session<'_>,
    interrupt: &Interrupt,
) -> Result<lock::Locks> {
    let clock = fathom_drive::Clock::start();
    let mut told = false;
    let owner = lock::Owner {
        pid: std::process::id(),
        since: session.environment.now(),
        command: session.command.join(" "),
    };
    let places = lock::LockPlaces::of_user(&session.roots, session.environment.runtime_directory());
    loop {
        match lock::acquire(&places, &lock::lock_names(&found.storages), &owner) {
            Ok(locks) => return Ok(locks),
            Err(error @ lock::LockError::Held { .. }) if clock.now() < args.wait.0 && !interrupt.raised() => {
                if !std::mem::replace(&mut told, true) {
                    session.console.complain(format_args!("waiting at most {}: {error}", args.wait));
                }
                std::thread::sleep(WAIT_STEP);
            }
            Err(error @ lock::LockError::Held { .. }) => {
                bail!("{error}\nhint: one calibration at a time on a disk: --wait 10m waits for it")
            }
            Err(error) => bail!("{error}\nhint: make {} a directory of your own", names::shown(&places.own)),
        }
    }
}

/// How often is looked whether a wait is over.
const WAIT_STEP: std::time::Duration = std::time::Duration::from_millis(500);

/// Refuses a busy disk, or notes who uses it and watches over him.
pub(super) fn quiet(
    args: &Calibrate,
    roots: &Roots,
    found: &Found,
    interrupt: &Interrupt,
    notes: &mut Vec<Note>,
) -> Result<Option<Others>> {
    let mut busy = preflight::busy(roots, &found.disks, Nanos::from_millis(300));
    let clock = fathom_drive::Clock::start();
    // Somebody may only be finishing: write-back of what was just built, a checkpoint.
    let patience = args.wait.0.max(Nanos::from_seconds(10).0);
    while busy.is_some() && !args.while_busy && !interrupt.raised() && clock.now() < patience {
        busy = preflight::busy(roots, &found.disks, Nanos::from_millis(1000));
    }
    let Some(busy) = busy else { return Ok(None) };
    if !args.while_busy {
        bail!(
            "{}\nhint: --wait 10m waits until it is idle; with --while-busy the run ends when the others' latency doubles",
            busy.told
        );
    }
    notes.push(Note { text: busy.told.clone(), hint: Some("the figures are what was left over".to_owned()) });
    Ok(Some(Others::new(roots.clone(), found.disks.clone(), busy.read_await_ms)))
}
