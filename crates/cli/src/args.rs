//! What can be typed, and nothing of what it means.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use fathom_calibrate::figures::Expected;
use fathom_record::{ExpectedValue, FigureName};
use fathom_session::output::{ListOutput, Output};
use fathom_spec::{Bytes, LatencyLimit, Nanos, QueueKind};
use std::path::PathBuf;

/// Measures what the storage under a database can do, and says how sure it is.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 finished but not reliable or not as expected, 130 interrupted.\n\
                  Environment: FATHOM_STORE results database, NO_COLOR no colour, FATHOM_NOTES=1 notes of compatibility modes on stderr,\n\
                  FATHOM_WRITE_CONSENT and FATHOM_EXEC_CONSENT consent where a tool has no option for it."
)]
pub struct Cli {
    /// Keep results in this SQLite file instead of the user's own
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Global")]
    pub store: Option<PathBuf>,
    /// No progress bars on stderr
    #[arg(long, global = true, help_heading = "Global")]
    pub no_progress: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What fathom can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find what the storage can do: IOPS within a latency limit, MB/s, latency, durable commits
    Calibrate(Box<Calibrate>),
    /// Run a single fixed workload
    Run(Box<Load>),
    /// One small read a second: is the disk slow now? Harmless in production
    Ping(Ping),
    /// Is a calibration IN PROGRESS, READY or NOT AVAILABLE
    Status(Status),
    /// List the runs that were kept
    History(History),
    /// Show one run again
    Show(Show),
    /// Ask the store in SQL, also by Oracle's own names
    Sql(Sql),
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// How sure the headline figures must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// +-10 %
    Fast,
    /// +-5 %
    Normal,
    /// +-2 %
    Strict,
}

/// How I/O is asked of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// The best that works here
    Auto,
    /// io_uring
    #[value(name = "io_uring")]
    IoUring,
    /// The kernel's older asynchronous I/O
    Libaio,
    /// One blocking call at a time for each worker
    Psync,
}

impl EngineKind {
    /// The same in the plan's terms.
    pub fn queue(self) -> QueueKind {
        match self {
            EngineKind::Auto => QueueKind::Auto,
            EngineKind::IoUring => QueueKind::IoUring,
            EngineKind::Libaio => QueueKind::Libaio,
            EngineKind::Psync => QueueKind::Psync,
        }
    }
}

/// What may be written.
#[derive(Debug, Args)]
pub struct Consent {
    /// Measure reads only (a directory still gets its scratch file to read)
    #[arg(long, conflicts_with = "write_consent", help_heading = "Safety")]
    pub read_only: bool,
    /// Allow writing to this target, whatever it holds; once for each
    #[arg(long, value_name = "NAME", value_hint = ValueHint::AnyPath, help_heading = "Safety")]
    pub write_consent: Vec<String>,
}

/// `fathom calibrate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom calibrate /srv/data\n  fathom calibrate --read-only --time 30s /dev/nvme0n1\n  fathom calibrate --data-files '/u01/oradata/*.dbf' --expect iops=20000,p99=5ms"
)]
pub struct Calibrate {
    /// A directory (a scratch file is laid out in it), a file, a block device, or sim:ways=32,service=100us; several are measured as one
    #[arg(value_hint = ValueHint::AnyPath)]
    pub targets: Vec<String>,
    /// Read the database's own files below a directory, or of a pattern such as '/u01/oradata/*.dbf'; never written
    #[arg(long, value_name = "DIR|GLOB", conflicts_with = "targets", help_heading = "Target")]
    pub data_files: Option<String>,
    /// Physical disks; recorded, and the first step of the search [default: found]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Target")]
    pub num_disks: Option<u32>,
    /// The latency that is tolerated: 20ms bounds the mean, p99=2ms the 99th percentile
    #[arg(long, value_name = "LIMIT", default_value = "20ms", help_heading = "Load")]
    pub max_latency: LatencyLimit,
    /// Size of small I/Os
    #[arg(
        short = 'b',
        long,
        visible_alias = "block",
        value_name = "SIZE",
        default_value = "8k",
        help_heading = "Load"
    )]
    pub block_size: Bytes,
    /// Size of large I/Os
    #[arg(long, value_name = "SIZE", default_value = "1m", help_heading = "Load")]
    pub large_size: Bytes,
    /// Working set [default: the least of a quarter of the free space, 32 GiB and what is laid out in 20 s]
    #[arg(long, value_name = "SIZE", help_heading = "Target")]
    pub size: Option<Bytes>,
    /// Measurement time, not counting creation of the test file
    #[arg(
        short = 't',
        long,
        value_name = "TIME",
        default_value = "60s",
        help_heading = "Time and precision"
    )]
    pub time: Nanos,
    /// How sure the headline figures must be
    #[arg(long, value_enum, default_value = "fast", help_heading = "Time and precision")]
    pub precision: Precision,
    /// I/O submission interface
    #[arg(long, value_enum, default_value = "auto", help_heading = "Load")]
    pub engine: EngineKind,
    /// Search on a mix of small reads and writes, percent, such as 70/30
    #[arg(long, value_name = "READ/WRITE", help_heading = "Load")]
    pub mix: Option<Mix>,
    /// What you expect: iops, mbps, latency, p99, commits, commit_p99; exit status 3 where it is not reached
    #[arg(long, value_name = "NAME=VALUE,...", help_heading = "Time and precision")]
    pub expect: Option<Expect>,
    /// Afterwards hold the best load for this long and report when throughput changes
    #[arg(long, value_name = "TIME", help_heading = "Time and precision")]
    pub sustain: Option<Nanos>,
    /// Measure even if the disk is in use; stop when other users' latency doubles
    #[arg(long, help_heading = "Safety")]
    pub while_busy: bool,
    /// Wait so long for another calibration of this disk to end, or for the disk to become idle
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = "Time and precision")]
    pub wait: Nanos,
    /// Report a device that has not answered for so long
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Time and precision")]
    pub stall: Nanos,
    /// Seed of everything random
    #[arg(long, default_value_t = 1, help_heading = "Load")]
    pub seed: u64,
    /// Print the plan and do nothing
    #[arg(long, help_heading = "Safety")]
    pub dry_run: bool,
    /// What may be written
    #[command(flatten)]
    pub consent: Consent,
    /// A name of your own for the run
    #[arg(long, help_heading = "Output")]
    pub label: Option<String>,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}

/// Order of the blocks of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Every block as likely as every other
    Random,
    /// One after the other
    Sequential,
}

/// `fathom run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom run --read random --block-size 8k --depth 32 .\n  fathom run --mix 70/30 --rate 2000 --time 5m .\n  fathom run --write sequential --block-size 1m --write-consent /dev/sdx /dev/sdx"
)]
pub struct Load {
    /// A directory, a file, a block device, null, or sim:...
    #[arg(value_hint = ValueHint::AnyPath)]
    pub target: String,
    /// Read, in this order
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Load")]
    pub read: Option<Order>,
    /// Write, in this order (needs consent where fathom did not make the target)
    #[arg(long, value_enum, value_name = "ORDER", conflicts_with = "read", help_heading = "Load")]
    pub write: Option<Order>,
    /// Reads and writes, percent, such as 70/30
    #[arg(long, value_name = "READ/WRITE", help_heading = "Load")]
    pub mix: Option<Mix>,
    /// Size of one I/O
    #[arg(
        short = 'b',
        long = "block-size",
        visible_alias = "block",
        value_name = "SIZE",
        default_value = "8k"
    )]
    pub block: Bytes,
    /// Queue depth: outstanding I/Os of each worker
    #[arg(short = 'q', long, visible_alias = "iodepth", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = "Load")]
    pub depth: u32,
    /// Workers, each with a queue of its own
    #[arg(short = 'j', long, visible_alias = "jobs", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Load")]
    pub workers: u32,
    /// Start so many I/Os a second in all, whatever the device does (Poisson arrivals)
    #[arg(long, value_name = "PER SECOND", help_heading = "Load")]
    pub rate: Option<f64>,
    /// For so long
    #[arg(
        short = 't',
        long,
        value_name = "TIME",
        default_value = "30s",
        help_heading = "Time and precision"
    )]
    pub time: Nanos,
    /// Size of the scratch file, or the part of the target that is used
    #[arg(long, value_name = "SIZE", help_heading = "Target")]
    pub size: Option<Bytes>,
    /// Through the page cache instead of past it
    #[arg(long, help_heading = "Load")]
    pub buffered: bool,
    /// I/O submission interface
    #[arg(long, value_enum, default_value = "auto", help_heading = "Load")]
    pub engine: EngineKind,
    /// Poll the device for completions where it can be polled
    #[arg(long, help_heading = "Load")]
    pub io_poll: bool,
    /// Let a kernel thread submit
    #[arg(long, help_heading = "Load")]
    pub submit_poll: bool,
    /// Start at once, without looking at machine and disk, and keep nothing
    #[arg(long, help_heading = "Safety")]
    pub no_preflight: bool,
    /// Report a device that has not answered for so long
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Time and precision")]
    pub stall: Nanos,
    /// Seed of everything random
    #[arg(long, default_value_t = 1, help_heading = "Load")]
    pub seed: u64,
    /// Print the plan and do nothing
    #[arg(long, help_heading = "Safety")]
    pub dry_run: bool,
    /// What may be written
    #[command(flatten)]
    pub consent: Consent,
    /// A name of your own for the run
    #[arg(long, help_heading = "Output")]
    pub label: Option<String>,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}

/// `fathom ping`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom ping /srv/data\n  fathom ping -c 10 -i 100ms users01.dbf\n  fathom ping -c 60 --format openmetrics -o /var/lib/node_exporter/ping.prom /srv/data"
)]
pub struct Ping {
    /// A file, a block device or a directory (its largest file is read)
    #[arg(value_hint = ValueHint::AnyPath)]
    pub target: String,
    /// So many reads; without it until interrupted
    #[arg(short = 'c', long)]
    pub count: Option<u64>,
    /// One read in so long
    #[arg(short = 'i', long, value_name = "TIME", default_value = "1s")]
    pub interval: Nanos,
    /// Size of a read
    #[arg(
        short = 'b',
        long = "block-size",
        visible_alias = "block",
        value_name = "SIZE",
        default_value = "4k"
    )]
    pub block: Bytes,
    /// Seed of the places that are read
    #[arg(long, default_value_t = 1, help_heading = "Load")]
    pub seed: u64,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}

/// `fathom status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom status\n  fathom status --format json\n  fathom status --format csv"
)]
pub struct Status {
    /// Where it goes
    #[command(flatten)]
    pub output: ListOutput,
}

/// `fathom sql`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom sql 'select * from runs order by number desc limit 5'\n  fathom sql --format csv 'select name, value, half_width from figures' -o figures.csv\n  fathom sql 'select max_iops, latency, max_mbps from dba_rsrc_io_calibrate'"
)]
pub struct Sql {
    /// One SELECT, such as: select * from v$io_calibration_status
    pub query: String,
    /// Where the answer goes
    #[command(flatten)]
    pub output: ListOutput,
}

/// `fathom history`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom history --target /srv/data\n  fathom history --since 7d --state failed\n  fathom history --format csv -o runs.csv"
)]
pub struct History {
    /// Only runs of this tool, such as calibrate
    #[arg(long)]
    pub tool: Option<String>,
    /// Only runs with this label
    #[arg(long)]
    pub label: Option<String>,
    /// Only runs of this file, directory or device
    #[arg(long, value_name = "TARGET", value_hint = ValueHint::AnyPath)]
    pub target: Option<String>,
    /// Only runs of this disk, such as nvme0n1
    #[arg(long, value_name = "DISK")]
    pub device: Option<String>,
    /// Only runs made on this machine
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Only runs in this state
    #[arg(long, value_enum)]
    pub state: Option<RunState>,
    /// Only runs begun in the last 12h, 7d, or since a date such as 2026-11-22
    #[arg(long, value_name = "TIME|DATE")]
    pub since: Option<Since>,
    /// At most so many, the newest
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
    /// Where the list goes
    #[command(flatten)]
    pub output: ListOutput,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunState {
    /// It runs now
    #[value(name = "in-progress")]
    InProgress,
    /// It ended as planned
    Complete,
    /// The user or a kill ended it
    Interrupted,
    /// It failed
    Failed,
}

/// A moment: so long ago, or a date.
#[derive(Clone, Debug, PartialEq)]
pub enum Since {
    /// So long ago.
    Ago(Nanos),
    /// `2026-11-22`, or a moment in RFC 3339.
    Moment(String),
}

impl std::str::FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(ago) = text.parse() {
            return Ok(Since::Ago(ago));
        }
        let is_date = text.parse::<jiff::civil::Date>().is_ok() || text.parse::<jiff::Timestamp>().is_ok();
        match is_date {
            true => Ok(Since::Moment(text.to_owned())),
            false => Err(format!("{text:?} is neither a time such as 7d nor a date such as 2026-11-22")),
        }
    }
}

/// `fathom show`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fathom show\n  fathom show 12 --format markdown\n  fathom show last --format html -o page.html"
)]
pub struct Show {
    /// Its number, its id or the beginning of that, or last
    #[arg(default_value = "last")]
    pub run: String,
    /// Where it goes
    #[command(flatten)]
    pub output: Output,
}

/// Percent of reads and of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Reads, 0 to 100; the rest are writes.
    pub read_percent: u8,
}

impl std::str::FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a mix of reads and writes such as 70/30");
        let (read, write) = text.split_once('/').ok_or_else(wrong)?;
        let (read, write): (u8, u8) =
            (read.trim().parse().map_err(|_| wrong())?, write.trim().parse().map_err(|_| wrong())?);
        match u16::from(read) + u16::from(write) {
            100 => Ok(Mix { read_percent: read }),
            sum => Err(format!("{text:?} makes {sum} percent, not 100")),
        }
    }
}

/// What the user expects of the storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect(pub Vec<Expected>);

impl std::str::FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        use ExpectedValue::{MeanLatency, Percentile, Value};
        let mut all = Vec::new();
        for part in text.split(',') {
            let wrong = || {
                format!(
                    "{part:?} is no expectation: iops=20000, mbps=500, latency=2ms, p99=5ms, commits=500, commit_p99=10ms"
                )
            };
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let (name, figure, of) = match name.trim() {
                "iops" => ("iops", FigureName::MaxIops, Value),
                "mbps" => ("mbps", FigureName::MaxMbps, Value),
                "latency" => ("latency", FigureName::MaxIops, MeanLatency),
                "p99" => ("p99", FigureName::MaxIops, Percentile(0.99)),
                "commits" => ("commits", FigureName::CommitsPerSecond, Value),
                "commit_p99" => ("commit_p99", FigureName::CommitsPerSecond, Percentile(0.99)),
                _ => return Err(wrong()),
            };
            let value = value.trim();
            let wanted = match of {
                Value => value.parse::<f64>().ok(),
                MeanLatency | Percentile(_) => value.parse::<Nanos>().ok().map(|time| time.0 as f64),
            };
            let wanted = wanted.filter(|v| *v > 0.0 && v.is_finite()).ok_or_else(wrong)?;
            all.push(Expected { name, figure, of, wanted });
        }
        Ok(Expect(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_mix_makes_a_hundred_percent() {
        assert_eq!("70/30".parse(), Ok(Mix { read_percent: 70 }));
        for text in ["70", "70/20", "a/b", "200/56", ""] {
            assert!(text.parse::<Mix>().is_err(), "{text}");
        }
    }

    #[test]
    fn expectations_are_named() {
        let Expect(found) = "iops=2e4,mbps=500,commit_p99=10ms".parse().unwrap();
        let wanted: Vec<_> = found.iter().map(|expected| (expected.name, expected.wanted)).collect();
        assert_eq!(wanted, [("iops", 2e4), ("mbps", 500.0), ("commit_p99", 1e7)]);
        for text in ["20000", "iops=-1", "tps=3", "iops=nan", "p99=3", "iops=2ms"] {
            assert!(text.parse::<Expect>().is_err(), "{text}");
        }
    }
}
