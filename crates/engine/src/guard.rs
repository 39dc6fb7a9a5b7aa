//! Who may be written to. A target becomes [`Writable`] only here, and only when it is fathom's own scratch file
//! or nobody uses it and the user consented.

use fathom_drive::Clock;
use fathom_host::scratch::Mark;
use fathom_host::{
    Closeness, DeviceClaim, FileIdentity, Inspection, OpenFiles, Roots, UseKind, device_claim, directory_of,
    first_nonzero, inspect_among, inspect_descriptor, place_of_new,
};
use fathom_record::ExecuteError;
use fathom_spec::{Bytes, Permits, Policy};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::{File, Metadata};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
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

/// Has the user consented to writing to a database's file, by its name or by that of a directory that it is in?
fn consented_in_database(permits: &Permits, path: &Path) -> bool {
    let real = directory_of(path).canonicalize().ok();
    consented(permits, path)
        || permits
            .consents
            .iter()
            .filter_map(|name| Path::new(name).canonicalize().ok())
            .any(|name| name.is_dir() && real.as_ref().is_some_and(|directory| directory.starts_with(&name)))
}

/// Is it a scratch file that this process made? The permits say so, and so does its name.
fn own_scratch(roots: &Roots, path: &Path, permits: &Permits) -> bool {
    let marked = || {
        let name = path.file_name()?.to_str()?;
        Some(Mark::parse(name)? == Mark::own(roots).ok()?)
    };
    permits.scratch.iter().any(|own| own == path) && marked() == Some(true)
}

/// A target that may be written. Only [`allow`] makes one. A device that was free is held by this process as long as it
/// lives.
#[derive(Debug)]
pub struct Writable {
    path: PathBuf,
    /// What was looked at; `None` for a file that is not there yet.
    identity: Option<FileIdentity>,
    claim: Option<DeviceClaim>,
    /// Who else has it open, where that is allowed.
    shared_with: Vec<String>,
}

impl Writable {
    /// One that nobody holds and nobody shares.
    fn unclaimed(path: &Path, identity: Option<FileIdentity>) -> Self {
        Writable { path: path.to_owned(), identity, claim: None, shared_with: Vec::new() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who else has it open, each as it is told.
    pub fn shared_with(&self) -> &[String] {
        &self.shared_with
    }

    /// What holds the device for this process.
    pub fn claim(&self) -> Option<DeviceClaim> {
        self.claim.clone()
    }

    /// Is this descriptor open on what was looked at, or on a file that was made since?
    fn is_open_on(&self, descriptor: impl AsFd) -> bool {
        match self.identity {
            Some(identity) => identity.expect(descriptor).is_ok(),
            None => rustix::fs::fstat(descriptor).is_ok_and(|about| {
                FileType::from_raw_mode(about.st_mode) == FileType::RegularFile && about.st_size == 0
            }),
        }
    }
}

/// How often a target is looked at again that is another one when it is opened.
const TRIES: u32 = 3;

/// Opens a target so that what was looked at and what is open are one file. `open` must change nothing of it.
pub fn open_allowed<E: From<ExecuteError>>(
    mut check: impl FnMut() -> Result<Writable, ExecuteError>,
    mut open: impl FnMut() -> Result<OwnedFd, E>,
) -> Result<(OwnedFd, Writable), E> {
    let mut tries = 1;
    loop {
        let allowed = check()?;
        let descriptor = open()?;
        if allowed.is_open_on(&descriptor) {
            return Ok((descriptor, allowed));
        }
        if tries == TRIES {
            return Err(ExecuteError::Replaced { target: allowed.path.display().to_string() }.into());
        }
        tries += 1;
    }
}

/// Opens a file that will be a target, to lay it out; it is made, with this mode, if it is not there.
pub fn open_to_lay_out(
    roots: &Roots,
    path: &Path,
    permits: &Permits,
    open: &OpenFiles,
    mode: u32,
) -> Result<File, ExecuteError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let check = || allow_among(roots, path, permits, open, &|| true);
    open_allowed(check, || open_as(path, flags, mode)).map(|(file, _)| file.into())
}

/// Opens a file that is there and that the user named as the place to write to.
pub fn open_named_file(roots: &Roots, path: &Path, permits: &Permits) -> Result<File, ExecuteError> {
    let check = || allow_named_file(roots, path, permits);
    open_allowed(check, || open_as(path, OFlags::WRONLY | OFlags::CLOEXEC, 0)).map(|(file, _)| file.into())
}

fn open_as(path: &Path, flags: OFlags, mode: u32) -> Result<OwnedFd, ExecuteError> {
    rustix::fs::open(path, flags, Mode::from_raw_mode(mode)).map_err(|error| ExecuteError::NotOpened {
        target: path.display().to_string(),
        errno: error.raw_os_error(),
        direct: false,
    })
}

/// Makes a target writable, or says why not and what to do.
pub fn allow(roots: &Roots, path: &Path, permits: &Permits) -> Result<Writable, ExecuteError> {
    allow_among(roots, path, permits, &OpenFiles::read(roots), &|| true)
}

/// The same for one of many targets: what other processes have open was looked at just before. A search for what it holds
/// ends where `goes_on` says no.
pub fn allow_among(
    roots: &Roots,
    path: &Path,
    permits: &Permits,
    open: &OpenFiles,
    goes_on: &dyn Fn() -> bool,
) -> Result<Writable, ExecuteError> {
    let about = path.metadata().ok();
    let identity = about.as_ref().map(FileIdentity::of);
    if own_scratch(roots, path, permits) || about.as_ref().is_some_and(keeps_nothing) {
        return Ok(Writable::unclaimed(path, identity));
    }
    let Some(about) = about else { return allow_new(roots, path, permits, open) };
    let consents = consented(permits, path);
    let overwrites = consents || (about.is_file() && permits.names(path));
    // What a file holds is asked only where it decides.
    let closeness = if overwrites { Closeness::Use } else { Closeness::Whole };
    let found = inspect_among(roots, path, open, closeness);
    // A file that others read is shared by whoever names it; what others may write to by consent alone.
    let shared = match permits.shared && overwrites {
        true if consents => Shared::Writers,
        true => Shared::Readers,
        false => Shared::Nobody,
    };
    let found = match found {
        Ok(found) if shared == Shared::Writers => Ok(hold_together(roots, path, open, found)),
        found => found,
    };
    judge(Candidate { path, link: path, permits, overwrites, shared, goes_on }, found)
}

/// Of a device that other runs of fathom hold and share, this one has its share; one that nobody holds is shared from now on.
fn hold_together(roots: &Roots, path: &Path, open: &OpenFiles, mut found: Inspection) -> Inspection {
    if found.uses.has(UseKind::HeldExclusively)
        && let Ok(claim) = device_claim::join(roots, path, open)
    {
        found.uses.holds.retain(|holding| holding.kind != UseKind::HeldExclusively);
        found.claim = Some(claim);
    }
    found.claim.iter().for_each(DeviceClaim::share);
    found
}

/// Makes a plain file writable that the user named as the place to write to, whatever stands in it and whoever reads
/// it: only what shows it as a disk, swaps on it or serves a database from it is in the way. Anything else goes by
/// [`allow`].
pub fn allow_named_file(roots: &Roots, path: &Path, permits: &Permits) -> Result<Writable, ExecuteError> {
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return allow(roots, path, permits);
    }
    let inspect = |open: &OpenFiles| inspect_among(roots, path, open, Closeness::Use);
    judge(
        Candidate { path, link: path, permits, overwrites: true, shared: Shared::Writers, goes_on: &|| true },
        shared_file(roots, inspect),
    )
}

/// Makes a descriptor writable that this process was handed: whoever redirected it chose the place. A plain file goes by
/// the rules of [`allow_named_file`], a device by those of [`allow`], also where its node is gone.
pub fn allow_descriptor(
    roots: &Roots,
    descriptor: BorrowedFd<'_>,
    permits: &Permits,
) -> Result<Writable, ExecuteError> {
    let link = roots.proc.join(format!("self/fd/{}", descriptor.as_raw_fd()));
    let (link, path) = (&link, &std::fs::read_link(&link).unwrap_or_else(|_| link.clone()));
    let failed = |error: &dyn std::fmt::Display| ExecuteError::NotInspected {
        target: path.display().to_string(),
        error: error.to_string(),
    };
    let about = rustix::fs::fstat(descriptor).map_err(|error| failed(&error))?;
    let inspect = |open: &OpenFiles| inspect_descriptor(roots, descriptor, open, Closeness::Use);
    match FileType::from_raw_mode(about.st_mode) {
        FileType::BlockDevice => {
            let overwrites = consented(permits, path);
            let found = inspect(&OpenFiles::read(roots));
            let shared = Shared::Nobody;
            judge(Candidate { path, link, permits, overwrites, shared, goes_on: &|| true }, found)
        }
        FileType::RegularFile => {
            let found = shared_file(roots, inspect);
            let (overwrites, shared) = (true, Shared::Writers);
            judge(Candidate { path, link, permits, overwrites, shared, goes_on: &|| true }, found)
        }
        _ => {
            let identity = FileIdentity::of_descriptor(descriptor).map_err(|error| failed(&error))?;
            Ok(Writable::unclaimed(path, Some(identity)))
        }
    }
}

/// Who has a file open is asked only where that decides: among a database's files.
fn shared_file(
    roots: &Roots,
    inspect: impl Fn(&OpenFiles) -> std::io::Result<Inspection>,
) -> std::io::Result<Inspection> {
    let found = inspect(&OpenFiles::default())?;
    match found.uses.has(UseKind::Database) {
        true => inspect(&OpenFiles::read(roots)),
        false => Ok(found),
    }
}

/// May new files be made in this directory? Not among a running database's, and among a database's only with the user's
/// word.
pub fn allow_directory(roots: &Roots, directory: &Path, permits: &Permits) -> Result<(), ExecuteError> {
    allow_new(roots, &directory.join("new"), permits, &OpenFiles::read(roots)).map(drop)
}

fn allow_new(
    roots: &Roots,
    path: &Path,
    permits: &Permits,
    open: &OpenFiles,
) -> Result<Writable, ExecuteError> {
    let place = place_of_new(path);
    let target = path.display().to_string();
    match open.database_of(roots, directory_of(&place)) {
        Some((database, Some(server))) => Err(ExecuteError::InUse {
            target,
            by: format!("its directory is {database}; {server}"),
            hint: "end the server first, or choose another directory".to_owned(),
        }),
        Some((database, None)) if !consented_in_database(permits, &place) => {
            Err(ExecuteError::InDatabase { target, what: format!("its directory is {database}") })
        }
        _ => Ok(Writable::unclaimed(path, None)),
    }
}

/// A target that is there, and what the user said of it.
struct Candidate<'a> {
    path: &'a Path,
    /// Where it can be opened, if its name may be gone.
    link: &'a Path,
    permits: &'a Permits,
    /// Whatever stands in it may go.
    overwrites: bool,
    shared: Shared,
    /// May a search for what it holds go on?
    goes_on: &'a dyn Fn() -> bool,
}

/// Who else may have a target open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shared {
    Nobody,
    Readers,
    Writers,
}

impl Shared {
    fn allows(self, kind: UseKind) -> bool {
        match kind {
            UseKind::HeldForReading => self != Shared::Nobody,
            UseKind::HeldOpen => self == Shared::Writers,
            _ => false,
        }
    }
}

fn judge(candidate: Candidate<'_>, found: std::io::Result<Inspection>) -> Result<Writable, ExecuteError> {
    let Candidate { path, link, permits, overwrites, shared, goes_on } = candidate;
    let target = path.display().to_string();
    let not_inspected = |error: std::io::Error| ExecuteError::NotInspected {
        target: target.clone(),
        error: error.to_string(),
    };
    let Inspection { uses, identity, claim, unchecked_use } = found.map_err(not_inspected)?;
    let in_the_way = |kind: UseKind| kind.is_in_use() && !shared.allows(kind);
    if let Some(use_) = uses.holds.iter().find(|holding| in_the_way(holding.kind)) {
        return Err(ExecuteError::InUse { target, by: use_.detail.clone(), hint: use_.hint.clone() });
    }
    if let Some(unknown) = unchecked_use {
        return Err(ExecuteError::UseNotChecked {
            target,
            what: format!("{} ({})", unknown.what, unknown.why),
        });
    }
    let database = uses.holds.iter().find(|holding| holding.kind == UseKind::Database);
    if let Some(database) = database.filter(|_| !consented_in_database(permits, path)) {
        return Err(ExecuteError::InDatabase { target, what: database.detail.clone() });
    }
    if !overwrites {
        let holds = match uses.holds.first() {
            Some(first) => Some(first.detail.clone()),
            None if permits.policy == Policy::Always => None,
            None => content(link, identity, goes_on).map_err(not_inspected)?,
        };
        if !goes_on() {
            return Err(ExecuteError::Interrupted { target });
        }
        if holds.is_some() || permits.policy == Policy::Always {
            return Err(ExecuteError::NotConsented { target, holds });
        }
    }
    let others = uses.holds.iter().filter(|holding| shared.allows(holding.kind));
    let shared_with = others.map(|holding| holding.detail.clone()).collect();
    Ok(Writable { path: path.to_owned(), identity: Some(identity), claim, shared_with })
}

/// How long a target is read for a byte that is not zero.
const SEARCH_NS: u64 = 10_000_000_000;

/// What makes a target more than zeros, also if it is that not all of it could be read.
fn content(
    path: &Path,
    identity: FileIdentity,
    goes_on: &dyn Fn() -> bool,
) -> std::io::Result<Option<String>> {
    let clock = Clock::start();
    let search = first_nonzero(path, identity, &|| clock.now() < SEARCH_NS && goes_on())?;
    Ok(match search.first {
        Some(offset) => Some(format!("byte {offset} of {} is not zero", path.display())),
        None if search.is_all_zeros() => None,
        None => Some(format!(
            "only the first {} of its {} could be looked at in {} s",
            Bytes(search.searched_bytes),
            Bytes(search.size_bytes),
            SEARCH_NS / 1_000_000_000
        )),
    })
}

/// Pipes, terminals and the null devices: nothing that was there before is lost by writing.
fn keeps_nothing(about: &Metadata) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let (major, minor) = (rustix::fs::major(about.rdev()), rustix::fs::minor(about.rdev()));
    let harmless = matches!((major, minor), (1, 3 | 5 | 7) | (4 | 5 | 136..=143, _));
    // A directory cannot be written to: opening it says so better.
    about.is_dir() || about.file_type().is_fifo() || (about.file_type().is_char_device() && harmless)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;

    fn named(path: &Path) -> Permits {
        let mut permits = Permits::new(Policy::WhenHolding);
        permits.add_named(path.to_str().expect("plain"));
        permits
    }

    fn consenting(path: &Path) -> Permits {
        let mut permits = named(path);
        permits.add_consent(path.to_str().expect("plain"));
        permits
    }

    /// Between the check and the opening another file took the name: it was written unchecked.
    #[test]
    fn what_was_looked_at_is_what_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let (link, harmless, precious) =
            (place.path().join("link"), place.path().join("harmless"), place.path().join("precious"));
        fs::write(&harmless, "").unwrap();
        fs::write(&precious, "rows").unwrap();
        let point = |to: &Path| {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(to, &link).unwrap();
        };
        let (roots, permits, swaps) = (Roots::default(), named(&link), Cell::new(0));
        let check = || {
            point(&harmless);
            allow(&roots, &link, &permits)
        };
        let open = |times: u32| {
            if swaps.get() < times {
                swaps.set(swaps.get() + 1);
                point(&precious);
            }
            open_as(&link, OFlags::WRONLY, 0)
        };
        let refused = open_allowed(check, || open(u32::MAX)).unwrap_err();
        assert!(matches!(refused, ExecuteError::Replaced { .. }), "{refused}");
        swaps.set(0);
        let (file, allowed) = open_allowed(check, || open(1)).unwrap();
        assert!(allowed.is_open_on(&file));
        assert!(FileIdentity::of_path(&harmless).unwrap().expect(&file).is_ok());
    }

    #[test]
    fn a_file_that_appears_with_content_is_looked_at_first() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new");
        let (roots, permits) = (Roots::default(), Permits::new(Policy::Always));
        let check = || allow(&roots, &path, &permits);
        let open = || {
            fs::write(&path, "theirs").unwrap();
            open_as(&path, OFlags::WRONLY, 0)
        };
        let refused = open_allowed(check, open).unwrap_err();
        assert!(matches!(refused, ExecuteError::NotConsented { .. }), "{refused}");
    }

    /// Without /sys nobody can tell whether a loop device shows a file: it was written.
    #[test]
    fn a_file_is_not_written_where_its_use_cannot_be_checked() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("disk.img");
        fs::write(&path, "x").unwrap();
        let blind = Roots { sys: place.path().join("sys"), ..Roots::default() };
        for refused in [
            allow(&blind, &path, &consenting(&path)).unwrap_err(),
            allow_named_file(&blind, &path, &named(&path)).unwrap_err(),
        ] {
            assert!(
                matches!(&refused, ExecuteError::UseNotChecked { what, .. } if what.contains("loop")),
                "{refused}"
            );
        }
        allow(&blind, &place.path().join("new"), &named(&path)).unwrap();
    }

    #[test]
    fn a_database_needs_consent_also_for_a_new_file_and_a_served_one_has_none() {
        let place = tempfile::tempdir().unwrap();
        let (roots, table, new) = (Roots::default(), place.path().join("16384"), place.path().join("new"));
        fs::write(place.path().join("PG_VERSION"), "17\n").unwrap();
        fs::write(&table, "rows").unwrap();
        for path in [&table, &new] {
            for refused in [allow(&roots, path, &named(path)), allow_named_file(&roots, path, &named(path))] {
                let refused = refused.unwrap_err();
                assert!(matches!(refused, ExecuteError::InDatabase { .. }), "{refused}");
                assert!(refused.to_string().contains("--write-consent"), "{refused}");
            }
            allow(&roots, path, &consenting(path)).unwrap();
            allow_named_file(&roots, path, &consenting(path)).unwrap();
            let mut of_directory = named(path);
            of_directory.add_consent(place.path().to_str().unwrap());
            allow(&roots, path, &of_directory).unwrap();
        }
        assert!(allow_directory(&roots, place.path(), &named(&table)).is_err());
        fs::write(place.path().join("postmaster.pid"), "1\n").unwrap();
        for path in [&table, &new] {
            for refused in
                [allow(&roots, path, &consenting(path)), allow_named_file(&roots, path, &consenting(path))]
            {
                let refused = refused.unwrap_err();
                assert!(matches!(refused, ExecuteError::InUse { .. }), "{refused}");
            }
        }
    }

    #[test]
    fn a_search_that_the_user_ends_is_no_refusal() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("disk.img");
        fs::write(&path, [0; 4096]).unwrap();
        let (roots, permits) = (Roots::default(), Permits::new(Policy::WhenHolding));
        let search = |goes_on: &dyn Fn() -> bool| {
            allow_among(&roots, &path, &permits, &OpenFiles::default(), goes_on).map(drop)
        };
        assert!(search(&|| true).is_ok());
        assert!(matches!(search(&|| false), Err(ExecuteError::Interrupted { .. })));
    }

    #[test]
    fn a_file_with_one_byte_between_the_samples_needs_consent() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("disk.img");
        let file = File::create(&path).unwrap();
        file.set_len(32 << 20).unwrap();
        let permits = Permits::new(Policy::WhenHolding);
        allow(&Roots::default(), &path, &permits).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"x", (1 << 20) + (64 << 10)).unwrap();
        let refused = allow(&Roots::default(), &path, &permits).unwrap_err();
        assert!(
            matches!(&refused, ExecuteError::NotConsented { holds: Some(byte), .. } if byte.contains("byte 1114112")),
            "{refused}"
        );
    }
}
