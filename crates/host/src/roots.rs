//! Where the facts are read: the three trees `/sys`, `/proc`, `/dev`, or fabricated ones in tests. Knows how to read a small
//! file and how to remember one that could not be read; knows nothing of what the files mean.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The three trees of facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/sys`
    pub sys: PathBuf,
    /// `/proc`
    pub proc: PathBuf,
    /// `/dev`
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { sys: "/sys".into(), proc: "/proc".into(), dev: "/dev".into() }
    }
}

impl Roots {
    /// All three trees below one directory, as tests fabricate them.
    pub fn below(directory: &Path) -> Self {
        Roots { sys: directory.join("sys"), proc: directory.join("proc"), dev: directory.join("dev") }
    }

    /// An absolute path that some fact names (`/sys/fs/cgroup`, `/dev/sda`), seen through these roots.
    pub fn seen(&self, absolute: &Path) -> PathBuf {
        for (prefix, root) in [("/sys", &self.sys), ("/proc", &self.proc), ("/dev", &self.dev)] {
            if let Ok(rest) = absolute.strip_prefix(prefix) {
                // `join("")` would append a slash.
                return if rest.as_os_str().is_empty() { root.clone() } else { root.join(rest) };
            }
        }
        absolute.to_path_buf()
    }
}

/// A fact that could not be read: it makes a verdict "cannot tell", and is never silently missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// Which fact, in the user's words: "who holds /dev/sda open".
    pub what: String,
    /// Why it is not known, with the file that was asked.
    pub why: String,
}

/// The list that readers add to when a fact cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unchecked(pub Vec<Unknown>);

impl Unchecked {
    /// Remembers one fact that could not be read; the same one twice is kept once.
    pub fn add(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let unknown = Unknown { what: what.into(), why: why.into() };
        if !self.0.contains(&unknown) {
            self.0.push(unknown);
        }
    }

    /// The value, or `None` and a remembered reason.
    pub fn note<T>(&mut self, what: &str, file: &Path, result: io::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(what, format!("{}: {error}", file.display()));
                None
            }
        }
    }
}

/// The kernel's name of a device: `major:minor`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct DeviceNumber {
    /// The driver's number; 0 is an anonymous device (a file system without a block device).
    pub major: u32,
    /// Which device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From the kernel's combined number (`st_dev`, `st_rdev`).
    pub fn from_raw(raw: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// From the text `major:minor`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.major, self.minor)
    }
}

/// A small file's text without the white space at both ends.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_string())
}

/// A small file's text, or `None` where there is no such file, it is unreadable or empty.
pub fn text_if_there(path: &Path) -> Option<String> {
    read_text(path).ok().filter(|text| !text.is_empty())
}

/// A small file's number, or `None` where there is none.
pub fn number_if_there(path: &Path) -> Option<u64> {
    text_if_there(path)?.parse().ok()
}

/// Like [`number_if_there`] for a file that holds 0 or 1.
pub fn flag_if_there(path: &Path) -> Option<bool> {
    number_if_there(path).map(|value| value != 0)
}

/// The names in a directory, sorted; an absent directory has none.
pub fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The path's last component as text.
pub fn last_name(path: &Path) -> String {
    match path.components().next_back() {
        Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_seen_through_the_roots() {
        let roots = Roots::below(Path::new("/t"));
        assert_eq!(roots.seen(Path::new("/sys/fs/cgroup")), Path::new("/t/sys/fs/cgroup"));
        assert_eq!(roots.seen(Path::new("/dev")), Path::new("/t/dev"));
        assert_eq!(roots.seen(Path::new("/home/x")), Path::new("/home/x"));
        assert_eq!(roots.seen(Path::new("/system/x")), Path::new("/system/x"));
    }

    #[test]
    fn device_numbers_are_read_as_they_are_written() {
        let number = DeviceNumber { major: 259, minor: 3 };
        assert_eq!(DeviceNumber::parse("259:3\n"), Some(number));
        assert_eq!(number.to_string(), "259:3");
        assert_eq!(DeviceNumber::parse("259"), None);
    }
}
