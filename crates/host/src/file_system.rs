//! The file system a path is on, and where its bytes are: local disks, memory, a server, a pool.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::BlockDevice;
use crate::mounts::Mount;
use crate::roots::{DeviceNumber, Roots, Unchecked, names_in, read_text};

/// What kind of thing keeps the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// Local block devices
    Disks,
    /// Memory: tmpfs, zram, a loop device on tmpfs
    Memory,
    Server(String),
    /// A ZFS pool, whose disks sysfs does not tell
    Pool(String),
    /// Another file system's directory (overlay)
    Layered,
    Unknown,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// ext4, xfs, btrfs, nfs4, tmpfs, ...
    pub kind: String,
    pub mount_point: PathBuf,
    /// What is mounted there
    pub source: String,
    /// The number of its superblock, the same for all its subvolumes; major 0 is an anonymous one
    pub number: DeviceNumber,
    /// Which part of it: `/` but for bind mounts and subvolumes
    pub root: String,
    /// The mount's and the file system's options
    pub options: String,
    /// Whether it refuses writes
    pub read_only: bool,
    pub size_bytes: Option<u64>,
    /// What the caller may still write
    pub free_bytes: Option<u64>,
    /// What only root may still write is in here too
    pub free_with_reserve_bytes: Option<u64>,
    /// The block devices it stands on
    pub devices: Vec<DeviceNumber>,
    /// What keeps its bytes
    pub medium: Medium,
}

impl FileSystem {
    /// What names it where it has no disk. A server's or pool's parts have disks in common as far as can be known here.
    pub fn identity(&self) -> String {
        match &self.medium {
            Medium::Server(server) => format!("server {server}"),
            Medium::Pool(pool) => format!("{} pool {pool}", self.kind),
            _ => format!("{} {}", self.kind, self.number),
        }
    }
}

const IN_MEMORY: &[&str] = &["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
const ON_A_SERVER: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "9p",
    "virtiofs",
    "afs",
    "lustre",
    "glusterfs",
    "gpfs",
    "beegfs",
    "pvfs2",
    "orangefs",
    "fuse.glusterfs",
    "fuse.sshfs",
    "fuse.ceph",
    "fuse.s3fs",
    "fuse.rclone",
];

/// Describes the file system of a mount as seen from `path`.
pub fn describe(roots: &Roots, mount: &Mount, path: &Path, unchecked: &mut Unchecked) -> FileSystem {
    let (medium, devices) = below(roots, mount, unchecked);
    let space = statvfs(path).ok();
    let blocks = |count: fn(&rustix::fs::StatVfs) -> u64| {
        space.as_ref().and_then(|space| count(space).checked_mul(space.f_frsize))
    };
    if space.is_none() {
        unchecked.add("free space", format!("statvfs of {} failed", path.display()));
    }
    FileSystem {
        kind: mount.kind.clone(),
        mount_point: mount.mount_point.clone(),
        source: mount.source.clone(),
        number: mount.device,
        root: mount.root.clone(),
        options: format!("{}; {}", mount.options, mount.super_options),
        read_only: mount.read_only(),
        size_bytes: blocks(|space| space.f_blocks),
        free_bytes: blocks(|space| space.f_bavail),
        free_with_reserve_bytes: blocks(|space| space.f_bfree),
        devices,
        medium,
    }
}

fn below(roots: &Roots, mount: &Mount, unchecked: &mut Unchecked) -> (Medium, Vec<DeviceNumber>) {
    let kind = mount.kind.as_str();
    if IN_MEMORY.contains(&kind) {
        return (Medium::Memory, Vec::new());
    }
    if ON_A_SERVER.contains(&kind) {
        let server = server_of(&mount.source);
        unchecked.add("the disks of the target", format!("{kind}: they are on {}", mount.source));
        return (Medium::Server(server), Vec::new());
    }
    if kind == "overlay" {
        return (Medium::Layered, Vec::new());
    }
    if kind == "zfs" {
        let pool = mount.source.split('/').next().unwrap_or("").to_string();
        unchecked.add(
            "the disks of the target",
            format!("ZFS pool {pool}: sysfs does not tell them (zpool status does)"),
        );
        return (Medium::Pool(pool), Vec::new());
    }
    if kind == "btrfs" {
        return (Medium::Disks, btrfs_devices(roots, &mount.source, unchecked));
    }
    for option in ["logdev", "rtdev", "journal_path"] {
        if let Some(device) = mount.super_option(option) {
            unchecked.add(
                format!("the disk of {option}"),
                format!("{device} also carries I/O and is not followed"),
            );
        }
    }
    if mount.device.major != 0 {
        return (Medium::Disks, vec![mount.device]);
    }
    if let Some(device) =
        BlockDevice::by_node(roots, Path::new(&mount.source)).filter(|_| mount.source.starts_with('/'))
    {
        return (Medium::Disks, vec![device.number]);
    }
    unchecked.add(
        "the disks of the target",
        format!("file system {kind} on {} names no block device", mount.source),
    );
    (Medium::Unknown, Vec::new())
}

/// `filer:/export`, `[fe80::1]:/export`, `//filer/share`, `10.0.0.1:6789,10.0.0.2:6789:/`, a tag of 9p or virtiofs.
fn server_of(source: &str) -> String {
    if let Some((address, _)) = source.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.to_string();
    }
    source.trim_start_matches('/').split([':', ',', '/']).next().unwrap_or("").to_string()
}

/// The members of the btrfs that `source` belongs to, by `/sys/fs/btrfs/UUID/devices`.
pub fn btrfs_devices(roots: &Roots, source: &str, unchecked: &mut Unchecked) -> Vec<DeviceNumber> {
    let Some(first) = BlockDevice::by_node(roots, Path::new(source)) else {
        unchecked.add("the disks of the target", format!("btrfs: {source} is not seen from here"));
        return Vec::new();
    };
    let folder = roots.sys.join("fs/btrfs");
    for uuid in names_in(&folder) {
        let members = names_in(&folder.join(&uuid).join("devices"));
        if members.contains(&first.name) {
            return members.iter().filter_map(|name| member_number(roots, &folder, &uuid, name)).collect();
        }
    }
    unchecked.add("the other disks of the btrfs", format!("{} lists no {}", folder.display(), first.name));
    vec![first.number]
}

fn member_number(roots: &Roots, folder: &Path, uuid: &str, name: &str) -> Option<DeviceNumber> {
    let listed = read_text(&folder.join(uuid).join("devices").join(name).join("dev")).ok();
    listed
        .and_then(|text| DeviceNumber::parse(&text))
        .or_else(|| BlockDevice::by_name(roots, name).map(|device| device.number))
}

#[cfg(test)]
mod tests {
    use super::server_of;

    #[test]
    fn a_server_is_named_alike_by_all_its_exports() {
        let cases = [
            ("filer:/export/a", "filer"),
            ("[fe80::1]:/export", "fe80::1"),
            ("//filer/share/deep", "filer"),
            ("10.0.0.1:6789,10.0.0.2:6789:/", "10.0.0.1"),
            ("me@filer:/home", "me@filer"),
            ("tag", "tag"),
        ];
        for (source, server) in cases {
            assert_eq!(server_of(source), server);
        }
    }
}
