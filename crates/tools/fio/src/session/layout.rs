//! The files of the jobs: looked at, laid out, warmed or dropped from the page cache, removed.

use crate::{FileFacts, FileNeed, Job, Planned};
use anyhow::{Result, bail};
use fathom_engine::{Engine, Permits, Policy};
use fathom_record::{Control, Event, EventKind, Execute, Interval, Steer, Totals};
use fathom_session::environment::{self, Interrupt};
use fathom_session::watch::{Progress, Watch};
use fathom_spec::*;
use rustix::fs::{Advice, FallocateFlags, SeekFrom};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What is known of a path.
pub fn look(path: &str) -> Option<FileFacts> {
    let about = std::fs::metadata(path).ok()?;
    if !about.file_type().is_block_device() {
        return Some(FileFacts { bytes: about.len(), device: false });
    }
    let bytes = File::open(path).ok().and_then(|device| rustix::fs::seek(&device, SeekFrom::End(0)).ok());
    Some(FileFacts { bytes: bytes.unwrap_or(0), device: true })
}

/// What may be written: regular files that a job names, as in fio, unless somebody uses them; block devices that hold
/// something only with the user's word.
pub fn permit(planned: &Planned, engine: &mut Engine) {
    let mut permits = Permits::new(Policy::WhenHolding);
    environment::write_consents().into_iter().for_each(|name| permits.add_consent(name));
    let mut done = HashSet::new();
    for file in planned.members.iter().flat_map(|member| &member.files) {
        if !file.device && done.insert(&file.path) {
            permits.add_consent(&file.path);
        }
    }
    engine.permits = permits;
}

/// Does this engine work on files that must be there?
fn works_in_files(job: &Job) -> bool {
    !job.engine.is_diskless() && !matches!(job.engine.name, "filecreate" | "dircreate")
}

/// Files that a job works on when it opens whatever is below a directory.
const BELOW_MOST: usize = 100_000;

/// All files below a directory, by name.
pub fn below(folder: &str) -> Result<Vec<String>, String> {
    let (mut folders, mut names) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        let cannot = |error: std::io::Error| {
            format!("fio: cannot list {folder}: {error}\nhint: opendir= names a directory that is there")
        };
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let (kind, path) =
                (entry.file_type().map_err(cannot)?, entry.path().to_string_lossy().into_owned());
            match kind {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => names.push(path),
                _ => {}
            }
        }
        if names.len() > BELOW_MOST {
            return Err(format!("fio: more than {BELOW_MOST} files are below {folder}\nhint: name fewer"));
        }
    }
    if names.is_empty() {
        return Err(format!("fio: no file is below {folder}\nhint: opendir= names a directory with files"));
    }
    names.sort();
    Ok(names)
}

/// Says that files are laid out: the job's name, how many, how many bytes.
type Say<'a> = &'a mut dyn FnMut(&str, u64, u64) -> Result<()>;

/// Makes files that are missing or too short. What will be read is written out; what is only written gets its space.
pub fn lay_out(
    jobs: &[Job],
    planned: &Planned,
    engine: &mut Engine,
    interrupt: &Interrupt,
    (made, say): (&mut Vec<String>, Say),
) -> Result<()> {
    let mut done: HashSet<(&str, u64, bool)> = HashSet::new();
    for member in &planned.members {
        let job = &jobs[member.job];
        if !works_in_files(job) || interrupt.raised() {
            continue;
        }
        let directories = job.engine.is_about_directories();
        let writes = job.direction.verbs.iter().any(|verb| verb.writes());
        let short = |file: &&FileNeed| match directories {
            true => !Path::new(&file.path).is_dir(),
            false if file.device => false,
            false => look(&file.path).map_or(file.bytes > 0 || file.grows, |facts| facts.bytes < file.bytes),
        };
        let needed: Vec<&FileNeed> = member
            .files
            .iter()
            .filter(|file| done.insert((&file.path, file.bytes, file.grows)))
            .filter(short)
            .collect();
        if needed.is_empty() {
            continue;
        }
        if !job.files.create_on_open {
            say(&job.name, needed.len() as u64, needed.iter().map(|file| file.bytes).sum())?;
        }
        if !job.files.create {
            bail!("file creation disallowed by allow_file_create=0\nhint: make {} first", needed[0].path);
        }
        let reads = job.direction.verbs.contains(&Verb::Read);
        let holes = job.files.create_on_open && writes;
        let fills = (reads && !holes) || job.files.overwrite || job.data.verify_only;
        for file in needed {
            if directories {
                let cannot = |error| anyhow::anyhow!("cannot make the directory {}: {error}", file.path);
                std::fs::create_dir_all(&file.path).map_err(cannot)?;
                continue;
            }
            make(job, file, fills, engine, interrupt)?;
            made.push(file.path.clone());
        }
    }
    Ok(())
}

fn make(job: &Job, file: &FileNeed, fills: bool, engine: &mut Engine, interrupt: &Interrupt) -> Result<()> {
    let cannot = |error: std::io::Error| {
        let hint = "free some space, or say a smaller size=; directory= says where files are made";
        anyhow::anyhow!("cannot lay out {} with {} bytes: {error}\nhint: {hint}", file.path, file.bytes)
    };
    // What a name has in it is made; what directory= says is there already.
    if let Some(parent) = Path::new(&file.path).parent().filter(|_| job.replay.is_none()) {
        std::fs::create_dir_all(parent).map_err(cannot)?;
    }
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o644).open(&file.path);
    let opened = opened.map_err(cannot)?;
    if !opened.metadata().map_err(cannot)?.is_file() {
        bail!("{} is neither a file nor a block device\nhint: name one of these", file.path);
    }
    let found = opened.metadata().map_err(cannot)?.len();
    let reserved = match job.files.fallocate {
        _ if file.bytes == 0 => Ok(()),
        "none" | "0" => Ok(()),
        "truncate" => opened.set_len(file.bytes),
        "keep" => {
            rustix::fs::fallocate(&opened, FallocateFlags::KEEP_SIZE, 0, file.bytes).map_err(Into::into)
        }
        _ => rustix::fs::fallocate(&opened, FallocateFlags::empty(), 0, file.bytes).map_err(Into::into),
    };
    match reserved {
        Ok(()) => {}
        // A file system that cannot reserve is written to all the same, as in fio.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error()) => {}
        Err(error) => return Err(cannot(error)),
    }
    // What is not written out is a hole, as large as what will be written needs.
    if opened.metadata().map_err(cannot)?.len() < file.bytes && (fills || !file.grows) {
        opened.set_len(file.bytes).map_err(cannot)?;
    }
    if fills {
        fill(&file.path, found, file.bytes, engine, interrupt)?;
        opened.sync_all().map_err(cannot)?;
    }
    Ok(())
}

/// Writes a file out from one place to another, a mebibyte at a time and the rest in one.
fn fill(path: &str, from: u64, to: u64, engine: &mut Engine, interrupt: &Interrupt) -> Result<()> {
    let mut plan = Plan::new(from ^ to);
    let target = PathTarget { access: Access::Write, direct: false, ..PathTarget::direct_read(path) };
    let space = plan.add_target(Target::Path(target));
    let whole = (to - from) / MIB * MIB;
    for (offset, length, block) in [(from, whole, MIB), (from + whole, to - from - whole, to - from - whole)]
    {
        if length == 0 {
            continue;
        }
        let mut blocks = Blocks::random_reads(space, Bytes(block));
        (blocks.pattern, blocks.mix) = (Pattern::Sequential(Begin::First), Mix::Only(Verb::Write));
        blocks.region = (Extent::Bytes(Bytes(offset)), Extent::Bytes(Bytes(length)));
        blocks.queue = QueueKind::Psync;
        let mut stream = Stream::closed("layout", blocks, 1);
        stream.stop.operations = Some(length / block);
        stream.start.after = (0..plan.streams.len() as u32).map(StreamId).collect();
        plan.add_stream(stream);
    }
    let (mut nobody, progress) = ((), Progress::new(false));
    let mut watch = Watch::new(&mut nobody, &progress, interrupt, "layout".to_owned(), Nanos(to));
    let run = engine.execute(&plan, &mut watch).map_err(|error| anyhow::anyhow!("{error}"))?;
    if let Some(fault) = run.faults().next() {
        bail!("laying out {path} failed: {:?}\nhint: free some space, or say a smaller size=", fault.what);
    }
    Ok(())
}

/// Reads files into the page cache, or drops them from it, as the jobs say.
pub fn warm(jobs: &[Job], planned: &Planned) -> Result<()> {
    for member in &planned.members {
        let job = &jobs[member.job];
        if !works_in_files(job) {
            continue;
        }
        for file in &member.files {
            if job.place.invalidate {
                drop_cached(&file.path);
            } else if job.files.pre_read {
                read_through(&file.path)?;
            }
        }
    }
    Ok(())
}

fn drop_cached(path: &str) {
    // Only clean pages can be dropped, and whoever may not open the file cannot drop it: its job will say so.
    if let Ok(file) = File::open(path) {
        let _ = rustix::fs::fdatasync(&file);
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    }
}

fn read_through(path: &str) -> Result<()> {
    let cannot = |error: std::io::Error| anyhow::anyhow!("cannot read {path} before the job: {error}");
    let mut file = File::open(path).map_err(cannot)?;
    let mut buffer = vec![0; MIB as usize];
    while file.read(&mut buffer).map_err(cannot)? > 0 {}
    Ok(())
}

/// Writes the blocks that were not as they should be into files, where a job says so.
pub fn dump(jobs: &[Job], planned: &Planned, engine: &Engine) -> Result<()> {
    let wanted = planned.members.iter().any(|member| jobs[member.job].data.dumps);
    for record in engine.caught.take().iter().filter(|_| wanted) {
        let Some(Target::Path(target)) = planned.plan.targets.get(usize::from(record.target)) else {
            continue;
        };
        let name = Path::new(&target.path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = format!("{name}.{}.received", record.offset);
        std::fs::write(&path, &record.bytes).map_err(|error| {
            anyhow::anyhow!(
                "cannot write {path}: {error}\nhint: verify_dump writes into the working directory"
            )
        })?;
    }
    Ok(())
}

/// Removes the files of jobs that say so.
pub fn unlink(jobs: &[Job], planned: &Planned) -> Result<()> {
    for member in planned.members.iter().filter(|member| jobs[member.job].files.unlink) {
        for file in member.files.iter().filter(|file| !file.device) {
            match std::fs::remove_file(&file.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    bail!("cannot remove {}: {error}", file.path);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Drops the files of a job from the page cache when it begins, if others ran before it.
pub struct Cold<'a> {
    jobs: &'a [Job],
    planned: &'a Planned,
}

impl<'a> Cold<'a> {
    /// Of these jobs.
    pub fn new(jobs: &'a [Job], planned: &'a Planned) -> Self {
        Cold { jobs, planned }
    }
}

impl Control for Cold<'_> {
    fn event(&mut self, event: &Event) {
        let EventKind::Started(stream) = event.what else { return };
        let Some(member) = self.planned.members.get(stream.0 as usize) else { return };
        let waited = !self.planned.plan.streams[stream.0 as usize].start.after.is_empty();
        let job = &self.jobs[member.job];
        if waited && job.place.invalidate && !job.sync.direct && works_in_files(job) {
            member.files.iter().for_each(|file| drop_cached(&file.path));
        }
    }

    fn slot(&mut self, _now_ns: u64, _totals: &[Totals]) -> Steer {
        Steer::Continue
    }

    fn interval(&mut self, _interval: &Interval) {}
}
