//! `fathom dt`.

use crate::Context;
use fathom_engine::Engine;

/// Runs the command.
pub fn run(_words: &[String], _context: &Context, _engine: &mut Engine) -> u8 {
    255
}
