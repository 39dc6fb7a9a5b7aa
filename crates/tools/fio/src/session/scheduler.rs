//! The scheduler of the disks under the files: set for the run, restored at its end.

use crate::{Job, Planned};
use anyhow::{Result, bail};
use fathom_host::{Roots, resolve};
use fathom_session::Console;
use std::path::{Path, PathBuf};

/// Schedulers that were set; dropping this restores what was there.
pub struct Schedulers {
    set: Vec<SetScheduler>,
    console: Console,
}

/// One that was set.
struct SetScheduler {
    /// The file that names it.
    path: PathBuf,
    /// The name that stood in it before.
    before: String,
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        for SetScheduler { path, before } in self.set.drain(..).rev() {
            if let Err(error) = std::fs::write(&path, &before) {
                let path = path.display();
                self.console.complain(format_args!("fio: cannot restore {before} in {path}: {error}"));
            }
        }
    }
}

/// Sets the scheduler of each disk that a job with `ioscheduler=` works on.
pub fn set(jobs: &[Job], planned: &Planned, roots: &Roots, console: &Console) -> Result<Schedulers> {
    let mut schedulers = Schedulers { set: Vec::new(), console: console.clone() };
    for member in &planned.members {
        let Some(wanted) = &jobs[member.job].place.scheduler else { continue };
        for file in &member.files {
            // What is below cannot always be told; fio leaves the scheduler alone then.
            let Ok(storage) = resolve(roots, Path::new(&file.path)) else { continue };
            for disk in &storage.disks {
                let path = roots.sys.join("block").join(&disk.name).join("queue/scheduler");
                schedulers.set_one(path, wanted, &disk.name)?;
            }
        }
    }
    Ok(schedulers)
}

impl Schedulers {
    fn set_one(&mut self, path: PathBuf, wanted: &str, disk: &str) -> Result<()> {
        if self.set.iter().any(|done| done.path == path) {
            return Ok(());
        }
        let Ok(list) = std::fs::read_to_string(&path) else { return Ok(()) };
        let Some((name, before)) = choose(&list, wanted) else {
            bail!("{disk} has no scheduler {wanted}\nhint: it has: {}", list.trim());
        };
        if name == before {
            return Ok(());
        }
        match std::fs::write(&path, &name) {
            Ok(()) => {
                self.set.push(SetScheduler { path, before });
                Ok(())
            }
            Err(error) => bail!(
                "cannot give {disk} the scheduler {name}: {error}\nhint: run as root, or leave ioscheduler= out"
            ),
        }
    }
}

/// What to write for a wanted scheduler, and what is there now: `none [mq-deadline] kyber`. Kernels with several queues
/// have `none` for `noop`, and `mq-deadline` for `deadline`. A disk with `none` alone has no choice.
fn choose(list: &str, wanted: &str) -> Option<(String, String)> {
    let names: Vec<&str> = list.split_whitespace().map(|name| name.trim_matches(['[', ']'])).collect();
    let now =
        list.split_whitespace().find(|name| name.starts_with('[')).unwrap_or("none").trim_matches(['[', ']']);
    let other = match wanted {
        "noop" => "none",
        "none" => "noop",
        "deadline" => "mq-deadline",
        "mq-deadline" => "deadline",
        wanted => wanted,
    };
    let name = [wanted, other].into_iter().find(|name| names.contains(name))?;
    Some((name.to_owned(), now.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(list: &str, wanted: &str) -> Option<(String, String)> {
        choose(list, wanted)
    }

    fn pair(one: &str, other: &str) -> Option<(String, String)> {
        Some((one.to_owned(), other.to_owned()))
    }

    #[test]
    fn noop_means_none_where_the_kernel_has_no_noop() {
        assert_eq!(chosen("[mq-deadline] kyber none", "noop"), pair("none", "mq-deadline"));
        assert_eq!(chosen("[noop] deadline cfq", "noop"), pair("noop", "noop"));
        assert_eq!(chosen("none [mq-deadline]\n", "deadline"), pair("mq-deadline", "mq-deadline"));
        assert_eq!(chosen("none", "noop"), pair("none", "none"));
        assert_eq!(chosen("[none] mq-deadline", "bfq"), None);
    }
}
