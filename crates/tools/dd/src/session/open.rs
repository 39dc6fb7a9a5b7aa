//! Opens dd's two ends as coreutils does: flags, truncation, and what it says when that fails.

use crate::{Flag, Options, Status, named, shell_quoted};
use fathom_engine::{PreopenedTarget, guard};
use fathom_host::Roots;
use fathom_record::{ExecuteError, Preopened, Vocabulary};
use fathom_session::errno_text;
use fathom_spec::{Permits, TargetId};
use rustix::fs::{FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Both ends, open.
pub struct Ends {
    /// For the engine.
    pub preopened: Vec<(TargetId, Preopened)>,
    /// What is said before the copy.
    pub says: Vec<String>,
    /// Nothing can be copied.
    pub cannot: bool,
    /// Something failed, though the copy goes on.
    pub failed: bool,
    /// The input is a device of zeros.
    pub zeros: bool,
}

fn words(error: Errno) -> String {
    errno_text::of_number(error.raw_os_error())
}

/// Opens them; what cannot be opened is what dd says of it.
pub fn open(options: &Options, roots: &Roots, permits: &Permits) -> Result<Ends, String> {
    let input = input(options)?;
    let mut ends = Ends {
        preopened: Vec::new(),
        says: Vec::new(),
        cannot: false,
        failed: false,
        zeros: is_zero(input.as_fd()),
    };
    skip(options, input.as_fd(), &mut ends);
    ends.preopened.push((TargetId(0), PreopenedTarget::to_read(input).attached()));
    let output = output(options, roots, permits, &mut ends)?;
    ends.preopened.push((TargetId(1), output.attached()));
    Ok(ends)
}

fn flags(flags: &BTreeSet<Flag>) -> OFlags {
    let of = |flag: &Flag| match flag {
        Flag::Append => OFlags::APPEND,
        Flag::Direct => OFlags::DIRECT,
        Flag::Directory => OFlags::DIRECTORY,
        Flag::Dsync => OFlags::DSYNC,
        Flag::Sync => OFlags::SYNC,
        Flag::Nonblock => OFlags::NONBLOCK,
        Flag::Noatime => OFlags::NOATIME,
        Flag::Noctty => OFlags::NOCTTY,
        Flag::Nofollow => OFlags::NOFOLLOW,
        Flag::FullBlock | Flag::Nocache | Flag::CountBytes | Flag::SkipBytes | Flag::SeekBytes => {
            OFlags::empty()
        }
    };
    flags.iter().map(of).collect()
}

/// Flags of a descriptor that was handed to the program.
fn set_flags(fd: BorrowedFd<'_>, wanted: OFlags, name: &str) -> Result<(), String> {
    let settable = OFlags::APPEND | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOATIME;
    if wanted.is_empty() {
        return Ok(());
    }
    let is_directory = |about: rustix::fs::Stat| FileType::from_raw_mode(about.st_mode).is_dir();
    let set = match wanted.contains(OFlags::DIRECTORY) && !rustix::fs::fstat(fd).is_ok_and(is_directory) {
        true => Err(Errno::NOTDIR),
        false => rustix::fs::fcntl_getfl(fd)
            .and_then(|now| rustix::fs::fcntl_setfl(fd, now | wanted.intersection(settable))),
    };
    set.map_err(|error| format!("setting flags for '{name}': {}", words(error)))
}

fn input(options: &Options) -> Result<OwnedFd, String> {
    let wanted = flags(&options.input_flags);
    match &options.input {
        Some(name) => {
            rustix::fs::open(name.as_str(), OFlags::RDONLY | wanted | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| format!("failed to open {}: {}", shell_quoted(name), words(error)))
        }
        None => {
            let stdin = std::io::stdin();
            set_flags(stdin.as_fd(), wanted, "standard input")?;
            let copied = stdin.as_fd().try_clone_to_owned();
            copied.map_err(|error| format!("failed to open 'standard input': {error}"))
        }
    }
}

/// What can be said of `skip=` before anything is read.
fn skip(options: &Options, input: BorrowedFd<'_>, ends: &mut Ends) {
    let name = options.input.as_deref().map_or_else(|| "'standard input'".to_owned(), named);
    let Some(skip) = options.skip_bytes() else {
        ends.says.push(format!("{name}: cannot skip: {}", words(Errno::OVERFLOW)));
        ends.cannot = true;
        return;
    };
    let Ok(about) = rustix::fs::fstat(input) else { return };
    let regular = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
    let at = rustix::fs::tell(input).unwrap_or(0);
    let tells = options.status != Status::None;
    if tells && skip > 0 && regular && at.saturating_add(skip) > about.st_size as u64 {
        ends.says.push(format!("{name}: {}", crate::report::SHORT_SKIP));
    }
}

fn output(
    options: &Options,
    roots: &Roots,
    permits: &Permits,
    ends: &mut Ends,
) -> Result<PreopenedTarget, String> {
    let wanted = flags(&options.output_flags);
    let Some(name) = &options.output else {
        let stdout = std::io::stdout();
        set_flags(stdout.as_fd(), wanted, "standard output")?;
        let target = PreopenedTarget::standard_output(roots, permits)
            .map_err(|error| error.in_words(&Vocabulary::PEER))?;
        if options.seek.value > 0 {
            seek(options, stdout.as_fd(), "'standard output'", ends);
        }
        return Ok(target);
    };
    let path = Path::new(name);
    let truncates = !options.converts("notrunc");
    let mut how = OFlags::WRONLY | wanted | OFlags::CLOEXEC;
    if !options.converts("nocreat") {
        how |= OFlags::CREATE;
    }
    if options.converts("excl") {
        how |= OFlags::EXCL;
    }
    if truncates && options.seek.value > 0 && options.seek_bytes().is_none() {
        let (seek, size) = (options.seek.value, options.write_size);
        return Err(format!(
            "offset too large: cannot truncate to a length of seek={seek} ({size}-byte) blocks"
        ));
    }
    let open = || rustix::fs::open(path, how, Mode::from_raw_mode(0o666)).map_err(Refusal::System);
    let opened = guard::open_allowed(|| guard::allow_named_file(roots, path, permits), open);
    let (fd, allowed) = opened.map_err(|refusal| match refusal {
        Refusal::Guard(error) => error.in_words(&Vocabulary::PEER),
        Refusal::System(error) => format!("failed to open {}: {}", shell_quoted(name), words(error)),
    })?;
    // Not by O_TRUNC: it would empty what was not looked at.
    if truncates {
        truncate(options, fd.as_fd(), name, ends);
    }
    if options.seek.value > 0 {
        seek(options, fd.as_fd(), &named(name), ends);
    }
    Ok(PreopenedTarget::to_write(fd, &allowed))
}

/// Why an output is not opened.
enum Refusal {
    Guard(ExecuteError),
    System(Errno),
}

impl From<ExecuteError> for Refusal {
    fn from(error: ExecuteError) -> Self {
        Refusal::Guard(error)
    }
}

/// What lies behind `seek=` is cut off before anything is written.
fn truncate(options: &Options, fd: BorrowedFd<'_>, name: &str, ends: &mut Ends) {
    let Some(bytes) = options.seek_bytes() else { return };
    let regular = rustix::fs::fstat(fd)
        .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile);
    if let (true, Err(error)) = (regular, rustix::fs::ftruncate(fd, bytes)) {
        let (name, error) = (shell_quoted(name), words(error));
        ends.says.push(format!("failed to truncate to {bytes} bytes in output file {name}: {error}"));
        ends.failed = true;
    }
}

/// Can the output be stepped over at all? Where it cannot, nothing is copied.
fn seek(options: &Options, fd: BorrowedFd<'_>, name: &str, ends: &mut Ends) {
    let bytes = options.seek_bytes().unwrap_or(i64::MAX as u64) as i64;
    let there = rustix::fs::seek(fd, SeekFrom::Current(bytes));
    match there.and_then(|_| rustix::fs::seek(fd, SeekFrom::Current(-bytes))) {
        Ok(_) => {}
        Err(error) => {
            ends.says.push(format!("{name}: cannot seek: {}", words(error)));
            ends.cannot = true;
        }
    }
}

/// A device that gives zeros for ever.
fn is_zero(fd: BorrowedFd<'_>) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|about| {
        FileType::from_raw_mode(about.st_mode) == FileType::CharacterDevice
            && (rustix::fs::major(about.st_rdev), rustix::fs::minor(about.st_rdev)) == (1, 5)
    })
}
