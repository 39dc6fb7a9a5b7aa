//! The program `fathom`: the only place that names an executor.

use fathom_session::{Console, Environment};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut engine = fathom_engine::Engine::default();
    let arguments = std::env::args_os().collect();
    ExitCode::from(fathom_cli::run(arguments, Environment::process(), Console::process(), &mut engine))
}
