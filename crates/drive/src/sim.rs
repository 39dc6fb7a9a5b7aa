//! Simulated devices on a virtual clock, and the calendar of what they will complete: no randomness of scheduling, and
//! service times from a seed, so that a run is the same every time and a search can be held to the exact answer.
//!
//! It is written `sim:ways=32,service=100us,...`:
//!
//! | word | meaning | default |
//! |---|---|---|
//! | `ways` | I/Os that are served at the same time | 1 |
//! | `service` | mean time of one I/O of up to 64 KiB; longer ones take a multiple | 100us |
//! | `spread` | `fixed`, `exponential` or `lognormal:0.8` (deviation of the logarithm) round that mean | fixed |
//! | `size` | bytes of the device | 1g |
//! | `cache`, `hit` | bytes at the start that answer from a cache, and their service time | 0, 5us |
//! | `cliff`, `steep` | outstanding I/Os above which every service takes `steep` times as long | none, 4 |
//! | `drift` | percent by which the service time grows each minute | 0 |
//! | `fail` | every n-th operation fails with EIO | none |
//! | `flush` | time of a sync, which waits for no other I/O | 1ms |
//! | `stall`, `stall_at`, `stall_every` | how long it stands still, when first, and how often | never |
//! | `slow`, `slow_for`, `slow_at`, `slow_every` | service takes `slow` times as long, for how long, when, how often | never |
//!
//! Where `stall_every` or `slow_every` is given without `_at`, each run begins somewhere in the period, by its plan's seed.

mod device;

pub use device::{Device, Episode, Spread};

use crate::{Completion, Operation, Queue};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

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
    random: Xoshiro256Plus,
}

impl World {
    /// A world of devices that nobody uses yet; the seed is that of service times and of episodes.
    pub fn new(devices: Vec<Device>, seed: u64) -> Rc<RefCell<World>> {
        let mut random = Xoshiro256Plus::seed_from_u64(seed);
        let devices = devices
            .into_iter()
            .map(|mut d| {
                d.begin(&mut random);
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
            random,
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
        let begun_ns = free.max(self.now_ns);
        let end = device.ends_at(operation, begun_ns, *outstanding, &mut self.random);
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
    pub fn advance(&mut self, until_ns: u64) {
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
