//! Which phase and which point next, within the budget of time. Knows no clock: whoever runs the plans tells how much
//! time was spent.

use crate::observe::Observed;
use crate::plan::{Length, Planner};
use crate::precision::Precision;
use crate::search::{Ask, Found, LoadSearch, Seen};
use crate::stopper::Rule;
use fathom_record::{Load, Note, Phase, Purpose, Run};
use fathom_spec::{LatencyLimit, Nanos, Plan, Statistic};
use std::collections::BTreeMap;

/// What is asked of a calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The most latency tolerated for small I/Os.
    pub limit: LatencyLimit,
    /// Number of disks: the first step of the search.
    pub disks: u32,
    /// The greatest number of small I/Os outstanding.
    pub small_most: u32,
    /// The greatest number of large I/Os outstanding; each needs a buffer of its size.
    pub large_most: u32,
    /// Time for the measuring, before `precision` stretches it.
    pub time: Nanos,
    /// How precise the headline points shall be.
    pub precision: Precision,
    pub read_only: bool,
    /// Also search on a mix of small reads and writes?
    pub mixed: bool,
}

impl Question {
    /// What the measuring may take in all.
    pub fn budget(&self) -> Nanos {
        Nanos((self.time.0 as f64 * self.precision.stretch()) as u64)
    }

    /// By how much the precision lengthens the budget, in a sentence; `None` when it does not.
    pub fn stretched(&self) -> Option<String> {
        (self.precision.stretch() > 1.0).then(|| {
            format!(
                "+-{:.0} % needs more time: the budget is {} instead of {}",
                self.precision.half_width() * 100.0,
                self.budget(),
                self.time
            )
        })
    }

    /// How long an exploring point is: 1 s for budgets of a minute, never under 250 ms or over 3 s.
    fn point(&self) -> Nanos {
        Nanos((self.time.0 / 60).clamp(250_000_000, 3_000_000_000))
    }
}

/// One run to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub phase: Phase,
    pub name: String,
    /// What it is worth.
    pub purpose: Purpose,
    pub load: Load,
    /// What to do.
    pub plan: Plan,
    /// When it may stop; a `stopper::Until` of this is the run's `Control`.
    pub rule: Rule,
    /// Of a point on which a figure rests: is it all of it, or the last of its pieces?
    pub last: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run this and tell.
    Run(Box<Job>),
    /// Nothing more.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Search,
    /// The point that a figure rests on: a given load, or the one that the search of this phase found.
    Point(Option<u32>),
    /// At the load that another phase found.
    At(Phase),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    phase: Phase,
    kind: Kind,
    /// Share of the whole time.
    share: f64,
    /// Of a point in pieces, which of them.
    piece: Option<u8>,
}

const fn entry(share: f64, phase: Phase, kind: Kind) -> Entry {
    Entry { phase, kind, share, piece: None }
}

const fn piece(share: f64, phase: Phase, kind: Kind) -> Entry {
    Entry { phase, kind, share, piece: Some(0) }
}

/// Pieces of a point on which a headline figure rests. The first stands after its search, the others in rounds over what is
/// left of the time, so that a disk that has two speeds shows both. Of a virtual disk with two levels one window of 3 s held
/// the mean of 40 in 45 % of cases, five pieces in nine of ten (`docs/method/statistics.md`).
pub const PIECES: u8 = 5;

/// What is done, in order; the rounds follow. A search is allotted what a hard one needs; most leave half of it to the
/// points on which figures rest.
const ENTRIES: [Entry; 22] = [
    entry(42.0, Phase::SmallReads, Kind::Search),
    piece(1.5, Phase::SmallReads, Kind::Point(Some(1))),
    piece(2.0, Phase::SmallReads, Kind::Point(None)),
    entry(2.0, Phase::EighthReads, Kind::At(Phase::SmallReads)),
    entry(16.0, Phase::Mixed, Kind::Search),
    piece(2.0, Phase::Mixed, Kind::Point(None)),
    entry(7.5, Phase::LargeAll, Kind::Search),
    piece(1.5, Phase::LargeAll, Kind::Point(None)),
    entry(1.5, Phase::LargeOne, Kind::At(Phase::LargeAll)),
    entry(5.5, Phase::Streams, Kind::Search),
    entry(1.5, Phase::Streams, Kind::Point(None)),
    entry(1.0, Phase::SampleFirst, Kind::At(Phase::SmallReads)),
    entry(1.0, Phase::SampleAgain, Kind::At(Phase::SmallReads)),
    piece(1.5, Phase::CommitFdatasync, Kind::Point(Some(1))),
    entry(2.0, Phase::CommitDsync, Kind::Point(Some(1))),
    entry(2.0, Phase::CommitFsync, Kind::Point(Some(1))),
    entry(2.0, Phase::GroupCommit, Kind::Point(Some(4))),
    entry(2.0, Phase::GroupCommit, Kind::Point(Some(16))),
    entry(12.0, Phase::RandomWrites, Kind::Search),
    piece(1.5, Phase::RandomWrites, Kind::Point(None)),
    entry(4.0, Phase::SequentialWrites, Kind::Search),
    piece(1.5, Phase::SequentialWrites, Kind::Point(None)),
];

/// All that these phases may do: once through, and then the further pieces by rounds.
fn entries(wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let mut entries: Vec<Entry> = ENTRIES.iter().copied().filter(wanted).collect();
    let pieces: Vec<Entry> = entries.iter().copied().filter(|entry| entry.piece.is_some()).collect();
    for round in 1..PIECES {
        entries.extend(pieces.iter().map(|entry| Entry { piece: Some(round), ..*entry }));
    }
    entries
}

struct Pending {
    phase: Phase,
    kind: Kind,
    load: u32,
    began: Nanos,
    /// Its length if nothing ends it early.
    planned: Nanos,
}

/// A whole calibration, as a conversation: ask for the next step, run it, tell.
pub struct Calibration {
    question: Question,
    planner: Planner,
    entries: Vec<Entry>,
    at: usize,
    seen: BTreeMap<Phase, Vec<Seen>>,
    pending: Option<Pending>,
    search: Option<LoadSearch>,
    allotted: Option<Nanos>,
    spent: Nanos,
    /// What a run costs beside its own length: opening, the last I/Os, closing. The largest seen.
    overhead: Nanos,
    number: u64,
    skipped: Vec<(Phase, &'static str)>,
    /// Searches that would have tried more load, had there been time.
    cut_short: Vec<Phase>,
}

/// Latencies are kept for each such interval where a percentile is told: its error comes from their number.
const PERCENTILE_INTERVAL: Nanos = Nanos::from_millis(100);

/// What a run is expected to cost beside its length before one was seen.
const OVERHEAD_GUESS: Nanos = Nanos::from_millis(60);

/// What a calibration does in one phase, before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseOutline {
    /// Which phase.
    pub phase: Phase,
    /// What is done, in words.
    pub what: String,
    /// About how long.
    pub length: Nanos,
}

impl Calibration {
    /// A calibration that has not begun.
    pub fn new(question: Question, planner: Planner) -> Self {
        let wanted = |e: &Entry| {
            planner.can(e.phase)
                && !(question.read_only && e.phase.writes())
                && (question.mixed || e.phase != Phase::Mixed)
        };
        let entries = entries(wanted);
        Calibration {
            question,
            planner,
            entries,
            at: 0,
            seen: BTreeMap::new(),
            pending: None,
            search: None,
            allotted: None,
            spent: Nanos(0),
            overhead: OVERHEAD_GUESS,
            number: 0,
            skipped: Vec::new(),
            cut_short: Vec::new(),
        }
    }

    /// What comes next. `spent` is the time since the measuring began (in a simulated world, on its clock), `last` the
    /// run of the step before, `None` at the beginning or where that step could not be run.
    pub fn next(&mut self, spent: Nanos, last: Option<&Run>) -> Step {
        self.spent = spent;
        self.take(last);
        while let Some(entry) = self.entries.get(self.at).copied() {
            let allotted = *self.allotted.get_or_insert(self.allot());
            let job = match entry.kind {
                Kind::Search => self.explore(entry, allotted),
                Kind::Point(_) | Kind::At(_) => self.headline(entry, allotted),
            };
            match job {
                Some(job) => return Step::Run(Box::new(job)),
                None => self.advance(),
            }
        }
        Step::Done
    }

    /// The share of the budget that is spent, 0 to 1, for a progress bar.
    pub fn progress(&self) -> f64 {
        (self.spent.0 as f64 / self.question.budget().0.max(1) as f64).min(1.0)
    }

    /// Which step the next run belongs to, from 1 on, and how many there are at most.
    pub fn step(&self) -> (usize, usize) {
        ((self.at + 1).min(self.entries.len()), self.entries.len())
    }

    /// What was not measured and why, for the record's notes; `longer` says how to give it more time.
    pub fn notes(&self, longer: Option<&str>) -> Vec<Note> {
        let longer = longer.map(|longer| format!("re-run with {longer}"));
        let mut notes: Vec<Note> = Vec::new();
        for (phase, why) in &self.skipped {
            let text = format!("not measured: {}: {why}", phase.title());
            if notes.iter().all(|note| note.text != text) {
                notes.push(Note { text, hint: longer.clone() });
            }
        }
        if !self.cut_short.is_empty() {
            let phases: Vec<_> = self.cut_short.iter().map(|phase| phase.title()).collect();
            let text = format!(
                "time limit reached before saturation, the maximum may be higher: {}",
                phases.join(", ")
            );
            notes.push(Note { text, hint: longer.clone() });
        }
        notes
    }

    /// The answer of a phase's search so far.
    pub fn found(&self, phase: Phase) -> Option<Found> {
        self.seen.get(&phase).and_then(|seen| self.search_of(phase, usize::MAX).found(seen))
    }

    /// The phases and their shares of the time, for `--dry-run`.
    pub fn outline(&self) -> Vec<PhaseOutline> {
        let total: f64 = self.entries.iter().map(|e| e.share).sum();
        let budget = self.question.budget();
        let pieces = f64::from(PIECES);
        let outline = |e: &Entry| {
            let share = e.share * if e.piece.is_some() { pieces } else { 1.0 } / total;
            let length = Nanos((budget.0 as f64 * share) as u64 / 1_000_000 * 1_000_000);
            let what = match e.kind {
                Kind::Search => format!("search the best load, points of {}", self.question.point()),
                Kind::Point(Some(load)) => format!("{load} {}", e.phase.unit()),
                Kind::Point(None) => {
                    format!("the best load, to +-{:.0} %", self.question.precision.half_width() * 100.0)
                }
                Kind::At(phase) => format!("at the best load of {}", phase.title()),
            };
            let what = match e.piece {
                Some(_) => format!("{what}, in {PIECES} pieces"),
                None => what,
            };
            PhaseOutline { phase: e.phase, what, length }
        };
        self.entries.iter().filter(|e| e.piece.is_none_or(|piece| piece == 0)).map(outline).collect()
    }

    fn take(&mut self, last: Option<&Run>) {
        let Some(pending) = self.pending.take() else { return };
        if !matches!(pending.kind, Kind::Search) {
            self.advance();
        }
        let Some(run) = last else {
            if matches!(pending.kind, Kind::Search) {
                self.skipped.push((pending.phase, "its plan could not be run"));
                self.advance();
            }
            return;
        };
        let took = self.spent.0.saturating_sub(pending.began.0);
        let beside = took.saturating_sub(run.length_ns.min(pending.planned.0));
        self.overhead = self.overhead.max(Nanos(beside));
        let at_seconds = (pending.began.0 + took / 2) as f64 / 1e9;
        // A headline point is longer than the others and would count as one more look at its load; it does not, so
        // that the answer stays the search's.
        if matches!(pending.kind, Kind::Search) {
            let statistic = self.statistic(pending.phase);
            let seen = match Observed::of(run) {
                Some(observed) => observed.seen(pending.load, at_seconds, statistic),
                None => nothing(pending.load, at_seconds),
            };
            self.seen.entry(pending.phase).or_default().push(seen);
        }
    }

    fn statistic(&self, phase: Phase) -> Statistic {
        match phase {
            Phase::SmallReads | Phase::Mixed => self.question.limit.of,
            _ => Statistic::Mean,
        }
    }

    fn advance(&mut self) {
        self.at += 1;
        self.search = None;
        self.allotted = None;
    }

    /// Time for the entry at hand: its share of what is left. What one leaves over goes to all that follow.
    fn allot(&self) -> Nanos {
        let left = self.question.budget().0.saturating_sub(self.spent.0) as f64;
        let rest = &self.entries[self.at..];
        let share: f64 = rest.iter().map(|e| e.share).sum();
        Nanos((left * rest[0].share / share) as u64)
    }

    fn before(&self) -> Nanos {
        let slots = (self.question.point().0 / 8 / self.planner.slot.0.max(1)).clamp(2, 4);
        Nanos(self.planner.slot.0 * slots)
    }

    /// What one run costs beside its window.
    fn beside(&self) -> u64 {
        self.before().0 + self.planner.slot.0 * 2 + self.overhead.0 * 5 / 4
    }

    /// The longest window that still fits the budget; `None` when not even the shortest does.
    fn fitting(&self, wanted: u64, least: u64) -> Option<Nanos> {
        let left = self.question.budget().0.saturating_sub(self.spent.0);
        let most = left.checked_sub(self.beside())?;
        let length = wanted.max(least).min(most);
        (length >= least).then(|| self.planner.whole_slots(Nanos(length)))
    }

    fn search_of(&self, phase: Phase, points_most: usize) -> LoadSearch {
        let most = match phase {
            Phase::Streams => self.question.large_most.min(16),
            _ if phase.is_large() => self.question.large_most,
            _ => self.question.small_most,
        };
        let found = |phase: Phase| {
            let (seen, search) = (self.seen.get(&phase)?, self.search_of(phase, usize::MAX));
            search.found(seen).map(|found| found.load)
        };
        let first = match phase {
            Phase::SmallReads | Phase::Mixed => self.question.disks,
            Phase::SequentialWrites => 4,
            Phase::LargeAll => found(Phase::SmallReads).unwrap_or(4).min(16),
            Phase::RandomWrites => found(Phase::SmallReads).unwrap_or(4).min(16),
            _ => 1,
        };
        let limit =
            matches!(phase, Phase::SmallReads | Phase::Mixed).then_some(self.question.limit.at_most.0 as f64);
        LoadSearch {
            most: most.max(1),
            first: first.max(1),
            limit_ns: limit,
            point: self.planner.whole_slots(self.question.point()),
            points_most,
            refine: matches!(phase, Phase::SmallReads | Phase::Mixed)
                || (8..usize::MAX).contains(&points_most),
        }
    }

    fn explore(&mut self, entry: Entry, allotted: Nanos) -> Option<Job> {
        let search = match self.search {
            Some(search) => search,
            None => self.begin_search(entry.phase, allotted)?,
        };
        self.search = Some(search);
        let seen = self.seen.get(&entry.phase).map_or(&[][..], |seen| seen);
        let next = match search.next(seen) {
            Ask::Measure { load, at_least, half_width, .. } => {
                self.fitting(at_least.0, at_least.0).map(|length| (load, length, half_width))
            }
            _ => None,
        };
        let Some((load, length, half_width)) = next else {
            self.end_search(entry.phase);
            return None;
        };
        Some(self.job(entry, load, length, length, half_width))
    }

    fn begin_search(&mut self, phase: Phase, allotted: Nanos) -> Option<LoadSearch> {
        let point = self.planner.whole_slots(self.question.point());
        let points = (allotted.0 / (point.0 + self.beside())).max(1) as usize;
        if self.fitting(point.0, point.0).is_none() {
            self.skipped.push((phase, "no time was left"));
            return None;
        }
        Some(self.search_of(phase, points))
    }

    /// Was it the time that ended the search, with higher loads still to be tried?
    fn end_search(&mut self, phase: Phase) {
        let seen = self.seen.get(&phase).map_or(&[][..], |seen| seen);
        let Some(tried) = seen.iter().map(|seen| seen.load).max() else { return };
        let whole = self.search_of(phase, usize::MAX);
        if matches!(whole.next(seen), Ask::Measure { load, .. } if load > tried) {
            self.cut_short.push(phase);
        }
    }

    fn headline(&mut self, entry: Entry, allotted: Nanos) -> Option<Job> {
        let load = match entry.kind {
            Kind::Point(Some(load)) => load,
            Kind::Point(None) => self.found(entry.phase)?.load,
            Kind::At(phase) => self.found(phase)?.load,
            Kind::Search => return None,
        };
        // The best load is 1: the unloaded point is that one, and the better for having the time of both.
        let unloaded = entry.phase == Phase::SmallReads && entry.kind == Kind::Point(Some(1));
        if unloaded && self.found(Phase::SmallReads).is_some_and(|found| found.load == 1) {
            return None;
        }
        let least = match entry.piece {
            Some(_) => self.question.point().0 / 2,
            None => self.question.point().0,
        };
        let wanted = allotted.0.saturating_sub(self.beside());
        let Some(length) = self.fitting(wanted, least) else {
            if entry.piece.is_none_or(|piece| piece == 0) {
                self.skipped.push((entry.phase, "no time was left"));
            }
            return None;
        };
        // A piece has the length of its siblings; what stands alone may end when it is known well enough.
        let at_least = match entry.piece {
            Some(_) => length,
            None => Nanos((length.0 / 2).max(least.min(length.0))),
        };
        let half_width = self.question.precision.half_width();
        Some(self.job(entry, load, at_least, length, half_width))
    }

    fn job(&mut self, entry: Entry, load: u32, at_least: Nanos, at_most: Nanos, half_width: f64) -> Job {
        let before = self.before();
        self.number += 1;
        let (length, number, total) = match entry.phase {
            Phase::SampleFirst | Phase::SampleAgain => {
                let operations = self.sample_operations(load, at_most);
                (Length::Sample { operations, at_most }, 1 << 32, at_most.0)
            }
            _ => {
                let total = before.0 + at_most.0 + self.planner.slot.0;
                (Length::Window { before, length: at_most }, self.number, total)
            }
        };
        self.pending = Some(Pending {
            phase: entry.phase,
            kind: entry.kind,
            load,
            began: self.spent,
            planned: Nanos(total),
        });
        let mut plan = self.planner.plan(entry.phase, load, length, number);
        if entry.kind != Kind::Search || self.statistic(entry.phase) != Statistic::Mean {
            plan.interval = PERCENTILE_INTERVAL;
        }
        debug_assert!(self.spent.0 + total <= self.question.budget().0);
        Job {
            phase: entry.phase,
            name: entry.phase.run_name(load),
            purpose: match entry.kind {
                Kind::Search => Purpose::Exploring,
                Kind::At(Phase::SmallReads) => Purpose::Check,
                Kind::Point(_) | Kind::At(_) => Purpose::Headline,
            },
            load: entry.phase.load(load),
            plan,
            rule: Rule { half_width, before, at_least, at_most, slot: self.planner.slot },
            last: entry.piece.is_none_or(|piece| piece + 1 == PIECES),
        }
    }

    /// Half of what the disk can read in the time given, so that both readings end by themselves; the same for both.
    fn sample_operations(&self, load: u32, at_most: Nanos) -> u64 {
        let seen = self.seen.get(&Phase::SmallReads);
        let rate = seen.and_then(|seen| seen.iter().rfind(|s| s.load == load)).map_or(100.0, |s| s.rate);
        let point = self.question.point().min(at_most);
        ((rate * point.seconds() / 2.0) as u64).max(u64::from(load))
    }
}

/// A load at which nothing completed.
fn nothing(load: u32, at_seconds: f64) -> Seen {
    Seen { load, at_seconds, rate: 0.0, rate_half_width: 0.0, latency_ns: None, latency_half_width_ns: 0.0 }
}

#[cfg(test)]
mod tests;
