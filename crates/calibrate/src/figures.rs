//! What all runs of a calibration say together: the record's figures and curves. A function of the stored runs, so that
//! an old record can be judged again.

use crate::bound::{Surroundings, Tried, bound, requests_per_read, writes_per_commit};
use crate::observe::{CONFIDENCE, Observed};
use crate::pieces::{Pieces, pieces};
use crate::precision::Precision;
use fathom_record::{
    Bound, Curve, CurvePoint, Expectation, ExpectationOutcome, ExpectedValue, Figure, FigureName, Note,
    Phase, Purpose, Run, Unit, VerdictState,
};
use fathom_spec::{LatencyLimit, MIB};
use fathom_stats::{Measured, Point, compare, power_knee};
use std::collections::BTreeMap;

/// What the user expects of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The word by which it was asked.
    pub name: &'static str,
    pub figure: FigureName,
    pub of: ExpectedValue,
    /// In the unit of what is expected: per second, 2^20 bytes a second, ns.
    pub wanted: f64,
}

/// What the judging of runs needs beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The most latency tolerated for small I/Os.
    pub limit: LatencyLimit,
    /// What the headline points were to reach.
    pub precision: Precision,
    /// What is known of the way to the device.
    pub around: Surroundings,
    /// What the user expects.
    pub expected: Vec<Expected>,
}

/// What was made of the runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub figures: BTreeMap<FigureName, Figure>,
    /// Throughput and latency over load.
    pub curves: Vec<Curve>,
    /// What came of the user's expectations.
    pub expectations: Vec<Expectation>,
    /// Differences worth a sentence.
    pub notes: Vec<Note>,
}

/// From so many requests a read on large reads are said to be split.
const SPLIT_LEAST: f64 = 1.05;

/// One measurement, read.
struct Read<'a> {
    index: usize,
    /// The first of its pieces.
    run: &'a Run,
    pieces: Vec<&'a Run>,
    phase: Phase,
    load: u32,
    observed: Observed,
}

/// Judges the runs of a calibration. Runs with other names (a layout) are passed over.
pub fn summarize(runs: &[Run], frame: &Frame) -> Summary {
    let all: Vec<Read> = pieces(runs).into_iter().filter_map(Read::of).collect();
    let mut made = Maker { all: &all, frame, summary: Summary::default() };
    made.small_reads();
    made.large_reads();
    made.writes();
    made.cache_below();
    made.sustained();
    made.curves();
    made.expectations();
    made.summary
}

impl<'a> Read<'a> {
    fn of(measured: Pieces<'a>) -> Option<Read<'a>> {
        let run = measured.first();
        let phase = run.phase?;
        let observed = Observed::of_pieces(&measured.runs)?;
        let Pieces { index, runs: pieces } = measured;
        Some(Read { index, run, pieces, phase, load: phase.count(run.load), observed })
    }
}

struct Maker<'a> {
    all: &'a [Read<'a>],
    frame: &'a Frame,
    summary: Summary,
}

impl Maker<'_> {
    fn of(&self, phase: Phase) -> impl Iterator<Item = &Read<'_>> {
        self.all.iter().filter(move |read| read.phase == phase)
    }

    fn limit(&self, phase: Phase) -> Option<&LatencyLimit> {
        matches!(phase, Phase::SmallReads | Phase::Mixed | Phase::EighthReads).then_some(&self.frame.limit)
    }

    fn over(&self, read: &Read) -> bool {
        let value = self.limit(read.phase).and_then(|limit| {
            read.observed.statistic(limit.of).map(|value| value.0 > limit.at_most.0 as f64)
        });
        value.unwrap_or(false)
    }

    /// The run on which a phase's figure rests: its headline point of the greatest load, else the best of the exploring ones.
    fn best(&self, phase: Phase) -> Option<&Read<'_>> {
        let headline = self.of(phase).filter(|r| r.run.purpose != Purpose::Exploring).max_by_key(|r| r.load);
        let searched =
            self.of(phase).filter(|r| r.run.purpose == Purpose::Exploring && r.load > 1 && !self.over(r));
        let explored = || {
            let within = self.of(phase).filter(|r| !self.over(r));
            within.max_by(|a, b| a.observed.rate.total_cmp(&b.observed.rate)).or(self.of(phase).next())
        };
        match headline {
            // Interrupted between the unloaded point and the best one.
            Some(read) if read.load == 1 && phase == Phase::SmallReads => {
                let better = read.observed.rate * 1.05;
                let beaten = searched.into_iter().any(|r| r.observed.rate > better);
                if beaten { explored() } else { Some(read) }
            }
            Some(read) => Some(read),
            None => explored(),
        }
    }

    fn bound(&self, read: &Read) -> Bound {
        let siblings = |phase| match phase {
            Phase::LargeOne => vec![Phase::LargeOne, Phase::LargeAll],
            other => vec![other],
        };
        let tried: Vec<Tried> = siblings(read.phase)
            .into_iter()
            .flat_map(|phase| self.of(phase))
            .map(|r| Tried { load: r.load, rate: r.observed.rate, over: self.over(r) })
            .collect();
        bound(read.phase, &read.pieces, &read.observed, &tried, self.limit(read.phase), &self.frame.around)
    }

    /// A throughput with everything beside it. `scale`: units per operation.
    fn throughput(&self, read: &Read, unit: Unit, scale: f64) -> Figure {
        let half_width = read.observed.rate_half_width().map(|half| half * scale);
        let relative = read.observed.rate_estimate.map_or(f64::INFINITY, |e| e.relative());
        let exploring = read.run.purpose == Purpose::Exploring;
        let converged = !exploring && relative <= self.frame.precision.half_width();
        let note = match (exploring, converged) {
            (true, _) => Some("rests on an exploring point: the time ran out before a longer one".to_owned()),
            (_, true) => None,
            (_, false) if relative.is_finite() => None,
            _ => Some("too short for an error".to_owned()),
        };
        Figure {
            value: read.observed.rate * scale,
            half_width,
            confidence: CONFIDENCE,
            unit,
            converged,
            load: Some(read.run.load),
            latency: Some(read.observed.figures(self.limit(read.phase))),
            bound: Some(self.bound(read)),
            run: Some(read.index),
            note,
        }
    }

    fn iops(&mut self, name: FigureName, phase: Phase) {
        if let Some(figure) = self.best(phase).map(|read| self.throughput(read, Unit::PerSecond, 1.0)) {
            self.summary.figures.insert(name, figure);
        }
    }

    fn mbps(&mut self, name: FigureName, phase: Phase) {
        let figure = self.best(phase).map(|read| {
            let each = read.observed.sum.bytes as f64 / read.observed.sum.operations.max(1) as f64;
            let figure = self.throughput(read, Unit::MebibytesPerSecond, each / MIB as f64);
            let requests = if read.phase.writes() { None } else { requests_per_read(&read.pieces) };
            match requests.filter(|each| figure.note.is_none() && *each >= SPLIT_LEAST) {
                Some(each) => {
                    Figure { note: Some(format!("{each:.1} requests of the device a read")), ..figure }
                }
                None => figure,
            }
        });
        if let Some(figure) = figure {
            self.summary.figures.insert(name, figure);
        }
    }

    fn latency(&self, read: &Read) -> Figure {
        let estimate = read.observed.mean_latency;
        let throttled = self.throttled(read.phase) && read.observed.two_groups();
        Figure {
            value: read.observed.mean_ns().unwrap_or(0.0),
            half_width: estimate.map(|e| e.half_width),
            confidence: CONFIDENCE,
            unit: Unit::Nanoseconds,
            converged: estimate.is_some_and(|e| e.relative() <= self.frame.precision.half_width()),
            load: Some(read.run.load),
            latency: Some(read.observed.figures(self.limit(read.phase))),
            bound: None,
            run: Some(read.index),
            note: throttled.then(|| {
                "our control group lets I/Os through in bursts of 100 ms: the mean is honest, the median is not"
                    .to_owned()
            }),
        }
    }

    fn throttled(&self, phase: Phase) -> bool {
        let around = &self.frame.around;
        match phase.writes() {
            true => around.write_iops_limit.or(around.write_bytes_per_second_limit).is_some(),
            false => around.read_iops_limit.or(around.read_bytes_per_second_limit).is_some(),
        }
    }

    fn small_reads(&mut self) {
        self.iops(FigureName::MaxIops, Phase::SmallReads);
        self.iops(FigureName::EighthIops, Phase::EighthReads);
        self.iops(FigureName::Iops, Phase::Mixed);
        let latency = self.best(Phase::SmallReads).map(|read| self.latency(read));
        let unloaded = {
            let one = |exploring| {
                let at_one = self.of(Phase::SmallReads).filter(|r| r.load == 1);
                at_one.filter(|r| (r.run.purpose == Purpose::Exploring) == exploring).last()
            };
            one(false).or(one(true)).map(|read| self.latency(read))
        };
        let figures = [(FigureName::Latency, latency), (FigureName::UnloadedLatency, unloaded)];
        for (name, figure) in figures.into_iter().filter_map(|(name, figure)| Some((name, figure?))) {
            self.summary.figures.insert(name, figure);
        }
        self.eighth();
    }

    /// Is an eighth of the working set faster than all of it, by more than noise?
    fn eighth(&mut self) {
        let (Some(whole), Some(part)) = (self.best(Phase::SmallReads), self.best(Phase::EighthReads)) else {
            return;
        };
        let (Some(all), Some(eighth)) = (whole.observed.rate_estimate, part.observed.rate_estimate) else {
            return;
        };
        let compared = compare(&Measured::from(&eighth), &Measured::from(&all), CONFIDENCE);
        if !compared.larger_than_noise || (compared.ratio - 1.0).abs() < 0.02 {
            return;
        }
        let percent = (compared.ratio - 1.0) * 100.0;
        let text = format!(
            "an eighth of the working set gives {:.0} IOPS, {percent:+.0} % against the whole of it",
            part.observed.rate
        );
        let hint = match percent > 0.0 {
            true => {
                "the answer depends on the size that is read: measure with --size as large as the database"
            }
            false => "unusual: the part at the start of the working set is slower than the rest",
        };
        if let Some(figure) = self.summary.figures.get_mut(&FigureName::EighthIops) {
            figure.note = Some(text.clone());
        }
        self.summary.notes.push(Note { text, hint: Some(hint.to_owned()) });
    }

    fn large_reads(&mut self) {
        self.mbps(FigureName::MaxPmbps, Phase::LargeOne);
        self.mbps(FigureName::MaxMbps, Phase::LargeAll);
        self.mbps(FigureName::RandomReadMbps, Phase::LargeAll);
        self.mbps(FigureName::SequentialReadMbps, Phase::Streams);
        // One process is as many as help where more of them gave less.
        let figures = &mut self.summary.figures;
        let (one, all) = (figures.get(&FigureName::MaxPmbps), figures.get(&FigureName::MaxMbps));
        if let Some((one, _)) = one.zip(all).filter(|(one, all)| one.value > all.value) {
            figures.insert(FigureName::MaxMbps, one.clone());
        }
    }

    fn writes(&mut self) {
        self.iops(FigureName::CommitsPerSecond, Phase::CommitFdatasync);
        self.iops(FigureName::CommitsDsync, Phase::CommitDsync);
        self.iops(FigureName::CommitsFsync, Phase::CommitFsync);
        self.iops(FigureName::RandomWriteIops, Phase::RandomWrites);
        self.mbps(FigureName::SequentialWriteMbps, Phase::SequentialWrites);
        for (name, writers) in [(FigureName::GroupCommits4, 4), (FigureName::GroupCommits16, 16)] {
            let read = self.of(Phase::GroupCommit).filter(|r| r.load == writers).last();
            if let Some(figure) = read.map(|read| self.throughput(read, Unit::PerSecond, 1.0)) {
                self.summary.figures.insert(name, figure);
            }
        }
        let per_commit = self
            .best(Phase::CommitFdatasync)
            .and_then(|read| writes_per_commit(&read.pieces).map(|each| ratio(each, read)));
        if let Some(figure) = per_commit {
            self.summary.figures.insert(FigureName::DeviceWritesPerCommit, figure);
        }
    }

    fn cache_below(&mut self) {
        let (Some(first), Some(again)) = (self.best(Phase::SampleFirst), self.best(Phase::SampleAgain))
        else {
            return;
        };
        if let Some(share) = cached_share(&first.observed, &again.observed) {
            let figure = ratio(share, again);
            self.summary.figures.insert(FigureName::CachedBelow, figure);
        }
    }

    fn sustained(&mut self) {
        let Some(read) = self.of(Phase::Sustained).last() else { return };
        let held = crate::sustain::judge(&read.observed);
        let mut figure = ratio(held.share_at_end, read);
        figure.note = held.changes.first().map(|change| change.to_string());
        self.summary.notes.extend(held.changes.iter().map(|c| Note { text: c.to_string(), hint: None }));
        self.summary.figures.insert(FigureName::SustainedShare, figure);
    }

    fn curves(&mut self) {
        for phase in Phase::ALL {
            let Some(name) = phase.curve() else { continue };
            let mut best_of: BTreeMap<u32, &Read> = BTreeMap::new();
            let single = (phase == Phase::GroupCommit).then(|| self.best(Phase::CommitFdatasync)).flatten();
            for read in single.into_iter().chain(self.of(phase)) {
                let worth = |r: &Read| r.run.purpose != Purpose::Exploring;
                if best_of.get(&read.load).is_none_or(|held| worth(read) || !worth(held)) {
                    best_of.insert(read.load, read);
                }
            }
            if best_of.is_empty() {
                continue;
            }
            let points: Vec<CurvePoint> = best_of.values().map(|read| self.point(read, phase)).collect();
            let knee = knee(self.to_the_best(&points, phase), phase);
            if let (Phase::SmallReads, Some(read)) = (phase, knee.and_then(|k| best_of.values().nth(k))) {
                let figure = self.throughput(read, Unit::PerSecond, 1.0);
                let figure = Figure { bound: None, note: None, ..figure };
                self.summary.figures.insert(FigureName::KneeIops, figure);
            }
            self.summary.curves.push(Curve { name, points, knee });
        }
    }

    /// The points up to the load of the phase's own figure that give no more than that: a short look that gave more than the long
    /// one beside it is an accident, and no knee lies behind the best load.
    fn to_the_best<'p>(&self, points: &'p [CurvePoint], phase: Phase) -> &'p [CurvePoint] {
        let Some(best) = self.best(phase).filter(|_| phase == Phase::SmallReads) else { return points };
        let behind = |point: &CurvePoint| {
            let load = phase.count(point.load);
            load > best.load || load < best.load && point.iops > best.observed.rate
        };
        &points[..points.iter().position(behind).unwrap_or(points.len())]
    }

    fn point(&self, read: &Read, phase: Phase) -> CurvePoint {
        CurvePoint {
            load: phase.load(read.load),
            iops: read.observed.rate,
            iops_half_width: read.observed.rate_half_width(),
            mbps: read.observed.bytes_per_second / MIB as f64,
            latency: read.observed.figures(self.limit(phase)),
            exploring: read.run.purpose == Purpose::Exploring,
            run: Some(read.index),
        }
    }

    fn expectations(&mut self) {
        let figures = &self.summary.figures;
        let of = |expected: &Expected| expectation(expected, figures.get(&expected.figure));
        self.summary.expectations = self.frame.expected.iter().map(of).collect();
    }
}

/// What came of an expectation: it is missed where the whole interval lies on the wrong side of it.
fn expectation(expected: &Expected, figure: Option<&Figure>) -> Expectation {
    let Expected { name, figure: of_figure, of, wanted } = expected.clone();
    let latency = figure.and_then(|figure| figure.latency.as_ref());
    // What was found, and the end of its interval that is nearer to what is wanted.
    let found = match of {
        ExpectedValue::Value => figure.map(|f| (f.value, f.value + f.half_width.unwrap_or(0.0))),
        ExpectedValue::MeanLatency => {
            latency.map(|l| (l.mean_ns, l.mean_ns - l.mean_half_width_ns.unwrap_or(0.0)))
        }
        ExpectedValue::Percentile(quantile) => latency
            .and_then(|l| l.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9))
            .and_then(|p| Some((p.value_ns? as f64, p.low_ns.or(p.value_ns)? as f64))),
    };
    let short = |(_, nearest): (f64, f64)| match of {
        ExpectedValue::Value => nearest < wanted,
        ExpectedValue::MeanLatency | ExpectedValue::Percentile(_) => nearest > wanted,
    };
    let unit = match (of, figure) {
        (ExpectedValue::Value, Some(figure)) => figure.unit,
        (ExpectedValue::Value, None) => Unit::PerSecond,
        _ => Unit::Nanoseconds,
    };
    Expectation {
        name: name.to_owned(),
        figure: of_figure,
        of,
        wanted,
        unit,
        found: found.map(|found| found.0),
        outcome: match found.map(short) {
            Some(true) => ExpectationOutcome::Short,
            Some(false) => ExpectationOutcome::Reached,
            None => ExpectationOutcome::Unknown,
        },
    }
}

/// The share of a sample's I/Os that a cache answered when it was read again: those under half the first touch's median,
/// less the share that was that fast at first touch already, of what was not.
pub fn cached_share(first: &Observed, again: &Observed) -> Option<f64> {
    let half = first.latency.quantile_ns(0.5)? / 2;
    let fast = |observed: &Observed| observed.share_over(half).map(|over| 1.0 - over);
    let (before, after) = (fast(first)?, fast(again)?);
    (before < 1.0).then(|| ((after - before) / (1.0 - before)).clamp(0.0, 1.0))
}

/// The point where throughput stops paying for latency: greatest power (throughput over latency).
fn knee(points: &[CurvePoint], phase: Phase) -> Option<usize> {
    let points: Vec<Point> = points
        .iter()
        .map(|p| Point {
            load: f64::from(phase.count(p.load)),
            throughput: p.iops,
            latency: p.latency.mean_ns,
        })
        .collect();
    power_knee(&points)
}

fn ratio(value: f64, read: &Read) -> Figure {
    Figure::share(value, CONFIDENCE, read.run.load, read.index)
}

/// Host or storage? The white paper's question, answered from what bounds the figures.
pub fn host_or_storage(summary: &BTreeMap<FigureName, Figure>, verdict: VerdictState) -> Option<String> {
    use fathom_record::BoundBy::*;
    let by = summary.get(&FigureName::MaxIops)?.bound.as_ref()?.by;
    let answer = match by {
        Device => "the storage bounds small reads",
        HostCpu => "this host's CPUs bound small reads, the storage could give more",
        Link => "the link between host and storage bounds small reads",
        Cgroup => "this host's own limit bounds small reads, the storage could give more",
        Queue => "the number of requests bounds small reads, the storage could give more",
        LatencyLimit => "the tolerated latency bounds small reads, the storage could give more",
        Others => "other users of the disk bound small reads",
        Unknown => return None,
    };
    (verdict != VerdictState::NotBelievable).then(|| answer.to_owned())
}

#[cfg(test)]
mod tests;
