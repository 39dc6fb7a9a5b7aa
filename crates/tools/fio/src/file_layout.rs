//! Where a job works: names of files, their sizes, the part of them that is used.

use super::diagnostic::Trouble;
use super::job::Job;
use super::numbers::Amount;
use super::random::mixed;
use fathom_host::storage::ENDLESS;
use fathom_spec::Bytes;

/// What is known of a file or device before anything is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Bytes.
    pub bytes: u64,
    /// A block device: it cannot be made or extended.
    pub device: bool,
}

/// What planning asks of the machine.
pub struct Facts<'a> {
    /// What is known of a path; `None`: there is nothing.
    pub look: &'a dyn Fn(&str) -> Option<FileFacts>,
    /// A number that differs from run to run, for `randrepeat=0`.
    pub chance: u64,
}

/// One file of a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNeed {
    /// Where it is.
    pub path: String,
    /// How large it must be at least.
    pub bytes: u64,
    /// How large it is; `None`: it is not there.
    pub found: Option<u64>,
    /// A block device.
    pub device: bool,
    /// It is no longer than what was written to it: nothing lengthens it before, unless it is written out.
    pub grows: bool,
}

/// Where a clone works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Territory {
    /// Its files, in order.
    pub files: Vec<FileNeed>,
    /// First byte used in each.
    pub offset: u64,
    /// Bytes used in each, of the largest where they differ.
    pub length: u64,
    /// Each file has a size of its own, and is used to its end.
    pub apart: bool,
    /// Bytes of I/O of one loop.
    pub io_bytes: u64,
}

/// The paths of a clone's files.
pub fn paths(job: &Job, clone: u32) -> Vec<String> {
    let files = &job.files;
    let below = |directory: Option<&String>, name: &str| match directory {
        Some(directory) => format!("{}/{name}", directory.trim_end_matches('/')),
        None => name.to_owned(),
    };
    if !files.names.is_empty() {
        return files.names.iter().map(|name| below(files.directories.first(), name)).collect();
    }
    let turn = clone as usize % files.directories.len().max(1);
    let named = |number: u32| {
        files
            .format
            .replace("$jobname", &job.section)
            .replace("$clientuid", "")
            .replace("$jobnum", &clone.to_string())
            .replace("$filenum", &number.to_string())
    };
    (0..files.count.max(1)).map(|number| below(files.directories.get(turn), &named(number))).collect()
}

/// How many files a clone has that are not there.
pub(crate) fn null_files(job: &Job) -> u64 {
    match job.engine.is_serial() || job.replay.is_some() {
        true => 1,
        false if job.files.names.is_empty() => job.files.count.max(1).into(),
        false => job.files.names.len() as u64,
    }
}

/// Where a clone works, from what was said and what is there.
pub fn territory(job: &Job, clone: u32, facts: &Facts) -> Result<Territory, Trouble> {
    let wrong = |what: String, hint: &str| Trouble::at(&job.at, format!("{}: {what}", job.name), hint);
    if job.engine.is_diskless() {
        let bytes = match (job.area.size, job.area.file_size) {
            (Some(Amount::Bytes(bytes)), _) | (None, Some((_, bytes))) => bytes,
            _ if job.engine.is_serial() => 1 << 20,
            _ => return Err(wrong("you need to specify size=".to_owned(), "say size=1g")),
        };
        let count = null_files(job);
        let each = if job.area.size.is_some() { bytes / count } else { bytes };
        let io_bytes = io_bytes(job, each * count, each, count);
        return Ok(Territory { files: Vec::new(), offset: 0, length: each, apart: false, io_bytes });
    }
    let paths = paths(job, clone);
    let count = paths.len() as u64;
    let found: Vec<Option<FileFacts>> = paths.iter().map(|path| (facts.look)(path)).collect();
    let smallest = found.iter().map(|facts| facts.map_or(0, |facts| facts.bytes)).min().unwrap_or(0);
    let together: u64 = found.iter().flatten().map(|facts| facts.bytes).sum();
    let drawn = drawn(job, clone, count, facts.chance);
    let file_size = drawn.iter().copied().max();
    // What each file is to hold, if that was said.
    let each = match (file_size, job.area.size) {
        (Some(bytes), Some(Amount::Percent(percent))) => Some((bytes as f64 * percent / 100.0) as u64),
        (Some(bytes), _) => Some(bytes),
        (None, Some(Amount::Bytes(bytes))) => Some(bytes / count),
        (None, Some(Amount::Percent(percent))) => Some((together as f64 * percent / 100.0) as u64 / count),
        (None, None) => None,
    };
    let real = match (file_size, each) {
        (Some(bytes), _) => bytes,
        (None, Some(each)) if smallest == 0 => each,
        _ => smallest,
    };
    if each.unwrap_or(real) == 0 || (each.is_none() && real == ENDLESS) {
        return Err(wrong(
            "you need to specify size=".to_owned(),
            "say size=1g, or name a file that is there",
        ));
    }
    let offset = offset(job, clone, real);
    let length = length(job, offset, real, each)?;
    let least = least_block(job);
    let shortest = drawn.iter().map(|bytes| bytes.saturating_sub(offset)).min().unwrap_or(length);
    if shortest < least {
        let what = format!("size too small, must not be less than minimum block size: {shortest} < {least}");
        return Err(wrong(what, "say a larger size= or a smaller bs="));
    }
    let apart = drawn.iter().any(|bytes| *bytes != drawn[0]);
    let need = |(number, (path, found)): (usize, (String, Option<FileFacts>))| FileNeed {
        path,
        bytes: match job.area.append {
            true => found.map_or(0, |facts| facts.bytes),
            false => drawn.get(number).copied().unwrap_or(offset + length),
        },
        found: found.map(|facts| facts.bytes),
        device: found.is_some_and(|facts| facts.device),
        grows: grows(job) && count == 1 && !found.is_some_and(|facts| facts.device),
    };
    let files: Vec<FileNeed> = paths.into_iter().zip(found).enumerate().map(need).collect();
    if let Some(small) = files.iter().find(|file| file.device && file.found.unwrap_or(0) < file.bytes) {
        let what = format!(
            "{} holds {} bytes, and {} from {offset} are asked for",
            small.path,
            small.found.unwrap_or(0),
            length
        );
        return Err(wrong(what, "say a smaller size= or offset="));
    }
    let all = match apart {
        true => files.iter().map(|file| file.bytes - offset).fold(0, u64::saturating_add),
        false => length.saturating_mul(count),
    };
    let total = match job.area.size {
        Some(Amount::Bytes(bytes)) => bytes.min(all),
        _ => all,
    };
    // As one file of all their bytes, where they differ: sizes are whole blocks already.
    let (part, parts) = if apart { (all, 1) } else { (length, count) };
    Ok(Territory { files, offset, length, apart, io_bytes: io_bytes(job, total, part, parts) })
}

/// Is a job's file made when it is opened, with nothing in it? The blocks of one that is verified are holes until they are
/// written.
pub fn begins_empty(job: &Job) -> bool {
    job.files.create_on_open && job.data.verify.is_none()
}

/// Is a job's file as long as its writes have made it? Reads need bytes that are there, and so does a mapping.
fn grows(job: &Job) -> bool {
    let only_writes = job.direction.verbs.iter().all(|verb| *verb == fathom_spec::Verb::Write);
    let lengthens = matches!(job.files.fallocate, "none" | "0" | "keep") || job.area.append;
    // What is made when it is opened is empty, whoever reads it.
    (begins_empty(job) || (only_writes && lengthens))
        && !matches!(job.engine.name, "mmap" | "falloc" | "ftruncate")
        && job.replay.is_none()
}

/// What `filesize=` says of each file: of a range each draws its own, whole blocks of the smallest size.
fn drawn(job: &Job, clone: u32, count: u64, chance: u64) -> Vec<u64> {
    let Some((least, most)) = job.area.file_size else { return Vec::new() };
    if least == most {
        return vec![least; count as usize];
    }
    let seed = if job.direction.repeat { job.direction.seed } else { chance };
    let seed = mixed(seed ^ u64::from(clone) << 32 ^ 0xF11E);
    let block = least_block(job).max(1);
    let one = |number: u64| {
        let bytes = least + ((u128::from(mixed(seed ^ number)) * u128::from(most - least + 1)) >> 64) as u64;
        (bytes / block * block).max(least)
    };
    (0..count).map(one).collect()
}

fn length(job: &Job, offset: u64, real: u64, each: Option<u64>) -> Result<u64, Trouble> {
    let percent = matches!(job.area.offset, Some(Amount::Percent(_)))
        || matches!(job.area.increment, Some(Amount::Percent(_)));
    let left = real.saturating_sub(offset);
    // Bytes from a fixed offset lie behind it: a file that is to be made grows by the offset. From a share of the
    // file, and in a file whose size was said, only what is left can be used.
    let share = matches!(job.area.size, Some(Amount::Percent(_)));
    let length = match (each, job.area.file_size) {
        (Some(each), Some(_)) if share => each.min(left),
        (Some(_), Some(_)) | (None, _) => left,
        (Some(each), None) if percent => each.min(left),
        (Some(each), None) => each,
    };
    if length == 0 {
        let what = format!("{}: nothing is left behind offset {offset}", job.name);
        return Err(Trouble::at(&job.at, what, "say a smaller offset="));
    }
    Ok(length)
}

fn offset(job: &Job, clone: u32, real: u64) -> u64 {
    let align = if job.area.align > 0 { job.area.align } else { least_block(job) };
    let settle = |amount: Option<Amount>| match amount {
        None => 0,
        Some(Amount::Bytes(bytes)) => bytes,
        Some(Amount::Percent(percent)) => {
            let bytes = (real as f64 * percent / 100.0) as u64;
            bytes.checked_next_multiple_of(align.max(1)).unwrap_or(bytes)
        }
    };
    settle(job.area.offset).saturating_add(settle(job.area.increment).saturating_mul(u64::from(clone)))
}

/// The smallest I/O of the directions that occur, of which every job has one at least.
pub(crate) fn least_block(job: &Job) -> u64 {
    ranges(job).map(|(least, _)| least).min().unwrap_or(1)
}

/// Of what offsets are multiples.
pub(crate) fn align(job: &Job) -> Bytes {
    match job.sizes.align {
        // In order, an I/O begins where the one before it ended, wherever that is.
        None if job.sizes.unaligned && !job.direction.random => Bytes(1),
        // What stands behind another is not moved.
        _ if !job.direction.random => Bytes(0),
        align => Bytes(align.unwrap_or(0)),
    }
}

/// The sizes of the directions that occur.
pub(crate) fn ranges(job: &Job) -> impl Iterator<Item = (u64, u64)> + '_ {
    job.direction.verbs.iter().map(|verb| job.sizes.ranges[column(*verb)])
}

/// Which of three values, of reads, writes and trims, is a verb's.
pub fn column(verb: fathom_spec::Verb) -> usize {
    match verb {
        fathom_spec::Verb::Read => 0,
        fathom_spec::Verb::Trim => 2,
        _ => 1,
    }
}

/// Bytes of I/O of one loop: what was asked for, else all whole blocks of the files.
fn io_bytes(job: &Job, total: u64, length: u64, count: u64) -> u64 {
    let mut blocks = ranges(job);
    let one = blocks.next().filter(|first| first.0 == first.1 && blocks.all(|other| other == *first));
    let direction = &job.direction;
    let in_order = !direction.random && !direction.identical && direction.verbs.len() == 1;
    let gap = direction.modifier.filter(|gap| *gap > 0 && in_order);
    match (job.area.io_size, one) {
        // As in fio a pass whose last block ends where the file does ends the job; another begins anew.
        (None, Some((block, _)))
            if count == 1
                && gap
                    .is_some_and(|gap| length.saturating_sub(block) % (block + gap.unsigned_abs()) == 0) =>
        {
            length.div_ceil(block + gap.unwrap_or(0).unsigned_abs()) * block
        }
        (Some(Amount::Bytes(bytes)), _) => bytes,
        (Some(Amount::Percent(percent)), _) => (total as f64 * percent / 100.0) as u64,
        (None, Some((block, _))) => (length / block * block * count).min(total / block * block).max(block),
        (None, None) => total,
    }
}

#[cfg(test)]
mod tests {
    use super::super::inherit::tests::jobs;
    use super::super::resolve::meant;
    use super::*;

    const NOTHING: Facts = Facts { look: &|_| None, chance: 1 };

    fn at(text: &str, clone: u32, facts: &Facts) -> Territory {
        let job = meant(&jobs(&format!("[a]\n{text}\n")).unwrap().jobs[0]).unwrap();
        territory(&job, clone, facts).unwrap()
    }

    fn told(text: &str, clone: u32) -> (Vec<(String, u64)>, u64, u64, u64) {
        let place = at(text, clone, &NOTHING);
        let files = place.files.into_iter().map(|file| (file.path, file.bytes)).collect();
        (files, place.offset, place.length, place.io_bytes)
    }

    #[test]
    fn sizes_are_those_of_fio() {
        let file = |name: &str, bytes: u64| (name.to_owned(), bytes);
        let m = 1 << 20;
        assert_eq!(told("size=1m", 0), (vec![file("a.0.0", m)], 0, m, m));
        assert_eq!(told("size=1m\noffset=512k", 0), (vec![file("a.0.0", m + m / 2)], m / 2, m, m));
        assert_eq!(
            told("size=1m\noffset=512k\nfilesize=1m", 0),
            (vec![file("a.0.0", m)], m / 2, m / 2, m / 2)
        );
        assert_eq!(told("size=1m\nbs=3k", 0).3, 341 * 3072);
        assert_eq!(told("size=1m\nio_size=50%", 0).3, m / 2);
        assert_eq!(told("size=1m\nfilesize=4m", 0), (vec![file("a.0.0", 4 * m)], 0, 4 * m, m));
        assert_eq!(told("size=1m\nfilename=f\noffset_increment=1m", 1).0, [file("f", 2 * m)]);
        let (files, _, _, io) = told("size=1m\nnrfiles=3", 1);
        assert_eq!(files, [file("a.1.0", 349_525), file("a.1.1", 349_525), file("a.1.2", 349_525)]);
        assert_eq!(io, 255 * 4096);
        let (files, _, _, io) = told("filesize=512k\nsize=300k\nnrfiles=2", 0);
        assert_eq!(files, [file("a.0.0", m / 2), file("a.0.1", m / 2)]);
        assert_eq!(io, 75 * 4096);
        assert_eq!(told("filesize=512k\nsize=2m\nnrfiles=2", 0).3, m);
        let quarter = told("filename=f\nfilesize=1m\nsize=25%\noffset_increment=25%", 3);
        assert_eq!(quarter, (vec![file("f", m)], 3 * m / 4, m / 4, m / 4));
        assert_eq!(told("size=1m\nioengine=null", 0), (vec![], 0, m, m));
    }

    #[test]
    fn of_a_range_each_file_draws_its_size_in_whole_blocks() {
        let place = at("filesize=64k-256k\nnrfiles=8\noffset=4k", 0, &NOTHING);
        let sizes: Vec<u64> = place.files.iter().map(|file| file.bytes).collect();
        assert!(sizes.iter().all(|bytes| (65_536..=262_144).contains(bytes) && bytes % 4096 == 0));
        assert!(place.apart && sizes.iter().any(|bytes| *bytes != sizes[0]));
        assert_eq!(place.length, sizes.iter().max().unwrap() - 4096);
        assert_eq!(place.io_bytes, sizes.iter().map(|bytes| bytes - 4096).sum::<u64>());
        assert_eq!(at("filesize=64k-256k\nnrfiles=8\noffset=4k", 0, &NOTHING), place, "from the seed");
        assert_ne!(at("filesize=64k-256k\nnrfiles=8\noffset=4k", 1, &NOTHING).files, place.files);
        assert_eq!(at("filesize=64k-256k\nnrfiles=8\nsize=100k", 0, &NOTHING).io_bytes, 102_400);
        let one = at("filesize=64k-256k", 0, &NOTHING);
        assert_eq!((one.apart, one.length), (false, one.files[0].bytes));
    }

    #[test]
    fn names_follow_directories_and_format() {
        let names = |text: &str, clone: u32| -> Vec<String> {
            at(text, clone, &NOTHING).files.into_iter().map(|file| file.path).collect()
        };
        assert_eq!(names("size=1m\ndirectory=/p:/q", 1), ["/q/a.1.0"]);
        assert_eq!(names("size=1m\ndirectory=/p:/q\nfilename=x:y", 1), ["/p/x", "/p/y"]);
        assert_eq!(names("size=1m\nfilename=x\\:y", 0), ["x:y"]);
        assert_eq!(
            names("size=1m\nnrfiles=2\nfilename_format=z/$jobname.$jobnum.$filenum", 3),
            ["z/a.3.0", "z/a.3.1"]
        );
    }

    #[test]
    fn what_is_there_gives_the_size() {
        let facts = Facts { look: &|_| Some(FileFacts { bytes: 10 << 20, device: true }), chance: 1 };
        assert_eq!(at("filename=/dev/x", 0, &facts).length, 10 << 20);
        assert_eq!(at("filename=/dev/x\nsize=50%", 0, &facts).length, 5 << 20);
        let half = at("filename=/dev/x\noffset=50%", 0, &facts);
        assert_eq!((half.offset, half.length), (5 << 20, 5 << 20));
        let job = meant(&jobs("[a]\nfilename=/dev/x\nsize=11m\n").unwrap().jobs[0]).unwrap();
        assert!(territory(&job, 0, &facts).unwrap_err().what.contains("holds 10485760 bytes"));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let wrong = |text: &str| {
            let job = meant(&jobs(&format!("[a]\n{text}\n")).unwrap().jobs[0]).unwrap();
            territory(&job, 0, &NOTHING).unwrap_err().what
        };
        assert_eq!(wrong("rw=write"), "a: you need to specify size=");
        assert!(wrong("size=4k\nbs=8k").contains("must not be less than minimum block size: 4096 < 8192"));
        assert!(wrong("filesize=4k\noffset=4k").contains("nothing is left"));
    }
}
