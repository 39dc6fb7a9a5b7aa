//! What is told of a calibration: the figures and the verdict of whatever was measured, kept and printed.

use super::setup::{precision, question};
use super::{Job, LARGE_MOST, SMALL_MOST};
use crate::args::EngineKind;
use anyhow::{Result, bail};
use fathom_calibrate::figures::{self, Frame, host_or_storage, summarize};
use fathom_calibrate::verdict::Evidence;
use fathom_record::*;
use fathom_session::record_writer::write_page;
use fathom_session::{Ended, environment};
use std::io::Write;

impl Job<'_> {
    /// Makes the figures and the verdict of whatever was measured, keeps and prints them.
    pub(super) fn conclude(mut self, outcome: Result<(), ExecuteError>) -> Result<Ended> {
        self.progress.clear();
        self.record.ended = environment::now();
        let interrupted = self.interrupt.raised();
        let disturbed = self.others.as_ref().is_some_and(|others| others.disturbed);
        self.record.ending = match (&outcome, interrupted || disturbed) {
            (Err(_), _) => Ending::Failed,
            (Ok(()), true) => Ending::Interrupted,
            (Ok(()), false) => Ending::Complete,
        };
        self.judge();
        if disturbed {
            let text = "ended early: the latency of the others on this disk had doubled".to_owned();
            self.record.notes.push(Note { text, hint: Some("measure when the disk is idle".to_owned()) });
        }
        let measured = !self.record.summary.is_empty();
        match measured || (outcome.is_ok() && !interrupted) {
            true => self.keeper.finish(&self.record),
            false => self.keeper.abandon(&self.record.id),
        }
        if measured {
            self.print()?;
        }
        if !measured && interrupted && outcome.is_ok() {
            eprintln!("interrupted before anything was measured; the scratch files are removed");
        }
        if let Err(error) = outcome {
            bail!("{error}");
        }
        Ok(match (interrupted, self.record.verdict.state) {
            (true, _) => Ended::Interrupted,
            (false, _) if disturbed => Ended::Unbelievable,
            (false, VerdictState::NotBelievable) => Ended::Unbelievable,
            (false, _) => Ended::Done,
        })
    }

    fn judge(&mut self) {
        let Some(_) = &self.calibration else { return };
        let expect = self.args.expect.unwrap_or_default();
        let mut around = self.found.around.clone();
        (around.small_most, around.large_most, around.simulated) =
            (Some(SMALL_MOST), Some(LARGE_MOST), self.simulated());
        let frame = Frame {
            limit: self.args.max_latency,
            precision: precision(self.args),
            around,
            expect: figures::Expect { iops: expect.iops, mbps: expect.mbps },
        };
        let made = summarize(&self.record.runs, &frame);
        self.record.notes.extend(made.notes);
        (self.record.summary, self.record.curves) = (made.figures, made.curves);
        if let Some(text) = question(self.args, None, true).stretched() {
            self.record.notes.push(Note { text, hint: None });
        }
        let of_runs = Evidence::of_runs(&self.record.runs, precision(self.args));
        let found = &self.found.evidence;
        let evidence = Evidence {
            simulated: self.simulated(),
            memory_backed: found.memory_backed,
            memory: found.memory,
            working_set: found.working_set,
            unwritten_share: found.unwritten_share,
            page_cache_share: self.went_through_the_cache(),
            rotates: found.rotates,
            commits_per_second: self
                .record
                .summary
                .get(&FigureName::CommitsPerSecond)
                .map(|figure| figure.value),
            unchecked: if self.simulated() { Vec::new() } else { found.unchecked.clone() },
            async_slots: self
                .found
                .machine
                .aio
                .filter(|_| self.args.engine == EngineKind::Libaio)
                .map(|aio| (aio.free(), u64::from(SMALL_MOST))),
            ..of_runs
        };
        let checks = self.found.checks().into_iter().chain(evidence.checks()).collect();
        self.record.verdict = judge(checks);
        if let Some(text) = host_or_storage(&self.record.summary, self.record.verdict.state) {
            self.record.notes.push(Note { text, hint: None });
        }
    }

    /// How much more of the targets the page cache holds than before the measurement.
    fn went_through_the_cache(&self) -> Option<f64> {
        let before = self.cached_before.as_ref()?;
        let after = self.cached();
        before.iter().zip(after?).map(|(before, after)| (after - before).max(0.0)).max_by(f64::total_cmp)
    }

    fn print(&self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if self.args.output.json {
            fathom_render::json::write(&self.record, &mut out)?;
        } else {
            fathom_render::text::write(
                &self.record,
                Some(&self.keeper.saved()),
                environment::style(),
                &mut out,
            )?;
        }
        out.flush()?;
        if let Some(path) = &self.args.output.html {
            write_page(path, |out| fathom_render::html::write(&self.record, out))?;
        }
        Ok(())
    }
}
