//! `--idle-prof`: what is left of the processors while jobs run.

use crate::IdleProf;
use crate::report::idleness;
use anyhow::{Result, anyhow};
use fathom_drive::IdleProbe;
use std::io::Write;

/// Threads that fill what is left of the processors from now on, if `--idle-prof` says so.
pub fn begin(wanted: Option<IdleProf>) -> Result<Option<IdleProbe>> {
    if wanted.is_none() {
        return Ok(None);
    }
    let mut probe = probe()?;
    probe.fill();
    Ok(Some(probe))
}

/// `--idle-prof=calibrate`.
pub fn calibrate(out: &mut impl Write) -> Result<()> {
    let unit = probe()?.unit();
    writeln!(out, "CPU idleness:")?;
    Ok(idleness::write_unit((unit.mean_ns / 1000.0, unit.deviation_ns / 1000.0), out)?)
}

fn probe() -> Result<IdleProbe> {
    IdleProbe::calibrate(&fathom_engine::allowed_cpus()).map_err(|error| {
        anyhow!("--idle-prof: no threads of the idle class: {error}\nhint: leave --idle-prof out")
    })
}
