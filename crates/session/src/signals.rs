//! Signals as flags that are looked at between two slots of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// A flag that SIGINT and SIGTERM raise. A second signal ends the program at once, as it would without fathom.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches from now on.
    pub(crate) fn watch() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            let _ = signal_hook::flag::register_conditional_default(signal, flag.clone());
            let _ = signal_hook::flag::register(signal, flag.clone());
        }
        Interrupt(flag)
    }

    /// Watches SIGINT only, for peers that leave the other signals alone; whoever started the program may have said
    /// that it is to be ignored (a shell's `&` does).
    pub(crate) fn only_from_the_keyboard() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        if ignored >> (signal_hook::consts::SIGINT - 1) & 1 == 1 {
            return Interrupt(flag);
        }
        let _ = signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, flag.clone());
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, flag.clone());
        Interrupt(flag)
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

/// Ends the program as SIGINT would have without fathom, so that a shell sees what happened.
pub fn die_of_interrupt() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
}

/// Ends the program as SIGPIPE would have: the reader of a pipe has seen enough.
pub fn die_of_pipe() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}
