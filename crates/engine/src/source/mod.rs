//! Which operation comes next: builds the source of one worker from what the plan says.

mod mixed;
mod order;
mod permutation;
mod place;
mod series;
mod sizes;
mod skewed;
#[cfg(test)]
mod tests;
mod trace;
mod uniform;
mod verify;

use fathom_drive::Source;
use fathom_record::{CELLS, ExecuteError};
use fathom_spec::{Blocks, Generator, Mix, Pattern, Sizes, Stop, Stream, SyncKind, Verb, Verify};
pub use place::Geometry;
pub use series::Series;
use std::sync::{Arc, Mutex};
pub use trace::Recording;
pub(crate) use verify::{CHECK, OURS, number};

/// One source that several workers draw from.
pub type SharedSource = Arc<Mutex<Box<dyn Source>>>;

/// Puts a source behind a lock.
pub fn share(source: Box<dyn Source>) -> SharedSource {
    Arc::new(Mutex::new(source))
}

/// What the workers of a stream share, when its plan says so.
#[derive(Clone)]
pub enum Common {
    /// One source behind a lock.
    Source(SharedSource),
    /// A course in which they take turns.
    Course(Arc<Series>),
}

impl Common {
    /// What a stream's workers share: `seed` is the stream's.
    pub fn of(
        stream: &Stream,
        blocks: &Blocks,
        geometry: &Geometry,
        stop: &Stop,
        seed: u64,
        verbs: &[Verb],
    ) -> Result<Self, ExecuteError> {
        if Series::fits(blocks) {
            return Ok(Common::Course(Series::new(stream, blocks, geometry, stop, seed, verbs)?));
        }
        Ok(Common::Source(share(build(blocks, geometry, stop, 0, 1, seed, verbs)?)))
    }

    /// The source of one worker.
    pub fn of_worker(&self, worker: u32) -> Box<dyn Source> {
        match self {
            Common::Source(source) => Box::new(source.clone()),
            Common::Course(course) => course.turn(worker),
        }
    }
}

/// The verbs of a stream in the order of its cells.
pub fn verbs(blocks: &Blocks) -> Vec<Verb> {
    let mut verbs = match (&blocks.mix, &blocks.sizes) {
        (Mix::Only(verb), _) => vec![*verb],
        (Mix::ByCompleted { commits: true, .. }, _) => vec![Verb::Read, Verb::Commit],
        (Mix::Random { .. } | Mix::ByCompleted { .. }, _) => vec![Verb::Read, Verb::Write],
    };
    if !blocks.sync.is_empty() {
        verbs.push(Verb::Sync);
    }
    verbs.truncate(CELLS);
    verbs
}

/// The verbs of a stream with what comes after its operations: reads that verify, syncs at the end.
pub fn cells(
    stream: &Stream,
    blocks: &Blocks,
    recording: Option<&Recording>,
) -> Result<Vec<Verb>, ExecuteError> {
    let mut verbs = recording.map_or_else(|| verbs(blocks), Recording::verbs);
    if blocks.verify.is_some() && !verbs.contains(&Verb::Read) {
        verbs.push(Verb::Read);
    }
    // A cell of their own: syncs at the end are no events of the load, those between its operations are.
    if stream.after_last.iter().any(|kind| *kind != SyncKind::None) {
        verbs.push(Verb::Sync);
    }
    match verbs.len() <= CELLS {
        true => Ok(verbs),
        false => Err(refuse("stream of so many verbs")),
    }
}

fn refuse(what: &str) -> ExecuteError {
    ExecuteError::Plan {
        what: format!("the engine has no {what}"),
        hint: "describe the load without it".to_owned(),
    }
}

/// The source of one worker. `stop` says after how many operations, bytes or passes it is done; time is the
/// worker's.
pub fn build(
    blocks: &Blocks,
    geometry: &Geometry,
    stop: &Stop,
    worker: u32,
    workers: u32,
    seed: u64,
    verbs: &[Verb],
) -> Result<Box<dyn Source>, ExecuteError> {
    if blocks.generator != Generator::Xoshiro {
        return Err(refuse("random generator but its own"));
    }
    if blocks.sync.len() > 1 {
        return Err(refuse("more than one rule of syncs in a stream"));
    }
    let (size, step) = match &blocks.sizes {
        Sizes::One(size) => (size.0, blocks.align.0),
        _ if matches!(blocks.pattern, Pattern::Uniform { once: true }) => {
            return Err(refuse("random order that visits each block once with several sizes"));
        }
        // Blocks of the smallest size; a longer operation covers several, up to its target's end.
        sizes => (sizes.least().0, if blocks.align.0 == 0 { sizes.least().0 } else { blocks.align.0 }),
    };
    let grid = geometry.grid(size, step)?;
    let seed = seed ^ (u64::from(worker) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let plain =
        blocks.sync.is_empty() && stop.operations.is_none() && stop.bytes.is_none() && stop.passes.is_none();
    let one_size = matches!(blocks.sizes, Sizes::One(_));
    match (&blocks.pattern, blocks.mix, grid.one_target()) {
        (Pattern::Uniform { once: false }, Mix::Only(verb), Some(target)) if plain && one_size => {
            Ok(Box::new(uniform::Uniform::new(&grid, target, verb, seed)))
        }
        _ => {
            let order = order::Order::of(&blocks.pattern, &grid, worker, workers, seed)?;
            let lengths = sizes::Lengths::of(&blocks.sizes, grid.step)?;
            let limit = mixed::Limit::of(stop, &grid);
            Ok(Box::new(mixed::Mixed::new(grid, order, lengths, blocks, verbs, limit, seed)))
        }
    }
}

/// The source of a worker that verifies: `make` builds the same plain source each time. `stop`'s time is how long it
/// writes.
pub fn verified(
    make: &dyn Fn() -> Result<Box<dyn Source>, ExecuteError>,
    blocks: &Blocks,
    plan: Verify,
    verbs: &[Verb],
    stop: &Stop,
) -> Result<Box<dyn Source>, ExecuteError> {
    let read_cell = verbs.iter().position(|verb| *verb == Verb::Read).unwrap_or(0) as u8;
    if plan.only || !writes(&blocks.mix) {
        return Ok(Box::new(verify::Checking::new(make()?, read_cell)));
    }
    let time_ns = stop.time.map(|time| time.0);
    Ok(Box::new(verify::Verifying::new((make()?, make()?), plan, read_cell, time_ns)))
}

/// Does a mix write?
pub fn writes(mix: &Mix) -> bool {
    match mix {
        Mix::Only(verb) => verb.writes(),
        Mix::Random { read_percent } => *read_percent < 100,
        Mix::ByCompleted { .. } => true,
    }
}
