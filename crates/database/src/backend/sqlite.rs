//! SQLite: one file, a table `slobN` for each schema, pages of 8 KiB with rows of 5,000 bytes. The row's number is the physical
//! order; an index finds the random key. One file has one writer at a time, whatever the number of sessions: that is SQLite's.

use super::{
    Ability, Admin, Failure, FailureKind, Session, SharedWork, Told, name, not_one_row, not_ours, number,
};
use crate::counters::Counters;
use crate::error::{DatabaseError, Result, Trouble};
use crate::facts::{Facts, Proof, Schema, Shape, State};
use crate::rows::{Rows, write_letters};
use crate::sys::take_pager_status;
use crate::url::Url;
use fathom_spec::Redo;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Bytes of a page in files that we make.
const PAGE: u32 = 8192;
/// Rows of a transaction while loading.
const BATCH: u64 = 1000;
/// How long a session waits for the lock before it says so.
const BUSY: Duration = Duration::from_secs(10);

/// What the pagers of all sessions did.
#[derive(Debug, Default)]
pub(crate) struct Pager {
    hits: AtomicU64,
    misses: AtomicU64,
    writes: AtomicU64,
    /// Rows that the sessions touched, told with the counters.
    rows: AtomicU64,
}

impl Pager {
    /// Adds the counters to a reading. Pages written to the write-ahead log are log: each with a head of 24 bytes.
    pub(crate) fn add_to(&self, counters: &mut Counters, page_bytes: u32) {
        let writes = self.writes.load(Relaxed);
        counters.add("pager", "cache_hit", self.hits.load(Relaxed));
        counters.add("pager", "cache_miss", self.misses.load(Relaxed));
        counters.add("pager", "cache_write", writes);
        counters.add("tables", "rows_fetched", self.rows.load(Relaxed));
        counters.add("log", "bytes", writes * (u64::from(page_bytes) + 24));
        counters.add("log", "writes", writes);
    }
}

/// Is it a table that a setup makes?
fn is_own(table: &str) -> bool {
    table == "fathom_slob" || number(table.strip_suffix("_scan").unwrap_or(table)).is_some()
}

fn refused(what: &str, file: &Path, error: &rusqlite::Error) -> DatabaseError {
    let what = format!("sqlite:{}: {what}: {error}", file.display());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            DatabaseError::new(Trouble::Full, what, "make room, or ask for fewer blocks or schemas")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            DatabaseError::new(
                Trouble::Rights,
                what,
                "the folder must be there, and the file and it writable",
            )
        }
        Some(ErrorCode::NotADatabase) => {
            DatabaseError::new(Trouble::Foreign, what, "name a file that does not exist yet")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            DatabaseError::new(Trouble::Connection, what, "another program holds the file's lock; end it")
        }
        _ => DatabaseError::new(Trouble::Statement, what, "see the message of SQLite"),
    }
}

/// Sets up and reads. A file that does not exist is made by the first load, not before.
pub(super) struct SqliteAdmin {
    file: PathBuf,
    connection: Option<Connection>,
}

impl SqliteAdmin {
    pub(super) fn open(url: &Url) -> Result<Self> {
        let file = url.file().unwrap_or(Path::new("")).to_path_buf();
        let mut admin = SqliteAdmin { file, connection: None };
        if admin.file.exists() {
            admin.check_file()?;
            admin.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        }
        Ok(admin)
    }

    /// Only a regular file that is empty or SQLite's is opened: SQLite takes a kibibyte of zeros, with which a disk with ext4
    /// begins, for an empty database of its own.
    fn check_file(&self) -> Result<()> {
        let refuse = |why: &str| {
            let what = format!("sqlite:{}: {why}", self.file.display());
            Err(DatabaseError::new(Trouble::Foreign, what, "name a file that does not exist yet"))
        };
        if !self.file.metadata().is_ok_and(|about| about.is_file()) {
            return refuse("it is no regular file");
        }
        let mut head = [0; 16];
        // What cannot be read SQLite says in its way.
        match File::open(&self.file).and_then(|file| file.read_at(&mut head, 0)) {
            Ok(length) if length > 0 && head != *b"SQLite format 3\0" => refuse("file is not a database"),
            _ => Ok(()),
        }
    }

    fn connect(&mut self, flags: OpenFlags) -> Result<()> {
        let refused = |error| refused("cannot open it", &self.file, &error);
        let connection = Connection::open_with_flags(&self.file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(refused)?;
        connection.busy_timeout(BUSY).map_err(refused)?;
        // The first statement reads the file's head, so that a file of another kind is told here.
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(())).map_err(refused)?;
        self.connection = Some(connection);
        Ok(())
    }

    fn ask<T>(&self, what: &str, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let connection = self.connection.as_ref().ok_or_else(|| {
            let what = format!("sqlite:{} does not exist", self.file.display());
            DatabaseError::new(Trouble::NotLoaded, what, "set it up first")
        })?;
        ask(connection).map_err(|error| refused(what, &self.file, &error))
    }

    fn marks(&self) -> Result<Vec<(u32, Shape, bool)>> {
        let marked = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'fathom_slob'";
        if self.ask("cannot read its schema", |c| c.query_row(marked, [], |row| row.get::<_, u32>(0)))? == 0 {
            return Ok(Vec::new());
        }
        // A table of that name with other columns is somebody else's: then nothing here is ours.
        let read = |connection: &Connection| -> rusqlite::Result<Vec<(u32, String, String)>> {
            let mut statement = connection.prepare("SELECT number, shape, state FROM fathom_slob")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        };
        let marks = self.ask("cannot read its marks", read).unwrap_or_default();
        Ok(marks
            .into_iter()
            .filter_map(|(n, shape, state)| Some((n, Shape::parse(&shape)?, state == "ready")))
            .collect())
    }

    fn tables(&self) -> Result<Vec<String>> {
        self.ask("cannot read its schema", |connection| {
            let mut statement =
                connection.prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
    }

    fn page_bytes(&self) -> Result<u32> {
        match &self.connection {
            None => Ok(PAGE),
            Some(_) if self.tables()?.is_empty() => Ok(PAGE),
            Some(_) => {
                self.ask("cannot read its page size", |c| c.query_row("PRAGMA page_size", [], |r| r.get(0)))
            }
        }
    }

    fn fill(&self, table: &str, count: u64, shape: &Shape, seed: u64, told: &Told) -> Result<()> {
        let mut rows = Rows::new(count, shape.filler_bytes, shape.random_filler, seed);
        let insert = format!("INSERT INTO {table} (pos, key, scratch, filler) VALUES (?1, ?2, 0, ?3)");
        let mut place = 0;
        while place < count {
            told.go_on()?;
            let end = (place + BATCH).min(count);
            self.ask("cannot load rows", |connection| {
                let transaction = connection.unchecked_transaction()?;
                let mut statement = connection.prepare_cached(&insert)?;
                for place in place..end {
                    let key = rows.key(place) as i64;
                    let filler = String::from_utf8_lossy(rows.filler());
                    statement.execute(params![place as i64 + 1, key, filler])?;
                }
                drop(statement);
                transaction.commit()
            })?;
            (told.rows)(end - place);
            place = end;
        }
        Ok(())
    }
}

impl Admin for SqliteAdmin {
    fn facts(&mut self) -> Result<Facts> {
        let mut facts = Facts {
            product: format!("SQLite {}", rusqlite::version()),
            block_bytes: self.page_bytes()?,
            data: std::path::absolute(&self.file).ok(),
            log: std::path::absolute(&self.file).ok(),
            ..Facts::default()
        };
        for pragma in ["cache_size", "journal_mode", "synchronous", "mmap_size", "wal_autocheckpoint"] {
            if self.connection.is_none() {
                break;
            }
            let value = self.ask("cannot read its settings", |connection| {
                let read = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
                connection.query_row(&format!("PRAGMA {pragma}"), [], read).optional()
            })?;
            let value = match value {
                Some(rusqlite::types::Value::Integer(number)) => number.to_string(),
                Some(rusqlite::types::Value::Text(text)) => text,
                _ => continue,
            };
            // Pages, or KiB when negative.
            if let ("cache_size", Ok(size)) = (pragma, value.parse::<i64>()) {
                let unit = if size < 0 { 1024 } else { u64::from(facts.block_bytes) };
                facts.cache_bytes = size.unsigned_abs() * unit;
            }
            facts.settings.push((pragma.to_owned(), value));
        }
        Ok(facts)
    }

    fn filler_bytes(&mut self) -> Result<u32> {
        // 5,000 bytes in a page of 8 KiB, and in proportion: more than half of a page, and no overflow.
        Ok((u64::from(self.page_bytes()?) * 5000 / 8192) as u32)
    }

    fn schemas(&mut self) -> Result<Vec<Schema>> {
        if self.connection.is_none() {
            return Ok(Vec::new());
        }
        let marks = self.marks()?;
        let mut schemas: Vec<Schema> = marks
            .iter()
            .map(|(number, shape, ready)| Schema {
                number: *number,
                state: if *ready { State::Ready } else { State::Partial },
                shape: shape.clone(),
            })
            .collect();
        for table in self.tables()? {
            let base = table.strip_suffix("_scan").unwrap_or(&table);
            if let Some(number) = number(base)
                && !schemas.iter().any(|schema| schema.number == number)
            {
                schemas.push(Schema { number, state: State::Foreign, shape: Shape::default() });
            }
        }
        schemas.sort_by_key(|schema| schema.number);
        Ok(schemas)
    }

    fn load(&mut self, number: u32, shape: &Shape, seed: u64, told: &Told) -> Result<()> {
        if self.connection.is_none() {
            self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        }
        let table = name(number);
        let tables = self.tables()?;
        let fresh = tables.is_empty();
        // A file in which somebody else has tables keeps its journal mode: that is kept in the file.
        let own = tables.iter().all(|table| is_own(table));
        let columns = "(pos INTEGER PRIMARY KEY, key INTEGER, scratch INTEGER, filler TEXT)";
        self.ask("cannot make its tables", |connection| {
            // The page size is settled by the first table. Without a write-ahead log each page is written once.
            if fresh {
                connection.pragma_update(None, "page_size", PAGE)?;
            }
            if own {
                connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
            }
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.execute_batch(
                "CREATE TABLE IF NOT EXISTS fathom_slob (number INTEGER PRIMARY KEY, shape TEXT, state TEXT)",
            )?;
            let mark = "INSERT INTO fathom_slob VALUES (?1, ?2, 'partial')";
            connection.execute(mark, params![number, shape.text()])?;
            connection.execute_batch(&format!(
                "CREATE TABLE {table} {columns}; CREATE TABLE {table}_scan {columns}"
            ))
        })?;
        self.fill(&table, shape.blocks, shape, seed, told)?;
        self.fill(&format!("{table}_scan"), shape.scan_blocks, shape, seed ^ 1, told)?;
        told.go_on()?;
        (told.indexing)();
        let index = format!("CREATE {} INDEX {table}_key ON {table} (key)", shape.unique());
        self.ask("cannot index it", |connection| {
            connection.execute_batch(&index)?;
            match own {
                true => connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())),
                false => Ok(()),
            }
        })
    }

    fn prove(&mut self, number: u32, shape: &Shape, _told: &Told) -> Result<Proof> {
        let ask = "SELECT count(*) FILTER (WHERE pagetype = 'leaf'), total(ncell) FILTER (WHERE pagetype = 'leaf'), \
                   count(*) FILTER (WHERE pagetype = 'overflow'), max(ncell) FILTER (WHERE pagetype = 'leaf') \
                   FROM dbstat WHERE name = ?1";
        let (leaves, cells, overflow, most): (u64, f64, u64, u64) =
            self.ask("cannot ask for its pages", |connection| {
                let read = |row: &rusqlite::Row<'_>| {
                    let whole = |at: usize| row.get::<_, Option<i64>>(at).map(|n| n.unwrap_or(0) as u64);
                    Ok((whole(0)?, row.get(1)?, whole(2)?, whole(3)?))
                };
                connection.query_row(ask, [name(number)], read)
            })?;
        let proof = Proof {
            number,
            rows: cells as u64,
            blocks: leaves,
            how: format!("dbstat: {leaves} leaf pages of at most {most} rows, {overflow} overflow pages"),
        };
        let good = proof.rows == shape.blocks && leaves == shape.blocks && most == 1 && overflow == 0;
        if good { Ok(proof) } else { Err(not_one_row(&proof)) }
    }

    fn mark_ready(&mut self, number: u32) -> Result<()> {
        let mark = "UPDATE fathom_slob SET state = 'ready' WHERE number = ?1";
        self.ask("cannot mark it", |connection| connection.execute(mark, [number]).map(|_| ()))
    }

    fn check_drop(&mut self, number: u32) -> Result<()> {
        let table = name(number);
        let others = self.ask("cannot read its schema", |connection| {
            let ask = "SELECT name FROM sqlite_master WHERE tbl_name IN (?1, ?2) AND type IN ('trigger', 'index') \
                       AND name NOT IN (?3) LIMIT 1";
            let names = [table.clone(), format!("{table}_scan"), format!("{table}_key")];
            connection.query_row(ask, names, |row| row.get::<_, String>(0)).optional()
        })?;
        match others {
            Some(found) => Err(not_ours(number, &found)),
            None => Ok(()),
        }
    }

    fn drop_schema(&mut self, number: u32) -> Result<()> {
        let table = name(number);
        self.ask("cannot drop it", |connection| {
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE; DROP TABLE IF EXISTS {table}; DROP TABLE IF EXISTS {table}_scan; \
                 DELETE FROM fathom_slob WHERE number = {number}; COMMIT"
            ))
        })?;
        if self.marks()?.is_empty() {
            self.ask("cannot drop its mark", |c| c.execute_batch("DROP TABLE IF EXISTS fathom_slob"))?;
        }
        if self.tables()?.is_empty() {
            // Nothing is left in the file: it goes too.
            self.connection = None;
            let beside = |end: &str| PathBuf::from(format!("{}{end}", self.file.display()));
            for file in [self.file.clone(), beside("-wal"), beside("-shm"), beside("-journal")] {
                let _ = std::fs::remove_file(file);
            }
        }
        Ok(())
    }

    fn place(&mut self, directory: &Path) -> Result<String> {
        Err(DatabaseError::new(
            Trouble::Settings,
            "SQLite's data is its file, and nowhere else",
            format!("name the file: sqlite:{}/slob.db", directory.display()),
        ))
    }

    fn counters(&mut self) -> Result<Counters> {
        Ok(Counters::default())
    }

    fn plans(&mut self) -> Result<Vec<(String, String)>> {
        let mut plans = Vec::new();
        for text in texts(&name(1), false) {
            let lines = self.ask("cannot explain a statement", |connection| {
                let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}"))?;
                let values = [1i64, 2].into_iter().take(statement.parameter_count());
                let rows = statement.query_map(rusqlite::params_from_iter(values), |row| row.get(3))?;
                rows.collect::<rusqlite::Result<Vec<String>>>()
            })?;
            plans.push((text, lines.join("\n")));
        }
        Ok(plans)
    }

    fn sessions_gone(&mut self) -> bool {
        true
    }
}

/// What a session does in a schema: select, update, scan.
fn texts(table: &str, heavy: bool) -> [String; 3] {
    let set = if heavy { "scratch = scratch + 1, filler = ?3" } else { "scratch = scratch + 1" };
    let rows = format!("{table} INDEXED BY {table}_key");
    [
        format!("SELECT count(scratch) FROM {rows} WHERE key BETWEEN ?1 AND ?2"),
        format!("UPDATE {rows} SET {set} WHERE key BETWEEN ?1 AND ?2"),
        format!("SELECT count(scratch) FROM {table}_scan"),
    ]
}

/// Statements of one schema.
struct Statements {
    schema: u32,
    select: String,
    update: String,
    scan: String,
}

/// A connection of its own, with its own cache.
pub(super) struct SqliteSession {
    connection: Connection,
    statements: Vec<Statements>,
    heavy: Option<Vec<u8>>,
    random: Xoshiro256Plus,
    work: Arc<SharedWork>,
    told: u32,
    /// Rows touched that were not told yet.
    rows: u64,
}

impl SqliteSession {
    pub(super) fn open(url: &Url, ability: &Ability, work: Arc<SharedWork>) -> Result<Self> {
        let file = url.file().unwrap_or(Path::new(""));
        let refused = |error| refused("cannot open a session", file, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags).map_err(refused)?;
        connection.busy_timeout(BUSY).map_err(refused)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(refused)?;
        connection.set_prepared_statement_cache_capacity(16);
        let heavy = ability.redo == Redo::Heavy;
        let statements: Vec<Statements> = ability
            .schemas
            .iter()
            .map(|schema| {
                let [select, update, scan] = texts(&name(schema + 1), heavy);
                Statements { schema: *schema, select, update, scan }
            })
            .collect();
        for statement in &statements {
            for sql in [&statement.select, &statement.update, &statement.scan] {
                connection.prepare_cached(sql).map_err(refused)?;
            }
        }
        Ok(SqliteSession {
            connection,
            statements,
            heavy: heavy.then(|| vec![b'X'; ability.filler_bytes as usize]),
            random: Xoshiro256Plus::seed_from_u64(ability.seed),
            work,
            told: 0,
            rows: 0,
        })
    }

    fn of(&self, schema: u32) -> &Statements {
        self.statements.iter().find(|s| s.schema == schema).unwrap_or(&self.statements[0])
    }

    fn account(&mut self, rows: u64) {
        self.told += 1;
        self.rows += rows;
        if self.told.is_multiple_of(32) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let (status, pager) = (take_pager_status(&self.connection), &self.work.pager);
        pager.hits.fetch_add(status.hits, Relaxed);
        pager.misses.fetch_add(status.misses, Relaxed);
        pager.writes.fetch_add(status.writes, Relaxed);
        pager.rows.fetch_add(std::mem::take(&mut self.rows), Relaxed);
    }

    fn count(&self, sql: &str, params: impl rusqlite::Params) -> std::result::Result<u64, Failure> {
        let ask = || self.connection.prepare_cached(sql)?.query_row(params, |row| row.get::<_, i64>(0));
        ask().map(|count| count.max(0) as u64).map_err(failure)
    }
}

impl Drop for SqliteSession {
    fn drop(&mut self) {
        self.tell();
    }
}

fn failure(error: rusqlite::Error) -> Failure {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FailureKind::Retry,
        _ => FailureKind::Statement,
    };
    Failure { kind, message: error.to_string() }
}

fn keys(first: u64, count: u32) -> (i64, i64) {
    (first as i64, first as i64 + i64::from(count) - 1)
}

impl Session for SqliteSession {
    fn select(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure> {
        let seen = self.count(&self.of(schema).select, keys(first, count))?;
        self.account(seen);
        Ok(seen)
    }

    fn update(&mut self, schema: u32, first: u64, count: u32) -> std::result::Result<u64, Failure> {
        let (low, high) = keys(first, count);
        if let Some(filler) = &mut self.heavy {
            write_letters(&mut self.random, filler);
        }
        let change = || {
            self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            let mut statement = self.connection.prepare_cached(&self.of(schema).update)?;
            match &self.heavy {
                None => statement.execute(params![low, high]),
                Some(filler) => statement.execute(params![low, high, String::from_utf8_lossy(filler)]),
            }
        };
        let changed = change().map(|changed| changed as u64).map_err(failure)?;
        self.rows += changed;
        Ok(changed)
    }

    fn commit(&mut self) -> std::result::Result<(), Failure> {
        let commit = || self.connection.prepare_cached("COMMIT")?.execute([]);
        commit().map_err(failure)?;
        self.account(0);
        Ok(())
    }

    fn rollback(&mut self) -> std::result::Result<(), Failure> {
        match self.connection.is_autocommit() {
            true => Ok(()),
            false => self.connection.execute_batch("ROLLBACK").map_err(failure),
        }
    }

    fn scan(&mut self, schema: u32) -> std::result::Result<u64, Failure> {
        let seen = self.count(&self.of(schema).scan, [])?;
        self.account(seen);
        Ok(seen)
    }
}
