//! The one door for files that fathom writes beside its loads: reports, logs, recordings, states. They are regular files,
//! pipes and character devices that nobody else is at work on, never devices: those are for loads, which have a guard of
//! their own. Knows nothing of what is written.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fathom_spec::names::shown;

use crate::device_users::{Closeness, DeviceUses, inspect_among};
use crate::file_identity::FileIdentity;
use crate::open_files::OpenFiles;
use crate::roots::{Roots, Unknown};
use crate::storage::{directory_of, place_of_new};
use crate::sys::has_writers;
use crate::use_kind::UseKind;

/// Why a file is not written, or not removed.
#[derive(Debug)]
pub enum OutputFileError {
    /// It is a block device.
    Device(PathBuf),
    /// It is a directory.
    Directory(PathBuf),
    /// Somebody uses it, or it is a database's.
    InUse {
        /// Its path.
        path: PathBuf,
        /// By whom and how.
        by: String,
    },
    /// A use that could not be checked.
    NotChecked {
        /// Its path.
        path: PathBuf,
        /// Which use, and why not.
        unknown: Unknown,
    },
    /// The system refused it.
    System {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl OutputFileError {
    /// Which file.
    pub fn path(&self) -> &Path {
        match self {
            OutputFileError::Device(path) | OutputFileError::Directory(path) => path,
            OutputFileError::InUse { path, .. }
            | OutputFileError::NotChecked { path, .. }
            | OutputFileError::System { path, .. } => path,
        }
    }

    /// What is wrong and what to do; `hint` is what helps where only the system refused.
    pub fn with_hint(&self, hint: &str) -> String {
        let hint = match self {
            OutputFileError::System { .. } => hint,
            _ => "name another file, best one that is not there yet",
        };
        format!("cannot write {}: {self}\nhint: {hint}", shown(self.path()))
    }
}

/// The reason, without the file's name.
impl fmt::Display for OutputFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputFileError::Device(_) => {
                out.write_str("it is a block device, and only loads write to devices")
            }
            OutputFileError::Directory(_) => out.write_str("it is a directory"),
            OutputFileError::InUse { by, .. } => out.write_str(by),
            OutputFileError::NotChecked { unknown, .. } => {
                write!(out, "{} ({}) could not be checked", unknown.what, unknown.why)
            }
            OutputFileError::System { error, .. } => error.fmt(out),
        }
    }
}

impl std::error::Error for OutputFileError {}

impl From<OutputFileError> for io::Error {
    fn from(error: OutputFileError) -> Self {
        match error {
            OutputFileError::System { error, .. } => error,
            other => io::Error::other(other.to_string()),
        }
    }
}

/// A file that takes its place whole: a regular one is written beside and renamed by [`OutputFile::commit`]; without that
/// nothing is left of it. Pipes and character devices take the bytes as they come.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: File,
    beside: Option<PathBuf>,
}

impl OutputFile {
    /// A new file, or a new content for one that is there.
    pub fn create(roots: &Roots, path: &Path) -> Result<Self, OutputFileError> {
        let place = Place::find(roots, path)?;
        match place.present {
            Present::Stream => Ok(OutputFile { file: place.open(false)?, path: place.path, beside: None }),
            Present::Missing => OutputFile::beside(place, None),
            Present::Regular(ref about) => {
                let about = about.clone();
                match OutputFile::beside(place, Some(&about)) {
                    // The file may be written, though its directory may not.
                    Err(OutputFileError::System { error, .. }) if is_refusal(&error) => {
                        let file = grow(roots, path)?;
                        Ok(OutputFile { file, path: path.to_owned(), beside: None })
                    }
                    made => made,
                }
            }
        }
    }

    fn beside(place: Place, former: Option<&fs::Metadata>) -> Result<Self, OutputFileError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(".fathom-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let beside = place.path.with_file_name(name);
        let failed = |error| OutputFileError::System { path: place.path.clone(), error };
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&beside);
        let made =
            OutputFile { file: opened.map_err(failed)?, path: place.path.clone(), beside: Some(beside) };
        if let Some(former) = former {
            // Only root can give it to its owner.
            let _ = fchown(&made.file, Some(former.uid()), Some(former.gid()));
            let mode = Permissions::from_mode(former.mode() & 0o7777);
            made.file.set_permissions(mode).map_err(failed)?;
        }
        Ok(made)
    }

    /// All was written: the file takes its name.
    pub fn commit(mut self) -> Result<(), OutputFileError> {
        let Some(beside) = self.beside.take() else { return Ok(()) };
        fs::rename(&beside, &self.path).map_err(|error| {
            self.beside = Some(beside);
            OutputFileError::System { path: self.path.clone(), error }
        })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

/// Writes a whole file.
pub fn write(roots: &Roots, path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputFileError> {
    let mut file = OutputFile::create(roots, path)?;
    let written = file.write_all(bytes.as_ref()).and_then(|()| file.flush());
    written.map_err(|error| OutputFileError::System { path: path.to_owned(), error })?;
    file.commit()
}

/// An empty file that is seen to grow while it is written.
pub fn grow(roots: &Roots, path: &Path) -> Result<File, OutputFileError> {
    let place = Place::find(roots, path)?;
    let file = place.open(true)?;
    if !matches!(place.present, Present::Stream) {
        file.set_len(0).map_err(|error| OutputFileError::System { path: place.path, error })?;
    }
    Ok(file)
}

/// A file that grows from where it ends.
pub fn append(roots: &Roots, path: &Path) -> Result<File, OutputFileError> {
    Place::find(roots, path)?.open(true)
}

/// Whether a file can be opened to be read and written; nothing of it is changed.
pub fn is_writable(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).write(true).open(path).map(drop)
}

/// Removes a file that nobody uses; one that is not there is no error.
pub fn remove(roots: &Roots, path: &Path) -> Result<(), OutputFileError> {
    remove_among(roots, path, &OpenFiles::read(roots))
}

/// The same for one of many: what other processes have open was looked at just before.
pub fn remove_among(roots: &Roots, path: &Path, open: &OpenFiles) -> Result<(), OutputFileError> {
    let failed = |error| OutputFileError::System { path: path.to_owned(), error };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        // Of a link only the link goes.
        Ok(about) if about.is_symlink() => {}
        Ok(about) if about.file_type().is_block_device() => {
            return Err(OutputFileError::Device(path.to_owned()));
        }
        Ok(about) if about.is_file() => {
            let found = inspect_among(roots, path, open, Closeness::Use).map_err(failed)?;
            free(path, &found.uses, found.unchecked_use, true)?;
        }
        Ok(_) => {}
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Nobody is at work on it and it is no database's. `held`: another's opening is in the way.
fn free(
    path: &Path,
    uses: &DeviceUses,
    unchecked: Option<Unknown>,
    held: bool,
) -> Result<(), OutputFileError> {
    let in_the_way = uses.holds.iter().find(|one| match one.kind {
        UseKind::HeldOpen | UseKind::HeldForReading => held,
        kind => kind.is_in_use() || kind == UseKind::Database,
    });
    if let Some(one) = in_the_way {
        return Err(OutputFileError::InUse { path: path.to_owned(), by: one.detail.clone() });
    }
    match unchecked {
        Some(unknown) => Err(OutputFileError::NotChecked { path: path.to_owned(), unknown }),
        None => Ok(()),
    }
}

/// What stands at a path.
#[derive(Debug)]
enum Present {
    Missing,
    Regular(fs::Metadata),
    /// A pipe or a character device.
    Stream,
}

/// A path that may be written.
#[derive(Debug)]
struct Place {
    /// With its links followed.
    path: PathBuf,
    present: Present,
}

impl Place {
    fn find(roots: &Roots, path: &Path) -> Result<Self, OutputFileError> {
        let failed = |error| OutputFileError::System { path: path.to_owned(), error };
        let about = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Place::missing(roots, path),
            about => about.map_err(failed)?,
        };
        let kind = about.file_type();
        if kind.is_block_device() {
            return Err(OutputFileError::Device(path.to_owned()));
        }
        if kind.is_dir() {
            return Err(OutputFileError::Directory(path.to_owned()));
        }
        if !kind.is_file() || own_stream(path).is_some() {
            return Ok(Place { path: path.to_owned(), present: Present::Stream });
        }
        let path = fs::canonicalize(path).map_err(failed)?;
        // To look at all processes takes long on a large machine.
        let unwritten = File::open(&path).is_ok_and(|file| has_writers(file.as_fd()) == Some(false));
        let mut open = if unwritten { OpenFiles::default() } else { OpenFiles::read(roots) };
        let mut found = inspect_among(roots, &path, &open, Closeness::Use).map_err(failed)?;
        if unwritten && !found.uses.holds.is_empty() {
            open = OpenFiles::read(roots);
            found = inspect_among(roots, &path, &open, Closeness::Use).map_err(failed)?;
        }
        // Whoever only reads it goes on with what he has.
        let writers = open.of_file(about.dev(), about.ino()).iter().any(|opener| opener.writes);
        free(&path, &found.uses, found.unchecked_use, writers)?;
        Ok(Place { path, present: Present::Regular(about) })
    }

    fn missing(roots: &Roots, path: &Path) -> Result<Self, OutputFileError> {
        let path = place_of_new(path);
        if let Some((database, _)) = OpenFiles::default().database_of(roots, directory_of(&path)) {
            return Err(OutputFileError::InUse { by: format!("its directory is {database}"), path });
        }
        Ok(Place { path, present: Present::Missing })
    }

    /// Opens what was looked at, and nothing else; its content is as it was.
    fn open(&self, append: bool) -> Result<File, OutputFileError> {
        let failed = |error| OutputFileError::System { path: self.path.clone(), error };
        if let Some(own) = own_stream(&self.path) {
            return own.map_err(failed);
        }
        let is_stream = matches!(self.present, Present::Stream);
        let mut options = OpenOptions::new();
        options.write(true).append(append && !is_stream).create(!is_stream).truncate(false);
        let file = options.open(&self.path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let is_it = match &self.present {
            Present::Regular(former) => FileIdentity::of(former) == FileIdentity::of(&about),
            Present::Missing => about.is_file() && about.len() == 0,
            Present::Stream => !about.is_file() && !about.file_type().is_block_device(),
        };
        match is_it {
            true => Ok(file),
            false => Err(failed(io::Error::other("another file has taken its name meanwhile"))),
        }
    }
}

/// Standard output and standard error by their names: whoever started the program chose where they go.
fn own_stream(path: &Path) -> Option<io::Result<File>> {
    let descriptor = match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => io::stdout().as_fd().try_clone_to_owned(),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(descriptor.map(File::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn roots() -> Roots {
        Roots::default()
    }

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_or_left_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("page.html");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut file = OutputFile::create(&roots(), &path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&roots(), &path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing stays beside it");
    }

    #[test]
    fn a_link_leads_to_the_file_that_is_written() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        for text in ["new", "newer"] {
            write(&roots(), &link, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn directories_and_what_others_write_to_are_refused_and_readers_go_on() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(write(&roots(), place.path(), "x"), Err(OutputFileError::Directory(_))));
        let hold = |writes: bool| {
            let file = OpenOptions::new().read(true).write(writes).open(&path).unwrap();
            Command::new("sleep").arg("60").stdin(Stdio::from(file)).spawn().unwrap()
        };
        let mut writer = hold(true);
        let refused = [
            write(&roots(), &path, "x").unwrap_err(),
            grow(&roots(), &path).unwrap_err(),
            append(&roots(), &path).unwrap_err(),
            remove(&roots(), &path).unwrap_err(),
        ];
        writer.kill().and_then(|()| writer.wait()).unwrap();
        for error in refused {
            assert!(matches!(&error, OutputFileError::InUse { by, .. } if by.contains("sleep")), "{error:?}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        let mut reader = hold(false);
        let read = append(&roots(), &path).and_then(|_| write(&roots(), &path, "ours"));
        reader.kill().and_then(|()| reader.wait()).unwrap();
        read.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        remove(&roots(), &path).unwrap();
        remove(&roots(), &path).unwrap();
    }

    #[test]
    fn a_database_directory_gets_no_report_and_loses_no_file() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("PG_VERSION"), "17\n").unwrap();
        let table = place.path().join("16384");
        fs::write(&table, "rows").unwrap();
        for path in [&table, &place.path().join("page.html")] {
            let error = write(&roots(), path, "x").unwrap_err();
            assert!(error.to_string().contains("a data directory of PostgreSQL"), "{error}");
        }
        assert!(remove(&roots(), &table).is_err());
        assert_eq!(fs::read_to_string(&table).unwrap(), "rows");
    }

    #[test]
    fn character_devices_take_bytes_and_a_file_is_not_touched_where_nothing_can_be_checked() {
        write(&roots(), Path::new("/dev/null"), "x").unwrap();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "theirs").unwrap();
        let blind = Roots { sys: place.path().join("sys"), ..Roots::default() };
        let error = write(&blind, &path, "x").unwrap_err();
        assert!(matches!(error, OutputFileError::NotChecked { .. }), "{error:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        write(&blind, &place.path().join("new"), "x").unwrap();
    }
}
