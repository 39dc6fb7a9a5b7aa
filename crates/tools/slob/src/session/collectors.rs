//! sysstat's and procps' own programs, beside a run.

use fathom_host::{Roots, end_with_this_thread, output_file};
use fathom_session::Environment;
use rustix::process::Signal;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// sysstat's and procps' programs, each writing its file until it is told to end.
pub struct Collectors {
    running: Vec<(&'static str, Child)>,
}

const PROGRAMS: [(&str, &str, &[&str]); 3] = [
    ("iostat", "iostat.out", &["-t", "-xm", "3"]),
    ("vmstat", "vmstat.out", &["-t", "3"]),
    ("mpstat", "mpstat.out", &["-P", "ALL", "3"]),
];

impl Collectors {
    /// Starts those that are installed; the others' files are made from /proc afterwards.
    pub fn start(directory: &Path, environment: &Environment) -> Self {
        let mut running = Vec::new();
        for (name, file, words) in PROGRAMS {
            let Some(program) = environment.program(name) else { continue };
            let Ok(out) = output_file::grow(&Roots::default(), &directory.join(file)) else { continue };
            let mut command = Command::new(program);
            command.args(words).stdin(Stdio::null()).stdout(out).stderr(Stdio::null()).env("LC_ALL", "C");
            // A killed fathom leaves none of them behind.
            end_with_this_thread(&mut command, Signal::TERM);
            if let Ok(child) = command.spawn() {
                running.push((file, child));
            }
        }
        Collectors { running }
    }

    /// Ends them. Answers the files that they wrote.
    pub fn end(&mut self) -> Vec<&'static str> {
        let mut written = Vec::new();
        for (file, mut child) in self.running.drain(..) {
            // One that has ended by itself could not do what it was started for.
            let alive = matches!(child.try_wait(), Ok(None));
            let _ = child.kill();
            let _ = child.wait();
            if alive {
                written.push(file);
            }
        }
        written
    }
}

impl Drop for Collectors {
    fn drop(&mut self) {
        self.end();
    }
}
