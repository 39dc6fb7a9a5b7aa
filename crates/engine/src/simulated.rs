//! Runs a plan on simulated devices: the same sources, pace and recorder on a virtual clock, one thread, exact.

use crate::{execute, manners, open, source};
use fathom_drive::sim::{Device, SimQueue, World, drive};
use fathom_drive::{
    Parts, Published, Recorder, Steering, Worker, WorkerOutcome, empty_interval, fault_events, frame,
};
use fathom_record::*;
use fathom_spec::*;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs a plan whose targets are all simulated. Streams that start after others, or later, are refused: nothing
/// has needed them yet.
pub fn execute(plan: &Plan, control: &mut dyn Control) -> Result<Run, ExecuteError> {
    let devices = devices(plan)?;
    let sizes: Vec<u64> = devices.iter().map(|device| device.size_bytes).collect();
    let world = World::new(devices, plan.streams.iter().map(|s| s.workers as usize).sum());
    let steering: Vec<Steering> = plan.streams.iter().map(|s| Steering::new(s.depth.most())).collect();
    let flows = manners::flows(plan)?;
    let mut crew = Vec::new();
    let mut owners = Vec::new();
    for (id, stream) in plan.streams.iter().enumerate() {
        let blocks = execute::check(stream)?;
        if stream.start != Start::default() {
            return Err(ExecuteError::Plan {
                what: "a simulated run starts all of its streams at once".to_owned(),
                hint: "use a file or a device for streams that start after others".to_owned(),
            });
        }
        let geometry = open::geometry(plan, blocks, &sizes, 1)?;
        if stream.keep.log.is_some() || blocks.verify.is_some() {
            return Err(ExecuteError::Plan {
                what: "a simulated device has no bytes to verify, and its operations no log".to_owned(),
                hint: "use a file or a device".to_owned(),
            });
        }
        let verbs = source::cells(stream, blocks, None)?;
        let seed = plan.seed ^ (id as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let stop = execute::amounts(&stream.stop);
        let make = |worker, workers| source::build(blocks, &geometry, &stop, worker, workers, seed, &verbs);
        let shared = match blocks.shared {
            Some(_) => Some(source::share(make(0, 1)?)),
            None => None,
        };
        for worker in 0..stream.workers {
            let source: Box<dyn fathom_drive::Source> = match &shared {
                Some(shared) => Box::new(shared.clone()),
                None => make(worker, stream.workers)?,
            };
            let published = Arc::new(Published::default());
            let frame = frame(plan, stream, 0);
            let interval = empty_interval(StreamId(id as u32), worker, &verbs, stream.keep, &frame);
            let depth = stream.depth.most() as usize;
            crew.push(Worker::<_, true>::new(Parts {
                queue: SimQueue::new(world.clone(), crew.len()),
                source,
                pace: execute::pace(&stream.arrival, &verbs, 0, seed.wrapping_add(u64::from(worker) * 7919)),
                content: None,
                recorder: Recorder::new(interval, frame, None, published.clone()),
                depth,
                batch: (depth, depth),
                reap_least: 1,
                until_ns: stream.stop.time.map_or(u64::MAX, |time| time.0),
                steering: &steering[id],
                published: published.clone(),
                manners: Box::new(manners::of(plan, id, worker, blocks, &verbs, &flows, None)),
            }));
            owners.push((StreamId(id as u32), worker, verbs.clone(), published));
        }
    }
    let slot = plan.slot.0.max(1);
    let mut next_slot = slot;
    drive(&world, &mut crew, |now, outstanding| {
        while now >= next_slot {
            next_slot += slot;
            let totals = totals(plan, &owners, outstanding);
            obey(control.slot(now, &totals), &steering, now - now % slot);
        }
        next_slot
    });
    let length_ns = world.borrow().now_ns();
    let outcomes: Vec<WorkerOutcome> = crew.into_iter().map(Worker::finish).collect();
    let owners = owners.into_iter().map(|(stream, worker, verbs, _)| (stream, worker, verbs)).collect();
    Ok(report(plan, owners, outcomes, length_ns, control))
}

fn devices(plan: &Plan) -> Result<Vec<Device>, ExecuteError> {
    let device = |target: &Target| match target {
        Target::Sim(text) => text.parse::<Device>().map_err(|what| ExecuteError::Target {
            what: format!("sim:{text}: {what}"),
            hint: "for example sim:ways=32,service=100us".to_owned(),
        }),
        _ => Err(ExecuteError::Plan {
            what: "simulated and real targets cannot be mixed: they have different clocks".to_owned(),
            hint: "use targets of one kind".to_owned(),
        }),
    };
    plan.targets.iter().map(device).collect()
}

type Owner = (StreamId, u32, Vec<Verb>, Arc<Published>);

fn totals(plan: &Plan, owners: &[Owner], outstanding: &[usize]) -> Vec<Totals> {
    let one = |id: usize| {
        let mut counts = [Counts::default(); CELLS];
        let (mut held, mut running, mut cells) = (0, 0, [None; CELLS]);
        for ((stream, _, verbs, published), now) in owners.iter().zip(outstanding) {
            if stream.0 as usize == id {
                cells = Totals::verbs_of(verbs);
                counts.iter_mut().zip(published.counts()).for_each(|(sum, c)| sum.merge(&c));
                held += *now as u64;
                running += 1;
            }
        }
        Totals {
            stream: StreamId(id as u32),
            group: plan.streams[id].group,
            running,
            outstanding: held,
            verbs: cells,
            counts,
        }
    };
    (0..plan.streams.len()).map(one).collect()
}

fn obey(steer: Steer, steering: &[Steering], close_ns: u64) {
    let stop = |s: &Steering| {
        s.close_ns.fetch_min(close_ns, Relaxed);
        s.stop.store(true, Relaxed);
    };
    match steer {
        Steer::Continue => {}
        Steer::Stop(streams, _) if streams.is_empty() => steering.iter().for_each(stop),
        Steer::Stop(streams, _) => {
            streams.iter().filter_map(|id| steering.get(id.0 as usize)).for_each(stop);
        }
        Steer::Depth(id, depth) => {
            steering.get(id.0 as usize).into_iter().for_each(|s| s.depth.store(depth.max(1), Relaxed));
        }
        Steer::Rate(id, rate) => {
            steering.get(id.0 as usize).into_iter().for_each(|s| s.rate.store(rate.to_bits(), Relaxed));
        }
    }
}

fn report(
    plan: &Plan,
    owners: Vec<(StreamId, u32, Vec<Verb>)>,
    outcomes: Vec<WorkerOutcome>,
    length_ns: u64,
    control: &mut dyn Control,
) -> Run {
    let mut run = fathom_record::Run::empty(plan);
    run.length_ns = length_ns;
    run.queues.push("simulated".to_owned());
    let names: Vec<String> =
        (0..plan.targets.len() as u32).filter_map(|i| open::name_of(plan, TargetId(i))).collect();
    for ((stream, worker, verbs), outcome) in owners.into_iter().zip(outcomes) {
        let WorkerOutcome { interval, totals, faults, found, span_ns, outstanding_most, why } = outcome;
        control.interval(&interval);
        run.take(&interval);
        run.events.extend(fault_events(stream, faults, &names));
        run.events.extend(found.into_iter().map(|what| Event { at_ns: length_ns, what }));
        run.workers.push(WorkerTotals {
            stream,
            worker,
            user_ns: 0,
            system_ns: 0,
            span_ns: if span_ns.0 == u64::MAX { (0, 0) } else { span_ns },
            counts: verbs.into_iter().zip(totals).collect(),
            ended: why,
            outstanding_most,
        });
    }
    run
}
