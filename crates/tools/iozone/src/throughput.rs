//! Throughput mode (`-t`): which of its phases are measured, and its report.

use super::phase_names::{PHASES, PhaseNames};
use super::{Options, Test, Unit};
use std::io::{self, Write};

const KIB: f64 = 1024.0;

/// The phases that are measured.
pub fn phases(options: &Options) -> Vec<Test> {
    let many = options.workers.is_some_and(|workers| workers > 1);
    let wanted = |phase: &&PhaseNames| match options.tests.is_empty() {
        true => many || phase.1 != Test::Mixed,
        false => options.tests.contains(&phase.0),
    };
    PHASES.iter().filter(wanted).map(|phase| phase.1).collect()
}

/// What one worker of a phase did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Child {
    /// Bytes that it moved.
    pub bytes: u64,
    /// From its first operation to its last one, seconds.
    pub seconds: f64,
}

/// What was seen of a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Which.
    pub test: Test,
    /// Each worker.
    pub children: Vec<Child>,
    /// From the first operation of all to the last one, seconds.
    pub seconds: f64,
}

impl Phase {
    fn names(&self) -> &'static PhaseNames {
        PHASES.iter().find(|phase| phase.1 == self.test).unwrap_or(&PHASES[0])
    }

    /// The sum of what the workers saw, in the unit that was asked for.
    fn sum(&self, options: &Options) -> f64 {
        self.children.iter().map(|child| rate(options, child.bytes, child.seconds)).sum()
    }
}

/// Bytes in the unit that was asked for.
fn amount(options: &Options, bytes: u64) -> f64 {
    match options.unit {
        Unit::Operations => bytes as f64 / options.one_row().1 as f64,
        _ => bytes as f64 / KIB,
    }
}

fn rate(options: &Options, bytes: u64, seconds: f64) -> f64 {
    amount(options, bytes) / seconds.max(1e-9)
}

fn process(options: &Options) -> &'static str {
    if options.threads { "thread" } else { "process" }
}

fn unit(options: &Options) -> &'static str {
    if options.unit == Unit::Operations { "ops" } else { "kB" }
}

/// The lines before the first phase.
pub fn beginning(options: &Options, out: &mut impl Write) -> io::Result<()> {
    let ((file, record), one) = (options.one_row(), process(options));
    match (options.workers.unwrap_or(1), options.threads) {
        (1, _) => writeln!(out, "\tThroughput test with 1 {one}")?,
        (workers, true) => writeln!(out, "\tThroughput test with {workers} {one}s")?,
        (workers, false) => writeln!(out, "\tThroughput test with {workers} {one}es")?,
    }
    writeln!(out, "\tEach {one} writes a {} kByte file in {} kByte records", file / 1024, record / 1024)
}

/// The place at which figures begin.
const FIGURES: usize = 56;

/// A line: tabs up to the place of the figures, but one at least.
fn line(out: &mut impl Write, words: &str, figure: f64, unit: &str) -> io::Result<()> {
    let tabs = FIGURES.saturating_sub(8 + words.len()).div_ceil(8).max(1);
    writeln!(out, "\t{words}{}= {figure:>10.2} {unit}", "\t".repeat(tabs))
}

/// The block of one phase.
pub fn block(options: &Options, phase: &Phase, out: &mut impl Write) -> io::Result<()> {
    let (_, _, workers, _, padded) = *phase.names();
    let number = phase.children.len();
    let who = if padded { format!("{number:>2} {workers} ") } else { format!("{number} {workers} ") };
    let (one, unit) = (process(options), unit(options));
    let per_second = format!("{unit}/sec");
    let rates = phase.children.iter().map(|child| rate(options, child.bytes, child.seconds));
    let (least, most) =
        rates.fold((f64::INFINITY, 0.0), |(least, most), rate| (rate.min(least), rate.max(most)));
    let sum = phase.sum(options);
    let moved = phase.children.iter().map(|child| child.bytes);
    let parent = rate(options, moved.clone().sum(), phase.seconds);
    writeln!(out)?;
    line(out, &format!("Children see throughput for {who}"), sum, &per_second)?;
    line(out, &format!("Parent sees throughput for {who}"), parent, &per_second)?;
    line(out, &format!("Min throughput per {one} "), least.min(most), &format!("{per_second} "))?;
    line(out, &format!("Max throughput per {one} "), most, &per_second)?;
    line(out, &format!("Avg throughput per {one} "), sum / number.max(1) as f64, &per_second)?;
    line(out, "Min xfer ", amount(options, moved.min().unwrap_or(0)), unit)
}

/// The Excel report of all phases.
pub fn excel(options: &Options, phases: &[Phase], out: &mut impl Write) -> io::Result<()> {
    let many = if options.threads { "threads" } else { "processes" };
    writeln!(out, "\n\"Throughput report Y-axis is type of test X-axis is number of {many}\"")?;
    writeln!(out, "\"Record size = {} kBytes \"", options.one_row().1 / 1024)?;
    let unit = if options.unit == Unit::Operations { "ops/sec" } else { "kBytes/sec" };
    writeln!(out, "\"Output is in {unit}\"")?;
    for phase in phases {
        writeln!(out, "\n\"{}\" {:>10.2} ", phase.names().3, phase.sum(options))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase() -> Phase {
        let child = |kib: u64, seconds| Child { bytes: kib << 10, seconds };
        Phase { test: Test::Write, children: vec![child(512, 0.5), child(256, 0.5)], seconds: 0.75 }
    }

    #[test]
    fn a_block_says_what_children_and_parent_saw() {
        let options = Options { workers: Some(2), ..Options::default() };
        let mut text = Vec::new();
        block(&options, &phase(), &mut text).unwrap();
        let expected = "
\tChildren see throughput for  2 initial writers \t=    1536.00 kB/sec
\tParent sees throughput for  2 initial writers \t=    1024.00 kB/sec
\tMin throughput per process \t\t\t=     512.00 kB/sec 
\tMax throughput per process \t\t\t=    1024.00 kB/sec
\tAvg throughput per process \t\t\t=     768.00 kB/sec
\tMin xfer \t\t\t\t\t=     256.00 kB
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn operations_are_records_and_the_report_has_a_line_for_each_phase() {
        let options =
            Options { workers: Some(2), unit: Unit::Operations, threads: true, ..Options::default() };
        let mut text = Vec::new();
        beginning(&options, &mut text).unwrap();
        block(&options, &Phase { test: Test::Mixed, ..phase() }, &mut text).unwrap();
        excel(&options, &[phase()], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with(
            "\tThroughput test with 2 threads\n\tEach thread writes a 512 kByte file in 4 kByte"
        ));
        assert!(text.contains("for 2 mixed workload \t=     384.00 ops/sec\n"), "{text}");
        assert!(text.contains("\tMin xfer \t\t\t\t\t=      64.00 ops\n"), "{text}");
        assert!(text.ends_with("\"Output is in ops/sec\"\n\n\"  Initial write \"     384.00 \n"), "{text}");
    }

    #[test]
    fn a_mix_needs_two() {
        let options = Options { workers: Some(1), ..Options::default() };
        assert_eq!(phases(&options).len(), 12);
        let options = Options { workers: Some(4), ..options };
        assert_eq!(phases(&options).len(), 13);
    }
}
