//! A command that is run for a while, as a stream of its own.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One command. The engine runs it only where whoever owns the engine has allowed commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// The program: a path, or a name that is looked for in PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Files that its output and its errors are written to; nothing: they go where ours go. The same name twice: one file
    /// for both.
    pub output: Option<(String, String)>,
    /// When its stream ends before it: how long it has to end after SIGTERM, before SIGKILL.
    pub grace: Nanos,
}
