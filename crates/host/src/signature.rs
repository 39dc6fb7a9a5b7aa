//! What the bytes of a file or device say it holds: a table of well-known marks, and whether anything but zeros is there.
//! Reads through a closure, so it is tested on bytes in memory.

use std::io;

use crate::use_kind::UseKind::{self, *};

/// One mark: these bytes at this offset.
struct Known {
    name: &'static str,
    kind: UseKind,
    offset: u64,
    magic: &'static [u8],
}

const fn known(name: &'static str, kind: UseKind, offset: u64, magic: &'static [u8]) -> Known {
    Known { name, kind, offset, magic }
}

const TABLE: &[Known] = &[
    known("ext2/3/4", FileSystem, 1080, b"\x53\xef"),
    known("XFS", FileSystem, 0, b"XFSB"),
    known("btrfs", FileSystem, 65600, b"_BHRfS_M"),
    known("NTFS", FileSystem, 3, b"NTFS    "),
    known("exFAT", FileSystem, 3, b"EXFAT   "),
    known("ReFS", FileSystem, 3, b"ReFS\0"),
    known("FAT", FileSystem, 54, b"FAT1"),
    known("FAT", FileSystem, 82, b"FAT32   "),
    known("ISO 9660", FileSystem, 32769, b"CD001"),
    known("UDF", FileSystem, 32769, b"BEA01"),
    known("squashfs", FileSystem, 0, b"hsqs"),
    known("erofs", FileSystem, 1024, b"\xe2\xe1\xf5\xe0"),
    known("f2fs", FileSystem, 1024, b"\x10\x20\xf5\xf2"),
    known("JFS", FileSystem, 32768, b"JFS1"),
    known("ReiserFS", FileSystem, 65588, b"ReIsEr"),
    known("ReiserFS", FileSystem, 8244, b"ReIsEr"),
    known("Reiser4", FileSystem, 65536, b"ReIsEr4"),
    known("OCFS2", FileSystem, 1024, b"OCFSV2"),
    known("OCFS2", FileSystem, 2048, b"OCFSV2"),
    known("OCFS2", FileSystem, 4096, b"OCFSV2"),
    known("OCFS2", FileSystem, 8192, b"OCFSV2"),
    known("GFS2", FileSystem, 65536, b"\x01\x16\x19\x70"),
    known("NILFS2", FileSystem, 1030, b"\x34\x34"),
    known("HFS+", FileSystem, 1024, b"H+\0\x04"),
    known("APFS", FileSystem, 32, b"NXSB"),
    known("zonefs", FileSystem, 0, b"SFOZ"),
    known("bcachefs", FileSystem, 4120, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    known("LVM2 physical volume", LvmPhysicalVolume, 0, b"LABELONE"),
    known("LVM2 physical volume", LvmPhysicalVolume, 512, b"LABELONE"),
    known("LVM2 physical volume", LvmPhysicalVolume, 1024, b"LABELONE"),
    known("LVM2 physical volume", LvmPhysicalVolume, 1536, b"LABELONE"),
    known("md superblock 1.1", MdMember, 0, b"\xfc\x4e\x2b\xa9"),
    known("md superblock 1.2", MdMember, 4096, b"\xfc\x4e\x2b\xa9"),
    known("Oracle ASM disk", OracleAsm, 32, b"ORCLDISK"),
    known("LUKS", Content, 0, b"LUKS\xba\xbe"),
    known("LUKS2, second header", Content, 16384, b"SKUL\xba\xbe"),
    known("BitLocker", Content, 3, b"-FVE-FS-"),
    known("BlueStore", Content, 0, b"bluestore block device"),
    known("bcache", Content, 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    known("Stratis", Content, 516, b"!Stra0tis"),
    known("VDO", Content, 0, b"dmvdo001"),
    known("dm snapshot", Content, 0, b"SnAp"),
    known("dm-integrity", Content, 0, b"integrit"),
    known("dm-verity", Content, 0, b"verity\0\0"),
    known("Oracle data file", Content, 28, b"\x7d\x7c\x7b\x7a"),
    known("SQLite database", Content, 0, b"SQLite format 3\0"),
    known("GPT partition table", PartitionTable, 512, b"EFI PART"),
    known("GPT partition table", PartitionTable, 4096, b"EFI PART"),
    known("Apple partition map", PartitionTable, 512, b"PM\0\0"),
];

/// Swap's mark stands at the end of its first page, whose size is the machine's that made it.
const SWAP: &[&[u8]] = &[b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0", b"S2SUSPEND\0", b"LINHIB0001"];
const PAGE_BYTES: &[u64] = &[4096, 8192, 16384, 32768, 65536];

const MEBIBYTE: u64 = 1 << 20;
/// How many places between the first and the last MiB are looked at.
pub const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 4096;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What kind of use it means
    pub kind: UseKind,
    pub name: String,
    pub offset: u64,
}

/// The first and last MiB of something, and a closure that reads the rest.
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_offset: u64,
}

impl Ends {
    /// The bytes at an offset, if both ends together have them.
    fn at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let within = |bytes: &'_ [u8], start: u64| -> Option<(usize, usize)> {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            (from.checked_add(length)? <= bytes.len()).then_some((from, from + length))
        };
        if let Some((from, to)) = within(&self.head, 0) {
            return Some(&self.head[from..to]);
        }
        within(&self.tail, self.tail_offset).map(|(from, to)| &self.tail[from..to])
    }

    fn is(&self, offset: Option<u64>, magic: &[u8]) -> bool {
        offset.and_then(|offset| self.at(offset, magic.len())) == Some(magic)
    }
}

/// Looks for every known mark and for the first byte that is not zero in the first and last MiB and [`SAMPLES`] samples
/// between. `read` gives exactly the bytes asked for.
pub fn scan(
    size_bytes: u64,
    read: &mut dyn FnMut(u64, usize) -> io::Result<Vec<u8>>,
) -> io::Result<(Vec<Found>, Option<u64>)> {
    let length = size_bytes.min(MEBIBYTE);
    let tail_offset = size_bytes - length;
    let ends =
        Ends { head: read(0, length as usize)?, tail: read(tail_offset, length as usize)?, tail_offset };
    let mut found: Vec<Found> = TABLE
        .iter()
        .filter(|mark| ends.is(Some(mark.offset), mark.magic))
        .map(|mark| Found { kind: mark.kind, name: mark.name.into(), offset: mark.offset })
        .collect();
    found.extend(swap(&ends));
    found.extend(at_the_end(&ends, size_bytes));
    found.extend(zfs(&ends, size_bytes));
    found.extend(master_boot_record(&ends));
    let not_zero = |bytes: &[u8]| bytes.iter().position(|byte| *byte != 0).map(|at| at as u64);
    let mut first = not_zero(&ends.head);
    for sample in 0..SAMPLES {
        if first.is_some() || size_bytes <= 2 * MEBIBYTE {
            break;
        }
        let step = (size_bytes - 2 * MEBIBYTE) / SAMPLES;
        let offset = (MEBIBYTE + step * sample + step / 2) / SAMPLE_BYTES * SAMPLE_BYTES;
        let bytes = read(offset, SAMPLE_BYTES.min(size_bytes - offset) as usize)?;
        first = not_zero(&bytes).map(|at| offset + at);
    }
    let first = first.or_else(|| not_zero(&ends.tail).map(|at| tail_offset + at));
    Ok((found, first))
}

fn swap(ends: &Ends) -> Option<Found> {
    PAGE_BYTES.iter().find_map(|page| {
        let offset = page - 10;
        SWAP.iter().any(|magic| ends.is(Some(offset), magic)).then(|| Found {
            kind: Content,
            name: "swap or hibernation".into(),
            offset,
        })
    })
}

/// Marks that are counted from the end: md 0.90 and 1.0, DRBD's internal metadata, GPT's copy, Intel and DDF RAID.
fn at_the_end(ends: &Ends, size_bytes: u64) -> Vec<Found> {
    let sectors = size_bytes / 512;
    let md_0_90 = (size_bytes & !0xffff).checked_sub(65536);
    let md_1_0 = sectors.checked_sub(16).map(|sector| (sector & !7) * 512);
    let back = |bytes: u64| (sectors * 512).checked_sub(bytes);
    let md: &[u8] = b"\xfc\x4e\x2b\xa9";
    let table: &[(&str, UseKind, Option<u64>, &[u8])] = &[
        ("md superblock 0.90", MdMember, md_0_90, md),
        ("md superblock 0.90, big endian", MdMember, md_0_90, b"\xa9\x2b\x4e\xfc"),
        ("md superblock 1.0", MdMember, md_1_0, md),
        ("DRBD metadata", Content, back(4096 - 60), b"\x83\x74\x02\x6b"),
        ("DRBD metadata", Content, back(4096 - 60), b"\x83\x74\x02\x6c"),
        ("DRBD metadata", Content, back(4096 - 60), b"\x83\x74\x02\x6d"),
        ("copy of a GPT partition table", PartitionTable, back(512), b"EFI PART"),
        ("copy of a GPT partition table", PartitionTable, back(4096), b"EFI PART"),
        ("Intel RAID", MdMember, back(1024), b"Intel Raid ISM Cfg Sig. "),
        ("DDF RAID", MdMember, back(512), b"\xde\x11\xde\x11"),
    ];
    let is_there = |(name, kind, offset, magic): &(&str, UseKind, Option<u64>, &[u8])| {
        let offset = offset.filter(|_| ends.is(*offset, magic))?;
        Some(Found { kind: *kind, name: name.to_string(), offset })
    };
    table.iter().filter_map(is_there).collect()
}

/// ZFS has four labels of 256 KiB, two at each end; 128 KiB into each begin its uberblocks, in steps of 1 KiB or more.
fn zfs(ends: &Ends, size_bytes: u64) -> Option<Found> {
    let label = 256 * 1024;
    let end = size_bytes / label * label;
    let labels = [Some(0), Some(label), end.checked_sub(2 * label), end.checked_sub(label)];
    let uberblock = |start: u64| {
        (0..128).map(|n| start + 128 * 1024 + n * 1024).find(|offset| {
            let little = ends.is(Some(*offset), b"\x0c\xb1\xba\x00\x00\x00\x00\x00");
            little || ends.is(Some(*offset), b"\x00\x00\x00\x00\x00\xba\xb1\x0c")
        })
    };
    let offset = labels.into_iter().flatten().find_map(uberblock)?;
    Some(Found { kind: Content, name: "ZFS label".into(), offset })
}

/// 0x55AA also ends a FAT boot sector; a partition table has an entry with a type, a length and a plain status byte.
fn master_boot_record(ends: &Ends) -> Option<Found> {
    let sector = ends.at(0, 512).filter(|sector| sector[510..] == [0x55, 0xaa])?;
    let entries: Vec<&[u8]> = sector[446..510].chunks(16).collect();
    let plain = entries.iter().all(|entry| entry[0] & 0x7f == 0);
    let used = entries.iter().any(|entry| entry[4] != 0 && entry[12..16] != [0; 4]);
    (plain && used).then(|| Found { kind: PartitionTable, name: "MBR partition table".into(), offset: 446 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 8 << 20;

    fn scan_bytes(bytes: &[u8]) -> (Vec<Found>, Option<u64>) {
        scan(bytes.len() as u64, &mut |offset, length| {
            Ok(bytes[offset as usize..offset as usize + length].to_vec())
        })
        .unwrap()
    }

    #[test]
    fn every_mark_of_the_table_is_found_where_it_belongs() {
        for mark in TABLE {
            let mut bytes = vec![0u8; SIZE as usize];
            bytes[mark.offset as usize..mark.offset as usize + mark.magic.len()].copy_from_slice(mark.magic);
            let (found, first) = scan_bytes(&bytes);
            assert!(
                found.iter().any(|f| f.name == mark.name && f.kind == mark.kind),
                "{}: {found:?}",
                mark.name
            );
            assert!(first.is_some());
        }
    }

    #[test]
    fn marks_counted_from_the_end_are_found() {
        let md = b"\xfc\x4e\x2b\xa9";
        let cases: [(u64, &[u8], &str); 6] = [
            (SIZE - 65536, md, "md superblock 0.90"),
            (SIZE - 8192, md, "md superblock 1.0"),
            (SIZE - 4096 + 60, b"\x83\x74\x02\x6d", "DRBD metadata"),
            (SIZE - 512, b"EFI PART", "copy of a GPT partition table"),
            (SIZE - 512 * 1024 + 130 * 1024, b"\x0c\xb1\xba\x00\x00\x00\x00\x00", "ZFS label"),
            (4086, b"SWAPSPACE2", "swap or hibernation"),
        ];
        for (offset, magic, name) in cases {
            let mut bytes = vec![0u8; SIZE as usize];
            bytes[offset as usize..offset as usize + magic.len()].copy_from_slice(magic);
            let (found, _) = scan_bytes(&bytes);
            assert!(found.iter().any(|f| f.name == name), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_boot_sector_without_partitions_is_no_partition_table() {
        let mut bytes = vec![0u8; SIZE as usize];
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        assert_eq!(scan_bytes(&bytes).0, []);
        bytes[446 + 4] = 0x83;
        bytes[446 + 12] = 1;
        assert_eq!(scan_bytes(&bytes).0[0].kind, PartitionTable);
    }

    #[test]
    fn zeros_hold_nothing_and_one_byte_in_a_sample_is_found() {
        let mut bytes = vec![0u8; SIZE as usize];
        assert_eq!(scan_bytes(&bytes), (vec![], None));
        let step = (SIZE - 2 * MEBIBYTE) / SAMPLES;
        let sample = (MEBIBYTE + step * 10 + step / 2) / SAMPLE_BYTES * SAMPLE_BYTES;
        bytes[sample as usize + 7] = 1;
        assert_eq!(scan_bytes(&bytes).1, Some(sample + 7));
        assert_eq!(scan_bytes(&[]), (vec![], None));
        assert_eq!(scan_bytes(&[0, 0, 9]).1, Some(2));
    }
}
