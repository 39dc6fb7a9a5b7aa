//! What a worker of a stream does besides keeping so many I/Os outstanding, from what the plan says.

use crate::verification;
use fathom_drive::{Amount, Flow, FlowShare, Hold, LogPen, Operation, WorkerFeatures};
use fathom_record::{CELLS, ExecuteError};
use fathom_spec::{Arrival, Blocks, CellId, Depth, Plan, Shared, Space, Stream, SyncKind, Verb};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU16;

/// Flows of a run, by the plan's cell: the members are the workers of all streams that name it, in order.
pub(crate) type Flows = BTreeMap<CellId, (Arc<Flow>, u64)>;

/// The flows of a plan.
pub(crate) fn flows(plan: &Plan) -> Result<Flows, ExecuteError> {
    let mut flows = Flows::new();
    for cell in plan.streams.iter().filter_map(|stream| flow_of(stream).map(|(cell, _)| cell)) {
        let Some(Shared::Flow { tolerance }) = plan.cells.get(cell.0 as usize) else {
            return Err(ExecuteError::Plan {
                what: format!("the plan has no flow number {}", cell.0),
                hint: "this is a mistake in the program that made the plan".to_owned(),
            });
        };
        let members = plan.streams.iter().filter_map(|stream| Some((stream.workers, flow_of(stream)?)));
        let weights = members
            .filter(|(_, (other, _))| *other == cell)
            .flat_map(|(workers, (_, weight))| std::iter::repeat_n(weight, workers as usize));
        flows.entry(cell).or_insert_with(|| (Arc::new(Flow::new(weights)), *tolerance));
    }
    Ok(flows)
}

fn flow_of(stream: &Stream) -> Option<(CellId, u32)> {
    match stream.depth {
        Depth::Flow { cell, weight, .. } => Some((cell, weight.unsigned_abs())),
        _ => None,
    }
}

fn share(plan: &Plan, flows: &Flows, id: usize, worker: u32) -> Option<FlowShare> {
    let (cell, _) = flow_of(&plan.streams[id])?;
    let (flow, tolerance) = flows.get(&cell)?;
    let before = plan.streams[..id].iter().filter(|s| flow_of(s).is_some_and(|(other, _)| other == cell));
    let member = before.map(|stream| stream.workers).sum::<u32>() + worker;
    Some(FlowShare { flow: flow.clone(), member: member as usize, tolerance: *tolerance })
}

/// The features of one worker. `log` is its end of the stream's log, if there is one.
pub(crate) fn of(
    plan: &Plan,
    id: usize,
    worker: u32,
    blocks: &Blocks,
    verbs: &[Verb],
    flows: &Flows,
    log: Option<LogPen>,
) -> WorkerFeatures {
    let stream = &plan.streams[id];
    let hold = match stream.depth {
        Depth::Latency { target, share, window, .. } => Some(Hold { target, share, window }),
        _ => None,
    };
    let low = match stream.depth {
        Depth::Hysteresis { low, .. } => Some(low as usize),
        _ => None,
    };
    let think = match stream.arrival {
        Arrival::Closed { think } => think,
        _ => None,
    };
    let spare =
        verification::checkers(blocks).map_or(0, |(checkers, _)| verification::spare(checkers) as usize);
    let tags = stream.depth.most() as usize + spare;
    WorkerFeatures {
        think,
        low,
        hold,
        flow: share(plan, flows, id, worker),
        timed_submits: stream.keep.submit || stream.keep.completion,
        fatal: blocks.verify.is_some_and(|verify| verify.fatal),
        failures: stream.errors.failures.clone(),
        latency_most_ns: latency_most(stream, verbs),
        reap_most: match stream.batch.reap_most {
            0 => None,
            // Fewer than are waited for would never be enough.
            most => Some(most.max(stream.batch.reap_least) as usize),
        },
        fill_first: stream.batch.fill_first,
        last: last(plan, stream, blocks, verbs),
        spare,
        amount: stream
            .stop
            .of_window
            .then(|| Amount::of(stream.stop.operations, stream.stop.bytes.map(|bytes| bytes.0))),
        priorities: (!stream.kept_priorities().is_empty())
            .then(|| (0..tags).map(|_| AtomicU16::new(0)).collect()),
        log,
    }
}

/// The longest that an operation of each cell may take.
fn latency_most(stream: &Stream, verbs: &[Verb]) -> Option<[u64; CELLS]> {
    let limits = &stream.errors.latency_most;
    let of = |cell: usize| {
        let limit = limits.iter().find(|(verb, _)| verbs.get(cell) == Some(verb));
        limit.map_or(u64::MAX, |(_, most)| most.0)
    };
    (!limits.is_empty()).then(|| std::array::from_fn(of))
}

/// The syncs after the last operation: each kind over all targets of the space, the last one first.
fn last(plan: &Plan, stream: &Stream, blocks: &Blocks, verbs: &[Verb]) -> Vec<Operation> {
    let cell = verbs.iter().rposition(|verb| *verb == Verb::Sync).unwrap_or(0) as u8;
    let targets = plan.spaces.get(blocks.space.0 as usize).map(Space::members).unwrap_or_default();
    let kinds = stream.after_last.iter().filter(|kind| **kind != SyncKind::None);
    let syncs = kinds.flat_map(|kind| targets.iter().map(|t| Operation::sync(*kind, t.0 as u16, cell)));
    let mut syncs: Vec<Operation> = syncs.collect();
    syncs.reverse();
    syncs
}
