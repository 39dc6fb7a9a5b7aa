//! What dt says while it runs: keep-alive messages, the watchdog of tests that do not move, the history of operations.

use super::number::{Numbers, seconds};
use super::options::{OptionError, Options, wrong};
use super::report::{Part, elapsed, latency};

/// What is said meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// `keepalive=`.
    pub message: Option<String>,
    /// `keepalivet=`: seconds from one message to the next.
    pub every: Option<u64>,
    /// `pkeepalive=`: said at a pass's end in place of its statistics.
    pub at_pass: Option<String>,
    /// `tkeepalive=`: said at the end in place of the brief statistics.
    pub at_end: Option<String>,
    /// `enable=noprog`, on with `noprogt=`.
    pub progress: bool,
    /// `noprogt=`: seconds without progress that are told.
    pub stuck: Option<u64>,
    /// `noprogtt=`: seconds without progress that run the trigger.
    pub trigger: Option<u64>,
    /// `history=`: operations that are remembered.
    pub history: u64,
    /// `hdsize=`: bytes of each piece that is kept of them.
    pub history_bytes: u64,
    /// `history_bufs=`: pieces of each.
    pub history_pieces: u64,
    /// `history_bsize=`: bytes from one piece to the next; `None`: a block.
    pub history_apart: Option<u64>,
    /// `enable=htiming`.
    pub history_times: bool,
    /// `enable=hdump`: the history is told at the end too.
    pub history_dump: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            message: None,
            every: None,
            at_pass: None,
            at_end: None,
            progress: true,
            stuck: None,
            trigger: None,
            history: 0,
            history_bytes: 32,
            history_pieces: 1,
            history_apart: None,
            history_times: false,
            history_dump: false,
        }
    }
}

/// dt's own message where `keepalive=` names no other.
pub const MESSAGE: &str = "%d Stats: mode %i, blocks %l, %m Mbytes, pass %p/%P, elapsed %t";
/// What it says of a pass without its statistics, behind "End of Write ".
pub const PASS: &str = "pass %p/%P, %l blocks, %m Mbytes, %c records, errors %e/%E, elapsed %t";
/// What it says of a whole test in brief.
pub const TOTAL: &str = "%d Totals: %L blocks, %M Mbytes, errors %e/%E, passes %p/%P, elapsed %T";

impl Watch {
    /// Takes an option, if it is one of these.
    pub(super) fn take(&mut self, name: &str, value: &str, numbers: Numbers) -> Result<bool, OptionError> {
        let time = || match seconds(value) {
            Some(seconds @ 1..) => Ok(Some(seconds)),
            _ => Err(wrong(name, value, "a time such as 30s or 1h30m")),
        };
        let count = || numbers.value(value).ok_or_else(|| wrong(name, value, "a number"));
        match name {
            "keepalive" => self.message = Some(value.to_owned()),
            "pkeepalive" => self.at_pass = Some(value.to_owned()),
            "tkeepalive" => self.at_end = Some(value.to_owned()),
            "keepalivet" => self.every = time()?,
            "noprogt" => self.stuck = time()?,
            "noprogtt" => self.trigger = time()?,
            // How often dt looks; fathom looks twenty times a second.
            "alarm" => drop(time()?),
            "history" => self.history = count()?.min(1 << 20),
            "hdsize" | "history_data" => self.history_bytes = count()?.min(1 << 20),
            "history_bufs" | "hbufs" => self.history_pieces = count()?.clamp(1, 1 << 16),
            "history_bsize" | "hbsize" => self.history_apart = Some(count()?.clamp(1, 1 << 30)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Does anybody look whether the test moves?
    pub fn looks(&self) -> bool {
        self.progress && (self.stuck.is_some() || self.trigger.is_some())
    }
}

/// The numbers of a message.
#[derive(Clone, Debug, Default)]
pub struct Moment<'a> {
    /// Of this pass.
    pub pass: Part,
    /// Of the whole test, this pass included.
    pub total: Part,
    /// What is done: `write`, `read`.
    pub mode: &'a str,
    /// The host.
    pub host: &'a str,
    /// The user.
    pub user: &'a str,
}

/// A message with its codes filled in; lower case stands for the pass, upper case for the whole test. A code that is
/// unknown stays as it is.
pub fn expand(text: &str, options: &Options, moment: &Moment<'_>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        // The longest code that fits: %iops before %i.
        let code = CODES.iter().filter(|code| rest.starts_with(**code)).max_by_key(|code| code.len());
        match code {
            Some(code) => {
                out += &value(code, options, moment);
                rest = &rest[code.len()..];
            }
            None => out.push('%'),
        }
    }
    out + rest
}

const CODES: &[&str] = &[
    "b",
    "B",
    "c",
    "C",
    "d",
    "D",
    "e",
    "E",
    "f",
    "F",
    "h",
    "H",
    "i",
    "k",
    "K",
    "l",
    "L",
    "m",
    "M",
    "p",
    "P",
    "r",
    "R",
    "s",
    "S",
    "t",
    "T",
    "u",
    "w",
    "W",
    "bps",
    "BPS",
    "lbps",
    "LBPS",
    "kbps",
    "KBPS",
    "mbps",
    "MBPS",
    "iops",
    "IOPS",
    "spio",
    "SPIO",
    "iodir",
    "iotype",
    "job",
    "thread",
    "tid",
    "keepalivet",
    "latency",
    "LATENCY",
    "latmax",
    "LATMAX",
    "latmin",
    "LATMIN",
    "%",
];

fn value(code: &str, options: &Options, moment: &Moment<'_>) -> String {
    let whole = code.chars().all(|letter| letter.is_ascii_uppercase());
    let part = if whole { &moment.total } else { &moment.pass };
    let seconds = (part.elapsed_ns.max(1)) as f64 / 1e9;
    let (bytes, records) = (part.bytes(), part.records());
    let per_second = |amount: f64| format!("{:.3}", amount / seconds);
    match code {
        "d" | "D" => return options.name().to_owned(),
        "e" => return moment.total.errors.to_string(),
        "E" => return options.errors.to_string(),
        "h" => return moment.host.split('.').next().unwrap_or_default().to_owned(),
        "H" => return moment.host.to_owned(),
        "p" => return moment.pass.passes.to_string(),
        "P" => return options.passes.to_string(),
        "iodir" => return if options.shape.reverse { "reverse" } else { "forward" }.to_owned(),
        "iotype" => return if options.random { "random" } else { "sequential" }.to_owned(),
        "keepalivet" => return options.watch.every.unwrap_or(0).to_string(),
        _ => {}
    }
    let code = code.to_ascii_lowercase();
    match code.as_str() {
        "b" => bytes.to_string(),
        "c" => records.to_string(),
        "f" => "1".to_owned(),
        "i" => moment.mode.to_owned(),
        "k" => format!("{:.3}", bytes as f64 / 1024.0),
        "l" => (bytes / options.block.max(1)).to_string(),
        "m" => format!("{:.3}", bytes as f64 / 1_048_576.0),
        "r" => part.records_read.to_string(),
        "s" => format!("{seconds:.2}"),
        "t" => elapsed(part.elapsed_ns),
        "u" => moment.user.to_owned(),
        "w" => part.records_written.to_string(),
        "bps" => format!("{:.0}", bytes as f64 / seconds),
        "lbps" => per_second((bytes / options.block.max(1)) as f64),
        "kbps" => per_second(bytes as f64 / 1024.0),
        "mbps" => per_second(bytes as f64 / 1_048_576.0),
        "iops" => per_second(records as f64),
        "spio" => format!("{:.4}", if records > 0 { seconds / records as f64 } else { 0.0 }),
        "job" => "1".to_owned(),
        "thread" | "tid" => options.crew.thread.to_string(),
        "latency" => latency(part.latency_ns().0.checked_div(records).unwrap_or(0)),
        "latmin" => latency(part.latency_ns().1),
        "latmax" => latency(part.latency_ns().2),
        _ => "%".to_owned(),
    }
}

/// Looks whether operations come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watchdog {
    operations: u64,
    since_ns: u64,
    told: u64,
    triggered: bool,
}

/// What the watchdog has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Nothing came back for so many seconds.
    Warning(u64),
    /// It is time for the trigger, after so many seconds.
    Trigger(u64),
}

impl Watchdog {
    /// Looks at the operations done so far and at those outstanding; answers what is to be said. Every `noprogt=` seconds
    /// it is said again, the trigger runs once until something moves.
    pub fn look(&mut self, now_ns: u64, operations: u64, outstanding: u64, watch: &Watch) -> Vec<Stall> {
        if operations != self.operations || outstanding == 0 {
            *self = Watchdog { operations, since_ns: now_ns, told: 0, triggered: false };
            return Vec::new();
        }
        let seconds = now_ns.saturating_sub(self.since_ns) / 1_000_000_000;
        let mut says = Vec::new();
        if let Some(every) = watch.stuck
            && seconds / every > self.told
        {
            self.told = seconds / every;
            says.push(Stall::Warning(seconds));
        }
        if watch.trigger.is_some_and(|after| seconds >= after) && !self.triggered {
            self.triggered = true;
            says.push(Stall::Trigger(seconds));
        }
        says
    }
}

/// One operation of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it came back, ns since 1970.
    pub at_ns: u64,
    /// It was a read, not a write.
    pub reads: bool,
    /// Number of its record.
    pub record: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Where in it a piece begins, and the piece.
    pub pieces: Vec<(u32, Vec<u8>)>,
}

/// The lines of a history, the newest operation first; in brackets stands the time since the one before it.
pub fn history(options: &Options, kept: &[HistoryEntry]) -> Vec<String> {
    let mut lines = vec![format!("Dumping History Data ({} entries):", kept.len()), String::new()];
    for (i, past) in kept.iter().enumerate().rev() {
        let before = i.checked_sub(1).and_then(|i| kept.get(i)).map_or(past.at_ns, |before| before.at_ns);
        let times = match options.watch.history_times {
            true => {
                let (at, since) = (past.at_ns / 1000, past.at_ns.saturating_sub(before) / 1000);
                let split = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
                format!("{} ({}) ", split(at), split(since))
            }
            false => String::new(),
        };
        let block = options.block.max(1);
        let (blocks, first) = (past.length.div_ceil(block), past.offset / block);
        let last = (first + blocks).saturating_sub(1);
        let verb = if past.reads { "Read" } else { "Wrote" };
        lines.push(format!(
            "{times}Record #{} - {verb} {} bytes ({blocks} blocks) Relative LBA's {first} - {last} (offset {})",
            past.record, past.length, past.offset
        ));
        let rows = past.pieces.iter().flat_map(|(start, piece)| {
            let at = (u64::from(*start)..).step_by(16);
            at.zip(piece.chunks(16))
        });
        for (at, bytes) in rows {
            let cells: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
            let text: String = bytes
                .iter()
                .map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' })
                .collect();
            lines.push(format!("    {at:>6} |{cells:<48} \"{text}\""));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn options(line: &str) -> Options {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), 4096).unwrap()
    }

    #[test]
    fn messages_have_the_numbers_of_the_pass_and_of_the_test() {
        let options = options("of=f limit=1m bs=4k passes=3 keepalivet=5");
        let pass = Part {
            records_written: 100,
            bytes_written: 409_600,
            elapsed_ns: 2_000_000_000,
            passes: 1,
            write_ns: (200_000_000, 1_000_000, 9_070_000),
            ..Part::default()
        };
        let total = Part { records_read: 50, bytes_read: 204_800, ..pass.clone() };
        let moment = Moment { pass, total, mode: "write", host: "h.example", user: "me" };
        let said = |text: &str| expand(text, &options, &moment);
        assert_eq!(
            said(MESSAGE),
            "f Stats: mode write, blocks 800, 0.391 Mbytes, pass 1/3, elapsed 00m02.00s"
        );
        assert_eq!(
            said("%iops %mbps %kbps %bps %spio %b/%B %c/%C %r/%R %w/%W"),
            "50.000 0.195 200.000 204800 0.0200 409600/614400 100/150 0/50 100/100"
        );
        assert_eq!(
            said("%h %H %u %thread %job %iodir %iotype %latency %latmax %latmin %z 100%% %"),
            "h h.example me 1 1 forward sequential 2.00ms 9.07ms 1.00ms %z 100% %"
        );
        assert_eq!(
            said(TOTAL),
            "f Totals: 1200 blocks, 0.586 Mbytes, errors 0/1, passes 1/3, elapsed 00m02.00s"
        );
    }

    #[test]
    fn a_test_that_does_not_move_is_told_and_triggers_once() {
        let watch = Watch { stuck: Some(5), trigger: Some(12), ..Watch::default() };
        let (mut dog, mut said) = (Watchdog::default(), Vec::new());
        for second in 0..=21u64 {
            let operations = if second < 2 { second } else { 2 };
            said.extend(dog.look(second * 1_000_000_000, operations, 1, &watch));
        }
        assert_eq!(said, [Stall::Warning(5), Stall::Warning(10), Stall::Trigger(12), Stall::Warning(15)]);
        assert!(dog.look(30_000_000_000, 3, 1, &watch).is_empty());
        assert!(dog.look(60_000_000_000, 3, 0, &watch).is_empty(), "nothing is outstanding");
        assert_eq!(dog.look(65_000_000_000, 3, 1, &watch), [Stall::Warning(5)]);
    }

    #[test]
    fn the_history_is_told_as_dt_does_the_newest_first() {
        let mut options = options("if=f history=2 hdsize=4 enable=htiming");
        let past = |number: u64, at_ns| HistoryEntry {
            at_ns,
            reads: true,
            record: number,
            offset: (number - 1) * 8192,
            length: 8192,
            pieces: vec![(0, vec![0x70, 0, 0, 0]), (512, vec![0x71])],
        };
        let kept = [past(7, 1_795_225_039_549_890_000), past(8, 1_795_225_039_549_891_500)];
        let lines = super::history(&options, &kept);
        assert_eq!(
            lines[2..5],
            [
                "1795225039.549891 (0.000001) Record #8 - Read 8192 bytes (16 blocks) Relative LBA's 112 - 127 (offset 57344)",
                "         0 | 70 00 00 00                                     \"p...\"",
                "       512 | 71                                              \"q\""
            ]
        );
        assert_eq!(lines.len(), 8);
        options.watch.history_times = false;
        assert!(super::history(&options, &kept)[2].starts_with("Record #8 - Read"));
    }
}
