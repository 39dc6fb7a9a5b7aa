//! Which operation comes next: builds the source of one worker from what the plan says.

mod cache_passes;
mod discards;
mod generators;
mod map;
mod mixed;
mod no_overlap;
mod order;
mod shared_sequence;
mod sizes;
mod skewed;
mod target_choice;
#[cfg(test)]
mod tests;
mod trace;
mod uniform;
mod variable_records;
mod verify;

use crate::geometry::{Geometry, Grid};
use crate::progress::{Known, Noting};
pub(crate) use cache_passes::CachePasses;
use fathom_drive::Source;
use fathom_record::{CELLS, ExecuteError};
use fathom_spec::{
    Blocks, Generator, Mix, Pattern, Sizes, Space, Stop, Stream, SyncKind, TargetId, Then, Verb, Verify,
};
pub use shared_sequence::SharedSequence;
use std::sync::{Arc, Mutex};
pub use trace::Recording;
pub(crate) use verify::{Between, Writer};

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
    /// A sequence in which they take turns.
    Sequence(Arc<SharedSequence>),
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
        if SharedSequence::fits(blocks) {
            return Ok(Common::Sequence(SharedSequence::new(stream, blocks, geometry, stop, seed, verbs)?));
        }
        Ok(Common::Source(share(build(blocks, geometry, stop, 0, 1, seed, verbs)?)))
    }

    /// The source of one worker.
    pub fn of_worker(&self, worker: u32) -> Box<dyn Source> {
        match self {
            Common::Source(source) => Box::new(source.clone()),
            Common::Sequence(sequence) => sequence.turn(worker),
        }
    }
}

/// Do records of one verb lead to operations of the other?
fn leads_to_the_other(blocks: &Blocks) -> bool {
    match &blocks.pattern {
        Pattern::VariableRecords(rules) => matches!(rules.then, Then::ReadAgain | Then::WriteSecond(_)),
        _ => false,
    }
}

/// The verbs of a stream in the order of its cells.
pub fn verbs(blocks: &Blocks) -> Vec<Verb> {
    let mut verbs = match (&blocks.mix, &blocks.sizes) {
        (Mix::Only(_), _) if leads_to_the_other(blocks) => vec![Verb::Read, Verb::Write],
        (Mix::Only(verb), _) => vec![*verb],
        (Mix::ByCompleted { commits: true, .. }, _) => vec![Verb::Read, Verb::Commit],
        (Mix::TrimWrite, _) => vec![Verb::Trim, Verb::Write],
        (Mix::Random { .. } | Mix::ByCompleted { .. } | Mix::ReadWrite { .. }, _) => {
            vec![Verb::Read, Verb::Write]
        }
    };
    if !blocks.sync.is_empty() {
        verbs.push(Verb::Sync);
    }
    verbs
}

/// The verbs of a stream with what comes after its operations: reads that verify, syncs at the end.
pub fn cells(
    stream: &Stream,
    blocks: &Blocks,
    recording: Option<&Recording>,
) -> Result<Vec<Verb>, ExecuteError> {
    let mut verbs = recording.map_or_else(|| verbs(blocks), Recording::verbs);
    if blocks.verify.is_some_and(|verify| verify.discards.is_some()) && !verbs.contains(&Verb::Trim) {
        verbs.push(Verb::Trim);
    }
    if blocks.verify.is_some() && !verbs.contains(&Verb::Read) {
        verbs.push(Verb::Read);
    }
    // A cell of their own: syncs at the end are no events of the load, those between its operations are.
    if stream.after_last.iter().any(|kind| *kind != SyncKind::None) {
        verbs.push(Verb::Sync);
    }
    match verbs.len() <= CELLS {
        true => Ok(verbs),
        false => {
            let names: Vec<String> = verbs.iter().map(|verb| format!("{verb:?}").to_lowercase()).collect();
            let (names, number) = (names.join(", "), verbs.len());
            Err(ExecuteError::Plan {
                what: format!("a stream counts {CELLS} verbs apart, and this one has {number}: {names}"),
                hint: "divide it into two streams".to_owned(),
            })
        }
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
    if let Pattern::VariableRecords(rules) = &blocks.pattern {
        let seed = seed ^ (u64::from(worker) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        return Ok(Box::new(variable_records::Walk::new(rules, blocks, geometry, verbs, seed)?));
    }
    let plain = match &geometry.space {
        Space::Picked { over, by } if over.len() > 1 => {
            picked(blocks, geometry, by, stop, (worker, workers), seed, verbs)?
        }
        _ => one_space(blocks, geometry, stop, (worker, workers), seed, verbs)?,
    };
    let in_pairs = matches!(blocks.mix, Mix::TrimWrite | Mix::ReadWrite { .. });
    let apart = blocks.queue_options.no_overlap || in_pairs;
    Ok(if apart && blocks.verify.is_none() { Box::new(no_overlap::NoOverlap::new(plain)) } else { plain })
}

/// Bytes of a block and from one block to the next.
fn size_and_step(blocks: &Blocks) -> (u64, u64) {
    match &blocks.sizes {
        Sizes::One(size) => (size.0, blocks.align.0),
        // Blocks of the smallest size; a longer operation covers several, up to its target's end.
        sizes => (sizes.least().0, if blocks.align.0 == 0 { sizes.least().0 } else { blocks.align.0 }),
    }
}

/// A source over several targets, each with an order of its own.
fn picked(
    blocks: &Blocks,
    geometry: &Geometry,
    by: &Pattern,
    stop: &Stop,
    (worker, workers): (u32, u32),
    seed: u64,
    verbs: &[Verb],
) -> Result<Box<dyn Source>, ExecuteError> {
    let (size, step) = size_and_step(blocks);
    let grid = geometry.grid(size, step)?;
    let parts = geometry.parts();
    let numbers = Geometry {
        space: Space::Whole(TargetId(0)),
        sizes: vec![parts.len() as u64],
        start: 0,
        length: parts.len() as u64,
        align: 1,
    };
    let seed = seed ^ 0x91C4_ED00;
    let by = order::Order::of(by, &numbers.grid(1, 1)?, worker, workers, seed)?;
    let limit = mixed::Limit::over(stop, (grid.size, grid.step), grid.blocks());
    // Where some are longer than others, each is done as often as the whole.
    let unequal = parts.iter().any(|part| part.length != parts[0].length);
    let all = parts.iter().map(|part| part.length).fold(0, u64::saturating_add);
    let by_bytes = stop.bytes.map(|bytes| bytes.0.div_ceil(all.max(1)).max(1));
    let passes = stop.passes.or(by_bytes).filter(|_| unequal);
    let each = Stop { passes, ..Stop::default() };
    let members = (1..).zip(&parts).map(|(number, part)| {
        let own = seed.wrapping_add(number * 0x9E37_79B9);
        one_space(blocks, part, &each, (worker, workers), own, verbs)
    });
    let members: Vec<Box<dyn Source>> = members.collect::<Result<_, ExecuteError>>()?;
    Ok(Box::new(target_choice::TargetChoice::new(members, by, limit, seed ^ u64::from(worker))))
}

fn one_space(
    blocks: &Blocks,
    geometry: &Geometry,
    stop: &Stop,
    (worker, workers): (u32, u32),
    seed: u64,
    verbs: &[Verb],
) -> Result<Box<dyn Source>, ExecuteError> {
    let (size, step) = size_and_step(blocks);
    let grid = geometry.grid(size, step)?;
    let seed = seed ^ (u64::from(worker) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let plain =
        blocks.sync.is_empty() && stop.operations.is_none() && stop.bytes.is_none() && stop.passes.is_none();
    let one_size = matches!(blocks.sizes, Sizes::One(_));
    let own = blocks.generator == Generator::Xoshiro;
    match (&blocks.pattern, blocks.mix, grid.one_target()) {
        (Pattern::Uniform { once: false }, Mix::Only(verb), Some(target)) if plain && one_size && own => {
            Ok(Box::new(uniform::Uniform::new(&grid, target, verb, seed)))
        }
        _ => {
            let order = match &blocks.pattern {
                Pattern::Uniform { once: true } if !one_size && grid.size == grid.step => {
                    order::Order::Map(map::Map::new(grid.blocks())?)
                }
                Pattern::Uniform { once: true } if !one_size => {
                    return Err(refuse(
                        "map of blocks of several sizes that are not aligned to the smallest",
                    ));
                }
                pattern => generated(blocks, pattern, &grid, (worker, workers), seed)?,
            };
            // Where each block is touched once, or nothing is said of the alignment, lengths are whole blocks.
            let exact = blocks.align.0 == 0 || matches!(order, order::Order::Map(_));
            let lengths = sizes::Lengths::of(&blocks.sizes, grid.step, exact)?;
            let limit = mixed::Limit::of(stop, &grid);
            Ok(Box::new(mixed::Mixed::new(grid, order, lengths, blocks, verbs, limit, seed)))
        }
    }
}

/// The order of blocks by the generator that the plan names.
fn generated(
    blocks: &Blocks,
    pattern: &Pattern,
    grid: &Grid,
    (worker, workers): (u32, u32),
    seed: u64,
) -> Result<order::Order, ExecuteError> {
    let once = matches!(pattern, Pattern::Uniform { once: true });
    match (&blocks.generator, pattern) {
        (_, Pattern::EachVerb(of)) => {
            let one = || generated(blocks, of, grid, (worker, workers), seed).map(Box::new);
            Ok(order::Order::EachVerb { writes: one()?, others: one()? })
        }
        (Generator::Lfsr { seed }, Pattern::Uniform { .. }) => {
            Ok(order::Order::Lfsr(generators::Lfsr::new(grid.blocks(), *seed)))
        }
        (Generator::Tausworthe { seed }, Pattern::Uniform { .. }) => {
            let map = if once { Some(map::Map::new(grid.blocks())?) } else { None };
            Ok(order::Order::Tausworthe(generators::Tausworthe::new(*seed), map))
        }
        // Other distributions draw from our own generator: what fio's would give is not what is asked of them.
        (Generator::Xoshiro | Generator::Tausworthe { .. } | Generator::Lfsr { .. }, _) => {
            order::Order::of(pattern, grid, worker, workers, seed)
        }
        (Generator::Given { .. }, _) => Err(refuse("given states of a generator, but in a shared sequence")),
    }
}

/// What a worker that verifies knows besides its plan.
pub(crate) struct Besides {
    /// The worker among those of its stream that write.
    pub among: Writer,
    /// Where it notes how far it is.
    pub noting: Option<Noting>,
    /// How far the run got that wrote what it checks.
    pub known: Option<Known>,
    /// Draws what is discarded.
    pub seed: u64,
}

/// The source of a worker that verifies: `make` builds the same plain source each time. `stop`'s time is how long it
/// writes.
pub(crate) fn verified(
    make: &dyn Fn() -> Result<Box<dyn Source>, ExecuteError>,
    blocks: &Blocks,
    plan: Verify,
    verbs: &[Verb],
    stop: &Stop,
    besides: Besides,
) -> Result<Box<dyn Source>, ExecuteError> {
    // A walk by records says itself which of its operations are checked.
    if matches!(blocks.pattern, Pattern::VariableRecords(_)) {
        return make();
    }
    let cell = |wanted| verbs.iter().position(|verb| *verb == wanted).unwrap_or(0) as u8;
    let (read_cell, writes) = (cell(Verb::Read), writes(&blocks.mix));
    let Besides { among, noting, known, seed } = besides;
    if plan.only || !writes {
        return Ok(Box::new(verify::Checking::new(make()?, read_cell, writes, known)));
    }
    let time_ns = stop.time.map(|time| time.0);
    // Of a load that discards what it writes next, the last discard may stay without its write.
    let own = (blocks.mix == Mix::TrimWrite).then_some(discards::OWN);
    let discards = plan.discards.or(own);
    let discarding = discards.map(|plan| discards::Discarding::new(plan, cell(Verb::Trim), seed));
    let verifying = verify::Verifying::new((make()?, make()?), plan, read_cell, time_ns, among);
    Ok(Box::new(verifying.discarding(discarding).noting(noting)))
}

/// Does a mix write?
pub fn writes(mix: &Mix) -> bool {
    match mix {
        Mix::Only(verb) => verb.writes(),
        Mix::Random { read_percent } => *read_percent < 100,
        Mix::ReadWrite { write_percent } => *write_percent > 0,
        Mix::ByCompleted { .. } | Mix::TrimWrite => true,
    }
}
