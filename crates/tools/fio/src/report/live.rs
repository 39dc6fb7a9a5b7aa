//! The line that is shown while jobs run.

use super::number::{Base, Suffix, short};
use std::io::{self, Write};

/// What is known at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// Jobs that are running.
    pub running: u32,
    /// Files they have open.
    pub files: u32,
    /// A letter for each job in the order of the job file: `P` not started, `C` made, `I` ready, `/` in its ramp, `R r W w
    /// M m D d` at work, `F` syncing, `V` verifying, `f` ending, `E` ended, `_` gone, `X` failed, `K` killed.
    pub states: Vec<char>,
    /// How much of it is done, percent, where that can be told.
    pub done_percent: Option<f64>,
    /// Bytes a second since the last line: reads, writes, trims; `None` where a direction is not asked for.
    pub bandwidth: [Option<u64>; 3],
    /// I/Os a second since the last line.
    pub iops: [Option<u64>; 3],
    /// Seconds left, where that can be told.
    pub left_seconds: Option<u64>,
}

/// Writes the line, without an end: the caller returns the carriage or ends it.
pub fn write(live: &Live, out: &mut impl Write) -> io::Result<()> {
    let Live { running, files, states, done_percent, bandwidth, iops, left_seconds } = live;
    let done = done_percent.map_or("-.-%".to_owned(), |percent| format!("{percent:.1}%"));
    let rates = listed(bandwidth, |value| short(value, 4, Suffix::BytesPerSecond(Base::Two)));
    let counts = listed(iops, |value| short(value, 4, Suffix::Count));
    let left = left_seconds.map_or("--".to_owned(), clock);
    write!(
        out,
        "Jobs: {running} (f={files}): [{}][{done}][{rates}][{counts} IOPS][eta {left}]",
        condensed(states)
    )
}

fn listed(values: &[Option<u64>; 3], text: impl Fn(u64) -> String) -> String {
    let names = ["r", "w", "t"];
    let there = names.iter().zip(values).filter_map(|(name, value)| Some((name, (*value)?)));
    there.map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(",")
}

/// Letters in runs: `w(3),E(1)`.
pub fn condensed(states: &[char]) -> String {
    let runs = states.chunk_by(|a, b| a == b);
    runs.map(|run| format!("{}({})", run[0], run.len())).collect::<Vec<_>>().join(",")
}

/// `00m:01s`, with hours and days in front where there are any.
fn clock(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    let days_text = if days > 0 { format!("{days:02}d:") } else { String::new() };
    let hours_text = if days > 0 || hours > 0 { format!("{hours:02}h:") } else { String::new() };
    format!("{days_text}{hours_text}{minutes:02}m:{:02}s", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_as_the_manual_shows_it() {
        let live = Live {
            running: 2,
            files: 2,
            states: vec!['_', 'M', 'M'],
            done_percent: Some(24.84),
            bandwidth: [Some(21_495_808), Some(24_641_536), None],
            iops: [Some(82), Some(94), None],
            left_seconds: Some(91),
        };
        let mut text = Vec::new();
        write(&live, &mut text).unwrap();
        let expected =
            "Jobs: 2 (f=2): [_(1),M(2)][24.8%][r=20.5MiB/s,w=23.5MiB/s][r=82,w=94 IOPS][eta 01m:31s]";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!(clock(90_061), "01d:01h:01m:01s");
    }
}
