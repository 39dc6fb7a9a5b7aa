//! What is wrong with the words, as ioping says it. Reads no words.

use std::ffi::OsString;

/// What is wrong with the words; the exit status is 1. Its text stands behind `ioping: ` on stderr.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// No such option.
    #[error("unrecognized option '{0}'")]
    Unrecognized(String),
    /// No such letter in a cluster.
    #[error("invalid option -- '{0}'")]
    Invalid(char),
    /// Several long options begin so.
    #[error("option '{found}' is ambiguous; possibilities:{}", quoted(.possible))]
    Ambiguous {
        /// What was typed.
        found: String,
        /// What it may mean.
        possible: Vec<String>,
    },
    /// A long option without its value.
    #[error("option '{0}' requires an argument")]
    LongValueMissing(String),
    /// A short option without its value.
    #[error("option requires an argument -- '{0}'")]
    ShortValueMissing(char),
    /// A value for an option that has none.
    #[error("option '{0}' doesn't allow an argument")]
    NoValueAllowed(String),
    /// What stands behind a number.
    #[error("invalid suffix: \"{0}\"")]
    Suffix(String),
    /// A number outside of its range.
    #[error("integer overflow at parsing argument: {0}")]
    Overflow(String),
    /// No target.
    #[error("no destination specified")]
    NoTarget,
    /// Several targets.
    #[error("more than one destination specified")]
    Targets,
    /// A conversion of `-I` with a flag, a width or another alphabet. Not ioping's.
    #[error("-time: {0} in the format is not supported\nhint: conversions of one letter are, such as %T")]
    TimeFormat(String),
    /// A word that is no UTF-8, which a plan cannot hold. Not ioping's.
    #[error("{0:?} is no UTF-8\nhint: reach the target through a link with another name")]
    Encoding(OsString),
}

impl UsageError {
    /// Is the message followed by an empty line and [`crate::USAGE`]?
    pub fn shows_usage(&self) -> bool {
        use UsageError::*;
        match self {
            Unrecognized(_) | Invalid(_) | Ambiguous { .. } => true,
            LongValueMissing(_) | ShortValueMissing(_) | NoValueAllowed(_) => true,
            Suffix(_) | Overflow(_) | NoTarget | Targets | TimeFormat(_) | Encoding(_) => false,
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!(" '{name}'")).collect()
}
