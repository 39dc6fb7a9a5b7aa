//! Finds the load that gives the most throughput within a latency limit.
//!
//! Pure ask and tell: a search is a function of what was seen. It knows nothing of disks, plans, engines or clocks, so
//! the same one drives outstanding reads, streams, writers and database sessions. Loads are whole numbers from 1 on.
//!
//! Three steps, each recomputed from the points so far: a ladder of doublings until throughput stops growing, the
//! limit is passed or `most` is reached; the largest load within the limit, where throughput was still growing there;
//! and the least load whose throughput cannot be told from the greatest. Of near ties the smaller load wins, for
//! there the latency is lower.

use fathom_spec::Nanos;
use serde::{Deserialize, Serialize};

/// Differences under this share are ties even without noise: a slot more or less at the window's edge.
const TIE_LEAST: f64 = 0.001;
/// Noise over this share does not widen a tie: else a noisy disk would be given a load that is far too small.
const TIE_MOST: f64 = 0.015;
/// A rung that gives less than this more has not grown, however exact: doubling the load does not pay for it.
const GROWTH_LEAST: f64 = 0.01;
/// Noise over this share does not count against growth on the ladder.
const GROWTH_NOISE_MOST: f64 = 0.08;
/// A rung whose growth could still be this large is followed by one more before the ladder ends.
const GROWTH_OPEN: f64 = 0.10;
/// The ladder of a search that refines goes on at least to this load.
const LADDER_LEAST: u32 = 16;
/// A rival within this distance of the peak is judged only after the peak was measured twice, so that a drift of the
/// device between the two is known.
const CLOSE_CALL: f64 = 0.05;
/// A point that was over the limit, though a disk that is merely saturated would not be, is measured so often.
const AGAIN_MOST: u32 = 3;
/// A line through the origin that goes this much above the peak leaves room for a higher one between.
const LINE_ABOVE: f64 = 0.02;
/// Noise over this share does not widen a tie of a load that was measured so often that it is known.
const TIE_MOST_KNOWN: f64 = 0.05;
/// A drift is taken out only where points are this exact; in more noise it could not be told from it.
const DRIFT_NOISE_MOST: f64 = 0.01;

/// One measured point, as a search sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub load: u32,
    /// When its middle was, seconds since any fixed moment; only used to take a drift out.
    pub at_seconds: f64,
    /// Throughput, in any unit.
    pub rate: f64,
    /// Half the width of its 95 % interval, same unit.
    pub rate_half_width: f64,
    /// The latency that the limit speaks of, ns; `None` where nothing completed.
    pub latency_ns: Option<f64>,
    /// Half the width of its interval, ns.
    pub latency_half_width_ns: f64,
}

/// What to measure next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Measure this load.
    Measure {
        load: u32,
        /// What the point is worth.
        purpose: fathom_record::Purpose,
        /// The relative half width at which it may stop.
        half_width: f64,
        /// Not shorter than this.
        at_least: Nanos,
        /// Not longer than this.
        at_most: Nanos,
    },
    /// Nothing: the answer stands in [`LoadSearch::found`].
    Done,
}

/// Why a search ended where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// More load gave no more throughput.
    Saturated,
    /// More load would have passed the latency limit.
    LatencyLimit,
    /// Throughput still grew at the greatest load allowed.
    Most,
    /// A load of one is over the limit already; that point is the answer.
    OverLimitAtOne,
    /// The points allowed were used up first.
    OutOfPoints,
}

/// The answer of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The load with the most throughput within the limit; of near ties the smallest.
    pub load: u32,
    /// Why not more.
    pub ended: Ended,
}

/// A search for the best load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSearch {
    /// The greatest load that may be asked for.
    pub most: u32,
    /// Where to look first after 1 (the number of disks); shortens the ladder and leaves the answer as it is.
    pub first: u32,
    /// The most latency tolerated, ns, of whichever statistic the points carry.
    pub limit_ns: Option<f64>,
    /// How long one point takes.
    pub point: Nanos,
    /// How many points may be used.
    pub points_most: usize,
    /// Look between the rungs of the ladder, or be content with the best rung.
    pub refine: bool,
}

#[derive(Clone, Copy)]
struct Point {
    load: u32,
    at: f64,
    rate: f64,
    error: f64,
    latency: f64,
    latency_error: f64,
    times: u32,
}

impl LoadSearch {
    /// What to measure next, from all points seen so far in order of time.
    pub fn next(&self, seen: &[Seen]) -> Ask {
        match self.step(seen) {
            Err(Halt::Ask(load)) if seen.len() < self.points_most.max(1) => Ask::Measure {
                load,
                purpose: fathom_record::Purpose::Exploring,
                half_width: TIE_LEAST,
                at_least: self.point,
                at_most: self.point,
            },
            _ => Ask::Done,
        }
    }

    /// The answer so far; `None` before the first point.
    pub fn found(&self, seen: &[Seen]) -> Option<Found> {
        let points = merge(seen);
        let fits = self.fitting(&points);
        match (self.step(seen), best(&fits)) {
            (Ok(found) | Err(Halt::Found(found)), _) => Some(found),
            (Err(Halt::Ask(_)), Some(peak)) => {
                let least = fits.iter().find(|p| ties(p, peak, 0.0)).unwrap_or(&peak);
                Some(Found { load: least.load, ended: Ended::OutOfPoints })
            }
            (Err(Halt::Ask(_)), None) => {
                Some(Found { load: points.first()?.load, ended: Ended::OverLimitAtOne })
            }
        }
    }

    fn step(&self, seen: &[Seen]) -> Step<Found> {
        let points = merge(seen);
        self.one(&points)?;
        let top = self.ladder(&points)?;
        let growing = self.border(&points, seen.len())?;
        let fits = self.fitting(&points);
        let Some(peak) = best(&fits) else { return ask(1) };
        let load = match self.refine {
            true => {
                self.beyond(&fits, peak)?;
                self.least(&fits, peak, seen)?
            }
            false => fits.iter().find(|p| ties(p, peak, 0.0)).map_or(peak.load, |p| p.load),
        };
        Ok(Found { load, ended: reason(top, growing, load, self.most) })
    }

    fn over(&self, point: &Point) -> bool {
        self.limit_ns.is_some_and(|limit| point.latency > limit)
    }

    fn fitting<'a>(&self, points: &'a [Point]) -> Vec<&'a Point> {
        points.iter().filter(|p| !self.over(p)).collect()
    }

    /// Does the latency's interval hold the limit? Such a point is measured twice.
    fn unsure(&self, point: &Point) -> bool {
        self.limit_ns.is_some_and(|limit| (point.latency - limit).abs() < point.latency_error)
            && point.times < 2
    }

    /// The point with one outstanding, which everything is compared with.
    fn one(&self, points: &[Point]) -> Step<()> {
        match points.iter().find(|p| p.load == 1) {
            None => ask(1),
            Some(one) if self.over(one) && self.unsure(one) => ask(1),
            Some(one) if self.over(one) => Err(Halt::Found(Found { load: 1, ended: Ended::OverLimitAtOne })),
            Some(_) => Ok(()),
        }
    }

    /// Doubles until it stops paying. Answers why it ended.
    fn ladder(&self, points: &[Point]) -> Step<Ended> {
        let first = self.first.clamp(1, self.most);
        let mut load = 1 << (31 - first.leading_zeros());
        let mut held: Option<Point> = points.iter().find(|p| p.load == 1).copied();
        let mut flat = 0;
        if load == 1 {
            load = 2.min(self.most);
        }
        loop {
            let Some(point) = points.iter().find(|p| p.load == load).copied() else { return ask(load) };
            if self.over(&point) {
                return if self.unsure(&point) { ask(load) } else { Ok(Ended::LatencyLimit) };
            }
            let best = held.unwrap_or(point);
            let noise = point.error.hypot(best.error).min(GROWTH_NOISE_MOST * best.rate);
            let gain = point.rate - best.rate;
            if gain > noise.max(GROWTH_LEAST * best.rate) {
                (held, flat) = (Some(point), 0);
            } else if best.load < load {
                flat += 1;
            }
            // In noise one flat rung is no end, nor is a rung that was only lucky: it is measured once more.
            let sure = exact(&point) && exact(&best);
            let ends = flat >= 2 || flat == 1 && sure && gain + noise < GROWTH_OPEN * best.rate;
            // A burst of somebody else's I/O looks like the end of growth: the low rungs are climbed in any case.
            if ends && (load >= LADDER_LEAST.min(self.most) || !self.refine) {
                if !exact(&best) && best.times < 2 && self.refine {
                    return ask(best.load);
                }
                return Ok(Ended::Saturated);
            }
            if load >= self.most {
                return Ok(Ended::Most);
            }
            load = load.saturating_mul(2).min(self.most);
        }
    }

    /// The largest load within the limit, where throughput is still growing there. Answers whether it is.
    fn border(&self, points: &[Point], seen: usize) -> Step<bool> {
        let Some(bad) = points.iter().filter(|p| self.over(p)).min_by_key(|p| p.load) else {
            return Ok(false);
        };
        let below: Vec<&Point> = points.iter().filter(|p| p.load < bad.load && !self.over(p)).collect();
        let (Some(good), Some(peak)) = (below.last(), best(&below)) else { return Ok(false) };
        // Throughput that does not grow at all makes latency grow as the load does. More than that, where that much would
        // still be within the limit, is more likely a bad moment of the disk than its way: it is looked at again.
        let limit = self.limit_ns.unwrap_or(f64::INFINITY);
        let at_worst = good.latency * f64::from(bad.load) / f64::from(good.load);
        if self.refine && at_worst < limit && !exact(bad) && bad.times < AGAIN_MOST {
            return ask(bad.load);
        }
        // A smaller load does as well: then the limit is not what holds the throughput.
        let smaller_does = below.iter().any(|p| p.load < good.load && ties(p, peak, 0.0));
        if smaller_does {
            return Ok(false);
        }
        let gap = bad.load - good.load;
        let blur = (good.latency_error / good.latency.max(1.0)).max(good.error / good.rate.max(1e-9)) / 4.0;
        if gap <= 1 || !self.refine || f64::from(gap) <= f64::from(good.load) * blur.min(TIE_MOST) {
            return Ok(true);
        }
        let share = (limit - good.latency) / (bad.latency - good.latency).max(1e-9);
        ask(between(good.load, bad.load, f64::from(good.load) + share * f64::from(gap), seen))
    }

    /// Where the point above the peak has fallen, the true peak may lie between them; and where the one below is as good, or
    /// its line through the origin goes far above the peak, between those. Three alike in a row are a plateau.
    fn beyond(&self, fits: &[&Point], peak: &Point) -> Step<()> {
        match fits.iter().find(|p| p.load > peak.load) {
            Some(above)
                if above.load - peak.load > 1
                    && above.rate < peak.rate * (1.0 - TIE_MOST)
                    && !ties(above, peak, 0.0) =>
            {
                return ask(peak.load.midpoint(above.load));
            }
            _ => {}
        }
        let mut below = fits.iter().rev().filter(|p| p.load < peak.load);
        let (Some(low), lower) = (below.next(), below.next()) else { return Ok(()) };
        let plateau = ties(low, peak, 0.0) && lower.is_some_and(|p| ties(p, peak, 0.0));
        let line = low.rate / f64::from(low.load) * f64::from(peak.load);
        let may_be_higher = ties(low, peak, 0.0) || line > peak.rate * (1.0 + LINE_ABOVE);
        if may_be_higher && !plateau && exact(peak) && peak.load - low.load > 1 {
            return ask(low.load.midpoint(peak.load));
        }
        Ok(())
    }

    /// The least load that does as well as the peak.
    fn least(&self, fits: &[&Point], peak: &Point, seen: &[Seen]) -> Step<u32> {
        let drift = |point: &Point| drift_at(seen, peak, point.at);
        for point in fits.iter().filter(|p| p.load < peak.load) {
            let near = point.rate > peak.rate * (1.0 - CLOSE_CALL) && !ties(point, peak, drift(point));
            if near && peak.times < 2 && exact(peak) {
                return ask(peak.load);
            }
        }
        // What the noise of one look hides is looked at again: the load decides the latency, and the peak is a lucky point.
        let is_open = |p: &&&Point| {
            let noise = p.error.hypot(peak.error);
            let close = p.rate + noise >= peak.rate + drift(p) && !exact(p);
            p.load < peak.load && p.times < AGAIN_MOST && close && !reaches(p, fits, peak, drift(p))
        };
        if let Some(open) = fits.iter().find(is_open) {
            return ask(open.load);
        }
        let enough = |p: &&&Point| p.load >= peak.load || reaches(p, fits, peak, drift(p));
        let good = fits.iter().find(enough).map_or(peak.load, |p| p.load);
        let Some(low) = fits.iter().filter(|p| p.load < good).max_by_key(|p| p.load) else {
            return Ok(good);
        };
        let gap = good - low.load;
        let blur = (peak.error / peak.rate.max(1e-9)).min(TIE_MOST) / 2.0;
        if gap <= 1 || f64::from(gap) <= f64::from(good) * blur {
            return Ok(good);
        }
        let straight = f64::from(low.load) * (peak.rate + drift(low)) / low.rate.max(1e-9);
        ask(between(low.load, good, (straight - 1e-3).ceil(), seen.len()))
    }
}

type Step<T> = Result<T, Halt>;

/// What a step answers when it does not let the search go on.
enum Halt {
    Ask(u32),
    Found(Found),
}

fn ask<T>(load: u32) -> Step<T> {
    Err(Halt::Ask(load))
}

fn reason(ladder: Ended, growing: bool, load: u32, most: u32) -> Ended {
    match ladder {
        Ended::LatencyLimit if growing => Ended::LatencyLimit,
        Ended::Most if load == most => Ended::Most,
        _ => Ended::Saturated,
    }
}

/// A load strictly between two: where the straight line says, or in the middle, by turns, so that a curve that is no
/// line cannot make the steps endlessly small.
fn between(low: u32, high: u32, guess: f64, turn: usize) -> u32 {
    let middle = low.midpoint(high).max(low + 1);
    match turn % 4 {
        3 => middle,
        _ => (guess as u32).clamp(low + 1, high - 1),
    }
}

/// Points in order of load; a load that was measured several times is one point with less error.
fn merge(seen: &[Seen]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for s in seen {
        let latency = s.latency_ns.unwrap_or(f64::INFINITY);
        match points.iter_mut().find(|p| p.load == s.load) {
            Some(p) => {
                let n = f64::from(p.times);
                let mean = |old: f64, new: f64| (old * n + new) / (n + 1.0);
                let error = |old: f64, new: f64| ((old * n).powi(2) + new * new).sqrt() / (n + 1.0);
                p.at = mean(p.at, s.at_seconds);
                p.rate = mean(p.rate, s.rate);
                p.error = error(p.error, s.rate_half_width);
                p.latency = mean(p.latency, latency);
                p.latency_error = error(p.latency_error, s.latency_half_width_ns);
                p.times += 1;
            }
            None => points.push(Point {
                load: s.load,
                at: s.at_seconds,
                rate: s.rate,
                error: s.rate_half_width,
                latency,
                latency_error: s.latency_half_width_ns,
                times: 1,
            }),
        }
    }
    // With three looks or more one bad moment need not count: the middle one does.
    for point in points.iter_mut().filter(|p| p.times >= 3) {
        let looks = || seen.iter().filter(|s| s.load == point.load);
        let (rate, latency) = (
            middle(looks().map(|s| s.rate).collect()),
            middle(looks().map(|s| s.latency_ns.unwrap_or(f64::INFINITY)).collect()),
        );
        (point.rate, point.latency) = (rate, latency);
    }
    points.sort_by_key(|p| p.load);
    points
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn best<'a>(points: &[&'a Point]) -> Option<&'a Point> {
    points.iter().copied().max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// Can this point's throughput not be told from the peak's? `drift` is what the peak's throughput had changed by when
/// the point was measured.
fn ties(point: &Point, peak: &Point, drift: f64) -> bool {
    let noise = point.error.hypot(peak.error).clamp(TIE_LEAST * peak.rate, TIE_MOST * peak.rate);
    point.rate >= peak.rate + drift - noise
}

/// Does a load give what the peak does, as far as can be told? Compared with the mean of all from it on that the peak cannot be
/// told from, which is less lucky than the best of them.
fn reaches(point: &Point, fits: &[&Point], peak: &Point, drift: f64) -> bool {
    let alike = |p: &&&Point| p.load > point.load && p.rate + p.error.hypot(peak.error) >= peak.rate;
    let (mut sum, mut squares, mut times) = (0.0, 0.0, 0.0);
    for other in fits.iter().filter(alike) {
        let n = f64::from(other.times);
        sum += n * other.rate;
        squares += (n * other.error).powi(2);
        times += n;
    }
    if times == 0.0 {
        return ties(point, peak, drift);
    }
    let most = if point.times >= AGAIN_MOST { TIE_MOST_KNOWN } else { TIE_MOST };
    let noise = point.error.hypot(squares.sqrt() / times).clamp(TIE_LEAST * peak.rate, most * peak.rate);
    ties(point, peak, drift) || point.rate >= sum / times + drift - noise
}

fn exact(point: &Point) -> bool {
    point.error <= DRIFT_NOISE_MOST * point.rate
}

/// How far the peak's throughput was from its mean at this moment, by the least-squares line through its
/// measurements. 0 with one measurement, or where noise is larger than a drift could be.
fn drift_at(seen: &[Seen], peak: &Point, at: f64) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for s in seen.iter().filter(|s| s.load == peak.load) {
        products += (s.at_seconds - peak.at) * (s.rate - peak.rate);
        squares += (s.at_seconds - peak.at).powi(2);
    }
    if squares <= 0.0 || !exact(peak) {
        return 0.0;
    }
    let reach = CLOSE_CALL * peak.rate;
    (products / squares * (at - peak.at)).clamp(-reach, reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ways` servers of 100 us; over `cliff` outstanding each service takes four times as long; `drift` is the share by
    /// which the service grows a second.
    struct Device {
        ways: u32,
        cliff: u32,
        drift: f64,
        noise: f64,
    }

    impl Device {
        fn new(ways: u32) -> Self {
            Device { ways, cliff: u32::MAX, drift: 0.0, noise: 0.0 }
        }
        fn seen(&self, load: u32, at_seconds: f64) -> Seen {
            let steep = if load > self.cliff { 4.0 } else { 1.0 };
            let service = 100e-6 * steep * (1.0 + self.drift * at_seconds);
            // A fixed, irregular error, the same on every machine.
            let wobble = 1.0 + self.noise * (at_seconds * 12.9898 + f64::from(load)).sin();
            let rate = f64::from(load.min(self.ways)) / service * wobble;
            let latency = f64::from(load) / rate * 1e9;
            let (half, late) = (rate * self.noise, latency * self.noise);
            Seen {
                load,
                at_seconds,
                rate,
                rate_half_width: half,
                latency_ns: Some(latency),
                latency_half_width_ns: late,
            }
        }
        fn search(&self, search: LoadSearch) -> (Found, usize) {
            let mut seen = Vec::new();
            while let Ask::Measure { load, .. } = search.next(&seen) {
                assert!(load >= 1 && load <= search.most, "{load}");
                seen.push(self.seen(load, seen.len() as f64));
                assert!(seen.len() <= search.points_most);
            }
            (search.found(&seen).unwrap(), seen.len())
        }
    }

    fn search(limit_us: Option<f64>) -> LoadSearch {
        LoadSearch {
            most: 1024,
            first: 1,
            limit_ns: limit_us.map(|us| us * 1e3),
            point: Nanos::from_seconds(1),
            points_most: 40,
            refine: true,
        }
    }

    #[test]
    fn the_least_load_that_fills_all_ways_is_found_whatever_the_first_step() {
        for ways in [1, 2, 3, 8, 24, 31, 32, 33, 100, 256, 700] {
            for first in [1, 4, 7, 28, 300] {
                let (found, points) = Device::new(ways).search(LoadSearch { first, ..search(None) });
                assert_eq!(
                    found,
                    Found { load: ways, ended: Ended::Saturated },
                    "{ways} ways, first {first}"
                );
                assert!(points <= 16, "{ways} ways, first {first}: {points} points");
            }
        }
    }

    #[test]
    fn bound_search_stops_at_the_last_load_under_the_limit() {
        // Latency grows with load from the first on: one way, throughput flat: the least load is the answer.
        assert_eq!(Device::new(1).search(search(Some(450.0))).0, Found { load: 1, ended: Ended::Saturated });
        // A cliff in latency with throughput still growing before it.
        let cliff = Device { cliff: 24, ..Device::new(256) };
        assert_eq!(cliff.search(search(Some(150.0))).0, Found { load: 24, ended: Ended::LatencyLimit });
        assert_eq!(cliff.search(LoadSearch { first: 100, ..search(Some(150.0)) }).0.load, 24);
    }

    #[test]
    fn without_a_limit_a_fall_of_throughput_is_found_between_the_rungs() {
        let cliff = Device { cliff: 24, ..Device::new(32) };
        assert_eq!(cliff.search(search(None)).0, Found { load: 24, ended: Ended::Saturated });
    }

    #[test]
    fn one_outstanding_over_the_limit_is_said_and_is_the_answer() {
        let (found, points) = Device::new(8).search(search(Some(80.0)));
        assert_eq!((found, points), (Found { load: 1, ended: Ended::OverLimitAtOne }, 1));
    }

    #[test]
    fn the_greatest_load_allowed_is_named_as_what_bounds() {
        let search = LoadSearch { most: 100, ..search(None) };
        assert_eq!(Device::new(256).search(search).0, Found { load: 100, ended: Ended::Most });
    }

    #[test]
    fn a_drift_of_a_tenth_a_minute_leaves_the_answer() {
        for drift in [0.1 / 60.0, -0.1 / 60.0] {
            for ways in [8, 24, 32] {
                let device = Device { drift, ..Device::new(ways) };
                assert_eq!(device.search(search(None)).0.load, ways, "{drift} {ways}");
            }
        }
    }

    /// A throttle lets bursts through, so that each look is off by one of them. One outstanding is enough.
    #[test]
    fn under_a_throttle_the_least_load_is_found_though_another_was_luckier() {
        let (mut least, mut looks) = (0, 0);
        for seed in 0..200u64 {
            let search = LoadSearch { points_most: 24, ..search(None) };
            let mut seen: Vec<Seen> = Vec::new();
            while let Ask::Measure { load, .. } = search.next(&seen) {
                let mixed = (seed * 1000 + seen.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
                let edges = mixed as f64 / (1u64 << 53) as f64 + (mixed % 1013) as f64 / 1013.0 - 1.0;
                // 3140 a second in bursts of 314, both edges of a second by chance.
                let rate = 3140.0 + 314.0 * edges / 2.0_f64.sqrt();
                let latency = f64::from(load) / 3140.0 * 1e9;
                seen.push(Seen {
                    load,
                    at_seconds: seen.len() as f64,
                    rate,
                    rate_half_width: 1.96 * 314.0 / 6.0_f64.sqrt(),
                    latency_ns: Some(latency),
                    latency_half_width_ns: 0.01 * latency,
                });
            }
            least += u32::from(search.found(&seen).unwrap().load == 1);
            looks += seen.len();
        }
        assert!(least >= 190 && looks < 200 * 12, "{least} {looks}");
    }

    #[test]
    fn noise_costs_no_more_throughput_than_itself_and_the_search_ends() {
        for ways in [1, 8, 32, 256] {
            let device = Device { noise: 0.05, ..Device::new(ways) };
            let (found, _) = device.search(search(None));
            let share = f64::from(found.load.min(ways)) / f64::from(ways);
            assert!(share > 0.88, "{ways}: {found:?}");
        }
    }

    #[test]
    fn points_allowed_are_never_exceeded_and_the_best_so_far_is_the_answer() {
        let search = LoadSearch { points_most: 3, ..search(None) };
        assert_eq!(Device::new(32).search(search), (Found { load: 4, ended: Ended::OutOfPoints }, 3));
    }

    /// A disk whose curve bends slowly, whose points are off by some percent each, and which also drifts: what a busy host
    /// makes of a real one. The search may miss the top by the noise, not by a factor.
    #[test]
    fn in_noise_the_found_load_gives_nearly_what_the_best_one_does() {
        let true_rate = |load: u32| 62_000.0 * f64::from(load) / (f64::from(load) + 5.5);
        let mut shares: Vec<f64> = (0..400u64)
            .map(|seed| {
                let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
                let mut uniform = move || {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 11) as f64 / (1u64 << 53) as f64
                };
                // Twelve uniform numbers make one that is nearly normal.
                let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                let mut drift = 0.0;
                let search = LoadSearch { points_most: 16, ..search(Some(1000.0)) };
                let mut seen: Vec<Seen> = Vec::new();
                while let Ask::Measure { load, .. } = search.next(&seen) {
                    drift = 0.8 * drift + 0.03 * normal();
                    let rate = true_rate(load) * (1.0 + 0.03 * normal() + drift);
                    seen.push(Seen {
                        load,
                        at_seconds: seen.len() as f64,
                        rate,
                        rate_half_width: 0.05 * rate,
                        latency_ns: Some(f64::from(load) / rate * 1e9),
                        latency_half_width_ns: 0.05 * f64::from(load) / rate * 1e9,
                    });
                }
                let load = search.found(&seen).unwrap().load;
                true_rate(load) / true_rate(56)
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        assert!(shares[20] > 0.85 && shares[100] > 0.9, "{} {} {}", shares[0], shares[20], shares[100]);
    }

    #[test]
    fn a_point_over_the_limit_that_saturation_cannot_explain_is_measured_again() {
        let rate_of = |load: u32| 60_000.0 * f64::from(load) / (f64::from(load) + 5.0);
        let search = LoadSearch { most: 64, ..search(Some(300.0)) };
        let mut seen: Vec<Seen> = Vec::new();
        while let Ask::Measure { load, .. } = search.next(&seen) {
            // The first look at 8 outstanding falls into a stall: half the throughput, twice the latency.
            let first_at_8 = load == 8 && !seen.iter().any(|s| s.load == 8);
            let rate = if first_at_8 { 0.5 } else { 1.0 } * rate_of(load);
            let latency = f64::from(load) / rate * 1e9;
            seen.push(Seen {
                load,
                at_seconds: seen.len() as f64,
                rate,
                rate_half_width: 0.03 * rate,
                latency_ns: Some(latency),
                latency_half_width_ns: 0.03 * latency,
            });
        }
        // The middle one of the three looks at 8 is the truth: 217 us.
        let found = search.found(&seen).unwrap();
        assert_eq!(seen.iter().filter(|s| s.load == 8).count(), 3);
        assert!(found.load >= 8, "{found:?}");
    }
}
