//! From jobs to a plan: a stream for each clone, what it starts after, and what has to be there before.

use super::dedupe;
use super::diagnostic::Trouble;
use super::file_layout::{Facts, FileNeed, null_files, territory};
use super::job::Job;
use super::members::{Member, Planned};
use super::recording::Recorded;
use super::streams::{Ground, stream};
use fathom_spec::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Clones that all jobs together may have.
const CLONES_MOST: u64 = 65_536;

/// Files that all clones together may have.
const FILES_MOST: u64 = 1 << 20;

/// Makes a plan of jobs.
pub fn plan(jobs: &[Job], facts: &Facts) -> Result<Planned, Trouble> {
    let seed =
        jobs.first().map_or(0, |job| if job.direction.repeat { job.direction.seed } else { facts.chance });
    let mut maker = Maker {
        plan: Plan::new(seed),
        members: Vec::new(),
        notes: Vec::new(),
        recordings: Vec::new(),
        traces: HashMap::new(),
        targets: HashMap::new(),
        flows: BTreeMap::new(),
        before: Vec::new(),
        together: Vec::new(),
        named: HashMap::new(),
        group: 0,
        facts,
        jobs,
    };
    check_counts(jobs)?;
    for number in 0..jobs.len() {
        maker.job(number)?;
    }
    maker.take_down();
    dedupe::share(&mut maker.plan, &maker.members, jobs)?;
    // Averages of latencies have a line for each interval.
    if jobs.iter().any(|job| job.report.logs.1.is_some()) {
        maker.plan.intervals_most = 0;
    }
    let Maker { plan, members, notes, recordings, .. } = maker;
    Ok(Planned { plan, members, notes, recordings })
}

/// A slip of the finger must not fill the memory.
fn check_counts(jobs: &[Job]) -> Result<(), Trouble> {
    let (mut clones, mut files) = (0u64, 0u64);
    for job in jobs {
        let own = u64::from(job.start.clones);
        clones = clones.saturating_add(own);
        let each =
            if job.files.names.is_empty() { job.files.count.into() } else { job.files.names.len() as u64 };
        files = files.saturating_add(own.saturating_mul(each));
        if clones > CLONES_MOST || files > FILES_MOST {
            let what = format!("{}: with it there are {clones} clones with {files} files", job.name);
            let hint = format!(
                "{CLONES_MOST} clones and {FILES_MOST} files are the most: lower numjobs= or nrfiles="
            );
            return Err(Trouble::at(&job.at, what, hint));
        }
    }
    Ok(())
}

struct Maker<'a> {
    plan: Plan,
    members: Vec<Member>,
    notes: Vec<String>,
    recordings: Vec<(TargetId, Arc<str>)>,
    /// Recordings by job and path.
    traces: HashMap<(usize, String), TargetId>,
    /// Targets by how they are opened.
    targets: HashMap<(String, bool, bool, u8, Option<u64>), TargetId>,
    flows: BTreeMap<i64, CellId>,
    /// Streams before the last barrier; those after it begin when these have ended.
    before: Vec<StreamId>,
    /// Streams after the last barrier.
    together: Vec<StreamId>,
    /// Streams by the name of their job.
    named: HashMap<String, Vec<StreamId>>,
    group: u32,
    facts: &'a Facts<'a>,
    jobs: &'a [Job],
}

impl Maker<'_> {
    fn job(&mut self, number: usize) -> Result<(), Trouble> {
        let job = &self.jobs[number];
        let start = &job.start;
        if start.stonewall && !self.together.is_empty() {
            self.before = std::mem::take(&mut self.together);
        }
        if (start.stonewall || start.new_group) && number > 0 {
            self.group += 1;
        }
        let mut after = self.before.clone();
        if let Some(name) = &start.wait_for {
            let Some(streams) = self.named.get(name) else {
                let what = format!("{}: waitee job {name} unknown", job.name);
                return Err(Trouble::at(&job.at, what, "wait for a job that stands before this one"));
            };
            after.extend(streams);
        }
        if job.pace.depth > 1 && !job.engine.is_asynchronous() && !job.engine.is_diskless() {
            self.notes.push(format!(
                "{}: iodepth={} has no effect, {} does one I/O at a time",
                job.name, job.pace.depth, job.engine.name
            ));
        }
        self.notes.extend(inert(job));
        let mut streams = Vec::new();
        for clone in 0..start.clones {
            let before = self.command(job.terms.before.as_deref(), job, "prerun", &after);
            let first = before.map_or_else(|| after.clone(), |stream| vec![stream]);
            let stream = self.clone(number, clone, &first)?;
            streams.push(stream);
            streams.extend(self.command(job.terms.after.as_deref(), job, "postrun", &[stream]));
        }
        self.named.entry(job.name.clone()).or_default().extend(&streams);
        self.together.extend(streams);
        Ok(())
    }

    fn clone(&mut self, number: usize, clone: u32, after: &[StreamId]) -> Result<StreamId, Trouble> {
        let job = &self.jobs[number];
        let recorded = job.replay.as_ref().and_then(|replay| replay.of_clone(clone));
        let territory = match recorded {
            Some(recorded) => recorded.territory(job, self.facts)?,
            None => territory(job, clone, self.facts)?,
        };
        let space = self.space(job, &territory.files, territory.length);
        let flow = job.pace.flow.map(|(id, _)| self.flow(id));
        let trace = recorded.map(|recorded| (self.trace(number, recorded), recorded.longest()));
        let ground = Ground { territory: &territory, space, clone, flow, chance: self.facts.chance, trace };
        let mut stream = stream(job, &ground)?;
        stream.group = GroupId(self.group);
        stream.start.after = after.to_vec();
        let id = self.plan.add_stream(stream);
        let group = GroupId(self.group);
        self.members.push(Member { job: number, clone, group, stream: id, files: territory.files });
        Ok(id)
    }

    /// A shell's command, as a stream that nobody reports.
    fn command(&mut self, text: Option<&str>, job: &Job, when: &str, after: &[StreamId]) -> Option<StreamId> {
        let output = format!("{}.{when}.txt", job.name);
        let command = Command {
            program: "/bin/sh".to_owned(),
            arguments: vec!["-c".to_owned(), text?.to_owned()],
            output: Some((output.clone(), output)),
            grace: Nanos::from_seconds(1),
        };
        let nothing = Blocks::random_reads(SpaceId(0), Bytes(1));
        let mut stream = Stream::closed(format!("{} {when}", job.name), nothing, 1);
        stream.work = Work::Command(Box::new(command));
        (stream.keep, stream.group) = (Keep::default(), GroupId(self.group));
        stream.start.after = after.to_vec();
        Some(self.plan.add_stream(stream))
    }

    /// The target that stands for a recording.
    fn trace(&mut self, number: usize, recorded: &Recorded) -> TargetId {
        let (plan, recordings) = (&mut self.plan, &mut self.recordings);
        let one_file = self.jobs[number].engine.is_diskless();
        *self.traces.entry((number, recorded.path.clone())).or_insert_with(|| {
            plan.targets.push(Target::Path(PathTarget {
                path: recorded.path.clone(),
                access: Access::Read,
                create: None,
                direct: false,
                durability: Durability::None,
            }));
            let id = TargetId(plan.targets.len() as u32 - 1);
            recordings.push((id, recorded.text(one_file).into()));
            id
        })
    }

    fn flow(&mut self, id: i64) -> CellId {
        let cells = &mut self.plan.cells;
        *self.flows.entry(id).or_insert_with(|| {
            cells.push(Shared::Flow { tolerance: 1 });
            CellId(cells.len() as u32 - 1)
        })
    }

    /// The address space of a clone's files.
    fn space(&mut self, job: &Job, files: &[FileNeed], length: u64) -> SpaceId {
        if job.engine.is_about_files() {
            return SpaceId(0);
        }
        let over: Vec<TargetId> = match job.engine.is_diskless() {
            true => (0..null_files(job)).map(|_| self.null(length)).collect(),
            false => files.iter().map(|file| self.target(job, file)).collect(),
        };
        let space = match over.as_slice() {
            [one] => Space::Whole(*one),
            _ if job.replay.is_some() => Space::Concat(over),
            _ => match job.files.service.0 {
                "sequential" => Space::Concat(over),
                word => {
                    let by = match word {
                        "random" => Pattern::Uniform { once: false },
                        "zipf" => Pattern::Zipf(skew(job, 1.2)),
                        "pareto" => Pattern::Pareto(skew(job, 0.2)),
                        "normal" | "gauss" => Pattern::Normal(skew(job, 50.0)),
                        _ => Pattern::Sequential(Begin::First),
                    };
                    // `roundrobin:8`: so many I/Os of a file before it is another's turn.
                    let run = job.files.service.1.as_deref().and_then(|text| text.parse().ok()).unwrap_or(1);
                    let by = match word {
                        "random" | "roundrobin" if run > 1 => {
                            Pattern::Runs { of: Box::new(by), run, same: true }
                        }
                        _ => by,
                    };
                    Space::Picked { over, by }
                }
            },
        };
        self.plan.spaces.push(space);
        SpaceId(self.plan.spaces.len() as u32 - 1)
    }

    /// A file on which nothing is done.
    fn null(&mut self, length: u64) -> TargetId {
        self.plan.targets.push(Target::Null(Bytes(length)));
        TargetId(self.plan.targets.len() as u32 - 1)
    }

    fn target(&mut self, job: &Job, file: &FileNeed) -> TargetId {
        let writes = job.direction.verbs.iter().any(|verb| verb.writes()) && !job.data.verify_only;
        // To reserve space is to write, whichever direction it stands for.
        let writes = writes || job.engine.name == "falloc";
        let access = if writes { Access::Write } else { Access::Read };
        let (durability, code) = match job.sync.open {
            "sync" => (Durability::Full, 2),
            "dsync" => (Durability::Data, 1),
            _ => (Durability::None, 0),
        };
        // Files are laid out before; a write may still find one that another job made too short.
        let reserved = job.files.fallocate != "none" && !job.files.create_on_open;
        let create = match file.grows {
            true => writes.then_some(0),
            false => (writes && !file.device && reserved).then_some(file.bytes),
        };
        let key = (file.path.clone(), writes, job.sync.direct, code, create);
        let targets = &mut self.plan.targets;
        *self.targets.entry(key).or_insert_with(|| {
            targets.push(Target::Path(PathTarget {
                path: file.path.clone(),
                access,
                create: create.map(Bytes),
                direct: job.sync.direct,
                durability,
            }));
            TargetId(targets.len() as u32 - 1)
        })
    }

    /// `exitall`: the groups that a job takes along when it ends.
    fn take_down(&mut self) {
        let one_group = self.group == 0;
        // Whoever says it says it for all: as in fio the first job that ends takes its group along.
        let said = self.jobs.iter().any(|job| job.stop.takes_down.is_some());
        for member in &self.members {
            let job = &self.jobs[member.job];
            match job.stop.takes_down.or(said.then_some("group")) {
                None => {}
                Some("group") => {
                    self.plan.streams[member.stream.0 as usize].stop.takes_down = Some(member.group)
                }
                // What reaches beyond a group is told to those concerned by whoever watches the run.
                Some(_) if one_group => {
                    self.plan.streams[member.stream.0 as usize].stop.takes_down = Some(member.group);
                }
                Some(_) => {}
            }
        }
    }
}

/// What a job asks for and the kernel has not, in fio no more than here.
fn inert(job: &Job) -> Vec<String> {
    let barrier = "write_barrier has no effect, the kernel has no barriers for programs";
    let atomic = "atomic=1 is direct=1 and no more, the kernel knows no O_ATOMIC";
    let said = [(job.sync.barrier, barrier), (job.sync.atomic, atomic)];
    said.iter().filter(|(said, _)| *said).map(|(_, what)| format!("{}: {what}", job.name)).collect()
}

fn skew(job: &Job, default: f64) -> f64 {
    job.files.service.1.as_deref().and_then(|text| text.parse().ok()).unwrap_or(default)
}
