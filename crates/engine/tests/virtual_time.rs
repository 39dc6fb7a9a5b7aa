//! What the conductor does, on a simulated device in virtual time: when streams start, which part of them counts, and
//! how orders reach them. Every figure is exact, and nothing sleeps.

use fathom_engine::Engine;
use fathom_record::*;
use fathom_spec::*;

const MS: u64 = 1_000_000;

/// A plan on a device that serves one I/O a millisecond in each of its four ways.
fn plan() -> (Plan, SpaceId) {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim("ways=4,service=1ms".to_owned()));
    (plan, space)
}

fn reads(space: SpaceId, depth: u32, milliseconds: u64) -> Stream {
    let mut stream = Stream::closed("reads", Blocks::random_reads(space, Bytes(4096)), depth);
    stream.stop.time = Some(Nanos::from_millis(milliseconds));
    stream
}

/// Gives one order at the first slot from its moment on, and notes what it is told.
#[derive(Default)]
struct Steering {
    order: Option<(u64, Steer)>,
    slots: Vec<(u64, Vec<Totals>)>,
    events: Vec<(u64, EventKind)>,
    intervals: Vec<(u32, u64, u64)>,
}

impl Control for Steering {
    fn event(&mut self, event: &Event) {
        self.events.push((event.at_ns, event.what.clone()));
    }
    fn slot(&mut self, now_ns: u64, totals: &[Totals]) -> Steer {
        self.slots.push((now_ns, totals.to_vec()));
        match self.order.take_if(|(at_ns, _)| now_ns >= *at_ns) {
            Some((_, steer)) => steer,
            None => Steer::Continue,
        }
    }
    fn interval(&mut self, interval: &Interval) {
        self.intervals.push((interval.stream.0, interval.start_ns, interval.length_ns));
    }
}

fn run(plan: &Plan, order: Option<(u64, Steer)>) -> (Run, Steering) {
    let mut steering = Steering { order, ..Steering::default() };
    let run =
        Engine::default().execute(Request::new(plan), &mut steering).map(|outcome| outcome.run).unwrap();
    (run, steering)
}

fn operations(run: &Run, stream: usize) -> u64 {
    run.workers[stream].counts[0].1.operations
}

/// What the window of a stream counted, by slot up to the last in which anything came back.
fn counted(run: &Run, stream: u32) -> Vec<u64> {
    let merged = run.merged(StreamId(stream)).unwrap();
    let slots: Vec<u64> = merged.slots.iter().map(|slot| slot[0].operations).collect();
    let length = slots.iter().rposition(|operations| *operations > 0).map_or(0, |last| last + 1);
    slots[..length].to_vec()
}

#[test]
fn a_stream_starts_when_those_before_it_have_ended_and_its_delay_is_over() {
    let (mut plan, space) = plan();
    plan.add_stream(reads(space, 4, 100));
    let mut second = reads(space, 2, 50);
    second.start = Start { after: vec![StreamId(0)], delay: Nanos::from_millis(30) };
    plan.add_stream(second);
    let mut third = reads(space, 1, 10);
    third.start.after = vec![StreamId(0), StreamId(1)];
    plan.add_stream(third);
    let (run, steering) = run(&plan, None);
    let spans: Vec<_> = run.workers.iter().map(|worker| worker.span_ns).collect();
    assert_eq!(spans, [(0, 100 * MS), (130 * MS, 180 * MS), (180 * MS, 190 * MS)]);
    assert_eq!([0, 1, 2].map(|stream| operations(&run, stream)), [400, 100, 10]);
    assert_eq!(run.length_ns, 190 * MS);
    let started = |id, at| (at * MS, EventKind::Started(StreamId(id)));
    let stopped = |id, at| (at * MS, EventKind::Stopped(StreamId(id), StopReason::Finished));
    let expected =
        [started(0, 0), stopped(0, 100), started(1, 130), stopped(1, 180), started(2, 180), stopped(2, 190)];
    assert_eq!(steering.events, expected);
    assert_eq!(run.queues, ["simulated"]);
}

#[test]
fn a_slot_is_told_at_its_edge_with_the_streams_that_run_and_their_counts_until_then() {
    let (mut plan, space) = plan();
    plan.add_stream(reads(space, 4, 100));
    let mut second = reads(space, 2, 75);
    second.start.after = vec![StreamId(0)];
    plan.add_stream(second);
    let told = |(at, totals): &(u64, Vec<Totals>)| {
        let one = |t: &Totals| (t.stream.0, t.counts[0].operations, t.outstanding, t.running);
        (*at / MS, totals.iter().map(one).collect::<Vec<_>>())
    };
    let (_, steering) = run(&plan, None);
    let slots: Vec<_> = steering.slots.iter().map(told).collect();
    // What comes back at the edge itself belongs to the slot that begins there. At 100 ms nobody runs.
    assert_eq!(slots, [(50, vec![(0, 196, 4, 1)]), (100, vec![]), (150, vec![(1, 98, 2, 1)])]);
}

#[test]
fn a_ramp_and_a_part_inside_the_load_are_cut_at_the_nanosecond() {
    let window = |window: Window, milliseconds: u64| {
        let (mut plan, space) = plan();
        plan.add_stream(Stream { window, ..reads(space, 4, milliseconds) });
        let run = run(&plan, None).0;
        let merged = run.merged(StreamId(0)).unwrap();
        (operations(&run, 0), counted(&run, 0), (merged.start_ns / MS, merged.length_ns / MS))
    };
    let after = Window::After(Nanos(60_500_000));
    assert_eq!(window(after, 200), (800, vec![39 * 4, 50 * 4, 50 * 4, 4], (50, 150)));
    let inside = |before, length| Window::Inside {
        before: Nanos::from_millis(before),
        length: Nanos::from_millis(length),
    };
    assert_eq!(window(inside(100, 100), 300), (1200, vec![200, 200], (100, 100)));
    // It begins with a slot, and holds what was asked for, if not whole slots.
    assert_eq!(window(inside(70, 60), 300), (1200, vec![200, 40], (100, 60)));
    // Seconds are intervals of their own, and no count is lost between them.
    let (all, slots, span) = window(inside(500, 2000), 3000);
    assert_eq!((all, slots.iter().sum::<u64>(), slots.len(), span), (12_000, 8000, 40, (500, 2000)));
    assert!(slots.iter().all(|slot| *slot == 200));
}

#[test]
fn each_worker_hands_over_an_interval_a_second() {
    let (mut plan, space) = plan();
    plan.add_stream(Stream { workers: 2, ..reads(space, 2, 2500) });
    let (run, steering) = run(&plan, None);
    let second = |n: u64| (0, n * 1000 * MS, if n < 2 { 1000 * MS } else { 500 * MS });
    assert_eq!(steering.intervals, [0, 0, 1, 1, 2, 2].map(second));
    assert_eq!(run.intervals.len(), 3, "workers of a stream are merged");
    assert_eq!(counted(&run, 0).iter().sum::<u64>(), 10_000);
}

#[test]
fn an_order_to_stop_reaches_one_stream_or_all() {
    let stopped = |streams: Vec<StreamId>| {
        let (mut plan, space) = plan();
        plan.add_stream(reads(space, 2, 300));
        plan.add_stream(reads(space, 2, 300));
        let mut last = reads(space, 1, 10);
        last.start.after = vec![StreamId(0)];
        plan.add_stream(last);
        let run = run(&plan, Some((100 * MS, Steer::Stop(streams, StopReason::Told)))).0;
        let one = |w: &WorkerTotals| (w.stream.0, w.counts[0].1.operations, w.ended);
        (run.workers.iter().map(one).collect::<Vec<_>>(), run.length_ns / MS)
    };
    use StopReason::{Finished, Told};
    // The order comes at 100 ms; what is outstanding then comes back a millisecond later.
    assert_eq!(
        stopped(vec![StreamId(0)]),
        (vec![(0, 202, Told), (1, 600, Finished), (2, 10, Finished)], 300)
    );
    // The third stream has not begun, and never will.
    assert_eq!(stopped(Vec::new()), (vec![(0, 202, Told), (1, 202, Told)], 101));
}

#[test]
fn a_load_that_is_stopped_counts_whole_slots_where_its_window_lies_inside() {
    let (mut plan, space) = plan();
    let window = Window::Inside { before: Nanos::from_millis(50), length: Nanos::from_seconds(10) };
    plan.add_stream(Stream { window, ..reads(space, 4, 20_000) });
    let run = run(&plan, Some((150 * MS, Steer::Stop(Vec::new(), StopReason::Told)))).0;
    // What came back at the moment of the order is in a slot of its own, behind the end of the window; what came later is not.
    assert_eq!((operations(&run, 0), counted(&run, 0)), (604, vec![200, 200, 4]));
    let merged = run.merged(StreamId(0)).unwrap();
    assert_eq!((merged.start_ns, merged.length_ns), (50 * MS, 100 * MS));
}

#[test]
fn an_order_of_depth_changes_what_is_outstanding_in_one_stream() {
    let outstanding = |depth: u32| {
        let (mut plan, space) = plan();
        plan.add_stream(reads(space, 3, 250));
        plan.add_stream(reads(space, 1, 250));
        let (run, steering) = run(&plan, Some((100 * MS, Steer::Depth(StreamId(0), depth))));
        let of = |(_, totals): &(u64, Vec<Totals>)| totals.iter().map(|t| t.outstanding).collect::<Vec<_>>();
        (steering.slots.iter().map(of).collect::<Vec<_>>(), [0, 1].map(|id| operations(&run, id)))
    };
    let (before, after) = (vec![3, 1], vec![1, 1]);
    let slots = vec![before.clone(), before, after.clone(), after];
    // From the order on one by one: three come back at 101 ms, and then one a millisecond.
    assert_eq!(outstanding(1), (slots, [300 + 3 + 149, 250]));
    // A worker keeps at most what it was built for, and at least one.
    assert_eq!(outstanding(9).1, [750, 250]);
    assert_eq!(outstanding(0).1, [300 + 3 + 149, 250]);
}

#[test]
fn an_order_of_rate_sets_the_timetable_of_each_worker() {
    let (mut plan, space) = plan();
    let mut stream = Stream { workers: 2, ..reads(space, 4, 300) };
    let rate = Rate::Operations(100.0);
    let evenly = Timetable { verb: Verb::Read, rate, spacing: Spacing::Even };
    stream.arrival = Arrival::Open(vec![evenly]);
    plan.add_stream(stream);
    let run = run(&plan, Some((100 * MS, Steer::Rate(StreamId(0), 1000.0)))).0;
    // Due at 0, 10, ... 100 ms; the gap after the one that is due when the order comes is the new one.
    let each: Vec<u64> = run.workers.iter().map(|worker| worker.counts[0].1.operations).collect();
    assert_eq!(each, [11 + 190, 11 + 190]);
    assert_eq!(counted(&run, 0), [10, 10, 80, 100, 100, 100, 2]);
}

#[test]
fn a_stream_that_ends_takes_its_group_down() {
    let (mut plan, space) = plan();
    let mut first = reads(space, 2, 100);
    first.stop.takes_down = Some(GroupId(0));
    plan.add_stream(first);
    plan.add_stream(reads(space, 2, 300));
    let run = run(&plan, None).0;
    assert_eq!([0, 1].map(|id| operations(&run, id)), [200, 202]);
    assert_eq!(run.workers[1].ended, StopReason::Told);
}

#[test]
fn a_device_that_stays_silent_is_told_of_once() {
    let mut plan = Plan::new(1);
    let space = plan.add_target(Target::Sim("ways=1,service=40s".to_owned()));
    plan.add_stream(reads(space, 2, 1));
    let (_, steering) = run(&plan, None);
    let stalls: Vec<_> =
        steering.events.iter().filter(|(_, what)| matches!(what, EventKind::Stalled { .. })).collect();
    let stalled = |outstanding| EventKind::Stalled { stream: StreamId(0), outstanding, for_ns: 30_000 * MS };
    assert_eq!(stalls, [&(30_000 * MS, stalled(2)), &(70_000 * MS, stalled(1))]);
}
