//! Signals as flags that are looked at between two slots of a run.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A flag that one signal raises, every time anew.
#[derive(Clone, Debug, Default)]
pub struct Signalled(Arc<AtomicBool>);

impl Signalled {
    /// SIGUSR1, from now on.
    pub(crate) fn usr1() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGUSR1, flag.clone());
        Signalled(flag)
    }

    /// Has it come since this was asked last?
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    /// As if it had come.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// After a signal, or while an open may wait for ever, the next signal ends the program: shared by all that is watched.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// How many opens that may wait for ever are under way.
static OPENS: Mutex<u32> = Mutex::new(0);

/// A flag that SIGINT, SIGTERM and SIGHUP raise. A second signal ends the program at once, as it would without fathom.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches from now on. A SIGHUP that whoever started the program had ignored (nohup) stays ignored.
    pub(crate) fn watch() -> Self {
        let interrupt = Interrupt::default();
        interrupt.register(SIGINT);
        interrupt.register(SIGTERM);
        if !is_ignored(SIGHUP) {
            interrupt.register(SIGHUP);
        }
        interrupt
    }

    /// Watches SIGINT only, for peers that leave the other signals alone; whoever started the program may have said
    /// that it is to be ignored (a shell's `&` does).
    pub(crate) fn only_from_the_keyboard() -> Self {
        let interrupt = Interrupt::default();
        if !is_ignored(SIGINT) {
            interrupt.register(SIGINT);
        }
        interrupt
    }

    fn register(&self, signal: i32) {
        let _ = signal_hook::flag::register_conditional_default(signal, ENDS_AT_ONCE.clone());
        let _ = signal_hook::flag::register(signal, self.0.clone());
        let _ = signal_hook::flag::register(signal, ENDS_AT_ONCE.clone());
    }

    /// Has one come?
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// As if one had come.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Is a signal ignored since before the program began?
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}

/// Opens what may keep the caller waiting for ever: a pipe waits for its partner, and no flag is looked at meanwhile. The first
/// signal ends the program there, as it would without fathom; nothing may be lost by that.
pub fn interruptible<T>(open: impl FnOnce() -> T) -> T {
    let opens = || OPENS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut under_way = opens();
    if *under_way == 0 && ENDS_AT_ONCE.swap(true, Ordering::SeqCst) {
        die_of_interrupt();
    }
    *under_way += 1;
    drop(under_way);
    let opened = open();
    let mut under_way = opens();
    *under_way -= 1;
    if *under_way == 0 {
        ENDS_AT_ONCE.store(false, Ordering::SeqCst);
    }
    opened
}

/// SIGXFSZ has come: a file reached the limit on file sizes.
static MET_FILE_SIZE_LIMIT: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// A file that reaches the limit on file sizes (`ulimit -f`) is an error of the write (EFBIG) from now on, not the end of the
/// program with all that it has measured.
pub fn take_file_size_limit_as_error() {
    if !is_ignored(SIGXFSZ) {
        let _ = signal_hook::flag::register(SIGXFSZ, MET_FILE_SIZE_LIMIT.clone());
    }
}

/// Has a write met the limit on file sizes, where whoever started the program had not told it to ignore that?
pub fn met_file_size_limit() -> bool {
    MET_FILE_SIZE_LIMIT.load(Ordering::Relaxed)
}

/// Ends the program as SIGXFSZ would have without fathom.
pub fn die_of_file_size_limit() {
    let _ = signal_hook::low_level::emulate_default_handler(SIGXFSZ);
}

/// Ends the program as SIGINT would have without fathom, so that a shell sees what happened.
pub fn die_of_interrupt() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
}

/// Ends the program as SIGPIPE would have: the reader of a pipe has seen enough.
pub fn die_of_pipe() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second open found the first one's mark, took it for a signal and ended the program.
    #[test]
    fn opens_that_wait_at_the_same_time_do_not_end_the_program() {
        let both = std::sync::Barrier::new(2);
        let open = || interruptible(|| both.wait().is_leader());
        let leaders = std::thread::scope(|scope| {
            let other = scope.spawn(open);
            [open(), other.join().expect("it opens")]
        });
        assert_eq!(leaders.iter().filter(|leader| **leader).count(), 1);
        assert!(!ENDS_AT_ONCE.load(Ordering::SeqCst));
    }
}
