//! The memory that a plan takes, against what there is: found out before anything is opened, since what is mapped and not
//! there ends the program, or another one.

use crate::queues::buffer_bytes;
use fathom_host::{Roots, memory};
use fathom_record::ExecuteError;
use fathom_spec::*;

/// Resident bytes of a worker beside its buffers: its stack's first pages, histograms, slots.
const WORKER_BYTES: u64 = 128 << 10;
/// Addresses of a worker beside its buffers: the whole stack of its thread, with the page that guards it.
const WORKER_ADDRESSES: u64 = (2 << 20) + 4096;
/// Bytes of a file's place in an order that was drawn.
const FILE_BYTES: u64 = 4;

/// Checks that there is room for all workers of a plan that may run at the same time.
pub(crate) fn check(plan: &Plan, roots: &Roots) -> Result<(), ExecuteError> {
    let workers: u64 = plan.streams.iter().map(|stream| u64::from(stream.workers)).sum();
    let buffers = plan.streams.iter().map(buffers_of).fold(0, u64::saturating_add);
    let memory = workers.saturating_mul(WORKER_BYTES).saturating_add(buffers);
    let addresses = workers.saturating_mul(WORKER_ADDRESSES).saturating_add(buffers);
    let left = memory::left(roots);
    let short = match (memory > left.memory, addresses > left.addresses) {
        (true, _) => (memory, left.memory),
        (_, true) => (addresses, left.addresses),
        _ => return Ok(()),
    };
    let (needed, left) = (Bytes(short.0), Bytes(short.1));
    Err(ExecuteError::TooMuchMemory { workers, buffers: Bytes(buffers), needed, left })
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
        for too_much in [plan(8, 64, 1 << 22), plan(20_000, 1, 4096), plan(4096, 65_536, 1 << 30)] {
            let error = check(&too_much, &roots).unwrap_err();
            assert!(matches!(error, ExecuteError::TooMuchMemory { left: Bytes(GIB), .. }), "{error}");
        }
    }
}
