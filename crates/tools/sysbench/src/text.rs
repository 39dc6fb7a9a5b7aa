//! Texts of sysbench 1.0.20 that programs around it look for, and a short help of our own.

/// What `--version` says.
pub const VERSION: &str = "sysbench 1.0.20";

/// The first line of every command.
pub const BANNER: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)";

/// Said when the test is named as an option.
pub const TEST_IS_OLD: &str = "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options.";

/// Said when there is no command.
pub const NO_COMMAND: &str = "The 'fileio' test requires a command argument. See 'sysbench fileio help'";

/// The options of fileio; the heading is told at the usual verbosity only.
pub fn fileio_options(heading: bool) -> String {
    let heading = if heading { "fileio options:\n" } else { "" };
    format!("{heading}{FILEIO}")
}

const FILEIO: &str = "  --file-num=N                  number of files to create [128]
  --file-block-size=N           block size to use in all IO operations [16384]
  --file-total-size=SIZE        total size of files to create [2G]
  --file-test-mode=STRING       test mode {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}
  --file-io-mode=STRING         file operations mode {sync,async,mmap} [sync]
  --file-async-backlog=N        number of asynchronous operatons to queue per thread [128]
  --file-extra-flags=[LIST,...] list of additional flags to use to open files {sync,dsync,direct} []
  --file-fsync-freq=N           do fsync() after this number of requests (0 - don't use fsync()) [100]
  --file-fsync-all[=on|off]     do fsync() after each write operation [off]
  --file-fsync-end[=on|off]     do fsync() at the end of test [on]
  --file-fsync-mode=STRING      which method to use for synchronization {fsync, fdatasync} [fsync]
  --file-merged-requests=N      merge at most this number of IO requests if possible (0 - don't merge) [0]
  --file-rw-ratio=N             reads/writes ratio for combined test [1.5]
";

/// What `--help` says: fathom's own words.
pub const HELP: &str = "\
Usage:
  sysbench [options]... [testname] [command]

fathom speaks for sysbench 1.0.20's fileio test: prepare, run, cleanup, help.

General options:
  --threads=N                     workers [1]
  --events=N                      end after so many events of all workers; 0: no limit [0]
  --time=N                        end after so many seconds; 0: no limit [10]
  --forced-shutdown=STRING        seconds, or percent of --time, to wait after --time before the run is broken off [off]
  --thread-stack-size=SIZE        accepted, of no meaning here [64K]
  --rate=N                        arrivals a second at random moments; 0: as fast as it goes [0]
  --report-interval=N             a line every so many seconds; 0: none [0]
  --report-checkpoints=[LIST,...] a whole report at these seconds, from which on counting begins anew []
  --debug[=on|off]                tell each operation [off]
  --validate[=on|off]             write checksums and check them [off]
  --help[=on|off]                 this [off]
  --version[=on|off]              the version [off]
  --config-file=FILENAME          general options from a file, one name=value a line

Random numbers:
  --rand-seed=N                   seed; 0: the time of day [0]
  --rand-type, --rand-spec-iter, --rand-spec-pct, --rand-spec-res, --rand-pareto-h: accepted, of no meaning to fileio

What is told:
  --verbosity=N                   5 debug ... 0 only what ends the run [3]
  --percentile=N                  1 to 100; 0: none [95]
  --histogram[=on|off]            the distribution of latencies [off]

Older names: --num-threads, --max-requests, --max-time, --tx-rate, --test

fathom's own:
  --explain FILE|-                say what the figures of a published report really contain

See 'sysbench fileio help' for the options of the test.
";
