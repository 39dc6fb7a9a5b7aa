//! Recordings that are done again: `read_iolog` of fio's own logs and of blktrace's binary files, and what is changed of
//! them on the way (`replay_redirect`, `replay_scale`, `replay_align`, `replay_skip`).
//!
//! | module | holds |
//! |---|---|
//! | [`iolog`] | fio's text, versions 2 and 3 |
//! | [`blktrace`] | blktrace's binary events |
//! | [`merge`] | several of blktrace's put together into one |
//! | [`recall()`] | reads what jobs name, and what follows for the jobs |
//! | [`write_iolog`] | `write_iolog`: the same text, written |

pub mod blktrace;
pub mod iolog;
pub mod load_trace;
pub mod merge;
pub mod write_iolog;

pub use load_trace::recall;

use super::diagnostic::Trouble;
use super::file_layout::{Facts, FileFacts, FileNeed, Territory};
use super::job::Job;
use super::options::OptionId;
use super::reader::OptionReader;
pub use super::recording::{ACTIONS_MOST, Action, Deed, FILES_MOST, Merge, Recorded, Replay};
use super::values::split_names;

impl Recorded {
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
fn merged(reader: &OptionReader) -> Result<Option<Merge>, Trouble> {
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
    Ok(file.map(|file| Merge { file, scalars, repeats }))
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
    use super::super::inherit::tests::jobs;
    use super::super::resolve::meant;
    use super::*;
    use fathom_spec::Verb;
    use std::sync::Arc;

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
