//! Which file or device a name or an open descriptor stands for, so that what was looked at is what is opened. Opens
//! nothing.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::FileType;

/// A file, by its file system and inode, or a block device, by its number: all nodes of a device are one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileIdentity {
    /// `st_rdev`
    Device(u64),
    /// `st_dev` and `st_ino`
    File(u64, u64),
}

impl FileIdentity {
    /// Of what a path leads to.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&fs::metadata(path)?))
    }

    /// Of what was asked about.
    pub fn of(about: &Metadata) -> Self {
        match about.file_type().is_block_device() {
            true => FileIdentity::Device(about.rdev()),
            false => FileIdentity::File(about.dev(), about.ino()),
        }
    }

    /// Of an open descriptor.
    pub fn of_descriptor(descriptor: impl AsFd) -> io::Result<Self> {
        let about = rustix::fs::fstat(descriptor)?;
        Ok(match FileType::from_raw_mode(about.st_mode) {
            FileType::BlockDevice => FileIdentity::Device(about.st_rdev),
            _ => FileIdentity::File(about.st_dev, about.st_ino),
        })
    }

    /// An error if the descriptor is open on something else.
    pub fn expect(self, descriptor: impl AsFd) -> io::Result<()> {
        match Self::of_descriptor(descriptor)? == self {
            true => Ok(()),
            false => Err(io::Error::other("another file has taken its name meanwhile")),
        }
    }
}
