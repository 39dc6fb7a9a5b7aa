//! A block device held for this process alone, as the kernel's own users of devices hold theirs: meanwhile mkfs, mount,
//! swapon, pvcreate and mdadm answer "busy". Reads and writes nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::OFlags;

use crate::file_identity::FileIdentity;

/// The devices that this process holds. The kernel takes a second exclusive opening of ours for another's.
static HELD: Mutex<BTreeMap<u64, Weak<File>>> = Mutex::new(BTreeMap::new());

/// A device that this process holds as long as any copy of this lives.
#[derive(Clone, Debug)]
pub struct DeviceClaim {
    _file: Arc<File>,
}

/// Holds a block device.
///
/// # Errors
/// `EBUSY` if the kernel or another process holds it, also through a partition.
pub fn claim(path: &Path) -> io::Result<DeviceClaim> {
    let FileIdentity::Device(number) = FileIdentity::of_path(path)? else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = held.get(&number).and_then(Weak::upgrade) {
        return Ok(DeviceClaim { _file: file });
    }
    let flags = (OFlags::EXCL | OFlags::NONBLOCK).bits() as i32;
    let file = Arc::new(OpenOptions::new().read(true).custom_flags(flags).open(path)?);
    FileIdentity::Device(number).expect(&file)?;
    held.insert(number, Arc::downgrade(&file));
    Ok(DeviceClaim { _file: file })
}
