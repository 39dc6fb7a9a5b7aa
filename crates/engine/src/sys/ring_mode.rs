//! The ladder of flags with which a ring is set up: the best first, down to what the kernel takes.

use io_uring::IoUring;
use std::io;

/// How long the kernel's submitting thread stays awake without work.
const SUBMIT_POLL_IDLE_MS: u32 = 1000;

/// How a ring is set up; each is a step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// IOPOLL.
    pub io_poll: bool,
    /// SQPOLL, which excludes DEFER_TASKRUN.
    pub submit_poll: bool,
    /// The CPU of the submitting thread; none: any.
    pub submit_poll_cpu: Option<u32>,
    /// Where completions' task work runs.
    pub tasks: Tasks,
}

/// When the kernel does what a completion leaves to the submitting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// SINGLE_ISSUER | DEFER_TASKRUN (Linux 6.1).
    Deferred,
    /// COOP_TASKRUN (Linux 5.19).
    Cooperative,
    /// None of these.
    Interrupting,
}

impl Mode {
    /// A ring of this kind.
    pub fn build(self, entries: u32, completions: u32) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(completions).dontfork();
        if self.io_poll {
            builder.setup_iopoll();
        }
        if self.submit_poll {
            builder.setup_sqpoll(SUBMIT_POLL_IDLE_MS);
            if let Some(cpu) = self.submit_poll_cpu {
                builder.setup_sqpoll_cpu(cpu);
            }
        }
        match self.tasks {
            Tasks::Deferred => builder.setup_single_issuer().setup_defer_taskrun(),
            Tasks::Cooperative => builder.setup_coop_taskrun(),
            Tasks::Interrupting => &mut builder,
        };
        builder.build(entries)
    }

    /// The next step down, with what is lost by it.
    fn down(self) -> Option<(Mode, &'static str)> {
        match self {
            Mode { tasks: Tasks::Deferred, .. } => Some((
                Mode { tasks: Tasks::Cooperative, ..self },
                "io_uring without DEFER_TASKRUN: this kernel does not know it (Linux 6.1 does)",
            )),
            Mode { tasks: Tasks::Cooperative, .. } => Some((
                Mode { tasks: Tasks::Interrupting, ..self },
                "io_uring without COOP_TASKRUN: this kernel does not know it (Linux 5.19 does)",
            )),
            Mode { submit_poll: true, submit_poll_cpu: Some(_), .. } => Some((
                Mode { submit_poll_cpu: None, ..self },
                "io_uring's submitting kernel thread on any CPU: the kernel refused the one that was named",
            )),
            Mode { submit_poll: true, .. } => Some((
                Mode { submit_poll: false, tasks: Tasks::Deferred, ..self },
                "io_uring without a submitting kernel thread: this kernel refused SQPOLL",
            )),
            Mode { io_poll: true, .. } => Some((
                Mode { io_poll: false, tasks: Tasks::Deferred, ..self },
                "io_uring without polled completions: this kernel refused IOPOLL",
            )),
            _ => None,
        }
    }
}

/// Goes down the ladder until a ring can be made.
pub fn climb(mut mode: Mode, entries: u32, notes: &mut Vec<String>) -> io::Result<(IoUring, Mode)> {
    loop {
        let error = match mode.build(entries, entries * 2) {
            Ok(ring) => return Ok((ring, mode)),
            Err(error) => error,
        };
        // An older kernel allows a submitting thread only to root, and answers EPERM; io_uring switched off does too.
        let may_help = match error.raw_os_error() {
            Some(libc::EINVAL) => true,
            Some(libc::EPERM) => mode.submit_poll,
            _ => false,
        };
        let Some((lower, lost)) = may_help.then(|| mode.down()).flatten() else { return Err(error) };
        notes.push(lost.to_owned());
        mode = lower;
    }
}
