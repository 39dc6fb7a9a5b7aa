//! Copies bytes from one target to another as dd does: one read, then one write, on one thread. Counts a short read
//! or write as an operation and as a short one besides.

mod change;
mod endpoints;

use crate::files::OpenTarget;
use crate::sys::arena::{Arena, ArenaView};
use crate::sys::own_descriptors;
use change::{Changer, Gathered};
use endpoints::{Input, Output, Read};
use fathom_drive::{
    Act, Begin, Job, Pace, Perform, Recorder, Seat, Serial, SerialParts, Steering, Trouble, WorkerOutcome,
    run_serial,
};
use fathom_record::{EventKind, ExecuteError};
use fathom_spec::{Bytes, CopyMost, Copying, Plan, Space, SpaceId, StreamId, SyncKind, TargetId, Verb};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::sync::Arc;

/// Verbs of a copy, by cell.
const VERBS: [Verb; 3] = [Verb::Read, Verb::Write, Verb::Sync];
/// The most that one buffer may hold.
const MOST_BYTES: u64 = 1 << 46;

/// The one worker of a stream that copies.
pub(crate) fn job<'a>(
    plan: &Plan,
    stream: StreamId,
    copying: &Copying,
    targets: &Arc<[OpenTarget]>,
    names: &Arc<Vec<String>>,
) -> Result<Job<'a>, ExecuteError> {
    let (from, to) = (only(plan, copying.from)?, only(plan, copying.to)?);
    let (targets, named, copying) = (targets.clone(), names.clone(), copying.clone());
    let described = &plan.streams[stream.0 as usize];
    let (syncs, time) = (described.after_last.clone(), described.stop.time);
    let prepare = move |seat: &Seat| -> Result<Perform, ExecuteError> {
        let ends = (Input::new(targets.clone(), from), Output::new(targets, to));
        let work = Copier::new(copying, ends, syncs, (stream, named, (from, to)), seat.steering.clone())?;
        seat.queue("read and write".to_owned());
        own_descriptors();
        Ok(Box::new(move |seat, begin| perform(work, time.map(|time| time.0), seat, begin)))
    };
    Ok(Job {
        stream,
        worker: 0,
        cpus: Vec::new(),
        verbs: VERBS.to_vec(),
        targets: names.clone(),
        prepare: Box::new(prepare),
    })
}

fn only(plan: &Plan, space: SpaceId) -> Result<usize, ExecuteError> {
    match plan.spaces.get(space.0 as usize) {
        Some(Space::Whole(TargetId(target))) => Ok(*target as usize),
        _ => Err(ExecuteError::Plan {
            what: "a copy is made between whole targets".to_owned(),
            hint: "describe it with a space of one target at each end".to_owned(),
        }),
    }
}

fn perform(mut work: Copier, time_ns: Option<u64>, seat: &Seat, begin: Begin) -> WorkerOutcome {
    let until_ns = time_ns.map_or(u64::MAX, |time| begin.at_ns.saturating_add(time));
    let recorder = Recorder::new(begin.interval, begin.frame, Some(begin.outbox), seat.published.clone());
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    work.told = told.clone();
    let mut outcome = run_serial(SerialParts {
        work,
        pace: Pace::Closed,
        recorder,
        clock: seat.clock,
        until_ns,
        steering: &seat.steering,
        published: seat.published.clone(),
    });
    let told = std::mem::take(&mut *told.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    outcome.found.extend(told);
    outcome
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Begin,
    Read,
    /// From this buffer, so many bytes.
    Write(u32, usize),
    Sync(SyncKind),
    End,
}

/// Buffer of what is read.
const IN: u32 = 0;
/// Buffer of what was gathered.
const OUT: u32 = 1;

struct Copier {
    copying: Copying,
    input: Input,
    output: Output,
    syncs: VecDeque<SyncKind>,
    about: (StreamId, Arc<Vec<String>>, (usize, usize)),
    steering: Arc<Steering>,
    /// Behind the views of it.
    _arena: Arena,
    view: ArenaView,
    changer: Changer,
    gathered: Gathered,
    /// A block that goes out as it came in.
    whole: Option<usize>,
    blocks: u64,
    bytes: u64,
    doing: Doing,
    /// Bytes of the read before, if it was a short one; `None` once that was told.
    partial: Option<usize>,
    began: bool,
    ended: bool,
    flushed: bool,
    finished: bool,
    short: bool,
    told: Arc<std::sync::Mutex<Vec<EventKind>>>,
}

impl Copier {
    fn new(
        copying: Copying,
        (input, output): (Input, Output),
        syncs: Vec<SyncKind>,
        about: (StreamId, Arc<Vec<String>>, (usize, usize)),
        steering: Arc<Steering>,
    ) -> Result<Self, ExecuteError> {
        let most = copying.read_size.0.max(copying.write_size.0);
        let exhausted = |_| ExecuteError::NoMemory { buffer: Bytes(most) };
        if most > MOST_BYTES || copying.read_size.0 == 0 || copying.write_size.0 == 0 {
            return Err(exhausted(()));
        }
        let arena = Arena::new(2, most as usize).map_err(|_| exhausted(()))?;
        let view = ArenaView::of(&arena);
        let changer = Changer::new(&copying.change);
        Ok(Copier {
            input,
            output,
            syncs: syncs.into_iter().filter(|kind| *kind != SyncKind::None).collect(),
            about,
            steering,
            _arena: arena,
            view,
            changer,
            gathered: Gathered::default(),
            whole: None,
            blocks: 0,
            bytes: 0,
            doing: Doing::Begin,
            partial: Some(0),
            began: false,
            ended: false,
            flushed: false,
            finished: false,
            short: false,
            told: Arc::default(),
            copying,
        })
    }

    fn choose(&mut self) -> Option<Doing> {
        if !std::mem::replace(&mut self.began, true) {
            return Some(Doing::Begin);
        }
        if let Some(length) = self.whole.take() {
            return Some(Doing::Write(IN, length));
        }
        let write_size = self.copying.write_size.0 as usize;
        if self.gathered.len() >= write_size as u64 {
            return Some(self.gathered_write(write_size));
        }
        if !self.ended && self.wanted() > 0 {
            return Some(Doing::Read);
        }
        if !std::mem::replace(&mut self.flushed, true) {
            self.changer.end(&mut self.gathered);
            if self.gathered.len() >= write_size as u64 {
                self.flushed = false;
                return Some(self.gathered_write(write_size));
            }
        }
        match self.gathered.len() {
            0 => {}
            left => return Some(self.gathered_write(left.min(write_size as u64) as usize)),
        }
        if !std::mem::replace(&mut self.finished, true) {
            return Some(Doing::End);
        }
        self.syncs.pop_front().map(Doing::Sync)
    }

    /// Moves gathered bytes into an aligned buffer.
    fn gathered_write(&mut self, length: usize) -> Doing {
        self.gathered.move_into(self.view.bytes(OUT, length));
        Doing::Write(OUT, length)
    }

    /// Bytes of the next read; 0: there is none.
    fn wanted(&self) -> usize {
        let size = self.copying.read_size.0;
        let wanted = match self.copying.most {
            CopyMost::Everything => size,
            CopyMost::Blocks(most) if self.blocks >= most => 0,
            CopyMost::Blocks(_) => size,
            CopyMost::Bytes(Bytes(most)) => most.saturating_sub(self.bytes).min(size),
        };
        wanted as usize
    }

    fn tell(&self, what: EventKind) {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        told.push(what);
    }

    fn fault(&self, verb: Verb, error: Errno, offset: u64, moved: usize) -> Box<EventKind> {
        let (stream, names, (from, to)) = &self.about;
        let target = if verb == Verb::Read { *from } else { *to };
        Box::new(EventKind::Fault {
            stream: *stream,
            verb,
            offset: Bytes(offset),
            errno: error.raw_os_error(),
            moved: Bytes(moved as u64),
            target: names.get(target).cloned().unwrap_or_default(),
            times: 1,
        })
    }

    /// A read has brought something; was the one before it short?
    fn note_partial(&mut self, got: usize, size: usize) {
        match self.partial {
            Some(before) if before > 0 => {
                self.tell(EventKind::ShortRead { bytes: before as u64 });
                self.partial = None;
            }
            Some(_) => self.partial = Some(if got < size { got } else { 0 }),
            None => {}
        }
    }

    fn begin(&mut self) -> Result<u32, Trouble> {
        let (skip, seek) = (self.copying.skip.0, self.copying.seek.0);
        if skip > 0 && self.input.seek(skip as i64).is_err() {
            let mut left = skip;
            while left > 0 && !self.ended {
                let most = left.min(self.copying.read_size.0) as usize;
                match self.input.read(self.view.bytes(IN, most), &self.steering) {
                    Read::Some(bytes) => {
                        self.note_partial(bytes, most);
                        left -= bytes as u64;
                    }
                    Read::End => self.ended = true,
                    Read::Stopped => self.ended = true,
                    Read::Failed(error) => {
                        return Err(Trouble::Fatal(self.fault(Verb::Read, error, skip - left, 0)));
                    }
                }
            }
            if left > 0 {
                self.tell(EventKind::SkippedShort);
            }
        }
        if seek > 0
            && let Err(error) = self.output.seek(seek as i64)
        {
            return Err(Trouble::Fatal(self.fault(Verb::Write, error, seek, 0)));
        }
        Err(Trouble::Nothing)
    }

    fn read(&mut self) -> Result<u32, Trouble> {
        let (size, wanted) = (self.copying.read_size.0 as usize, self.wanted());
        let mut got = 0;
        let mut failed = None;
        while got < wanted && (got == 0 || self.copying.whole_reads) {
            match self.input.read(&mut self.view.bytes(IN, wanted)[got..], &self.steering) {
                Read::Some(bytes) => got += bytes,
                Read::End | Read::Stopped => {
                    self.ended = true;
                    break;
                }
                Read::Failed(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let forget = self.copying.forget.0;
        if forget {
            self.input.forget(self.copying.skip.0 + self.bytes, got, self.ended);
        }
        match failed {
            Some(error) => self.failed_read(error, got, size),
            None if got == 0 => Err(Trouble::Nothing),
            None => {
                self.bytes += got as u64;
                self.note_partial(got, wanted);
                self.took(got, size);
                Ok(got as u32)
            }
        }
    }

    fn failed_read(&mut self, error: Errno, got: usize, size: usize) -> Result<u32, Trouble> {
        let fault = self.fault(Verb::Read, error, self.copying.skip.0 + self.bytes, got);
        if !self.copying.keep_going {
            self.ended = true;
            if got > 0 {
                self.took(got, size);
            }
            return Err(Trouble::Failed(fault));
        }
        // Past the part that cannot be read; with filling up, zeros stand for it.
        self.bytes += size as u64;
        if self.input.seek((size - got) as i64).is_err() {
            self.ended = true;
        }
        if self.copying.change.pad.is_some() || got > 0 {
            self.took(got, size);
        } else {
            self.blocks += 1;
        }
        Err(Trouble::Failed(fault))
    }

    /// A block is in the input buffer.
    fn took(&mut self, got: usize, size: usize) {
        self.blocks += 1;
        self.short = got < size;
        let mut length = got;
        if let Some(pad) = self.copying.change.pad {
            self.view.bytes(IN, size)[got..].fill(pad);
            length = size;
        }
        if self.copying.as_read {
            self.whole = Some(length);
            return;
        }
        self.gathered.forget_moved();
        self.changer.take(self.view.bytes(IN, length), &mut self.gathered);
    }

    fn write(&mut self, tag: u32, length: usize) -> Result<u32, Trouble> {
        let size = self.copying.write_size.0 as usize;
        let (holes, forget) = (self.copying.holes, self.copying.forget.1);
        let bytes = self.view.bytes(tag, length);
        self.short = length < size;
        if holes && bytes.iter().all(|byte| *byte == 0) && self.output.skip(length) {
            return Ok(length as u32);
        }
        let offset = self.output.written;
        match self.output.write(bytes, self.short, &self.steering) {
            Ok(()) => {
                if forget {
                    self.output.forget(self.copying.seek.0 + offset, length, false);
                }
                Ok(length as u32)
            }
            Err((error, moved)) => Err(Trouble::Fatal(self.fault(Verb::Write, error, offset, moved))),
        }
    }

    fn end(&mut self) -> Result<u32, Trouble> {
        if self.changer.truncated > 0 {
            self.tell(EventKind::Truncated { records: self.changer.truncated });
        }
        if let Err(error) = self.output.end() {
            return Err(Trouble::Failed(self.fault(Verb::Write, error, self.output.written, 0)));
        }
        // Nothing was to be copied: then the whole of it is to be forgotten.
        let nothing = matches!(self.copying.most, CopyMost::Blocks(0) | CopyMost::Bytes(Bytes(0)));
        if self.copying.forget.0 && nothing {
            self.input.forget(0, 0, true);
        }
        Err(Trouble::Nothing)
    }

    fn sync(&mut self, kind: SyncKind) -> Result<u32, Trouble> {
        let done = self.output.sync(kind);
        if self.copying.forget.1 && self.syncs.is_empty() {
            self.output.forget(self.copying.seek.0, 0, true);
        }
        match done {
            Ok(()) => Ok(0),
            // What knows no fdatasync may know fsync.
            Err(Errno::INVAL | Errno::NOSYS) if kind == SyncKind::Fdatasync => {
                self.syncs.push_front(SyncKind::Fsync);
                Err(Trouble::Nothing)
            }
            Err(error) => Err(Trouble::Failed(self.fault(Verb::Sync, error, self.output.written, 0))),
        }
    }
}

impl Serial for Copier {
    fn next(&mut self, _now_ns: u64) -> Option<Act> {
        self.doing = self.choose()?;
        self.short = false;
        let (cell, bytes) = match self.doing {
            Doing::Begin | Doing::Read => (0, self.copying.read_size.0 as u32),
            Doing::Write(_, length) => (1, length as u32),
            Doing::Sync(_) | Doing::End => (2, 0),
        };
        Some(Act { verb: VERBS[usize::from(cell)], cell, bytes, paced: false, wait_ns: 0 })
    }

    fn perform(&mut self) -> Result<u32, Trouble> {
        match self.doing {
            Doing::Begin => self.begin(),
            Doing::Read => self.read(),
            Doing::Write(tag, length) => self.write(tag, length),
            Doing::Sync(kind) => self.sync(kind),
            Doing::End => self.end(),
        }
    }

    fn prepares(&self) -> bool {
        !self.copying.as_read
    }

    fn was_short(&self) -> bool {
        self.short
    }
}
