//! Opening, checking and migrating the store's file.

use crate::{StoreError, compression};
use fathom_spec::names::shown;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `ftm1` in ASCII: marks a SQLite file as fathom's.
const APPLICATION_ID: i64 = 0x6674_6d31;

/// Each brings the layout one further; the first makes it from nothing. Never changed once published.
const MIGRATIONS: &[&str] =
    &[include_str!("schema/001.sql"), include_str!("schema/002.sql"), include_str!("schema/003.sql")];

/// The newest layout that this program knows: `PRAGMA user_version` of the file.
pub const LAYOUT: i64 = MIGRATIONS.len() as i64;

/// How long another process may hold the file before that is an error.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open store.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store to read and write it. A missing file is made, with the directories above it (mode 0700);
    /// an older layout is brought up to date.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_within(path, PATIENCE)
    }

    /// The same, where another process may hold it for so long.
    pub fn open_within(path: impl AsRef<Path>, patience: Duration) -> Result<Self, StoreError> {
        let path = path.as_ref();
        make_directory(path)?;
        check_file(path)?;
        make_private(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| unopened(path, error))?;
        let mut store = Store { connection, path: path.to_path_buf() };
        store.wait_at_most(patience)?;
        // SQLite falls back to reading in silence where it may not write.
        if store.connection.is_readonly("main").map_err(|e| store.error(e))? {
            store.layout()?;
            return Err(StoreError::Unwritable {
                path: store.path,
                why: "it or its directory is read-only here".into(),
            });
        }
        store.set_up().map_err(|error| match error {
            StoreError::Unreadable { path, why } => StoreError::Unwritable { path, why },
            other => other,
        })?;
        Ok(store)
    }

    /// Opens an existing store to read it; works in a read-only directory too. Not a byte of it is changed, unless its
    /// layout is an older one: that is brought up to date first, and an error where it cannot be.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { path: path.to_path_buf() });
            }
            Err(error) => {
                return Err(StoreError::Unreadable { path: path.to_path_buf(), why: error.to_string() });
            }
            Ok(_) => check_file(path).map_err(|error| match error {
                StoreError::Unwritable { path, why } => StoreError::Unreadable { path, why },
                other => other,
            })?,
        }
        let store = Self::connect_read_only(path)?;
        match store.layout()? {
            LAYOUT => Ok(store),
            // Whoever made it was killed before anything stood in it: the next run goes on from there.
            0 => Err(StoreError::Missing { path: path.to_path_buf() }),
            _ if Self::open(path).is_ok() => Self::connect_read_only(path),
            found => Err(StoreError::Older { path: path.to_path_buf(), found }),
        }
    }

    /// Reading a file in WAL mode needs a second file beside it, which a read-only directory refuses. Where no
    /// log is left to be read, the file can then be taken as it stands.
    fn connect_read_only(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |connection: Connection| -> rusqlite::Result<Store> {
            connection.busy_timeout(PATIENCE)?;
            compression::register(&connection)?;
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(Store { connection, path: path.to_path_buf() })
        };
        let first = match Connection::open_with_flags(path, flags).and_then(open) {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let refused = matches!(
            first.sqlite_error_code(),
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
        );
        let log_left = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
        if !refused || log_left {
            return Err(StoreError::of(path, first));
        }
        Connection::open_with_flags(as_it_stands(path), flags | OpenFlags::SQLITE_OPEN_URI)
            .and_then(open)
            .map_err(|_| StoreError::of(path, first))
    }

    /// How long another process may hold it from now on before that is an error.
    pub fn wait_at_most(&self, patience: Duration) -> Result<(), StoreError> {
        self.connection.busy_timeout(patience).map_err(|error| self.error(error))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::of(&self.path, error)
    }

    fn set_up(&mut self) -> Result<(), StoreError> {
        compression::register(&self.connection).map_err(|e| self.error(e))?;
        self.layout()?;
        // Readers and one writer at once. Where the file system cannot do it SQLite stays with its rollback
        // journal, which is right as well, only slower.
        let journal = self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        if let Err(error @ StoreError::Corrupt { .. }) = journal.map_err(|e| self.error(e)) {
            return Err(error);
        }
        // In WAL mode this survives any death of the process; `finish` syncs against that of the machine.
        self.connection.pragma_update(None, "synchronous", "normal").map_err(|e| self.error(e))?;
        // A record goes to the file as it is written: 256 KiB of it in memory are enough, and a measurement needs the rest.
        self.connection.pragma_update(None, "cache_size", -256).map_err(|e| self.error(e))?;
        self.connection.pragma_update(None, "foreign_keys", true).map_err(|e| self.error(e))?;
        self.migrate()
    }

    /// The file's layout, 0 for an empty one; an error when it is not ours or too new.
    fn layout(&self) -> Result<i64, StoreError> {
        let number = |sql: &str| self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let read = || {
            let owner = number("PRAGMA application_id")?;
            let layout = number("PRAGMA user_version")?;
            Ok((owner, layout, number("SELECT count(*) FROM sqlite_schema")?))
        };
        match read().map_err(|e| self.error(e))? {
            (0, 0, 0) => Ok(0),
            (APPLICATION_ID, found, _) if found > LAYOUT => {
                Err(StoreError::Newer { path: self.path.clone(), found, known: LAYOUT })
            }
            (APPLICATION_ID, found, _) => Ok(found),
            _ => Err(StoreError::Foreign { path: self.path.clone() }),
        }
    }

    /// Brings the layout up to date. Two processes may try at once: the layout is read again under the lock.
    fn migrate(&mut self) -> Result<(), StoreError> {
        if self.layout()? == LAYOUT {
            return Ok(());
        }
        let path = self.path.clone();
        let failed = |error| StoreError::of(&path, error);
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let done = self.layout().and_then(|from| {
            let from = usize::try_from(from).unwrap_or(0);
            for (step, sql) in MIGRATIONS.iter().enumerate().skip(from) {
                self.connection.execute_batch(sql).map_err(failed)?;
                self.connection.pragma_update(None, "user_version", step as i64 + 1).map_err(failed)?;
            }
            self.connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
            Ok(from)
        });
        match done {
            Ok(from) => {
                self.connection.execute_batch("COMMIT").map_err(failed)?;
                // The pages of an older layout's records go back to the file system; where another reader or a full
                // disk stands in the way, later runs use them.
                if from > 0 {
                    let _ = self.connection.execute_batch("VACUUM");
                }
                Ok(())
            }
            Err(error) => {
                // The error that stopped the migration matters more than one of its undoing.
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// A transaction that holds the right to write from its start, so that it never has to give way halfway.
    pub(crate) fn transaction(&mut self) -> Result<rusqlite::Transaction<'_>, StoreError> {
        let path = &self.path;
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| StoreError::of(path, error))
    }
}

/// SQLite's own name of a file beside the store.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// A URI under which SQLite reads the file and looks for nothing beside it.
fn as_it_stands(path: &Path) -> String {
    let encoded = path.as_os_str().as_bytes().iter().map(|&byte| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    });
    format!("file:{}?immutable=1", encoded.collect::<String>())
}

fn make_directory(path: &Path) -> Result<(), StoreError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    if directory.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => format!("{} is not a directory", shown(directory)),
            _ => format!("{}: {error}", shown(directory)),
        };
        StoreError::Unwritable { path: path.to_path_buf(), why }
    })
}

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Only a regular file that is empty or SQLite's is opened. SQLite itself takes a kibibyte of zeros, with which a disk with
/// ext4 begins, for an empty database of its own. Whether the database is fathom's is seen before a byte of it is written.
fn check_file(path: &Path) -> Result<(), StoreError> {
    let unwritable = |why: String| StoreError::Unwritable { path: path.to_path_buf(), why };
    let about = match std::fs::metadata(path) {
        // What is not there is made; of the rest SQLite says it in its way.
        Err(_) => return Ok(()),
        Ok(about) => about,
    };
    if about.is_dir() {
        return Err(unwritable("it is a directory".into()));
    }
    if !about.is_file() {
        return Err(unwritable("it is no regular file".into()));
    }
    let mut head = [0; 16];
    let read = File::open(path).and_then(|file| file.read_at(&mut head, 0));
    match read {
        Ok(length) if length > 0 && head != *MAGIC => {
            let why = "it does not begin as SQLite's files do".into();
            Err(StoreError::Corrupt { path: path.to_path_buf(), why })
        }
        _ => Ok(()),
    }
}

/// A store is for its user's eyes alone: command lines and names of files are in it. One that everybody may read was made by
/// an older fathom, and loses that, where it is ours; what a group alone was given stays. Why a new one cannot be made SQLite
/// says itself.
fn make_private(path: &Path) {
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    if made.is_ok() {
        return;
    }
    for path in [path.to_path_buf(), beside(path, "-wal"), beside(path, "-shm")] {
        if std::fs::metadata(&path).is_ok_and(|about| about.is_file() && about.mode() & 0o007 != 0) {
            let _ = std::fs::set_permissions(&path, Permissions::from_mode(0o600));
        }
    }
}

/// SQLite only says "unable to open"; the system can tell why.
fn unopened(path: &Path, error: rusqlite::Error) -> StoreError {
    let why = match std::fs::OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => error.to_string(),
        _ => error.to_string(),
    };
    StoreError::Unwritable { path: path.to_path_buf(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_another_holds_is_locked_and_a_full_one_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.db");
        let mut store = Store::open(&path).unwrap();
        store.connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = store.settle(&|_| false).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{error}");
        other.execute_batch("ROLLBACK").unwrap();
        store.settle(&|_| false).unwrap();
        store.connection.execute_batch("PRAGMA max_page_count = 1").unwrap();
        let error =
            store.connection.execute_batch("CREATE TABLE t AS SELECT randomblob(1000000)").unwrap_err();
        assert!(matches!(store.error(error), StoreError::Full { .. }));
    }

    /// SQLite took the zeros with which a disk image begins for an empty database, and wrote over it.
    #[test]
    fn what_is_no_database_is_not_made_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk.img");
        let image = [vec![0; 1024], b"the superblock".to_vec(), vec![0; 8192]].concat();
        std::fs::write(&path, &image).unwrap();
        for error in [Store::open(&path).unwrap_err(), Store::open_read_only(&path).unwrap_err()] {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), image);
        for path in [directory.path(), Path::new("/dev/null")] {
            let error = Store::open(path).unwrap_err();
            assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
        }
        std::fs::write(directory.path().join("empty"), "").unwrap();
        Store::open(directory.path().join("empty")).unwrap();
    }

    /// A run that was killed while it made its store left one of which `history` said that an older fathom wrote it.
    #[test]
    fn a_store_that_was_being_made_when_its_run_was_killed_is_none_yet() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.db");
        std::fs::write(&path, "").unwrap();
        let missing = |path: &Path| matches!(Store::open_read_only(path), Err(StoreError::Missing { .. }));
        assert!(missing(&path));
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        drop(connection);
        assert!(missing(&path));
        drop(Store::open(&path).unwrap());
        assert!(!missing(&path));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_layout_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.db");
        let connection = Connection::open(&path).unwrap();
        // Ours by its mark, of layout 0, but with a table in the way of the first migration.
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        connection.execute_batch("CREATE TABLE points (x)").unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Failed { .. }), "{error}");
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(tables, 1);
    }

    #[test]
    fn records_of_the_first_layout_are_compressed_and_come_back_letter_by_letter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let text = format!("{{\"tool\":\"dd\",\"facts\":\"{}\"}}", "µs ".repeat(50_000));
        for id in ["aa", "bb"] {
            connection
                .execute(
                    "INSERT INTO results (id, tool, version, command, targets, started, state, measured, record)
                     VALUES (?1, 'dd', '0.1.0', '[]', '[]', '', 'complete', 1, ?2)",
                    [id, &text],
                )
                .unwrap();
        }
        drop(connection);
        let before = std::fs::metadata(&path).unwrap().len();
        let store = Store::open_read_only(&path).unwrap();
        let found = |sql: &str| store.query(sql).unwrap().rows;
        assert_eq!(found("select record from records where id = 'bb'"), [[text.as_str()]]);
        assert_eq!(found("select json_extract(record, '$.tool') from records limit 1"), [["dd"]]);
        let after = std::fs::metadata(&path).unwrap().len();
        assert!(after < before / 3, "{before} {after}");
    }
}
