//! Which operation comes next: builds the source of one worker from what the plan says.

mod mixed;
mod place;
mod uniform;

use fathom_drive::Source;
use fathom_record::{CELLS, ExecuteError};
use fathom_spec::{Blocks, Generator, Mix, Pattern, Sizes, Stop, Verb};
pub use place::Geometry;
use std::sync::{Arc, Mutex};

/// One source that several workers draw from.
pub type SharedSource = Arc<Mutex<Box<dyn Source>>>;

/// Puts a source behind a lock.
pub fn share(source: Box<dyn Source>) -> SharedSource {
    Arc::new(Mutex::new(source))
}

/// The verbs of a stream in the order of its cells.
pub fn verbs(blocks: &Blocks) -> Vec<Verb> {
    let mut verbs = match (&blocks.mix, &blocks.sizes) {
        (Mix::Only(verb), _) => vec![*verb],
        (Mix::Random { .. } | Mix::ByCompleted { .. }, _) => vec![Verb::Read, Verb::Write],
    };
    if !blocks.sync.is_empty() {
        verbs.push(Verb::Sync);
    }
    verbs.truncate(CELLS);
    verbs
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
    if matches!(blocks.mix, Mix::ByCompleted { .. }) {
        return Err(refuse("mix by what was completed"));
    }
    let Sizes::One(size) = blocks.sizes else {
        return Err(refuse("operations of several sizes in one stream"));
    };
    let grid = geometry.grid(size.0, blocks.align.0)?;
    let seed = seed ^ (u64::from(worker) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let plain =
        blocks.sync.is_empty() && stop.operations.is_none() && stop.bytes.is_none() && stop.passes.is_none();
    match (&blocks.pattern, blocks.mix, grid.one_target()) {
        (Pattern::Uniform { once: false }, Mix::Only(verb), Some(target)) if plain => {
            Ok(Box::new(uniform::Uniform::new(&grid, target, verb, seed)))
        }
        (Pattern::Uniform { .. } | Pattern::Sequential(_), _, _) => {
            let order = mixed::Order::of(&blocks.pattern, &grid, worker, workers, seed);
            let limit = mixed::operations_at_most(stop, size.0, grid.blocks());
            Ok(Box::new(mixed::Mixed::new(grid, order, blocks, verbs, limit, seed)))
        }
        _ => Err(refuse("such order of blocks; it has uniform random and sequential ones")),
    }
}
