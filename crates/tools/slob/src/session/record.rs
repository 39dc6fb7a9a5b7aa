//! The beginning of a record: what was asked for, of what, and its place in the store.

use super::args::Place;
use super::place::{Here, without_secrets};
use crate::Told;
use anyhow::Result;
use fathom_record::ResultRecord;
use fathom_session::Context;
use fathom_session::output::Output;
use fathom_session::record_writer::{Keeper, empty_record};

/// The record of a measurement that begins now, with the notes that there are by now.
pub fn begin(
    told: &Told,
    here: &mut Here,
    context: &Context,
    (place, output): (&Place, &Output),
) -> Result<(ResultRecord, Keeper)> {
    let command = without_secrets(&context.command, place, &here.database.url);
    let facts = here.found.facts(serde_json::json!({ "slob": told }))?;
    let targets = vec![here.database.url.to_string()];
    let mut record = empty_record("slob", &command, output.label.clone(), targets, facts);
    let (keeper, notes) = Keeper::begin(context.store.clone(), &record, here.found.physical_disks());
    record.notes.extend(here.notes.drain(..).chain(notes));
    Ok((record, keeper))
}
