//! Whether the server of a database runs: who is at work among its files. Knows nothing of how it is reached.

use std::path::Path;

use crate::database_directory::{DatabaseDirectory, database_directory};
use crate::open_files::OpenFiles;
use crate::roots::{Roots, names_in, text_if_there};

impl OpenFiles {
    /// Whose directory it is, and who is at work there.
    pub fn database_of(
        &self,
        roots: &Roots,
        directory: &Path,
    ) -> Option<(DatabaseDirectory, Option<String>)> {
        if let Some(known) = self.databases.known.borrow().get(directory) {
            return known.clone();
        }
        let found = database_directory(directory).map(|database| {
            let server = server(roots, &database.directory, self);
            (database, server)
        });
        self.databases.known.borrow_mut().insert(directory.to_owned(), found.clone());
        found
    }
}

/// The process that serves the database of this directory: the one that a lock file names, or any that works or has a
/// file open there.
fn server(roots: &Roots, directory: &Path, open: &OpenFiles) -> Option<String> {
    let is_lock = |name: &String| name.ends_with(".pid") || *name == "mongod.lock";
    let own = std::process::id().to_string();
    for name in names_in(directory).into_iter().filter(is_lock) {
        let text = text_if_there(&directory.join(&name)).unwrap_or_default();
        let pid = text.split_whitespace().next().unwrap_or_default();
        let is_number = !pid.is_empty() && pid.bytes().all(|digit| digit.is_ascii_digit());
        if is_number && pid != own && roots.proc.join(pid).exists() {
            let process = text_if_there(&roots.proc.join(pid).join("comm")).unwrap_or_default();
            return Some(format!("process {pid} ({process}), which {name} names, runs"));
        }
    }
    if let Some(opener) = open.below(directory) {
        return Some(format!(
            "process {} ({}) is at work in {}",
            opener.pid,
            opener.name,
            opener.file.display()
        ));
    }
    served_by_link(directory, open)
}

/// A tablespace of PostgreSQL lies elsewhere: the server's own directory has a link to it in `pg_tblspc`.
fn served_by_link(directory: &Path, open: &OpenFiles) -> Option<String> {
    let directory = std::fs::canonicalize(directory).ok()?;
    open.at_work().find_map(|process| {
        let links = process.file.join("pg_tblspc");
        let leads_here = |name: &String| {
            std::fs::canonicalize(links.join(name)).is_ok_and(|place| directory.starts_with(&place))
        };
        let link = names_in(&links).into_iter().find(leads_here)?;
        let (pid, name) = (&process.pid, &process.name);
        Some(format!("process {pid} ({name}) serves it through {}", links.join(link).display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_lock_file_and_by_whoever_works_there() {
        let place = tempfile::tempdir().unwrap();
        let roots = Roots::default();
        let server = || {
            let found = OpenFiles::read(&roots).database_of(&roots, place.path());
            found.expect("it is a database's").1
        };
        std::fs::write(place.path().join("PG_VERSION"), "17\n").unwrap();
        assert_eq!(server(), None);
        std::fs::write(place.path().join("postmaster.pid"), "1\n/data\n").unwrap();
        assert!(server().unwrap().contains("process 1 ("));
        // No process has this number: the server died.
        std::fs::write(place.path().join("postmaster.pid"), "4194305\n/data\n").unwrap();
        assert_eq!(server(), None);
        let mut sleeper =
            std::process::Command::new("sleep").arg("60").current_dir(place.path()).spawn().unwrap();
        let told = server();
        // A tablespace beside it, and what lies in that.
        let elsewhere = tempfile::tempdir().unwrap();
        let below = elsewhere.path().join("PG_17_202406281/5");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::create_dir(place.path().join("pg_tblspc")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), place.path().join("pg_tblspc/16390")).unwrap();
        let of_tablespace = OpenFiles::read(&roots).database_of(&roots, &below);
        sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
        assert!(told.unwrap().contains("(sleep) is at work in"));
        let told = of_tablespace.expect("it is a database's").1.unwrap();
        assert!(told.contains("(sleep) serves it through ") && told.ends_with("/pg_tblspc/16390"), "{told}");
        assert_eq!(OpenFiles::read(&roots).database_of(&roots, &below).unwrap().1, None);
    }

    /// A schema's directory has a PG_VERSION of its own, and the lock file stands two levels above it.
    #[test]
    fn a_table_of_a_server_that_runs_is_one_of_its_files() {
        let place = tempfile::tempdir().unwrap();
        let roots = Roots::default();
        let schema = place.path().join("base/5");
        std::fs::create_dir_all(&schema).unwrap();
        for directory in [place.path(), &schema] {
            std::fs::write(directory.join("PG_VERSION"), "15\n").unwrap();
        }
        std::fs::write(place.path().join("postmaster.pid"), "1\n/data\n").unwrap();
        let (_, server) = OpenFiles::read(&roots).database_of(&roots, &schema).unwrap();
        assert!(server.unwrap().contains("which postmaster.pid names, runs"));
    }
}
