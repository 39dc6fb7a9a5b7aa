//! A memory control group around a server: the page cache of the files that it reads counts too, so that a small limit makes the
//! disk work.

use crate::error::{DatabaseError, Result, Trouble};
use fathom_spec::Bytes;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One group; removed by [`MemoryGroup::remove`].
#[derive(Debug)]
pub(super) struct MemoryGroup {
    path: PathBuf,
    second: bool,
}

const FIRST: &str = "/sys/fs/cgroup/memory";
const SECOND: &str = "/sys/fs/cgroup";

impl MemoryGroup {
    /// Makes a group with a limit: in the first version's memory hierarchy where it is mounted, else in the second version's.
    pub(super) fn make(name: &str, limit: Bytes) -> Result<Self> {
        let second = !Path::new(FIRST).join("memory.limit_in_bytes").exists();
        let path = Path::new(if second { SECOND } else { FIRST }).join(name);
        let group = MemoryGroup { path, second };
        group.set(limit).map_err(|error| {
            group.remove();
            DatabaseError::new(
                Trouble::Server,
                format!("cannot bound memory by the control group {}: {error}", group.path.display()),
                "bounding the cache needs root and the kernel's memory controller; run as root, or leave the limit out",
            )
        })?;
        Ok(group)
    }

    /// The group of that name, where there is one.
    pub(super) fn found(name: &str) -> Option<Self> {
        let group = |(above, second)| MemoryGroup { path: Path::new(above).join(name), second };
        [(FIRST, false), (SECOND, true)].map(group).into_iter().find(|group| group.path.is_dir())
    }

    fn set(&self, limit: Bytes) -> io::Result<()> {
        if self.second {
            // Without the controller among the parent's, the files below do not appear.
            let _ = fs::write(Path::new(SECOND).join("cgroup.subtree_control"), "+memory");
        }
        fs::create_dir(&self.path)?;
        let file = if self.second { "memory.max" } else { "memory.limit_in_bytes" };
        fs::write(self.path.join(file), limit.0.to_string())?;
        if self.second {
            let _ = fs::write(self.path.join("memory.swap.max"), "0");
        }
        Ok(())
    }

    /// Moves a process in; its children follow when they are born.
    pub(super) fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// Memory in use now, the page cache included.
    pub(super) fn usage(&self) -> Option<Bytes> {
        let file = if self.second { "memory.current" } else { "memory.usage_in_bytes" };
        fs::read_to_string(self.path.join(file)).ok()?.trim().parse().ok().map(Bytes)
    }

    /// How many of its processes the kernel killed because they wanted more.
    pub(super) fn killed(&self) -> Option<u64> {
        let file = if self.second { "memory.events" } else { "memory.oom_control" };
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }

    /// Removes it once its processes have gone; answers whether it is gone.
    pub(super) fn remove(&self) -> bool {
        for _ in 0..100 {
            match fs::remove_dir(&self.path) {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        false
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
