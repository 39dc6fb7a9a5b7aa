//! An open target: its descriptor, its size, and what direct I/O asks of it.

use crate::PreopenedTarget;
use fathom_host::DeviceClaim;
use fathom_record::ExecuteError;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

/// One target, open.
#[derive(Debug)]
pub struct OpenTarget {
    fd: Option<OwnedFd>,
    /// Bytes it has.
    pub size_bytes: u64,
    alignment: u64,
    device: bool,
    direct: bool,
    /// Keeps everybody else off a device that is written to.
    _claim: Option<DeviceClaim>,
}

impl OpenTarget {
    /// A target that was opened.
    pub fn new(fd: OwnedFd, size_bytes: u64, direct: bool, path: &str) -> Result<Self, ExecuteError> {
        let file = std::fs::File::from(fd);
        let alignment = match direct {
            false => 1,
            true => match fathom_host::extents::direct_alignment(&file) {
                Ok(Some(align)) if align.offset_bytes > 0 => u64::from(align.offset_bytes),
                Ok(Some(_)) => {
                    return Err(ExecuteError::Target {
                        what: format!("{path} knows no direct I/O"),
                        hint: "measure a file on another file system; through the page cache the memory would be measured".to_owned(),
                    });
                }
                Ok(None) | Err(_) => 512,
            },
        };
        let device = file.metadata().is_ok_and(|about| about.file_type().is_block_device());
        Ok(OpenTarget { fd: Some(file.into()), size_bytes, alignment, device, direct, _claim: None })
    }

    /// The same, held for this process alone.
    pub fn with_claim(self, claim: Option<DeviceClaim>) -> Self {
        OpenTarget { _claim: claim, ..self }
    }

    /// A target that was open already.
    pub fn preopened(target: PreopenedTarget) -> Self {
        let (fd, claim) = target.into_parts();
        let file = std::fs::File::from(fd);
        let about = file.metadata();
        let device = about.as_ref().is_ok_and(|about| about.file_type().is_block_device());
        let size_bytes = about.map_or(0, |about| about.len());
        OpenTarget { fd: Some(file.into()), size_bytes, alignment: 1, device, direct: false, _claim: claim }
    }

    /// Its descriptor; `None` for nothing.
    pub fn fd(&self) -> Option<&OwnedFd> {
        self.fd.as_ref()
    }

    /// A target that is nothing.
    pub fn nothing(size_bytes: u64) -> Self {
        OpenTarget { fd: None, size_bytes, alignment: 1, device: false, direct: false, _claim: None }
    }

    /// Its descriptor for the kernel; -1 for nothing.
    #[inline(always)]
    pub fn raw(&self) -> i32 {
        self.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Was it opened past the page cache?
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Is it a block device?
    pub fn is_device(&self) -> bool {
        self.device
    }

    /// Offsets and lengths must be multiples of this.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }
}
