//! Control groups of jobs: made for the run, entered by the jobs' own threads, removed at its end.

use crate::{Job, Planned};
use anyhow::{Result, bail};
use fathom_host::Roots;
use fathom_host::nodes::{WeighingGroups, read_weighing_groups};
use fathom_session::Console;
use std::path::{Path, PathBuf};

/// Groups that were made; dropping this removes them, but for those that stay.
pub struct Groups {
    made: Vec<PathBuf>,
    console: Console,
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in self.made.drain(..).rev() {
            if let Err(error) = std::fs::remove_dir(&folder) {
                let folder = folder.display();
                self.console.complain(format_args!("fio: cannot remove the control group {folder}: {error}"));
            }
        }
    }
}

/// Makes the group of each job with `cgroup=`, gives it its weight, and has the job's threads enter it.
pub fn make(jobs: &[Job], planned: &mut Planned, roots: &Roots, console: &Console) -> Result<Groups> {
    let mut groups = Groups { made: Vec::new(), console: console.clone() };
    if jobs.iter().all(|job| job.place.control_group.is_none()) {
        return Ok(groups);
    }
    let mount = match read_weighing_groups(roots) {
        WeighingGroups::Threads(mount) => mount,
        WeighingGroups::Processes(mount) => bail!(
            "cgroup: the groups below {} weigh the I/O of whole processes, and all jobs are threads of one\n\
             hint: start fathom in the group, or mount version 1: mount -t cgroup -o blkio none /cgroup",
            mount.display()
        ),
        WeighingGroups::None => {
            bail!("cgroup: no blkio controller is mounted\nhint: mount -t cgroup -o blkio none /cgroup")
        }
    };
    for job in jobs {
        let Some(group) = &job.place.control_group else { continue };
        let folder = mount.join(group.name.trim_matches('/'));
        if group.name.split('/').any(|part| part == "..") {
            bail!("cgroup: {} leads out of {}\nhint: name a group below it", group.name, mount.display());
        }
        let before = groups.made.len();
        make_folder(&mount, &folder, &mut groups.made)?;
        if group.stays {
            groups.made.truncate(before);
        }
        if let Some(weight) = group.weight {
            weigh(&folder, weight)?;
        }
    }
    for member in &planned.members {
        let Some(group) = &jobs[member.job].place.control_group else { continue };
        let tasks = mount.join(group.name.trim_matches('/')).join("tasks");
        let thread = &mut planned.plan.streams[member.stream.0 as usize].thread;
        thread.control_group = Some(fathom_spec::names::text(&tasks)?.to_owned());
    }
    Ok(groups)
}

/// Makes a group and those above it that are missing.
fn make_folder(mount: &Path, folder: &Path, made: &mut Vec<PathBuf>) -> Result<()> {
    if folder.is_dir() || folder == mount {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_folder(mount, above, made)?;
    }
    std::fs::create_dir(folder).map_err(|error| {
        anyhow::anyhow!(
            "cannot make the control group {}: {error}\nhint: only root may, unless the one above belongs to the user",
            folder.display()
        )
    })?;
    made.push(folder.to_owned());
    Ok(())
}

/// Files that hold a group's weight: CFQ's on old kernels, BFQ's on new ones.
const WEIGHTS: [&str; 2] = ["blkio.weight", "blkio.bfq.weight"];

fn weigh(folder: &Path, weight: u64) -> Result<()> {
    let Some(path) = WEIGHTS.iter().map(|name| folder.join(name)).find(|path| path.exists()) else {
        bail!(
            "cgroup_weight: {} has neither blkio.weight nor blkio.bfq.weight: this kernel weighs no I/O\n\
             hint: leave it out, or use a kernel with the bfq scheduler",
            folder.display()
        );
    };
    std::fs::write(&path, weight.to_string()).map_err(|error| {
        anyhow::anyhow!(
            "cgroup_weight: cannot write {weight} to {}: {error}\nhint: run as root",
            path.display()
        )
    })
}
