//! What is wrong with a parameter, and what to do.

/// What is wrong with a parameter. The text names it and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\nhint: {hint}")]
pub struct Wrong {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

pub(crate) fn wrong(what: impl Into<String>, hint: impl Into<String>) -> Wrong {
    Wrong { what: what.into(), hint: hint.into() }
}
