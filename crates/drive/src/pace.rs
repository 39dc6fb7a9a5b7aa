//! When the next operation of a verb may start. Per verb, so that fio's `rate=1m,500k` holds back one direction
//! and not the other.

use fathom_record::CELLS;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The timetable of a worker.
#[derive(Clone, Debug)]
pub enum Pace {
    /// As soon as there is room.
    Closed,
    /// By a metronome for each cell that has one.
    Open(Box<[Option<Metronome>; CELLS]>),
    /// By one metronome for all cells: whatever comes next takes the next due time.
    Joint(Box<Metronome>),
}

/// A timetable of one verb.
#[derive(Clone, Debug)]
pub struct Metronome {
    /// The next due time, ns since the run's start.
    next_ns: f64,
    /// The mean gap between operations (or bytes), ns.
    gap_ns: f64,
    /// Where random gaps come from, if they are.
    random: Option<Xoshiro256Plus>,
    /// Gaps count bytes, not operations.
    by_bytes: bool,
}

impl Metronome {
    /// `per_second` operations (or bytes) a second from `start_ns` on. With a seed the gaps are exponential.
    pub fn new(start_ns: u64, per_second: f64, by_bytes: bool, poisson_seed: Option<u64>) -> Self {
        let mut metronome = Metronome {
            next_ns: start_ns as f64,
            gap_ns: 1e9 / per_second,
            random: poisson_seed.map(Xoshiro256Plus::seed_from_u64),
            by_bytes,
        };
        if metronome.random.is_some() {
            metronome.next_ns += metronome.draw() * metronome.gap_ns;
        }
        metronome
    }

    /// A factor with mean 1: exponential by inversion, -ln(1 - u), or 1.
    fn draw(&mut self) -> f64 {
        match &mut self.random {
            None => 1.0,
            Some(random) => -(1.0 - unit(random.next_u64())).ln(),
        }
    }
}

/// A number in [0, 1) from the upper 53 bits.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

impl Pace {
    /// When the next operation of a cell is due.
    #[inline(always)]
    pub fn due(&self, cell: u8, now_ns: u64) -> u64 {
        match self {
            Pace::Closed => now_ns,
            Pace::Open(cells) => cells[cell as usize].as_ref().map_or(now_ns, |m| m.next_ns as u64),
            Pace::Joint(metronome) => metronome.next_ns as u64,
        }
    }

    /// Books one operation of a cell.
    #[inline(always)]
    pub fn take(&mut self, cell: u8, bytes: u32) {
        let metronome = match self {
            Pace::Closed => None,
            Pace::Open(cells) => cells[cell as usize].as_mut(),
            Pace::Joint(metronome) => Some(&mut **metronome),
        };
        if let Some(metronome) = metronome {
            let amount = if metronome.by_bytes { f64::from(bytes) } else { 1.0 };
            metronome.next_ns += metronome.gap_ns * amount * metronome.draw();
        }
    }

    /// Sets a new rate from the next operation on.
    pub fn set_rate(&mut self, per_second: f64) {
        let all = match self {
            Pace::Closed => return,
            Pace::Open(cells) => cells.as_mut_slice(),
            Pace::Joint(metronome) => return metronome.gap_ns = 1e9 / per_second,
        };
        all.iter_mut().flatten().for_each(|metronome| metronome.gap_ns = 1e9 / per_second);
    }

    /// When the next operation of any cell is due. `None` without a timetable.
    pub fn earliest(&self) -> Option<u64> {
        match self {
            Pace::Closed => None,
            Pace::Open(cells) => cells.iter().flatten().map(|metronome| metronome.next_ns as u64).min(),
            Pace::Joint(metronome) => Some(metronome.next_ns as u64),
        }
    }

    /// How many operations are due before a moment, by the mean gap; those of timetables by bytes are not known.
    pub fn due_before(&self, to_ns: u64) -> u64 {
        let left = |metronome: &Metronome| {
            let counted = !metronome.by_bytes && metronome.gap_ns > 0.0;
            if counted {
                ((to_ns as f64 - metronome.next_ns) / metronome.gap_ns).ceil().max(0.0) as u64
            } else {
                0
            }
        };
        match self {
            Pace::Closed => 0,
            Pace::Open(cells) => cells.iter().flatten().map(left).sum(),
            Pace::Joint(metronome) => left(metronome),
        }
    }

    /// Is there a timetable, so that response and service times differ?
    pub fn is_open(&self) -> bool {
        !matches!(self, Pace::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_gaps_have_their_mean_and_are_the_same_for_the_same_seed() {
        let run = || {
            let mut pace =
                Pace::Open(Box::new([Some(Metronome::new(0, 1e6, false, Some(7))), None, None, None]));
            for _ in 0..100_000 {
                pace.take(0, 1);
            }
            pace.due(0, 0)
        };
        assert_eq!(run(), run());
        assert!((run() as f64 - 1e8).abs() < 1e6, "{}", run());
    }

    #[test]
    fn a_joint_timetable_gives_its_times_to_whatever_comes_next() {
        let mut pace = Pace::Joint(Box::new(Metronome::new(0, 1e9 / 10.0, false, None)));
        let mut due = Vec::new();
        for cell in [0, 1, 1, 3] {
            due.push(pace.due(cell, 7));
            pace.take(cell, 0);
        }
        pace.set_rate(1e9 / 5.0);
        pace.take(2, 0);
        assert_eq!((due, pace.due(0, 7), pace.is_open()), (vec![0, 10, 20, 30], 45, true));
    }

    #[test]
    fn one_direction_is_held_back_and_the_other_is_not() {
        let mut pace =
            Pace::Open(Box::new([Some(Metronome::new(5, 1e9 / 8.0, true, None)), None, None, None]));
        pace.take(0, 4096);
        pace.take(1, 4096);
        assert_eq!((pace.due(0, 9), pace.due(1, 9)), (5 + 8 * 4096, 9));
    }
}
