//! Plans on simulated devices: the same sources, timetables, records and conductor as on real ones, in virtual time.

use crate::block_task::Task;
use crate::files::OpenTarget;
use crate::{open, worker_features};
use fathom_drive::sim::{Device, SimQueue, World};
use fathom_drive::{SimulatedJob, simulate};
use fathom_record::{Control, ExecuteError, Run};
use fathom_spec::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Runs a plan whose targets are all simulated.
pub(crate) fn execute(plan: &Plan, control: &mut dyn Control) -> Result<Run, ExecuteError> {
    let devices = devices(plan)?;
    ends(plan, &devices)?;
    let targets = devices.iter().map(|device| OpenTarget::nothing(device.size_bytes)).collect();
    let world = World::new(devices, plan.seed);
    let jobs = jobs(plan, &targets, &world)?;
    simulate(plan, jobs, world, &mut (), control)
}

/// The longest that what is outstanding may take when a run ends, which has a row for each slot: a day.
const DRAIN_MOST_NS: u64 = 86_400_000_000_000;

/// Checks that a run ends: what is outstanding at its end is waited for.
fn ends(plan: &Plan, devices: &[Device]) -> Result<(), ExecuteError> {
    let ways = devices.iter().map(|device| device.ways as u64).min().unwrap_or(1);
    for stream in &plan.streams {
        let Work::Blocks(blocks) = &stream.work else { continue };
        let outstanding = u64::from(stream.depth.most()).saturating_mul(stream.workers.into());
        let longest = devices.iter().map(|device| device.longest_ns(blocks.sizes.most())).max().unwrap_or(0);
        let drain = longest.saturating_mul(outstanding.div_ceil(ways));
        if drain > DRAIN_MOST_NS {
            return Err(ExecuteError::Target {
                what: format!(
                    "the simulated device needs {} for {outstanding} outstanding I/Os, {ways} at a time",
                    Nanos(drain)
                ),
                hint: "say a shorter service=, more ways=, or fewer outstanding I/Os: a day at most"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Is any target of a plan simulated?
pub(crate) fn is_asked_for(plan: &Plan) -> bool {
    plan.targets.iter().any(|target| matches!(target, Target::Sim(_)))
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

fn jobs<'a>(
    plan: &Plan,
    targets: &Arc<[OpenTarget]>,
    world: &Rc<RefCell<World>>,
) -> Result<Vec<SimulatedJob<'a>>, ExecuteError> {
    let names = open::names(plan);
    let flows = worker_features::flows(plan)?;
    let mut jobs = Vec::new();
    for (id, stream) in plan.streams.iter().enumerate() {
        check(stream)?;
        let mut task = Task::new(plan, id, targets, &names, &[])?;
        if let Work::Blocks(blocks) = &mut task.stream.work {
            blocks.queue = QueueKind::Sim;
        }
        for worker in 0..stream.workers {
            let features = worker_features::of(plan, id, worker, &task.blocks, &task.verbs, &flows, None);
            let queue = SimQueue::new(world);
            let maker = task.maker(worker, task.source(worker, Arc::default())?, features);
            jobs.push(SimulatedJob {
                stream: StreamId(id as u32),
                worker,
                cpus: Vec::new(),
                verbs: task.verbs.clone(),
                targets: names.clone(),
                prepare: Box::new(move |steering, published, begin| {
                    maker.in_virtual_time(queue, steering, published, begin)
                }),
            });
        }
    }
    Ok(jobs)
}

/// A simulated device has no bytes, and a log's writer would run on the machine's clock.
fn check(stream: &Stream) -> Result<(), ExecuteError> {
    let verifies = matches!(&stream.work, Work::Blocks(blocks) if blocks.verify.is_some());
    match verifies || stream.keep.log.is_some() {
        true => Err(ExecuteError::Plan {
            what: "a simulated device has no bytes to verify, and its operations no log".to_owned(),
            hint: "use a file or a device".to_owned(),
        }),
        false => Ok(()),
    }
}
