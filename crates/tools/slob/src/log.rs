//! The lines that `runit.sh` and `setup.sh` print while they work, SLOB's and pgio's. The words are fathom's own where SLOB's
//! licence keeps its own; names, order and layout are theirs, so that scripts find what they look for.

use super::database_counters::DatabaseCounters;
use super::run_context::RunContext;
use super::settings::{Settings, Words};
use fathom_record::Run;
use fathom_spec::Nanos;
use std::io::{self, Write};

/// What kind of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is done.
    Notify,
    /// What ends it.
    Fatal,
    /// What the user should know.
    Warning,
}

/// One line of the log: `NOTIFY  : 2026.11.21-07:06:15 : text`. `at` is the time of day in that form.
pub fn line(kind: Kind, at: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    let kind = match kind {
        Kind::Notify => "NOTIFY",
        Kind::Fatal => "FATAL",
        Kind::Warning => "WARNING",
    };
    writeln!(out, "{kind:<7} : {at} : {text}")
}

/// Seconds as a configuration writes them: `300`, `.1`, `1.5`.
fn seconds(time: Nanos) -> String {
    let text = format!("{}", time.0 as f64 / 1e9);
    text.strip_prefix("0.").map_or(text.clone(), |fraction| format!(".{fraction}"))
}

/// All settings, one a line, in `runit.sh`'s order and names.
pub fn settings(settings: &Settings, blocks: u64, out: &mut impl Write) -> io::Result<()> {
    let s = settings;
    let text = |value: &Option<String>| format!("\"{}\"", value.as_deref().unwrap_or(""));
    let upper = |value: bool| if value { "TRUE" } else { "FALSE" };
    let lines: Vec<(&str, String)> = vec![
        ("UPDATE_PCT", s.update_pct.to_string()),
        ("SCAN_PCT", s.scan_pct.to_string()),
        ("RUN_TIME", seconds(s.run_time)),
        ("WORK_LOOP", s.work_loop.to_string()),
        ("SCALE", format!("{} ({blocks} blocks)", s.scale)),
        ("WORK_UNIT", s.work_unit.to_string()),
        ("REDO_STRESS", format!("{:?}", s.redo_stress).to_uppercase()),
        ("HOT_SCHEMA_FREQUENCY", s.hot_schema_frequency.to_string()),
        ("DO_HOTSPOT", upper(s.hotspot.on).to_owned()),
        ("HOTSPOT_MB", s.hotspot.size_mb.to_string()),
        ("HOTSPOT_OFFSET_MB", s.hotspot.offset_mb.to_string()),
        ("HOTSPOT_FREQUENCY", s.hotspot.frequency.to_string()),
        ("THINK_TM_FREQUENCY", s.think.frequency.to_string()),
        ("THINK_TM_MIN", seconds(s.think.least)),
        ("THINK_TM_MAX", seconds(s.think.longest)),
        ("DATABASE_STATISTICS_TYPE", format!("{:?}", s.statistics).to_lowercase()),
        ("DBA_PRIV_USER", text(&s.user)),
        ("EXTERNAL_SCRIPT", text(&s.external_script)),
        ("THREADS_PER_SCHEMA", s.threads.to_string()),
    ];
    lines.iter().try_for_each(|(name, value)| writeln!(out, "{name}: {value}"))
}

/// The line before the sessions start.
pub fn connecting(settings: &Settings) -> String {
    let Settings { threads, schemas, .. } = settings;
    format!("Connecting {threads} (THREADS_PER_SCHEMA) session(s) to {schemas} schema(s) ...")
}

/// pgio's lines before its sessions start. `date` as date(1) prints it.
pub fn pgio_head(told: &RunContext, date: &str, out: &mut impl Write) -> io::Result<()> {
    let Settings { schemas, threads, scale, .. } = &told.settings;
    writeln!(out, "Date: {date}")?;
    writeln!(out, "Database connect string: \"{}\". ", told.connect)?;
    if let Some((_, cache)) = &told.cache {
        writeln!(out, "Shared buffers: {}. ", cache_size(cache.0))?;
    }
    writeln!(
        out,
        "Testing {schemas} schemas with {threads} thread(s) accessing {scale} ({} blocks) of each schema.",
        told.blocks
    )?;
    writeln!(out, "Running iostat, vmstat and mpstat on current host--in background.")?;
    writeln!(out, "Launching sessions. {schemas} schema(s) will be accessed by {threads} thread(s) each.")
}

/// As PostgreSQL shows a setting of size: `1GB`, `128MB`, `16kB`.
fn cache_size(bytes: u64) -> String {
    let units = [(1u64 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let fits = units.iter().find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size));
    fits.map_or(format!("{bytes}B"), |(size, name)| format!("{}{name}", bytes / size))
}

/// The whole run in seconds, as pgio counts it: it has no warm-up.
pub fn run_seconds(run: &Run) -> u64 {
    (Nanos(run.length_ns).seconds().round() as u64).max(1)
}

/// pgio's table and its result line, followed by an empty one. Rates are whole numbers, cut off, as pgio's are.
pub fn pgio_result(
    told: &RunContext,
    (before, after): (&DatabaseCounters, &DatabaseCounters),
    seconds: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "pg_stat_database stats:")?;
    writeln!(out, "          datname| blks_hit| blks_read|tup_returned|tup_fetched|tup_updated")?;
    for (head, c) in [("BEFORE: ", before), ("AFTER:  ", after)] {
        let DatabaseCounters { blocks_hit, blocks_read, rows_returned, rows_fetched, rows_updated } = c;
        writeln!(
            out,
            "{head} {:<7} | {blocks_hit:>8} | {blocks_read:>9} | {rows_returned:>12} | {rows_fetched:>11} | {rows_updated:>11}",
            told.database
        )?;
    }
    let rate = |before: u64, after: u64| after.saturating_sub(before) / seconds.max(1);
    let Settings { schemas, threads, .. } = told.settings;
    writeln!(
        out,
        "DBNAME:  {}. {schemas} schemas, {threads} threads(each). Run time: {seconds} seconds. RIOPS >{}< CACHE_HITS/s >{}<\n",
        told.database,
        rate(before.blocks_read, after.blocks_read),
        rate(before.blocks_hit, after.blocks_hit)
    )
}

/// Lines of a setup, in the words of the script that is spoken.
pub fn loaded(settings: &Settings, done: u32, elapsed_seconds: u64, out: &mut impl Write) -> io::Result<()> {
    let Settings { schemas, scale, words, .. } = settings;
    match words {
        Words::Pgio if done < *schemas => writeln!(
            out,
            "Waiting for batch. Global schema count: {done}. Elapsed: {elapsed_seconds} seconds."
        ),
        Words::Pgio => {
            writeln!(out, "Group data loading phase complete.         Elapsed: {elapsed_seconds} seconds.")
        }
        _ => writeln!(out, "{done} of {schemas} schemas loaded, {scale} each, {elapsed_seconds} seconds"),
    }
}
