//! Random processes whose true mean is known, and the coverage of the sequential rule on them.
//!
//! Shared by the example that prints the table and by the test that asserts a small one.

use fathom_stats::{Decision, Slot, Stopper, StoppingRule};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// A source of slots whose true ratio is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Process {
    /// Independent, exponential, mean 1.
    Exponential,
    /// Independent, lognormal with sigma 1: the skew of latencies.
    Lognormal,
    /// Autoregressive of first order, coefficient 0.8, mean 1 and standard deviation 0.5, from its stationary state.
    Autoregressive,
    /// Sojourn times of successive customers of an M/M/1 queue at load 0.8, from its stationary state; mean 5.
    Queue,
    /// The same from an empty queue: it has to warm up.
    QueueFromEmpty,
    /// The same queue in slots of 50 service times: sum of sojourn times over customers arrived, a true ratio.
    QueueInSlots,
}

impl Process {
    /// All, in the order of the table.
    pub const ALL: [Process; 6] = [
        Process::Exponential,
        Process::Lognormal,
        Process::Autoregressive,
        Process::Queue,
        Process::QueueFromEmpty,
        Process::QueueInSlots,
    ];

    /// What the table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Process::Exponential => "i.i.d. exponential",
            Process::Lognormal => "i.i.d. lognormal (sigma 1)",
            Process::Autoregressive => "AR(1) 0.8, cv 0.5",
            Process::Queue => "M/M/1 0.8 sojourn",
            Process::QueueFromEmpty => "M/M/1 0.8, from empty",
            Process::QueueInSlots => "M/M/1 0.8, ratio in slots",
        }
    }

    /// The true mean.
    pub fn truth(self) -> f64 {
        match self {
            Process::Exponential | Process::Autoregressive => 1.0,
            Process::Lognormal => 0.5_f64.exp(),
            Process::Queue | Process::QueueFromEmpty | Process::QueueInSlots => 5.0,
        }
    }
}

/// One run of a process.
pub struct Source {
    process: Process,
    random: Xoshiro256PlusPlus,
    /// The last value of the autoregression, or the work before the server.
    state: f64,
    /// Time to the next arrival, for the queue in slots.
    until_arrival: f64,
}

const ARRIVALS: f64 = 0.8;
const SLOT_LENGTH: f64 = 50.0;

impl Source {
    /// A run that is decided by its seed.
    pub fn new(process: Process, seed: u64) -> Source {
        let mut source = Source {
            process,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            state: 0.0,
            until_arrival: 0.0,
        };
        source.state = match process {
            Process::Autoregressive => source.normal(),
            // An arriving customer waits with probability 0.8, then exponentially with rate 1 - 0.8.
            Process::Queue | Process::QueueInSlots if source.uniform() < ARRIVALS => {
                source.exponential() / (1.0 - ARRIVALS)
            }
            _ => 0.0,
        };
        source
    }

    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Sojourn of the customer who arrives now, after which the queue runs to the next arrival (Lindley's recursion).
    fn sojourn(&mut self) -> (f64, f64) {
        let sojourn = self.state + self.exponential();
        let gap = self.exponential() / ARRIVALS;
        self.state = (sojourn - gap).max(0.0);
        (sojourn, gap)
    }

    /// The next slot.
    pub fn slot(&mut self) -> Slot {
        match self.process {
            Process::Exponential => Slot::of(self.exponential()),
            Process::Lognormal => Slot::of(self.normal().exp()),
            Process::Autoregressive => {
                let value = self.state;
                self.state = 0.8 * value + 0.6 * self.normal();
                Slot::of(1.0 + 0.5 * value)
            }
            Process::Queue | Process::QueueFromEmpty => Slot::of(self.sojourn().0),
            Process::QueueInSlots => {
                let mut slot = Slot::default();
                while self.until_arrival < SLOT_LENGTH {
                    let (sojourn, gap) = self.sojourn();
                    slot.add(Slot::of(sojourn));
                    self.until_arrival += gap;
                }
                self.until_arrival -= SLOT_LENGTH;
                slot
            }
        }
    }
}

/// What many runs of one process came to.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Runs whose interval held the truth.
    pub held: usize,
    /// Runs that used up their slots first.
    pub exhausted: usize,
    /// Length of each run in slots.
    pub lengths: Vec<usize>,
}

impl Coverage {
    /// Adds the runs of another.
    pub fn merge(&mut self, other: Coverage) {
        let Coverage { held, exhausted, lengths } = other;
        self.held += held;
        self.exhausted += exhausted;
        self.lengths.extend(lengths);
    }

    /// The share of intervals that held the truth.
    pub fn share(&self) -> f64 {
        self.held as f64 / self.lengths.len() as f64
    }
}

/// Runs the rule on the seeds given.
pub fn coverage(process: Process, rule: StoppingRule, seeds: impl Iterator<Item = u64>) -> Coverage {
    let mut result = Coverage::default();
    for seed in seeds {
        let mut source = Source::new(process, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ process as u64);
        let mut stopper = Stopper::new(rule);
        while stopper.push(source.slot()) == Decision::Continue {}
        let outcome = stopper.finish();
        result.held += usize::from(outcome.estimate.is_some_and(|e| e.holds(process.truth())));
        result.exhausted += usize::from(!outcome.converged);
        result.lengths.push(outcome.slots);
    }
    result
}
