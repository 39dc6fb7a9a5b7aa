//! What other processes have open, looked at once for any number of targets.

use crate::{DeviceNumber, Roots};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A process that has something open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    pub pid: String,
    pub name: String,
    /// The file's name as the process opened it.
    pub file: PathBuf,
}

/// Other processes' open files and block devices.
#[derive(Clone, Debug, Default)]
pub struct OpenFiles {
    /// By file system and inode.
    files: HashMap<(u64, u64), Vec<Opener>>,
    devices: HashMap<DeviceNumber, Vec<Opener>>,
    /// Processes that may not be looked at.
    pub hidden: u32,
}

impl OpenFiles {
    /// Looks at every process but this one.
    pub fn read(roots: &Roots) -> Self {
        let mut open = OpenFiles::default();
        let own = std::process::id().to_string();
        let entries = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
        let mut pids: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        pids.retain(|pid| *pid != own && pid.bytes().all(|digit| digit.is_ascii_digit()));
        pids.sort();
        for pid in pids {
            let process = roots.proc.join(&pid);
            match fs::read_dir(process.join("fd")) {
                Ok(descriptors) => {
                    let descriptors = descriptors.flatten().map(|one| one.path());
                    open.of_process(&pid, &process, descriptors);
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open.hidden += 1,
                Err(_) => {}
            }
        }
        open
    }

    fn of_process(&mut self, pid: &str, process: &Path, descriptors: impl Iterator<Item = PathBuf>) {
        let mut name = None;
        for descriptor in descriptors {
            // Sockets and pipes are told by the link's text alone.
            let Some(file) = fs::read_link(&descriptor).ok().filter(|name| name.is_absolute()) else {
                continue;
            };
            let Ok(about) = fs::metadata(&descriptor) else { continue };
            let openers = match about.file_type().is_block_device() {
                true => self.devices.entry(DeviceNumber::from_raw(about.rdev())).or_default(),
                false => self.files.entry((about.dev(), about.ino())).or_default(),
            };
            if openers.last().is_some_and(|opener| opener.pid == pid) {
                continue;
            }
            let name: &String = name.get_or_insert_with(|| {
                fs::read_to_string(process.join("comm")).unwrap_or_default().trim_end().to_owned()
            });
            openers.push(Opener { pid: pid.to_owned(), name: name.clone(), file });
        }
    }

    /// Who has a file open.
    pub fn of_file(&self, file_system: u64, inode: u64) -> &[Opener] {
        self.files.get(&(file_system, inode)).map_or(&[], Vec::as_slice)
    }

    /// Who has a block device open.
    pub fn of_device(&self, number: DeviceNumber) -> &[Opener] {
        self.devices.get(&number).map_or(&[], Vec::as_slice)
    }
}
