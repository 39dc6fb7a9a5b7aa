//! `status`, `history`, `show`, `sql`: what was kept.

use crate::args::{History, RunState, Show, Since, Sql, Status};
use crate::tools;
use anyhow::{Context as _, Result, bail};
use fathom_render::history::{HistoryLine, StatusState, write_history, write_status};
use fathom_render::list::{List, cell};
use fathom_session::output::Shown;
use fathom_session::record_writer::alive;
use fathom_session::targets::absolute;
use fathom_session::{Ended, Session};
use fathom_store::{Calibrating, Filter, Listing, State, Store, StoreError};
use serde_json::{Value, json};
use std::io::Write;

fn open(session: &Session<'_>) -> Result<Option<Store>> {
    let path = session.store.as_ref().context(
        "there is no home directory to keep runs in\nhint: name a file with --store or FATHOM_STORE",
    )?;
    match Store::open_read_only(path) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => bail!("{error}"),
    }
}

/// `fathom status`.
pub fn status(args: &Status, session: &Session<'_>) -> Result<Ended> {
    let status = open(session)?.map(|store| store.status(&alive)).transpose()?;
    let state = match status.as_ref().map(|status| status.state) {
        Some(Calibrating::InProgress) => StatusState::InProgress,
        Some(Calibrating::Ready) => StatusState::Ready,
        Some(Calibrating::NotAvailable) | None => StatusState::NotAvailable,
    };
    let last = status.and_then(|status| status.latest).and_then(|latest| latest.ended);
    let mut text = Vec::new();
    write_status(state, last.as_deref(), &mut text)?;
    let heads = ["status", "calibration_time"].map(str::to_owned).to_vec();
    let list = List { heads, rows: vec![vec![json!(state.to_string()), json!(last)]] };
    args.output.show(&list, text, &session.console)?;
    Ok(Ended::Done)
}

/// The columns of a list of runs for scripts.
const HISTORY: [&str; 18] = [
    "number",
    "id",
    "tool",
    "label",
    "started",
    "ended",
    "state",
    "verdict",
    "targets",
    "host",
    "device",
    "iops",
    "iops_half_width",
    "latency_ns",
    "latency_ns_half_width",
    "mbps",
    "mbps_half_width",
    "num_physical_disks",
];

/// `fathom history`.
pub fn history(args: &History, session: &Session<'_>) -> Result<Ended> {
    let state = args.state.map(|state| match state {
        RunState::InProgress => State::InProgress,
        RunState::Complete => State::Complete,
        RunState::Interrupted => State::Interrupted,
        RunState::Failed => State::Failed,
    });
    let since = args.since.as_ref().map(|since| match since {
        Since::Ago(ago) => session.environment.before(*ago),
        Since::Moment(moment) => moment.clone(),
    });
    let filter = Filter {
        tool: args.tool.clone(),
        label: args.label.clone(),
        state,
        target: args.target.as_deref().map(absolute),
        host: args.host.clone(),
        device: args.device.clone(),
        since,
        limit: Some(args.limit),
    };
    let found = match open(session)? {
        Some(store) => store.list(&filter, &alive)?,
        None => Vec::new(),
    };
    let mut text = Vec::new();
    if found.is_empty() {
        let asked = Filter { limit: None, ..filter } != Filter::default();
        session.console.complain(match asked {
            true => "no run is like that\nhint: fathom history without options lists all",
            false => "no runs yet\nhint: fathom calibrate DIRECTORY makes the first",
        });
    } else {
        let lines: Vec<HistoryLine> = found.iter().map(line).collect();
        write_history(&lines, session.environment.style(), &mut text)?;
    }
    let heads = HISTORY.map(str::to_owned).to_vec();
    args.output.show(&List { heads, rows: found.iter().map(row).collect() }, text, &session.console)?;
    Ok(Ended::Done)
}

fn line(listing: &Listing) -> HistoryLine {
    HistoryLine {
        number: listing.number,
        tool: listing.tool.clone(),
        label: listing.label.clone(),
        started: listing.started.clone(),
        targets: listing.targets.clone(),
        host: listing.host.clone(),
        device: listing.device.clone(),
        state: (listing.state != State::Complete).then(|| listing.state.name()),
        verdict: listing.verdict,
        iops: listing.iops.map(|estimate| (estimate.value, estimate.half_width)),
        latency_ns: listing.latency_ns.map(|estimate| estimate.value),
        mbps: listing.mbps.map(|estimate| estimate.value),
    }
}

/// The same for scripts, in the order of [`HISTORY`].
fn row(line: &Listing) -> Vec<Value> {
    let value = |estimate: Option<fathom_store::Estimate>| json!(estimate.map(|e| e.value));
    let half = |estimate: Option<fathom_store::Estimate>| json!(estimate.and_then(|e| e.half_width));
    vec![
        json!(line.number),
        json!(line.id),
        json!(line.tool),
        json!(line.label),
        json!(line.started),
        json!(line.ended),
        json!(line.state.name()),
        json!(line.verdict),
        json!(line.targets),
        json!(line.host),
        json!(line.device),
        value(line.iops),
        half(line.iops),
        value(line.latency_ns),
        half(line.latency_ns),
        value(line.mbps),
        half(line.mbps),
        json!(line.num_physical_disks),
    ]
}

/// `fathom show`.
pub fn show(args: &Show, session: &Session<'_>) -> Result<Ended> {
    let Some(store) = open(session)? else {
        bail!("nothing has been kept yet\nhint: fathom calibrate keeps every run");
    };
    let record = store.get(&args.run, &alive)?.record;
    let shown = Shown { record: &record, saved: None, tool: tools::named(&record.tool), text: None };
    args.output.show(&shown, &session.environment, &session.console)?;
    Ok(Ended::Done)
}

/// `fathom sql`.
pub fn sql(args: &Sql, session: &Session<'_>) -> Result<Ended> {
    let Some(store) = open(session)? else {
        bail!("nothing has been kept yet\nhint: fathom calibrate keeps every run");
    };
    let answer = store.query(&args.query)?;
    let mut text = Vec::new();
    writeln!(text, "{}", answer.columns.join("\t"))?;
    for row in &answer.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        writeln!(text, "{}", cells.join("\t"))?;
    }
    args.output.show(&List { heads: answer.columns, rows: answer.rows }, text, &session.console)?;
    Ok(Ended::Done)
}
