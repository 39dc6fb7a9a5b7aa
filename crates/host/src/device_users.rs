//! What is on, and who holds, a block device or file: the facts that the guard asks for before anything is written. Never
//! writes. A fact that cannot be had is listed as unchecked, and the guard must not take it for "free".

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{BlockDevice, Make};
use crate::database_directory::database_directory;
use crate::file_system::btrfs_devices;
use crate::mounts::read_mounts;
use crate::open_files::{OpenFiles, Opener};
use crate::roots::{DeviceNumber, Roots, Unchecked, Unknown, read_text};
use crate::signature::scan;
use crate::use_kind::UseKind;

/// One reason not to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    pub kind: UseKind,
    /// What exactly: `/dev/sda1 is mounted at /home`
    pub detail: String,
    /// What to do instead
    pub hint: String,
}

/// All that was found on a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUses {
    /// Reasons not to write; none means that the target holds nothing
    pub holds: Vec<DeviceUse>,
    /// What could not be checked
    pub unchecked: Vec<Unknown>,
}

impl DeviceUses {
    /// Whether a kind was found.
    pub fn has(&self, kind: UseKind) -> bool {
        self.holds.iter().any(|holding| holding.kind == kind)
    }

    /// Whether everything could be checked and nothing was found.
    pub fn is_free(&self) -> bool {
        self.holds.is_empty() && self.unchecked.is_empty()
    }
}

/// Looks at a block device or regular file from all sides. The caller must not have it open exclusively itself.
pub fn inspect(roots: &Roots, path: &Path) -> io::Result<DeviceUses> {
    inspect_among(roots, path, &OpenFiles::read(roots), Closeness::Whole)
}

/// How closely a target is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closeness {
    /// Who uses it, and what it holds.
    Whole,
    /// A regular file: only who uses it. A device is always looked at whole.
    Use,
}

/// The same for one of many targets: what other processes have open was looked at before.
pub fn inspect_among(
    roots: &Roots,
    path: &Path,
    open: &OpenFiles,
    closeness: Closeness,
) -> io::Result<DeviceUses> {
    let path = fs::canonicalize(path)?;
    let about = fs::metadata(&path)?;
    let mut look = Inspection::new(roots);
    let kind = about.file_type();
    if kind.is_block_device() {
        let number = DeviceNumber::from_raw(about.rdev());
        look.device(number);
        look.exclusive(&path);
    } else if kind.is_file() {
        look.file(&path, &about);
    } else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is neither a regular file nor a block device", path.display()),
        ));
    }
    look.open_descriptors(open);
    if closeness == Closeness::Whole || kind.is_block_device() {
        look.content(&path, kind.is_block_device().then(|| DeviceNumber::from_raw(about.rdev())));
    }
    Ok(look.finish())
}

/// What sysfs, mounts and swaps tell of a device, without opening it.
pub fn inspect_device(roots: &Roots, number: DeviceNumber) -> DeviceUses {
    let mut look = Inspection::new(roots);
    look.device(number);
    look.finish()
}

struct Inspection<'a> {
    roots: &'a Roots,
    holds: Vec<DeviceUse>,
    unchecked: Unchecked,
    /// Devices and files (by file system and inode) that show some of the target's bytes.
    family: Vec<BlockDevice>,
    files: Vec<(u64, u64)>,
}

impl<'a> Inspection<'a> {
    fn new(roots: &'a Roots) -> Self {
        let (holds, family, files) = (Vec::new(), Vec::new(), Vec::new());
        Inspection { roots, holds, unchecked: Unchecked::default(), family, files }
    }

    fn finish(mut self) -> DeviceUses {
        self.holds.sort_by_key(|holding| holding.kind);
        DeviceUses { holds: self.holds, unchecked: self.unchecked.0 }
    }

    fn hold(&mut self, kind: UseKind, detail: String, hint: &str) {
        let holding = DeviceUse { kind, detail, hint: hint.into() };
        if !self.holds.contains(&holding) {
            self.holds.push(holding);
        }
    }

    fn device(&mut self, number: DeviceNumber) {
        let Ok(device) = BlockDevice::by_number(self.roots, number) else {
            self.unchecked.add(format!("what stands on device {number}"), "sysfs does not list it");
            return;
        };
        let parts = device.partitions();
        if !parts.is_empty() {
            let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
            let detail = format!("{} has partitions: {}", device.name, names.join(", "));
            self.hold(UseKind::PartitionTable, detail, "name an unused partition, or remove them (wipefs)");
        }
        self.gather(&device);
        self.mounted();
        self.swaps();
    }

    /// Every device that shows some of the same bytes: partitions, other paths, loop devices on it, those that stand on it, and
    /// what a loop device shows. Reports holders, loops and paths on the way.
    fn gather(&mut self, device: &BlockDevice) {
        if self.family.iter().any(|known| known.number == device.number) {
            return;
        }
        let mut same: Vec<BlockDevice> = vec![device.clone()];
        same.extend(device.overlapping());
        self.family.push(device.clone());
        for other in device.other_paths(self.roots) {
            if other.slaves().is_empty() {
                let detail = format!("{} and {} are paths to one LUN", device.name, other.name);
                self.hold(UseKind::MultipathMember, detail, "use the multipath device instead of one path");
            }
            same.push(other);
        }
        for one in &same {
            for holder in one.holders() {
                self.holder(one, &holder);
                self.gather(&holder);
            }
            for looped in self.loops_on(|backing| is_device(backing, one.number)) {
                self.shown(&one.name, &looped);
                self.gather(&looped);
            }
        }
        if let Make::Loop { backing, .. } = device.whole().make() {
            self.below_a_loop(&device.whole(), &backing);
        }
        // A whole disk's neighbours must not come in by way of a partition, so these are added, not gathered.
        same.into_iter().for_each(|one| self.add_to_family(one));
    }

    fn add_to_family(&mut self, device: BlockDevice) {
        if !self.family.iter().any(|known| known.number == device.number) {
            self.family.push(device);
        }
    }

    fn shown(&mut self, name: &str, looped: &BlockDevice) {
        let detail = format!("{name} is shown by {}", looped.name);
        self.hold(UseKind::LoopBacked, detail, &format!("losetup -d {}", looped.node().display()));
    }

    /// A loop device on a device is that device; one on a file is that file, and every other loop device on it.
    fn below_a_loop(&mut self, looped: &BlockDevice, backing: &Path) {
        let Ok(about) = fs::metadata(self.roots.seen(backing)) else {
            self.unchecked.add(
                format!("what {} shows", looped.name),
                format!("{} is not seen from here", backing.display()),
            );
            return;
        };
        if about.file_type().is_block_device() {
            if let Ok(below) = BlockDevice::by_number(self.roots, DeviceNumber::from_raw(about.rdev())) {
                self.gather(&below);
            }
            return;
        }
        for other in self.loops_on(|other| is_same_file(other, &about)) {
            if other.number != looped.number {
                let detail = format!("{} and {} show one file", looped.name, other.name);
                self.hold(UseKind::LoopBacked, detail, &format!("losetup -d {}", other.node().display()));
                other.partitions().into_iter().for_each(|part| self.add_to_family(part));
                self.add_to_family(other);
            }
        }
        self.file_itself(backing, &about);
    }

    fn holder(&mut self, below: &BlockDevice, holder: &BlockDevice) {
        let what = match holder.make() {
            Make::Mapper { name, uuid } if uuid.starts_with("mpath-") => {
                let detail = format!("{} is a path of multipath {name}", below.name);
                self.hold(UseKind::MultipathMember, detail, "use the multipath device instead of one path");
                format!("multipath {name}")
            }
            Make::Mapper { name, .. } => format!("device mapper {name}"),
            Make::Raid(level) => format!("software RAID {level}"),
            _ => "another driver".into(),
        };
        let detail = format!("{} is held by {} ({what})", below.name, holder.name);
        self.hold(UseKind::Holder, detail, "measure that device or a file on it instead");
    }

    fn loops_on(&self, is_it: impl Fn(&Path) -> bool) -> Vec<BlockDevice> {
        let on_it = |device: &BlockDevice| match device.make() {
            Make::Loop { backing, .. } => is_it(&self.roots.seen(&backing)),
            _ => false,
        };
        BlockDevice::all_whole(self.roots).into_iter().filter(on_it).collect()
    }

    fn mounted(&mut self) {
        let file = self.roots.proc.join("self/mountinfo");
        let Some(mounts) = self.unchecked.note("what is mounted", &file, read_mounts(self.roots)) else {
            return;
        };
        for mount in mounts {
            let members = match mount.kind.as_str() {
                "btrfs" => btrfs_devices(self.roots, &mount.source, &mut Unchecked::default()),
                _ if mount.device.major != 0 => vec![mount.device],
                _ => Vec::new(),
            };
            let place = mount.mount_point.display();
            let hint = format!("measure a file on it instead: fathom calibrate {place}");
            let named =
                |device: &BlockDevice| format!("{} is mounted at {place} ({})", device.name, mount.kind);
            let used = self.family.iter().filter(|device| members.contains(&device.number));
            let details: Vec<String> = used.map(named).collect();
            details.into_iter().for_each(|detail| self.hold(UseKind::Mounted, detail, &hint));
        }
    }

    fn swap_files(&mut self) -> Vec<PathBuf> {
        let file = self.roots.proc.join("swaps");
        let text = self.unchecked.note("active swap", &file, read_text(&file)).unwrap_or_default();
        let first = |line: &str| {
            line.split_whitespace().next().map(|word| PathBuf::from(crate::mounts::unescape_octal(word)))
        };
        text.lines().skip(1).filter_map(first).collect()
    }

    fn swaps(&mut self) {
        for file in self.swap_files() {
            let swap = BlockDevice::by_node(self.roots, &file).filter(|_| file.starts_with("/dev"));
            let used = swap.and_then(|swap| self.family.iter().find(|device| device.number == swap.number));
            if let Some(detail) = used.map(|device| format!("{} is active swap", device.name)) {
                self.hold(UseKind::Swap, detail, &format!("swapoff {}", file.display()));
            }
        }
    }

    fn file(&mut self, path: &Path, about: &fs::Metadata) {
        self.file_itself(path, about);
        for looped in self.loops_on(|backing| is_same_file(backing, about)) {
            self.shown(&path.display().to_string(), &looped);
            self.gather(&looped);
        }
        if !self.family.is_empty() {
            self.mounted();
            self.swaps();
        }
    }

    fn file_itself(&mut self, path: &Path, about: &fs::Metadata) {
        if self.files.contains(&(about.dev(), about.ino())) {
            return;
        }
        self.files.push((about.dev(), about.ino()));
        for swap in self.swap_files().iter().filter(|swap| is_same_file(swap, about)) {
            let detail = format!("{} is active swap", swap.display());
            self.hold(UseKind::Swap, detail, &format!("swapoff {}", swap.display()));
        }
        if let Some(database) = path.parent().and_then(database_directory) {
            self.hold(
                UseKind::Content,
                format!("{} is in {database}", path.display()),
                "choose another directory",
            );
        }
    }

    /// The kernel refuses an exclusive opening of what is mounted, swapped on, or held, also through a partition.
    fn exclusive(&mut self, path: &Path) {
        let flags = (OFlags::EXCL | OFlags::NONBLOCK).bits() as i32;
        match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                let detail = format!("{} is held exclusively by the kernel or a process", path.display());
                self.hold(UseKind::HeldExclusively, detail, "lsblk and fuser tell by whom");
            }
            Err(error) => {
                let what = format!("whether {} is held open", path.display());
                self.unchecked.add(what, format!("cannot open it: {error}"));
            }
        }
    }

    /// Other processes' open files, where they may be looked at.
    fn open_descriptors(&mut self, open: &OpenFiles) {
        let files = self.files.iter().flat_map(|(file_system, inode)| open.of_file(*file_system, *inode));
        let devices = self.family.iter().flat_map(|device| open.of_device(device.number));
        let mut openers: Vec<&Opener> = files.chain(devices).collect();
        openers.sort_by(|one, other| one.pid.cmp(&other.pid));
        openers.dedup_by(|one, other| one.pid == other.pid);
        for Opener { pid, name, file } in openers {
            let detail = format!("process {pid} ({name}) has {} open", file.display());
            self.hold(UseKind::HeldOpen, detail, &format!("end process {pid} first"));
        }
        if open.hidden > 0 {
            let why = format!("{} processes of other users cannot be looked at; root may", open.hidden);
            self.unchecked.add("who has the target open", why);
        }
    }

    /// What the bytes say: those of the target, and of a whole disk also those of each partition.
    fn content(&mut self, path: &Path, device: Option<DeviceNumber>) {
        let what = format!("what {} holds", path.display());
        let Some(bytes) = self.unchecked.note(&what, path, Bytes::open(path)) else { return };
        let hint = "consent to its loss with --write-consent, or choose another target";
        let mut ranges = vec![(path.display().to_string(), 0, bytes.size_bytes)];
        let device = device.and_then(|number| BlockDevice::by_number(self.roots, number).ok());
        for part in device.iter().flat_map(BlockDevice::partitions) {
            let (start, end) = part.bytes_on_disk();
            ranges.push((part.name, start, end.min(bytes.size_bytes).saturating_sub(start)));
        }
        for (name, start, size_bytes) in ranges {
            let scanned = scan(size_bytes, &mut |offset, length| bytes.read(start + offset, length));
            let what = format!("what {name} holds");
            let Some((found, first)) = self.unchecked.note(&what, path, scanned) else { continue };
            for mark in found {
                self.hold(mark.kind, format!("{} at byte {} of {name}", mark.name, mark.offset), hint);
            }
            if let Some(offset) = first {
                self.hold(UseKind::NonZero, format!("byte {offset} of {name} is not zero"), hint);
            }
        }
        for (kind, name) in ask_blkid(path) {
            self.hold(kind, format!("{name}, says blkid, on {}", path.display()), hint);
        }
    }
}

fn is_device(path: &Path, number: DeviceNumber) -> bool {
    fs::metadata(path).is_ok_and(|about| {
        about.file_type().is_block_device() && DeviceNumber::from_raw(about.rdev()) == number
    })
}

fn is_same_file(path: &Path, about: &fs::Metadata) -> bool {
    fs::metadata(path).is_ok_and(|other| {
        !other.file_type().is_block_device() && other.dev() == about.dev() && other.ino() == about.ino()
    })
}

/// A target's bytes, read past the page cache where that is possible: a cluster's other node may have written since.
struct Bytes {
    plain: File,
    direct: Option<File>,
    size_bytes: u64,
}

impl Bytes {
    fn open(path: &Path) -> io::Result<Self> {
        let plain = File::open(path)?;
        let about = plain.metadata()?;
        let size_bytes = match about.file_type().is_block_device() {
            true => crate::sys::block_device_size_bytes(std::os::fd::AsFd::as_fd(&plain))?,
            false => about.len(),
        };
        let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path).ok();
        Ok(Bytes { plain, direct, size_bytes })
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        if let Some(bytes) = self.direct.as_ref().and_then(|file| read_direct(file, offset, length)) {
            return Ok(bytes);
        }
        let mut bytes = vec![0u8; length];
        self.plain.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

const ALIGNMENT: usize = 4096;

/// A direct read of any range: widened to whole blocks, into an aligned part of a larger buffer.
fn read_direct(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let start = offset / ALIGNMENT as u64 * ALIGNMENT as u64;
    let skip = (offset - start) as usize;
    let wanted = (skip + length).next_multiple_of(ALIGNMENT);
    let mut buffer = vec![0u8; wanted + ALIGNMENT];
    let shift = buffer.as_ptr().align_offset(ALIGNMENT);
    let aligned = buffer.get_mut(shift..shift + wanted)?;
    let mut got = 0;
    while got < skip + length {
        match file.read_at(&mut aligned[got..], start + got as u64) {
            Ok(0) | Err(_) => return None,
            Ok(count) => got += count,
        }
    }
    Some(aligned[skip..skip + length].to_vec())
}

/// libblkid knows more marks than our table; asked by its program where there is one.
fn ask_blkid(path: &Path) -> Vec<(UseKind, String)> {
    let programs = ["/usr/sbin/blkid", "/sbin/blkid", "blkid"];
    let ask = |program: &&str| Command::new(program).args(["-p", "-o", "export"]).arg(path).output().ok();
    let Some(answer) = programs.iter().find_map(ask) else { return Vec::new() };
    if answer.status.code() == Some(8) {
        return vec![(UseKind::Content, "several signatures".into())];
    }
    parse_blkid(&String::from_utf8_lossy(&answer.stdout))
}

/// `TYPE=ext4`, `USAGE=filesystem`, `PTTYPE=gpt`
fn parse_blkid(text: &str) -> Vec<(UseKind, String)> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let mut found = Vec::new();
    if let Some(table) = value("PTTYPE") {
        found.push((UseKind::PartitionTable, format!("partition table {table}")));
    }
    if let Some(kind) = value("TYPE") {
        let holding = match (kind, value("USAGE").unwrap_or("")) {
            ("LVM2_member" | "LVM1_member", _) => UseKind::LvmPhysicalVolume,
            ("oracleasm", _) => UseKind::OracleAsm,
            ("mpath_member", _) => UseKind::MultipathMember,
            ("drbd" | "bcache" | "ceph_bluestore" | "zfs_member" | "stratis", _) => UseKind::Content,
            (_, "raid") => UseKind::MdMember,
            (_, "filesystem") => UseKind::FileSystem,
            _ => UseKind::Content,
        };
        found.push((holding, kind.to_string()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabricate::Fabricated;
    use crate::storage::disks_below;

    #[test]
    fn a_disk_under_a_mapper_is_held_also_by_its_partition_but_its_neighbour_is_free() {
        let tree = Fabricated::new();
        let sda = "devices/pci0/ata1/host0/block/sda";
        tree.disk(sda, "8:0", 2048)
            .partition(sda, "sda1", "8:1", 8, 1000)
            .partition(sda, "sda2", "8:2", 1008, 1000)
            .disk("devices/virtual/block/dm-0", "253:0", 1000)
            .file("sys/devices/virtual/block/dm-0/dm/name", "vg-data")
            .file("sys/devices/virtual/block/dm-0/dm/uuid", "LVM-x")
            .stands_on("devices/virtual/block/dm-0", &format!("{sda}/sda1"))
            .file("proc/swaps", "Filename\n")
            .file("proc/self/mountinfo", "1 1 253:0 / /home rw - ext4 /dev/mapper/vg-data rw\n");
        let held = |minor| inspect_device(&tree.roots(), DeviceNumber { major: 8, minor });
        for minor in [0, 1] {
            assert!(held(minor).has(UseKind::Holder), "8:{minor}");
            assert!(held(minor).has(UseKind::Mounted), "8:{minor}");
        }
        assert_eq!(held(2), DeviceUses::default());
        let (layers, disks, _) = disks_below(&tree.roots(), DeviceNumber { major: 253, minor: 0 });
        assert_eq!((layers.len(), disks.len(), disks[0].name.as_str()), (2, 1, "sda"));
    }
}
