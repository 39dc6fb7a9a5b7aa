//! The files of the house: where it stands and what is in it. Judges nothing.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the house: its path from the root, with `/` between, and its text.
#[derive(Clone, Debug)]
pub struct File {
    /// Path from the root of the workspace.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map_or_else(|| here.to_path_buf(), Path::to_path_buf)
}

/// All text files of the house, by path; build output, version control and binary files left out.
pub fn files() -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The Rust sources of the house.
pub fn rust_files() -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if !is_left_out(&name) {
                walk(root, &path, found);
            }
        } else if kind.is_file()
            && name != ".git"
            && let Ok(text) = fs::read_to_string(&path)
        {
            let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            found.push(File { path, text });
        }
    }
}

fn is_left_out(folder: &str) -> bool {
    folder == ".git" || folder == "target" || folder.starts_with("target-") || folder == "corpus"
}

/// Whether the file is test code as a whole: tests, benches, examples, and `tests.rs` of a module.
pub fn is_test_file(path: &str) -> bool {
    path.starts_with("crates/tidy/")
        || path.starts_with("fuzz/")
        || path.ends_with("/tests.rs")
        || path.ends_with("/build.rs")
        || ["/tests/", "/benches/", "/examples/"].iter().any(|part| path.contains(part))
}
