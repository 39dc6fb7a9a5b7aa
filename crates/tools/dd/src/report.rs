//! The lines of dd's statistics, to the letter. Numbers are rounded as coreutils rounds them.

use fathom_render::number::{PREFIXES, rate};
use std::io::{self, Write};

/// What is said when there was less input than was to be skipped.
pub const SHORT_SKIP: &str = "cannot skip to specified offset";

/// What was moved so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Blocks read in full, and short ones.
    pub records_in: (u64, u64),
    /// Blocks written in full, and short ones.
    pub records_out: (u64, u64),
    /// Lines that were longer than a record.
    pub truncated: u64,
    /// Bytes written.
    pub bytes: u64,
    /// How long it took, ns.
    pub elapsed_ns: u64,
}

impl Moved {
    /// The two lines of the records, and one of truncated ones.
    pub fn records(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}+{} records in", self.records_in.0, self.records_in.1)?;
        writeln!(out, "{}+{} records out", self.records_out.0, self.records_out.1)?;
        match self.truncated {
            0 => Ok(()),
            1 => writeln!(out, "1 truncated record"),
            more => writeln!(out, "{more} truncated records"),
        }
    }

    /// The line of the transfer, without its end.
    pub fn transfer(&self) -> String {
        self.line(&general(self.elapsed_ns as f64 / 1e9))
    }

    /// The line of progress, without its end.
    pub fn progress(&self) -> String {
        self.line(&format!("{:.0}", self.elapsed_ns as f64 / 1e9))
    }

    fn line(&self, seconds: &str) -> String {
        let (si, iec) = (amount(self.bytes, 1000), amount(self.bytes, 1024));
        let unit = if self.bytes == 1 { "byte" } else { "bytes" };
        let amounts = match (si, iec) {
            (Some(si), Some(iec)) => format!(" ({si}, {iec})"),
            (Some(si), None) => format!(" ({si})"),
            _ => String::new(),
        };
        let rate = match self.elapsed_ns {
            0 => "Infinity B".to_owned(),
            ns => rate(self.bytes as f64 * 1e9 / ns as f64),
        };
        format!("{} {unit}{amounts} copied, {seconds} s, {rate}/s", self.bytes)
    }
}

/// A number of bytes with a prefix: one decimal below 10, none above, halves to even. `None` where there is no prefix.
pub fn amount(bytes: u64, base: u64) -> Option<String> {
    let (bytes, base) = (u128::from(bytes), u128::from(base));
    let mut exponent = 0;
    let mut unit = 1;
    while unit * base <= bytes {
        unit *= base;
        exponent += 1;
    }
    if exponent == 0 {
        return None;
    }
    let even = |value: u128, unit: u128| {
        let (whole, rest) = (value / unit, value % unit);
        let up = rest * 2 > unit || (rest * 2 == unit && whole % 2 == 1);
        whole + u128::from(up)
    };
    let tenths = even(bytes * 10, unit);
    let number = if tenths < 100 {
        format!("{}.{}", tenths / 10, tenths % 10)
    } else {
        match even(bytes, unit) {
            whole if whole == base => {
                exponent += 1;
                "1.0".to_owned()
            }
            whole => whole.to_string(),
        }
    };
    let prefix = PREFIXES[exponent - 1];
    Some(match base {
        1024 => format!("{number} {}iB", prefix.to_ascii_uppercase()),
        _ => format!("{number} {prefix}B"),
    })
}

/// C's `%g`: six significant digits, no trailing zeros.
pub fn general(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{value:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

/// `dd --help`.
pub fn help(out: &mut impl Write) -> io::Result<()> {
    out.write_all(
        b"Usage: dd [OPERAND]...
  or:  dd --classic [--size SIZE] [DIRECTORY]
Copies as coreutils' dd does, and keeps what was seen (fathom show).

  if=FILE of=FILE             from and to; without them standard input and output
  bs= ibs= obs=BYTES          bytes of a read, of a write [512]
  count=N skip=N seek=N       blocks to copy, to leave out, to step over; N ending in B counts bytes
  cbs=BYTES                   length of a record, for block and unblock
  conv=ascii,ebcdic,ibm,block,unblock,lcase,ucase,sparse,swab,sync,excl,nocreat,notrunc,noerror,fdatasync,fsync
  iflag= oflag=append,direct,directory,dsync,sync,fullblock,nonblock,noatime,nocache,noctty,nofollow,
               count_bytes,skip_bytes,seek_bytes
  status=none|noxfer|progress

Suffixes: c=1 w=2 b=512 kB=1000 K=1024 MB M GB G ... and KiB, MiB, ...; AxB is a product.
SIGUSR1 prints the statistics so far. A block device that holds something is written only with FATHOM_WRITE_CONSENT=NAME.

  --classic                   writes 1 GB and reads it back, with and without the page cache, side by side
",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_as_coreutils_does() {
        let cases = [
            (999, None, None),
            (1000, Some("1.0 kB"), None),
            (1023, Some("1.0 kB"), None),
            (1024, Some("1.0 kB"), Some("1.0 KiB")),
            (2000, Some("2.0 kB"), Some("2.0 KiB")),
            (9999, Some("10 kB"), Some("9.8 KiB")),
            (10239, Some("10 kB"), Some("10 KiB")),
            (99999, Some("100 kB"), Some("98 KiB")),
            (999950, Some("1.0 MB"), Some("977 KiB")),
            (1048575, Some("1.0 MB"), Some("1.0 MiB")),
            (67108864, Some("67 MB"), Some("64 MiB")),
            (1073741824, Some("1.1 GB"), Some("1.0 GiB")),
            (32170311680, Some("32 GB"), Some("30 GiB")),
        ];
        for (bytes, si, iec) in cases {
            assert_eq!(
                (amount(bytes, 1000).as_deref(), amount(bytes, 1024).as_deref()),
                (si, iec),
                "{bytes}"
            );
        }
    }

    #[test]
    fn lines_are_those_of_coreutils() {
        let moved = |bytes, elapsed_ns| Moved { bytes, elapsed_ns, ..Moved::default() }.transfer();
        assert_eq!(
            moved(67108864, 90_499_500),
            "67108864 bytes (67 MB, 64 MiB) copied, 0.0904995 s, 742 MB/s"
        );
        assert_eq!(moved(3, 55_664), "3 bytes copied, 5.5664e-05 s, 53.9 kB/s");
        assert_eq!(moved(0, 47_107), "0 bytes copied, 4.7107e-05 s, 0.0 kB/s");
        assert_eq!(moved(7, 100_777_000), "7 bytes copied, 0.100777 s, 0.1 kB/s");
        assert_eq!(moved(1, 0), "1 byte copied, 0 s, Infinity B/s");
        let moved = Moved { bytes: 32170311680, elapsed_ns: 999_000_000, ..Moved::default() };
        assert_eq!(moved.progress(), "32170311680 bytes (32 GB, 30 GiB) copied, 1 s, 32.2 GB/s");
    }

    #[test]
    fn seconds_have_six_digits() {
        for (value, text) in [
            (0.0904995, "0.0904995"),
            (5.5664e-05, "5.5664e-05"),
            (12.0, "12"),
            (123456.7, "123457"),
            (1.99969, "1.99969"),
            (0.00127426, "0.00127426"),
            (1234567.0, "1.23457e+06"),
            (0.5, "0.5"),
        ] {
            assert_eq!(general(value), text);
        }
    }
}
