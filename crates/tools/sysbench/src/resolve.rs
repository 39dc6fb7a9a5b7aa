//! What the options mean together, and which of them cannot: the checks of sysbench in its order.

use super::options::OptionValues;

/// What is done to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sequential write of new files.
    SequentialWrite,
    /// Sequential write of files that are there.
    SequentialRewrite,
    /// Sequential read.
    SequentialRead,
    /// Random read.
    RandomRead,
    /// Random write.
    RandomWrite,
    /// Random reads and writes.
    RandomMixed,
}

impl Mode {
    /// By its name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "seqwr" => Mode::SequentialWrite,
            "seqrewr" => Mode::SequentialRewrite,
            "seqrd" => Mode::SequentialRead,
            "rndrd" => Mode::RandomRead,
            "rndwr" => Mode::RandomWrite,
            "rndrw" => Mode::RandomMixed,
            _ => return None,
        })
    }

    /// As the report says it.
    pub fn words(self) -> &'static str {
        match self {
            Mode::SequentialWrite => "sequential write (creation)",
            Mode::SequentialRewrite => "sequential rewrite",
            Mode::SequentialRead => "sequential read",
            Mode::RandomRead => "random read",
            Mode::RandomWrite => "random write",
            Mode::RandomMixed => "random r/w",
        }
    }

    /// Are offsets drawn?
    pub fn is_random(self) -> bool {
        matches!(self, Mode::RandomRead | Mode::RandomWrite | Mode::RandomMixed)
    }

    /// Is anything written?
    pub fn writes(self) -> bool {
        !matches!(self, Mode::SequentialRead | Mode::RandomRead)
    }
}

/// How I/O is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// pread and pwrite.
    Sync,
    /// libaio.
    Async,
    /// A mapping.
    Mmap,
}

/// How long a run may go on after its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// As long as it takes.
    Off,
    /// So many seconds after the time limit.
    Seconds(u64),
}

/// Everything that a command of fileio needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Workers.
    pub threads: u32,
    /// Events of all of them; 0: no limit.
    pub events: u64,
    /// Seconds; 0: no limit.
    pub time_s: u64,
    /// What follows the time limit.
    pub grace: Grace,
    /// Arrivals a second; 0: a closed loop. Negative ones are told and end the run.
    pub rate: i64,
    /// Seconds between interval lines as typed; none when not above 0.
    pub report_interval: i64,
    /// Seconds of the checkpoints, as typed.
    pub checkpoints: Vec<u64>,
    /// Tell each operation.
    pub debug: bool,
    /// Write checksums and check them.
    pub validate: bool,
    /// 0 only fatal messages ... 5 debug.
    pub verbosity: u8,
    /// 1 to 100; 0: none.
    pub percentile: u32,
    /// Print the distribution.
    pub histogram: bool,
    /// Seed; 0: the time.
    pub seed: u32,
    /// Files.
    pub files: u32,
    /// Bytes of one file: the total divided, rounded down.
    pub file_size: u64,
    /// Bytes of a request.
    pub block_size: u64,
    /// What is done; only a run needs it.
    pub mode: Option<Mode>,
    /// How.
    pub io_mode: IoMode,
    /// Operations in flight of each worker, asynchronous.
    pub backlog: u32,
    /// O_SYNC, O_DSYNC, O_DIRECT as 1, 2 and 4.
    pub flags: u8,
    /// Requests between series of syncs; 0: none.
    pub fsync_freq: u64,
    /// Each write is durable before it counts.
    pub fsync_all: bool,
    /// All files are synced at the end.
    pub fsync_end: bool,
    /// fdatasync instead of fsync.
    pub fdatasync: bool,
    /// Blocks of a sequential request; 0: one.
    pub merged: u64,
    /// Reads for each write.
    pub rw_ratio: f64,
}

/// What cannot be: the message without `FATAL: `, and whether the list of options follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// The message.
    pub text: String,
    /// The list of options follows.
    pub with_options: bool,
}

fn fatal<T>(text: String) -> Result<T, Fatal> {
    Err(Fatal { text, with_options: false })
}

/// What the general options mean, in so far as every test checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct General {
    /// See [`Options`].
    pub grace: Grace,
    /// See [`Options`].
    pub checkpoints: Vec<u64>,
    /// See [`Options`].
    pub percentile: u32,
}

/// Checks the general options that come after threads and verbosity.
pub fn general(typed: &OptionValues, time_s: u64) -> Result<General, Fatal> {
    let text = typed.text("forced_shutdown");
    let seconds = match text {
        // Without a time limit there is nothing that it could follow.
        _ if time_s == 0 => None,
        "off" => None,
        "" => Some(time_s / 20),
        _ => {
            let (number, percent) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
            let Ok(number) = number.parse::<u64>() else {
                return fatal(format!("Invalid value for --forced-shutdown: '{text}'"));
            };
            Some(if percent { time_s.saturating_mul(number) / 100 } else { number })
        }
    };
    let kind = typed.text("rand_type");
    if !["uniform", "gaussian", "special", "pareto"].contains(&kind) {
        return fatal(format!("Invalid random numbers distribution: {kind}."));
    }
    let mut checkpoints = Vec::new();
    for part in typed.text("report_checkpoints").split(',').filter(|part| !part.is_empty()) {
        match part.trim().parse() {
            Ok(seconds) => checkpoints.push(seconds),
            Err(_) => return fatal(format!("Invalid value for --report-checkpoints: '{part}'")),
        }
    }
    let percentile = typed.int("percentile");
    if !(0..=100).contains(&percentile) {
        return fatal(format!("Invalid value for --percentile: {percentile}"));
    }
    if percentile == 0 && typed.is_on("histogram") {
        return fatal("--histogram cannot be used with --percentile=0".to_owned());
    }
    let grace = seconds.map_or(Grace::Off, Grace::Seconds);
    Ok(General { grace, checkpoints, percentile: percentile as u32 })
}

/// What the limits and the number of threads are once the older names were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// See [`Options`].
    pub threads: u32,
    /// See [`Options`].
    pub events: u64,
    /// See [`Options`].
    pub time_s: u64,
    /// See [`Options`].
    pub rate: i64,
}

/// Checks the options of fileio; a run also needs a mode.
pub fn fileio(typed: &OptionValues, general: General, limits: Limits, runs: bool) -> Result<Options, Fatal> {
    let files = typed.int("file_num");
    if files <= 0 {
        return fatal(format!("Invalid value for file-num: {files}"));
    }
    let total = typed.size("file_total_size");
    if total == 0 {
        return fatal(format!("Invalid value for file-total-size: {total}"));
    }
    let mode = match (typed.text("file_test_mode"), runs) {
        ("", true) => {
            let text = "Missing required argument: --file-test-mode".to_owned();
            return Err(Fatal { text, with_options: true });
        }
        ("", false) => None,
        (name, _) => match Mode::of(name) {
            Some(mode) => Some(mode),
            // Files are made and removed whatever the mode is called.
            None if !runs => None,
            None => return fatal(format!("Invalid IO operations mode: {name}.")),
        },
    };
    let io_mode = match typed.text("file_io_mode") {
        "sync" | "" => IoMode::Sync,
        "async" => IoMode::Async,
        "mmap" => IoMode::Mmap,
        other => return fatal(format!("unknown I/O mode: {other}")),
    };
    let merged = typed.int("file_merged_requests");
    if merged < 0 {
        return fatal(format!("Invalid value for file-merged-requests: {merged}."));
    }
    let block_size = typed.size("file_block_size");
    if block_size == 0 {
        return fatal(format!("Invalid value for file-block-size: {block_size}."));
    }
    let flags = flags(typed.text("file_extra_flags"))?;
    let (fsync_all, mut fsync_freq) = (typed.is_on("file_fsync_all"), typed.int("file_fsync_freq"));
    if fsync_freq < 0 {
        return fatal(format!("Invalid value for file-fsync-freq: {fsync_freq}."));
    }
    let fdatasync = match typed.text("file_fsync_mode") {
        "fsync" => false,
        "fdatasync" => true,
        other => return fatal(format!("Invalid fsync mode: {other}.")),
    };
    let rw_ratio = typed.double("file_rw_ratio");
    if rw_ratio < 0.0 {
        return fatal(format!("Invalid value for --file-rw-ratio: {rw_ratio:.6}."));
    }
    let backlog = typed.int("file_async_backlog");
    if io_mode == IoMode::Async && backlog <= 0 {
        return fatal(format!("Invalid value of file-async-backlog: {backlog}"));
    }
    if fsync_all {
        fsync_freq = 0;
    }
    let debug = typed.is_on("debug");
    Ok(Options {
        threads: limits.threads,
        events: limits.events,
        time_s: limits.time_s,
        grace: general.grace,
        rate: limits.rate,
        report_interval: typed.int("report_interval"),
        checkpoints: general.checkpoints,
        debug,
        validate: typed.is_on("validate"),
        verbosity: if debug { 5 } else { typed.int("verbosity") as u8 },
        percentile: general.percentile,
        histogram: typed.is_on("histogram"),
        seed: typed.int("rand_seed") as u32,
        files: files as u32,
        file_size: total / files as u64,
        block_size,
        mode,
        io_mode,
        backlog: backlog.max(1) as u32,
        flags,
        fsync_freq: fsync_freq as u64,
        fsync_all,
        fsync_end: typed.is_on("file_fsync_end") && !fsync_all,
        fdatasync,
        merged: merged as u64,
        rw_ratio,
    })
}

fn flags(list: &str) -> Result<u8, Fatal> {
    let mut flags = 0;
    for name in list.split(',').filter(|name| !name.is_empty()) {
        flags |= match name {
            "sync" => 1,
            "dsync" => 2,
            "direct" => 4,
            // sysbench names the first of them, whichever is wrong.
            _ => {
                let first = list.split(',').find(|name| !name.is_empty()).unwrap_or_default();
                return fatal(format!("Invalid value for file-extra-flags: {first}"));
            }
        };
    }
    Ok(flags)
}

impl Options {
    /// Past the page cache?
    pub fn direct(&self) -> bool {
        self.flags & 4 != 0
    }

    /// Flags that 1.0.20 itself cannot open files with: it takes direct only alone.
    pub fn unknown_flags(&self) -> Option<u8> {
        (self.flags > 4).then_some(self.flags)
    }

    /// Bytes of one request; a file that is smaller than a block is read and written whole.
    pub fn request_size(&self) -> u64 {
        let random = self.mode.is_some_and(Mode::is_random);
        let size = if random { self.block_size } else { self.block_size.saturating_mul(self.merged.max(1)) };
        size.min(self.file_size)
    }

    /// Bytes of all files.
    pub fn total_size(&self) -> u64 {
        self.file_size * u64::from(self.files)
    }

    /// The name of a file.
    pub fn file(&self, number: u32) -> String {
        format!("test_file.{number}")
    }

    /// Seconds after the start at which a forced shutdown comes.
    pub fn shutdown_s(&self) -> Option<u64> {
        match self.grace {
            Grace::Seconds(grace) => Some(self.time_s.saturating_add(grace)),
            Grace::Off => None,
        }
    }

    /// Does the forced shutdown come with the end of the time, so that threads are always busy then?
    pub fn always_forced(&self) -> bool {
        self.grace == Grace::Seconds(0)
    }

    /// Are the files synced when the load has ended?
    pub fn syncs_at_end(&self) -> bool {
        self.fsync_end && self.mode.is_some_and(Mode::writes)
    }
}
