//! `fathom slob sweep`: raises the sessions until throughput stops growing, and puts the best beside what the disk can do.

use super::args::{Place, Sweep};
use super::place::{DatabaseTarget, placed_by_setup};
use super::settings::{self, CommandSettings, wrong};
use super::user::User;
use super::{counter_deltas, record as records, setup, work};
use crate::{RunContext, checks, verdict};
use anyhow::{Result, bail};
use fathom_calibrate::search::{Ask, Ended as SearchEnded, Found, LoadSearch, Seen};
use fathom_calibrate::sessions;
use fathom_database::{Length, Settings};
use fathom_record::*;
use fathom_session::measurement::figures_of;
use fathom_session::output::Shown;
use fathom_session::record_writer::alive;
use fathom_session::watch::Progress;
use fathom_session::{End, Ended, Figures, Grounds, Measurement, Session};
use fathom_spec::Nanos;
use fathom_store::{Filter, Store};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs the command.
pub fn run(args: &Sweep, session: &mut Session<'_>) -> Result<Ended> {
    placed_by_setup(&args.place)?;
    let mut asked = settings::read(&args.place)?;
    asked.tables(&args.tables)?;
    asked.work(&args.work, session)?;
    asked.schemas(args.schemas.as_deref())?;
    if args.work.rate.is_some() || args.work.work_loop.is_some() {
        bail!(wrong(
            "a sweep raises the sessions, each as fast as it can, for a time\nhint: leave --rate and --work-loop out"
        ));
    }
    asked.settings.check().map_err(wrong)?;
    let interrupt = session.environment.interrupt();
    let progress = Progress::new(session.progress, &session.console);
    let user = User { progress: &progress, interrupt: &interrupt, console: &session.console };
    let mut here = DatabaseTarget::open(&args.place, &asked, args.most, session, &|| interrupt.raised())?;
    let mut database = here.database.clone();
    let mut own = session.on(&mut database);
    let outcome = measure(&mut asked, args, &mut here, user, &mut own);
    progress.clear();
    let outcome = outcome.map_err(|error| here.explained(error));
    let closed = here.close();
    let ended = outcome?;
    closed?;
    Ok(ended)
}

fn measure(
    asked: &mut CommandSettings,
    args: &Sweep,
    here: &mut DatabaseTarget,
    user: User<'_>,
    session: &mut Session<'_>,
) -> Result<Ended> {
    if !here.is_own() {
        let schemas = fathom_database::schemas(&here.database.url)?;
        work::take_over(asked, &schemas, here.block())?;
    }
    let settings = work::meant(asked, &args.place, here, args.work.seed)?;
    if here.is_own() && setup::load(asked, &settings, here, user, None)? == Ended::Interrupted {
        return Ok(Ended::Interrupted);
    }
    let mut told = counter_deltas::told(asked, here, settings.blocks, warm_up(args));
    told.plans = fathom_database::plans(&here.database.url)?;
    let calibration = disk_curve(session, &told.disks);
    let (environment, console) = (session.environment.clone(), session.console.clone());
    let measurement = records::begin(&told, here, session, &args.place, &args.label);
    let mut points =
        Points { args, settings, told, measurement, here, user, seen: Vec::new(), figures: None };
    let outcome = points.measure();
    user.progress.clear();
    let Points { mut measurement, told, here, figures, .. } = points;
    if measurement.record.runs.is_empty() {
        measurement.abandon();
        return outcome.map(|_| Ended::Interrupted);
    }
    let interrupted = user.interrupt.raised();
    let mut end = End {
        figures: Figures::Own(Default::default(), Vec::new()),
        grounds: Grounds::Checks,
        ..End::of(interrupted && outcome.is_ok(), outcome.is_err())
    };
    if let Some((summary, curve, checks)) = figures {
        (end.figures, end.checks) = (Figures::Own(summary, vec![curve]), checks);
    }
    let complete = end.ending == Ending::Complete;
    measurement.judge(end);
    if complete {
        beside_the_disk(&mut measurement.record, &told, calibration, &args.place);
    }
    measurement.record.facts = here.found.facts(serde_json::json!({ "slob": &told }))?;
    let finished = measurement.close();
    args.output.show(&Shown::ended(&finished.record, &finished.saved), &environment, &console)?;
    outcome?;
    let ended = finished.record.ending;
    Ok(if ended == Ending::Interrupted { Ended::Interrupted } else { Ended::Done })
}

/// The part of each point that is left out.
fn warm_up(args: &Sweep) -> Nanos {
    Nanos(args.work.warm_up.0.min(args.point.0 / 4))
}

struct Points<'a> {
    args: &'a Sweep,
    settings: Settings,
    told: RunContext,
    measurement: Measurement<'a>,
    here: &'a DatabaseTarget,
    user: User<'a>,
    seen: Vec<Seen>,
    /// What came of all points: figures, the curve, the checks.
    figures: Option<(BTreeMap<FigureName, Figure>, Curve, Vec<Check>)>,
}

impl Points<'_> {
    fn measure(&mut self) -> Result<()> {
        let facts = &self.here.database.facts;
        let free = facts.sessions_most.map(|most| most.saturating_sub(facts.sessions_now.unwrap_or(1)));
        let most = self.args.most.min(free.unwrap_or(u32::MAX)).max(1);
        let search = LoadSearch {
            most,
            first: 1,
            limit_ns: None,
            point: self.args.point,
            points_most: self.args.points as usize,
            refine: true,
        };
        while let Ask::Measure { load, at_most, .. } = search.next(&self.seen) {
            self.point(load, at_most, Purpose::Exploring)?;
            if self.user.interrupt.raised() {
                break;
            }
        }
        let found = search.found(&self.seen);
        if let Some(found) = found.filter(|_| !self.user.interrupt.raised()) {
            self.point(found.load, Nanos(self.args.point.0 * 2), Purpose::Headline)?;
        }
        self.conclude(found, most);
        Ok(())
    }

    /// Measures one number of sessions.
    fn point(&mut self, load: u32, time: Nanos, purpose: Purpose) -> Result<()> {
        let length = Length {
            time: Some(Nanos(time.0 + warm_up(self.args).0)),
            operations: None,
            warm_up: warm_up(self.args),
            rate: None,
        };
        let mut plan = self.settings.plan(&self.here.database.url, length);
        plan.seed = plan.seed.wrapping_add(self.measurement.record.runs.len() as u64);
        plan.streams.iter_mut().for_each(|stream| stream.workers = load);
        let what = format!("{load} session{}", if load == 1 { "" } else { "s" });
        let mut run = super::run::execute(&plan, what.clone(), self.here, &mut self.measurement, self.user)?;
        (run.name, run.purpose, run.load) = (what, purpose, Load { small: load, large: 0 });
        run.began_ns = self.measurement.record.runs.last().map_or(0, |last| last.began_ns + last.length_ns);
        if let Some(lost) = super::run::lost(&run) {
            bail!("{lost}\nhint: the points before are kept; see the server's log");
        }
        if self.user.interrupt.raised() {
            return Ok(());
        }
        self.told.counted.push(counter_deltas::counted(&run, self.here));
        self.seen.extend(sessions::seen(&run));
        self.measurement.keep(run);
        Ok(())
    }

    fn conclude(&mut self, found: Option<Found>, most: u32) {
        let runs = &self.measurement.record.runs;
        let curve = sessions::curve(runs, found.map(|found| found.load));
        let (Some(run), Some(counted)) = (runs.last(), self.told.counted.last()) else { return };
        let index = runs.len() - 1;
        let judged = verdict::judge(counted, &self.told);
        let mut summary = figures_of(run, index);
        let operations = summary.get(&FigureName::Iops).cloned();
        let seen = (counted, &judged);
        summary.extend(counter_deltas::figures(run, index, self.here, seen, operations.as_ref()));
        if let (Some(figure), Some(found)) = (summary.get_mut(&FigureName::Iops), found) {
            figure.note = Some(match found.ended {
                SearchEnded::Most => format!("still growing at {most}, the most that were tried"),
                SearchEnded::OutOfPoints => "the points that were allowed are used up".to_owned(),
                _ => "more sessions gave no more".to_owned(),
            });
        }
        let mut checks = vec![judged.check()];
        checks.extend(checks::counters(counted, &self.told));
        checks.extend(checks::mix(run, &self.told.settings));
        checks.extend(checks::durability(&self.told));
        self.figures = Some((summary, curve, checks));
    }
}

/// The newest calibration of one of these disks.
fn calibration(session: &Session<'_>, disks: &[String]) -> Option<(i64, ResultRecord)> {
    let path = session.store.as_ref().filter(|path| path.exists())?;
    let store = Store::open_read_only(path).ok()?;
    let filter = Filter { tool: Some("calibrate".to_owned()), limit: Some(50), ..Filter::default() };
    let listed = store.list(&filter, &alive).ok()?;
    listed.iter().find_map(|line| {
        let stored = store.get(&line.number.to_string(), &alive).ok()?;
        let storages = stored.record.facts.get("storage")?.as_array()?.clone();
        let named = storages.iter().filter_map(|s| s.get("disks")?.as_array()).flatten();
        let same =
            named.filter_map(|disk| disk.get("name")?.as_str()).any(|name| disks.iter().any(|d| d == name));
        same.then_some((line.number, stored.record))
    })
}

/// The same for a command that looks for it.
pub fn disk_curve(session: &Session<'_>, disks: &[String]) -> Option<(i64, Curve)> {
    let (number, record) = calibration(session, disks)?;
    let wanted = |curve: &&Curve| matches!(curve.name, CurveName::SmallReads) && !curve.points.is_empty();
    let curve = record.curves.iter().find(wanted)?.clone();
    Some((number, curve))
}

/// Puts the best beside what `fathom calibrate` found on the same disk.
fn beside_the_disk(
    record: &mut ResultRecord,
    told: &RunContext,
    calibration: Option<(i64, Curve)>,
    place: &Place,
) {
    let Some((number, curve)) = calibration else {
        let at = place.server.as_deref().unwrap_or(Path::new("DIR")).display();
        record.notes.push(Note {
            text: "there is no calibration of this disk to put beside it".to_owned(),
            hint: Some(format!("fathom calibrate --read-only {at}, then sweep again")),
        });
        return;
    };
    let Some(counted) = told.counted.last() else { return };
    let Some((reads, latency)) = counted.device_reads_and_latency() else { return };
    let Some(disk) = sessions::disk_at_latency(&curve, latency) else {
        record.notes.push(Note {
            text: format!(
                "the disk answered the database in {}, faster than it answered run {number}, its calibration: a cache below is at work",
                Nanos(latency as u64)
            ),
            hint: None,
        });
        return;
    };
    let index = record.runs.len().saturating_sub(1);
    let load = record.runs.last().map(|run| run.load).unwrap_or_default();
    let mut figure = sessions::share(reads / disk.max(1e-9), load, index);
    let says = verdict::of_the_disk(reads, disk, latency, number);
    figure.note = Some(says.clone());
    record.summary.insert(FigureName::OfTheDisk, figure);
    record.notes.push(Note { text: says, hint: None });
}
