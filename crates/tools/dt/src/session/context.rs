//! What the tests of a job share.

use fathom_host::Roots;
use fathom_session::watch::Progress;
use fathom_session::{Console, Environment, Interrupt};

/// Each test has a copy.
#[derive(Clone, Copy)]
pub struct JobContext<'a> {
    /// Clock of day, user, what may be written.
    pub environment: &'a Environment,
    /// Where they speak.
    pub console: &'a Console,
    /// Where /sys, /proc and /dev are.
    pub roots: &'a Roots,
    /// Has the user had enough?
    pub interrupt: &'a Interrupt,
    /// The progress bar.
    pub progress: &'a Progress,
}
