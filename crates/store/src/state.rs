//! How far a run is, and which process measures it.

use fathom_record::Ending;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its owner lives and measures.
    InProgress,
    /// It ended as planned.
    Complete,
    /// The user interrupted it, or its owner died; what was saved is kept.
    Interrupted,
    /// It failed; what was measured is kept.
    Failed,
}

impl State {
    /// The state of a run that has ended.
    pub fn of(ending: Ending) -> Self {
        match ending {
            Ending::Complete => State::Complete,
            Ending::Interrupted => State::Interrupted,
            Ending::Failed => State::Failed,
        }
    }

    /// The word for it, in the store and for people.
    pub fn name(self) -> &'static str {
        match self {
            State::InProgress => "in progress",
            State::Complete => "complete",
            State::Interrupted => "interrupted",
            State::Failed => "failed",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        [State::InProgress, State::Complete, State::Failed]
            .into_iter()
            .find(|state| state.name() == name)
            .unwrap_or(State::Interrupted)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Is there anything in a run that is worth keeping?
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Measured {
    Nothing,
    Something,
}

/// The process that measures. A number of a process alone comes again; with its start and the boot it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// When it started, as field 22 of `/proc/PID/stat` has it: clock ticks since the boot.
    pub start: u64,
    /// Which boot: `/proc/sys/kernel/random/boot_id`; empty where it cannot be read.
    pub boot: String,
}

/// The owner in three columns from `first` on.
pub(crate) fn owner_of(row: &rusqlite::Row, first: usize) -> rusqlite::Result<Option<Owner>> {
    let pid: Option<u32> = row.get(first)?;
    let start: Option<i64> = row.get(first + 1)?;
    let boot: Option<String> = row.get(first + 2)?;
    Ok(pid.zip(start).map(|(pid, start)| Owner { pid, start: start as u64, boot: boot.unwrap_or_default() }))
}
