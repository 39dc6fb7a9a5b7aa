//! What other processes have open and where they work, looked at once for any number of targets.

use crate::database_directory::DatabaseDirectories;
use crate::kernel_tables::KernelTables;
use crate::process_time::stat_field;
use crate::{DeviceNumber, Roots};
use std::collections::{HashMap, HashSet};
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
    /// Its descriptor, as a link of /proc; `None` for a working directory.
    pub descriptor: Option<PathBuf>,
    /// Was it opened to be written?
    pub writes: bool,
}

/// Other processes' open files, block devices and working directories.
#[derive(Clone, Debug, Default)]
pub struct OpenFiles {
    /// By file system and inode.
    files: HashMap<(u64, u64), Vec<Opener>>,
    devices: HashMap<DeviceNumber, Vec<Opener>>,
    /// By file system and inode.
    working_directories: HashMap<(u64, u64), Vec<Opener>>,
    /// Processes from which this one descends: the shell that started us stands where the user stands, and has his script
    /// and our standard output open.
    ancestors: HashSet<String>,
    /// Processes that may not be looked at.
    pub hidden: u32,
    /// Which directories are databases' was found out before.
    pub(crate) databases: DatabaseDirectories,
    pub(crate) tables: KernelTables,
}

impl OpenFiles {
    /// Looks at every process but this one.
    pub fn read(roots: &Roots) -> Self {
        let mut open = OpenFiles { ancestors: ancestors(roots), ..OpenFiles::default() };
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
            open.working_directory(&pid, &process);
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
            // The mode of the link says how it was opened.
            let writes = fs::symlink_metadata(&descriptor).is_ok_and(|link| link.mode() & 0o200 != 0);
            if openers.last().is_some_and(|opener| opener.pid == pid && (opener.writes || !writes)) {
                continue;
            }
            let name: &String = name.get_or_insert_with(|| process_name(process));
            let (pid, name) = (pid.to_owned(), name.clone());
            openers.push(Opener { pid, name, file, descriptor: Some(descriptor), writes });
        }
    }

    fn working_directory(&mut self, pid: &str, process: &Path) {
        let link = process.join("cwd");
        let (Ok(file), Ok(about)) = (fs::read_link(&link), fs::metadata(&link)) else { return };
        let (pid, name) = (pid.to_owned(), process_name(process));
        let opener = Opener { pid, name, file, descriptor: None, writes: false };
        self.working_directories.entry((about.dev(), about.ino())).or_default().push(opener);
    }

    /// Who has a file open.
    pub fn of_file(&self, file_system: u64, inode: u64) -> &[Opener] {
        self.files.get(&(file_system, inode)).map_or(&[], Vec::as_slice)
    }

    /// Who has a block device open.
    pub fn of_device(&self, number: DeviceNumber) -> &[Opener] {
        self.devices.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Every process in the directory where it works.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = &Opener> {
        self.working_directories.values().flatten()
    }

    /// Somebody, but for our ancestors, who works in a directory or has a file in it open: by the names that he uses, and,
    /// for whoever sees the directory under another name (a container), by what stands in it.
    pub fn below(&self, directory: &Path) -> Option<&Opener> {
        let is_other = |one: &&Opener| !self.ancestors.contains(&one.pid);
        let all = self.working_directories.values().chain(self.files.values()).flatten();
        let named = all.filter(is_other).find(|one| one.file.starts_with(directory));
        named.or_else(|| {
            let entries = fs::read_dir(directory).ok()?.flatten().filter_map(|entry| entry.metadata().ok());
            let places = fs::metadata(directory).into_iter().chain(entries);
            let numbers = places.map(|about| (about.dev(), about.ino()));
            let mut openers = numbers.flat_map(|number| {
                let working = self.working_directories.get(&number);
                working.into_iter().chain(self.files.get(&number)).flatten()
            });
            openers.find(is_other)
        })
    }
}

fn process_name(process: &Path) -> String {
    fs::read_to_string(process.join("comm")).unwrap_or_default().trim_end().to_owned()
}

/// The processes from which this one descends.
fn ancestors(roots: &Roots) -> HashSet<String> {
    let parent = |pid: &str| {
        let text = fs::read_to_string(roots.proc.join(pid).join("stat")).ok()?;
        stat_field(&text, 4).map(str::to_owned)
    };
    let mut found = HashSet::new();
    let mut next = parent(&std::process::id().to_string());
    while let Some(pid) = next.filter(|pid| pid != "0" && !found.contains(pid)) {
        next = parent(&pid);
        found.insert(pid);
    }
    found
}
