//! The search on simulated devices whose throughput falls behind a cliff: each load is run, and the answer is held to the
//! best of all loads up to the fall.
//!
//! Regression: in 13 of 60 random settings the answer was 2 to 33 % too low, for two rungs of the ladder tied and the peak
//! was between them: `ways=5,service=100us,cliff=3,steep=3` has 20,000 a second at 2 and at 4, and 30,000 at 3.

use fathom_calibrate::search::{Ask, LoadSearch, Seen};
use fathom_drive::sim::{SimQueue, World};
use fathom_drive::{Operation, Queue};
use fathom_spec::{Nanos, Verb};
use std::collections::BTreeMap;

/// Operations a second and mean latency of a closed loop of so many outstanding, after its beginning.
fn measure(device: &str, load: u32, service_ns: u64) -> (f64, f64) {
    let world = World::new(vec![device.parse().unwrap()], 1);
    let mut queue = SimQueue::new(&world);
    let read =
        Operation { offset: 1 << 29, due_ns: 0, mark: 0, length: 4096, target: 0, verb: Verb::Read, cell: 0 };
    for tag in 0..load {
        queue.push(&[tag], &[read]);
    }
    let (from, to) = (60 * service_ns, 300 * service_ns);
    let (mut counted, mut done) = (0, Vec::new());
    while queue.now() < to {
        world.borrow_mut().advance(to);
        queue.poll(&mut done);
        if queue.now() >= from && queue.now() < to {
            counted += done.len();
        }
        for completion in done.drain(..) {
            queue.push(&[completion.tag], &[read]);
        }
    }
    let rate = counted as f64 * 1e9 / (to - from) as f64;
    (rate, f64::from(load) / rate * 1e9)
}

/// The load that the search finds, and by how much it is below the best within the limit.
fn shortfall(device: &str, service_ns: u64, limit_ns: f64) -> (u32, f64) {
    let search = LoadSearch {
        most: 96,
        first: 1,
        limit_ns: Some(limit_ns),
        point: Nanos::from_seconds(1),
        points_most: 40,
        refine: true,
    };
    let mut measured: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let mut at = |load: u32| *measured.entry(load).or_insert_with(|| measure(device, load, service_ns));
    let mut seen: Vec<Seen> = Vec::new();
    while let Ask::Measure { load, .. } = search.next(&seen) {
        let (rate, latency) = at(load);
        seen.push(Seen {
            load,
            at_seconds: seen.len() as f64,
            rate,
            rate_half_width: 0.0,
            latency_ns: Some(latency),
            latency_half_width_ns: 0.0,
        });
    }
    let found = search.found(&seen).unwrap().load;
    // The search assumes one peak: behind the cliff throughput may rise again, and higher, with all of the ways slow.
    let mut best = 0.0_f64;
    for (rate, latency) in (1..=96).map(&mut at) {
        if latency > limit_ns || rate < best * 0.9 {
            break;
        }
        best = best.max(rate);
    }
    (found, 1.0 - at(found).0 / best)
}

#[test]
fn a_peak_between_two_rungs_that_tie_is_found() {
    for (device, service_us, limit_us, load) in [
        ("ways=5,service=100us,cliff=3,steep=3", 100, 20_000.0, 3),
        ("ways=32,service=200us,cliff=20,steep=3", 200, 20_000.0, 20),
        ("ways=48,service=500us,cliff=61,steep=4", 500, 900.0, 48),
    ] {
        let (found, short) = shortfall(device, service_us * 1000, limit_us * 1e3);
        assert!(found == load && short < 0.005, "{device}: {found}, {short} short");
    }
}

#[test]
fn sixty_random_cliffs_are_found_to_two_percent() {
    let mut state = 17u64;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut missed = Vec::new();
    for _ in 0..60 {
        let (ways, cliff, steep) = (1 + draw(48), 1 + draw(64), 2 + draw(3));
        let service_us = [100, 200, 500][draw(3) as usize];
        let device = format!("ways={ways},service={service_us}us,cliff={cliff},steep={steep}");
        let limit_ns = (1.2 + draw(40) as f64 / 10.0) * service_us as f64 * 1e3;
        let (found, short) = shortfall(&device, service_us * 1000, limit_ns);
        if short > 0.02 {
            missed.push(format!("{device}, limit {limit_ns}: {found}, {:.1} % short", short * 100.0));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
