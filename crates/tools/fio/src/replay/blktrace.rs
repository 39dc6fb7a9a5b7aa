//! blktrace's binary events, as `blkparse -d` puts them together: a header of 48 bytes for each (`struct blk_io_trace` of
//! the kernel's header linux/blktrace_api.h), then as many bytes more as it says. What was queued is what is done again:
//! the later fates of a request are the device's doing.

use crate::recording::{ACTIONS_MOST, Action, Deed, FILES_MOST};
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// The upper 24 bits of the first word.
const MAGIC: u32 = 0x6561_7400;
/// The version in its lowest byte.
const VERSION: u32 = 7;
/// Bytes of an event's header.
pub(super) const HEADER: usize = 48;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Categories of an event, in the upper half of its action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSTHROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// In the lower half: the event carries its control group.
const GROUP: u32 = 1 << 8;
/// In the lower half: a request was queued.
const QUEUED: u32 = 1;

/// What was queued, and on which devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queued {
    /// Major and minor numbers, by the number of the file in the actions.
    pub devices: Vec<(u32, u32)>,
    /// What was done; times count from the first of them.
    pub actions: Vec<Action>,
}

/// Does a file begin like blktrace's, whatever the byte order of the machine that wrote it?
pub fn is_trace(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

/// Is the first word's byte order the other one than little endian?
fn order(bytes: &[u8]) -> Option<bool> {
    let word: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    if u32::from_le_bytes(word) & 0xFFFF_FF00 == MAGIC {
        return Some(false);
    }
    (u32::from_be_bytes(word) & 0xFFFF_FF00 == MAGIC).then_some(true)
}

/// One header.
struct Event<'b> {
    bytes: &'b [u8],
    big: bool,
}

impl Event<'_> {
    fn word(&self, at: usize) -> u32 {
        let word = [self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]];
        if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn double(&self, at: usize) -> u64 {
        let (first, second) = (u64::from(self.word(at)), u64::from(self.word(at + 4)));
        if self.big { first << 32 | second } else { second << 32 | first }
    }

    fn half(&self, at: usize) -> u16 {
        let half = [self.bytes[at], self.bytes[at + 1]];
        if self.big { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
    }
}

/// Where an event stands, and when it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Its first byte.
    pub(super) at: usize,
    /// The byte behind its last.
    pub(super) end: usize,
    /// The byte order of the machine that wrote it.
    pub(super) big: bool,
    time_ns: u64,
    notes: bool,
}

impl Header {
    /// When it was, ns.
    pub(super) fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// Is it of the device, and not a note on the recording itself?
    pub(super) fn is_timed(&self) -> bool {
        !self.notes
    }
}

/// The part of an event behind its header, bytes; an error where it is no event of this version.
fn check(event: &Event<'_>, count: usize, at: u64) -> Result<usize, String> {
    let magic = event.word(0);
    if magic != MAGIC | VERSION {
        return Err(match magic & 0xFFFF_FF00 == MAGIC {
            true => format!("event {count} is of version {}, and version {VERSION} is read", magic & 0xFF),
            false => format!("event {count} at byte {at} does not begin as events do"),
        });
    }
    Ok(event.half(46).into())
}

const NO_TRACE: &str = "it does not begin as blktrace's files do";

/// All events, and whether their byte order is the other one than little endian.
pub(super) fn headers(bytes: &[u8]) -> Result<(bool, Vec<Header>), String> {
    let big = order(bytes).ok_or(NO_TRACE)?;
    let (mut at, mut all) = (0, Vec::new());
    while at < bytes.len() {
        let count = all.len() + 1;
        let Some(header) = bytes.get(at..at + HEADER) else {
            return Err(format!("event {count} at byte {at} is cut off"));
        };
        let event = Event { bytes: header, big };
        let end = at + HEADER + check(&event, count, at as u64)?;
        if end > bytes.len() {
            return Err(format!("event {count} is cut off"));
        }
        let notes = event.word(28) >> 16 & NOTIFY != 0;
        all.push(Header { at, end, big, time_ns: event.double(8), notes });
        at = end;
    }
    Ok((big, all))
}

/// Reads the events one by one. An error says what is wrong and with which event.
pub fn read(input: &mut dyn BufRead) -> Result<Queued, String> {
    let cannot = |error: std::io::Error| error.to_string();
    let mut trace = Trace::default();
    let (mut at, mut count, mut big) = (0u64, 0, None);
    while !input.fill_buf().map_err(cannot)?.is_empty() {
        count += 1;
        let mut bytes = [0; HEADER];
        input.read_exact(&mut bytes).map_err(|_| format!("event {count} at byte {at} is cut off"))?;
        // The first event says the byte order of all.
        let big = match big {
            Some(big) => big,
            None => *big.insert(order(&bytes).ok_or(NO_TRACE)?),
        };
        let event = Event { bytes: &bytes, big };
        let more = check(&event, count, at)? as u64;
        if std::io::copy(&mut input.take(more), &mut std::io::sink()).map_err(cannot)? < more {
            return Err(format!("event {count} is cut off"));
        }
        at += HEADER as u64 + more;
        trace.take(&event, count)?;
    }
    if count == 0 { Err(NO_TRACE.to_owned()) } else { Ok(trace.queued) }
}

/// What was read so far.
#[derive(Default)]
struct Trace {
    queued: Queued,
    numbers: HashMap<u32, u32>,
    first_ns: Option<u64>,
}

impl Trace {
    fn take(&mut self, event: &Event<'_>, count: usize) -> Result<(), String> {
        let (length, action, device) = (event.word(24), event.word(28), event.word(36));
        let Some(deed) = deed(action, length) else { return Ok(()) };
        let offset = event.double(16).checked_mul(SECTOR).filter(|offset| *offset < 1 << 62);
        let (Some(offset), true) = (offset, length <= i32::MAX as u32) else {
            return Err(format!(
                "event {count}: {length} bytes from sector {} are not possible",
                event.double(16)
            ));
        };
        let time_ns = event.double(8);
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        let queued = &mut self.queued;
        let next = queued.devices.len();
        let file = *self.numbers.entry(device).or_insert_with(|| {
            queued.devices.push((device >> 20, device & 0xF_FFFF));
            next as u32
        });
        if queued.devices.len() > FILES_MOST || queued.actions.len() >= ACTIONS_MOST {
            return Err("it has too many events or devices".to_owned());
        }
        let at_ns = time_ns.saturating_sub(first_ns);
        let (offset, length) = if deed == Deed::Fsync { (0, 0) } else { (offset, length) };
        queued.actions.push(Action { at_ns, deed, file, offset, length });
        Ok(())
    }
}

fn deed(action: u32, length: u32) -> Option<Deed> {
    let (category, act) = (action >> 16, action & 0xFFFF & !GROUP);
    if act != QUEUED || category & (NOTIFY | PASSTHROUGH) != 0 {
        return None;
    }
    match (length, category) {
        (0, _) if category & FLUSH != 0 => Some(Deed::Fsync),
        (0, _) => None,
        _ if category & DISCARD != 0 => Some(Deed::Trim),
        _ if category & WRITE != 0 => Some(Deed::Write),
        _ => Some(Deed::Read),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An event as the kernel writes it.
    pub(crate) fn event(
        time_ns: u64,
        sector: u64,
        length: u32,
        action: u32,
        device: u32,
        more: &[u8],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [MAGIC | VERSION, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(time_ns.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        for word in [length, action, 4711, device, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0u16.to_le_bytes());
        bytes.extend((more.len() as u16).to_le_bytes());
        bytes.extend(more);
        bytes
    }

    const QUEUE: u32 = 1 << 20 | 1;
    const SDA: u32 = 8 << 20;

    #[test]
    fn what_was_queued_is_read_and_nothing_else() {
        let mut bytes = event(500, 0, 0, NOTIFY << 16, 0, b"name\0\0\0\0");
        bytes.extend(event(1000, 8, 4096, QUEUE | 1 << 16, SDA, &[]));
        bytes.extend(event(1500, 8, 4096, 1 << 22 | 7 | 1 << 16, SDA, &[]));
        bytes.extend(event(3000, 16, 512, QUEUE | GROUP | WRITE << 16, SDA | 3, &[0; 8]));
        bytes.extend(event(4000, 64, 8192, QUEUE | (DISCARD | WRITE) << 16, SDA, &[]));
        bytes.extend(event(5000, 0, 0, QUEUE | (FLUSH | WRITE) << 16, SDA, &[]));
        let told = read(&mut &bytes[..]).unwrap();
        assert_eq!(told.devices, [(8, 0), (8, 3)]);
        let action = |at_ns, deed, file, offset, length| Action { at_ns, deed, file, offset, length };
        assert_eq!(
            told.actions,
            [
                action(0, Deed::Read, 0, 4096, 4096),
                action(2000, Deed::Write, 1, 8192, 512),
                action(3000, Deed::Trim, 0, 32_768, 8192),
                action(4000, Deed::Fsync, 0, 0, 0),
            ]
        );
    }

    #[test]
    fn files_of_machines_with_the_other_byte_order_are_read() {
        let little = event(1000, 8, 4096, QUEUE | 1 << 16, SDA, &[]);
        let mut big = Vec::new();
        let mut at = 0;
        for width in [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2] {
            big.extend(little[at..at + width].iter().rev());
            at += width;
        }
        assert_eq!(read(&mut &big[..]), read(&mut &little[..]));
    }

    #[test]
    fn broken_files_are_told_with_the_event() {
        let good = event(1000, 8, 4096, QUEUE, SDA, &[]);
        assert_eq!(read(&mut &good[..40][..]).unwrap_err(), "event 1 at byte 0 is cut off");
        let mut cut = good.clone();
        cut[46] = 9;
        assert_eq!(read(&mut &cut[..]).unwrap_err(), "event 1 is cut off");
        let mut other = [good.clone(), good.clone()].concat();
        other[HEADER] = 5;
        assert_eq!(read(&mut &other[..]).unwrap_err(), "event 2 is of version 5, and version 7 is read");
        other[HEADER + 1] = 5;
        assert_eq!(read(&mut &other[..]).unwrap_err(), "event 2 at byte 48 does not begin as events do");
        let far = event(1000, u64::MAX / 2, 4096, QUEUE, SDA, &[]);
        assert!(read(&mut &far[..]).unwrap_err().contains("are not possible"));
        assert!(!is_trace(b"fio version 2 iolog") && is_trace(&good));
    }
}
