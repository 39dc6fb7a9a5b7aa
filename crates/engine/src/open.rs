//! Opens a plan's targets, settles their sizes, and says where on them each stream works.

use crate::PreopenedTarget;
use crate::files::OpenTarget;
use crate::geometry::Geometry;
use crate::guard;
use fathom_host::storage::{ENDLESS, MEMORY_DEVICES};
use fathom_host::{OpenFiles, Roots};
use fathom_record::{Did, EventKind, ExecuteError, Preopened};
use fathom_spec::{
    Access, Blocks, Bytes, Durability, Expect, Extent, Lifetime, PathTarget, Permits, Plan, Space, Target,
    TargetId,
};
use rustix::fs::{Advice, FallocateFlags, FileType, Mode, OFlags, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

/// What opening answers: the targets by their number in the plan, and what was done to them.
pub struct Opened {
    /// By `TargetId`.
    pub targets: Vec<OpenTarget>,
    /// Files that were made or extended.
    pub happenings: Vec<EventKind>,
}

/// Opens every target of a plan. A search for what one of them holds ends, with all, where `goes_on` says no.
pub fn open(
    plan: &Plan,
    roots: &Roots,
    permits: &Permits,
    preopened: Vec<(TargetId, Preopened)>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Opened, ExecuteError> {
    let mut opened = Opened { targets: Vec::new(), happenings: Vec::new() };
    let others = if plan.writes() { OpenFiles::read(roots) } else { OpenFiles::default() };
    let mut preopened: Vec<Option<(TargetId, Preopened)>> = preopened.into_iter().map(Some).collect();
    for (id, target) in plan.targets.iter().enumerate() {
        let here = preopened.iter_mut().find(|one| one.as_ref().is_some_and(|one| one.0.0 as usize == id));
        if let Some((_, handle)) = here.and_then(Option::take) {
            let target = handle.0.downcast::<PreopenedTarget>().map_err(|_| ExecuteError::Plan {
                what: "a target was opened by another executor".to_owned(),
                hint: "this is a mistake in the program that made the request".to_owned(),
            })?;
            opened.targets.push(OpenTarget::preopened(*target));
            continue;
        }
        let open = match target {
            Target::Path(path) => {
                open_path(path, roots, (permits, &others, goes_on), &mut opened.happenings)?
            }
            Target::Null(size) => OpenTarget::nothing(size.0),
            Target::Sim(_) | Target::Database(_) => {
                return Err(ExecuteError::Plan {
                    what: "a simulated device or a database cannot be opened as a file".to_owned(),
                    hint: "run a plan on targets of one kind".to_owned(),
                });
            }
        };
        opened.targets.push(open);
    }
    Ok(opened)
}

fn open_path(
    target: &PathTarget,
    roots: &Roots,
    (permits, others, goes_on): (&Permits, &OpenFiles, &dyn Fn() -> bool),
    happenings: &mut Vec<EventKind>,
) -> Result<OpenTarget, ExecuteError> {
    let path = Path::new(&target.path);
    let about = path.metadata();
    let existed = about.is_ok();
    // A pipe without a partner would keep the open waiting, only to be refused afterwards.
    if about.is_ok_and(|about| about.file_type().is_fifo()) {
        return Err(no_storage(path));
    }
    let mut flags = match target.access {
        Access::Read => OFlags::RDONLY,
        Access::Write => OFlags::RDWR,
    } | OFlags::CLOEXEC;
    if target.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match target.durability {
        Durability::None => OFlags::empty(),
        Durability::Data => OFlags::DSYNC,
        Durability::Full => OFlags::SYNC,
    };
    flags |= match (target.access, target.create) {
        (Access::Write, Some(_)) => OFlags::CREATE,
        _ => OFlags::empty(),
    };
    let open = || {
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map_err(|error| ExecuteError::NotOpened {
            target: target.path.clone(),
            errno: error.raw_os_error(),
            direct: target.direct,
        })
    };
    let (fd, claim) = match target.access {
        Access::Read => (open()?, None),
        Access::Write => {
            let check = || guard::allow_among(roots, path, permits, others, goes_on);
            let (fd, allowed) = guard::open_allowed(check, open)?;
            let shared = |by: &String| EventKind::Shared { target: target.path.clone(), by: by.clone() };
            happenings.extend(allowed.shared_with().iter().map(shared));
            (fd, allowed.claim())
        }
    };
    let mut size = size_of(&fd, path)?;
    if let (Some(wanted), Access::Write) = (target.create, target.access) {
        if size < wanted.0 {
            rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, wanted.0).map_err(|error| {
                ExecuteError::NotExtended {
                    target: target.path.clone(),
                    length: wanted,
                    errno: error.raw_os_error(),
                }
            })?;
            size = wanted.0;
        }
        let did = match (existed, size > wanted.0) {
            (false, _) => Did::Created,
            (true, _) => Did::Reused,
        };
        happenings.push(EventKind::Target { name: target.path.clone(), did, bytes: Bytes(size) });
    }
    Ok(OpenTarget::new(fd, size, target.direct, &target.path)?.with_claim(claim))
}

fn size_of(fd: &OwnedFd, path: &Path) -> Result<u64, ExecuteError> {
    let fail = |error: rustix::io::Errno| ExecuteError::Target {
        what: format!("cannot tell the size of {}: {error}", path.display()),
        hint: "name a regular file or a block device".to_owned(),
    };
    let about = rustix::fs::fstat(fd).map_err(fail)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Ok(about.st_size as u64),
        // The null devices are as long as anybody wants them.
        FileType::CharacterDevice if rustix::fs::major(about.st_rdev) == MEMORY_DEVICES => Ok(ENDLESS),
        FileType::BlockDevice => {
            let end = rustix::fs::seek(fd, SeekFrom::End(0)).map_err(fail)?;
            Ok(end)
        }
        _ => Err(no_storage(path)),
    }
}

fn no_storage(path: &Path) -> ExecuteError {
    ExecuteError::Target {
        what: format!("{} is neither a regular file nor a block device", path.display()),
        hint: "name a directory, a file or a block device".to_owned(),
    }
}

/// Where a stream works: the members of its space with their sizes, and the region in it.
pub fn geometry(
    plan: &Plan,
    blocks: &Blocks,
    sizes: &[u64],
    logical_block: u64,
) -> Result<Geometry, ExecuteError> {
    let space = plan.spaces.get(blocks.space.0 as usize).ok_or_else(|| ExecuteError::Plan {
        what: format!("the plan has no space number {}", blocks.space.0),
        hint: "this is a mistake in the program that made the plan".to_owned(),
    })?;
    let total = match blocks.region.1 {
        Extent::Each => {
            space.members().iter().filter_map(|id| sizes.get(id.0 as usize)).copied().max().unwrap_or(0)
        }
        _ => Geometry::length_of(space, sizes),
    };
    let settle = |extent: Extent, left: u64| match extent {
        Extent::Bytes(bytes) => bytes.0,
        Extent::Percent(percent) => (total as f64 * percent / 100.0) as u64,
        Extent::Whole | Extent::Each => left,
    };
    let appends = matches!(blocks.pattern, fathom_spec::Pattern::Sequential(fathom_spec::Begin::Append));
    // Files that are made empty have no end yet.
    let made_empty = |id: &fathom_spec::TargetId| {
        let target = plan.targets.get(id.0 as usize);
        matches!(target, Some(Target::Path(PathTarget { create: Some(Bytes(0)), .. })))
    };
    let grows = appends || space.members().iter().all(made_empty);
    // A log grows from where it ends now.
    let start = match blocks.region.0 {
        Extent::Bytes(Bytes(0)) if appends => total.next_multiple_of(logical_block.max(1)),
        place => settle(place, 0),
    };
    let length = settle(blocks.region.1, total.saturating_sub(start));
    let most = blocks.sizes.most().0;
    if !grows && (start.saturating_add(length) > total || length < most) {
        let names: Vec<String> =
            space.members().iter().filter_map(|id| plan.targets.get(id.0 as usize).map(name)).collect();
        return Err(ExecuteError::TooSmall {
            targets: names,
            holds: Bytes(total),
            start: Bytes(start),
            length: Bytes(length),
            block: Bytes(most),
        });
    }
    // A shared sequence follows its own arithmetic: what the kernel refuses of it is a fault of the run.
    if blocks.shared.is_none() && logical_block > 1 && !blocks.sizes.least().0.is_multiple_of(logical_block) {
        return Err(ExecuteError::Misaligned { block: blocks.sizes.least(), logical_block });
    }
    Ok(Geometry { space: space.clone(), sizes: sizes.to_vec(), start, length, align: logical_block.max(1) })
}

/// Tells the kernel in which order the files of a space will be used. It is only told: what it does is its own affair.
pub fn expect(space: &Space, targets: &[OpenTarget], expect: Expect) {
    let advice = match expect {
        Expect::Nothing => return,
        Expect::Sequential => Advice::Sequential,
        Expect::Random => Advice::Random,
    };
    let files = space.members().iter().filter_map(|id| targets.get(id.0 as usize)?.fd());
    for file in files {
        let _ = rustix::fs::fadvise(file, 0, None, advice);
    }
}

/// Tells the kernel how long what is written to a space's targets will live.
pub fn lifetime(space: &Space, targets: &[OpenTarget], lifetime: Lifetime) -> Result<(), ExecuteError> {
    let files = space.members().iter().filter_map(|id| targets.get(id.0 as usize)?.fd());
    for file in files.filter(|_| lifetime != Lifetime::Untold) {
        crate::sys::lifetime::tell(file.as_fd(), lifetime).map_err(|error| ExecuteError::Target {
            what: format!("cannot tell the kernel how long the data will live: {error}"),
            hint: "this kernel or file system takes no write hints: leave write_hint out".to_owned(),
        })?;
    }
    Ok(())
}

/// The names of all targets of a plan, for people.
pub fn names(plan: &Plan) -> Arc<Vec<String>> {
    Arc::new(plan.targets.iter().map(name).collect())
}

fn name(target: &Target) -> String {
    match target {
        Target::Path(path) => path.path.clone(),
        Target::Sim(device) => format!("sim:{device}"),
        Target::Null(_) => "null".to_owned(),
        Target::Database(name) => name.clone(),
    }
}
