//! Keeps a result in the store, if there is one: an unwritable store is a warning and never loses a measurement.

use crate::signals::interruptible;
use crate::{Console, Environment};
use fathom_host::{Roots, output_file, scratch};
use fathom_record::{Ending, Note, ResultRecord, SCHEMA, Verdict, VerdictState};
use fathom_spec::names;
use fathom_store::{Owner, Store, StoreError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long somebody else may hold the store before a measurement begins without its row, and how long when there is something
/// to keep.
const AT_THE_BEGINNING: Duration = Duration::from_millis(500);
const AT_THE_END: Duration = Duration::from_secs(5);

/// Where results go.
pub struct RecordWriter {
    store: Option<Store>,
    /// Where that is, or why there is none.
    pub place: Result<PathBuf, String>,
    /// The run's number.
    pub number: Option<i64>,
}

/// Is the owner of a run in progress still alive?
pub fn alive(owner: &Owner) -> bool {
    let roots = Roots::default();
    let boot = boot(&roots);
    scratch::start_ticks(&roots, owner.pid) == Some(owner.start)
        && (owner.boot.is_empty() || boot == owner.boot)
}

fn own() -> Owner {
    let (roots, pid) = (Roots::default(), std::process::id());
    Owner { pid, start: scratch::start_ticks(&roots, pid).unwrap_or(0), boot: boot(&roots) }
}

fn boot(roots: &Roots) -> String {
    let id = std::fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
    id.trim().to_owned()
}

impl RecordWriter {
    /// Opens the store and marks the run as in progress. Answers what went wrong as a note.
    pub fn begin(path: Option<PathBuf>, record: &ResultRecord, disks: Option<u32>) -> (Self, Vec<Note>) {
        let Some(path) = path else {
            let why = "there is no home directory to keep runs in".to_owned();
            let note =
                Note { text: why.clone(), hint: Some("name a file with --store or FATHOM_STORE".to_owned()) };
            return (RecordWriter { store: None, place: Err(why), number: None }, vec![note]);
        };
        let opened = Store::open_within(&path, AT_THE_BEGINNING).and_then(|mut store| {
            store.settle(&alive)?;
            let number = store.begin(record, &own(), disks)?;
            store.wait_at_most(AT_THE_END)?;
            Ok((store, number))
        });
        match opened {
            Ok((store, number)) => {
                (RecordWriter { store: Some(store), place: Ok(path), number: Some(number) }, Vec::new())
            }
            // Somebody holds it: perhaps no more when there is something to keep.
            Err(StoreError::Locked { .. }) => {
                (RecordWriter { store: None, place: Ok(path), number: None }, Vec::new())
            }
            Err(error) => {
                let what = error.what();
                let note = Note {
                    text: format!("this run is not kept: {what}"),
                    hint: Some(error.hint().to_owned()),
                };
                (RecordWriter { store: None, place: Err(what), number: None }, vec![note])
            }
        }
    }

    /// Keeps what there is so far.
    pub fn save(&mut self, record: &ResultRecord, console: &Console) {
        if let Some(store) = &mut self.store
            && let Err(error) = store.save_partial(record)
        {
            self.lost(&error.to_string(), console);
        }
    }

    /// Keeps the whole.
    pub fn finish(&mut self, record: &ResultRecord, console: &Console) {
        if let (None, Ok(path)) = (&self.store, &self.place) {
            let kept = Store::open_within(path, AT_THE_END).and_then(|mut store| store.finish(record));
            match kept {
                Ok(number) => self.number = Some(number),
                Err(error) => self.lost(&error.to_string(), console),
            }
            return;
        }
        if let Some(store) = &mut self.store
            && let Err(error) = store.finish(record)
        {
            self.lost(&error.to_string(), console);
        }
        if self.number.is_some() {
            console.keep(self.saved());
        }
    }

    /// Nothing was measured: the run is forgotten.
    pub fn abandon(&mut self, id: &str) {
        if let Some(store) = &mut self.store {
            let _ = store.abandon(id);
        }
    }

    fn lost(&mut self, error: &str, console: &Console) {
        console.complain(format_args!("warning: this run is not kept: {error}"));
        self.store = None;
        self.place = Err(error.to_owned());
        self.number = None;
    }

    /// Where it can be found again, in words.
    pub fn saved(&self) -> String {
        match (&self.place, self.number) {
            (Ok(path), Some(number)) => {
                format!("run {number} in {}: fathom show {number}", names::shown(&path))
            }
            (Err(why), _) => format!("nowhere: {why}"),
            (Ok(_), None) => "nowhere".to_owned(),
        }
    }
}

/// The verdict of what nobody has judged.
pub fn no_verdict() -> Verdict {
    Verdict { state: VerdictState::CannotTell, checks: Vec::new() }
}

/// A record in which nothing has been measured yet.
pub fn empty_record(
    tool: &str,
    command: &[String],
    label: Option<String>,
    targets: Vec<String>,
    facts: serde_json::Value,
    environment: &Environment,
) -> ResultRecord {
    ResultRecord {
        schema: SCHEMA,
        id: environment.run_id(),
        tool: tool.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.to_vec(),
        label,
        started: environment.now(),
        ended: environment.now(),
        ending: Ending::Interrupted,
        targets,
        simulated: false,
        max_latency: None,
        facts,
        runs: Vec::new(),
        summary: Default::default(),
        curves: Vec::new(),
        verdict: no_verdict(),
        expectations: Vec::new(),
        notes: Vec::new(),
    }
}

/// Writes a file of a result.
pub fn write_page(path: &Path, text: Vec<u8>) -> anyhow::Result<()> {
    interruptible(|| output_file::write(&Roots::default(), path, text)).map_err(|error| {
        let hint = "the run itself is kept; show it again with fathom show -o FILE";
        anyhow::anyhow!(error.with_hint(hint))
    })
}
