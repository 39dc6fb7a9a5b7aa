//! Tests of the house itself: floors, sizes, words, licences.
//!
//! The library holds what those tests share, and [`skip`], with which every crate's tests say that the machine lacks
//! something. No crate lists it but among its development dependencies.

pub mod arrows;
pub mod house;
pub mod lab;
pub mod signature;
pub mod source;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

/// Says that a test (or a part of one) is not run because the machine lacks `what`, and counts it. The test returns after it.
///
/// On CI as root, where everything is installed, this is a failure.
///
/// # Panics
/// When `CI` is set and the process runs as root.
pub fn skip(what: &str, why: &str) {
    let on_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!(on_ci && is_root()), "nothing may be skipped on CI, but {what} was: {why}");
    count(what, why);
}

/// Says that a test is not run because the machine is too noisy just now for its figure; counted, and allowed on CI too.
pub fn skip_noisy(what: &str, why: &str) {
    count(what, &format!("a noisy machine: {why}"));
}

/// The file in which skips are counted, a line each; `scripts/test` empties and prints it.
pub fn skips_file() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    house::root().join(target).join("skips.txt")
}

fn count(what: &str, why: &str) {
    let line = format!("skipped: {what} ({why})\n");
    // Not eprint!, which the test harness keeps to itself when a test passes. One write a line: tests run side by side.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let file = OpenOptions::new().create(true).append(true).open(skips_file());
    if let Ok(mut file) = file {
        let _ = file.write_all(line.as_bytes());
    }
}

/// Whether the process runs with the effective user 0.
pub fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:"))
            .is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0"))
    })
}
