//! What ioping prints: a line for each request, raw statistics now and then, a block or a raw line at the end, or JSON in
//! their place. Knows no clock: moments and times are told to it.

mod json;

use crate::tally::rate;
use crate::units::{count, size, time};
use crate::{Fate, Operations, Options, Tally};
use fathom_spec::{Bytes, Nanos};
use jiff::Zoned;
use std::fmt;
use std::io::{self, Write};

/// What each line says of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetLabel {
    /// As it was typed.
    pub path: String,
    /// Its file system's type; `block` or `character` of a device.
    pub file_system: String,
    /// What that file system lies on, as it was mounted; `device` of a device.
    pub device: String,
    /// The size of the file system (blocks times fragment size), or of the device.
    pub device_size: Bytes,
}

impl fmt::Display for TargetLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {} {})", self.path, self.file_system, self.device, size(self.device_size.0))
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it began, from the start of the run on.
    pub began: Nanos,
    /// When it had ended.
    pub ended: Nanos,
    /// Bytes that it moved; 0 also where it would have had to wait.
    pub moved: u64,
    /// Was it a write?
    pub writes: bool,
}

impl Request {
    fn time(&self) -> Nanos {
        Nanos(self.ended.0.saturating_sub(self.began.0))
    }
}

/// A report that is being written.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    options: &'a Options,
    label: &'a TargetLabel,
    /// Requests so far.
    number: u64,
    total: Tally,
    /// Since the last raw line.
    period: Tally,
    period_began: Nanos,
    /// When the next raw line of `-P` is due.
    period_ends: Nanos,
    /// An element of JSON was written before.
    in_array: bool,
}

impl<'a> Report<'a> {
    /// Nothing is written before the first request.
    pub fn new(options: &'a Options, label: &'a TargetLabel) -> Self {
        Report {
            options,
            label,
            number: 0,
            total: Tally::default(),
            period: Tally::default(),
            period_began: Nanos(0),
            period_ends: options.print_interval.unwrap_or_default(),
            in_array: false,
        }
    }

    /// Writes what is to be said when a request has ended, and takes it into the statistics. The moment is that of its end.
    pub fn request(&mut self, request: Request, moment: &Zoned, out: &mut impl Write) -> io::Result<()> {
        self.number += 1;
        let fate = Fate::of(self.options, self.number, request.moved, request.time());
        self.total.add(fate, request.time());
        self.period.add(fate, request.time());
        if self.options.tells_requests() {
            match self.options.json {
                true => self.json_request(request, fate, moment, out)?,
                false => self.line(request, fate, moment, out)?,
            }
        }
        let gap = self.options.gap(self.number);
        let due = Nanos(request.began.0.saturating_add(gap.0)).max(request.ended);
        let by_count = self.options.print_count.is_some_and(|count| self.period.counted >= count);
        let by_time = self.options.print_interval.is_some() && due >= self.period_ends;
        if by_count || by_time {
            let elapsed = Nanos(request.ended.0.saturating_sub(self.period_began.0));
            let period = std::mem::take(&mut self.period);
            match self.options.json {
                true => self.json_statistics(&period, elapsed, moment, out)?,
                false => self.raw(&period, elapsed, out)?,
            }
            self.period_began = request.ended;
            let length = self.options.print_interval.unwrap_or_default();
            self.period_ends = Nanos(request.ended.0.saturating_add(length.0));
        }
        Ok(())
    }

    /// Writes what stands at the end: of so many requests, by a signal, or of the time.
    pub fn finish(&mut self, elapsed: Nanos, moment: &Zoned, out: &mut impl Write) -> io::Result<()> {
        let periods = self.options.print_count.is_some() || self.options.print_interval.is_some();
        let total = self.total.clone();
        match () {
            () if self.options.json => {
                self.json_statistics(&total, elapsed, moment, out)?;
                writeln!(out, "]")
            }
            () if self.options.batch => self.raw(&total, elapsed, out),
            () if self.options.quiet && periods => Ok(()),
            () => self.block(&total, elapsed, out),
        }
    }

    fn line(&self, request: Request, fate: Fate, moment: &Zoned, out: &mut impl Write) -> io::Result<()> {
        if let Some(stamp) = &self.options.stamp {
            write!(out, "{} ", stamp.print(moment))?;
        }
        let arrow = if request.writes { ">>>" } else { "<<<" };
        let (moved, number) = (size(request.moved), self.number);
        write!(out, "{moved} {arrow} {}: request={number} time={}", self.label, time(request.time().0))?;
        let remark = match fate {
            Fate::WouldWait => Some("EAGAIN"),
            Fate::Empty => None,
            Fate::Warmup => Some("warmup"),
            Fate::TooFast => Some("too fast"),
            Fate::TooSlow => Some("too slow"),
            Fate::Counted => self.period.stands_out(request.time()),
        };
        match remark {
            Some(remark) => writeln!(out, " ({remark})")?,
            None => writeln!(out)?,
        }
        if self.options.burst > 0 && number.is_multiple_of(self.options.burst) {
            writeln!(out)?;
        }
        Ok(())
    }

    /// One line of numbers, as the manual's RAW STATISTICS has them.
    fn raw(&self, tally: &Tally, elapsed: Nanos, out: &mut impl Write) -> io::Result<()> {
        let figures = tally.statistics();
        let speed = rate(self.bytes(tally.counted), figures.time);
        write!(out, "{} {} {:.0} {:.0} ", tally.counted, figures.time.0, figures.rate, speed)?;
        let (average, deviation) = (figures.average_ns, figures.deviation_ns);
        write!(out, "{} {average:.0} {} {deviation:.0} ", figures.min.0, figures.max.0)?;
        writeln!(out, "{} {}", tally.generated, elapsed.0)
    }

    /// The block for people. Its figures lose their fractions before they get a unit.
    fn block(&self, tally: &Tally, elapsed: Nanos, out: &mut impl Write) -> io::Result<()> {
        let figures = tally.statistics();
        writeln!(out, "\n--- {} ioping statistics ---", self.label)?;
        let moved = self.bytes(tally.counted);
        let done = match self.options.operations {
            Operations::Read => " read",
            Operations::Write => " written",
            Operations::Alternate => "",
        };
        writeln!(
            out,
            "{}requests completed in {}, {}{done}, {}iops, {}/s",
            count(tally.counted),
            time(figures.time.0),
            size(moved),
            count(figures.rate as u64),
            size(rate(moved, figures.time) as u64)
        )?;
        for (left_out, why) in [(tally.too_fast, "too fast"), (tally.too_slow, "too slow")] {
            if left_out > 0 {
                write!(out, "{}{why}, ", count(left_out))?;
            }
        }
        let generated = self.bytes(tally.generated);
        writeln!(
            out,
            "generated {}requests in {}, {}, {}iops, {}/s",
            count(tally.generated),
            time(elapsed.0),
            size(generated),
            count(rate(tally.generated, elapsed) as u64),
            size(rate(generated, elapsed) as u64)
        )?;
        writeln!(
            out,
            "min/avg/max/mdev = {} / {} / {} / {}",
            time(figures.min.0),
            time(figures.average_ns as u64),
            time(figures.max.0),
            time(figures.deviation_ns as u64)
        )
    }

    /// Bytes of so many requests, each as large as was asked for.
    fn bytes(&self, requests: u64) -> u64 {
        requests.saturating_mul(self.options.size.0)
    }
}

#[cfg(test)]
mod tests;
