//! Which measurement next: the phases of a calibration, their searches, and the time that each may take.
//!
//! A function of what was seen: it is told each run and answers the next step. 40 % of the budget goes to small
//! reads, 20 % to large ones, 40 % to writes; without writes the reads have it all.

use crate::figures::seen;
use crate::load::{Ground, Kind, SLOT, name};
use crate::search::{Ask, LoadSearch, Seen};
use fathom_record::{Load, Purpose, Run};
use fathom_spec::{Bytes, LatencyLimit, Nanos, Plan, SyncKind};

/// What is asked of a calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Where and how.
    pub ground: Ground,
    /// Bytes of small I/Os.
    pub block: Bytes,
    /// Bytes of large I/Os.
    pub large: Bytes,
    /// The latency that is tolerated.
    pub limit: LatencyLimit,
    /// Time for measuring.
    pub budget: Nanos,
    /// Relative half width of the headline figures.
    pub precision: f64,
    /// Percent of reads among the small I/Os.
    pub read_percent: u8,
    /// Where the search looks first.
    pub first: u32,
    /// The greatest number of outstanding I/Os.
    pub most: u32,
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is run.
    pub plan: Plan,
    /// What it is called.
    pub name: String,
    /// What it is worth.
    pub purpose: Purpose,
    /// The load.
    pub load: Load,
    /// Its kind.
    pub kind: Kind,
    /// It may end when the error is this small, relative; `None`: not before its time.
    pub half_width: Option<f64>,
    /// The most it takes.
    pub length: Nanos,
}

/// One part of a calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Look for the best load.
    Search(Kind),
    /// Measure a kind at the best load found for another, well.
    Best(Kind, Kind),
    /// Measure a kind at a given load, well.
    At(Kind, u32),
    /// The same sample twice.
    Twice,
}

/// A calibration on its way.
#[derive(Clone, Debug)]
pub struct Calibration {
    request: Request,
    /// Parts with their share of the budget.
    parts: Vec<(Part, f64)>,
    part: usize,
    /// Time used, in all and in this part.
    used: Nanos,
    used_here: Nanos,
    points: Vec<(Kind, Seen)>,
    /// Points of the part at hand.
    here: usize,
    log_start: u64,
    last: Option<(Kind, u32)>,
    sampled: u64,
}

/// Points of a search are this long at least: shorter ones see the device's start.
const POINT_LEAST: Nanos = Nanos::from_millis(1000);
/// Of the budget this much is kept for what is not measuring: opening, draining, saving.
const RESERVE: f64 = 0.06;

impl Calibration {
    /// The parts of a request, nothing measured yet.
    pub fn new(request: Request) -> Self {
        let small = Kind::Small { read_percent: request.read_percent };
        let reads = [
            (Part::Search(small), 0.20),
            (Part::At(small, 1), 0.05),
            (Part::Best(small, small), 0.09),
            (Part::Best(Kind::Eighth, small), 0.05),
            (Part::Twice, 0.02),
            (Part::Search(Kind::LargeByOne), 0.05),
            (Part::Best(Kind::LargeByOne, Kind::LargeByOne), 0.025),
            (Part::Search(Kind::LargeByMany), 0.05),
            (Part::Best(Kind::LargeByMany, Kind::LargeByMany), 0.025),
            (Part::Search(Kind::Streams), 0.04),
            (Part::Best(Kind::Streams, Kind::Streams), 0.02),
        ];
        let commit = Kind::Commits(SyncKind::Fdatasync);
        let writes = [
            (Part::At(commit, 1), 0.07),
            (Part::At(Kind::Commits(SyncKind::None), 1), 0.04),
            (Part::At(Kind::Commits(SyncKind::Fsync), 1), 0.04),
            (Part::At(commit, 4), 0.03),
            (Part::At(commit, 16), 0.03),
            (Part::Search(Kind::SmallWrites), 0.07),
            (Part::Best(Kind::SmallWrites, Kind::SmallWrites), 0.06),
            (Part::Search(Kind::LargeWrites), 0.03),
            (Part::Best(Kind::LargeWrites, Kind::LargeWrites), 0.03),
        ];
        let mut parts = reads.to_vec();
        if request.ground.writable {
            parts.extend(writes);
        }
        let sum: f64 = parts.iter().map(|part| part.1).sum();
        parts.iter_mut().for_each(|part| part.1 /= sum);
        Calibration {
            request,
            parts,
            part: 0,
            used: Nanos(0),
            used_here: Nanos(0),
            points: Vec::new(),
            here: 0,
            log_start: 0,
            last: None,
            sampled: 0,
        }
    }

    /// What was asked.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// How much of the budget is used, 0 to 1.
    pub fn share(&self) -> f64 {
        (self.used.0 as f64 / self.request.budget.0.max(1) as f64).min(1.0)
    }

    /// The parts with their shares of the budget, for people.
    pub fn outline(&self) -> Vec<(String, Nanos)> {
        let budget = self.request.budget.0 as f64;
        let line = |(part, share): &(Part, f64)| {
            let what = match part {
                Part::Search(kind) => format!("{}: search for the best load", name(*kind)),
                Part::Best(kind, of) if kind == of => format!("{} at the best load", name(*kind)),
                Part::Best(kind, of) => format!("{} at the best load of {}", name(*kind), name(*of)),
                Part::At(kind, load) => format!("{} at a load of {load}", name(*kind)),
                Part::Twice => "a sample, and the same again".to_owned(),
            };
            (what, Nanos((budget * share) as u64))
        };
        self.parts.iter().map(line).collect()
    }

    /// Tells what the last step has shown.
    pub fn tell(&mut self, run: &Run) {
        let Some((kind, load)) = self.last.take() else { return };
        let took = Nanos(run.length_ns);
        (self.used.0, self.used_here.0) = (self.used.0 + took.0, self.used_here.0 + took.0);
        let seen = seen(run, |_| true);
        if let Kind::Commits(_) = kind {
            let most = run.workers.iter().flat_map(|w| &w.counts).map(|(_, c)| c.bytes).max().unwrap_or(0);
            self.log_start += most.next_multiple_of(4096);
        }
        if let Kind::Sample { operations: 0 } = kind {
            self.sampled = run.workers.iter().flat_map(|w| &w.counts).map(|(_, c)| c.operations).sum();
        }
        let bytes = matches!(kind, Kind::LargeByOne | Kind::LargeByMany | Kind::Streams | Kind::LargeWrites);
        let (rate, half_width) = if bytes { seen.mbps() } else { seen.iops() };
        let point = Seen {
            load,
            at_seconds: run.began_ns as f64 / 1e9,
            rate,
            rate_half_width: half_width.unwrap_or(rate),
            latency_ns: seen.statistic(self.request.limit.of),
            latency_half_width_ns: seen.mean_latency().map_or(0.0, |estimate| estimate.half_width),
        };
        self.points.push((kind, point));
        self.here += 1;
    }

    /// The best load found for a kind so far, and why not more.
    pub fn best(&self, kind: Kind) -> Option<crate::search::Found> {
        let share = self.parts.iter().find(|part| part.0 == Part::Search(kind))?.1;
        let search = self.search(kind, share);
        search.found(&self.seen_of(kind))
    }

    fn seen_of(&self, kind: Kind) -> Vec<Seen> {
        self.points.iter().filter(|point| point.0 == kind).map(|point| point.1).collect()
    }

    fn part_length(&self, share: f64) -> Nanos {
        Nanos((self.request.budget.0 as f64 * (1.0 - RESERVE) * share) as u64)
    }

    fn search(&self, kind: Kind, share: f64) -> LoadSearch {
        let small = matches!(kind, Kind::Small { .. });
        let length = self.part_length(share);
        let point = Nanos((length.0 / 12).clamp(POINT_LEAST.0, 10 * POINT_LEAST.0) / SLOT.0 * SLOT.0);
        LoadSearch {
            most: match kind {
                Kind::Streams => 16,
                Kind::LargeByOne | Kind::LargeByMany | Kind::LargeWrites => self.request.most.min(64),
                _ => self.request.most,
            },
            first: if small { self.request.first } else { 1 },
            limit_ns: small.then_some(self.request.limit.at_most.0 as f64),
            point,
            points_most: (length.0 / point.0.max(1)).clamp(1, 40) as usize,
            refine: small,
        }
    }

    /// What to do next; `None` when all is done or the time is up.
    pub fn ask(&mut self) -> Option<Step> {
        loop {
            let (part, share) = *self.parts.get(self.part)?;
            let left = Nanos(self.request.budget.0.saturating_sub(self.used.0));
            if left.0 < 3 * SLOT.0 {
                return None;
            }
            let length = Nanos(self.part_length(share).0.min(left.0));
            if let Some(step) = self.step(part, share, length) {
                self.last = Some((step.kind, step.load.small.max(step.load.large)));
                return Some(step);
            }
            self.part += 1;
            self.here = 0;
            self.used_here = Nanos(0);
        }
    }

    fn step(&self, part: Part, share: f64, length: Nanos) -> Option<Step> {
        let left_here = Nanos(length.0.saturating_sub(self.used_here.0));
        match part {
            Part::Search(kind) => {
                let mut search = self.search(kind, share);
                search.point = Nanos(search.point.0.min(length.0.max(3 * SLOT.0)));
                match search.next(&self.seen_of(kind)) {
                    Ask::Measure { load, at_most, .. }
                        if left_here.0 + SLOT.0 >= at_most.0 || self.here == 0 =>
                    {
                        Some(self.make(kind, load, Purpose::Exploring, None, Nanos(at_most.0.min(length.0))))
                    }
                    _ => None,
                }
            }
            Part::Best(..) | Part::At(..) if self.here > 0 => None,
            Part::Best(kind, of) => {
                let load = self.best(of).map_or(1, |found| found.load);
                let purpose = if kind == of { Purpose::Headline } else { Purpose::Check };
                Some(self.make(kind, load, purpose, Some(self.request.precision), length))
            }
            Part::At(kind, load) => {
                Some(self.make(kind, load, Purpose::Headline, Some(self.request.precision), length))
            }
            Part::Twice => match self.here {
                0 => Some(self.make(
                    Kind::Sample { operations: 0 },
                    4,
                    Purpose::Check,
                    None,
                    Nanos(length.0 / 2),
                )),
                1 if self.sampled > 0 => {
                    let again = Kind::Sample { operations: self.sampled };
                    Some(self.make(again, 4, Purpose::Check, None, length))
                }
                _ => None,
            },
        }
    }

    fn make(&self, kind: Kind, load: u32, purpose: Purpose, half_width: Option<f64>, length: Nanos) -> Step {
        let length = Nanos((length.0 / SLOT.0).max(3) * SLOT.0);
        let Request { ground, block, large, .. } = &self.request;
        let large_kind =
            matches!(kind, Kind::LargeByOne | Kind::LargeByMany | Kind::Streams | Kind::LargeWrites);
        let plan = ground.plan(kind, load, (*block, *large), length, self.log_start);
        Step {
            plan,
            name: match kind {
                Kind::Commits(_) => format!("{}, {load} writers", name(kind)).replace(", 1 writers", ""),
                Kind::Streams => format!("{}, {load} streams", name(kind)),
                _ => format!("{}, {load} outstanding", name(kind)),
            },
            purpose,
            load: if large_kind { Load { small: 0, large: load } } else { Load { small: load, large: 0 } },
            kind,
            half_width,
            length,
        }
    }
}
