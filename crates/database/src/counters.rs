//! Counters as the database keeps them, raw, and what changed between two readings in words that fit all databases. A counter
//! that went backwards or that this database does not keep is `None`, never a zero.

use fathom_record::{Sample, SampleOf};

/// One reading: whose counter (`database`, `tables`, `log`, `io`, `pager`), its name there, its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// As read, in the order of reading. `of` carries the prefix `database`, as the samples of a run do.
    pub raw: Vec<(String, String, u64)>,
}

/// What changed between two readings. Blocks are the database's own; table blocks are those of the schemas `slob*` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Blocks of the schemas' tables and indexes that were asked of the database's cache; of the whole server where it does not
    /// tell them apart (InnoDB).
    pub logical_reads: Option<u64>,
    /// Of these, blocks that were not in it: read from a file, perhaps out of the page cache.
    pub physical_reads: Option<u64>,
    /// The same for everybody in this database.
    pub logical_reads_of_all: Option<u64>,
    pub physical_reads_of_all: Option<u64>,
    /// Rows of the schemas' tables that were read or changed, where it tells: what the sessions touched, as far as it was handed
    /// over with the other counts.
    pub rows_fetched: Option<u64>,
    /// Table blocks asked of the cache (PostgreSQL: `heap_blks_read + heap_blks_hit`). `None` where the database does not
    /// tell tables from indexes: take the rows that the sessions touched, one a block.
    pub table_logical: Option<u64>,
    /// Table blocks that were not in it. `None` as above: take `physical_reads`, index blocks included.
    pub table_physical: Option<u64>,
    /// Index blocks asked of the cache.
    pub index_logical: Option<u64>,
    /// Index blocks that were not in it.
    pub index_physical: Option<u64>,
    /// Blocks written to files.
    pub physical_writes: Option<u64>,
    /// Read requests to the operating system: for the schemas' blocks, where those are told apart.
    pub read_requests: Option<u64>,
    /// Write requests of the whole server to the operating system, the log's included.
    pub write_requests: Option<u64>,
    /// Bytes read from data files.
    pub bytes_read: Option<u64>,
    /// Bytes written to data files.
    pub bytes_written: Option<u64>,
    /// Bytes of log (WAL, redo).
    pub log_bytes: Option<u64>,
    pub log_writes: Option<u64>,
    pub log_syncs: Option<u64>,
    /// Time in which sessions waited for reads of data, ns; only where the server times them (`track_io_timing`,
    /// `performance_schema`), and then of `timed_reads` reads.
    pub read_wait_ns: Option<u64>,
    /// Reads of data that were or would have been timed.
    pub timed_reads: Option<u64>,
    /// Time of the writes of data, ns, and how many they were, where the server times them.
    pub write_wait_ns: Option<u64>,
    pub timed_writes: Option<u64>,
    /// Checkpoints, and times that the tables were vacuumed or analyzed by the server itself.
    pub checkpoints: Option<u64>,
    pub autovacuums: Option<u64>,
    /// Whole pages in the log.
    pub log_page_images: Option<u64>,
    /// Statements that read, and those that change, by everybody.
    pub selects: Option<u64>,
    pub updates: Option<u64>,
    /// Transactions committed.
    pub commits: Option<u64>,
    /// Transactions rolled back.
    pub rollbacks: Option<u64>,
    /// Deadlocks that the database broke.
    pub deadlocks: Option<u64>,
    /// Rows changed.
    pub rows_updated: Option<u64>,
}

impl Counters {
    /// Adds a counter as it was read.
    pub(crate) fn add(&mut self, of: &str, name: &str, value: u64) {
        self.raw.push((of.to_owned(), name.to_owned(), value));
    }

    /// A counter by whose it is and its name.
    pub fn get(&self, of: &str, name: &str) -> Option<u64> {
        self.raw.iter().find(|(o, n, _)| o == of && n == name).map(|(_, _, value)| *value)
    }

    /// The reading as samples of a run.
    pub fn samples(&self, at_ns: u64) -> impl Iterator<Item = Sample> + '_ {
        self.raw.iter().map(move |(of, name, value)| Sample {
            at_ns,
            of: SampleOf::Database(of.clone()),
            name: name.clone().into(),
            value: *value,
        })
    }

    /// The reading of a run that lies nearest to a moment, with its moment; `None` when the run has none.
    pub fn nearest(samples: &[Sample], at_ns: u64) -> Option<(u64, Counters)> {
        let ours = || {
            samples.iter().filter_map(|sample| match &sample.of {
                SampleOf::Database(group) => Some((group, sample)),
                _ => None,
            })
        };
        let moment = ours().map(|(_, sample)| sample.at_ns).min_by_key(|at| at.abs_diff(at_ns))?;
        let mut counters = Counters::default();
        for (group, sample) in ours().filter(|(_, sample)| sample.at_ns == moment) {
            counters.add(group, &sample.name.to_string(), sample.value);
        }
        Some((moment, counters))
    }

    /// What changed since an earlier reading of the same database.
    pub fn since(&self, earlier: &Counters) -> Change {
        let change = |of: &str, name: &str| self.get(of, name)?.checked_sub(earlier.get(of, name)?);
        let sum = |left: Option<u64>, right: Option<u64>| Some(left? + right?);
        let any = |of: &str, names: &[&str]| names.iter().find_map(|name| change(of, name));
        let from_microseconds = |of: &str, name: &str| Some(change(of, name)? * 1_000);
        let from_nanoseconds = |of: &str, name: &str| change(of, name);
        let table_hits = change("tables", "heap_blks_hit");
        let index_hits = change("tables", "idx_blks_hit");
        let table_misses = change("tables", "heap_blks_read");
        let index_misses = change("tables", "idx_blks_read");
        let hits = change("database", "blks_hit").or_else(|| change("pager", "cache_hit"));
        let misses = change("database", "blks_read").or_else(|| change("pager", "cache_miss"));
        let own_misses = sum(table_misses, index_misses);
        let own_asked = sum(own_misses, sum(table_hits, index_hits));
        let asked_of_all = change("innodb", "buffer_pool_read_requests").or(sum(hits, misses));
        let misses_of_all = change("innodb", "buffer_pool_reads").or(misses);
        Change {
            logical_reads: own_asked.or(asked_of_all),
            physical_reads: own_misses.or(change("files", "pages_read")).or(misses_of_all),
            logical_reads_of_all: asked_of_all,
            physical_reads_of_all: misses_of_all,
            rows_fetched: change("tables", "rows_fetched"),
            table_logical: sum(table_hits, table_misses),
            table_physical: table_misses,
            index_logical: sum(index_hits, index_misses),
            index_physical: index_misses,
            physical_writes: change("innodb", "pages_written")
                .or_else(|| change("io", "writes"))
                .or_else(|| change("writer", "buffers_written"))
                .or_else(|| change("pager", "cache_write")),
            read_requests: change("files", "reads")
                .or(own_misses)
                .or(change("innodb", "data_reads"))
                .or(misses),
            write_requests: change("innodb", "data_writes")
                .or_else(|| {
                    sum(
                        change("io", "writes").or_else(|| change("writer", "buffers_written")),
                        change("log", "writes"),
                    )
                })
                .or_else(|| change("pager", "cache_write")),
            bytes_read: change("innodb", "data_read").or_else(|| change("io", "read_bytes")),
            bytes_written: change("innodb", "data_written").or_else(|| change("io", "write_bytes")),
            log_bytes: change("log", "bytes"),
            log_writes: change("log", "writes"),
            log_syncs: change("log", "syncs"),
            read_wait_ns: from_nanoseconds("files", "read_time_ns")
                .or_else(|| from_microseconds("database", "read_time_us")),
            timed_reads: change("files", "reads").or_else(|| change("database", "timed_reads")),
            write_wait_ns: from_nanoseconds("files", "write_time_ns"),
            timed_writes: change("files", "writes"),
            checkpoints: sum(
                any("checkpointer", &["num_timed"]).or_else(|| change("writer", "checkpoints_timed")),
                any("checkpointer", &["num_requested"]).or_else(|| change("writer", "checkpoints_req")),
            ),
            autovacuums: change("tables", "autovacuums"),
            log_page_images: change("wal", "wal_fpi"),
            selects: change("server", "com_select"),
            updates: change("server", "com_update"),
            commits: change("database", "commits"),
            rollbacks: change("database", "rollbacks"),
            deadlocks: change("database", "deadlocks"),
            rows_updated: change("database", "rows_updated"),
        }
    }
}

impl Change {
    /// Logical and physical reads of table blocks, for the verdict "the disk or the cache". Logical are the blocks that the
    /// sessions touched: an update finds its block, locks it and changes it, and a database that counts each of these finds
    /// the block in its cache but for the first. Physical are as the database tells them, or, where it does not tell tables
    /// from indexes, all physical reads (index blocks are among them, so that it errs towards the disk); no more than were
    /// touched.
    pub fn table_reads(&self, touched: u64) -> Option<(u64, u64)> {
        Some((touched, self.table_physical.or(self.physical_reads)?.min(touched)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(values: &[(&str, &str, u64)]) -> Counters {
        let mut counters = Counters::default();
        values.iter().for_each(|(of, name, value)| counters.add(of, name, *value));
        counters
    }

    #[test]
    fn table_blocks_stand_apart_from_index_blocks() {
        let before = reading(&[
            ("database", "blks_hit", 10),
            ("database", "blks_read", 1),
            ("tables", "heap_blks_hit", 5),
            ("tables", "heap_blks_read", 5),
        ]);
        let after = reading(&[
            ("database", "blks_hit", 310),
            ("database", "blks_read", 101),
            ("tables", "heap_blks_hit", 11),
            ("tables", "heap_blks_read", 99),
        ]);
        let change = after.since(&before);
        assert_eq!((change.logical_reads_of_all, change.physical_reads_of_all), (Some(400), Some(100)));
        assert_eq!((change.table_logical, change.table_physical), (Some(100), Some(94)));
        assert_eq!(change.table_reads(97), Some((97, 94)));
        assert_eq!(before.since(&after).physical_reads, None, "went backwards");
        assert_eq!(change.log_bytes, None, "not kept");
    }

    /// A client of the same database beside the run halved the reads that were reported.
    #[test]
    fn what_others_read_in_the_same_database_is_not_counted() {
        let of = |all: u64, own: u64| {
            let names = ["heap_blks_hit", "heap_blks_read", "idx_blks_hit", "idx_blks_read", "rows_fetched"];
            let mut counters = reading(&[("database", "blks_hit", all), ("database", "blks_read", all)]);
            names.iter().for_each(|name| counters.add("tables", name, own));
            counters
        };
        let change = of(100_000, 12).since(&of(0, 2));
        assert_eq!((change.logical_reads, change.physical_reads), (Some(40), Some(20)));
        assert_eq!((change.read_requests, change.rows_fetched), (Some(20), Some(10)));
        assert_eq!(change.logical_reads_of_all, Some(200_000));
    }

    /// An update finds its block, locks it and changes it: half of all table blocks were hits, whatever the disk did.
    #[test]
    fn an_updates_block_is_read_once_though_the_database_asks_for_it_three_times() {
        let after = reading(&[("tables", "heap_blks_hit", 300), ("tables", "heap_blks_read", 98)]);
        let before = reading(&[("tables", "heap_blks_hit", 0), ("tables", "heap_blks_read", 0)]);
        assert_eq!(after.since(&before).table_reads(100), Some((100, 98)));
    }

    #[test]
    fn where_tables_and_indexes_are_one_the_rows_touched_stand_for_table_blocks() {
        let before =
            reading(&[("innodb", "buffer_pool_read_requests", 0), ("innodb", "buffer_pool_reads", 0)]);
        let after =
            reading(&[("innodb", "buffer_pool_read_requests", 600), ("innodb", "buffer_pool_reads", 120)]);
        assert_eq!(after.since(&before).table_reads(100), Some((100, 100)));
        assert_eq!(after.since(&before).table_reads(1000), Some((1000, 120)));
    }

    #[test]
    fn a_reading_comes_back_from_the_samples_of_a_run() {
        let counters = reading(&[("log", "bytes", 7)]);
        let mut samples: Vec<Sample> = counters.samples(5).collect();
        samples.push(Sample { at_ns: 9, of: "disk vda".into(), name: "reads".into(), value: 1 });
        assert_eq!(Counters::nearest(&samples, 8), Some((5, counters)));
        assert_eq!(Counters::nearest(&samples[1..], 8), None);
    }
}
