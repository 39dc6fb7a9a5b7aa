//! dt's messages of a running test, with codes that stand for its numbers.

use super::options::Options;
use super::part::{Part, elapsed, latency};

/// dt's own message where `keepalive=` names no other.
pub const MESSAGE: &str = "%d Stats: mode %i, blocks %l, %m Mbytes, pass %p/%P, elapsed %t";
/// What it says of a pass without its statistics, behind "End of Write ".
pub const PASS: &str = "pass %p/%P, %l blocks, %m Mbytes, %c records, errors %e/%E, elapsed %t";
/// What it says of a whole test in brief.
pub const TOTAL: &str = "%d Totals: %L blocks, %M Mbytes, errors %e/%E, passes %p/%P, elapsed %T";

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
}
