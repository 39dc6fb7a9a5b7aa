//! How files are called, below the directory of all of them, and which comes next where their directory says so.

use fathom_spec::{Entry, Files, Names};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::OwnedFd;

/// Most letters beside the ten digits of a name.
const LETTERS_MOST: u64 = 12;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The names of one worker's files.
pub(super) struct Naming {
    names: Names,
    prefix: String,
    worker: u64,
    /// The number of its first file, where numbers go on from worker to worker.
    first: u64,
    directories: u32,
    original: String,
    /// With the zero at its end that the kernel wants.
    name: Vec<u8>,
}

impl Naming {
    pub(super) fn new(plan: &Files, worker: u32) -> Self {
        let worker = u64::from(worker) + u64::from(plan.first);
        Naming {
            names: plan.names,
            prefix: plan.prefix.clone(),
            original: format!("{}original{worker}", plan.prefix),
            worker,
            first: worker * plan.count,
            directories: plan.directories,
            name: vec![0],
        }
    }

    /// The name that was made last.
    pub(super) fn name(&self) -> &CStr {
        // Names are made with one zero, at their end; a prefix with a zero in it would only be cut there.
        CStr::from_bytes_until_nul(&self.name).unwrap_or_default()
    }

    /// A number to a base of 10 or 16, with so many digits at least.
    fn digits(&mut self, number: u64, base: u64, least: usize) {
        let mut text = [b'0'; 20];
        let (mut left, mut at) = (number, text.len());
        while left > 0 || text.len() - at < least {
            at -= 1;
            text[at] = b"0123456789abcdef"[(left % base) as usize];
            left /= base;
        }
        self.name.extend_from_slice(&text[at..]);
    }

    fn letters(&mut self, seed: u64, number: u64) {
        let mut random = SplitMix64::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut left = ((u128::from(random.next_u64()) * u128::from(LETTERS_MOST + 1)) >> 64) as u64;
        while left > 0 {
            // Six letters of 62 take 36 of 64 bits.
            let mut bits = random.next_u64();
            for _ in 0..left.min(6) {
                self.name.push(LETTERS[(bits % 62) as usize]);
                bits /= 62;
            }
            left -= left.min(6);
        }
    }

    fn folder(&mut self, number: u32) {
        self.name.extend_from_slice(self.prefix.as_bytes());
        self.name.push(b'd');
        self.digits(self.worker, 10, 1);
        self.name.push(b'.');
        self.digits(number.into(), 10, 1);
    }

    /// Makes the name of a directory.
    pub(super) fn of_folder(&mut self, number: u32) {
        self.name.clear();
        self.folder(number);
        self.name.push(0);
    }

    /// Makes the name of a file; with several directories, files are dealt out in turn.
    pub(super) fn of_file(&mut self, number: u32) {
        self.name.clear();
        if self.directories > 0 {
            self.folder(number % self.directories);
            self.name.push(b'/');
        }
        self.name.extend_from_slice(self.prefix.as_bytes());
        let own = self.first + u64::from(number);
        match self.names {
            Names::Plain => {
                self.digits(self.worker, 10, 1);
                self.name.push(b'.');
                self.digits(number.into(), 10, 1);
            }
            Names::NumberFirst { seed } => {
                self.digits(own, 16, 10);
                self.letters(seed, own);
            }
            Names::LettersFirst { seed } => {
                self.letters(seed, own);
                self.digits(own, 16, 10);
            }
        }
        self.name.push(0);
    }

    /// The name of what links lead to; it lies beside the files, or beside their directories.
    pub(super) fn original(&self) -> &str {
        &self.original
    }

    /// Makes the name of what a directory lists.
    fn of_listed(&mut self, folder: u32, listed: &CStr) {
        self.name.clear();
        if self.directories > 0 {
            self.folder(folder);
            self.name.push(b'/');
        }
        self.name.extend_from_slice(listed.to_bytes_with_nul());
    }
}

/// What directories list, one after the other.
pub(super) struct Listing {
    folder: u32,
    dir: Option<Dir>,
    /// This is none of the files.
    not: Option<String>,
}

impl Listing {
    pub(super) fn new(plan: &Files, naming: &Naming) -> Self {
        let links = matches!(plan.entry, Entry::HardLink | Entry::SymbolicLink);
        Listing { folder: 0, dir: None, not: links.then(|| naming.original().to_owned()) }
    }

    /// Makes the next name that is listed; `NOENT`: nothing more is.
    pub(super) fn next(&mut self, root: &OwnedFd, naming: &mut Naming) -> Result<(), Errno> {
        loop {
            let dir = match &mut self.dir {
                Some(dir) => dir,
                None => self.dir.insert(open(root, self.folder, naming)?),
            };
            let Some(entry) = dir.read().transpose()? else {
                self.dir = None;
                self.folder += 1;
                if self.folder >= naming.directories {
                    return Err(Errno::NOENT);
                }
                continue;
            };
            let name = entry.file_name();
            let own = [&b"."[..], b".."].contains(&name.to_bytes());
            if !own && self.not.as_ref().is_none_or(|not| name.to_bytes() != not.as_bytes()) {
                naming.of_listed(self.folder, name);
                return Ok(());
            }
        }
    }
}

fn open(root: &OwnedFd, folder: u32, naming: &mut Naming) -> Result<Dir, Errno> {
    let flags = OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::RDONLY;
    let path = match naming.directories {
        0 => c".",
        _ => {
            naming.of_folder(folder);
            naming.name()
        }
    };
    Dir::new(rustix::fs::openat(root, path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names(plan: &Files, worker: u32) -> Vec<String> {
        let mut naming = Naming::new(plan, worker);
        (0..plan.count as u32)
            .map(|number| {
                naming.of_file(number);
                naming.name().to_str().unwrap().to_owned()
            })
            .collect()
    }

    #[test]
    fn plain_names_tell_worker_and_number_and_their_directory() {
        let plan = Files { prefix: "f".to_owned(), count: 3, ..Files::default() };
        assert_eq!(names(&plan, 4), ["f4.0", "f4.1", "f4.2"]);
        assert_eq!(
            names(&Files { first: 2, directories: 2, ..plan }, 1),
            ["fd3.0/f3.0", "fd3.1/f3.1", "fd3.0/f3.2"]
        );
    }

    #[test]
    fn ten_digits_and_up_to_twelve_letters_are_the_same_for_the_same_seed_and_never_meet() {
        let plan = Files { count: 1000, names: Names::NumberFirst { seed: 7 }, ..Files::default() };
        let first = names(&plan, 0);
        assert_eq!(first, names(&plan, 0));
        assert!(first[17].starts_with("0000000011"));
        assert!(first.is_sorted());
        let lengths: BTreeSet<usize> = first.iter().map(String::len).collect();
        assert_eq!(lengths, (10..=22).collect());
        let turned = names(&Files { names: Names::LettersFirst { seed: 7 }, ..plan.clone() }, 1);
        assert!(turned[5].ends_with("00000003ed"));
        assert!(!turned.is_sorted());
        // A name without letters is the same either way; a directory holds names of one kind.
        for others in [turned, names(&plan, 1)] {
            let all: BTreeSet<&String> = first.iter().chain(&others).collect();
            assert_eq!(all.len(), 2000);
        }
    }
}
