//! One table of all parameters of `slob.conf` and `pgio.conf`: which script has them, what they are, and the flag that says
//! the same on the command line.

/// Which script's configuration knows a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// SLOB's `slob.conf`.
    Slob,
    /// pgio's `pgio.conf`.
    Pgio,
    /// Both.
    Both,
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As it stands in the file.
    pub name: &'static str,
    /// In which file.
    pub script: Script,
    /// The flag that says the same, without its dashes; empty where there is none.
    pub flag: &'static str,
    /// What it is, and what becomes of it here.
    pub says: &'static str,
}

const fn row(name: &'static str, script: Script, flag: &'static str, says: &'static str) -> Row {
    Row { name, script, flag, says }
}

/// Every parameter.
pub const PARAMETERS: &[Row] = &[
    row("UPDATE_PCT", Script::Both, "update-pct", "percent of updates: 0 to 50, or 100"),
    row("SCAN_PCT", Script::Slob, "scan-pct", "percent of selects that scan the scan table: 0 to 50, or 100"),
    row("RUN_TIME", Script::Both, "run-time", "seconds; slob.conf takes no less than 30"),
    row("WORK_LOOP", Script::Slob, "work-loop", "iterations of each session; 0: as long as RUN_TIME"),
    row("SCALE", Script::Both, "scale", "blocks of each schema: a number, or a size with M, G or T"),
    row("SCAN_TABLE_SZ", Script::Slob, "scan-table-size", "blocks of the scan table, in the same words"),
    row("WORK_UNIT", Script::Both, "work-unit", "rows that a statement asks for"),
    row("UPDATE_WORK_UNIT", Script::Pgio, "update-work-unit", "the same for updates"),
    row("REDO_STRESS", Script::Slob, "redo-stress", "LITE updates two columns, HEAVY all nineteen"),
    row("LOAD_PARALLEL_DEGREE", Script::Slob, "load-parallel-degree", "schemas that are loaded at a time"),
    row("THREADS_PER_SCHEMA", Script::Slob, "threads", "sessions of each schema"),
    row("NUM_THREADS", Script::Pgio, "threads", "sessions of each schema"),
    row("NUM_SCHEMAS", Script::Pgio, "schemas", "schemas"),
    row("DATABASE_STATISTICS_TYPE", Script::Slob, "statistics", "awr or statspack: the name of the report"),
    row("DO_HOTSPOT", Script::Slob, "do-hotspot", "TRUE: some iterations go to a hot spot"),
    row("HOTSPOT_MB", Script::Slob, "hotspot-mb", "how large it is"),
    row("HOTSPOT_OFFSET_MB", Script::Slob, "hotspot-offset-mb", "where it begins"),
    row("HOTSPOT_FREQUENCY", Script::Slob, "hotspot-frequency", "every so many iterations; 0: never"),
    row(
        "HOT_SCHEMA_FREQUENCY",
        Script::Slob,
        "hot-schema-frequency",
        "iterations that go to the first schema",
    ),
    row(
        "THINK_TM_FREQUENCY",
        Script::Slob,
        "think-frequency",
        "a pause where the block's number divides by it",
    ),
    row("THINK_TM_MIN", Script::Slob, "think-min", "the least pause, seconds"),
    row("THINK_TM_MAX", Script::Slob, "think-max", "the longest pause, seconds"),
    row("OBFUSCATE_COLUMNS", Script::Slob, "obfuscate-columns", "TRUE: random letters instead of X"),
    row("BLOCK_SZ", Script::Slob, "", "bytes of a block; refused where the database has another"),
    row(
        "UNIQUE_INDEX",
        Script::Slob,
        "unique-index",
        "TRUE: a unique index on the key; SLOB's own is not, by default",
    ),
    row(
        "EXTERNAL_SCRIPT",
        Script::Slob,
        "external-script",
        "a program that is called with pre, post and end",
    ),
    row("ADMIN_SQLNET_SERVICE", Script::Slob, "", "refused: Oracle's network"),
    row("SQLNET_SERVICE_BASE", Script::Slob, "", "refused: Oracle's network"),
    row("SQLNET_SERVICE_MAX", Script::Slob, "", "refused: Oracle's network"),
    row("DBA_PRIV_USER", Script::Slob, "", "the user, where --db names none"),
    row("SYSDBA_PASSWD", Script::Slob, "", "the password, where --db has none; never printed nor kept"),
    row("NO_OS_PERF_DATA", Script::Slob, "no-os-perf-data", "TRUE: no iostat.out, vmstat.out, mpstat.out"),
    row("DBNAME", Script::Pgio, "", "the database, where there is no --db"),
    row("CONNECT_STRING", Script::Pgio, "", "how to connect, where there is no --db"),
    row("CREATE_BASE_TABLE", Script::Pgio, "", "accepted: rows are made without a base table"),
];

/// The parameter of that name.
pub fn parameter(name: &str) -> Option<&'static Row> {
    PARAMETERS.iter().find(|row| row.name == name)
}

/// The parameter that was probably meant.
pub fn near(found: &str) -> Option<&'static str> {
    let found = found.to_ascii_uppercase();
    let distance = |row: &Row| strsim::levenshtein(&found, row.name);
    let best = PARAMETERS.iter().map(|row| (distance(row), row.name)).min()?;
    (best.0 <= 2 + best.1.len() / 8).then_some(best.1)
}
