//! What our own control groups allow: CPU quota, memory, I/O; of our group and of every group above it, version 1 and 2.
//! Under version 1 each controller has a hierarchy of its own.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mounts::{Mount, read_mounts};
use crate::roots::{DeviceNumber, Roots, Unchecked, read_text, text_if_there};

/// All limits that hold for this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Which groups we are in: one entry a hierarchy.
    pub groups: Vec<Group>,
    /// Processors' worth of time a second: the least of all quotas; `None` is without limit.
    pub cpus: Option<f64>,
    /// The least of all memory limits; `None` is without limit. It also bounds our page cache.
    pub memory_bytes: Option<u64>,
    /// Limits on I/O.
    pub io: Vec<IoLimit>,
}

/// Our place in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// 1 or 2
    pub version: u32,
    /// Version 1's controllers of this hierarchy; empty for version 2
    pub controllers: Vec<String>,
    /// The group, from the hierarchy's root
    pub path: PathBuf,
}

/// What an I/O limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoLimitKind {
    /// Bytes read
    ReadBytes,
    /// Bytes written
    WriteBytes,
    ReadOperations,
    WriteOperations,
}

/// One limit on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoLimit {
    /// The device it holds for: a whole disk
    pub device: DeviceNumber,
    /// What is counted
    pub kind: IoLimitKind,
    /// How many a second
    pub per_second: u64,
    /// The file that says so
    pub source: PathBuf,
}

impl Limits {
    /// The strictest limit of a kind on a device.
    pub fn io_per_second(&self, device: DeviceNumber, kind: IoLimitKind) -> Option<u64> {
        self.io
            .iter()
            .filter(|limit| limit.device == device && limit.kind == kind)
            .map(|limit| limit.per_second)
            .min()
    }
}

const VERSION_1: [(&str, IoLimitKind); 4] = [
    ("blkio.throttle.read_bps_device", IoLimitKind::ReadBytes),
    ("blkio.throttle.write_bps_device", IoLimitKind::WriteBytes),
    ("blkio.throttle.read_iops_device", IoLimitKind::ReadOperations),
    ("blkio.throttle.write_iops_device", IoLimitKind::WriteOperations),
];
const VERSION_2: [(&str, IoLimitKind); 4] = [
    ("rbps", IoLimitKind::ReadBytes),
    ("wbps", IoLimitKind::WriteBytes),
    ("riops", IoLimitKind::ReadOperations),
    ("wiops", IoLimitKind::WriteOperations),
];
/// Version 1 writes about 2^63 for "no limit".
const NO_MEMORY_LIMIT_BYTES: u64 = 1 << 62;

/// Reads what `/proc/self/cgroup` and the mounted hierarchies tell.
pub fn read_limits(roots: &Roots, unchecked: &mut Unchecked) -> Limits {
    let mut limits = Limits::default();
    let file = roots.proc.join("self/cgroup");
    let Some(text) = unchecked.note("limits of our control groups", &file, read_text(&file)) else {
        return limits;
    };
    let mounts = read_mounts(roots).unwrap_or_default();
    limits.groups = text.lines().filter_map(parse_group).collect();
    for group in limits.groups.clone() {
        let relevant = group.version == 2
            || group.controllers.iter().any(|name| matches!(name.as_str(), "cpu" | "memory" | "blkio"));
        if !relevant {
            continue;
        }
        let Some(folders) = folders_of(roots, &mounts, &group) else {
            unchecked.add(
                format!("limits of control group {}", group.path.display()),
                format!("its hierarchy ({}) is not mounted here", group.controllers.join(",")),
            );
            continue;
        };
        for folder in folders {
            read_folder(&folder, &group, &mut limits);
        }
    }
    limits
}

fn parse_group(line: &str) -> Option<Group> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let version = if number == "0" && controllers.is_empty() { 2 } else { 1 };
    let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_string).collect();
    Some(Group { version, controllers, path: PathBuf::from(path) })
}

/// Our group's folder and those above it, as far up as the hierarchy is mounted.
fn folders_of(roots: &Roots, mounts: &[Mount], group: &Group) -> Option<Vec<PathBuf>> {
    let belongs = |mount: &&Mount| match group.version {
        2 => mount.kind == "cgroup2",
        _ => {
            mount.kind == "cgroup"
                && group
                    .controllers
                    .iter()
                    .all(|name| mount.super_options.split(',').any(|option| option == name))
        }
    };
    let mount = mounts.iter().find(belongs)?;
    let top = roots.seen(&mount.mount_point);
    // In a container the mount may show only a part of the hierarchy, or our group stand outside of what it shows.
    let inside = group.path.strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let own = top.join(inside);
    Some(own.ancestors().take_while(|folder| folder.starts_with(&top)).map(Path::to_path_buf).collect())
}

fn read_folder(folder: &Path, group: &Group, limits: &mut Limits) {
    let text = |name: &str| text_if_there(&folder.join(name));
    let mut cpus = None;
    let memory;
    if group.version == 2 {
        cpus = text("cpu.max").and_then(|line| {
            let (quota, period) = line.split_once(' ')?;
            Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
        });
        memory = text("memory.max").and_then(|text| text.parse::<u64>().ok());
        let source = folder.join("io.max");
        for line in text("io.max").unwrap_or_default().lines() {
            limits.io.extend(parse_io_max(line, &source));
        }
    } else {
        if let (Some(quota), Some(period)) = (text("cpu.cfs_quota_us"), text("cpu.cfs_period_us")) {
            // A quota of -1 is none.
            let positive = quota.parse::<f64>().ok().filter(|quota| *quota > 0.0);
            cpus = positive.zip(period.parse::<f64>().ok()).map(|(quota, period)| quota / period);
        }
        memory = text("memory.limit_in_bytes")
            .and_then(|text| text.parse::<u64>().ok())
            .filter(|bytes| *bytes < NO_MEMORY_LIMIT_BYTES);
        for (name, kind) in VERSION_1 {
            for line in text(name).unwrap_or_default().lines() {
                limits.io.extend(parse_throttle(line, kind, folder.join(name)));
            }
        }
    }
    limits.cpus = [limits.cpus, cpus].into_iter().flatten().reduce(f64::min);
    limits.memory_bytes = [limits.memory_bytes, memory].into_iter().flatten().min();
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`
fn parse_io_max(line: &str, source: &Path) -> Vec<IoLimit> {
    let mut words = line.split_whitespace();
    let Some(device) = words.next().and_then(DeviceNumber::parse) else { return Vec::new() };
    words
        .filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            let (_, kind) = VERSION_2.iter().find(|(known, _)| *known == name)?;
            let per_second = value.parse().ok()?;
            Some(IoLimit { device, kind: *kind, per_second, source: source.to_path_buf() })
        })
        .collect()
}

/// `8:16 1048576`
fn parse_throttle(line: &str, kind: IoLimitKind, source: PathBuf) -> Option<IoLimit> {
    let (device, value) = line.split_once(char::is_whitespace)?;
    let device = DeviceNumber::parse(device)?;
    Some(IoLimit { device, kind, per_second: value.trim().parse().ok()?, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabricate::Fabricated;

    #[test]
    fn version_1_limits_are_found_in_our_groups_and_above() {
        let tree = Fabricated::new();
        tree.file("proc/self/cgroup", "7:blkio:/lab/run\n4:memory:/m\n1:cpu,cpuacct:/\n2:freezer:/\n0::/\n")
            .file(
                "proc/self/mountinfo",
                "1 1 0:1 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                 2 1 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 3 1 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
            )
            .file("sys/fs/cgroup/blkio/lab/run/blkio.throttle.read_iops_device", "254:0 5000\n")
            .file("sys/fs/cgroup/blkio/lab/blkio.throttle.read_iops_device", "254:0 500\n8:0 7\n")
            .file("sys/fs/cgroup/blkio/lab/blkio.throttle.write_bps_device", "")
            .file("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1073741824\n")
            .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
            .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
            .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        let mut unchecked = Unchecked::default();
        let limits = read_limits(&tree.roots(), &mut unchecked);
        let vda = DeviceNumber { major: 254, minor: 0 };
        assert_eq!(
            limits.io_per_second(vda, IoLimitKind::ReadOperations),
            Some(500),
            "the ancestor is stricter"
        );
        assert_eq!(limits.io_per_second(vda, IoLimitKind::WriteBytes), None);
        assert_eq!(limits.memory_bytes, Some(1 << 30));
        assert_eq!(limits.cpus, None);
        assert_eq!(limits.groups.len(), 5);
        let why = &unchecked.0[0].why;
        assert_eq!(unchecked.0.len(), 1, "version 2 is not mounted: {why}");
    }

    #[test]
    fn version_2_limits_are_found_inside_a_container_too() {
        let tree = Fabricated::new();
        tree.file("proc/self/cgroup", "0::/pod/app\n")
            .file("proc/self/mountinfo", "1 1 0:1 /pod /sys/fs/cgroup rw - cgroup2 cgroup rw\n")
            .file("sys/fs/cgroup/app/io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=120\n")
            .file("sys/fs/cgroup/app/cpu.max", "max 100000\n")
            .file("sys/fs/cgroup/cpu.max", "150000 100000\n")
            .file("sys/fs/cgroup/memory.max", "max\n");
        let mut unchecked = Unchecked::default();
        let limits = read_limits(&tree.roots(), &mut unchecked);
        let sdb = DeviceNumber { major: 8, minor: 16 };
        assert_eq!(limits.io.len(), 2);
        assert_eq!(limits.io_per_second(sdb, IoLimitKind::ReadBytes), Some(2_097_152));
        assert_eq!(limits.io_per_second(sdb, IoLimitKind::WriteOperations), Some(120));
        assert_eq!(limits.cpus, Some(1.5));
        assert_eq!(limits.memory_bytes, None);
        assert!(unchecked.0.is_empty());
    }
}
