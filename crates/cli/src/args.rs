//! What can be typed, and nothing of what it means.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use fathom_session::output::Output;
use fathom_spec::{Bytes, LatencyLimit, Nanos, QueueKind};
use std::path::PathBuf;

/// Measures what the storage under a database can do, and says how sure it is.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 finished but not believable, 130 interrupted."
)]
pub struct Cli {
    /// Keep runs in this SQLite file instead of the user's own
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub store: Option<PathBuf>,
    /// No progress bars on stderr
    #[arg(long, global = true)]
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
    /// Run one load, said plainly
    Run(Box<Load>),
    /// One small read a second: is the disk slow now? Harmless in production
    Ping(Ping),
    /// Is a calibration IN PROGRESS, READY or NOT AVAILABLE
    Status,
    /// List the runs that were kept
    History(History),
    /// Show one run again
    Show(Show),
    /// Ask the store in SQL, also by Oracle's own names
    Sql {
        /// One SELECT, such as: select * from v$io_calibration_status
        query: String,
    },
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
    #[arg(long, conflicts_with = "write_consent")]
    pub read_only: bool,
    /// Allow writing to this target, whatever it holds; once for each
    #[arg(long, value_name = "NAME", value_hint = ValueHint::AnyPath)]
    pub write_consent: Vec<String>,
}

/// `fathom calibrate`.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// A directory (a scratch file is laid out in it), a file, a block device, or sim:ways=32,service=100us; several are measured as one
    #[arg(value_hint = ValueHint::AnyPath)]
    pub targets: Vec<String>,
    /// Read the database's own files below a directory, or of a pattern such as '/u01/oradata/*.dbf'; never written
    #[arg(long, value_name = "DIR|GLOB", conflicts_with = "targets")]
    pub data_files: Option<String>,
    /// Physical disks; recorded, and the first step of the search [default: found]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub num_disks: Option<u32>,
    /// The latency that is tolerated: 20ms bounds the mean, p99=2ms the 99th percentile
    #[arg(long, value_name = "LIMIT", default_value = "20ms")]
    pub max_latency: LatencyLimit,
    /// Size of small I/Os
    #[arg(long, value_name = "SIZE", default_value = "8k")]
    pub block_size: Bytes,
    /// Size of large I/Os
    #[arg(long, value_name = "SIZE", default_value = "1m")]
    pub large_size: Bytes,
    /// Working set [default: the least of a quarter of the free space, 32 GiB and what is laid out in 20 s]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Budget for measuring, layout apart
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time: Nanos,
    /// How sure the headline figures must be
    #[arg(long, value_enum, default_value = "fast")]
    pub precision: Precision,
    /// How I/O is asked of the kernel
    #[arg(long, value_enum, default_value = "auto")]
    pub engine: EngineKind,
    /// Search on a mix of small reads and writes, percent, such as 70/30
    #[arg(long, value_name = "READ/WRITE")]
    pub mix: Option<Mix>,
    /// What you expect, such as iops=20000,mbps=500: the shortfall is printed
    #[arg(long, value_name = "FIGURES")]
    pub expect: Option<Expect>,
    /// Hold the best point this long afterwards, and name the moment that changed it
    #[arg(long, value_name = "TIME")]
    pub sustain: Option<Nanos>,
    /// Measure although somebody else uses the disk; ends when his latency doubles
    #[arg(long)]
    pub while_busy: bool,
    /// Report a device that has not answered for so long
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub stall: Nanos,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the plan and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What may be written
    #[command(flatten)]
    pub consent: Consent,
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
pub struct Load {
    /// A directory, a file, a block device, null, or sim:...
    #[arg(value_hint = ValueHint::AnyPath)]
    pub target: String,
    /// Read, in this order
    #[arg(long, value_enum, value_name = "ORDER")]
    pub read: Option<Order>,
    /// Write, in this order (needs consent where fathom did not make the target)
    #[arg(long, value_enum, value_name = "ORDER", conflicts_with = "read")]
    pub write: Option<Order>,
    /// Reads and writes, percent, such as 70/30
    #[arg(long, value_name = "READ/WRITE")]
    pub mix: Option<Mix>,
    /// Size of one I/O
    #[arg(long, value_name = "SIZE", default_value = "8k")]
    pub block: Bytes,
    /// Outstanding I/Os of each worker
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub depth: u32,
    /// Workers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub workers: u32,
    /// Start so many I/Os a second in all, whatever the device does (Poisson arrivals)
    #[arg(long, value_name = "PER SECOND")]
    pub rate: Option<f64>,
    /// For so long
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub time: Nanos,
    /// Size of the scratch file, or the part of the target that is used
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Through the page cache instead of past it
    #[arg(long)]
    pub buffered: bool,
    /// How I/O is asked of the kernel
    #[arg(long, value_enum, default_value = "auto")]
    pub engine: EngineKind,
    /// Poll the device for completions where it can be polled
    #[arg(long)]
    pub io_poll: bool,
    /// Let a kernel thread submit
    #[arg(long)]
    pub submit_poll: bool,
    /// Start at once, without looking at machine and disk, and keep nothing
    #[arg(long)]
    pub no_preflight: bool,
    /// Report a device that has not answered for so long
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub stall: Nanos,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the plan and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What may be written
    #[command(flatten)]
    pub consent: Consent,
    /// Where the result goes
    #[command(flatten)]
    pub output: Output,
}

/// `fathom ping`.
#[derive(Debug, Args)]
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
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub block: Bytes,
    /// Seed of the places that are read
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// `fathom history`.
#[derive(Debug, Args)]
pub struct History {
    /// Only runs of this tool, such as calibrate
    #[arg(long)]
    pub tool: Option<String>,
    /// Only runs with this label
    #[arg(long)]
    pub label: Option<String>,
    /// At most so many, the newest
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
    /// As JSON, one line a run
    #[arg(long)]
    pub json: bool,
}

/// `fathom show`.
#[derive(Debug, Args)]
pub struct Show {
    /// Its number, its id or the beginning of that, or last
    #[arg(default_value = "last")]
    pub run: String,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// As CSV: figures, curves or series
    #[arg(long, value_name = "WHICH")]
    pub csv: Option<Csv>,
    /// Write the page again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// Which table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Csv {
    /// One line a figure
    Figures,
    /// One line a point of a curve
    Curves,
    /// One line a slot
    Series,
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expect {
    /// Small reads a second.
    pub iops: Option<f64>,
    /// 2^20 bytes a second.
    pub mbps: Option<f64>,
}

impl std::str::FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut expect = Expect::default();
        for part in text.split(',') {
            let wrong = || format!("{part:?} is not an expectation such as iops=20000 or mbps=500");
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value: f64 =
                value.trim().parse().ok().filter(|v| *v > 0.0 && f64::is_finite(*v)).ok_or_else(wrong)?;
            match name.trim() {
                "iops" => expect.iops = Some(value),
                "mbps" => expect.mbps = Some(value),
                _ => return Err(wrong()),
            }
        }
        Ok(expect)
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
        assert_eq!("iops=2e4,mbps=500".parse(), Ok(Expect { iops: Some(2e4), mbps: Some(500.0) }));
        for text in ["20000", "iops=-1", "tps=3", "iops=nan"] {
            assert!(text.parse::<Expect>().is_err(), "{text}");
        }
    }
}
