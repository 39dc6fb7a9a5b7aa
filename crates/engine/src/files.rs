//! Targets that are open. Every queue of a stream holds the same slice of them, and `Operation::target` is an
//! index into it.

use fathom_record::ExecuteError;
use fathom_spec::SyncKind;
use rustix::fs::FileType;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// Nothing at all; only the null queue can use it.
    Nothing,
}

/// A target that is open. Copies share the descriptor.
#[derive(Clone, Debug)]
pub struct OpenTarget {
    fd: Option<Arc<OwnedFd>>,
    /// Bytes in it when it was opened.
    pub size_bytes: u64,
    /// Past the page cache?
    pub direct: bool,
    /// What it is.
    pub kind: OpenKind,
}

impl OpenTarget {
    /// A file or block device that was opened under `name`.
    pub fn new(fd: OwnedFd, size_bytes: u64, direct: bool, name: &str) -> Result<Self, ExecuteError> {
        let about = rustix::fs::fstat(&fd).map_err(|error| ExecuteError::Target {
            what: format!("cannot tell what {name} is: {error}"),
            hint: "name a regular file or a block device".to_owned(),
        })?;
        let kind = match FileType::from_raw_mode(about.st_mode) {
            FileType::BlockDevice => OpenKind::BlockDevice,
            _ => OpenKind::File,
        };
        Ok(OpenTarget { fd: Some(Arc::new(fd)), size_bytes, direct, kind })
    }

    /// A target that is not there, of this size.
    pub fn nothing(size_bytes: u64) -> Self {
        OpenTarget { fd: None, size_bytes, direct: false, kind: OpenKind::Nothing }
    }

    /// The descriptor's number; -1 where there is none, so that the kernel answers EBADF.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_ref().map_or(-1, |fd| fd.as_raw_fd())
    }
}

/// The open targets of a stream's space, in the order of its members.
pub type Targets = Arc<[OpenTarget]>;

/// How an `Operation` with `Verb::Sync` says in its `mark` which sync it is. An unset mark (0) is fdatasync.
pub fn sync_mark(kind: SyncKind) -> u64 {
    match kind {
        SyncKind::Fdatasync => 0,
        SyncKind::Fsync => 1,
        SyncKind::Range => 2,
        SyncKind::Msync => 3,
        SyncKind::None => 4,
    }
}

/// The sync of a mark.
pub fn sync_kind(mark: u64) -> SyncKind {
    match mark {
        1 => SyncKind::Fsync,
        2 => SyncKind::Range,
        3 => SyncKind::Msync,
        4 => SyncKind::None,
        _ => SyncKind::Fdatasync,
    }
}

/// What every queue of a worker is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The most operations outstanding.
    pub depth: u32,
    /// The largest operation, bytes.
    pub largest: u32,
    /// Does `Verb::Commit` occur?
    pub commits: bool,
    /// What it does after its write.
    pub commit: SyncKind,
    /// Finer points.
    pub options: fathom_spec::QueueOptions,
}

impl Setup {
    /// A queue of this depth for operations of at most this many bytes, without commits or finer points.
    pub fn new(depth: u32, largest: u32) -> Self {
        Setup {
            depth: depth.max(1),
            largest,
            commits: false,
            commit: SyncKind::Fdatasync,
            options: fathom_spec::QueueOptions::default(),
        }
    }
}
