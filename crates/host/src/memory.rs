//! The memory that there is for one program more: what the machine has free, what its control group leaves, and what its
//! limit on address space leaves.

use crate::roots::{Roots, number_if_there, text_if_there};
use rustix::process::{Resource, getrlimit};

/// Bytes that can still be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// Main memory; `u64::MAX` where that cannot be told.
    pub memory: u64,
    /// Addresses (`ulimit -v`); `u64::MAX` without a limit.
    pub addresses: u64,
}

/// Looks at it now.
pub fn left(roots: &Roots) -> MemoryLeft {
    let machine = text_if_there(&roots.proc.join("meminfo")).and_then(|text| available(&text));
    let groups = roots.sys.join("fs/cgroup");
    let group = |limit: &str, use_: &str| {
        let limit = number_if_there(&groups.join(limit))?;
        Some(limit.saturating_sub(number_if_there(&groups.join(use_)).unwrap_or(0)))
    };
    let group = group("memory.max", "memory.current")
        .or_else(|| group("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"));
    let addresses = getrlimit(Resource::As).current.map_or(u64::MAX, |limit| {
        let pages = text_if_there(&roots.proc.join("self/statm"))
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        limit.saturating_sub(pages.unwrap_or(0) * rustix::param::page_size() as u64)
    });
    let memory = machine.unwrap_or(u64::MAX).min(group.unwrap_or(u64::MAX));
    MemoryLeft { memory, addresses }
}

/// `MemAvailable:   23420000 kB`
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_the_machine_and_its_control_group_is_left() {
        let tree = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = tree.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let roots =
            Roots { proc: tree.path().join("proc"), sys: tree.path().join("sys"), ..Roots::default() };
        assert_eq!(left(&roots).memory, u64::MAX);
        put("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    2048 kB\n");
        assert_eq!(left(&roots).memory, 2048 * 1024);
        put("sys/fs/cgroup/memory.max", "max\n");
        assert_eq!(left(&roots).memory, 2048 * 1024);
        put("sys/fs/cgroup/memory.max", "1000000\n");
        put("sys/fs/cgroup/memory.current", "400000\n");
        assert_eq!(left(&roots).memory, 600_000);
    }
}
