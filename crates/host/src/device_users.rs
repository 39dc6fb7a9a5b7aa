//! What is on, and who holds, a block device or file: the facts that the guard asks for before anything is written. Never
//! writes. A fact that cannot be had is listed as unchecked, and the guard must not take it for "free".

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{BlockDevice, Make};
use crate::content::{Content, ask_blkid};
use crate::database_directory::sqlite_of;
use crate::device_claim::{DeviceClaim, claim};
use crate::file_identity::FileIdentity;
use crate::file_system::btrfs_devices;
use crate::mounts::read_mounts;
use crate::open_files::{OpenFiles, Opener};
use crate::roots::{DeviceNumber, Roots, Unchecked, Unknown};
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

    /// Why nothing may be written whatever anybody says: somebody is at work there.
    pub fn in_use(&self) -> Option<&DeviceUse> {
        self.holds.iter().find(|holding| holding.kind.is_in_use())
    }
}

/// A target that was looked at.
#[derive(Debug)]
pub struct Inspection {
    /// What was found.
    pub uses: DeviceUses,
    /// Of what.
    pub identity: FileIdentity,
    /// A device that nobody holds is held by this process from here on.
    pub claim: Option<DeviceClaim>,
    /// A check of use that could not be made and that decides. Of a file, which every user's processes may have open, it is
    /// only what makes it a disk or swap.
    pub unchecked_use: Option<Unknown>,
}

/// Looks at a block device or regular file from all sides.
pub fn inspect(roots: &Roots, path: &Path) -> io::Result<DeviceUses> {
    inspect_among(roots, path, &OpenFiles::read(roots), Closeness::Whole).map(|found| found.uses)
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
) -> io::Result<Inspection> {
    Look::new(roots, open).target(path, closeness)
}

/// The same for a descriptor that this process was handed: its file may have lost its name, or have it in another mount
/// namespace. Whoever handed it over has it open too.
pub fn inspect_descriptor(
    roots: &Roots,
    descriptor: BorrowedFd<'_>,
    open: &OpenFiles,
    closeness: Closeness,
) -> io::Result<Inspection> {
    let path = roots.proc.join(format!("self/fd/{}", descriptor.as_raw_fd()));
    let look = Look { descriptor: Some(descriptor), ..Look::new(roots, open) };
    look.target(&path, closeness)
}

/// What sysfs, mounts and swaps tell of a device, without opening it.
pub fn inspect_device(roots: &Roots, number: DeviceNumber) -> DeviceUses {
    let open = OpenFiles::default();
    let mut look = Look::new(roots, &open);
    look.device(number);
    look.finish()
}

struct Look<'a> {
    roots: &'a Roots,
    open: &'a OpenFiles,
    /// The target as it was handed to this process.
    descriptor: Option<BorrowedFd<'a>>,
    holds: Vec<DeviceUse>,
    unchecked: Unchecked,
    /// Tables of the kernel's that could not be read.
    tables: Unchecked,
    /// Devices and files (by file system and inode) that show some of the target's bytes.
    family: Vec<BlockDevice>,
    files: Vec<(u64, u64)>,
}

impl<'a> Look<'a> {
    fn new(roots: &'a Roots, open: &'a OpenFiles) -> Self {
        let (holds, family, files) = (Vec::new(), Vec::new(), Vec::new());
        let (unchecked, tables) = (Unchecked::default(), Unchecked::default());
        Look { roots, open, descriptor: None, holds, unchecked, tables, family, files }
    }

    fn target(mut self, path: &Path, closeness: Closeness) -> io::Result<Inspection> {
        let about = fs::metadata(path)?;
        let identity = FileIdentity::of(&about);
        // What a descriptor is open on need not have a name that leads there.
        let named = fs::canonicalize(path).ok();
        let named = named.filter(|named| FileIdentity::of_path(named).is_ok_and(|found| found == identity));
        let path = named.unwrap_or_else(|| path.to_owned());
        let kind = about.file_type();
        let mut held = None;
        if kind.is_block_device() {
            self.device(DeviceNumber::from_raw(about.rdev()));
            held = self.exclusive(&path);
        } else if kind.is_file() {
            self.file(&path, &about);
        } else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is neither a regular file nor a block device", path.display()),
            ));
        }
        self.open_descriptors();
        if closeness == Closeness::Whole || kind.is_block_device() {
            self.content(&path, identity);
        }
        let is_device = kind.is_block_device();
        let decisive = if is_device {
            self.tables.0.first().or(self.unchecked.0.first())
        } else {
            self.tables.0.first()
        };
        let unchecked_use = decisive.cloned();
        Ok(Inspection { uses: self.finish(), identity, claim: held, unchecked_use })
    }

    fn finish(mut self) -> DeviceUses {
        self.holds.sort_by_key(|holding| holding.kind);
        let mut unchecked = self.tables;
        self.unchecked.0.into_iter().for_each(|unknown| unchecked.add(unknown.what, unknown.why));
        DeviceUses { holds: self.holds, unchecked: unchecked.0 }
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

    fn loops_on(&mut self, is_it: impl Fn(&Path) -> bool) -> Vec<BlockDevice> {
        match self.open.tables.loops(self.roots) {
            Ok(loops) => {
                loops.iter().filter(|one| is_it(&one.backing)).map(|one| one.device.clone()).collect()
            }
            Err(unknown) => {
                self.tables.add(&unknown.what, &unknown.why);
                Vec::new()
            }
        }
    }

    fn mounted(&mut self) {
        let file = self.roots.proc.join("self/mountinfo");
        let Some(mounts) = self.tables.note("what is mounted", &file, read_mounts(self.roots)) else {
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

    fn swap_files(&mut self) -> &'a [PathBuf] {
        let open = self.open;
        open.tables.swaps(self.roots).unwrap_or_else(|unknown| {
            self.tables.add(&unknown.what, &unknown.why);
            &[]
        })
    }

    fn swaps(&mut self) {
        for file in self.swap_files() {
            let swap = BlockDevice::by_node(self.roots, file).filter(|_| file.starts_with("/dev"));
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
        self.database(path);
    }

    /// Whether a file is a database's, and whether its server runs.
    fn database(&mut self, path: &Path) {
        let sqlite = || sqlite_of(path).map(|database| (database, None));
        let in_directory = path.parent().and_then(|directory| self.open.database_of(self.roots, directory));
        let found = in_directory.or_else(sqlite);
        if let Some((database, server)) = found {
            let (kind, hint) = match server {
                Some(_) => (UseKind::DatabaseServer, "end the server first, or choose another directory"),
                None => (UseKind::Database, "choose another directory"),
            };
            let server = server.map(|server| format!("; {server}")).unwrap_or_default();
            self.hold(kind, format!("{} is in {database}{server}", path.display()), hint);
        }
    }

    /// The kernel refuses an exclusive opening of what is mounted, swapped on, or held, also through a partition.
    fn exclusive(&mut self, path: &Path) -> Option<DeviceClaim> {
        match claim(path) {
            Ok(held) => return Some(held),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                let detail = format!("{} is held exclusively by the kernel or a process", path.display());
                self.hold(UseKind::HeldExclusively, detail, "lsblk and fuser tell by whom");
            }
            Err(error) => {
                let what = format!("whether {} is held open", path.display());
                self.unchecked.add(what, format!("cannot open it: {error}"));
            }
        }
        None
    }

    /// Other processes' open files, where they may be looked at.
    fn open_descriptors(&mut self) {
        let open = self.open;
        let files = self.files.iter().flat_map(|(file_system, inode)| open.of_file(*file_system, *inode));
        let devices = self.family.iter().flat_map(|device| open.of_device(device.number));
        let mut openers: Vec<&Opener> = files.chain(devices).collect();
        openers.retain(|opener| !self.is_handed_over(opener));
        // Of each process the opening that says most.
        openers.sort_by(|one, other| (&one.pid, !one.writes).cmp(&(&other.pid, !other.writes)));
        openers.dedup_by(|one, other| one.pid == other.pid);
        for Opener { pid, name, file, writes, .. } in openers {
            let kind = if *writes { UseKind::HeldOpen } else { UseKind::HeldForReading };
            let detail = format!("process {pid} ({name}) has {} open", file.display());
            self.hold(kind, detail, &format!("end process {pid} first"));
        }
        if open.hidden > 0 {
            let why = format!("{} processes of other users cannot be looked at; root may", open.hidden);
            self.unchecked.add("who has the target open", why);
        }
    }

    /// Is it the very opening that this process was handed?
    fn is_handed_over(&self, opener: &Opener) -> bool {
        let number = |text: Option<&str>| text?.parse().ok();
        let theirs = opener.descriptor.as_ref().and_then(|link| number(link.file_name()?.to_str()));
        let (Some(own), Some(theirs), Some(pid)) = (self.descriptor, theirs, number(Some(&opener.pid)))
        else {
            return false;
        };
        crate::sys::is_same_opening(own, pid, theirs)
    }

    /// What the bytes say: those of the target, and of a whole disk also those of each partition.
    fn content(&mut self, path: &Path, identity: FileIdentity) {
        let what = format!("what {} holds", path.display());
        let Some(bytes) = self.unchecked.note(&what, path, Content::open(path, identity)) else { return };
        let hint = "consent to its loss with --write-consent, or choose another target";
        let mut ranges = vec![(path.display().to_string(), 0, bytes.size_bytes)];
        let device = match identity {
            FileIdentity::Device(raw) => BlockDevice::by_number(self.roots, DeviceNumber::from_raw(raw)).ok(),
            FileIdentity::File(..) => None,
        };
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
