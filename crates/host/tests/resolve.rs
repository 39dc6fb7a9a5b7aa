//! What a path stands on: real file systems on loop devices, and fabricated trees of what needs more than one machine.

use std::path::Path;

use fathom_host::extents::{DirectAlignment, direct_alignment};
use fathom_host::file_system::Medium;
use fathom_host::roots::{DeviceNumber, Roots};
use fathom_host::storage::{Storage, TargetKind, resolve};
use fathom_host::transport::Transport;

use crate::fabricate::Fabricated;
use crate::scene::{MEBIBYTE, Scene, loops_can_be_made, run};

const SDA: &str = "devices/pci0/ata1/host0/block/sda";
const SDB: &str = "devices/pci0/ata2/host1/block/sdb";

/// The path's storage when mountinfo says this of the tree's own folder.
fn mounted(tree: &Fabricated, device: &str, kind: &str, source: &str, options: &str) -> Storage {
    let place = tree.roots().dev;
    let line = format!("9000001 1 {device} / {} rw - {kind} {source} {options}\n", place.display());
    tree.file("proc/self/mountinfo", &line);
    resolve(&tree.roots(), &place).expect("a folder")
}

fn names(storage: &Storage) -> Vec<&str> {
    storage.disks.iter().map(|disk| disk.name.as_str()).collect()
}

fn descriptions(storage: &Storage) -> Vec<&str> {
    storage.layers.iter().map(|layer| layer.description.as_str()).collect()
}

fn two_sata_disks() -> Fabricated {
    let tree = Fabricated::new();
    tree.disk(SDA, "8:0", 4096).partition(SDA, "sda1", "8:1", 8, 1000).disk(SDB, "8:16", 4096);
    tree.partition(SDB, "sdb1", "8:17", 8, 1000);
    for disk in [SDA, SDB] {
        tree.file(&format!("sys/{disk}/queue/logical_block_size"), "512");
    }
    tree
}

#[test]
fn a_servers_disks_are_unknown_and_that_is_said() {
    let found =
        mounted(&Fabricated::new(), "0:999", "nfs4", "filer:/export/data", "rw,vers=4.2,rsize=1048576");
    assert_eq!(found.medium, Medium::Server("filer".into()));
    assert_eq!((found.disks.len(), found.physical_disks), (0, None));
    assert!(found.unchecked.iter().any(|unknown| unknown.why == "nfs4: they are on filer:/export/data"));
}

#[test]
fn a_pools_disks_are_unknown_and_that_is_said() {
    let found = mounted(&Fabricated::new(), "0:999", "zfs", "tank/data", "rw,xattr");
    assert_eq!(found.medium, Medium::Pool("tank".into()));
    assert_eq!((found.disks.len(), found.physical_disks), (0, None));
    assert!(found.unchecked.iter().any(|unknown| unknown.why.contains("zpool status")));
}

#[test]
fn a_volume_on_a_raid_of_partitions_stands_on_two_disks() {
    let tree = two_sata_disks();
    let (raid, volume) = ("devices/virtual/block/md0", "devices/virtual/block/dm-0");
    tree.disk(raid, "9:0", 1000)
        .file(&format!("sys/{raid}/md/level"), "raid1")
        .stands_on(raid, &format!("{SDA}/sda1"))
        .stands_on(raid, &format!("{SDB}/sdb1"))
        .disk(volume, "253:0", 1000)
        .file(&format!("sys/{volume}/dm/name"), "vg-data")
        .file(&format!("sys/{volume}/dm/uuid"), "LVM-x")
        .stands_on(volume, raid);
    let found = mounted(&tree, "253:0", "xfs", "/dev/mapper/vg-data", "rw");
    let expected = ["LVM volume vg-data", "software RAID raid1", "partition of sda", "partition of sdb"];
    assert_eq!(descriptions(&found), expected);
    assert_eq!(names(&found), ["sda", "sdb"]);
    assert_eq!(found.physical_disks, Some(2));
    assert!(found.disks.iter().all(|disk| disk.transport == Transport::Sata && disk.medium_known));
    let mut unknown: Vec<&str> = found.unchecked.iter().map(|unknown| unknown.what.as_str()).collect();
    unknown.retain(|what| *what != "free space");
    assert_eq!(unknown, [] as [&str; 0]);
}

#[test]
fn an_external_log_is_named_as_not_followed() {
    let tree = two_sata_disks();
    let found = mounted(&tree, "8:1", "xfs", "/dev/sda1", "rw,logdev=/dev/sdb1");
    assert_eq!(names(&found), ["sda"]);
    assert!(found.unchecked.iter().any(|unknown| unknown.what == "the disk of logdev"));
}

#[test]
fn the_paths_of_a_multipath_device_are_one_disk() {
    let tree = two_sata_disks();
    let (paths, part) = ("devices/virtual/block/dm-0", "devices/virtual/block/dm-1");
    for (folder, number, name, uuid) in
        [(paths, "253:0", "mpatha", "mpath-3600a"), (part, "253:1", "mpatha1", "part1-mpath-3600a")]
    {
        tree.disk(folder, number, 1000)
            .file(&format!("sys/{folder}/dm/name"), name)
            .file(&format!("sys/{folder}/dm/uuid"), uuid);
    }
    tree.stands_on(paths, SDA).stands_on(paths, SDB).stands_on(part, paths);
    let found = mounted(&tree, "253:1", "ext4", "/dev/mapper/mpatha1", "rw");
    assert_eq!(descriptions(&found), ["device mapper volume mpatha1", "multipath mpatha"]);
    assert_eq!((names(&found), found.disks[0].path_count), (vec!["sda"], 2));
    let number = |text| DeviceNumber::parse(text).expect("major:minor");
    assert_eq!(found.disk_numbers(), [number("8:0"), number("8:16")]);
}

#[test]
fn a_btrfs_stands_on_all_its_members() {
    let tree = two_sata_disks();
    for name in ["sda1", "sdb1"] {
        tree.file(&format!("sys/fs/btrfs/0f1e/devices/{name}/size"), "1000");
    }
    let found = mounted(&tree, "0:44", "btrfs", "/dev/sda1", "rw,subvol=/@home");
    assert_eq!((names(&found), found.physical_disks), (vec!["sda", "sdb"], Some(2)));
}

#[test]
fn an_overlay_named_by_relative_directories_is_not_guessed_at() {
    let found =
        mounted(&Fabricated::new(), "0:999", "overlay", "overlay", "rw,lowerdir=src,upperdir=src,workdir=w");
    assert_eq!((found.medium, found.disks.len()), (Medium::Unknown, 0));
    assert!(found.unchecked.iter().any(|unknown| unknown.what.contains("overlay")));
}

// ---- real ---------------------------------------------------------------------------------------------------------------

fn alignment(path: &Path) -> Option<DirectAlignment> {
    direct_alignment(&std::fs::File::open(path).expect("open it")).expect("statx")
}

#[test]
fn a_btrfs_on_two_loop_devices_stands_on_the_disk_of_their_files_alone() {
    if !loops_can_be_made("btrfs on two loop devices") {
        return;
    }
    let mut scene = Scene::new();
    let below = resolve(&Roots::default(), &scene.folder("folder")).expect("a folder");
    let devices = ["one", "other"].map(|name| {
        let file = scene.file(name, 128 * MEBIBYTE, &[]);
        scene.attach(&file)
    });
    let text = |path: &Path| path.to_str().expect("text").to_string();
    run("mkfs.btrfs", &["-q", "-f", &text(&devices[0]), &text(&devices[1])]);
    let place = scene.mount(&devices[0], "mounted");
    let found = resolve(&Roots::default(), &place).expect("a folder");
    assert_eq!(found.devices.len(), 2);
    assert_eq!(found.layers.iter().filter(|layer| layer.loop_direct == Some(false)).count(), 2);
    assert_eq!((names(&found), &found.places), (names(&below), &below.places));
}

#[test]
fn a_loop_device_within_a_loop_device_is_followed_down() {
    if !loops_can_be_made("XFS on a loop device, and a loop device on that") {
        return;
    }
    let mut scene = Scene::new();
    let below = resolve(&Roots::default(), &scene.folder("folder")).expect("a folder");
    let file = scene.file("outer", 320 * MEBIBYTE, &[]);
    let outer = scene.attach(&file);
    run("mkfs.xfs", &["-q", "-f", outer.to_str().expect("text")]);
    let inner_file = scene.mount(&outer, "mounted").join("inner");
    std::fs::write(&inner_file, vec![1u8; MEBIBYTE as usize]).expect("write a file");
    let inner = scene.attach(&inner_file);
    let found = resolve(&Roots::default(), &inner).expect("a device");
    assert_eq!((found.kind, found.size_bytes), (TargetKind::BlockDevice, Some(MEBIBYTE)));
    assert_eq!(found.layers.iter().filter(|layer| layer.loop_direct == Some(false)).count(), 2);
    assert_eq!(names(&found), names(&below));
    assert!(found.layers.iter().all(|layer| !layer.description.is_empty()));
    for path in [&outer, &inner, &inner_file] {
        let told = alignment(path).map(|told| told.offset_bytes);
        assert!(told.is_none_or(|bytes| bytes.is_power_of_two()), "{}: {told:?}", path.display());
    }
}

#[test]
fn a_file_in_memory_and_a_loop_device_on_it_are_memory() {
    if !loops_can_be_made("a loop device on memory") {
        return;
    }
    let mut scene = Scene::new();
    scene.mount_memory("memory");
    let file = scene.file("memory/disk", 4 * MEBIBYTE, &[]);
    let device = scene.attach(&file);
    for path in [&file, &device] {
        let found = resolve(&Roots::default(), path).expect("it is there");
        assert_eq!((found.medium, found.physical_disks), (Medium::Memory, None), "{}", path.display());
        assert_eq!(found.places.len(), 1);
    }
}

#[test]
fn an_overlay_stands_where_its_upper_directory_does() {
    if !loops_can_be_made("an overlay") {
        return;
    }
    let mut scene = Scene::new();
    let (lower, memory) = (scene.folder("lower"), scene.mount_memory("memory"));
    std::fs::write(lower.join("file"), "x").expect("write a file");
    let (upper, work) = (scene.folder("memory/upper"), scene.folder("memory/work"));
    let place = scene.mount_overlay(&lower, &upper, &work);
    let found = resolve(&Roots::default(), &place).expect("a folder");
    let below = resolve(&Roots::default(), &memory).expect("a folder");
    assert_eq!((found.medium, found.places), (Medium::Memory, below.places));
    let unwritten = resolve(&Roots::default(), &place.join("file")).expect("a file");
    let lower = resolve(&Roots::default(), &lower).expect("a folder");
    assert_eq!(names(&unwritten), names(&lower), "before its first write it is in the lower one");
}
