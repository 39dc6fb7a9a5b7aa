//! Runs a plan of SQL sessions on one database: one thread and one session for each worker.

use crate::backend::{self, Ability, Pager, SharedWork};
use crate::counters::Counters;
use crate::error::{DatabaseError, Result, Trouble};
use crate::facts::{Facts, Shape, State};
use crate::operation_mix::OperationMix;
use crate::sampler::{self, DatabaseSampler, Watched};
use crate::url::{Brand, Url};
use crate::work::{Doing, SessionWork, verbs};
use fathom_drive::{
    Begin, Clock, HostSampler, Job, Metronome, Pace, Perform, Recorder, Seat, SerialParts, WorkerOutcome,
    conduct, run_serial, stream_seed, worker_seed,
};
use fathom_host::{DeviceNumber, Roots, resolve};
use fathom_record::{CELLS, Control, Disk, Execute, ExecuteError, Outcome, Request, Run, StopReason};
use fathom_spec::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// A database on which plans are run. Verbs are timed apart: `Select`, `Update` (with the begin of its transaction),
/// `Commit`, `Scan`. Bytes of an operation are the blocks that it touched, times the block's size. A deadlock is an error of
/// its verb and the operation is tried again; a lost connection ends the session, and the run is kept.
#[derive(Clone, Debug)]
pub struct Database {
    pub url: Url,
    /// What it says of itself.
    pub facts: Facts,
    /// Where /sys and /proc are.
    pub roots: Roots,
    work: Arc<SharedWork>,
}

/// What lies below a database, on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// Disks below the data, by name.
    pub data: Vec<(String, DeviceNumber)>,
    /// Disks below the log, by name; the same ones when both are together.
    pub log: Vec<(String, DeviceNumber)>,
}

type Executed<T> = std::result::Result<T, ExecuteError>;

impl Database {
    /// Connects once and asks what it is.
    pub fn open(url: Url) -> Result<Self> {
        let facts = backend::admin(&url)?.facts()?;
        Ok(Database { url, facts, roots: Roots::default(), work: Arc::default() })
    }

    /// The disks below the data and below the log, when the server is on this machine and tells its directories; why not,
    /// otherwise.
    pub fn disks_below(&self) -> std::result::Result<Below, String> {
        if !self.url.is_local() {
            return Err("the server is on another machine".to_owned());
        }
        let Some(data) = &self.facts.data else {
            return Err("the server does not tell this user its data directory".to_owned());
        };
        let below = |path: &std::path::Path| -> std::result::Result<Vec<_>, String> {
            let storage =
                resolve(&self.roots, path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(storage.disks.iter().map(|disk| (disk.name.clone(), disk.number)).collect())
        };
        let data = below(data)?;
        let log = self.facts.log.as_deref().map_or(Ok(data.clone()), below)?;
        Ok(Below { data, log })
    }

    /// Reads the counters now. SQLite keeps them for each connection: they are those of this value's own runs.
    pub fn counters(&self) -> Result<Counters> {
        sampler::read(&mut *backend::admin(&self.url)?, self.pager())
    }

    fn pager(&self) -> Option<(&Pager, u32)> {
        (self.url.brand == Brand::Sqlite).then_some((&self.work.pager, self.facts.block_bytes))
    }

    /// The server's processes that serve the sessions of this value's runs, as the server numbers them; those of sessions that
    /// have ended too. Empty where a session has no process of its own.
    pub fn session_processes(&self) -> BTreeSet<u32> {
        self.work.processes()
    }

    /// Reads counters once an interval for a length of time, with no load of its own: a run without operations. Only reads.
    pub fn observe(&mut self, length: Nanos, disks: &[Disk], control: &mut dyn Control) -> Executed<Run> {
        if self.url.brand == Brand::Sqlite {
            return Err(ExecuteError::Target {
                what: format!("{}: SQLite has no server whose counters could be observed", self.url),
                hint: "observe the disk below it: fathom ping, iostat".to_owned(),
            });
        }
        let mut plan = Plan::new(0);
        plan.slot = Nanos::from_millis(100);
        plan.targets.push(Target::Database(self.url.to_string()));
        plan.add_stream(Stream {
            name: "observed".to_owned(),
            group: GroupId(0),
            workers: 1,
            start: Start::default(),
            work: Work::Compute { share: 0.0, chunk: Nanos(0), sorts: false },
            arrival: Arrival::Closed { think: None },
            depth: Depth::Fixed(1),
            batch: Batch::default(),
            stop: Stop { time: Some(length), ..Stop::default() },
            window: Window::Everything,
            after_last: Vec::new(),
            keep: Keep::default(),
            placement: Placement::Any(Vec::new()),
            errors: ErrorPolicy::default(),
            thread: ThreadAttributes::default(),
        });
        let wait = Job {
            stream: StreamId(0),
            worker: 0,
            cpus: Vec::new(),
            verbs: Vec::new(),
            targets: Arc::default(),
            prepare: Box::new(move |_| Ok(Box::new(move |seat: &Seat, begin| idle(seat, begin, length)))),
        };
        self.conduct(Request::new(&plan).with_disks(disks), vec![wait], control, false)
    }

    fn conduct(
        &self,
        request: Request<'_>,
        jobs: Vec<Job<'_>>,
        control: &mut dyn Control,
        ours: bool,
    ) -> Executed<Run> {
        let clock = Clock::start();
        let host = HostSampler::new(self.roots.clone(), request.disks);
        let watched = Watched { url: &self.url, work: &self.work, page_bytes: self.facts.block_bytes, ours };
        let mut sampler = DatabaseSampler::start(watched, clock, host)?;
        let run = conduct(request.plan, jobs, clock, &mut sampler, control);
        let mut last = Vec::new();
        sampler.finish(&mut last);
        let mut run = run?;
        run.samples.extend(last);
        Ok(run)
    }

    /// Are the schemas loaded that a stream's work needs? Answers their shape.
    fn loaded(&self, work: &Session) -> Result<Shape> {
        let schemas = backend::admin(&self.url)?.schemas()?;
        let setup = "set it up first: fathom slob setup";
        let missing = |what: String| DatabaseError::new(Trouble::NotLoaded, what, setup);
        let mut shape: Option<Shape> = None;
        for number in 1..=work.schemas {
            let ready = schemas.iter().find(|schema| schema.number == number && schema.state == State::Ready);
            let Some(schema) = ready else {
                return Err(missing(format!("{}: schema slob{number} is not set up", self.url)));
            };
            if schema.shape.blocks < work.blocks {
                let (has, wants) = (schema.shape.blocks, work.blocks);
                return Err(missing(format!("{}: slob{number} has {has} blocks, not {wants}", self.url)));
            }
            if work.scan_percent > 0.0 && schema.shape.scan_blocks == 0 {
                return Err(missing(format!("{}: slob{number} has no scan table", self.url)));
            }
            let first = shape.get_or_insert_with(|| schema.shape.clone());
            if first.scan_blocks != schema.shape.scan_blocks {
                return Err(missing(format!(
                    "{}: the schemas have scan tables of different sizes",
                    self.url
                )));
            }
        }
        shape.ok_or_else(|| missing(format!("{}: the plan names no schema", self.url)))
    }

    /// Refuses more sessions than the server takes before any is opened.
    fn check_sessions(&self, plan: &Plan) -> Executed<()> {
        let facts = backend::admin(&self.url)?.facts()?;
        let wanted: u32 = plan.streams.iter().map(|stream| stream.workers).sum();
        // The one that asks is among those that are there; another one will read counters.
        let (Some(most), Some(now)) = (facts.sessions_most, facts.sessions_now) else { return Ok(()) };
        let free = most.saturating_sub(now);
        if wanted > free {
            return Err(ExecuteError::Target {
                what: format!(
                    "{}: {wanted} sessions are asked for, and the server has room for {free}",
                    self.url
                ),
                hint: format!("use fewer sessions, or raise max_connections (now {most}, {now} in use)"),
            });
        }
        Ok(())
    }
}

/// Waits, and looks at the orders.
fn idle(seat: &Seat, begin: Begin, length: Nanos) -> WorkerOutcome {
    let end = begin.at_ns.saturating_add(length.0);
    let why = loop {
        let now = seat.clock.now();
        if seat.steering.stop.load(Acquire) {
            break StopReason::Told;
        }
        if now >= end {
            break StopReason::Finished;
        }
        std::thread::sleep(Duration::from_nanos((end - now).min(20_000_000)));
    };
    WorkerOutcome {
        interval: begin.interval,
        totals: Default::default(),
        faults: Vec::new(),
        found: Vec::new(),
        span_ns: (u64::MAX, 0),
        outstanding_most: 0,
        why,
    }
}

fn refuse(what: &str) -> ExecuteError {
    ExecuteError::Plan {
        what: format!("sessions on a database have no {what}"),
        hint: "describe the load without it".to_owned(),
    }
}

/// Checks that a stream asks for nothing that would be dropped, and answers its work.
fn check(stream: &Stream) -> Executed<&Session> {
    let Work::Session(work) = &stream.work else { return Err(refuse("work on blocks or files")) };
    match &stream.arrival {
        Arrival::Closed { think: Some(_) } => {
            return Err(refuse("think time of fixed length (say it in the session)"));
        }
        Arrival::Recorded { .. } => return Err(refuse("recorded arrivals")),
        Arrival::Open(tables) if tables.is_empty() => return Err(refuse("timetable without a rate")),
        Arrival::Open(tables) => {
            let counts = |table: &Timetable| matches!(table.rate, Rate::Operations(rate) if rate > 0.0);
            if !tables.iter().all(counts) {
                return Err(refuse("rate in bytes, or of nothing"));
            }
        }
        Arrival::Closed { think: None } => {}
    }
    if stream.depth != Depth::Fixed(1) {
        return Err(refuse("depth: each does one operation at a time"));
    }
    if stream.keep.submit
        || stream.keep.completion
        || stream.keep.log.is_some()
        || !stream.after_last.is_empty()
    {
        return Err(refuse("submission latencies, logs of single operations, or syncs after the last one"));
    }
    if stream.stop.bytes.is_some() || stream.stop.passes.is_some() {
        return Err(refuse("end by bytes or passes"));
    }
    if stream.stop.time.is_none() && stream.stop.operations.is_none() {
        return Err(refuse("end"));
    }
    let unit = u64::from(work.work_unit.max(work.update_unit));
    if stream.workers == 0
        || work.schemas == 0
        || work.work_unit == 0
        || work.update_unit == 0
        || unit > work.blocks
    {
        return Err(refuse("workers, schemas or units of nothing, or units larger than a schema"));
    }
    Ok(work)
}

/// The timetable of one session: the rates of all verbs together; which verb comes next, the mix decides.
fn pace(arrival: &Arrival, began_ns: u64, seed: u64) -> Pace {
    let Arrival::Open(tables) = arrival else { return Pace::Closed };
    let rate: f64 = tables
        .iter()
        .map(|table| match table.rate {
            Rate::Operations(rate) | Rate::Bytes(rate) => rate,
        })
        .sum();
    let random = tables.iter().any(|table| table.spacing == Spacing::Poisson);
    Pace::Joint(Box::new(Metronome::new(began_ns, rate, false, random.then_some(seed))))
}

/// Everything that the workers of one stream have in common.
struct Task {
    url: Url,
    shared: Arc<SharedWork>,
    stream: Stream,
    work: Session,
    id: StreamId,
    shape: Shape,
    block_bytes: u32,
    seed: u64,
}

impl Task {
    fn prepare(self: Arc<Self>, worker: u32) -> Executed<Perform> {
        let mix = OperationMix::new(&self.work, worker, self.seed);
        let ability = Ability {
            schemas: mix.schemas(),
            redo: self.work.redo,
            filler_bytes: self.shape.filler_bytes,
            updates: self.work.update_percent > 0.0,
            scans: self.work.scan_percent > 0.0,
            seed: self.seed ^ u64::from(worker) << 32,
        };
        let session = backend::session(&self.url, &ability, &self.shared)?;
        Ok(Box::new(move |seat, begin| {
            let until = |time: Nanos| begin.at_ns.saturating_add(time.0);
            run_serial(SerialParts {
                work: SessionWork {
                    session,
                    mix,
                    verbs: verbs(&self.work),
                    work_unit: self.work.work_unit,
                    update_unit: self.work.update_unit,
                    scan_rows: self.shape.scan_blocks,
                    block_bytes: self.block_bytes,
                    left: self.stream.stop.operations.unwrap_or(u64::MAX),
                    stream: self.id,
                    target: self.url.to_string(),
                    doing: Doing::Nothing,
                },
                pace: pace(&self.stream.arrival, begin.at_ns, worker_seed(self.seed, worker)),
                recorder: Recorder::new(
                    begin.interval,
                    begin.frame,
                    Some(begin.outbox),
                    seat.published.clone(),
                ),
                clock: seat.clock,
                until_ns: self.stream.stop.time.map_or(u64::MAX, until),
                steering: &seat.steering,
                published: seat.published.clone(),
            })
        }))
    }
}

impl Execute for Database {
    fn execute(&mut self, request: Request<'_>, control: &mut dyn Control) -> Executed<Outcome> {
        let plan = request.plan;
        let mut jobs = Vec::new();
        let names = Arc::new(vec![self.url.to_string()]);
        for (id, stream) in plan.streams.iter().enumerate() {
            let work = check(stream)?;
            let verbs = verbs(work);
            debug_assert!(verbs.len() <= CELLS);
            let task = Arc::new(Task {
                url: self.url.clone(),
                shared: self.work.clone(),
                stream: stream.clone(),
                work: work.clone(),
                id: StreamId(id as u32),
                shape: self.loaded(work)?,
                block_bytes: self.facts.block_bytes,
                seed: stream_seed(plan, StreamId(id as u32)),
            });
            for worker in 0..stream.workers {
                let task = task.clone();
                jobs.push(Job {
                    stream: StreamId(id as u32),
                    worker,
                    cpus: Vec::new(),
                    verbs: verbs.clone(),
                    targets: names.clone(),
                    prepare: Box::new(move |seat| {
                        seat.queue(format!("one session a worker, {}", task.url.brand.driver()));
                        task.prepare(worker)
                    }),
                });
            }
        }
        self.check_sessions(plan)?;
        self.conduct(request, jobs, control, true).map(Outcome::of)
    }

    fn another(&self) -> Box<dyn Execute + Send> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Length, Settings};

    fn stream(change: impl FnOnce(&mut Stream)) -> Stream {
        let length = Length { time: Some(Nanos(1)), operations: None, warm_up: Nanos(0), rate: Some(10.0) };
        let mut stream = Settings::default().plan(&Url::sqlite("x"), length).streams.remove(0);
        change(&mut stream);
        stream
    }

    #[test]
    fn what_would_be_dropped_is_refused() {
        assert!(check(&stream(|_| {})).is_ok());
        let refused: [fn(&mut Stream); 8] = [
            |s| s.work = Work::Compute { share: 1.0, chunk: Nanos(0), sorts: false },
            |s| s.depth = Depth::Fixed(2),
            |s| s.stop = Stop::default(),
            |s| s.stop.bytes = Some(Bytes(1)),
            |s| s.keep.submit = true,
            |s| s.arrival = Arrival::Recorded { speed: 1.0 },
            |s| s.arrival = Arrival::Open(Vec::new()),
            |s| s.workers = 0,
        ];
        for (number, change) in refused.into_iter().enumerate() {
            assert!(check(&stream(change)).is_err(), "{number}");
        }
    }

    #[test]
    fn the_rates_of_all_verbs_make_one_timetable() {
        let table = |verb, rate| Timetable { verb, rate: Rate::Operations(rate), spacing: Spacing::Even };
        let arrival = Arrival::Open(vec![table(Verb::Select, 75.0), table(Verb::Update, 25.0)]);
        let mut pace = pace(&arrival, 0, 1);
        pace.take(0, 0);
        pace.take(1, 0);
        assert_eq!(pace.due(0, 0), 20_000_000);
    }
}
