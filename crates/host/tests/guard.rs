//! The table of the twelve kinds of "in use", each by every path of the same bytes: whole disk, partition, loop device,
//! backing file, link.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fathom_host::UseKind::{self, *};
use fathom_host::device_users::{DeviceUses, inspect, inspect_device};
use fathom_host::roots::{DeviceNumber, Roots};
use rustix::fs::OFlags;

use crate::fabricate::Fabricated;
use crate::scene::{MEBIBYTE, Scene, boot_record, loops_can_be_made};

const KINDS: &[UseKind] = &[
    Mounted,
    Swap,
    PartitionTable,
    HeldOpen,
    HeldForReading,
    HeldExclusively,
    DatabaseServer,
    LoopBacked,
    Holder,
    Database,
    FileSystem,
    LvmPhysicalVolume,
    MdMember,
    OracleAsm,
    MultipathMember,
    Content,
    NonZero,
];

/// By which name the target is given, and its path.
type Ways = Vec<(&'static str, PathBuf)>;
type Marks = &'static [(u64, &'static [u8])];

/// One row: what is made, and by which ways it must be found.
enum Row {
    /// Made of loop devices; needs root.
    Devices(&'static str, fn(&mut Scene) -> Ways),
    /// Made of files; anybody can.
    Files(&'static str, fn(&mut Scene) -> Ways),
    /// These bytes, in a file, in a partition, and by all their ways.
    Written(&'static str, Marks),
    /// A tree as the kernel would show it, and the devices that are in use.
    Fabricated(&'static str, fn(&Fabricated) -> &'static [&'static str]),
}

/// The rows of a kind. A new kind does not compile without its rows.
fn rows(kind: UseKind) -> Vec<Row> {
    use Row::*;
    match kind {
        Mounted => vec![
            Devices("a mounted partition", mounted_partition),
            Fabricated("a volume of LVM on a partition", mounted_volume),
        ],
        Swap => vec![Devices("a partition as swap", swap_partition), Devices("a file as swap", swap_file)],
        PartitionTable => vec![
            Devices("two partitions", partitions),
            Written("a GPT", &[(512, b"EFI PART")]),
            Files("an MBR", master_boot_record),
        ],
        HeldOpen => vec![
            Devices("a partition opened to be written", held_to_write),
            Files("a file opened by another process", held_file),
        ],
        HeldForReading => vec![
            Devices("a partition opened to be read", held_plainly),
            Devices("a partition opened exclusively", held_exclusively),
            Devices("a whole disk opened exclusively", held_whole),
            Files("a file read by another process", read_file),
        ],
        // Only a device shows it; beside it stands the process that has it open, which the rows above find by every path.
        HeldExclusively => Vec::new(),
        LoopBacked => vec![
            Devices("a loop device on a file", looped_file),
            Devices("a loop device on a partition", looped_partition),
        ],
        Holder => vec![Fabricated("a RAID on a partition, LVM on the RAID", held_by_raid)],
        FileSystem => vec![
            Devices("ext4", ext4),
            Written("XFS", &[(0, b"XFSB")]),
            Written("btrfs", &[(65600, b"_BHRfS_M")]),
            Written("NTFS", &[(3, b"NTFS    ")]),
        ],
        LvmPhysicalVolume => vec![Written("LVM2", &[(512, b"LABELONE")])],
        MdMember => vec![
            Written("1.2", &[(4096, b"\xfc\x4e\x2b\xa9")]),
            Written("1.0", &[(16 * MEBIBYTE - 8192, b"\xfc\x4e\x2b\xa9")]),
            Written("0.90", &[(16 * MEBIBYTE - 65536, b"\xfc\x4e\x2b\xa9")]),
        ],
        OracleAsm => vec![Written("ASM", &[(32, b"ORCLDISKVOL1")])],
        MultipathMember => vec![
            Fabricated("two paths under a multipath device", multipath),
            Fabricated("two paths with one world wide name", twins),
        ],
        Content => vec![
            Written("LUKS", &[(0, b"LUKS\xba\xbe")]),
            Written("an Oracle data file", &[(28, b"\x7d\x7c\x7b\x7a")]),
            Written("SQLite", &[(0, b"SQLite format 3\0")]),
            Written("ZFS", &[(128 * 1024, b"\x0c\xb1\xba\x00\x00\x00\x00\x00")]),
        ],
        Database => vec![
            Files("a file of PostgreSQL's", file_of_a_database),
            Files("a file of SQLite's with its log", file_with_a_log),
            Devices("a loop device on a file of PostgreSQL's", disk_of_a_database),
        ],
        DatabaseServer => vec![
            Files("a file of PostgreSQL's, whose lock file names a process", file_of_a_server),
            Devices("a loop device on a file of such a server", disk_of_a_server),
        ],
        NonZero => vec![
            Written("its first byte", &[(0, b"x")]),
            Written("its last byte", &[(16 * MEBIBYTE - 1, b"x")]),
        ],
    }
}

#[test]
fn every_kind_of_use_is_found_by_every_path_of_the_same_bytes() {
    let devices = loops_can_be_made("the kinds of use on real devices");
    let missed: Vec<String> = KINDS.iter().flat_map(|kind| missed_by(*kind, devices)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

fn missed_by(kind: UseKind, devices: bool) -> Vec<String> {
    let mut missed = Vec::new();
    for row in rows(kind) {
        match row {
            Row::Devices(..) if !devices => {}
            Row::Devices(name, make) | Row::Files(name, make) => {
                let mut scene = Scene::new();
                let ways = make(&mut scene);
                missed.extend(missed_ways(kind, name, &ways));
            }
            Row::Written(name, marks) => {
                let mut scene = Scene::new();
                missed.extend(missed_ways(kind, name, &written_file(&scene, marks)));
                if devices {
                    let ways = written_partition(&mut scene, marks);
                    missed.extend(missed_ways(kind, name, &ways));
                }
            }
            Row::Fabricated(name, make) => {
                let tree = empty_tree();
                for number in make(&tree) {
                    let found = inspect_device(&tree.roots(), number_of(number));
                    if !found.has(kind) {
                        missed.push(format!("{kind:?}: {name}: device {number}: {found:?}"));
                    }
                }
            }
        }
    }
    missed
}

fn missed_ways(kind: UseKind, name: &str, ways: &Ways) -> Vec<String> {
    assert!(ways.len() > 1, "{name}: one way is not enough");
    let mut missed = Vec::new();
    for (way, path) in ways {
        match inspect(&Roots::default(), path) {
            Ok(found) if found.has(kind) => {}
            other => missed.push(format!("{kind:?}: {name}: by {way} {}: {other:?}", path.display())),
        }
    }
    missed
}

// ---- real devices -----------------------------------------------------------------------------------------------------

fn mounted_partition(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    let [used, _] = &disk.parts;
    scene.make_ext4(used);
    scene.mount(used, "mounted");
    let other = scene.attach(&disk.file);
    all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, Some(other))
}

fn swap_partition(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.swap_on(&disk.parts[0]);
    let other = scene.attach(&disk.file);
    all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, Some(other))
}

fn swap_file(scene: &mut Scene) -> Ways {
    let image = scene.file("image", 32 * MEBIBYTE, &[]);
    let device = scene.attach(&image);
    scene.make_ext4(&device);
    let file = scene.mount(&device, "mounted").join("swap");
    fs::write(&file, vec![0u8; MEBIBYTE as usize]).expect("write every block of a swap file");
    File::open(&file).and_then(|file| file.sync_all()).expect("place them");
    let shown = scene.attach(&file);
    scene.swap_on(&file);
    vec![
        ("the file", file.clone()),
        ("a link", scene.link(&file)),
        ("a hard link", scene.hard_link(&file)),
        ("a loop device on it", shown),
    ]
}

fn partitions(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    vec![
        ("the whole disk", disk.whole.clone()),
        ("a link", scene.link(&disk.whole)),
        ("its backing file", disk.file.clone()),
        ("another loop device", scene.attach(&disk.file)),
    ]
}

fn held_exclusively(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.held_by_another(open(&disk.parts[0], OFlags::EXCL));
    all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, None)
}

fn held_plainly(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.held_by_another(open(&disk.parts[0], OFlags::empty()));
    all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, None)
}

fn held_to_write(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.held_by_another(open_to_write(&disk.parts[0]));
    all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, None)
}

fn held_whole(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.held_by_another(open(&disk.whole, OFlags::EXCL));
    let mut ways = all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, None);
    ways.push(("its other partition", disk.parts[1].clone()));
    ways
}

fn looped_file(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    let other = scene.attach(&disk.file);
    vec![
        ("the file", disk.file.clone()),
        ("a link", scene.link(&disk.file)),
        ("a hard link", scene.hard_link(&disk.file)),
        ("the other loop device", other),
        ("a partition of one of two", disk.parts[0].clone()),
    ]
}

fn looped_partition(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.attach(&disk.parts[0]);
    let other = scene.attach(&disk.file);
    all_ways(scene, disk.parts[0].clone(), disk.whole, disk.file, Some(other))
}

fn ext4(scene: &mut Scene) -> Ways {
    let disk = scene.partitioned(&[]);
    scene.make_ext4(&disk.parts[0]);
    let shown = scene.attach(&disk.parts[0]);
    vec![
        ("the partition", disk.parts[0].clone()),
        ("a link", scene.link(&disk.parts[0])),
        ("the whole disk", disk.whole),
        ("a loop device on the partition", shown),
        ("another loop device on its file", scene.attach_partitioned(&disk.file).0),
    ]
}

fn disk_of_a_database(scene: &mut Scene) -> Ways {
    let folder = scene.folder("data");
    fs::write(folder.join("PG_VERSION"), "17\n").expect("write a sign");
    let table = boot_record();
    let file = scene.file("data/16384", 40 * MEBIBYTE, &[(0, &table)]);
    let (whole, [part, _]) = scene.attach_partitioned(&file);
    vec![("the loop device", whole), ("its partition", part)]
}

fn all_ways(
    scene: &Scene,
    part: PathBuf,
    whole: PathBuf,
    file: PathBuf,
    other_loop: Option<PathBuf>,
) -> Ways {
    let mut ways = vec![
        ("a link", scene.link(&part)),
        ("the partition", part),
        ("the whole disk", whole),
        ("the backing file", file),
    ];
    ways.extend(other_loop.map(|path| ("another loop device on the file", path)));
    ways
}

fn open(path: &Path, flags: OFlags) -> File {
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path).expect("open it")
}

fn open_to_write(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).expect("open it")
}

// ---- written signatures -----------------------------------------------------------------------------------------------

fn written_file(scene: &Scene, marks: Marks) -> Ways {
    let file = scene.file("marked", 16 * MEBIBYTE, marks);
    let ways = vec![
        ("the file", file.clone()),
        ("a hard link", scene.hard_link(&file)),
        ("a link", scene.link(&file)),
    ];
    ways
}

fn written_partition(scene: &mut Scene, marks: Marks) -> Ways {
    let disk = scene.partitioned(marks);
    vec![
        ("the partition", disk.parts[0].clone()),
        ("the whole disk", disk.whole),
        ("a loop device on the partition", scene.attach(&disk.parts[0])),
        ("another loop device on its file", scene.attach_partitioned(&disk.file).0),
    ]
}

fn master_boot_record(scene: &mut Scene) -> Ways {
    let table = boot_record();
    let file = scene.file("marked", 40 * MEBIBYTE, &[(0, &table)]);
    vec![("the file", file.clone()), ("a hard link", scene.hard_link(&file)), ("a link", scene.link(&file))]
}

fn held_file(scene: &mut Scene) -> Ways {
    let file = scene.file("held", MEBIBYTE, &[]);
    scene.held_by_another(open_to_write(&file));
    names_of(scene, file)
}

fn read_file(scene: &mut Scene) -> Ways {
    let file = scene.file("held", MEBIBYTE, &[]);
    scene.held_by_another(open(&file, OFlags::empty()));
    names_of(scene, file)
}

fn names_of(scene: &mut Scene, file: PathBuf) -> Ways {
    vec![("a hard link", scene.hard_link(&file)), ("a link", scene.link(&file)), ("the file", file)]
}

fn file_with_a_log(scene: &mut Scene) -> Ways {
    let file = scene.file("app.db", MEBIBYTE, &[]);
    vec![
        ("the log", scene.file("app.db-wal", MEBIBYTE, &[])),
        ("a link", scene.link(&file)),
        ("the file", file),
    ]
}

fn file_of_a_server(scene: &mut Scene) -> Ways {
    let ways = file_of_a_database(scene);
    fs::write(scene.path("data/postmaster.pid"), "1\n").expect("write a lock file");
    ways
}

fn disk_of_a_server(scene: &mut Scene) -> Ways {
    let ways = disk_of_a_database(scene);
    fs::write(scene.path("data/postmaster.pid"), "1\n").expect("write a lock file");
    ways
}

fn file_of_a_database(scene: &mut Scene) -> Ways {
    let folder = scene.folder("data");
    fs::write(folder.join("PG_VERSION"), "17\n").expect("write a sign");
    scene.folder("data/base");
    let file = scene.file("data/base/16384", MEBIBYTE, &[]);
    vec![("the file", file.clone()), ("a link", scene.link(&file))]
}

// ---- fabricated trees -------------------------------------------------------------------------------------------------

const SDA: &str = "devices/pci0/ata1/host0/block/sda";
const SDB: &str = "devices/pci0/ata2/host1/block/sdb";
const DM: &str = "devices/virtual/block/dm-0";
const MD: &str = "devices/virtual/block/md0";

fn number_of(text: &str) -> DeviceNumber {
    DeviceNumber::parse(text).expect("major:minor")
}

fn empty_tree() -> Fabricated {
    let tree = Fabricated::new();
    tree.file("proc/swaps", "Filename\n").file("proc/self/mountinfo", "");
    tree
}

fn mapper(tree: &Fabricated, name: &str, uuid: &str) {
    tree.disk(DM, "253:0", 1000)
        .file(&format!("sys/{DM}/dm/name"), name)
        .file(&format!("sys/{DM}/dm/uuid"), uuid);
}

fn mounted_volume(tree: &Fabricated) -> &'static [&'static str] {
    tree.disk(SDA, "8:0", 4096).partition(SDA, "sda1", "8:1", 8, 1000);
    mapper(tree, "vg-data", "LVM-x");
    tree.stands_on(DM, &format!("{SDA}/sda1"))
        .file("proc/self/mountinfo", "1 1 253:0 / /home rw - ext4 /dev/mapper/vg-data rw\n");
    &["8:0", "8:1", "253:0"]
}

fn held_by_raid(tree: &Fabricated) -> &'static [&'static str] {
    tree.disk(SDA, "8:0", 4096)
        .partition(SDA, "sda1", "8:1", 8, 1000)
        .disk(SDB, "8:16", 4096)
        .partition(SDB, "sdb1", "8:17", 8, 1000)
        .disk(MD, "9:0", 1000)
        .file(&format!("sys/{MD}/md/level"), "raid1");
    mapper(tree, "vg-data", "LVM-x");
    tree.stands_on(MD, &format!("{SDA}/sda1")).stands_on(MD, &format!("{SDB}/sdb1")).stands_on(DM, MD);
    &["8:0", "8:1", "8:16", "8:17", "9:0"]
}

fn multipath(tree: &Fabricated) -> &'static [&'static str] {
    tree.disk(SDA, "8:0", 4096).partition(SDA, "sda1", "8:1", 8, 1000).disk(SDB, "8:16", 4096);
    mapper(tree, "mpatha", "mpath-3600");
    tree.stands_on(DM, SDA).stands_on(DM, SDB);
    &["8:0", "8:1", "8:16"]
}

fn twins(tree: &Fabricated) -> &'static [&'static str] {
    tree.disk(SDA, "8:0", 4096).partition(SDA, "sda1", "8:1", 8, 1000).disk(SDB, "8:16", 4096);
    for disk in [SDA, SDB] {
        tree.file(&format!("sys/{disk}/device/wwid"), "naa.5000c500a1b2c3d4");
    }
    &["8:0", "8:1", "8:16"]
}

// ---- what is free -----------------------------------------------------------------------------------------------------

#[test]
fn an_empty_file_is_free() {
    let scene = Scene::new();
    let file = scene.file("empty", 4 * MEBIBYTE, &[]);
    let found = inspect(&Roots::default(), &file).expect("look at it");
    assert_eq!(found.holds, []);
}

#[test]
fn an_empty_disk_and_the_neighbour_of_a_used_partition_are_free() {
    if !loops_can_be_made("free devices") {
        return;
    }
    let mut scene = Scene::new();
    let empty = scene.file("empty", 4 * MEBIBYTE, &[]);
    let empty = scene.attach(&empty);
    let disk = scene.partitioned(&[]);
    scene.make_ext4(&disk.parts[0]);
    scene.mount(&disk.parts[0], "mounted");
    for path in [&empty, &disk.parts[1]] {
        let found = inspect(&Roots::default(), path).expect("look at it");
        assert_eq!(found, DeviceUses::default(), "{}", path.display());
    }
}

#[test]
fn a_device_that_cannot_be_opened_is_never_called_free() {
    let tree = empty_tree();
    tree.disk(SDA, "8:0", 4096);
    let free = inspect_device(&tree.roots(), number_of("8:0"));
    assert!(free.is_free(), "{free:?}");
    let unknown = inspect_device(&tree.roots(), number_of("8:32"));
    assert!(!unknown.is_free() && unknown.holds.is_empty(), "{unknown:?}");
}

/// A node without a driver: sysfs does not list it and opening it fails, as a container's device rules make it.
#[test]
fn what_could_not_be_looked_at_is_named_with_the_reason() {
    if !loops_can_be_made("a device that refuses to be opened") {
        return;
    }
    let scene = Scene::new();
    let node = scene.path("refused");
    crate::scene::run("mknod", &[node.to_str().expect("text"), "b", "240", "77"]);
    let found = inspect(&Roots::default(), &node).expect("its node can be looked at");
    let named = |what: &str| found.unchecked.iter().any(|unknown| unknown.what.contains(what));
    assert!(named("what stands on device 240:77"), "{found:?}");
    assert!(named("is held open") && named("refused holds"), "{found:?}");
    assert!(found.unchecked.iter().all(|unknown| !unknown.why.is_empty()));
}
