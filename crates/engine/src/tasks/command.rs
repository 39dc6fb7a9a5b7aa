//! A command: started when its stream begins, waited for, and ended with its stream.

use fathom_drive::{Act, Serial, Trouble};
use fathom_host::{Roots, output_file};
use fathom_record::EventKind;
use fathom_spec::{Bytes, Command, StreamId, Verb};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// How long one look at a running command takes: meanwhile its worker sees no orders.
const LOOK: Duration = Duration::from_millis(5);

/// A command and what has become of it.
pub(crate) struct Running {
    command: Command,
    stream: StreamId,
    roots: Roots,
    child: Option<Child>,
    ended: bool,
}

impl Running {
    /// A command that has not begun.
    pub(crate) fn new(command: Command, stream: StreamId, roots: &Roots) -> Self {
        Running { command, stream, roots: roots.clone(), child: None, ended: false }
    }

    fn begin(&self) -> std::io::Result<Child> {
        let mut command = std::process::Command::new(&self.command.program);
        command.args(&self.command.arguments).stdin(Stdio::null());
        if let Some((out, err)) = &self.command.output {
            let create = |name: &String| output_file::grow(&self.roots, Path::new(name));
            let file = create(out)?;
            let errors = if err == out { file.try_clone()? } else { create(err)? };
            command.stdout(file).stderr(errors);
        }
        command.spawn()
    }

    fn trouble(&mut self, errno: i32, moved: u64) -> Trouble {
        self.ended = true;
        Trouble::Fatal(Box::new(EventKind::Fault {
            stream: self.stream,
            verb: Verb::Compute,
            offset: Bytes(0),
            errno,
            moved: Bytes(moved),
            target: self.command.program.clone(),
            times: 1,
        }))
    }

    fn failed(&mut self, error: &std::io::Error) -> Trouble {
        self.trouble(error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error()), 0)
    }
}

impl Serial for Running {
    fn next(&mut self, _now_ns: u64) -> Option<Act> {
        (!self.ended).then_some(Act { verb: Verb::Compute, cell: 0, bytes: 0, paced: false, wait_ns: 0 })
    }

    fn perform(&mut self) -> Result<u32, Trouble> {
        let Some(child) = &mut self.child else {
            self.child = Some(self.begin().map_err(|error| self.failed(&error))?);
            return Err(Trouble::Nothing);
        };
        match child.try_wait() {
            Ok(None) => {
                std::thread::sleep(LOOK);
                Err(Trouble::Nothing)
            }
            Ok(Some(status)) => {
                self.ended = true;
                self.child = None;
                match status.code() {
                    Some(0) => Ok(0),
                    code => {
                        Err(self.trouble(rustix::io::Errno::CHILD.raw_os_error(), code.unwrap_or(0) as u64))
                    }
                }
            }
            Err(error) => Err(self.failed(&error)),
        }
    }
}

/// A command that outlives its stream is asked to end, and then made to.
impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(process) = Pid::from_raw(child.id() as i32) {
            // It may have ended by itself meanwhile.
            let _ = kill_process(process, Signal::TERM);
        }
        let mut left = Duration::from_nanos(self.command.grace.0);
        while matches!(child.try_wait(), Ok(None)) && !left.is_zero() {
            let pause = left.min(LOOK);
            std::thread::sleep(pause);
            left -= pause;
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}
