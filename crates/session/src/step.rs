//! What peers that run one test after the other have in common (bonnie++, iozone): how their record begins and ends, and
//! that a test stops at a signal or at its first fault.

use crate::environment::{self, Interrupt};
use crate::record_writer::{Keeper, empty_record};
use crate::targets::Ready;
use crate::{Context, INTERRUPTED, preflight};
use fathom_engine::Engine;
use fathom_host::Roots;
use fathom_record::*;
use std::io::Write;
use std::path::PathBuf;

/// A record that grows test by test, and where it is kept.
pub struct Steps {
    /// What was measured so far.
    pub record: ResultRecord,
    keeper: Keeper,
}

impl Steps {
    /// Looks at the machine and at the storage below `places`, whose disks the engine samples from now on.
    pub fn begin(
        tool: &str,
        targets: Vec<String>,
        places: &[PathBuf],
        context: &Context,
        engine: &mut Engine,
    ) -> Self {
        let roots = Roots::default();
        let ready = |path: &PathBuf| {
            let storage = Box::new(fathom_host::resolve(&roots, path).ok()?);
            Some(Ready::Existing { path: path.clone(), storage })
        };
        let here: Vec<Ready> = places.iter().filter_map(ready).collect();
        let found = preflight::look(&roots, &here);
        let facts = found.facts(serde_json::Value::Null).unwrap_or_default();
        let mut record = empty_record(tool, &context.command, None, targets, facts);
        record.notes.extend(found.notes.iter().cloned());
        let (keeper, lost) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
        record.notes.extend(lost);
        engine.disks = found.disks;
        Steps { record, keeper }
    }

    /// Keeps what there is so far.
    pub fn save(&mut self) {
        self.keeper.save(&self.record);
    }

    /// Keeps the whole, and tells its notes where they may be told.
    pub fn end(mut self, status: u8, notes: Vec<Note>) -> ResultRecord {
        let record = &mut self.record;
        record.ended = environment::now();
        record.ending = match status {
            0 => Ending::Complete,
            INTERRUPTED => Ending::Interrupted,
            _ => Ending::Failed,
        };
        record.notes.extend(notes);
        self.keeper.finish(record);
        if environment::speaks_notes() {
            for note in &record.notes {
                let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
                let _ = writeln!(std::io::stderr(), "note: {}{hint}", note.text);
            }
        }
        self.record
    }
}

/// Why a read failed, in the system's words; one that came back short has no number of its own.
pub fn reason_of_read(errno: i32) -> String {
    match errno {
        0 => "The file is shorter than it was".to_owned(),
        errno => reason(errno),
    }
}

/// Why an operation failed, in the system's words; a part of a block that found no place has no number of its own.
pub fn reason(errno: i32) -> String {
    let errno = if errno == 0 { rustix::io::Errno::NOSPC.raw_os_error() } else { errno };
    let error = std::io::Error::from_raw_os_error(errno).to_string();
    error.split(" (os error").next().unwrap_or_default().to_owned()
}

/// What the engine says, whose hints are of fathom's own command, in the words of a peer: how it is told the size of all,
/// and of an operation.
pub fn translated(text: &str, size: &str, block: &str) -> String {
    let own = "a directory can be named too, then fathom makes a scratch file in it";
    text.replace(own, "it must be in a directory that is there")
        .replace("--block-size", block)
        .replace(" --size", &format!(" {size}"))
        .replace("say --write-consent ", "set FATHOM_WRITE_CONSENT=")
}

/// Stops at a signal, and at the first fault.
pub struct Until<'a>(pub &'a Interrupt);

impl Control for Until<'_> {
    fn slot(&mut self, _now_ns: u64, totals: &[Totals]) -> Steer {
        let failed = totals.iter().flat_map(|t| t.counts).any(|counts| counts.errors > 0);
        match (self.0.raised(), failed) {
            (true, _) => Steer::Stop(Vec::new(), StopReason::Signal),
            (false, true) => Steer::Stop(Vec::new(), StopReason::Fault),
            (false, false) => Steer::Continue,
        }
    }
}
