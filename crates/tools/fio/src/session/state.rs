//! How far jobs got that write what can be verified: saved where they end, and gone by where a job says so.

use super::members::{MemberIndex, Members};
use crate::state::{self, State};
use crate::{General, Job, Member};
use anyhow::{Result, bail};
use fathom_host::{Roots, output_file};
use fathom_record::Progress;
use fathom_session::Console;
use fathom_spec::{Plan, Space, StreamId, TargetId, Work};
use std::path::Path;

const HINT: &str = "verify_state_load goes by what a job of the same name and number has saved";

/// What earlier runs have saved for the jobs that go by it, by their number among all clones.
pub fn load(jobs: &[Job], general: &General) -> Result<Vec<(MemberIndex, State)>> {
    let mut states = Vec::new();
    let clones = jobs.iter().flat_map(|job| std::iter::repeat_n(job, job.start.clones as usize));
    for (number, job) in clones.enumerate().filter(|(_, job)| state::is_gone_by(job)) {
        let path = path(general, job, number);
        let bytes = fathom_host::text_file::read_bytes(&path);
        let bytes = bytes.map_err(|error| anyhow::anyhow!("cannot read {path}: {error}\nhint: {HINT}"))?;
        let state = state::read(&bytes).map_err(|what| anyhow::anyhow!("{path}: {what}\nhint: {HINT}"))?;
        states.push((MemberIndex::new(number), state));
    }
    Ok(states)
}

/// What the engine is told of earlier runs.
pub fn known(members: &Members<'_>, states: &[(MemberIndex, State)]) -> Result<Vec<(StreamId, Progress)>> {
    let mut known = Vec::new();
    for (index, state) in states {
        let (member, job) = (members.get(*index), members.job(*index));
        let bytes: u64 = member.files.iter().map(|file| file.bytes).sum();
        let part = state.writes.saturating_mul(job.sizes.ranges[1].0) < bytes;
        if job.direction.random && state.seed.is_none() && part {
            bail!(
                "{}: fio saved its state, and its random order is not the one that is checked here\nhint: check \
                 sequential jobs here, or this one with fio",
                job.name
            );
        }
        known.push((member.stream, progress(state, &targets(members.plan(), member))));
    }
    Ok(known)
}

fn progress(state: &State, targets: &[TargetId]) -> Progress {
    let in_plan = |(file, offset): &(u64, u64)| {
        targets.get(usize::try_from(*file).ok()?).map(|target| (target.0 as u16, *offset))
    };
    let last = state.last.iter().filter_map(in_plan).collect();
    Progress { worker: 0, writes: state.writes, depth: state.depth, last }
}

/// Saves how far the jobs got that say so; `seed` is what random orders were drawn from. What cannot be written is told,
/// and changes nothing of the run.
pub fn save(
    members: &Members<'_>,
    general: &General,
    progress: &[(StreamId, Progress)],
    seed: u64,
    console: &Console,
) {
    for (stream, progress) in progress {
        let Some(index) = members.of_stream(*stream) else { continue };
        let (number, member, job) = (index.number(), members.get(index), members.job(index));
        if !job.data.saves_state {
            continue;
        }
        let targets = targets(members.plan(), member);
        let of_job = |(target, offset): &(u16, u64)| {
            let file = targets.iter().position(|own| own.0 == u32::from(*target)).unwrap_or(0);
            (file as u64, *offset)
        };
        let state = State {
            writes: progress.writes,
            depth: progress.depth,
            files: targets.len() as u32,
            last: progress.last.iter().map(of_job).collect(),
            name: job.name.clone(),
            number: number as u64,
            seed: job.direction.random.then_some(seed),
        };
        let path = path(general, job, number);
        let written = output_file::write(&Roots::default(), Path::new(&path), state::bytes(&state));
        if let Err(error) = written {
            console.complain(format_args!("fio: {}", error.with_hint("verify_state_save=0 saves nothing")));
        }
    }
}

fn path(general: &General, job: &Job, number: usize) -> String {
    let name = state::file_name(&job.name, number);
    general.aux_path.as_ref().map_or(name.clone(), |folder| format!("{folder}/{name}"))
}

/// The files of a clone, in their order.
fn targets(plan: &Plan, member: &Member) -> Vec<TargetId> {
    let Work::Blocks(blocks) = &plan.streams[member.stream.0 as usize].work else { return Vec::new() };
    match plan.spaces.get(blocks.space.0 as usize) {
        Some(Space::Whole(one)) => vec![*one],
        Some(Space::Concat(over) | Space::Picked { over, .. }) => over.clone(),
        _ => Vec::new(),
    }
}
