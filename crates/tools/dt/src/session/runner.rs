//! Who runs the plans of a test and keeps their runs: the measurement itself, or beside other threads an executor of the
//! thread's own, whose runs go to the measurement.

use crate::Half;
use fathom_record::{Attachments, Control, ExecuteError, Outcome, Run};
use fathom_session::Measurement;
use fathom_session::measurement::ThreadMeasurement;
use fathom_spec::Plan;
use std::sync::mpsc::{Receiver, Sender};

/// Runs the plans of one test.
pub trait RunPlans {
    /// Runs a plan.
    fn execute(
        &mut self,
        plan: &Plan,
        attachments: Attachments,
        control: &mut dyn Control,
    ) -> Result<Outcome, ExecuteError>;
    /// Takes a run into the record.
    fn keep(&mut self, half: Half, thread: u32, run: Run);
}

/// A run of the record: what it did, and which thread it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOf {
    /// What it did.
    pub half: Half,
    /// Whose, from 1.
    pub thread: u32,
    /// Index into the record's runs.
    pub index: usize,
}

/// The record of a job.
pub struct JobRecord<'a> {
    /// The measurement.
    pub measurement: Measurement<'a>,
    /// What its runs are.
    pub runs: Vec<RunOf>,
}

impl JobRecord<'_> {
    /// Takes the runs of threads until none is left that could send one.
    pub fn keep_all(&mut self, runs: Receiver<(Half, u32, Run)>) {
        runs.into_iter().for_each(|(half, thread, run)| self.keep(half, thread, run));
    }
}

impl RunPlans for JobRecord<'_> {
    fn execute(
        &mut self,
        plan: &Plan,
        attachments: Attachments,
        control: &mut dyn Control,
    ) -> Result<Outcome, ExecuteError> {
        self.measurement.execute(plan, attachments, control)
    }

    fn keep(&mut self, half: Half, thread: u32, run: Run) {
        self.runs.push(RunOf { half, thread, index: self.measurement.record.runs.len() });
        self.measurement.keep(run);
    }
}

/// One thread of several.
pub struct ThreadRunner {
    /// What it runs plans with.
    pub measurement: ThreadMeasurement,
    /// Where its runs go.
    pub runs: Sender<(Half, u32, Run)>,
}

impl RunPlans for ThreadRunner {
    fn execute(
        &mut self,
        plan: &Plan,
        attachments: Attachments,
        control: &mut dyn Control,
    ) -> Result<Outcome, ExecuteError> {
        self.measurement.execute(plan, attachments, control)
    }

    fn keep(&mut self, half: Half, thread: u32, run: Run) {
        // The measurement takes runs for as long as any thread is there.
        let _ = self.runs.send((half, thread, run));
    }
}
