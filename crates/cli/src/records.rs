//! `status`, `history`, `show`, `sql`: what was kept.

use crate::args::{Csv, History, Show};
use crate::tools;
use anyhow::{Context as _, Result, bail};
use fathom_render::history::{HistoryLine, StatusState, write_history, write_status};
use fathom_session::record_writer::{alive, write_page};
use fathom_session::{Ended, Session};
use fathom_store::{Calibrating, Filter, Store, StoreError};
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
pub fn status(session: &Session<'_>) -> Result<Ended> {
    let mut out = session.console.out();
    let Some(store) = open(session)? else {
        write_status(StatusState::NotAvailable, None, &mut out)?;
        return Ok(Ended::Done);
    };
    let status = store.status(&alive)?;
    let state = match status.state {
        Calibrating::InProgress => StatusState::InProgress,
        Calibrating::Ready => StatusState::Ready,
        Calibrating::NotAvailable => StatusState::NotAvailable,
    };
    let last = status.latest.as_ref().and_then(|latest| latest.ended.clone());
    write_status(state, last.as_deref(), &mut out)?;
    Ok(Ended::Done)
}

/// `fathom history`.
pub fn history(args: &History, session: &Session<'_>) -> Result<Ended> {
    let mut out = session.console.out();
    let Some(store) = open(session)? else { return Ok(Ended::Done) };
    let filter =
        Filter { tool: args.tool.clone(), label: args.label.clone(), state: None, limit: Some(args.limit) };
    let found = store.list(&filter, &alive)?;
    let lines: Vec<HistoryLine> = found
        .iter()
        .map(|line| HistoryLine {
            number: line.number,
            id: line.id.clone(),
            tool: line.tool.clone(),
            label: line.label.clone(),
            started: line.started.clone(),
            verdict: line.verdict.unwrap_or(fathom_record::VerdictState::CannotTell),
            max_iops: line.max_iops.map(|e| e.value),
            latency_ns: line.latency_ns.map(|e| e.value),
            max_mbps: line.max_mbps.map(|e| e.value),
        })
        .collect();
    if args.json {
        for line in &found {
            let value = serde_json::json!({
                "number": line.number, "id": line.id, "tool": line.tool, "label": line.label, "started": line.started,
                "ended": line.ended, "state": line.state.name(), "verdict": line.verdict, "targets": line.targets,
                "max_iops": line.max_iops.map(|e| e.value), "latency_ns": line.latency_ns.map(|e| e.value),
                "max_mbps": line.max_mbps.map(|e| e.value),
            });
            writeln!(out, "{value}")?;
        }
        return Ok(Ended::Done);
    }
    write_history(&lines, session.environment.style(), &mut out)?;
    Ok(Ended::Done)
}

/// `fathom show`.
pub fn show(args: &Show, session: &Session<'_>) -> Result<Ended> {
    let Some(store) = open(session)? else {
        bail!("nothing has been kept yet\nhint: fathom calibrate keeps every run");
    };
    let stored = store.get(&args.run, &alive)?;
    let (record, mut out) = (stored.record, session.console.out());
    let saved = format!("run {}", stored.listing.number);
    match (args.json, args.csv, record.tool.as_str()) {
        (true, ..) => fathom_render::json::write(&record, &mut out)?,
        (_, Some(Csv::Figures), _) => fathom_render::csv::figures(&record, &mut out)?,
        (_, Some(Csv::Curves), _) => fathom_render::csv::curves(&record, &mut out)?,
        (_, Some(Csv::Series), _) => fathom_render::csv::time_series(&record, &mut out)?,
        (_, _, "calibrate") => {
            fathom_render::text::write(&record, Some(&saved), session.environment.style(), &mut out)?
        }
        (_, _, name) => match tools::named(name) {
            Some(tool) => tool.show(&record, &saved, session.environment.style(), &mut out)?,
            None => fathom_render::load::write(&record, Some(&saved), session.environment.style(), &mut out)?,
        },
    }
    if let Some(path) = &args.html {
        write_page(path, |page| match tools::named(&record.tool) {
            Some(tool) => tool.page(&record, page),
            None => fathom_render::html::write(&record, page),
        })?;
    }
    Ok(Ended::Done)
}

/// `fathom sql`.
pub fn sql(query: &str, session: &Session<'_>) -> Result<Ended> {
    let Some(store) = open(session)? else {
        bail!("nothing has been kept yet\nhint: fathom calibrate keeps every run");
    };
    let answer = store.query(query)?;
    let mut out = session.console.out();
    writeln!(out, "{}", answer.columns.join("\t"))?;
    for row in &answer.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        writeln!(out, "{}", cells.join("\t"))?;
    }
    Ok(Ended::Done)
}

/// A value as the sqlite3 shell prints it: text without quotes, nothing for NULL.
fn cell(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
