//! What goes wrong before and while requests are made, in ioping's words, and the exit status of it.

/// The exit status when words are wrong.
pub const STATUS_USAGE: u8 = 1;
/// The exit status when the target cannot be made ready.
pub const STATUS_PREPARATION: u8 = 2;
/// The exit status when a request failed.
pub const STATUS_RUNTIME: u8 = 3;

/// Why nothing can be measured, or no longer. Its text stands behind `ioping: ` on stderr; a reason is what the system calls
/// the error (`No such file or directory`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The target cannot be looked at: its name, the reason.
    #[error("stat \"{0}\" failed: {1}")]
    Stat(String, String),
    /// The target cannot be opened: its name, the reason.
    #[error("failed to open \"{0}\": {1}")]
    Open(String, String),
    /// The target is no directory, file or device.
    #[error("unsupported destination: \"{0}\"")]
    Unsupported(String),
    /// The target is a character device, of which fathom measures none. Not ioping's.
    #[error(
        "unsupported destination: \"{0}\" is a character device\nhint: name a directory, a file or a block device"
    )]
    CharacterDevice(String),
    /// No working file can be made in a directory: its name, the reason.
    #[error("failed to create temporary file at \"{0}\": {1}")]
    TemporaryFile(String, String),
    /// The working file cannot be filled, for this reason.
    #[error("preparation write failed: {0}")]
    PreparationWrite(String),
    /// The working set ends behind the target.
    #[error("target is too small for this")]
    TargetTooSmall,
    /// No request fits into the working set.
    #[error("request size is too big for this target")]
    RequestTooBig,
    /// There is no memory for a request, or one call cannot move so much.
    #[error("buffer allocation failed")]
    Buffer,
    /// A file or device would be written, and that was not said three times.
    #[error("think twice, then use -WWW to shred this target")]
    Shred,
    /// A request failed, for this reason.
    #[error("request failed: {0}")]
    Request(String),
}

impl Failure {
    /// ioping's exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Request(_) => STATUS_RUNTIME,
            _ => STATUS_PREPARATION,
        }
    }
}

/// What is said on stderr, and nothing more done about it, when a request moved fewer bytes than it was for.
pub fn short_transfer(bytes: u64) -> String {
    format!("request returned less than expected: {bytes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_statuses_of_their_stage() {
        let stat = Failure::Stat("/nonexist".to_owned(), "No such file or directory".to_owned());
        assert_eq!(stat.to_string(), "stat \"/nonexist\" failed: No such file or directory");
        assert_eq!(stat.status(), 2);
        let request = Failure::Request("Input/output error".to_owned());
        assert_eq!(
            (request.to_string().as_str(), request.status()),
            ("request failed: Input/output error", 3)
        );
    }
}
