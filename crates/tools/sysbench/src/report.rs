//! sysbench's report, byte for byte: what it says before the work, while it goes on, and after it.

use super::resolve::{IoMode, Mode, Options};
use super::tally::{Requests, Tally};
use super::text;
use std::io::{self, Write};

/// What is asked for, before the files are opened. Told at verbosity 3 and above.
pub fn opening(options: &Options, mode: Mode, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Running the test with following options:")?;
    writeln!(out, "Number of threads: {}", options.threads)?;
    if options.rate != 0 {
        writeln!(out, "Target transaction rate: {}/sec", options.rate)?;
    }
    if options.report_interval != 0 {
        writeln!(out, "Report intermediate results every {} second(s)", options.report_interval)?;
    }
    if !options.checkpoints.is_empty() {
        let list: Vec<String> = options.checkpoints.iter().map(u64::to_string).collect();
        writeln!(out, "Report checkpoint(s) at {} seconds", list.join(", "))?;
    }
    if options.debug {
        writeln!(out, "Debug mode enabled.\n")?;
    }
    if options.validate {
        writeln!(out, "Validation checks: on.\n")?;
    }
    match options.seed {
        0 => writeln!(out, "Initializing random number generator from current time\n")?,
        seed => {
            let seed = seed.cast_signed();
            writeln!(out, "Initializing random number generator from seed ({seed}).\n")?;
        }
    }
    if let Some(seconds) = options.shutdown_s() {
        writeln!(out, "Forcing shutdown in {seconds} seconds")?;
    }
    writeln!(out)?;
    writeln!(out, "Extra file open flags: {}", flags(options.flags))?;
    writeln!(out, "{} files, {} each", options.files, size(options.file_size))?;
    writeln!(out, "{} total file size", size(options.total_size()))?;
    writeln!(out, "Block size {}", size(options.block_size))?;
    if options.merged > 0 {
        let merged = size(options.block_size.saturating_mul(options.merged));
        writeln!(out, "Merging requests up to {merged} for sequential IO.")?;
    }
    if mode.is_random() {
        writeln!(out, "Number of IO requests: {}", options.events)?;
        writeln!(out, "Read/Write ratio for combined random IO test: {:.2}", options.rw_ratio)?;
    }
    if options.fsync_freq > 0 {
        writeln!(out, "Periodic FSYNC enabled, calling fsync() each {} requests.", options.fsync_freq)?;
    }
    if options.fsync_end {
        writeln!(out, "Calling fsync() at the end of test, Enabled.")?;
    }
    if options.fsync_all {
        writeln!(out, "Calling fsync() after each write operation.")?;
    }
    let how = match options.io_mode {
        IoMode::Sync => "synchronous",
        IoMode::Async => "asynchronous",
        IoMode::Mmap => "fast mmaped",
    };
    writeln!(out, "Using {how} I/O mode")?;
    if options.validate {
        writeln!(out, "Using checksums validation.")?;
    }
    writeln!(out, "Doing {} test", mode.words())
}

/// The files are open, and the threads come next; with `debug` they tell of themselves.
pub fn starting(options: &Options, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Initializing worker threads...\n")?;
    if options.debug || options.verbosity == 5 {
        if options.rate > 0 {
            writeln!(out, "DEBUG: Event generating thread started")?;
        }
        for thread in 0..options.threads {
            writeln!(out, "DEBUG: Worker thread (#{thread}) started")?;
            writeln!(out, "DEBUG: Worker thread (#{thread}) initialized")?;
        }
    }
    Ok(())
}

/// All threads are there.
pub fn running(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Threads started!\n")
}

/// The flags as the report names them, trailing blank and all.
pub fn flags(flags: u8) -> String {
    if flags == 0 {
        return "(none)".to_owned();
    }
    let names = [(1, "sync "), (2, "dsync "), (4, "directio")];
    names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect()
}

/// A size with five digits: `2MiB`, `32.552KiB`.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "";
    for next in ["Ki", "Mi", "Gi", "Ti"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let whole = value.abs().log10().floor().max(0.0) as usize + 1;
    let text = format!("{value:.0$}", 5usize.saturating_sub(whole));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}B")
}

const MIB: f64 = 1_048_576.0;

/// The line of an interval that ended `at_s` seconds after the start.
pub fn interval_line(
    options: &Options,
    at_s: f64,
    seconds: f64,
    requests: &Requests,
    percentile_ms: f64,
    out: &mut impl Write,
) -> io::Result<()> {
    let per = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    writeln!(
        out,
        "[ {at_s:.0}s ] reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s latency (ms,{}%): {:.3}",
        per(requests.read_bytes as f64 / MIB),
        per(requests.written_bytes as f64 / MIB),
        per(requests.syncs as f64),
        options.percentile,
        if options.percentile > 0 { percentile_ms } else { 0.0 },
    )
}

/// When things were counted, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// From the start.
    pub total_s: f64,
    /// Since counting began: the start, or the last checkpoint.
    pub counted_s: f64,
    /// Events under way when the run was broken off, if it was.
    pub unfinished: Option<u64>,
}

/// The whole block of figures.
pub fn figures(options: &Options, tally: &Tally, times: Times, out: &mut impl Write) -> io::Result<()> {
    let Requests { reads, writes, syncs, read_bytes, written_bytes, errors: _ } = tally.requests;
    let per_second = |amount: f64| if times.counted_s > 0.0 { amount / times.counted_s } else { 0.0 };
    writeln!(out, "\nFile operations:")?;
    writeln!(out, "    reads/s:                      {:.2}", per_second(reads as f64))?;
    writeln!(out, "    writes/s:                     {:.2}", per_second(writes as f64))?;
    writeln!(out, "    fsyncs/s:                     {:.2}", per_second(syncs as f64))?;
    writeln!(out, "\nThroughput:")?;
    writeln!(out, "    read, MiB/s:                  {:.2}", per_second(read_bytes as f64 / MIB))?;
    writeln!(out, "    written, MiB/s:               {:.2}", per_second(written_bytes as f64 / MIB))?;
    if let Some(unfinished) = times.unfinished {
        writeln!(out, "\nNumber of unfinished transactions on forced shutdown: {unfinished}")?;
    }
    let events = tally.events();
    writeln!(out, "\nGeneral statistics:")?;
    writeln!(out, "    total time:                          {:.4}s", times.total_s)?;
    writeln!(out, "    total number of events:              {events}")?;
    let ms = |ns: f64| ns / 1e6;
    let sum_ns = tally.sum_ns() as f64;
    let mean_ns = if events > 0 { sum_ns / events as f64 } else { 0.0 };
    writeln!(out, "\nLatency (ms):")?;
    writeln!(out, "         min: {:>39.2}", ms(tally.min_ns() as f64))?;
    writeln!(out, "         avg: {:>39.2}", ms(mean_ns))?;
    writeln!(out, "         max: {:>39.2}", ms(tally.max_ns() as f64))?;
    match options.percentile {
        0 => writeln!(out, "         percentile stats:               disabled")?,
        percentile => {
            let value = tally.classes.percentile_ms(percentile);
            writeln!(out, "        {percentile:>3}th percentile: {value:>27.2}")?;
        }
    }
    writeln!(out, "         sum: {:>39.2}", ms(sum_ns))?;
    let (events_mean, events_deviation) = spread(tally.workers.iter().map(|w| w.events as f64));
    let (time_mean, time_deviation) = spread(tally.workers.iter().map(|w| w.sum_ns as f64 / 1e9));
    writeln!(out, "\nThreads fairness:")?;
    writeln!(out, "    events (avg/stddev):           {events_mean:.4}/{events_deviation:.2}")?;
    writeln!(out, "    execution time (avg/stddev):   {time_mean:.4}/{time_deviation:.2}\n")?;
    if options.debug {
        threads(tally, out)?;
    }
    Ok(())
}

/// Each thread by itself, as debug tells it.
fn threads(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "DEBUG: Verbose per-thread statistics:\n")?;
    for (number, worker) in tally.workers.iter().enumerate() {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let mean = if worker.events > 0 { seconds(worker.sum_ns) / worker.events as f64 } else { 0.0 };
        let min = if worker.events > 0 { seconds(worker.min_ns) } else { 0.0 };
        writeln!(
            out,
            "DEBUG:     thread #{number:>3}: min: {min:.4}s  avg: {mean:.4}s  max: {:.4}s  events: {}",
            seconds(worker.max_ns),
            worker.events
        )?;
        let sum = seconds(worker.sum_ns);
        writeln!(out, "DEBUG:                  total time taken by event execution: {sum:.4}s")?;
    }
    writeln!(out)
}

/// Mean and deviation, population formula.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Stars of the fullest class.
const STARS: f64 = 40.0;

/// The distribution.
pub fn histogram(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "       value  ------------- distribution ------------- count")?;
    let most = tally.classes.filled().map(|(_, count)| count).max().unwrap_or(1) as f64;
    for (value, count) in tally.classes.filled() {
        let stars = "*".repeat((STARS * count as f64 / most + 0.5).floor() as usize);
        writeln!(out, "{value:>12.3} |{stars:<40} {count}")?;
    }
    Ok(())
}

/// What `prepare` says before its files.
pub fn preparing(options: &Options, out: &mut impl Write) -> io::Result<()> {
    let (each, all) = (options.file_size >> 10, options.total_size() >> 20);
    writeln!(out, "{} files, {each}Kb each, {all}Mb total", options.files)?;
    writeln!(out, "Creating files for the test...")?;
    writeln!(out, "Extra file open flags: {}", flags(options.flags))
}

/// What `prepare` says at its end.
pub fn prepared(bytes: u64, seconds: f64, out: &mut impl Write) -> io::Result<()> {
    if bytes == 0 {
        return writeln!(out, "No bytes written.");
    }
    let rate = bytes as f64 / MIB / seconds.max(1e-9);
    writeln!(out, "{bytes} bytes written in {seconds:.2} seconds ({rate:.2} MiB/sec).")
}

/// A message that ends the run; told at every verbosity.
pub fn fatal(text: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "FATAL: {text}")
}

/// A thread could not be started; they are counted from 0.
pub fn no_thread(number: u32, errno: i32, words: &str) -> String {
    format!("sb_thread_create() for thread #{number} failed. errno = {errno} ({words})")
}

/// The two lines of a run that fails for one of its files: what each says is known to scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// What is wrong.
    pub what: String,
    /// What was probably forgotten.
    pub warning: &'static str,
}

/// A file that is not there, or may not be opened.
pub fn cannot_open(name: &str, errno: i32, words: &str) -> FileError {
    FileError {
        what: format!("Cannot open file '{name}' errno = {errno} ({words})"),
        warning: "Did you forget to run the prepare step?",
    }
}

/// A file shorter than it must be.
pub fn too_small(name: &str, has: u64, wants: u64) -> FileError {
    FileError {
        what: format!("Size of file '{name}' is {}, but at least {} is expected.", size(has), size(wants)),
        warning: "Did you run 'prepare' with different --file-total-size or --file-num values?",
    }
}

/// The options of the test, for `help`.
pub fn help(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", text::fileio_options(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_five_digits() {
        for (bytes, text) in [
            (0, "0B"),
            (1000, "1000B"),
            (16_384, "16KiB"),
            (33_333, "32.552KiB"),
            (99_999, "97.655KiB"),
            (2 << 20, "2MiB"),
            (256 << 20, "256MiB"),
            (200 << 30, "200GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn flags_keep_their_trailing_blanks() {
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(flags),
            ["(none)", "sync ", "dsync ", "sync dsync ", "directio", "sync directio"]
        );
    }
}
