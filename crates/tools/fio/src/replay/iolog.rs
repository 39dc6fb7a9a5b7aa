//! fio's logs of I/O, versions 2 and 3: a line for each thing that was done to a file. Version 2 tells pauses, version 3
//! the time of each line.

use crate::diagnostic::{Place, Source, Trouble};
use crate::recording::{ACTIONS_MOST, Action, Deed, FILES_MOST, Recorded};
use fathom_host::text_file::next_line;
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

/// How the first line begins.
pub const BEGINNING: &str = "fio version ";

/// A tick of version 3, ns: fio 3.33 writes microseconds.
pub const TICK_NS: u64 = 1_000;

/// Pauses of version 2 that are shorter are left out, microseconds.
const SHORTEST_WAIT_US: u64 = 100;

/// Bytes that one action may have.
const LENGTH_MOST: u64 = i32::MAX as u64;

/// Bytes that a line may have: a path, an action and numbers.
const LINE_MOST: u64 = 64 << 10;

/// Reads a log line by line; `name` is for messages.
pub fn read(name: &str, input: &mut dyn BufRead) -> Result<Recorded, Trouble> {
    let mut reader =
        Reader { recorded: Recorded { path: name.to_owned(), ..Recorded::default() }, ..Reader::default() };
    let trouble = |number: usize, line: &str, (what, hint): Wrong| {
        let source = Source { name: name.to_owned(), text: line.to_owned(), lines_before: number };
        Trouble::at(&Place::new(&Arc::new(source), 0..line.len()), what, hint)
    };
    let mut bytes = Vec::new();
    for number in 0.. {
        let more = next_line(input, LINE_MOST, &mut bytes);
        let more = more.map_err(|error| {
            trouble(number, "", wrong(&format!("the line is no line of a log: {error}"), "see the log"))
        })?;
        if !more {
            break;
        }
        let line = std::str::from_utf8(&bytes).map_err(|_| trouble(number, "", not_a_log()))?.trim_end();
        let done = match number {
            0 => reader.first(line),
            _ if line.trim_start().is_empty() => Ok(()),
            _ => reader.line(line),
        };
        done.map_err(|wrong| trouble(number, line, wrong))?;
    }
    if reader.version == 0 {
        return Err(trouble(0, "", not_a_log()));
    }
    Ok(reader.recorded)
}

/// What is wrong, and what to do.
type Wrong = (String, String);

fn not_a_log() -> Wrong {
    (
        "this is no log of I/O".to_owned(),
        "fio writes one with write_iolog=; its first line names its version".to_owned(),
    )
}

#[derive(Default)]
struct Reader {
    version: u32,
    recorded: Recorded,
    numbers: HashMap<String, u32>,
    now_ns: u64,
}

impl Reader {
    fn first(&mut self, line: &str) -> Result<(), Wrong> {
        self.version = match line.strip_prefix(BEGINNING).and_then(|rest| rest.strip_suffix(" iolog")) {
            Some("2") => 2,
            Some("3") => 3,
            Some(other) => {
                let hint = "versions 2 and 3 are read; record it again with a fio of this decade";
                return Err((format!("version {other} of fio's logs is not read"), hint.to_owned()));
            }
            None => return Err(not_a_log()),
        };
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        let mut words = line.split_ascii_whitespace();
        if self.version == 3 {
            let tick = words.next().and_then(|word| word.parse::<u64>().ok());
            let tick =
                tick.ok_or_else(|| wrong("it begins with no time", "version 3 has a time before the name"))?;
            self.now_ns = tick.saturating_mul(TICK_NS);
        }
        let (Some(name), Some(action)) = (words.next(), words.next()) else {
            return Err(wrong("a name and an action are due", "a line is: name action [offset length]"));
        };
        let numbers = (words.next(), words.next());
        if words.next().is_some() {
            return Err(wrong(
                "there is more on it than name, action, offset and length",
                "one action a line",
            ));
        }
        match (action, numbers) {
            ("add", (None, _)) => self.add(name),
            ("open" | "close", (None, _)) => self.number(name).map(|_| ()),
            ("wait", (Some(time), _)) if self.version == 2 => {
                let us = number(time)?;
                if us >= SHORTEST_WAIT_US {
                    self.now_ns = self.now_ns.saturating_add(us.saturating_mul(1000));
                }
                Ok(())
            }
            ("sync", _) => self.push(name, Deed::Fsync, (0, 0)),
            ("datasync", _) => self.push(name, Deed::Fdatasync, (0, 0)),
            ("read" | "write" | "trim", (Some(offset), Some(length))) => {
                let deed = match action {
                    "read" => Deed::Read,
                    "write" => Deed::Write,
                    _ => Deed::Trim,
                };
                let (offset, length) = (number(offset)?, number(length)?);
                if length == 0
                    || length > LENGTH_MOST
                    || offset.checked_add(length).is_none_or(|end| end > 1 << 62)
                {
                    return Err(wrong(
                        &format!("{length} bytes from {offset} are not possible"),
                        "see the log",
                    ));
                }
                self.push(name, deed, (offset, length as u32))
            }
            ("add" | "open" | "close", _) => Err(wrong(&format!("{action} takes no numbers"), "see the log")),
            ("read" | "write" | "trim" | "wait", _) if (action, self.version) != ("wait", 3) => {
                Err(wrong(&format!("{action} takes an offset and a length"), "see the log"))
            }
            _ => Err(wrong(
                &format!("{action:?} is no action of version {}", self.version),
                "these are: add open close read write trim sync datasync, and wait in version 2",
            )),
        }
    }

    fn add(&mut self, name: &str) -> Result<(), Wrong> {
        if self.recorded.files.len() >= FILES_MOST {
            return Err(wrong("that are too many files", "split the recording"));
        }
        let next = self.recorded.files.len() as u32;
        if !self.numbers.contains_key(name) {
            self.numbers.insert(name.to_owned(), next);
            self.recorded.files.push(name.to_owned());
        }
        Ok(())
    }

    fn number(&self, name: &str) -> Result<u32, Wrong> {
        let known = self.numbers.get(name).copied();
        known.ok_or_else(|| wrong(&format!("{name} was never added"), "a line that adds it comes first"))
    }

    fn push(&mut self, name: &str, deed: Deed, (offset, length): (u64, u32)) -> Result<(), Wrong> {
        let file = self.number(name)?;
        if self.recorded.actions.len() >= ACTIONS_MOST {
            return Err(wrong("that are too many actions", "split the recording"));
        }
        self.recorded.actions.push(Action { at_ns: self.now_ns, deed, file, offset, length });
        Ok(())
    }
}

fn wrong(what: &str, hint: &str) -> Wrong {
    (what.to_owned(), hint.to_owned())
}

fn number(word: &str) -> Result<u64, Wrong> {
    word.parse().map_err(|_| wrong(&format!("{word:?} is no number"), "offsets and lengths are in bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_version_2_add_up_and_short_ones_are_left_out() {
        let text = "fio version 2 iolog\n/a add\n/a open\n/a read 0 4096\n/a wait 99 0\n/a wait 250 0\n/a write 4096 512\n/a wait 100 0\n/a datasync 0 0\n/a sync\n/a close\n";
        let told = read("x", &mut text.as_bytes()).unwrap();
        assert_eq!(told.files, ["/a"]);
        let action = |at_ns, deed, offset, length| Action { at_ns, deed, file: 0, offset, length };
        assert_eq!(
            told.actions,
            [
                action(0, Deed::Read, 0, 4096),
                action(250_000, Deed::Write, 4096, 512),
                action(350_000, Deed::Fdatasync, 0, 0),
                action(350_000, Deed::Fsync, 0, 0),
            ]
        );
    }

    #[test]
    fn version_3_has_the_time_of_each_line() {
        let text = "fio version 3 iolog\n0 /a add\n0 /b add\n1 /b open\n7 /b trim 8192 4096\n9 /b close\n";
        let told = read("x", &mut text.as_bytes()).unwrap();
        assert_eq!(told.files, ["/a", "/b"]);
        let trim = Action { at_ns: 7 * TICK_NS, deed: Deed::Trim, file: 1, offset: 8192, length: 4096 };
        assert_eq!(told.actions, [trim]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let two = "fio version 2 iolog\n/a add\n";
        for (text, told) in [
            (String::new(), "x:1:1: this is no log of I/O"),
            ("fio version 1 iolog\n".to_owned(), "x:1:1: version 1 of fio's logs is not read"),
            ("[job]\n".to_owned(), "x:1:1: this is no log of I/O"),
            (format!("{two}/b read 0 4096\n"), "x:3:1: /b was never added"),
            (format!("{two}/a read 0\n"), "x:3:1: read takes an offset and a length"),
            (format!("{two}/a read 0 0\n"), "0 bytes from 0 are not possible"),
            (format!("{two}/a read x 1\n"), "\"x\" is no number"),
            (format!("{two}/a eat 0 1\n"), "\"eat\" is no action of version 2"),
            (format!("{two}/a read 0 1 2\n"), "there is more on it"),
            (format!("{two}/a\n"), "a name and an action are due"),
            ("fio version 3 iolog\n/a add\n".to_owned(), "x:2:1: it begins with no time"),
            (
                "fio version 3 iolog\n0 /a add\n0 /a wait 1 0\n".to_owned(),
                "\"wait\" is no action of version 3",
            ),
        ] {
            let trouble = read("x", &mut text.as_bytes()).unwrap_err().to_string();
            assert!(trouble.contains(told), "{trouble}");
        }
    }
}
