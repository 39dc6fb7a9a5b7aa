//! The beginning of a record: what was asked for, of what, and its place in the store.

use super::args::Place;
use super::place::{DatabaseTarget, without_secrets};
use crate::RunContext;
use fathom_session::{Measurement, Session, Setup};
use fathom_spec::Permits;

/// A measurement that begins now on a database, with the notes that there are by now.
pub fn begin<'s>(
    told: &RunContext,
    here: &mut DatabaseTarget,
    session: &'s mut Session<'_>,
    place: &Place,
    label: &Option<String>,
) -> Measurement<'s> {
    session.command = without_secrets(&session.command, place, &here.database.url);
    let mut found = here.found.clone();
    let physical_disks = found.physical_disks();
    found.disks = here.sampled_disks.clone();
    let setup = Setup {
        tool: "slob",
        label: label.clone(),
        targets: vec![here.database.url.to_string()],
        ready: &[],
        permits: Permits::default(),
        request: serde_json::json!({ "slob": told }),
    };
    let mut measurement = session.begin_with(setup, found, physical_disks);
    measurement.record.notes.splice(0..0, here.notes.drain(..));
    measurement
}
