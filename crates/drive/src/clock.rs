//! The clock: nanoseconds since a run's start, from the time-stamp counter where it runs steadily, else from the
//! kernel's monotonic clock. One read costs some 10 ns; the hot path makes one a batch.

use crate::sys;
use rustix::time::{ClockId, DynamicClockId, clock_gettime, clock_gettime_dynamic};
use std::sync::OnceLock;

/// A wait for a moment is awake for the last of it: what the kernel takes to wake a thread would be in its response times.
pub const AWAKE_NS: u64 = 50_000;

/// A clock that began at zero when it was made. Copies share that beginning.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: u64,
    /// Nanoseconds of one tick, times 2^32; 0: the kernel's clock is used.
    scale: u64,
}

fn kernel_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What one of the system's clocks says, ms since its own beginning; `number` is `clock_gettime`'s. `None` where there is no
/// such clock, or where it counts CPU time.
pub fn system_clock_ms(number: u32) -> Option<u64> {
    let clock = match number {
        0 => DynamicClockId::Known(ClockId::Realtime),
        1 => DynamicClockId::Known(ClockId::Monotonic),
        4 => DynamicClockId::Known(ClockId::MonotonicRaw),
        5 => DynamicClockId::Known(ClockId::RealtimeCoarse),
        6 => DynamicClockId::Known(ClockId::MonotonicCoarse),
        7 => DynamicClockId::Boottime,
        8 => DynamicClockId::RealtimeAlarm,
        9 => DynamicClockId::BoottimeAlarm,
        11 => DynamicClockId::Tai,
        _ => return None,
    };
    let now = clock_gettime_dynamic(clock).ok()?;
    Some(u64::try_from(now.tv_sec).ok()? * 1000 + now.tv_nsec as u64 / 1_000_000)
}

/// A pair of readings taken as close together as can be: the narrowest of several brackets.
fn pair() -> (u64, u64) {
    (0..16)
        .map(|_| {
            let before = sys::counter();
            let kernel = kernel_ns();
            let after = sys::counter();
            (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), kernel)
        })
        .min()
        .map_or((0, 0), |(_, counter, kernel)| (counter, kernel))
}

/// Measures the counter against the kernel's clock for 5 ms, once in the life of the program; good to about
/// ten parts in a million.
fn scale() -> u64 {
    static SCALE: OnceLock<u64> = OnceLock::new();
    *SCALE.get_or_init(|| {
        if !sys::counter_is_steady() {
            return 0;
        }
        let first = pair();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let second = pair();
        let ticks = second.0.saturating_sub(first.0);
        let ns = second.1.saturating_sub(first.1);
        if ticks == 0 { 0 } else { ((u128::from(ns) << 32) / u128::from(ticks)) as u64 }
    })
}

impl Default for Clock {
    fn default() -> Self {
        Self::start()
    }
}

impl Clock {
    /// A clock that stands at zero now.
    pub fn start() -> Self {
        let scale = scale();
        let base = if scale == 0 { kernel_ns() } else { sys::counter() };
        Clock { base, scale }
    }

    /// Nanoseconds since the start.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.scale {
            0 => kernel_ns() - self.base,
            scale => {
                ((u128::from(sys::counter().saturating_sub(self.base)) * u128::from(scale)) >> 32) as u64
            }
        }
    }

    /// Sleeps until a moment of this clock, and waits awake for the last of it: a sleeper is woken late. `u64::MAX` is none.
    pub fn sleep_until(&self, until_ns: u64) {
        let left = until_ns.saturating_sub(self.now());
        if left == 0 || until_ns == u64::MAX {
            return;
        }
        if left > AWAKE_NS {
            std::thread::sleep(std::time::Duration::from_nanos(left - AWAKE_NS));
        }
        while self.now() < until_ns {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_agrees_with_the_kernels_and_never_runs_backwards() {
        let clock = Clock::start();
        let kernel = kernel_ns();
        let mut last = 0;
        while kernel_ns() - kernel < 20_000_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        let (ours, theirs) = (clock.now() as f64, (kernel_ns() - kernel) as f64);
        assert!((ours - theirs).abs() < theirs * 0.01, "{ours} {theirs}");
    }
}
