//! Which requests count, and the statistics of those that do. Knows no lines and no units.

use crate::Options;
use fathom_spec::Nanos;

/// What becomes of a request in the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It moved nothing, because it would have had to wait (`-N`).
    WouldWait,
    /// It moved nothing.
    Empty,
    /// One of the first (`-a`).
    Warmup,
    /// Below `-t`.
    TooFast,
    /// Above `-T`.
    TooSlow,
    /// It counts.
    Counted,
}

impl Fate {
    /// That of request `number`, counted from 1, which moved so many bytes in this time.
    pub fn of(options: &Options, number: u64, moved: u64, time: Nanos) -> Self {
        match () {
            () if moved == 0 && options.nowait => Fate::WouldWait,
            () if moved == 0 => Fate::Empty,
            () if number <= options.warmup => Fate::Warmup,
            () if time < options.time_min => Fate::TooFast,
            () if options.time_max.is_some_and(|most| time > most) => Fate::TooSlow,
            () => Fate::Counted,
        }
    }

    /// Did the request move anything? One that did not is not even generated.
    fn moved(self) -> bool {
        !matches!(self, Fate::WouldWait | Fate::Empty)
    }
}

/// Sums over requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that moved something.
    pub generated: u64,
    /// Of them, below `-t`.
    pub too_fast: u64,
    /// Of them, above `-T`.
    pub too_slow: u64,
    /// Of them, those that count.
    pub counted: u64,
    sum_ns: u64,
    squares: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Tally {
    /// Takes in a request.
    pub fn add(&mut self, fate: Fate, time: Nanos) {
        self.generated += u64::from(fate.moved());
        self.too_fast += u64::from(fate == Fate::TooFast);
        self.too_slow += u64::from(fate == Fate::TooSlow);
        if fate == Fate::Counted {
            self.min_ns = if self.counted == 0 { time.0 } else { self.min_ns.min(time.0) };
            self.max_ns = self.max_ns.max(time.0);
            self.counted += 1;
            self.sum_ns = self.sum_ns.saturating_add(time.0);
            self.squares = self.squares.saturating_add(u128::from(time.0) * u128::from(time.0));
        }
    }

    /// The statistics of the requests that count.
    pub fn statistics(&self) -> Statistics {
        let count = self.counted.max(1) as f64;
        Statistics {
            time: Nanos(self.sum_ns),
            rate: rate(self.counted, Nanos(self.sum_ns)),
            min: Nanos(self.min_ns),
            average_ns: self.sum_ns as f64 / count,
            max: Nanos(self.max_ns),
            deviation_ns: self.deviation_ns(),
        }
    }

    /// The square root of the mean square less the square of the mean, ns. The sums are whole numbers: ioping's are not, and
    /// of tens of milliseconds that differ by nanoseconds they leave nothing, or `-nan`.
    fn deviation_ns(&self) -> f64 {
        let count = u128::from(self.counted);
        let sum = u128::from(self.sum_ns);
        let spread = count.checked_mul(self.squares).zip(sum.checked_mul(sum));
        match spread {
            Some((squares, square)) if count > 0 => {
                (squares.saturating_sub(square) as f64).sqrt() / count as f64
            }
            Some(_) => 0.0,
            // More than 128 bits hold: the differences are then far above what a float loses.
            None => {
                let mean = self.sum_ns as f64 / count as f64;
                (self.squares as f64 / count as f64 - mean * mean).max(0.0).sqrt()
            }
        }
    }

    /// Is this time, which is already among those that count, more than twice the average or less than half of it? Only
    /// where six or more count. The average is one of whole nanoseconds.
    pub(crate) fn stands_out(&self, time: Nanos) -> Option<&'static str> {
        if self.counted <= FEW {
            return None;
        }
        let average_ns = self.sum_ns / self.counted;
        match () {
            () if time.0 > average_ns.saturating_mul(2) => Some("slow"),
            () if time.0.saturating_mul(2) < average_ns => Some("fast"),
            () => None,
        }
    }
}

/// So few requests have no average from which another could stand out.
const FEW: u64 = 5;

/// So many in such a time, a second; 0 in no time.
pub(crate) fn rate(amount: u64, time: Nanos) -> f64 {
    if time.0 == 0 { 0.0 } else { amount as f64 * 1e9 / time.0 as f64 }
}

/// What is said of the requests that count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// What they took together.
    pub time: Nanos,
    /// Requests a second of that time.
    pub rate: f64,
    /// The fastest.
    pub min: Nanos,
    /// The mean, nanoseconds.
    pub average_ns: f64,
    /// The slowest.
    pub max: Nanos,
    /// The standard deviation of the population, nanoseconds.
    pub deviation_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[u64]) -> Tally {
        let mut tally = Tally::default();
        times.iter().for_each(|time| tally.add(Fate::Counted, Nanos(*time)));
        tally
    }

    fn stands_out(before: &[u64], time: u64) -> Option<&'static str> {
        of(&[before, &[time]].concat()).stands_out(Nanos(time))
    }

    #[test]
    fn a_request_stands_out_at_twice_or_half_the_whole_average_and_among_six() {
        assert_eq!(stands_out(&[10_000; 4], 90_000), None);
        assert_eq!(stands_out(&[10_000; 5], 90_000), Some("slow"));
        assert_eq!(stands_out(&[10_000; 5], 24_999), Some("slow"));
        assert_eq!(stands_out(&[10_000; 5], 25_000), None);
        assert_eq!(stands_out(&[10_000; 5], 25_001), Some("slow"));
        assert_eq!(stands_out(&[10_000; 5], 4_544), Some("fast"));
        assert_eq!(stands_out(&[10_000; 5], 4_545), None);
        assert_eq!(stands_out(&[10_001; 5], 4_545), Some("fast"));
    }

    #[test]
    fn the_deviation_is_that_of_the_population_and_exact() {
        assert_eq!(of(&[2_000_000, 5_000_000, 1_000_000]).statistics().deviation_ns.round(), 1_699_673.0);
        let second = 100_000_000_000;
        assert_eq!(of(&[second, second + 2]).statistics().deviation_ns, 1.0);
    }

    #[test]
    fn of_nothing_all_is_zero() {
        assert_eq!(Tally::default().statistics(), Statistics::default());
        assert_eq!(of(&[0, 0]).statistics(), Statistics::default());
    }

    #[test]
    fn fates_are_judged_in_order() {
        let options =
            Options { warmup: 1, time_min: Nanos(100), time_max: Some(Nanos(50)), ..Options::default() };
        assert_eq!(Fate::of(&options, 1, 4096, Nanos(1)), Fate::Warmup);
        assert_eq!(Fate::of(&options, 2, 4096, Nanos(99)), Fate::TooFast);
        assert_eq!(Fate::of(&options, 2, 4096, Nanos(100)), Fate::TooSlow);
        assert_eq!(Fate::of(&options, 1, 0, Nanos(100)), Fate::Empty);
        let nowait = Options { nowait: true, ..options };
        assert_eq!(Fate::of(&nowait, 1, 0, Nanos(100)), Fate::WouldWait);
    }

    proptest! {
        #[test]
        fn the_average_lies_between_the_fastest_and_the_slowest(times in prop::collection::vec(0u64..1 << 40, 1..50)) {
            let figures = of(&times).statistics();
            prop_assert!(figures.min.0 as f64 <= figures.average_ns);
            prop_assert!(figures.average_ns <= figures.max.0 as f64);
            prop_assert!(figures.deviation_ns <= (figures.max.0 - figures.min.0) as f64);
        }
    }
}
