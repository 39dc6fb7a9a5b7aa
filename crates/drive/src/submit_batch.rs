//! The size of a submission, which follows the device.

/// So many steps in a row that need not wait make the batch twice as large.
const READY_STEPS: u32 = 4;

/// How many operations go into one submission. One system call for many saves CPU, but the kernel holds a batch back until
/// all of it is prepared, and meanwhile the device stands idle. So while the device is what is waited for, each operation
/// goes out at once; when completions are there as fast as operations go out, the CPU is what counts, and batches grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubmitBatch {
    now: usize,
    least: usize,
    most: usize,
    /// Did the last step ask to wait?
    waits: bool,
    /// Steps in a row that found completions without waiting.
    ready: u32,
}

impl SubmitBatch {
    /// Starts with the fewest.
    pub(crate) fn between(least: usize, most: usize) -> Self {
        let most = most.max(1);
        let least = least.clamp(1, most);
        SubmitBatch { now: least, least, most, waits: true, ready: 0 }
    }

    /// The most in the next submission.
    #[inline(always)]
    pub(crate) fn most_now(&self) -> usize {
        self.now
    }

    /// Does the step that ends now ask to wait?
    #[inline(always)]
    pub(crate) fn waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// To be told at each step what has come back and what is still outstanding.
    #[inline(always)]
    pub(crate) fn follow(&mut self, done: usize, outstanding: usize) {
        if self.least == self.most {
            return;
        }
        let ready = done > 0 && (!self.waits || outstanding == 0);
        self.ready = if ready { self.ready + 1 } else { 0 };
        if self.ready >= READY_STEPS {
            self.now = (self.now * 2).min(self.most);
            self.ready = 0;
        } else if self.waits && outstanding > 0 {
            self.now = (self.now / 2).max(self.least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_waited_for_gets_its_operations_one_by_one() {
        let mut batch = SubmitBatch::between(1, 128);
        for _ in 0..100 {
            batch.waits(true);
            batch.follow(8, 8);
            for _ in 0..8 {
                batch.waits(false);
                batch.follow(0, 16);
                assert_eq!(batch.most_now(), 1);
            }
        }
    }

    #[test]
    fn completions_without_waiting_let_batches_grow_to_the_most_and_stay() {
        let mut batch = SubmitBatch::between(1, 100);
        for _ in 0..7 * READY_STEPS {
            batch.waits(batch.most_now() == 100);
            batch.follow(batch.most_now(), 0);
        }
        assert_eq!(batch.most_now(), 100);
        batch.waits(true);
        batch.follow(100, 0);
        assert_eq!(batch.most_now(), 100);
    }

    #[test]
    fn batches_shrink_when_the_device_slows_down() {
        let mut batch = SubmitBatch { now: 64, ..SubmitBatch::between(1, 64) };
        for size in [32, 16, 8, 4, 2, 1, 1] {
            batch.waits(true);
            batch.follow(1, 63);
            assert_eq!(batch.most_now(), size);
        }
    }

    #[test]
    fn what_the_plan_says_is_kept() {
        let mut batch = SubmitBatch::between(16, 16);
        batch.waits(true);
        batch.follow(1, 20);
        assert_eq!(batch.most_now(), 16);
    }
}
