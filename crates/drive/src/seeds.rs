//! The seeds of everything random in a run, made from the plan's.

use fathom_spec::{Plan, StreamId};

/// 2^64 over the golden ratio: its multiples lie far apart in all bits (Knuth 1973, section 6.4; Weyl's sequence).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// A prime: the seeds of a stream's workers are none that another stream of few workers has.
const BETWEEN_WORKERS: u64 = 7919;

/// The seed of one stream.
pub fn stream_seed(plan: &Plan, stream: StreamId) -> u64 {
    plan.seed ^ (u64::from(stream.0) + 1).wrapping_mul(GOLDEN)
}

/// The seed of one worker, where `seed` is that of what it works for.
pub fn worker_seed(seed: u64, worker: u32) -> u64 {
    seed.wrapping_add(u64::from(worker) * BETWEEN_WORKERS)
}
