//! A block device held for this process alone, as the kernel's own users of devices hold theirs: meanwhile mkfs, mount,
//! swapon, pvcreate and mdadm answer "busy". Runs of which each shares the device by its user's word hold it together: who comes
//! later gets a copy of the descriptor that holds it, so that it is held until the last of them has ended. Reads and writes
//! nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::file_identity::FileIdentity;
use crate::open_files::OpenFiles;
use crate::roots::{DeviceNumber, Roots};

/// The devices that this process holds. The kernel takes a second exclusive opening of ours for another's.
static HELD: Mutex<BTreeMap<u64, Weak<File>>> = Mutex::new(BTreeMap::new());

/// A device that this process holds as long as any copy of this lives.
#[derive(Clone, Debug)]
pub struct DeviceClaim {
    file: Arc<File>,
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
        return Ok(DeviceClaim { file });
    }
    let flags = (OFlags::EXCL | OFlags::NONBLOCK).bits() as i32;
    let file = Arc::new(OpenOptions::new().read(true).custom_flags(flags).open(path)?);
    FileIdentity::Device(number).expect(&file)?;
    held.insert(number, Arc::downgrade(&file));
    Ok(DeviceClaim { file })
}

impl DeviceClaim {
    /// Other runs of fathom may hold it too, from now on: a shared lock on the descriptor says so.
    pub fn share(&self) {
        let _ = rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockShared);
    }
}

/// Holds a block device together with a run of this program that holds it already and shares it.
///
/// # Errors
/// `EBUSY` if nobody does; what the system says where the other process may not be looked into.
pub fn join(roots: &Roots, path: &Path, open: &OpenFiles) -> io::Result<DeviceClaim> {
    let identity = FileIdentity::of_path(path)?;
    let FileIdentity::Device(number) = identity else { return Err(io::ErrorKind::InvalidInput.into()) };
    let holders = open.of_device(DeviceNumber::from_raw(number)).iter().map(|holder| holder.pid.as_str());
    let shared = |pid: &str| {
        let descriptors = std::fs::read_dir(roots.proc.join(pid).join("fd")).ok()?.flatten();
        let names = descriptors.filter_map(|descriptor| descriptor.file_name().into_string().ok());
        let leads_there = |name: &String| {
            let about = std::fs::metadata(roots.proc.join(pid).join("fd").join(name));
            about.is_ok_and(|about| FileIdentity::of(&about) == identity)
        };
        names.filter(leads_there).find(|name| is_shared(roots, pid, name))
    };
    let mut found =
        holders.filter(|pid| is_own_program(roots, pid)).filter_map(|pid| Some((pid, shared(pid)?)));
    let (pid, descriptor) = found.next().ok_or(io::Error::from(Errno::BUSY))?;
    let file = Arc::new(File::from(copy_of(pid, &descriptor)?));
    identity.expect(&file)?;
    HELD.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::downgrade(&file));
    Ok(DeviceClaim { file })
}

fn is_own_program(roots: &Roots, pid: &str) -> bool {
    let file = |process: &str| std::fs::metadata(roots.proc.join(process).join("exe")).ok();
    let number = |process: &str| file(process).map(|about| (about.dev(), about.ino()));
    number(pid).is_some() && number(pid) == number("self")
}

/// Only a claim has a shared lock on it.
fn is_shared(roots: &Roots, pid: &str, descriptor: &str) -> bool {
    let path = roots.proc.join(pid).join("fdinfo").join(descriptor);
    std::fs::read_to_string(path).unwrap_or_default().lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], ["lock:", _, "FLOCK", _, "READ", ..])
    })
}

fn copy_of(pid: &str, descriptor: &str) -> io::Result<OwnedFd> {
    let number = |text: &str| text.parse::<i32>().ok();
    let (Some(pid), Some(descriptor)) = (number(pid).and_then(Pid::from_raw), number(descriptor)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    Ok(pidfd_getfd(&process, descriptor, PidfdGetfdFlags::empty())?)
}
