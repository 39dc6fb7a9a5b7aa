//! Files and directories made, opened, looked at and removed, each verb over all of them before the next.

use super::names::{Listing, Naming};
use crate::guard;
use fathom_drive::{Act, Serial, Trouble};
use fathom_host::Roots;
use fathom_record::{EventKind, ExecuteError};
use fathom_spec::Permits;
use fathom_spec::{Bytes, Entry, Files, StatCall, Stream, StreamId, Verb, names};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One worker's files.
pub(crate) struct Filing {
    plan: Files,
    stream: StreamId,
    /// The directory of all of them: names are looked up from here.
    root: OwnedFd,
    naming: Naming,
    listing: Option<Listing>,
    /// The order in which numbers come for each verb.
    order: Vec<u32>,
    random: Xoshiro256Plus,
    /// Which verb, and how many of its files are done.
    verb: usize,
    done: u64,
    left: u64,
    passes: u64,
    /// Bytes of the file that is made.
    size: u64,
    bytes: Vec<u8>,
    /// A sync is still to come, or is being done.
    syncs: bool,
    syncing: bool,
    /// Who may be removed that was not made here.
    guard: Option<(Roots, Permits)>,
    refused: Option<String>,
    /// The directory lists no further file.
    lost: Option<Errno>,
}

fn refuse(what: &str, hint: &str) -> ExecuteError {
    ExecuteError::Plan { what: what.to_owned(), hint: hint.to_owned() }
}

/// The longest piece in which a file is written where none is asked for.
const PIECE: u64 = 1 << 20;

const PLAIN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);
/// How a file is made that must not be there.
const NEW: OFlags = PLAIN.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::WRONLY);

fn open_root(under: &str) -> Result<OwnedFd, ExecuteError> {
    let hint = || "name a directory that exists".to_owned();
    let flags = OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::RDONLY;
    rustix::fs::open(under, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOTDIR => ExecuteError::Target { what: format!("{under} is no directory"), hint: hint() },
        error => {
            ExecuteError::Target { what: format!("cannot work on files in {under}: {error}"), hint: hint() }
        }
    })
}

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
        if plan.listed && (plan.shuffled || described.workers > 1) {
            return Err(refuse(
                "files come as their directory lists them to one worker, and in no other order",
                "give each worker a stream and a directory of its own",
            ));
        }
        let root = open_root(&plan.under)?;
        if plan.verbs.contains(&Verb::Create) {
            guard::allow_directory(roots, plan.under.as_ref(), permits)?;
        }
        let own = plan.verbs.contains(&Verb::Create);
        let moves = own || plan.verbs.contains(&Verb::Read);
        let most = if plan.piece.0 > 0 { plan.piece.0 } else { PIECE.min(plan.size.0) };
        let piece = if moves { most.max(1) } else { 0 };
        let mut random = Xoshiro256Plus::seed_from_u64(seed);
        let bytes = (0..piece).map(|_| random.next_u64() as u8).collect();
        Ok(Filing {
            root,
            naming: Naming::new(plan, worker),
            listing: None,
            order: (0..plan.count as u32).collect(),
            plan: plan.clone(),
            stream,
            random,
            verb: 0,
            done: 0,
            left: described.stop.operations.unwrap_or(u64::MAX),
            passes: described.stop.passes.unwrap_or(1),
            size: plan.size.0,
            bytes,
            syncs: super::ends_with_sync(described),
            syncing: false,
            // The user's word for the directory is his word for the files in it.
            guard: (!own && !guard::consented(permits, plan.under.as_ref()))
                .then(|| (roots.clone(), permits.clone())),
            refused: None,
            lost: None,
        })
    }

    /// Fisher and Yates: every order as likely as every other.
    fn shuffle(&mut self) {
        for i in (1..self.order.len()).rev() {
            let other = ((u128::from(self.random.next_u64()) * (i as u128 + 1)) >> 64) as usize;
            self.order.swap(i, other);
        }
    }

    fn each_folder(&mut self, act: impl Fn(&OwnedFd, &CStr) -> Result<(), Errno>) -> Result<(), Errno> {
        (0..self.plan.directories).try_for_each(|number| {
            self.naming.of_folder(number);
            act(&self.root, self.naming.name())
        })
    }

    /// Are names made of one file, and not files?
    fn links(&self) -> bool {
        matches!(self.plan.entry, Entry::HardLink | Entry::SymbolicLink)
    }

    fn prepare_creation(&mut self) -> Result<(), Errno> {
        let there = |answer: Result<(), Errno>| match answer {
            Err(Errno::EXIST) => Ok(()),
            answer => answer,
        };
        self.each_folder(|root, name| there(rustix::fs::mkdirat(root, name, Mode::RWXU)))?;
        if !self.links() {
            return Ok(());
        }
        let made = rustix::fs::openat(&self.root, self.naming.original(), NEW, Mode::from_raw_mode(0o600));
        there(made.map(|_| ()))
    }

    /// Before the first file of a verb: directories and the order.
    fn begin_verb(&mut self) {
        let creates = self.plan.verbs[self.verb] == Verb::Create;
        if creates {
            let answer = self.prepare_creation();
            self.refused = answer.err().map(|error| format!("cannot make a directory: {error}"));
        }
        self.listing = (self.plan.listed && !creates).then(|| Listing::new(&self.plan, &self.naming));
        if self.plan.shuffled {
            self.shuffle();
        }
    }

    fn end_verb(&mut self) {
        if self.plan.verbs[self.verb] == Verb::Delete {
            // What others have put there keeps its directory.
            let _ = self.each_folder(|root, name| rustix::fs::unlinkat(root, name, AtFlags::REMOVEDIR));
            if self.links() && self.guard.is_none() {
                let _ = rustix::fs::unlinkat(&self.root, self.naming.original(), AtFlags::empty());
            }
        }
        self.done = 0;
        self.verb += 1;
        if self.verb == self.plan.verbs.len() {
            self.verb = 0;
            self.passes -= 1;
        }
    }

    /// The name of the next file.
    fn choose(&mut self) {
        match &mut self.listing {
            None => self.naming.of_file(self.order[self.done as usize]),
            Some(listing) => {
                self.lost = listing.next(&self.root, &mut self.naming).err();
            }
        }
    }

    /// Reads a file to its end.
    fn read(&mut self) -> Result<u64, Errno> {
        let file = rustix::fs::openat(&self.root, self.naming.name(), PLAIN | OFlags::RDONLY, Mode::empty())?;
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
        rustix::fs::syncfs(self.root.as_fd()).map(|()| 0)
    }

    /// Makes a file that is not there and fills it.
    fn create(&self) -> Result<u64, Errno> {
        let fd = rustix::fs::openat(&self.root, self.naming.name(), NEW, Mode::from_raw_mode(0o600))?;
        let mut left = self.size;
        while left > 0 {
            let piece = &self.bytes[..left.min(self.bytes.len() as u64) as usize];
            match rustix::io::write(&fd, piece) {
                Ok(0) => return Err(Errno::IO),
                Ok(moved) => left -= moved as u64,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        if self.plan.durable {
            rustix::fs::fsync(&fd)?;
        }
        Ok(self.size)
    }

    fn make(&self) -> Result<u64, Errno> {
        let name = self.naming.name();
        match self.plan.entry {
            Entry::File => return self.create(),
            Entry::Directory => rustix::fs::mkdirat(&self.root, name, Mode::RWXU)?,
            Entry::HardLink => {
                rustix::fs::linkat(&self.root, self.naming.original(), &self.root, name, AtFlags::empty())?;
            }
            Entry::SymbolicLink => {
                let original = Path::new(if self.plan.directories > 0 { ".." } else { "." });
                rustix::fs::symlinkat(original.join(self.naming.original()), &self.root, name)?;
            }
        }
        Ok(0)
    }

    /// The directory in which the last file is.
    fn sync_folder(&self) -> Result<(), Errno> {
        let name = self.naming.name().to_bytes();
        let Some(slash) = name.iter().position(|byte| *byte == b'/') else {
            return rustix::fs::fsync(&self.root);
        };
        let flags = OFlags::CLOEXEC | OFlags::DIRECTORY;
        rustix::fs::fsync(rustix::fs::openat(&self.root, &name[..slash], flags, Mode::empty())?)
    }

    fn act(&mut self) -> Result<u64, Errno> {
        if self.syncing {
            return self.sync();
        }
        let (name, directory) = (self.naming.name(), self.plan.entry == Entry::Directory);
        match self.plan.verbs[self.verb] {
            Verb::Read => self.read(),
            Verb::Create => {
                let made = self.make()?;
                if self.plan.durable {
                    self.sync_folder()?;
                }
                Ok(made)
            }
            Verb::Open => {
                let flags = if directory { PLAIN | OFlags::DIRECTORY } else { PLAIN | OFlags::RDWR };
                rustix::fs::openat(&self.root, name, flags, Mode::empty()).map(|_| 0)
            }
            Verb::Stat => {
                // A link is looked through.
                let plain = self.plan.look == StatCall::Link && !self.links();
                let how = if plain { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
                match self.plan.look {
                    StatCall::Extended => {
                        rustix::fs::statx(&self.root, name, how, StatxFlags::BASIC_STATS).map(|_| 0)
                    }
                    _ => rustix::fs::statat(&self.root, name, how).map(|_| 0),
                }
            }
            _ => {
                let how = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
                rustix::fs::unlinkat(&self.root, name, how)?;
                if self.plan.durable {
                    self.sync_folder()?;
                }
                Ok(0)
            }
        }
    }

    fn path(&self) -> PathBuf {
        Path::new(&self.plan.under).join(OsStr::from_bytes(self.naming.name().to_bytes()))
    }

    fn trouble(&self, errno: Errno) -> EventKind {
        EventKind::Fault {
            stream: self.stream,
            verb: if self.syncing { Verb::Sync } else { self.plan.verbs[self.verb] },
            offset: Bytes(0),
            errno: errno.raw_os_error(),
            moved: Bytes(0),
            target: names::shown(&self.path()),
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
        self.choose();
        self.done += 1;
        self.left -= u64::from(self.left != u64::MAX);
        if let (Some((roots, permits)), Verb::Delete) = (&self.guard, self.plan.verbs[self.verb]) {
            let allowed = guard::allow(roots, &self.path(), permits);
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
            return Err(Trouble::Fatal(Box::new(EventKind::Fallback(why))));
        }
        if let Some(errno) = self.lost.take() {
            return Err(Trouble::Fatal(Box::new(self.trouble(errno))));
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
