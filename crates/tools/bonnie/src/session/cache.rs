//! `--limit-cache`: a memory cgroup around ourselves, so that a small file is as large beside the page cache as a huge
//! one would be. Needs root, or a cgroup that was handed over.

use std::path::{Path, PathBuf};

/// The older hierarchy, where each controller has a tree of its own, and the newer one.
const OLDER: &str = "/sys/fs/cgroup/memory";
const NEWER: &str = "/sys/fs/cgroup";

/// While it lives, we are in a cgroup of our own.
pub struct Limit {
    own: PathBuf,
    former: PathBuf,
}

impl Limit {
    /// Makes do with so many bytes of memory, the page cache included.
    pub fn to(bytes: u64) -> Result<Self, String> {
        let (tree, setting) = match Path::new(OLDER).join("memory.limit_in_bytes").exists() {
            true => (OLDER, "memory.limit_in_bytes"),
            false => (NEWER, "memory.max"),
        };
        let former = Path::new(tree).join(former(tree == OLDER).trim_start_matches('/'));
        let own = Path::new(tree).join(format!("fathom-bonnie-{}", std::process::id()));
        let cannot = |error: std::io::Error| {
            format!(
                "cannot limit the page cache with {}: {error}\nhint: be root (-u root) with the memory controller of cgroups at hand, or use -D or a file of twice the memory\n",
                own.display()
            )
        };
        if tree == NEWER {
            // Without the controller among the parent's, the files below do not appear.
            let _ = std::fs::write(Path::new(tree).join("cgroup.subtree_control"), "+memory");
        }
        std::fs::create_dir(&own).map_err(cannot)?;
        let limit = Limit { own: own.clone(), former };
        std::fs::write(own.join(setting), bytes.to_string()).map_err(cannot)?;
        if tree == NEWER {
            // What is swapped out would go around the limit.
            let _ = std::fs::write(own.join("memory.swap.max"), "0");
        }
        std::fs::write(own.join("cgroup.procs"), std::process::id().to_string()).map_err(cannot)?;
        Ok(limit)
    }
}

/// The cgroup that we are in, as the kernel names it.
fn former(older: bool) -> String {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mine = text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let wanted =
            if older { controllers.split(',').any(|name| name == "memory") } else { controllers.is_empty() };
        wanted.then(|| path.to_owned())
    });
    mine.unwrap_or_default()
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Back to where we were; a cgroup that still holds somebody stays.
        let _ = std::fs::write(self.former.join("cgroup.procs"), std::process::id().to_string());
        let _ = std::fs::remove_dir(&self.own);
    }
}
