//! How idle the processors are while a run goes on, by what is left of them: a thread on each, of the kernel's idle class, which
//! runs only when nobody else wants that processor and counts how often it wrote a page. Knows nothing of the run.
//!
//! share = units done x CPU time of one unit / time that passed, for each processor. A unit's CPU time is taken before the
//! run, at ordinary priority. Being counted in CPU time, it is not made longer by whoever shares the processor, so that
//! no share is much above the truth; it is cut at 100 % all the same.

use crate::{Clock, pin, sys};
use fathom_record::{Sample, SampleOf};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Stretches in which units are timed before a run, on each processor.
const STRETCHES: usize = 50;

/// CPU time of such a stretch, at least.
const STRETCH_NS: u64 = 100_000;

/// Units between two looks at the clock.
const UNITS_BETWEEN_LOOKS: u64 = 16;

/// Bytes that a unit of work writes.
const PAGE: usize = 4096;

const WAITING: u8 = 0;
const FILLING: u8 = 1;
const OVER: u8 = 2;

/// What a unit of work takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitWork {
    /// The mean of stretches of units, ns of CPU time.
    pub mean_ns: f64,
    /// How far the stretches' means lie apart, ns.
    pub deviation_ns: f64,
}

impl UnitWork {
    /// Mean and standard deviation of what was seen, ns.
    pub fn of(seen_ns: &[f64]) -> Self {
        let count = seen_ns.len().max(1) as f64;
        let mean_ns = seen_ns.iter().sum::<f64>() / count;
        let squares = seen_ns.iter().map(|ns| (ns - mean_ns).powi(2)).sum::<f64>();
        UnitWork { mean_ns, deviation_ns: (squares / (count - 1.0).max(1.0)).sqrt() }
    }
}

/// What was left of a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leftover {
    /// Its number.
    pub cpu: usize,
    /// Units that were done.
    pub units: u64,
    /// CPU time of one on this processor, ns.
    pub unit_ns: f64,
}

impl Leftover {
    /// The share of `elapsed_ns` that was left, 0 to 1.
    pub fn share(&self, elapsed_ns: u64) -> f64 {
        (self.units as f64 * self.unit_ns / elapsed_ns.max(1) as f64).min(1.0)
    }
}

/// What was left of all processors.
#[derive(Clone, Debug, PartialEq)]
pub struct Idleness {
    /// Of each.
    pub each: Vec<Leftover>,
    /// How long it was looked at, ns.
    pub elapsed_ns: u64,
    /// A unit of work, over all processors.
    pub unit: UnitWork,
}

impl Idleness {
    /// As samples of a run: `idleness` has `unit_mean_ps` and `unit_deviation_ps`, `idleness cpu N` has `share_ppm`,
    /// `units` and `elapsed_ns`.
    pub fn samples(&self, at_ns: u64) -> Vec<Sample> {
        let sample = |cpu: Option<u32>, name: &'static str, value: u64| Sample {
            at_ns,
            of: SampleOf::Idleness(cpu),
            name: name.into(),
            value,
        };
        let mut samples = vec![
            sample(None, "unit_mean_ps", (self.unit.mean_ns * 1000.0) as u64),
            sample(None, "unit_deviation_ps", (self.unit.deviation_ns * 1000.0) as u64),
        ];
        for left in &self.each {
            let cpu = Some(left.cpu as u32);
            samples.push(sample(cpu, "share_ppm", (left.share(self.elapsed_ns) * 1e6) as u64));
            samples.push(sample(cpu, "units", left.units));
            samples.push(sample(cpu, "elapsed_ns", self.elapsed_ns));
        }
        samples
    }
}

/// A thread and its processor.
struct Filling {
    cpu: usize,
    unit_ns: f64,
    units: Arc<Counted>,
    thread: JoinHandle<()>,
}

impl Filling {
    fn left(&self) -> Leftover {
        Leftover { cpu: self.cpu, units: self.units.0.load(Ordering::Relaxed), unit_ns: self.unit_ns }
    }
}

/// Units that a thread has done, in a line of the cache of its own.
#[derive(Default)]
#[repr(align(128))]
struct Counted(AtomicU64);

/// One thread on each processor, which fills what is left of it between [`IdleProbe::fill`] and [`IdleProbe::end`].
pub struct IdleProbe {
    threads: Vec<Filling>,
    phase: Arc<AtomicU8>,
    clock: Clock,
    began_ns: u64,
    unit: UnitWork,
}

impl IdleProbe {
    /// Starts a thread on each of these processors, all at once, and times units there: some ms.
    pub fn calibrate(cpus: &[usize]) -> std::io::Result<IdleProbe> {
        let phase = Arc::new(AtomicU8::new(WAITING));
        let mut probe = IdleProbe {
            threads: Vec::new(),
            phase: phase.clone(),
            clock: Clock::start(),
            began_ns: 0,
            unit: UnitWork::default(),
        };
        let mut told = Vec::new();
        for &cpu in cpus {
            let (tell, hear) = mpsc::channel();
            let (phase, units) = (phase.clone(), Arc::<Counted>::default());
            let counted = units.clone();
            let thread = std::thread::Builder::new()
                .name(format!("idle-{cpu}"))
                .spawn(move || one(cpu, &tell, &phase, &counted.0))?;
            probe.threads.push(Filling { cpu, unit_ns: 0.0, units, thread });
            told.push(hear);
        }
        let mut all = Vec::new();
        for (filling, hear) in probe.threads.iter_mut().zip(told) {
            let seen =
                hear.recv().map_err(|_| std::io::Error::other("a thread of the idle class ended"))??;
            filling.unit_ns = UnitWork::of(&seen).mean_ns;
            all.extend(seen);
        }
        probe.unit = UnitWork::of(&all);
        Ok(probe)
    }

    /// What a unit takes, over all processors.
    pub fn unit(&self) -> UnitWork {
        self.unit
    }

    /// Begins to fill.
    pub fn fill(&mut self) {
        self.began_ns = self.clock.now();
        self.turn(FILLING);
    }

    /// Ends it and tells what was left.
    pub fn end(mut self) -> Idleness {
        self.turn(OVER);
        let elapsed_ns = self.clock.now() - self.began_ns;
        let each = self.threads.iter().map(Filling::left).collect();
        for filling in std::mem::take(&mut self.threads) {
            // It has no way to fail, and what it counted is known.
            let _ = filling.thread.join();
        }
        Idleness { each, elapsed_ns, unit: self.unit }
    }

    /// What was left until now; it goes on.
    pub fn so_far(&self) -> Idleness {
        let elapsed_ns = self.clock.now() - self.began_ns;
        Idleness { each: self.threads.iter().map(Filling::left).collect(), elapsed_ns, unit: self.unit }
    }

    fn turn(&self, phase: u8) {
        self.phase.store(phase, Ordering::Relaxed);
        self.threads.iter().for_each(|filling| filling.thread.thread().unpark());
    }
}

impl Drop for IdleProbe {
    fn drop(&mut self) {
        self.turn(OVER);
    }
}

/// The thread of one processor: times units, becomes idle, fills, and tells how many units it did.
fn one(cpu: usize, tell: &mpsc::Sender<std::io::Result<Vec<f64>>>, phase: &AtomicU8, told: &AtomicU64) {
    pin(&[cpu]);
    let mut page = vec![0u8; PAGE];
    let seen = (0..STRETCHES).map(|_| stretch(&mut page)).collect();
    let _ = tell.send(sys::become_idle().map(|()| seen));
    let mut units = 0u64;
    loop {
        match phase.load(Ordering::Relaxed) {
            WAITING => std::thread::park(),
            FILLING => {
                touch(&mut page, units);
                units += 1;
                told.store(units, Ordering::Relaxed);
            }
            _ => return,
        }
    }
}

/// A unit of work: each byte of a page by itself, so that it takes microseconds.
fn touch(page: &mut [u8], number: u64) {
    for byte in page {
        *std::hint::black_box(byte) = number as u8;
    }
}

/// The mean CPU time of a stretch of units, ns.
fn stretch(page: &mut [u8]) -> f64 {
    let began_ns = own_cpu_ns();
    let mut units = 0;
    loop {
        for _ in 0..UNITS_BETWEEN_LOOKS {
            touch(page, units);
            units += 1;
        }
        let passed_ns = own_cpu_ns() - began_ns;
        if passed_ns >= STRETCH_NS {
            return passed_ns as f64 / units as f64;
        }
    }
}

fn own_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_units_times_what_one_takes() {
        let left = Leftover { cpu: 1, units: 5_000, unit_ns: 100.0 };
        assert_eq!(left.share(1_000_000), 0.5);
        assert_eq!(left.share(100), 1.0);
        assert_eq!(UnitWork::of(&[1.0, 3.0]), UnitWork { mean_ns: 2.0, deviation_ns: 2f64.sqrt() });
        assert_eq!(UnitWork::of(&[]), UnitWork::default());
    }

    #[test]
    fn samples_hold_what_was_counted() {
        let each = vec![Leftover { cpu: 3, units: 5, unit_ns: 100.0 }];
        let unit = UnitWork { mean_ns: 100.5, deviation_ns: 0.25 };
        let samples = Idleness { each, elapsed_ns: 1000, unit }.samples(7);
        let told: Vec<String> =
            samples.iter().map(|sample| format!("{} {}={}", sample.of, sample.name, sample.value)).collect();
        assert_eq!(
            told,
            [
                "idleness unit_mean_ps=100500",
                "idleness unit_deviation_ps=250",
                "idleness cpu 3 share_ppm=500000",
                "idleness cpu 3 units=5",
                "idleness cpu 3 elapsed_ns=1000",
            ]
        );
        assert!(samples.iter().all(|sample| sample.at_ns == 7));
    }

    #[test]
    fn a_thread_of_the_idle_class_counts_between_fill_and_end() {
        let mut probe = IdleProbe::calibrate(&[0]).unwrap();
        assert!(probe.unit().mean_ns > 1.0);
        probe.fill();
        // However busy the machine is, an idle thread gets a little of it at last.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let before = probe.so_far();
        let idleness = probe.end();
        assert!(before.each[0].units <= idleness.each[0].units && before.elapsed_ns <= idleness.elapsed_ns);
        assert_eq!(idleness.each.len(), 1);
        assert!(idleness.elapsed_ns >= 30_000_000);
        assert!((0.0..=1.0).contains(&idleness.each[0].share(idleness.elapsed_ns)));
        drop(IdleProbe::calibrate(&[0]).unwrap());
    }
}
