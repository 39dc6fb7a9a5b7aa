//! The options of a command that shows a result: where it goes and in which form.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Where the result goes.
#[derive(Debug, Args)]
pub struct Output {
    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
    /// Write a page that can be mailed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// A name of your own for the run
    #[arg(long)]
    pub label: Option<String>,
}
