//! Sets up, proves and drops in PostgreSQL.

use super::{OURS, connect, counters, refused};
use crate::backend::{Admin, Told, name, not_one_row, not_ours, schemas_of};
use crate::counters::Counters;
use crate::error::{DatabaseError, Result, Trouble};
use crate::facts::{Facts, Proof, Schema, Shape};
use crate::rows::Rows;
use crate::url::Url;
use fathom_host::Roots;
use fathom_host::process_time::parent_named;
use postgres::types::ToSql;
use postgres::{Client, Row, SimpleQueryMessage};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The tablespace that is made for a directory.
const SPACE: &str = "fathom_slob";

/// Rows of one write to the server, and between two looks at the interrupt.
const BATCH: u64 = 256;

/// An administrative connection.
pub(in crate::backend) struct PostgresAdmin {
    url: Url,
    client: Client,
    version: u32,
}

impl PostgresAdmin {
    pub(in crate::backend) fn open(url: &Url) -> Result<Self> {
        let client = connect(url, super::ADMIN)?;
        let mut admin = PostgresAdmin { url: url.clone(), client, version: 0 };
        let row = admin.one("SELECT current_setting('server_version_num')::int", &[])?;
        admin.version = row.get::<_, i32>(0).max(0) as u32;
        Ok(admin)
    }

    fn all(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        self.client.query(sql, params).map_err(|error| refused("it refused a question", &self.url, &error))
    }

    fn one(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Row> {
        self.client
            .query_one(sql, params)
            .map_err(|error| refused("it refused a question", &self.url, &error))
    }

    fn run(&mut self, what: &str, sql: &str) -> Result<()> {
        self.client.batch_execute(sql).map_err(|error| refused(what, &self.url, &error))
    }

    /// The data directory, or the tablespace in which our tables are.
    fn data(&mut self) -> Result<(Option<PathBuf>, Option<PathBuf>)> {
        // Only superusers and members of pg_read_all_settings see it.
        let ask = "SELECT setting FROM pg_settings WHERE name = 'data_directory'";
        let directory = self.all(ask, &[])?.first().map(|row| PathBuf::from(row.get::<_, String>(0)));
        let log = directory.as_ref().map(|directory| directory.join("pg_wal"));
        let ask = "SELECT DISTINCT pg_tablespace_location(c.reltablespace) FROM pg_class c \
                   JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname ~ $1 AND c.relname = 'blocks' AND c.reltablespace <> 0";
        let elsewhere = self.all(ask, &[&OURS])?.first().map(|row| PathBuf::from(row.get::<_, String>(0)));
        Ok((elsewhere.filter(|path| path.is_absolute()).or(directory), log))
    }

    fn mark(&mut self, schema: &str) -> Result<Option<(Shape, bool)>> {
        // A schema that this user may not look into is somebody else's, and so is a table of that name with other columns.
        let ask = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname = $1 AND c.relname = 'fathom_slob'";
        if self.all(ask, &[&schema])?.is_empty() {
            return Ok(None);
        }
        let marks = self.client.query(&format!("SELECT shape, state FROM {schema}.fathom_slob"), &[]);
        let marks = marks.unwrap_or_default();
        Ok(marks.first().and_then(|row| {
            let (shape, state) = (row.try_get::<_, String>(0).ok()?, row.try_get::<_, String>(1).ok()?);
            Some((Shape::parse(&shape)?, state == "ready"))
        }))
    }

    /// Loads both tables in one transaction that made them, so that the rows are frozen as they come and, at
    /// `wal_level = minimal`, make no log.
    fn fill(&mut self, number: u32, shape: &Shape, seed: u64, told: &Told) -> Result<()> {
        let (schema, url) = (name(number), self.url.clone());
        let refused = |error| refused("cannot load rows", &url, &error);
        let unlogged = if shape.unlogged { "UNLOGGED" } else { "" };
        let space = match shape.tablespace.as_str() {
            "" => String::new(),
            space => format!("TABLESPACE \"{}\"", space.replace('"', "\"\"")),
        };
        let mut transaction = self.client.transaction().map_err(refused)?;
        for (table, count, seed) in [("blocks", shape.blocks, seed), ("scan", shape.scan_blocks, seed ^ 1)] {
            let make = format!(
                "CREATE {unlogged} TABLE {schema}.{table} (key bigint, scratch bigint, filler text STORAGE PLAIN) \
                 WITH (fillfactor = 10) {space}"
            );
            // STORAGE in CREATE TABLE came with version 16.
            let make = make.replace(" STORAGE PLAIN", "");
            let plain = format!("ALTER TABLE {schema}.{table} ALTER COLUMN filler SET STORAGE PLAIN");
            transaction.batch_execute(&format!("{make}; {plain}")).map_err(refused)?;
            let copy = format!("COPY {schema}.{table} FROM STDIN WITH (FORMAT binary, FREEZE)");
            let mut writer = transaction.copy_in(&copy).map_err(refused)?;
            let mut rows = Rows::new(count, shape.filler_bytes, shape.random_filler, seed);
            let mut bytes = Vec::with_capacity(BATCH as usize * (shape.filler_bytes as usize + 40));
            bytes.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
            let mut place = 0;
            while place < count {
                told.go_on()?;
                let end = (place + BATCH).min(count);
                for place in place..end {
                    binary_row(&mut bytes, rows.key(place), rows.filler());
                }
                writer.write_all(&bytes).map_err(|error| broken(&url, &error))?;
                bytes.clear();
                (told.rows)(end - place);
                place = end;
            }
            bytes.extend_from_slice(&(-1i16).to_be_bytes());
            writer.write_all(&bytes).map_err(|error| broken(&url, &error))?;
            writer.finish().map_err(refused)?;
        }
        told.go_on()?;
        (told.indexing)();
        let index = format!("CREATE {} INDEX blocks_key ON {schema}.blocks (key) {space}", shape.unique());
        transaction.batch_execute(&index).map_err(refused)?;
        transaction.commit().map_err(refused)
    }
}

/// A row of three columns in COPY's binary format: the number of columns, then each with its length in front.
fn binary_row(out: &mut Vec<u8>, key: u64, filler: &[u8]) {
    out.extend_from_slice(&3i16.to_be_bytes());
    for number in [key as i64, 0] {
        out.extend_from_slice(&8i32.to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(&(filler.len() as i32).to_be_bytes());
    out.extend_from_slice(filler);
}

fn broken(url: &Url, error: &std::io::Error) -> DatabaseError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>());
    match inner {
        Some(error) => refused("cannot load rows", url, error),
        None => DatabaseError::new(
            Trouble::Connection,
            format!("{url}: cannot load rows: {error}"),
            "the server went away; see its log",
        ),
    }
}

const SETTINGS: &str = "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings WHERE name IN \
    ('shared_buffers', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'wal_level', 'wal_compression', \
    'max_wal_size', 'checkpoint_timeout', 'effective_io_concurrency', 'io_method', 'debug_io_direct', 'track_io_timing', \
    'track_wal_io_timing', 'commit_delay', 'data_checksums', 'autovacuum', 'max_connections') ORDER BY name";

impl Admin for PostgresAdmin {
    fn facts(&mut self) -> Result<Facts> {
        let ask = "SELECT split_part(current_setting('server_version'), ' ', 1), current_setting('block_size')::int, \
                   (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers'), \
                   current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int, \
                   (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')";
        let row = self.one(ask, &[])?;
        let block_bytes = row.get::<_, i32>(1) as u32;
        let (data, log) = self.data()?;
        let settings = self.all(SETTINGS, &[])?;
        let process = match self.url.is_local() {
            true => Some(self.one("SELECT pg_backend_pid()", &[])?.get::<_, i32>(0).unsigned_abs()),
            false => None,
        };
        Ok(Facts {
            product: format!("PostgreSQL {}", row.get::<_, String>(0)),
            block_bytes,
            cache_bytes: row.get::<_, i64>(2) as u64 * u64::from(block_bytes),
            sessions_most: Some(row.get::<_, i32>(3).max(0) as u32),
            sessions_now: Some(row.get::<_, i64>(4) as u32),
            data,
            log,
            settings: settings.iter().map(|row| (row.get(0), row.get(1))).collect(),
            // In another container the number would be another process's, which has not these names.
            server_process: process.and_then(|pid| parent_named(&Roots::default(), pid, &super::PROCESSES)),
        })
    }

    fn filler_bytes(&mut self) -> Result<u32> {
        Ok(1024)
    }

    fn schemas(&mut self) -> Result<Vec<Schema>> {
        let names = self.all("SELECT nspname::text FROM pg_namespace WHERE nspname ~ $1", &[&OURS])?;
        schemas_of(names.iter().map(|row| row.get(0)), |name| self.mark(name))
    }

    fn load(&mut self, number: u32, shape: &Shape, seed: u64, told: &Told) -> Result<()> {
        let schema = name(number);
        let mark = shape.text().replace('\'', "''");
        self.run(
            &format!("cannot make the schema {schema}"),
            &format!(
                "BEGIN; CREATE SCHEMA {schema}; CREATE TABLE {schema}.fathom_slob (shape text, state text); \
                 INSERT INTO {schema}.fathom_slob VALUES ('{mark}', 'partial'); COMMIT"
            ),
        )
        .inspect_err(|_| {
            let _ = self.client.batch_execute("ROLLBACK");
        })?;
        self.fill(number, shape, seed, told)?;
        // Three thousand rows are enough for plans of one index; the default of thirty thousand takes a session 35 MB.
        self.run(
            "cannot analyze it",
            &format!("SET default_statistics_target = 10; ANALYZE {schema}.blocks; ANALYZE {schema}.scan"),
        )?;
        // So that a run does not begin with writing what was loaded. Only some users may; the others wait for the server.
        let _ = self.client.batch_execute("CHECKPOINT");
        Ok(())
    }

    fn prove(&mut self, number: u32, shape: &Shape, _told: &Told) -> Result<Proof> {
        let schema = name(number);
        let ask = format!(
            "SELECT count(*), count(*) FILTER (WHERE ctid::text NOT LIKE '%,1)'), \
             pg_relation_size('{schema}.blocks') / current_setting('block_size')::bigint FROM {schema}.blocks"
        );
        let row = self.one(&ask, &[])?;
        let (rows, seconds, pages): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        // An update leaves its row in the same block at another place of it: then blocks are counted one by one.
        let blocks = match seconds {
            0 => rows,
            _ => {
                let ask = "SELECT count(DISTINCT split_part(ctid::text, ',', 1)) FROM";
                self.one(&format!("{ask} {schema}.blocks"), &[])?.get::<_, i64>(0)
            }
        };
        let (rows, blocks) = (rows as u64, blocks as u64);
        let how = format!("ctid: {rows} rows in {blocks} blocks; the table has {pages} blocks");
        let proof = Proof { number, rows, blocks, how };
        let good = rows == shape.blocks && blocks == rows;
        if good { Ok(proof) } else { Err(not_one_row(&proof)) }
    }

    fn mark_ready(&mut self, number: u32) -> Result<()> {
        self.run("cannot mark it", &format!("UPDATE {}.fathom_slob SET state = 'ready'", name(number)))
    }

    fn check_drop(&mut self, number: u32) -> Result<()> {
        let schema = name(number);
        let ask = "SELECT relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname = $1 AND relkind IN ('r', 'v', 'm', 'S', 'p', 'f') \
                   AND relname NOT IN ('blocks', 'scan', 'fathom_slob') LIMIT 1";
        match self.all(ask, &[&schema])?.first() {
            Some(row) => Err(not_ours(number, &row.get::<_, String>(0))),
            None => Ok(()),
        }
    }

    fn drop_schema(&mut self, number: u32) -> Result<()> {
        let schema = name(number);
        // Without CASCADE what else depends on them (a view elsewhere, a function in the schema) is told, not dropped.
        self.run(
            &format!("cannot drop the schema {schema}"),
            &format!(
                "BEGIN; DROP TABLE IF EXISTS {schema}.blocks; DROP TABLE IF EXISTS {schema}.scan; \
                 DROP TABLE {schema}.fathom_slob; DROP SCHEMA {schema}; COMMIT"
            ),
        )
        .inspect_err(|_| {
            let _ = self.client.batch_execute("ROLLBACK");
        })
    }

    fn place(&mut self, directory: &Path) -> Result<String> {
        let ask = "SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname = $1";
        let there = self.all(ask, &[&SPACE])?.first().map(|row| PathBuf::from(row.get::<_, String>(0)));
        match there {
            Some(there) if there == directory => {}
            Some(there) => {
                return Err(DatabaseError::new(
                    Trouble::Foreign,
                    format!("{}: the tablespace {SPACE} lies in {}", self.url, there.display()),
                    "remove what was set up there first (drop), or name that directory",
                ));
            }
            None => {
                let location = directory.display().to_string().replace('\'', "''");
                self.run(
                    "cannot make a tablespace (its directory must be there, be empty, and belong to the server's user)",
                    &format!("CREATE TABLESPACE {SPACE} LOCATION '{location}'"),
                )?;
            }
        }
        Ok(SPACE.to_owned())
    }

    fn tablespace(&mut self, name: &str) -> Result<Option<(String, PathBuf)>> {
        let ask = "SELECT spcname::text, coalesce(nullif(pg_tablespace_location(oid), ''), \
                   (SELECT setting FROM pg_settings WHERE name = 'data_directory'), '') FROM pg_tablespace \
                   WHERE lower(spcname) = lower($1) ORDER BY spcname = $1 DESC LIMIT 1";
        let rows = self.all(ask, &[&name])?;
        Ok(rows.first().map(|row| (row.get(0), PathBuf::from(row.get::<_, String>(1)))))
    }

    fn unplace(&mut self) {
        // One in which something is left, of this database or another, stays.
        let _ = self.client.batch_execute(&format!("DROP TABLESPACE IF EXISTS {SPACE}"));
    }

    fn counters(&mut self) -> Result<Counters> {
        let rows = self.all(&counters::question(self.version), &[])?;
        Ok(counters::read(&rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect::<Vec<_>>()))
    }

    fn waits(&mut self, ours: bool) -> Result<Option<Vec<(String, u64)>>> {
        let rows = self.all(&counters::waits(ours), &[])?;
        Ok(Some(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1).unsigned_abs())).collect()))
    }

    fn plans(&mut self) -> Result<Vec<(String, String)>> {
        // On a connection of its own, with the settings of a session.
        let mut client = connect(&self.url, super::ADMIN)?;
        let url = self.url.clone();
        let refused = |error| refused("it does not explain a statement", &url, &error);
        client.query(super::SETTINGS, &[]).map_err(refused)?;
        let mut plans = Vec::new();
        for (number, text) in super::texts(&name(1), false).into_iter().enumerate() {
            let (types, values) = match text.contains("$1") {
                true => ("(bigint, bigint)", "(1, 2)"),
                false => ("", ""),
            };
            client.batch_execute(&format!("PREPARE plan{number}{types} AS {text}")).map_err(refused)?;
            let rows =
                client.simple_query(&format!("EXPLAIN EXECUTE plan{number}{values}")).map_err(refused)?;
            let lines = rows.iter().filter_map(|row| match row {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
            plans.push((text, lines.collect::<Vec<_>>().join("\n")));
        }
        Ok(plans)
    }

    fn sessions_gone(&mut self) -> bool {
        let ask =
            format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'", super::SESSION);
        self.one(&ask, &[]).map_or(true, |row| row.get::<_, i64>(0) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_the_binary_format_of_copy_wants_it() {
        let mut bytes = Vec::new();
        binary_row(&mut bytes, 258, b"XX");
        assert_eq!(
            bytes,
            [
                &[0u8, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 8][..],
                &[0; 8],
                &[0, 0, 0, 2, b'X', b'X']
            ]
            .concat()
        );
    }
}
