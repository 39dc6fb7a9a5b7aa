//! Which loop devices show what, and what is swapped on: read once for any number of targets that are looked at together.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::block::{BlockDevice, Make};
use crate::mounts::{as_text, unescape_path};
use crate::roots::{Roots, Unknown};

/// The tables, as far as they were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelTables {
    loops: OnceCell<Result<Vec<LoopDevice>, Unknown>>,
    swaps: OnceCell<Result<Vec<PathBuf>, Unknown>>,
}

/// A loop device and what it shows.
#[derive(Clone, Debug)]
pub(crate) struct LoopDevice {
    pub(crate) device: BlockDevice,
    /// As it is seen from here.
    pub(crate) backing: PathBuf,
}

impl KernelTables {
    pub(crate) fn loops(&self, roots: &Roots) -> Result<&[LoopDevice], &Unknown> {
        let table = self.loops.get_or_init(|| {
            let folder = roots.sys.join("block");
            fs::read_dir(&folder).map_err(|error| unknown("which loop devices show it", &folder, &error))?;
            let shows = |device: BlockDevice| match device.make() {
                Make::Loop { backing, .. } => Some(LoopDevice { device, backing: roots.seen(&backing) }),
                _ => None,
            };
            Ok(BlockDevice::all_whole(roots).into_iter().filter_map(shows).collect())
        });
        table.as_deref()
    }

    pub(crate) fn swaps(&self, roots: &Roots) -> Result<&[PathBuf], &Unknown> {
        let table = self.swaps.get_or_init(|| {
            let file = roots.proc.join("swaps");
            let text = match fs::read(&file) {
                Ok(list) => as_text(&list),
                // A kernel without swap has no table of it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && roots.proc.join("self").exists() => {
                    String::new()
                }
                Err(error) => return Err(unknown("active swap", &file, &error)),
            };
            let first = |line: &str| line.split_whitespace().next().map(unescape_path);
            Ok(text.lines().skip(1).filter_map(first).collect())
        });
        table.as_deref()
    }
}

fn unknown(what: &str, file: &Path, error: &io::Error) -> Unknown {
    Unknown { what: what.to_owned(), why: format!("{}: {error}", file.display()) }
}
