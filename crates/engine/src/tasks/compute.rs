//! CPU time: busy for a share of the time, in chunks.

use fathom_drive::{Act, Clock, Serial, Trouble};
use fathom_spec::Verb;

/// Length of a busy chunk, ns.
const CHUNK_NS: u64 = 50_000_000;

/// One worker's use of its CPU.
pub(crate) struct Computing {
    clock: Clock,
    left: u64,
    wait_ns: u64,
    first: bool,
}

impl Computing {
    /// Busy for `share` of the time, 0 to 1, for so many chunks.
    pub(crate) fn new(share: f64, operations: Option<u64>, clock: Clock) -> Self {
        let share = share.clamp(0.001, 1.0);
        let wait_ns = (CHUNK_NS as f64 * (1.0 - share) / share) as u64;
        Computing { clock, left: operations.unwrap_or(u64::MAX), wait_ns, first: true }
    }
}

impl Serial for Computing {
    fn next(&mut self, _now_ns: u64) -> Option<Act> {
        self.left = self.left.checked_sub(1)?;
        let wait_ns = if std::mem::take(&mut self.first) { 0 } else { self.wait_ns };
        Some(Act { verb: Verb::Compute, cell: 0, bytes: 0, paced: true, wait_ns })
    }

    fn perform(&mut self) -> Result<u32, Trouble> {
        let until = self.clock.now() + CHUNK_NS;
        while self.clock.now() < until {
            std::hint::spin_loop();
        }
        Ok(0)
    }
}
