//! ORION's six files. Tables and summary are replaced whole, so that there is never half of one; histograms and
//! trace grow point by point.

use crate::{Layout, Point, Report};
use anyhow::{Context as _, Result, anyhow, bail};
use fathom_host::{Roots, output_file};
use fathom_spec::names;
use std::io::Write;
use std::path::PathBuf;

const HINT: &str = "say another -testname, with its folder";

/// Where the files of one run are.
pub struct Files {
    base: String,
    histograms: bool,
}

impl Files {
    /// `NAME_YYYYMMDD_HHMM` with its folder; refuses to touch files that are there.
    pub fn new(base: String, layout: Layout) -> Result<Self> {
        let files = Files { base, histograms: layout == Layout::V11_2 };
        for end in ["summary.txt", "mbps.csv", "iops.csv", "lat.csv", "hist.txt", "trace.txt"] {
            let path = files.path(end);
            if path.exists() {
                bail!(
                    "{} is there already\nhint: files are named by the minute: wait for the next one, or say another -testname",
                    names::shown(&path)
                );
            }
        }
        Ok(files)
    }

    fn path(&self, end: &str) -> PathBuf {
        PathBuf::from(format!("{}_{end}", self.base))
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
