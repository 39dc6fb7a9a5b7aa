//! The program `fathom`: the only place that names an executor.

use fathom_session::{Console, Environment};
use rustix::process::{Resource, getrlimit};
use std::process::ExitCode;

fn main() -> ExitCode {
    fathom_session::signals::take_file_size_limit_as_error();
    // Under a small limit (ulimit -s) the work has a thread with a stack of its own.
    match getrlimit(Resource::Stack).current.is_some_and(|bytes| bytes < STACK_BYTES as u64) {
        false => run(),
        true => {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
            thread.ok().and_then(|thread| thread.join().ok()).unwrap_or(ExitCode::FAILURE)
        }
    }
}

/// What the main thread needs at least.
const STACK_BYTES: usize = 4 << 20;

fn run() -> ExitCode {
    let mut engine = fathom_engine::Engine::default();
    let arguments = std::env::args_os().collect();
    ExitCode::from(fathom_cli::run(arguments, Environment::process(), Console::process(), &mut engine))
}
