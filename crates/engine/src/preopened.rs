//! Targets that are open already: whoever runs the engine opened them in a way of his own (dd's flags), or was
//! handed them by whoever started the program (standard input and output).

use crate::guard::{Writable, allow_descriptor};
use fathom_host::{DeviceClaim, Roots};
use fathom_record::{ExecuteError, Preopened};
use fathom_spec::Permits;
use std::os::fd::{AsFd, OwnedFd};

/// An open descriptor for the engine. One that may be written to is only made with the guard's word.
#[derive(Debug)]
pub struct PreopenedTarget {
    fd: OwnedFd,
    claim: Option<DeviceClaim>,
}

impl PreopenedTarget {
    /// To be read.
    pub fn to_read(fd: OwnedFd) -> Self {
        PreopenedTarget { fd, claim: None }
    }

    /// To be written; the guard has allowed it.
    pub fn to_write(fd: OwnedFd, allowed: &Writable) -> Self {
        PreopenedTarget { fd, claim: allowed.claim() }
    }

    /// Standard output as it is. Whoever redirected it chose the place; the guard has its word all the same.
    pub fn standard_output(roots: &Roots, permits: &Permits) -> Result<Self, ExecuteError> {
        let fail = |error: std::io::Error| ExecuteError::System {
            what: format!("standard output cannot be used: {error}"),
            hint: "name the file to write to".to_owned(),
        };
        let fd = std::io::stdout().as_fd().try_clone_to_owned().map_err(fail)?;
        let allowed = allow_descriptor(roots, fd.as_fd(), permits)?;
        Ok(PreopenedTarget::to_write(fd, &allowed))
    }

    /// As a request carries it.
    pub fn attached(self) -> Preopened {
        Preopened(Box::new(self))
    }

    /// The descriptor, and what holds a device.
    pub(crate) fn into_parts(self) -> (OwnedFd, Option<DeviceClaim>) {
        (self.fd, self.claim)
    }
}
