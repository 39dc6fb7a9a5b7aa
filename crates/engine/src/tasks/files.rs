//! Files and directories made, opened, looked at and removed, each verb over all of them before the next.

use crate::guard::{self, Permits};
use fathom_drive::{Act, Serial, Trouble};
use fathom_host::Roots;
use fathom_record::{ExecuteError, Happening};
use fathom_spec::{Bytes, Entry, Files, StatCall, Stream, StreamId, Verb};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::path::PathBuf;

/// One worker's files.
pub(crate) struct Filing {
    plan: Files,
    stream: StreamId,
    worker: u32,
    /// The order in which numbers come for each verb after the first, and for the first if it is not creation.
    order: Vec<u32>,
    random: Xoshiro256Plus,
    /// Which verb, and how many of its files are done.
    verb: usize,
    done: u64,
    left: u64,
    passes: u64,
    path: PathBuf,
    /// Bytes of the file that is made.
    size: u64,
    bytes: Vec<u8>,
    /// A sync is still to come, or is being done.
    syncs: bool,
    syncing: bool,
    /// Who may be removed that was not made here.
    guard: Option<(Roots, Permits)>,
    refused: Option<String>,
}

fn refuse(what: &str, hint: &str) -> ExecuteError {
    ExecuteError::Plan { what: what.to_owned(), hint: hint.to_owned() }
}

/// The longest piece in which a file is written.
const PIECE: u64 = 1 << 20;

impl Filing {
    pub(crate) fn new(
        plan: &Files,
        stream: StreamId,
        worker: u32,
        described: &Stream,
        seed: u64,
        (roots, permits): (&Roots, &Permits),
    ) -> Result<Self, ExecuteError> {
        let known = [Verb::Create, Verb::Open, Verb::Read, Verb::Stat, Verb::Delete];
        if plan.verbs.is_empty() || plan.verbs.iter().any(|verb| !known.contains(verb)) {
            return Err(refuse(
                "files are made, opened, read, looked at and removed",
                "use these verbs only",
            ));
        }
        if plan.size_least.is_some_and(|least| least.0 > plan.size.0) {
            return Err(refuse("the smallest file is larger than the largest", "turn them round"));
        }
        if plan.prefix.contains('/') || plan.count == 0 || plan.count > u64::from(u32::MAX) {
            return Err(refuse(
                "a number of files from 1 to 2^32 - 1 has names without a slash",
                "name them so",
            ));
        }
        let about = rustix::fs::stat(&plan.under).map_err(|error| ExecuteError::Target {
            what: format!("cannot work on files in {}: {error}", plan.under),
            hint: "name a directory that exists".to_owned(),
        })?;
        if !rustix::fs::FileType::from_raw_mode(about.st_mode).is_dir() {
            return Err(ExecuteError::Target {
                what: format!("{} is no directory", plan.under),
                hint: "name a directory that exists".to_owned(),
            });
        }
        let own = plan.verbs.contains(&Verb::Create);
        let moves = own || plan.verbs.contains(&Verb::Read);
        let piece = if moves { plan.size.0.clamp(1, PIECE) } else { 0 };
        let mut random = Xoshiro256Plus::seed_from_u64(seed);
        let bytes = (0..piece).map(|_| random.next_u64() as u8).collect();
        Ok(Filing {
            order: (0..plan.count as u32).collect(),
            plan: plan.clone(),
            stream,
            worker,
            random,
            verb: 0,
            done: 0,
            left: described.stop.operations.unwrap_or(u64::MAX),
            passes: described.stop.passes.unwrap_or(1),
            path: PathBuf::new(),
            size: plan.size.0,
            bytes,
            syncs: super::ends_with_sync(described),
            syncing: false,
            // The user's word for the directory is his word for the files in it.
            guard: (!own && !permits.consented(plan.under.as_ref()))
                .then(|| (roots.clone(), permits.clone())),
            refused: None,
        })
    }

    /// Fisher and Yates: every order as likely as every other.
    fn shuffle(&mut self) {
        for i in (1..self.order.len()).rev() {
            let other = ((u128::from(self.random.next_u64()) * (i as u128 + 1)) >> 64) as usize;
            self.order.swap(i, other);
        }
    }

    /// The directory of a file; with several, files are dealt out in turn.
    fn folder(&self, number: u32) -> PathBuf {
        let under = PathBuf::from(&self.plan.under);
        match self.plan.directories {
            0 => under,
            count => under.join(format!("{}d{}.{}", self.plan.prefix, self.worker, number % count)),
        }
    }

    fn each_folder(&self, act: impl Fn(&PathBuf) -> Result<(), Errno>) -> Result<(), Errno> {
        (0..self.plan.directories).try_for_each(|number| act(&self.folder(number)))
    }

    /// Before the first file of a verb: directories and the order.
    fn begin_verb(&mut self) {
        let verb = self.plan.verbs[self.verb];
        if verb == Verb::Create {
            let made = self.each_folder(|path| match rustix::fs::mkdir(path, Mode::RWXU) {
                Err(Errno::EXIST) => Ok(()),
                answer => answer,
            });
            self.refused = made.err().map(|error| format!("cannot make a directory: {error}"));
        }
        if self.plan.shuffled {
            self.shuffle();
        }
    }

    fn end_verb(&mut self) {
        if self.plan.verbs[self.verb] == Verb::Delete {
            // What others have put there keeps its directory.
            let _ = self.each_folder(|path| rustix::fs::rmdir(path));
        }
        self.done = 0;
        self.verb += 1;
        if self.verb == self.plan.verbs.len() {
            self.verb = 0;
            self.passes -= 1;
        }
    }

    /// Reads a file to its end.
    fn read(&mut self) -> Result<u64, Errno> {
        let plain = OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(&self.path, plain | OFlags::RDONLY, Mode::empty())?;
        let mut bytes = 0;
        loop {
            match rustix::io::read(&file, &mut self.bytes[..])? {
                0 => return Ok(bytes),
                more => bytes += more as u64,
            }
        }
    }

    /// Makes everything of the file system durable.
    fn sync(&self) -> Result<u64, Errno> {
        let flags = OFlags::CLOEXEC | OFlags::DIRECTORY;
        let folder = rustix::fs::open(&self.plan.under, flags, Mode::empty())?;
        rustix::fs::syncfs(folder).map(|()| 0)
    }

    fn act(&mut self) -> Result<u64, Errno> {
        if self.syncing {
            return self.sync();
        }
        if self.plan.verbs[self.verb] == Verb::Read {
            return self.read();
        }
        let (path, directory) = (&self.path, self.plan.entry == Entry::Directory);
        let plain = OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match self.plan.verbs[self.verb] {
            Verb::Create if directory => rustix::fs::mkdir(path, Mode::RWXU).map(|()| 0),
            Verb::Create => {
                let flags = plain | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
                let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
                let mut left = self.size;
                while left > 0 {
                    let piece = &self.bytes[..left.min(PIECE) as usize];
                    std::io::Write::write_all(&mut &file, piece)
                        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                    left -= piece.len() as u64;
                }
                Ok(self.size)
            }
            Verb::Open => {
                let flags = if directory { plain | OFlags::DIRECTORY } else { plain | OFlags::RDWR };
                rustix::fs::open(path, flags, Mode::empty()).map(|_| 0)
            }
            Verb::Stat => match self.plan.look {
                StatCall::Link => rustix::fs::lstat(path).map(|_| 0),
                StatCall::File => rustix::fs::stat(path).map(|_| 0),
                StatCall::Extended => {
                    rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS).map(|_| 0)
                }
            },
            _ if directory => rustix::fs::rmdir(path).map(|()| 0),
            _ => rustix::fs::unlink(path).map(|()| 0),
        }
    }

    fn trouble(&self, errno: Errno) -> Happening {
        Happening::Fault {
            stream: self.stream,
            verb: if self.syncing { Verb::Sync } else { self.plan.verbs[self.verb] },
            offset: Bytes(0),
            errno: errno.raw_os_error(),
            moved: Bytes(0),
            target: self.path.to_string_lossy().into_owned(),
            times: 1,
        }
    }
}

impl Serial for Filing {
    fn next(&mut self, _now_ns: u64) -> Option<Act> {
        if self.done == self.plan.count {
            self.end_verb();
        }
        if self.passes == 0 || self.left == 0 {
            self.syncing = std::mem::take(&mut self.syncs);
            let cell = self.plan.verbs.len() as u8;
            return self.syncing.then_some(Act {
                verb: Verb::Sync,
                cell,
                bytes: 0,
                paced: false,
                wait_ns: 0,
            });
        }
        if self.done == 0 {
            self.begin_verb();
        }
        let number = self.order[self.done as usize];
        self.done += 1;
        self.left -= u64::from(self.left != u64::MAX);
        let worker = self.worker + self.plan.first;
        self.path = self.folder(number).join(format!("{}{worker}.{number}", self.plan.prefix));
        if let (Some((roots, permits)), Verb::Delete) = (&self.guard, self.plan.verbs[self.verb]) {
            let allowed = guard::allow(roots, &self.path, permits);
            self.refused = allowed.err().map(|error| error.to_string());
        }
        let verb = self.plan.verbs[self.verb];
        if let Some(least) = self.plan.size_least {
            let range = u128::from(self.plan.size.0 - least.0) + 1;
            self.size = least.0 + ((u128::from(self.random.next_u64()) * range) >> 64) as u64;
        }
        Some(Act {
            verb,
            cell: self.verb as u8,
            bytes: self.size.min(u64::from(u32::MAX)) as u32,
            paced: true,
            wait_ns: 0,
        })
    }

    fn perform(&mut self) -> Result<u32, Trouble> {
        if let Some(why) = self.refused.take() {
            return Err(Trouble::Fatal(Box::new(Happening::Fallback(why))));
        }
        match self.act() {
            Ok(bytes) => Ok(bytes.min(u64::from(u32::MAX)) as u32),
            Err(errno @ (Errno::NOSPC | Errno::ROFS | Errno::IO)) => {
                Err(Trouble::Fatal(Box::new(self.trouble(errno))))
            }
            Err(errno) => Err(Trouble::Failed(Box::new(self.trouble(errno)))),
        }
    }
}
