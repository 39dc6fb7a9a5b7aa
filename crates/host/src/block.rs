//! How block devices stand on one another, by `/sys/dev/block` and the folders `slaves`, `holders` and partitions. Knows
//! names and numbers only; what a disk is made of is `disk`'s.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::roots::{DeviceNumber, Roots, last_name, names_in, number_if_there, text_if_there};

/// A block device as sysfs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// `major:minor`
    pub number: DeviceNumber,
    /// The kernel's name: sda1, nvme0n1, dm-0.
    pub name: String,
    /// Its real folder in sysfs.
    pub directory: PathBuf,
}

/// What a block device is to those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Make {
    /// A part of the whole disk named.
    Partition(BlockDevice),
    /// Device mapper with its name and uuid (`LVM-...`, `mpath-...`, `CRYPT-...`).
    Mapper {
        /// `vg-data`, `mpatha`
        name: String,
        /// Empty where none was given
        uuid: String,
    },
    /// Software RAID of the level named.
    Raid(String),
    /// A loop device on the file or device named; `direct` tells whether it bypasses the page cache.
    Loop {
        /// As the kernel names it
        backing: PathBuf,
        /// `None` on kernels that do not tell
        direct: Option<bool>,
    },
    /// Another driver that stands on slaves (bcache, drbd).
    Stacked,
    /// Nothing known stands below it.
    Plain,
}

impl BlockDevice {
    /// The device with this number.
    pub fn by_number(roots: &Roots, number: DeviceNumber) -> io::Result<Self> {
        let directory = fs::canonicalize(roots.sys.join("dev/block").join(number.to_string()))?;
        Ok(BlockDevice { number, name: last_name(&directory), directory })
    }

    /// The device that a folder of sysfs (or a link to it) is about.
    pub fn by_directory(path: &Path) -> Option<Self> {
        let directory = fs::canonicalize(path).ok()?;
        let number = DeviceNumber::parse(&text_if_there(&directory.join("dev"))?)?;
        Some(BlockDevice { number, name: last_name(&directory), directory })
    }

    /// The device whose node is at this path (`/dev/sda`, `/dev/disk/by-id/...`). Under fabricated roots a node may be
    /// an ordinary file: then its name decides.
    pub fn by_node(roots: &Roots, node: &Path) -> Option<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let seen = roots.seen(node);
        match fs::metadata(&seen) {
            Ok(about) if about.file_type().is_block_device() => {
                Self::by_number(roots, DeviceNumber::from_raw(about.rdev())).ok()
            }
            _ => {
                let name = last_name(&fs::canonicalize(&seen).unwrap_or(seen));
                Self::by_name(roots, &name)
            }
        }
    }

    /// The device with this kernel name.
    pub fn by_name(roots: &Roots, name: &str) -> Option<Self> {
        Self::by_directory(&roots.sys.join("class/block").join(name))
            .or_else(|| Self::by_directory(&roots.sys.join("block").join(name)))
    }

    /// Every whole disk, md, dm and loop device of the machine.
    pub fn all_whole(roots: &Roots) -> Vec<Self> {
        let folder = roots.sys.join("block");
        names_in(&folder).iter().filter_map(|name| Self::by_directory(&folder.join(name))).collect()
    }

    /// Where its node is: `/dev/NAME`, `!` being how sysfs writes a slash.
    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// Its size; sysfs counts sectors of 512 bytes whatever the device's own are.
    pub fn size_bytes(&self) -> Option<u64> {
        number_if_there(&self.directory.join("size"))?.checked_mul(512)
    }

    /// What it is to those below.
    pub fn make(&self) -> Make {
        let read = |file: &str| text_if_there(&self.directory.join(file));
        if self.directory.join("partition").exists()
            && let Some(whole) = self.directory.parent().and_then(Self::by_directory)
        {
            return Make::Partition(whole);
        }
        if self.directory.join("dm").exists() {
            return Make::Mapper {
                name: read("dm/name").unwrap_or_default(),
                uuid: read("dm/uuid").unwrap_or_default(),
            };
        }
        if self.directory.join("md").exists() {
            return Make::Raid(read("md/level").unwrap_or_else(|| "of unknown level".into()));
        }
        if let Some(backing) = read("loop/backing_file") {
            let direct = read("loop/dio").map(|dio| dio == "1");
            return Make::Loop { backing: PathBuf::from(backing), direct };
        }
        if self.slaves().is_empty() { Make::Plain } else { Make::Stacked }
    }

    /// The devices it stands on.
    pub fn slaves(&self) -> Vec<Self> {
        self.linked("slaves")
    }

    /// The devices that stand on it.
    pub fn holders(&self) -> Vec<Self> {
        self.linked("holders")
    }

    fn linked(&self, folder: &str) -> Vec<Self> {
        let folder = self.directory.join(folder);
        names_in(&folder).iter().filter_map(|name| Self::by_directory(&folder.join(name))).collect()
    }

    /// Its partitions, if it is a whole disk.
    pub fn partitions(&self) -> Vec<Self> {
        names_in(&self.directory)
            .iter()
            .filter(|name| self.directory.join(name).join("partition").exists())
            .filter_map(|name| Self::by_directory(&self.directory.join(name)))
            .collect()
    }

    /// The whole disk it is a part of, or itself.
    pub fn whole(&self) -> Self {
        match self.make() {
            Make::Partition(whole) => whole,
            _ => self.clone(),
        }
    }

    /// A device's folder has the queue's facts; a partition's are its disk's.
    pub fn queue(&self) -> PathBuf {
        self.whole().directory.join("queue")
    }

    /// Where it begins and ends on its whole disk, in sectors of 512 bytes.
    fn sectors(&self) -> (u64, u64) {
        let start = match self.make() {
            Make::Partition(_) => number_if_there(&self.directory.join("start")).unwrap_or(0),
            _ => 0,
        };
        let size = number_if_there(&self.directory.join("size")).unwrap_or(0);
        (start, start.saturating_add(size))
    }

    /// Where it begins and ends on its whole disk.
    pub fn bytes_on_disk(&self) -> (u64, u64) {
        let (start, end) = self.sectors();
        (start.saturating_mul(512), end.saturating_mul(512))
    }

    /// This device and every one that shares bytes with it by partitioning: of a whole disk all partitions, of a
    /// partition the whole disk and the partitions that overlap it (an extended one), not its neighbours.
    pub fn overlapping(&self) -> Vec<Self> {
        let whole = self.whole();
        let (start, end) = self.sectors();
        let parts = whole.partitions().into_iter().filter(|part| {
            let (part_start, part_end) = part.sectors();
            part.number == self.number || (part_start < end && start < part_end)
        });
        let mut all: Vec<Self> = parts.collect();
        all.insert(0, whole);
        all
    }

    /// Other whole disks that are the same LUN by another path: same `wwid`, another number. Those that stand on
    /// slaves (the multipath device itself) are not meant.
    pub fn other_paths(&self, roots: &Roots) -> Vec<Self> {
        let wwid = |device: &Self| {
            text_if_there(&device.directory.join("device/wwid"))
                .or_else(|| text_if_there(&device.directory.join("wwid")))
        };
        let whole = self.whole();
        let Some(mine) = wwid(&whole) else { return Vec::new() };
        Self::all_whole(roots)
            .into_iter()
            .filter(|other| other.number != whole.number && wwid(other).as_ref() == Some(&mine))
            .collect()
    }
}
