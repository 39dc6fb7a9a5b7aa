//! What a path stands on: file system, layers, and the disks below, down through loop devices, overlays, partitions, md and
//! device mapper. Reads only; judges nothing.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{BlockDevice, Make};
use crate::disk::{Disk, read_disk};
use crate::file_system::{FileSystem, Medium, describe};
use crate::mounts::{Mount, mount_of, read_mounts};
use crate::roots::{DeviceNumber, Roots, Unchecked, Unknown};
use crate::transport::Transport;

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    Directory,
    RegularFile,
    BlockDevice,
    CharacterDevice,
    /// A socket, a pipe
    Other,
}

impl TargetKind {
    /// What this says a path is.
    pub fn of(about: &fs::Metadata) -> Self {
        let kind = about.file_type();
        match () {
            () if kind.is_dir() => TargetKind::Directory,
            () if kind.is_file() => TargetKind::RegularFile,
            () if kind.is_block_device() => TargetKind::BlockDevice,
            () if kind.is_char_device() => TargetKind::CharacterDevice,
            () => TargetKind::Other,
        }
    }
}

/// The directory that a file is in, or would be; `.` for a name alone.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The kernel's major number of /dev/null, /dev/zero and /dev/full.
pub const MEMORY_DEVICES: u32 = 1;

/// The size of a file that has none: /dev/null and /dev/zero are as long as anybody wants them.
pub const ENDLESS: u64 = i64::MAX as u64;

/// Where a file will be made that is not there yet: a link may lead to a name that nothing stands at.
pub fn place_of_new(path: &Path) -> PathBuf {
    match std::fs::read_link(path) {
        Ok(to) => path.parent().unwrap_or(Path::new("")).join(to),
        Err(_) => path.to_owned(),
    }
}

/// One step on the way from the path down to the disks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// The kernel's name of the device, or the file system's type for an overlay.
    pub name: String,
    /// `major:minor`, where it is a device.
    pub number: Option<DeviceNumber>,
    /// In words: `partition of sda`, `LVM volume vg-data`, `loop device on /srv/image, through the page cache`.
    pub description: String,
    /// How many devices it stands on.
    pub stands_on: u32,
    /// Of a loop device: whether it reads its file past the page cache. A buffered one has a cache below its counters.
    pub loop_direct: Option<bool>,
}

/// All that is known of what a path stands on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// The path without links.
    pub path: PathBuf,
    pub kind: TargetKind,
    /// Length of the file or size of the device.
    pub size_bytes: Option<u64>,
    /// The file system that a file or directory is on; none for a device.
    pub file_system: Option<FileSystem>,
    /// The block devices nearest to the target: the device itself, or those of its file system.
    pub devices: Vec<DeviceNumber>,
    /// Top to bottom.
    pub layers: Vec<Layer>,
    /// The disks at the bottom, each once, by number.
    pub disks: Vec<Disk>,
    /// What kind of thing is at the bottom.
    pub medium: Medium,
    /// What names this storage: its file system or device. The lock uses it where nothing below is known.
    pub identity: String,
    /// What keeps bytes at the bottom and is no disk here: `server filer`, `zfs pool tank`, `tmpfs 0:23`. The lock uses it.
    pub places: Vec<String>,
    /// How many physical disks there are, where that can be known: not behind virtio, RAID or a network.
    pub physical_disks: Option<u32>,
    /// What could not be read.
    pub unchecked: Vec<Unknown>,
}

impl Storage {
    /// Whether every disk's medium is known; false where there is none.
    pub fn medium_known(&self) -> bool {
        !self.disks.is_empty() && self.disks.iter().all(|disk| disk.medium_known)
    }

    /// The numbers of all disks and of all their paths, sorted: whose diskstats carry this storage's I/O.
    pub fn disk_numbers(&self) -> Vec<DeviceNumber> {
        let of = |disk: &Disk| std::iter::once(disk.number).chain(disk.other_paths.clone());
        let mut numbers: Vec<DeviceNumber> = self.disks.iter().flat_map(of).collect();
        numbers.sort();
        numbers.dedup();
        numbers
    }
}

/// Says what the path stands on. Fails only where the path itself cannot be looked at.
pub fn resolve(roots: &Roots, path: &Path) -> io::Result<Storage> {
    // First: of a path that is too long only the kernel says so.
    let about = fs::metadata(path)?;
    let path = fs::canonicalize(path)?;
    let kind = TargetKind::of(&about);
    let mut walk = Walk::new(roots);
    let mut storage = Storage {
        size_bytes: (kind == TargetKind::RegularFile).then_some(about.len()),
        path,
        kind,
        file_system: None,
        devices: Vec::new(),
        layers: Vec::new(),
        disks: Vec::new(),
        medium: Medium::Unknown,
        identity: String::new(),
        places: Vec::new(),
        physical_disks: None,
        unchecked: Vec::new(),
    };
    match kind {
        TargetKind::BlockDevice => {
            let number = DeviceNumber::from_raw(about.rdev());
            storage.devices = vec![number];
            storage.identity = format!("device {number}");
            walk.device(number, 0);
            storage.size_bytes =
                BlockDevice::by_number(roots, number).ok().and_then(|device| device.size_bytes());
        }
        TargetKind::CharacterDevice | TargetKind::Other => {
            walk.unchecked
                .add("the disks of the target", "it is neither a file, a directory nor a block device");
        }
        TargetKind::Directory | TargetKind::RegularFile => {
            let found = walk.path(&storage.path, 0);
            storage.identity = match &found {
                Some(system) => system.identity(),
                None => format!("file system {}", DeviceNumber::from_raw(about.dev())),
            };
            storage.devices = found.as_ref().map(|system| system.devices.clone()).unwrap_or_default();
            storage.file_system = found;
        }
    }
    walk.finish(&mut storage);
    Ok(storage)
}

/// The disks below a device by sysfs alone, for a device that has no node here.
pub fn disks_below(roots: &Roots, number: DeviceNumber) -> (Vec<Layer>, Vec<Disk>, Vec<Unknown>) {
    let mut walk = Walk::new(roots);
    walk.device(number, 0);
    (walk.layers, walk.disks, walk.unchecked.0)
}

/// The kernel's number of the mount that a path stands on.
fn mount_id_of(path: &Path) -> Option<u64> {
    let answer = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    StatxFlags::from_bits_retain(answer.stx_mask).contains(StatxFlags::MNT_ID).then_some(answer.stx_mnt_id)
}

/// More layers than this are a circle.
const DEPTH_MAX: u32 = 32;

struct Walk<'a> {
    roots: &'a Roots,
    mounts: Vec<Mount>,
    layers: Vec<Layer>,
    disks: Vec<Disk>,
    /// How often a disk was come upon, one that was known already too.
    arrivals: usize,
    mediums: Vec<Medium>,
    places: Vec<String>,
    unchecked: Unchecked,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a Roots) -> Self {
        let mut unchecked = Unchecked::default();
        let file = roots.proc.join("self/mountinfo");
        let mounts = unchecked.note("what is mounted", &file, read_mounts(roots)).unwrap_or_default();
        Walk {
            roots,
            mounts,
            layers: Vec::new(),
            disks: Vec::new(),
            arrivals: 0,
            mediums: Vec::new(),
            places: Vec::new(),
            unchecked,
        }
    }

    fn finish(mut self, storage: &mut Storage) {
        self.disks.sort_by_key(|disk| disk.number);
        let in_memory = |disk: &Disk| {
            matches!(disk.transport, Transport::Zram | Transport::Ram) || disk.is_loop_in_memory()
        };
        storage.medium = match self.mediums.first() {
            _ if !self.disks.is_empty() && self.disks.iter().all(in_memory) => Medium::Memory,
            _ if !self.disks.is_empty() => Medium::Disks,
            Some(medium) => medium.clone(),
            None => Medium::Unknown,
        };
        let counted = storage.medium == Medium::Disks && self.disks.iter().all(|disk| disk.medium_known);
        storage.physical_disks = counted.then_some(self.disks.len() as u32);
        storage.layers = self.layers;
        storage.disks = self.disks;
        self.places.sort();
        self.places.dedup();
        storage.places = self.places;
        storage.unchecked = self.unchecked.0;
    }

    /// Goes down from a file or directory; answers its file system.
    fn path(&mut self, path: &Path, depth: u32) -> Option<FileSystem> {
        if depth > DEPTH_MAX {
            self.unchecked.add("the disks of the target", "more layers than can be followed");
            return None;
        }
        let about = self.unchecked.note("the target's file system", path, fs::metadata(path))?;
        let device = DeviceNumber::from_raw(about.dev());
        let Some(mount) = mount_of(&self.mounts, path, mount_id_of(path), Some(device)).cloned() else {
            self.unchecked.add("the target's file system", "mountinfo lists no mount above it");
            return None;
        };
        let mut system = describe(self.roots, &mount, path, &mut self.unchecked);
        match &system.medium {
            Medium::Disks => {
                for number in system.devices.clone() {
                    self.device(number, depth + 1);
                }
            }
            Medium::Layered => self.overlay(path, &mount, &mut system, depth),
            other => {
                self.mediums.push(other.clone());
                self.places.push(system.identity());
            }
        }
        Some(system)
    }

    /// An overlay's file stands in the upper directory, or, before its first write, in one of the lower ones.
    fn overlay(&mut self, path: &Path, mount: &Mount, system: &mut FileSystem, depth: u32) {
        let inside = path.strip_prefix(&mount.mount_point).unwrap_or(Path::new("")).to_path_buf();
        let upper: Vec<PathBuf> = mount.super_option("upperdir").map(PathBuf::from).into_iter().collect();
        let all: Vec<PathBuf> = upper.into_iter().chain(mount.super_option_directories("lowerdir")).collect();
        let holds = |directory: &&PathBuf| fs::symlink_metadata(directory.join(&inside)).is_ok();
        let chosen = if path.is_dir() { all.first() } else { all.iter().find(holds) };
        // A relative name was relative to where mount was called, not to us.
        let Some(directory) = chosen.filter(|directory| directory.is_absolute() && directory.exists()) else {
            let why = format!(
                "the directories that mountinfo names for {} are relative or not seen from here",
                mount.mount_point.display()
            );
            self.unchecked.add("the disks below the overlay file system", why);
            self.mediums.push(Medium::Unknown);
            self.places.push(system.identity());
            return;
        };
        self.layers.push(Layer {
            name: "overlay".into(),
            number: None,
            description: format!("overlay on {}", directory.display()),
            stands_on: 1,
            loop_direct: None,
        });
        if let Ok(directory) = fs::canonicalize(directory)
            && let Some(below) = self.path(&directory, depth + 1)
        {
            system.devices = below.devices;
        }
    }

    fn device(&mut self, number: DeviceNumber, depth: u32) {
        match BlockDevice::by_number(self.roots, number) {
            Ok(device) => self.block(&device, depth),
            Err(error) => self.unchecked.add(
                format!("the disks below device {number}"),
                format!("{}: {error}", self.roots.sys.join("dev/block").join(number.to_string()).display()),
            ),
        }
    }

    fn block(&mut self, device: &BlockDevice, depth: u32) {
        if depth > DEPTH_MAX {
            self.unchecked
                .add(format!("the disks below {}", device.name), "more layers than can be followed");
            return;
        }
        let slaves = device.slaves();
        match device.make() {
            Make::Plain => self.leaf(device),
            Make::Partition(whole) => {
                self.layer(device, format!("partition of {}", whole.name), 1, None);
                self.block(&whole, depth + 1);
            }
            Make::Mapper { name, uuid } if uuid.starts_with("mpath-") => {
                self.layer(device, format!("multipath {name}"), slaves.len() as u32, None);
                self.multipath(device, &slaves);
            }
            Make::Mapper { name, uuid } => {
                let kind = match uuid.split('-').next().unwrap_or("") {
                    "LVM" => "LVM volume",
                    "CRYPT" => "encrypted volume",
                    _ => "device mapper volume",
                };
                self.below(device, format!("{kind} {name}"), &slaves, depth);
            }
            Make::Raid(level) => self.below(device, format!("software RAID {level}"), &slaves, depth),
            Make::Stacked => self.below(device, "stands on other devices".into(), &slaves, depth),
            Make::Loop { backing, direct } => self.looped(device, &backing, direct, depth),
        }
    }

    fn below(&mut self, device: &BlockDevice, description: String, slaves: &[BlockDevice], depth: u32) {
        self.layer(device, description, slaves.len() as u32, None);
        if slaves.is_empty() {
            self.leaf(device);
        }
        for slave in slaves {
            self.block(slave, depth + 1);
        }
    }

    /// All paths lead to one disk.
    fn multipath(&mut self, device: &BlockDevice, paths: &[BlockDevice]) {
        let wholes: Vec<BlockDevice> = paths.iter().map(BlockDevice::whole).collect();
        let Some((first, others)) = wholes.split_first() else {
            self.leaf(device);
            return;
        };
        self.leaf(first);
        if let Some(disk) = self.disks.iter_mut().find(|disk| disk.number == first.number) {
            disk.other_paths = others.iter().map(|path| path.number).collect();
            disk.path_count = wholes.len() as u32;
        }
    }

    /// A loop device's disks are those of its backing file; one whose file has none is itself the last that counts I/O.
    fn looped(&mut self, device: &BlockDevice, backing: &Path, direct: Option<bool>, depth: u32) {
        let how = if direct == Some(true) { "past" } else { "through" };
        let description = format!("loop device on {}, {how} the page cache", backing.display());
        self.layer(device, description, 1, direct);
        let (before, mediums) = (self.arrivals, self.mediums.len());
        match fs::metadata(backing) {
            Ok(about) if about.file_type().is_block_device() => {
                self.device(DeviceNumber::from_raw(about.rdev()), depth + 1);
            }
            Ok(_) => {
                self.path(backing, depth + 1);
            }
            Err(error) => self.unchecked.add(
                format!("the disks below {}", device.name),
                format!("its backing file {}: {error}", backing.display()),
            ),
        }
        let in_memory = self.mediums.get(mediums) == Some(&Medium::Memory);
        if self.arrivals == before && self.mediums.get(mediums).is_none_or(|m| *m == Medium::Memory) {
            self.leaf(device);
            if in_memory && let Some(disk) = self.disks.last_mut() {
                disk.medium_known = true;
                disk.medium_unknown_because = None;
            }
        }
    }

    fn leaf(&mut self, device: &BlockDevice) {
        self.arrivals += 1;
        if self
            .disks
            .iter()
            .any(|disk| disk.number == device.number || disk.other_paths.contains(&device.number))
        {
            return;
        }
        let mut disk = read_disk(self.roots, device, &mut self.unchecked);
        let twins = device.other_paths(self.roots);
        if disk.wwid.is_some() && !twins.is_empty() {
            disk.other_paths =
                twins.iter().filter(|twin| twin.slaves().is_empty()).map(|twin| twin.number).collect();
            disk.path_count = disk.path_count.max(disk.other_paths.len() as u32 + 1);
        }
        self.disks.push(disk);
    }

    fn layer(
        &mut self,
        device: &BlockDevice,
        description: String,
        stands_on: u32,
        loop_direct: Option<bool>,
    ) {
        self.layers.push(Layer {
            name: device.name.clone(),
            number: Some(device.number),
            description,
            stands_on,
            loop_direct,
        });
    }
}
