//! `fathom orion`, and the program called through a link named `orion`: ORION's words in, ORION's files out.

mod adaptive;
mod figures;
mod files;

mod luns;

use crate::{self as orion, Lun, Options, Point, Points, Report};
use adaptive::{Axes, Enough};
use anyhow::{Result, anyhow, bail};
use fathom_engine::Engine;
use fathom_host::Roots;
use fathom_record::*;
use fathom_render::terminal::Style;
use fathom_session::environment::{self, Interrupt};
use fathom_session::preflight;
use fathom_session::record_writer::{Keeper, empty_record, write_page};
use fathom_session::status;
use fathom_session::tool::Tool;
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Context, Ended};
use fathom_spec::Plan;
use files::Files;
use std::io::Write;
use std::path::Path;

/// The tool, for the list of tools.
pub struct Orion;

impl Tool for Orion {
    fn name(&self) -> &'static str {
        "orion"
    }

    fn about(&self) -> &'static str {
        "Speak Oracle ORION's language: fathom orion -run simple -testname NAME; -help tells its options"
    }

    fn run(&self, words: &[String], context: &Context, engine: &mut Engine) -> u8 {
        status(run(words, context, engine))
    }

    fn show(&self, record: &ResultRecord, _: &str, _: Style, out: &mut dyn Write) -> Result<()> {
        show(record, out)
    }

    fn page(&self, record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
        fathom_render::matrix::write(record, out)
    }
}

/// Seed of the first point; each has its own, so that none finds the blocks of another in a cache.
const SEED: u64 = 0x0F10;

/// Runs the command on the words after its name.
pub fn run(words: &[String], context: &Context, engine: &mut Engine) -> Result<Ended> {
    let options = orion::parse(words)?;
    if options.help {
        orion::help(&mut std::io::stdout().lock())?;
        return Ok(Ended::Done);
    }
    let (roots, interrupt) = (Roots::default(), Interrupt::watch());
    let progress = Progress::new(context.progress);
    let names = luns::names(&options)?;
    let base = format!("{}_{}", options.test_name, environment::minute());
    let files = Files::new(base.clone(), options.layout)?;
    engine.permits = luns::permits(&options);
    if let Some(size) = options.create {
        let Some(made) = luns::create(&names, size, engine, (&progress, &interrupt))? else {
            return Ok(Ended::Interrupted);
        };
        made.iter().for_each(|name| engine.permits.add_consent(name));
    }
    let found = luns::find(&names, &roots)?;
    let disks = options.num_disks.unwrap_or(found.luns.len() as u32);
    let points = Points::new(&options, disks);
    if points.loads.is_empty() {
        bail!("nothing would be measured: no load is above 0\nhint: raise -num_small or -num_large");
    }
    orion::plan::fits(&options, &found.luns, &points.loads)?;
    luns::guard_all(&options, &found, &roots, &engine.permits)?;
    let name = Path::new(&base).file_name().map_or(base.clone(), |name| name.to_string_lossy().into_owned());
    let report = Report {
        options: &options,
        points: &points,
        luns: &found.luns,
        name: &name,
        version: env!("CARGO_PKG_VERSION"),
    };
    let mut job = Job::begin(&report, &found, (context, &roots), disks)?;
    engine.disks = job.found.disks.clone();
    report.opening(&mut std::io::stdout().lock())?;
    let outcome =
        files.begin(&report).and_then(|()| job.measure(&report, &files, engine, &progress, &interrupt));
    progress.clear();
    job.conclude(&report, &files, outcome, interrupt.raised())
}

/// One run under way.
struct Job {
    found: preflight::Found,
    record: ResultRecord,
    keeper: Keeper,
    done: Vec<Point>,
    simulated: bool,
}

impl Job {
    fn begin(
        report: &Report,
        luns: &luns::Luns,
        (context, roots): (&Context, &Roots),
        disks: u32,
    ) -> Result<Self> {
        let found = preflight::look(roots, &luns.ready);
        let facts = found.facts(figures::request(report.options, report.luns, disks, report.name))?;
        let targets = report.luns.iter().map(|lun| lun.name.clone()).collect();
        let label = Some(report.options.test_name.clone());
        let mut record = empty_record("orion", &context.command, label, targets, facts);
        let (keeper, notes) = Keeper::begin(context.store.clone(), &record, found.physical_disks());
        record.notes.extend(found.notes.iter().cloned().chain(notes));
        if environment::speaks_notes() {
            for note in &record.notes {
                let hint = note.hint.iter().map(|hint| format!("\nhint: {hint}")).collect::<String>();
                eprintln!("note: {}{hint}", note.text);
            }
        }
        let simulated = luns.ready.iter().all(|ready| ready.storage().is_none());
        Ok(Job { found, record, keeper, done: Vec::new(), simulated })
    }

    /// Measures point by point; each leaves its files behind.
    fn measure(
        &mut self,
        report: &Report,
        files: &Files,
        engine: &mut Engine,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let Report { options, points, luns, .. } = *report;
        let (clock, mut axes) = (fathom_drive::Clock::start(), Axes::default());
        let all = points.loads.len();
        for (at, load) in points.loads.iter().enumerate() {
            if options.adaptive && axes.skips(*load) {
                continue;
            }
            let mut go = |plan: &Plan, what: String, control: &mut dyn Control| {
                let length = plan.streams[0].stop.time.unwrap_or(options.duration);
                let mut watch = Watch::new(control, progress, interrupt, what, length);
                watch.share = (at as f64 / all as f64, (at + 1) as f64 / all as f64);
                engine.execute(plan, &mut watch)
            };
            let seed = SEED + at as u64;
            if let Some(warming) = orion::warming(options, luns, *load, !seed) {
                go(&warming, "warming caches".to_owned(), &mut ())?;
            }
            let plan = orion::plan(options, luns, *load, seed);
            let mut enough = Enough::new(&plan, options.duration, options.adaptive);
            let began_ns = clock.now();
            let what = format!("small={} large={}", load.small, load.large);
            if interrupt.raised() {
                return Ok(());
            }
            let mut run = go(&plan, what.clone(), &mut enough)?;
            // A point cut short is kept, and no figure rests on it.
            let purpose = if interrupt.raised() { Purpose::Exploring } else { Purpose::Load };
            (run.name, run.load, run.began_ns, run.purpose) = (what, *load, began_ns, purpose);
            let point = Point::of(&run);
            self.record.runs.push(run);
            // A record is kept whole each time, so ever more rarely; ORION's own files have every point.
            if self.record.runs.len().is_power_of_two() {
                self.keeper.save(&self.record);
            }
            if purpose == Purpose::Exploring {
                return Ok(());
            }
            self.done.push(point);
            axes.learn(&self.done);
            let trace = files.point(report, &self.done)?;
            if options.verbose {
                // Whoever read it may have seen enough: no reason to end a measurement.
                let _ = std::io::stdout().lock().write_all(&trace);
            }
        }
        Ok(())
    }

    fn conclude(
        mut self,
        report: &Report,
        files: &Files,
        outcome: Result<()>,
        interrupted: bool,
    ) -> Result<Ended> {
        let record = &mut self.record;
        record.ended = environment::now();
        record.ending = match (&outcome, interrupted) {
            (Err(_), _) => Ending::Failed,
            (Ok(()), true) => Ending::Interrupted,
            (Ok(()), false) => Ending::Complete,
        };
        if record.runs.is_empty() {
            self.keeper.abandon(&record.id);
        } else {
            figures::judge_all(record, report.options, &self.found, self.simulated);
            self.keeper.finish(record);
        }
        let ending = match (&outcome, interrupted) {
            (Err(error), _) => Some(format!("{error}\nTest aborted due to errors.")),
            (Ok(()), true) => {
                Some("Test interrupted: the points above are all that was measured.".to_owned())
            }
            (Ok(()), false) => None,
        };
        files.summary(report, &self.done, ending.as_deref())?;
        if let Some(path) = report.options.html.as_ref().filter(|_| !self.record.runs.is_empty()) {
            write_page(Path::new(path), |out| fathom_render::matrix::write(&self.record, out))?;
        }
        let mut out = std::io::stdout().lock();
        if report.options.layout == orion::Layout::V11_2 {
            report.results(&self.done, &mut out)?;
        }
        ending.iter().try_for_each(|ending| writeln!(out, "{ending}"))?;
        out.flush()?;
        outcome?;
        let troubled = self.done.iter().any(|point| point.trouble.is_some());
        Ok(match (interrupted, troubled) {
            (true, _) => Ended::Interrupted,
            (false, true) => Ended::Failed,
            (false, false) => Ended::Done,
        })
    }
}

/// Tells a kept run again, as its stdout was.
fn show(record: &ResultRecord, mut out: &mut dyn Write) -> Result<()> {
    let again = || {
        anyhow!("this run does not say how it was asked for\nhint: fathom show --json tells what it holds")
    };
    let (typed, luns, disks, name): (Vec<String>, Vec<Lun>, u32, String) =
        figures::requested(record).ok_or_else(again)?;
    let options: Options = orion::parse(&typed)?;
    let points = Points::new(&options, disks);
    let report =
        Report { options: &options, points: &points, luns: &luns, name: &name, version: &record.version };
    let whole = record.runs.iter().filter(|run| run.purpose == Purpose::Load);
    let done: Vec<Point> = whole.map(Point::of).collect();
    report.opening(&mut out)?;
    report.results(&done, &mut out)?;
    Ok(())
}
