//! Who may be written to. A target becomes [`Writable`] only here, and only when it is fathom's own scratch file
//! or nobody uses it and the user consented.

use fathom_host::{Closeness, DeviceUses, OpenFiles, Roots, UseKind, inspect_among, resolve};
use fathom_record::ExecuteError;
use std::path::{Path, PathBuf};

/// When a target that nobody uses needs the user's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Always: fathom's own commands.
    #[default]
    Always,
    /// Only when it holds something: the peers' languages, whose users have named a target to write to.
    WhenHolding,
}

/// What may be written.
#[derive(Clone, Debug, Default)]
pub struct Permits {
    scratch: Vec<PathBuf>,
    consents: Vec<String>,
    policy: Policy,
}

impl Permits {
    /// Nothing but what is added.
    pub fn new(policy: Policy) -> Self {
        Permits { policy, ..Permits::default() }
    }
    /// A scratch file that fathom made itself is safe by construction.
    pub fn add_scratch(&mut self, scratch: &fathom_host::Scratch) {
        self.scratch.push(scratch.path.clone());
    }
    /// The user's word for one target, by the name under which it was given.
    pub fn add_consent(&mut self, name: impl Into<String>) {
        self.consents.push(name.into());
    }

    /// Has the user consented to writing here?
    pub fn consented(&self, path: &Path) -> bool {
        // As it stands first: following the links of hundreds of names takes long.
        self.consents.iter().any(|name| Path::new(name) == path)
            || self.consents.iter().any(|name| same_place(name, path))
    }
}

/// Does a name that the user typed mean this path, as it stands or with its links followed?
pub fn same_place(name: &str, path: &Path) -> bool {
    let real = path.canonicalize().ok();
    Path::new(name) == path || (real.is_some() && Path::new(name).canonicalize().ok() == real)
}

/// A target that may be written. Only [`allow`] makes one.
#[derive(Debug)]
pub struct Writable {
    path: PathBuf,
}

impl Writable {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Uses that no consent can excuse: somebody is at work there.
fn in_use(kind: UseKind) -> bool {
    matches!(
        kind,
        UseKind::Mounted
            | UseKind::Swap
            | UseKind::HeldOpen
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
    let allowed = Writable { path: path.to_owned() };
    if permits.scratch.iter().any(|own| own == path) {
        return Ok(allowed);
    }
    if !path.exists() {
        return Ok(allowed);
    }
    if keeps_nothing(path) {
        return Ok(allowed);
    }
    let refuse = |what: String, hint: String| Err(ExecuteError::Target { what, hint });
    let name = path.display();
    // What a file holds is asked only where it decides.
    let closeness = if permits.consented(path) { Closeness::Use } else { Closeness::Whole };
    let holdings = inspect_among(roots, path, open, closeness).map_err(|error| ExecuteError::Target {
        what: format!("cannot see what {name} holds: {error}"),
        hint: "only a target that could be looked at is written to; try as root, or measure with --read-only"
            .to_owned(),
    })?;
    if let Some(use_) = holdings.holds.iter().find(|holding| in_use(holding.kind)) {
        return refuse(format!("cannot write to {name}: {}", use_.detail), use_.hint.clone());
    }
    if let Some(unknown) = unchecked_use(roots, path, &holdings) {
        return refuse(
            format!("cannot write to {name}: {unknown} could not be checked"),
            "only a target that could be looked at from all sides is written to; try as root, or measure with --read-only".to_owned(),
        );
    }
    let needs_word = permits.policy == Policy::Always || !holdings.holds.is_empty();
    if needs_word && !permits.consented(path) {
        let holds = match holdings.holds.first() {
            Some(first) => format!("it holds something: {}", first.detail),
            None => "nobody consented to that".to_owned(),
        };
        return refuse(
            format!("will not write to {name}: {holds}"),
            format!("what is written destroys what is there; if you want that, say --write-consent {name}"),
        );
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
        Some(use_) => Err(ExecuteError::Target {
            what: format!("cannot write to {}: {}", path.display(), use_.detail),
            hint: use_.hint.clone(),
        }),
        None => Ok(Writable { path: path.to_owned() }),
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
