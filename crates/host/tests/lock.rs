//! One calibration at a time on a disk, by whatever path it is named. The locks are kept in the tests' own directories.

use std::path::{Path, PathBuf};

use fathom_host::lock::{LockPlaces, Locks, Owner, acquire, lock_names};
use fathom_host::roots::Roots;
use fathom_host::storage::resolve;

use crate::fabricate::Fabricated;
use crate::scene::{MEBIBYTE, Scene, loops_can_be_made};

fn lock(scene: &Scene, paths: &[&Path], command: &str) -> Result<Locks, String> {
    let roots = Roots::default();
    let found: Vec<_> =
        paths.iter().map(|path| resolve(&roots, path).expect("it can be looked at")).collect();
    let owner = Owner { pid: std::process::id(), since: "12:00:07".into(), command: command.into() };
    let places = LockPlaces { devices: None, own: scene.folder("locks") };
    acquire(&places, &lock_names(&found), &owner).map_err(|error| error.to_string())
}

/// While `first` is locked, each of the others is refused, and the refusal says by whom, since when and by what.
fn all_meet(scene: &Scene, first: &Path, others: &[&Path]) {
    let held = lock(scene, &[first], "fathom calibrate first").expect("the first lock");
    let by = format!("process {} since 12:00:07 (fathom calibrate first)", std::process::id());
    for other in others {
        let refusal =
            lock(scene, &[other], "second").expect_err(&format!("{} was locked too", other.display()));
        assert!(refusal.starts_with("another calibration is running on "), "{refusal}");
        assert!(refusal.ends_with(&by), "{refusal}");
    }
    drop(held);
    lock(scene, others, "third").expect("free again, and a set of targets on one disk does not meet itself");
}

#[test]
fn directories_links_and_hard_links_of_one_file_system_meet() {
    let scene = Scene::new();
    let file = scene.file("file", MEBIBYTE, &[]);
    let (link, hard_link) = (scene.link(&file), scene.hard_link(&file));
    let (one, other) = (scene.folder("one"), scene.folder("other"));
    all_meet(&scene, &one, &[&other, &file, &link, &hard_link, Path::new("/proc/self/cwd/../host")][..4]);
}

#[test]
fn partitions_loop_devices_and_mounts_meet_on_the_disk_below_them() {
    if !loops_can_be_made("locks of loop devices") {
        return;
    }
    let mut scene = Scene::new();
    let disk = scene.partitioned(&[]);
    scene.make_ext4(&disk.parts[0]);
    let mounted = scene.mount(&disk.parts[0], "mounted");
    let nested_file = mounted.join("nested");
    std::fs::write(&nested_file, vec![0u8; MEBIBYTE as usize]).expect("write a file");
    let nested = scene.attach(&nested_file);
    let folder = scene.folder("folder");
    let all = [&disk.whole, &disk.parts[0], &disk.parts[1], &disk.file, &mounted, &nested, &folder];
    for first in all {
        let others: Vec<&Path> =
            all.iter().filter(|path| **path != first).map(|path| path.as_path()).collect();
        all_meet(&scene, first, &others);
    }
}

#[test]
fn what_stands_on_memory_meets_there() {
    if !loops_can_be_made("locks of loop devices on memory") {
        return;
    }
    let mut scene = Scene::new();
    let memory = scene.mount_memory("memory");
    let file = scene.file("memory/disk", 4 * MEBIBYTE, &[]);
    let (one, other) = (scene.attach(&file), scene.attach(&file));
    all_meet(&scene, &memory, &[&one, &other, &file]);
    all_meet(&scene, &one, &[&other, &file, &memory]);
}

#[test]
fn different_disks_do_not_meet() {
    if !loops_can_be_made("locks of different disks") {
        return;
    }
    let mut scene = Scene::new();
    let (one, other) = (scene.mount_memory("one"), scene.mount_memory("other"));
    let held = lock(&scene, &[&one], "first").expect("the first lock");
    assert_eq!(held.count(), 1);
    lock(&scene, &[&other], "second").expect("another disk");
}

#[test]
fn exports_of_one_server_and_datasets_of_one_pool_meet() {
    let lines = [
        ("nfs4", "filer:/export/a", "fs-server_filer"),
        ("nfs", "filer:/export/b", "fs-server_filer"),
        ("cifs", "//filer/share", "fs-server_filer"),
        ("zfs", "tank/data", "fs-zfs_pool_tank"),
        ("zfs", "tank", "fs-zfs_pool_tank"),
    ];
    for (kind, source, name) in lines {
        let tree = Fabricated::new();
        let place: PathBuf = tree.roots().sys;
        let mount = format!("9000001 1 0:999 / {} rw - {kind} {source} rw\n", place.display());
        tree.file("proc/self/mountinfo", &mount);
        let found = resolve(&tree.roots(), &place).expect("a folder");
        assert_eq!(lock_names(&[found]).into_iter().collect::<Vec<_>>(), [name], "{kind} {source}");
    }
}
