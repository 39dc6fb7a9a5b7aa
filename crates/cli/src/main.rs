//! The program `fathom`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut engine = fathom_engine::Engine::default();
    ExitCode::from(fathom_cli::run(std::env::args_os().collect(), &mut engine))
}
