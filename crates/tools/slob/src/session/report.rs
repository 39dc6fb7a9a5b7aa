//! `fathom slob report`: a run that was kept, told again. Needs no database.

use super::args::{Form, Report};
use super::files;
use crate::{RunContext, awr, log, sysstat};
use anyhow::{Result, anyhow, bail};
use fathom_record::ResultRecord;
use fathom_session::output::Shown;
use fathom_session::record_writer::alive;
use fathom_session::{Ended, Session, WrongUsage};
use fathom_store::{Filter, Store};
use std::io::Write;

/// Runs the command.
pub fn run(args: &Report, session: &Session<'_>) -> Result<Ended> {
    let nothing = || anyhow!("no run of slob has been kept yet\nhint: fathom slob run keeps every run");
    let path = session.store.as_ref().filter(|path| path.exists()).ok_or_else(nothing)?;
    let store = Store::open_read_only(path)?;
    let wanted = match &args.run {
        Some(run) if run != "last" => run.clone(),
        _ => {
            let filter = Filter { tool: Some("slob".to_owned()), limit: Some(1), ..Filter::default() };
            let listed = store.list(&filter, &alive)?;
            listed.first().map(|line| line.number.to_string()).ok_or_else(nothing)?
        }
    };
    let stored = store.get(&wanted, &alive)?;
    let record = stored.record;
    if record.tool != "slob" {
        bail!(
            "run {} is one of {}, not of slob\nhint: fathom show {} shows it",
            stored.listing.number,
            record.tool,
            stored.listing.number
        );
    }
    let text = match args.form {
        Form::Text => None,
        _ if !args.output.is_text() => {
            bail!(WrongUsage(
                "--as is a form of its own beside --format\nhint: leave one of them out".to_owned()
            ));
        }
        form => {
            let mut text = Vec::new();
            write(form, &record, &mut text)?;
            Some(text)
        }
    };
    let shown = Shown { record: &record, saved: None, tool: None, text };
    args.output.show(&shown, &session.environment, &session.console)?;
    if let Some(directory) = &args.files {
        files::write(&told(&record)?, &record, main_run(&record), directory, &[])?;
    }
    Ok(Ended::Done)
}

fn told(record: &ResultRecord) -> Result<RunContext> {
    files::told(record).ok_or_else(|| {
        anyhow!("this run does not say how it was asked for\nhint: fathom show --json tells what it holds")
    })
}

/// The run that a record's figures rest on: the last one.
pub fn main_run(record: &ResultRecord) -> usize {
    record.runs.len().saturating_sub(1)
}

fn write(form: Form, record: &ResultRecord, out: &mut impl Write) -> Result<()> {
    let (told, index) = (told(record)?, main_run(record));
    let Some(run) = record.runs.get(index) else { return Ok(()) };
    match form {
        Form::Text | Form::Awr => awr::write(&told, record, index, out)?,
        Form::Pgio => {
            let shown = told.shown.ok_or_else(|| {
                anyhow!("this run has no counters that pgio shows\nhint: --as awr tells what it has")
            })?;
            log::pgio_result(&told, (&shown.0, &shown.1), log::run_seconds(run), out)?;
        }
        Form::DbStats => awr::db_stats(&told, run, out)?,
        Form::Iostat => sysstat::iostat(&told, record, run, out)?,
        Form::Vmstat => sysstat::vmstat(record, run, out)?,
        Form::Mpstat => sysstat::mpstat(&told, record, run, out)?,
    }
    Ok(())
}
