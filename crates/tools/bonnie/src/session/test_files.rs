//! What is on the disk while tests run: the file of the bulk tests, the directory of the others, one for each copy.

use super::CLEANING;
use crate::{Options, Test};
use fathom_engine::guard;
use fathom_host::{Roots, output_file};
use fathom_record::Vocabulary;
use fathom_spec::{Permits, names as file_names};
use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};

/// One path for each copy of the tests. What this run made there is removed whatever happens, and nothing else: in a
/// container another run has the same process number.
pub struct TestFiles {
    directory: PathBuf,
    paths: Vec<TestPath>,
}

struct TestPath {
    path: PathBuf,
    /// This run made what is there.
    made: Cell<bool>,
}

/// The names of the test files of this process.
pub fn names(options: &Options) -> Vec<String> {
    let own = format!("Bonnie.{}", std::process::id());
    let name = |copy: u32| if options.copies > 1 { format!("{own}.{copy}") } else { own.clone() };
    (0..options.copies).map(|copy| text(&Path::new(&options.directory).join(name(copy)))).collect()
}

fn text(path: &Path) -> String {
    file_names::text(path).expect("a directory that was typed, and ASCII").to_owned()
}

impl TestFiles {
    /// Those of this process.
    pub fn of(options: &Options) -> Self {
        let path = |name: String| TestPath { path: PathBuf::from(name), made: Cell::new(false) };
        let directory = PathBuf::from(&options.directory);
        TestFiles { directory, paths: names(options).into_iter().map(path).collect() }
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.paths.iter().map(|own| text(&own.path)).collect()
    }

    /// Bytes of those that are there.
    pub fn bytes(&self) -> u64 {
        let files = self.paths.iter().filter_map(|own| std::fs::metadata(&own.path).ok());
        files.map(|file| file.len()).sum()
    }

    /// New files or new directories where the test wants them.
    ///
    /// # Errors
    /// In bonnie++'s words.
    pub fn prepare(&self, test: Test, permits: &Permits) -> Result<(), String> {
        guard::allow_directory(&Roots::default(), &self.directory, permits)
            .map_err(|error| format!("\n{}\n", error.in_words(&Vocabulary::PEER)))?;
        if matches!(test, Test::CreateInOrder | Test::CreateAtRandom) {
            self.remove();
        }
        self.paths.iter().try_for_each(|own| {
            // bonnie++ works in its directory.
            let name = file_names::shown(own.path.file_name().unwrap_or_default());
            let made = match test {
                test if test.begins_anew() => {
                    own.can_be_made().map_err(|_| format!("Can't open file ./{name}\n"))
                }
                Test::CreateInOrder | Test::CreateAtRandom => std::fs::create_dir(&own.path)
                    .map_err(|_| format!("Can't make directory ./{name}\n{CLEANING}")),
                _ => return Ok(()),
            };
            own.made.set(own.made.get() || made.is_ok());
            made
        })
    }

    /// Removes what this run made.
    pub fn remove(&self) {
        for own in self.paths.iter().filter(|own| own.made.get()) {
            let is_directory = std::fs::symlink_metadata(&own.path).is_ok_and(|about| about.is_dir());
            let removed = match is_directory {
                true => std::fs::remove_dir_all(&own.path),
                false => output_file::remove(&Roots::default(), &own.path).map_err(Into::into),
            };
            own.made.set(removed.is_err());
        }
    }
}

impl TestPath {
    /// Can a file be made here? Nothing is left of it, nor of an older one of ours.
    fn can_be_made(&self) -> std::io::Result<()> {
        if !self.made.get() && self.path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        output_file::remove(&Roots::default(), &self.path)?;
        drop(File::create_new(&self.path)?);
        std::fs::remove_file(&self.path)
    }
}

impl Drop for TestFiles {
    fn drop(&mut self) {
        self.remove();
    }
}
