//! `fathom orion`, and the program called through a link named `orion`: ORION's words in, ORION's files out.

mod adaptive;
mod figures;
mod files;

mod luns;

use crate::{self as orion, Options, Point, Points, Report};
use adaptive::{Axes, Enough};
use anyhow::{Result, anyhow, bail};
use fathom_record::*;
use fathom_session::record_writer::write_page;
use fathom_session::tool::Tool;
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Console, End, Ended, Environment, Interrupt, Measurement, Session, Setup, status};
use fathom_spec::Plan;
use files::Files;
use luns::Luns;
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

    fn run(&self, words: &[String], session: &mut Session<'_>) -> u8 {
        let ended = run(words, session);
        status(ended, &session.console)
    }

    fn show(&self, record: &ResultRecord, out: &mut dyn Write) -> Result<()> {
        show(record, out)
    }

    fn page(&self, record: &ResultRecord, out: &mut Vec<u8>) -> std::io::Result<()> {
        fathom_render::matrix::write(record, out)
    }
}

/// Seed of the first point; each has its own, so that none finds the blocks of another in a cache.
const SEED: u64 = 0x0F10;

/// Runs the command on the words after its name.
fn run(words: &[String], session: &mut Session<'_>) -> Result<Ended> {
    let options = orion::parse(words, usual_layout(&session.environment)?)?;
    if options.help {
        orion::help(&mut session.console.out())?;
        return Ok(Ended::Done);
    }
    let (interrupt, console) = (session.environment.interrupt(), session.console.clone());
    let progress = Progress::new(session.progress, &console);
    let names = luns::names(&options)?;
    let files =
        Files::new(&format!("{}_{}", options.test_name, session.environment.minute()), options.layout)?;
    let mut permits = luns::permits(&options);
    if let Some(size) = options.create {
        let making =
            luns::Creation { session, permits: &permits, progress: &progress, interrupt: &interrupt };
        let Some(made) = luns::create(&names, size, making)? else {
            return Ok(Ended::Interrupted);
        };
        permits.consents.extend(made);
    }
    let found = luns::find(&names, &session.roots)?;
    let disks = options.num_disks.unwrap_or(found.luns.len() as u32);
    let points = Points::new(&options, disks);
    if points.loads.is_empty() {
        bail!("nothing would be measured: no load is above 0\nhint: raise -num_small or -num_large");
    }
    orion::plan::fits(&options, &found.luns, &points.loads)?;
    let guarded = luns::guard_all(&options, &found, &session.roots, &permits, &interrupt);
    if interrupt.raised() {
        return Ok(Ended::Interrupted);
    }
    guarded?;
    let base = files.base();
    let name = Path::new(base).file_name().and_then(std::ffi::OsStr::to_str).unwrap_or(base).to_owned();
    let report = Report {
        options: &options,
        points: &points,
        luns: &found.luns,
        name: &name,
        version: env!("CARGO_PKG_VERSION"),
    };
    let measurement = begin(&report, &found, disks, permits, session);
    measurement.tell_notes();
    let mut job = Job { measurement, done: Vec::new(), console: &console };
    report.opening(&mut console.out())?;
    let outcome = files.begin(&report).and_then(|()| job.measure(&report, &files, &progress, &interrupt));
    progress.clear();
    job.conclude(&report, &files, outcome, interrupt.raised())
}

/// The layout that a site's scripts read, for those whose command lines are not to change.
fn usual_layout(environment: &Environment) -> Result<orion::Layout> {
    let Some(version) = environment.orion_csv() else { return Ok(orion::Layout::default()) };
    orion::Layout::of_version(&version)
        .ok_or_else(|| anyhow!("FATHOM_ORION_CSV={version} is not known\nhint: one of 11.2, 11.1"))
}

fn begin<'s>(
    report: &Report<'_>,
    luns: &Luns,
    disks: u32,
    permits: fathom_spec::Permits,
    session: &'s mut Session<'_>,
) -> Measurement<'s> {
    session.begin(Setup {
        tool: "orion",
        label: Some(report.options.test_name.clone()),
        targets: report.luns.iter().map(|lun| lun.name.clone()).collect(),
        ready: &luns.ready,
        permits,
        request: figures::request(report.options, report.luns, disks, report.name),
    })
}

/// One run under way.
struct Job<'a> {
    measurement: Measurement<'a>,
    done: Vec<Point>,
    console: &'a Console,
}

impl Job<'_> {
    /// Measures point by point; each leaves its files behind.
    fn measure(
        &mut self,
        report: &Report<'_>,
        files: &Files,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let Report { options, points, luns, .. } = *report;
        let mut axes = Axes::default();
        let all = points.loads.len();
        for (at, load) in points.loads.iter().enumerate() {
            if options.adaptive && axes.skips(*load) {
                continue;
            }
            let measurement = &mut self.measurement;
            let mut go = |plan: &Plan, what: String, control: &mut dyn Control| {
                let length = plan.streams[0].stop.time.unwrap_or(options.duration);
                let mut watch = Watch::new(control, progress, interrupt, what, length);
                watch.share = (at as f64 / all as f64, (at + 1) as f64 / all as f64);
                measurement.run(plan, &mut watch)
            };
            let seed = SEED + at as u64;
            if let Some(warming) = orion::warming(options, luns, *load, !seed) {
                go(&warming, "warming caches".to_owned(), &mut ())?;
            }
            let plan = orion::plan(options, luns, *load, seed);
            let mut enough = Enough::new(&plan, options.duration, options.adaptive);
            let what = format!("small={} large={}", load.small, load.large);
            if interrupt.raised() {
                return Ok(());
            }
            let mut run = go(&plan, what.clone(), &mut enough)?;
            // A point cut short is kept, and no figure rests on it.
            let purpose = if interrupt.raised() { Purpose::Exploring } else { Purpose::Load };
            (run.name, run.load, run.purpose) = (what, *load, purpose);
            let point = Point::of(&run);
            self.measurement.keep(run);
            if purpose == Purpose::Exploring {
                return Ok(());
            }
            let cut = point.cut.then(|| point.trouble.clone()).flatten();
            self.done.push(point);
            axes.learn(&self.done);
            let trace = files.point(report, &self.done)?;
            if options.verbose {
                // Whoever read it may have seen enough: no reason to end a measurement.
                let _ = self.console.out().write_all(&trace);
            }
            // What is left of it is another LUN: its figures must not become the maximum.
            if let Some(trouble) = cut {
                bail!(
                    "{trouble}\nhint: nothing after this point was measured; run it again on LUNs that stay whole"
                );
            }
        }
        Ok(())
    }

    fn conclude(
        self,
        report: &Report<'_>,
        files: &Files,
        outcome: Result<()>,
        interrupted: bool,
    ) -> Result<Ended> {
        let Job { measurement, done, console } = self;
        let troubled = done.iter().any(|point| point.trouble.is_some());
        let finished = if measurement.record.runs.is_empty() {
            measurement.abandon();
            None
        } else {
            let figures = figures::figures(&measurement.record.runs, report.options);
            let failed = outcome.is_err() || troubled;
            let end = End { figures, ..End::of(interrupted && outcome.is_ok(), failed) };
            Some(measurement.finish(end))
        };
        let ending = match (&outcome, interrupted) {
            (Err(error), _) => Some(format!("{error}\nTest aborted due to errors.")),
            (Ok(()), true) => {
                Some("Test interrupted: the points above are all that was measured.".to_owned())
            }
            (Ok(()), false) => None,
        };
        files.summary(report, &done, ending.as_deref())?;
        if let (Some(path), Some(finished)) = (&report.options.html, &finished) {
            let mut page = Vec::new();
            fathom_render::matrix::write(&finished.record, &mut page)?;
            write_page(Path::new(path), page)?;
        }
        let mut out = console.out();
        if report.options.layout == orion::Layout::V11_2 {
            report.results(&done, &mut out)?;
        }
        ending.iter().try_for_each(|ending| writeln!(out, "{ending}"))?;
        out.flush()?;
        outcome?;
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
    let figures::Requested { typed, luns, disks, name, layout } =
        figures::requested(record).ok_or_else(again)?;
    let options: Options = orion::parse(&typed, layout)?;
    let points = Points::new(&options, disks);
    let report =
        Report { options: &options, points: &points, luns: &luns, name: &name, version: &record.version };
    let whole = record.runs.iter().filter(|run| run.purpose == Purpose::Load);
    let done: Vec<Point> = whole.map(Point::of).collect();
    report.opening(&mut out)?;
    report.results(&done, &mut out)?;
    Ok(())
}
