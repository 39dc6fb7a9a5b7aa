//! The record of a run of fio's: what it found, its figures, whether they can be believed.

use crate::Planned;
use crate::report::Extras;
use anyhow::Result;
use fathom_calibrate::load_figures::load_figures;
use fathom_calibrate::precision::Precision;
use fathom_calibrate::verdict::Evidence;
use fathom_engine::Engine;
use fathom_host::{Roots, resolve};
use fathom_record::*;
use fathom_session::Context;
use fathom_session::environment;
use fathom_session::preflight::{self, Found};
use fathom_session::record_writer::{Keeper, empty_record};
use fathom_session::targets::Ready;
use fathom_spec::{Pattern, Target, TargetId, Work};
use std::path::Path;

/// A run that is being recorded.
pub struct Kept {
    /// Its record.
    pub record: ResultRecord,
    found: Found,
    keeper: Keeper,
}

impl Kept {
    /// Looks at the machine and begins a record.
    pub fn begin(context: &Context, planned: &Planned, roots: &Roots, engine: &mut Engine) -> Result<Self> {
        let mut names: Vec<String> =
            planned.members.iter().flat_map(|member| &member.files).map(|file| file.path.clone()).collect();
        names.sort();
        names.dedup();
        let ready = |name: &String| {
            let storage = resolve(roots, Path::new(name)).ok()?;
            Some(Ready::Existing { path: name.into(), storage: Box::new(storage) })
        };
        let ready: Vec<Ready> = names.iter().take(64).filter_map(ready).collect();
        let found = preflight::look(roots, &ready);
        engine.disks = found.disks.clone();
        let facts = found.facts(serde_json::Value::Null)?;
        let mut record = empty_record("fio", &context.command, None, names, facts);
        let (keeper, notes) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
        record.notes.extend(found.notes.iter().cloned().chain(notes));
        record.notes.extend(planned.notes.iter().map(|text| Note { text: text.clone(), hint: None }));
        if environment::speaks_notes() {
            for note in &record.notes {
                let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
                eprintln!("note: {}{hint}", note.text);
            }
        }
        Ok(Kept { record, found, keeper })
    }

    /// Nothing was measured.
    pub fn abandon(&mut self) {
        self.keeper.abandon(&self.record.id);
    }

    /// Keeps a run with its figures and the verdict.
    pub fn conclude(&mut self, mut run: Run, interrupted: bool) {
        let record = &mut self.record;
        run.name = run.plan.streams.first().map_or_else(String::new, |stream| stream.name.clone());
        let most = |stream: &fathom_spec::Stream| stream.depth.most().saturating_mul(stream.workers);
        run.load = Load { small: run.plan.streams.iter().map(most).sum(), large: 0 };
        record.ended = environment::now();
        record.ending = if interrupted { Ending::Interrupted } else { Ending::Complete };
        record.summary = load_figures(&run);
        let recording = |id: usize| {
            let work = |stream: &fathom_spec::Stream| match &stream.work {
                Work::Blocks(blocks) => blocks.pattern == Pattern::Trace(TargetId(id as u32)),
                _ => false,
            };
            run.plan.streams.iter().any(work)
        };
        let nothing = run
            .plan
            .targets
            .iter()
            .enumerate()
            .all(|(id, target)| matches!(target, Target::Null(_) | Target::Sim(_)) || recording(id));
        let mut targets = run.plan.targets.iter().enumerate();
        let buffered =
            targets.any(|(id, t)| matches!(t, Target::Path(path) if !path.direct) && !recording(id));
        record.runs.push(run);
        let mut checks = self.found.checks();
        if buffered {
            let seen = "asked to go through the page cache: memory may have answered".to_owned();
            checks.push(Check {
                name: "page cache bypassed".to_owned(),
                outcome: CheckOutcome::Failed,
                seen,
            });
        }
        let found = &self.found.evidence;
        let evidence = Evidence {
            simulated: nothing,
            memory: found.memory,
            memory_backed: found.memory_backed,
            unwritten_share: found.unwritten_share,
            unchecked: if nothing { Vec::new() } else { found.unchecked.clone() },
            ..Evidence::of_runs(&record.runs, Precision::Normal)
        };
        checks.extend(evidence.checks());
        record.verdict = judge(checks);
        self.keeper.finish(record);
    }

    /// What fathom knows beside fio's figures.
    pub fn extras(&self) -> Extras<'_> {
        Extras {
            version: &self.record.version,
            record: &self.record.id,
            summary: &self.record.summary,
            verdict: &self.record.verdict,
            notes: &self.record.notes,
        }
    }
}
