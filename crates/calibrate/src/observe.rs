//! What one run says, in numbers with errors. Knows no other run and no judgement.
//!
//! Throughput is the ratio of operations to time over whole slots inside the window, its error from batch means;
//! the mean latency is the ratio of summed latencies to operations over the same slots, a ratio estimator with an
//! error of the same kind. Percentiles come from the histogram of all intervals.

use crate::quantiles::{latencies_by_interval, latency_figures, percentile};
use crate::search::Seen;
use fathom_record::{Counts, Latency, LatencyFigures, Purpose, Run, WindowSpan};
use fathom_spec::{LatencyLimit, Statistic, StreamId, Verb, Window};
use fathom_stats::{
    Estimate, Slot, Steadiness, WarmUp, rate_estimate, ratio_estimate, slot_residuals, steadiness, sum_of,
    warm_up_of_slots,
};

pub use crate::precision::CONFIDENCE;

/// The largest part of slots that is cut off as warm-up from a run on which a figure rests: what is longer is no warm-up
/// but a change of level, and steadiness is judged by the same slots as the figure.
const CUT_MOST: f64 = 0.25;

/// What one run says, or several that are pieces of one measurement.
#[derive(Clone, Debug)]
pub struct Observed {
    /// When its window began, ns since the run's start; of pieces, that of the first.
    pub start_ns: u64,
    /// Length of a slot, seconds.
    pub slot_seconds: f64,
    /// Counters of each whole slot in the window, the warm-up cut off; all streams and verbs together.
    pub slots: Vec<Counts>,
    /// How many slots were cut off as warm-up.
    pub cut: usize,
    /// Everything that was counted in the window.
    pub sum: Counts,
    /// Operations per second.
    pub rate: f64,
    /// The same with its error, where there are slots enough.
    pub rate_estimate: Option<Estimate>,
    /// Operations per second of each piece, in order of time; of a single run, its own.
    pub pieces: Vec<f64>,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean latency, ns, as a ratio of sums, with its error.
    pub mean_latency: Option<Estimate>,
    /// Service times of all intervals; of all verbs together.
    pub latency: Latency,
    /// The same, of each interval, in order of time.
    pub intervals: Vec<Latency>,
    /// Did the level move?
    pub steadiness: Steadiness,
}

/// One run's slots, read.
struct Piece {
    start_ns: u64,
    slots: Vec<Counts>,
    cut: usize,
    latency: Latency,
    intervals: Vec<Latency>,
    /// Operations that began in the window and came back behind it, and the sum of their service times, ns.
    late: Slot,
    steadiness: Steadiness,
}

impl Observed {
    /// Reads a run by what it is for: MSER-5 may cut the beginning of a point on which a figure rests. Of a load that the user
    /// described everything is told, and an exploring point is too short for it: there the plan's window is all that is left
    /// out. `None` when nothing was counted.
    pub fn of(run: &Run) -> Option<Observed> {
        Observed::of_pieces(&[run])
    }

    /// Reads runs of one load that were made at different times as one measurement.
    ///
    /// From three on the error is that of independent rounds, t over the pieces (SNIA PTS-E 2.0.2 measures rounds for the same
    /// reason): what a device does differently from one to the next is in it, which no single window can know.
    pub fn of_pieces(runs: &[&Run]) -> Option<Observed> {
        let slot_ns = runs.first()?.plan.slot.0.max(1);
        let pieces: Vec<Piece> = runs.iter().filter_map(|run| Piece::of(run, slot_ns)).collect();
        let first = pieces.first()?;
        let slot_seconds = slot_ns as f64 / 1e9;
        let slots: Vec<Counts> = pieces.iter().flat_map(|piece| &piece.slots).copied().collect();
        let sum = sum_of_counts(&slots);
        // Whole nanoseconds first, so that an exact device has an exact figure.
        let seconds = (slots.len() as u64 * slot_ns) as f64 / 1e9;
        let (mut latency, mut intervals) = (Latency::default(), Vec::new());
        for piece in &pieces {
            latency.merge(&piece.latency);
            intervals.extend(piece.intervals.iter().cloned());
        }
        Some(Observed {
            start_ns: first.start_ns,
            slot_seconds,
            cut: first.cut,
            rate: sum.operations as f64 / seconds,
            rate_estimate: rate_of_pieces(&pieces, slot_seconds),
            pieces: pieces.iter().map(|piece| piece.rate(slot_seconds)).collect(),
            bytes_per_second: sum.bytes as f64 / seconds,
            mean_latency: latency_of_pieces(&pieces),
            latency,
            intervals,
            steadiness: pieces.iter().map(|piece| piece.steadiness).fold(Steadiness::NotEnough, worse),
            sum,
            slots,
        })
    }

    /// Length of the window that counts, seconds.
    pub fn seconds(&self) -> f64 {
        self.slots.len() as f64 * self.slot_seconds
    }

    /// Half the width of the throughput's interval, operations per second.
    pub fn rate_half_width(&self) -> Option<f64> {
        self.rate_estimate.map(|e| e.half_width)
    }

    /// Mean latency, ns.
    pub fn mean_ns(&self) -> Option<f64> {
        self.mean_latency.map(|estimate| estimate.mean).or_else(|| self.latency.mean_ns())
    }

    /// The value of the statistic that a limit speaks of, with half its interval, ns.
    pub fn statistic(&self, of: Statistic) -> Option<(f64, f64)> {
        match of {
            Statistic::Mean => {
                Some((self.mean_ns()?, self.mean_latency.map_or(0.0, |estimate| estimate.half_width)))
            }
            Statistic::Quantile(q) => {
                let found = percentile(&self.latency, &self.intervals, q.0);
                let value = found.value_ns.or_else(|| self.latency.quantile_ns(q.0))? as f64;
                let below = found.low_ns.map_or(0.0, |low| value - low as f64);
                let above = found.high_ns.map_or(value, |high| high as f64 - value);
                Some((value, below.max(above)))
            }
        }
    }

    /// The latencies as the record shows them.
    pub fn figures(&self, limit: Option<&LatencyLimit>) -> LatencyFigures {
        LatencyFigures {
            mean_ns: self.mean_ns().unwrap_or(0.0),
            mean_half_width_ns: self.mean_latency.map(|estimate| estimate.half_width),
            over_limit: limit.and_then(|limit| self.share_over(limit.at_most.0)),
            ..latency_figures(&self.latency, &self.intervals)
        }
    }

    /// The share of I/Os over a latency; known to the width of the bin in which it falls.
    pub fn share_over(&self, ns: u64) -> Option<f64> {
        let bins = self.latency.bins.as_ref()?;
        (self.latency.count > 0).then(|| bins.above(ns) as f64 / self.latency.count as f64)
    }

    /// The point as a search sees it. `at_seconds` is the middle of the run on the calibration's own time.
    pub fn seen(&self, load: u32, at_seconds: f64, of: Statistic) -> Seen {
        let statistic = self.statistic(of);
        Seen {
            load,
            at_seconds,
            rate: self.rate,
            rate_half_width: self.rate_half_width().unwrap_or(0.0),
            latency_ns: statistic.map(|s| s.0),
            latency_half_width_ns: statistic.map_or(0.0, |s| s.1),
        }
    }

    /// Are there two groups of latencies, one at least twice the other with little between? Under a throttle, which
    /// lets bursts through and then waits, this is so, and a median says little. Judged by quartiles: p25 and p90 an
    /// order of magnitude apart.
    pub fn two_groups(&self) -> bool {
        match (self.latency.quantile_ns(0.25), self.latency.quantile_ns(0.9)) {
            (Some(low), Some(high)) => high >= 10 * low.max(1),
            _ => false,
        }
    }
}

impl Piece {
    fn of(run: &Run, slot_ns: u64) -> Option<Piece> {
        let WholeSlots { start_ns, mut slots, commits_of_updates } = whole_slots(run, slot_ns)?;
        let intervals =
            latencies_by_interval(run, |_, cell| cell.service.as_deref().or(cell.response.as_deref()));
        let mut latency = Latency::default();
        intervals.iter().for_each(|interval| latency.merge(interval));
        let all = sum_of_counts(&slots);
        if all.operations == 0 && all.errors == 0 {
            return None;
        }
        let late = Slot {
            numerator: latency.sum_ns.saturating_sub(all.latency_sum_ns) as f64,
            denominator: latency.count.saturating_sub(all.operations) as f64,
        };
        for (slot, commits) in slots.iter_mut().zip(commits_of_updates) {
            slot.operations -= commits;
        }
        let cuts = matches!(run.purpose, Purpose::Headline | Purpose::Check);
        let slot_seconds = slot_ns as f64 / 1e9;
        let cut = match warm_up_of_slots(&rates(&slots, slot_seconds)) {
            WarmUp::Cut(cut) if cuts && (cut as f64) < CUT_MOST * slots.len() as f64 => cut,
            _ => 0,
        };
        slots.drain(..cut);
        let counts: Vec<f64> = slots.iter().map(|slot| slot.operations as f64).collect();
        let steadiness = steadiness(&counts, slot_seconds);
        Some(Piece { start_ns, slots, cut, latency, intervals, late, steadiness })
    }

    fn rate(&self, slot_seconds: f64) -> f64 {
        let sum = sum_of(&rates(&self.slots, slot_seconds));
        sum.numerator / sum.denominator.max(f64::MIN_POSITIVE)
    }

    /// Latencies over operations of each slot; what came back late is of the last.
    fn latencies(&self) -> Vec<Slot> {
        let slot = |c: &Counts| Slot { numerator: c.latency_sum_ns as f64, denominator: c.operations as f64 };
        let mut slots: Vec<Slot> = self.slots.iter().map(slot).collect();
        slots.iter_mut().rev().take(1).for_each(|last| last.add(self.late));
        slots
    }
}

/// The least number of pieces whose scatter tells an error.
const PIECES_LEAST: usize = 3;

fn rates(slots: &[Counts], slot_seconds: f64) -> Vec<Slot> {
    slots.iter().map(|c| Slot { numerator: c.operations as f64, denominator: slot_seconds }).collect()
}

fn sum_of_counts(slots: &[Counts]) -> Counts {
    slots.iter().fold(Counts::default(), |mut sum, slot| {
        sum.merge(slot);
        sum
    })
}

fn rate_of_pieces(pieces: &[Piece], slot_seconds: f64) -> Option<Estimate> {
    let slots: Vec<Slot> = pieces.iter().flat_map(|piece| rates(&piece.slots, slot_seconds)).collect();
    let within = rate_estimate(&slots, CONFIDENCE);
    let sums: Vec<Slot> = pieces.iter().map(|piece| sum_of(&rates(&piece.slots, slot_seconds))).collect();
    let Some(between) = over_pieces(&sums) else { return within };
    // Pieces that happen to be alike know no less than their slots do of the grain.
    Some(
        within
            .filter(|within| within.half_width > between.half_width && between.half_width == 0.0)
            .unwrap_or(between),
    )
}

fn latency_of_pieces(pieces: &[Piece]) -> Option<Estimate> {
    let sums: Vec<Slot> = pieces.iter().map(|piece| sum_of(&piece.latencies())).collect();
    let slots = || pieces.iter().flat_map(Piece::latencies).collect::<Vec<Slot>>();
    over_pieces(&sums).or_else(|| ratio_estimate(&slots(), CONFIDENCE))
}

/// The ratio of the sums of pieces, t over the pieces. `None` under three.
fn over_pieces(sums: &[Slot]) -> Option<Estimate> {
    let all = sum_of(sums);
    if sums.len() < PIECES_LEAST || all.denominator <= 0.0 {
        return None;
    }
    let mean = all.numerator / all.denominator;
    let each = all.denominator / sums.len() as f64;
    let shares: Vec<f64> = slot_residuals(sums).into_iter().map(|residual| mean + residual / each).collect();
    Estimate::of_independent(&shares, CONFIDENCE).map(|estimate| Estimate { mean, ..estimate })
}

/// Of two, the one that says more against a figure.
fn worse(a: Steadiness, b: Steadiness) -> Steadiness {
    let rank = |s: &Steadiness| match s {
        Steadiness::NotEnough => 0,
        Steadiness::Steady => 1,
        Steadiness::Stepped { .. } | Steadiness::Drifting { .. } => 2,
    };
    if rank(&b) > rank(&a) { b } else { a }
}

/// The whole slots of a run on one timeline.
struct WholeSlots {
    /// When the first began.
    start_ns: u64,
    slots: Vec<Counts>,
    /// Of each slot's operations. A session's update and its commit are timed apart and are one operation.
    commits_of_updates: Vec<u64>,
}

/// All whole slots inside the window of every stream that was measured, on one timeline, and when the first began. A slot in
/// which nothing came back is one of them.
fn whole_slots(run: &Run, slot_ns: u64) -> Option<WholeSlots> {
    let (start, end) = window(run, slot_ns)?;
    let mut slots = vec![Counts::default(); end.saturating_sub(start) as usize];
    let mut commits_of_updates = vec![0; slots.len()];
    for interval in &run.intervals {
        let first = interval.start_ns / slot_ns;
        let (skip, place) = (start.saturating_sub(first), first.saturating_sub(start));
        let there = slots.iter_mut().zip(&mut commits_of_updates).skip(place as usize);
        let updates = interval.cells.iter().any(|(verb, _)| *verb == Verb::Update);
        for (counts, (slot, commits)) in interval.slots.iter().skip(skip as usize).zip(there) {
            counts.iter().for_each(|cell| slot.merge(cell));
            if updates {
                let cells = interval.cells.iter().zip(counts);
                let own = cells.filter(|((verb, _), _)| *verb == Verb::Commit);
                *commits += own.map(|(_, counts)| counts.operations).sum::<u64>();
            }
        }
    }
    (!slots.is_empty()).then_some(WholeSlots { start_ns: start * slot_ns, slots, commits_of_updates })
}

/// The window of a run in slots, from and to: the part in which all of its streams were measured. What began with its
/// stream begins in its first slot; a ramp ends where the next slot begins.
fn window(run: &Run, slot_ns: u64) -> Option<(u64, u64)> {
    let counted = |stream| run.intervals.iter().filter(move |i| i.stream == stream);
    let plan = |stream: StreamId| run.plan.streams.get(stream.0 as usize);
    let bounded = |stream| matches!(plan(stream).map(|s| s.window), Some(Window::Inside { .. }));
    let begins = |span: &WindowSpan| match plan(span.stream).map(|s| s.window) {
        Some(Window::Everything) | None => span.from_ns / slot_ns,
        Some(_) => span.from_ns.div_ceil(slot_ns),
    };
    let windows =
        || run.windows.iter().filter(|span| counted(span.stream).next().is_some() || bounded(span.stream));
    if windows().next().is_some() {
        return Some((windows().map(begins).min()?, windows().map(|span| span.to_ns / slot_ns).min()?));
    }
    // A record from before windows were kept: from the first completion's interval to the last one's.
    let start = run.intervals.iter().map(|i| i.start_ns).min()? / slot_ns;
    let end_of = |stream| counted(stream).map(|i| i.start_ns + i.length_ns).max().unwrap_or(0);
    Some((start, run.intervals.iter().map(|i| end_of(i.stream)).min()? / slot_ns))
}
