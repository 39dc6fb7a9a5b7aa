//! What can be typed after `fathom slob`, and nothing of what it means.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fathom_session::output::Output;
use fathom_spec::{Bytes, Nanos};
use std::path::PathBuf;

/// `fathom slob`.
#[derive(Debug, Args)]
pub struct Slob {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the schemas: tables with one row in each block, keys in random order
    Setup(Box<Setup>),
    /// Let sessions select and update blocks at random, and measure what the database asks of its storage
    Run(Box<Run>),
    /// Raise the sessions until throughput stops growing
    Sweep(Box<Sweep>),
    /// Show a run again, also as awr.txt, pgio's result line or db_stats.out
    Report(Report),
    /// Remove the schemas that setup made, and no others
    Drop(Box<Drop>),
    /// Read the counters of a running database without a load of its own: the database, the host or the storage?
    Observe(Box<Observe>),
}

/// Which database, and where its data is.
#[derive(Debug, Args)]
pub struct Place {
    /// postgres://USER@HOST/NAME, mysql://USER@HOST or sqlite:FILE [default: sqlite:slob.db]
    #[arg(long, value_name = "URL")]
    pub db: Option<String>,
    /// Start a server of its own below this directory, load it, and remove it afterwards
    #[arg(long, value_name = "DIR", conflicts_with = "db", value_hint = ValueHint::DirPath)]
    pub server: Option<PathBuf>,
    /// Which server that is
    #[arg(long, value_enum, value_name = "KIND", default_value = "postgres")]
    pub server_kind: Kind,
    /// As whom it runs when fathom is root [default: the owner of DIR, else postgres or mysql]
    #[arg(long, value_name = "USER", requires = "server")]
    pub server_user: Option<String>,
    /// Bytes of its own cache: shared_buffers, innodb_buffer_pool_size
    #[arg(long, value_name = "SIZE", requires = "server")]
    pub cache: Option<Bytes>,
    /// Most memory for that server and the page cache of its files
    #[arg(long, value_name = "SIZE")]
    pub limit_cache: Option<Bytes>,
    /// A setting of that server, as it names it; once for each
    #[arg(long, value_name = "NAME=VALUE", requires = "server")]
    pub server_setting: Vec<String>,
    /// Where that server keeps its data instead of below --server; with setup, where the tables of a running server go
    #[arg(long, value_name = "DIR", conflicts_with = "tablespace", value_hint = ValueHint::DirPath)]
    pub data_directory: Option<PathBuf>,
    /// PostgreSQL: the tablespace of tables and indexes
    #[arg(long, value_name = "NAME")]
    pub tablespace: Option<String>,
    /// PostgreSQL: tables without write-ahead log (NOLOGGING)
    #[arg(long)]
    pub unlogged: bool,
    /// slob.conf or pgio.conf [default: the one that lies here]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub conf: Option<PathBuf>,
    /// Read neither, though one lies here
    #[arg(long, conflicts_with = "conf")]
    pub no_conf: bool,
}

/// A server that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// PostgreSQL
    Postgres,
    /// MariaDB
    Mariadb,
}

/// The parameters of slob.conf and pgio.conf that make the tables.
#[derive(Debug, Args)]
pub struct Tables {
    /// SCALE of each schema: blocks, or a size such as 80M
    #[arg(long, value_name = "SIZE")]
    pub scale: Option<String>,
    /// SCAN_TABLE_SZ: blocks of the scan table, or a size
    #[arg(long, value_name = "SIZE")]
    pub scan_table_size: Option<String>,
    /// LOAD_PARALLEL_DEGREE: schemas that are loaded at a time
    #[arg(long, value_name = "N")]
    pub load_parallel_degree: Option<String>,
    /// OBFUSCATE_COLUMNS: random letters, which nothing below can compress
    #[arg(long)]
    pub obfuscate_columns: bool,
    /// UNIQUE_INDEX: a unique index on the key
    #[arg(long)]
    pub unique_index: bool,
}

/// The parameters that make the load.
#[derive(Debug, Args)]
pub struct Work {
    /// UPDATE_PCT: percent of updates, 0 to 50, or 100
    #[arg(long, value_name = "PERCENT")]
    pub update_pct: Option<String>,
    /// SCAN_PCT: percent of the selects that scan, 0 to 50, or 100
    #[arg(long, value_name = "PERCENT")]
    pub scan_pct: Option<String>,
    /// RUN_TIME: seconds, or a time such as 10s
    #[arg(long, value_name = "TIME")]
    pub run_time: Option<String>,
    /// WORK_LOOP: iterations of each session instead of RUN_TIME
    #[arg(long, value_name = "N")]
    pub work_loop: Option<String>,
    /// WORK_UNIT: blocks that a select touches
    #[arg(long, value_name = "N")]
    pub work_unit: Option<String>,
    /// UPDATE_WORK_UNIT: blocks that an update touches
    #[arg(long, value_name = "N")]
    pub update_work_unit: Option<String>,
    /// REDO_STRESS: lite or heavy
    #[arg(long, value_name = "HOW")]
    pub redo_stress: Option<String>,
    /// DO_HOTSPOT: some iterations go to a hot spot
    #[arg(long)]
    pub do_hotspot: bool,
    /// HOTSPOT_MB: how large it is
    #[arg(long, value_name = "MB")]
    pub hotspot_mb: Option<String>,
    /// HOTSPOT_OFFSET_MB: where it begins
    #[arg(long, value_name = "MB")]
    pub hotspot_offset_mb: Option<String>,
    /// HOTSPOT_FREQUENCY: every so many iterations
    #[arg(long, value_name = "N")]
    pub hotspot_frequency: Option<String>,
    /// HOT_SCHEMA_FREQUENCY: every so many iterations go to the first schema
    #[arg(long, value_name = "N")]
    pub hot_schema_frequency: Option<String>,
    /// THINK_TM_FREQUENCY: a pause where the block's number divides by it
    #[arg(long, value_name = "N")]
    pub think_frequency: Option<String>,
    /// THINK_TM_MIN: the least pause, seconds
    #[arg(long, value_name = "TIME")]
    pub think_min: Option<String>,
    /// THINK_TM_MAX: the longest pause, seconds
    #[arg(long, value_name = "TIME")]
    pub think_max: Option<String>,
    /// DATABASE_STATISTICS_TYPE: awr or statspack, the name of the report
    #[arg(long, value_name = "TYPE")]
    pub statistics: Option<String>,
    /// EXTERNAL_SCRIPT: called with pre, post and end
    #[arg(long, value_name = "PROGRAM")]
    pub external_script: Option<String>,
    /// The configuration file may name an EXTERNAL_SCRIPT, which is run (as FATHOM_EXEC_CONSENT=1 says)
    #[arg(long)]
    pub allow_exec: bool,
    /// NO_OS_PERF_DATA: no iostat.out, vmstat.out, mpstat.out
    #[arg(long)]
    pub no_os_perf_data: bool,
    /// Left out at the start
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub warm_up: Nanos,
    /// Start so many operations a second in all, whatever the database does (Poisson arrivals)
    #[arg(long, value_name = "PER SECOND")]
    pub rate: Option<f64>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// `fathom slob setup`.
#[derive(Debug, Args)]
pub struct Setup {
    /// As the script says it: a tablespace and a number of schemas, or only the number
    #[arg(value_name = "TABLESPACE SCHEMAS", num_args = 0..=2)]
    pub words: Vec<String>,
    /// Schemas
    #[arg(short = 's', long, value_name = "N")]
    pub schemas: Option<String>,
    /// Load schemas anew that are there with another SCALE or shape; without it they are left
    #[arg(long)]
    pub replace: bool,
    /// What they hold
    #[command(flatten)]
    pub tables: Tables,
    /// Where
    #[command(flatten)]
    pub place: Place,
}

/// `fathom slob run`.
#[derive(Debug, Args)]
pub struct Run {
    /// As the script says it: a number of schemas
    #[arg(value_name = "SCHEMAS")]
    pub words: Option<String>,
    /// Schemas [default: those that setup made]
    #[arg(short = 's', long, value_name = "N", conflicts_with = "words")]
    pub schemas: Option<String>,
    /// THREADS_PER_SCHEMA: sessions of each
    #[arg(short = 't', long, value_name = "N")]
    pub threads: Option<String>,
    /// What they do
    #[command(flatten)]
    pub work: Work,
    /// What is loaded first, with --server
    #[command(flatten)]
    pub tables: Tables,
    /// Where
    #[command(flatten)]
    pub place: Place,
    /// Write awr.txt, db_stats.out, iostat.out, vmstat.out, mpstat.out and tm.out into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub files: Option<PathBuf>,
    /// A name of your own for the run
    #[arg(long, help_heading = "Output")]
    pub label: Option<String>,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}

/// `fathom slob sweep`.
#[derive(Debug, Args)]
pub struct Sweep {
    /// Schemas [default: those that setup made]
    #[arg(short = 's', long, value_name = "N")]
    pub schemas: Option<String>,
    /// The most sessions that are tried
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub most: u32,
    /// How long each number of sessions is measured
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub point: Nanos,
    /// How many may be measured
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=200))]
    pub points: u32,
    /// What they do
    #[command(flatten)]
    pub work: Work,
    /// What is loaded first, with --server
    #[command(flatten)]
    pub tables: Tables,
    /// Where
    #[command(flatten)]
    pub place: Place,
    /// A name of your own for the run
    #[arg(long, help_heading = "Output")]
    pub label: Option<String>,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Figures with their errors, and the verdict
    Text,
    /// A report with AWR's names
    Awr,
    /// pgio's table and result line
    Pgio,
    /// A line for each session
    DbStats,
    /// iostat -t -xm
    Iostat,
    /// vmstat -t
    Vmstat,
    /// mpstat -P ALL
    Mpstat,
}

/// `fathom slob report`.
#[derive(Debug, Args)]
pub struct Report {
    /// Its number, its id or the beginning of that, or last [default: the last run of slob]
    pub run: Option<String>,
    /// In which form
    #[arg(long = "as", value_enum, value_name = "FORM", default_value = "text")]
    pub form: Form,
    /// Where it goes
    #[command(flatten)]
    pub output: Output,
    /// Write all its files into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub files: Option<PathBuf>,
}

/// `fathom slob drop`.
#[derive(Debug, Args)]
pub struct Drop {
    /// Where
    #[command(flatten)]
    pub place: Place,
}

/// `fathom slob observe`.
#[derive(Debug, Args)]
pub struct Observe {
    /// For so long
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub length: Nanos,
    /// Where
    #[command(flatten)]
    pub place: Place,
    /// A name of your own for the run
    #[arg(long, help_heading = "Output")]
    pub label: Option<String>,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}
