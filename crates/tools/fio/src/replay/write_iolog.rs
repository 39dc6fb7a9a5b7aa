//! `write_iolog`: what was done, in the form that `read_iolog` reads, version 3. Operations are told when they have come
//! back and written in the order in which they began, as far as one can wait for it: one that took longer than
//! [`PATIENCE_NS`] stands behind those that began after it. Its time is the right one all the same.

use super::iolog::TICK_NS;
use crate::recording::Deed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

/// How long one waits for what began earlier, ns.
pub const PATIENCE_NS: u64 = 2_000_000_000;

/// What was done, by the time at which it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Begun {
    at_ns: u64,
    /// In the order in which it was told.
    number: u64,
    deed: u8,
    file: u32,
    offset: u64,
    length: u32,
}

const DEEDS: [(Deed, &str); 5] = [
    (Deed::Read, "read"),
    (Deed::Write, "write"),
    (Deed::Trim, "trim"),
    (Deed::Fsync, "sync"),
    (Deed::Fdatasync, "datasync"),
];

/// Writes a log.
pub struct IologWriter<W: Write> {
    out: W,
    names: Vec<String>,
    began_ns: Option<u64>,
    last_ns: u64,
    waiting: BinaryHeap<Reverse<Begun>>,
    told: u64,
    line: String,
}

impl<W: Write> IologWriter<W> {
    /// A log of what is done to these files.
    pub fn new(out: W, names: Vec<String>) -> Self {
        IologWriter {
            out,
            names,
            began_ns: None,
            last_ns: 0,
            waiting: BinaryHeap::new(),
            told: 0,
            line: String::new(),
        }
    }

    /// Something came back at `done_ns` that began at `at_ns`. The first one told is taken for the first that began.
    pub fn done(
        &mut self,
        (at_ns, done_ns): (u64, u64),
        deed: Deed,
        file: u32,
        (offset, length): (u64, u32),
    ) -> io::Result<()> {
        self.begin(at_ns)?;
        self.told += 1;
        let deed = DEEDS.iter().position(|(known, _)| *known == deed).unwrap_or(0) as u8;
        self.waiting.push(Reverse(Begun { at_ns, number: self.told, deed, file, offset, length }));
        while self.waiting.peek().is_some_and(|first| first.0.at_ns.saturating_add(PATIENCE_NS) < done_ns) {
            self.first()?;
        }
        Ok(())
    }

    /// Nothing will come any more.
    pub fn end(&mut self) -> io::Result<()> {
        self.begin(0)?;
        while !self.waiting.is_empty() {
            self.first()?;
        }
        let tick = self.last_ns / TICK_NS;
        for name in std::mem::take(&mut self.names) {
            writeln!(self.out, "{tick} {name} close")?;
        }
        self.out.flush()
    }

    fn begin(&mut self, at_ns: u64) -> io::Result<()> {
        if self.began_ns.is_some() {
            return Ok(());
        }
        self.began_ns = Some(at_ns);
        writeln!(self.out, "fio version 3 iolog")?;
        self.names.iter().try_for_each(|name| writeln!(self.out, "0 {name} add"))?;
        self.names.iter().try_for_each(|name| writeln!(self.out, "0 {name} open"))
    }

    fn first(&mut self) -> io::Result<()> {
        use std::fmt::Write as _;
        let Some(Reverse(Begun { at_ns, number: _, deed, file, offset, length })) = self.waiting.pop() else {
            return Ok(());
        };
        self.last_ns = at_ns.saturating_sub(self.began_ns.unwrap_or(0));
        let name = self.names.get(file as usize).map_or("?", String::as_str);
        self.line.clear();
        // In one piece, so that two writers of one file mix lines and not words.
        let tick = self.last_ns / TICK_NS;
        let _ = writeln!(self.line, "{tick} {name} {} {offset} {length}", DEEDS[usize::from(deed)].1);
        self.out.write_all(self.line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Action, iolog};
    use super::*;

    #[test]
    fn what_is_written_is_read_again_in_the_order_in_which_it_began() {
        let mut bytes = Vec::new();
        let mut log = IologWriter::new(&mut bytes, vec!["/a".to_owned(), "/b".to_owned()]);
        let ms = 1_000_000;
        log.done((5 * ms, 9 * ms), Deed::Read, 0, (0, 4096)).unwrap();
        log.done((8 * ms, 10 * ms), Deed::Write, 1, (4096, 512)).unwrap();
        log.done((6 * ms, 11 * ms), Deed::Fsync, 1, (0, 0)).unwrap();
        log.end().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let told = iolog::read("x", &mut text.as_bytes()).unwrap();
        assert_eq!(told.files, ["/a", "/b"]);
        let action =
            |at_ms, deed, file, offset, length| Action { at_ns: at_ms * ms, deed, file, offset, length };
        let expected = [
            action(0, Deed::Read, 0, 0, 4096),
            action(1, Deed::Fsync, 1, 0, 0),
            action(3, Deed::Write, 1, 4096, 512),
        ];
        assert_eq!(told.actions, expected);
        assert!(text.ends_with("3000 /a close\n3000 /b close\n"), "{text}");
    }

    #[test]
    fn what_is_old_enough_is_written_while_more_comes() {
        let mut bytes = Vec::new();
        let mut log = IologWriter::new(&mut bytes, vec!["/a".to_owned()]);
        log.done((0, 10), Deed::Read, 0, (0, 512)).unwrap();
        log.done((PATIENCE_NS, PATIENCE_NS + 10), Deed::Read, 0, (512, 512)).unwrap();
        assert_eq!(log.waiting.len(), 1);
    }
}
