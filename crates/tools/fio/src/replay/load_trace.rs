//! Reads the recordings that jobs name, and settles what follows for the jobs: which directions they have.

use super::{blktrace, iolog, merge};
use crate::diagnostic::Trouble;
use crate::job::Job;
use crate::recording::{Merge, Recorded, Replay};
use fathom_host::text_file::limited;
use fathom_spec::Verb;
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

/// Opens a recording, or says why it cannot be read.
pub type OpenRecording<'a> = &'a dyn Fn(&str) -> Result<Box<dyn BufRead>, String>;

/// Bytes that a recording may have that is put together with others: those are sorted in memory.
const MERGED_MOST: u64 = 1 << 30;

/// The path of the device with these major and minor numbers, if it is here.
pub type FindDevice<'a> = &'a dyn Fn(u32, u32) -> Option<String>;

/// Reads what the jobs are to replay.
pub fn recall(jobs: &mut [Job], open: OpenRecording, device: FindDevice) -> Result<(), Trouble> {
    for job in jobs {
        let Some(replay) = &job.replay else { continue };
        if job.engine.is_about_files() || job.engine.name == "cpuio" {
            let what = format!("{}: {} replays nothing", job.name, job.engine.name);
            return Err(Trouble::at(&replay.at, what, "say another ioengine="));
        }
        let (all, merged) = match &replay.merge {
            None => (each(job, replay, open, device)?, None),
            Some(how) => {
                let bytes = put_together(job, replay, how, open)?;
                (vec![Arc::new(one(job, &how.file, &mut bytes.as_slice(), device)?)], Some(bytes))
            }
        };
        let occurs = |verb: &Verb| all.iter().any(|recorded| recorded.verbs().contains(verb));
        let verbs: Vec<Verb> = [Verb::Read, Verb::Write, Verb::Trim].into_iter().filter(occurs).collect();
        let direction = &mut job.direction;
        direction.word = match verbs.as_slice() {
            [Verb::Read] => "read",
            [Verb::Trim] => "trim",
            [Verb::Trim, ..] | [] | [Verb::Write] => "write",
            _ => "rw",
        };
        // Only syncs: they are a writer's.
        direction.verbs = if verbs.is_empty() { vec![Verb::Write] } else { verbs };
        if let Some(replay) = &mut job.replay {
            (replay.recorded, replay.merged) = (all, merged);
        }
    }
    Ok(())
}

/// What each of the paths holds; the same file twice is read once.
fn each(
    job: &Job,
    replay: &Replay,
    open: OpenRecording,
    device: FindDevice,
) -> Result<Vec<Arc<Recorded>>, Trouble> {
    let mut known: HashMap<&str, Arc<Recorded>> = HashMap::new();
    let mut all = Vec::new();
    for path in &replay.paths {
        let recorded = match known.get(path.as_str()) {
            Some(recorded) => recorded.clone(),
            None => Arc::new(one(job, path, &mut *opened(job, replay, path, open)?, device)?),
        };
        known.insert(path, recorded.clone());
        all.push(recorded);
    }
    Ok(all)
}

/// All paths in one recording.
fn put_together(job: &Job, replay: &Replay, how: &Merge, open: OpenRecording) -> Result<Vec<u8>, Trouble> {
    let wrong = |what: String| {
        let hint = "name files that were made with: blkparse DEVICE -o /dev/null -d FILE";
        Trouble::at(&replay.at, format!("{}: {what}", job.name), hint)
    };
    let mut texts = Vec::new();
    for path in &replay.paths {
        let cannot = |why: String| wrong(format!("cannot read {path}: {why}"));
        let input = open(path).map_err(cannot)?;
        texts.push(limited(input, MERGED_MOST).map_err(|error| cannot(error.to_string()))?);
    }
    let named: Vec<(&str, &[u8])> =
        replay.paths.iter().map(String::as_str).zip(texts.iter().map(Vec::as_slice)).collect();
    merge::merge(&named, how).map_err(wrong)
}

fn opened(job: &Job, replay: &Replay, path: &str, open: OpenRecording) -> Result<Box<dyn BufRead>, Trouble> {
    let wrong = |why| format!("{}: cannot read {path}: {why}", job.name);
    open(path).map_err(|why| Trouble::at(&replay.at, wrong(why), "name a recording"))
}

fn one(job: &Job, path: &str, input: &mut dyn BufRead, device: FindDevice) -> Result<Recorded, Trouble> {
    let Some(replay) = &job.replay else { return Ok(Recorded::default()) };
    let wrong = |what: String, hint: &str| Trouble::at(&replay.at, format!("{}: {what}", job.name), hint);
    let cannot = |why| wrong(format!("cannot read {path}: {why}"), "name a recording");
    let first = input.fill_buf().map_err(|error| cannot(error.to_string()))?;
    let mut recorded = if blktrace::is_trace(first) {
        let hint = "make it with: blkparse DEVICE -o /dev/null -d FILE";
        let queued = blktrace::read(input).map_err(|what| wrong(format!("{path}: {what}"), hint))?;
        let named = |&(major, minor): &(u32, u32)| {
            if replay.redirect.is_some() || job.engine.is_diskless() {
                return Ok(format!("{major}:{minor}"));
            }
            device(major, minor).ok_or_else(|| {
                wrong(
                    format!("{path} was recorded on device {major}:{minor}, which is not here"),
                    "say replay_redirect=/dev/NAME",
                )
            })
        };
        let files: Result<Vec<String>, Trouble> = queued.devices.iter().map(named).collect();
        Recorded { path: path.to_owned(), files: files?, actions: queued.actions }
    } else {
        // Enough for the byte that is no text, and not in the middle of a character.
        if std::str::from_utf8(&first[..first.len().min(4)]).is_err_and(|error| error.error_len().is_some()) {
            return Err(wrong(
                format!("{path} is neither fio's log of I/O nor a binary file of blktrace"),
                "record it with write_iolog=, or with blktrace and blkparse -d",
            ));
        }
        iolog::read(path, input)?
    };
    replay.reshape(&mut recorded);
    if recorded.actions.is_empty() {
        return Err(wrong(
            format!("{path}: nothing in it is to be done"),
            "see the recording, and replay_skip=",
        ));
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::super::super::inherit::tests::jobs;
    use super::super::super::resolve::meant;
    use super::super::blktrace::tests::event;
    use super::*;

    fn recalled(options: &str, bytes: &[u8]) -> Result<Job, Trouble> {
        let text = format!("[a]\nread_iolog=x\n{options}\n");
        let mut all = vec![meant(&jobs(&text).unwrap().jobs[0]).unwrap()];
        let read = |name: &str| match name {
            "x" => Ok(Box::new(std::io::Cursor::new(bytes.to_vec())) as Box<dyn BufRead>),
            _ => Err("No such file".to_owned()),
        };
        let device = |major, minor| (major == 8).then(|| format!("/dev/sd{minor}"));
        recall(&mut all, &read, &device)?;
        Ok(all.remove(0))
    }

    #[test]
    fn directions_and_devices_follow_from_the_recording() {
        let log = b"fio version 2 iolog\n/a add\n/a read 0 512\n/a write 0 512\n";
        let job = recalled("", log).unwrap();
        assert_eq!((job.direction.word, job.direction.verbs), ("rw", vec![Verb::Read, Verb::Write]));
        assert_eq!(recalled("replay_skip=read", log).unwrap().direction.word, "write");
        let queued = |device| event(0, 8, 4096, 1 << 20 | 1, device, &[]);
        let job = recalled("", &queued(8 << 20 | 5)).unwrap();
        assert_eq!(job.replay.unwrap().recorded[0].files, ["/dev/sd5"]);
        let job = recalled("replay_redirect=/dev/y", &queued(9 << 20)).unwrap();
        assert_eq!(job.replay.unwrap().recorded[0].files, ["/dev/y"]);
        let wrong = recalled("", &queued(9 << 20 | 1)).unwrap_err().to_string();
        assert!(wrong.contains("recorded on device 9:1, which is not here"), "{wrong}");
    }

    #[test]
    fn what_cannot_be_replayed_is_told_with_its_place() {
        let wrong = |options: &str, bytes: &[u8]| recalled(options, bytes).unwrap_err().to_string();
        let log = b"fio version 2 iolog\n/a add\n/a read 0 512\n";
        assert!(wrong("replay_skip=read", log).contains("nothing in it is to be done"));
        assert!(wrong("", &[0xFF, 0xFE]).starts_with("t.fio:2:1: a: x is neither"));
        assert!(wrong("ioengine=filestat", log).contains("filestat replays nothing"));
        assert!(wrong("read_iolog=y", log).contains("cannot read y: No such file"));
        assert!(wrong("", b"fio version 2 iolog\n/b read 0 1\n").starts_with("x:2:1: /b was never added"));
    }
}
