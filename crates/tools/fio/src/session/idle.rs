//! `--idle-prof`: what is left of the processors while jobs run.

use crate::IdleProf;
use crate::report::idleness;
use anyhow::{Result, anyhow};
use fathom_drive::Balloon;
use std::io::Write;

/// Threads that fill what is left of the processors from now on, if `--idle-prof` says so.
pub fn begin(wanted: Option<IdleProf>) -> Result<Option<Balloon>> {
    if wanted.is_none() {
        return Ok(None);
    }
    let mut balloon = balloon()?;
    balloon.fill();
    Ok(Some(balloon))
}

/// `--idle-prof=calibrate`.
pub fn calibrate(out: &mut impl Write) -> Result<()> {
    let unit = balloon()?.unit();
    writeln!(out, "CPU idleness:")?;
    Ok(idleness::write_unit((unit.mean_ns / 1000.0, unit.deviation_ns / 1000.0), out)?)
}

fn balloon() -> Result<Balloon> {
    Balloon::calibrate(&fathom_engine::allowed_cpus()).map_err(|error| {
        anyhow!("--idle-prof: no threads of the idle class: {error}\nhint: leave --idle-prof out")
    })
}
