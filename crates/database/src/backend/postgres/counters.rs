//! PostgreSQL's counters. Each view is asked as text pairs, so that columns that a version lacks are simply absent.

use super::{ADMIN, OURS, SESSION};
use crate::counters::Counters;

/// One statement for everything that this version keeps.
pub(super) fn question(version: u32) -> String {
    let pairs = |of: &str, row: &str| {
        format!("SELECT '{of}'::text, key, value FROM jsonb_each_text(to_jsonb(({row})))")
    };
    let mut parts = vec![
        pairs("database", "SELECT d FROM pg_stat_database d WHERE datname = current_database()"),
        pairs("writer", "SELECT w FROM pg_stat_bgwriter w"),
        pairs(
            "tables",
            &format!(
                "SELECT s FROM (SELECT sum(heap_blks_read)::bigint AS heap_blks_read, \
                 sum(heap_blks_hit)::bigint AS heap_blks_hit, sum(idx_blks_read)::bigint AS idx_blks_read, \
                 sum(idx_blks_hit)::bigint AS idx_blks_hit, \
                 sum(coalesce(t.idx_tup_fetch, 0) + coalesce(t.seq_tup_read, 0))::bigint AS rows_fetched, \
                 sum(t.autovacuum_count + t.autoanalyze_count)::bigint AS autovacuums \
                 FROM pg_statio_user_tables b JOIN pg_stat_user_tables t USING (relid) \
                 WHERE b.schemaname ~ '{OURS}' AND b.relname IN ('blocks', 'scan')) s"
            ),
        ),
        "SELECT 'log', 'bytes', CASE WHEN pg_is_in_recovery() THEN NULL ELSE \
         pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint END::text"
            .to_owned(),
    ];
    if version >= 140_000 {
        parts.push(pairs("wal", "SELECT w FROM pg_stat_wal w"));
    }
    if version >= 160_000 {
        let bytes = match version >= 180_000 {
            true => "sum(read_bytes)::bigint AS read_bytes, sum(write_bytes)::bigint AS write_bytes",
            false => {
                "sum(reads * op_bytes)::bigint AS read_bytes, sum(writes * op_bytes)::bigint AS write_bytes"
            }
        };
        let sums = format!(
            "SELECT s FROM (SELECT sum(reads)::bigint AS reads, sum(writes)::bigint AS writes, \
             sum(extends)::bigint AS extends, sum(fsyncs)::bigint AS fsyncs, {bytes} FROM pg_stat_io \
             WHERE object IN ('relation', 'temp relation')) s"
        );
        parts.push(pairs("io", &sums));
    }
    if version >= 170_000 {
        parts.push(pairs("checkpointer", "SELECT c FROM pg_stat_checkpointer c"));
    }
    if version >= 180_000 {
        let sums = "SELECT s FROM (SELECT sum(writes)::bigint AS wal_write, sum(fsyncs)::bigint AS wal_sync \
                    FROM pg_stat_io WHERE object = 'wal') s";
        parts.push(pairs("wal", sums));
    }
    parts.join(" UNION ALL ")
}

/// In what state sessions are, one row a state: ours in a run, else everybody's but those that read counters.
pub(super) fn waits(ours: bool) -> String {
    let whose = match ours {
        true => format!("application_name = '{SESSION}'"),
        false => format!("application_name <> '{ADMIN}'"),
    };
    format!(
        "SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU'), count(*) FROM pg_stat_activity \
         WHERE state = 'active' AND backend_type = 'client backend' AND {whose} GROUP BY 1"
    )
}

/// What fits all databases beside what PostgreSQL calls it.
const SAME: [(&str, &str, &str, &str); 7] = [
    ("database", "xact_commit", "database", "commits"),
    ("database", "xact_rollback", "database", "rollbacks"),
    ("database", "tup_updated", "database", "rows_updated"),
    ("wal", "wal_write", "log", "writes"),
    ("wal", "wal_sync", "log", "syncs"),
    ("database", "blk_read_time_us", "database", "read_time_us"),
    ("database", "blks_read", "database", "timed_reads"),
];

/// Numbers of the answer; times, which PostgreSQL gives in milliseconds, in microseconds.
pub(super) fn read(pairs: &[(String, String, Option<String>)]) -> Counters {
    let mut counters = Counters::default();
    for (of, name, value) in pairs {
        let Some(number) = value.as_ref().and_then(|value| value.parse::<f64>().ok()) else { continue };
        if name.ends_with("id") || number < 0.0 {
            continue;
        }
        match name.ends_with("_time") {
            // Beyond 2^53 a double is no exact counter any more: whole numbers are read as such.
            true => counters.add(of, &format!("{name}_us"), (number * 1000.0) as u64),
            false => {
                let whole = value.as_ref().and_then(|value| value.parse::<u64>().ok());
                counters.add(of, name, whole.unwrap_or(number as u64));
            }
        }
    }
    for (of, name, same_of, same) in SAME {
        if let Some(value) = counters.get(of, name) {
            counters.add(same_of, same, value);
        }
    }
    let written = ["buffers_clean", "buffers_checkpoint", "buffers_backend"];
    let parts: Option<Vec<u64>> = written.iter().map(|name| counters.get("writer", name)).collect();
    if let Some(parts) = parts {
        counters.add("writer", "buffers_written", parts.iter().sum());
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_counters_with_times_in_microseconds() {
        let pair =
            |of: &str, name: &str, value: &str| (of.to_owned(), name.to_owned(), Some(value.to_owned()));
        let counters = read(&[
            pair("database", "xact_commit", "9007199254740993"),
            pair("database", "blk_read_time", "1.5"),
            pair("database", "datname", "bench"),
            pair("database", "datid", "5"),
            pair("writer", "buffers_clean", "1"),
            pair("writer", "buffers_checkpoint", "2"),
            pair("writer", "buffers_backend", "4"),
            ("log".to_owned(), "bytes".to_owned(), None),
        ]);
        assert_eq!(counters.get("database", "commits"), Some(9_007_199_254_740_993));
        assert_eq!(counters.get("database", "read_time_us"), Some(1500));
        assert_eq!(counters.get("writer", "buffers_written"), Some(7));
        for absent in ["datname", "datid"] {
            assert_eq!(counters.get("database", absent), None);
        }
        assert_eq!(counters.get("log", "bytes"), None);
    }
}
