//! What iozone says of an operation that failed, and its status then: what went wrong on stdout, the system's reason on
//! stderr.

use super::WORDS;
use fathom_record::{EventKind, ExecuteError, Run};
use fathom_session::errno_text;
use fathom_spec::{Verb, names};

/// A failure in iozone's words.
pub struct Failure {
    /// For stdout, behind the row that was under way.
    pub out: String,
    /// For stderr.
    pub err: String,
    /// The exit status.
    pub status: u8,
}

const NOT_OPENED_TO_WRITE: u8 = 44;
const NOT_OPENED_TO_READ: u8 = 58;
const READ: u8 = 60;
const WRITE: u8 = 74;

impl Failure {
    /// One that iozone does not know: in our words.
    pub fn ours(err: String) -> Self {
        Failure { out: String::new(), err, status: 1 }
    }

    /// Why a test was not begun.
    pub fn of_begin(error: &ExecuteError, writes: bool) -> Self {
        let ExecuteError::NotOpened { target, errno, .. } = error else {
            return Failure::ours(format!("\n{}", error.in_words(&WORDS)));
        };
        let target = names::printable(target);
        let (out, status) = match writes {
            true => (format!("\nCan not open temp file: {target}\n"), NOT_OPENED_TO_WRITE),
            false => (format!("\nCan not open temporary file {target} for read\n"), NOT_OPENED_TO_READ),
        };
        Failure { out, err: format!("open: {}", errno_text::of_number(*errno)), status }
    }

    /// What failed in a run whose records are so long.
    pub fn of_run(run: &Run, record: u64) -> Option<Self> {
        run.events.iter().find_map(|event| match &event.what {
            EventKind::Fault { verb: Verb::Read, errno, offset, .. } => Some(Failure {
                out: format!("\nError reading block {}\n", offset.0 / record.max(1)),
                err: format!("read: {}", errno_text::of_read(*errno)),
                status: READ,
            }),
            EventKind::Fault { verb: Verb::Write, errno, offset, .. } => {
                let block = offset.0 / record.max(1);
                Some(Failure {
                    out: format!(
                        "\nError writing block {block}, fd= 3\n\niozone: interrupted\n\nexiting iozone\n\n"
                    ),
                    err: format!("write: {}", errno_text::of_write(*errno)),
                    status: WRITE,
                })
            }
            EventKind::Fault { verb, errno, target, .. } => {
                let (verb, reason) = (format!("{verb:?}").to_lowercase(), errno_text::of_write(*errno));
                Some(Failure::ours(format!("\nError: cannot {verb} {target}: {reason}")))
            }
            _ => None,
        })
    }
}
