//! CPU time: busy for a share of the time, in chunks.

use fathom_drive::{Act, Clock, Serial, Trouble};
use fathom_spec::{Nanos, Verb};

/// Length of a busy chunk where none is asked for, ns.
const CHUNK_NS: u64 = 50_000_000;

/// Numbers that are sorted in one go.
const NUMBERS: usize = 1024;

/// One worker's use of its CPU.
pub(crate) struct Computing {
    clock: Clock,
    left: u64,
    chunk_ns: u64,
    wait_ns: u64,
    first: bool,
    /// What is sorted; empty: nothing is done.
    numbers: Vec<u32>,
}

impl Computing {
    /// Busy for `share` of the time, 0 to 1, for so many chunks of a length; sorting numbers or doing nothing.
    pub(crate) fn new(
        (share, chunk, sorts): (f64, Nanos, bool),
        operations: Option<u64>,
        clock: Clock,
    ) -> Self {
        let share = share.clamp(0.001, 1.0);
        let chunk_ns = if chunk.0 == 0 { CHUNK_NS } else { chunk.0 };
        let wait_ns = (chunk_ns as f64 * (1.0 - share) / share) as u64;
        let numbers = if sorts { vec![0; NUMBERS] } else { Vec::new() };
        Computing { clock, left: operations.unwrap_or(u64::MAX), chunk_ns, wait_ns, first: true, numbers }
    }
}

impl Serial for Computing {
    fn next(&mut self, _now_ns: u64) -> Option<Act> {
        self.left = self.left.checked_sub(1)?;
        let wait_ns = if std::mem::take(&mut self.first) { 0 } else { self.wait_ns };
        Some(Act { verb: Verb::Compute, cell: 0, bytes: 0, paced: true, wait_ns })
    }

    fn perform(&mut self) -> Result<u32, Trouble> {
        let until = self.clock.now() + self.chunk_ns;
        let mut seed = 1u32;
        while self.clock.now() < until {
            for number in &mut self.numbers {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *number = seed;
            }
            std::hint::black_box(&mut self.numbers).sort_unstable();
            std::hint::spin_loop();
        }
        Ok(0)
    }
}
