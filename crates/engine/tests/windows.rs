//! What a window counts when the device stands still at its end: time in which nothing came back is part of it, and so is
//! what was due in it. On simulated devices in virtual time.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;

const MS: u64 = 1_000_000;

struct Quiet;

impl Control for Quiet {}

/// Reads for 20 s, all of which count, on a device that is read for one slot more.
fn run(device: &str, depth: u32, rate: Option<f64>) -> Run {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim(device.to_owned()));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), depth);
    stream.window = Window::Inside { before: Nanos(0), length: Nanos::from_seconds(20) };
    stream.stop.time = Some(Nanos::from_millis(20_050));
    if let Some(rate) = rate {
        let (verb, rate) = (Verb::Read, Rate::Operations(rate));
        stream.arrival = Arrival::Open(vec![Timetable { verb, rate, spacing: Spacing::Even }]);
        stream.keep.response = true;
    }
    plan.add_stream(stream);
    Engine::default().execute(Request::new(&plan), &mut Quiet).map(|outcome| outcome.run).unwrap()
}

fn window(from_ns: u64, to_ns: u64) -> Vec<WindowSpan> {
    vec![WindowSpan { stream: StreamId(0), from_ns, to_ns }]
}

/// Regression: a device that stood still from second 10 to 21 gave "2925 +- 0.0, max latency 0.1 s" over a window of 9.95
/// of 20 s.
#[test]
fn a_stall_at_the_end_of_a_window_is_in_it_and_in_the_maximum() {
    let run = run("ways=4,service=1ms,stall=11s,stall_at=10s", 4, None);
    assert_eq!(run.windows, window(0, 20_000 * MS));
    let all = run.merged(StreamId(0)).unwrap();
    assert_eq!(all.counts(0).operations, 40_000);
    let service = all.cells[0].1.service.as_ref().unwrap();
    // The four that were outstanding at the end are in the latencies alone.
    assert_eq!((service.count, service.max_ns), (40_004, 11_001 * MS));
}

/// Regression: the same device asked for 1000 reads a second gave "993.5, response mean 0.12 ms, max 0.0 s".
#[test]
fn a_timetable_waits_for_what_was_due_in_its_window() {
    let run = run("ways=32,service=1ms,stall=11s,stall_at=10s", 32, Some(1000.0));
    assert_eq!(run.windows, window(0, 20_000 * MS));
    let all = run.merged(StreamId(0)).unwrap();
    let response = all.cells[0].1.response.as_ref().unwrap();
    assert_eq!(response.count, 20_000, "each that was due in the window");
    assert!(response.max_ns >= 11_000 * MS && all.counts(0).operations <= 10_000, "{}", response.max_ns);
    assert!(!run.events.iter().any(|event| matches!(event.what, EventKind::Unstarted { .. })));
}

#[test]
fn a_timetable_that_the_device_cannot_keep_says_how_many_were_not_started() {
    // 1000 a second of the 2500 asked for; 1 s more is given to catch up, and 32 are outstanding.
    let run = run("ways=1,service=1ms", 32, Some(2500.0));
    let unstarted: Vec<u64> = run
        .events
        .iter()
        .filter_map(|event| match event.what {
            EventKind::Unstarted { operations, .. } => Some(operations),
            _ => None,
        })
        .collect();
    let all = run.merged(StreamId(0)).unwrap();
    let response = all.cells[0].1.response.as_ref().unwrap();
    assert_eq!(unstarted, [50_000 - response.count]);
    assert_eq!(all.counts(0).operations, 19_999, "what came back in the window, and no more");
    assert!((21_000..21_200).contains(&response.count), "{}", response.count);
}

#[test]
fn a_window_ends_where_the_load_was_told_to_end_however_late_the_worker_hears_of_it() {
    struct StopAtOneSecond;
    impl Control for StopAtOneSecond {
        fn slot(&mut self, now_ns: u64, _: &[Totals]) -> Steer {
            match now_ns >= 1000 * MS {
                true => Steer::Stop(Vec::new(), StopReason::Told),
                false => Steer::Continue,
            }
        }
    }
    let mut plan = Plan::new(1);
    // One read takes 700 ms: the worker hears of the order at 1400 ms, in the second after.
    let space = plan.add_target(Target::Sim("ways=1,service=700ms".to_owned()));
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), 1);
    stream.window = Window::Inside { before: Nanos::from_millis(200), length: Nanos::from_seconds(9) };
    plan.add_stream(stream);
    let outcome = Engine::default().execute(Request::new(&plan), &mut StopAtOneSecond).unwrap();
    assert_eq!(outcome.run.windows, window(200 * MS, 1000 * MS));
    let all = outcome.run.merged(StreamId(0)).unwrap();
    assert_eq!(all.counts(0).operations, 1);
    assert_eq!(all.cells[0].1.service.as_ref().unwrap().count, 2);
}

#[test]
fn a_device_of_random_service_is_the_same_every_time_and_another_for_another_seed() {
    let operations = |seed: u64| {
        let mut plan = Plan::new(seed);
        let space = plan.add_target(Target::Sim("ways=2,service=1ms,spread=exponential".to_owned()));
        let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), 2);
        stream.stop.time = Some(Nanos::from_seconds(10));
        plan.add_stream(stream);
        let run = Engine::default().execute(Request::new(&plan), &mut Quiet).unwrap().run;
        run.workers[0].counts[0].1.operations
    };
    assert_eq!(operations(1), operations(1));
    assert_ne!(operations(1), operations(2));
    // 2000 a second; ten standard deviations of a Poisson process.
    assert!(operations(1).abs_diff(20_000) < 1500, "{}", operations(1));
}
