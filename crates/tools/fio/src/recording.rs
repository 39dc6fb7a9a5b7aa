//! Recordings that are done again, and what a job says of them. Knows nothing of the forms they are read from: see
//! [`replay`](super::replay).

use super::diagnostic::Place;
use fathom_spec::Verb;
use std::fmt::Write;
use std::sync::Arc;

/// How recordings are put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The file that they are written to.
    pub file: String,
    /// Percent of its time that each takes, by number; 100 where nothing is said.
    pub scalars: Vec<f64>,
    /// How often each is repeated, by number; once where nothing is said.
    pub repeats: Vec<u64>,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// Bytes are discarded.
    Trim,
    /// fsync.
    Fsync,
    /// fdatasync.
    Fdatasync,
}

impl Deed {
    /// Which of the engine's verbs it is.
    pub fn verb(self) -> Verb {
        match self {
            Deed::Read => Verb::Read,
            Deed::Write => Verb::Write,
            Deed::Trim => Verb::Trim,
            Deed::Fsync | Deed::Fdatasync => Verb::Sync,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Deed::Read => "read",
            Deed::Write => "write",
            Deed::Trim => "trim",
            Deed::Fsync => "fsync",
            Deed::Fdatasync => "sync",
        }
    }
}

/// One thing that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// When, ns after the recording's start.
    pub at_ns: u64,
    /// What.
    pub deed: Deed,
    /// To which file, by its number in the recording.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Where it was read from.
    pub path: String,
    /// The files and devices that are used.
    pub files: Vec<String>,
    /// What was done, as it was written down.
    pub actions: Vec<Action>,
}

/// Files that a recording may name.
pub const FILES_MOST: usize = 65_536;

/// Actions that a recording may have.
pub const ACTIONS_MOST: usize = 1 << 27;

impl Recorded {
    /// The end of what is used of each file.
    pub fn ends(&self) -> Vec<u64> {
        let mut ends = vec![0; self.files.len()];
        for action in &self.actions {
            let end = &mut ends[action.file as usize];
            *end = (*end).max(action.offset.saturating_add(action.length.into()));
        }
        ends
    }

    /// Bytes of the longest action, at least 1.
    pub fn longest(&self) -> u32 {
        self.actions.iter().map(|action| action.length).max().unwrap_or(0).max(1)
    }

    /// Verbs that occur, in the order of reads, writes, trims, syncs.
    pub fn verbs(&self) -> Vec<Verb> {
        let occurs = |verb: &Verb| self.actions.iter().any(|action| action.deed.verb() == *verb);
        [Verb::Read, Verb::Write, Verb::Trim, Verb::Sync].into_iter().filter(occurs).collect()
    }

    /// The recording in the engine's form; all files in one where nothing is done to them.
    pub fn text(&self, one_file: bool) -> String {
        let mut text = String::with_capacity(self.actions.len() * 40);
        for Action { at_ns, deed, file, offset, length } in &self.actions {
            let file = if one_file { 0 } else { *file };
            // A String takes everything.
            let _ = writeln!(text, "{at_ns} {} {file} {offset} {length}", deed.word());
        }
        text
    }
}

/// What a job says of its recording.
#[derive(Clone, Debug)]
pub struct Replay {
    /// `read_iolog=`; clones take them in turn.
    pub paths: Vec<String>,
    /// Where it was said.
    pub at: Place,
    /// As fast as possible.
    pub no_stall: bool,
    /// The speed in percent of the recorded one.
    pub time_scale: u32,
    /// Everything goes to this file.
    pub redirect: Option<String>,
    /// Offsets are divided by this.
    pub scale: u64,
    /// Offsets are rounded down to multiples of this.
    pub align: u64,
    /// Left out: reads, writes, trims, syncs.
    pub skip: [bool; 4],
    /// The paths are put together into one recording.
    pub merge: Option<Merge>,
    /// What was read, in the order of the paths; see [`load_trace`](super::replay::recall()).
    pub recorded: Vec<Arc<Recorded>>,
    /// The bytes that belong into the file of `merge`; see [`load_trace`](super::replay::recall()).
    pub merged: Option<Vec<u8>>,
}

impl Replay {
    /// The recording of a clone.
    pub fn of_clone(&self, clone: u32) -> Option<&Arc<Recorded>> {
        self.recorded.get(clone as usize % self.recorded.len().max(1))
    }

    fn skips(&self, deed: Deed) -> bool {
        let [reads, writes, trims, syncs] = self.skip;
        match deed {
            Deed::Read => reads,
            Deed::Write => writes,
            Deed::Trim => trims,
            Deed::Fsync | Deed::Fdatasync => syncs,
        }
    }

    /// Leaves out, scales, aligns and redirects what was read.
    pub(crate) fn reshape(&self, recorded: &mut Recorded) {
        recorded.actions.retain(|action| !self.skips(action.deed));
        for action in &mut recorded.actions {
            action.offset /= self.scale;
            if self.align > 1 {
                action.offset &= !(self.align - 1);
            }
        }
        if let Some(redirect) = &self.redirect {
            recorded.files = vec![redirect.clone()];
            recorded.actions.iter_mut().for_each(|action| action.file = 0);
        }
        // Files of which nothing is left are not opened.
        let mut used = vec![false; recorded.files.len()];
        recorded.actions.iter().for_each(|action| used[action.file as usize] = true);
        let mut numbers = Vec::with_capacity(used.len());
        let mut next = 0;
        for used in &used {
            numbers.push(next);
            next += u32::from(*used);
        }
        recorded.actions.iter_mut().for_each(|action| action.file = numbers[action.file as usize]);
        let mut used = used.into_iter();
        recorded.files.retain(|_| used.next().unwrap_or(false));
    }
}
