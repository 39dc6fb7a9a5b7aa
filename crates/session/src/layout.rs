//! Bytes laid out to be measured later: files written in order before anything is read from them, and what they take of their
//! file system.

use fathom_host::Room;
use fathom_record::{EventKind, Note, Run};
use fathom_spec::*;
use rustix::io::Errno;
use std::path::Path;

/// One file to be laid out.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// Its path.
    pub path: &'a str,
    /// How many bytes are written.
    pub length: Bytes,
    /// Bytes of a write.
    pub block: Bytes,
    /// How it is asked of the kernel.
    pub queue: QueueKind,
    /// Writes outstanding.
    pub depth: u32,
    /// The file is made with its full length first; otherwise it grows from where it ends.
    pub create: bool,
    /// It stops after this time, however much is written.
    pub time: Option<Nanos>,
    /// No completion for so long is told.
    pub stall: Option<Nanos>,
    /// Seed of the bytes.
    pub seed: u64,
}

impl<'a> Layout<'a> {
    /// A file that grows by this many bytes in writes of 1 MiB, eight of them outstanding.
    pub fn new(path: &'a str, length: Bytes) -> Self {
        Layout {
            path,
            length,
            block: Bytes(MIB),
            queue: QueueKind::Auto,
            depth: 8,
            create: false,
            time: None,
            stall: None,
            seed: 1,
        }
    }

    /// The plan: incompressible bytes past the page cache, which no storage can leave out.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::new(self.seed);
        if let Some(stall) = self.stall {
            plan.stall = stall;
        }
        let target = PathTarget {
            access: Access::Write,
            create: self.create.then_some(self.length),
            ..PathTarget::direct_read(self.path)
        };
        let space = plan.add_target(Target::Path(target));
        let mut blocks = Blocks::random_reads(space, self.block);
        let begin = if self.create { Begin::First } else { Begin::Append };
        (blocks.pattern, blocks.mix) = (Pattern::Sequential(begin), Mix::Only(Verb::Write));
        blocks.queue = self.queue;
        let depth = if self.queue == QueueKind::Psync { 1 } else { self.depth };
        let mut stream = Stream::closed("layout", blocks, depth);
        match self.create {
            true => stream.stop.passes = Some(1),
            false => stream.stop.operations = Some(self.length.0 / self.block.0.max(1)),
        }
        stream.stop.time = self.time;
        plan.add_stream(stream);
        plan
    }
}

/// Why a layout failed, and what to do: the first fault of its run.
pub fn failure(run: &Run) -> Option<(String, &'static str)> {
    run.faults().find_map(|event| match &event.what {
        EventKind::Fault { offset, errno, target, moved, .. } => {
            let what = match errno {
                0 => format!("{target}: only {moved} were moved at byte {}", offset.0),
                errno => format!("{target}: {} at byte {}", std::io::Error::from_raw_os_error(*errno), offset.0),
            };
            let is_one_of = |numbers: &[Errno]| numbers.iter().any(|number| number.raw_os_error() == *errno);
            let hint = match () {
                () if is_one_of(&[Errno::AGAIN, Errno::NOMEM]) => {
                    "the system had no process or no memory for it: see ulimit -u, pids.max and memory.max, or use --engine psync"
                }
                () if is_one_of(&[Errno::FBIG]) => {
                    "raise the limit on file sizes (ulimit -f), or use less with --size"
                }
                () => "free some space, use less of it with --size, or see dmesg",
            };
            Some((format!("the layout failed: {what}"), hint))
        }
        _ => None,
    })
}

/// Files that will be written, beside the room of the file system that they lie on. A peer's language writes what fits, as the
/// peer does; the note says beforehand that it will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// What the files will take more than they hold now.
    pub bytes: Bytes,
    /// What the file system has.
    pub room: Room,
}

impl Need {
    /// So many bytes more at a path; `None` where the file system does not tell what it has.
    pub fn at(path: &Path, bytes: Bytes) -> Option<Need> {
        Some(Need { bytes, room: Room::of(path).ok()? })
    }

    /// What is taken and what is left.
    pub fn note(&self) -> Note {
        let free = Bytes(self.room.free_bytes);
        let hint = "the file system then has less than a tenth of itself free: others on it may find no room";
        match self.room.free_bytes.checked_sub(self.bytes.0) {
            None => Note {
                text: format!("the files need {}, and {free} are free", self.bytes),
                hint: Some("make room, or say smaller files".to_owned()),
            },
            Some(left) => Note {
                text: format!("the files take {} of {free} that are free, {} stay", self.bytes, Bytes(left)),
                hint: (self.bytes.0 > self.room.most_bytes()).then(|| hint.to_owned()),
            },
        }
    }

    /// The note where less than a tenth of the file system would stay free, or the files do not fit at all.
    pub fn warning(&self) -> Option<Note> {
        (self.bytes.0 > self.room.most_bytes()).then(|| self.note())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failed layout was told as the program's own value, with the advice to free some space whatever it was.
    #[test]
    fn a_layout_that_failed_says_what_and_where_and_advises_by_the_error() {
        let of = |errno, moved| {
            let mut run = Run::empty(&Plan::new(1));
            let (stream, verb, target) = (StreamId(0), Verb::Write, "f".to_owned());
            let (offset, moved) = (Bytes(4096), Bytes(moved));
            let what = EventKind::Fault { stream, verb, offset, errno, moved, target, times: 1 };
            run.events.push(fathom_record::Event { at_ns: 0, what });
            failure(&run).unwrap()
        };
        let (what, hint) = of(11, 0);
        assert!(what.starts_with("the layout failed: f: Resource temporarily unavailable"), "{what}");
        assert!(hint.contains("pids.max") && of(28, 0).1.contains("free some space"));
        assert_eq!(of(0, 512).0, "the layout failed: f: only 512 B were moved at byte 4096");
        assert!(failure(&Run::empty(&Plan::new(1))).is_none());
    }

    #[test]
    fn what_files_take_is_told_and_what_leaves_less_than_a_tenth_is_warned_of() {
        let room = Room { free_bytes: 100 * MIB, total_bytes: 200 * MIB };
        let need = |bytes| Need { bytes: Bytes(bytes * MIB), room };
        assert_eq!(need(80).warning(), None);
        assert_eq!(need(80).note().text, "the files take 80 MiB of 100 MiB that are free, 20 MiB stay");
        assert!(need(81).warning().is_some_and(|note| note.hint.is_some()));
        assert_eq!(need(101).note().text, "the files need 101 MiB, and 100 MiB are free");
    }
}
