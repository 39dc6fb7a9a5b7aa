//! Sets up, proves, drops and counts in MySQL and MariaDB.

use super::{connect, refused};
use crate::backend::{Admin, Told, name, not_one_row, not_ours, schemas_of};
use crate::counters::Counters;
use crate::error::{DatabaseError, Result, Trouble};
use crate::facts::{Facts, Proof, Schema, Shape};
use crate::rows::Rows;
use crate::url::Url;
use ::mysql::Conn;
use ::mysql::prelude::{FromRow, Queryable};
use fathom_host::process_time::is_named;
use fathom_host::{Roots, text_file};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rows of a statement that stay, and as many that go; between two looks at the interrupt.
const BATCH: u64 = 100;
/// Looks at the purge of deleted rows, a quarter of a second apart, before the proof is taken as it stands.
const PURGE_LOOKS: u32 = 240;

/// An administrative connection.
pub(in crate::backend) struct MysqlAdmin {
    url: Url,
    connection: Conn,
    /// Does it keep account of files, and may this user see it?
    counts_files: bool,
}

/// What the server did with the files of our tables; times are in picoseconds.
const FILES: &str = "SELECT CAST(COALESCE(SUM(COUNT_READ), 0) AS UNSIGNED), \
    CAST(COALESCE(SUM(SUM_NUMBER_OF_BYTES_READ), 0) DIV @@innodb_page_size AS UNSIGNED), \
    CAST(COALESCE(SUM(SUM_TIMER_READ), 0) DIV 1000 AS UNSIGNED), \
    CAST(COALESCE(SUM(COUNT_WRITE), 0) AS UNSIGNED), \
    CAST(COALESCE(SUM(SUM_TIMER_WRITE), 0) DIV 1000 AS UNSIGNED) \
    FROM performance_schema.file_summary_by_instance WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file' \
    AND FILE_NAME REGEXP '/slob[1-9][0-9]*/(blocks|scan)[.]ibd$'";

impl MysqlAdmin {
    pub(in crate::backend) fn open(url: &Url) -> Result<Self> {
        let mut admin = MysqlAdmin { url: url.clone(), connection: connect(url)?, counts_files: false };
        admin.counts_files = admin.one::<u64>("SELECT @@performance_schema")? == 1
            && admin.all::<(u64, u64, u64, u64, u64)>(FILES).is_ok();
        Ok(admin)
    }

    fn all<T: FromRow>(&mut self, sql: &str) -> Result<Vec<T>> {
        self.connection.query(sql).map_err(|error| refused("it refused a question", &self.url, &error))
    }

    fn one<T: FromRow + Default>(&mut self, sql: &str) -> Result<T> {
        Ok(self.all(sql)?.into_iter().next().unwrap_or_default())
    }

    fn run(&mut self, what: &str, sql: &str) -> Result<()> {
        self.connection.query_drop(sql).map_err(|error| refused(what, &self.url, &error))
    }

    fn mark(&mut self, schema: &str) -> Option<(Shape, bool)> {
        // No such table, or one with other columns: not ours.
        let marks: Vec<(String, String)> = self
            .connection
            .query(format!("SELECT shape, state FROM {schema}.fathom_slob"))
            .unwrap_or_default();
        let (shape, state) = marks.into_iter().next()?;
        Some((Shape::parse(&shape)?, state == "ready"))
    }

    fn fill(&mut self, table: &str, count: u64, shape: &Shape, seed: u64, told: &Told) -> Result<()> {
        let mut rows = Rows::new(count, shape.filler_bytes, shape.random_filler, seed);
        let same = format!("REPEAT('X',{})", shape.filler_bytes);
        let mut place = 0;
        while place < count {
            told.go_on()?;
            let end = (place + BATCH).min(count);
            let mut sql = format!("INSERT INTO {table} (pos, id, scratch, filler) VALUES ");
            for place in place..end {
                let comma = if sql.ends_with(')') { "," } else { "" };
                let filler = match shape.random_filler {
                    true => format!("'{}'", String::from_utf8_lossy(rows.filler())),
                    false => same.clone(),
                };
                // The second of the two is there to fill the page, and goes.
                let (first, second) = (place * 2 + 1, place * 2 + 2);
                sql.push_str(&format!(
                    "{comma}({first},{},0,{filler}),({second},0,0,{same})",
                    rows.key(place)
                ));
            }
            self.run("cannot load rows", &sql)?;
            let (low, high) = (place * 2 + 1, end * 2);
            let delete = format!("DELETE FROM {table} WHERE pos BETWEEN {low} AND {high} AND id = 0");
            self.run("cannot thin out rows", &delete)?;
            (told.rows)(end - place);
            place = end;
        }
        Ok(())
    }

    /// Reads of the tables' own files, pages of them, their time in ns, writes and their time, where the server keeps account of
    /// files.
    fn files(&mut self) -> Result<Option<[u64; 5]>> {
        if !self.counts_files {
            return Ok(None);
        }
        let (reads, pages, read_ns, writes, write_ns) = self.one::<(u64, u64, u64, u64, u64)>(FILES)?;
        Ok(Some([reads, pages, read_ns, writes, write_ns]))
    }

    /// The server's process, by the file in which it wrote it.
    fn process(&mut self, data: Option<&Path>) -> Option<u32> {
        if !self.url.is_local() {
            return None;
        }
        let file: String = self.one("SELECT @@pid_file").ok()?;
        let text = text_file::read(data.unwrap_or(Path::new("/")).join(file)).ok()?;
        let process = text.trim().parse().ok()?;
        is_named(&Roots::default(), process, &["mariadbd", "mysqld"]).then_some(process)
    }

    /// Pages of the clustered index in memory: all, with one row, with two rows.
    fn pages(&mut self, schema: &str) -> Result<Option<(u64, u64, u64)>> {
        let ask = format!(
            "SELECT COUNT(*), COALESCE(SUM(number_records = 1), 0), COALESCE(SUM(number_records = 2), 0) \
             FROM information_schema.innodb_buffer_page \
             WHERE table_name = '`{schema}`.`blocks`' AND index_name = 'PRIMARY' AND page_type = 'INDEX'"
        );
        match self.all::<(u64, u64, u64)>(&ask) {
            Ok(rows) => Ok(rows.into_iter().next()),
            Err(error) if error.kind == crate::error::Trouble::Rights => Ok(None),
            Err(error) => Err(error),
        }
    }
}

const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_buffer_pool_size', 'innodb_flush_method', \
    'innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'innodb_checksum_algorithm', 'performance_schema', 'innodb_log_file_size', 'innodb_redo_log_capacity', \
    'innodb_io_capacity', 'innodb_io_capacity_max', 'innodb_page_size', 'innodb_log_group_home_dir', 'datadir', \
    'sync_binlog', 'log_bin', 'max_connections', 'innodb_use_native_aio', 'innodb_adaptive_hash_index')";

const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb_%' \
    OR Variable_name IN ('Com_commit', 'Com_rollback', 'Com_select', 'Com_update', 'Handler_update', 'Threads_connected')";

/// What fits all databases beside what InnoDB calls it.
const SAME: [(&str, &str, &str, &str); 8] = [
    ("server", "com_commit", "database", "commits"),
    ("server", "com_rollback", "database", "rollbacks"),
    ("innodb", "deadlocks", "database", "deadlocks"),
    ("innodb", "rows_updated", "database", "rows_updated"),
    // MariaDB counts rows by handler only.
    ("server", "handler_update", "database", "rows_updated"),
    ("innodb", "os_log_written", "log", "bytes"),
    ("innodb", "log_writes", "log", "writes"),
    ("innodb", "os_log_fsyncs", "log", "syncs"),
];

/// `10.11.19-MariaDB-0+deb12u1` and `8.0.36-0ubuntu0`.
fn product(version: &str) -> String {
    let maker = if version.to_ascii_lowercase().contains("mariadb") { "MariaDB" } else { "MySQL" };
    format!("{maker} {}", version.split('-').next().unwrap_or(version))
}

impl Admin for MysqlAdmin {
    fn facts(&mut self) -> Result<Facts> {
        let version: String = self.one("SELECT VERSION()")?;
        let mut settings: Vec<(String, String)> = self.all(SETTINGS)?;
        settings.sort();
        let setting = |name: &str| settings.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        let number = |name: &str| setting(name).and_then(|value| value.parse::<u64>().ok());
        let own = setting("datadir").map(PathBuf::from);
        // The log's directory may be given relative to the data's.
        let log = setting("innodb_log_group_home_dir").map_or(own.clone(), |log| {
            own.as_ref().map(|data| data.join(log.strip_prefix("./").unwrap_or(&log)))
        });
        let placed = self.schemas()?.into_iter().map(|schema| PathBuf::from(schema.shape.tablespace));
        let data = placed.into_iter().find(|path| path.is_absolute()).or(own.clone());
        let now = self.all::<(String, u32)>("SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
        let server_process = self.process(own.as_deref());
        Ok(Facts {
            product: product(&version),
            block_bytes: number("innodb_page_size").unwrap_or(16_384) as u32,
            cache_bytes: number("innodb_buffer_pool_size").unwrap_or(0),
            sessions_most: number("max_connections").map(|most| most as u32),
            sessions_now: now.first().map(|(_, now)| *now),
            data,
            log,
            settings,
            server_process,
        })
    }

    fn filler_bytes(&mut self) -> Result<u32> {
        // 7,900 bytes in a page of 16 KiB, and in proportion: two rows fill a page, one does not leave it.
        let page: u64 = self.one("SELECT @@innodb_page_size")?;
        Ok((page * 7900 / 16_384) as u32)
    }

    fn schemas(&mut self) -> Result<Vec<Schema>> {
        let names: Vec<String> =
            self.all("SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'slob%'")?;
        schemas_of(names, |name| Ok(self.mark(name)))
    }

    fn load(&mut self, number: u32, shape: &Shape, seed: u64, told: &Told) -> Result<()> {
        let schema = name(number);
        self.run(&format!("cannot make the database {schema}"), &format!("CREATE DATABASE {schema}"))?;
        let mark = format!(
            "CREATE TABLE {schema}.fathom_slob (shape VARCHAR(500), state VARCHAR(20)) ENGINE = InnoDB"
        );
        self.run("cannot mark it", &mark)?;
        let shape_text = shape.text().replace(['\'', '\\'], "");
        self.run(
            "cannot mark it",
            &format!("INSERT INTO {schema}.fathom_slob VALUES ('{shape_text}', 'partial')"),
        )?;
        let place = match shape.tablespace.as_str() {
            "" => String::new(),
            directory => format!("DATA DIRECTORY = '{directory}'"),
        };
        for table in ["blocks", "scan"] {
            let make = format!(
                "CREATE TABLE {schema}.{table} (pos BIGINT NOT NULL PRIMARY KEY, id BIGINT, scratch BIGINT, \
                 filler VARCHAR({}) CHARACTER SET latin1) ENGINE = InnoDB ROW_FORMAT = DYNAMIC \
                 COMMENT = 'MERGE_THRESHOLD=1' {place}",
                shape.filler_bytes
            );
            self.run("cannot make its tables", &make)?;
        }
        self.fill(&format!("{schema}.blocks"), shape.blocks, shape, seed, told)?;
        self.fill(&format!("{schema}.scan"), shape.scan_blocks, shape, seed ^ 1, told)?;
        told.go_on()?;
        (told.indexing)();
        let index = format!("ALTER TABLE {schema}.blocks ADD {} INDEX blocks_key (id)", shape.unique());
        self.run("cannot index it", &index)?;
        self.run("cannot analyze it", &format!("ANALYZE TABLE {schema}.blocks, {schema}.scan"))
    }

    fn prove(&mut self, number: u32, shape: &Shape, told: &Told) -> Result<Proof> {
        let schema = name(number);
        // Deleted rows leave their pages when the server gets to it.
        let mut looks = 0;
        let seen = loop {
            told.go_on()?;
            let seen = self.pages(&schema)?;
            looks += 1;
            // A few pages of the upper levels may have two records of their own.
            let purged = seen.is_none_or(|(_, _, two)| two <= 3);
            if purged || looks == PURGE_LOOKS {
                break seen;
            }
            std::thread::sleep(Duration::from_millis(250));
        };
        // MySQL 8 would answer from what it once kept; MariaDB does not know the setting.
        let _ = self.connection.query_drop("SET SESSION information_schema_stats_expiry = 0");
        self.run("cannot analyze it", &format!("ANALYZE TABLE {schema}.blocks"))?;
        let rows: u64 = self.one(&format!("SELECT COUNT(*) FROM {schema}.blocks"))?;
        let ask = format!(
            "SELECT DATA_LENGTH DIV @@innodb_page_size FROM information_schema.tables \
             WHERE table_schema = '{schema}' AND table_name = 'blocks'"
        );
        let size: u64 = self.one(&ask)?;
        let (how, alone) = match seen {
            Some((all, one, two)) => (
                format!(
                    "innodb_buffer_page: of {all} pages of the clustered index in memory {one} have one record and {two} \
                     have two; the index has {size} pages"
                ),
                two <= 3,
            ),
            None => (
                format!(
                    "the clustered index has {size} pages; with the right PROCESS they could be looked at"
                ),
                true,
            ),
        };
        let blocks = if alone { size.min(rows) } else { size.min(rows.saturating_sub(1)) };
        let proof = Proof { number, rows, blocks, how };
        let good = rows == shape.blocks && blocks == rows;
        if good { Ok(proof) } else { Err(not_one_row(&proof)) }
    }

    fn mark_ready(&mut self, number: u32) -> Result<()> {
        self.run("cannot mark it", &format!("UPDATE {}.fathom_slob SET state = 'ready'", name(number)))
    }

    fn check_drop(&mut self, number: u32) -> Result<()> {
        let schema = name(number);
        let ask = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' \
             AND table_name NOT IN ('blocks', 'scan', 'fathom_slob') \
             UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{schema}' LIMIT 1"
        );
        match self.all::<String>(&ask)?.first() {
            Some(found) => Err(not_ours(number, found)),
            None => Ok(()),
        }
    }

    fn drop_schema(&mut self, number: u32) -> Result<()> {
        let schema = name(number);
        self.run(&format!("cannot drop the database {schema}"), &format!("DROP DATABASE {schema}"))
    }

    fn place(&mut self, directory: &Path) -> Result<String> {
        let text = directory.display().to_string();
        match directory.is_absolute() && !text.contains(['\'', '\\']) {
            true => Ok(text),
            false => Err(DatabaseError::new(
                Trouble::Settings,
                format!("{text} cannot be a DATA DIRECTORY"),
                "name an absolute path without quotes and backslashes",
            )),
        }
    }

    fn counters(&mut self) -> Result<Counters> {
        let mut counters = Counters::default();
        let names = ["reads", "pages_read", "read_time_ns", "writes", "write_time_ns"];
        for (at, value) in self.files()?.into_iter().flatten().enumerate() {
            counters.add("files", names[at], value);
        }
        for (name, value) in self.all::<(String, String)>(STATUS)? {
            let Ok(value) = value.parse::<u64>() else { continue };
            let name = name.to_ascii_lowercase();
            match name.strip_prefix("innodb_") {
                Some(name) => counters.add("innodb", name, value),
                None => counters.add("server", &name, value),
            }
        }
        for (of, name, same_of, same) in SAME {
            if let (Some(value), None) = (counters.get(of, name), counters.get(same_of, same)) {
                counters.add(same_of, same, value);
            }
        }
        Ok(counters)
    }

    fn plans(&mut self) -> Result<Vec<(String, String)>> {
        let [select, update, scan] = super::texts(&name(1), false);
        let mut plans = Vec::new();
        for text in [select, update, scan] {
            let asked = text.replacen('?', "1", 1).replacen('?', "2", 1);
            let rows: Vec<::mysql::Row> = self.all(&format!("EXPLAIN {asked}"))?;
            let lines: Vec<String> = rows.iter().map(plan_line).collect();
            plans.push((text, lines.join("\n")));
        }
        Ok(plans)
    }

    fn sessions_gone(&mut self) -> bool {
        // InnoDB counts for the whole server at once.
        true
    }
}

/// A row of EXPLAIN: its columns that say something.
fn plan_line(row: &::mysql::Row) -> String {
    let columns = row.columns_ref().iter().enumerate().filter_map(|(at, column)| {
        let value: Option<String> = row.get_opt(at)?.ok()?;
        Some(format!("{}={}", column.name_str(), value?))
    });
    columns.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_its_maker() {
        assert_eq!(product("10.11.19-MariaDB-0+deb12u1"), "MariaDB 10.11.19");
        assert_eq!(product("8.0.36-0ubuntu0.22.04.1"), "MySQL 8.0.36");
    }
}
