//! The proofs that the seam between source, pace, content, queue and recorder can carry what the dialects need:
//! ORION's two kinds of load at once, sysbench's mix and fsync series, a stall that shows in response time,
//! sysbench's offsets from its seed.

use fathom_drive::sim::{Device, SimQueue, World};
use fathom_drive::*;
use fathom_record::{Control, Latency, Run, Steer, Totals};
use fathom_spec::{Blocks, Bytes, Keep, Nanos, Plan, SpaceId, Stream, StreamId, Verb};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// One stream of one worker.
struct Load {
    source: Box<dyn Source>,
    pace: Pace,
    depth: u32,
    verbs: Vec<Verb>,
}

fn job(world: &Rc<RefCell<World>>, stream: u32, load: Load) -> SimulatedJob<'static> {
    let queue = SimQueue::new(world);
    let Load { source, pace, depth, verbs } = load;
    let depth = depth as usize;
    SimulatedJob {
        stream: StreamId(stream),
        worker: 0,
        cpus: Vec::new(),
        verbs,
        targets: Arc::default(),
        prepare: Box::new(move |steering, published, begin| {
            Box::new(Worker::<_, false>::new(Parts {
                queue,
                source,
                pace,
                content: None,
                recorder: Recorder::new(begin.interval, begin.frame, Some(begin.outbox), published.clone()),
                depth,
                batch: (depth, depth),
                reap_least: 1,
                until_ns: u64::MAX,
                steering,
                published,
                features: Box::default(),
            }))
        }),
    }
}

fn run(world: Rc<RefCell<World>>, loads: impl IntoIterator<Item = Load>, control: &mut dyn Control) -> Run {
    let mut plan = Plan { slot: Nanos::from_millis(1), ..Plan::new(1) };
    let mut jobs = Vec::new();
    for (stream, load) in (0..).zip(loads) {
        let keep = Keep { service: true, response: load.pace.is_open(), ..Keep::default() };
        let blocks = Blocks::random_reads(SpaceId(0), Bytes(4096));
        plan.add_stream(Stream { keep, ..Stream::closed("load", blocks, load.depth) });
        jobs.push(job(&world, stream, load));
    }
    simulate(&plan, jobs, world, &mut (), control).unwrap()
}

fn operation(verb: Verb, cell: u8, length: u32, due_ns: u64) -> Operation {
    Operation { offset: 0, due_ns, mark: 0, length, target: 0, verb, cell }
}

struct Loop {
    length: u32,
    end_ns: u64,
}

impl Source for Loop {
    fn fill(&mut self, now_ns: u64, room: usize, _: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        if now_ns >= self.end_ns {
            return Fill::Done;
        }
        out.extend((0..room).map(|_| operation(Verb::Read, 0, self.length, now_ns)));
        Fill::Some
    }
}

/// Sees in each slot what is outstanding in every stream.
struct Outstanding(Vec<u64>);

impl Control for Outstanding {
    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        if now_ns < 1_000_000_000 {
            assert_eq!(totals.iter().map(|t| t.outstanding).collect::<Vec<u64>>(), self.0, "at {now_ns}");
        }
        Steer::Continue
    }
}

#[test]
fn orion_keeps_small_and_large_each_at_its_own_number() {
    let counts = || {
        let world = World::new(vec![Device { ways: 4, ..Device::default() }], 1);
        let load = |length, depth| Load {
            source: Box::new(Loop { length, end_ns: 1_000_000_000 }),
            pace: Pace::Closed,
            depth,
            verbs: vec![Verb::Read],
        };
        let run = run(world, [load(8192, 8), load(1 << 20, 2)], &mut Outstanding(vec![8, 2]));
        [0, 1].map(|stream: usize| run.workers[stream].counts[0].1.operations)
    };
    let [small, large] = counts();
    assert_eq!([small, large], counts());
    let busy = small * 100_000 + large * 1_600_000;
    assert!((4_000_000_000..4_000_000_000 + 10 * 1_600_000).contains(&busy), "{busy}");
}

/// sysbench's rndrw: the mix goes by what was completed, each file is synced in turn after every `every`
/// requests, and all threads draw from one stream.
struct Sysbench {
    reads: u64,
    writes: u64,
    requests: u64,
    dirty: bool,
    every: u64,
    files: u16,
    sync: Option<u16>,
    left: u64,
    seen: Arc<Mutex<String>>,
}

impl Source for Sysbench {
    fn wants_completions(&self) -> bool {
        true
    }
    fn completed(&mut self, done: &[(Operation, i32)]) {
        for (operation, _) in done {
            match operation.verb {
                Verb::Read => self.reads += 1,
                Verb::Write => (self.writes, self.dirty) = (self.writes + 1, true),
                _ => {}
            }
        }
    }
    fn fill(&mut self, now_ns: u64, _room: usize, _: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        if self.left == 0 {
            return Fill::Done;
        }
        self.left -= 1;
        if self.sync.is_none() && self.dirty && self.requests > 0 && self.requests.is_multiple_of(self.every)
        {
            (self.sync, self.dirty) = (Some(0), false);
        }
        let (verb, cell, letter) = match self.sync {
            Some(file) => {
                self.sync = (file + 1 < self.files).then_some(file + 1);
                (Verb::Sync, 2, 'F')
            }
            None => {
                self.requests += 1;
                match (self.reads as f64 + 1.0) / (self.writes as f64 + 1.0) < 1.5 {
                    true => (Verb::Read, 0, 'R'),
                    false => (Verb::Write, 1, 'W'),
                }
            }
        };
        self.seen.lock().unwrap().push(letter);
        out.push(operation(verb, cell, 16384, now_ns));
        Fill::Some
    }
}

#[test]
fn sysbench_mix_and_fsync_series_need_completions_and_one_shared_source() {
    let seen = Arc::new(Mutex::new(String::new()));
    let source: Box<dyn Source> = Box::new(Sysbench {
        reads: 0,
        writes: 0,
        requests: 0,
        dirty: false,
        every: 10,
        files: 4,
        sync: None,
        left: 28,
        seen: seen.clone(),
    });
    let source = Box::new(Arc::new(Mutex::new(source)));
    let verbs = vec![Verb::Read, Verb::Write, Verb::Sync];
    let load = Load { source, pace: Pace::Closed, depth: 1, verbs };
    run(World::new(vec![Device::default()], 1), [load], &mut ());
    assert_eq!(&seen.lock().unwrap()[..14], "RWRWRRWRWRFFFF");
}

struct Rated {
    left: u64,
}

impl Source for Rated {
    fn fill(&mut self, now_ns: u64, room: usize, pace: &mut Pace, out: &mut Vec<Operation>) -> Fill {
        for _ in 0..room {
            if self.left == 0 {
                return Fill::Done;
            }
            let due = pace.due(0, now_ns);
            if due > now_ns {
                return Fill::Wait(due);
            }
            pace.take(0, 4096);
            self.left -= 1;
            out.push(operation(Verb::Read, 0, 4096, due));
        }
        Fill::Some
    }
}

#[test]
fn a_stall_shows_in_response_and_not_in_service() {
    let world = World::new(vec![Device::default()], 1);
    world.borrow_mut().occupy(0, 1_000_000_000);
    let pace = Pace::Open(Box::new([Some(Metronome::new(0, 1000.0, false, None)), None, None, None]));
    let source = Box::new(Rated { left: 5000 });
    let run = run(world, [Load { source, pace, depth: 1, verbs: vec![Verb::Read] }], &mut ());
    let merged = run.merged(StreamId(0)).unwrap();
    let cell = &merged.cells[0].1;
    let late =
        |latency: &Option<Box<Latency>>| latency.as_ref().unwrap().bins.as_ref().unwrap().above(200_000);
    assert_eq!(late(&cell.service), 1);
    assert!((1000..1200).contains(&late(&cell.response)), "{}", late(&cell.response));
}

/// The test vector of sysbench 1.0.20: seed 7, 64 MiB, 16 KiB blocks, with and without the draw that its
/// percentile costs. `srandom(7)` gives these four numbers in glibc.
#[test]
fn sysbench_offsets_are_a_general_generator_with_given_states_and_discards() {
    unsafe extern "C" {
        fn srandom(seed: u32);
        fn random() -> std::ffi::c_long;
    }
    // SAFETY: both are plain functions of the C library; nothing else in this program calls them.
    let seeds: Vec<u64> = unsafe {
        srandom(7);
        (0..4).map(|_| random() as u64).collect()
    };
    let state = (seeds[0] << 32 | seeds[1], seeds[2] << 32 | seeds[3]);
    let draw = |discard: u32| {
        let (mut a, mut b) = state;
        let mut next = || {
            let result = a.wrapping_add(b);
            let x = a ^ b;
            a = a.rotate_left(55) ^ x ^ (x << 14);
            b = x.rotate_left(36);
            result
        };
        let mut offsets = vec![];
        for _ in 0..5 {
            let u = f64::from_bits(0x3FF << 52 | next() >> 12) - 1.0;
            let position = (u * (64u64 << 20) as f64) as u64;
            offsets.push(position - position % 16384);
            (0..discard).for_each(|_| {
                next();
            });
        }
        offsets
    };
    assert_eq!(draw(1), [36208640, 27361280, 6832128, 50577408, 10649600]);
    assert_eq!(draw(0), [36208640, 44105728, 27361280, 58048512, 6832128]);
}
