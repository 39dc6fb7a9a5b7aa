//! What is told of a calibration: the figures and the verdict of whatever was measured, kept and printed.

use super::setup::{precision, question};
use super::{Job, LARGE_MOST, SMALL_MOST};
use crate::args::EngineKind;
use anyhow::Result;
use fathom_calibrate::figures::{Frame, host_or_storage, summarize};
use fathom_calibrate::verdict::Evidence;
use fathom_record::*;
use fathom_session::output::Shown;
use fathom_session::targets::Ready;
use fathom_session::{End, Ended, Figures, Grounds};
use fathom_spec::GIB;

impl Job<'_> {
    /// Makes the figures and the verdict of whatever was measured, keeps and prints them.
    pub(super) fn conclude(mut self, outcome: Result<(), ExecuteError>) -> Result<Ended> {
        self.progress.clear();
        let interrupted = self.interrupt.raised();
        if interrupted && self.ready.iter().any(|ready| matches!(ready, Ready::Scratch { .. })) {
            self.console.complain("interrupted: removing the test file takes a few seconds");
        }
        let disturbed = self.others.as_ref().is_some_and(|others| others.disturbed);
        let ending = match (&outcome, interrupted || disturbed) {
            (Err(_), _) => Ending::Failed,
            (Ok(()), true) => Ending::Interrupted,
            (Ok(()), false) => Ending::Complete,
        };
        self.judge(ending);
        if disturbed {
            let text = "ended early: the latency of the others on this disk had doubled".to_owned();
            let hint = Some("measure when the disk is idle".to_owned());
            self.measurement.record.notes.push(Note { text, hint });
        }
        let measured = !self.measurement.record.summary.is_empty();
        let state = self.measurement.record.verdict.state;
        let expectations = &self.measurement.record.expectations;
        let short = expectations.iter().any(|e| e.outcome == ExpectationOutcome::Short);
        if measured || (outcome.is_ok() && !interrupted) {
            let finished = self.measurement.close();
            if measured {
                let shown = Shown::ended(&finished.record, &finished.saved);
                self.args.output.show(&shown, &self.environment, &self.console)?;
            }
        } else {
            self.measurement.abandon();
        }
        if !measured && interrupted && outcome.is_ok() {
            self.console.complain("interrupted before anything was measured; the scratch files are removed");
        }
        outcome?;
        Ok(match (interrupted, state) {
            (true, _) => Ended::Interrupted,
            (false, _) if disturbed => Ended::Unbelievable,
            (false, VerdictState::NotBelievable) => Ended::Unbelievable,
            (false, _) if short => Ended::Unbelievable,
            (false, _) => Ended::Done,
        })
    }

    fn judge(&mut self, ending: Ending) {
        let end = End::new(ending);
        if self.calibration.is_none() {
            self.measurement.judge(End { figures: Figures::Own(Default::default(), Vec::new()), ..end });
            self.measurement.record.verdict = fathom_session::record_writer::no_verdict();
            return;
        }
        let expected = self.args.expect.clone().unwrap_or_default().0;
        let simulated = self.simulated();
        let mut around = self.measurement.found.around.clone();
        (around.small_most, around.large_most, around.simulated) =
            (Some(SMALL_MOST), Some(LARGE_MOST), simulated);
        let frame = Frame { limit: self.args.max_latency, precision: precision(self.args), around, expected };
        let made = summarize(&self.measurement.record.runs, &frame);
        let mut notes = made.notes;
        if let Some(text) = question(self.args, None, true).stretched() {
            notes.push(Note { text, hint: None });
        }
        let found = &self.measurement.found.evidence;
        let evidence = Evidence {
            simulated,
            memory_backed: found.memory_backed,
            memory: found.memory,
            working_set: found.working_set,
            unwritten_share: found.unwritten_share,
            page_cache_share: self.went_through_the_cache(),
            rotates: found.rotates,
            commits_per_second: made.figures.get(&FigureName::CommitsPerSecond).map(|figure| figure.value),
            longer: self.longer().map(|longer| format!("re-run with {longer}")),
            larger: self.larger(),
            unchecked: if simulated { Vec::new() } else { found.unchecked.clone() },
            async_slots: self
                .measurement
                .found
                .machine
                .aio
                .filter(|_| self.args.engine == EngineKind::Libaio)
                .map(|aio| (aio.free(), u64::from(SMALL_MOST))),
            ..Evidence::of_runs(&self.measurement.record.runs, precision(self.args))
        };
        self.measurement.record.expectations = made.expectations;
        self.measurement.judge(End {
            figures: Figures::Own(made.figures, made.curves),
            grounds: Grounds::Gathered(Box::new(evidence)),
            ..end.with_notes(notes)
        });
        let record = &mut self.measurement.record;
        if let Some(text) = host_or_storage(&record.summary, record.verdict.state) {
            record.notes.push(Note { text, hint: None });
        }
    }

    /// The option that makes the working set larger than this host's memory, where a test file is made for the measurement.
    fn larger(&self) -> Option<String> {
        let made = self.ready.iter().any(|ready| matches!(ready, Ready::Scratch { .. }));
        let memory = self.measurement.found.evidence.memory.filter(|_| made)?;
        Some(format!("--size {}g", (memory.0 * 2).div_ceil(GIB)))
    }

    /// How much more of the targets the page cache holds than before the measurement.
    fn went_through_the_cache(&self) -> Option<f64> {
        let before = self.cached_before.as_ref()?;
        let after = self.cached();
        before.iter().zip(after?).map(|(before, after)| (after - before).max(0.0)).max_by(f64::total_cmp)
    }
}
