//! ORION's six files. Tables and summary are replaced whole, so that there is never half of one; histograms and
//! trace grow point by point.

use crate::{Layout, Point, Report};
use anyhow::{Context as _, Result, anyhow, bail};
use fathom_host::{Roots, output_file};
use fathom_spec::names;
use std::io::Write;
use std::path::PathBuf;

const HINT: &str = "say another -testname, with its folder";

const ENDS: [&str; 6] = ["summary.txt", "mbps.csv", "iops.csv", "lat.csv", "hist.txt", "trace.txt"];
/// Runs of one minute.
const MOST: u32 = 60;

fn path(base: &str, end: &str) -> PathBuf {
    PathBuf::from(format!("{base}_{end}"))
}

/// Where the files of one run are.
pub struct Files {
    base: String,
    histograms: bool,
}

impl Files {
    /// `NAME_YYYYMMDD_HHMM` with its folder. Files that are there are not touched: the second run of a minute is named
    /// `NAME_YYYYMMDD_HHMM_2`.
    pub fn new(base: &str, layout: Layout) -> Result<Self> {
        let numbered = (2..=MOST).map(|number| format!("{base}_{number}"));
        let mut all = std::iter::once(base.to_owned()).chain(numbered);
        let base = all.find(|base| ENDS.iter().all(|end| !path(base, end).exists()));
        match base {
            Some(base) => Ok(Files { base, histograms: layout == Layout::V11_2 }),
            None => bail!("there are files of {MOST} runs of this minute\nhint: {HINT}"),
        }
    }

    /// What all their names begin with.
    pub fn base(&self) -> &str {
        &self.base
    }

    fn path(&self, end: &str) -> PathBuf {
        path(&self.base, end)
    }

    fn replace(&self, end: &str, text: &[u8]) -> Result<()> {
        output_file::write(&Roots::default(), &self.path(end), text)
            .map_err(|error| anyhow!(error.with_hint(HINT)))
    }

    fn append(&self, end: &str, text: &[u8]) -> Result<()> {
        let path = self.path(end);
        let opened = output_file::append(&Roots::default(), &path);
        let mut file = opened.map_err(|error| anyhow!(error.with_hint(HINT)))?;
        file.write_all(text).with_context(|| format!("cannot write {}", names::shown(&path)))
    }

    /// The files as they are before the first point: tables empty.
    pub fn begin(&self, report: &Report) -> Result<()> {
        let mut head = Vec::new();
        report.trace_head(&mut head)?;
        self.append("trace.txt", &head)?;
        if self.histograms {
            head.clear();
            report.histogram_head(&mut head)?;
            self.append("hist.txt", &head)?;
        }
        for end in ["mbps.csv", "iops.csv", "lat.csv"] {
            self.replace(end, b"")?;
        }
        self.summary(report, &[], None)
    }

    /// After a point: it is the last one done.
    pub fn point(&self, report: &Report, done: &[Point]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        report.mbps(done, &mut text)?;
        self.replace("mbps.csv", &text)?;
        text.clear();
        report.iops(done, &mut text)?;
        self.replace("iops.csv", &text)?;
        text.clear();
        report.lat(done, &mut text)?;
        self.replace("lat.csv", &text)?;
        let Some(last) = done.last() else { return Ok(Vec::new()) };
        if self.histograms {
            text.clear();
            report.histograms(last, &mut text)?;
            self.append("hist.txt", &text)?;
        }
        let mut trace = Vec::new();
        report.trace(done.len(), last, &mut trace)?;
        self.append("trace.txt", &trace)?;
        Ok(trace)
    }

    /// The summary with the results of what was done, and how it ended if not as planned.
    pub fn summary(&self, report: &Report, done: &[Point], ending: Option<&str>) -> Result<()> {
        let mut text = Vec::new();
        report.summary_head(&mut text)?;
        report.results(done, &mut text)?;
        if let Some(ending) = ending {
            writeln!(text, "{ending}")?;
            self.append("trace.txt", format!("{ending}\n").as_bytes())?;
        }
        self.replace("summary.txt", &text)
    }
}
