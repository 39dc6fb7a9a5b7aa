//! What dt says of an option that it cannot take.

/// A line that dt would say, and exit status 255.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// dt does not know it either.
    #[error("ERROR: Invalid option '{0}' specified, please use 'help' for valid options.")]
    Unknown(String),
    /// Its value cannot be read.
    #[error("ERROR: Invalid value '{value}' for {name}=: {why}")]
    Value {
        /// The option.
        name: String,
        /// What was typed.
        value: String,
        /// What would do.
        why: &'static str,
    },
    /// dt knows it, and fathom does not do it.
    #[error("ERROR: Option '{option}' is dt's, and fathom dt does not do it: {why}")]
    NotDone {
        /// As typed.
        option: String,
        /// What to do instead.
        why: &'static str,
    },
    /// Options that do not go together.
    #[error("ERROR: {0}")]
    Together(String),
}

pub(super) fn wrong(name: &str, value: &str, why: &'static str) -> OptionError {
    OptionError::Value { name: name.to_owned(), value: value.to_owned(), why }
}
