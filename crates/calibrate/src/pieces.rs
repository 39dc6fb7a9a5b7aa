//! Which runs are one measurement: a load on which a figure rests is measured in pieces spread over the time, and all of
//! them are read as one.

use fathom_record::{Purpose, Run};

/// Runs that are read together.
#[derive(Clone, Debug)]
pub struct Pieces<'r> {
    /// Place of the first among all runs.
    pub index: usize,
    /// In order of time, at least one.
    pub runs: Vec<&'r Run>,
}

impl<'r> Pieces<'r> {
    /// The first of them, whose plan is that of all.
    pub fn first(&self) -> &'r Run {
        self.runs[0]
    }
}

/// All runs, those of one phase, one load and one purpose together where a figure rests on them.
pub fn pieces(runs: &[Run]) -> Vec<Pieces<'_>> {
    let mut found: Vec<Pieces> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let same = |pieces: &&mut Pieces| {
            let first = pieces.first();
            let alike =
                first.phase == run.phase && first.load == run.load && first.plan.slot == run.plan.slot;
            alike && run.phase.is_some() && [first.purpose, run.purpose] == [Purpose::Headline; 2]
        };
        match found.iter_mut().find(same) {
            Some(pieces) => pieces.runs.push(run),
            None => found.push(Pieces { index, runs: vec![run] }),
        }
    }
    found
}
