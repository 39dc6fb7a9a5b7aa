//! The files of the jobs: looked at, laid out, warmed or dropped from the page cache, removed.

use super::members::Members;
use crate::file_layout::begins_empty;
use crate::{FileFacts, FileNeed, Job, Planned};
use anyhow::{Result, bail};
use fathom_engine::guard;
use fathom_host::storage::{ENDLESS, MEMORY_DEVICES};
use fathom_host::{OpenFiles, Roots, output_file, page_cache};
use fathom_record::{Control, Event, EventKind, Execute, ExecuteError, Mismatch, Request, Sample, SampleOf};
use fathom_session::layout::Need;
use fathom_session::stop_at_fault::StopAtFault;
use fathom_session::targets::Ready;
use fathom_session::{Console, Interrupt, errno_text};
use fathom_spec::*;
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What is known of a path.
pub fn look(path: &str) -> Option<FileFacts> {
    let about = std::fs::metadata(path).ok()?;
    if about.file_type().is_char_device() && rustix::fs::major(about.rdev()) == MEMORY_DEVICES {
        return Some(FileFacts { bytes: ENDLESS, device: true });
    }
    if !about.file_type().is_block_device() {
        return Some(FileFacts { bytes: about.len(), device: false });
    }
    let bytes = File::open(path).ok().and_then(|device| rustix::fs::seek(&device, SeekFrom::End(0)).ok());
    Some(FileFacts { bytes: bytes.unwrap_or(0), device: true })
}

/// What may be written: regular files that a job names, as in fio, and block devices that hold something or that others
/// have open with the user's word, `consents`. What is a disk to somebody or swapped on is never written to.
pub fn permits(planned: &Planned, consents: Vec<String>) -> Permits {
    let mut permits = Permits { consents, shared: true, ..Permits::new(Policy::WhenHolding) };
    let mut done = HashSet::new();
    for file in planned.members.iter().flat_map(|member| &member.files) {
        if !file.device && done.insert(&file.path) {
            permits.add_named(&file.path);
        }
    }
    permits
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
            let kind = entry.file_type().map_err(cannot)?;
            let path =
                fathom_spec::names::text(&entry.path()).map_err(|error| format!("fio: {error}"))?.to_owned();
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

/// Announces that files are laid out: the job's name, how many, how many bytes.
pub type Announce<'a> = &'a mut dyn FnMut(&str, u64, u64) -> Result<()>;

/// What the files that are missing or too short take of the file system of the first of them.
pub fn need(planned: &Planned) -> Option<Need> {
    let files = planned.members.iter().flat_map(|member| &member.files).filter(|file| !file.device);
    let mut largest: BTreeMap<&str, u64> = BTreeMap::new();
    for file in files {
        let there = look(&file.path).map_or(0, |facts| facts.bytes);
        let missing = largest.entry(&file.path).or_default();
        *missing = (*missing).max(file.bytes.saturating_sub(there));
    }
    let (first, bytes) = (largest.keys().next()?, largest.values().sum());
    Need::at(Path::new(first), Bytes(bytes))
}

/// Who writes files out before the measurement begins.
pub struct LayoutWriter<'a> {
    /// Who runs plans.
    pub execute: &'a mut dyn Execute,
    /// What may be written.
    pub permits: &'a Permits,
    /// Where /sys, /proc and /dev are.
    pub roots: &'a Roots,
    /// Has the user had enough?
    pub interrupt: &'a Interrupt,
    /// Where faults are told.
    pub console: &'a Console,
}

/// Makes files that are missing or too short. What will be read is written out; what is only written gets its space.
pub fn lay_out(
    jobs: &[Job],
    planned: &Planned,
    writer: &mut LayoutWriter<'_>,
    announce: Announce<'_>,
) -> Result<()> {
    let mut done: HashSet<(&str, u64, bool)> = HashSet::new();
    let others = OpenFiles::read(writer.roots);
    let mut unfilled = Vec::new();
    for member in &planned.members {
        let job = &jobs[member.job];
        if !works_in_files(job) || writer.interrupt.raised() {
            continue;
        }
        let directories = job.engine.is_about_directories();
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
            announce(&job.name, needed.len() as u64, needed.iter().map(|file| file.bytes).sum())?;
        }
        if !job.files.create {
            bail!("file creation disallowed by allow_file_create=0\nhint: make {} first", needed[0].path);
        }
        let reads = job.direction.verbs.contains(&Verb::Read);
        let fills = (reads && !job.files.create_on_open) || job.files.overwrite || job.data.verify_only;
        for file in needed {
            if directories {
                let cannot = |error| anyhow::anyhow!("cannot make the directory {}: {error}", file.path);
                guard::allow_directory(writer.roots, Path::new(&file.path), writer.permits)?;
                std::fs::create_dir_all(&file.path).map_err(cannot)?;
                continue;
            }
            let wanted = make(job, file, fills, &others, writer)?;
            unfilled.extend(wanted);
            if unfilled.len() >= FILLED_TOGETHER {
                writer.fill(&std::mem::take(&mut unfilled))?;
            }
        }
        writer.fill(&std::mem::take(&mut unfilled))?;
    }
    Ok(())
}

/// Files that are written out in one run: for each run it is looked at who has what open, and each has two descriptors.
const FILLED_TOGETHER: usize = 256;

/// A file that is to be written out from one place to another.
struct Unfilled {
    path: String,
    from: u64,
    to: u64,
    file: File,
}

/// Makes a file with its space; answers what of it is to be written out.
fn make(
    job: &Job,
    file: &FileNeed,
    fills: bool,
    others: &OpenFiles,
    writer: &LayoutWriter<'_>,
) -> Result<Option<Unfilled>> {
    let cannot = |error: std::io::Error| {
        let hint = "free some space, or say a smaller size=; directory= says where files are made";
        anyhow::anyhow!("cannot lay out {} with {} bytes: {error}\nhint: {hint}", file.path, file.bytes)
    };
    let path = Path::new(&file.path);
    guard::allow_among(writer.roots, path, writer.permits, others, &|| true)?;
    // What a name has in it is made; what directory= says is there already.
    if let Some(parent) = path.parent().filter(|_| job.replay.is_none()) {
        std::fs::create_dir_all(parent).map_err(cannot)?;
    }
    // A pipe without a partner would keep the open waiting.
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        bail!("{} is neither a file nor a block device\nhint: name one of these", file.path);
    }
    let opened = match guard::open_to_lay_out(writer.roots, path, writer.permits, others, 0o644) {
        Err(ExecuteError::NotOpened { errno, .. }) => {
            return Err(cannot(std::io::Error::from_raw_os_error(errno)));
        }
        opened => opened?,
    };
    if begins_empty(job) && file.grows {
        return Ok(None);
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
        Err(error) if error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error()) => {}
        // What it cannot reserve is no error there either: the first write that finds no room is one.
        Err(error) if job.files.fallocate == "posix" => {
            writer
                .console
                .complain(format_args!("fio: posix_fallocate fails: {}", errno_text::of_error(&error)));
        }
        Err(_) if job.files.fallocate != "truncate" => {}
        Err(error) => return Err(cannot(error)),
    }
    // What is not written out is a hole, as large as what will be written needs.
    if opened.metadata().map_err(cannot)?.len() < file.bytes && (fills || !file.grows) {
        opened.set_len(file.bytes).map_err(cannot)?;
    }
    let (path, from, to) = (file.path.clone(), found, file.bytes);
    Ok((fills && from < to).then_some(Unfilled { path, from, to, file: opened }))
}

/// The plan that writes files out from one place to another, a mebibyte at a time and the rest in one. Files of one
/// length are one stream, others have theirs: small ones side by side, larger ones one after the other, so that the file
/// system can lay each out in one piece.
/// It goes through the page cache as the files were opened, so that it is not the session's own layout, which is past it
/// and of whole blocks.
fn fill_plan<'f>(files: impl Iterator<Item = (&'f str, u64, u64)>) -> Plan {
    let mut plan = Plan::new(0);
    let mut of_length: BTreeMap<u64, Vec<TargetId>> = BTreeMap::new();
    for (path, from, to) in files {
        plan.seed ^= from ^ to;
        let target = PathTarget { access: Access::Write, direct: false, ..PathTarget::direct_read(path) };
        let space = plan.add_target(Target::Path(target));
        match from == 0 && (to <= MIB || to % MIB == 0) {
            true => of_length.entry(to).or_default().push(TargetId(plan.targets.len() as u32 - 1)),
            false => fill_streams(&mut plan, space, from, to),
        }
    }
    for (length, targets) in of_length {
        let whole = length * targets.len() as u64;
        plan.spaces.push(Space::Concat(targets));
        let space = SpaceId(plan.spaces.len() as u32 - 1);
        fill_stream(&mut plan, space, 0..whole, length.min(MIB));
    }
    plan
}

fn fill_streams(plan: &mut Plan, space: SpaceId, from: u64, to: u64) {
    let whole = (to - from) / MIB * MIB;
    for (offset, length, block) in [(from, whole, MIB), (from + whole, to - from - whole, to - from - whole)]
    {
        if length > 0 {
            fill_stream(plan, space, offset..offset + length, block);
        }
    }
}

fn fill_stream(plan: &mut Plan, space: SpaceId, bytes: Range<u64>, block: u64) {
    let length = bytes.end - bytes.start;
    let mut blocks = Blocks::random_reads(space, Bytes(block));
    (blocks.pattern, blocks.mix) = (Pattern::Sequential(Begin::First), Mix::Only(Verb::Write));
    blocks.region = (Extent::Bytes(Bytes(bytes.start)), Extent::Bytes(Bytes(length)));
    blocks.queue = QueueKind::Psync;
    let mut stream = Stream::closed("layout", blocks, 1);
    stream.stop.operations = Some(length / block);
    stream.errors.failures = Failures::End { read: Vec::new(), write: Vec::new(), check: Vec::new() };
    if length >= MIB {
        let before = (plan.streams.len() as u32).checked_sub(1).map(StreamId);
        stream.start.after = before.into_iter().collect();
    }
    plan.add_stream(stream);
}

impl LayoutWriter<'_> {
    fn fill(&mut self, files: &[Unfilled]) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let plan = fill_plan(files.iter().map(|file| (file.path.as_str(), file.from, file.to)));
        let mut stop = StopAtFault(self.interrupt);
        let request = Request::new(&plan).with_permits(self.permits);
        let run = self.execute.execute(request, &mut stop)?.run;
        let errno = run.faults().find_map(|event| match event.what {
            EventKind::Fault { errno, .. } => Some(errno),
            _ => None,
        });
        let Some(errno) = errno else {
            return files.iter().try_for_each(|Unfilled { file, path, .. }| {
                file.sync_all().map_err(|error| anyhow::anyhow!("cannot lay out {path}: {error}"))
            });
        };
        if errno == Errno::NOSPC.raw_os_error() {
            self.console.complain("fio: ENOSPC on laying out file, stopping");
        }
        let what = errno_text::of_number(errno);
        bail!("pid=0, err={errno}/file:fathom, func=write, error={what}")
    }
}

/// The disks under files on which nothing is done.
pub fn idle_disks(ready: &[Ready]) -> Vec<Sample> {
    let storages = ready.iter().filter_map(|one| match one {
        Ready::Existing { storage, .. } => Some(storage),
        _ => None,
    });
    let names: BTreeSet<&str> =
        storages.flat_map(|storage| &storage.disks).map(|disk| disk.name.as_str()).collect();
    let sample =
        |name: &str| Sample { at_ns: 0, of: SampleOf::Disk(name.to_owned()), name: "reads".into(), value: 0 };
    names.into_iter().map(sample).collect()
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
    // Whoever may not open the file cannot drop it: its job will say so.
    if let Ok(file) = File::open(path) {
        let _ = page_cache::drop_cached(&file);
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
pub fn dump(jobs: &[Job], planned: &Planned, mismatches: &[Mismatch]) -> Result<()> {
    let wanted = planned.members.iter().any(|member| jobs[member.job].data.dumps);
    for mismatch in mismatches.iter().filter(|_| wanted) {
        let Some(Target::Path(target)) = planned.plan.targets.get(usize::from(mismatch.target)) else {
            continue;
        };
        let name = Path::new(&target.path).file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        let path = format!("{name}.{}.received", mismatch.offset);
        output_file::write(&Roots::default(), Path::new(&path), &mismatch.bytes).map_err(|error| {
            anyhow::anyhow!(error.with_hint("verify_dump writes into the working directory"))
        })?;
    }
    Ok(())
}

/// Removes the files of jobs that say so, but for what somebody uses.
pub fn unlink(jobs: &[Job], planned: &Planned, roots: &Roots) -> Result<()> {
    let members = || planned.members.iter().filter(|member| jobs[member.job].files.unlink);
    if members().next().is_none() {
        return Ok(());
    }
    let others = OpenFiles::read(roots);
    for file in members().flat_map(|member| &member.files).filter(|file| !file.device) {
        output_file::remove_among(roots, Path::new(&file.path), &others)
            .map_err(|error| anyhow::anyhow!("cannot remove {}: {error}", file.path))?;
    }
    Ok(())
}

/// Drops the files of a job from the page cache when it begins, if others ran before it.
pub struct CacheInvalidation<'a> {
    members: &'a Members<'a>,
}

impl<'a> CacheInvalidation<'a> {
    /// Of these jobs.
    pub fn new(members: &'a Members<'a>) -> Self {
        CacheInvalidation { members }
    }

    /// The files that are dropped when this stream begins.
    fn files(&self, stream: StreamId) -> &'a [FileNeed] {
        let Some(index) = self.members.of_stream(stream) else { return &[] };
        let job = self.members.job(index);
        let waited = !self.members.stream(index).start.after.is_empty();
        match waited && job.place.invalidate && !job.sync.direct && works_in_files(job) {
            true => &self.members.get(index).files,
            false => &[],
        }
    }
}

impl Control for CacheInvalidation<'_> {
    fn event(&mut self, event: &Event) {
        if let EventKind::Started(stream) = event.what {
            self.files(stream).iter().for_each(|file| drop_cached(&file.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::members::fixture::{jobs, planned};
    use super::*;

    /// Streams were taken for clones: with commands around the jobs the files of another job were dropped, or none.
    #[test]
    fn the_files_of_the_job_that_begins_are_dropped_whatever_commands_run_around_it() {
        let jobs = jobs(
            "--allow-exec --size=64k --exec_prerun=true --exec_postrun=true --name=a --filename=first \
             --name=b --filename=second --stonewall",
        );
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        let invalidation = CacheInvalidation::new(&members);
        let dropped = (0..6).map(|stream| {
            let files = invalidation.files(StreamId(stream)).iter();
            files.map(|file| file.path.as_str()).collect::<Vec<_>>()
        });
        let wanted: [&[&str]; 6] = [&[], &["first"], &[], &[], &["second"], &[]];
        assert_eq!(dropped.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_job_that_begins_at_once_found_its_files_dropped_before() {
        let jobs = jobs("--size=64k --name=a --filename=first");
        let planned = planned(&jobs);
        let members = Members::new(&jobs, &planned);
        assert!(CacheInvalidation::new(&members).files(StreamId(0)).is_empty());
    }

    #[test]
    fn a_file_is_written_out_in_mebibytes_and_a_rest() {
        let plan = fill_plan([("x", 512, 512 + 2 * MIB + 100), ("y", 3, 4096)].into_iter());
        let parts: Vec<_> = plan.streams.iter().map(part).collect();
        let whole = (Bytes(512), Bytes(2 * MIB), Bytes(MIB), Some(2));
        let rest = (Bytes(512 + 2 * MIB), Bytes(100), Bytes(100), Some(1));
        let other = (Bytes(3), Bytes(4093), Bytes(4093), Some(1));
        assert_eq!(parts, [whole, rest, other]);
        assert!(plan.streams.iter().all(|stream| stream.start.after.is_empty()));
    }

    /// A thread for each of 1,600 files took longer than the job.
    #[test]
    fn files_of_one_length_are_written_out_by_one_stream() {
        let files = ["a", "b", "c", "d", "e"].into_iter().zip([4096, 3 * MIB, 4096, 3 * MIB, 4096]);
        let plan = fill_plan(files.map(|(name, to)| (name, 0, to)));
        let parts: Vec<_> = plan.streams.iter().map(part).collect();
        let small = (Bytes(0), Bytes(3 * 4096), Bytes(4096), Some(3));
        let large = (Bytes(0), Bytes(6 * MIB), Bytes(MIB), Some(6));
        assert_eq!(parts, [small, large]);
        let members: Vec<_> =
            plan.streams.iter().map(|stream| plan.spaces[space_of(stream)].members()).collect();
        assert_eq!(
            members,
            [[TargetId(0), TargetId(2), TargetId(4)].as_slice(), &[TargetId(1), TargetId(3)]]
        );
        assert_eq!(plan.streams[1].start.after, [StreamId(0)]);
    }

    fn blocks_of(stream: &Stream) -> &Blocks {
        match &stream.work {
            Work::Blocks(blocks) => blocks,
            _ => panic!("no blocks"),
        }
    }

    fn space_of(stream: &Stream) -> usize {
        blocks_of(stream).space.0 as usize
    }

    fn part(stream: &Stream) -> (Bytes, Bytes, Bytes, Option<u64>) {
        let blocks = blocks_of(stream);
        match (blocks.region, &blocks.sizes) {
            ((Extent::Bytes(start), Extent::Bytes(length)), Sizes::One(size)) => {
                (start, length, *size, stream.stop.operations)
            }
            other => panic!("{other:?}"),
        }
    }
}
