//! The operations of a session: which verb, in which schema, on which keys. Pure: a function of the work, the seed and how often it
//! was asked.

use fathom_drive::unit;
use fathom_spec::Session;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// One operation of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionOperation {
    pub(crate) kind: OperationKind,
    /// Counted from 0.
    pub(crate) schema: u32,
    /// The first key, from 1.
    pub(crate) first: u64,
    /// A pause before it, ns.
    pub(crate) think_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Select,
    Update,
    Scan,
}

/// Says yes for an exact share of each hundred questions. Within a hundred, wishes decide as long as both answers are left, as
/// SLOB's quotas do.
#[derive(Clone, Debug)]
struct Quota {
    percent: f64,
    asked: f64,
    given: u64,
    yes_left: u32,
    no_left: u32,
}

impl Quota {
    fn new(percent: f64) -> Self {
        Quota { percent, asked: 0.0, given: 0, yes_left: 0, no_left: 0 }
    }

    fn take(&mut self, wish: bool) -> bool {
        if self.yes_left + self.no_left == 0 {
            // Fractions of a percent are carried to the next hundred.
            self.asked += self.percent;
            let whole = (self.asked + 1e-9).floor() as u64 - self.given;
            self.given += whole;
            self.yes_left = whole.min(100) as u32;
            self.no_left = 100 - self.yes_left;
        }
        let yes = self.yes_left > 0 && (wish || self.no_left == 0);
        match yes {
            true => self.yes_left -= 1,
            false => self.no_left -= 1,
        }
        yes
    }
}

/// The operations of one session, in their order.
#[derive(Clone, Debug)]
pub(crate) struct OperationMix {
    work: Session,
    home: u32,
    random: Xoshiro256Plus,
    asked: u64,
    updates: Quota,
    scans: Quota,
}

impl OperationMix {
    pub(crate) fn new(work: &Session, worker: u32, seed: u64) -> Self {
        OperationMix {
            home: worker % work.schemas.max(1),
            random: Xoshiro256Plus::seed_from_u64(
                seed ^ (u64::from(worker) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            ),
            asked: 0,
            updates: Quota::new(work.update_percent),
            scans: Quota::new(work.scan_percent),
            work: work.clone(),
        }
    }

    /// Schemas that the session may ever use, counted from 0.
    pub(crate) fn schemas(&self) -> Vec<u32> {
        match self.work.hot_schema_every > 0 && self.home > 0 {
            true => vec![0, self.home],
            false => vec![self.home],
        }
    }

    /// A whole number from 0 to `below` - 1.
    fn draw(&mut self, below: u64) -> u64 {
        (unit(self.random.next_u64()) * below as f64) as u64
    }

    pub(crate) fn next(&mut self) -> SessionOperation {
        self.asked += 1;
        let every = |frequency: u32| frequency > 0 && self.asked.is_multiple_of(u64::from(frequency));
        let hot_schema = every(self.work.hot_schema_every);
        let spot = self.work.hotspot.filter(|spot| every(spot.every));
        let (offset, blocks) = spot.map_or((0, self.work.blocks), |spot| (spot.offset, spot.blocks));
        let unit = match self.work.update_percent > 0.0 {
            true => self.work.work_unit.max(self.work.update_unit),
            false => self.work.work_unit,
        };
        let first = offset + 1 + self.draw((blocks + 1).saturating_sub(u64::from(unit)).max(1));
        let think_ns = match self.work.think {
            Some(think) if first.is_multiple_of(u64::from(think.every.max(1))) => {
                think.least.0 + self.draw(think.most.0.saturating_sub(think.least.0) + 1)
            }
            _ => 0,
        };
        let kind = if self.updates.take(first.is_multiple_of(2)) {
            OperationKind::Update
        } else if self.scans.take(self.asked.is_multiple_of(2)) {
            OperationKind::Scan
        } else {
            OperationKind::Select
        };
        SessionOperation { kind, schema: if hot_schema { 0 } else { self.home }, first, think_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Hotspot, Nanos, RandomThink, TargetId};

    fn work() -> Session {
        Session::selects(TargetId(0), 4, 1000)
    }

    fn take(work: &Session, worker: u32, count: usize) -> Vec<SessionOperation> {
        let mut mix = OperationMix::new(work, worker, 7);
        (0..count).map(|_| mix.next()).collect()
    }

    fn count(chosen: &[SessionOperation], kind: OperationKind) -> usize {
        chosen.iter().filter(|c| c.kind == kind).count()
    }

    #[test]
    fn the_mix_is_exact_in_each_hundred() {
        let work = Session { update_percent: 10.0, scan_percent: 50.0, ..work() };
        for hundred in take(&work, 0, 500).chunks(100) {
            assert_eq!(count(hundred, OperationKind::Update), 10);
        }
        let all = take(&work, 0, 1000);
        assert_eq!((count(&all, OperationKind::Scan), count(&all, OperationKind::Select)), (450, 450));
        let only = Session { update_percent: 100.0, scan_percent: 100.0, ..work.clone() };
        assert_eq!(count(&take(&only, 0, 300), OperationKind::Update), 300);
        let fraction = Session { update_percent: 12.5, scan_percent: 0.0, ..work };
        assert_eq!(count(&take(&fraction, 0, 800), OperationKind::Update), 100);
    }

    #[test]
    fn keys_cover_the_schema_and_a_unit_never_leaves_it() {
        let work = Session { blocks: 20, work_unit: 4, update_unit: 9, ..work() };
        let firsts = |work: &Session| -> Vec<u64> {
            let mut firsts: Vec<u64> = take(work, 0, 2000).iter().map(|c| c.first).collect();
            firsts.sort_unstable();
            firsts.dedup();
            firsts
        };
        assert!(firsts(&work).into_iter().eq(1..=17));
        assert!(firsts(&Session { update_percent: 1.0, ..work }).into_iter().eq(1..=12));
    }

    #[test]
    fn hotspot_and_hot_schema_come_at_their_frequency() {
        let work = Session {
            hotspot: Some(Hotspot { offset: 500, blocks: 10, every: 4 }),
            hot_schema_every: 3,
            ..work()
        };
        let chosen = take(&work, 6, 1200);
        assert_eq!(chosen.iter().filter(|c| c.schema == 0).count(), 400);
        assert!(chosen.iter().all(|c| c.schema == 0 || c.schema == 2));
        assert!(chosen.iter().skip(3).step_by(4).all(|c| (501..=510).contains(&c.first)));
        assert_eq!(OperationMix::new(&work, 6, 1).schemas(), [0, 2]);
        assert_eq!(OperationMix::new(&work, 4, 1).schemas(), [0]);
    }

    #[test]
    fn think_time_lies_between_its_bounds_and_sessions_differ() {
        let think = RandomThink { least: Nanos(5), most: Nanos(9), every: 2 };
        let work = Session { think: Some(think), ..work() };
        for chosen in take(&work, 0, 500) {
            let thinks = (5..=9).contains(&chosen.think_ns);
            assert!(if chosen.first % 2 == 0 { thinks } else { chosen.think_ns == 0 }, "{chosen:?}");
        }
        let firsts = |worker| take(&work, worker, 20).iter().map(|c| c.first).collect::<Vec<_>>();
        assert_eq!(firsts(0), firsts(0));
        assert_ne!(firsts(0), firsts(4));
    }
}
