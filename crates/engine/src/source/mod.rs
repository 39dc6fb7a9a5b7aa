//! Which operation comes next: builds the source of one worker from what the plan says.

mod mixed;
mod order;
mod place;
mod sizes;
mod skewed;
#[cfg(test)]
mod tests;
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
