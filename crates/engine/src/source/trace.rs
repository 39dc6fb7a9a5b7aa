//! Operations as a recording says. The recording is text, one operation a line: when (ns after the recording's start),
//! verb (`read`, `write`, `commit`, `trim`, `sync`, and `fsync`, which is a sync of all metadata), number of the target in
//! the space, offset and length in bytes: `1500000 write 0 8192 4096`. Lines that begin with `#` and empty ones say nothing.
//! Parsers of other tools' recordings make this text.

use crate::geometry::Geometry;
use fathom_drive::{Fill, Operation, Pace, Source};
use fathom_record::ExecuteError;
use fathom_spec::{Bytes, SyncKind, Verb};
use std::io::{BufRead, BufReader};
use std::sync::Arc;

/// One recorded operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Recorded {
    at_ns: u64,
    offset: u64,
    length: u32,
    target: u16,
    verb: Verb,
    /// Which sync, of a sync.
    kind: SyncKind,
}

/// A recording, read once for all workers of a stream.
#[derive(Clone, Debug)]
pub struct Recording {
    operations: Arc<[Recorded]>,
}

/// Operations that a recording may have.
const MOST: usize = 1 << 28;

impl Recording {
    /// Reads a recording; `name` is for errors. What it does must lie within the targets of the space.
    pub fn read(text: impl std::io::Read, name: &str, geometry: &Geometry) -> Result<Self, ExecuteError> {
        let targets = geometry.space.members();
        let mut operations = Vec::new();
        for (number, line) in BufReader::new(text).lines().enumerate() {
            let fail = |what: String| ExecuteError::Target {
                what: format!("{name}, line {}: {what}", number + 1),
                hint: "a line is: time in ns, verb, number of the target, offset, length".to_owned(),
            };
            let line = line.map_err(|error| fail(error.to_string()))?;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut recorded = parse(&line).map_err(fail)?;
            let Some(target) = targets.get(recorded.target as usize) else {
                return Err(fail(format!("the space has no target number {}", recorded.target)));
            };
            recorded.target = target.0 as u16;
            let size = geometry.sizes.get(target.0 as usize).copied().unwrap_or(0);
            let end = recorded.offset.checked_add(recorded.length.into());
            if end.is_none_or(|end| end > size) {
                return Err(fail(format!("it lies past the target's end at {}", Bytes(size))));
            }
            let unaligned = recorded.offset | u64::from(recorded.length);
            if !unaligned.is_multiple_of(geometry.align) {
                return Err(fail(format!("direct I/O asks for multiples of {}", Bytes(geometry.align))));
            }
            if operations.len() == MOST {
                return Err(fail("the recording is too long".to_owned()));
            }
            operations.push(recorded);
        }
        operations.sort_by_key(|recorded| recorded.at_ns);
        Ok(Recording { operations: operations.into() })
    }

    /// The longest operation.
    pub fn longest(&self) -> u32 {
        self.operations.iter().map(|recorded| recorded.length).max().unwrap_or(0)
    }

    /// Verbs in it, each once, in the order of their first use.
    pub fn verbs(&self) -> Vec<Verb> {
        let mut verbs = Vec::new();
        for recorded in self.operations.iter() {
            if !verbs.contains(&recorded.verb) {
                verbs.push(recorded.verb);
            }
        }
        verbs
    }

    /// The part of worker `worker` of `workers`, who take turns. `speed`: none is as fast as possible, 1 as recorded,
    /// 2 twice as fast. Times count from the first call.
    pub fn source(
        &self,
        verbs: &[Verb],
        (worker, workers): (u32, u32),
        speed: Option<f64>,
        (passes, operations): (u64, u64),
    ) -> Box<dyn Source> {
        let cell = |verb: &Verb| verbs.iter().position(|own| own == verb).unwrap_or(0) as u8;
        Box::new(Replay {
            cells: [Verb::Read, Verb::Write, Verb::Commit, Verb::Trim, Verb::Sync]
                .map(|verb| (verb, cell(&verb))),
            recording: self.clone(),
            first: worker as usize,
            step: workers.max(1) as usize,
            next: worker as usize,
            speed,
            passes,
            left: operations,
            began_ns: None,
        })
    }
}

fn parse(line: &str) -> Result<Recorded, String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [at, word, target, offset, length] = words[..] else {
        return Err(format!("{} words where five are due", words.len()));
    };
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("{word:?} is not a number"));
    let verb = match word {
        "read" => Verb::Read,
        "write" => Verb::Write,
        "commit" => Verb::Commit,
        "trim" => Verb::Trim,
        "sync" | "fsync" => Verb::Sync,
        other => return Err(format!("{other:?} is not a verb of a recording")),
    };
    let length = u32::try_from(number(length)?).ok().filter(|length| *length <= i32::MAX as u32);
    Ok(Recorded {
        at_ns: number(at)?,
        offset: number(offset)?,
        length: length.ok_or("it is longer than 2 GiB")?,
        target: u16::try_from(number(target)?).map_err(|_| "no such target".to_owned())?,
        verb,
        kind: if word == "fsync" { SyncKind::Fsync } else { SyncKind::Fdatasync },
    })
}

struct Replay {
    recording: Recording,
    cells: [(Verb, u8); 5],
    first: usize,
    step: usize,
    next: usize,
    speed: Option<f64>,
    passes: u64,
    left: u64,
    began_ns: Option<u64>,
}

impl Source for Replay {
    fn fill(&mut self, now_ns: u64, room: usize, _pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        let began = *self.began_ns.get_or_insert(now_ns);
        let operations = &self.recording.operations;
        for _ in 0..room {
            if self.left == 0 || self.first >= operations.len() {
                return Fill::Done;
            }
            if self.next >= operations.len() {
                self.passes = self.passes.saturating_sub(1);
                if self.passes == 0 {
                    return Fill::Done;
                }
                (self.next, self.began_ns) = (self.first, None);
                return if out.is_empty() { Fill::Wait(now_ns + 1) } else { Fill::Some };
            }
            let recorded = operations[self.next];
            let due_ns = match self.speed {
                None => now_ns,
                Some(speed) => began.saturating_add((recorded.at_ns as f64 / speed) as u64),
            };
            if due_ns > now_ns {
                return Fill::Wait(due_ns);
            }
            let Recorded { at_ns: _, offset, length, target, verb, kind } = recorded;
            let cell = self.cells.iter().find(|(own, _)| *own == verb).map_or(0, |(_, cell)| *cell);
            out.push(match verb {
                Verb::Sync => Operation { due_ns, ..Operation::sync(kind, target, cell) },
                _ => Operation { offset, due_ns, mark: 0, length, target, verb, cell },
            });
            self.next += self.step;
            self.left -= u64::from(self.left != u64::MAX);
        }
        Fill::Some
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Space, TargetId};

    fn geometry() -> Geometry {
        let space = Space::Concat(vec![TargetId(3), TargetId(1)]);
        Geometry { space, sizes: vec![0, 8192, 0, 1 << 20], start: 0, length: 1 << 20, align: 512 }
    }

    const TEXT: &str = "# three operations\n0 write 0 4096 4096\n\n2000 read 1 0 8192\n5000 sync 0 0 0\n";

    fn recording(text: &str) -> Result<Recording, ExecuteError> {
        Recording::read(text.as_bytes(), "trace", &geometry())
    }

    #[test]
    fn operations_come_at_their_times_and_twice_as_fast_when_asked() {
        let recording = recording(TEXT).unwrap();
        let verbs = recording.verbs();
        assert_eq!((verbs.len(), recording.longest()), (3, 8192));
        for (speed, times) in [(Some(1.0), [10, 2010, 5010]), (Some(2.0), [10, 1010, 2510])] {
            let mut source = recording.source(&verbs, (0, 1), speed, (1, u64::MAX));
            let (mut out, mut now) = (Vec::new(), 10);
            loop {
                match source.fill(now, 8, &mut Pace::Closed, &mut out) {
                    Fill::Wait(due) => now = due,
                    Fill::Done => break,
                    _ => {}
                }
            }
            let seen: Vec<_> = out.iter().map(|op| (op.due_ns, op.target, op.cell)).collect();
            assert_eq!(seen, [(times[0], 3, 0), (times[1], 1, 1), (times[2], 3, 2)]);
        }
    }

    #[test]
    fn workers_take_turns_and_passes_repeat() {
        let recording = recording(TEXT).unwrap();
        let verbs = recording.verbs();
        let mut out = Vec::new();
        let mut source = recording.source(&verbs, (1, 2), None, (2, u64::MAX));
        while source.fill(out.len() as u64, 8, &mut Pace::Closed, &mut out) != Fill::Done {}
        assert_eq!(out.iter().map(|op| op.offset).collect::<Vec<_>>(), [0, 0]);
    }

    #[test]
    fn a_line_that_cannot_be_carried_out_is_told_with_its_number() {
        for (text, told) in [
            ("0 read 0 0\n", "line 1: 4 words"),
            ("\n0 eat 0 0 512\n", "line 2: \"eat\""),
            ("0 read 2 0 512\n", "no target number 2"),
            ("0 read 1 4096 8192\n", "past the target's end"),
            ("0 read 1 1 512\n", "multiples of"),
            ("x read 1 1 512\n", "\"x\" is not a number"),
        ] {
            let error = recording(text).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
