//! Targets that are open already: whoever runs the engine opened them in a way of his own (dd's flags), or was
//! handed them by whoever started the program (standard input and output).

use crate::guard::{Writable, allow};
use fathom_host::Roots;
use fathom_record::{ExecuteError, Preopened};
use fathom_spec::Permits;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

/// An open descriptor for the engine. One that may be written to is only made with the guard's word.
#[derive(Debug)]
pub struct PreopenedTarget {
    fd: OwnedFd,
}

impl PreopenedTarget {
    /// To be read.
    pub fn to_read(fd: OwnedFd) -> Self {
        PreopenedTarget { fd }
    }

    /// To be written; the guard has allowed it.
    pub fn to_write(fd: OwnedFd, _allowed: &Writable) -> Self {
        PreopenedTarget { fd }
    }

    /// Standard output as it is. Whoever redirected it chose the place; a block device needs the guard's word all
    /// the same.
    pub fn standard_output(roots: &Roots, permits: &Permits) -> Result<Self, ExecuteError> {
        let fail = |error: std::io::Error| ExecuteError::System {
            what: format!("standard output cannot be used: {error}"),
            hint: "name the file to write to".to_owned(),
        };
        let fd = std::io::stdout().as_fd().try_clone_to_owned().map_err(fail)?;
        let file = std::fs::File::from(fd);
        if file.metadata().is_ok_and(|about| about.file_type().is_block_device()) {
            let path = std::fs::read_link(roots.proc.join("self/fd/1")).map_err(fail)?;
            allow(roots, &path, permits)?;
        }
        Ok(PreopenedTarget { fd: file.into() })
    }

    /// As a request carries it.
    pub fn attached(self) -> Preopened {
        Preopened(Box::new(self))
    }

    /// The descriptor.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }
}
