//! Simulated devices on a virtual clock, and the calendar of what they will complete: no randomness of scheduling, so that
//! a run is the same every time and a search can be held to the exact answer.
//!
//! It is written `sim:ways=32,service=100us,...`:
//!
//! | word | meaning | default |
//! |---|---|---|
//! | `ways` | I/Os that are served at the same time | 1 |
//! | `service` | time of one I/O of up to 64 KiB; longer ones take a multiple | 100us |
//! | `size` | bytes of the device | 1g |
//! | `cache`, `hit` | bytes at the start that answer from a cache, and their service time | 0, 5us |
//! | `cliff`, `steep` | outstanding I/Os above which every service takes `steep` times as long | none, 4 |
//! | `drift` | percent by which the service time grows each minute | 0 |
//! | `fail` | every n-th operation fails with EIO | none |
//! | `flush` | time of a sync, which waits for no other I/O | 1ms |

use crate::{Completion, Operation, Queue};
use fathom_spec::{Bytes, Nanos, Verb};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::str::FromStr;

/// What a simulated device is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// I/Os served at the same time.
    pub ways: usize,
    /// Time of one I/O, ns.
    pub service_ns: u64,
    /// Bytes.
    pub size_bytes: u64,
    /// Bytes at the start that a cache answers.
    pub cache_bytes: u64,
    /// Time of a hit, ns.
    pub hit_ns: u64,
    /// Outstanding I/Os above which it slows down.
    pub cliff: usize,
    /// How much it slows down there.
    pub steep: u64,
    /// Percent a minute.
    pub drift_percent: f64,
    /// Every n-th operation fails; 0: none.
    pub fail: u64,
    /// Time of a sync, ns.
    pub flush_ns: u64,
}

impl Default for Device {
    fn default() -> Self {
        Device {
            ways: 1,
            service_ns: 100_000,
            size_bytes: 1 << 30,
            cache_bytes: 0,
            hit_ns: 5_000,
            cliff: usize::MAX,
            steep: 4,
            drift_percent: 0.0,
            fail: 0,
            flush_ns: 1_000_000,
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut device = Device::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("{word:?} is not a setting such as ways=32"))?;
            let number =
                || value.parse::<u64>().map_err(|_| format!("{key}={value:?} is not a whole number"));
            let time = || time_of(key, value);
            let size = || value.parse::<Bytes>().map(|b| b.0).map_err(|e| format!("{key}: {e}"));
            match key {
                "ways" => match number()? {
                    ways @ 1..=65_536 => device.ways = ways as usize,
                    ways => return Err(format!("ways={ways} is not a number from 1 to 65536")),
                },
                "service" => device.service_ns = time()?,
                "size" => device.size_bytes = size()?,
                "cache" => device.cache_bytes = size()?,
                "hit" => device.hit_ns = time()?,
                "cliff" => device.cliff = number()? as usize,
                "steep" => match number()? {
                    steep @ 0..=1000 => device.steep = steep.max(1),
                    steep => return Err(format!("steep={steep} is more than 1000")),
                },
                "drift" => {
                    let percent: f64 =
                        value.parse().map_err(|_| format!("drift={value:?} is not a number of percent"))?;
                    if !(-100.0..=1000.0).contains(&percent) {
                        return Err(format!("drift={value} is not from -100 to 1000 percent"));
                    }
                    device.drift_percent = percent;
                }
                "fail" => device.fail = number()?,
                "flush" => device.flush_ns = time()?,
                _ => {
                    let known = "ways, service, size, cache, hit, cliff, steep, drift, fail, flush";
                    return Err(format!("a simulated device has no {key:?}; it has {known}"));
                }
            }
        }
        Ok(device)
    }
}

/// A time of the device, at least 1 ns.
fn time_of(key: &str, value: &str) -> Result<u64, String> {
    let time: Nanos = value.parse().map_err(|e| format!("{key}: {e}"))?;
    match time.0 {
        ns if ns > TIME_MOST_NS => Err(format!("{key}={value} is more than an hour")),
        ns => Ok(ns.max(1)),
    }
}

/// An operation takes an hour at most, with everything that makes it longer.
const TIME_MOST_NS: u64 = 3_600_000_000_000;

impl Device {
    /// The longest that one operation of so many bytes can take, drift apart.
    pub fn longest_ns(&self, length: Bytes) -> u64 {
        let parts = length.0.div_ceil(1 << 16).max(1);
        let one = self.service_ns.max(self.hit_ns).saturating_mul(parts).saturating_mul(self.steep);
        one.saturating_add(self.flush_ns).min(TIME_MOST_NS)
    }

    fn service(&self, operation: &Operation, now_ns: u64, outstanding: usize) -> u64 {
        if operation.verb == Verb::Sync {
            return self.flush_ns;
        }
        let hit = operation.offset + u64::from(operation.length) <= self.cache_bytes;
        let one = if hit { self.hit_ns } else { self.service_ns };
        let mut time = one.saturating_mul(u64::from(operation.length).div_ceil(1 << 16).max(1));
        if outstanding > self.cliff {
            time = time.saturating_mul(self.steep);
        }
        if operation.verb == Verb::Commit {
            time = time.saturating_add(self.flush_ns);
        }
        let drifted = (time as f64 * (1.0 + self.drift_percent / 100.0 * now_ns as f64 / 60e9)) as u64;
        drifted.min(TIME_MOST_NS)
    }
}

/// Completions to come: when, in which order, for whom, under which tag, with what result.
type Calendar = BinaryHeap<Reverse<(u64, u64, usize, u32, i32)>>;

/// Devices, clock and calendar of one simulated run.
#[derive(Debug)]
pub struct World {
    now_ns: u64,
    /// Each with the moments when its ways are free, the first on top, and what is outstanding.
    devices: Vec<(Device, BinaryHeap<Reverse<u64>>, usize)>,
    calendar: Calendar,
    ready: Vec<Vec<Completion>>,
    order: u64,
    owner: Vec<Vec<u16>>,
}

impl World {
    /// A world of devices that nobody uses yet.
    pub fn new(devices: Vec<Device>) -> Rc<RefCell<World>> {
        let devices = devices
            .into_iter()
            .map(|d| {
                let ways = std::iter::repeat_n(Reverse(0), d.ways).collect();
                (d, ways, 0)
            })
            .collect();
        Rc::new(RefCell::new(World {
            now_ns: 0,
            devices,
            calendar: BinaryHeap::new(),
            ready: Vec::new(),
            order: 0,
            owner: Vec::new(),
        }))
    }

    /// Now, ns since the run's start.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Keeps every way of a device busy until this moment.
    pub fn occupy(&mut self, device: usize, until_ns: u64) {
        let (of, ways, _) = &mut self.devices[device];
        *ways = std::iter::repeat_n(Reverse(until_ns), of.ways).collect();
    }

    fn begin(&mut self, worker: usize, tag: u32, operation: &Operation) {
        let which = (operation.target as usize).min(self.devices.len() - 1);
        let (device, ways, outstanding) = &mut self.devices[which];
        *outstanding += 1;
        let free = ways.pop().map_or(0, |Reverse(free)| free);
        let service = device.service(operation, self.now_ns, *outstanding);
        let end = free.max(self.now_ns).saturating_add(service);
        ways.push(Reverse(end));
        self.order += 1;
        let failed = device.fail > 0 && self.order.is_multiple_of(device.fail);
        let result = if failed { -libc::EIO } else { operation.length as i32 };
        self.calendar.push(Reverse((end, self.order, worker, tag, result)));
        let owners = &mut self.owner[worker];
        if owners.len() <= tag as usize {
            owners.resize(tag as usize + 1, 0);
        }
        owners[tag as usize] = which as u16;
    }

    /// Moves the clock to the next completion, or to `until_ns` if that comes first.
    pub(crate) fn turn(&mut self, until_ns: u64) {
        let next = self.calendar.peek().map_or(until_ns, |Reverse(e)| e.0.min(until_ns));
        self.now_ns = self.now_ns.max(next);
        while let Some(Reverse((_, _, worker, tag, result))) =
            self.calendar.peek().copied().filter(|Reverse(e)| e.0 <= self.now_ns)
        {
            self.calendar.pop();
            let device = self.owner[worker][tag as usize] as usize;
            self.devices[device].2 -= 1;
            self.ready[worker].push(Completion { tag, result });
        }
    }
}

/// One worker's queue into the simulated world.
#[derive(Debug)]
pub struct SimQueue {
    world: Rc<RefCell<World>>,
    worker: usize,
}

impl SimQueue {
    /// The queue of one more worker.
    pub fn new(world: &Rc<RefCell<World>>) -> Self {
        let mut borrowed = world.borrow_mut();
        borrowed.ready.push(Vec::new());
        borrowed.owner.push(Vec::new());
        SimQueue { world: world.clone(), worker: borrowed.ready.len() - 1 }
    }
}

impl Queue for SimQueue {
    fn now(&mut self) -> u64 {
        self.world.borrow().now_ns
    }
    fn push(&mut self, tags: &[u32], operations: &[Operation]) {
        let mut world = self.world.borrow_mut();
        tags.iter().zip(operations).for_each(|(tag, operation)| world.begin(self.worker, *tag, operation));
    }
    fn enter(&mut self, _at_least: usize, _until_ns: u64) {
        unreachable!("in a simulated world the calendar waits")
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.world.borrow_mut().ready[self.worker]);
    }
}
