//! ioping's JSON: an array with an object for each request and each set of statistics. Nothing is escaped, as in ioping.

use super::{Report, Request};
use crate::tally::rate;
use crate::{Fate, Tally};
use fathom_spec::Nanos;
use jiff::Zoned;
use jiff::fmt::strtime;
use std::io::{self, Write};

impl Report<'_> {
    /// The object of a request.
    pub(super) fn json_request(
        &mut self,
        request: Request,
        fate: Fate,
        moment: &Zoned,
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.json_begin(moment, out)?;
        let operation = if request.writes { "write" } else { "read" };
        writeln!(out, "  \"io\": {{")?;
        writeln!(out, "    \"request\": {},", self.number)?;
        writeln!(out, "    \"operation\": \"{operation}\",")?;
        writeln!(out, "    \"size\": {},", request.moved)?;
        writeln!(out, "    \"time\": {},", request.time().0)?;
        writeln!(out, "    \"ignored\": {}", fate != Fate::Counted)?;
        write!(out, "  }}\n}}")
    }

    /// The object of statistics.
    pub(super) fn json_statistics(
        &mut self,
        tally: &Tally,
        elapsed: Nanos,
        moment: &Zoned,
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.json_begin(moment, out)?;
        let figures = tally.statistics();
        let moved = self.bytes(tally.counted);
        writeln!(out, "  \"stat\": {{")?;
        writeln!(out, "    \"count\": {},", tally.counted)?;
        writeln!(out, "    \"size\": {moved},")?;
        writeln!(out, "    \"time\": {},", figures.time.0)?;
        writeln!(out, "    \"iops\": {:.6},", figures.rate)?;
        writeln!(out, "    \"bps\": {:.0},", rate(moved, figures.time))?;
        writeln!(out, "    \"min\": {},", figures.min.0)?;
        writeln!(out, "    \"avg\": {:.0},", figures.average_ns)?;
        writeln!(out, "    \"max\": {},", figures.max.0)?;
        writeln!(out, "    \"mdev\": {:.0}", figures.deviation_ns)?;
        writeln!(out, "  }},")?;
        let generated = self.bytes(tally.generated);
        writeln!(out, "  \"load\": {{")?;
        writeln!(out, "    \"count\": {},", tally.generated)?;
        writeln!(out, "    \"size\": {generated},")?;
        writeln!(out, "    \"time\": {},", elapsed.0)?;
        writeln!(out, "    \"iops\": {:.6},", rate(tally.generated, elapsed))?;
        writeln!(out, "    \"bps\": {:.0}", rate(generated, elapsed))?;
        write!(out, "  }}\n}}")
    }

    /// How each object begins. The first one opens the array.
    fn json_begin(&mut self, moment: &Zoned, out: &mut impl Write) -> io::Result<()> {
        let timestamp = moment.timestamp();
        let seconds = timestamp.as_second() as f64 + f64::from(timestamp.subsec_nanosecond()) / 1e9;
        let local = strtime::format("%Y-%m-%dT%H:%M:%S%z", moment).map_err(io::Error::other)?;
        writeln!(out, "{}", if self.in_array { ",{" } else { "[{" })?;
        self.in_array = true;
        writeln!(out, "  \"timestamp\": {seconds:.6},")?;
        writeln!(out, "  \"localtime\": \"{local}\",")?;
        writeln!(out, "  \"target\": {{")?;
        writeln!(out, "    \"path\": \"{}\",", self.label.path)?;
        writeln!(out, "    \"fstype\": \"{}\",", self.label.file_system)?;
        writeln!(out, "    \"device\": \"{}\",", self.label.device)?;
        writeln!(out, "    \"device_size\": {}", self.label.device_size.0)?;
        writeln!(out, "  }},")
    }
}
