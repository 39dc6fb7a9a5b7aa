//! What the tests of this crate share: servers in directories of their own, and runs of sessions.

#![allow(dead_code)] // Each test binary uses its part.

use fathom_database::{Database, Length, Replace, Server, ServerKind, ServerOptions, Settings, Url};
use fathom_record::{Control, Run};
use fathom_spec::{Nanos, StreamId, Verb};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// A server that ends with the test; `None`, counted, where the machine has none.
pub fn server(kind: ServerKind, settings: &[(&str, &str)]) -> Option<(TempDir, Server)> {
    if let Err(error) = Server::installed(kind) {
        fathom_tidy::skip("tests on a real server", &error.what);
        return None;
    }
    let directory = directory();
    let mut options = ServerOptions::new(kind, directory.path());
    options.settings =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let server = Server::start(&options, &|| false).expect("the server starts");
    Some((directory, server))
}

/// A directory through which another user may go.
pub fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("fathom-db-").tempdir().expect("a directory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).expect("it is ours");
    directory
}

/// A file system of so many MiB that soon is full; unmounted with the value.
pub struct SmallDisk(pub TempDir);

impl SmallDisk {
    /// `None`, counted, where none can be mounted.
    pub fn mount(mebibytes: u32) -> Option<Self> {
        let directory = directory();
        let size = format!("size={mebibytes}m,mode=777");
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "fathom-test"])
            .arg(directory.path())
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            fathom_tidy::skip("a disk that fills during setup", "tmpfs cannot be mounted here");
            return None;
        }
        Some(SmallDisk(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Small schemas that are loaded in a moment.
pub fn small() -> Settings {
    Settings { schemas: 2, blocks: 400, scan_blocks: 50, ..Settings::default() }
}

/// Loads them.
pub fn load(url: &Url, settings: &Settings) -> fathom_database::Setup {
    fathom_database::setup(url, settings, Replace::Shapes, &mut |_| {}, &|| false).expect("it loads")
}

/// So many operations of each session.
pub fn operations(count: u64) -> Length {
    Length { time: None, operations: Some(count), warm_up: Nanos(0), rate: None }
}

/// Runs a plan of settings on a database.
pub fn run(url: &Url, settings: &Settings, length: Length, control: &mut dyn Control) -> Run {
    use fathom_record::{Execute, Request};
    let mut database = Database::open(url.clone()).expect("it opens");
    database.execute(Request::new(&settings.plan(url, length)), control).expect("it runs").run
}

/// Operations of a verb over the whole run: counted in intervals, and in the workers' totals.
pub fn count(run: &Run, verb: Verb) -> (u64, u64) {
    let merged = run.merged(StreamId(0));
    let counted = merged.map_or(0, |all| {
        let cell = all.cells.iter().position(|(known, _)| *known == verb);
        cell.map_or(0, |cell| all.counts(cell).operations)
    });
    let totals = run.workers.iter().flat_map(|worker| &worker.counts);
    (counted, totals.filter(|(known, _)| *known == verb).map(|(_, counts)| counts.operations).sum())
}

/// Errors of all verbs.
pub fn errors(run: &Run) -> u64 {
    run.workers.iter().flat_map(|worker| &worker.counts).map(|(_, counts)| u64::from(counts.errors)).sum()
}
