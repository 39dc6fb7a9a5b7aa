//! Whether the figures can be believed. Every rule is one function from evidence to a check; evidence is plain data, and a
//! thing that could not be looked at is `None`, which makes the verdict "cannot tell" and never "believable".

use crate::bound::{grown, stolen};
use crate::figures::cached_share;
use crate::observe::Observed;
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
/// A search's short points are off by some percent each; this many times as fast is another disk.
const SLOWER_MOST: f64 = 1.35;
/// Reads under this time come from no disk, flash and its link included.
const FASTER_THAN_FLASH_NS: u64 = 20_000;
/// If more than this share is faster than flash, the figure is a cache's.
const FASTER_MOST: f64 = 0.50;
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
    /// The share of the working set that went into the page cache while it was measured, by probes (`mincore`) before and
    /// after; `None` where none could be made.
    pub page_cache_share: Option<f64>,
    /// How the level moved in the runs on which figures rest, per cent within the run.
    pub drifts: Vec<RunDoubt>,
    /// Runs on which figures rest that were slower than the search saw no more load to be: how many times as fast it was.
    #[serde(default)]
    pub slower: Vec<RunDoubt>,
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
    /// The share of the sample's first reads that were faster than flash can be.
    pub faster_than_flash: Option<f64>,
    /// The largest share of CPU time that a hypervisor took in a run on which a figure rests.
    pub stolen: Option<f64>,
    /// The same in the other runs: those that explore, and those whose figures stand beside others.
    #[serde(default)]
    pub stolen_aside: Option<f64>,
    /// Asynchronous I/O slots that were free and that were needed.
    pub async_slots: Option<(u64, u64)>,
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
            let phase = match (run.phase, run.purpose) {
                (Some(phase), _) => phase,
                // A load that the user described: what it does decides what can be compared.
                (None, Purpose::Load) if bytes(run, Verb::writes) > 0 => Phase::Mixed,
                (None, Purpose::Load) => Phase::SmallReads,
                (None, _) => continue,
            };
            let (read, written) = (bytes(run, |v| !v.writes()), bytes(run, Verb::writes));
            if phase.writes() {
                evidence.our_bytes_written += written;
                add(&mut written_by_device, sectors(run, "sectors_written"));
            } else {
                evidence.our_bytes_read += read;
                add(&mut read_by_device, sectors(run, "sectors_read"));
            }
            evidence.take_faults(run);
            evidence.take_pauses(run);
            let rests = matches!(run.purpose, Purpose::Headline | Purpose::Load) && !phase.is_aside();
            let place = if rests { &mut evidence.stolen } else { &mut evidence.stolen_aside };
            *place = larger(*place, stolen(run));
            if matches!(run.purpose, Purpose::Headline | Purpose::Load) {
                evidence.take_headline(run, phase, read);
            }
        }
        evidence.slower = slower_than_searched(runs);
        evidence.device_bytes_read = read_by_device;
        evidence.device_bytes_written = written_by_device;
        evidence.take_samples(runs);
        evidence
    }

    fn take_headline(&mut self, run: &Run, phase: Phase, read: u64) {
        if !phase.writes() {
            self.foreign_share = larger(self.foreign_share, foreign(run, phase, read));
        }
        let Some(observed) = Observed::of(run, true) else { return };
        if let Steadiness::Drifting { percent_per_minute, .. } = observed.steadiness {
            self.drifts.push(RunDoubt::of(run, percent_per_minute * observed.seconds() / 60.0));
        }
        let relative = observed.rate_estimate.map_or(f64::INFINITY, |e| e.relative());
        if relative > self.precision {
            self.not_converged.push(RunDoubt::of(run, relative));
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
            Observed::of(run, false)
        };
        let Some(first) = of(Phase::SampleFirst) else { return };
        self.faster_than_flash = first.share_over(FASTER_THAN_FLASH_NS).map(|over| 1.0 - over);
        self.cached_again = of(Phase::SampleAgain).and_then(|again| cached_share(&first, &again));
    }

    /// All checks, in the order in which they are shown.
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = vec![self.steady()];
        checks.extend(self.search_agrees());
        checks.push(self.converged());
        if self.simulated {
            checks.insert(
                0,
                check("device", CheckOutcome::Noted, "simulated: the figures are a formula's".into()),
            );
        } else {
            checks.extend([self.page_cache(), self.alone(), self.written(), self.below()]);
            checks.extend(self.size());
            checks.extend(self.flushes());
            checks.extend(self.writes_reached());
            checks.extend(self.slots());
            checks.extend(self.steal());
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

    fn page_cache(&self) -> Check {
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
            None => check(name, CheckOutcome::Unknown, "the device's counters could not be read".into()),
            Some(share) => {
                let outcome = if share > FOREIGN_MOST { CheckOutcome::Failed } else { CheckOutcome::Passed };
                check(name, outcome, format!("others moved {:.1} % of what we did", share * 100.0))
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

    /// Said only where it does not: a disk that was twice as fast a moment ago will be so again.
    fn search_agrees(&self) -> Option<Check> {
        let worse = |a: &&RunDoubt, b: &&RunDoubt| a.amount.total_cmp(&b.amount);
        let figure = self.slower.iter().filter(|doubt| !doubt.is_aside()).max_by(worse);
        let outcome = if figure.is_some() { CheckOutcome::Failed } else { CheckOutcome::Noted };
        let RunDoubt { run, amount: times, .. } = figure.or_else(|| self.slower.iter().max_by(worse))?;
        let seen = format!(
            "{run}: the search saw {times:.1} times as much with no more load: the disk's speed changed"
        );
        Some(check("the search agrees", outcome, seen))
    }

    fn converged(&self) -> Check {
        let each = |RunDoubt { run, amount: relative, .. }: &RunDoubt| match relative.is_finite() {
            true => format!("{run}: +-{:.1} %", relative * 100.0),
            false => format!("{run}: too short for an error"),
        };
        match self.not_converged.as_slice() {
            [] => check(
                "converged",
                CheckOutcome::Passed,
                format!("all within +-{:.0} %", self.precision * 100.0),
            ),
            runs => {
                let list: Vec<String> = runs.iter().map(each).collect();
                check("converged", CheckOutcome::Noted, format!("did not converge: {}", list.join("; ")))
            }
        }
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
            // Direct I/O does not use it; a hypervisor's or a loop device's host might be as large.
            Some(memory) if set <= memory => {
                check(name, CheckOutcome::Noted, format!("{set} would fit this host's memory of {memory}"))
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

    fn below(&self) -> Check {
        let name = "from the disk, not from a cache below it";
        let too_fast = self.faster_than_flash.filter(|share| *share > FASTER_MOST && !self.memory_backed);
        match (too_fast, self.cached_again) {
            (Some(share), _) => check(
                name,
                CheckOutcome::Failed,
                format!(
                    "{:.0} % of first reads took under 20 us: a cache below the device answers",
                    share * 100.0
                ),
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

/// Of each run on which a figure rests: was the same kind of load, no more of it, much faster in the search?
fn slower_than_searched(runs: &[Run]) -> Vec<RunDoubt> {
    let rate = |run: &Run| Observed::of(run, false).map(|observed| observed.rate);
    let load = |run: &Run| run.load.small.max(run.load.large);
    let mut slower = Vec::new();
    for run in runs.iter().filter(|run| run.purpose == Purpose::Headline) {
        let Some(phase) = run.phase else { continue };
        let searched = runs.iter().filter(|other| {
            let same = other.phase == Some(phase);
            same && other.purpose == Purpose::Exploring && load(other) <= load(run)
        });
        let best = searched.filter_map(rate).fold(0.0, f64::max);
        let times = best / rate(run).unwrap_or(0.0).max(f64::MIN_POSITIVE);
        if best > 0.0 && times > SLOWER_MOST {
            slower.push(RunDoubt::of(run, times));
        }
    }
    slower
}

fn check(name: &str, outcome: CheckOutcome, seen: String) -> Check {
    Check { name: name.to_owned(), outcome, seen }
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

/// What others did during a run of reads, as a share of what we did: reads beyond ours, all writes, and what the run
/// itself took note of. Small I/Os are counted, for each costs the disk the same; of large ones the bytes are.
fn foreign(run: &Run, phase: Phase, our_bytes: u64) -> Option<f64> {
    let names = if phase.is_large() { ["sectors_read", "sectors_written"] } else { ["reads", "writes"] };
    let [read, written] = names.map(|name| grown(run, SampleOf::is_disk, name));
    let operations: u64 = run.workers.iter().flat_map(|w| &w.counts).map(|c| c.1.operations).sum();
    let ours = if phase.is_large() { our_bytes / 512 } else { operations };
    let noted = |event: &Event| match event.what {
        EventKind::Foreign { sectors, .. } => sectors * 512,
        _ => 0,
    };
    let noted = run.events.iter().map(noted).sum::<u64>() as f64 / our_bytes.max(1) as f64;
    let share = (read?.saturating_sub(ours) + written.unwrap_or(0)) as f64 / ours.max(1) as f64;
    Some(share.max(noted))
}

#[cfg(test)]
mod tests;
