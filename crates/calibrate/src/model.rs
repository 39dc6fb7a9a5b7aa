//! A device as a formula, for tests: `ways` servers of a fixed service time, so that `load` outstanding give
//! `min(load, ways) / service` a second, each in `load / rate`. Noise is a fixed, irregular sequence.

use crate::plan::tests::planner;
use crate::precision::Precision;
use crate::schedule::{Calibration, Job, Question, Step};
use crate::stopper::Until;
use fathom_record::{
    CELLS, Cell, Control, Counts, Interval, Latency, Phase, Run, Steer, Totals, WorkerTotals,
};
use fathom_spec::{LatencyLimit, Nanos, Statistic, StreamId, Verb, Window};

/// A device whose rates follow from a formula.
pub struct Model {
    /// Operations that it serves at a time.
    pub ways: u32,
    pub service_ns: u64,
    /// Operations a second that a throttle lets through.
    pub throttle: f64,
    /// Deviation of a slot's count, as a share of it.
    pub noise: f64,
    pub overhead_ns: u64,
    /// By what a second reading is faster.
    pub again: u64,
}

/// What a calibration of so many seconds asks in these tests.
pub fn question(seconds: u64) -> Question {
    Question {
        limit: LatencyLimit { of: Statistic::Mean, at_most: Nanos::from_millis(20) },
        disks: 1,
        small_most: 1024,
        large_most: 64,
        time: Nanos::from_seconds(seconds),
        precision: Precision::Fast,
        read_only: false,
        mixed: false,
    }
}

impl Model {
    /// 100 us a small operation, steady and without a throttle.
    pub fn new(ways: u32) -> Self {
        Model {
            ways,
            service_ns: 100_000,
            throttle: f64::INFINITY,
            noise: 0.0,
            overhead_ns: 20_000_000,
            again: 1,
        }
    }

    /// The run that a job would be on it.
    pub fn execute(&self, job: &Job, began: Nanos) -> Run {
        let load: u32 = job.plan.streams.iter().map(|s| s.workers * s.depth.most()).sum();
        let pieces = if job.phase.is_large() { 16 } else { 1 };
        let faster = if job.phase == Phase::SampleAgain { self.again } else { 1 };
        let service = (self.service_ns * pieces / faster).max(1);
        let rate = (f64::from(load.min(self.ways)) * 1e9 / service as f64).min(self.throttle);
        let latency_ns = (f64::from(load) / rate * 1e9).round() as u64;
        let slot_ns = job.plan.slot.0;
        let stop = &job.plan.streams[0].stop;
        let (first, last) = match job.plan.streams[0].window {
            Window::Inside { before, length } => (before.0 / slot_ns, (before.0 + length.0) / slot_ns),
            _ => (0, stop.time.map_or(0, |time| time.0 / slot_ns)),
        };
        let operations_most = stop.operations.map(|o| o * u64::from(job.plan.streams[0].workers));
        let mut until = Until::new(job.rule);
        let mut totals =
            [Totals { outstanding: u64::from(load), ..Totals::running(StreamId(0), &[Verb::Read]) }];
        let (mut slots, mut slot, mut carried) = (Vec::new(), 0, 0.0);
        let mut latencies = Latency::default();
        while slot < last && operations_most.is_none_or(|most| totals[0].counts[0].operations < most) {
            carried += rate * slot_ns as f64 / 1e9 * (1.0 + self.noise * wobble(slot));
            let operations = (carried + 1e-6) as u64;
            carried -= operations as f64;
            let size = if pieces > 1 { 1 << 20 } else { 8192 };
            let counts = Counts {
                operations,
                bytes: operations * size,
                latency_sum_ns: operations * latency_ns,
                ..Counts::default()
            };
            totals[0].counts[0].merge(&counts);
            if slot >= first {
                let mut row = [Counts::default(); CELLS];
                row[0] = counts;
                slots.push(row);
                latencies.count += operations;
                latencies.sum_ns += operations * latency_ns;
                latencies.sum_squares += operations as f64 * (latency_ns as f64).powi(2);
                (latencies.min_ns, latencies.max_ns) = (latency_ns, latency_ns);
                if let Some(bins) = &mut latencies.bins {
                    bins.add_many(latency_ns, operations as u32);
                }
            }
            slot += 1;
            if until.slot(slot * slot_ns, &totals) != Steer::Continue {
                break;
            }
        }
        let cell = Cell { service: Some(Box::new(latencies)), ..Cell::default() };
        let mut interval = Interval::new(StreamId(0), 0, vec![(Verb::Read, cell)], 0);
        interval.start_ns = first * slot_ns;
        interval.length_ns = slots.len() as u64 * slot_ns;
        interval.slots = slots;
        self.run(job, began, slot * slot_ns + latency_ns, interval, totals[0].counts[0])
    }

    fn run(&self, job: &Job, began: Nanos, length_ns: u64, interval: Interval, counts: Counts) -> Run {
        let worker = WorkerTotals {
            user_ns: length_ns / 10,
            system_ns: length_ns / 10,
            counts: vec![(Verb::Read, counts)],
            ..WorkerTotals::finished(StreamId(0), 0, (0, length_ns))
        };
        Run {
            name: job.name.clone(),
            phase: Some(job.phase),
            purpose: job.purpose,
            load: job.load,
            began_ns: began.0,
            length_ns,
            intervals: vec![interval],
            workers: vec![worker],
            ..Run::empty(&job.plan)
        }
    }
}

/// Between -1 and 1, irregular, the same everywhere.
fn wobble(slot: u64) -> f64 {
    let mixed =
        (slot + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Runs a whole calibration on a model; answers it, the runs and the time that was spent.
pub fn calibrate(model: &Model, question: Question) -> (Calibration, Vec<Run>, Nanos) {
    let mut calibration = Calibration::new(question, planner());
    let (mut spent, mut runs) = (Nanos(0), Vec::<Run>::new());
    while let Step::Run(job) = calibration.next(spent, runs.last()) {
        let run = model.execute(&job, spent);
        spent = Nanos(spent.0 + run.length_ns + model.overhead_ns);
        runs.push(run);
    }
    (calibration, runs, spent)
}
