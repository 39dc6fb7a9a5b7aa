//! Whether a directory or a file belongs to a database: fathom makes no scratch files there, and writes nothing that the user
//! did not consent to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::roots::names_in;

/// Whose data directory it is, and by which sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseDirectory {
    /// PostgreSQL, MySQL or MariaDB, Oracle, MongoDB, SQLite
    pub database: &'static str,
    /// The directory that has the sign: the one asked for or one above it
    pub directory: PathBuf,
    /// The file that tells
    pub evidence: String,
}

impl fmt::Display for DatabaseDirectory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DatabaseDirectory { database, directory, evidence } = self;
        write!(out, "a data directory of {database} ({} has {evidence})", directory.display())
    }
}

/// What is known of directories that were looked at before, and who is at work there; of thousands of files most stand in
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatabaseDirectories {
    pub(crate) known: RefCell<HashMap<PathBuf, Option<(DatabaseDirectory, Option<String>)>>>,
}

/// The SQLite database that a file is a part of, if there is a log beside it whose content the file may lack.
pub fn sqlite_of(file: &Path) -> Option<DatabaseDirectory> {
    let name = file.file_name()?.to_str()?;
    let directory = file.parent()?;
    let of = |evidence: String| {
        Some(DatabaseDirectory { database: "SQLite", directory: directory.to_path_buf(), evidence })
    };
    let log = format!("{name}-wal");
    if directory.join(&log).exists() {
        return of(log);
    }
    let base = ["-wal", "-shm", "-journal"].iter().find_map(|end| name.strip_suffix(end))?;
    if directory.join(base).is_file() { of(name.to_owned()) } else { None }
}

/// Looks at the directory and at all above it; of one that is not there, at those that are. Where several have a sign of one
/// database the outermost is its data directory: each schema of PostgreSQL has a PG_VERSION, and the lock file is far above.
pub fn database_directory(path: &Path) -> Option<DatabaseDirectory> {
    let there = path.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
    let path = there.or_else(|| std::fs::canonicalize(".").ok()).unwrap_or_else(|| path.to_path_buf());
    let mut found: Option<DatabaseDirectory> = None;
    for (up, directory) in path.ancestors().enumerate() {
        let names = names_in(directory);
        let Some((database, evidence)) = sign(directory, &names, up > 0) else { continue };
        if found.as_ref().is_none_or(|found| found.database == database) {
            found = Some(DatabaseDirectory { database, directory: directory.to_path_buf(), evidence });
        }
    }
    found
}

fn sign(directory: &Path, names: &[String], above: bool) -> Option<(&'static str, String)> {
    // Asked by name too: a directory may be passed through but not listed.
    let has = |name: &str| names.iter().any(|n| n == name) || directory.join(name).symlink_metadata().is_ok();
    let any = |is_it: &dyn Fn(&str) -> bool| names.iter().find(|name| is_it(name)).cloned();
    if has("PG_VERSION") {
        return Some(("PostgreSQL", "PG_VERSION".into()));
    }
    if let Some(name) = any(&is_tablespace).or_else(|| any(&is_wal_segment)) {
        return Some(("PostgreSQL", name));
    }
    for name in ["ibdata1", "aria_log_control", "auto.cnf", "mysql.ibd", "ib_logfile0", "#innodb_redo"] {
        if has(name) {
            return Some(("MySQL or MariaDB", name.into()));
        }
    }
    for name in ["WiredTiger.wt", "storage.bson", "mongod.lock"] {
        if has(name) {
            return Some(("MongoDB", name.into()));
        }
    }
    let ends = |name: &str, end: &str| name.to_ascii_lowercase().ends_with(end);
    if let Some(name) = any(&|name| name.to_ascii_lowercase().starts_with("control") && ends(name, ".ctl")) {
        return Some(("Oracle", name));
    }
    // A single data file says nothing of the folders below a home directory, so it counts only where it stands.
    if !above && let Some(name) = any(&|name| ends(name, ".ibd")) {
        return Some(("MySQL or MariaDB", name));
    }
    if !above
        && !names.iter().any(|name| ends(name, ".shp"))
        && let Some(name) = any(&|name| ends(name, ".dbf"))
    {
        return Some(("Oracle", name));
    }
    let own =
        directory.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    matches!(own.as_str(), "oradata" | "fast_recovery_area" | "flash_recovery_area")
        .then(|| ("Oracle", format!("the name {own}")))
}

/// `PG_16_202307071`
fn is_tablespace(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    name.strip_prefix("PG_")
        .and_then(|rest| rest.split_once('_'))
        .is_some_and(|(a, b)| number(a) && number(b))
}

/// `000000010000000000000001`
fn is_wal_segment(name: &str) -> bool {
    name.len() == 24 && name.bytes().all(|c| c.is_ascii_digit() || (b'A'..=b'F').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_directories_are_known_by_their_files_also_from_below() {
        let cases = [
            ("PG_VERSION", "base/5", Some("PostgreSQL")),
            ("PG_16_202307071/x", ".", Some("PostgreSQL")),
            ("000000010000000000000001", "archive_status", Some("PostgreSQL")),
            ("ibdata1", "shop", Some("MySQL or MariaDB")),
            ("aria_log_control", ".", Some("MySQL or MariaDB")),
            ("WiredTiger.wt", "journal", Some("MongoDB")),
            ("orders.ibd", ".", Some("MySQL or MariaDB")),
            ("control01.ctl", "deep/er", Some("Oracle")),
            ("users01.dbf", ".", Some("Oracle")),
            ("users01.dbf", "below", None),
            ("oradata/X/y", "oradata/X", Some("Oracle")),
            ("ibdata1", "made/later", Some("MySQL or MariaDB")),
            ("notes.txt", ".", None),
        ];
        for (file, asked, expected) in cases {
            let place = tempfile::tempdir().unwrap();
            let file = place.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            let asked = place.path().join(asked);
            if !asked.ends_with("later") {
                std::fs::create_dir_all(&asked).unwrap();
            }
            assert_eq!(database_directory(&asked).map(|d| d.database), expected, "{file:?}");
        }
    }

    #[test]
    fn of_several_signs_the_outermost_is_the_data_directory() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let schema = root.join("base/5");
        std::fs::create_dir_all(&schema).unwrap();
        for directory in [&root, &schema] {
            std::fs::write(directory.join("PG_VERSION"), "15\n").unwrap();
        }
        assert_eq!(database_directory(&schema).unwrap().directory, root);
        assert_eq!(database_directory(&root).unwrap().directory, root);
    }

    #[test]
    fn a_file_with_a_log_of_sqlite_beside_it_is_a_database() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str| place.path().join(name);
        std::fs::write(file("app.db"), "x").unwrap();
        assert_eq!(sqlite_of(&file("app.db")), None);
        std::fs::write(file("app.db-wal"), "x").unwrap();
        for name in ["app.db", "app.db-wal", "app.db-shm"] {
            assert_eq!(
                sqlite_of(&file(name)).map(|found| found.evidence),
                Some(match name {
                    "app.db-shm" => "app.db-shm".to_owned(),
                    _ => "app.db-wal".to_owned(),
                })
            );
        }
        assert_eq!(sqlite_of(&file("other-wal")), None);
    }
}
