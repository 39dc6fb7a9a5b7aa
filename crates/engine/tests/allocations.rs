//! The hot path allocates nothing: twice the operations make no more allocations.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed to the system's allocator as it came; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises are the system allocator's own.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above, so from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations_of(operations: u64) -> u64 {
    let mut plan = Plan::new(1);
    // No slot ends while it runs, so the coordinator has nothing to tell and to gather.
    (plan.slot, plan.interval) = (Nanos::from_seconds(600), Nanos::from_seconds(600));
    let space = plan.add_target(Target::Null(Bytes(1 << 30)));
    let mut stream = Stream::closed("null", Blocks::random_reads(space, Bytes(4096)), 64);
    stream.stop.operations = Some(operations);
    plan.add_stream(stream);
    let before = ALLOCATIONS.load(Relaxed);
    let run = Engine::default().execute(Request::new(&plan), &mut ()).map(|outcome| outcome.run).unwrap();
    assert_eq!(run.workers[0].counts[0].1.operations, operations);
    ALLOCATIONS.load(Relaxed) - before
}

#[test]
fn twice_the_operations_make_no_more_allocations() {
    allocations_of(1000);
    let (once, twice) = (allocations_of(1_000_000), allocations_of(2_000_000));
    // Starting a thread takes a few more or fewer, by the race of two threads; a million operations would show.
    assert!(once.abs_diff(twice) < 20, "{once} {twice}");
}
