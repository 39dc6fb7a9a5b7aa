//! Who may be written to. A target becomes [`Writable`] only here, and only when it is fathom's own scratch file
//! or nobody uses it and the user consented.

use fathom_host::scratch::Mark;
use fathom_host::{Closeness, DeviceUses, OpenFiles, Roots, UseKind, inspect_among, resolve};
use fathom_record::ExecuteError;
use fathom_spec::{Permits, Policy};
use std::path::{Path, PathBuf};

/// Has the user consented to writing here?
pub fn consented(permits: &Permits, path: &Path) -> bool {
    // As it stands first: following the links of hundreds of names takes long.
    permits.consents.iter().any(|name| Path::new(name) == path)
        || permits.consents.iter().any(|name| same_place(name, path))
}

/// Does a name that the user typed mean this path, as it stands or with its links followed?
pub fn same_place(name: &str, path: &Path) -> bool {
    let real = path.canonicalize().ok();
    Path::new(name) == path || (real.is_some() && Path::new(name).canonicalize().ok() == real)
}

/// Is it a scratch file that this process made? The permits say so, and so does its name.
fn own_scratch(roots: &Roots, path: &Path, permits: &Permits) -> bool {
    let marked = || {
        let name = path.file_name()?.to_str()?;
        Some(Mark::parse(name)? == Mark::own(roots).ok()?)
    };
    permits.scratch.iter().any(|own| own == path) && marked() == Some(true)
}

/// A target that may be written. Only [`allow`] makes one.
#[derive(Debug)]
pub struct Writable {
    path: PathBuf,
    /// Who else has it open, where that is allowed.
    shared_with: Vec<String>,
}

impl Writable {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who else has it open, each as it is told.
    pub fn shared_with(&self) -> &[String] {
        &self.shared_with
    }
}

/// Uses that no consent can excuse: somebody is at work there.
fn in_use(kind: UseKind) -> bool {
    matches!(
        kind,
        UseKind::Mounted
            | UseKind::Swap
            | UseKind::HeldOpen
            | UseKind::HeldExclusively
            | UseKind::LoopBacked
            | UseKind::Holder
            | UseKind::MultipathMember
    )
}

/// Makes a target writable, or says why not and what to do.
pub fn allow(roots: &Roots, path: &Path, permits: &Permits) -> Result<Writable, ExecuteError> {
    allow_among(roots, path, permits, &OpenFiles::read(roots))
}

/// The same for one of many targets: what other processes have open was looked at just before.
pub fn allow_among(
    roots: &Roots,
    path: &Path,
    permits: &Permits,
    open: &OpenFiles,
) -> Result<Writable, ExecuteError> {
    let mut allowed = Writable { path: path.to_owned(), shared_with: Vec::new() };
    if own_scratch(roots, path, permits) {
        return Ok(allowed);
    }
    if !path.exists() {
        return Ok(allowed);
    }
    if keeps_nothing(path) {
        return Ok(allowed);
    }
    let target = path.display().to_string();
    // What a file holds is asked only where it decides.
    let closeness = if consented(permits, path) { Closeness::Use } else { Closeness::Whole };
    let holdings = inspect_among(roots, path, open, closeness)
        .map_err(|error| ExecuteError::NotInspected { target: target.clone(), error: error.to_string() })?;
    let open = |kind| kind == UseKind::HeldOpen && permits.shared && consented(permits, path);
    let shared = holdings.holds.iter().filter(|holding| open(holding.kind));
    allowed.shared_with = shared.map(|holding| holding.detail.clone()).collect();
    if let Some(use_) = holdings.holds.iter().find(|holding| in_use(holding.kind) && !open(holding.kind)) {
        return Err(ExecuteError::InUse { target, by: use_.detail.clone(), hint: use_.hint.clone() });
    }
    if let Some(unknown) = unchecked_use(roots, path, &holdings) {
        return Err(ExecuteError::UseNotChecked { target, what: unknown });
    }
    let needs_word = permits.policy == Policy::Always || !holdings.holds.is_empty();
    if needs_word && !consented(permits, path) {
        let holds = holdings.holds.first().map(|first| first.detail.clone());
        return Err(ExecuteError::NotConsented { target, holds });
    }
    Ok(allowed)
}

/// Makes a plain file writable that the user named as the place to write to, whatever stands in it and whoever reads
/// it: only what shows it as a disk or swaps on it is in the way. Anything else goes by [`allow`].
pub fn allow_named_file(roots: &Roots, path: &Path, permits: &Permits) -> Result<Writable, ExecuteError> {
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return allow(roots, path, permits);
    }
    let others = OpenFiles::default();
    let holdings = inspect_among(roots, path, &others, Closeness::Use).unwrap_or_default();
    let disk = |kind| matches!(kind, UseKind::Mounted | UseKind::Swap | UseKind::LoopBacked);
    match holdings.holds.iter().find(|holding| disk(holding.kind)) {
        Some(use_) => Err(ExecuteError::InUse {
            target: path.display().to_string(),
            by: use_.detail.clone(),
            hint: use_.hint.clone(),
        }),
        None => Ok(Writable { path: path.to_owned(), shared_with: Vec::new() }),
    }
}

/// Pipes, terminals and the null devices: nothing that was there before is lost by writing.
fn keeps_nothing(path: &Path) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Ok(about) = path.metadata() else { return false };
    let (major, minor) = (rustix::fs::major(about.rdev()), rustix::fs::minor(about.rdev()));
    let harmless = matches!((major, minor), (1, 3 | 5 | 7) | (4 | 5 | 136..=143, _));
    // A directory cannot be written to: opening it says so better.
    about.is_dir() || about.file_type().is_fifo() || (about.file_type().is_char_device() && harmless)
}

/// A check of use that could not be made. On a regular file only its content matters; on a device all do.
fn unchecked_use(roots: &Roots, path: &Path, holdings: &DeviceUses) -> Option<String> {
    let device = resolve(roots, path).is_ok_and(|s| s.kind == fathom_host::TargetKind::BlockDevice);
    device.then(|| holdings.unchecked.first().map(|unknown| format!("{} ({})", unknown.what, unknown.why)))?
}
