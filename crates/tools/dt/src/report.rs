//! dt's statistics, in the layout of dt 26 and in that of 2008.

use super::message::{Moment, PASS, TOTAL, expand};
use super::options::{Layout, Options, Stats};
use super::part::{Part, Totals, elapsed, latency};
use super::plan::{Half, pattern_text};
use super::shape::{Mode, Percent};
use std::io::{self, Write};

/// The system that a test runs on, for the new layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemInfo {
    /// Lines of the operating system: name, value.
    pub system: Vec<(String, String)>,
    /// Lines of the file system.
    pub file_system: Vec<(String, String)>,
    /// `regular`, `block` or `character`.
    pub kind: &'static str,
    /// The version of fathom.
    pub version: String,
    /// The host's name.
    pub host: String,
    /// The user's.
    pub user: String,
}

/// Writes statistics of one test.
pub struct Report<'a> {
    /// As it was asked for.
    pub options: &'a Options,
    /// The system that it runs on.
    pub system_info: &'a SystemInfo,
}

impl Report<'_> {
    fn old(&self) -> bool {
        self.options.layout == Layout::Old
    }

    /// What stands before each line.
    pub fn prefix(&self) -> String {
        if self.old() { String::new() } else { format!("dt (j:1 t:{}): ", self.options.crew.thread) }
    }

    /// One line with its prefix.
    pub fn line(&self, text: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}{text}", self.prefix())
    }

    fn field(&self, name: &str, value: impl std::fmt::Display, out: &mut impl Write) -> io::Result<()> {
        let width = if self.old() { 28 } else { 30 };
        self.line(&format!("{name:>width$}: {value}"), out)
    }

    fn head(&self, title: &str, out: &mut impl Write) -> io::Result<()> {
        self.line("", out)?;
        self.line(title, out)
    }

    fn job(&self, out: &mut impl Write) -> io::Result<()> {
        if self.old() {
            return Ok(());
        }
        self.field("Job Information Reported", format!("Job 1, Thread {}", self.options.crew.thread), out)
    }

    fn pattern(&self, pass: u64, out: &mut impl Write) -> io::Result<()> {
        if self.options.pairs() {
            return Ok(());
        }
        let name = if self.options.writes() { "Data pattern read/written" } else { "Data pattern read" };
        let off = if self.options.compare { "" } else { " (data compare disabled)" };
        self.field(name, format!("{}{off}", pattern_text(self.options, pass)), out)
    }

    /// The statistics of one half of a pass.
    pub fn pass(&self, part: &Part, half: Half, pass: u64, out: &mut impl Write) -> io::Result<()> {
        let (options, title) = (self.options, half.title());
        match options.stats {
            Stats::None | Stats::Brief => return Ok(()),
            Stats::Full if !options.pass_statistics => {
                let moment =
                    Moment { pass: part.clone(), total: part.clone(), mode: half.mode(), ..self.moment() };
                let message = options.watch.at_pass.as_deref().unwrap_or(PASS);
                return self.line(&format!("End of {title} {}", expand(message, options, &moment)), out);
            }
            Stats::Full => {}
        }
        self.head(&format!("{title} Statistics:"), out)?;
        self.job(out)?;
        if !self.old() {
            self.pattern(pass, out)?;
        }
        self.amounts(part, Some(half), out)?;
        self.rates(part, out)?;
        self.alone(part, out)?;
        self.times(part, !self.old(), out)
    }

    fn moment(&self) -> Moment<'_> {
        Moment { host: &self.system_info.host, user: &self.system_info.user, ..Moment::default() }
    }

    /// `half`: whose records; none: those of the whole test.
    fn amounts(&self, part: &Part, half: Option<Half>, out: &mut impl Write) -> io::Result<()> {
        let records = |writes| self.options.records_of(writes);
        let sizes = match half {
            Some(half) => records(half.writes() || half == Half::Copy).text(),
            None if !self.options.writes() => records(self.options.mode == Mode::Copy).text(),
            None if records(true) == records(false) => records(true).text(),
            None => format!("with ibs={}, obs={}", records(false).most, records(true).most),
        };
        self.field("Total records processed", format!("{} {sizes}", part.records()), out)?;
        self.field("Total bytes transferred", amount(part.bytes()), out)
    }

    fn rates(&self, part: &Part, out: &mut impl Write) -> io::Result<()> {
        let seconds = part.elapsed_ns.max(1) as f64 / 1e9;
        let rate = part.bytes() as f64 / seconds;
        let mbytes = if self.old() { String::new() } else { format!(", {:.3} Mbytes/sec", rate / 1048576.0) };
        self.field(
            "Average transfer rates",
            format!("{rate:.0} bytes/sec, {:.3} Kbytes/sec{mbytes}", rate / 1024.0),
            out,
        )
    }

    fn per_second(&self, part: &Part, out: &mut impl Write) -> io::Result<()> {
        let seconds = part.elapsed_ns.max(1) as f64 / 1e9;
        let records = part.records() as f64;
        self.field("Number I/O's per second", format!("{:.3}", records / seconds), out)?;
        if !self.old() && records > 0.0 {
            let each = seconds / records;
            self.field("Number seconds per I/O", format!("{each:.4} ({:.2}ms)", each * 1e3), out)?;
        }
        Ok(())
    }

    /// fathom's own line: what the storage did, comparing left out.
    fn alone(&self, part: &Part, out: &mut impl Write) -> io::Result<()> {
        if self.options.strict || part.io_ns == 0 {
            return Ok(());
        }
        let rate = part.bytes() as f64 * 1e9 / part.io_ns as f64;
        self.field(
            "Rates of the I/O alone",
            format!("{rate:.0} bytes/sec, {:.3} Kbytes/sec", rate / 1024.0),
            out,
        )
    }

    fn times(&self, part: &Part, days: bool, out: &mut impl Write) -> io::Result<()> {
        self.per_second(part, out)?;
        self.field("Total passes completed", format!("{}/{}", part.passes, self.options.passes), out)?;
        self.field("Total errors detected", format!("{}/{}", part.errors, self.options.errors), out)?;
        self.field("Total elapsed time", elapsed(part.elapsed_ns), out)?;
        self.field("Total system time", elapsed(part.system_ns), out)?;
        self.field("Total user time", elapsed(part.user_ns), out)?;
        if days {
            self.field("Starting time", &part.started, out)?;
            self.field("Ending time", &part.ended, out)?;
        }
        Ok(())
    }

    /// The statistics of everything, and in the new layout the system and the command lines.
    pub fn total(&self, total: &Totals, out: &mut impl Write) -> io::Result<()> {
        let options = self.options;
        match options.stats {
            Stats::None => return Ok(()),
            Stats::Brief => {
                let moment = Moment { pass: total.clone(), total: total.clone(), ..self.moment() };
                let message = options.watch.at_end.as_deref().unwrap_or(TOTAL);
                self.line(&expand(message, options, &moment), out)?;
                return self.command(out);
            }
            Stats::Full => {}
        }
        if !self.old() {
            for (title, lines) in [
                ("Operating System Information:", &self.system_info.system),
                ("File System Information:", &self.system_info.file_system),
            ] {
                if !lines.is_empty() {
                    self.head(title, out)?;
                    lines.iter().try_for_each(|(name, value)| self.field(name, value, out))?;
                }
            }
        }
        self.head("Total Statistics:", out)?;
        if !options.writes() || options.mode == Mode::Mirror {
            let name = options.input.as_deref().unwrap_or_default();
            self.field(
                "Input device/file name",
                format!("{name} (device type={})", self.system_info.kind),
                out,
            )?;
        }
        if let Some(name) = &options.output {
            self.field(
                "Output device/file name",
                format!("{name} (device type={})", self.system_info.kind),
                out,
            )?;
        }
        self.field("Type of I/O's performed", self.kind_of_io(), out)?;
        if options.random {
            let align = options.shape.random_align.unwrap_or(options.block);
            let length = options.limit.unwrap_or(total.bytes());
            let within = options.shape.random_within.map_or(length, |within| within.min(length));
            let text = format!("offset={}, ralign={align}, rlimit={within}", options.start());
            self.field("Random I/O Parameters", text, out)?;
        }
        self.job(out)?;
        self.pattern(total.passes.max(1), out)?;
        if !self.old() {
            let giga = |bytes: u64| {
                let amount = amount(bytes);
                format!("{}, {:.3} Gbytes)", amount.trim_end_matches(')'), bytes as f64 / 1073741824.0)
            };
            let shares = options.shape.reads.is_some();
            let share = |records: u64| match shares {
                true => format!("{records} ({}%)", (records * 100).checked_div(total.records()).unwrap_or(0)),
                false => records.to_string(),
            };
            self.field("Total records read", share(total.records_read), out)?;
            self.field("Total bytes read", giga(total.bytes_read), out)?;
            self.field("Total records written", share(total.records_written), out)?;
            self.field("Total bytes written", giga(total.bytes_written), out)?;
        }
        self.amounts(total, None, out)?;
        self.rates(total, out)?;
        self.alone(total, out)?;
        if !self.old() {
            self.latencies(total, out)?;
        }
        self.times(total, true, out)?;
        if self.old() {
            return Ok(());
        }
        // Where shares decided what was written, no command line reads just that.
        if options.writes() && options.shape.reads.is_none() {
            self.head("Command line to re-read the data:", out)?;
            self.line(&format!("    # dt {}", self.reread(total)), out)?;
        }
        self.line("", out)?;
        self.command(out)
    }

    fn latencies(&self, total: &Totals, out: &mut impl Write) -> io::Result<()> {
        for (name, (sum, least, most), count) in [
            ("Average read latency", total.read_ns, total.records_read),
            ("Average write latency", total.write_ns, total.records_written),
            ("Average total latency", total.latency_ns(), total.records()),
        ] {
            if count > 0 && most > 0 {
                let mean = latency(sum / count);
                self.field(name, format!("{mean} (min {}, max {})", latency(least), latency(most)), out)?;
            }
        }
        Ok(())
    }

    /// The words that read the same data again.
    pub fn reread(&self, total: &Totals) -> String {
        let options = self.options;
        let passes = total.passes.max(1);
        let each = total.bytes_written.checked_div(passes).unwrap_or(0);
        let records = total.records_written.checked_div(passes).unwrap_or(0);
        let how = if options.random { "random" } else { "sequential" };
        let direction = if options.shape.reverse { "reverse" } else { "forward" };
        let drawn = options.random || options.shape.random_writes.is_some() || options.shape.varies();
        // A walk at random is the same only over the same stretch.
        let each = if drawn { options.limit.unwrap_or(each) } else { each };
        let mut words = format!(
            "if={} {} dsize={} iotype={how} iodir={direction} limit={each}",
            options.reads_from(),
            options.records_of(false).words(),
            options.block
        );
        match (options.records_of(false) == options.records_of(true), drawn) {
            (true, false) => words += &format!(" records={records}"),
            (true, true) if options.records > 0 => words += &format!(" records={}", options.records),
            _ => {}
        }
        if let Some(percent) = options.shape.random_writes {
            words += &format!(" randp={}", percent.value(options.random_seed));
        }
        if drawn {
            words += &format!(" rseed=0x{:x}", options.random_seed);
        }
        for (name, bytes) in [("ralign", options.shape.random_align), ("rlimit", options.shape.random_within)]
        {
            words += &bytes.map_or_else(String::new, |bytes| format!(" {name}={bytes}"));
        }
        if options.start() > 0 {
            words += &format!(" position={}", options.start());
        }
        words += &match &options.pattern {
            super::Pattern::Iot => {
                let pass = options.iot_pass.wrapping_add(passes as u32 - 1);
                format!(" pattern=iot iotseed=0x{:08x} iotpass={pass}", options.iot_seed)
            }
            super::Pattern::Incrementing => " pattern=incr".to_owned(),
            super::Pattern::Text(text) => {
                format!(" pattern='{}'", String::from_utf8_lossy(text).escape_default())
            }
            super::Pattern::File(name) => format!(" pf={name}"),
            _ => format!(" pattern={}", pattern_text(options, passes)),
        };
        for (given, word) in
            [(options.numbered, "lbdata"), (options.timestamp, "timestamp"), (options.tags, "btags")]
        {
            words += &if given { format!(" enable={word}") } else { String::new() };
        }
        if let Some(prefix) = &options.prefix {
            words += &format!(" prefix='{prefix}'");
        }
        if options.direct {
            words += " flags=direct";
        }
        words
    }

    /// Order and direction.
    fn kind_of_io(&self) -> String {
        let (shape, seed) = (&self.options.shape, self.options.random_seed);
        let all = if self.options.random { Percent::Of(100) } else { Percent::Of(0) };
        if shape.reads.is_some() || shape.random_reads.is_some() || shape.random_writes.is_some() {
            let reads =
                shape.reads.map_or_else(String::new, |reads| format!("reads {}%, ", reads.value(seed)));
            let random = |percent: Option<Percent>| percent.unwrap_or(all).value(seed);
            let (read, written) = (random(shape.random_reads), random(shape.random_writes));
            return format!(
                "percentages ({reads}random {read}% of reads, {written}% of writes, rseed=0x{seed:x})"
            );
        }
        if self.options.random {
            return format!("random (rseed=0x{seed:x})");
        }
        let direction = if shape.reverse { "reverse" } else { "forward" };
        match shape.increment {
            Some(super::shape::Increment::Variable) => format!("sequential ({direction}, rseed=0x{seed:x})"),
            _ => format!("sequential ({direction})"),
        }
    }

    fn command(&self, out: &mut impl Write) -> io::Result<()> {
        self.line("Command Line:", out)?;
        self.line("", out)?;
        self.line(&format!("    # dt {}", self.options.typed.join(" ")), out)?;
        self.line("", out)?;
        self.line(&format!("        --> fathom {}, speaking as dt 26.3 <--", self.system_info.version), out)?;
        self.line("", out)
    }
}

fn amount(bytes: u64) -> String {
    let bytes_f = bytes as f64;
    format!("{bytes} ({:.3} Kbytes, {:.3} Mbytes)", bytes_f / 1024.0, bytes_f / 1048576.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn told(line: &str, write: impl Fn(&Report, &mut Vec<u8>) -> io::Result<()>) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let options = parse(&words, 4096).unwrap();
        let system_info =
            SystemInfo { kind: "regular", version: "0.1.0".to_owned(), ..SystemInfo::default() };
        let mut out = Vec::new();
        write(&Report { options: &options, system_info: &system_info }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The write half of the article of 2008.
    fn article() -> Part {
        Part {
            records_written: 1024,
            bytes_written: 1 << 30,
            elapsed_ns: 36_950_000_000,
            system_ns: 190_000_000,
            user_ns: 6_300_000_000,
            ..Part::default()
        }
    }

    #[test]
    fn the_layout_of_2008_is_the_articles() {
        let line = "of=1G limit=1g bs=1m dispose=keep flags=direct --layout 2008 --strict";
        let text = told(line, |report, out| report.pass(&article(), Half::Write, 1, out));
        let expected = "
Write Statistics:
     Total records processed: 1024 @ 1048576 bytes/record (1024.000 Kbytes)
     Total bytes transferred: 1073741824 (1048576.000 Kbytes, 1024.000 Mbytes)
      Average transfer rates: 29059319 bytes/sec, 28378.241 Kbytes/sec
     Number I/O's per second: 27.713
      Total passes completed: 0/1
       Total errors detected: 0/1
          Total elapsed time: 00m36.95s
           Total system time: 00m00.19s
             Total user time: 00m06.30s
";
        assert_eq!(text, expected);
        let total = Part {
            started: "Fri Nov 14 15:09:12 2008".to_owned(),
            ended: "Fri Nov 14 15:10:10 2008".to_owned(),
            ..article()
        };
        let text = told(line, |report, out| report.total(&total, out));
        assert!(text.starts_with("\nTotal Statistics:\n     Output device/file name: 1G (device type=regular)\n     Type of I/O's performed: sequential (forward)\n   Data pattern read/written: 0x39c39c39\n"), "{text}");
        assert!(text.ends_with("               Starting time: Fri Nov 14 15:09:12 2008\n                 Ending time: Fri Nov 14 15:10:10 2008\n"), "{text}");
    }

    #[test]
    fn the_layout_of_dt_26_has_its_prefix_and_columns() {
        let part = Part {
            records_written: 64,
            bytes_written: 64 << 20,
            elapsed_ns: 129_825_172,
            write_ns: (67_000_000, 652_000, 6_360_000),
            ..Part::default()
        };
        let line = "of=1G limit=64m bs=1m dispose=keep flags=direct --strict";
        let text = told(line, |report, out| report.pass(&part, Half::Write, 1, out));
        for line in [
            "dt (j:1 t:1): \ndt (j:1 t:1): Write Statistics:\ndt (j:1 t:1):       Job Information Reported: Job 1, Thread 1\n",
            "dt (j:1 t:1):      Data pattern read/written: 0x39c39c39\n",
            "dt (j:1 t:1):        Total records processed: 64 @ 1048576 bytes/record (1024.000 Kbytes)\n",
            "Mbytes/sec\ndt (j:1 t:1):        Number I/O's per second: 492.971\ndt (j:1 t:1):         Number seconds per I/O: 0.0020 (2.03ms)\n",
            "dt (j:1 t:1):         Total passes completed: 0/1\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let text = told(line, |report, out| report.total(&Part { passes: 1, ..part.clone() }, out));
        assert!(
            text.contains("dt (j:1 t:1):          Average write latency: 1.05ms (min 652us, max 6.36ms)\n"),
            "{text}"
        );
        assert!(text.contains("    # dt if=1G bs=1048576 dsize=512 iotype=sequential iodir=forward limit=67108864 records=64 pattern=0x39c39c39 flags=direct\n"), "{text}");
        let text = told("if=1G limit=64m bs=1m stats=brief", |report, out| {
            report.total(
                &Part { bytes_read: 64 << 20, passes: 1, elapsed_ns: 90_000_000, ..Part::default() },
                out,
            )
        });
        assert!(text.starts_with("dt (j:1 t:1): 1G Totals: 131072 blocks, 64.000 Mbytes, errors 0/1, passes 1/1, elapsed 00m00.09s\ndt (j:1 t:1): Command Line:\n"), "{text}");
    }

    #[test]
    fn shapes_are_named_as_dt_names_them() {
        let part = |reads, writes| Part {
            records_read: reads,
            records_written: writes,
            bytes_written: 1 << 20,
            passes: 1,
            ..Part::default()
        };
        let total = |line: &str, part: Part| {
            told(&format!("of=f limit=64m {line}"), |report, out| report.total(&part, out))
        };
        let text = total("min=4096 max=65536 incr=variable rseed=0x2a", part(1844, 1844));
        for line in [
            "dt (j:1 t:1):        Total records processed: 3688 with min=4096, max=65536, incr=variable\n",
            "dt (j:1 t:1):        Type of I/O's performed: sequential (forward, rseed=0x2a)\n",
            "    # dt if=f min=4096 max=65536 incr=variable dsize=512 iotype=sequential iodir=forward limit=67108864 rseed=0x2a pattern=0x39c39c39\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let text = total("bs=4k readp=70 randp=100 disable=verify", part(473, 212));
        assert!(text.contains("          Total records read: 473 (69%)\n"), "{text}");
        assert!(!text.contains("re-read"), "{text}");
        let text = total("bs=4k iotype=random", part(8, 8));
        for line in [
            "       Type of I/O's performed: random (rseed=0x2a)\n",
            "         Random I/O Parameters: offset=0, ralign=512, rlimit=67108864\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let text = total("obs=8k ibs=4k iodir=reverse", part(16, 8));
        for line in [
            "       Type of I/O's performed: sequential (reverse)\n",
            "       Total records processed: 24 with ibs=4096, obs=8192\n",
            "    # dt if=f bs=4096 dsize=512 iotype=sequential iodir=reverse limit=1048576 pattern=0x39c39c39\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
