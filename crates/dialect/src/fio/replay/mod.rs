//! Recordings that are done again: `read_iolog` of fio's own logs and of blktrace's binary files, and what is changed of
//! them on the way (`replay_redirect`, `replay_scale`, `replay_align`, `replay_skip`).
//!
//! | module | holds |
//! |---|---|
//! | [`iolog`] | fio's text, versions 2 and 3 |
//! | [`blktrace`] | blktrace's binary events |
//! | [`merge`] | several of blktrace's put together into one |
//! | [`recall()`] | reads what jobs name, and what follows for the jobs |
//! | [`written`] | `write_iolog`: the same text, written |

pub mod blktrace;
pub mod iolog;
pub mod merge;
pub mod recall;
pub mod written;

pub use recall::recall;

use super::job::Job;
use super::look::OptionReader;
use super::meaning::split_names;
use super::options::OptionId;
use super::place::{Place, Trouble};
use super::territory::{Facts, FileFacts, FileNeed, Territory};
use fathom_spec::Verb;
use std::fmt::Write;
use std::sync::Arc;

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

    /// Where a job that replays this works: every file as far as it is used.
    pub(crate) fn territory(&self, job: &Job, facts: &Facts) -> Result<Territory, Trouble> {
        let ends = self.ends();
        let length = ends.iter().copied().max().unwrap_or(0).max(1);
        let mut files = Vec::new();
        for (path, bytes) in self.files.iter().zip(ends).filter(|_| !job.engine.is_diskless()) {
            let found = (facts.look)(path);
            let device = found.is_some_and(|facts| facts.device);
            let held = found.map(|FileFacts { bytes, device: _ }| bytes);
            if device && held.unwrap_or(0) < bytes {
                let what = format!(
                    "{}: {path} holds {} bytes, and {} goes up to {bytes}",
                    job.name,
                    held.unwrap_or(0),
                    self.path
                );
                let at = job.replay.as_ref().map_or(&job.at, |replay| &replay.at);
                return Err(Trouble::at(at, what, "say replay_scale=, or replay_redirect= to a larger one"));
            }
            files.push(FileNeed { path: path.clone(), bytes, found: held, device, grows: false });
        }
        Ok(Territory { files, offset: 0, length, apart: false, io_bytes: 0 })
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
    pub merge: Option<merge::Merge>,
    /// What was read, in the order of the paths; see [`recall()`].
    pub recorded: Vec<Arc<Recorded>>,
    /// The bytes that belong into the file of `merge`; see [`recall()`].
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

/// What a job says of replaying, if it names a recording.
pub(crate) fn said(reader: &OptionReader) -> Result<Option<Replay>, Trouble> {
    let Some(paths) = reader.text(OptionId::ReadIolog).map(split_names).filter(|paths| !paths.is_empty())
    else {
        return Ok(None);
    };
    if paths.iter().any(|path| path == "-") {
        return Err(reader.wrong(OptionId::ReadIolog, "a recording is read from a file", "name a file"));
    }
    let align = reader.count(OptionId::ReplayAlign);
    if align > 0 && !align.is_power_of_two() {
        return Err(reader.wrong(
            OptionId::ReplayAlign,
            &format!("{align} is no power of two"),
            "say 4096, for instance",
        ));
    }
    let others = [
        OptionId::Rate,
        OptionId::RateIops,
        OptionId::Thinktime,
        OptionId::Verify,
        OptionId::LatencyTarget,
        OptionId::Fsync,
        OptionId::Fdatasync,
    ];
    if let Some(other) = others.into_iter().find(|other| !is_off(reader, *other)) {
        let what = "it has no part in a replay, which has its own times and its own data";
        return Err(reader.wrong(other, what, "leave it out, or read_iolog"));
    }
    let mut skip = [false; 4];
    for word in reader.text(OptionId::ReplaySkip).unwrap_or_default().split(',').map(str::trim) {
        match ["read", "write", "trim", "sync"].iter().position(|known| *known == word) {
            Some(which) => skip[which] = true,
            None if word.is_empty() => {}
            None => {
                let what = format!("{word:?} is nothing that is replayed");
                return Err(reader.wrong(
                    OptionId::ReplaySkip,
                    &what,
                    "say read, write, trim or sync, several with commas",
                ));
            }
        }
    }
    Ok(Some(Replay {
        paths,
        at: reader.place(OptionId::ReadIolog).clone(),
        no_stall: reader.switch(OptionId::ReplayNoStall),
        time_scale: reader.small(OptionId::ReplayTimeScale)?,
        redirect: reader.some_text(OptionId::ReplayRedirect),
        scale: reader.count(OptionId::ReplayScale).max(1),
        align,
        skip,
        merge: merged(reader)?,
        recorded: Vec::new(),
        merged: None,
    }))
}

/// How recordings are put together, if they are.
fn merged(reader: &OptionReader) -> Result<Option<merge::Merge>, Trouble> {
    let numbers = |id: OptionId, least: f64| {
        let list = reader.floats(id);
        match list.iter().any(|number| *number < least) {
            true => Err(reader.wrong(id, "one of its numbers is too small", &format!("say {least} or more"))),
            false => Ok(list.to_vec()),
        }
    };
    let scalars = numbers(OptionId::MergeBlktraceScalars, 0.01)?;
    let repeats = numbers(OptionId::MergeBlktraceIters, 1.0)?.iter().map(|number| *number as u64).collect();
    let file = reader.some_text(OptionId::MergeBlktraceFile);
    Ok(file.map(|file| merge::Merge { file, scalars, repeats }))
}

/// Is an option not said, or said with a value that switches it off?
fn is_off(reader: &OptionReader, id: OptionId) -> bool {
    match id {
        OptionId::Verify => matches!(reader.word(id), "0" | "null"),
        OptionId::Thinktime | OptionId::LatencyTarget => reader.time(id).0 == 0,
        OptionId::Fsync | OptionId::Fdatasync => reader.count(id) == 0,
        _ => reader.three_positive(id) == [None; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::super::assemble::tests::jobs;
    use super::super::meaning::meant;
    use super::*;

    pub(crate) fn replay(options: &str) -> Result<Replay, Trouble> {
        let text = format!("[a]\nread_iolog=x\n{options}\n");
        meant(&jobs(&text).unwrap().jobs[0]).map(|job| job.replay.unwrap())
    }

    fn recorded() -> Recorded {
        let action = |at_ns, deed, file, offset| Action { at_ns, deed, file, offset, length: 4096 };
        Recorded {
            path: "x".to_owned(),
            files: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
            actions: vec![
                action(0, Deed::Read, 0, 8192),
                action(10, Deed::Write, 2, 10_000),
                action(20, Deed::Trim, 1, 4096),
                Action { length: 0, ..action(30, Deed::Fsync, 2, 0) },
            ],
        }
    }

    #[test]
    fn what_is_skipped_leaves_its_files_out() {
        let mut told = recorded();
        replay("replay_skip=trim,read").unwrap().reshape(&mut told);
        assert_eq!(told.files, ["c"]);
        assert_eq!(told.text(false), "10 write 0 10000 4096\n30 fsync 0 0 0\n");
        assert_eq!((told.ends(), told.longest()), (vec![14_096], 4096));
        assert_eq!(told.verbs(), [Verb::Write, Verb::Sync]);
    }

    #[test]
    fn offsets_are_scaled_then_aligned_and_everything_is_redirected() {
        let mut told = recorded();
        replay("replay_scale=2\nreplay_align=1k\nreplay_redirect=/dev/x").unwrap().reshape(&mut told);
        assert_eq!(told.files, ["/dev/x"]);
        let offsets: Vec<u64> = told.actions.iter().map(|action| action.offset).collect();
        assert_eq!(offsets, [4096, 4096, 2048, 0]);
    }

    #[test]
    fn clones_take_recordings_in_turn() {
        let mut replay = replay("read_iolog=p:q\\:r").unwrap();
        assert_eq!(replay.paths, ["p", "q:r"]);
        assert!(replay.of_clone(0).is_none());
        let named = |path: &str| Arc::new(Recorded { path: path.to_owned(), ..Recorded::default() });
        replay.recorded = vec![named("p"), named("q:r")];
        assert_eq!(replay.of_clone(3).unwrap().path, "q:r");
    }

    #[test]
    fn what_has_no_part_in_a_replay_is_told() {
        for (options, told) in [
            ("replay_align=3", "3 is no power of two"),
            ("replay_skip=eat", "\"eat\" is nothing that is replayed"),
            ("rate_iops=100", "it has no part in a replay"),
            ("verify=md5", "it has no part in a replay"),
        ] {
            let trouble = replay(options).unwrap_err();
            assert!(trouble.what.contains(told), "{trouble}");
            assert!(trouble.at.is_some());
        }
        assert!(replay("verify=0\nrate=0").is_ok());
    }
}
