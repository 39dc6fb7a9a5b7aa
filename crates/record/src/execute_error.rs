//! Why a plan could not be run: variants with data, and the words for them in the vocabulary of whoever is told.

use fathom_spec::Bytes;
use fathom_spec::names::printable;
use std::fmt;

/// Why a plan could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecuteError {
    /// The plan itself cannot be carried out.
    Plan {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A target is not as the plan needs it.
    Target {
        /// What is wrong, with the target's name.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The kernel or another program refused something that the run needs.
    System {
        /// What was refused.
        what: String,
        /// What to do.
        hint: String,
    },
    /// What the target holds could not be looked at, so it is not written to.
    NotInspected {
        /// Its path.
        target: String,
        /// Why.
        error: String,
    },
    /// Somebody uses the target: no consent makes it writable.
    InUse {
        /// Its path.
        target: String,
        /// By whom and how.
        by: String,
        /// What to do.
        hint: String,
    },
    /// A use that could not be checked from all sides.
    UseNotChecked {
        /// Its path.
        target: String,
        /// Which use, and why not.
        what: String,
    },
    /// Nobody consented to writing to the target.
    NotConsented {
        /// Its path.
        target: String,
        /// What it holds, if that is why consent is needed.
        holds: Option<String>,
    },
    /// The target is a database's, or would be a new file among them, and nobody consented to that.
    InDatabase {
        /// Its path.
        target: String,
        /// Whose it is, and by which sign.
        what: String,
    },
    /// The user has ended the run while the target was searched; no executor answers this.
    Interrupted {
        /// Its path.
        target: String,
    },
    /// When it was opened the target was another file than the one that was looked at.
    Replaced {
        /// Its path.
        target: String,
    },
    /// A target could not be opened.
    NotOpened {
        /// Its path.
        target: String,
        /// The kernel's error number.
        errno: i32,
        /// Past the page cache?
        direct: bool,
    },
    /// A target could not be made as long as the plan says.
    NotExtended {
        /// Its path.
        target: String,
        /// How long.
        length: Bytes,
        /// The kernel's error number.
        errno: i32,
    },
    /// Targets hold less than the plan works on.
    TooSmall {
        /// Their names.
        targets: Vec<String>,
        /// What they hold together.
        holds: Bytes,
        /// First byte of the region.
        start: Bytes,
        /// Bytes of the region.
        length: Bytes,
        /// The largest block.
        block: Bytes,
    },
    /// Blocks that cannot go past the page cache, since the device's own are larger.
    Misaligned {
        /// The smallest block of the plan.
        block: Bytes,
        /// The device's logical block, bytes.
        logical_block: u64,
    },
    /// The plan's workers and their buffers need more memory than there is.
    TooMuchMemory {
        /// Workers.
        workers: u64,
        /// Bytes of all their buffers.
        buffers: Bytes,
        /// What is needed.
        needed: Bytes,
        /// What there is.
        left: Bytes,
    },
    /// There is no memory for a buffer.
    NoMemory {
        /// Of so many bytes.
        buffer: Bytes,
    },
    /// A worker's thread could not be started; those that were have ended.
    Thread {
        /// Which, from 0.
        number: u32,
        /// Of which stream.
        stream: String,
        /// The kernel's error number.
        errno: i32,
    },
}

/// How the user's own language says what an error's hint advises.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// Before the name of a target: how consent is said.
    pub consent: &'a str,
    /// How to measure without writing.
    pub read_only: &'a str,
    /// The option for the size of all.
    pub size: &'a str,
    /// The option for the size of an operation.
    pub block: &'a str,
    /// The option for the number of workers.
    pub workers: &'a str,
    /// The option for outstanding operations; empty where there is none.
    pub depth: &'a str,
    /// What else a path may be that is not there.
    pub missing: &'a str,
}

impl From<fathom_spec::names::NotText> for ExecuteError {
    fn from(error: fathom_spec::names::NotText) -> Self {
        ExecuteError::Target { what: error.to_string(), hint: fathom_spec::names::NotText::HINT.to_owned() }
    }
}

impl Vocabulary<'_> {
    /// That of fathom's own commands.
    pub const OWN: Vocabulary<'static> = Vocabulary {
        consent: "say --write-consent ",
        read_only: "measure with --read-only",
        size: "--size",
        block: "--block-size",
        workers: "--workers",
        depth: "--depth",
        missing: "a directory can be named too, then fathom makes a scratch file in it",
    };
    /// That of a tool whose command line has no word for consent.
    pub const PEER: Vocabulary<'static> =
        Vocabulary { consent: "set FATHOM_WRITE_CONSENT=", ..Vocabulary::OWN };
}

fn system(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

impl ExecuteError {
    /// What is wrong, in a line.
    pub fn what(&self) -> String {
        printable(&self.what_with_names())
    }

    fn what_with_names(&self) -> String {
        match self {
            ExecuteError::Plan { what, .. }
            | ExecuteError::Target { what, .. }
            | ExecuteError::System { what, .. } => what.clone(),
            ExecuteError::NotInspected { target, error } => {
                format!("cannot see what {target} holds: {error}")
            }
            ExecuteError::InUse { target, by, .. } => format!("cannot write to {target}: {by}"),
            ExecuteError::UseNotChecked { target, what } => {
                format!("cannot write to {target}: {what} could not be checked")
            }
            ExecuteError::NotConsented { target, holds: Some(holds) } => {
                format!("will not write to {target}: it holds something: {holds}")
            }
            ExecuteError::NotConsented { target, holds: None } => {
                format!("will not write to {target}: nobody consented to that")
            }
            ExecuteError::InDatabase { target, what } => format!("will not write to {target}: {what}"),
            ExecuteError::Interrupted { target } => {
                format!("interrupted while {target} was searched for data")
            }
            ExecuteError::Replaced { target } => {
                format!("cannot write to {target}: another file takes its name again and again")
            }
            ExecuteError::NotOpened { target, errno, .. } => {
                format!("cannot open {target}: {}", system(*errno))
            }
            ExecuteError::NotExtended { target, length, errno } => {
                format!("cannot make {target} {length} long: {}", system(*errno))
            }
            ExecuteError::TooSmall { targets, holds, start, length, block } => format!(
                "{} holds {holds}, too little for {length} from {start} in blocks of {block}",
                targets.join(", ")
            ),
            ExecuteError::Misaligned { block, logical_block } => format!(
                "blocks of {block} cannot be read past the page cache: the device's logical block is {}",
                Bytes(*logical_block)
            ),
            ExecuteError::TooMuchMemory { workers, buffers, needed, left } => format!(
                "{workers} workers with {buffers} of buffers need {needed} of memory, and {left} are left"
            ),
            ExecuteError::NoMemory { buffer } => format!("there is no memory for a buffer of {buffer}"),
            ExecuteError::Thread { number, stream, errno } => {
                format!("cannot start thread {number} of {stream}: {}", system(*errno))
            }
        }
    }

    /// What to do about it, in the words of whoever is told, in a line.
    pub fn hint(&self, words: &Vocabulary<'_>) -> String {
        printable(&self.hint_with_names(words))
    }

    fn hint_with_names(&self, words: &Vocabulary<'_>) -> String {
        match self {
            ExecuteError::Plan { hint, .. }
            | ExecuteError::Target { hint, .. }
            | ExecuteError::System { hint, .. }
            | ExecuteError::InUse { hint, .. } => hint.clone(),
            ExecuteError::NotInspected { .. } => {
                format!(
                    "only a target that could be looked at is written to; try as root, or {}",
                    words.read_only
                )
            }
            ExecuteError::UseNotChecked { .. } => format!(
                "only a target that could be looked at from all sides is written to; try as root, or {}",
                words.read_only
            ),
            ExecuteError::NotConsented { target, .. } => {
                format!("what is written destroys what is there; if you want that, {}{target}", words.consent)
            }
            ExecuteError::InDatabase { target, .. } => {
                format!("choose another directory; if a database may lose it, {}{target}", words.consent)
            }
            ExecuteError::Interrupted { .. } => "start it again".to_owned(),
            ExecuteError::Replaced { .. } => {
                "choose a directory in which nobody else changes names".to_owned()
            }
            ExecuteError::NotOpened { target, errno, direct } => not_opened(target, *errno, *direct, words),
            ExecuteError::NotExtended { .. } => {
                format!("free some space, or use less of it with {}", words.size)
            }
            ExecuteError::TooSmall { .. } => {
                format!("use a larger target, a smaller {} or a smaller {}", words.size, words.block)
            }
            ExecuteError::Misaligned { logical_block, .. } => {
                format!("use a block size that is a multiple of {logical_block} bytes")
            }
            ExecuteError::TooMuchMemory { .. } => {
                let sizes = [words.workers, words.depth, words.block];
                let sizes: Vec<&str> = sizes.into_iter().filter(|option| !option.is_empty()).collect();
                format!("lower {}", sizes.join(" or "))
            }
            ExecuteError::NoMemory { .. } => "copy in smaller blocks".to_owned(),
            ExecuteError::Thread { .. } => {
                "use fewer workers, or raise the limit on processes (ulimit -u)".to_owned()
            }
        }
    }

    /// Both, as they are shown.
    pub fn in_words(&self, words: &Vocabulary<'_>) -> String {
        format!("{}\nhint: {}", self.what(), self.hint(words))
    }
}

/// Error numbers of Linux that have a hint of their own.
const ENOENT: i32 = 2;
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const ENAMETOOLONG: i32 = 36;

/// What to do where the kernel finds a name too long.
pub const TOO_LONG: &str = "a name has at most 255 bytes, and a whole path 4096: for a longer one mount its directory elsewhere (mount --bind) and name that";

fn not_opened(target: &str, errno: i32, direct: bool, words: &Vocabulary<'_>) -> String {
    match errno {
        ENOENT => format!("check the name; {}", words.missing),
        EACCES | EPERM => "run as a user who may open it, or measure a file on it instead".to_owned(),
        EINVAL if direct => {
            format!(
                "the file system under {target} may not know direct I/O (tmpfs does not on older kernels)"
            )
        }
        ENAMETOOLONG => TOO_LONG.to_owned(),
        EBUSY => "somebody holds it open for himself alone; measure a file on it instead".to_owned(),
        _ => "see what the system's log says of it (dmesg)".to_owned(),
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(&Vocabulary::OWN))
    }
}

impl std::error::Error for ExecuteError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name with a new line made a line that looked like a message of ours.
    #[test]
    fn a_name_begins_no_line_of_a_message() {
        let target = "x\nhint: all is well\u{1b}[2J".to_owned();
        let refused = ExecuteError::NotOpened { target, errno: ENAMETOOLONG, direct: false };
        let text = refused.to_string();
        assert!(text.starts_with(r"cannot open x\nhint: all is well\u{1b}[2J: "), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("at most 255 bytes"), "{text}");
    }

    #[test]
    fn each_language_says_consent_in_its_own_words() {
        let refused = ExecuteError::NotConsented { target: "/dev/x".to_owned(), holds: None };
        assert!(refused.to_string().ends_with("if you want that, say --write-consent /dev/x"));
        let peers = refused.in_words(&Vocabulary::PEER);
        assert!(peers.ends_with("if you want that, set FATHOM_WRITE_CONSENT=/dev/x"), "{peers}");
    }
}
