//! Whether the figures can be believed. Every rule is one function from evidence to a check; evidence is plain data, and a
//! thing that could not be looked at is `None`, which makes the verdict "cannot tell" and never "believable".

use crate::bound::{cpus_of_others, grown, stolen};
use crate::figures::cached_share;
use crate::observe::Observed;
use crate::pieces::pieces;
use crate::precision::Precision;
use fathom_record::{Check, CheckOutcome, Event, EventKind, Phase, Purpose, Run, SampleOf, Verdict, judge};
use fathom_spec::{Bytes, Verb};
use fathom_stats::Steadiness;
use serde::{Deserialize, Serialize};

/// The device must have seen this share of our bytes.
const DEVICE_SAW_LEAST: f64 = 0.98;
/// Others may have moved this share of what we did.
const FOREIGN_MOST: f64 = 0.03;
/// Reads answered at once from the page cache.
const PAGE_CACHE_MOST: f64 = 0.02;
/// A cache below the device is named from this share on.
const CACHE_NAMED: f64 = 0.10;
/// From so many times the slowest piece on the fastest one is worth a word: the disk has more than one speed.
const LEVELS_NAMED: f64 = 1.15;
/// A figure whose interval is wider than this, either way, says too little.
const HALF_WIDTH_MOST: f64 = 0.30;
/// Reads under this time come from no disk, flash and its link included.
const FASTER_THAN_FLASH_NS: u64 = 20_000;
/// If more than this share is faster than flash, the figure is a cache's.
const FASTER_MOST: f64 = 0.50;
/// A working set that any controller's cache holds.
const SET_LEAST: Bytes = Bytes(64 << 20);
/// CPU time that other programs had: worth a word.
const CPU_OF_OTHERS_NAMED: f64 = 0.25;
/// CPU time taken by a hypervisor: worth a word, and too much.
const STEAL: (f64, f64) = (0.05, 0.20);
/// Of all I/Os these may fail.
const FAULTS_MOST: f64 = 0.001;

/// What is known when a verdict is made. Fractions are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// A simulated device: nothing about caches, disks and others applies.
    pub simulated: bool,
    /// The device keeps its blocks in memory (zram, brd): speed is no sign of a cache.
    pub memory_backed: bool,
    /// Bytes that we read in the read phases.
    pub our_bytes_read: u64,
    /// Bytes that the device's counters saw read meanwhile.
    pub device_bytes_read: Option<u64>,
    /// Bytes that we wrote in the write phases.
    pub our_bytes_written: u64,
    /// Bytes that the device's counters saw written meanwhile.
    pub device_bytes_written: Option<u64>,
    /// The largest share of foreign I/O in a read run on which a figure rests.
    pub foreign_share: Option<f64>,
    /// Were writes of ours among what others did: then a file system's own writes cannot be told from those of others, and only reads
    /// of others are in the share.
    #[serde(default)]
    pub foreign_writes_unknown: bool,
    /// The share of the working set that went into the page cache while it was measured, by probes (`mincore`) before and
    /// after; `None` where none could be made.
    pub page_cache_share: Option<f64>,
    /// How the level moved in the runs on which figures rest, per cent within the run.
    pub drifts: Vec<RunDoubt>,
    /// Measurements in pieces that were not all alike.
    #[serde(default)]
    pub levels: Vec<RunLevels>,
    /// Runs on which figures rest that did not reach the precision: relative half width.
    pub not_converged: Vec<RunDoubt>,
    /// What the precision was, relative half width.
    pub precision: f64,
    pub working_set: Bytes,
    /// RAM of this host.
    pub memory: Option<Bytes>,
    /// The share of the working set that was never written, or is a hole.
    pub unwritten_share: Option<f64>,
    /// The share of a sample that was much faster when read again.
    pub cached_again: Option<f64>,
    /// The share of the sample's first reads that were faster than flash can be; of a load that only reads, of all of them.
    pub faster_than_flash: Option<f64>,
    /// A load that the user described: no sample is read twice beside it.
    #[serde(default)]
    pub without_sample: bool,
    /// The largest share of CPU time that a hypervisor took in a run on which a figure rests.
    pub stolen: Option<f64>,
    /// The same in the other runs: those that explore, and those whose figures stand beside others.
    #[serde(default)]
    pub stolen_aside: Option<f64>,
    /// Asynchronous I/O slots that were free and that were needed.
    pub async_slots: Option<(u64, u64)>,
    /// The largest share of the CPUs' time that other programs had in a run on which a figure rests.
    #[serde(default)]
    pub cpu_of_others: Option<f64>,
    /// Runs in which the program did not run for a while: how long, s.
    #[serde(default)]
    pub paused: Vec<RunDoubt>,
    /// I/Os that failed, and all.
    pub faults: (u64, u64),
    /// Where the medium is known: whether it rotates. Behind virtio or a RAID controller it is not, and a flush that
    /// takes no time is not called false there.
    pub rotates: Option<bool>,
    /// Durable commits a second by one writer.
    pub commits_per_second: Option<f64>,
    /// What could not be checked, from the preflight on.
    pub unchecked: Vec<String>,
    /// The option that gives a measurement more time, and the one that makes its working set larger than this host's memory, where there
    /// are such.
    #[serde(default)]
    pub longer: Option<String>,
    #[serde(default)]
    pub larger: Option<String>,
}

/// A load whose speed was another one at another time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLevels {
    pub run: String,
    pub phase: Option<Phase>,
    /// Operations a second of the slowest piece.
    pub low: f64,
    /// Of the fastest one.
    pub high: f64,
    /// Half the interval of the figure, as a share of it.
    pub half_width: f64,
}

/// What speaks against one run, as a number whose unit its list names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDoubt {
    pub run: String,
    /// Its phase, where it has one.
    pub phase: Option<Phase>,
    pub amount: f64,
}

impl RunDoubt {
    fn of(run: &Run, amount: f64) -> Self {
        RunDoubt { run: run.name.clone(), phase: run.phase, amount }
    }

    /// Does only a figure that stands beside others rest on the run?
    fn is_aside(&self) -> bool {
        self.phase.is_some_and(Phase::is_aside)
    }
}

impl Evidence {
    /// What the runs themselves say. Everything else is for the preflight to fill in.
    pub fn of_runs(runs: &[Run], precision: Precision) -> Evidence {
        let mut evidence = Evidence { precision: precision.half_width(), ..Evidence::default() };
        let (mut read_by_device, mut written_by_device) = (Some(0), Some(0));
        for run in runs {
            let Some(phase) = phase_of(run) else { continue };
            let (read, written) = (bytes(run, |v| !v.writes()), bytes(run, Verb::writes));
            // A mix of both is both.
            if written > 0 || phase.writes() && phase != Phase::Mixed {
                evidence.our_bytes_written += written;
                add(&mut written_by_device, sectors(run, "sectors_written"));
            }
            if read > 0 || !phase.writes() {
                evidence.our_bytes_read += read;
                add(&mut read_by_device, sectors(run, "sectors_read"));
            }
            evidence.take_faults(run);
            evidence.take_pauses(run);
            let rests = matches!(run.purpose, Purpose::Headline | Purpose::Load) && !phase.is_aside();
            let place = if rests { &mut evidence.stolen } else { &mut evidence.stolen_aside };
            *place = larger(*place, stolen(run));
        }
        for measured in pieces(runs) {
            evidence.take_measurement(&measured.runs);
        }
        evidence.device_bytes_read = read_by_device;
        evidence.device_bytes_written = written_by_device;
        evidence.take_samples(runs);
        evidence
    }

    /// What one measurement says, in the pieces in which it was made.
    fn take_measurement(&mut self, runs: &[&Run]) {
        let run = runs[0];
        let Some(phase) = phase_of(run) else { return };
        if !matches!(run.purpose, Purpose::Headline | Purpose::Load) {
            return;
        }
        if !phase.writes() || phase == Phase::Mixed {
            self.foreign_share = larger(self.foreign_share, foreign(runs, phase));
            self.foreign_writes_unknown |= phase == Phase::Mixed;
        }
        if !phase.is_aside() {
            self.cpu_of_others =
                runs.iter().fold(self.cpu_of_others, |most, run| larger(most, cpus_of_others(run)));
        }
        let Some(observed) = Observed::of_pieces(runs) else { return };
        let seconds = observed.seconds() / observed.pieces.len().max(1) as f64;
        match observed.steadiness {
            Steadiness::Drifting { percent_per_minute, .. } => {
                self.drifts.push(RunDoubt::of(run, percent_per_minute * seconds / 60.0));
            }
            Steadiness::Stepped { percent, .. } => self.drifts.push(RunDoubt::of(run, percent)),
            Steadiness::Steady | Steadiness::NotEnough => {}
        }
        let half_width = observed.rate_estimate.map_or(f64::INFINITY, |e| e.relative());
        if half_width > self.precision {
            self.not_converged.push(RunDoubt::of(run, half_width));
        }
        let low = observed.pieces.iter().copied().fold(f64::INFINITY, f64::min);
        let high = observed.pieces.iter().copied().fold(0.0, f64::max);
        if high > low * LEVELS_NAMED {
            let (name, phase) = (run.name.clone(), run.phase);
            self.levels.push(RunLevels { run: name, phase, low, high, half_width });
        }
    }

    fn take_faults(&mut self, run: &Run) {
        for (_, counts) in run.workers.iter().flat_map(|w| &w.counts) {
            self.faults.0 += u64::from(counts.errors);
            self.faults.1 += counts.operations + u64::from(counts.errors);
        }
    }

    fn take_pauses(&mut self, run: &Run) {
        let of = |event: &Event| match event.what {
            EventKind::Paused { for_ns } => for_ns,
            _ => 0,
        };
        let for_ns: u64 = run.events.iter().map(of).sum();
        if for_ns > 0 {
            self.paused.push(RunDoubt::of(run, for_ns as f64 / 1e9));
        }
    }

    fn take_samples(&mut self, runs: &[Run]) {
        let of = |phase| {
            let run = runs.iter().rfind(|r| r.phase == Some(phase))?;
            Observed::of(run)
        };
        let Some(first) = of(Phase::SampleFirst) else {
            let load = runs.iter().rfind(|run| run.phase.is_none() && run.purpose == Purpose::Load);
            self.without_sample = load.is_some();
            let reads = load.filter(|run| bytes(run, Verb::writes) == 0).and_then(Observed::of);
            self.faster_than_flash =
                reads.and_then(|reads| reads.share_over(FASTER_THAN_FLASH_NS)).map(|over| 1.0 - over);
            return;
        };
        self.faster_than_flash = first.share_over(FASTER_THAN_FLASH_NS).map(|over| 1.0 - over);
        self.cached_again = of(Phase::SampleAgain).and_then(|again| cached_share(&first, &again));
    }

    /// All checks, in the order in which they are shown.
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = vec![self.steady()];
        checks.extend(self.levels());
        checks.push(self.converged());
        if self.simulated {
            checks.insert(
                0,
                check("device", CheckOutcome::Noted, "simulated: the figures are a formula's".into()),
            );
        } else {
            checks.extend(self.page_cache());
            checks.extend([self.alone(), self.written()]);
            checks.extend(self.below());
            checks.extend(self.size());
            checks.extend(self.flushes());
            checks.extend(self.writes_reached());
            checks.extend(self.slots());
            checks.extend(self.steal());
            checks.extend(self.cpu_alone());
        }
        checks.extend(self.pauses());
        checks.extend(self.failed_operations());
        checks.extend(
            self.unchecked
                .iter()
                .map(|what| check(what, CheckOutcome::Unknown, "could not be checked".into())),
        );
        checks
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        judge(self.checks())
    }

    /// Nothing to say of a load that only writes: of its writes another check tells.
    fn page_cache(&self) -> Option<Check> {
        (self.our_bytes_read > 0 || self.our_bytes_written == 0).then(|| self.reads_past_page_cache())
    }

    fn reads_past_page_cache(&self) -> Check {
        let name = "page cache bypassed";
        if let Some(share) = self.page_cache_share.filter(|share| *share > PAGE_CACHE_MOST) {
            return check(
                name,
                CheckOutcome::Failed,
                format!("direct reads went through it: {:.0} % of the blocks are in it now", share * 100.0),
            );
        }
        match (self.device_bytes_read, self.our_bytes_read) {
            (_, 0) => check(name, CheckOutcome::Unknown, "nothing was read".into()),
            (None, _) => check(name, CheckOutcome::Unknown, "the device's counters could not be read".into()),
            (Some(device), ours) => {
                let share = device as f64 / ours as f64;
                let outcome =
                    if share < DEVICE_SAW_LEAST { CheckOutcome::Failed } else { CheckOutcome::Passed };
                check(name, outcome, format!("the device saw {:.1} % of the bytes we read", share * 100.0))
            }
        }
    }

    fn alone(&self) -> Check {
        let name = "nobody else used the disk";
        match self.foreign_share {
            None if self.our_bytes_read + self.our_bytes_written == 0 => check(
                name,
                CheckOutcome::Unknown,
                "no block was moved to compare the device's counters with".into(),
            ),
            None => check(name, CheckOutcome::Unknown, "the device's counters could not be read".into()),
            Some(share) => {
                let outcome = if share > FOREIGN_MOST { CheckOutcome::Failed } else { CheckOutcome::Passed };
                let what = if self.foreign_writes_unknown { "others read" } else { "others moved" };
                check(name, outcome, format!("{what} {:.1} % of what we did", share * 100.0))
            }
        }
    }

    fn steady(&self) -> Check {
        let worst = self.drifts.iter().max_by(|a, b| a.amount.abs().total_cmp(&b.amount.abs()));
        match worst {
            None => check("steady state", CheckOutcome::Passed, "no drift larger than noise".into()),
            Some(worst) => {
                let much = |drift: &&RunDoubt| drift.amount.abs() / 100.0 > self.precision;
                let failed = self.drifts.iter().filter(much).find(|drift| !drift.is_aside());
                let RunDoubt { run, amount: percent, .. } = failed.unwrap_or(worst);
                let outcome = if failed.is_some() { CheckOutcome::Failed } else { CheckOutcome::Noted };
                let only = match failed.is_none() && much(&worst) {
                    true => ": that one figure is not believable",
                    false => "",
                };
                let found = format!("{run}: throughput moved by {percent:+.1} % within the run{only}");
                check("steady state", outcome, found)
            }
        }
    }

    /// Said only where it has more than one speed. That is the truth about a disk, and no reason to doubt a figure whose
    /// interval holds all of them; one that is as wide as the figure says nothing.
    fn levels(&self) -> Option<Check> {
        let aside = |levels: &RunLevels| levels.phase.is_some_and(Phase::is_aside);
        // What was too short for an interval says so itself.
        let wide = |levels: &&RunLevels| {
            levels.half_width.is_finite() && levels.half_width > HALF_WIDTH_MOST && !aside(levels)
        };
        let wider = |a: &&RunLevels, b: &&RunLevels| (a.high / a.low).total_cmp(&(b.high / b.low));
        let failed = self.levels.iter().filter(wide).max_by(wider);
        let named = failed.or_else(|| self.levels.iter().max_by(wider))?;
        let outcome = if failed.is_some() { CheckOutcome::Failed } else { CheckOutcome::Noted };
        let RunLevels { run, low, high, half_width, .. } = named;
        let mut seen = format!("{run}: this disk changes between {low:.0} and {high:.0} I/Os a second");
        if failed.is_some() {
            seen.push_str(&format!(", and the figure is known to +-{:.0} % only", half_width * 100.0));
        }
        Some(check("one speed", outcome, seen))
    }

    fn cpu_alone(&self) -> Option<Check> {
        let share = self.cpu_of_others?;
        let outcome = if share > CPU_OF_OTHERS_NAMED { CheckOutcome::Noted } else { CheckOutcome::Passed };
        let seen = format!("other programs had {:.0} % of the CPUs at most", share * 100.0);
        Some(check("nobody else used the CPUs", outcome, seen))
    }

    fn converged(&self) -> Check {
        let asked = self.precision * 100.0;
        let wide = || self.not_converged.iter().filter(|doubt| doubt.amount.is_finite());
        let short = self.not_converged.len() - wide().count();
        let worst = wide().max_by(|a, b| a.amount.total_cmp(&b.amount));
        let seen = match (worst, short) {
            (None, 0) => {
                return check("converged", CheckOutcome::Passed, format!("all within +-{asked:.0} %"));
            }
            (None, short) => format!("too short for an interval: {short}"),
            (Some(worst), short) => {
                let RunDoubt { run, amount, .. } = worst;
                let count = wide().count();
                let also =
                    if short > 0 { format!("; too short for an interval: {short}") } else { String::new() };
                match count {
                    1 => format!("wider than +-{asked:.0} %: {run} (+-{:.1} %){also}", amount * 100.0),
                    _ => format!(
                        "wider than +-{asked:.0} %: {count} measurements, at most {run} (+-{:.1} %){also}",
                        amount * 100.0
                    ),
                }
            }
        };
        Check { hint: self.longer.clone(), ..check("converged", CheckOutcome::Noted, seen) }
    }

    fn written(&self) -> Check {
        let name = "blocks were written before";
        match self.unwritten_share {
            None => check(name, CheckOutcome::Unknown, "could not be checked".into()),
            Some(share) if share > 0.01 => check(
                name,
                CheckOutcome::Failed,
                format!("{:.0} % never were: such reads may touch no disk", share * 100.0),
            ),
            Some(_) => check(name, CheckOutcome::Passed, "all of the working set holds data".into()),
        }
    }

    fn size(&self) -> Option<Check> {
        let name = "working set larger than caches";
        let set = self.working_set;
        (set.0 > 0).then(|| match self.memory {
            // A disk's own cache, a controller's and a hypervisor's are larger.
            _ if set < SET_LEAST && !self.memory_backed => check(
                name,
                CheckOutcome::Failed,
                format!("{set} fits the cache of the device: measure at least {SET_LEAST}"),
            ),
            // Direct I/O does not use it; a hypervisor's or a loop device's host might be as large.
            Some(memory) if set <= memory => {
                let seen = format!("{set} would fit this host's memory of {memory}");
                Check { hint: self.larger.clone(), ..check(name, CheckOutcome::Noted, seen) }
            }
            None => check(name, CheckOutcome::Noted, format!("{set}; no cache's size is known")),
            Some(_) => check(name, CheckOutcome::Passed, format!("{set}")),
        })
    }

    /// Are flushes real? A disk that rotates passes a place once a revolution, so one writer who waits for each
    /// commit makes at most one a revolution: 250 a second at 15,000 a minute. Flash takes some 10 us to program.
    fn flushes(&self) -> Option<Check> {
        let (rotates, commits) = self.rotates.zip(self.commits_per_second)?;
        let most = if rotates { 250.0 } else { 100_000.0 };
        let told = format!("{commits:.0} commits a second by one writer, where the medium allows {most:.0}");
        let outcome = if commits > most { CheckOutcome::Failed } else { CheckOutcome::Passed };
        Some(check("flushes reach the medium", outcome, told))
    }

    /// A load that only writes reads nothing from a cache.
    fn below(&self) -> Option<Check> {
        (self.our_bytes_read > 0 || self.our_bytes_written == 0).then(|| self.reads_from_below())
    }

    fn reads_from_below(&self) -> Check {
        let name = "from the disk, not from a cache below it";
        let too_fast = self.faster_than_flash.filter(|share| *share > FASTER_MOST && !self.memory_backed);
        match (too_fast, self.cached_again) {
            (Some(share), _) => check(
                name,
                CheckOutcome::Failed,
                format!("{:.0} % of reads took under 20 us: a cache below the device answers", share * 100.0),
            ),
            (None, None) if self.without_sample => check(
                name,
                CheckOutcome::Noted,
                "not looked for: only a calibration reads a sample twice".into(),
            ),
            (None, None) => check(name, CheckOutcome::Unknown, "no sample was read twice".into()),
            (None, Some(share)) if share > CACHE_NAMED => check(
                name,
                CheckOutcome::Noted,
                format!(
                    "there is a cache below it: {:.0} % of a sample came from it when read again",
                    share * 100.0
                ),
            ),
            (None, Some(_)) => check(name, CheckOutcome::Passed, "a sample read again was no faster".into()),
        }
    }

    fn writes_reached(&self) -> Option<Check> {
        let name = "writes reached the device";
        (self.our_bytes_written > 0).then(|| match self.device_bytes_written {
            None => check(name, CheckOutcome::Unknown, "the device's counters could not be read".into()),
            Some(device) => {
                let share = device as f64 / self.our_bytes_written as f64;
                let outcome =
                    if share < DEVICE_SAW_LEAST { CheckOutcome::Failed } else { CheckOutcome::Passed };
                check(name, outcome, format!("the device saw {:.0} % of the bytes we wrote", share * 100.0))
            }
        })
    }

    fn slots(&self) -> Option<Check> {
        let (free, needed) = self.async_slots?;
        let outcome = if free < needed { CheckOutcome::Failed } else { CheckOutcome::Passed };
        Some(check("asynchronous I/O slots", outcome, format!("{free} were free, {needed} needed")))
    }

    fn steal(&self) -> Option<Check> {
        let (share, aside) = (self.stolen?, self.stolen_aside.unwrap_or(0.0));
        let outcome = match (share, aside) {
            (s, _) if s > STEAL.1 => CheckOutcome::Failed,
            (s, aside) if s > STEAL.0 || aside > STEAL.1 => CheckOutcome::Noted,
            _ => CheckOutcome::Passed,
        };
        let more = match aside > STEAL.1 {
            true => format!(", and {:.1} % while it explored or compared", aside * 100.0),
            false => String::new(),
        };
        Some(check("CPU was ours", outcome, format!("a hypervisor took {:.1} % of it{more}", share * 100.0)))
    }

    /// Said only where it was: what is outstanding while the program stands still has a latency that is not the device's.
    fn pauses(&self) -> Option<Check> {
        let longest = self.paused.iter().max_by(|a, b| a.amount.total_cmp(&b.amount))?;
        let seen = format!(
            "{}: it stood still for {:.2} s (SIGSTOP, a frozen control group, a suspended machine), and its latencies hold that time",
            longest.run, longest.amount
        );
        Some(check("fathom ran all the time", CheckOutcome::Failed, seen))
    }

    fn failed_operations(&self) -> Option<Check> {
        let (failed, all) = self.faults;
        (failed > 0).then(|| {
            let much = failed as f64 > all as f64 * FAULTS_MOST;
            let outcome = if much { CheckOutcome::Failed } else { CheckOutcome::Noted };
            check("all I/Os succeeded", outcome, format!("{failed} of {all} failed; they count in no figure"))
        })
    }
}

/// The phase of a run; of a load that the user described, the one whose rules fit what it does.
fn phase_of(run: &Run) -> Option<Phase> {
    match (run.phase, run.purpose) {
        (Some(phase), _) => Some(phase),
        (None, Purpose::Load) if bytes(run, Verb::writes) > 0 => Some(Phase::Mixed),
        (None, Purpose::Load) => Some(Phase::SmallReads),
        (None, _) => None,
    }
}

fn check(name: &str, outcome: CheckOutcome, seen: String) -> Check {
    Check::new(name, outcome, seen)
}

fn bytes(run: &Run, of: impl Fn(Verb) -> bool) -> u64 {
    run.workers.iter().flat_map(|w| &w.counts).filter(|(verb, _)| of(*verb)).map(|c| c.1.bytes).sum()
}

fn sectors(run: &Run, name: &str) -> Option<u64> {
    grown(run, SampleOf::is_disk, name).map(|sectors| sectors * 512)
}

/// Sums what is known; one unknown makes the sum unknown.
fn add(sum: &mut Option<u64>, more: Option<u64>) {
    *sum = sum.zip(more).map(|(sum, more)| sum + more);
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(f64::max)
}

/// What others did during the runs of one measurement, as a share of what we did: reads beyond ours, all writes where we make none,
/// and what the runs themselves took note of. By number, for each small I/O costs the disk the same, or by bytes, for a few
/// large ones cost as much as many small ones: whichever is more.
fn foreign(runs: &[&Run], phase: Phase) -> Option<f64> {
    let sum =
        |name: &str| -> Option<u64> { runs.iter().map(|run| grown(run, SampleOf::is_disk, name)).sum() };
    let of = |reads: bool| {
        let counts = runs.iter().flat_map(|run| &run.workers).flat_map(|w| &w.counts);
        counts.filter(move |(verb, _)| reads != verb.writes())
    };
    let (read_bytes, reads) = of(true).fold((0, 0), |(b, n), (_, c)| (b + c.bytes, n + c.operations));
    let (written_bytes, writes) = of(false).fold((0, 0), |(b, n), (_, c)| (b + c.bytes, n + c.operations));
    if read_bytes + written_bytes == 0 {
        return None;
    }
    let share = |ours: (u64, u64), read: u64, written: Option<u64>| {
        let written = if ours.1 == 0 { written.unwrap_or(0) } else { 0 };
        (read.saturating_sub(ours.0) + written) as f64 / (ours.0 + ours.1).max(1) as f64
    };
    let by_bytes =
        share((read_bytes / 512, written_bytes / 512), sum("sectors_read")?, sum("sectors_written"));
    // A large I/O of ours may be several of the device's.
    let by_number = match phase.is_large() {
        true => 0.0,
        false => share((reads, writes), sum("reads")?, sum("writes")),
    };
    let noted = |event: &Event| match event.what {
        EventKind::Foreign { sectors, .. } => sectors * 512,
        _ => 0,
    };
    let noted: u64 = runs.iter().flat_map(|run| &run.events).map(noted).sum();
    Some(by_number.max(by_bytes).max(noted as f64 / (read_bytes + written_bytes).max(1) as f64))
}

#[cfg(test)]
mod tests;
