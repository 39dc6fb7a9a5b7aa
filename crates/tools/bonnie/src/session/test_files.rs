//! What is on the disk while tests run: the file of the bulk tests, the directory of the others, one for each copy.

use super::CLEANING;
use crate::{Options, Test};
use fathom_spec::names;
use std::path::{Path, PathBuf};

/// One path for each copy of the tests: removed whatever happens.
pub struct TestFiles {
    paths: Vec<PathBuf>,
}

impl TestFiles {
    /// Those of this process.
    pub fn of(options: &Options) -> Self {
        let own = format!("Bonnie.{}", std::process::id());
        let name = |copy: u32| if options.copies > 1 { format!("{own}.{copy}") } else { own.clone() };
        let directory = Path::new(&options.directory);
        TestFiles { paths: (0..options.copies).map(|copy| directory.join(name(copy))).collect() }
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        let text = |path| names::text(path).expect("a directory that was typed, and ASCII").to_owned();
        self.paths.iter().map(text).collect()
    }

    /// Bytes of those that are there.
    pub fn bytes(&self) -> u64 {
        let files = self.paths.iter().filter_map(|path| std::fs::metadata(path).ok());
        files.map(|file| file.len()).sum()
    }

    /// New files or new directories where the test wants them.
    ///
    /// # Errors
    /// In bonnie++'s words.
    pub fn prepare(&self, test: Test) -> Result<(), String> {
        if matches!(test, Test::CreateInOrder | Test::CreateAtRandom) {
            self.remove();
        }
        self.paths.iter().try_for_each(|path| {
            // bonnie++ works in its directory.
            let name = names::shown(path.file_name().unwrap_or_default());
            match test {
                test if test.begins_anew() => {
                    can_be_made(path).map_err(|_| format!("Can't open file ./{name}\n"))
                }
                Test::CreateInOrder | Test::CreateAtRandom => std::fs::create_dir(path)
                    .map_err(|_| format!("Can't make directory ./{name}\n{CLEANING}")),
                _ => Ok(()),
            }
        })
    }

    /// Removes them.
    pub fn remove(&self) {
        // The names have our process's number: what has them is ours, or was left by one that is gone.
        for path in &self.paths {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}

/// Can a file be made here? Nothing is left of it, nor of an older one.
fn can_be_made(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => drop(std::fs::File::create_new(path)?),
    }
    std::fs::remove_file(path)
}

impl Drop for TestFiles {
    fn drop(&mut self) {
        self.remove();
    }
}
