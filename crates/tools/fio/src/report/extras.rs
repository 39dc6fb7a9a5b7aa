//! What fathom knows beside fio's figures, under one key of its own: intervals of confidence, the verdict, and latencies
//! from the intended start, which a rate makes differ from fio's.

use super::Report;
use super::latency::latency;
use super::tree::{Tree, object};
use fathom_record::{Figure, FigureName, Note, Verdict};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What is added where the user asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Extras<'a> {
    /// Version of fathom.
    pub version: &'a str,
    /// The name under which the record is kept.
    pub record: &'a str,
    /// The figures with their errors.
    pub summary: &'a BTreeMap<FigureName, Figure>,
    /// Whether they can be believed.
    pub verdict: &'a Verdict,
    /// What the user should know.
    pub notes: &'a [Note],
}

impl Extras<'_> {
    /// The value of the key `fathom`.
    pub fn tree(&self, report: &Report<'_>) -> Tree {
        let of = |value: Result<serde_json::Value, serde_json::Error>| value.map_or(Tree::Null, Tree::from);
        let mut tree = object([("version", Tree::from(self.version)), ("record", Tree::from(self.record))]);
        tree.push("verdict", of(serde_json::to_value(self.verdict)));
        tree.push("summary", of(serde_json::to_value(self.summary)));
        tree.push("notes", of(serde_json::to_value(self.notes)));
        let jobs = report.entries().into_iter().map(|entry| {
            let names = super::tally::DIRECTIONS.into_iter().zip(&entry.tally.directions);
            let told =
                names.filter(|(_, direction)| direction.response.count > 0).map(|(name, direction)| {
                    (name.to_owned(), latency(&direction.response, Some(entry.job), false))
                });
            object([("jobname", Tree::from(entry.job.name.as_str())), ("response_ns", object(told))])
        });
        tree.push("jobs", Tree::Array(jobs.collect()));
        tree
    }

    /// The same for people, after the disks.
    pub fn write_text(&self, report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\nfathom {}, record {}:", self.version, self.record)?;
        for (name, figure) in self.summary {
            let name = serde_json::to_value(name).ok().and_then(|name| name.as_str().map(str::to_owned));
            let unit =
                serde_json::to_value(figure.unit).ok().and_then(|unit| unit.as_str().map(str::to_owned));
            let width = figure.half_width.map_or("+- unknown".to_owned(), |half| format!("+- {half:.6}"));
            let (name, unit) = (name.unwrap_or_default(), unit.unwrap_or_default());
            writeln!(out, "  {name}: {:.6} {width} {unit}", figure.value)?;
        }
        for entry in report.entries() {
            for (name, direction) in super::tally::DIRECTIONS.into_iter().zip(&entry.tally.directions) {
                let Some(mean) = direction.response.mean_ns() else { continue };
                let worst = direction.response.max_ns;
                writeln!(out, "  {}: {name} response (nsec): avg={mean:.2}, max={worst}", entry.job.name)?;
            }
        }
        writeln!(out, "  verdict: {}", self.verdict.state)?;
        for check in &self.verdict.checks {
            writeln!(out, "    {}: {}", check.name, check.seen)?;
        }
        Ok(())
    }
}
