//! `fathom slob run`: one load of sessions, measured.

use super::args::{Run as Args, Work};
use super::collectors::Collectors;
use super::files;
use super::os::{Machine, diskstats};
use super::place::{Here, placed_by_setup};
use super::settings::{self, Asked, wrong};
use super::{counter_deltas, record as records, setup, work};
use crate::log::{self, Kind};
use crate::{Told, Words, verdict};
use anyhow::{Context as _, Result, bail};
use fathom_calibrate::load_figures::load_figures;
use fathom_database::{Length, Settings};
use fathom_record::*;
use fathom_session::environment::{self, Interrupt};
use fathom_session::record_writer::{Keeper, write_page};
use fathom_session::watch::{Progress, Watch};
use fathom_session::{Context, Ended};
use fathom_spec::{Nanos, Plan};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command.
pub fn run(args: &Args, context: &Context) -> Result<Ended> {
    placed_by_setup(&args.place)?;
    let mut asked = settings::read(&args.place)?;
    asked.tables(&args.tables)?;
    asked.work(&args.work)?;
    asked.schemas(args.schemas.as_deref().or(args.words.as_deref()))?;
    asked.threads(args.threads.as_deref())?;
    asked.settings.check().map_err(wrong)?;
    let (interrupt, progress) = (Interrupt::watch(), Progress::new(context.progress));
    let sessions = asked.settings.schemas * asked.settings.threads;
    let here = Here::open(&args.place, &asked, sessions, &interrupt)?;
    let prepared = prepare(&mut asked, args, &here, (&progress, &interrupt));
    let settings = match prepared {
        Ok(Prepared::Ready(settings)) => settings,
        other => {
            progress.clear();
            let other = other.map_err(|error| here.explained(error));
            here.close()?;
            return other.map(|_| Ended::Interrupted);
        }
    };
    let mut job = Job { asked, settings, here, context, args, interrupt: &interrupt, progress: &progress };
    let ended = job.measure();
    progress.clear();
    let ended = ended.map_err(|error| job.here.explained(error));
    let closed = job.here.close();
    let ended = ended?;
    closed?;
    Ok(ended)
}

/// What came of loading and looking.
enum Prepared {
    /// It can begin.
    Ready(Settings),
    /// The user interrupted it.
    Interrupted,
}

/// Loads a server of our own, or takes over what was set up.
fn prepare(
    asked: &mut Asked,
    args: &Args,
    here: &Here,
    (progress, interrupt): (&Progress, &Interrupt),
) -> Result<Prepared> {
    if !here.is_own() {
        let schemas = fathom_database::schemas(&here.database.url)?;
        work::take_over(asked, &schemas, here.block())?;
    }
    let settings = work::meant(asked, &args.place, here, args.work.seed)?;
    enough_sessions(asked, here)?;
    if here.is_own()
        && setup::load(asked, &settings, here, (progress, interrupt), false)? == Ended::Interrupted
    {
        return Ok(Prepared::Interrupted);
    }
    Ok(Prepared::Ready(settings))
}

/// Says at once what the server would say to the last of the sessions.
pub fn enough_sessions(asked: &Asked, here: &Here) -> Result<()> {
    let facts = &here.database.facts;
    let wanted = asked.settings.schemas * asked.settings.threads;
    let Some(most) = facts.sessions_most else { return Ok(()) };
    let free = most.saturating_sub(facts.sessions_now.unwrap_or(1).saturating_sub(1));
    if wanted > free {
        bail!(
            "{wanted} sessions are asked for, and the server takes {free} more (of {most})\nhint: raise max_connections, or take fewer threads"
        );
    }
    Ok(())
}

/// How long a load is: by time, or by iterations, which have no warm-up.
pub fn length(asked: &Asked, work: &Work) -> Length {
    let said = &asked.settings;
    match said.operations() {
        Some(operations) => {
            Length { time: None, operations: Some(operations), warm_up: Nanos(0), rate: work.rate }
        }
        None => Length {
            time: Some(Nanos(said.run_time.0.saturating_add(work.warm_up.0))),
            operations: None,
            warm_up: work.warm_up,
            rate: work.rate,
        },
    }
}

/// A run of that plan with the machine's own counters in it.
pub fn execute(
    plan: &Plan,
    what: String,
    here: &mut Here,
    (progress, interrupt): (&Progress, &Interrupt),
    control: &mut dyn Control,
) -> Result<Run> {
    let length = plan.streams.iter().filter_map(|stream| stream.stop.time).max();
    let mut machine = Machine::new(control, here.database.roots.clone(), here.processes());
    let mut watch =
        Watch::new(&mut machine, progress, interrupt, what, length.unwrap_or(Nanos(60_000_000_000)));
    let mut run = here.database.execute(plan, &mut watch).map_err(|error| anyhow::anyhow!("{error}"))?;
    run.samples.append(&mut machine.samples);
    Ok(run)
}

/// What ended sessions before their time, if anything did: how many, and the words of the first one.
pub fn lost(run: &Run) -> Option<String> {
    let lost = run.workers.iter().filter(|worker| worker.ended == StopReason::Fault).count();
    let why = run.faults().next().map(|event| match &event.what {
        EventKind::Fault { target, .. } => target.clone(),
        _ => String::new(),
    });
    let all = run.workers.len();
    (lost > 0).then(|| match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{lost} of {all} sessions ended before their time: {why}"),
        None => format!("{lost} of {all} sessions ended before their time"),
    })
}

struct Job<'a> {
    asked: Asked,
    settings: Settings,
    here: Here,
    context: &'a Context,
    args: &'a Args,
    interrupt: &'a Interrupt,
    progress: &'a Progress,
}

impl Job<'_> {
    fn measure(&mut self) -> Result<Ended> {
        let Args { work, place, output, .. } = self.args;
        let length = length(&self.asked, work);
        let plan = self.settings.plan(&self.here.database.url, length);
        let mut told = counter_deltas::told(&self.asked, &self.here, self.settings.blocks, length.warm_up);
        let (mut record, mut keeper) = records::begin(&told, &mut self.here, self.context, (place, output))?;
        let files = self.files();
        self.opening(&told)?;
        self.external("pre")?;
        let mut collectors =
            files.as_ref().filter(|_| !told.settings.no_os_perf_data).map(|to| Collectors::start(to));
        let ready = (self.progress, self.interrupt);
        let disks = diskstats(&self.here.database.roots);
        let outcome = execute(&plan, "sessions".to_owned(), &mut self.here, ready, &mut ());
        let written = collectors.as_mut().map(Collectors::end).unwrap_or_default();
        self.progress.clear();
        let mut run = match outcome {
            Ok(run) => run,
            Err(error) => {
                keeper.abandon(&record.id);
                return Err(error);
            }
        };
        if told.settings.words == Words::Pgio {
            told.diskstats = Some((disks, diskstats(&self.here.database.roots)));
        }
        self.external("post")?;
        run.name = "sessions".to_owned();
        run.load = Load { small: self.settings.sessions(), large: 0 };
        let lost = lost(&run);
        self.judge(&mut record, &mut told, run)?;
        if let (Some(lost), Ending::Complete) = (&lost, record.ending) {
            record.ending = Ending::Failed;
            record.notes.push(Note { text: lost.clone(), hint: Some("see the server's log".to_owned()) });
        }
        keeper.finish(&record);
        if let Some(directory) = &files {
            files::write(&told, &record, 0, directory, &written)?;
        }
        self.closing(&told, &record, &keeper)?;
        self.external("end")?;
        if let Some(path) = &output.html {
            write_page(path, |out| fathom_render::html::write(&record, out))?;
        }
        match (record.ending, lost) {
            (Ending::Interrupted, _) => Ok(Ended::Interrupted),
            (_, Some(lost)) => {
                bail!("{lost}\nhint: what was measured until then is kept; see the server's log")
            }
            _ => Ok(Ended::Done),
        }
    }

    /// Where the scripts' files go: where it was said, or here when the scripts' own configuration was read.
    fn files(&self) -> Option<PathBuf> {
        self.args.files.clone().or_else(|| self.asked.files_here().map(Path::to_path_buf))
    }

    /// Do the scripts' lines go to stdout?
    fn speaks(&self) -> bool {
        !self.args.output.json
            && (self.asked.conf.is_some() || self.args.words.is_some() || self.args.schemas.is_some())
    }

    fn judge(&self, record: &mut ResultRecord, told: &mut Told, run: Run) -> Result<()> {
        let counted = counter_deltas::counted(&run, &self.here);
        let judged = verdict::judge(&counted, told);
        record.summary = load_figures(&run);
        let operations = record.summary.get(&FigureName::Iops).cloned();
        let seen = (&counted, &judged);
        record.summary.extend(counter_deltas::figures(&run, 0, &self.here, seen, operations.as_ref()));
        let mut checks = vec![judged.check()];
        checks.extend(verdict::mix(&run, &told.settings));
        checks.extend(self.here.found.checks());
        record.verdict = fathom_record::judge(checks);
        told.counted = vec![counted];
        told.shown = counter_deltas::shown(&run, &self.here);
        record.facts = self.here.found.facts(serde_json::json!({ "slob": &*told }))?;
        record.runs.push(run);
        record.ended = environment::now();
        record.ending = if self.interrupt.raised() { Ending::Interrupted } else { Ending::Complete };
        Ok(())
    }

    fn opening(&self, told: &Told) -> Result<()> {
        if !self.speaks() {
            return Ok(());
        }
        let (out, said) = (&mut std::io::stdout().lock(), &self.asked.settings);
        if said.words == Words::Pgio {
            log::pgio_head(told, &environment::date(), out)?;
            return Ok(out.flush()?);
        }
        let mut line = |text: &str| log::line(Kind::Notify, &environment::slob_moment(), text, out);
        if let Some(conf) = &self.asked.conf {
            line(&format!("Settings of {}:", conf.display()))?;
        }
        log::settings(said, self.settings.blocks, out)?;
        let mut line = |text: &str| log::line(Kind::Notify, &environment::slob_moment(), text, out);
        if self.files().is_some() && !said.no_os_perf_data {
            line("Running iostat, vmstat and mpstat on current host--in background.")?;
        }
        line(&log::connecting(said))?;
        line("Test has been triggered. Processes are executing. Warm-up phase.")?;
        Ok(out.flush()?)
    }

    fn closing(&self, told: &Told, record: &ResultRecord, keeper: &Keeper) -> Result<()> {
        let out = &mut std::io::stdout().lock();
        if self.args.output.json {
            fathom_render::json::write(record, out)?;
            return Ok(out.flush()?);
        }
        if self.speaks() {
            let seconds = told.counted.first().map_or(0, |counted| counted.whole_seconds());
            match (&told.shown, told.settings.words) {
                (Some((before, after)), Words::Pgio) => {
                    log::pgio_result(told, (before, after), seconds, out)?
                }
                (None, Words::Pgio) => {}
                _ => {
                    let mut line =
                        |text: &str| log::line(Kind::Notify, &environment::slob_moment(), text, out);
                    line(&format!("Run time {seconds} seconds."))?;
                    if self.files().is_some() {
                        line("Terminating background data collectors.")?;
                    }
                    line("SLOB test is complete.")?;
                }
            }
            writeln!(out)?;
        }
        fathom_render::sessions::write(record, Some(&keeper.saved()), environment::style(), out)?;
        Ok(out.flush()?)
    }

    /// Calls EXTERNAL_SCRIPT with a word.
    fn external(&self, word: &str) -> Result<()> {
        let Some(script) = &self.asked.settings.external_script else { return Ok(()) };
        let status = Command::new(script)
            .arg(word)
            .status()
            .with_context(|| format!("EXTERNAL_SCRIPT {script} cannot be started"))?;
        if !status.success() {
            bail!("EXTERNAL_SCRIPT {script} {word} ended with {status}\nhint: it must end with 0");
        }
        Ok(())
    }
}
