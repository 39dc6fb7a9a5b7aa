//! The machine's NUMA nodes and their CPUs, and where the controller that weighs I/O is mounted.

use crate::mounts::read_mounts;
use crate::roots::Roots;
use std::path::PathBuf;

/// The NUMA nodes by their numbers, each with its CPUs. A kernel without NUMA tells none.
pub fn read_nodes(roots: &Roots) -> Vec<(u32, Vec<u32>)> {
    let folder = roots.sys.join("devices/system/node");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut nodes: Vec<(u32, Vec<u32>)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            let list = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
            Some((number, cpu_list(&list)))
        })
        .collect();
    nodes.sort();
    nodes
}

/// The kernel's list of CPUs: `0-3,8`.
fn cpu_list(text: &str) -> Vec<u32> {
    let part = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.trim().split(',').filter_map(part).flatten().collect()
}

/// Where control groups weigh I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeighingGroups {
    /// The mount of version 1's `blkio`, whose groups take threads.
    Threads(PathBuf),
    /// The mount of version 2 alone, whose groups with I/O take processes only.
    Processes(PathBuf),
    /// Neither is mounted.
    None,
}

/// Looks for them.
pub fn read_weighing_groups(roots: &Roots) -> WeighingGroups {
    let mounts = read_mounts(roots).unwrap_or_default();
    let blkio = |options: &str| options.split(',').any(|option| option == "blkio");
    if let Some(mount) = mounts.iter().find(|mount| mount.kind == "cgroup" && blkio(&mount.super_options)) {
        return WeighingGroups::Threads(roots.seen(&mount.mount_point));
    }
    match mounts.iter().find(|mount| mount.kind == "cgroup2") {
        Some(mount) => WeighingGroups::Processes(roots.seen(&mount.mount_point)),
        None => WeighingGroups::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabricate::Fabricated;

    #[test]
    fn nodes_have_the_cpus_that_the_kernel_lists() {
        let tree = Fabricated::new();
        assert_eq!(read_nodes(&tree.roots()), []);
        tree.file("sys/devices/system/node/node1/cpulist", "4-5,7\n");
        tree.file("sys/devices/system/node/node0/cpulist", "0-3\n");
        tree.file("sys/devices/system/node/node2/cpulist", "\n")
            .file("sys/devices/system/node/online", "0-2");
        let expected = [(0, vec![0, 1, 2, 3]), (1, vec![4, 5, 7]), (2, vec![])];
        assert_eq!(read_nodes(&tree.roots()), expected);
    }

    #[test]
    fn threads_are_weighed_by_version_1_only() {
        let tree = Fabricated::new();
        assert_eq!(read_weighing_groups(&tree.roots()), WeighingGroups::None);
        let two = "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        tree.file("proc/self/mountinfo", two);
        let below = |name: &str| tree.roots().sys.join("fs/cgroup").join(name);
        assert_eq!(read_weighing_groups(&tree.roots()), WeighingGroups::Processes(below("unified")));
        let one = "31 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                   32 20 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";
        tree.file("proc/self/mountinfo", &format!("{two}{one}"));
        assert_eq!(read_weighing_groups(&tree.roots()), WeighingGroups::Threads(below("blkio")));
    }
}
