//! The table of every option of fio 3.33, in the order of its `--cmdhelp=all`, and of those that came until 3.42; the words
//! are our own. Knows nothing of
//! how values are read: see [`values`](super::values).

use super::numbers::TimeUnit::{self, Micros, Millis, Seconds};
use Kind::{Begins, Bool, Flag, Floats, Integer, Integers, One, Ranges, Size, Text, Time};

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Anything.
    Text,
    /// A whole number within limits.
    Integer(i64, i64),
    /// Up to three, for reads, writes and trims.
    Integers(i64, i64),
    /// Bytes or percent.
    Size,
    /// A time, or a range of two.
    Time(TimeUnit),
    /// 0 or 1.
    Bool,
    /// Nothing, 0 or 1.
    Flag,
    /// Up to three ranges.
    Ranges,
    /// Floating point numbers.
    Floats(f64, f64),
    /// Exactly one of these.
    One(&'static [&'static str]),
    /// One of these, then whatever it takes behind a colon.
    Begins(&'static [&'static str]),
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It does what fio's does.
    Works,
    /// It is accepted and changes nothing, for a reason.
    Idle,
    /// It is refused, for a reason.
    Refused,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct FioOption {
    /// Its constant.
    pub id: OptionId,
    /// Its name.
    pub name: &'static str,
    /// Its other name.
    pub alias: Option<&'static str>,
    /// How deep it stands in the listing.
    pub depth: usize,
    /// What it takes.
    pub kind: Kind,
    /// What it is when it is not said; empty: nothing.
    pub default: &'static str,
    /// What becomes of it.
    pub state: State,
    /// What it says.
    pub about: &'static str,
    /// Its limits, or why it is refused or without effect.
    pub why: &'static str,
    /// The engines whose option it is; none: everybody's.
    pub engines: &'static [&'static str],
}

impl FioOption {
    /// May it be said without a value? Logs have the job's name then.
    pub fn may_be_bare(&self) -> bool {
        let log = self.name.starts_with("write_") && self.name.ends_with("_log");
        log || matches!(self.kind, Kind::Flag)
    }

    /// Is it everybody's, or one of this engine's?
    pub fn belongs_to(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    /// Its name, and its other one.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.alias)
    }
}

impl OptionId {
    /// Its row of the table.
    pub fn option(self) -> &'static FioOption {
        &OPTIONS[self as usize]
    }

    /// fio's name for it.
    pub fn name(self) -> &'static str {
        self.option().name
    }
}

/// A limit that is none.
const MOST: i64 = i64::MAX;

/// Makes of the rows the constants and the table, so that no option can stand in one of them alone.
macro_rules! options {
    ($(of $engines:tt {$(
        $id:ident = $name:literal $(or $alias:literal)?, $depth:literal, $kind:expr, $default:literal,
            $state:ident, $about:literal, $why:literal;
    )*})*) => {
        /// An option by its constant, which is fio's name for it: the number of its row in [`OPTIONS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum OptionId {
            $($(#[doc = $about] $id,)*)*
        }

        /// All options, in the order of the listing.
        pub static OPTIONS: &[FioOption] = &[$($(FioOption {
            id: OptionId::$id,
            name: $name,
            alias: [$(Some($alias),)? None][0],
            depth: $depth,
            kind: $kind,
            default: $default,
            state: State::$state,
            about: $about,
            why: $why,
            engines: &$engines,
        },)*)*];
    };
}

// of [the engines whose options follow; none: everybody's] {
//     constant = name or alias, depth in the listing, what it takes, what it is when it is not said ("": nothing), what becomes
//     of it, what it says, its limits or why it is refused or without effect;
// }
options! {
    of [] {
        Description = "description", 0, Text, "", Works, "A line of text for the report", "";
        Name = "name", 0, Text, "", Works, "The job's name; on the command line it begins a job", "";
        WaitFor = "wait_for", 0, Text, "", Works, "Begin when all clones of the job of that name have ended", "";
        Filename = "filename", 0, Text, "", Works, "Files or devices, `:` between them; `\\:` is a colon", "`-` (a pipe) is refused";
        Lockfile = "lockfile", 1, One(&["none", "exclusive", "readwrite"]), "none", Refused, "Locks around each I/O", "no locks are taken around I/O";
        Directory = "directory", 0, Text, "", Works, "Where files without a path of their own are; `:` between several, taken in turn by the clones", "";
        FilenameFormat = "filename_format", 0, Text, "$jobname.$jobnum.$filenum", Works, "How generated file names are made", "";
        UniqueFilename = "unique_filename", 0, Bool, "1", Idle, "Put the client's address before names", "there are no clients";
        Opendir = "opendir", 0, Text, "", Works, "All files below a directory", "files there when the run begins; each is used as far as the smallest of them";
        Readwrite = "rw" or "readwrite", 0, Begins(&["read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "readwrite", "randrw", "trimwrite", "randtrimwrite"]), "read", Works, "Direction and order; `:n` modifies the offsets", "";
        Blocksize = "bs" or "blocksize", 1, Integers(1, MOST), "4096", Works, "Bytes of an I/O", "";
        Blockalign = "ba" or "blockalign", 1, Integers(1, MOST), "", Works, "Random offsets are multiples of this", "one value for all directions";
        BlocksizeRange = "bsrange" or "blocksize_range", 1, Ranges, "", Works, "Smallest and largest I/O", "the same range for all directions that occur";
        Bssplit = "bssplit", 1, Text, "", Works, "Block sizes with their shares", "zones of trims are not weighted apart";
        BlocksizeUnaligned = "bs_unaligned" or "blocksize_unaligned", 1, Flag, "", Works, "Any size within bsrange", "not with direct=1, nor where blocks are verified";
        BsIsSeqRand = "bs_is_seq_rand", 1, Bool, "0", Works, "What is said of reads is that of sequential I/Os, of writes that of random ones", "one size where percentage_random mixes both";
        Randrepeat = "randrepeat", 1, Bool, "1", Works, "The same random order in each run", "";
        Randseed = "randseed", 1, Integer(i64::MIN, MOST), "0x89", Works, "Seed of everything random", "";
        Norandommap = "norandommap", 1, Flag, "", Works, "Blocks may come again before all were touched", "";
        Sprandom = "sprandom", 1, Bool, "0", Refused, "Writes that leave a flash device as a long random load does", "no model of a device's garbage collection is kept; write it twice over at random";
        SprNumRegions = "spr_num_regions", 2, Integer(1, MOST), "", Idle, "Its regions", "see sprandom";
        SprOp = "spr_op", 2, Floats(0.0, 1e9), "", Idle, "The device's spare part", "see sprandom";
        SprCs = "spr_cs", 2, Integer(0, MOST), "", Idle, "The device's cache, bytes", "see sprandom";
        Softrandommap = "softrandommap", 2, Bool, "0", Idle, "Go on without a map if there is no memory for it", "the order once over all blocks needs no map";
        IgnoreError = "ignore_error", 1, Text, "", Works, "Errors that do not end the job", "";
        RwSequencer = "rw_sequencer", 0, One(&["sequential", "identical"]), "sequential", Works, "What `:n` of rw does", "";
        Ioengine = "ioengine", 0, Begins(&["sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "rbd", "mmap", "splice", "netsplice", "sg", "null", "net", "cpuio", "rdma", "e4defrag", "falloc", "ftruncate", "gfapi", "gfapi_async", "pmemblk", "dev-dax", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "external", "libpmem", "nbd", "mtd", "exec", "rados", "io_uring_cmd"]), "psync", Works, "How I/O is asked of the kernel", "see the table of engines";
        Iodepth = "iodepth", 0, Integer(1, MOST), "1", Works, "I/Os kept outstanding", "without effect on engines that wait for each I/O; a note says so";
        IodepthBatch = "iodepth_batch" or "iodepth_batch_submit", 1, Integer(0, MOST), "1", Works, "I/Os submitted at a time", "";
        IodepthBatchCompleteMin = "iodepth_batch_complete_min" or "iodepth_batch_complete", 1, Integer(0, MOST), "1", Works, "I/Os waited for at a time", "";
        IodepthBatchCompleteMax = "iodepth_batch_complete_max", 1, Integer(0, MOST), "", Works, "The most taken at a time", "not fewer than iodepth_batch_complete_min; not said: all that are there (fio: iodepth_batch_complete_min)";
        IodepthLow = "iodepth_low", 1, Integer(1, MOST), "", Works, "Once full, wait until only so many are left", "";
        SerializeOverlap = "serialize_overlap", 1, Bool, "0", Works, "Hold back I/Os that overlap one in flight", "";
        IoSubmitMode = "io_submit_mode", 0, One(&["inline", "offload"]), "inline", Works, "Who submits", "offload: pread and pwrite on as many threads as iodepth, whichever engine is said";
        Size = "size", 0, Size, "", Works, "Bytes of a job's files together, or percent", "";
        IoSize = "io_size" or "io_limit", 0, Size, "", Works, "Bytes of I/O after which the job ends", "";
        FillDevice = "fill_device" or "fill_fs", 0, Bool, "0", Refused, "Write until nothing is left", "fathom fills no file system to its end";
        Filesize = "filesize", 0, Ranges, "", Works, "Bytes of each file; of a range each draws its own", "drawn from the seed; of a range, a longer file that is there is used to its end";
        FileAppend = "file_append", 0, Bool, "0", Works, "Begin at the end of the file", "";
        Offset = "offset" or "fileoffset", 0, Size, "0", Works, "First byte that is used", "";
        OffsetIncrement = "offset_increment", 1, Size, "0", Works, "Added to the offset for each clone", "";
        OffsetAlign = "offset_align", 0, Integer(0, MOST), "0", Works, "A percentage offset is rounded up to a multiple of this", "";
        NumberIos = "number_ios", 0, Integer(0, MOST), "0", Works, "End after so many I/Os", "";
        RandomGenerator = "random_generator", 0, One(&["tausworthe", "lfsr", "tausworthe64"]), "tausworthe", Works, "Which generator draws offsets", "";
        RandomDistribution = "random_distribution", 0, Begins(&["random", "zipf", "pareto", "normal", "zoned", "zoned_abs", "sequence"]), "random", Works, "Which blocks are likely", "sequence is refused; one for all directions, at its usual centre";
        RandomSequenceStride = "random_sequence_stride", 1, Integer(0, MOST), "0", Refused, "From one place of a sequence to the next", "random_distribution=sequence is not made";
        PercentageRandom = "percentage_random", 0, Integers(0, 100), "100,100,100", Works, "How much of a random load is random", "one value for all directions";
        Allrandrepeat = "allrandrepeat", 0, Bool, "0", Idle, "Repeat everything random, not only the offsets", "everything random comes from one seed already";
        Nrfiles = "nrfiles" or "nr_files", 0, Integer(1, MOST), "1", Works, "Files of a job", "";
        FileServiceType = "file_service_type", 1, Begins(&["random", "zipf", "pareto", "normal", "gauss", "roundrobin", "sequential"]), "roundrobin", Works, "Which file is next", "";
        Openfiles = "openfiles", 1, Integer(0, MOST), "", Idle, "Files open at a time", "all files of a job stay open";
        Fallocate = "fallocate", 0, One(&["none", "native", "posix", "keep", "truncate", "0", "1"]), "native", Works, "How space is reserved when files are made", "";
        FadviseHint = "fadvise_hint", 0, One(&["0", "1", "random", "sequential"]), "1", Works, "Tell the kernel what to expect", "";
        Fsync = "fsync", 0, Integer(0, MOST), "0", Works, "An fsync after so many writes", "";
        Fdatasync = "fdatasync", 0, Integer(0, MOST), "0", Works, "An fdatasync after so many writes", "";
        WriteBarrier = "write_barrier", 0, Integer(0, MOST), "0", Idle, "Each so many-th write a barrier", "the kernel has no barriers for programs, and fio 3.33 does nothing either; a note says so";
        SyncFileRange = "sync_file_range", 0, Text, "", Works, "Start writing back a range after so many writes", "";
        Direct = "direct", 0, Bool, "0", Works, "Past the page cache", "";
        Atomic = "atomic", 0, Bool, "0", Works, "Atomic direct writes", "direct=1 and no more, as in fio 3.33, whose O_ATOMIC no kernel knows; a note says so";
        Buffered = "buffered", 0, Bool, "1", Works, "Through the page cache", "";
        Overwrite = "overwrite", 0, Bool, "0", Works, "Write the file out before it is written to", "";
        Loops = "loops", 0, Integer(1, MOST), "1", Works, "So many times", "";
        Numjobs = "numjobs", 0, Integer(1, MOST), "1", Works, "So many clones", "";
        Startdelay = "startdelay", 0, Time(Seconds), "0", Works, "Begin so much later; of a range, each clone draws", "";
        Runtime = "runtime" or "timeout", 0, Time(Seconds), "0", Works, "End after so long", "";
        TimeBased = "time_based", 0, Flag, "", Works, "Go on for the whole runtime, again and again", "";
        VerifyOnly = "verify_only", 0, Flag, "", Works, "Write nothing, check what an earlier run wrote", "";
        RampTime = "ramp_time", 0, Time(Seconds), "", Works, "Run so long before anything counts", "takes nothing of `io_size` (fio: of `number_ios` only); jobs that verify count as fio does";
        RampSize = "ramp_size", 0, Size, "0", Refused, "Bytes before anything counts", "a ramp is a time here: say ramp_time";
        Clocksource = "clocksource", 0, One(&["gettimeofday", "clock_gettime", "cpu"]), "", Idle, "Which clock", "the processor's counter where it is steady, else clock_gettime";
        Mem = "mem" or "iomem", 0, Begins(&["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge", "cudamalloc"]), "malloc", Works, "Memory of the buffers", "page-aligned anonymous memory whichever is said, in huge pages for shmhuge and mmaphuge where the system holds free ones";
        IomemAlign = "iomem_align" or "mem_align", 0, Integer(1, MOST), "", Idle, "Alignment of the buffers", "buffers are aligned to pages";
        Verify = "verify", 0, One(&["0", "md5", "crc64", "crc32", "crc32c-intel", "crc32c", "crc16", "crc7", "sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "xxhash", "meta", "pattern", "pattern_hdr", "null"]), "0", Works, "What is put into blocks so that they can be checked", "pattern_hdr is refused";
        DoVerify = "do_verify", 1, Bool, "1", Works, "Read and check after writing", "";
        Verifysort = "verifysort", 1, Bool, "1", Idle, "Check in the order of offsets", "the pass that checks goes by offset";
        VerifysortNr = "verifysort_nr", 1, Integer(0, MOST), "1024", Idle, "Presort so many", "the pass that checks goes by offset";
        VerifyInterval = "verify_interval", 1, Integer(2, MOST), "", Works, "A header every so many bytes", "";
        VerifyOffset = "verify_offset", 1, Integer(0, MOST), "", Works, "The header changes places with the bytes there", "";
        VerifyPattern = "verify_pattern", 1, Text, "", Works, "The bytes for verify=pattern; `'file'` are the first of a file", "%o with verify=pattern only";
        VerifyPatternInterval = "verify_pattern_interval", 1, Integer(0, MOST), "0", Refused, "The pattern begins anew after so many bytes", "a pattern begins with its block: say verify_pattern without it";
        VerifyFatal = "verify_fatal", 1, Bool, "0", Works, "The first mismatch ends the job", "";
        VerifyDump = "verify_dump", 1, Bool, "0", Works, "Files of the wrong block", "FILE.OFFSET.received, of the first 16; what it should be is told by the record";
        VerifyAsync = "verify_async", 1, Integer(0, MOST), "0", Works, "Threads that check", "beside each worker; a latency ends when the bytes are there";
        VerifyAsyncCpus = "verify_async_cpus", 1, Text, "", Works, "CPUs of these threads", "";
        VerifyBacklog = "verify_backlog", 1, Integer(0, MOST), "", Works, "Check after so many writes", "";
        VerifyBacklogBatch = "verify_backlog_batch", 1, Integer(0, MOST), "", Works, "Check so many then", "";
        ExperimentalVerify = "experimental_verify", 1, Bool, "0", Idle, "Replay the writes from their seed", "what was written is known without drawing it again";
        VerifyStateLoad = "verify_state_load", 1, Bool, "0", Works, "Check no more than a saved state says was written", "of jobs that read or only verify";
        VerifyStateSave = "verify_state_save", 1, Bool, "1", Works, "Save at the end how far the writing got", "";
        VerifyPolicy = "verify_policy", 0, Text, "", Refused, "Which writes a state vouches for", "a state holds each write and whether it came back";
        VerifyWriteSequence = "verify_write_sequence", 0, Bool, "1", Works, "Look at the number of the write in headers", "0: whoever wrote a block and when";
        VerifyHeaderSeed = "verify_header_seed", 0, Bool, "1", Works, "Look at the seed in headers", "0: whoever wrote a block and when";
        TrimPercentage = "trim_percentage", 1, Integer(0, 100), "0", Works, "Discard some of the blocks that are to be checked", "with trim_backlog, as in fio; works with rw=write too, where fio 3.33 fails";
        TrimVerifyZero = "trim_verify_zero", 2, Bool, "1", Works, "Discarded blocks must read as zeros", "0: they are not read";
        TrimBacklog = "trim_backlog", 2, Integer(0, MOST), "", Works, "Discard after so many writes", "";
        TrimBacklogBatch = "trim_backlog_batch", 2, Integer(0, MOST), "", Works, "Discard so many then", "fio 3.33 discards all that wait";
        WriteIolog = "write_iolog", 0, Text, "", Works, "Write down each I/O", "version 3, at the time it began; not beside read_iolog";
        ReadIolog = "read_iolog", 0, Text, "", Works, "Do what was written down", "fio's versions 2 and 3 and blktrace's binary files; `-` is refused";
        ReadIologChunked = "read_iolog_chunked", 1, Bool, "0", Idle, "Read it piece by piece", "it is read at once";
        ReplayNoStall = "replay_no_stall", 1, Bool, "0", Works, "As fast as possible", "";
        ReplayRedirect = "replay_redirect", 1, Text, "", Works, "To this device", "";
        ReplayScale = "replay_scale", 1, Integer(1, MOST), "1", Works, "Divide offsets", "";
        ReplayAlign = "replay_align", 1, Integer(0, MOST), "", Works, "Align offsets", "";
        ReplayTimeScale = "replay_time_scale", 1, Integer(1, MOST), "100", Works, "Faster or slower, percent", "";
        ReplaySkip = "replay_skip", 1, Text, "", Works, "Leave out directions", "";
        MergeBlktraceFile = "merge_blktrace_file", 0, Text, "", Works, "Put recordings together into this file, and replay it", "";
        MergeBlktraceScalars = "merge_blktrace_scalars", 0, Floats(f64::MIN, f64::MAX), "", Works, "Percent of its time that each takes", "";
        MergeBlktraceIters = "merge_blktrace_iters", 0, Floats(f64::MIN, f64::MAX), "", Works, "How often each is repeated", "";
        ExecPrerun = "exec_prerun", 0, Text, "", Works, "A command before the job", "with --allow-exec only";
        ExecPostrun = "exec_postrun", 0, Text, "", Works, "A command after the job", "with --allow-exec only";
        Ioscheduler = "ioscheduler", 0, Text, "", Works, "Scheduler of the disks, restored at the end", "noop is none where the kernel has no noop";
        Zonemode = "zonemode", 0, One(&["none", "strided", "zbd"]), "none", Works, "What zonesize, zonerange and zoneskip mean", "none, and strided for jobs in order; zoned devices are refused";
        Zonesize = "zonesize", 0, Size, "0", Works, "Bytes done in a zone", "";
        Zonecapacity = "zonecapacity", 0, Size, "0", Refused, "Usable bytes of a zone", "zoned devices are refused";
        Zonerange = "zonerange", 0, Size, "0", Works, "Bytes of a zone", "";
        Zoneskip = "zoneskip", 0, Size, "0", Works, "Bytes between zones", "";
        ReadBeyondWp = "read_beyond_wp", 0, Bool, "0", Refused, "Read past the write pointer", "zoned devices are refused";
        MaxOpenZones = "max_open_zones", 0, Integer(0, MOST), "0", Refused, "Most zones open", "zoned devices are refused";
        JobMaxOpenZones = "job_max_open_zones", 0, Integer(0, MOST), "0", Refused, "Most zones open in a job", "zoned devices are refused";
        IgnoreZoneLimits = "ignore_zone_limits", 0, Bool, "0", Refused, "Ignore the device's limit", "zoned devices are refused";
        ZoneResetThreshold = "zone_reset_threshold", 0, Floats(f64::MIN, f64::MAX), "", Refused, "When zones are reset", "zoned devices are refused";
        ZoneResetFrequency = "zone_reset_frequency", 0, Floats(f64::MIN, f64::MAX), "", Refused, "How often zones are reset", "zoned devices are refused";
        Lockmem = "lockmem", 0, Size, "0", Works, "Memory to hold locked", "";
        Rwmixread = "rwmixread", 0, Integer(0, 100), "50", Works, "Percent of reads in a mix", "";
        Rwmixwrite = "rwmixwrite", 0, Integer(0, 100), "50", Works, "Percent of writes in a mix", "";
        Rwmixcycle = "rwmixcycle", 1, Integer(0, MOST), "500", Idle, "Length of a cycle of the mix", "each I/O is drawn; it has no effect in fio either";
        Nice = "nice", 0, Integer(-20, 19), "0", Works, "CPU priority", "";
        Prio = "prio", 0, Integer(0, 7), "", Works, "I/O priority", "";
        Priohint = "priohint", 1, Integer(0, 1023), "0", Refused, "A hint beside the priority", "no kernel here takes one";
        Prioclass = "prioclass", 0, Integer(0, 3), "", Works, "Class of I/O priority", "";
        Thinktime = "thinktime", 0, Time(Micros), "0", Works, "A pause between I/Os", "";
        ThinktimeSpin = "thinktime_spin", 1, Time(Micros), "0", Works, "Of that, busy", "";
        Thinkcycles = "thinkcycles", 1, Integer(0, MOST), "0", Refused, "Spin for so many cycles of the CPU", "a cycle is no length of time: say thinktime_spin";
        ThinktimeBlocks = "thinktime_blocks", 1, Integer(1, MOST), "1", Works, "A pause after so many", "";
        ThinktimeBlocksType = "thinktime_blocks_type", 1, One(&["complete", "issue"]), "complete", Works, "What is counted", "complete only";
        ThinktimeIotime = "thinktime_iotime", 1, Time(Seconds), "0", Works, "A pause after so long", "";
        Rate = "rate", 0, Integers(0, MOST), "", Works, "Bytes a second", "";
        RateMin = "rate_min" or "ratemin", 1, Integers(0, MOST), "", Works, "End the job when it is slower", "";
        RateProcess = "rate_process", 1, One(&["linear", "poisson"]), "linear", Works, "Evenly, or at random", "";
        RateCycle = "rate_cycle" or "ratecycle", 1, Time(Millis), "1000", Works, "Over how long a rate is judged", "of rate_min and rate_iops_min; pacing itself is exact";
        RateIgnoreThinktime = "rate_ignore_thinktime", 1, Bool, "0", Idle, "Make up for pauses", "the timetable of a rate goes on during a pause";
        RateIops = "rate_iops", 0, Integers(0, MOST), "", Works, "I/Os a second", "";
        RateIopsMin = "rate_iops_min", 1, Integers(0, MOST), "", Works, "End the job when it is slower", "";
        MaxLatency = "max_latency", 0, Time(Micros), "", Works, "End the job when an I/O took longer", "one value for all directions; not for engines about files";
        LatencyTarget = "latency_target", 0, Time(Micros), "", Works, "Find the depth that keeps this latency", "";
        LatencyWindow = "latency_window", 0, Time(Micros), "", Works, "Judged over so long", "";
        LatencyPercentile = "latency_percentile", 0, Floats(0.0, 100.0), "100", Works, "Percent that must keep it", "";
        LatencyRun = "latency_run", 0, Bool, "0", Works, "Go on adjusting", "";
        Invalidate = "invalidate", 0, Bool, "1", Works, "Drop the files from the page cache first", "";
        Sync = "sync", 0, One(&["none", "0", "sync", "1", "dsync"]), "none", Works, "O_SYNC or O_DSYNC", "";
        WriteHint = "write_hint", 0, One(&["none", "short", "medium", "long", "extreme"]), "none", Works, "How long data will live", "";
        CreateSerialize = "create_serialize", 0, Bool, "1", Idle, "Make files one after the other", "they are";
        CreateFsync = "create_fsync", 0, Bool, "1", Idle, "fsync files once made", "they are";
        CreateOnOpen = "create_on_open", 0, Bool, "0", Works, "Make files when they are opened", "they begin empty: what is read before it was written is EIO, as in fio; those that are verified begin as holes";
        CreateOnly = "create_only", 0, Bool, "0", Works, "Make the files and stop", "";
        AllowFileCreate = "allow_file_create", 0, Bool, "1", Works, "May files be made?", "";
        AllowMountedWrite = "allow_mounted_write", 0, Bool, "0", Refused, "Write to what is mounted", "fathom never does";
        PreRead = "pre_read", 0, Bool, "0", Works, "Read the files into the page cache first", "";
        Cpumask = "cpumask", 0, Integer(0, MOST), "", Works, "CPUs as bits", "";
        CpusAllowed = "cpus_allowed", 0, Text, "", Works, "CPUs as a list", "";
        CpusAllowedPolicy = "cpus_allowed_policy", 1, One(&["shared", "split"]), "shared", Works, "All on any, or one on each", "";
        NumaCpuNodes = "numa_cpu_nodes", 0, Text, "", Works, "CPUs of these nodes, whatever cpus_allowed says", "";
        NumaMemPolicy = "numa_mem_policy", 0, Text, "", Works, "Where memory comes from", "";
        EndFsync = "end_fsync", 0, Bool, "0", Works, "An fsync after the last write", "";
        EndSyncfs = "end_syncfs", 0, Bool, "0", Refused, "A syncfs after the last write", "it would write out other programs' data: say end_fsync=1";
        FsyncOnClose = "fsync_on_close", 0, Bool, "0", Works, "An fsync before closing", "";
        Unlink = "unlink", 0, Bool, "0", Works, "Remove the files that were made", "";
        UnlinkEachLoop = "unlink_each_loop", 0, Bool, "0", Works, "Remove them before each loop but the first", "not with loops: files stay open while a job runs";
        Exitall = "exitall", 0, Flag, "", Works, "The first job that ends takes the others along", "";
        ExitWhat = "exit_what", 0, One(&["group", "stonewall", "all"]), "group", Works, "Which others", "";
        ExitallOnError = "exitall_on_error", 0, Flag, "", Works, "An error ends all jobs", "";
        Stonewall = "stonewall" or "wait_for_previous", 0, Flag, "", Works, "Begin when everything before has ended; begins a group", "";
        NewGroup = "new_group", 0, Flag, "", Works, "Begin a group of the report", "";
        Thread = "thread" or "threads", 0, Flag, "", Idle, "Threads instead of processes", "all jobs are threads";
        PerJobLogs = "per_job_logs", 0, Bool, "1", Works, "The clone's number in names of logs", "";
        WriteBwLog = "write_bw_log", 0, Text, "", Works, "Write bandwidth down", "";
        Bwavgtime = "bwavgtime", 1, Time(Millis), "500", Works, "Over how long", "";
        WriteLatLog = "write_lat_log", 0, Text, "", Works, "Write latencies down", "";
        WriteIopsLog = "write_iops_log", 0, Text, "", Works, "Write I/Os a second down", "";
        Iopsavgtime = "iopsavgtime", 1, Time(Millis), "500", Works, "Over how long", "";
        LogEntries = "log_entries", 0, Integer(1, MOST), "1024", Idle, "Room for entries", "logs are written as they are made";
        LogAvgMsec = "log_avg_msec", 0, Time(Millis), "0", Works, "One line for so long, rather than for each I/O", "";
        LogHistMsec = "log_hist_msec", 0, Time(Millis), "0", Works, "One histogram for so long", "";
        LogHistCoarseness = "log_hist_coarseness", 0, Integer(0, 6), "0", Works, "2^so many bins in a column", "";
        WriteHistLog = "write_hist_log", 0, Text, "", Works, "Write histograms of completion latencies down", "empty without log_hist_msec";
        LogWindowValue = "log_window_value" or "log_max_value", 0, One(&["avg", "max", "both", "0", "1", "2"]), "avg", Works, "The mean, the largest or both", "of latencies; a line of the others has one value anyway";
        LogIssueTime = "log_issue_time", 0, Bool, "0", Works, "When each was submitted, ns since the job began, in logs of single I/Os", "";
        LogOffset = "log_offset", 0, Bool, "0", Works, "Offsets in logs", "";
        LogPrio = "log_prio", 0, Bool, "0", Works, "Priorities in logs", "";
        LogCompression = "log_compression", 0, Integer(0, MOST), "", Idle, "Compress logs until they are written", "they are written as they are made, and are the same";
        LogCompressionCpus = "log_compression_cpus", 1, Text, "", Idle, "CPUs that compress", "see log_compression";
        LogStoreCompressed = "log_store_compressed", 0, Bool, "0", Refused, "Leave logs compressed", "logs are text: compress them when they are done";
        LogUnixEpoch = "log_unix_epoch", 0, Bool, "0", Works, "Times since 1970", "";
        LogAlternateEpoch = "log_alternate_epoch", 0, Bool, "0", Works, "Times of another clock", "";
        LogAlternateEpochClockId = "log_alternate_epoch_clock_id", 0, Integer(0, MOST), "", Works, "Which clock", "those of CPU time are refused";
        JobStartClockId = "job_start_clock_id", 0, Integer(0, MOST), "0", Works, "The clock of job_start in JSON", "those of CPU time are refused";
        BlockErrorPercentiles = "block_error_percentiles", 0, Bool, "0", Refused, "How long blocks live under trims", "no such statistic is kept";
        GroupReporting = "group_reporting", 0, Flag, "", Works, "One report for a group", "";
        Stats = "stats", 0, Bool, "1", Works, "Is the job reported?", "";
        ZeroBuffers = "zero_buffers", 0, Flag, "", Works, "Write zeros", "";
        RefillBuffers = "refill_buffers", 0, Flag, "", Works, "New bytes for each write", "each write has its own bytes anyway";
        ScrambleBuffers = "scramble_buffers", 0, Bool, "1", Works, "Bytes differ a little in each write", "each write has its own bytes anyway";
        BufferPattern = "buffer_pattern", 0, Text, "", Works, "These bytes over and over; `'file'` are the first of a file", "512 bytes at most";
        BufferCompressPercentage = "buffer_compress_percentage", 0, Integer(0, 100), "", Works, "How much can be compressed away", "";
        BufferCompressChunk = "buffer_compress_chunk", 1, Integer(1, MOST), "512", Idle, "In pieces of", "compressibility is spread over the block";
        DedupePercentage = "dedupe_percentage", 0, Integer(0, 100), "", Works, "How many blocks repeat another", "";
        DedupeMode = "dedupe_mode", 1, One(&["repeat", "working_set"]), "repeat", Works, "Which block is repeated", "working_set: a job of one file, with size";
        DedupeWorkingSetPercentage = "dedupe_working_set_percentage", 1, Integer(0, 100), "5", Works, "How many of the job's blocks they are drawn from, percent", "";
        DedupeGlobal = "dedupe_global", 0, Bool, "0", Works, "Jobs that say so draw from the same blocks", "";
        ClatPercentiles = "clat_percentiles", 0, Bool, "1", Works, "Percentiles of completion", "";
        LatPercentiles = "lat_percentiles", 0, Bool, "0", Works, "Percentiles of the whole", "";
        SlatPercentiles = "slat_percentiles", 0, Bool, "0", Works, "Percentiles of submission", "";
        PercentileList = "percentile_list", 0, Floats(0.0, 100.0), "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99", Works, "Which percentiles", "";
        SignificantFigures = "significant_figures", 0, Integer(1, 10), "4", Works, "Digits in the normal report", "";
        DiskUtil = "disk_util", 0, Bool, "1", Works, "Tell what the disks did", "";
        GtodReduce = "gtod_reduce", 0, Bool, "0", Works, "Keep no latencies and no samples", "";
        DisableLat = "disable_lat", 1, Bool, "0", Works, "Do not keep lat", "";
        DisableClat = "disable_clat", 1, Bool, "0", Works, "Do not keep clat", "";
        DisableSlat = "disable_slat", 1, Bool, "0", Works, "Do not keep slat", "";
        DisableBwMeasurement = "disable_bw_measurement" or "disable_bw", 1, Bool, "0", Works, "Do not sample bandwidth", "";
        GtodCpu = "gtod_cpu", 0, Integer(0, MOST), "", Idle, "A thread that reads the clock", "the clock is read once a batch";
        UnifiedRwReporting = "unified_rw_reporting", 0, One(&["none", "mixed", "both", "0", "1", "2"]), "none", Works, "Reads and writes in one", "";
        ContinueOnError = "continue_on_error", 0, One(&["none", "read", "write", "io", "verify", "all", "0", "1"]), "none", Works, "Go on after errors", "";
        ErrorDump = "error_dump", 0, Bool, "0", Idle, "Tell each error", "each error is told";
        Profile = "profile", 0, One(&["tiobench", "act"]), "", Idle, "A built-in test", "in a job file it does nothing in fio 3.33 either; on the command line tiobench works and act is refused";
        Cgroup = "cgroup", 0, Text, "", Works, "Into this control group", "of version 1 (blkio): those of version 2 take processes, and jobs are threads";
        CgroupNodelete = "cgroup_nodelete", 1, Bool, "0", Works, "Leave it", "";
        CgroupWeight = "cgroup_weight", 1, Integer(100, 1000), "", Works, "Its weight", "refused where the kernel has no such file";
        Uid = "uid", 0, Integer(0, MOST), "", Works, "As this user", "files are opened before";
        Gid = "gid", 0, Integer(0, MOST), "", Works, "As this group", "files are opened before";
        KbBase = "kb_base", 0, One(&["1024", "1000"]), "1024", Works, "Is k 1024 or 1000?", "";
        UnitBase = "unit_base", 0, One(&["0", "8", "1"]), "0", Works, "Report bytes or bits", "bytes";
        HugepageSize = "hugepage-size", 0, Integer(1, MOST), "2097152", Idle, "Bytes of a huge page", "the system's own size is taken";
        FlowId = "flow_id", 0, Integer(0, MOST), "0", Works, "Which flow", "";
        Flow = "flow", 1, Integer(-1000, 1000), "0", Works, "Weight in it", "";
        FlowSleep = "flow_sleep", 1, Integer(0, MOST), "0", Idle, "Sleep so long when held back", "one waits as long as it must";
        Steadystate = "steadystate" or "ss", 0, Text, "iops_slope:0.01%", Works, "End when steady", "of each job; of a group together with group_reporting";
        SteadystateDuration = "steadystate_duration" or "ss_dur", 1, Time(Seconds), "0", Works, "Steady for so long", "";
        SteadystateRampTime = "steadystate_ramp_time" or "ss_ramp", 1, Time(Seconds), "0", Works, "Look after so long", "";
        SteadystateCheckInterval = "steadystate_check_interval" or "ss_interval", 1, Time(Seconds), "1", Refused, "Look once in so long", "it is looked at each second";
    }
    of ["io_uring", "pvsync2", "sg", "io_uring_cmd"] {
        Hipri = "hipri", 0, Flag, "", Works, "Poll for completions", "";
    }
    of ["pvsync2"] {
        HipriPercentage = "hipri_percentage", 0, Integer(0, 100), "100", Works, "Poll for some of them", "";
    }
    of ["libaio"] {
        UserspaceReap = "userspace_reap", 0, Flag, "", Idle, "Reap without a system call", "done where it is possible";
    }
    of ["io_uring", "libaio", "io_uring_cmd"] {
        CmdprioPercentage = "cmdprio_percentage", 0, Integers(0, 100), "", Works, "So many at a priority of their own", "";
        CmdprioClass = "cmdprio_class", 0, Integers(1, 3), "", Works, "Their class", "";
        Cmdprio = "cmdprio", 0, Integers(0, 7), "", Works, "Their level", "";
        CmdprioBssplit = "cmdprio_bssplit", 0, Text, "", Works, "By size", "";
    }
    of ["io_uring", "io_uring_cmd"] {
        Fixedbufs = "fixedbufs", 0, Flag, "", Idle, "Register buffers", "done where the limit on locked memory allows";
        Registerfiles = "registerfiles", 0, Flag, "", Idle, "Register files", "done";
        SqthreadPoll = "sqthread_poll", 0, Flag, "", Works, "A kernel thread submits", "";
        SqthreadPollCpu = "sqthread_poll_cpu", 0, Integer(0, MOST), "", Works, "On this CPU", "";
        Nonvectored = "nonvectored", 0, Bool, "1", Idle, "Plain reads and writes", "they are";
    }
    of ["io_uring", "io_uring_cmd", "pvsync2"] {
        Uncached = "uncached", 0, Integer(0, 1), "0", Refused, "Buffered, and dropped at once", "not in every kernel";
    }
    of ["io_uring", "io_uring_cmd", "pvsync2", "libaio"] {
        Nowait = "nowait", 0, Bool, "0", Works, "Fail rather than wait", "pvsync2 and libaio";
    }
    of ["io_uring", "io_uring_cmd"] {
        ForceAsync = "force_async", 0, Integer(0, MOST), "0", Works, "Each so many-th through a thread of the kernel", "io_uring";
        WriteMode = "write_mode", 0, One(&["write", "uncor", "zeroes", "verify"]), "write", Refused, "Which command writes are", "no passthrough";
        VerifyMode = "verify_mode", 0, One(&["read", "compare"]), "read", Refused, "Which command verifies are", "no passthrough";
        MdPerIoSize = "md_per_io_size", 0, Integer(0, MOST), "0", Refused, "Bytes of metadata", "no passthrough";
        PiAct = "pi_act", 0, Integer(0, 1), "1", Refused, "Protection information by the device", "no passthrough";
        PiChk = "pi_chk", 0, Text, "", Refused, "What of it is checked", "no passthrough";
        Apptag = "apptag", 0, Integer(0, MOST), "4660", Refused, "Its application tag", "no passthrough";
        ApptagMask = "apptag_mask", 0, Integer(0, MOST), "65535", Refused, "The tag's mask", "no passthrough";
        Deac = "deac", 0, Bool, "0", Refused, "Deallocate what zeroes are written to", "no passthrough";
        CmdType = "cmd_type", 0, One(&["nvme"]), "nvme", Refused, "Kind of command", "no passthrough";
    }
    of [] {
        Fdp = "fdp", 0, Bool, "0", Refused, "Flexible data placement", "no passthrough";
        DataPlacement = "data_placement" or "dataplacement", 0, One(&["none", "fdp", "streams"]), "none", Refused, "Where a device places data", "no passthrough";
        FdpPliSelect = "fdp_pli_select" or "plid_select", 0, Text, "", Refused, "How placements are chosen", "no passthrough";
        FdpPli = "fdp_pli" or "plids", 0, Text, "", Refused, "Which placements", "no passthrough";
        DpScheme = "dp_scheme", 0, Text, "", Refused, "A file of placements", "no passthrough";
        NumRange = "num_range", 0, Integer(1, 256), "1", Refused, "Ranges of a trim", "each trim is one range";
        CmdprioHint = "cmdprio_hint", 0, Integers(0, 1023), "", Refused, "A hint beside their priority", "no kernel here takes one";
    }
    of ["mmap"] {
        Thp = "thp", 0, Bool, "0", Works, "Ask for huge pages", "";
    }
    of ["cpuio"] {
        Cpuload = "cpuload", 0, Integer(1, 100), "", Works, "Percent of a CPU", "";
        Cpuchunks = "cpuchunks", 1, Integer(1, MOST), "50000", Works, "In bursts of", "";
        Cpumode = "cpumode", 0, One(&["noop", "qsort"]), "noop", Works, "How it is used up", "";
        ExitOnIoDone = "exit_on_io_done", 0, Bool, "0", Idle, "End with the other jobs", "cpuio ends with the last job of another engine anyway";
    }
    of ["filestat"] {
        StatType = "stat_type", 0, One(&["stat", "lstat", "statx"]), "stat", Works, "Which call", "";
    }
    of ["exec"] {
        Program = "program", 0, Text, "", Works, "What to run", "";
        Arguments = "arguments", 0, Text, "", Works, "With these words", "split at blanks; %r is the runtime in seconds, %n the name of the job";
        GraceTime = "grace_time", 0, Integer(0, MOST), "1", Works, "Patience at the end", "";
        StdRedirect = "std_redirect", 0, Bool, "1", Works, "Its output into files", "";
    }
    of ["net", "netsplice", "rdma"] {
        Hostname = "hostname", 0, Text, "", Refused, "Where to", "networks are not measured";
        Port = "port", 0, Integer(1, 65535), "", Refused, "Which port", "networks are not measured";
    }
    of ["net", "netsplice"] {
        Protocol = "protocol", 0, Text, "tcp", Refused, "Which protocol", "networks are not measured";
        Nodelay = "nodelay", 0, Bool, "0", Refused, "Without delay", "networks are not measured";
        Listen = "listen", 0, Flag, "", Refused, "Wait for a connection", "networks are not measured";
        Pingpong = "pingpong", 0, Flag, "", Refused, "Answer each", "networks are not measured";
        Interface = "interface", 0, Text, "", Refused, "Which interface", "networks are not measured";
        Ttl = "ttl", 0, Integer(0, 255), "1", Refused, "How many hops", "networks are not measured";
        WindowSize = "window_size", 0, Integer(0, MOST), "0", Refused, "The socket's window", "networks are not measured";
        Mss = "mss", 0, Integer(0, MOST), "0", Refused, "Bytes of a segment", "networks are not measured";
    }
    of ["rdma"] {
        Bindname = "bindname", 0, Text, "", Refused, "Which interface", "networks are not measured";
        Verb = "verb", 0, Text, "write", Refused, "Which operation", "networks are not measured";
    }
    of ["e4defrag"] {
        Donorname = "donorname", 0, Text, "", Refused, "The donor", "fathom moves no blocks";
        Inplace = "inplace", 0, Integer(0, 1), "0", Refused, "In place", "fathom moves no blocks";
    }
    of ["gfapi", "gfapi_async"] {
        Volume = "volume", 0, Text, "", Refused, "Which volume", "no library for it is linked";
        Brick = "brick", 0, Text, "", Refused, "Which brick", "no library for it is linked";
        SingleInstance = "single-instance", 0, Bool, "0", Refused, "Only one", "no library for it is linked";
    }
    of ["mtd"] {
        SkipBad = "skip_bad", 0, Bool, "0", Refused, "Leave out bad blocks", "flash chips are not measured";
    }
    of ["sg"] {
        Readfua = "readfua", 0, Bool, "0", Refused, "Force unit access for reads", "no passthrough";
        Writefua = "writefua", 0, Bool, "0", Refused, "Force unit access for writes", "no passthrough";
        SgWriteMode = "sg_write_mode", 0, Text, "write", Refused, "Which command", "no passthrough";
        StreamId = "stream_id", 0, Integer(0, MOST), "0", Refused, "Which stream", "no passthrough";
    }
    of ["nbd"] {
        Uri = "uri", 0, Text, "", Refused, "Which export", "no library for it is linked";
    }
    of ["rados", "rbd"] {
        Clustername = "clustername", 0, Text, "ceph", Refused, "Which cluster", "no library for it is linked";
        Pool = "pool", 0, Text, "", Refused, "Which pool", "no library for it is linked";
        Clientname = "clientname", 0, Text, "", Refused, "As whom", "no library for it is linked";
        BusyPoll = "busy_poll", 0, Bool, "0", Refused, "Poll", "no library for it is linked";
    }
    of ["rbd"] {
        Rbdname = "rbdname", 0, Text, "", Refused, "Which image", "no library for it is linked";
    }
    of ["rados"] {
        Conf = "conf", 0, Text, "", Refused, "Which settings", "no library for it is linked";
        TouchObjects = "touch_objects", 0, Bool, "1", Refused, "Make objects first", "no library for it is linked";
    }
}
