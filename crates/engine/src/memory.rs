//! The memory that a plan takes, against what there is: found out before anything is opened, since what is mapped and not
//! there ends the program, or another one.

use crate::queues::buffer_bytes;
use crate::virtual_time;
use fathom_host::{Roots, memory};
use fathom_record::ExecuteError;
use fathom_spec::*;
use std::collections::BTreeMap;

/// Resident bytes of a worker beside its buffers: its stack's first pages, histograms, slots.
const WORKER_BYTES: u64 = 128 << 10;
/// Addresses of a worker beside its buffers: the whole stack of its thread, with the page that guards it.
const WORKER_ADDRESSES: u64 = (2 << 20) + 4096;
/// Bytes of a file's place in an order that was drawn.
const FILE_BYTES: u64 = 4;

/// Checks that there is room for the workers of a plan that start at the same time.
pub(crate) fn check(plan: &Plan, roots: &Roots) -> Result<(), ExecuteError> {
    let is_simulated = virtual_time::is_asked_for(plan);
    let mut phases: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (stream, phase) in plan.streams.iter().zip(phases_of(plan)) {
        let bytes = if is_simulated { simulated(stream) } else { buffers_of(stream) };
        let (workers, buffers) = phases.entry(phase).or_default();
        *workers += u64::from(stream.workers);
        *buffers = buffers.saturating_add(bytes);
    }
    phases.into_values().try_for_each(|(workers, buffers)| fits(workers, buffers, is_simulated, roots))
}

/// How many streams each waits for, one after the other: those of one number may run together.
fn phases_of(plan: &Plan) -> Vec<u32> {
    let mut phases: Vec<u32> = Vec::with_capacity(plan.streams.len());
    for stream in &plan.streams {
        let before = stream.start.after.iter().filter_map(|before| phases.get(before.0 as usize));
        phases.push(before.max().map_or(0, |last| last + 1));
    }
    phases
}

fn fits(workers: u64, buffers: u64, is_simulated: bool, roots: &Roots) -> Result<(), ExecuteError> {
    let memory = workers.saturating_mul(WORKER_BYTES).saturating_add(buffers);
    // All simulated workers are on one thread.
    let addresses = if is_simulated { WORKER_BYTES } else { WORKER_ADDRESSES };
    let addresses = workers.saturating_mul(addresses).saturating_add(buffers);
    let left = memory::left(roots);
    let short = match (memory > left.memory, addresses > left.addresses) {
        (true, _) => (memory, left.memory),
        (_, true) => (addresses, left.addresses),
        _ => return Ok(()),
    };
    let (needed, left) = (Bytes(short.0), Bytes(short.1));
    Err(ExecuteError::TooMuchMemory { workers, buffers: Bytes(buffers), needed, left })
}

/// Bytes of what is outstanding on simulated devices: slots, and rows of the calendar.
fn simulated(stream: &Stream) -> u64 {
    const OPERATION_BYTES: u64 = 128;
    u64::from(stream.workers).saturating_mul(stream.depth.most().into()).saturating_mul(OPERATION_BYTES)
}

/// Bytes that a stream's workers fill.
fn buffers_of(stream: &Stream) -> u64 {
    let workers = u64::from(stream.workers);
    match &stream.work {
        // Nothing is ever read into the buffers of a queue that does nothing: the kernel gives them no memory.
        Work::Blocks(blocks) if blocks.queue == QueueKind::Null => 0,
        Work::Blocks(blocks) => {
            workers.saturating_mul(buffer_bytes(stream.depth.most(), blocks.sizes.most()))
        }
        Work::Files(files) => workers.saturating_mul(files.count.saturating_mul(FILE_BYTES)),
        // A copy says itself that there is no memory for its buffers, as its peer does.
        Work::Copy(_) | Work::Compute { .. } | Work::Command(_) | Work::Session(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(workers: u32, depth: u32, block: u64) -> Plan {
        let mut plan = Plan::new(1);
        let space = plan.add_target(Target::Path(PathTarget::direct_read("/x")));
        let mut stream = Stream::closed("s", Blocks::random_reads(space, Bytes(block)), depth);
        stream.workers = workers;
        plan.add_stream(stream);
        plan
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_there_is() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        std::fs::write(tree.path().join("proc/meminfo"), "MemAvailable: 1048576 kB\n").unwrap();
        let roots =
            Roots { proc: tree.path().join("proc"), sys: tree.path().join("sys"), ..Roots::default() };
        assert_eq!(check(&plan(8, 64, 1 << 20), &roots), Ok(()));
        // Streams that run one after the other take their memory one after the other.
        let mut twice = plan(8, 128, 1 << 19);
        let mut second = twice.streams[0].clone();
        second.start.after = vec![StreamId(0)];
        twice.add_stream(second.clone());
        assert_eq!(check(&twice, &roots), Ok(()));
        second.start.after.clear();
        twice.add_stream(second);
        assert!(check(&twice, &roots).is_err());
        let mut simulated = plan(4096, 65_536, 4096);
        simulated.targets = vec![Target::Sim(String::new())];
        for too_much in [simulated, plan(8, 64, 1 << 22), plan(20_000, 1, 4096), plan(4096, 65_536, 1 << 30)]
        {
            let error = check(&too_much, &roots).unwrap_err();
            assert!(matches!(error, ExecuteError::TooMuchMemory { left: Bytes(GIB), .. }), "{error}");
        }
    }
}
