//! `--explain`: reads a published report of sysbench, or a table made of several, and says what its figures contain.
//! Judges only by the figures given; where they do not fit together, says so.

use std::fmt::Write;

/// Says what a published text contains, line by line; `None` when nothing of sysbench is found in it.
pub fn explain(text: &str) -> Option<String> {
    let mut said = String::new();
    let table = Table::read(text);
    table.tell(&mut said);
    if let Some(report) = Report::read(text) {
        report.tell(&mut said);
    }
    (!said.is_empty()).then_some(said)
}

/// Numbers of a line, if it holds nothing else.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || c == '|').filter(|w| !w.is_empty()).collect();
    let numbers: Option<Vec<f64>> = words.iter().map(|word| word.replace(',', "").parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

/// A table of several systems: one column each.
#[derive(Debug, Default)]
struct Table {
    mixed_iops: Vec<f64>,
    mixed_read: Vec<f64>,
    mixed_written: Vec<f64>,
    sequential_iops: Vec<f64>,
    sequential_read: Vec<f64>,
}

/// Defaults of sysbench, which a table does not tell.
const BLOCK_KIB: f64 = 16.0;
const FILES: f64 = 128.0;
const FREQUENCY: f64 = 100.0;
const RATIO: f64 = 1.5;
/// Figures closer than this share are the same: a table's last digit.
const CLOSE: f64 = 0.05;

impl Table {
    fn read(text: &str) -> Self {
        let mut table = Table::default();
        let mut mixed = None;
        let mut label = String::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let lower = line.to_ascii_lowercase();
            if lower.contains("sysbench") {
                mixed = match () {
                    () if lower.contains("random") => Some(true),
                    () if lower.contains("sequential") => Some(false),
                    () => None,
                };
                label.clear();
                continue;
            }
            let Some(mixed) = mixed else { continue };
            let (words, rest) = match line.find(|c: char| c.is_ascii_digit()) {
                Some(at) if at > 0 => line.split_at(at),
                Some(_) => ("", line),
                None => (line, ""),
            };
            if !words.is_empty() {
                label = words.trim_matches(['|', ' ']).to_ascii_lowercase();
            }
            let Some(numbers) = numbers(rest) else { continue };
            let slot = match (mixed, &label[..]) {
                (true, "iops") => &mut table.mixed_iops,
                (true, label) if label.starts_with("read") => &mut table.mixed_read,
                (true, label) if label.starts_with("writ") => &mut table.mixed_written,
                (false, "iops") => &mut table.sequential_iops,
                (false, label) if label.starts_with("read") => &mut table.sequential_read,
                _ => continue,
            };
            if slot.is_empty() {
                *slot = numbers;
            }
        }
        table
    }

    fn tell(&self, said: &mut String) {
        let columns = self.mixed_iops.iter().zip(&self.mixed_read).zip(&self.mixed_written);
        for (number, ((iops, read), written)) in columns.enumerate() {
            tell_mixed(number + 1, *iops, *read, *written, said);
        }
        for (number, (iops, read)) in self.sequential_iops.iter().zip(&self.sequential_read).enumerate() {
            let kib = read * 1024.0 / iops;
            let fits = (kib / BLOCK_KIB - 1.0).abs() < CLOSE;
            let verdict = if fits {
                "I/O per second indeed, of one stream read ahead by the storage; no figure of random I/O"
            } else {
                "which is not sysbench's 16 KiB: the two figures are not of one run with its defaults"
            };
            let _ = writeln!(
                said,
                "System {}, sequential read: {iops:.0} IOPS of {kib:.1} KiB make {read} MiB/s: {verdict}.",
                number + 1
            );
        }
    }
}

fn tell_mixed(number: usize, iops: f64, read: f64, written: f64, said: &mut String) {
    let per_second = |mib: f64| mib * 1024.0 / BLOCK_KIB;
    let transfers = per_second(read + written);
    let syncs = transfers * FILES / FREQUENCY;
    let _ = writeln!(
        said,
        "System {number}, random r/w: the {iops:.0} \"IOPS\" are events: {read} + {written} MiB/s in blocks of 16 KiB are \
         {transfers:.0} I/O per second + {syncs:.0} fsync per second (128 files after every 100 requests) = {:.0}.",
        transfers + syncs
    );
    let ratio = read / written;
    if (ratio / RATIO - 1.0).abs() < CLOSE && ((transfers + syncs) / iops - 1.0).abs() < CLOSE {
        return;
    }
    let likely = iops / (1.0 + FILES / FREQUENCY);
    let mib = likely * BLOCK_KIB / 1024.0;
    let _ = writeln!(
        said,
        "  These figures do not fit together: sysbench reads 1.5 times for each write, and here it is {ratio:.2} times. \
         {iops:.0} events would be {likely:.0} I/O per second, read {:.1} and written {:.1} MiB/s.",
        mib * RATIO / (1.0 + RATIO),
        mib / (1.0 + RATIO)
    );
}

/// One report, of 1.0 or of 1.1.
#[derive(Debug, Default)]
struct Report {
    reads: f64,
    writes: f64,
    syncs: f64,
    events: Option<f64>,
    seconds: Option<f64>,
    mean_ms: Option<f64>,
    threads: f64,
    files: f64,
    asynchronous: bool,
    mapped: bool,
    direct: bool,
    sequential: bool,
    zeros: bool,
    forced: bool,
}

/// The number after a label, in a line that begins with it.
fn after(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().map(str::trim_start).find(|line| line.starts_with(label))?;
    let rest = line[label.len()..].trim_start_matches([' ', ':', '=']);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

impl Report {
    fn read(text: &str) -> Option<Self> {
        let newer = |label: &str| {
            let line = text.lines().map(str::trim_start).find(|line| line.starts_with(label))?;
            after(line.split_once("IOPS=")?.1.trim(), "")
        };
        let reads = after(text, "reads/s:").or_else(|| newer("read:"))?;
        let files = text.lines().find(|line| line.contains(" files, ")).and_then(|line| after(line, ""));
        Some(Report {
            reads,
            writes: after(text, "writes/s:").or_else(|| newer("write:")).unwrap_or(0.0),
            syncs: after(text, "fsyncs/s:").or_else(|| newer("fsync:")).unwrap_or(0.0),
            events: after(text, "total number of events:"),
            seconds: after(text, "total time:"),
            mean_ms: after(text, "avg:"),
            threads: after(text, "Number of threads:").unwrap_or(1.0),
            files: files.unwrap_or(FILES),
            asynchronous: text.contains("Using asynchronous I/O mode"),
            mapped: text.contains("Using fast mmaped I/O mode"),
            direct: text.contains("open flags") && text.contains("directio"),
            sequential: text.contains("Doing sequential"),
            zeros: !text.contains("Using checksums validation"),
            forced: text.contains("forcing shutdown"),
        })
    }

    fn tell(&self, said: &mut String) {
        let Report { reads, writes, syncs, threads, files, .. } = *self;
        let transfers = reads + writes;
        if let (Some(events), Some(seconds)) = (self.events, self.seconds.filter(|seconds| *seconds > 0.0)) {
            let rate = events / seconds;
            let in_events = (rate - transfers).max(0.0);
            let _ = writeln!(
                said,
                "{rate:.0} events per second are {transfers:.0} I/O per second ({reads:.0} reads, {writes:.0} writes) + \
                 {in_events:.0} fsync per second."
            );
            let at_end = (syncs - in_events) * seconds;
            if writes > 0.0 && at_end > 0.5 {
                let _ = writeln!(
                    said,
                    "fsyncs/s ({syncs:.0}) also counts about {at_end:.0} fsyncs after the load ({threads:.0} threads x {files:.0} files), \
                     which are no events."
                );
            }
            if let Some(mean) = self.mean_ms.filter(|_| in_events > MANY * rate) {
                let _ = writeln!(
                    said,
                    "The average latency of {mean} ms is that of reads, writes and fsyncs together, so it is no I/O latency."
                );
            }
        }
        self.tell_traps(transfers, said);
    }

    fn tell_traps(&self, transfers: f64, said: &mut String) {
        if self.asynchronous && transfers > 0.0 {
            let flight = self.threads * 128.0;
            let _ = writeln!(
                said,
                "Asynchronous: the latencies are those of the call that submits. With up to {flight:.0} requests in flight \
                 (--file-async-backlog=128) the true average is up to {:.2} ms (in flight / I/O per second).",
                flight / transfers * 1e3
            );
        }
        if !self.direct || self.mapped {
            let _ = writeln!(said, "The page cache was in use: what fits into memory measured memory.");
        }
        if self.sequential && self.threads > 1.0 {
            let _ = writeln!(said, "{:.0} threads took turns in one sequential stream.", self.threads);
        }
        if self.zeros {
            let _ =
                writeln!(said, "The data were zeros, which some storage compresses away or never stores.");
        }
        if self.forced {
            let _ = writeln!(
                said,
                "The run was broken off at its time limit; what was under way is not counted."
            );
        }
    }
}

/// A share of fsyncs that makes latencies something else.
const MANY: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Sysbench random r/w       \n\nIOPS\n\n989 1064 969\n\nRead MiB/s\n\n4.1 4.4 4.9\n\nWrite MiB/s\n\n\
        2.7 2.9 2.7\n\nSysbench sequential read      \n\nIOPS\n\n15280 30431 16828\n\nRead MiB/s\n\n239 475 263\n";

    #[test]
    fn the_published_table_holds_more_fsyncs_than_io() {
        let said = explain(TABLE).unwrap();
        assert!(said.contains("435 I/O per second + 557 fsync per second"), "{said}");
        assert!(said.contains("467 I/O per second + 598 fsync per second"), "{said}");
        assert_eq!(said.matches("do not fit together").count(), 1, "{said}");
        assert!(said.contains("read 4.0 and written 2.7 MiB/s"), "{said}");
        assert!(said.contains("15280 IOPS of 16.0 KiB"), "{said}");
    }

    #[test]
    fn a_report_is_taken_apart() {
        let report = "Number of threads: 1\nExtra file open flags: directio\n128 files, 2MiB each\nUsing synchronous I/O mode\n\
            Doing random r/w test\nFile operations:\n    reads/s:                      1598.90\n    writes/s:                     1066.00\n\
            \x20   fsyncs/s:                     3415.66\n    total time:                          5.0205s\n\
            \x20   total number of events:              30406\n         avg:                                    0.16\n";
        let said = explain(report).unwrap();
        assert!(said.contains("6056 events per second are 2665 I/O per second (1599 reads, 1066 writes) + 3391 fsync per second"), "{said}");
        assert!(said.contains("no I/O latency"), "{said}");
        assert!(!said.contains("page cache"), "{said}");
    }

    #[test]
    fn the_newer_layout_is_read_too() {
        let said = explain("Number of threads: 2\n  read:  IOPS=1598.90 24.98 MiB/s (26.20 MB/s)\n  write: IOPS=1066.00 16.66 MiB/s\n\
            \x20 fsync: IOPS=3415.66\nUsing asynchronous I/O mode\n").unwrap();
        assert!(said.contains("up to 96.06 ms"), "{said}");
        assert!(said.contains("page cache"), "{said}");
    }

    #[test]
    fn a_text_without_sysbench_is_said_to_be_one() {
        assert_eq!(explain("nothing of that kind"), None);
        assert_eq!(explain(""), None);
    }
}
