//! From a calibration's runs to what is told of it: figures, curves, and what bounds each.

use crate::figures::{Wanted, counted, curve, figure, plain, sampled_disks, seen};
use crate::load::{Kind, name};
use crate::schedule::Calibration;
use crate::search::Ended;
use fathom_record::*;
use fathom_spec::{Nanos, SyncKind};
use std::collections::BTreeMap;

/// What may bound a figure, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// CPUs that may be used.
    pub cpus: f64,
    /// Reads per second that our own control group allows.
    pub cgroup_read_iops: Option<f64>,
    /// Bytes read per second that it allows.
    pub cgroup_read_bytes: Option<f64>,
    /// Writes per second that it allows.
    pub cgroup_write_iops: Option<f64>,
    /// Bytes written per second that it allows.
    pub cgroup_write_bytes: Option<f64>,
    /// Bytes per second of the link to the disks, all together.
    pub link_bytes: Option<f64>,
    /// Requests that the block layer's queue takes.
    pub queue_requests: Option<u32>,
    /// Several disks may be limited one by one; a limit is then no bound of the sum.
    pub disks: u32,
}

/// Figures and curves of a calibration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The figures.
    pub figures: BTreeMap<FigureName, Figure>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A limit within this share of a figure bounds it.
const NEAR: f64 = 0.05;
/// A CPU that is busy for this share has no more to give.
const BUSY: f64 = 0.90;

/// Makes the summary. `kinds` says of each run what it was, in the order of `runs`.
pub fn summarize(calibration: &Calibration, runs: &[Run], kinds: &[Option<Kind>], chain: &Chain) -> Summary {
    let mut maker = Maker { calibration, runs, kinds, chain, summary: Summary::default() };
    maker.small();
    maker.large();
    maker.writes();
    maker.caches();
    maker.curves();
    maker.summary
}

struct Maker<'a> {
    calibration: &'a Calibration,
    runs: &'a [Run],
    kinds: &'a [Option<Kind>],
    chain: &'a Chain,
    summary: Summary,
}

impl Maker<'_> {
    fn wanted(&self, unit: Unit, limited: bool) -> Wanted {
        let request = self.calibration.request();
        Wanted { unit, precision: request.precision, limit: limited.then_some(request.limit.at_most) }
    }

    fn of(&self, kind: Kind, load: Option<u32>) -> Option<(usize, &Run)> {
        let fits = |(index, run): &(usize, &Run)| {
            self.kinds.get(*index) == Some(&Some(kind))
                && load.is_none_or(|load| run.load.small.max(run.load.large) == load)
        };
        // The run with the longest window: the headline, where it was reached.
        self.runs
            .iter()
            .enumerate()
            .filter(fits)
            .max_by_key(|(i, run)| (run.purpose != Purpose::Exploring, run.length_ns, usize::MAX - i))
    }

    fn put(&mut self, name: FigureName, figure: Figure) {
        self.summary.figures.insert(name, figure);
    }

    fn small_kind(&self) -> Kind {
        Kind::Small { read_percent: self.calibration.request().read_percent }
    }

    fn small(&mut self) {
        let kind = self.small_kind();
        let Some(found) = self.calibration.best(kind) else { return };
        if let Some((index, run)) = self.of(kind, Some(found.load)) {
            let seen = seen(run, |_| true);
            let mut iops = figure(run, index, &seen, self.wanted(Unit::PerSecond, true));
            iops.bound = Some(self.bound(run, found.ended, &iops, kind));
            if found.ended == Ended::OverLimitAtOne {
                let limit = self.calibration.request().limit;
                iops.note = Some(format!(
                    "one outstanding I/O alone is over the limit of {limit}; this is that point"
                ));
            }
            if self.throttled_bursts(run) {
                iops.note.get_or_insert(
                    "a throttle lets I/Os through in bursts: the mean latency is honest, the median is not"
                        .to_owned(),
                );
            }
            let mut latency = figure(run, index, &seen, self.wanted(Unit::Nanoseconds, true));
            latency.converged = true;
            self.put(FigureName::MaxIops, iops);
            self.put(FigureName::Latency, latency);
        }
        if let Some((index, run)) = self.of(kind, Some(1)) {
            let mut unloaded = figure(run, index, &seen(run, |_| true), self.wanted(Unit::Nanoseconds, true));
            unloaded.converged |= run.purpose == Purpose::Exploring;
            self.put(FigureName::UnloadedLatency, unloaded);
        }
        if let Some((index, run)) = self.of(Kind::Eighth, None) {
            let eighth = figure(run, index, &seen(run, |_| true), self.wanted(Unit::PerSecond, true));
            self.compare_eighth(&eighth);
            self.put(FigureName::EighthIops, eighth);
        }
    }

    fn compare_eighth(&mut self, eighth: &Figure) {
        let Some(whole) = self.summary.figures.get(&FigureName::MaxIops) else { return };
        let noise = whole.half_width.unwrap_or(whole.value).hypot(eighth.half_width.unwrap_or(eighth.value));
        let difference = eighth.value - whole.value;
        if difference.abs() > noise.max(0.05 * whole.value) && whole.value > 0.0 {
            let more = if difference > 0.0 { "more" } else { "fewer" };
            self.summary.notes.push(Note {
                text: format!(
                    "an eighth of the working set gives {:.0} % {more} IOPS ({:.0}): the figure depends on how much of the disk is used",
                    difference.abs() / whole.value * 100.0,
                    eighth.value
                ),
                hint: Some("measure with --size as large as the database will be".to_owned()),
            });
        }
    }

    fn throttled_bursts(&self, run: &Run) -> bool {
        let limited = self.chain.cgroup_read_iops.is_some() || self.chain.cgroup_read_bytes.is_some();
        let latency = seen(run, |_| true).service;
        let (mean, median) = (latency.mean_ns().unwrap_or(0.0), latency.quantile_ns(0.5).unwrap_or(0) as f64);
        limited && median > 0.0 && (mean / median > 1.5 || mean / median < 0.67)
    }

    fn large(&mut self) {
        let by = |kind| {
            self.of(kind, self.calibration.best(kind).map(|found| found.load)).map(|(i, run)| (kind, i, run))
        };
        let made = |maker: &Self, (kind, index, run): (Kind, usize, &Run)| {
            let mut made =
                figure(run, index, &seen(run, |_| true), maker.wanted(Unit::MebibytesPerSecond, false));
            let ended = maker.calibration.best(kind).map_or(Ended::OutOfPoints, |found| found.ended);
            made.bound = Some(maker.bound(run, ended, &made, kind));
            made
        };
        let one = by(Kind::LargeByOne).map(|found| made(self, found));
        let many = by(Kind::LargeByMany).map(|found| made(self, found));
        let streams = by(Kind::Streams).map(|found| made(self, found));
        if let Some(one) = &one {
            self.put(FigureName::MaxPmbps, one.clone());
        }
        let greater = |a: &Figure, b: &Figure| a.value.total_cmp(&b.value);
        let random = [one, many].into_iter().flatten().max_by(greater);
        if let Some(random) = &random {
            self.put(FigureName::RandomReadMbps, random.clone());
        }
        if let Some(streams) = &streams {
            self.put(FigureName::SequentialReadMbps, streams.clone());
        }
        let sequential_wins = random.as_ref().zip(streams.as_ref()).is_some_and(|(r, s)| s.value > r.value);
        if let Some(mut best) = [random, streams].into_iter().flatten().max_by(greater) {
            best.note =
                Some(if sequential_wins { "in sequential streams" } else { "at random places" }.to_owned());
            self.put(FigureName::MaxMbps, best);
        }
    }

    fn writes(&mut self) {
        let commit = Kind::Commits(SyncKind::Fdatasync);
        let commits = [
            (FigureName::CommitsPerSecond, commit, 1),
            (FigureName::CommitsDsync, Kind::Commits(SyncKind::None), 1),
            (FigureName::CommitsFsync, Kind::Commits(SyncKind::Fsync), 1),
            (FigureName::GroupCommits4, commit, 4),
            (FigureName::GroupCommits16, commit, 16),
        ];
        for (name, kind, writers) in commits {
            if let Some((index, run)) = self.of(kind, Some(writers)) {
                let made = figure(run, index, &seen(run, |_| true), self.wanted(Unit::PerSecond, false));
                let per_commit = writes_per_commit(run);
                self.put(name, made);
                if let (FigureName::CommitsPerSecond, Some(per_commit)) = (name, per_commit) {
                    let note = "device writes during the run divided by commits; others' writes are in it"
                        .to_owned();
                    self.put(FigureName::DeviceWritesPerCommit, plain(per_commit, Unit::Ratio, Some(note)));
                }
            }
        }
        let rest = [
            (FigureName::RandomWriteIops, Kind::SmallWrites, Unit::PerSecond),
            (FigureName::SequentialWriteMbps, Kind::LargeWrites, Unit::MebibytesPerSecond),
        ];
        for (name, kind, unit) in rest {
            let Some(found) = self.calibration.best(kind) else { continue };
            if let Some((index, run)) = self.of(kind, Some(found.load)) {
                let mut made = figure(run, index, &seen(run, |_| true), self.wanted(unit, false));
                made.bound = Some(self.bound(run, found.ended, &made, kind));
                self.put(name, made);
            }
        }
    }

    /// A sample read again at once: how much of it came so much faster that it was not from the same place.
    fn caches(&mut self) {
        let sample = |again: bool| {
            let kind = |k: &Option<Kind>| matches!(k, Some(Kind::Sample { operations }) if (*operations > 0) == again);
            let index = self.kinds.iter().position(kind)?;
            Some(seen(self.runs.get(index)?, |_| true).service)
        };
        let (Some(first), Some(again)) = (sample(false), sample(true)) else { return };
        let (Some(median), Some(first_bins), Some(again_bins)) =
            (first.quantile_ns(0.5), &first.bins, &again.bins)
        else {
            return;
        };
        let faster = |latency: &Latency, bins: &Histogram| {
            1.0 - bins.above(median / 2) as f64 / latency.count.max(1) as f64
        };
        let share = (faster(&again, again_bins) - faster(&first, first_bins)).max(0.0);
        let (before, after) =
            (Nanos(first.mean_ns().unwrap_or(0.0) as u64), Nanos(again.mean_ns().unwrap_or(0.0) as u64));
        let told = match share {
            share if share < 0.5 => {
                format!("{} reads took {before} at first and {after} again: from the disk", first.count)
            }
            _ => format!(
                "{} reads took {before} at first and {after} again: then from a cache below it",
                first.count
            ),
        };
        if share >= 0.5 {
            self.summary.notes.push(Note {
                text: format!(
                    "{:.0} % of a sample came from a cache below the device when it was read again",
                    share * 100.0
                ),
                hint: Some("a working set that fits that cache is measured as fast as the cache".to_owned()),
            });
        }
        self.put(FigureName::CachedBelow, plain(share, Unit::Ratio, Some(told)));
    }

    fn curves(&mut self) {
        let small = self.small_kind();
        let small_name = if small == (Kind::Small { read_percent: 100 }) {
            CurveName::SmallReads
        } else {
            CurveName::Mixed
        };
        let names = [
            (small_name, small),
            (CurveName::LargeRandomReads, Kind::LargeByOne),
            (CurveName::LargeSequentialReads, Kind::Streams),
            (CurveName::Commits, Kind::Commits(SyncKind::Fdatasync)),
            (CurveName::RandomWrites, Kind::SmallWrites),
            (CurveName::SequentialWrites, Kind::LargeWrites),
        ];
        let limit = self.calibration.request().limit.at_most;
        for (curve_name, kind) in names {
            let chosen: Vec<(usize, &Run)> = self
                .runs
                .iter()
                .enumerate()
                .filter(|(i, _)| self.kinds.get(*i) == Some(&Some(kind)))
                .collect();
            if chosen.is_empty() {
                continue;
            }
            let made = curve(curve_name, &chosen, (kind == small).then_some(limit), |load| {
                load.small.max(load.large)
            });
            if let (true, Some(point)) = (kind == small, made.knee.and_then(|knee| made.points.get(knee))) {
                let mut knee = plain(
                    point.iops,
                    Unit::PerSecond,
                    Some("where throughput over latency is greatest".to_owned()),
                );
                (knee.half_width, knee.load, knee.run) = (point.iops_half_width, Some(point.load), point.run);
                knee.latency = Some(point.latency.clone());
                self.summary.figures.insert(FigureName::KneeIops, knee);
            }
            self.summary.curves.push(made);
        }
    }

    /// What keeps a figure from being more.
    fn bound(&self, run: &Run, ended: Ended, figure: &Figure, kind: Kind) -> Bound {
        let told = |by, because: String| Bound { by, because };
        if matches!(ended, Ended::LatencyLimit | Ended::OverLimitAtOne) {
            return told(
                BoundBy::LatencyLimit,
                format!("more outstanding I/Os would pass {}", self.calibration.request().limit),
            );
        }
        let seen = seen(run, |_| true);
        let (iops, bytes) = (seen.iops().0, seen.mbps().0 * fathom_spec::MIB as f64);
        let writes = matches!(kind, Kind::SmallWrites | Kind::LargeWrites);
        let (by_count, by_bytes) = match writes {
            true => (self.chain.cgroup_write_iops, self.chain.cgroup_write_bytes),
            false => (self.chain.cgroup_read_iops, self.chain.cgroup_read_bytes),
        };
        let near = |limit: Option<f64>, value: f64| {
            limit.filter(|limit| value > limit * (1.0 - NEAR) && self.chain.disks <= 1)
        };
        if let Some(limit) = near(by_count, iops) {
            return told(
                BoundBy::Cgroup,
                format!("our own control group allows {limit:.0} operations a second"),
            );
        }
        if let Some(limit) = near(by_bytes, bytes) {
            return told(BoundBy::Cgroup, format!("our own control group allows {limit:.0} bytes a second"));
        }
        if let Some(limit) = near(self.chain.link_bytes, bytes) {
            return told(
                BoundBy::Link,
                format!("the link carries {:.0} MiB/s", limit / fathom_spec::MIB as f64),
            );
        }
        let busy = cpu_share(run);
        if let Some((share, what)) = busy.filter(|(share, _)| *share > BUSY) {
            return told(
                BoundBy::HostCpu,
                format!("{what} were busy for {:.0} % of the time", share * 100.0),
            );
        }
        let load = figure.load.map_or(0, |load| load.small.max(load.large));
        if ended == Ended::Most {
            return told(
                BoundBy::Queue,
                format!("throughput still grew at {load} outstanding I/Os, the most that were tried"),
            );
        }
        if self.chain.queue_requests.is_some_and(|requests| load >= requests) {
            return told(BoundBy::Queue, format!("{load} outstanding I/Os fill the block layer's queue"));
        }
        if ended == Ended::OutOfPoints {
            return told(BoundBy::Unknown, "the time for the search was up before it had ended".to_owned());
        }
        let cpu = busy.map_or(String::new(), |(share, _)| {
            format!(", the CPUs were busy for only {:.0} % of the time", share * 100.0)
        });
        told(BoundBy::Device, format!("more outstanding {} gave no more{cpu}", name(kind)))
    }
}

/// The busiest of: all CPUs together, or the run's own workers on theirs.
fn cpu_share(run: &Run) -> Option<(f64, &'static str)> {
    let total = counted(run, "cpu", "total_ticks").filter(|total| *total > 0)? as f64;
    let idle = counted(run, "cpu", "idle_ticks")? as f64;
    let all = (1.0 - idle / total, "all CPUs");
    let own = run
        .workers
        .iter()
        .map(|w| (w.user_ns + w.system_ns) as f64 / w.span_ns.1.saturating_sub(w.span_ns.0).max(1) as f64)
        .fold(f64::INFINITY, f64::min);
    Some(if own.is_finite() && own > all.0 { (own, "all workers") } else { all })
}

fn writes_per_commit(run: &Run) -> Option<f64> {
    let commits: u64 = run.workers.iter().flat_map(|w| &w.counts).map(|(_, c)| c.operations).sum();
    let disks = sampled_disks(run);
    let writes: u64 = disks.iter().filter_map(|disk| counted(run, disk, "writes")).sum();
    (commits > 0 && !disks.is_empty()).then(|| writes as f64 / commits as f64)
}
